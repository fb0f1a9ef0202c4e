# SPDX-License-Identifier: GPL-2.0-or-later
"""common: what the tests of HAProxy share: ports, waiting, its Runtime API, on a connection of the test's own, and
resexds on simulated hosts of one cluster over shm."""
import json
import os
import socket
import subprocess
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


class Cluster:
    """Hosts 1 to hosts, in folders of top; made: processes to be ended by close, in this order."""
    def __init__(self, top, build, hosts, scan_s):
        self.top, self.build, self.hosts, self.scan_s, self.made = top, build, hosts, scan_s, []
        self.socket = top + "/haproxy.sock"  # HAProxy's own
        os.mkdir(top + "/shm")

    def take_ports(self, services, more):
        """HTTP/1 and HTTP/2 for each service, and for what is always an error. Returns so many more ports."""
        n, ports = len(services), free_ports(2 * len(services) + 2 + more)
        self.port, self.port2 = dict(zip(services, ports)), dict(zip(services, ports[n:]))
        self.bad_ports = ports[2 * n:2 * n + 2]
        return ports[2 * n + 2:]

    def start(self, n, **more):
        """resexd of host n, also again. more: members of its cluster.json."""
        d = "%s/%d" % (self.top, n)
        os.makedirs(d + "/state", exist_ok=True)
        cluster = {"cluster": "moves", "host": "xen%d" % n, "transport": "shm", "key_file": d + "/key",
                   "heartbeat": "50ms", "scan": "%dms" % (1000 * self.scan_s), "timeout": "500ms", "hold": "500ms",
                   "hosts": [{"name": "xen%d" % i, "number": i, "address": self.top + "/shm"}
                             for i in range(1, self.hosts + 1)], **more}
        daemon = {"links": [{"name": "sim0", "rate": "1GiB/s"}], "lock_memory": False, "socket": d + "/sock",
                  "state_dir": d + "/state", "lock_file": d + "/lock", "cluster_file": d + "/cluster.json"}
        with open(os.open(d + "/key", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
            f.write("0123456789abcdef" * 4 + "\n")
        for name, what in (("cluster", cluster), ("c", daemon)):
            with open("%s/%s.json" % (d, name), "w") as f:
                json.dump(what, f)
        with open(d + "/log", "a") as log:
            p = subprocess.Popen([self.build + "/resexd", "--hv", "sim", "-c", d + "/c.json"], stderr=log)
        self.made.append(p)
        return p

    def resex(self, n, *words):
        return subprocess.run([self.build + "/resex", "-s", "%s/%d/sock" % (self.top, n)] + list(words),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def move(self, n, node, service):
        """Again while it is refused: right after a start not all is read yet."""
        said = [""]

        def is_moved():
            r = self.resex(n, "move", node, service)
            said[0] = r.stderr
            return r.returncode == 0
        until(is_moved, lambda: "a move of %s to %s: %s" % (node, service, said[0]))

    def states(self, service):
        """By HAProxy, of each server of the backend."""
        rows = [r.split() for r in ask(self.socket, "show servers state %s" % service).splitlines()[2:] if r]
        return {r[3]: "maint" if int(r[6]) & 0x01 else "drain" if int(r[6]) & 0x08 else "ready" for r in rows}

    def serving(self, service):
        return {name for name, state in self.states(service).items() if state == "ready"}

    def close(self):
        for p in self.made:
            p.terminate()
        for p in self.made:
            p.wait()
