# SPDX-License-Identifier: GPL-2.0-or-later
"""operator: a cap or a weight that another program sets is taken, however busy the policy is.

xl sets the cap of one of two busy guests, at random moments. resexd must tell it as an event, show
it as the guest's own cap, keep the policy's caps at or below it, and leave it in force at its end.
"""
import json
import random

from bed import Failed, check, wait_for
from daemon import Daemon, xl_sched
from sc_survive import LINKS, caps_now, survive_once, tenants

# name: (parameters of freemarket, epoch)
POLICIES = {
    "late": ({"low": 980}, "1s"),  # caps move late in each epoch
    "slow": ({"low": 1000, "guard": 0, "cut": 10, "step": 10000000}, "4s"),  # the cap moves each 10 ms
    "fast": ({"low": 1000, "guard": 0, "step": 1000000}, "1s"),  # at the lowest cap until the epoch ends
}
TAKEN_S = 1


class Watch:
    """Each change of a guest's cap, as the hypervisor has it."""

    def __init__(self, vm):
        self.vm = vm
        self.job = vm.begin("domtool caps 3000 & echo $! >/run/domtool.pid; wait; true")

    def end(self):
        """[(seconds of uptime, domid, cap)]"""
        self.vm.sh("kill $(cat /run/domtool.pid)")
        rows = [[int(w) for w in line.split()] for line in self.vm.end(self.job).out.splitlines()
                if len(line.split()) == 3]
        return [(ms / 1000, domid, cap) for ms, domid, cap in rows]


def uptime(vm):
    return float(vm.sh("cut -d' ' -f1 /proc/uptime"))


def rows_of(d):
    return {r["domid"]: r for r in d.ask("cap-list")["guests"]}


def told(d, g, kind, words):
    return [e for e in d.events() if e["kind"] == kind and e["guest"] == g.name and words in e["text"]]


def choose(rng, g):
    first, second = rng.randrange(20, 60), rng.randrange(20, 60)
    pair = (first, second + 40) if abs(first - second) < 20 else (first, second)
    return tuple(n + 1 if n == g.cap else n for n in pair)


def set_cap(vm, d, g, choice, delay):
    """(cap, when it was set, when it was seen to be taken, or None when it was not)

    choice: two caps far from each other. What is in force already cannot be told from the
    policy's own: the second is set when the first is near that.
    """
    xl = "xl %s -d %s" % (xl_sched(vm), g.name)
    out = vm.sh("usleep {0}; now=$({1} | awk 'END {{ print $NF }}'); cap={2}; "
                "[ $((now - cap)) -gt 5 ] || [ $((cap - now)) -gt 5 ] || cap={3}; "
                "cut -d' ' -f1 /proc/uptime; {1} -c $cap && echo $cap".format(int(1e6 * delay), xl, *choice))
    began, cap = float(out.split()[0]), int(out.split()[1])
    try:
        wait_for("the cap to be taken", TAKEN_S,
                 lambda: rows_of(d)[g.domid]["old_cap"] == cap and told(d, g, "operator-cap", "cap to %d:" % cap), 0.05)
    except Failed:
        return cap, began, None
    g.cap = cap
    return cap, began, uptime(vm)


def at_most(rows, spans):
    """No cap above the operator's, from when it was taken until the next was set."""
    for g, cap, begin, end in spans:
        above = [r for r in rows if r[1] == g.domid and begin <= r[0] < end and not 0 < r[2] <= cap]
        check(not above, "%s has an own cap of %d, and had %s" % (g.name, cap, above[:5]))


def set_weight(vm, d, g, weight):
    weight += weight == g.weight  # the same would be no change
    vm.sh("xl %s -d %s -w %d" % (xl_sched(vm), g.name, weight))
    g.weight = weight
    wait_for("the weight to be taken", 5, lambda: rows_of(d)[g.domid]["weight"] == weight
             and told(d, g, "operator-weight", " to %d" % weight), 0.05)


def moved(vm, d, g):
    """To a cpupool with the other scheduler, and back: the cap that Xen gives it there is its own."""
    other = "credit" if vm.sched == "credit2" else "credit2"
    config = vm.put("pool.cfg", 'name="other"\nsched="%s"\ncpus=["1"]\n' % other)
    vm.sh("xl cpupool-cpu-remove Pool-0 1; xl cpupool-create %s; xl cpupool-migrate %s other" % (config, g.name))
    wait_for("the cpupool to be told", 5, lambda: told(d, g, "operator-pool", "scheduler"), 0.1)
    wait_for("its cap to move there", 10, lambda: rows_of(d)[g.domid]["cap"] not in (None, rows_of(d)[g.domid]["old_cap"]), 0.05)
    events = len(told(d, g, "operator-pool", "scheduler"))
    vm.sh("xl cpupool-migrate %s Pool-0; xl cpupool-destroy other; xl cpupool-cpu-add Pool-0 1" % g.name)
    wait_for("the way back to be told", 5, lambda: len(told(d, g, "operator-pool", "scheduler")) > events, 0.1)
    g.set_own(rows_of(d)[g.domid]["weight"], rows_of(d)[g.domid]["old_cap"] or 0)


def under(vm, rng, guests, name, count, pools):
    """So many caps under one policy: how many of them were taken."""
    params, epoch = POLICIES[name]
    policy = vm.put("operator.json", json.dumps({"policy": "freemarket", "params": params}))
    taken, latest, spans, last = 0, 0.0, [], {}
    with Daemon(vm, policy="freemarket", policy_file=policy, links=LINKS, epoch=epoch) as d:
        wait_for("the guests to be managed", 20, lambda: all(
            rows_of(d).get(g.domid, {}).get("state") == "managed" for g in guests), 0.1)
        watch = Watch(vm)
        for _ in range(count):
            g = rng.choice(guests)
            cap, began, seen = set_cap(vm, d, g, choose(rng, g), rng.uniform(0, 0.3))
            if g in last:
                spans.append((g, *last.pop(g), began))
            if seen:
                taken, latest = taken + 1, max(latest, seen - began)
                last[g] = cap, seen
        set_weight(vm, d, rng.choice(guests), rng.randrange(300, 900))
        now = uptime(vm)
        at_most(watch.end(), spans + [(g, cap, begin, now) for g, (cap, begin) in last.items()])
        if pools and name == "slow":
            moved(vm, d, guests[1])
    vm.note("%s: %d of %d taken, after %.1f s at most" % (name, taken, count, latest))
    return taken


def operate(vm, guests, count, pools):
    """So many caps under each policy; pools: also move a guest to another cpupool."""
    for g in guests:
        g.sh("(while :; do :; done) &")
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    vm.note("seed %d" % seed)
    taken = {name: under(vm, rng, guests, name, count, pools) for name in POLICIES}
    check(set(taken.values()) == {count}, "seed %d: of %d caps set under each policy were taken: %s" % (seed, count, taken))
    now, own = caps_now(vm, guests), {g.name: g.own() for g in guests}
    check(now == own, "seed %d: weights and caps are %s, the operator set %s" % (seed, now, own))


def operator(vm):
    operate(vm, tenants(vm, ("above", "none")), 67 if vm.deep else 10, True)


def caps(vm):
    """survive and operator in short, with the same guests."""
    guests = tenants(vm, ("above", "none"))
    survive_once(vm, guests)
    operate(vm, guests, 2, False)
