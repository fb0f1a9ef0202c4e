# SPDX-License-Identifier: GPL-2.0-or-later
"""second: the policies once more, from resex-policies(7) and the paper, not from the C.

compare.py holds these against what the C in policies/ decides, figure by figure. A rule is a
method, so that compare.py can plant an error in one. `saw` counts how often each rule took effect.
"""
from collections import Counter

ONE = 65536
EXEMPT, CAPPABLE, NEW = 1, 2, 4
CAP_NONE = (0, 0)  # (limited, milli-percent)
PERCENT = 1000
VCPU = 100 * PERCENT
U32 = 2**32 - 1


class Link:
    __slots__ = ("bytes_s", "mtu")

    def __init__(self, bytes_s, mtu):
        self.bytes_s, self.mtu = bytes_s, mtu


class Guest:
    """What a policy is told of one guest in one tick."""
    __slots__ = ("slot", "flags", "link", "weight", "ceiling", "min", "vcpus", "cap", "cap_time",
                 "rate", "allocated", "balance", "msg", "cpu", "sent", "recv", "queues", "n", "sum", "io",
                 "iosq", "base", "base_io", "base_dev", "tolerance", "kept")


class Tick:
    __slots__ = ("now", "epoch_start", "epoch_ns", "interval", "epoch", "links", "guests")


def full(g):
    """100 % of all VCPUs."""
    return min(g.vcpus * VCPU, U32)


def clamp(cap, g, least):
    """A cap brought into what the operator and Xen allow; the ceiling wins over the least."""
    if not cap[0]:
        return g.ceiling
    high = min(full(g), g.ceiling[1]) if g.ceiling[0] else full(g)
    return (1, min(max(cap[1], least, PERCENT), high))


