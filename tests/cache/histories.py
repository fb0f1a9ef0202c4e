# SPDX-License-Identifier: GPL-2.0-or-later
"""histories: logs of runs that never happened: right by construction, and with one thing wrong.

A store has things, and updates that change some of them at one instant, its commit. A request reads, at one instant
between its begin and its end, all things of its page. From that comes the log that resex-cacheload would have written.
"""
import bisect
import json


class Run:
    """Times are whole numbers, each used once."""

    def __init__(self, rng, updates=40, requests=120, things=6, length=4000):
        self.rng, self.length = rng, length
        self.names = ["item/%d" % i for i in range(things - 2)] + ["category/0", "user/1/bids"]
        self.free = list(range(10, 10 * length))
        rng.shuffle(self.free)
        self.base = {n: (rng.randrange(4), 0) for n in self.names}
        self.updates = sorted((self.new_update() for _ in range(updates)), key=lambda u: u["begin"])
        for i, u in enumerate(self.updates):
            u["n"] = i + 1
        self.replies = [self.new_reply() for _ in range(requests)]
        self.settle()

    def times(self, n, longest):
        """n free times that rise, close to each other."""
        at = self.rng.choice(self.free)
        near = sorted(self.rng.sample(range(at, at + longest), n))
        taken = []
        for t in near:
            while t in self.used:
                t += 1
            self.used.add(t)
            taken.append(t)
        return sorted(taken)

    used = None

    def new_update(self):
        if self.used is None:
            self.used = set()
        how = self.rng.choice(("done",) * 8 + ("undone", "unknown"))
        begin, commit, end = self.times(3, 600)
        if how == "unknown" and self.rng.random() < 0.5:
            commit, end = end, commit  # it takes effect after its client has given up
        effect = how == "done" or (how == "unknown" and self.rng.random() < 0.7)
        return {"begin": begin, "commit": commit, "end": end, "how": how, "effect": effect,
                "things": self.rng.sample(self.names, self.rng.choice((1, 1, 2, 3)))}

    def new_reply(self):
        begin, at, end = self.times(3, 400)
        return {"begin": begin, "at": at, "end": end, "things": self.rng.sample(self.names, self.rng.randrange(1, 5)),
                "hit": self.rng.random() < 0.5}

    def settle(self):
        """The series of states of each thing, by the commits."""
        self.series = {n: [(0, self.base[n])] for n in self.names}
        for u in sorted(self.updates, key=lambda u: u["commit"]):
            if u["effect"]:
                for n in u["things"]:
                    value, _ = self.series[n][-1][1]
                    self.series[n].append((u["commit"], (value + u.get("raise", 1), u["n"])))

    def state(self, name, at):
        s = self.series[name]
        return s[bisect.bisect_left(s, (at, (-1, -1))) - 1][1]

    def snapshot(self, names, at):
        return {n: self.state(n, at) for n in names}

    def lines(self):
        """The log, as objects in order; each reply's states as of its instant, but for what "states" says."""
        out = [{"e": "base", "t": 5, "states": dict(self.base)}]
        last = 6
        for u in self.updates:
            out.append({"e": "begin", "t": u["begin"], "u": u["n"], "things": u["things"]})
            out.append({"e": "end", "t": u["end"], "u": u["n"], "how": u["how"]})
            last = max(last, u["commit"], u["end"])
        for r in self.replies:
            states = r["states"] if "states" in r else self.snapshot(r["things"], r["at"])
            out.append({"e": "reply", "b": r["begin"], "t": r["end"], "asked": "/item/1", "hit": r["hit"], "from": 0,
                        "states": states})
            last = max(last, r["end"])
        last = max([last] + [u["commit"] for u in self.updates])
        out.append({"e": "reply", "b": last + 1, "t": last + 2, "asked": "/states", "hit": False, "from": 0,
                    "states": self.snapshot(self.names, last + 1)})
        return sorted(out, key=lambda line: line["t"])


def text(lines):
    """As resex-cacheload writes it."""
    out = []
    for line in lines:
        if isinstance(line.get("states"), dict):
            line = dict(line, states=" ".join("%s=%d:%d" % (n, v, u) for n, (v, u) in line["states"].items()))
        out.append(json.dumps(line) + "\n")
    return "".join(out)


# --- planted violations: each changes a run, and says whether it found a place ---

