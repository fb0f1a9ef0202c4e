#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""compare: is the reason true that decide() gives for a move, and for no move?

Random clusters with random histories; second.py says of each question which reason holds, which
donors come nearest, and how long a wait is. The reasons of the C are taken as the sentences that
resex why-move shows. It proves that it can fail: each reason must occur 50 times, and each of
PLANTS is an error in second.py, and must be found. RESEX_DEEP=1: 20 times as many clusters.
RESEX_SEED=N: others, of which nothing must be found.
"""
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
import second  # noqa: E402

REPLAY = "tests/decide/replay"
CLUSTERS = 1200 * (20 if os.environ.get("RESEX_DEEP") else 1)
BATCH = 600
LEAST = 50
# What why-move says, and the name of it in resex-reconf(7).
SENTENCES = {
    "its load was high for T, and the donor's is low": "load",
    "its load was high for T, and it has less than its guarantee": "guarantee",
    "its load was high for T, and the donor has a lower priority": "priority",
    "its load was high for T, and another service gives it a node and gets one": "chain",
    "moves for load are frozen, and it has less than its share": "home",
    "its load was not high for T": "calm",
    "the loads of half of its nodes or more are missing or stale": "unknown",
    "moves for load are frozen: nodes went to and fro": "frozen",
    "it has its maximum of nodes": "at-maximum",
    "it has used up its budget of moves": "over-budget",
    "it found no donor a short time ago, and asks again later": "backs-off",
    "no other service has more nodes than its minimum": "no-spare",
    "the others have no more than their guarantee, and no lower priority": "guaranteed",
    "no service that has nodes to spare is known to have a low load": "none-low",
    "no node of a service with a low load may serve it": "may-not",
    "the nodes that may serve it are fixed, or their last move is pending": "stuck",
    "the nodes that may serve it were moved a short time ago": "rests",
    "no move would gain enough: the donor would be nearly as loaded": "no-gain",
}
MOVES = second.MOVES + ("chain", "home")
PLANTS = (
    {"half": False}, {"rest": 2}, {"budget": 1}, {"waits": 3}, {"most waits": 32}, {"reversals": 3},
    {"reversals": 5}, {"freeze": 3}, {"home": False}, {"swap": False}, {"swap any": True},
    {"own first": False}, {"margin": False}, {"round up": False},
    {"capacity": False}, {"minimum": 1}, {"guarantee": False}, {"owed": False}, {"preempts": False},
    {"maximum": 1}, {"last node": False}, {"pending": False}, {"free again": False},
    {"order": second.NEARER[::-1]}, {"order": second.NEARER[:5] + ("no-gain", "rests")},
    {"order": ("guaranteed", "no-spare") + second.NEARER[2:]}, {"least node": False},
    {"least donor": False}, {"chain": 0}, {"chain": 2}, {"chain margin": False},
    {"chain high": False}, {"chain minimum": False}, {"chain rest": False},
)


# --- random clusters ------------------------------------------------------------------------

def some_service(rng):
    minimum = rng.randrange(3)
    guarantee = minimum + rng.choice((0, 0, rng.randrange(3)))
    maximum = max(1, guarantee + rng.choice((rng.randrange(4), 8)))
    low = rng.randrange(1, 1000)
    return {"minimum": minimum, "guarantee": guarantee,
            "share": rng.randrange(guarantee, maximum + 1), "maximum": maximum,
            "priority": rng.choice((0, 0, 0, rng.randrange(8))),
            "high": low + rng.randrange(1, 900), "low": low}


def some_node(rng, services, busy):
    service = rng.randrange(services)
    load = rng.randrange(800, 4000) if service in busy else rng.choice((0, rng.randrange(700)))
    return {"service": rng.choice((second.NOBODY,) + (service,) * 20),
            "home": rng.choice((service, service, rng.randrange(services), second.NOBODY)),
            "alive": rng.random() < 0.95,
            "fixed": rng.random() < 0.08, "pending": rng.random() < 0.08,
            "known": rng.random() < 0.9, "load": rng.choice((load,) * 30 + (2000000,)),
            "capacity": rng.choice((1000, 1000, 1000, 0, 500, 2000, rng.randrange(1, 200000))),
            "may": rng.choice((2**64 - 1, 2**64 - 1, rng.randrange(1 << services)))}


def some_conf(rng):
    return {"off": rng.choice((0, 0, 0, 1 << rng.randrange(9), rng.randrange(512))),
            "margin": rng.choice((0, 200, rng.randrange(1000))), "rest": rng.choice((60, 10)),
            "freeze": rng.choice((200, 30)), "check": 1, "budget": rng.choice((1, 2, 4)),
            "budget_ns": rng.choice((40, 80, 200))}


class Case:
    """A cluster, and what happens to it: as lines for replay, and again for second.py."""

    def __init__(self, seed):
        rng = random.Random(seed)
        services = rng.choice((2, 3, 3, 4, 5))
        busy = {s for s in range(services) if rng.random() < 0.4}
        self.conf = some_conf(rng)
        self.services = [some_service(rng) for _ in range(services)]
        self.nodes = [some_node(rng, services, busy) for _ in range(rng.randrange(2, 14))]
        self.events, now = [("scan", 0)], 0
        if rng.random() < 0.3:
            now = self.to_and_fro(rng, now)
        elif rng.random() < 0.4:
            self.in_a_row(rng)
        for _ in range(rng.randrange(2, 10)):
            now += rng.choice((0, 1, 1, 2, 5, rng.randrange(70)))
            self.happens(rng, now)

    def to_and_fro(self, rng, now):
        """One node goes to and fro, so that moves are frozen."""
        node, home = rng.randrange(len(self.nodes)), rng.randrange(len(self.services))
        for k in range(rng.randrange(5, 16)):
            self.events += [("goes", node, (home + k % 2) % len(self.services)), ("scan", now)]
            now += rng.choice((1, 1, 1, 20))
        return now

    def in_a_row(self, rng):
        """Nodes may serve only the next service, too, so that a chain is the way to the first."""
        for s in self.services:
            s.update(minimum=rng.randrange(2), maximum=rng.choice((3, 20)), low=900,
                     high=rng.choice((901, 1200)), priority=rng.choice((0, 0, 0, 1)))
            s["guarantee"] = s["minimum"] + rng.choice((0, 0, 1))
            s["share"] = s["maximum"]
        for n in self.nodes:
            s = n["service"] = rng.randrange(len(self.services))
            n["load"] = rng.randrange(1500, 4000) if s == 0 else rng.choice((0, rng.randrange(800)))
            n["may"] = 1 << s | 1 << max(s - 1, 0)
            if rng.random() < 0.1:
                n["may"] = 2**64 - 1
        self.events.append(("ask", 0, 1, 0))

    def happens(self, rng, now):
        node, service = rng.randrange(len(self.nodes)), rng.randrange(len(self.services))
        if rng.random() < 0.3:
            self.events.append(("goes", node, rng.choice((service,) * 9 + (second.NOBODY,))))
        if rng.random() < 0.3:
            self.events.append(("load", node, int(rng.random() < 0.9), rng.randrange(1500)))
        self.events.append(("scan", now))
        for _ in range(rng.randrange(1, 4)):
            asks = rng.randrange(len(self.services))
            for k in range(rng.choice((1, 1, 1, 7))):
                now += 64 * (k > 0)
                self.events.append(("ask", asks, int(rng.random() < 0.9), now))
                if rng.random() < 0.7:
                    self.events.append(("asked", asks, now))

    def lines(self):
        def line(word, values):
            return " ".join([word] + [str(int(v)) for v in values])
        return ([line("begin", self.conf.values())]
                + [line("service", s.values()) for s in self.services]
                + [line("node", n.values()) for n in self.nodes]
                + [line(e[0], e[1:]) for e in self.events])


# --- answers --------------------------------------------------------------------------------

def parse(line):
    numbers, sentence = line.split("\t")
    v = [int(n) for n in numbers.split()]
    keys = ("donor", "wait", "taker_before", "donor_before", "taker_after", "donor_after")
    steps = [tuple(v[i:i + 3]) for i in range(7, len(v), 3)]
    return dict(zip(keys, v), steps=steps, why=SENTENCES.get(sentence, sentence))


def untrue(cluster, taker, truth, a):
    """What is not true in the answer; None: all is."""
    if a["why"] != truth["why"]:
        return "the reason is %s, and what holds is %s" % (a["why"], truth["why"])
    if bool(a["steps"]) != (a["why"] in MOVES) or (a["steps"] and a["steps"] not in truth["steps"]):
        return "steps are %s, of %s" % (a["steps"], truth["steps"])
    if a["donor"] not in truth["donors"]:
        return "donor is %d, of %s" % (a["donor"], truth["donors"])
    if a["wait"] != truth["wait"]:
        return "wait is %d, and it is %d" % (a["wait"], truth["wait"])
    if a["taker_before"] != cluster.load(taker):
        return "the load is %d, and it is %d" % (a["taker_before"], cluster.load(taker))
    if a["donor"] != second.NOBODY and a["donor_before"] != cluster.load(a["donor"]):
        return "the donor's load is %d" % a["donor_before"]
    if a["steps"]:
        ends = (a["steps"][0], a["steps"][-1])
        gives, takes = (cluster.capacity(cluster.nodes[s[2]]) for s in ends)
        after = (cluster.load_after(taker, takes), cluster.load_after(a["donor"], -gives))
        if after != (a["taker_after"], a["donor_after"]):
            return "predicted are %d and %d, of %s" % (a["taker_after"], a["donor_after"], after)
    return None


def judge(case, answers, rules, saw):
    """The first answer of a case that is not true, as (event, text); None: all are."""
    cluster = second.Cluster(case.conf, case.services, [dict(n) for n in case.nodes], rules)
    answers, a = iter(answers), None
    for e in case.events:
        if e[0] == "goes":
            cluster.nodes[e[1]]["service"] = e[2]
        elif e[0] == "load":
            cluster.nodes[e[1]].update(known=bool(e[2]), load=e[3])
        elif e[0] == "scan":
            cluster.scan(e[1])
        elif e[0] == "asked":
            cluster.asked(e[1], a["why"], e[2])
        else:
            a = next(answers)
            saw[a["why"]] = saw.get(a["why"], 0) + 1
            text = untrue(cluster, e[1], cluster.truth(e[1], e[2], e[3]), a)
            if text:
                return e, text
    return None


def ask_c(cases):
    text = "\n".join(line for c in cases for line in c.lines()) + "\n"
    run = subprocess.run([REPLAY], input=text, capture_output=True, text=True, check=False)
    got = [parse(line) for line in run.stdout.splitlines()]
    asks = [sum(e[0] == "ask" for e in c.events) for c in cases]
    if run.returncode or len(got) != sum(asks):
        sys.exit("compare: %s ended with %d: %s" % (REPLAY, run.returncode, run.stderr))
    for n in asks:
        yield got[:n]
        got = got[n:]


def first_untrue(cases, answers, rules, saw):
    for case, (seed, got) in zip(cases, answers):
        found = judge(case, got, rules, saw)
        if found:
            return (seed,) + found
    return None


def main():
    first, saw = int(os.environ.get("RESEX_SEED", "1")), {}
    plants = {str(p): p for p in PLANTS}
    for begin in range(first, first + CLUSTERS, BATCH):
        seeds = range(begin, min(begin + BATCH, first + CLUSTERS))
        cases = [Case(s) for s in seeds]
        answers = list(zip(seeds, ask_c(cases)))
        found = first_untrue(cases, answers, second.RULES, saw)
        if found:
            sys.exit("compare: cluster %d, %s: %s" % found)
        for name in list(plants):
            if first_untrue(cases, answers, dict(second.RULES, **plants[name]), {}):
                del plants[name]
    print("compare: %d clusters, all reasons are true; %s" % (
        CLUSTERS, ", ".join("%s %d" % i for i in sorted(saw.items()))))
    rare = [name for name in SENTENCES.values() if saw.get(name, 0) < LEAST]
    print("compare: %d plants, %d missed %s" % (len(PLANTS), len(plants), "; ".join(plants)))
    if rare:
        print("compare: fewer than %d of %s" % (LEAST, ", ".join(rare)))
    sys.exit(first == 1 and bool(plants or rare))


main()
