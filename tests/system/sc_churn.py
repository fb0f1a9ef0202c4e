# SPDX-License-Identifier: GPL-2.0-or-later
"""churn, hostile: guests that come, go, move their memory or lie."""
import random
import threading

from bed import Guest, check, wait_for
from daemon import Daemon, Load, settle, wait_first, wait_rings, with_agent

ROUND = "-q 3 -t rc -s 0-8192 -D 64 -p 4000 -n 150-300 --first"
STEADY = "-q 3 -t rc -s 0-8192 -D 64 -p 4000 -T %d --first"


def states(vm):
    """{domid: live, paused, shutdown or dying} by the hypervisor."""
    rows = [line.split() for line in vm.sh("domtool list").splitlines()]
    return {int(r[0]): r[1] for r in rows}


def gone(vm, domid, why):
    wait_for("end of domain %d (%s), which is %s" % (domid, why, states(vm).get(domid)), 10,
             lambda: domid not in states(vm), 0.2)


def listed(d, name):
    return [g["domid"] for g in d.ask("list")["guests"] if g["name"] == name]


def paused(vm, d, g):
    before = d.rings(g.name)["totals"]
    load = Load(g, "-q 2 -t rc -s 0-8192 -D 64 -n 400 -p 2000 --first")
    wait_first(d, load)
    load.go()
    for _ in range(3):
        vm.sh("xl pause {0}; usleep {1}; xl unpause {0}".format(g.name, random.randrange(50000, 600000)))
    settle("paused " + g.name, d, load, before)


def killed(vm, d, g):
    """Its processes die at full speed; its rings go, and no fault is held against it."""
    for i in range(2):
        load = Load(g, "-q 3 -t rc -s 0-4096 -D 32 -T 60", "victim%d" % i)
        wait_rings(d, g.name, 3)
        load.go()
        g.sh("usleep %d; kill -9 $(cat /tmp/victim%d.pid)" % (random.randrange(50000, 400000), i))
        wait_for("end of the rings of a killed process", 10,
                 lambda: not [r for r in d.rings(g.name)["rings"] if r["state"] == "active"], 0.1)
    check(d.rings(g.name)["attached"], "%s is no longer attached" % g.name)


def destroyed(vm, d, g):
    """Destroyed at full speed, it goes altogether, and may come back as new."""
    load = Load(g, "-q 3 -t rc -s 0-8192 -D 32 -T 60")
    wait_rings(d, g.name, 3)
    load.go()
    old = g.domid
    vm.sh("xl destroy " + g.name)
    gone(vm, old, "destroyed while watched")
    wait_for("%s to leave resex list" % g.name, 10, lambda: not listed(d, g.name), 0.2)
    vm.create(g)
    with_agent(g)
    check(d.rings(g.name)["totals"]["wrs"] == 0, "the new %s has the old one's counts" % g.name)
    paused(vm, d, g)


def rebooted(vm, d, g):
    old = g.domid
    load = Load(g, "-q 2 -t rc -s 0-8192 -D 32 -T 60")
    wait_rings(d, g.name, 2)
    load.go()
    g.rebooted()
    g.begin("reboot -f")
    g.wait_ready()
    check(g.domid != old, "%s did not reboot" % g.name)
    gone(vm, old, "rebooted while watched")
    check(listed(d, g.name) == [g.domid], "resex list shows %s" % listed(d, g.name))
    with_agent(g)
    paused(vm, d, g)


def held(vm):
    """Positive control: a frame kept mapped keeps a destroyed domain, and it is seen."""
    g = Guest(vm, "held")
    vm.create(g)
    job = vm.begin("domtool hold %d 0x2000 6" % g.domid)
    wait_for("a frame held", 10, lambda: "HELD" in vm.sh("cat /h/cmd/%d.out" % job))
    vm.sh("xl destroy held")
    del vm.guests["held"]
    seen = states(vm).get(g.domid)
    check(seen == "dying", "a domain of which a frame is mapped is %s, not dying" % seen)
    vm.end(job, 20)
    gone(vm, g.domid, "its frame was let go")


COMPACT = ("(while [ -e /tmp/compact ]; do echo 1 >/proc/sys/vm/compact_memory; usleep 300000; done) "
           ">/dev/null 2>&1 &")


class Steady:
    """A guest at work all the time, in rounds that are compared; its memory is compacted meanwhile."""

    def __init__(self, d, g, options):
        self.d, self.g, self.options = d, g, options
        self.rounds, self.failure, self.enough = 0, None, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while not self.enough:
                before = self.d.rings(self.g.name)["totals"]
                load = Load(self.g, self.options)
                wait_first(self.d, load)
                settle("steady " + self.g.name, self.d, load.go(), before)
                self.rounds += 1
        except Exception as e:  # raised by end(), in the scenario's thread
            self.failure = e

    def end(self):
        self.enough = True
        self.thread.join()
        if self.failure:
            raise self.failure


