# SPDX-License-Identifier: GPL-2.0-or-later
"""reconf-faults: two Xen hosts, and faults at each phase of a move.

wire.py holds the cable at the phase until the fault is made: the cable is cut, resexd is killed or
stopped, or a host loses its power. When that is over, no service is below its minimum, each node is
in one service, both HAProxies have it there, and the other host moves the node back.

The membership is static: xen1 is the home of the locks, and while it is dead none are acquired. So
quorum has no part in this: of two hosts of corosync neither has one when the other is gone.
"""
import collections
import time

from bed import Failed, check, wait_for
from reconf_bed import BOTH, SCAN_MS, TIMEOUT_MS, Pair

# A move of n1 from web to mail by xen2: all its words are at xen1, so each step of it is on the wire.
# name: what is held there; who holds the locks of web and mail then; whether n1's word has changed.
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
WITHIN_S = (3 * SCAN_MS + TIMEOUT_MS) / 1000


class Case:
    """One fault at one phase. who: "cable", or "mover" (xen2), or "home" (xen1: of the locks, and of n1)."""

    def __init__(self, pair, who, how, phase):
        self.pair, self.who, self.how, self.phase = pair, who, how, phase
        self.home, self.mover = pair.hosts
        self.lost = []
        self.victim = {"mover": self.mover, "home": self.home}.get(who)
        self.text = "%s, %s: %s" % (who, how, phase.name)

    def hold(self):
        """The move begins, and stops at its phase."""
        # A move that finds words that are not saved ends, and is tried again.
        after = "move" if self.phase.op.startswith("unlock") else None
        self.pair.wire.arm(2, self.phase.op, self.phase.stage, after)
        self.job = self.mover.vm.begin("resex move n1 mail")
        self.pair.wire.wait_held(self.text)
        if self.phase.name == SAVED:
            wait_for("the word to be saved", 5, lambda: self.home.look().words["n1"] == ("mail", True), 0.02)

    def fault(self):
        if self.phase is UNSAVED:
            self.stop_before_the_save()
        if self.how == "cut":
            self.pair.wire.set_cut(True)
        elif self.how == "kill":
            self.victim.daemon.kill()
        elif self.how == "stop":
            self.victim.daemon.signal("STOP")
        else:
            self.victim.vm.power_off()
        if self.how == "stop":  # what is on the wire, the process has put out
            self.pair.wire.release()
        else:
            self.lost = self.pair.wire.lose()

    def stop_before_the_save(self):
        executed = self.pair.wire.done[2, "move"]
        self.home.daemon.signal("STOP")
        self.pair.wire.release()
        wait_for("CAS of " + self.text, 5, lambda: self.pair.wire.done[2, "move"] > executed, 0.005)

    def check_phase(self):
        """What the home has, once it has read it, says which phase the fault met."""
        def met():
            look = self.home.look()
            seen.update(look.owners, moved=look.words["n1"][0] == "mail")
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
            self.pair.note("%s: xen2: %s" % (self.text, r.out.strip()))

    def rival(self):
        """While the mover is stopped, xen1 breaks its locks, and takes the other node of web if n1 is still there."""
        if not self.phase.moved:
            self.home.move("n2", "mail")
            return
        r = self.home.vm.run("resex move n2 mail", 60)
        check(r.rc != 0, "%s: xen1 took the last node of web: %s" % (self.text, r.out))

    def healed(self):
        """(where each node is, for how many seconds all were still seen to disagree on it)."""
        began = time.monotonic()
        services = self.pair.until_agreed("after " + self.text, WITHIN_S)[0].services()
        took = max(0.0, self.pair.disagreed - began)
        self.pair.note("%s: seen to disagree for %.1f s, to agree after %.1f s" %
                       (self.text, took, time.monotonic() - began))
        # A mover, or a cable, that is there again may end its move later.
        if self.who != "home" and (self.phase.moved or self.how in ("kill", "power")):
            check((services["n1"] == "mail") == self.phase.moved, "%s: n1 is in %s" % (self.text, services))
        elif self.phase.name == SAVED:
            check(services["n1"] == "mail", "%s: a saved word is lost: %s" % (self.text, services))
        elif self.phase is UNSAVED:
            check(services["n1"] == "web", "%s: a word that was not saved came back: %s" % (self.text, services))
        return services, took

    def restore(self, services):
        """By the one that was not harmed: locks of the dead are broken for it."""
        by = self.home if self.who == "mover" else self.mover
        for node, service in services.items():
            if service != BOTH[node]:
                by.move(node, BOTH[node])
        self.pair.until_agreed("again after " + self.text, services=BOTH)
        if self.lost:
            # Of links that are gone: they change nothing.
            self.pair.wire.come_late(self.lost)
            self.pair.until_agreed("when frames came late after " + self.text, services=BOTH)

    def run(self):
        self.hold()
        self.fault()
        if self.who != "home" and self.how != "stop":
            self.check_phase()
        if (self.who, self.how) == ("mover", "stop"):
            self.rival()
        self.heal()
        services, took = self.healed()
        self.restore(services)
        return took


def all_cases():
    """(who, how, phase). A process that is stopped has put its request out: that is the next phase."""
    for phase in PHASES:
        yield "cable", "cut", phase
        for who in ("mover", "home"):
            for how in ("kill", "power") + (("stop",) if phase.stage == "answer" else ()):
                yield who, how, phase
    for how in ("kill", "power"):
        yield "home", how, UNSAVED


def some_cases():
    """Each phase, and each fault."""
    faults = [("cable", "cut"), ("mover", "kill"), ("home", "kill"), ("mover", "power"), ("home", "power")]
    for i, phase in enumerate(PHASES):
        yield (*faults[i % len(faults)], phase)
    for who in ("mover", "home"):
        yield who, "stop", PHASES[4]
    yield "home", "kill", UNSAVED


def reconf_faults(vm):
    met, took = collections.Counter(), []
    with Pair(vm) as pair:
        pair.hosts[0].move("n2", "web")
        pair.until_agreed("at first", services=BOTH)
        for who, how, phase in all_cases() if vm.deep else some_cases():
            took.append(Case(pair, who, how, phase).run())
            met[phase.name] += 1
    vm.note("phases met: %s" % dict(met))
    check(set(met) == {p.name for p in PHASES + [UNSAVED]}, "phases that were not met: %s" % met)
    return "%d faults at %d phases; after healing all agreed at the first look in %d, and within %.1f s in %d" % (
        len(took), len(met), took.count(0), WITHIN_S, len([t for t in took if t <= WITHIN_S]))
