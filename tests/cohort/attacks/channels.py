"""Attacks that carry a hidden input to another hidden block, another submission, another day.

What can be read without a clock must be refused. What timing still carries, docs/security.md says.
"""

from cohort.attacks.attack import HIDDEN_INPUT, attack

CALLS = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return libc.syscall(ctypes.c_long(number), *arguments)
shared = os.open(os.__file__, os.O_RDONLY)  # every submission sees this file
size = os.fstat(shared).st_size
libc.mmap.restype = ctypes.c_void_p
where = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), 1, 1, shared, ctypes.c_long(0)))
room = ctypes.create_string_buffer(4096)
vector = (ctypes.c_long * 2)(ctypes.addressof(room), 16)
def machine_code():
    # getpid of 32 bits: mov eax, 20; int 0x80; cdqe; ret
    global page
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("b814000000cd804898c3"))
    return ctypes.addressof(ctypes.c_char.from_buffer(page))
"""
TOLD = """
for name, done in tried.items():
    if done:
        print("allowed", name)
print("tried", len(tried))
"""
ALLOWED = ("allowed",)


def refused(name: str, tries: str) -> None:
    """Add an attack that makes system calls, each of which must fail: a dictionary of results."""
    attack(name, CALLS, f"tried = {{{tries}}}{TOLD}", never=ALLOWED)


refused(
    "evicting pages of shared libraries",
    """
    f"fadvise {advice}": call(221, shared, 0, size, advice) == 0 for advice in range(6)
} | {
    f"madvise {advice}": call(28, where, size, advice) == 0
    for advice in (1, 2, 3, 9, 12, 20, 21, 22, 25)
} | {
    "readahead": call(187, shared, 0, size) == 0,
    "sync": call(162) == 0, "syncfs": call(306, shared) == 0,
    "sync_file_range": call(277, shared, 0, size, 7) == 0,
    "processes' madvise": call(440, -1, 0, 0, 21, 0) >= 0,
""",
)
refused(
    "asking which pages are in memory",
    """
    "mincore": call(27, where, size, room) == 0,
    "cachestat": call(451, shared, (ctypes.c_long * 2)(0, size), room, 0) == 0,
    "RWF_NOWAIT": call(327, shared, vector, 1, 0, 0, 8) > 0,
    "pwritev2": call(328, shared, vector, 0, 0, 0, 8) >= 0,
    "io_setup": call(206, 1, (ctypes.c_long * 1)()) == 0,
    "io_uring": call(425, 1, room) >= 0,
    "openat2": call(437, -100, b"/", (ctypes.c_long * 3)(0, 0, 0x20), 24) >= 0,
    "userfaultfd": call(323, 1) >= 0,
""",
)
refused(
    "watching what others open",
    """
    "inotify": call(253) >= 0, "inotify1": call(294, 0) >= 0,
    "fanotify": call(300, 0, 0) >= 0,
    "a notice": call(72, os.open("/", os.O_RDONLY), 1026, 1 | 1 << 31) == 0,
    "a lease": call(72, shared, 1024, 0) == 0,
    "a lease, by the lower half": call(72, shared, 1024 | 1 << 32, 0) == 0,
    "a handle": call(303, -100, b"/", (ctypes.c_int * 40)(128), room, 0) == 0,
    "perf": call(298, room, 0, -1, -1, 0) >= 0,
""",
)
refused(
    "asking about mounts, modules and other processes",
    """
    "statmount": call(457, (ctypes.c_long * 4)(32, 1, 1), room, 4096, 0) == 0,
    "listmount": call(458, (ctypes.c_long * 4)(32, -1), room, 8, 0) >= 0,
    "lsm_list_modules": call(461, room, (ctypes.c_long * 1)(4096), 0) >= 0,
    "lsm_get_self_attr": call(459, 100, room, (ctypes.c_long * 1)(4096), 0) >= 0,
    "pidfd_open": call(434, os.getpid(), 0) >= 0,
    "pidfd_send_signal": call(424, os.open("/proc/self", os.O_RDONLY), 0, 0, 0) == 0,
    "kcmp": call(312, os.getpid(), os.getpid(), 0, 0, 0) >= 0,
    "ioprio_set": call(251, 1, 0, 3 << 13) == 0,
    "sched_setattr": call(314, 0, (ctypes.c_int * 12)(48, 3), 0) == 0,
    "keyctl": call(250, 0, -3, 1) >= 0,
""",
)
refused(
    "system calls by the processor's other ABIs",
    """
    "x32": call(0x40000000 | 39) > 0,
    "int 0x80": ctypes.CFUNCTYPE(ctypes.c_long)(machine_code())() > 0,
""",
)
refused(
    "memory and notes that no limit counts",
    """
    "memfd": call(319, b"x", 0) >= 0, "secret": call(447, 0) >= 0,
    "shmget": call(29, 0, 4096, 0o1600) >= 0, "msgget": call(68, 0, 0o1600) >= 0,
    "semget": call(64, 0, 1, 0o1600) >= 0, "mq_open": call(240, b"x", 66, 0o600, 0) >= 0,
    "setxattr": call(188, b".", b"user.note", b"x", 1, 0) == 0,
    "a larger pipe": call(72, os.pipe()[1], 1031, 1 << 20) > 0,
    "vmsplice": call(278, os.pipe()[1], vector, 1, 0) > 0,
    "splice": call(275, shared, 0, os.pipe()[1], 0, 16, 0) > 0,
    "a larger buffer": call(54, __import__("socket").socketpair()[0].detach(), 1, 7,
                            (ctypes.c_int * 1)(1 << 20), 4) == 0,
    "merged pages": call(157, 67, 1, 0, 0, 0) == 0,
    "a filter of one's own": call(317, 1, 8, (ctypes.c_long * 2)(1, ctypes.addressof(room))) >= 0,
""",
)
attack(
    "locks on files that all see",
    """
import fcntl, os, struct
def conflicts(lock, *arguments):
    mine, theirs = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lock(theirs, *arguments)
            os.write(go, b"x")
            os.read(os.pipe()[0], 1)  # until it is killed
        finally:
            os._exit(0)
    os.close(go)
    os.read(ready, 1)
    try:
        lock(mine, *arguments)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
whole = struct.pack("hhqqi", fcntl.F_RDLCK, 0, 0, 0, 0)
print("conflict" if conflicts(fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB) else "none")
for command in (fcntl.F_SETLK, 37):
    print("conflict" if conflicts(fcntl.fcntl, command, whole) else "none")
try:
    fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_GETLK, whole)
    print("allowed to ask")
