# SPDX-License-Identifier: GPL-2.0-or-later
"""count: what dom0 counts from guests' rings is what the guests did."""
import random

from bed import Guest, at_once, check, wait_for
from daemon import (Daemon, Load, difference, listening, settle, wait_first, wait_rings, wait_settled,
                    with_agent)

# Unmodified programs of perftest: (command, operation, bytes a message, iterations by its
# option -n, how many sides post). -e: sleep for completions; two spinning processes on
# one VCPU would wait for each other's time slices.
PERFTEST = [
    ("ib_write_bw", "write", 65536, 300, 1),
    ("ib_read_bw", "read", 16384, 300, 1),
    ("ib_send_bw", "send", 4096, 500, 1),
    ("ib_send_lat -e", "send", 64, 150, 2),
    ("ib_read_lat -e", "read", 8, 400, 1),
    ("ib_atomic_bw -A FETCH_AND_ADD", "fetch_add", 8, 300, 1),
    ("ib_atomic_lat -e -A CMP_AND_SWAP", "cmp_swap", 8, 300, 1),
]

PACED = "-q 5 -t rc,uc,ud -s 0-16384 -D 32-128 -n 100-400 -u 30 -i 20 --max-inline 64 -g 3 -p 2000"
FULL = "-q 4 -t rc -s 0-32768 -D 1-64 -b 8 -n %s -x random --first"
FULL_COUNT = {"pv": "1000-4000", "pvh": "300-1200"}  # PVH is emulated an order slower
UNSEEN = "-q 4 -t rc -s 0-32768 -D 1-8 -b 4 -n 40-80 -x random"  # several laps of each ring


def paced_load(d, g):
    """Slow enough for all to be seen."""
    before = d.rings(g.name)["totals"]
    load = Load(g, PACED)
    wait_rings(d, g.name, 5, load.pid)
    settle("paced " + g.name, d, load.go(), before, True)


def full_load(d, g):
    """As fast as it goes, the queues small: what is lost is said, the rest exact."""
    before = d.rings(g.name)["totals"]
    load = Load(g, FULL % FULL_COUNT[g.kind])
    wait_first(d, load)
    settle("full " + g.name, d, load.go(), before)


def unseen_loads(d, *guests):
    """The daemon stands still from the first work request to the last: what it guesses, it marks."""
    before = [d.rings(g.name)["totals"] for g in guests]
    loads = [Load(g, UNSEEN) for g in guests]
    for load in loads:
        wait_rings(d, load.g.name, 4, load.pid)
    d.signal("STOP")
    try:
        for load in loads:
            load.go()
        for load in loads:
            load.wait_done()
    finally:
        d.signal("CONT")
    for load, b in zip(loads, before):
        rows = settle("unseen " + load.g.name, d, load, b, True)
        check(all("mtus-guessed" in r["flags"] for r in rows if r.get("wrs")),
              "MTUs of what was never seen are no guess: %s" % rows)


def perftest(d, g, command, op, size, n, sides):
    before = d.rings(g.name)["totals"]
    # What is done last must be seen before its queue goes.
    line = "%s -d rxe0 -F -x 1 -n %d --wait_destroy 1" % (command, n)
    if "atomic" not in command:
        line += " -s %d" % size
    r = g.run("{0} >/tmp/server 2>&1 & {1}; {0} 10.99.0.1 >/tmp/client 2>&1; rc=$?; wait; "
              "[ $rc = 0 ] || tail -n 4 /tmp/client; [ $rc = 0 ]".format(line, listening(18515)), 60)
    check(r.rc == 0, "%s failed in %s: %s" % (command, g.name, r.out[-200:]))
    got = difference(before, wait_settled(d, g.name))
    mtus = sides * n * max(1, -(-size // 1024))
    what = "%s in %s: %s" % (command, g.name, got)
    check(got["wrs"] == sides * n, "%d work requests expected; %s" % (sides * n, what))
    check(got["errors"] == 0, "errors; " + what)
    key = "recv" if op == "read" else "sent"
    check(got["mtus_" + key] == mtus, "%d MTUs %s expected; %s" % (mtus, key, what))
    if got["lost"] == 0:
        check(got["ops"][op] == sides * n, "operation %s; %s" % (op, what))
        check(got["bytes_" + key] == sides * n * size, "bytes %s; %s" % (key, what))
    else:
        check(got["bytes_" + key] <= sides * n * size <= got["bytes_" + key] + got["bytes_bound"],
              "bytes %s out of their bounds; %s" % (key, what))


def count(vm):
    pv, pvh = Guest(vm, "pv", "pv"), Guest(vm, "pvh", "pvh")
    vm.create(pv, pvh)
    rows = random.sample(PERFTEST, len(PERFTEST))
    # The PVH guest is slow: without --deep it runs no perftest, and nothing at full speed.
    rows_of = {"pv": rows[::2], "pvh": rows[1::2]} if vm.deep else {"pv": rows[:3], "pvh": []}
    with Daemon(vm, observe=True) as d:
        def all_of(g):
            kind = g.sh("cat /sys/hypervisor/guest_type").strip()
            check(kind.lower() == g.kind, "guest %s says that it is %s" % (g.name, kind))
            with_agent(g)
            wait_for("agent of %s seen" % g.name, 20, lambda: d.rings(g.name)["attached"], 0.2)
            paced_load(d, g)
            if vm.deep or g is pv:
                full_load(d, g)

        def perftests(g):
            for row in rows_of[g.name]:
                perftest(d, g, *row)
        at_once(all_of, pv, pvh)
        unseen_loads(d, pv, pvh)
        at_once(perftests, pv, pvh)