def churn(vm):
    steady, moody = Guest(vm, "steady"), Guest(vm, "moody", on_reboot="restart")
    vm.create(steady, moody)
    with Daemon(vm, observe=True) as d:
        for g in (steady, moody):
            with_agent(g)
        steady.sh("touch /tmp/compact; " + COMPACT)
        rounds = Steady(d, steady, ROUND)
        try:
            gone_and_back = [rebooted, destroyed]  # both end with paused()
            for step in [killed] + (gone_and_back if vm.deep else random.sample(gone_and_back, 1)):
                vm.note("--- " + step.__name__)
                step(vm, d, moody)
        finally:
            rounds.end()
        moved = steady.sh("rm /tmp/compact; grep -E '^(compact_success|pgmigrate_success)' /proc/vmstat")
        vm.note("churn: %d steady rounds; %s" % (rounds.rounds, moved.split()))
        mapped = d.ask("info")["mapped_pages"]
        check(mapped > 0, "nothing was mapped for two guests")
        for g in (steady, moody):
            vm.sh("xl destroy " + g.name)
            gone(vm, g.domid, "destroyed at the end")
            del vm.guests[g.name]
        wait_for("end of all mappings", 10, lambda: d.ask("info")["mapped_pages"] == 0)
    if vm.deep:
        held(vm)


# --- hostile ----------------------------------------------------------------------


STORM_S = 10
# ibmon/guest_priv.h allows one guest 512 map calls at once and 64 a second; the daemon
# attaches it anew at most 10 times a second. The neighbour's few are in the slack.
MAPS_AT_ONCE, MAPS_S = 560, 76


def hostile(vm):
    liar, steady = Guest(vm, "liar"), Guest(vm, "steady")
    vm.create(liar, steady)
    with Daemon(vm, observe=True) as d:
        for g in (liar, steady):
            with_agent(g)
        before = d.rings("steady")["totals"]
        load = Load(steady, STEADY % (STORM_S + 4))
        wait_first(d, load)
        load.go()
        liar.sh("kill -9 $(cat /tmp/agent.pid); scribble %d >/tmp/scribble.out 2>&1 & i=0; "
                "until grep -q 'PHASE storm' /tmp/scribble.out || [ $i -ge 400 ]; do usleep 50000; i=$((i+1)); done; "
                "grep -q 'PHASE storm' /tmp/scribble.out" % STORM_S)
        watch_storm(vm, d)
        phase(liar, "ring")
        rings = d.rings("liar")
        bad = [r["fault"] for r in rings["rings"] if r["fault"]]
        check(bad, "rings of rubbish have no fault: %s" % rings)
        phase(liar, "registry")
        wait_for("a fault of the liar's registry in ring-list", 4, lambda: d.rings("liar")["fault"], 0.2)
        settle("steady", d, load, before)
        check(not d.rings("steady")["fault"], "the fault of the liar is held against its neighbour")


def phase(g, name):
    g.sh("i=0; until grep -q 'PHASE %s' /tmp/scribble.out || [ $i -ge 400 ]; do usleep 50000; i=$((i+1)); done; "
         "grep -q 'PHASE %s' /tmp/scribble.out; rc=$?; sleep 1; grep -E '^(SCRIBBLE|MOVES)' /tmp/scribble.out; "
         "[ $rc = 0 ]" % (name, name), 40)


def watch_storm(vm, d):
    """The daemon's work and memory stay bounded, whatever the guest does."""
    samples = []
    while not samples or samples[-1][0] - samples[0][0] < STORM_S:
        uptime = float(vm.sh("cut -d' ' -f1 /proc/uptime"))
        samples.append((uptime, d.ask("info")["map_calls"], d.rss_kb()))
    seconds = samples[-1][0] - samples[0][0]
    calls = samples[-1][1] - samples[0][1]
    grown = samples[-1][2] - samples[0][2]
    what = "%d map calls, memory %+d KiB in %.1f s: %s" % (calls, grown, seconds, samples)
    vm.note("hostile: " + what)
    check(calls <= MAPS_AT_ONCE + MAPS_S * seconds, what)
    # Walks that fail are tried ever later: once a second and more often is a good look.
    check(calls >= STORM_S, "the liar was hardly looked at: " + what)
    check(grown <= 4096, what)
