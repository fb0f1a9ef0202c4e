# SPDX-License-Identifier: GPL-2.0-or-later
"""ioshares: latencies that applications report to the agent move the cap of who is to blame."""
from bed import Guest, check, wait_for
from daemon import Daemon, Load, wait_rings, with_agent, xl_cap
from sc_cap import MODEST, changes

# The bulk guest sends more MTUs than the link is said to carry, the victim a few.
LINKS = [{"name": "rxe0", "rate": 1000000, "mtu": 1024}]
BULK = "-q 1 -t rc -x read -s 4096 -D 32 -m 1024 -r 400 --burn-cpu 60 -T 600"
# 200 requests a second: with less the victim would be idle most of the time, and as good as an equal of bulk.
BASE = (1500000, 600000, 10000)
SLOW = (1500000, 1400000, 10000)
SLA = {"base": "2110us", "base_io": "610us", "base_deviation": "10us"}


def report(g, figures):
    """From now on the victim's latencies are these."""
    g.sh("echo %d %d %d >/tmp/lat.new; mv /tmp/lat.new /tmp/lat" % figures)


def caps_of(vm, seconds, bulk, victim):
    """[(seconds, cap)] of the bulk guest; the victim must not be capped meanwhile."""
    rows = changes(vm, seconds, bulk, victim)
    check(all(c == 0 for _, c in rows[1]), "the victim was capped: %s" % rows[1])
    return rows[0]


def agrees(d):
    """One look at the daemon in which rate and cap belong together: cap = 100 / rate."""
    g = [x for x in d.ask("list")["guests"] if x["name"] == "bulk"][0]
    rate = g["rate"]
    return rate > 1 and g["cap"] is not None and abs(g["cap"] - 100 / rate) <= 1


def ioshares(vm):
    bulk, victim = Guest(vm, "bulk"), Guest(vm, "victim")
    vm.create(bulk, victim)
    for g, options in ((bulk, BULK), (victim, MODEST)):
        with_agent(g)
        Load(g, options).go()
    report(victim, BASE)
    victim.sh("latload /tmp/lat 200 >/tmp/latload.log 2>&1 & sleep 0.2; ! grep . /tmp/latload.log")
    with Daemon(vm, policy="ioshares", links=LINKS, guests={"victim": {"sla": SLA}}) as d:
        wait_rings(d, "bulk", 1)
        wait_rings(d, "victim", 1)
        vm.sh("resex policy-set ioshares futile=0")  # what is reported does not follow the caps
        wait_for("latencies of the victim", 10, lambda: [g["latency_us"] for g in d.ask("list")["guests"] if g["name"] == "victim"][0], 0.2)
        calm = caps_of(vm, 3, bulk, victim)
        check([c for _, c in calm] == [0], "bulk was capped with nobody complaining: %s" % calm)

        report(victim, SLOW)
        taxed = [c for _, c in caps_of(vm, 6, bulk, victim)]
        vm.note("caps while the victim complains: %s" % taxed)
        steps = [c for c in taxed if c]
        check(len(steps) >= 4, "bulk's cap hardly moved: %s" % taxed)
        # Later it may rise for a while: whoever sends too little to be blamed is let go slowly.
        check(steps[:4] == sorted(steps[:4], reverse=True), "bulk's cap rose at once: %s" % taxed)
        check(min(steps) < 50, "bulk's cap fell too slowly: %s" % taxed)
        wait_for("a look at the daemon where cap is 100 / rate", 5, lambda: agrees(d), 0.05)
        why = vm.sh("resex why bulk")
        check("victim" in why, "why does not name who complained: " + why)
        check(xl_cap(vm, "bulk")[1] > 0, "xl shows no cap of bulk")

        report(victim, BASE)
        wait_for("the end of bulk's cap", 60, lambda: xl_cap(vm, "bulk")[1] == 0, 0.5)
    check(xl_cap(vm, "bulk")[1] == 0, "a cap is left after resexd's end")
