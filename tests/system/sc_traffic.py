# SPDX-License-Identifier: GPL-2.0-or-later
"""traffic: programs of unusual traffic, whose work requests are known, against what dom0 counts.

Other than rdmaload's, both ends of a connection post, queues are shared between queue pairs and
between processes, and messages have the sizes at which counting could go wrong (rdmaodd --help).
For each queue pair, the count is right, or marked as ring-list promises.
"""
import collections
import itertools
import json
import os
import random
import re

from bed import Failed, Guest, check, wait_for
from daemon import OPS, Daemon, agree, agree_qp, difference, send_queues, wait_settled, with_agent

LARGEST = 65536  # bytes of a message
RINGS_MAX = 256  # of one guest, by the guest ABI


class Odd:
    """rdmaodd in a guest, waiting for go(); its truth comes only from finish()."""

    def __init__(self, g, options):
        self.g, self.liar, self.late = g, None, 0
        g.sh("rm -f /tmp/odd.in /tmp/odd.out; mkfifo /tmp/odd.in; (rdmaodd %s <>/tmp/odd.in >/tmp/odd.out 2>&1 &); %s"
             % (options, self.until("READY")), 60)
        ready = re.search(r"^READY pid=(\d+) seed=(\d+) qps=(\d+)", g.sh("grep ^READY /tmp/odd.out"), re.M)
        self.seed, self.qps = int(ready[2]), int(ready[3])
        self.pids = {int(ready[1])}

    @staticmethod
    def until(word, seconds=60):
        return ("i=0; until grep -qE '^%s|^rdma' /tmp/odd.out || [ $i -ge %d ]; do usleep 50000; i=$((i+1)); done; "
                "grep -q ^%s /tmp/odd.out || { tail -n 3 /tmp/odd.out; false; }" % (word, 20 * seconds, word))

    def go(self):
        """Do all the work."""
        said = self.g.sh("echo go 1<>/tmp/odd.in; %s; grep -E '^(DONE|LIAR)' /tmp/odd.out" % self.until("DONE"), 75)
        self.pids.add(int(re.search(r"^DONE pid=(\d+)", said, re.M)[1]))
        liar = re.search(r"^LIAR qpn=(\d+) late=(\d+)", said, re.M)
        if liar:
            self.liar, self.late = int(liar[1]), int(liar[2])

    def rows(self, d):
        """ring-list may go on to name a process that has left its queues to a child."""
        return [r for r in d.rings(self.g.name)["rings"] if r.get("kind") == "SQ" and r.get("pid") in self.pids]

    def finish(self):
        out = self.g.sh("echo end 1<>/tmp/odd.in; %s; sed -n 's/^TRUTH //p' /tmp/odd.out" % self.until("TRUTH"), 75)
        return json.loads(out)


# What is known when a case is over. told: its truth; counted: what was counted since before;
# liar: the queue pair that lied; late: its work requests after it ceased to lie.
# unpublished: the queue pairs that had no room then.
Look = collections.namedtuple("Look", "d who told before counted rows liar late unpublished")

# --- what a case's counts must be ---------------------------------------------------


def active(x):
    return [r for r in x.rows if r["state"] == "active"]


def each_qp(x, qps, rows, judge):
    """judge(row, truth, text) for each queue pair; those without a number must fit in some order."""
    def one(c, t):
        judge(c, t, "queue pair %d of %s: counted %s, true %s" % (t["qpn"], x.who, c, t))
    row = {r["qpn"]: r for r in rows if r["qpn"]}
    left = [t for t in qps if t["qpn"] not in row]
    nameless = [r for r in rows if not r["qpn"] and r.get("wrs")]
    for t in qps:
        if t["qpn"] in row:
            one(row[t["qpn"]], t)
    check(len(left) <= len(nameless), "%s: no queue for one of %s: %s" % (x.who, left, rows))
    failure = None
    for order in itertools.permutations(nameless, len(left)):
        try:
            for c, t in zip(order, left):
                one(c, t)
            return
        except Failed as e:
            failure = e
    raise failure


def exact(x):
    """As of any honest program."""
    check(x.told["total"]["errors"] == 0, "%s had errors: %s" % (x.who, x.told["total"]))
    agree(x.who, x.told, x.counted, active(x), False)


def used_again(x):
    """Of queue pairs that were RESET or failed: exact, or marked and within what was posted."""
    each_qp(x, x.told["qps"], active(x), right_or_marked)
    right = sum(r["wrs"] for r in active(x))
    check(x.counted["wrs"] == right, "%s: %d work requests in all, %d of its queue pairs" % (
        x.who, x.counted["wrs"], right))


