#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sim: what ResEx promises, shown on the simulated host by the whole daemon.

usage: sim.py [--resexd PROGRAM] [--resex PROGRAM] [--only WORD] [--jobs N] [--deep]

Each test is a sentence and prints the figures it was judged by. Those that begin with "planted"
show that the others can fail. With a sanitizer there are fewer seeds and fewer random files; with
that of threads only the real clock is used, for a simulated one has but one thread.
--deep, or RESEX_DEEP=1: 20 seeds, all sizes, and ten simulated minutes where that is claimed.
Exit: 0, or 1 when a claim does not hold.
"""
import argparse
import concurrent.futures
import os
import sys
import time

sys.dont_write_bytecode = True
import ablations  # noqa: E402
import files  # noqa: E402
import paper  # noqa: E402
import sets  # noqa: E402
import stability  # noqa: E402
from host import Broken, Host  # noqa: E402

GROUPS = (paper.group, ablations.group, stability.group, sets.group, files.group)


def run_one(host, function):
    """(held, what it said)"""
    try:
        return True, function(host)
    except Broken as e:
        return False, str(e)
    except Exception as e:  # a summary of another shape, and the like
        return False, "%s: %s" % (type(e).__name__, e)


def options():
    p = argparse.ArgumentParser(description="the claims of ResEx on the simulated host")
    p.add_argument("--resexd", default="./resexd")
    p.add_argument("--resex", default="./resex")
    p.add_argument("--only", default="", help="tests whose sentence has this in it")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--deep", action="store_true", default=os.environ.get("RESEX_DEEP") == "1")
    return p.parse_args()


def main():
    args = options()
    host, began = Host(args.resexd, args.resex, args.deep), time.monotonic()
    only = args.only or ("real clock" if host.tsan else "")
    tests = [(g.name, *t) for g in GROUPS for t in g.tests if only in t[0]]
    held = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = [pool.submit(run_one, host, function) for _, _, function in tests]
        for (name, sentence, _), result in zip(tests, results):
            ok, said = result.result()
            held += ok
            print("%s %s: %s (%s)" % ("ok" if ok else "FAIL", name, sentence, said), flush=True)
    print("sim: %d runs, %.1f s" % (len(host.runs()), time.monotonic() - began))
    print("sim: %d passed, %d failed" % (held, len(tests) - held))
    host.close()
    return 0 if held and held == len(tests) else 1


if __name__ == "__main__":
    sys.exit(main())
