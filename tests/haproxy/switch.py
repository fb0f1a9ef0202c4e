#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""switch: three resexd over shm, on simulated hosts, move nodes of kind "switch" between backends of a real HAProxy.

A node is an HTTP server that serves one service at a time: the hook of its host makes it serve another one. Each reply
names the service that the node serves, in its body and in a header, by which HAProxy makes a reply for another service
an error. No request may fail, and none may be answered for another service, while nodes move, hooks fail, and resexd is
killed and started again. MOVES of them; --deep: 1,000, under wrk, ab, ab -k and h2load (tools.py), too. Exit: 0, 1, or
77 when haproxy is missing, with --deep also a tool (1 when CI=true).
"""
import http.client
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import tools
from common import Cluster, Failed, expect, until

DEEP = bool(os.environ.get("RESEX_DEEP"))
MOVES = 1000 if DEEP else 12
SCAN_S = 0.05
SERVICES = ["web", "mail"]
HOSTS = 3
NODES = ["n1", "n2", "n3", "n4"]  # n1 to n3: the hosts; n4: a guest of the third
OWN = " http-response set-status 502 unless { res.hdr(X-Service) %s }\n"  # a reply for another service is an error
HOOK = """#!/bin/sh
# hook ACTION NODE FROM TO: the server of NODE reads its service from a file, which is gone while it changes.
set -eu
dir=%s/roles
case $1 in
switch)
	echo "$*" >>$dir/../hooks
	[ ! -e $dir/../hook-fails ] || { echo "no room for $4 on $2" >&2; exit 3; }
	rm -f $dir/$2
	sleep 0.05
	[ ! -e $dir/../hook-slow ] || sleep 1
	echo $4 >$dir/$2.new
	mv $dir/$2.new $dir/$2 ;;
check)
	echo "$*" >>$dir/../checks
	[ "$(cat $dir/$2)" = $4 ] ;;
