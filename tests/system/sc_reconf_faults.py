# SPDX-License-Identifier: GPL-2.0-or-later
"""reconf-faults: two Xen hosts, and faults at each phase of a move.

wire.py holds the cable at the phase until the fault is made: the cable is cut, resexd is killed or
stopped, or a host loses its power. When that is over, no service is below its minimum, each node is
in one service, both HAProxies have it there, and the other host moves the node back.

The membership is static: xen1 is the home of the locks, and while it is dead none is acquired. So
quorum has no part in this: of two hosts of corosync neither has one when the other is gone.
tests/member/daemons.py moves nodes of three hosts with it.

A guest does not come again with its host: who serves requests has no part in this, only who should.
"""
import collections
import time

from bed import Failed, check, wait_for
from reconf_bed import BOTH, SCAN_MS, TIMEOUT_MS, Pair

# A move of n1 from web to mail by xen2: all its words are at xen1, so each step of it is on the wire.
# name: what is held there; who holds the locks of web and mail then; whether the node's word has changed.
Phase = collections.namedtuple("Phase", "name op stage web mail moved")
PHASES = [
    Phase("before locks are asked for", "lock1", "request", None, None, False),
    Phase("the first lock is held", "lock1", "answer", "xen2", None, False),
    Phase("both locks are held", "lock2", "answer", "xen2", "xen2", False),
    Phase("nodes are counted", "tell", "request", "xen2", "xen2", False),
    Phase("the balancer is told", "tell", "answer", "xen2", "xen2", False),
    Phase("before the CAS", "move", "request", "xen2", "xen2", False),
    Phase("after the CAS", "move", "answer", "xen2", "xen2", True),
    Phase("before the unlock", "unlock1", "request", "xen2", "xen2", True),
    Phase("saved, before the unlock", "unlock1", "request", "xen2", "xen2", True),
    Phase("one lock is released", "unlock2", "request", None, "xen2", True),
    Phase("both locks are released", "unlock2", "answer", None, None, True),
]
SAVED = "saved, before the unlock"
# Its host is stopped before the CAS is executed, so it cannot save the new word; then it ends.
UNSAVED = Phase("changed, and not saved", "move", "request", "xen2", "xen2", True)
# Of a move of n2 by xen1, which has the locks itself: what is on the wire.
OF_HOME = [p for p in PHASES if p.op in ("tell", "move")]
WITHIN_S = (3 * SCAN_MS + TIMEOUT_MS) / 1000


