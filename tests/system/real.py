#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""real.py --images DIR --logs DIR [--repeats N] [-j]: ./dev demo --real, the experiment for people."""
import argparse
import json
import os
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "..", "etc", "demo"))
import bed  # noqa: E402
import draw  # noqa: E402
import experiment  # noqa: E402
import permute  # noqa: E402

INSTRUCTION_NS = 4  # as the scenario "experiment"
REPEAT_S = 115  # of an idle machine
START_S = 40
# Fewer repeats cannot have a p that is low enough.
LEAST = next(n for n in range(1, 100) if permute.least(n, n) <= experiment.ALPHA)


def chart(out, bulk, phases):
    """Columns for phases, of which the first is without a policy."""
    base, none = (out["verdict"]["mean_us"][p] / 1e3 for p in ("base", phases[0]))
    print("\nserver's latency beside %s as resexd hears it, from %.1f ms (base) to %.1f ms (no policy), and the "
          "cap; 0 s: the policy comes" % (bulk, base, none))
    draw.columns([experiment.PHASES[p][0] for p in phases],
                 [experiment.timeline(out["repeats"], p) for p in phases], base, none, experiment.STEP_S, "%5.1f")


def show(out):
    repeats, v = out["repeats"], out["verdict"]
    chart(out, "bulk", experiment.POLICIES)
    chart(out, "bulk and bulk2", experiment.POLICIES_TWO)
    print()
    print("\n".join(experiment.table(repeats)))
    print("FreeMarket is lower than no policy: p = %.2g\n" % v["p_freemarket"])
    for text, holds in experiment.claims(v):
        print("%s %s" % ("pass" if holds else "FAIL", text))


def run(args):
    logs = args.logs + "/demo"
    shutil.rmtree(logs, ignore_errors=True)
    os.makedirs(logs)
    began = time.monotonic()

    def tell(text):
        print("%5.0f s  %s" % (time.monotonic() - began, text), flush=True,
              file=sys.stderr if args.json else sys.stdout)
    limit = bed.PATIENCE * (START_S + args.repeats * REPEAT_S)
    with bed.Vm(args.images, logs, sched="credit2", limit=limit, instruction_ns=INSTRUCTION_NS) as vm:
        tell("Xen and dom0 are up")
        out = experiment.run(vm, args.repeats, args.seed, tell)
    with open(logs + "/result.json", "w", encoding="utf-8") as f:
        json.dump(out, f, indent=1)
    if args.json:
        print(json.dumps(dict(out, simulated=False, emulated=True)))
    else:
        show(out)
        print("all raw figures are in " + logs)
    return 0 if all(holds for _, holds in experiment.claims(out["verdict"])) else 1


def main():
    parser = argparse.ArgumentParser(prog="./dev demo --real")
    parser.add_argument("--images", help=argparse.SUPPRESS)
    parser.add_argument("--logs", help=argparse.SUPPRESS)
    parser.add_argument("-j", "--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=5, metavar="N",
                        help="at least %d (5)" % LEAST)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the order of policies (1)")
    args = parser.parse_args()
    if args.repeats < LEAST:
        parser.error("--repeats %d: whatever so few show may be chance, take %d or more" % (args.repeats, LEAST))
    if not args.json:
        print("Real Xen and real RDMA verbs, nothing simulated, on a machine that QEMU emulates. Its time is "
              "the\nnumber of its instructions, %d ns each, so that no other program changes what is measured.\n"
              "A server and one or two bulk guests share a link of 4 MB/s; about %d min on an idle machine." %
              (INSTRUCTION_NS, (START_S + args.repeats * REPEAT_S + 59) // 60), flush=True)
    try:
        return run(args)
    except bed.Failed as e:
        print("demo: %s; logs are in %s/demo" % (e, args.logs), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


sys.exit(main())
