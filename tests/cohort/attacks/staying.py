"""Attacks that break out, call home, or stay."""

from cohort.attacks.attack import attack

MARK = "proflab_attack_mark"  # the test looks for files of this name

attack(
    "TCP to the grader's machine",
    """
import socket
for address in (("127.0.0.1", {port}), ("::1", {port})):
    try:
        socket.create_connection(address, timeout=2)
        print("connected")
    except OSError as error:
        print(error)
try:
    socket.getaddrinfo("localhost", {port})
    import urllib.request
    urllib.request.urlopen("http://127.0.0.1:{port}/", timeout=2)
    print("connected")
except OSError as error:
    print(error)
print("tried")
""",
    never=("connected",),
)
attack(
    "Unix and abstract sockets of the grader's machine",
    """
import socket
for address in ("{socket}", "\\0{abstract}", "/run/dbus/system_bus_socket",
                "/var/run/docker.sock"):
    try:
        link = socket.socket(socket.AF_UNIX)
        link.connect(address)
        print("connected", link.recv(100))
    except OSError as error:
        print(error)
print("tried")
""",
    never=("connected",),
)
attack(
    "sockets of every family",
    """
import socket
for family in range(1, 46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind)
            if family != socket.AF_UNIX:
                print("opened family", family)
        except OSError:
            pass
print("tried")
""",
    never=("opened family",),
)
attack(
    "background processes",
    """
import subprocess, os
for _ in range(3):
    subprocess.Popen(["sleep", "{nap}"], start_new_session=True)
subprocess.Popen(["sh", "-c", "(trap '' TERM HUP INT; exec sleep {nap}) & disown"], shell=False)
subprocess.Popen(["bash", "-c", "exec -a innocent sleep {nap}"], start_new_session=True)
print("tried")
""",
)
attack(
    "a daemon that writes to the gradebook",
    """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            try:
                with open("{course}/gradebook.db", "w") as file:
                    file.write("10/10")
            except OSError:
                open("attempt.txt", "w").write("tried")
            time.sleep(0.01)
    os._exit(0)
while not os.path.exists("attempt.txt"):
    time.sleep(0.01)
print("tried")
""",
)
attack(
    "signals to everyone",
    """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for pid in {1, os.getppid(), *range(2, 300)} - {os.getpid()}:
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGCHLD, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError:
            pass
try:
    os.kill(-1, signal.SIGTERM)
except OSError:
    pass
print("tried")
""",
)
attack(
    "writing outside",
    f"""
import os, sys
import proflab, numpy
for folder in ("{{course}}", "{{course}}/source", "/", "/usr", "/usr/lib", "/etc", "/dev", "/proc",
               "/proc/sys/kernel", "/var/tmp", "/home", "/root", "/proflab", "/proflab/library",
               "/proflab/programs", "/sys", "/run", os.path.dirname(numpy.__file__),
               os.path.dirname(proflab.__file__), os.path.dirname(sys.executable), *sys.path[:-1]):
    for act in (lambda p: open(p, "w").write("x"), os.mkdir, lambda p: os.symlink("/etc", p),
                lambda p: os.mkfifo(p), lambda p: os.link(sys.executable, p)):
        try:
            act(os.path.join(folder, "{MARK}"))
            print("wrote", folder)
        except OSError:
            pass
print("tried")
""",
    never=("wrote /",),
)
attack(
    "changing what is mounted",
    """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
calls = [lambda: libc.mount(b"none", b"/", None, 32 | 4096, None),
         lambda: libc.mount(b"x", b"/usr", b"tmpfs", 0, None),
         lambda: libc.umount2(b"/proc", 2), lambda: libc.umount2(b"/proflab/student", 2),
         lambda: libc.unshare(0x10000000), lambda: libc.unshare(0x20000),
         lambda: libc.chroot(b"/tmp"), lambda: libc.setns(os.open("/proc/self/ns/mnt", 0), 0),
         lambda: libc.syscall(428, -100, b"/", 0), lambda: libc.syscall(155, b"/", b"/tmp"),
         lambda: libc.sethostname(b"x", 1)]
for number, call in enumerate(calls):
    try:
        if call() >= 0:
            print("allowed", number)
    except OSError:
        pass
print("tried")
""",
    never=("allowed",),
)
attack(
    "becoming someone else",
    """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for act in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgid(0),
            lambda: os.setgroups([0]), lambda: os.chown("/proflab/student/work", 0, 0),
            lambda: os.nice(-5), lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))):
    try:
        act()
        print("allowed")
    except OSError:
        pass
os.system("sudo -n true; su -c true; mount -t proc none /proc; unshare -Ur true && echo allowed")
print(open("/proc/self/status").read().count("0000000000000000") >= 5)
print("tried")
""",
    never=("allowed",),
)
attack(
    "doors of the kernel",
    """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in (("bpf", 321), ("perf", 298), ("io_uring", 425), ("userfaultfd", 323),
                     ("keyctl", 250), ("add_key", 248), ("memfd", 319), ("handle", 304),
                     ("shmget", 29), ("fanotify", 300), ("kcmp", 312), ("personality", 135)):
    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0:
        print("allowed", name)
print("tried")
""",
    never=("allowed",),
)
attack(
    "a namespace by clone",
    """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
if pid > 0:
    print("allowed")
print("tried")
""",
    never=("allowed",),
)
attack(
    "notes for the next student",
    f"""
import os
for folder in ("/tmp", "/dev/shm", ".", "/proflab/student", "/proflab/student/tmp"):
    try:
        with open(os.path.join(folder, "{MARK}"), "w") as file:
            file.write("a note for the next")
    except OSError:
        pass
import proflab.checks.values, numpy, json
proflab.checks.values.note = numpy.note = json.note = "a note for the next"
print("tried")
""",
)
