#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""compare: what the C decides against the second implementation, on random traces, byte for byte.

usage: compare.py [--replay PROGRAM] [--policy NAME] [--seed N] [--traces N]
                  [--planted | --plant NAME | --dump]

RESEX_TRACES=N plays N traces a policy, RESEX_SEED=N begins at this seed. Each trace is repeated
exactly by its own seed. Every rule and every reason must have occurred. --planted proves that it
can fail: each plant is an error put into one rule of the second implementation, and must be found.
"""
import argparse
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import plants  # noqa: E402
import second  # noqa: E402
import traces  # noqa: E402
from ioshares import IOShares  # noqa: E402
from slo import Slo  # noqa: E402

FIELDS = ("cap.limited", "cap.mpct", "rate.q16", "reason", "vf_bytes_s",
          "why[0]", "why[1]", "why[2]", "why[3]", "stands")
POLICIES = {p.NAME: p for p in (second.Null, second.FreeMarket, second.Ratio, IOShares, Slo)}
TRACES = {"null": 50, "freemarket": 400, "ratio": 300, "ioshares": 400, "slo": 250}
BATCH = 25
PLANT_TRACES = 1000

TICK = "policy null\nlink 0 1 1024\ntick 1 1 1 1 1\n"
GUEST = "guest 1 2 0 1 0 1000 1 0 0 65536 1 1\n"
# Traces that replay must refuse, and the number of the line it must name.
RUBBISH = (
    (1, "x"), (1, "policy nobody"), (1, "link 0 1 1024"), (2, "policy freemarket\nparam low 1001"),
    (2, "policy freemarket\nparam low -1"), (2, "policy freemarket\nparam low %d" % 2**64),
    (2, "policy null\nparam low 1"), (2, "policy null\ntick 1 1 1"),
    (2, "policy null\nlink 1 1 1024"), (2, "policy null\ntick 1 1 1 1 1 1"),
    (2, "policy null\nlink 0 1 1000"), (4, TICK + "tick 1 1 1 1 1"), (2, "policy null\ndecide"),
    (4, TICK + "usage 0 0 0 0 0 0 0 0 0 0"), (3, TICK), (4, TICK + "decide 1"),
    (5, TICK + GUEST + GUEST), (4, TICK + GUEST.replace("guest 1 2 0", "guest 1 2 1")),
    (4, TICK + GUEST.replace("guest 1 2", "guest 1 8")),
    (4, TICK + GUEST.replace("guest 1", "guest 256")), (4, TICK + "kept"),
    (5, TICK + GUEST + "kept"), (5, TICK + GUEST.replace("guest 1 2", "guest 1 4") + "kept 1"),
)


def replay(program, lines):
    text = "\n".join(lines) + "\n"
    run = subprocess.run([program], input=text, capture_output=True, text=True)
    if run.returncode:
        sys.exit("compare: %s ended with %d: %s" % (program, run.returncode, run.stderr[-4000:]))
    return run.stdout.splitlines()


def first_difference(wanted, got):
    """(tick, slot, field, wanted, got) or None; got is not longer than wanted when all is well."""
    tick = "none"
    for w, g in zip(wanted, got):
        if w.startswith("tick"):
            tick = w.split()[1]
        if w == g:
            continue
        a, b = w.split(), g.split()
        if a[0] != b[0] or a[0] != "plan" or a[1] != b[1]:
            return tick, "-", "line", w, g
        at = next(i for i in range(2, len(a)) if a[i] != b[i])
        return tick, a[1], FIELDS[at - 2], a[at], b[at]
    if len(wanted) != len(got):
        return tick, "-", "number of lines", len(wanted), len(got)
    return None


def split(lines):
    """The output of several traces, each beginning with its policy."""
    out = []
    for line in lines:
        if line.startswith("policy "):
            out.append([])
        out[-1].append(line)
    return out


def differences(args, make, seeds, saw):
    """Yields (seed, difference) for traces that differ."""
    size = 1
    while seeds:
        size = min(2 * size, BATCH)
        played = [(s, *traces.play(make, s)) for s in seeds[:size]]
        seeds = seeds[size:]
        got = split(replay(args.replay, [line for p in played for line in p[1]]))
        for (seed, _, wanted, policy), lines in zip(played, got):
            saw.update(policy.saw)
            diff = first_difference(wanted, lines)
            if diff:
                yield seed, diff


def explain(args, name, seed, diff):
    print("%s: seed %d, tick %s, slot %s: %s is %s, and %s in C" % (name, seed, *diff))
    print("  again: tests/policy/compare.py --replay %s --policy %s --seed %d --traces 1"
          "  (--dump prints the trace)" % (args.replay, name, seed))


def never(make, saw):
    names = ["reason %d" % i for i in range(make.REASONS)] + list(make.RULES)
    return [n for n in names if not saw[n]]


def check_policy(args, make, n):
    """Plays n traces; whether all is well. Says how often each rule occurred."""
    saw, began = second.Counter(), time.monotonic()
    seeds = range(args.seed, args.seed + n)
    wrong = 0
    for seed, diff in differences(args, make, seeds, saw):
        wrong += 1
        if wrong <= args.show:
            explain(args, make.NAME, seed, diff)
    counts = ", ".join("%s %d" % item for item in sorted(saw.items()))
    took = time.monotonic() - began
    print("%s: %d traces, %d differ, %.1f s; %s" % (make.NAME, n, wrong, took, counts))
    missing = never(make, saw) if n >= TRACES[make.NAME] else []
    for name in missing:
        print("%s: \"%s\" never occurred: these traces prove nothing of it" % (make.NAME, name))
    return not wrong and not missing


def found_before():
    """{plant: seed} of plants.seeds: the traces that found each. Wrong ones only cost time."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plants.seeds")
    with open(path, encoding="utf-8") as f:
        return {name: int(seed) for name, seed in (line.split() for line in f)}


