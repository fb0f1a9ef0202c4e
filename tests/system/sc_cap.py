# SPDX-License-Identifier: GPL-2.0-or-later
"""cap, restore: who overspends is capped, others are not, and caps come back as they were."""
import random

from bed import Guest, check
from daemon import Daemon, Load, wait_rings, with_agent, xl_cap, xl_sched

# 800 READs of 4 MTUs a second over a link that carries 2344 MTUs: the guest's half of the
# pool and its CPU time are spent after about 0.4 of the epoch (1.05e6 Resos a second, 447 a MTU).
LINKS = [{"name": "rxe0", "rate": 2400000, "mtu": 1024}]
GREEDY = "-q 1 -t rc -x read -s 4096 -D 32 -m 1024 -r 800 --burn-cpu 60 -T 600"
MODEST = "-q 1 -t rc -x read -s 4096 -D 32 -m 1024 -r 20 --burn-cpu 40 -T 600"
EPOCH_S = 4


def sample(vm, count):
    """[(uptime, cap of greedy, cap of modest, epoch)] by Xen's tool, not by ours."""
    out = vm.sh("i=0; while [ $i -lt {n} ]; do i=$((i+1)); "
                "e=$(resex -j list | sed -n 's/^ *\"epoch\": *\\([0-9]*\\).*/\\1/p'); "
                "echo $(cut -d' ' -f1 /proc/uptime) $(xl {s} -d greedy | awk 'END {{ print $NF }}') "
                "$(xl {s} -d modest | awk 'END {{ print $NF }}') $e; done"
                .format(n=count, s=xl_sched(vm)), 120)
    rows = [line.split() for line in out.splitlines()]
    return [(float(r[0]), int(r[1]), int(r[2]), int(r[3])) for r in rows if len(r) == 4]


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


def by_epoch(rows):
    out = {}
    for t, greedy, modest, epoch in rows:
        out.setdefault(epoch, []).append((t, greedy))
    return out


def cap(vm):
    greedy, modest = two_guests(vm)
    observe = Daemon(vm, observe=True, policy="freemarket", links=LINKS, epoch="%ds" % EPOCH_S)
    with observe as d:
        wait_rings(d, "greedy", 1)
        wait_rings(d, "modest", 1)
        before = cpu(vm)
        rows = sample(vm, 12)
        after = cpu(vm)
        check(all(r[1] == r[2] == 0 for r in rows), "--observe set a cap: %s" % rows)
    free = [share(before, after, g) for g in (greedy, modest)]

    with Daemon(vm, policy="freemarket", links=LINKS, epoch="%ds" % EPOCH_S) as d:
        wait_rings(d, "greedy", 1)
        wait_rings(d, "modest", 1)
        before = cpu(vm)
        rows = []
        while not rows or rows[-1][0] - rows[0][0] < 4.5 * EPOCH_S:
            rows += sample(vm, 15)
        after = cpu(vm)
        why = [g["text"] for g in d.ask("why modest")["guests"]]
        events = d.ask("events")["events"]
    capped = [share(before, after, g) for g in (greedy, modest)]
    what = "CPU shares free %s, managed %s; samples %s" % (free, capped, rows)
    check(all(r[2] == 0 for r in rows), "the modest guest was capped (%s); %s" % (why, what))
    check(not [e for e in events if e["guest"] == "modest" and e["kind"] == "cap"],
          "the modest guest has cap events: %s" % events)
    epochs = by_epoch(rows)
    full = sorted(epochs)[1:-1]
    cut = [e for e in full if any(c for _, c in epochs[e])]
    check(len(full) >= 2 and cut == full, "not capped in each whole epoch; " + what)
    check(min(c for e in cut for _, c in epochs[e] if c) <= 2, "never at the lowest cap; " + what)
    for e in full:
        first = [c for _, c in epochs[e]][:2]
        check(0 in first, "not restored at the start of epoch %d: %s; %s" % (e, epochs[e], what))
        caps = [c or 100 for _, c in epochs[e]]
        fall = caps[caps.index(100):]
        check(fall == sorted(fall, reverse=True), "the cap rose within epoch %d; %s" % (e, what))
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
    """SIGKILL at each delay after the start; caps seen then, and after what puts them right."""
    look = "$(xl {0} -d greedy | awk 'END {{ print $(NF-1), $NF }}') $(xl {0} -d modest | awk 'END {{ print $(NF-1), $NF }}')"
    look = look.format(xl_sched(vm))
    script = ["n=0", "for t in %s; do" % " ".join(str(int(1e6 * t)) for t in delays),
              "n=$((n+1))", "%s >>/h/files/resexd.log 2>&1 & p=$!" % command,
              "usleep $t", "kill -9 $p", "wait $p 2>/dev/null", "echo killed $n %s" % look,
              "[ $((n % 2)) = 0 ] && continue",
              "%s --restore-caps >>/h/files/resexd.log 2>&1" % command,
              "echo restored $? %s" % look, "done"]
    return vm.sh("\n".join(script), 240)


def restore(vm):
    two_guests(vm)
    xl = xl_sched(vm)
    vm.sh("xl {0} -d greedy -w 300 -c 73; xl {0} -d modest -w 256 -c 0".format(xl))
    # Little to spend, so that caps are in force soon after each start.
    links = [dict(LINKS[0], rate=1000000)]
    d = Daemon(vm, policy="freemarket", links=links, epoch="2s")
    with d:
        wait_rings(d, "greedy", 1)
        r = vm.run(d.command)
        check(r.rc == 11, "a second resexd ended with %d: %s" % (r.rc, r.out))
        check("another resexd runs" in r.out, "a second resexd said: " + r.out)
        rows = sample(vm, 15)
        check(min(c for _, c, _, _ in rows) < 73, "greedy was never capped: %s" % rows)
        check(max(c for _, c, _, _ in rows) <= 73, "greedy got more than its own cap: %s" % rows)
    as_before(vm, "after the end")

    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    delays = [rng.uniform(0.05, 1.6) for _ in range(20)]
    out = kills(vm, d.command, delays)
    lines = [line.split() for line in out.splitlines()]
    old = [str(n) for name in ("greedy", "modest") for n in OLD[name]]
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
