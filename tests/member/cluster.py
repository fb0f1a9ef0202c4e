#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cluster.py WATCH PLANT: test member_corosync beside three real corosyncs, while one of them is cut
off, healed, killed and started again.

run.sh runs this in namespaces of its own, so everything ends with it. Each member has its own
network (one veth to a bridge), /dev/shm, /run and folders of corosync. WATCH (watch.c) runs
beside each corosync and prints a line for each view. PLANT is the same with protocols that
ignore the quorum: the test must notice it.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

MEMBERS = (1, 2, 3)
NODEID = {1: 101, 2: 7, 3: 55, 4: 23}  # not in the order of the hosts' numbers
PATIENCE = 30  # seconds for what takes 5

CONF = """totem {
	version: 2
	cluster_name: resex-test
	transport: knet
	crypto_cipher: none
	crypto_hash: none
	token: 2000
	token_coefficient: 0
}
quorum {
	provider: corosync_votequorum
}
logging {
	to_stderr: yes
	to_syslog: no
	to_logfile: no
	timestamp: on
}
system {
	sched_rr: no
}
nodelist {
%s}
"""
NODE = """	node {
		nodeid: %d
		name: m%d
		ring0_addr: 10.77.0.%d
	}
"""


def run(*args):
    subprocess.run([str(a) for a in args], check=True)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Watch:
    def __init__(self, member, program):
        self.number = member.number
        self.views = []  # all there were
        self.answers = []
        nodes = ["%d=%d" % (h, NODEID[h]) for h in MEMBERS]
        self.process = subprocess.Popen(member.inside() + [program, str(self.number)] + nodes,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, preexec_fn=die_with_parent)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            said = json.loads(line)
            (self.views if "view" in said else self.answers).append(said)

    def newest_report(self):
        return "%s %s" % (self.view(), self.answers[-1:])

    def view(self):
        return self.views[-1] if self.views else {"view": -1, "members": 0, "quorate": 0, "note": ""}

    def ask(self):
        """Try a move and a lock: how many operations they put out, and their results."""
        n = len(self.answers)
        self.process.stdin.write("ask\n")
        if not wait(lambda: len(self.answers) > n, 5):
            raise RuntimeError("member %d does not answer" % self.number)
        return self.answers[-1]

    def acts(self):
        a = self.ask()
        return a["operations"] > 0 and a["move"] == "moved" and a["may_act"]

    def sits_still(self):
        a = self.ask()
        return a["operations"] == 0 and a["move"] == "no quorum" and not a["may_act"]


