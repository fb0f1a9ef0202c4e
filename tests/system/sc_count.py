# SPDX-License-Identifier: GPL-2.0-or-later
"""count: what dom0 counts from guests' rings is what the guests did."""
import random

from bed import Guest, check, wait_for
from daemon import Daemon, Load, agree, difference, wait_rings, with_agent

# Unmodified programs of perftest: work requests of the run, by its own option -n.
# (command, its iterations, which side posts, the operation, bytes a message)
PERFTEST = [
    ("ib_write_bw", "write", 65536, 300, 1),
    ("ib_read_bw", "read", 16384, 300, 1),
    ("ib_send_bw", "send", 4096, 500, 1),
    ("ib_send_lat", "send", 64, 300, 2),
    ("ib_read_lat", "read", 8, 400, 1),
    ("ib_atomic_bw -A FETCH_AND_ADD", "fetch_add", 8, 300, 1),
    ("ib_atomic_lat -A CMP_AND_SWAP", "cmp_swap", 8, 300, 1),
]

PACED = "-q 5 -t rc,uc,ud -s 0-16384 -D 32-128 -n 300-900 -u 30 -i 20 --max-inline 64 -g 3 -p 2000"
FULL = "-q 4 -t rc -s 0-32768 -D 1-64 -b 8 -n 1000-4000 -x random"


def totals(d, name):
    return d.rings(name)["totals"]


def paced_load(d, g):
    """Slow enough that nothing may be lost: all is exact."""
    before = totals(d, g.name)
    load = Load(g, PACED)
    wait_rings(d, g.name, 5)
    load.go().wait_done(90)
    after = wait_settled(d, g.name)
    truth = load.finish()["total"]
    agree("paced " + g.name, truth, difference(before, after))
    return truth


def full_load(d, g):
    """As fast as it goes, the queues small: what is lost is said, the rest exact."""
    before = totals(d, g.name)
    load = Load(g, FULL)
    wait_rings(d, g.name, 4)
    load.go().wait_done(90)
    after = wait_settled(d, g.name)
    agree("full " + g.name, load.finish()["total"], difference(before, after))


def wait_settled(d, name):
    """Two looks that agree."""
    seen = [totals(d, name)]

    def still():
        seen.append(totals(d, name))
        return seen[-1] == seen[-2]
    wait_for("end of counting in " + name, 10, still, 0.2)
    return seen[-1]


def perftest(d, g, command, op, size, n, sides):
    before = totals(d, g.name)
    line = "%s -d rxe0 -F -x 1 -s %d -n %d" % (command, size, n)
    if "atomic" in command:
        line = "%s -d rxe0 -F -x 1 -n %d" % (command, n)
    r = g.run("{0} >/tmp/server 2>&1 & sleep 0.7; {0} 10.99.0.1 >/tmp/client 2>&1; rc=$?; wait; "
              "[ $rc = 0 ] || tail -n 4 /tmp/client; [ $rc = 0 ]".format(line), 60)
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
    with Daemon(vm, observe=True) as d:
        for g in (pv, pvh):
            with_agent(g)
            wait_for("agent of %s seen" % g.name, 20, lambda: d.rings(g.name)["attached"], 0.2)
            paced_load(d, g)
            full_load(d, g)
        for row in PERFTEST:
            perftest(d, random.choice((pv, pvh)), *row)
