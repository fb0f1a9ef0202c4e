#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""compare: the index of load against a second implementation, on random pairs of records.

RESEX_SEED=N: other pairs. Then it proves that it can fail: each of PLANTS is an error in the second
implementation, and must be found.
"""
import os
import random
import subprocess
import sys

PAIRS = 10000
REPLAY = "tests/load/replay"
KEYS = ("node", "source", "cpus", "beat", "sampled", "busy", "irq", "softirq", "iowait", "steal", "wait")
EINVAL = 22
# What resex-region(7) and index.h say; each plant changes one.
RULES = {"used": ("busy", "irq", "softirq", "steal"), "wait": True, "most": 100000, "cpus": 1024,
         "interval": 60 * 10**9, "clamp": True, "back": True}
PLANTS = ({"used": ("busy", "irq", "softirq")}, {"used": ("busy", "irq", "softirq", "steal", "iowait")},
          {"used": ("busy", "softirq", "steal")}, {"wait": False}, {"most": 10000}, {"cpus": 1023},
          {"interval": 60 * 10**9 - 1}, {"clamp": False}, {"back": False})


def follows(a, b, rule):
    return (all(a[k] == b[k] for k in ("node", "source", "cpus")) and 0 < b["cpus"] <= rule["cpus"]
            and b["beat"] > a["beat"] and 0 < b["sampled"] - a["sampled"] <= rule["interval"])


def index(a, b, rule):
    if not follows(a, b, rule):
        return -EINVAL
    capacity = (b["sampled"] - a["sampled"]) * b["cpus"]

    def gained(key):
        return b[key] - a[key] if b[key] > a[key] or not rule["back"] else 0
    used = sum(gained(key) for key in rule["used"])
    if rule["clamp"]:
        used = min(used, capacity)
    return min((used + (gained("wait") if rule["wait"] else 0)) * 1000 // capacity, rule["most"])


def record_pair(rng):
    cpus = rng.choice((0, 1025)) if rng.randrange(15) == 0 else rng.choice((1, 2, 8, 64, 1024))
    a = {"node": rng.randrange(256), "source": rng.randrange(1, 5), "cpus": cpus, "beat": rng.randrange(1 << 40),
         "sampled": rng.randrange(1 << 60)}
    interval = rng.choice((1, rng.randrange(1, 10**9), rng.randrange(1, 61 * 10**9), 60 * 10**9,
                           60 * 10**9 + rng.randrange(2), rng.randrange(2)))
    b = dict(a, beat=a["beat"] + rng.choice((1, 1, 1, 7, 7, 7, 0)), sampled=a["sampled"] + interval)
    if rng.randrange(10) == 0:
        key = rng.choice(("node", "source", "cpus"))
        b[key] += 1
    for key in KEYS[5:]:
        a[key] = rng.randrange(1 << 60)
        most = max(1, interval * max(1, cpus))
        b[key] = a[key] + rng.choice((0, rng.randrange(most), rng.randrange(most) // 4, most * rng.randrange(1, 200)))
        if rng.randrange(20) == 0:
            b[key] = rng.randrange(a[key] + 1)
    return a, b


def first_difference(pairs, got, rule):
    for (a, b), g in zip(pairs, got):
        if index(a, b, rule) != g:
            return a, b, index(a, b, rule), g
    return None


def main():
    seed = int(os.environ.get("RESEX_SEED", "1"))
    rng = random.Random(seed)
    pairs = [record_pair(rng) for _ in range(PAIRS)]
    text = "".join(" ".join(str(r[k]) for r in pair for k in KEYS) + "\n" for pair in pairs)
    run = subprocess.run([REPLAY], input=text, capture_output=True, text=True, check=False)
    got = [int(line) for line in run.stdout.split()]
    if run.returncode or len(got) != PAIRS:
        sys.exit("compare: %s ended with %d: %s" % (REPLAY, run.returncode, run.stderr))
    found = first_difference(pairs, got, RULES)
    if found:
        sys.exit("compare: seed %d: %s then %s: second %d, C %d" % ((seed,) + found))
    print("compare: %d pairs, %d refused, none differs" % (PAIRS, sum(g < 0 for g in got)))
    missed = [p for p in PLANTS if not first_difference(pairs, got, dict(RULES, **p))]
    print("compare: %d plants, %d missed %s" % (len(PLANTS), len(missed), missed or ""))
    sys.exit(len(missed) > 0)


main()