def check_plant(args, name, first=1):
    """An error is put into one rule; whether it is found, always in the same traces."""
    policy, plant = plants.ALL[name]
    make = plant(POLICIES[policy])
    before = found_before().get(name, first)
    for seeds in (range(before, before + 1), range(first, first + PLANT_TRACES)):
        for seed, diff in differences(args, make, seeds, second.Counter()):
            print("plant %s: found, seed %d, tick %s, slot %s, %s" % (name, seed, *diff[:3]))
            return True
    print("plant %s: not found in %d traces" % (name, PLANT_TRACES))
    return False


def published():
    """What replay --show should print."""
    out = {}
    for make in POLICIES.values():
        out[make.NAME] = ["policy %s reasons %d" % (make.NAME, make.REASONS)] + [
            "param %s %s %d %d %d" % p for p in make.PARAMS]
    return out


def check_published(args):
    """Parameters, ranges, defaults and the number of reasons are the same on both sides."""
    run = subprocess.run([args.replay, "--show"], capture_output=True, text=True, check=True)
    wanted, well = published(), True
    for lines in split(run.stdout.splitlines()):
        name = lines[0].split()[1]
        if wanted.pop(name, None) != lines:
            print("%s: parameters or reasons are not those of the second implementation" % name)
            well = False
    for name in wanted:
        print("%s: C has no such policy" % name)
    return well and not wanted


def check_refusals(args):
    """Rubbish is refused by its line, and no plan follows."""
    well = True
    for line, text in RUBBISH:
        run = subprocess.run([args.replay], input=text, capture_output=True, text=True)
        if run.returncode != 1 or ": line %d: " % line not in run.stderr or "plan" in run.stdout:
            print("replay: did not refuse line %d of %r: %s" % (line, text, run.stderr.strip()))
            well = False
    return well


def check_all(args):
    results = [check_refusals(args), check_published(args)]
    for name, make in POLICIES.items():
        if args.policy in (None, name):
            results.append(check_policy(args, make, args.traces or TRACES[name]))
    return tell(results)


def check_planted(args):
    return tell([check_plant(args, name) for name, (policy, _) in plants.ALL.items()
                 if args.policy in (None, policy)])


def tell(results):
    print("compare: %d passed, %d failed" % (results.count(True), results.count(False)))
    return bool(results) and all(results)


def options():
    p = argparse.ArgumentParser(description="compare the policies with their second implementation")
    p.add_argument("--replay", default="tests/policy/replay")
    p.add_argument("--policy", choices=sorted(POLICIES))
    p.add_argument("--seed", type=int, default=int(os.environ.get("RESEX_SEED", 1)))
    p.add_argument("--traces", type=int, default=int(os.environ.get("RESEX_TRACES", 0)))
    p.add_argument("--planted", action="store_true")
    p.add_argument("--plant", choices=sorted(plants.ALL))
    p.add_argument("--show", type=int, default=3, help="differences to explain")
    p.add_argument("--dump", action="store_true", help="print the trace of --policy and --seed")
    return p.parse_args()


def main():
    args = options()
    if args.dump:
        make = POLICIES[args.policy or "null"]
        print("\n".join(traces.play(make, args.seed)[0]))
        return 0
    if args.plant:
        return 0 if check_plant(args, args.plant, args.seed) else 1
    return 0 if (check_planted if args.planted else check_all)(args) else 1


sys.exit(main())