def right_or_marked(c, t, both):
    check(t["wrs"] <= c["wrs"] <= t["wrs"] + t["unknown"], "work requests; " + both)
    check(c["wrs"] == t["wrs"] or "wrs-bounded" in c["flags"], "wrong work requests are not marked; " + both)
    for k in ("bytes_sent", "bytes_recv"):
        check(c[k] <= t[k] + LARGEST * t["unknown"], "%s that never were; %s" % (k, both))
        check(t[k] <= c[k] + c["bytes_bound"], "%s; %s" % (k, both))
    check(c["errors"] <= t["errors"], "errors that never were; " + both)
    got, true = (v["mtus_sent"] + v["mtus_recv"] for v in (c, t))
    guessed = (c["lost"] + t["unknown"]) * LARGEST // t["mtu"] if "mtus-guessed" in c["flags"] else 0
    check(true - guessed <= got <= true + t["unknown_mtus"] + guessed, "MTUs; " + both)
    if {"mtus-guessed", "mtus-estimated"}.isdisjoint(c["flags"]):
        check((c["mtus_sent"], c["mtus_recv"]) == (t["mtus_sent"], t["mtus_recv"]),
              "wrong MTUs are not marked; " + both)
    if set(c["flags"]) <= {"history"}:
        check(c["errors"] == t["errors"], "wrong errors are not marked; " + both)
        for k, names in OPS.items():
            check(c["ops"][k] == sum(t["ops"][n] for n in names), "wrong %s are not marked; %s" % (k, both))


def crowded(x):
    """More rings than a guest may show: send queues go first, and the others are told."""
    rows, qps = active(x), x.told["qps"]
    named = {r["qpn"] for r in rows if r["qpn"]}
    shown = [t for t in qps if t["qpn"] in named]
    each_qp(x, shown, rows, lambda c, t, both: agree_qp(x.who, c, t, True))
    left = len(qps) - len(rows)
    what = "%d of the %d queue pairs of %s are not shown, and ring-list tells of %d" % (
        left, len(qps), x.who, x.unpublished)
    check(left == max(0, len(qps) - RINGS_MAX) and x.unpublished == left, what)
    # The agent may know no numbers: each row without one is then right for some queue pair.
    nameless = collections.Counter(r["wrs"] for r in rows if not r["qpn"] and "wrs-bounded" not in r["flags"])
    true = collections.Counter(t["wrs"] for t in qps if t["qpn"] not in named)
    check(not nameless - true, "%s has rows of %s work requests, true %s" % (x.who, nameless - true, true))
    check(not left or "unpublished-qps" in [e["kind"] for e in x.d.events()], "no event; " + what)


def lives(d, before, who):
    """(queue pairs that were read, missed, perhaps counted with the one before, made)"""
    after = d.rings(before["name"])
    return *(after[k] - before[k] for k in ("qps_read", "missed_qps", "resumed_qps")), \
        2 * int(re.search(r"-n (\d+)", who)[1]) + 2


def wait_last_life(d, before, who):
    """Until the agent has listed the last pair, by which it knows of those before."""
    wait_for("all queue pairs of %s, read or missed" % who, 3, lambda: (
        lambda read, missed, resumed, made: read + missed + resumed >= made)(*lives(d, before, who)), 0.2)


def short_lives(x):
    """Of each queue pair, the work is counted or the queue pair is told as missed."""
    what = "%s: counted %s, true %s" % (x.who, x.counted, x.told["total"])
    check(x.counted["wrs"] <= x.told["total"]["wrs"], "work requests that never were; " + what)
    read, missed, resumed, made = lives(x.d, x.before, x.who)
    told = "%d queue pairs: %d read, %d missed, %d resumed" % (made, read, missed, resumed)
    x.d.vm.note(told)
    check(read + missed <= made <= read + missed + resumed, told + "; " + what)
    if not missed:
        check(x.counted["wrs"] == x.told["total"]["wrs"], "work requests; " + what)


def forged(x):
    """The neighbours of a queue pair that lies are right; it is right, or told as at fault.

    When it lies no more, it is counted again.
    """
    honest = [t for t in x.told["qps"] if t["qpn"] != x.liar]
    true = sum(t["wrs"] for t in x.told["qps"] if t["qpn"] == x.liar)
    each_qp(x, honest, [r for r in active(x) if r["qpn"] != x.liar],
            lambda c, t, both: agree_qp(x.who, c, t, False))
    forged_times = x.d.rings(x.before["name"])["forged_times"] - x.before["forged_times"]
    faults = [r for r in x.rows if r["fault"]] or forged_times
    counted = x.counted["wrs"] - sum(t["wrs"] for t in honest)
    what = "%s: the liar: counted %d, true %d: %s" % (x.who, counted, true, faults or active(x))
    bounded = any({"wrs-bounded", "uncharged"} & set(r.get("flags", ())) for r in x.rows)
    check(counted <= true or bounded, "work requests that never were; " + what)
    check(counted == true or faults or bounded, "wrong, and no fault is told; " + what)
    check(counted >= x.late, "%d work requests were done when it did not lie; %s" % (x.late, what))