class Member:
    def __init__(self, number, folder):
        self.number = number
        self.log = open(os.path.join(folder, "corosync%d.log" % number), "w", encoding="utf-8")
        self.conf = os.path.join(folder, "corosync.conf")
        self.corosync = None
        # An idle process keeps its namespaces alive. run.sh has made
        # all mounts private.
        self.holder = subprocess.Popen(
            ["unshare", "-m", "-n", "--propagation", "unchanged", "sh", "-c",
             "for d in /dev/shm /run /var/lib/corosync; do mount -t tmpfs none $d || exit 1; done;"
             "ip link set lo up && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        if self.holder.stdout.readline().strip() != b"ready":
            raise RuntimeError("member %d: its namespaces could not be made" % number)
        run("ip", "link", "add", "m%d" % number, "master", "br0", "type", "veth",
            "peer", "name", "eth0", "netns", self.holder.pid)
        run("ip", "link", "set", "m%d" % number, "up")
        run(*self.inside(), "ip", "addr", "add", "10.77.0.%d/24" % number, "dev", "eth0")
        run(*self.inside(), "ip", "link", "set", "eth0", "up")

    def inside(self):
        # -r, -w: in its root, where that is not the namespace's (chroot), and its directory.
        return ["nsenter", "-t", str(self.holder.pid), "-m", "-n", "-r", "-w"]

    def start_corosync(self):
        self.corosync = subprocess.Popen(self.inside() + ["corosync", "-f", "-c", self.conf],
                                         stdout=self.log, stderr=self.log,
                                         preexec_fn=die_with_parent)

    def kill_corosync(self):
        self.corosync.kill()
        self.corosync.wait()
        run(*self.inside(), "rm", "-f", "/run/corosync.pid")

    def reload_corosync(self):
        """All corosyncs read the nodelist again."""
        return subprocess.run(self.inside() + ["corosync-cfgtool", "-R"], stdout=self.log, stderr=self.log,
                              check=False).returncode == 0

    def cable(self, state):
        run("ip", "link", "set", "m%d" % self.number, state)


def write_conf(name, hosts):
    with open(name, "w", encoding="utf-8") as f:
        f.write(CONF % "".join(NODE % (NODEID[h], h, h) for h in hosts))


def wait(cond, patience=PATIENCE):
    end = time.monotonic() + patience
    while not cond():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Score:
    passed = failed = 0

    def check(self, what, good, watches):
        """If this is not good, print the newest report of each of watches."""
        if good:
            self.passed += 1
            print("pass", what)
            return
        self.failed += 1
        print("FAIL", what)
        for m in watches.values():
            print("     member %d: %s" % (m.number, m.newest_report()))


def bits(*hosts):
    return sum(1 << h - 1 for h in hosts)


def all_in(watches, after=0):
    views = [watches[h].view() for h in MEMBERS]
    return all(v["quorate"] and v["members"] == bits(*MEMBERS) and v["view"] > after for v in views) \
        and len({v["view"] for v in views}) == 1


def never_two(histories):
    """In all reports: no minority decides, no number goes back or names two views."""
    named = {}
    for views in histories:
        newest = 0
        for v in views:
            if v["view"] < newest:
                return False
            newest = v["view"]
            if v["quorate"] and (bin(v["members"]).count("1") < 2 or
                                 named.setdefault(v["view"], v["members"]) != v["members"]):
                return False
    return True


def checker_can_fail():
    def v(view, members, quorate):
        return {"view": view, "members": members, "quorate": quorate}

    good = [[v(4, 7, 1), v(8, 3, 1)], [v(4, 7, 1), v(8, 4, 0)]]
    return never_two(good) and not any(never_two(good + bad) for bad in (
        [[v(8, 4, 1)]], [[v(8, 6, 1)]], [[v(8, 3, 1), v(4, 7, 1)]]))


def scenario(members, program, plant, score):
    w = {h: Watch(members[h], program) for h in MEMBERS}
    score.check("the check of the reports can fail", checker_can_fail(), w)
    score.check("no corosync: each says so, and decides nothing",
                wait(lambda: all(m.views and not m.view()["quorate"] and
                                 "start corosync" in m.view()["note"] for m in w.values()))
                and all(m.sits_still() for m in w.values()), w)

    for m in members.values():
        m.start_corosync()
    score.check("corosync comes: all three in one quorate view", wait(lambda: all_in(w)), w)
    first = w[1].view()["view"]
    score.check("each moves a node, and holds a lock", all(wait(m.acts) for m in w.values()), w)

    members[3].cable("down")
    score.check("one is cut off: it is not quorate, and alone",
                wait(lambda: not w[3].view()["quorate"] and
                     w[3].view()["members"] == bits(3)), w)
    score.check("the others have a higher quorate view without it",
                wait(lambda: all(w[h].view()["quorate"] and w[h].view()["view"] > first and
                                 w[h].view()["members"] == bits(1, 2) for h in (1, 2))), w)
    score.check("the minority decides nothing, also with a lock that it holds",
                all([w[3].sits_still() for _ in range(5)]), w)
    broken = Watch(members[3], plant)
    score.check("one that decides without quorum is noticed",
                wait(lambda: broken.view()["members"] == bits(3)) and not broken.sits_still(), w)
    score.check("the majority acts", wait(w[1].acts) and wait(w[2].acts), w)

    second = max(m.view()["view"] for m in w.values())
    members[3].cable("up")
    score.check("healed: all three in one quorate view, higher than all before",
                wait(lambda: all_in(w, second)), w)
    score.check("the host that was cut off acts again", wait(w[3].acts), w)

    third = w[1].view()["view"]
    members[2].kill_corosync()
    score.check("corosync is killed: its host says so, and decides nothing",
                wait(lambda: not w[2].view()["quorate"] and
                     "start corosync" in w[2].view()["note"]) and w[2].sits_still(), w)
    score.check("the others go on without it",
                wait(lambda: all(w[h].view()["quorate"] and
                                 w[h].view()["members"] == bits(1, 3) for h in (1, 3))), w)
    members[2].start_corosync()
    score.check("corosync is started again: all three in one quorate view, higher than all before",
                wait(lambda: all_in(w, third)), w)
    score.check("no minority was ever quorate, no view's number went back or stood for two",
                never_two([m.views for m in w.values()]), w)


def play(name, scenario):
    """Start three members without corosync and run scenario(members, folder, score). Returns the number of failures."""
    score = Score()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        write_conf(os.path.join(folder, "corosync.conf"), MEMBERS)
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "link", "set", "br0", "up")
        members = {h: Member(h, folder) for h in MEMBERS}
        try:
            scenario(members, folder, score)
        except (OSError, RuntimeError, LookupError, subprocess.SubprocessError) as e:
            score.failed += 1
            print("FAIL: the scenario ended:", repr(e))
        finally:
            if score.failed or "KEEP_LOGS" in os.environ:
                for m in members.values():
                    with open(m.log.name, encoding="utf-8") as f:
                        print("".join("     corosync %d| %s" % (m.number, l) for l in f.readlines()[-20:]))
            for m in members.values():
                m.holder.kill()
    print("%s: %d passed, %d failed (%.0f s)" % (name, score.passed, score.failed, time.monotonic() - began))
    return score.failed


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, plant = map(os.path.abspath, sys.argv[1:])
    sys.exit(play("member", lambda members, folder, score: scenario(members, program, plant, score)) != 0)


if __name__ == "__main__":
    main()
