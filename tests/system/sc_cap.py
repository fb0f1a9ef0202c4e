# SPDX-License-Identifier: GPL-2.0-or-later
"""cap, restore: who overspends is capped, others are not, and caps come back as they were.

cap also asks resex doctor, and has it try whether a cap limits a real guest.
"""
import json
import random

from bed import Guest, check
from daemon import Daemon, Load, wait_rings, with_agent, xl_cap, xl_sched

# The smallest link there is, and up to 800 READs of 4 MTUs a second: the greedy guest's half of
# the pool and its CPU time (0.62e6 Resos a second, 1074 a MTU) are spent after a fifth of the
# epoch, and still within it on a machine four times as slow.
LINKS = [{"name": "rxe0", "rate": 1000000, "mtu": 1024}]
GREEDY = "-q 1 -t rc -x read -s 4096 -D 32 -m 1024 -r 800 --burn-cpu 60 -T 600"
MODEST = "-q 1 -t rc -x read -s 4096 -D 32 -m 1024 -r 20 --burn-cpu 40 -T 600"
EPOCH_S = 4
LATE_S = 0.4


def cpu(vm):
    """(uptime, {domid: CPU seconds}) by the hypervisor."""
    out = vm.sh("domtool list; cut -d' ' -f1 /proc/uptime").split("\n")
    rows = [line.split() for line in out if line]
    return float(rows[-1][0]), {int(r[0]): int(r[2]) / 1e9 for r in rows[:-1]}


def share(before, after, g):
    return (after[1][g.domid] - before[1][g.domid]) / (after[0] - before[0])


def two_guests(vm):
    greedy, modest = Guest(vm, "greedy"), Guest(vm, "modest")
    vm.create(greedy, modest)
    loads = []
    for g, options in ((greedy, GREEDY), (modest, MODEST)):
        with_agent(g)
        loads.append(Load(g, options))
    for load in loads:
        load.go()
    return greedy, modest


def changes(vm, seconds, *guests):
    """For each guest [(seconds, cap)], a row a change, as the hypervisor has it; 0 is none."""
    rows = [[int(w) for w in line.split()] for line in
            vm.sh("domtool caps %d" % seconds, seconds + 30).splitlines()]
    return [[(r[0] / 1000, r[2]) for r in rows if r[1] == g.domid] for g in guests]


def runs(rows):
    """The caps between two times without one: [(begin, end, [cap])]; cut ones are left out."""
    out, begin, caps = [], None, []
    for i, (t, cap_now) in enumerate(rows):
        if cap_now and begin is None and i:
            begin = t
        if cap_now and begin:
            caps.append(cap_now)
        if not cap_now and begin:
            out.append((begin, t, caps))
            begin, caps = None, []
    return out


def observed(vm, greedy, modest):
    """CPU shares when nothing is capped."""
    with Daemon(vm, observe=True, policy="freemarket", links=LINKS, epoch="%ds" % EPOCH_S) as d:
        wait_rings(d, "greedy", 1)
        wait_rings(d, "modest", 1)
        before = cpu(vm)
        rows = changes(vm, EPOCH_S + 1, greedy, modest)
        after = cpu(vm)
    check(all(len(r) == 1 and r[0][1] == 0 for r in rows), "--observe set a cap: %s" % rows)
    return [share(before, after, g) for g in (greedy, modest)]


def xl_agrees(vm):
    """Xen's own tool shows a cap of the greedy guest sooner or later, and none of the other."""
    seen = []
    for _ in range(30):
        seen.append((xl_cap(vm, "greedy")[1], xl_cap(vm, "modest")[1]))
        if seen[-1][0]:
            break
    check(seen[-1][0] and not any(m for _, m in seen), "xl shows caps (greedy, modest) %s" % seen)


def check_epochs(found, what):
    check(len(found) >= 2, "not capped and let go in two epochs; " + what)
    for begin, end, caps in found:
        check(caps == sorted(caps, reverse=True), "a cap rose within an epoch; " + what)
        check(caps[-1] == 1, "never at the lowest cap; " + what)
        check(end - begin < EPOCH_S, "capped beyond an epoch; " + what)
    for a, b in zip(found, found[1:]):
        epochs = (b[1] - a[1]) / EPOCH_S
        check(abs(epochs - round(epochs)) * EPOCH_S < LATE_S, "let go at another time than an epoch's "
              "start; " + what)


def doctored(vm):
    """The scheduler is there and its caps act, as resex doctor sees it."""
    with Daemon(vm, links=LINKS) as d:
        wait_rings(d, "greedy", 1)
        wait_rings(d, "modest", 1)
        r = vm.run("resex -j doctor", 120)
        of = {f["check"]: f for f in r.json()["findings"]}
        bad = [of[c] for c in ("daemon", "xen", "scheduler", "privileges", "agents", "rings") if of[c]["state"] != "ok"]
        check(not bad, "resex doctor finds faults here: %s" % bad)
        check(of["links"]["state"] == "unknown" and "tells no true rate" in of["links"]["text"],
              "of a link over soft-RoCE resex doctor says: %s" % of["links"])
        r = vm.run("resex -j doctor --cap-test greedy --yes", 120)
        check(r.rc == 0 and r.json()["findings"][0]["state"] == "ok", "the cap test ended with %d: %s" % (r.rc, r.out))
        check(xl_cap(vm, "greedy")[1] == 0, "the cap test left a cap")
        vm.note(r.json()["findings"][0]["text"])


