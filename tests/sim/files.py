# SPDX-License-Identifier: GPL-2.0-or-later
"""files: the same file gives the same summary, any valid file runs, any other is refused."""
import os
import re

import bounds
import random_files
import stability
from group import Group
from host import EXAMPLES, Broken, Run, example, examples, need

group = Group("files")
VALID, MISTAKEN, SHAKEN = 100, 150, 150
REFUSED = re.compile(rb"resexd: (?P<file>[^\n:]+):\d+:\d+: (?P<text>[^\n]+)\n\Z")
NOT_NOW = re.compile(rb"resexd: event \d+ \([\w-]+\): "
                     rb"(this guest does not exist|this guest exists already|"
                     rb"all guests are paused)\Z")


def number(host, n):
    return range(n // 5 if host.slow else n)


def determined(name):
    @group.test("%s.json twice gives the same bytes" % name)
    def _(host):
        path = os.path.join(EXAMPLES, name + ".json")
        one, other = host.summary(path), host.summary(path)
        need(one == other, "the two summaries differ")
        run = Run(example(name), one)
        stability.sound([run])
        errors = [e for e in run.summary["events"] if e["error"]]
        need(not errors, "an event could not be carried out: %s", errors)
        return "%d bytes" % len(one)


for _name in examples():
    determined(_name)


@group.test("another seed gives another summary, of each file in which something varies")
def _(host):
    same = [n for n in examples() if host.summary(os.path.join(EXAMPLES, n + ".json")) ==
            host.run(example(n, seed=2)).text.replace(b'"seed": 2', b'"seed": 1')]
    need(not same, "the same summary with seed 2: %s", ", ".join(same))
    return "%d files" % len(examples())


# --- random files ---------------------------------------------------------------------------

def run_valid(host, seed):
    """A summary; exit status 0; warnings are of events alone."""
    sc = random_files.valid(seed)
    done = host.start(host.write(sc))
    need(done.returncode == 0, "seed %d: exit status %d: %s", seed, done.returncode,
         done.stderr[-300:])
    for line in done.stderr.splitlines():
        need(NOT_NOW.match(line), "seed %d: %s", seed, line)
    return Run(sc, done.stdout)


def fifth(part):
    @group.test("random scenarios, fifth %d: each runs, and its summary is sound" % (part + 1))
    def _(host):
        runs = [run_valid(host, s) for s in number(host, VALID) if s % 5 == part]
        for run in runs:
            try:
                stability.sound([run])
            except Broken as e:
                raise Broken("%s: %s" % (run.summary["name"], e)) from e
        return "%d scenarios, %d guests, %d changes of caps, %d events" % (
            len(runs), sum(len(r.guests) for r in runs),
            sum(g.cap["changes"] for r in runs for g in r.guests.values()),
            sum(len(r.summary["events"]) for r in runs))


for _part in range(5):
    fifth(_part)


@group.test("random scenarios twice give the same bytes")
def _(host):
    for seed in range(5):
        one, other = run_valid(host, seed), run_valid(host, seed)
        need(one.text == other.text, "seed %d: the two summaries differ", seed)
    return "5 scenarios"


@group.test("random scenarios have all policies, schedulers, events, kinds and outcomes")
def _(host):
    del host
    seen = set()
    for seed in range(VALID):
        sc = random_files.valid(seed)
        seen |= bounds.policies(sc) | {sc.get("host", {}).get("scheduler", "credit2")}
        seen |= {e["do"] for e in sc.get("events", [])} | {"%d links" % len(sc["links"])}
        seen |= {"%d guests" % len(sc["guests"])}
        for g in sc["guests"]:
            seen |= {a["kind"] for a in g["apps"]}
            seen |= {k for k in ("blind", "later", "sla") if k in g}
    wanted = ["null", "freemarket", "ioshares", "ratio", "slo", "credit", "credit2", "destroy", "create",
              "reboot", "policy", "release", "retake", "cap", "pause", "resume", "guest-set",
              "sender", "server", "burner", "idle", "blind", "later", "sla"]
    wanted += ["%d links" % n for n in (1, 2, 3)] + ["%d guests" % n for n in range(1, 9)]
    missing = [w for w in wanted if w not in seen]
    need(not missing, "never: %s", ", ".join(missing))
    return "%d things" % len(wanted)


def refused(path, done):
    """Exit status 4, nothing on stdout, one line: FILE:LINE:COLUMN and a sentence."""
    need(done.returncode == 4, "exit status %d: %s", done.returncode, done.stderr[-300:])
    need(not done.stdout, "it spoke on stdout")
    match = REFUSED.match(done.stderr)
    need(match and match["file"].decode() == path, "it said %s", done.stderr[-300:])
    return match["text"]


@group.test("files with a mistake: exit status 4, FILE:LINE:COLUMN and one sentence")
def _(host):
    kinds, texts = set(), set()
    for seed in number(host, MISTAKEN):
        what, text = random_files.mistaken(seed)
        path = host.write(text)
        try:
            texts.add(refused(path, host.start(path)))
        except Broken as e:
            raise Broken("seed %d, %s: %s" % (seed, what, e)) from e
        kinds.add(what)
    return "%d files, %d kinds of mistake, %d sentences" % (
        len(number(host, MISTAKEN)), len(kinds), len(texts))


@group.test("files with bytes changed: refused or good, and never a crash")
def _(host):
    good = 0
    for seed in number(host, SHAKEN):
        path = host.write(random_files.shaken(seed))
        done = host.start(path, "--check")
        if done.returncode == 0:
            good += 1
            continue
        try:
            refused(path, done)
        except Broken as e:
            raise Broken("seed %d: %s" % (seed, e)) from e
    return "%d files, %d of them good" % (len(number(host, SHAKEN)), good)


@group.test("planted: a good file is not refused, and a file that is not there has no line")
def _(host):
    path = os.path.join(EXAMPLES, "paper.json")
    for p in (path, host.path("none.json")):
        try:
            refused(p, host.start(p, "--check"))
        except Broken:
            continue
        raise Broken("%s was taken for refused" % p)
    return "both found"
