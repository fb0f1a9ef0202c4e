#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""moves: three resexd over shm, on simulated hosts, move nodes between the backends of a real HAProxy.

Clients ask both services all the time; each reply names the node that made it. No request may fail,
and when HAProxy follows the words, each service is answered by its own nodes alone. MOVES of them;
--deep: 1,000. Exit: 0, 1, or 77 when there is no haproxy (1 when CI=true).
"""
import collections
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from common import Failed, ask, expect, free_ports, until

MOVES = 1000 if os.environ.get("RESEX_DEEP") else 40
SCAN_S = 0.05
NODES = ["n1", "n2", "n3", "n4"]
HOSTS = 3  # each is a node, n1 to n3; a guest of the third is n4


class Bed:
    def __init__(self, top, build):
        self.top, self.build = top, build
        self.port = dict(zip(["web", "mail"], free_ports(2)))
        self.socket = os.path.join(top, "haproxy.sock")
        self.made = []
        self.write_haproxy(free_ports(len(NODES)))
        self.haproxy = self.start_haproxy()
        os.mkdir(os.path.join(top, "shm"))
        self.hosts = [self.start_host(n) for n in range(1, HOSTS + 1)]

    def write_haproxy(self, ports):
        """A slot for each node in each backend; all are disabled: resexd enables those that serve."""
        with open(os.path.join(self.top, "haproxy.cfg"), "w") as f:
            f.write("global\n stats socket %s level admin\n maxconn 500\ndefaults\n mode http\n timeout connect 2s\n"
                    " timeout client 9s\n timeout server 9s\n timeout queue 9s\n option redispatch\n" % self.socket)
            for service, port in self.port.items():
                f.write("frontend f%s\n bind 127.0.0.1:%d\n default_backend %s\nbackend %s\n balance roundrobin\n"
                        % (service, port, service, service))
                for name, at in zip(NODES, ports):
                    f.write(" server %s 127.0.0.1:%d disabled\n" % (name, at))
            for name, at in zip(NODES, ports):
                f.write("frontend at%s\n bind 127.0.0.1:%d\n http-request return status 200 content-type text/plain "
                        "string %s\n" % (name, at, name))

    def start_haproxy(self):
        p = subprocess.Popen(["haproxy", "-f", os.path.join(self.top, "haproxy.cfg")], stderr=subprocess.DEVNULL)
        self.made.append(p)
        return p

    def start_host(self, n):
        d = os.path.join(self.top, str(n))
        os.makedirs(d, exist_ok=True)
        node = [{"name": "n%d" % i, "number": 1, "host": "xen%d" % i, "service": "web" if i == 1 else "mail"}
                for i in range(1, HOSTS + 1)]
        node.append({"name": "n4", "number": 2, "host": "xen3", "guest": "bulk", "service": "web"})
        cluster = {"cluster": "moves", "host": "xen%d" % n, "transport": "shm", "key_file": d + "/key",
                   "heartbeat": "50ms", "scan": "%dms" % (1000 * SCAN_S), "timeout": "500ms", "hold": "500ms",
                   "hosts": [{"name": "xen%d" % i, "number": i, "address": self.top + "/shm"}
                             for i in range(1, HOSTS + 1)],
                   "services": [{"name": s, "number": i + 1, "balancers": ["xen1"]} for i, s in enumerate(self.port)],
                   "nodes": node, "reconf": {"T": "2s"},
                   "balance": [{"service": s, "socket": self.socket, "mode": "act"} for s in self.port]}
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

    def serving(self, service):
        """By HAProxy: the servers of the backend that are not in maintenance and do not drain."""
        said = ask(self.socket, "show servers state %s" % service)
        return {r.split()[3] for r in said.splitlines()[2:] if r and not int(r.split()[6]) & 0x09}

    def close(self):
        for p in self.made:
            p.terminate()
        for p in self.made:
            p.wait()


class Load(threading.Thread):
    """Requests to one service, each on a connection that is kept, until stop. nodes: replies, by node."""
    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.stop, self.nodes, self.failed, self.requests = port, False, collections.Counter(), [], 0
        self.start()

    def run(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=9)
        while not self.stop:
            self.requests += 1
            try:
                c.request("GET", "/")
                r = c.getresponse()
                body = r.read().decode()
                if r.status != 200:
                    self.failed.append(r.status)
                self.nodes[body] += 1
            except (OSError, http.client.HTTPException) as e:
                self.failed.append(repr(e))
                c.close()
        c.close()


def own_nodes_alone(bed, loads, want):
    """From now on, each service is answered by its nodes alone. HAProxy may still follow an earlier move."""
    time.sleep(4 * SCAN_S)
    until(lambda: all(bed.serving(s) == want[s] for s in want), "HAProxy has %s" % want)
    time.sleep(0.05)  # replies that were under way
    for load in loads.values():
        load.nodes.clear()
    time.sleep(0.1)
    for s, load in loads.items():
        expect(set(load.nodes) <= want[s], "answered for %s, of %s" % (s, want[s]), dict(load.nodes))


def run(top, build):
    want = {"web": {"n1", "n4"}, "mail": {"n2", "n3"}}
    bed = Bed(top, build)
    try:
        until(lambda: all(bed.serving(s) == want[s] for s in want), "HAProxy has the first services")
        loads = {s: Load(port) for s, port in bed.port.items()}
        began = time.monotonic()
        for i in range(MOVES):
            node, to = ("n2", "web" if i % 2 == 0 else "mail")
            bed.move(1 + i % HOSTS, node, to)
            for s in want:
                (want[s].add if s == to else want[s].discard)(node)
            if i % 10 == 0:
                own_nodes_alone(bed, loads, want)
        seconds = time.monotonic() - began
        own_nodes_alone(bed, loads, want)
        bed.hosts[1].kill()
        bed.hosts[1].wait()
        bed.hosts[1] = bed.start_host(2)
        until(lambda: bed.resex(2, "node-list").returncode == 0, "resexd of host 2 answers again")
        own_nodes_alone(bed, loads, want)
        for load in loads.values():
            load.stop = True
            load.join()
        failed = [f for load in loads.values() for f in load.failed]
        print("moves: %d moves in %.1f s, %d requests meanwhile and after, %d failed; one resexd killed and started"
              % (MOVES, seconds, sum(load.requests for load in loads.values()), len(failed)))
        expect(not failed, "requests that failed", failed[:5])
    except Failed as e:
        print("moves: not ok: %s" % e)
        for n in range(1, HOSTS + 1):
            print("node-list of host %d: %s" % (n, bed.resex(n, "node-list").stdout))
            with open("%s/%d/log" % (top, n)) as f:
                print("log of host %d: %s" % (n, f.read()[-2000:]))
        return 1
    finally:
        bed.close()
    return 0


if __name__ == "__main__":
    if not shutil.which("haproxy"):
        print("moves: there is no haproxy")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    with tempfile.TemporaryDirectory(prefix="resex-moves-") as top:
        sys.exit(run(top, os.getcwd()))