class Case:
    """One fault at one phase. who: "cable", or "mover", or "host": that of the node."""

    def __init__(self, pair, who, how, phase, mover=2):
        self.pair, self.who, self.how, self.phase = pair, who, how, phase
        self.mover, self.host = pair.hosts[mover - 1], pair.hosts[2 - mover]
        self.node, self.left = "n%d" % self.host.number, "n%d" % mover
        self.with_locks = self.host.number == 1
        self.victim = {"mover": self.mover, "host": self.host}.get(who)
        self.lost = []
        self.text = "%s moves %s; %s, %s: %s" % (self.mover.name, self.node, who, how, phase.name)

    def hold(self):
        """The move begins, and stops at its phase."""
        # A move that finds words that are not saved ends, and is tried again.
        after = "move" if self.phase.op.startswith("unlock") else None
        self.pair.wire.arm(self.mover.number, self.phase.op, self.phase.stage, after)
        self.job = self.mover.vm.begin("resex move %s mail" % self.node)
        self.pair.wire.wait_held(self.text)
        if self.phase.name == SAVED:
            wait_for("the word to be saved", 5, lambda: self.host.look().words[self.node] == ("mail", True), 0.02)

    def fault(self):
        if self.phase is UNSAVED:
            self.stop_before_the_save()
        if self.how == "cut":
            self.pair.wire.set_cut(True)
        elif self.how == "kill":
            # Until it has ended, the kernel repeats its requests.
            self.victim.daemon.kill()
            wait_for("end of resexd", 5, lambda: self.victim.vm.run("[ -s /run/resexd.rc ]").rc == 0, 0.02)
        elif self.how == "stop":
            self.victim.daemon.signal("STOP")
        else:
            self.victim.vm.power_off()
        if self.how == "stop":  # what is on the wire, the process has put out
            self.pair.wire.release()
        else:
            self.lost = self.pair.wire.lose()

    def stop_before_the_save(self):
        executed = self.pair.wire.done[self.mover.number, "move"]
        self.host.daemon.signal("STOP")
        self.pair.wire.release()
        wait_for("CAS of " + self.text, 5, lambda: self.pair.wire.done[self.mover.number, "move"] > executed, 0.005)

    def check_phase(self):
        """What the node's host has, once it has read it, says which phase the fault met."""
        def met():
            look = self.host.look()
            seen.update(look.owners if self.with_locks else {}, moved=look.words[self.node][0] == "mail")
            return all(seen[key] == getattr(self.phase, key) for key in seen)
        seen = {}
        try:
            wait_for("sight of the phase", 3, met, 0.1)
        except Failed as e:
            raise Failed("%s: %s; locks of web and mail, moved: %s" % (self.text, e, seen)) from None

    def heal(self):
        if self.how == "cut":
            self.pair.until("the links to be down", 20, lambda seen: all(x.other != "up" for x in seen))
            self.pair.wire.set_cut(False)
        elif self.how == "kill":
            self.victim.daemon.begin()
        elif self.how == "stop":
            self.victim.daemon.signal("CONT")
        else:
            self.victim.boot()
        self.pair.until_up()
        if self.victim is not self.mover or self.how != "power":
            r = self.mover.vm.end(self.job, 60)
            self.pair.note("%s: the mover: %s" % (self.text, r.out.strip()))

    def save_all(self):
        """All words get the epoch of the locks: a host that is stopped could not save that."""
        for services in (dict(BOTH, **{self.left: "mail"}), BOTH):
            self.host.move(self.left, services[self.left])
            self.pair.until_agreed("before " + self.text, services=services)

    def rival(self):
        """While the mover is stopped, xen1 breaks its locks, and takes web's other node while it has two."""
        if not self.phase.moved:
            self.host.move(self.left, "mail")
            return
        r = self.host.vm.run("resex move %s mail" % self.left, 60)
        check(r.rc != 0, "%s: xen1 took the last node of web: %s" % (self.text, r.out))

    def healed(self):
        """(where each node is, for how many seconds all were still seen to disagree on it)."""
        began = time.monotonic()
        services = self.pair.until_agreed("after " + self.text)[0].services()
        took = max(0.0, self.pair.disagreed - began)
        self.pair.note("%s: seen to disagree for %.1f s, to agree after %.1f s" %
                       (self.text, took, time.monotonic() - began))
        moved = services[self.node] == "mail"
        # A mover, or a cable, that is there again may end its move later.
        if self.who != "host" and (self.phase.moved or self.how in ("kill", "power")):
            check(moved == self.phase.moved, "%s: another end: %s" % (self.text, services))
        elif self.phase.name == SAVED:
            check(moved, "%s: a saved word is lost: %s" % (self.text, services))
        elif self.phase is UNSAVED:
            check(not moved, "%s: a word that was not saved came back: %s" % (self.text, services))
        return services, took

    def restore(self, services):
        """By the one that was not harmed: locks of the dead are broken for it."""
        by = self.host if self.who == "mover" else self.mover
        for node, service in services.items():
            if service != BOTH[node]:
                by.move(node, BOTH[node])
        self.pair.until_agreed("again after " + self.text, services=BOTH)
        if self.lost:
            # Of links that are gone: they change nothing.
            self.pair.wire.come_late(self.lost)
            self.pair.until_agreed("when frames came late after " + self.text, services=BOTH)

    def run(self):
        rivals = (self.who, self.how) == ("mover", "stop") and self.with_locks
        if rivals:
            self.save_all()
        self.hold()
        self.fault()
        if self.who != "host" and self.how != "stop":
            self.check_phase()
        if rivals:
            self.rival()
        self.heal()
        services, took = self.healed()
        self.restore(services)
        return took


def faults_at(phase):
    """(who, how). A process that is stopped has put its request out: that is the next phase."""
    yield "cable", "cut"
    for who in ("mover", "host"):
        for how in ("kill", "power") + (("stop",) if phase.stage == "answer" else ()):
            yield who, how


def all_cases():
    """Arguments of Case."""
    for phases, mover in ((PHASES, 2), (OF_HOME, 1)):
        for phase in phases:
            for who, how in faults_at(phase):
                yield who, how, phase, mover
    for how in ("kill", "power"):
        yield "host", how, UNSAVED


def some_cases():
    """Each phase, and each fault."""
    faults = [("cable", "cut"), ("mover", "kill"), ("host", "kill"), ("mover", "power"), ("host", "power")]
    for i, phase in enumerate(PHASES):
        yield (*faults[i % len(faults)], phase)
    for who in ("mover", "host"):
        yield who, "stop", PHASES[4]
    yield "host", "kill", UNSAVED
    yield "mover", "kill", OF_HOME[2], 1


def reconf_faults(vm):
    met, took = collections.Counter(), []
    with Pair(vm) as pair:
        pair.hosts[0].move("n2", "web")
        pair.until_agreed("at first", services=BOTH)
        for case in all_cases() if vm.deep else some_cases():
            took.append(Case(pair, *case).run())
            met[case[2].name] += 1
    vm.note("phases met: %s" % dict(met))
    check(set(met) == {p.name for p in PHASES + [UNSAVED]}, "phases that were not met: %s" % met)
    return "%d faults at %d phases; after healing all agreed at the first look in %d, and within %.1f s in %d" % (
        len(took), len(met), took.count(0), WITHIN_S, len([t for t in took if t <= WITHIN_S]))
