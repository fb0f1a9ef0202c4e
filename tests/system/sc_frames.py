# SPDX-License-Identifier: GPL-2.0-or-later
"""frames: queues of mlx5 in memory that nothing pins. Their pages move, are shared with a child, are huge,
and are freed while the host reads them. No adapter is there: src/frames.c posts in the layout of mlx5, and
lists its queue by the code of libresex-rings.so.
"""
import json

from bed import Guest, check, wait_for
from daemon import Daemon, difference, wait_settled, with_agent
from sc_churn import gone

COUNT = 600
# Mode: the least number of pages that move; whether the queue is in one huge page at the end.
PV = {"fork": (1, 0), "unmap": (1, 0), "free": (0, 0), "move": (1, 0)}
PVH = {"huge": (0, 1), "thp": (64, 1), "move": (1, 0)}  # a PV guest has no huge pages


class Queue:
    """A process in a guest; it ends when end() is called."""

    def __init__(self, g, mode, number):
        self.g, self.mode, self.number, self.tag = g, mode, number, "/tmp/frames.%d" % number
        g.sh("rm -f {0}.*; mkfifo {0}.in; (sleep 600 >{0}.in & echo $! >{0}.hold); "
             "(/t/frames {1} {2} {3} <{0}.in >{0}.out 2>&1; echo $? >{0}.rc) &".format(self.tag, mode, number, COUNT))

    def truth(self):
        out = self.g.sh("i=0; until grep -q ^TRUTH {0}.out || [ -s {0}.rc ] || [ $i -ge 600 ]; do usleep 100000; "
                        "i=$((i+1)); done; cat {0}.out".format(self.tag), 90)
        check("TRUTH " in out, "frames %s ended: %s" % (self.mode, out))
        return json.loads(out[out.index("TRUTH ") + 6:])

    def end(self):
        self.g.sh("echo end >{0}.in; kill $(cat {0}.hold); i=0; until [ -s {0}.rc ] || [ $i -ge 100 ]; do "
                  "usleep 100000; i=$((i+1)); done".format(self.tag))


def agree(what, true, counted, flags):
    """Equal, or marked; and never more than the process did, which is work of another."""
    both = "%s: true %s, counted %s, %s" % (what, true, counted, flags)
    marked = "uncharged" in flags
    for t, c in (("wrs", "wrs"), ("mtus", "mtus_sent"), ("bytes", "bytes_sent")):
        check(counted[c] <= true[t], "more than was done; " + both)
        check(marked or counted[c] == true[t], "fewer, and not marked; " + both)
    check(counted["wrs"] >= true["wrs"] // 4, "hardly anything was counted; " + both)
    return both


def rows_of(d, g):
    return {r["qpn"]: r for r in d.rings(g.name)["rings"] if r.get("kind") == "SQ" and "wrs" in r}


def one(vm, d, g, number, mode, least, huge):
    """A queue of this mode, and beside it one to which nothing is done on purpose."""
    before = wait_settled(d, g.name)
    queues = [Queue(g, mode, number), Queue(g, "plain", number + 1)]
    true = [q.truth() for q in queues]
    if mode == "free":
        wait_for("end of the freed queue", 10, lambda: true[0]["qpn"] not in rows_of(d, g), 0.2)
    after = wait_settled(d, g.name)
    rows = rows_of(d, g)
    sums = {k: sum(t[k] for t in true) for k in ("wrs", "mtus", "bytes")}
    counted = difference(before, after)
    flags = set(after["flags"]) - set(before["flags"]) | {f for r in rows.values() for f in r["flags"]}
    vm.note(agree("%s in %s, both" % (mode, g.name), sums, counted, flags))
    for t in true:
        check(t["qpn"] in rows or mode == "free", "no row of queue pair %d: %s" % (t["qpn"], rows))
        if t["qpn"] in rows and "uncharged" not in rows[t["qpn"]]["flags"]:
            vm.note(agree("queue pair %d (%s)" % (t["qpn"], mode), t, rows[t["qpn"]], []))
    check(true[0]["moved"] >= least, "only %d pages moved in %s" % (true[0]["moved"], mode))
    check(true[0]["huge"] >= huge, "the queue is in no huge page in " + mode)
    rings = d.rings(g.name)
    check(not rings["forged_times"], "an honest guest is told to forge: %s" % d.events())
    for q in queues:
        q.end()
    wait_for("end of the queues of " + g.name, 10, lambda: not rows_of(d, g), 0.2)


def all_modes(vm, d, g, modes):
    vm.create(g)
    with_agent(g)
    wait_for("agent of %s seen" % g.name, 20, lambda: d.rings(g.name)["attached"], 0.2)
    if g.kind == "pvh":
        g.sh("echo 2 >/proc/sys/vm/nr_hugepages; [ $(cat /proc/sys/vm/nr_hugepages) = 2 ]")
    for i, (mode, expected) in enumerate(modes.items()):
        if mode == "move":
            g.sh("(while :; do echo 1 >/proc/sys/vm/compact_memory; usleep 500000; done) & echo $! >/tmp/compact.pid")
        one(vm, d, g, 0x100 + 2 * i, mode, *expected)
        if mode == "move":
            g.sh("kill $(cat /tmp/compact.pid)")
    # A guest that is destroyed while the host reads a queue of it leaves nothing.
    Queue(g, "plain", 0x200)
    wait_for("a queue of " + g.name, 20, lambda: rows_of(d, g), 0.2)
    vm.sh("xl destroy " + g.name)
    gone(vm, g.domid, "destroyed while its queue was read")


def frames(vm):
    with Daemon(vm, observe=True) as d:
        all_modes(vm, d, Guest(vm, "pv", "pv"), PV)
        all_modes(vm, d, Guest(vm, "pvh", "pvh", memory=224), PVH)