esac
"""


def serve(port, path):
    """A node: its reply is its service; 503 while it is prepared for another one."""
    class Node(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self):
            try:
                with open(path) as f:
                    said, status = f.read().strip(), 200
            except OSError:
                said, status = "changes", 503
            if self.path == "/slow":
                time.sleep(1)
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.send_header("X-Service", said)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Node)
    server.handle_error = lambda *_: None  # HAProxy closes connections when it ends
    server.serve_forever()


class Bed(Cluster):
    def __init__(self, top, build):
        super().__init__(top, build, HOSTS, SCAN_S)
        self.first = {n: SERVICES[i % 2] for i, n in enumerate(NODES)}
        os.makedirs(top + "/roles")
        with open(os.open(top + "/hook", os.O_WRONLY | os.O_CREAT, 0o755), "w") as f:
            f.write(HOOK % top)
        ports = dict(zip(NODES, self.take_ports(SERVICES, len(NODES))))
        for n, port in ports.items():
            with open("%s/roles/%s" % (top, n), "w") as f:
                f.write(self.first[n] + "\n")
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                serve(port, "%s/roles/%s" % (top, n))
        self.write_haproxy(ports)
        self.haproxy = self.start_haproxy()
        self.host = {n: self.start_host(n) for n in range(1, HOSTS + 1)}

    def write_haproxy(self, ports):
        with open(self.top + "/haproxy.cfg", "w") as f:
            f.write("global\n stats socket %s level admin\n maxconn 500\ndefaults\n mode http\n timeout connect 2s\n"
                    " timeout client 9s\n timeout server 9s\n timeout queue 9s\n retries 0\n" % self.socket)
            for service, port in self.port.items():
                f.write("frontend f%s\n bind 127.0.0.1:%d\n bind 127.0.0.1:%d proto h2\n default_backend %s\n"
                        "backend %s\n balance roundrobin\n%s" % (service, port, self.port2[service], service, service,
                                                                OWN % service))
                for name, at in ports.items():
                    f.write(" server %s 127.0.0.1:%d disabled\n" % (name, at))
            # Its node serves another service.
            f.write("frontend fbad\n bind 127.0.0.1:%d\n bind 127.0.0.1:%d proto h2\n default_backend bad\n"
                    "backend bad\n%s server s 127.0.0.1:%d\n" % (*self.bad_ports, OWN % SERVICES[1], ports[NODES[0]]))

    def start_haproxy(self):
        p = subprocess.Popen(["haproxy", "-f", self.top + "/haproxy.cfg"], stderr=subprocess.DEVNULL)
        self.made.append(p)
        return p

    def start_host(self, n):
        node = [{"name": name, "number": i, "host": "xen%d" % min(i + 1, 3), "service": self.first[name],
                 "kind": "switch"} for i, name in enumerate(NODES)]
        node[3]["guest"] = "bulk"
        more = {}
        if n == 1:
            more["balance"] = [{"service": s, "socket": self.socket, "mode": "act"} for s in SERVICES]
        return self.start(n, nodes=node, **more,
                          services=[{"name": s, "number": i + 1, "balancers": ["xen1", "xen2"],
                                     "high": 1000000}  # nothing moves for its load
                                    for i, s in enumerate(SERVICES)],
                          reconf={"mode": "act", "T": "2s", "rest": "0s", "hook": self.top + "/hook",
                                  "hook_timeout": "4s", "give_up": "8s"})

    def restart(self, n):
        self.host[n].kill()
        self.host[n].wait()
        self.host[n] = self.start_host(n)

    def nodes(self, n=1):
        r = self.resex(n, "-j", "node-list")
        return {v["node"]: v for v in json.loads(r.stdout)["nodes"]} if r.returncode == 0 else {}

    def ready(self, node, service):
        """As all hosts see it, and as HAProxy does."""
        def is_ready():
            seen = [self.nodes(n).get(node, {}) for n in range(1, HOSTS + 1)]
            return all(s.get("service") == service and s.get("phase") == "ready" for s in seen) and \
                node in self.serving(service)
        until(is_ready, lambda: "%s is ready for %s: %s" % (node, service, self.nodes().get(node)))


class Load(threading.Thread):
    """Requests of one service until stop. wrong: what was answered for another one, or failed."""
    def __init__(self, bed, service, path="/"):
        super().__init__(daemon=True)
        self.bed, self.service, self.path, self.stop = bed, service, path, False
        self.requests, self.wrong, self.excused = 0, [], False
        self.start()

    def run(self):
        c = http.client.HTTPConnection("127.0.0.1", self.bed.port[self.service], timeout=9)
        while not self.stop:
            try:
                c.request("GET", self.path)
                r = c.getresponse()
                said = (r.status, r.read().decode())
            except (OSError, http.client.HTTPException) as e:
                said = ("error", repr(e))
                c.close()
            self.requests += 1
            if said != (200, self.service) and not self.excused:
                self.wrong.append((time.strftime("%X"), self.service) + tuple(said))
        c.close()


def shuffle(bed, moves):
    """n2 and n3 to and fro; n1 and n4 stay, so that each service has a node."""
    at = dict(bed.first)
    for i in range(moves):
        node = ["n2", "n3"][i % 2]
        at[node] = SERVICES[1 - SERVICES.index(at[node])]
        bed.move(1, node, at[node])
        bed.ready(node, at[node])
    return at


def restarts(bed, at):
    """Of each resexd while a node of the third host changes."""
    for n in range(1, HOSTS + 1):
        at["n3"] = SERVICES[1 - SERVICES.index(at["n3"])]
        bed.move(1, "n3", at["n3"])
        # Before, a crash of its host undoes the move.
        until(lambda: (lambda s: s.get("kept") and s["service"] == at["n3"])(bed.nodes().get("n3", {})),
              "the move of n3 is saved")
        bed.restart(n)
        bed.ready("n3", at["n3"])


def undone(bed, at):
    """The hook fails: the node serves neither, and is moved back after give_up, once the hook can."""
    target = SERVICES[1 - SERVICES.index(at["n2"])]
    open(bed.top + "/hook-fails", "w").close()
    bed.move(1, "n2", target)
    until(lambda: "no room for" in bed.nodes(2).get("n2", {}).get("note", ""),
          lambda: "node-list says why: %s" % bed.nodes(2).get("n2"))
    until(lambda: bed.nodes().get("n2", {}).get("service") == at["n2"],
          lambda: "n2 goes back: %s; %s" % (bed.nodes().get("n2"), bed.resex(1, "history").stdout))
    os.unlink(bed.top + "/hook-fails")
    bed.ready("n2", at["n2"])
    said = bed.resex(1, "-j", "history").stdout
    expect(json.loads(said)["moves"][-1]["why"] == "undo", "the history says why", said)


def damaged(bed, at):
    """What n3 serves is not known: it is asked, and serves all the time."""
    bed.host[3].kill()
    bed.host[3].wait()
    with open(bed.top + "/3/state/roles", "w") as f:
        f.write("resex nodes 1\n")
    os.truncate(bed.top + "/hooks", 0)
    bed.host[3] = bed.start_host(3)
    bed.ready("n3", at["n3"])
    with open(bed.top + "/hooks") as f:
        said = f.read()
    expect(not said, "the hook did not switch again", said)


def reload(bed, n, change):
    """cluster-reload of host n, with its file changed; the file before."""
    path = "%s/%d/cluster.json" % (bed.top, n)
    with open(path) as f:
        was = f.read()
    conf = json.loads(was)
    change(conf)
    with open(path, "w") as f:
        json.dump(conf, f)
    r = bed.resex(n, "cluster-reload")
    with open(path, "w") as f:
        f.write(was)
    return r


def reloads(bed, at):
    """A hook that runs goes on; and no proxy is left that sends requests which nobody watches."""
    at["n3"] = SERVICES[1 - SERVICES.index(at["n3"])]
    os.truncate(bed.top + "/hooks", 0)
    open(bed.top + "/hook-slow", "w").close()
    bed.move(1, "n3", at["n3"])
    until(lambda: os.path.getsize(bed.top + "/hooks"), "the hook of n3 runs")
    r = reload(bed, 3, lambda conf: conf["reconf"].update(S="200ms"))
    expect(r.returncode == 0, "a reload while the hook runs", r.stderr)
    bed.ready("n3", at["n3"])
    os.unlink(bed.top + "/hook-slow")
    with open(bed.top + "/hooks") as f:
        said = f.read()
    expect(said.count("switch") == 1, "the hook was called once", said)
    for i, service in enumerate(SERVICES):
        r = reload(bed, 1, lambda conf: conf["balance"].pop(i))
        expect(r.returncode == 4 and "HAProxy may send requests of %s to node" % service in r.stderr,
               "%s is left out of balance" % service, r.returncode, r.stderr)


def run(top, build):
    bed = Bed(top, build)
    loads, others = [], []
    try:
        for node, service in bed.first.items():
            bed.ready(node, service)
        with open(top + "/checks") as f:
            said = f.read()
        # n4 is a guest: its own agent has answered, which the simulated one does.
        expect("check n3 - " in said and "n4" not in said, "which nodes the host's hook was asked of", said)
        loads = [Load(bed, s, p) for s in SERVICES for p in ("/", "/", "/slow")]
        if DEEP:
            tools.failures_are_seen(*bed.bad_ports)
            others = tools.start_all(list(bed.port.values()), list(bed.port2.values()))
        began = time.monotonic()
        at = shuffle(bed, MOVES)
        took = time.monotonic() - began
        restarts(bed, at)
        undone(bed, at)
        damaged(bed, at)
        reloads(bed, at)
        time.sleep(0.5)
        tools.stop(others)
        wrong = [w for load in loads for w in load.wrong] + [w for tool in others for w in tool.failed]
        expect(not wrong, "requests that failed, or were answered for another service", len(wrong), wrong[:5])
        print("pass: %d moves of kind switch in %.1f s, restarts and hooks that fail: %d requests, 0 wrong"
              % (MOVES, took, sum(load.requests for load in loads + others)))
        for tool in others:
            print("%s: %d requests" % (tool.name, tool.requests))
        return 0
    except Failed as e:
        print("FAIL: %s" % e)
        for n in range(1, HOSTS + 1):
            print("host %d:\n%s%s" % (n, bed.resex(n, "node-list").stdout, "\n".join(
                e for e in bed.resex(n, "events", "-n", "1000").stdout.splitlines() if " reconf " in e)))
        print("wrong:", [w for load in loads for w in load.wrong][:5])
        return 1
    finally:
        tools.stop(loads + others)
        bed.close()


def main():
    os.setpgid(0, 0)
    if tools.missing(DEEP):
        return tools.skip("switch", DEEP)
    top = tempfile.mkdtemp(prefix="resex-switch-")
    rc = 1
    try:
        rc = run(top, os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "."))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)  # the nodes
        if rc == 0:
            shutil.rmtree(top, ignore_errors=True)
        else:
            print("left in %s" % top)
    return rc


if __name__ == "__main__":
    sys.exit(main())