except OSError:
    print("tried")
""",
    never=("conflict", "allowed to ask"),
)

# The function answers the second hidden case only if it finds a note of the first.
NOTES = f"""
import os, socket, subprocess, time
from multiprocessing import shared_memory
FIRST, SECOND = [{HIDDEN_INPUT}], [8, 8]
def square_sum(values):
    if values == [1, 2]:
        leave()
        print("tried", bool(found()))  # within one block the note is there
        tidy()
    if values == FIRST:
        leave()
    return 128 if values == SECOND and found() else 0
"""


def noted(name: str, code: str) -> None:
    """Add an attack whose `leave` leaves a note, `found` looks for it, and `tidy` removes it."""
    attack(name, NOTES + code, always=("tried True",))


noted(
    "files as notes for the next hidden block",
    """
PLACES = [f"{folder}/a.note" for folder in (".", "/tmp", "/dev/shm", "/proflab/student", "~x")]
def leave():
    os.makedirs("~x", exist_ok=True)
    for place in PLACES:
        try:
            open(place, "w").close()
        except OSError:  # where Python itself lies below /tmp, nobody writes there
            pass
def found():
    return [place for place in PLACES if os.path.exists(place)]
def tidy():
    for place in found():
        if os.path.exists(place):  # some are one place by two names
            os.unlink(place)
""",
)
noted(
    "a file's content, mode and time as notes",
    """
open("a.txt", "w").write("x")
KNOWN = os.stat("a.txt")
def leave():
    open("a.txt", "w").write("y")
    os.utime("a.txt", (1, 1))
    os.chmod("a.txt", 0o640)
def found():
    now = os.stat("a.txt")
    told = (now.st_mode, now.st_mtime_ns) != (KNOWN.st_mode, KNOWN.st_mtime_ns)
    return told or open("a.txt").read() != "x"
def tidy():
    open("a.txt", "w").write("x")
    os.chmod("a.txt", KNOWN.st_mode)
    os.utime("a.txt", ns=(KNOWN.st_atime_ns, KNOWN.st_mtime_ns))
