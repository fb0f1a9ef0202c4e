#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sweep: what slo and ioshares recover and give up, beside the best fixed caps, in all scenario files.

usage: sweep.py [--lab PROGRAM]

One call of resex-lab runs all files of etc/scenarios; each test reads its JSON, and prints the figures
it was judged by. Those named "planted" show that a claim fails of rows of which it must not hold.
Exit: 0, or 1 when a claim does not hold.
"""
import argparse
import copy
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import claims as c  # noqa: E402
from group import Group  # noqa: E402
from host import EXAMPLES, Broken, examples, need  # noqa: E402

CAPS = "1,2,3,4,5,15,34,50,75"
SLA = 0.05
# A promise that slo holds: its mean is at most SLA over base, but for the time in which it begins.
BEGINS = 0.0025
NEIGHBOURS = ("paper", "senders", "credit", "figure9-128k", "figure9-256k", "figure9-512k",
              "figure9-1m", "figure9-2m", "liar")
# Beside ioshares, by so much of base: resex-policies(7) names the files in which slo is worse.
SLOWER, SLOWER_BY = ("deep", "learn"), 0.005
# And by so much of the throughput where the server is no slower than that.
COSTLIER, COSTLIER_BY = ("churn",), 0.01
SAME = ("alone", "blind", "equal", "neighbours", "slow")
group = Group("sweep")


class Rows:
    """What a run of a scenario came to, as parts."""

    def __init__(self, scenarios):
        self.of = {(s["scenario"], r["run"]): r for s in scenarios for r in s["rows"]}

    def over(self, scenario, run):
        return self.of[scenario, run]["over_percent"] / 100

    def given_up(self, scenario, run):
        return self.of[scenario, run]["given_up_percent"] / 100

    def frontier(self, scenario, run):
        return self.of[scenario, run]["frontier_gives_up_percent"] / 100


def holds_promises(rows, run="slo"):
    """Where some fixed cap holds the promise, so does the policy."""
    worst = {name: rows.over(name, run) for name in NEIGHBOURS}
    bad = {n: o for n, o in worst.items() if o > SLA + BEGINS}
    need(not bad, "%s over base: %s", run, ", ".join("%s %s" % (n, c.percent(o))
                                                    for n, o in bad.items()))
    name = max(worst, key=worst.get)
    return "at worst %s in %s" % (c.percent(worst[name]), name)


def on_frontier(rows, run="slo", points=0.02):
    """It gives up no more than the best fixed caps at its own latency, within two points."""
    said = {n: rows.given_up(n, run) - rows.frontier(n, run) for n in NEIGHBOURS}
    bad = {n: p for n, p in said.items() if p > points}
    need(not bad, "%s gives up more than fixed caps: %s", run,
         ", ".join("%s %.1f points" % (n, 100 * p) for n, p in bad.items()))
    name = max(said, key=said.get)
    return "at worst %+.1f points in %s" % (100 * said[name], name)


def nobody_capped(rows, run="slo"):
    for name in SAME:
        for what in ("over_percent", "given_up_percent"):
            got, null = (rows.of[name, r][what] for r in (run, "null"))
            need(got == null, "%s: %s is %.2f, and %.2f under null", name, what, got, null)
    return ", ".join(SAME)


def in_turn_is_nearer(rows, cases=(("senders", "cap 5"), ("crowd", "cap 1"))):
    """Caps that begin at different moments: as much is sent, and the server is nearer to base."""
    said = []
    for name, cap in cases:
        at_once, turns = (rows.over(name, r) for r in (cap, cap + ", in turn"))
        less = rows.given_up(name, cap + ", in turn") - rows.given_up(name, cap)
        need(turns < 0.75 * at_once and abs(less) < 0.02, "%s: %s, in turn %s, %.1f points", name,
             c.percent(at_once), c.percent(turns), 100 * less)
        said.append("%s %s, in turn %s" % (name, c.percent(at_once), c.percent(turns)))
    return "; ".join(said)


def ordered(rows, names=("paper", "senders", "figure9-256k", "figure9-512k", "figure9-1m"),
            run="slo"):
    """slo < freemarket < null."""
    for name in names:
        got, free, null = (rows.over(name, r) for r in (run, "freemarket", "null"))
        need(got < free - 0.05 < null - 0.05, "%s: %s, freemarket %s, null %s", name,
             *map(c.percent, (got, free, null)))
    return "%d files" % len(names)


def refuses_deep(rows):
    """No cap holds it: slo gives up less than ioshares, which recovers a part of it."""
    slo, ios = (rows.given_up("deep", r) for r in ("slo", "ioshares"))
    need(slo <= 0.03 and ios >= 0.10, "slo gives up %.1f %%, ioshares %.1f %%", 100 * slo, 100 * ios)
    need(rows.over("deep", "cap 1") > 2 * SLA, "a cap of 1 holds it")
    return "slo gives up %.1f %%, ioshares %.1f %%; cap 1 leaves %s" % (
        100 * slo, 100 * ios, c.percent(rows.over("deep", "cap 1")))


def worse_are_named(rows, slower=SLOWER, costlier=COSTLIER):
    """Of all files, those in which the server is slower under slo than under ioshares, or its
    neighbours give up more."""
    over = {n: rows.over(n, "slo") - rows.over(n, "ioshares") for n in examples()}
    more = {n: rows.given_up(n, "slo") - rows.given_up(n, "ioshares") for n in examples()}
    found = [n for n in over if over[n] > SLOWER_BY]
    need(sorted(found) == sorted(slower), "slower in %s", ", ".join(found))
    found = [n for n in more if more[n] > COSTLIER_BY and over[n] > -0.05]
    need(sorted(found) == sorted(costlier), "more is given up in %s", ", ".join(found))
    return "slower in %s, costlier in %s" % (", ".join(slower), ", ".join(costlier))


def bounded_liar(rows):
    """It reports three times its latency; its neighbour keeps what can cost it the tolerance."""
    slo, best = rows.given_up("liar", "slo"), rows.frontier("liar", "slo")
    need(slo <= 0.80, "the sender gives up %.0f %%", 100 * slo)
    return "%.0f %% given up, %.0f %% by fixed caps at the same latency" % (100 * slo, 100 * best)


CLAIMS = (
    ("slo holds each promise that a fixed cap holds", holds_promises),
    ("slo gives up no more than the best fixed caps", on_frontier),
    ("where no guest is to be capped, slo caps none", nobody_capped),
    ("slo is nearer to base than freemarket, and that than null", ordered),
    ("caps in turn: the same throughput, and less latency", in_turn_is_nearer),
    ("slo refuses a promise that no cap holds", refuses_deep),
    ("a liar's neighbour is not starved", bounded_liar),
    ("the files in which slo is worse than ioshares are those that are named", worse_are_named),
)


def claim(sentence, function):
    group.test(sentence)(lambda rows: function(rows))


for _sentence, _function in CLAIMS:
    claim(_sentence, _function)


@group.test("planted: of null, freemarket, ratio and caps at one moment the claims fail")
def _(rows):
    c.fails(holds_promises, rows, "null")
    c.fails(on_frontier, rows, "freemarket")
    c.fails(ordered, rows, run="null")
    c.fails(in_turn_is_nearer, rows, [("senders", "cap 34")])
    capped = copy.deepcopy(rows)
    capped.of["slow", "slo"] = rows.of["paper", "slo"]
    c.fails(nobody_capped, capped)
    c.fails(worse_are_named, rows, ("deep",))
    c.fails(worse_are_named, rows, SLOWER, ("liar",))
    swapped = copy.deepcopy(rows)
    swapped.of["deep", "slo"], swapped.of["deep", "ioshares"] = (
        rows.of["deep", "ioshares"], rows.of["deep", "slo"])
    c.fails(refuses_deep, swapped)
    swapped.of["liar", "slo"] = rows.of["liar", "cap 1"] | {"frontier_gives_up_percent": 0}
    return c.fails(bounded_liar, swapped)


def sweep(program):
    files = [os.path.join(EXAMPLES, n + ".json") for n in examples()]
    done = subprocess.run([program, "sweep", "-j", "-c", CAPS, *files], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    if done.returncode or done.stderr:
        sys.exit("sweep: resex-lab ended with %d: %s" % (done.returncode,
                                                         done.stderr.decode()[-400:]))
    return Rows(json.loads(done.stdout)["scenarios"])


def main():
    p = argparse.ArgumentParser(description="slo beside ioshares and fixed caps, in all scenarios")
    p.add_argument("--lab", default="./resex-lab")
    rows, held = sweep(os.path.abspath(p.parse_args().lab)), 0
    for sentence, function in group.tests:
        try:
            said, ok = function(rows), True
        except Broken as e:
            said, ok = str(e), False
        held += ok
        print("%s %s (%s)" % ("ok" if ok else "FAIL", sentence, said), flush=True)
    print("sweep: %d passed, %d failed" % (held, len(group.tests) - held))
    return 0 if held == len(group.tests) else 1


if __name__ == "__main__":
    sys.exit(main())
