#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""live: act_haproxy and act_agent against Debian's HAProxy, under load, and what can happen to it.

Each step says what was seen. What HAProxy has in force is asked by "show stat", on a connection of
the test's own. Exit: 0, 1, or 77 when there is no haproxy (1 when CI=true).
"""
import csv
import http.client
import http.server
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from common import PATIENCE_S, Failed, ask, expect, free_ports, until

CLIENT = "tests/haproxy/client"
AGENT = "tests/haproxy/agent"
FLIPS = 2500  # of 4 servers: 10,000 weights
MOVES = 101  # of 2 servers: 201 states
SERVERS = ["n1", "n2", "n3", "n4"]
PAIR = ["p1", "p2"]
AGENTS = ["a1", "a2", "a3"]  # a3 has no weight of its own
SLOW_MS = 50  # until a response


class HAProxy:
    """The frontend has the backend's name: "show stat" by name would find the frontend."""
    def __init__(self, top):
        self.socket = os.path.join(top, "sock")
        self.conf = os.path.join(top, "haproxy.cfg")
        self.port, self.agent_port, self.slow_port, self.slow_at, self.pair_port, *ports = free_ports(5 + len(SERVERS))
        with open(self.conf, "w") as f:
            f.write("global\n stats socket %s level admin\n stats socket %s.operator level operator\n maxconn 500\n"
                    "defaults\n mode http\n timeout connect 2s\n timeout client 9s\n timeout server 9s\n"
                    "frontend web\n bind 127.0.0.1:%d\n default_backend web\n"
                    "backend web\n balance roundrobin\n" % (self.socket, self.socket, self.port))
            for name, port in zip(SERVERS, ports):
                f.write(" server %s 127.0.0.1:%d weight 100\n" % (name, port))
            f.write("frontend pair\n bind 127.0.0.1:%d\n default_backend pair\nbackend pair\n" % self.pair_port)
            for name, port in zip(PAIR, ports):
                f.write(" server %s 127.0.0.1:%d weight 100%s\n" % (name, port, " disabled" if name == "p1" else ""))
            f.write("backend many\n balance roundrobin\n server-template m 1-256 127.0.0.1:%d weight 100\n" % ports[0])
            f.write("backend agents\n")
            for name, weight in zip(AGENTS, ("weight 100", "weight 40", "")):
                f.write(" server %s 127.0.0.1:%d %s agent-check agent-addr 127.0.0.1 agent-port %d agent-inter 50ms "
                        "agent-send \"agents/%s\\n\"\n" % (name, ports[0], weight, self.agent_port, name))
            f.write("frontend slow\n bind 127.0.0.1:%d\n default_backend slow\nbackend slow\n server w 127.0.0.1:%d\n"
                    % (self.slow_port, self.slow_at))
            for name, port in zip(SERVERS, ports):
                f.write("frontend at%s\n bind 127.0.0.1:%d\n http-request return status 200\n" % (name, port))
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(["haproxy", "-W", "-f", self.conf], stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        until(lambda: self.ask("show info"), "HAProxy answers")

    def signal(self, number):
        """To master and worker: they are a process group of their own."""
        os.killpg(self.process.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, command):
        return ask(self.socket, command)

    def worker(self):
        return self.ask("show info").partition("\nPid: ")[2].partition("\n")[0]

    def reload(self):
        """Asked again each second: a master that is just starting misses the signal."""
        before, asked = self.worker(), 0

        def is_new():
            nonlocal asked
            if time.monotonic() - asked > 1:
                asked = time.monotonic()
                os.kill(self.process.pid, signal.SIGUSR2)
            return self.worker() not in ("", before)
        until(is_new, "a new worker")

    def stat(self, field, backend="web"):
        rows = csv.DictReader(self.ask("show stat -1 4 -1").lstrip("# ").splitlines())
        return [int(r[field]) for r in rows if r["pxname"] == backend]

    def weights(self, backend="web"):
        return self.stat("weight", backend)

    def states(self, backend="pair"):
        rows = csv.DictReader(self.ask("show stat -1 4 -1").lstrip("# ").splitlines())
        return [r["status"] for r in rows if r["pxname"] == backend]

    def served(self):
        return self.stat("stot")


class Client:
    def __init__(self, haproxy, backend="web", servers=SERVERS, suffix=""):
        self.process = subprocess.Popen([CLIENT, haproxy.socket + suffix, backend, "300"] + servers, text=True,
                                        bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        words = self.process.stdout.readline().rstrip("\n").split(" ", 9)
        self.state, self.wants, self.note = words[0], words[7], words[9]
        self.connections, self.reads, self.sets, self.failures = map(int, words[1:5])
        self.us = [int(n) for n in words[5].split(":")]
        self.weights = [int(n) for n in words[6].split(",")]
        self.requests = [tuple(map(int, w.split(":"))) for w in words[8].split(",")]  # served, mean ms

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


class Agent:
    def __init__(self, haproxy):
        self.process = subprocess.Popen([AGENT, str(haproxy.agent_port), "agents"] + AGENTS, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.state, told, self.wants, self.note = self.process.stdout.readline().rstrip("\n").split(" ", 3)
        self.told = [int(n) for n in told.split(",")]

    def until(self, what, holds):
        def probe():
            self.say("see")
            return holds()
        until(probe, "%s; it is %s %s" % (what, self.told, self.note))

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


class Load(threading.Thread):
    """Requests one after another, until it is ended."""
    def __init__(self, port):
        super().__init__()
        self.port, self.good, self.bad, self.ended = port, 0, [], False
        self.start()

    def run(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        while not self.ended:
            try:
                c.request("GET", "/")
                r = c.getresponse()
                r.read()
                if r.status == 200:
                    self.good += 1
                else:
                    self.bad.append(r.status)
            except (OSError, http.client.HTTPException) as e:
                self.bad.append(repr(e))
                c.close()


def told(client, words):
    """The client says so, in its one sentence."""
    def says():
        client.say("see")
        return client.state == "down" and any(w in client.note for w in words)
    until(says, "a note with %s; it is \"%s\"" % (words, client.note))
    print("live: \"%s\"" % client.note)


def recovers(client, haproxy, weights):
    client.say("put %s" % " ".join(map(str, weights)))
    expect(client.state == "ready" and not client.note, "no recovery", client.state, client.note)
    expect(client.weights == weights, "weights read", client.weights)
    expect(haproxy.weights() == weights, "weights in force", haproxy.weights())


def under_load(client, haproxy):
    client.say("read")
    expect(client.weights == [100] * 4, "weights at first", client.weights)
    loads = [Load(haproxy.port) for _ in range(2)]
    client.say("flip %d" % FLIPS)
    time.sleep(0.2)
    for load in loads:
        load.ended = True
        load.join()
    good, bad = sum(load.good for load in loads), sum((load.bad for load in loads), [])
    # A weight that is the one before is not set again.
    expect(client.sets >= 0.99 * 4 * FLIPS and not client.failures, "weights set", client.sets, client.failures)
    expect(good > 100 and not bad, "requests that failed", len(bad), bad[:3], "of", good)
    print("live: 4 servers: %d weights set, %d requests, 0 failed; a set %d us, a reading %d us (median)"
          % (client.sets, good, client.us[0], client.us[1]))


def spared(client, haproxy):
    """Weight 0: the server is up, and gets no request."""
    client.say("put 0 256 256 1")
    expect(haproxy.weights() == [0, 256, 256, 1], "weights in force", haproxy.weights())
    before = haproxy.served()
    load = Load(haproxy.port)
    time.sleep(0.3)
    load.ended = True
    load.join()
    sent = [b - a for a, b in zip(before, haproxy.served())]
    expect(load.good > 50 and not load.bad, "requests that failed", load.good, load.bad[:3])
    expect(sent[0] == 0 and sent[1] > 10, "requests to each", sent)
    recovers(client, haproxy, [100] * 4)


def moves(haproxy):
    """Of two servers one serves at each time. The configuration has the first one disabled."""
    client = Client(haproxy, "pair", PAIR)
    client.say("read")
    expect(client.wants == "mr", "states at first", client.wants)
    client.say("want ready keep")
    expect(client.wants == "rr", "a disabled server made ready", client.wants, client.note)
    for word, letter in (("drain", "d"), ("maint", "m")):
        loads = [Load(haproxy.pair_port) for _ in range(4)]
        before = client.sets
        client.say("move %d %s" % (MOVES, word))
        took = client.us
        time.sleep(0.2)
        for load in loads:
            load.ended = True
            load.join()
        good, bad = sum(load.good for load in loads), sum((load.bad for load in loads), [])
        states = client.sets - before
        expect(states >= 200 and not client.failures, "states set", states, client.failures, client.note)
        expect(client.wants == letter + "r", "states read", client.wants)
        expect(haproxy.states() == [word.upper(), "no check"], "states in force", haproxy.states())
        expect(good > 100 and not bad, "requests that failed", len(bad), bad[:3], "of", good)
        print("live: %s: %d states set, %d requests, 0 failed; a set %d us, a reading %d us (median)"
              % (word, states, good, *took))
        client.say("want ready ready")
    expect(haproxy.states() == ["no check"] * 2, "both serve", haproxy.states())
    client.close()
    client = Client(haproxy, "pair", PAIR, ".operator")
    client.say("read")
    client.say("want drain keep")
    expect(client.wants == "rr" and client.state == "ready", "a state without the right", client.wants)
    expect("denies \"set server\"" in client.note and "level admin" in client.note, "a note", client.note)
    print("live: \"%s\"" % client.note)
    client.close()


def many(haproxy):
    names = ["m%d" % i for i in range(1, 257)]
    client = Client(haproxy, "many", names)
    client.say("read")
    client.say("flip 20")
    expect(not client.note and client.sets >= 250 * 20, "256 servers", client.note, client.sets)
    print("live: 256 servers: a set of all %d us, a reading %d us (median)" % (client.us[0], client.us[1]))
    client.close()


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(SLOW_MS / 1000)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


def slow(haproxy):
    """What a load record has of requests: how many, and the time until the response begins."""
    server = http.server.HTTPServer(("127.0.0.1", haproxy.slow_at), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Client(haproxy, "slow", ["w"])
    client.say("read")
    expect(client.requests == [(0, 0)], "requests at first", client.requests)
    for _ in range(4):
        c = http.client.HTTPConnection("127.0.0.1", haproxy.slow_port, timeout=5)
        c.request("GET", "/")
        expect(c.getresponse().status == 200, "a slow server's answer")
        c.close()
    client.say("read")
    (served, ms), = client.requests
    # HAProxy divides by the connections that it has tried, so one that it tried twice counts as one of 0 ms.
    expect(served == 4 and SLOW_MS / 2 <= ms <= 20 * SLOW_MS, "requests of the slow server", served, ms)
    print("live: 4 requests of %d ms: %d ms in the mean" % (SLOW_MS, ms))
    client.close()
    server.shutdown()
    server.server_close()


def happens(client, haproxy):
    recovers(client, haproxy, [10, 20, 30, 256])
    haproxy.kill()
    told(client, ["it ended"])
    haproxy.start()
    expect(haproxy.weights() == [100] * 4, "a new HAProxy's weights", haproxy.weights())
    client.say("read")
    recovers(client, haproxy, [11, 20, 30, 0])

    # A client that gets no CPU time meanwhile does not see that HAProxy hangs: then it hangs for longer.
    for pause in (1, 4, 16):
        haproxy.signal(signal.SIGSTOP)
        client.process.stdin.write("read\n")  # answered when there is a reading
        time.sleep(pause)
        haproxy.signal(signal.SIGCONT)
        client.process.stdout.readline()
        client.say("see")
        if client.connections == 3:
            break
    expect(client.connections == 3, "a connection after the hung one", client.connections)
    recovers(client, haproxy, [12, 20, 0, 40])

    # A reload: the old worker goes on to answer on the kept connection.
    haproxy.reload()
    client.say("read")
    expect(client.connections == 4, "a connection to the new worker", client.connections, client.note)
    recovers(client, haproxy, [13, 20, 30, 40])

    haproxy.kill()
    told(client, ["it ended", "no HAProxy listens"])
    haproxy.start()
    held = []
    try:
        while True:
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            s.connect(haproxy.socket)
            held.append(s)
    except BlockingIOError:
        pass
    told(client, ["is full", "did not answer"])
    for s in held:
        s.close()
    client.say("read")
    recovers(client, haproxy, [14, 20, 30, 40])


def rubbish(client, haproxy):
    haproxy.kill()
    os.unlink(haproxy.socket)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(haproxy.socket)
        s.listen(8)
        s.settimeout(0.01)
        end = time.monotonic() + PATIENCE_S
        client.say("see")
        while "SSH" not in client.note:
            expect(time.monotonic() < end, "rubbish is not told", client.note)
            try:
                conn = s.accept()[0]
                conn.sendall(b"SSH-2.0\n\n> ")
                client.say("see")
                conn.close()
            except socket.timeout:
                client.say("see")
        print("live: \"%s\"" % client.note)
    os.unlink(haproxy.socket)
    told(client, ["there is no"])
    haproxy.start()
    client.say("read")
    recovers(client, haproxy, [100] * 4)


def agents(haproxy):
    """HAProxy asks, and does what it is told; what asks otherwise harms nobody."""
    configured = [100, 40, 1]
    held = socket.create_server(("127.0.0.1", haproxy.agent_port))
    agent = Agent(haproxy)
    agent.say("see")
    agent.until("a note on the port", lambda: "is in use" in agent.note)
    held.close()
    agent.until("HAProxy to ask", lambda: agent.told == [256] * 3)
    # Nothing is put: nothing changes, also not a weight that was set by the Runtime API.
    haproxy.ask("set server agents/a1 weight 77")
    time.sleep(0.3)
    expect(haproxy.weights("agents") == [77, 40, 1], "weights with nothing put", haproxy.weights("agents"))
    agent.say("put 256 128 128")
    until(lambda: haproxy.weights("agents") == [100, 20, 0], "100 % and 50 %, of weight 1 nothing")
    agent.say("put 0 1 256")
    until(lambda: haproxy.weights("agents") == [0, 0, 1], "0 %, 1 % of 40, 100 %")
    agent.until("what was told", lambda: agent.told == [0, 1, 256])
    agent.say("want drain maint ready")
    until(lambda: haproxy.states("agents") == ["DRAIN (agent)", "MAINT", "no check"], "states told")
    agent.until("what was told", lambda: agent.wants == "dmr")
    # It goes on to ask for those that do not serve.
    agent.say("want ready drain maint")
    until(lambda: haproxy.states("agents") == ["no check", "DRAIN (agent)", "MAINT"], "other states")
    haproxy.ask("set server agents/a1 state maint")
    until(lambda: haproxy.states("agents") == ["no check", "DRAIN (agent)", "MAINT"], "the same after an operator's")
    agent.say("put 0 1 256")
    until(lambda: haproxy.weights("agents") == [0, 0, 1], "weights without states")
    expect(haproxy.states("agents") == ["no check", "DRAIN (agent)", "MAINT"], "states that are kept",
           haproxy.states("agents"))
    agent.say("want ready ready ready")
    until(lambda: haproxy.states("agents") == ["no check"] * 3, "all serve")
    # A restarted HAProxy is told again.
    agent.say("put 64 128 256")
    until(lambda: haproxy.weights("agents") == [25, 20, 1], "25 %")
    haproxy.kill()
    haproxy.start()
    until(lambda: haproxy.weights("agents") == [25, 20, 1], "the same after a restart")
    # Strangers: silent, rubbish, a megabyte.
    silent = [socket.create_connection(("127.0.0.1", haproxy.agent_port)) for _ in range(100)]
    for text in (b"\0\xff\n", b"agents/a9\n", b"x" * 1000000):
        with socket.create_connection(("127.0.0.1", haproxy.agent_port)) as s:
            try:
                s.sendall(text)
                expect(s.recv(100) == b"", "an answer to", text[:20])
            except (ConnectionError, socket.timeout):
                pass
    agent.until("a note on requests", lambda: "names no server here" in agent.note or "says nothing" in agent.note)
    print("live: \"%s\"" % agent.note)
    agent.say("put 256 256 256")
    until(lambda: haproxy.weights("agents") == configured, "the configured weights")
    for s in silent:
        s.close()
    agent.close()
    time.sleep(0.2)
    expect(haproxy.weights("agents") == configured, "weights without the agent", haproxy.weights("agents"))


def main():
    if not shutil.which("haproxy"):
        print("live: haproxy was not found; on Debian: apt-get install haproxy")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    top = tempfile.mkdtemp(prefix="resex-haproxy-")
    haproxy = HAProxy(top)
    try:
        client = Client(haproxy)
        under_load(client, haproxy)
        spared(client, haproxy)
        moves(haproxy)
        many(haproxy)
        slow(haproxy)
        happens(client, haproxy)
        rubbish(client, haproxy)
        client.close()
        agents(haproxy)
    except Failed as e:
        sys.exit("live: %s" % e)
    finally:
        haproxy.kill()
        shutil.rmtree(top)


main()
