# SPDX-License-Identifier: GPL-2.0-or-later
"""slo: the policy of that name once more, from resex-policies(7); see second.py."""
from math import isqrt

from second import (CAP_NONE, CAPPABLE, EXEMPT, ONE, U32, Block, Policy, clamp, entry, percent)

FREE = 100
SAT, SAMPLES, QUEUES = 2**62, 2**20, 2**16
NONE, HELD, BROKEN = range(3)
FAR, NEAR, CLEAR = 4 * ONE // 10, 9 * ONE // 10, 95 * ONE // 100
EARLY, PROBE, LONGEST = 4, 16, 64
FAILS_AT = ((1, 2 * ONE - 1), (EARLY, 5 * ONE // 4), (PROBE, 11 * ONE // 10), (LONGEST, ONE))
MOST_SENT = (2**64 - 1) // 2000


def fraction(part, whole):
    return min(part * ONE // max(whole, 1), U32)


class LinkState:
    def __init__(self):
        self.level, self.hold, self.fail, self.settled, self.fails = FREE, 0, 0, 0, 0
        self.open, self.worst, self.is_floor = False, 0, False
        self.fail_until = self.start = self.changed = self.cycles = 0
        self.floor_time = self.sent_time = self.fail_sent = self.pause = self.pause_seen = 0
        self.hold_excess = 0


class Judged:
    def __init__(self):
        self.excess, self.worst, self.all = 0, None, True


class Slo(Policy):
    NAME, REASONS = "slo", 12
    PARAMS = (("window", "ns", 10**6, 10**10, 50 * 10**6), ("min_samples", "-", 1, 10**6, 128),
              ("tolerance", "permille", 0, 10000, 50), ("spare", "permille", 0, 1000, 250),
              ("bite", "ns", 0, 10**9, 10**7), ("stale", "ns", 10**7, 10**11, 10**9),
              ("retry", "ns", 10**8, 10**12, 5 * 10**9), ("futile", "ns", 0, 10**11, 2 * 10**9),
              ("gain", "permille", 0, 1000, 500), ("rest", "ns", 0, 10**12, 30 * 10**9),
              ("min_cap", "mpct", 1000, 100000, 1000))
    RULES = ("gross", "failed later", "held early", "held", "free failed", "probe failed", "probe failed by little",
             "alike", "settled again", "not below held", "to the floor", "floor not held",
             "refused", "stays near", "raised", "to the middle", "stays below failed", "forgot failed",
             "lifted", "silent", "not believed", "spared", "all joined", "in turn", "not in a row",
             "pause")
    (WHY_HELD, CAPPED, CLAIM, FLOOR, IS_EXEMPT, NOT_CAPPABLE, PROMISED, REFUSED, OTHER_REFUSED,
     SMALL, UNHEARD, UNKNOWN) = range(12)

    def __init__(self, params=()):
        super().__init__(params)
        self.links = [LinkState() for _ in range(8)]

    def new_block(self):
        b = Block()
        b.n = b.io = b.mtus = b.queues = b.active = 0
        b.heard, b.refused_until, b.verdict = None, 0, NONE
        b.rise = b.bound = b.first = 0
        b.member, b.place, b.level, b.due = False, 0, 0, 0
        b.wanted, b.wait_since = CAP_NONE, None
        return b

    # --- a tick

    def plan(self, t):
        self.t = t
        self.settle()
        self.collect()
        for link in range(8):
            if any(g.link == link for g in t.guests):
                self.level(link)
        for g in t.guests:
            self.take_turn(g, self.blocks[g.slot])
        plan = {}
        for g in t.guests:
            plan[g.slot] = line = self.line(g)
            self.blocks[g.slot].wanted = line[:2]
        return plan

    def on(self, link):
        return [(g, self.blocks[g.slot]) for g in self.t.guests if g.link == link]

    def members(self, link):
        return [(g, b) for g, b in self.on(link) if b.member]

    def since(self, time):
        return self.t.now - time

    def is_awaited(self, g, b):
        wanted = clamp(b.wanted, g, g.min)
        if not self.may_cap(g) or percent(wanted) == percent(g.cap):
            b.wait_since = None
            return False
        if b.wait_since is None:
            b.wait_since = self.t.now
        return self.since(b.wait_since) <= self.p.stale

    def settle(self):
        self.waits = [False] * 8
        self.quiet = [max(0, l.changed) for l in self.links]
        for g in self.t.guests:
            b = self.blocks[g.slot]
            if g.flags & EXEMPT or self.is_promised(g):
                b.member, b.level = False, 0
            if g.cap_time:
                self.quiet[g.link] = max(self.quiet[g.link], g.cap_time + self.p.bite)
            self.waits[g.link] |= self.is_awaited(g, b)

    def take_turn(self, g, b):
        if b.member and self.since(b.due) >= 0:
            b.level = self.links[g.link].level

    def collect(self):
        self.queues = [0] * 8
        for g in self.t.guests:
            self.queues[g.link] += min(g.queues, QUEUES)
            if self.samples(g):
                self.blocks[g.slot].heard = self.t.now
        for g in self.t.guests:
            b, n = self.blocks[g.slot], self.samples(g)
            others, mtus = self.queues[g.link] - min(g.queues, QUEUES), min(g.sent + g.recv, U32)
            b.mtus, b.queues = min(b.mtus + mtus, SAT), min(b.queues + others, SAT)
            b.active += others > 0
            if b.member and mtus:
                self.note_pause(self.links[g.link])
            if n and b.n + n <= SAMPLES:
                b.n, b.io = b.n + n, b.io + g.io

    def note_pause(self, l):
        pause, l.sent_time = min(self.since(l.sent_time), self.p.stale), self.t.now
        if pause >= l.pause or self.since(l.pause_seen) > 2 * self.p.stale:
            l.pause, l.pause_seen = pause, self.t.now

    @staticmethod
    def samples(g):
        return 0 if g.n > SAMPLES or g.io > g.sum or g.sum > g.n << 34 else g.n

    @staticmethod
    def may_cap(g):
        return bool(g.flags & CAPPABLE) and not g.flags & EXEMPT

    @staticmethod
    def is_promised(g):
        return g.base > 0

    def tolerance(self, g):
        return g.tolerance or self.p.tolerance or 1

    def reports(self, g):
        b = self.blocks[g.slot]
        return (self.is_promised(g) and b.heard is not None and
                self.since(b.heard) <= self.p.stale and not self.is_refused(b))

    def is_refused(self, b):
        return b.refused_until > self.t.now

    # --- windows

    def level(self, link):
        l = self.links[link]
        if not any(self.reports(g) for g, _ in self.on(link)):
            self.lift(link)
            return
        if l.level < FREE and self.is_silent(l):
            self.saw["silent"] += 1
            self.lift(link)
            return
        if self.waits[link] or l.start < self.quiet[link]:
            l.open = False
        if l.open:
            self.judge_link(link)
        if not l.open and not self.waits[link] and self.t.now >= self.quiet[link]:
            l.open, l.start = True, self.t.now
            for _, b in self.on(link):
                b.n = b.io = b.mtus = b.queues = b.active = 0

    def is_silent(self, l):
        return self.since(l.sent_time) > 5 * self.p.stale

    def age(self, link):
        return max(0, self.since(self.links[link].start))

    def capacity(self, link):
        k = self.t.links[link]
        return max(1, k.bytes_s * self.age(link) // (max(k.mtu, 1) * 10**9))

    @staticmethod
    def on_link(g):
        return fraction(g.base_io, g.base)

    def bound(self, g):
        b, all_mtus, wait = self.blocks[g.slot], self.capacity(g.link), self.on_link(g)
        others = sum(o.mtus for h, o in self.on(g.link) if h is not g)
        own = min(b.mtus, others)
        busy = ONE if others + own >= all_mtus else others * ONE // (all_mtus - own)
        if b.active:
            wait = wait * b.queues // b.active
        return min(wait * busy // ONE, U32)

    def rise(self, g):
        b = self.blocks[g.slot]
        return fraction(max(0, b.io // b.n - g.base_io), g.base)

    def believed(self, rise, bound):
        self.saw["not believed"] += rise > bound
        return min(rise, bound)

    def excess(self, g):
        return self.believed(self.rise(g), self.bound(g)) * 1000 // self.tolerance(g)

    def has_enough(self, b, windows):
        return b.n > 0 and (b.n >= self.p.min_samples or
                            windows >= PROBE and b.n * 8 >= self.p.min_samples)

    def judge(self, link, windows):
        j = Judged()
        for g, b in self.on(link):
            if not self.reports(g):
                continue
            if not self.has_enough(b, windows):
                j.all = False
                continue
            excess = self.excess(g)
            if j.worst is None or excess > j.excess:
                j.worst, j.excess = g, excess
        return j

    def judge_link(self, link):
        pause = max(0, self.links[link].pause)
        self.saw["pause"] += pause > self.p.window
        windows = self.age(link) // max(pause, self.p.window)
        if not windows:
            return
        j = self.judge(link, windows)
        if j.worst is None:
            self.links[link].open = windows < LONGEST
        elif self.has_failed(j, windows):
            self.note(link, windows)
            self.fail(link, j)
        elif self.has_held(j, windows):
            self.note(link, windows)
            self.hold(link, j)

    def has_failed(self, j, windows):
        failed = any(windows >= w and j.excess > most for w, most in FAILS_AT)
        self.saw["gross"] += failed and j.excess >= 2 * ONE
        self.saw["failed later"] += failed and j.excess < 2 * ONE
        return failed

    def has_held(self, j, windows):
        early = EARLY <= windows < PROBE and j.all and j.excess < FAR
        self.saw["held early"] += early
        return early or windows >= LONGEST or windows >= PROBE and j.excess <= CLEAR

    def note(self, link, windows):
        for g, b in self.on(link):
            if self.reports(g) and self.has_enough(b, windows):
                b.rise, b.bound = self.rise(g), self.bound(g)
                b.verdict = BROKEN if self.excess(g) > ONE else HELD

    # --- members

    def least_level(self, g):
        return min(FREE, max(1, -(-max(self.p.min_cap, g.min) // (g.vcpus * 1000))))

    def may_join(self, g, b):
        return self.may_cap(g) and not self.is_promised(g) and b.mtus > 0

    def matters(self, b, r, n):
        harm = b.mtus * self.on_link(r) // self.capacity(r.link)
        return harm * n * 10**6 > self.tolerance(r) * self.p.spare * ONE

    def free_place(self, link):
        used = {b.place for _, b in self.members(link)}
        self.saw["in turn"] += bool(used)
        return next(p for p in range(257) if p not in used)

    def join(self, link, r):
        able = [(g, b) for g, b in self.on(link) if self.may_join(g, b)]
        for every in (False, True):
            for _, b in able:
                if b.member:
                    continue
                if every or self.matters(b, r, len(able)):
                    b.place, b.member = self.free_place(link), True
                    self.saw["all joined"] += every
                else:
                    self.saw["spared"] += 1
            if self.members(link):
                return

    def sent(self, link):
        return min(sum(b.mtus for _, b in self.members(link)) * 10**9 // max(1, self.age(link)),
                   MOST_SENT)

    # --- levels

    def part(self, cycle, place):
        return cycle * int(format(place, "08b")[::-1], 2) // 256

    def set_level(self, link, level):
        l, cycle = self.links[link], 5 * self.p.bite
        if l.level == FREE:
            l.cycles = self.t.now
        l.level, l.open, l.changed = level, False, self.t.now
        for _, b in self.members(link):
            after = 0
            if cycle:
                after = (self.part(cycle, b.place) - self.since(l.cycles)) % cycle
            self.saw["not in a row"] += b.place > 1 and after > 0
            b.due = self.t.now + after
            l.changed = max(l.changed, b.due)

    def lift(self, link):
        l = self.links[link]
        l.level, l.hold, l.fail, l.fails, l.open, l.is_floor = FREE, 0, 0, 0, False, False
        l.fail_sent = l.pause = 0
        for _, b in self.on(link):
            b.member, b.level = False, 0

    @staticmethod
    def scaled(level, aim, excess):
        return min(2 * level, level * aim * ONE // (1000 * max(1, excess)))

    def at_floor(self, link, j):
        l, r = self.links[link], self.blocks[j.worst.slot]
        l.is_floor, l.open = True, False
        self.saw["floor not held"] += 1
        if not self.is_futile(l) or not self.is_in_vain(r, j):
            return
        self.saw["refused"] += 1
        r.refused_until = self.t.now + self.p.rest
        l.settled = 0
        self.lift(link)

    def is_futile(self, l):
        return self.p.futile and self.since(l.floor_time) >= self.p.futile

    def is_in_vain(self, r, j):
        return r.first and j.excess * 1000 > r.first * (1000 - self.p.gain)

    def note_failure(self, link, excess):
        l = self.links[link]
        probed, gross = l.hold and l.hold < l.level, excess >= 2 * ONE
        self.saw["probe failed"] += bool(probed)
        l.fails = min(4, l.fails + 1) if probed and gross else 0
        after = self.p.retry << l.fails
        if probed and not gross:
            self.saw["probe failed by little"] += 1
            after = min(after, self.time_to_hold(l, self.age(link), excess))
        if not probed:
            l.hold = 0
        l.fail, l.fail_until = l.level, self.t.now + after

    def time_to_hold(self, l, age, excess):
        goal = 950 * ONE // 1000
        return min((2**63 - 1) // 4, age * max(0, excess - goal) // (goal - l.hold_excess))

    def is_alike(self, l, sent, free):
        return not free and l.fail_sent and sent * 1000 >= l.fail_sent * 950

    def fail(self, link, j):
        l = self.links[link]
        free = l.level == FREE
        l.worst, l.open = j.worst.slot, False
        if free:
            self.blocks[l.worst].first, l.sent_time = j.excess, self.t.now
            self.saw["free failed"] += 1
        self.join(link, j.worst)
        if not self.members(link):
            return
        floor = min(self.least_level(g) for g, _ in self.members(link))
        if l.level <= floor:
            self.at_floor(link, j)
            return
        sent = self.sent(link)
        alike = self.is_alike(l, sent, free)
        self.note_failure(link, j.excess)
        l.fail_sent = sent
        level = min(self.scaled(l.level, 900, j.excess), l.level - 1)
        if alike and level > l.level // 2:
            self.saw["alike"] += 1
            level = l.level // 2
        if free and l.settled and j.excess >= 2 * ONE and level > l.settled:
            self.saw["settled again"] += 1
            level = l.settled
        self.saw["not below held"] += level < l.hold
        level = max(level, l.hold)
        if level <= floor:
            self.saw["to the floor"] += 1
            level, l.floor_time = floor, self.t.now
        self.set_level(link, level)

    def raised(self, l, excess):
        level = max(self.scaled(l.level, 950, excess), l.level + 1)
        if l.fail:
            middle = max(l.level + 1, isqrt(l.level * l.fail))
            self.saw["to the middle"] += middle < level
            level = min(level, middle)
            if level >= l.fail:
                self.saw["stays below failed"] += 1
                level = l.level
        return FREE if level >= 95 else level

    def forgets(self, l, excess):
        return l.fail and (excess < FAR or self.t.now >= l.fail_until)

    def is_near(self, excess):
        return excess >= NEAR

    def hold(self, link, j):
        l = self.links[link]
        l.worst, l.open = j.worst.slot, False
        if l.level == FREE:
            return
        self.saw["held"] += 1
        l.is_floor, l.floor_time, l.fail_sent = False, self.t.now, 0
        if not self.sent(link):
            return
        l.hold = l.settled = l.level
        if self.forgets(l, j.excess):
            self.saw["forgot failed"] += 1
            l.fail = 0
        l.hold_excess = min(j.excess, NEAR)
        if self.is_near(j.excess):
            self.saw["stays near"] += 1
            return
        level = self.raised(l, j.excess)
        if level == FREE:
            self.saw["lifted"] += 1
            self.lift(link)
        elif level != l.level:
            self.saw["raised"] += 1
            self.set_level(link, level)

    # --- the plan

    def cap(self, g, b):
        if not self.may_cap(g) or not b.member or not 0 < b.level < FREE:
            return CAP_NONE
        return clamp((1, min(b.level * g.vcpus * 1000, U32)), g, self.least(g))

    def promise(self, r, reason, other=None):
        b = self.blocks[r.slot]
        return reason, min(b.rise, b.bound) * 1000 // ONE, r.slot if other is None else other, \
            self.tolerance(r)

    def promised(self, g, refused):
        found = None
        for r, b in self.on(g.link):
            if r is g or not self.is_promised(r):
                continue
            if self.is_refused(b) if refused else self.reports(r):
                if found is None or r.slot == self.links[g.link].worst:
                    found = r
        return found

    def member_line(self, g, r):
        b = self.blocks[r.slot]
        if self.links[g.link].is_floor and b.verdict == BROKEN:
            return self.promise(r, self.FLOOR)
        if b.rise > 2 * b.bound:
            return self.promise(r, self.CLAIM)[:3] + (b.rise * 1000 // ONE,)
        return self.promise(r, self.CAPPED)

    def free_line(self, g):
        r = self.promised(g, True)
        if r:
            return self.promise(r, self.OTHER_REFUSED)
        r = self.promised(g, False)
        if not r:
            return self.UNHEARD, 0, 0, 0
        return self.promise(r, {NONE: self.UNKNOWN, HELD: self.WHY_HELD,
                                BROKEN: self.SMALL}[self.blocks[r.slot].verdict])

    def reason(self, g, b, cap):
        if g.flags & EXEMPT:
            return self.IS_EXEMPT, 0, 0, 0
        if not g.flags & CAPPABLE:
            return self.NOT_CAPPABLE, 0, 0, 0
        if self.is_promised(g):
            if self.is_refused(b):
                return self.promise(g, self.REFUSED, (b.refused_until - self.t.now) // 10**6)
            return self.promise(g, self.PROMISED, 0)
        r = self.promised(g, False) if cap[0] else None
        return self.member_line(g, r) if r else self.free_line(g)

    def line(self, g):
        b = self.blocks[g.slot]
        cap = self.cap(g, b)
        reason, *why = self.reason(g, b, cap)
        return entry(cap, ONE, reason, (cap[1], *why))
