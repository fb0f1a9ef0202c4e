#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_check: both checkers, of C and of Python, over histories that are right, ones with a planted violation of each kind,
and spoiled ones, about which they must agree in every count. Run in the build directory. The seed is printed;
RESEX_SEED=N repeats it."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check
import histories

PROGRAM = "./resex-cacheload"
RIGHT, PLANTED, SPOILED = 60, 12, 200


class Failed(Exception):
    pass


def by_c(file):
    r = subprocess.run([PROGRAM, "--check", file, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not r.stdout:
        raise Failed("resex-cacheload --check says nothing: %s" % r.stderr)
    counts = json.loads(r.stdout)
    if r.returncode != (1 if any(counts[k] for k in check.RULES) else 0):
        raise Failed("resex-cacheload --check ends with %d: %s" % (r.returncode, r.stdout))
    return counts


def both(file, lines, keep):
    """The counts, which must be the same."""
    text = histories.text(lines)
    with open(file, "w") as f:
        f.write(text)
    python, c = check.check(file), by_c(file)
    differ = [k for k in python if k != "first" and python[k] != c.get(k)]
    if differ or bool(python["first"]) != bool(c["first"]):
        with open(keep, "w") as f:
            f.write(text)
        raise Failed("the checkers differ in %s: Python %s, C %s; the log is kept in %s" % (differ, python, c, keep))
    return python


def broken(counts):
    return {r for r in check.RULES if counts[r]}


def refused(file, text, what):
    """It is no log, for both."""
    with open(file, "w") as f:
        f.write(text)
    r = subprocess.run([PROGRAM, "--check", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if r.returncode != 1 or r.stdout or not r.stderr:
        raise Failed("C takes a log with %s: %d %s" % (what, r.returncode, r.stdout))
    try:
        check.check(file)
    except check.NoLog:
        return
    raise Failed("Python takes a log with %s" % what)


def bad_logs(good):
    """(what, text): each differs from a log in one thing."""
    lines = good.splitlines(keepends=True)
    begin = next(i for i, line in enumerate(lines) if '"begin"' in line)
    reply = next(i for i, line in enumerate(lines) if '"reply"' in line)

    def change(i, old, new):
        if old not in lines[i]:
            raise Failed("%s is not in %s" % (old, lines[i]))
        return "".join(lines[:i] + [lines[i].replace(old, new)] + lines[i + 1:])
    yield "nothing", ""
    yield "a cut line", good[:-2]
    yield "an empty line", good + "\n"
    yield "no JSON", "rubbish\n" + good
    yield "a list", "[]\n" + good
    yield "an unknown event", change(begin, '"begin"', '"began"')
    yield "a line twice", "".join(lines[:2] + lines[1:])
    yield "two lines exchanged", "".join([lines[1], lines[0]] + lines[2:])
    yield "an update left out", "".join(line for line in lines if '"u": 1,' not in line)
    yield "an end left to nobody", change(begin, '"begin"', '"end"')
    yield "no things", change(begin, '"things"', '"thing"')
    yield "no states", change(reply, '"states"', '"state"')
    yield "a state without its last", change(reply, ":0", "") if ":0" in lines[reply] else good[:-2]
    yield "a reply that ends before it begins", change(reply, '"b": ', '"b": 99')
    yield "a time that is a text", change(reply, '"t": ', '"t": "1", "x": ')
    yield "a key twice", change(reply, '"t": ', '"e": "reply", "t": ')


def main():
    seed = int(os.environ.get("RESEX_SEED") or time.time() * 1000)
    print("RESEX_SEED=%d" % seed)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as top:
        file, keep = top + "/log", "test_check.log"
        for _ in range(RIGHT):
            lines = histories.Run(rng).lines()
            counts = both(file, lines, keep)
            if broken(counts) or counts["replies"] != 120:
                with open(keep, "w") as f:
                    f.write(histories.text(lines))
                raise Failed("a right history is said to be wrong: %s; it is kept in %s" % (counts, keep))
        print("%d right histories: nothing is found" % RIGHT)
        for name, (plant, wanted) in histories.PLANTS.items():
            n = tries = 0
            while n < PLANTED and tries < 20 * PLANTED:
                run = histories.Run(rng)
                tries += 1
                if not plant(run):
                    continue
                n += 1
                found = broken(both(file, run.lines(), keep))
                if not found & wanted:
                    with open(keep, "w") as f:
                        f.write(histories.text(run.lines()))
                    raise Failed("planted %s: found %s; the log is kept in %s" % (name, found or "nothing", keep))
            if n < PLANTED:
                raise Failed("%s could be planted only %d times" % (name, n))
            print("%d times %s: found" % (n, name))
        found = 0
        for _ in range(SPOILED):
            found += bool(broken(both(file, histories.spoil(rng, histories.Run(rng).lines()), keep)))
        print("%d spoiled histories: the checkers agree; %d are wrong" % (SPOILED, found))
        if found < SPOILED / 4:
            raise Failed("too few are wrong")
        n = 0
        for what, text in bad_logs(histories.text(histories.Run(rng).lines())):
            refused(file, text, what)
            n += 1
        print("%d texts that are no log: refused" % n)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        print("test_check: %s" % e)
        sys.exit(1)
