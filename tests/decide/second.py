# SPDX-License-Identifier: GPL-2.0-or-later
"""second: which reasons hold true for a move of a node, or for none, in a cluster and its history.

Written from the rules in src/reconf/decide.h and resex-reconf(7). Cluster.truth() gives the facts
that an answer of decide() must agree with: the one reason that holds, the donors that come nearest,
and what the move would bring. RULES has what each plant of compare.py changes.
"""
LOW, GAIN, REST, BUDGET, REVERSAL, HOME, BACKOFF, CAPACITY, CHAIN = (1 << i for i in range(9))
ENDLESS = 2**32 - 1  # the load of a service without nodes, or that is not known
NOBODY = 0xffff
STEPS = 3

# A reason that holds for one donor; a later one comes nearer to a move.
NEARER = ("no-spare", "guaranteed", "none-low", "may-not", "stuck", "rests", "no-gain")
MOVES = ("load", "guarantee", "priority")

RULES = {
    "half": True,        # half of the loads must be known, and one more
    "rest": 1,           # a node rests so many times rest
    "budget": 0,         # so many tokens more
    "waits": 2,          # a back-off is so many times the one before
    "most waits": 64,
    "reversals": 4,
    "freeze": 2,         # a freeze is so many times the one before
    "home": True,        # nodes that go home during a freeze are no reversals
    "own first": True,   # of those above their share, the taker's own nodes go home first
    "swap": True,        # own nodes come for others
    "swap any": False,   # also for those of the same capacity
    "margin": True,
    "round up": True,
    "capacity": True,
    "minimum": 0,        # a donor keeps so many nodes more
    "guarantee": True,   # a lower service at its guarantee gives to a higher one
    "owed": True,
    "preempts": True,
    "maximum": 0,
    "last node": True,
    "pending": True,
    "free again": True,  # a load that is not high ends the back-off
    "order": NEARER,
    "least node": True,
    "least donor": True,
    "chain": STEPS,
    "chain margin": True,
    "chain high": True,
    "chain minimum": True,
    "chain rest": True,
}


class Past:
    """Of one service."""

    def __init__(self, conf):
        self.gave = None
        self.tokens, self.filled = conf["budget_ns"], 0
        self.again, self.waits = None, 0