# What is run, and how it is judged; deep: by how much -n grows there.
# skip: what is counted wrong and not marked: the case is only in traffic-all.
Case = collections.namedtuple("Case", "name options judge deep skip", defaults=[exact, 10, ""])

CASES = [
    Case("mix", "-n 30 -p 1000", deep=20),
    Case("mix", "-n 100", deep=5),
    Case("sleeper", "-n 60"),
    Case("brief", "-n 60"),
    Case("orphan", "-n 60"),
    Case("reset", "-n 40 -p 3000", used_again, 5),
    Case("errors", "-n 40 -p 3000", used_again, 5),
    Case("many", "-n 4", crowded, 5),
    Case("many", "-n 4 -k more", crowded, 2),
    Case("short", "-n 100 -p 20000", short_lives, 1),
    Case("short", "-n 200 -p 0", short_lives, 1),
    Case("writer", "-n 40 -p 1000", forged, 5),
] + [Case("forge", "-k %s-%s -n 40 -p 1000" % (word, often), forged, 5)
     for word in ("log2", "mask", "producer", "consumer") for often in ("once", "always")]
DRAWN = 3  # of all but the first, in the short form


def wait_first(d, odd, who):
    """Until the first work request of each queue pair that can be shown is counted."""
    shown = min(odd.qps, RINGS_MAX)
    wait_for("the first work requests of " + who, 20, lambda: len(
        [r for r in odd.rows(d) if r["state"] == "active" and r.get("wrs")]) >= shown, 0.2)


def still(d, g):
    """ring-list, when the queue pairs of the case before are all told of."""
    seen = [d.rings(g.name)]

    def same():
        seen.append(d.rings(g.name))
        return all(seen[-1][k] == seen[-2][k] for k in ("totals", "qps_read", "missed_qps"))
    wait_for("end of the case before", 10, same, 1.2)  # the agent lists queue pairs each second
    return seen[-1]


def one(vm, d, g, case):
    before = still(d, g)
    options = case.options
    if vm.deep:
        options = re.sub(r"-n (\d+)", lambda m: "-n %d" % (case.deep * int(m[1])), options)
    odd = Odd(g, case.name + " " + options)
    who = "%s %s -s %d" % (case.name, options, odd.seed)
    try:
        wait_first(d, odd, who)
        odd.go()
        if case.judge is short_lives:
            wait_last_life(d, before, who)
        counted = difference(before["totals"], wait_settled(d, g.name))
        rows, unpublished = odd.rows(d), d.rings(g.name)["unpublished_qps"]
        told = odd.finish()
    finally:
        g.run("kill -9 %s" % " ".join(str(pid) for pid in odd.pids))
    faults = [r["fault"] for r in rows if r["fault"]]
    vm.note("%s: true %s, counted %s, faults %s" % (who, told["total"], counted, faults))
    check(told["total"]["wrs"] > 0, who + " did nothing")
    case.judge(Look(d, who, told, before, counted, rows, odd.liar, odd.late, unpublished))
    wait_for("end of the queues of " + who, 10, lambda: not send_queues(d, g.name), 0.2)
    late = difference(before["totals"], wait_settled(d, g.name))
    # Queue pairs that had no room are read when others leave first.
    most = told["total"]["wrs"] if unpublished else counted["wrs"]
    check(counted["wrs"] <= late["wrs"] <= most, "work that never was is counted when %s ends: %s after %s" % (
        who, late, counted))


def run(vm, cases):
    """All of them, also after one that failed."""
    g = Guest(vm, "odd")
    vm.create(g)
    with_agent(g)
    failures = []
    with Daemon(vm, observe=True) as d:
        wait_for("agent of odd seen", 20, lambda: d.rings("odd")["attached"], 0.2)
        for case in cases:
            try:
                one(vm, d, g, case)
            except Failed as e:
                failures.append(str(e))
                vm.note("FAIL " + failures[-1])
    check(not failures, "%d of %d cases: %s" % (len(failures), len(cases), "; ".join(failures)))


def traffic(vm):
    first, *others = [case for case in CASES if not case.skip]
    run(vm, [first] + (others if vm.deep else random.sample(others, DRAWN)))


def named(text):
    """The case "NAME OPTIONS", with "-s SEED" added or not."""
    what, *seed = text.strip().split(" -s ")
    found = [c for c in CASES if what == c.name + " " + c.options]
    check(found, "there is no case \"%s\": see CASES" % what)
    return found[0]._replace(options=" -s ".join([found[0].options] + seed))


def traffic_all(vm):
    """Also what traffic leaves out: a case that passes here several times belongs there.

    RESEX_TRAFFIC="CASE[;CASE]..." runs these: "short -n 100 -p 20000;writer -n 40 -p 1000 -s 278634828693381".
    """
    only = os.environ.get("RESEX_TRAFFIC")
    run(vm, [named(text) for text in only.split(";")] if only else CASES)
