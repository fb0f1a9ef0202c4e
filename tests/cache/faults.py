#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""faults: a cache of 3 application servers, 2 proxies and PostgreSQL serves no stale page, whatever fails.

usage: faults.py BUILD [--deep] [--seed N] [-j] [--only TEXT] [--each N] [--list] [--part NAME] [--state FILE]

Clients read and change pages without end, and each reply is checked; meanwhile faults are made: kinds.py has them. Their
schedule hangs on the seed alone, which is printed. Then the faults end, and all must be well again within a bound.
--only: kinds with this text; --each: so many of each kind; --list prints the schedules; --part: rounds, writes, bounds or
anew alone. --state: what the rounds have shown is kept in FILE, and a later run with it goes on after them. Exit: 0, 1, or 77 when something is not there (1 when CI=true)."""
import argparse
import collections
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check
import kinds  # noqa: F401
from anew import Anew
from bounds import Bounds
from hosts import Failed, FaultWorld, Lateness, Net, enter, http, until
from kinds import KINDS, Hands, schedule, updates_of
from writes import Writes

FRESH_S, DETECT_S, SQL_S = 0.2, 0.4, 1.0
# From the end of the faults until all is well: a call of the database that hangs, and one behind it; the longest pause
# before a connection is tried again (2 s), or an update is resolved (2 s); the longest pause of a host that was removed
# (8 detect), its join, and a removal with its wait; TCP's own pause before it sends again.
WELL_S = 2 * SQL_S + 2 + 2 + 10 * DETECT_S + 2 * FRESH_S + 3
SHORT = (("tcp", True), ("shm", False))
# 24 rounds: 5 of each kind in each, 9 of those that tcp alone has.
DEEP = (("tcp", True), ("shm", False), ("tcp", False), ("shm", True))
ROUNDS = 24
RULES = ("stale", "backwards", "future", "undone", "torn", "wrong")
NAMES = ("db", "app1", "app2", "app3", "front1", "front2", "twin")


class Say:
    began = time.monotonic()

    def __call__(self, text):
        print("%6.1f %s" % (time.monotonic() - self.began, text), file=sys.stderr, flush=True)


say = Say()


class Round:
    """A world, clients, and lanes of faults that are made beside each other."""
    def __init__(self, test, name, transport, lists, faults, lanes, **more):
        self.test, self.name, self.transport, self.lists, self.faults, self.lanes = test, name, transport, lists, faults, lanes
        self.top = "%s/%s" % (test.top, name)
        os.mkdir(self.top)
        self.w = FaultWorld(test.net, test.stall, test.top + "/pg", self.top, test.build, apps=3, proxies=2,
                            transport=transport, lists=lists, sql_timeout="%dms" % (SQL_S * 1000), items=300,
                            cache=dict({"fresh": "%dms" % (FRESH_S * 1000), "detect": "%dms" % (DETECT_S * 1000)},
                                       **more.pop("cache", {})), **more)
        self.w.broken = test.o.broken
        self.hands = Hands(self.w, FRESH_S, DETECT_S)
        self.todo = list(faults)
        self.done, self.missed, self.troubles = [], [], []
        self.log = open(self.top + "/faults.log", "w", buffering=1)
        self.lock = threading.Lock()
        self.stop = threading.Event()

    def take(self):
        """The next fault whose host is free; the next one, if none is. None: there is no more."""
        with self.lock:
            free = [f for f in self.todo if not self.hands.by_name[f.host].lock.locked()]
            f = (free or self.todo or [None])[0]
            if f:
                self.todo.remove(f)
            return f

    def make(self, f):
        began = time.monotonic()
        try:
            good = self.hands.make(f)
        except Exception as e:  # of the test, too: the run has failed
            with self.lock:
                self.troubles.append("%s: %s" % (f, e if isinstance(e, Failed) else traceback.format_exc()))
            self.stop.set()
            return
        with self.lock:
            (self.done if good else self.missed).append(f)
            self.log.write("%.3f %.3f %s%s\n" % (began, time.monotonic(), f, "" if good else ": missed: " + self.hands.why.get(f.host, "")))

    def lane(self):
        while not self.stop.is_set():
            f = self.take()
            if not f:
                return
            self.make(f)

    def watch(self):
        """Until it is over."""
        while not self.stop.wait(0.2):
            dead = self.w.ended()
            if dead:
                self.troubles += dead
                self.stop.set()

    def make_faults(self):
        lanes = [threading.Thread(target=self.lane) for _ in range(self.lanes)]
        watch = threading.Thread(target=self.watch)
        for t in lanes + [watch]:
            t.start()
        for t in lanes:
            t.join()
        # A moment that did not come may do so when less happens.
        again, self.missed = self.missed, []
        for f in again:
            if not self.stop.is_set():
                self.make(f)
        over = self.stop.is_set()
        self.stop.set()
        watch.join()
        self.w.net.heal()
        if over or self.troubles:
            raise Failed("; ".join(self.troubles))

    def load(self, *words):
        """Updates by 6 clients of each application server at once, of the same pages."""
        return self.w.load(self.w.proxies, "-r", "96", "-u", "18", "-t", "6", "-P", "300",
                           "-S", str(self.test.seed % 2 ** 31), *words)

    def under_load(self, log):
        p = self.load("-R", str(150 if self.lists else 5), "-T", "86400", *(["-l", self.top + "/replies.log"] if log else []))
        try:
            time.sleep(0.5)
            self.make_faults()
        finally:
            p.terminate()
            out, err = p.communicate()
        if not out:
            raise Failed("resex-cacheload: %s" % err)
        r = json.loads(out)
        self.test.judge(self.name, r)
        if log:
            self.second(r)
        return r

    def second(self, r):
        """The checker in the other language finds the same."""
        seen = check.check(self.top + "/replies.log")
        for k in ("replies", "hits", "updates", "checked") + RULES:
            if seen[k] != r[k]:
                raise Failed("%s: %s: check.py counts %s, resex-cacheload %s" % (self.name, k, seen[k], r[k]))
        os.unlink(self.top + "/replies.log")

    # --- when the faults have ended

    def is_well(self):
        for h in self.w.hosts:
            i = h.info()
            if not (i.get("in") if h.role == "app" else i.get("usable") == 3):
                return False
            if not all(m["link"] for m in i.get("members", [])):
                return False
        return all(not updates_of(h) for h in self.w.apps) and all(h.answers() for h in self.w.hosts)

    def what_is_not_well(self):
        said = []
        for h in self.w.hosts:
            try:
                said.append("%s: %s, updates %s" % (h.name, h.info(), updates_of(h) if h.role == "app" else "-"))
            except (OSError, Failed) as e:
                said.append("%s: %s" % (h.name, e))
        return "all is well again: %s" % "; ".join(said)

    def progress(self):
        """No pending update stays, all are members, hits come back."""
        began = time.monotonic()
        late = self.test.late
        while True:
            try:
                well = self.is_well()
            except (OSError, Failed):
                well = False
            now = time.monotonic()
            if well:
                break
            if now - began > WELL_S + late.between(began, now):
                raise Failed("%s: not within %.1f s: %s" % (self.name, now - began, self.what_is_not_well()))
            time.sleep(0.02)
        p = self.load("-U", "0", "-n", "3000", "-T", "20")
        out, err = p.communicate()
        r = json.loads(out)
        self.test.judge(self.name, r)
        if r["hits"] < r["replies"] / 3 or r["replies"] < 1000:
            raise Failed("%s: hits do not come back: %d of %d" % (self.name, r["hits"], r["replies"]))
        return now - began, r

    def look_at_lists(self):
        """Homes have lists of tags, or all pages are of word 0: this round is what it says."""
        used = sum(json.loads(http(h.api, "GET", "/v1/cache")[2])["home"]["listings_used"] for h in self.w.apps)
        if bool(used) != self.lists:
            raise Failed("%s: homes have %d tags of pages in their lists" % (self.name, used))

    def run(self, log):
        try:
            self.w.start()
            say("%s: started: %d faults in %d lanes" % (self.name, len(self.faults), self.lanes))
            r = self.under_load(log)
            well, again = self.progress()
            self.look_at_lists()
            panics = self.w.panics()
            if panics:
                raise Failed("; ".join(panics[:5]))
        finally:
            self.stop.set()
            self.w.net.heal()
            self.w.close(keep=True)
            self.log.close()
        say("%s: %d replies (%d hits), %d updates (%d undone, %d unknown), %d errors; well after %.1f s; then %d of %d hits" %
            (self.name, r["replies"], r["hits"], r["updates"], r["updates_undone"], r["updates_unknown"], r["errors"],
             well, again["hits"], again["replies"]))
        r["well_s"] = well
        for k in ("replies", "hits", "updates"):
            r[k] += again[k]
        return r


class Test:
    def __init__(self, o, top):
        self.o, self.top, self.build, self.seed = o, top, os.path.abspath(o.build), o.seed
        self.stall = self.build + "/tests/cache/stall.so"
        self.writes, self.bounds = {}, {}
        self.counts, self.variants, self.missed = collections.Counter(), collections.Counter(), collections.Counter()
        self.sum = collections.Counter()
        self.well = []
        if not os.path.exists(self.stall):
            raise Failed("%s is not there: make -C %s tests/cache/stall.so" % (self.stall, self.build))

    def judge(self, name, r, hits=0.01):
        bad = {k: r[k] for k in RULES if r[k]}
        if bad:
            raise Failed("%s: %s of %d replies: %s" % (name, bad, r["replies"], r["first"]))
        if r["hits"] < r["replies"] * hits:
            raise Failed("%s: only %d hits of %d replies: this shows nothing" % (name, r["hits"], r["replies"]))
        if not r["end_read"]:
            raise Failed("%s: the end could not be read" % name)

    def open(self):
        self.net = Net(NAMES)
        self.late = Lateness()

    def kinds(self):
        return [k for k in KINDS if self.o.only in k] if self.o.only else None

    def row(self, i):
        """(name, transport, lists, faults, lanes) of round i."""
        deep, each = self.o.deep, self.o.each
        transport, lists = DEEP[i % 4] if deep else SHORT[i]

        def few(k):  # three of each kind in both rounds together
            return 3 if KINDS[k][3] == (transport,) else 2 - i % 2
        n = (lambda k: each) if each else (lambda k: (9 if KINDS[k][3] == (transport,) else 5) if i < ROUNDS else 2) if deep else few
        return ("%d-%s-%s" % (i + 1, transport, "lists" if lists else "all"), transport, lists,
                schedule(self.seed, i, n, transport, self.kinds()), 2 if deep else 5)

    def plan(self):
        n = self.o.rounds or (ROUNDS if self.o.deep else len(SHORT))
        return [self.row(i) for i in range(n)]

    def more(self):
        """--deep: until there are enough replies and updates."""
        i = ROUNDS
        while self.o.deep and not (self.o.each or self.o.only or self.o.rounds) and i < 4 * ROUNDS and (
                self.sum["replies"] < 10 ** 7 or self.sum["updates"] < 10 ** 5):
            yield self.row(i)
            i += 1

    def add(self, round_, r):
        for f in round_.done:
            self.counts[f.kind] += 1
            self.variants[f.kind, f.variant] += 1
        for f in round_.missed:
            self.missed[f.kind] += 1
        for k in ("replies", "hits", "updates", "updates_undone", "updates_unknown", "errors") + RULES:
            self.sum[k] += r[k]
        self.well.append(r["well_s"])
        self.save()

    # --- the state of a run that takes hours

    def kept(self):
        return {"counts": self.counts, "missed": self.missed, "sum": self.sum}

    def save(self):
        if not self.o.state:
            return
        with open(self.o.state + ".new", "w") as f:
            json.dump(dict(self.kept(), seed=self.seed, well=self.well, variants=[[*kv, n] for kv, n in self.variants.items()]), f)
        os.rename(self.o.state + ".new", self.o.state)

    def restore(self):
        if not self.o.state or not os.path.exists(self.o.state):
            return
        with open(self.o.state) as f:
            state = json.load(f)
        if state["seed"] != self.seed:
            raise Failed("%s is of seed %d: give that, or another file" % (self.o.state, state["seed"]))
        for name, counter in self.kept().items():
            counter.update(state[name])
        self.variants.update({(kind, variant): n for kind, variant, n in state["variants"]})
        self.well = state["well"]
        say("%d rounds are of an earlier run: %d replies, %d updates" % (len(self.well), self.sum["replies"], self.sum["updates"]))

    def run_rounds(self):
        self.restore()
        rows = itertools.chain(self.plan(), self.more())
        for i, (name, transport, lists, faults, lanes) in itertools.islice(enumerate(rows), len(self.well), None):
            round_ = Round(self, name, transport, lists, faults, lanes, memory="256m" if lists else "2m")
            r = round_.run(log=i == 0)
            self.add(round_, r)
            if not self.o.keep:
                shutil.rmtree(round_.top, ignore_errors=True)

    def run_writes(self):
        for transport in ("tcp", "shm") if self.o.deep else ("tcp",):
            w = Writes(self, transport)
            w.run(25 if self.o.deep else 1)
            say(w.text())
            self.writes[transport] = w.rows
            if w.too_long:
                raise Failed("; ".join(w.too_long))
            shutil.rmtree(w.top, ignore_errors=True)

    def run_bounds(self):
        rows = [("shm", True, 60), ("tcp", False, 60), ("tcp", True, 60), ("shm", False, 60)] if self.o.deep else [("shm", True, 3)]
        for row in rows:
            b = Bounds(self, *row)
            r, seen = b.run()
            say("%s: %d replies (%d hits), %d updates, %d errors; %s" %
                (b.name, r["replies"], r["hits"], r["updates"], r["errors"],
                 ", ".join("%s %d" % row for row in seen.items())))
            self.bounds[b.name] = seen
            for k in ("replies", "hits", "updates") + RULES:
                self.sum[k] += r[k]
            shutil.rmtree(b.w.top, ignore_errors=True)

    def run_anew(self):
        a = Anew(self, "tcp", True, FRESH_S, DETECT_S)
        r, seen = a.run()
        say("%s: %d replies (%d hits), %d updates, %d errors; %s" % (
            a.name, r["replies"], r["hits"], r["updates"], r["errors"], ", ".join("%s %s" % row for row in seen.items())))
        for k in ("replies", "hits", "updates") + RULES:
            self.sum[k] += r[k]
        shutil.rmtree(a.w.top, ignore_errors=True)

    def table(self):
        floor = 0 if self.o.only or self.o.each or self.o.rounds else 100 if self.o.deep else 3
        for k in KINDS:
            if self.kinds() and k not in self.kinds():
                continue
            parts = ", ".join("%d %s" % (self.variants[k, v], v) for v in KINDS[k][1])
            print("%5d %s%s%s" % (self.counts[k], k, " (%s)" % parts if len(KINDS[k][1]) > 1 else "",
                                  "; %d missed" % self.missed[k] if self.missed[k] else ""), file=sys.stderr)
        few = [k for k in KINDS if self.counts[k] < floor]
        if few:
            raise Failed("fewer than %d of: %s" % (floor, "; ".join(few)))

    def result(self):
        return dict(self.sum, seed=self.seed, faults=dict(self.counts), variants={"%s: %s" % kv: n for kv, n in self.variants.items()},
                    well_s=[round(x, 2) for x in self.well], writes=self.writes, bounds=self.bounds)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--deep", action="store_true")
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--only", default="")
    p.add_argument("--each", type=int, default=0)
    p.add_argument("--list", action="store_true")
    p.add_argument("--part", default="")
    p.add_argument("--rounds", type=int, default=None, help="only the first so many")
    p.add_argument("--break", dest="broken", default="", help="FROM|TO: change the check of an update (breaks.py)")
    p.add_argument("--state", default="")
    p.add_argument("--keep", action="store_true")
    p.add_argument("-j", dest="json", action="store_true")
    o = p.parse_args()
    if o.seed is None:
        o.seed = int(os.environ.get("RESEX_SEED") or random.SystemRandom().randrange(2 ** 31))
    return o


def missing():
    return [n for n in ("varnishd", "psql", "unshare", "ip") if not shutil.which(n)]


def main():
    o = options()
    if missing():
        print("faults: %s not there: apt-get install varnish postgresql iproute2" % ", ".join(missing()))
        return 1 if os.environ.get("CI") == "true" else 77
    if o.list:
        test = Test(o, "")
        for name, _, _, faults, lanes in test.plan():
            print("%s, %d lanes" % (name, lanes))
            for f in faults:
                print("  %s" % f)
        return 0
    enter("faults")
    say("seed %d" % o.seed)
    top = tempfile.mkdtemp(prefix="resex-faults-")
    os.chmod(top, 0o755)
    keep = o.keep
    try:
        test = Test(o, top)
        test.open()
        if o.part in ("", "writes"):
            test.run_writes()
        if o.part in ("", "rounds"):
            test.run_rounds()
            test.table()
        if o.part in ("", "bounds"):
            test.run_bounds()
        if o.part in ("", "anew"):
            test.run_anew()
        r = test.result()
    except Failed as e:
        keep = True
        print("faults: %s" % e)
        print("faults: FAIL: --seed %d; all logs are in %s" % (o.seed, top))
        return 1
    finally:
        subprocess.run(["sh", check.__file__.replace("check.py", "pg.sh"), "stop", top + "/pg"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        subprocess.run(["umount", top + "/pg/log-disk"], stderr=subprocess.DEVNULL)
        if not keep:
            shutil.rmtree(top, ignore_errors=True)
    if o.json:
        print(json.dumps(r))
    if r.get("replies"):  # the part "writes" has no checked replies
        print("%d stale of %d, %d updates" % (sum(r[k] for k in RULES), r["replies"], r["updates"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