class Cluster:
    def __init__(self, conf, services, nodes, rules):
        self.conf, self.services, self.nodes, self.rules = conf, services, nodes, rules
        self.past = [Past(conf) for _ in services]
        self.was = [None] * len(nodes)      # the service, by the newest scan that showed one
        self.moved = [None] * len(nodes)
        self.reversals, self.until, self.times = [], None, 0

    def on(self, rule):
        return not self.conf["off"] & rule

    # --- history ---

    def frozen(self, now):
        return max(self.until - now, 0) if self.on(REVERSAL) and self.until is not None else 0

    def reversal(self, now):
        self.reversals = (self.reversals + [now])[-self.rules["reversals"]:]
        if len(self.reversals) < self.rules["reversals"] or \
                now - self.reversals[0] > self.conf["freeze"]:
            return
        again = self.until is not None and self.reversals[0] - self.until < self.conf["rest"]
        self.times = min(self.times * self.rules["freeze"], 16) if again else 1
        self.until = now + self.conf["freeze"] * self.times
        self.reversals = []

    def scan(self, now):
        went = [(i, self.was[i], n["service"]) for i, n in enumerate(self.nodes)
                if n["service"] != NOBODY and self.was[i] not in (None, n["service"])]
        for _, _, taker in went:
            gave = self.past[taker].gave
            if gave is None or now - gave > self.conf["rest"]:
                continue
            if not self.rules["home"] or not self.frozen(now):
                self.reversal(now)
        for i, donor, _ in went:
            self.past[donor].gave = self.moved[i] = now
        for i, n in enumerate(self.nodes):
            if n["service"] != NOBODY:
                self.was[i] = n["service"]

    def tokens(self, s, now):
        p = self.past[s]
        return min(p.tokens + now - p.filled, self.conf["budget_ns"])

    def token(self):
        return self.conf["budget_ns"] // (self.conf["budget"] + self.rules["budget"])

    def asked(self, s, reason, now):
        p = self.past[s]
        if reason in MOVES or reason == "chain":
            p.tokens, p.filled = self.tokens(s, now) - self.token(), now
        if reason in MOVES or reason in ("chain", "home") or \
                (reason == "calm" and self.rules["free again"]):
            p.again, p.waits = None, 0
        elif reason in NEARER:
            p.waits = min(p.waits * self.rules["waits"] if p.again is not None else 1,
                          self.rules["most waits"])
            p.again = now + p.waits * self.conf["check"]

    # --- loads ---

    def capacity(self, n):
        if not self.on(CAPACITY) or not self.rules["capacity"]:
            return 1000
        return min(n["capacity"] or 1000, 100000)

    def of(self, s):
        return [n for n in self.nodes if n["alive"] and n["service"] == s]

    def count(self, s):
        return len(self.of(s))

    def known(self, s):
        known = sum(n["known"] for n in self.of(s))
        return not self.of(s) or (known * 2 > self.count(s) if self.rules["half"]
                                  else known * 2 >= self.count(s))

    def load(self, s):
        known = [n for n in self.of(s) if n["known"]]
        total = sum(self.capacity(n) for n in known)
        if not total:
            return ENDLESS
        return sum(min(n["load"], 1000000) * self.capacity(n) for n in known) // total

    def load_after(self, s, more):
        """When so much capacity comes to its nodes, or goes if it is less than 0."""
        nodes = self.of(s)
        capacity = sum(self.capacity(n) for n in nodes)
        if all(n["known"] for n in nodes):
            work = sum(min(n["load"], 1000000) * self.capacity(n) for n in nodes)
        elif self.load(s) == ENDLESS:
            work = 0
        else:
            work = self.load(s) * capacity
        if capacity + more <= 0:
            return ENDLESS if work or not self.rules["last node"] else 0
        if nodes and self.load(s) == ENDLESS:
            return ENDLESS
        up = capacity + more - 1 if self.rules["round up"] else 0
        return min((work + up) // (capacity + more), ENDLESS)

    def gains(self, below, load):
        margin = self.conf["margin"] if self.rules["margin"] else 0
        return not self.on(GAIN) or (below < load and below * (1000 + margin) <= load * 1000)

    # --- rules ---

    def is_low(self, s):
        return self.known(s) and (not self.on(LOW) or self.load(s) < self.services[s]["low"])

    def hinders_donor(self, s, nodes, to):
        """Why a service with so many nodes has none to spare for this one; None: it has one."""
        conf = self.services[s]
        higher = self.services[to]["priority"] > conf["priority"]
        if nodes <= conf["minimum"] + self.rules["minimum"]:
            return "no-spare"
        if nodes <= conf["guarantee"] and not (higher and self.rules["guarantee"]):
            return "guaranteed"
        return None

    def rests(self, i, now):
        if not self.on(REST) or self.moved[i] is None:
            return 0
        return max(self.moved[i] + self.rules["rest"] * self.conf["rest"] - now, 0)

    def hinders_node(self, i, to, now):
        n = self.nodes[i]
        if not n["may"] >> to & 1:
            return "may-not"
        if n["fixed"] or (n["pending"] and self.rules["pending"]):
            return "stuck"
        return "rests" if self.rests(i, now) else None

    def node_load(self, i):
        """For a choice among nodes; one whose load is not known comes last."""
        n = self.nodes[i]
        return (min(n["load"], 1000000) if n["known"] else 1000001, i)

    def members(self, s):
        return [i for i, n in enumerate(self.nodes) if n["alive"] and n["service"] == s]

    def look_at_nodes(self, donor, taker, now, gain):
        """(reason or None, node or None, wait)"""
        found, whys = [], {}
        for i in self.members(donor):
            why = self.hinders_node(i, taker, now)
            after = self.load_after(donor, -self.capacity(self.nodes[i]))
            if not why and gain and not self.gains(after, self.load(taker)):
                why = "no-gain"
            if not why:
                found.append(i)
            whys.setdefault(why, []).append(i)
        if found:
            pick = min if self.rules["least node"] else max
            return None, pick(found, key=self.node_load), 0
        why = max(whys, key=self.rules["order"].index)
        wait = min(self.rests(i, now) for i in whys[why]) if why == "rests" else 0
        return why, None, wait

    def exempt(self, donor, taker):
        t, d = self.services[taker], self.services[donor]
        if self.rules["owed"] and self.count(taker) < t["guarantee"] and \
                self.count(donor) > d["guarantee"]:
            return "guarantee"
        return "priority" if self.rules["preempts"] and t["priority"] > d["priority"] else None

    def offer(self, donor, taker, now):
        """(what it is: of MOVES, or of NEARER; node or None; wait)"""
        why = self.hinders_donor(donor, self.count(donor), taker)
        if why:
            return why, None, 0
        exempt = self.exempt(donor, taker)
        if self.is_low(donor):
            why, node, wait = self.look_at_nodes(donor, taker, now, True)
            if node is not None:
                return "load", node, 0
        else:
            why, wait = "none-low", 0
        if not exempt:
            return why, None, wait
        why, node, wait = self.look_at_nodes(donor, taker, now, False)
        return (exempt, node, 0) if node is not None else (why, None, wait)

    # --- chains ---

    def edge(self, a, b, now):
        """The node of a that would go to b."""
        free = [i for i in self.members(a) if not self.hinders_node(i, b, now) or
                (not self.rules["chain rest"] and self.hinders_node(i, b, now) == "rests")]
        return min(free, key=self.node_load) if free else None

    def gives(self, s, nodes, after, to, taker):
        return ((after < self.services[s]["high"] or not self.rules["chain high"])
                and self.gains(after, self.load(taker))
                and (not self.hinders_donor(s, nodes, to) or not self.rules["chain minimum"])
                and not self.hinders_donor(s, nodes, taker))

    def worst_of(self, path, now):
        """The highest load that a chain A, B .. taker leaves to who gives; None: it is none."""
        taker, worst = path[-1], 0
        nodes = [self.edge(a, b, now) for a, b in zip(path, path[1:])]
        if None in nodes or not all(self.is_low(s) for s in path[:-1]):
            return None
        if self.edge(path[0], taker, now) is not None:
            return None
        for k, s in enumerate(path[:-1]):
            got = self.capacity(self.nodes[nodes[k - 1]]) if k else 0
            after = self.load_after(s, got - self.capacity(self.nodes[nodes[k]]))
            if k and self.count(s) >= self.services[s]["maximum"]:
                return None
            if not self.gives(s, self.count(s) + (k > 0), after, path[k + 1], taker):
                return None
            worst = max(worst, after)
        return worst

    def paths(self, taker):
        others = [s for s in range(len(self.services)) if s != taker]
        for a in others:
            for b in others:
                if b == a:
                    continue
                yield (a, b, taker)
                for c in others:
                    if c not in (a, b):
                        yield (a, b, c, taker)

    def best_chains(self, taker, single, now):
        """All that leave the least load."""
        most = single if self.on(CHAIN) else 0
        if self.on(CHAIN) and single < ENDLESS and self.rules["chain margin"]:
            most = single * 1000 // (1000 + self.conf["margin"])
        found = {}
        for path in self.paths(taker):
            worst = self.worst_of(path, now) if len(path) <= self.rules["chain"] + 1 else None
            if worst is not None and worst < most:
                found.setdefault(worst, []).append(path)
        return found[min(found)] if found else []

    # --- home ---

    def may_go_home(self, i, taker):
        n, s = self.nodes[i], self.nodes[i]["service"]
        return (n["alive"] and s not in (taker, NOBODY) and not n["fixed"] and not n["pending"]
                and n["may"] >> taker & 1 and not self.hinders_donor(s, self.count(s), taker))

    def by_share(self, taker):
        """Of each service that is furthest above its share, the node that goes."""
        able = {}
        for i, n in enumerate(self.nodes):
            if self.may_go_home(i, taker):
                able.setdefault(n["service"], []).append(i)
        above = {s: self.count(s) - self.services[s]["share"] for s in able}
        most = max(above.values(), default=0)

        def order(i):
            home = self.nodes[i]["home"] if self.rules["own first"] else None
            rank = (taker, "elsewhere", self.nodes[i]["service"])
            return (rank.index(home if home in rank else "elsewhere"), self.node_load(i))
        return [(s, min(able[s], key=order)) for s in able if above[s] == most > 0]

    def in_turn(self, taker, i):
        """Has the taker a node of other home and capacity that may go to the donor of i?"""
        return any(n["alive"] and n["service"] == taker and n["home"] != taker
                   and not n["fixed"] and not n["pending"]
                   and n["may"] >> self.nodes[i]["service"] & 1
                   and (self.capacity(n) != self.capacity(self.nodes[i]) or self.rules["swap any"])
                   for n in self.nodes)

    def homes(self, taker):
        """Nodes that may go home to the taker now, by (donor, node)."""
        conf = self.services[taker]
        if not self.on(HOME) or self.count(taker) >= conf["maximum"]:
            return []
        found = self.by_share(taker) if self.count(taker) < conf["share"] else []
        if found or not self.rules["swap"]:
            return found
        own = [i for i, n in enumerate(self.nodes)
               if n["home"] == taker and self.may_go_home(i, taker) and self.in_turn(taker, i)]
        largest = max((self.capacity(self.nodes[i]) for i in own), default=0)
        return [(self.nodes[i]["service"], i) for i in own
                if self.capacity(self.nodes[i]) == largest]

    # --- the whole ---

    def truth(self, taker, high, now):
        """{"why", "donors": who may be named, "wait", "steps": lists of steps, each is right}"""
        frozen = self.frozen(now)
        homes = self.homes(taker) if frozen else []
        none = {"donors": {NOBODY}, "wait": 0, "steps": []}
        if homes:
            return dict(none, why="home", donors={s for s, _ in homes},
                        steps=[[(taker, s, i)] for s, i in homes])
        if not high:
            return dict(none, why="calm")
        if frozen:
            return dict(none, why="frozen", wait=frozen)
        if not self.known(taker):
            return dict(none, why="unknown")
        if self.count(taker) >= self.services[taker]["maximum"] + self.rules["maximum"]:
            return dict(none, why="at-maximum")
        again = self.past[taker].again
        if self.on(BACKOFF) and again is not None and again > now:
            return dict(none, why="backs-off", wait=again - now)
        found = self.by_load(taker, now)
        short = self.token() - self.tokens(taker, now)
        if found["steps"] and self.on(BUDGET) and short > 0:
            return dict(found, why="over-budget", wait=short, steps=[])
        return found

    def by_load(self, taker, now):
        offers = {d: self.offer(d, taker, now) for d in range(len(self.services)) if d != taker}
        whys = {why for why, _, _ in offers.values()}
        moves = [why for why in MOVES if why in whys]
        best = moves[0] if moves else max(whys, key=self.rules["order"].index)
        donors = [d for d in offers if offers[d][0] == best]
        if best == "priority":
            lowest = min(self.services[d]["priority"] for d in donors)
            donors = [d for d in donors if self.services[d]["priority"] == lowest]
        wait = min(offers[d][2] for d in donors)
        donors = [d for d in donors if offers[d][2] == wait]
        pick = min if self.rules["least donor"] else max
        least = pick(self.load(d) for d in donors)
        donors = [d for d in donors if self.load(d) == least]
        single = ENDLESS
        if moves:
            first = min(donors)
            single = self.load_after(first, -self.capacity(self.nodes[offers[first][1]]))
        chains = self.best_chains(taker, single, now)
        if chains:
            return {"why": "chain", "donors": {p[0] for p in chains}, "wait": 0,
                    "steps": [[(b, a, self.edge(a, b, now)) for a, b in zip(p, p[1:])]
                              for p in chains]}
        steps = [[(taker, d, offers[d][1])] for d in donors] if moves else []
        return {"why": best, "donors": set(donors), "wait": wait, "steps": steps}
