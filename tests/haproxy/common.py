# SPDX-License-Identifier: GPL-2.0-or-later
"""common: what the tests of HAProxy share: ports, waiting, and its Runtime API, on a connection of the test's own."""
import socket
import time

PATIENCE_S = 20


class Failed(Exception):
    pass


def expect(good, what, *seen):
    if not good:
        raise Failed("%s: %s" % (what, " ".join(map(str, seen))))


def until(holds, what):
    """what: a text, or a function that makes it when it is needed."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise Failed("not within %d s: %s" % (PATIENCE_S, what() if callable(what) else what))
        time.sleep(0.01)


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def ask(path, command):
    """What HAProxy says; "": nothing."""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            s.connect(path)
            s.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()
    except OSError:
        return ""
