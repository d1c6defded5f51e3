"""A program in the engine's place, for tests of how engines are started. FAKE_SERVE says what it does."""

import fcntl
import json
import os
import socket
import sys
import time

option = dict(zip(sys.argv[2::2], sys.argv[3::2]))
mode = os.environ.get("FAKE_SERVE", "serve")
print(f"serving {option['--socket']} as {os.getpid()}", flush=True)
with open(os.environ["FAKE_SERVE_STARTS"], "a") as starts:
    starts.write(
        f"{os.getpid()} {os.getsid(0)} {os.getppid()} {sorted(map(int, os.listdir('/proc/self/fd')))} {os.getcwd()} "
        f"{sorted(os.sched_getaffinity(0))}\n"
    )
if mode == "die":
    sys.exit("panic: no space left on device")
if mode == "taken":  # as the engine does where another one has begun and does not listen yet
    with open(f"{option['--socket']}.shardfeed-engine") as life:
        try:
            fcntl.flock(life, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.1)
            sys.exit("another engine serves there")
if mode == "hang":
    time.sleep(60)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
name = f"{option['--socket']}.{os.getpid()}"
listener.bind(name)
listener.listen()
os.rename(name, option["--socket"])
if mode == "crash":
    listener.close()
time.sleep(0.1)  # time for others to come
os.write(int(option["--ready-fd"]), json.dumps({"pid": os.getpid()}).encode() + b"\n")
os.close(int(option["--ready-fd"]))
if mode == "crash":
    sys.exit(0)
listener.settimeout(60)
first, _ = listener.accept()
while first.recv(1):
    pass
if mode != "leave stale":
    os.unlink(option["--socket"])
