# SPDX-License-Identifier: GPL-2.0-or-later
"""benchex-count: what dom0 counts of benchex's queue pairs is what benchex says it did, or marked."""
import json
import random
import re

from bed import Failed, Guest, at_once, check, wait_for
from daemon import Daemon, agree_qps, send_queues, start_agent, wait_settled, with_agent
from sc_churn import gone, listed

OPS = ["send", "send_imm", "write", "write_imm", "read", "fetch_add", "cmp_swap"]
QPS, CQ_ENTRIES, STEADY_MAX = 4, 8, 8192
# A message is one packet, so that not even the mean by which lost ones may be guessed can be wrong.
ALL_OPS = "-q %d -D 4 -C %d -s 1-1024 -m %s -n %%d" % (QPS, CQ_ENTRIES, ",".join(OPS))
STEADY = "-q 2 -D 16 -s 1-%d -m %s -r 400 -T 0" % (STEADY_MAX, ",".join(OPS))
FAST = "-q 2 -D 16 -s 1-8192 -m %s -i 0.1 -T 0" % ",".join(OPS)

PIPE = 65536


class Bulk:
    """benchex bulk to the server of its own guest.

    Its result goes to a pipe that is full: it keeps its queues until result() has read it.
    """

    def __init__(self, g, options):
        self.g = g
        self.pid = int(g.sh(
            "rm -f /tmp/bulk; mkfifo /tmp/bulk; (exec 3<>/tmp/bulk; head -c %d /dev/zero >&3; "
            "exec benchex bulk 10.99.0.1 -j %s >&3 2>/tmp/bulk.err) & echo $!" % (PIPE, options)).split()[-1])

    def over(self):
        if self.g.run("grep -q pipe /proc/%d/wchan" % self.pid).rc == 0:
            return True
        if self.g.run("kill -0 %d" % self.pid).rc:
            raise Failed("benchex ended early in %s: %s" % (self.g.name, self.g.run("tail -n 3 /tmp/bulk.err").out))
        return False

    def wait_over(self, seconds=120):
        wait_for("end of benchex's work in " + self.g.name, seconds, self.over, 0.5)

    def result(self):
        return json.loads(self.g.sh("tr -d '\\0' </tmp/bulk"))

    def told(self):
        """Messages that were done, by its newest line of progress."""
        found = re.findall(r" s: (\d+) requests", self.g.run("tail -n 1 /tmp/bulk.err").out)
        return int(found[-1]) if found else 0


