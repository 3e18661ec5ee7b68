"""Attacks by way of the worker's own objects, which a student's code can reach in its process.

Each names a value of its choice for every case, and prints what the objects hold: that is all that
there is to be had.
"""

from cohort.attacks.attack import HIDDEN_INPUT, REACH, attack

ZERO = "def square_sum(values):\n    return 0"
# What is done with a worker, once it is found: every statement's value is 7 from now on.
ACT = """
def act(worker):
    print("tried", type(worker).__name__)
    print({name: repr(value)[:500] for name, value in vars(worker).items()})
    print(repr(vars(worker.channel)), repr(worker.shell.user_ns.keys()))
    worker.doers["value"] = worker.doers["raises"] = lambda code: ({}, b'["i","0x7"]')
"""
FOUND = ("tried Worker", '"value": 7')
NEVER = ("hidden: ", "6089", "two numbers", HIDDEN_INPUT)


def reaches(name: str, code: str) -> None:
    """Add an attack whose code finds the worker and calls `act` with it."""
    attack(f"reaching the worker {name}", ACT, code, ZERO, always=FOUND, never=NEVER)


reaches("by the module of doubles", "import proflab_grader\nact(proflab_grader.call.__self__)")
reaches("by frames", f"{REACH}\nact(reach('Worker'))")
reaches(
    "by the frames of all threads",
    """
import sys, threading
def look():
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            for thing in list(frame.f_locals.values()):
                if type(thing).__name__ == "Worker":
                    return found.append(thing)
            frame = frame.f_back
found = []
thread = threading.Thread(target=look)
thread.start()
thread.join()
act(found[0])
""",
)
reaches(
    "by the stack and its tracebacks",
    """
import traceback
def look():
    try:
        raise ValueError
    except ValueError as error:
        for frame, _ in traceback.walk_stack(error.__traceback__.tb_frame):
            if type(frame.f_locals.get("self")).__name__ == "Worker":
                return frame.f_locals["self"]
act(look())
""",
)
reaches(
    "by what refers to its outputs",
    """
import gc, sys
gc.unfreeze()
owners = gc.get_referrers(sys.stdout.recorder)
owners += [o for d in owners if isinstance(d, dict) for o in gc.get_referrers(d)]
act(next(o for o in owners if type(o).__name__ == "Worker"))
""",
)
reaches(
    "by all objects, no longer frozen",
    """
import gc
gc.unfreeze()
act(next(o for o in gc.get_objects() if type(o).__name__ == "Worker"))
""",
)
reaches(
    "by its address",
    f"{REACH}\nimport ctypes\nplace = id(reach('Worker'))\n"
    "act(ctypes.cast(place, ctypes.py_object).value)",
)
reaches(
    "by a signal's handler",
    """
import os, signal
def handler(number, frame):
    while type(frame.f_locals.get("self")).__name__ != "Worker":
        frame = frame.f_back
    act(frame.f_locals["self"])
signal.signal(signal.SIGUSR1, handler)
os.kill(os.getpid(), signal.SIGUSR1)
""",
)
reaches(
    "by a profile function",
    """
import sys
def profile(frame, event, argument):
    sys.setprofile(None)
    while frame is not None and type(frame.f_locals.get("self")).__name__ != "Worker":
        frame = frame.f_back
    if frame is not None:
        act(frame.f_locals["self"])
sys.setprofile(profile)
len("")
""",
)
reaches(
    "by the shell's methods",
    """
import gc
shell = get_ipython().system.__self__
gc.unfreeze()
owners = gc.get_referrers(shell)
owners += [o for d in owners if isinstance(d, dict) for o in gc.get_referrers(d)]
act(next(o for o in owners if type(o).__name__ == "Worker"))
""",
)
attack(
    "the channel's methods replaced",
    REACH
    + """
worker = reach("Worker")
send, receive = worker.channel.send, worker.channel.receive
heard = []
def receive_and_keep():
    message, blob = receive()
    heard.append(message)
    return message, blob
def send_seven(message, blob=b""):
    if heard and heard[-1].get("do") == "value":
        blob = b'["i","0x7"]'
    send(message, blob)
worker.channel.receive, worker.channel.send = receive_and_keep, send_seven
""",
    ZERO,
    after=("print('tried', heard)",),
    always=('"value": 7', "square_sum([1, 2])"),
    never=NEVER,
)
attack(
    "the same nonce for two replies",
    REACH
    + """
worker = reach("Worker")
send = worker.channel.send
def send_twice(message, blob=b""):
    send(message, blob)
    if blob:
        send(message, b'["i","0x5"]')
worker.channel.send = send_twice
""",
    ZERO,
    statuses=("tampered",),
    ends=("was not asked",),
)
attack(
    "calls of doubles that nobody asked for",
    REACH
    + """
worker = reach("Worker")
worker.nonce = "0"
import proflab_grader
print("tried")
proflab_grader.call("model", 1)
""",
    ZERO,
    statuses=("tampered",),
    ends=("was not asked", "may not send"),
)