def cap(vm):
    greedy, modest = two_guests(vm)
    free = observed(vm, greedy, modest)
    doctored(vm)
    with Daemon(vm, policy="freemarket", links=LINKS, epoch="%ds" % EPOCH_S) as d:
        wait_rings(d, "greedy", 1)
        wait_rings(d, "modest", 1)
        before = cpu(vm)
        rows = changes(vm, int(3.5 * EPOCH_S), greedy, modest)
        after = cpu(vm)
        xl_agrees(vm)
        why = vm.sh("resex why modest")
        events = d.events()
    capped = [share(before, after, g) for g in (greedy, modest)]
    what = "CPU shares free %s, managed %s; greedy's caps %s" % (free, capped, rows[0])
    vm.note(what)
    check(rows[1] == [(rows[1][0][0], 0)], "the modest guest was capped: %s (%s)" % (rows[1], why))
    check(not [e for e in events if e["guest"] == "modest" and e["kind"] == "cap"],
          "the modest guest has cap events: %s" % events)
    check_epochs(runs(rows[0]), what)
    check(capped[0] < 0.75 * free[0], "the greedy guest kept its CPU time; " + what)
    check(capped[1] > 0.75 * free[1], "the modest guest lost CPU time; " + what)
    check(xl_cap(vm, "greedy")[1] == 0, "a cap is left after resexd's end")


# --- restore --------------------------------------------------------------------


OLD = {"greedy": (300, 73), "modest": (256, 0)}


def as_before(vm, when):
    for name, old in OLD.items():
        now = xl_cap(vm, name)
        check(now == old, "%s: %s has weight and cap %s, before it was %s" % (when, name, now, old))


def kills(vm, command, delays):
    """20 SIGKILLs: caps seen then, and after what puts them right.

    Every other one comes some time after the start, the others some time after a cap was seen
    in force; after half of each --restore-caps is run, otherwise the next start must do.
    """
    script = """
caps() {{ echo $(xl {xl} -d greedy | awk 'END {{ print $(NF-1), $NF }}') \
	$(xl {xl} -d modest | awk 'END {{ print $(NF-1), $NF }}'); }}
n=0
for t in {delays}; do
	n=$((n + 1))
	{command} >>/h/files/resexd.log 2>&1 &
	p=$!
	i=0
	[ $((n % 2)) = 0 ] && while [ "$(caps)" = "{old}" ] && [ $i -lt 100 ]; do i=$((i + 1)); done
	usleep $t
	kill -9 $p
	wait $p 2>/dev/null
	echo killed $n $(caps)
	[ $((n % 4)) -lt 2 ] || continue
	{command} --restore-caps >>/h/files/resexd.log 2>&1
	echo restored $? $(caps)
done"""
    return vm.sh(script.format(xl=xl_sched(vm), command=command, old=" ".join(old_words()),
                               delays=" ".join(str(int(1e6 * t)) for t in delays)), 300)


def old_words():
    return [str(n) for name in ("greedy", "modest") for n in OLD[name]]


def restore(vm):
    greedy, _ = two_guests(vm)
    xl = xl_sched(vm)
    vm.sh("xl {0} -d greedy -w 300 -c 73; xl {0} -d modest -w 256 -c 0".format(xl))
    # Caps are cut as soon as a thousandth was spent, which takes some 10 ms of CPU, so that 73 is
    # seen on any machine: by a tenth each 20 ms, so that a tenth of it is reached within 0.5 s, and
    # on a busy machine within the epoch.
    quick = {"policy": "freemarket", "params": {"low": 999, "guard": 0, "step": 20000000}}
    d = Daemon(vm, policy="freemarket", policy_file=vm.put("quick.json", json.dumps(quick)),
               links=LINKS, epoch="2s")
    with d:
        wait_rings(d, "greedy", 1)
        r = vm.run(d.command)
        check(r.rc == 11, "a second resexd ended with %d: %s" % (r.rc, r.out))
        check("another resexd runs" in r.out, "a second resexd said: " + r.out)
        caps = [c for _, c in changes(vm, 5, greedy)[0]]
        check(min(caps) <= 7, "greedy was never at a tenth of its own cap: %s" % caps)
        check(max(caps) == 73, "greedy has more or less than its own cap at best: %s" % caps)
    as_before(vm, "after the end")

    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    delays = [rng.uniform(0, 1.6 if n % 2 == 0 else 0.3) for n in range(20)]
    out = kills(vm, d.command, delays)
    lines = [line.split() for line in out.splitlines()]
    old = old_words()
    dead = [w[2:] for w in lines if w[0] == "killed"]
    back = [w for w in lines if w[0] == "restored"]
    check(len(dead) == 20 and len(back) == 10, "seed %d: %s" % (seed, out))
    check(len([w for w in dead if w != old]) >= 4,
          "seed %d: hardly ever a cap in force at the kill: %s" % (seed, out))
    for w in back:
        check(w[1] == "0" and w[2:] == old, "seed %d: restored to %s: %s" % (seed, w, out))
    with d:
        pass
    as_before(vm, "after 20 kills, a start and an end (seed %d)" % seed)
