#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""breaks: can faults.py fail? One rule of src/cache/cache.h at a time is broken, and it must name a violation.

usage: breaks.py BUILD [--seeds N] [--first N] [--part NAME] [RULE...]

Rules of the step functions are broken by a build (BROKEN_..., src/cache/broken.h), those of an update's transaction by
another check in SQL. Rare ones are not found here in the time of a test: tests/cache/broken.sh looks for all of them in
virtual time. --part: of faults.py (rounds). Exit: 0, or 1 when one of MUST was not found."""
import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("resex", "resex-auction", "resex-cacheload", "libvmod_resex.so")
# Found with nearly each seed.
MUST = ()
MAY = ()
SQL = {
    "ROW_UNCHECKED": "m.fence = $3::integer|m.fence <> -1 - abs($3::integer)",
    "EPOCH_UNCHECKED": "e.epoch = $1::integer|e.epoch <> -1 - abs($1::integer)",
    "ROW_KEY_SHARE": "FOR SHARE OF e, m|FOR SHARE OF e FOR KEY SHARE OF m",
    "EPOCH_KEY_SHARE": "FOR SHARE OF e, m|FOR KEY SHARE OF e FOR SHARE OF m",
}
VIOLATION = re.compile(r"\{'(stale|backwards|future|undone|torn)'.*|not within .*|hits do not come back.*|.*is not above.*|"
                       r".*show a page of the old database.*")


def make(build, rule):
    """A folder with all programs, one of them broken."""
    target = "tests/cache/broken/resex-cached-" + rule
    r = subprocess.run(["make", "-s", "-C", build, target], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        sys.exit("breaks: %s is not built: %s" % (rule, r.stdout))
    top = "%s/tests/cache/broken/of-%s" % (build, rule)
    os.makedirs(top + "/tests/cache", exist_ok=True)
    links = [(p, "%s/%s" % (build, p)) for p in PROGRAMS]
    links += [("resex-cached", "%s/%s" % (build, target)), ("tests/cache/stall.so", build + "/tests/cache/stall.so")]
    for name, to in links:
        at = "%s/%s" % (top, name)
        if os.path.lexists(at):
            os.unlink(at)
        os.symlink(to, at)
    return top


def look(build, rule, seeds, part):
    """(what was found, of how many runs, seconds); "": nothing."""
    top, more = (build, ["--break", SQL[rule]]) if rule in SQL else (make(build, rule), [])
    began = time.monotonic()
    for n, seed in enumerate(seeds, 1):
        r = subprocess.run([sys.executable, HERE + "/faults.py", top, "--part", part, "--seed", str(seed)] + more,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        logs = re.search(r"/tmp/resex-faults-\w+", r.stdout)
        if logs:
            subprocess.run(["rm", "-rf", logs.group()], check=True)
        found = VIOLATION.search(r.stdout)
        if found:
            return found.group(), n, time.monotonic() - began
        if r.returncode:
            print("%s: another failure: %s" % (rule, r.stdout.strip()[-600:]), flush=True)
    return "", len(seeds), time.monotonic() - began


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("rules", nargs="*")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--part", default="rounds")
    o = p.parse_args()
    missed = []
    for rule in o.rules or MUST + MAY:
        found, n, seconds = look(os.path.abspath(o.build), rule, range(o.first, o.first + o.seeds), o.part)
        print("%-22s %s in run %d, %.0f s%s" % (rule, "found" if found else "not found", n, seconds,
                                              ": " + found[:120] if found else ""), flush=True)
        if not found and rule in MUST:
            missed.append(rule)
    if missed:
        print("breaks: not found: %s" % " ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
