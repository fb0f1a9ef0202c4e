#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""move_hosts.py PROGRAM [--violation]: four processes move nodes between services, over shm with faults.

One is stopped for longer than a lease; a balancer, the locks' home and a host with nodes are killed
and started again.
--violation: PROGRAM has a broken rule: run it until a host notices, for a minute at most.
Exit 0: nodes were moved in each part, and no host saw a service below its minimum; 3: one did; 1: else.
"""
import json, os, select, shutil, signal, subprocess, sys, tempfile, time

HOSTS, HOME, NODES, BALANCER = 4, 1, 3, 4  # hosts 2 and 3 have the nodes
PATIENCE = 60


class Failed(Exception):
    pass


class Violation(Exception):
    pass


class Host:
    def __init__(self, program, folder, number):
        self.program, self.folder, self.number, self.generation = program, folder, number, 0
        self.earlier = {"counted": 0, "unclean": 0}  # of processes that were killed
        self.start()

    def start(self):
        self.generation += 1
        self.p = subprocess.Popen([self.program, "shm+faults", str(self.number), str(self.generation)] +
                                  [self.folder] * HOSTS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.p.stderr.readline() != "open\n":
            raise Failed("host %d does not start: %s" % (self.number, self.p.stderr.read()))

    def read(self):
        if not select.select([self.p.stdout], [], [], PATIENCE)[0]:
            raise Failed("host %d does not answer" % self.number)
        line = self.p.stdout.readline()
        if not line:
            raise Failed("host %d ended: %s" % (self.number, self.p.stderr.read()))
        counts = json.loads(line)
        if counts["violations"]:
            raise Violation("host %d: %s" % (self.number, counts["what"]))
        return counts

    def now(self):
        self.p.send_signal(signal.SIGUSR1)
        return self.read()

    def total(self, key):
        return self.earlier[key] + self.now()[key]

    def kill(self):
        self.earlier = {key: self.total(key) for key in self.earlier}
        self.p.kill()
        self.p.wait()


def until(what, true):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise Failed("never: " + what)
        time.sleep(0.1)


def moved(hosts, more):
    """Until these hosts have made so many moves more."""
    count = lambda: sum(h.now()["moves"] for h in hosts)
    before = count()
    until("%d moves of hosts %s" % (more, [h.number for h in hosts]), lambda: count() >= before + more)


def rests(hosts):
    got = [h.now() for h in hosts]
    same = {(g["now_1"], g["now_2"]) for g in got}
    return all(g["idle"] for g in got) and len(same) == 1 and sum(same.pop()) == got[0]["nodes"]


def run(hosts):
    moved(hosts, 4)
    hosts[BALANCER - 1].p.send_signal(signal.SIGSTOP)
    time.sleep(0.5)  # a lease is 0.15 s
    hosts[BALANCER - 1].p.send_signal(signal.SIGCONT)
    moved(hosts, 2)
    for number in (BALANCER, HOME, NODES):
        hosts[number - 1].kill()
        hosts[number - 1].start()
        moved(hosts, 3)
    for h in hosts:
        h.p.send_signal(signal.SIGUSR2)
    until("rest", lambda: rests(hosts))
    last = [h.now() for h in hosts]
    for s in ("1", "2"):
        if last[0]["now_" + s] < last[0]["minimum_" + s]:
            raise Violation("service %s has %d nodes at the end" % (s, last[0]["now_" + s]))
    counted, unclean = (sum(h.total(key) for h in hosts) for key in ("counted", "unclean"))
    for h in reversed(hosts):  # the home is the last
        h.p.terminate()
        if h.p.wait(PATIENCE):
            raise Failed("host %d ended with %d" % (h.number, h.p.returncode))
    if not unclean:
        raise Failed("no lock was acquired unclean, and no sweep made: %s" % last)
    return "%d moves, %d counts under both locks, %d of them after a sweep; links up %d times" % (
        sum(g["moves"] for g in last), counted, unclean, sum(g["ups"] for g in last))


def violation(hosts):
    until("a violation", lambda: [h.now() for h in hosts] and False)


def main(program, do):
    folder = tempfile.mkdtemp()
    hosts = []
    try:
        for n in range(1, HOSTS + 1):
            hosts.append(Host(program, folder, n))
        print("move_hosts: " + do(hosts))
        return 0
    except (Failed, Violation) as e:
        print("move_hosts: %s" % e)
        return 3 if isinstance(e, Violation) else 1
    finally:
        for h in hosts:
            h.p.kill()
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), violation if "--violation" in sys.argv else run))