def truth(q, largest):
    """A queue pair of benchex in the terms of agree_qps()."""
    out = {k: q[k] for k in ("qpn", "errors", "mtus_sent", "mtus_recv", "bytes_sent", "bytes_recv")}
    out.update(type="RC", refused=0, aborted=0, largest_mtus=-(-largest // q["path_mtu"]),
               wrs=sum(q["completed"].values()) + q["errors"],
               ops={op.upper(): q["completed"].get(op, 0) for op in OPS})
    return out


def serve(g):
    g.sh("benchex server -j -e >/tmp/server.out 2>/tmp/server.err & "
         "i=0; until grep -q listening /tmp/server.err || [ $i -ge 100 ]; do usleep 100000; i=$((i+1)); done; "
         "grep -q listening /tmp/server.err")


def settle(who, d, bulk, largest, ended):
    """When its work ends: each queue pair's counts are its own. What it told."""
    bulk.wait_over()
    wait_settled(d, bulk.g.name)
    rows = send_queues(d, bulk.g.name, bulk.pid)
    told = bulk.result()
    d.vm.note("%s: %d messages in %.1f s: %s; counted %s" % (
        who, told["requests"], told["elapsed_s"], told["qps"], [r for r in rows if r.get("wrs")]))
    check(told["ended"] == ended, "%s ended by %s" % (who, told["ended"]))
    agree_qps(who, [truth(q, largest) for q in told["qps"]], rows, True)
    return told


def all_operations(d, g, each):
    """Every operation about so often, and a few times more: they are drawn."""
    bulk = Bulk(g, ALL_OPS % (each * len(OPS) * 12 // 10 // QPS))
    told = settle("all operations in " + g.name, d, bulk, 1024, "requests")
    done = {op: sum(q["completed"].get(op, 0) for q in told["qps"]) for op in OPS}
    wraps = sum(done.values()) // told["qps"][0]["cq_entries"]
    check(wraps >= each // 5, "the completion queue wrapped only %d times" % wraps)
    return done


# --- disturbances -------------------------------------------------------------


def nap(vm):
    vm.sh("usleep %d" % random.randrange(50000, 500000))


def paused(vm, d, g):
    for _ in range(3):
        nap(vm)
        vm.sh("xl pause %s; usleep %d; xl unpause %s" % (g.name, random.randrange(50000, 400000), g.name))


def memory(vm, g):
    return int(vm.sh("xl list %s | tail -n 1" % g.name).split()[2])


def ballooned(vm, d, g):
    """Memory is taken from it and given back; the pages of its queues stay its own."""
    for mib in (g.memory - 40, g.memory):
        nap(vm)
        vm.sh("xl mem-set %s %dm" % (g.name, mib))
        wait_for("%s to have %d MiB" % (g.name, mib), 10, lambda: abs(memory(vm, g) - mib) <= 2, 0.2)


def agent_killed(vm, d, g):
    """Another agent tells of the same queues: they are counted from their beginning."""
    nap(vm)
    g.sh("kill -9 $(cat /tmp/agent.pid)")
    nap(vm)
    start_agent(g)


def disturbed(vm, d, g, disturb):
    bulk = Bulk(g, STEADY)
    wait_for("queues of benchex in ring-list", 20,
             lambda: len([r for r in send_queues(d, g.name, bulk.pid) if r.get("wrs")]) == 2, 0.2)
    disturb(vm, d, g)
    g.sh("kill -TERM %d" % bulk.pid)
    settle("%s %s" % (disturb.__name__, g.name), d, bulk, STEADY_MAX, "signal")


def killed(vm, d, g):
    """At a random moment. What it had done before a look at ring-list is counted, then and later."""
    before = d.rings(g.name)["totals"]["wrs"]
    bulk = Bulk(g, FAST)
    wait_for("progress of benchex", 20, bulk.told, 0.2)
    nap(vm)
    done = bulk.told()
    seen = sum(r.get("wrs", 0) for r in send_queues(d, g.name, bulk.pid))
    check(seen >= done > 0, "%d work requests counted, benchex had done %d" % (seen, done))
    g.sh("usleep %d; kill -9 %d" % (random.randrange(300000), bulk.pid))
    wait_for("end of the rings of a killed benchex", 10, lambda: not send_queues(d, g.name, bulk.pid), 0.2)
    counted = d.rings(g.name)["totals"]["wrs"] - before
    check(counted >= seen, "%d work requests are left of %d that were counted" % (counted, seen))
    check(d.rings(g.name)["attached"], "%s is no longer attached" % g.name)


def destroyed(vm, d, g):
    bulk = Bulk(g, FAST)
    wait_for("progress of benchex", 20, bulk.told, 0.2)
    vm.sh("usleep %d; xl destroy %s" % (random.randrange(300000), g.name))
    gone(vm, g.domid, "destroyed under traffic")
    del vm.guests[g.name]
    wait_for("%s to leave resex list" % g.name, 10, lambda: not listed(d, g.name), 0.2)


def disturbances(vm, d, g):
    for disturb in (paused, ballooned, agent_killed):
        disturbed(vm, d, g, disturb)
    for _ in range(2):
        killed(vm, d, g)
    destroyed(vm, d, g)


def benchex_count(vm, each=1000):
    """each: work requests of every operation; a busy machine does 300 a second in all."""
    steady, moody = Guest(vm, "steady"), Guest(vm, "moody")
    vm.create(steady, moody)
    with Daemon(vm, observe=True) as d:
        done = []

        def work(g):
            with_agent(g)
            serve(g)
            done.append(all_operations(d, g, each // 2))
            if g is moody:
                disturbances(vm, d, g)
        at_once(work, steady, moody)
        few = {op: n for op in OPS for n in [sum(x[op] for x in done)] if n < each}
        check(not few, "too few work requests: %s" % few)
        rings = d.rings("steady")
        check(rings["attached"] and not rings["fault"], "steady suffered from its neighbour: %s" % rings)


def benchex_count_long(vm):
    benchex_count(vm, 10000)
