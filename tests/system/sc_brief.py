# SPDX-License-Identifier: GPL-2.0-or-later
"""brief: of queue pairs that live 20 ms, 95 % of the work is counted, and all that is not is told.

Nothing is scaled: a life is 20 ms of the VM's time. The VM is of the bed "counted": its two CPUs
together execute a million instructions in a millisecond of its time, however busy or fast the machine
is. It is a slow host all the same: resexd, the agent and the load share these. Each pair does its work
at a random moment of the first half of its life. The part that was counted is that of the pairs that
ended; the first ones and the last one live on.

Of lives of 3 ms only the sum is checked, and that nothing is counted that never was; the part that was
counted is noted.
"""
import json
import re

from bed import Guest, check, wait_for
from daemon import Daemon, agree_qps, difference, send_queues, wait_settled, with_agent

# (life in us, longest time between two in us, pairs, least part of the work requests that is counted in
# percent). Between sparse ones the agent falls back to its slow rhythm.
DENSE, SPARSE, SHORT = (20000, 5000, 200, 95), (20000, 1500000, 25, 95), (3000, 5000, 50, 0)
FIRST = 4
LATE_MS = 1  # half of the lives may be longer by so much; a packet that rxe sends again takes 0.3 s


class Brief:
    """rdmabrief in a guest, waiting for go()."""

    def __init__(self, g, life_us, gap_us, pairs):
        self.g = g
        said = g.sh("rm -f /tmp/brief.in; mkfifo /tmp/brief.in; >/tmp/brief.out; rdmabrief -l %d -g %d -n %d <>/tmp/brief.in "
                    ">/tmp/brief.out 2>&1 & i=0; until grep -q ^READY /tmp/brief.out || [ $i -ge 200 ]; do "
                    "usleep 50000; i=$((i+1)); done; cat /tmp/brief.out" % (life_us, gap_us, pairs), 30)
        ready = re.search(r"^READY pid=(\d+)", said, re.M)
        check(ready, "rdmabrief does not start: %s" % said)
        self.pid = int(ready[1])

    def go(self):
        """Until its work is done; its first pairs and the last one live on."""
        self.g.sh("echo go >/tmp/brief.in; i=0; until grep -qE '^DONE|^rdmabrief:' /tmp/brief.out || "
                  "[ $i -ge 1200 ]; do usleep 50000; i=$((i+1)); done; grep -q ^DONE /tmp/brief.out || "
                  "{ cat /tmp/brief.out; false; }", 60)

    def finish(self):
        out = self.g.sh("echo end >/tmp/brief.in; i=0; until grep -q ^TRUTH /tmp/brief.out || [ $i -ge 200 ]; "
                        "do usleep 50000; i=$((i+1)); done; sed -n 's/^LIFE //p; s/^TRUTH //p' /tmp/brief.out", 40)
        life, truth = out.splitlines()[-2:]
        return json.loads(life), json.loads(truth)


def totals(d, name):
    r = d.rings(name)
    return dict(r["totals"], **{k: r[k] for k in ("qps_read", "missed_qps", "resumed_qps")})


def told(d, g, before, queues):
    """Until all queue pairs are read or told; the agent asks the kernel each second."""
    def all_told():
        got = difference(before, totals(d, g.name))
        return got if got["qps_read"] + got["missed_qps"] + got["resumed_qps"] >= queues else None
    return wait_for("%d queue pairs of %s read or told: %s" % (queues, g.name, difference(
        before, totals(d, g.name))), 5, all_told, 0.3)


def lives(d, g, life_us, gap_us, pairs, least):
    before = totals(d, g.name)
    brief = Brief(g, life_us, gap_us, pairs)
    wait_for("first pairs in ring-list", 20, lambda: len(
        [r for r in send_queues(d, g.name, brief.pid) if r.get("wrs")]) == FIRST, 0.1)
    brief.go()
    wait_settled(d, g.name)
    queues = 2 * (pairs + FIRST + 1)
    got = told(d, g, before, queues)
    rows = send_queues(d, g.name, brief.pid)
    life, truth = brief.finish()
    kept = truth["qps"][:FIRST] + truth["qps"][-1:]
    wrs = truth["total"]["wrs"]
    staying = sum(q["wrs"] for q in kept)
    part = 100.0 * (got["wrs"] - staying) / (wrs - staying)
    d.vm.note("brief %d us, up to %d us apart: lived %s, true %s, counted %s" % (life_us, gap_us, life, truth["total"], got))
    d.vm.note("%.1f %% of the work requests of queue pairs that ended were counted" % part)
    both = "lives of %d us (%s): counted %s, true %s" % (life_us, life, got, truth["total"])
    known = got["qps_read"] + got["missed_qps"]
    check(known <= queues <= known + got["resumed_qps"], "%d queue pairs; %s" % (queues, both))
    # An idle pair is destroyed, and the next one works in its memory at once: counted twice, and marked.
    most = 1.02 if "wrs-bounded" in got["flags"] else 1
    check(got["wrs"] <= most * wrs, "more work requests than were; " + both)
    check(got["mtus_sent"] + got["mtus_recv"] <= most * truth["total"]["mtus_sent"], "more MTUs than were; " + both)
    # The others end at once; these live, and each has a row of its own.
    agree_qps("brief", kept, rows, False)
    if least:
        check(life["median_us"] < life_us + LATE_MS * 1000, "lives are longer than wanted: %s" % life)
        check(part >= least, "%.1f %% of the work requests were counted, not %d %%; %s" % (part, least, both))


def brief(vm):
    g = Guest(vm, "brief")
    vm.create(g)
    with Daemon(vm, observe=True) as d:
        with_agent(g)
        wait_for("agent of %s seen" % g.name, 20, lambda: d.rings(g.name)["attached"], 0.2)
        for row in (DENSE, SPARSE, SHORT):
            lives(d, g, *row)