def percent(cap):
    """What is written to Xen: the nearest whole percent, halves up, at least 1; 0 is none."""
    return max(1, (cap[1] + PERCENT // 2) // PERCENT) if cap[0] else 0


def entry(cap, rate, reason, why, stands=0):
    """One guest's line of a plan, in the order in which replay prints it."""
    return (*cap, rate, reason, 0, *why, stands)


class Block:
    """One guest's state; zero at first."""


class Policy:
    """What all policies share. PARAMS: (name, unit, least, most, default)."""
    NAME, PARAMS, REASONS, RULES = None, (), 0, ()
    KIND = None  # of traces to be played: any

    def __init__(self, params=()):
        values = {name: default for name, _, _, _, default in self.PARAMS}
        values.update(params)
        self.p = type("Params", (), values)
        self.blocks = {}
        self.saw = Counter()

    def new_block(self):
        return Block()

    def decide(self, t):
        """{slot: line of the plan}"""
        for g in t.guests:
            if g.slot not in self.blocks or g.flags & NEW and not g.kept:
                self.blocks[g.slot] = self.new_block()
        plan = self.plan(t)
        for line in plan.values():
            self.saw["reason %d" % line[3]] += 1
        return plan

    def plan(self, t):
        return {g.slot: self.guest(t, g, self.blocks[g.slot]) for g in t.guests}

    def least(self, g):
        return max(self.p.min_cap, g.min, PERCENT)


class Null(Policy):
    NAME, REASONS = "null", 1

    def guest(self, t, g, b):
        return entry(CAP_NONE, ONE, 0, (g.balance, g.allocated, 0, 0), 1)


class FreeMarket(Policy):
    NAME, REASONS = "freemarket", 5
    PARAMS = (("low", "permille", 0, 1000, 100), ("guard", "permille", 0, 1000, 100),
              ("cut", "permille", 1, 1000, 100), ("step", "ns", 100000, 1000000000, 10000000),
              ("min_cap", "mpct", 1000, 100000, 1000))
    RULES = ("first cut", "further cut", "cut at the least", "step not over", "guarded", "lifted",
             "emptied", "nothing allocated")
    FREE, CUT, EMPTY, IS_EXEMPT, NOT_CAPPABLE = range(5)

    def new_block(self):
        b = Block()
        b.epoch, b.cap, b.cut_at, b.empty = None, CAP_NONE, None, False
        return b

    def guest(self, t, g, b):
        self.begin_epoch(t, b)
        if not g.flags & EXEMPT and g.flags & CAPPABLE:
            self.slow(t, g, b)
        return self.line(g, b)

    def begin_epoch(self, t, b):
        if b.epoch != t.epoch:
            self.saw["lifted"] += b.cap != CAP_NONE
            b.epoch, b.cap, b.cut_at, b.empty = t.epoch, CAP_NONE, None, False

    def is_low(self, g):
        return g.balance * 1000 < g.allocated * self.p.low

    def is_guarded(self, t):
        left = t.epoch_ns - (t.now - t.epoch_start)
        return left * 1000 <= t.epoch_ns * self.p.guard

    def slow(self, t, g, b):
        if g.allocated == 0:
            self.saw["nothing allocated"] += 1
        elif g.balance == 0:
            self.saw["emptied"] += not b.empty
            b.empty = True
        elif self.is_low(g) and not b.empty:
            self.maybe_cut(t, g, b)

    def maybe_cut(self, t, g, b):
        if self.is_guarded(t):
            self.saw["guarded"] += 1
        elif b.cut_at is not None and t.now - b.cut_at < self.p.step:
            self.saw["step not over"] += 1
        else:
            self.cut(t, g, b)

    def cut(self, t, g, b):
        before = b.cap[1] if b.cap[0] else g.ceiling[1] if g.ceiling[0] else full(g)
        self.saw["further cut" if b.cap[0] else "first cut"] += 1
        b.cap = clamp((1, before * (1000 - self.p.cut) // 1000), g, self.least(g))
        self.saw["cut at the least"] += b.cap[1] == before
        b.cut_at = t.now

    def line(self, g, b):
        reason, cap = self.wish(g, b)
        # In all cases: what is left, what there was, the cap, below what caps are cut.
        threshold = g.allocated * self.p.low // 1000
        return entry(cap, ONE, reason, (g.balance, g.allocated, cap[1], threshold),
                     self.stands(threshold))

    def stands(self, threshold):
        """The least balance that is above what caps are cut below, if there is one."""
        return threshold + 1 if threshold < 2**63 - 1 else 0

    def wish(self, g, b):
        if g.flags & EXEMPT:
            return self.IS_EXEMPT, CAP_NONE
        if not g.flags & CAPPABLE:
            return self.NOT_CAPPABLE, CAP_NONE
        if b.empty:
            return self.EMPTY, clamp((1, self.p.min_cap), g, self.least(g))
        return (self.CUT, b.cap) if b.cap[0] else (self.FREE, CAP_NONE)


class Ratio(Policy):
    NAME, REASONS = "ratio", 5
    PARAMS = (("victim_bytes", "bytes", 1, 2**30, 65536),
              ("hold", "ns", 0, 100000000000, 1000000000),
              ("min_cap", "mpct", 1000, 100000, 1000))
    RULES = ("grew", "expired", "expired to nothing", "held", "exactly the victim's", "least")
    FREE, RATIO, IS_EXEMPT, NOT_CAPPABLE, UNSEEN = range(5)

    def new_block(self):
        b = Block()
        b.size = b.time = 0
        return b

    def guest(self, t, g, b):
        self.remember(t, g, b)
        reason, cap = self.cap(g, b.size)
        return entry(cap, ONE, reason, (cap[1], b.size, self.p.victim_bytes, 0))

    def is_expired(self, t, b):
        return t.now - b.time > self.p.hold

    def remember(self, t, g, b):
        expired = self.is_expired(t, b)
        if expired or (g.msg > 0 and (g.msg >= b.size or b.size == 0)):
            self.saw["grew"] += g.msg > b.size
            self.saw["expired"] += b.size > g.msg > 0
            self.saw["expired to nothing"] += b.size > 0 == g.msg
            b.size, b.time = g.msg, t.now
        else:
            self.saw["held"] += b.size > g.msg

    def cap(self, g, size):
        victim = self.p.victim_bytes
        if g.flags & EXEMPT:
            return self.IS_EXEMPT, CAP_NONE
        if not g.flags & CAPPABLE:
            return self.NOT_CAPPABLE, CAP_NONE
        if size <= victim:
            self.saw["exactly the victim's"] += size == victim
            return (self.FREE if size else self.UNSEEN), CAP_NONE
        wanted = full(g) * victim // size
        self.saw["least"] += wanted < self.least(g)
        return self.RATIO, clamp((1, wanted), g, self.least(g))
