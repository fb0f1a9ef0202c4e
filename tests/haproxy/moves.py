#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""moves: three resexd over shm, on simulated hosts, move nodes between the backends of a real HAProxy.

Clients ask both services all the time: one of the test's own, whose replies name the node that made
them, and wrk, ab, ab -k and h2load (tools.py). No request may fail, and when HAProxy follows the words,
each service is answered by its own nodes alone. MOVES of them; --deep: 1,000. A server drains until
requests that take SLOW_S have ended. How long a move's commands take is printed, in times of one "show
info" (relay.py); --deep: at most COMMANDS_MOST. Exit: 0, 1, or 77 when haproxy or a tool is missing (1
when CI=true).
"""
import collections
import http.client
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time

import relay
import tools
from common import PATIENCE_S, Cluster, Failed, ask, expect, until

DEEP = bool(os.environ.get("RESEX_DEEP"))
MOVES = 1000 if DEEP else 40
SCAN_S = 0.05
NODES = ["n1", "n2", "n3", "n4"]
HOSTS = 3  # each is a node, n1 to n3; a guest of the third is n4
SERVICES = ["web", "mail"]
SLOW_S = 2
SLOW_TRIES = 40
COMMANDS_MOST = 5  # of a move, in times of one "show info"


class Slow(http.server.ThreadingHTTPServer):
    """The slow pages of all nodes. A reply ends after SLOW_S, but not before release is set. began: the
    nodes that were asked, in order."""
    def __init__(self):
        self.began, self.release = [], threading.Event()
        super().__init__(("127.0.0.1", 0), SlowPage)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @staticmethod
    def body(node):
        return (node + " ").encode() * 1000


class SlowPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = Slow.body(self.headers["X-Node"])
        half = len(body) // 2
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:half])
        self.server.began.append(self.headers["X-Node"])
        time.sleep(SLOW_S)
        self.server.release.wait(PATIENCE_S)
        self.wfile.write(body[half:])

    def log_message(self, *args):
        pass


class Bed(Cluster):
    def __init__(self, top, build):
        super().__init__(top, build, HOSTS, SCAN_S)
        self.slow = Slow()
        self.write_haproxy(self.take_ports(SERVICES, len(NODES)))
        self.made = [subprocess.Popen(["haproxy", "-f", os.path.join(top, "haproxy.cfg")], stderr=subprocess.DEVNULL)]
        until(lambda: ask(self.socket, "show info"), "HAProxy answers")
        self.relay = relay.Process(top, self.socket)
        self.made.insert(0, self.relay.process)  # it ends first
        self.daemon = [self.start_host(n) for n in range(1, HOSTS + 1)]

    def write_haproxy(self, ports):
        """A slot for each node in each backend; all are disabled: resexd enables those that serve."""
        with open(os.path.join(self.top, "haproxy.cfg"), "w") as f:
            f.write("global\n stats socket %s level admin\n maxconn 500\ndefaults\n mode http\n timeout connect 2s\n"
                    " timeout client 60s\n timeout server 60s\n timeout queue 9s\n option redispatch\n" % self.socket)
            for service, port in self.port.items():
                f.write("frontend f%s\n bind 127.0.0.1:%d\n bind 127.0.0.1:%d proto h2\n default_backend %s\n"
                        "backend %s\n balance roundrobin\n"
                        % (service, port, self.port2[service], service, service))
                for name, at in zip(NODES, ports):
                    f.write(" server %s 127.0.0.1:%d disabled\n" % (name, at))
            for name, at in zip(NODES, ports):
                f.write("frontend at%s\n bind 127.0.0.1:%d\n http-request set-header X-Node %s\n"
                        " http-request return status 200 content-type text/plain string %s unless { path /slow }\n"
                        " default_backend slow\n" % (name, at, name, name))
            f.write("backend slow\n server s 127.0.0.1:%d\nfrontend bad\n bind 127.0.0.1:%d\n"
                    " bind 127.0.0.1:%d proto h2\n http-request return status 503\n"
                    % (self.slow.server_address[1], *self.bad_ports))

    def start_host(self, n):
        node = [{"name": "n%d" % i, "number": 1, "host": "xen%d" % i, "service": "web" if i == 1 else "mail"}
                for i in range(1, HOSTS + 1)]
        node.append({"name": "n4", "number": 2, "host": "xen3", "guest": "bulk", "service": "web"})
        return self.start(n, nodes=node, reconf={"T": "2s"},
                          services=[{"name": s, "number": i + 1, "balancers": ["xen1"]}
                                    for i, s in enumerate(self.port)],
                          balance=[{"service": s, "socket": self.relay.socket, "mode": "act"} for s in self.port])

    def close(self):
        super().close()
        self.slow.shutdown()
        self.slow.server_close()


class Load(threading.Thread):
    """Requests to one service, each on a connection that is kept, until stop. nodes: replies, by node."""
    def __init__(self, port):
        super().__init__(daemon=True, name="own")
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


def drains(bed, loads, want):
    """n2 goes from mail to web while slow requests are under way on it: they end well, and it drains until then."""
    got, slow = [], bed.slow

    def state():
        return bed.states("mail").get("n2")

    def get():
        c = http.client.HTTPConnection("127.0.0.1", bed.port["mail"], timeout=3 * PATIENCE_S)
        try:
            c.request("GET", "/slow")
            r = c.getresponse()
            got.append((r.status, r.read()))
        except (OSError, http.client.HTTPException) as e:
            got.append((repr(e), b""))
    threads = []
    while "n2" not in slow.began:
        expect(len(threads) < SLOW_TRIES, "no slow request is sent to n2, of", len(threads), slow.began)
        threads.append(threading.Thread(target=get))
        threads[-1].start()
        until(lambda: len(slow.began) == len(threads), "a slow request reaches its node")
    began = time.monotonic()
    bed.move(1, "n2", "web")
    want["web"].add("n2")
    want["mail"].discard("n2")
    until(lambda: state() == "drain", lambda: "n2 drains; it is %s" % state())
    own_nodes_alone(bed, loads, want)
    while time.monotonic() < began + SLOW_S:
        expect(state() == "drain", "n2 while a request is under way", state())
        time.sleep(0.01)
    slow.release.set()
    for t in threads:
        t.join()
    until(lambda: state() == "maint", lambda: "n2 is out; it is %s" % state())
    good = [(200, slow.body(name)) for name in slow.began]
    expect(sorted(got) == sorted(good), "slow replies", [(status, len(body)) for status, body in got])
    print("moves: a server drained for %.1f s, until the last of %d slow requests had ended" %
          (time.monotonic() - began, len(threads)))


def many(bed, loads, want):
    """MOVES of them; when each began, and the end."""
    began = []
    for i in range(MOVES):
        node, to = ("n2", "web" if i % 2 == 0 else "mail")
        began.append(time.monotonic())
        bed.move(1 + i % HOSTS, node, to)
        for s in want:
            (want[s].add if s == to else want[s].discard)(node)
        if i % 10 == 0:
            own_nodes_alone(bed, loads, want)
    own_nodes_alone(bed, loads, want)
    return began + [time.monotonic()]


def restarts(bed, loads, want):
    bed.daemon[1].kill()
    bed.daemon[1].wait()
    bed.daemon[1] = bed.start_host(2)
    until(lambda: bed.resex(2, "node-list").returncode == 0, "resexd of host 2 answers again")
    own_nodes_alone(bed, loads, want)


def check_costs(bed, moments):
    move, info = bed.relay.costs(moments)
    print("moves: HAProxy takes %.0f us for the commands of a move, %.0f us for \"show info\": %.1f times (medians)"
          % (1e6 * move, 1e6 * info, move / info))
    # On a busy machine the median of 40 moves comes too near to the limit.
    expect(move > 0 and (move <= COMMANDS_MOST * info or not DEEP), "a move's commands, and show info", move, info)


def check_requests(of_all):
    """of_all: what has .requests and .failed."""
    tools.stop(of_all)
    counts = collections.Counter()
    for load in of_all:
        counts[load.name] += load.requests
    failed = [f for load in of_all for f in load.failed]
    print("moves: requests: %s; %d failed" % (", ".join("%s %d" % c for c in counts.items()), len(failed)))
    expect(all(counts.values()), "a client without requests", dict(counts))
    expect(not failed, "requests that failed", *failed[:5])


def run(top, build):
    want = {"web": {"n1", "n4"}, "mail": {"n2", "n3"}}
    bed = Bed(top, build)
    try:
        tools.failures_are_seen(*bed.bad_ports)
        until(lambda: all(bed.serving(s) == want[s] for s in want), "HAProxy has the first services")
        loads = {s: Load(port) for s, port in bed.port.items()}
        others = tools.start_all(list(bed.port.values()), list(bed.port2.values()))
        moments = many(bed, loads, want)
        print("moves: %d moves in %.1f s" % (MOVES, moments[-1] - moments[0]))
        restarts(bed, loads, want)
        drains(bed, loads, want)
        check_requests(list(loads.values()) + others)
        check_costs(bed, moments)
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
    if tools.missing():
        sys.exit(tools.skip("moves"))
    with tempfile.TemporaryDirectory(prefix="resex-moves-") as top:
        sys.exit(run(top, os.getcwd()))