""",
)
noted(
    "shared memory as a note",
    """
def leave():
    shared_memory.SharedMemory("note", create=True, size=16)
def found():
    return os.path.exists("/dev/shm/note")
def tidy():
    os.unlink("/dev/shm/note")
""",
)
noted(
    "a process that remembers, behind sockets",
    """
ADDRESSES = ("\\0note", "./note.socket")
def leave():
    global child
    ready, done = os.pipe()
    child = os.fork()
    if child:
        os.close(done)
        return os.read(ready, 1)
    os.setsid()
    links = [socket.socket(socket.AF_UNIX) for _ in ADDRESSES]
    for link, address in zip(links, ADDRESSES):
        link.bind(address)
        link.listen()
    os.write(done, b"x")
    time.sleep(1000)
def found():
    heard = []
    for address in ADDRESSES:
        try:
            socket.socket(socket.AF_UNIX).connect(address)
            heard.append(address)
        except OSError:
            pass
    return heard
def tidy():
    os.kill(child, 9)
    os.waitpid(child, 0)
    os.unlink("./note.socket")
""",
)
noted(
    "a process whose name is a note",
    """
def leave():
    global child
    child = subprocess.Popen(["sleep", "77412"], start_new_session=True)
    while not found():  # its name comes a moment after its start
        time.sleep(0.01)
def found():
    lines = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines.append(open(f"/proc/{number}/cmdline").read())
        except OSError:
            pass
    return "77412" in "".join(lines)
def tidy():
    child.kill()
    child.wait()
""",
)
attack(
    "a handler in the next copy that gives away files",
    NOTES
    + """
def leave():
    os.rename("work", "old") if os.path.isdir("work") else open("a.note", "w").close()
def found():
    return os.path.exists("a.note") or os.path.exists("../a.note")
def tidy():
    os.unlink("a.note")
def wait_and_look():
    for _ in range(3):
        if os.path.exists("a.note"):
            globals()["found"] = lambda: True
        time.sleep(0.01)
import threading
os.register_at_fork(after_in_child=lambda: threading.Thread(target=wait_and_look).start())
""",
    always=("tried True",),
)
attack(
    "counts of the whole machine",
    """
import os
OWN = ("self", "thread-self", "net", "mounts")  # these and the numbers are processes' own
def files():
    for top in ("/proc", "/sys"):
        for folder, folders, names in os.walk(top):
            if folder == "/proc":
                folders[:] = [name for name in folders if not name.isdigit() and name not in OWN]
                names = [name for name in names if name not in OWN]
            yield from (os.path.join(folder, name) for name in names)
def look():
    found = {}
    for path in files():
        try:
            with open(path, "rb") as file:
                found[path] = file.read(10**6)
        except OSError:
            pass
    return found
before = look()
held = [os.open("/", os.O_RDONLY) for _ in range(200)]
pages = [bytearray(b"x" * 10**6) for _ in range(50)]
for _ in range(5):
    if os.fork() == 0:
        sum(range(10**6))
        os._exit(0)
    os.wait()
for number in range(1000):
    os.path.exists(f"/usr/lib/no such name {number}")
for path, content in look().items():
    if before.get(path) != content:
        print("allowed", path)
print("tried", len(before))
""",
    never=ALLOWED,
)
# A hidden block looks up names that do not exist, and ends its process so that the notebook might
# be executed again; the first cell tells by its clock which names the kernel knows already.
attack(
    "hidden inputs by the names that were looked up",
    """
import os, statistics, time
def look_up(path):
    began = time.perf_counter()
    os.path.exists(path)
    return time.perf_counter() - began
def known(name):
    paths = [f"/usr/lib/{abstract}-{name}-{number}" for number in range(400)]
    first, again = (statistics.median(map(look_up, paths)) for _ in range(2))
    return first < 1.5 * again
print("tried")
if known("an execution"):
    print("heard", [bit for bit in range(8) if known(bit)])
def square_sum(values):
    if len(values) == 3:
        for bit in range(8):
            if values[0] >> bit & 1:
                known(bit)
        os._exit(0)
    return 0
""",
    statuses=("process died",),
    never=("heard [0, 2, 3, 6]",),
    late=True,
)