def clear(run, u, effect):
    """Things of u that have no update of unknown end with, or without, an effect: it would hide what is planted."""
    return set(u["things"]) - {n for o in run.updates if o["how"] == "unknown" and o["effect"] == effect
                               for n in o["things"]}


def plant_stale(run):
    """A whole snapshot, of before an update that had ended."""
    for r in run.replies:
        for u in run.updates:
            if u["how"] == "done" and u["end"] < r["begin"] and clear(run, u, True) & set(r["things"]):
                r["states"] = run.snapshot(r["things"], u["commit"])
                return True
    return False


def plant_backwards(run):
    """A whole snapshot, of before what another reply has shown, while nothing of it was acknowledged."""
    for r in run.replies:
        for u in run.updates:
            both = set(u["things"]) & set(r["things"])
            if not u["effect"] or not both or (u["how"] == "done" and u["end"] < r["begin"]):
                continue
            if any(o["end"] < r["begin"] and u["commit"] < o["at"] and both & set(o["things"]) for o in run.replies):
                r["states"] = run.snapshot(r["things"], u["commit"])
                return True
    return False


def plant_future(run):
    """A snapshot of later, with an update that had not begun."""
    for r in run.replies:
        for u in run.updates:
            if u["effect"] and u["begin"] > r["end"] and set(u["things"]) & set(r["things"]):
                r["states"] = run.snapshot(r["things"], u["commit"] + 1)
                return True
    return False


def plant_undone(run):
    """An update is said to have no effect, and has."""
    for u in run.updates:
        if u["how"] == "done" and any(r["at"] > u["commit"] and r["end"] > u["end"] and u["things"][0] in r["things"] and
                                      run.state(u["things"][0], r["at"])[1] == u["n"] for r in run.replies):
            u["how"] = "undone"
            return True
    return False


def plant_twice(run):
    """An update takes effect twice."""
    for u in run.updates:
        if u["effect"] and clear(run, u, False):
            u["raise"] = 2
            run.settle()
            return True
    return False


def plant_lost(run):
    """An update that was acknowledged has no effect."""
    for u in run.updates:
        if u["how"] == "done" and clear(run, u, True):
            u["effect"] = False
            run.settle()
            return True
    return False


def plant_torn(run):
    """Two things of two snapshots, with an update of both between; and another reply shows all of it."""
    for u in run.updates:
        if not u["effect"] or len(u["things"]) < 2:
            continue
        a, b = u["things"][:2]
        whole = [r for r in run.replies if run.state(a, r["at"])[1] == u["n"] == run.state(b, r["at"])[1]]
        for r in run.replies:
            for w in whole:
                if w is not r and w["end"] < r["end"] and r["begin"] < u["commit"] and r["begin"] < u["end"]:
                    w["things"] = [a, b]
                    r["states"] = {a: run.state(a, u["commit"]), b: run.state(b, u["commit"] + 1)}
                    return True
    return False


def plant_wrong(run):
    """Another page."""
    run.replies[0]["states"] = None
    return True


PLANTS = {
    "stale": (plant_stale, {"stale"}),
    "backwards": (plant_backwards, {"backwards"}),
    "future": (plant_future, {"future"}),
    "undone": (plant_undone, {"undone", "future"}),
    "twice": (plant_twice, {"future"}),
    "lost": (plant_lost, {"stale"}),
    "torn": (plant_torn, {"torn"}),
    "wrong": (plant_wrong, {"wrong"}),
}


def spoil(rng, lines):
    """Changes a few numbers or names of a log, anyhow; it stays a log."""
    for _ in range(rng.randrange(1, 6)):
        line = rng.choice(lines)
        if line["e"] == "end":
            line["how"] = rng.choice(("done", "undone", "unknown"))
        elif line["e"] == "reply" and line["states"]:
            name = rng.choice(sorted(line["states"]))
            value, last = line["states"][name]
            value = min(value, 2 ** 63 - 2)
            line["states"][name] = rng.choice(((value + 1, last), (max(0, value - 1), last), (value, last + 1),
                                               (value, max(0, last - 1)), (value + 1, last + 1), (2 ** 63 - 1, last)))
            if rng.random() < 0.1:
                line["states"]["item/unknown"] = (1, 1)
        elif line["e"] == "begin" and rng.random() < 0.3:
            line["things"] = ["item/0"]
    return lines
