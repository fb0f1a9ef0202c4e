# SPDX-License-Identifier: GPL-2.0-or-later
"""ioshares: the policy of that name once more, from resex-policies(7); see second.py.

The steps of a tick are methods in the page's order; a guest's block holds what it is as a reporter
(its window, its verdict) and as an offender (its rate, its accuser).
"""
from math import isqrt

from second import (CAP_NONE, CAPPABLE, EXEMPT, NEW, ONE, U32, Block, Policy, clamp, entry, full,
                    percent)

SAT = 2**62
SAMPLES = 2**20
NONE, NO_BASE, FINE, SELF, NOBODY, OVER = range(6)  # verdicts
(FREE, TAXED, EMPTY, IS_EXEMPT, NOT_CAPPABLE, FUTILE, SELF_HURT, HURT, UNBLAMED, BASELESS,
 FADING, FLOOR) = range(12)
OF_VERDICT = {SELF: SELF_HURT, NOBODY: UNBLAMED, NO_BASE: BASELESS}


def is_subject(g):
    return g.flags & CAPPABLE and not g.flags & EXEMPT


class Window:
    """What one reporter saw since the window was opened."""

    def __init__(self, now, weighted, raw):
        self.start, self.weighted, self.raw = now, weighted, raw
        self.n = self.sum = self.io = self.iosq = self.cpu = 0
        self.capped = self.counted = False

    def figures(self):
        """(mean of whole latencies, of I/O, deviation of I/O)"""
        var = max(0, self.n * self.iosq - self.io**2) // self.n**2
        return self.sum // self.n, self.io // self.n, isqrt(min(var, 2**64 - 1))


class LinkState:
    def __init__(self):
        self.calm = self.calm_time = self.raised = 0


class IOShares(Policy):
    NAME, REASONS = "ioshares", 12
    PARAMS = (
        ("window", "ns", 1000000, 10000000000, 50000000), ("min_samples", "-", 1, 1000000, 16),
        ("tolerance", "permille", 0, 10000, 50),
        ("dev_tolerance", "permille", 1000, 100000, 2000),
        ("blame_ratio", "permille", 1000, 100000, 1500),
        ("blame_floor", "permille", 0, 1000, 50), ("bite", "ns", 0, 1000000000, 10000000),
        ("calm", "-", 1, 1000, 4), ("back_off", "permille", 1, 1000, 100),
        ("lift", "permille", 1, 1000, 950), ("stale", "ns", 10000000, 100000000000, 1000000000),
        ("futile", "ns", 0, 100000000000, 2000000000), ("futile_gain", "permille", 0, 1000, 100),
        ("futile_rest", "ns", 0, 1000000000000, 30000000000),
        ("min_cap", "mpct", 1000, 100000, 1000), ("sigma_over", "-", 0, 1, 0),
        ("sigma_floor", "ns", 1, 1000000000, 1000), ("learn_share", "permille", 0, 1000, 50),
        ("on_empty", "-", 0, 1, 0))
    RULES = (
        "learned", "learned up", "learned down", "opened", "closed by a wait", "closed by a cap",
        "closed by a raise", "waits", "waited enough", "stale", "hostile report",
        "too many samples", "complete", "deviation wins", "deviation wins over",
        "over by the mean alone", "over by the deviation alone",
        "spared by its rest", "blamed too little", "blamed below the floor",
        "most now is not most untaxed", "raise",
        "raise to the most", "raise of 0", "largest complaint counts", "calm",
        "calm without reporter", "back-off", "lift", "futility", "floor left", "rate forgotten",
        "rate cut", "accuser forgotten", "variance cut", "interference cut")

    def __init__(self, params=()):
        super().__init__(params)
        self.links = {}

    def new_block(self):
        b = Block()
        b.rate, b.cum_w, b.cum_raw, b.wanted, b.wait_since = ONE, 0, 0, CAP_NONE, None
        b.heard = b.window = b.learned = b.floor_since = b.accuser = None
        b.verdict, b.blamed, b.intf = NONE, 0, 0
        b.rest_until, b.first_intf = {}, {}
        return b

    def plan(self, t):
        self.now = t.now
        self.shown = {g.slot: g for g in t.guests}
        self.on_link = {}
        for g in t.guests:
            self.on_link.setdefault(g.link, []).append(g)
        self.forget_predecessors(t)
        for g in t.guests:
            self.count(g, self.blocks[g.slot])
        for g in t.guests:
            self.hear(g, self.blocks[g.slot])
        for link, guests in self.on_link.items():
            self.watch(self.links.setdefault(link, LinkState()), guests)
        made = self.judge_all(t)
        self.raise_rates(made)
        for link, guests in self.on_link.items():
            verdicts = [v for slot, v, _ in made if self.shown[slot].link == link]
            self.keep_calm(self.links[link], guests, verdicts)
        for g in t.guests:
            self.end_futile(g, self.blocks[g.slot])
        return {g.slot: self.line(g, self.blocks[g.slot]) for g in t.guests}

    def most(self, g):
        return max(min(full(g) * ONE // self.least(g), U32), ONE)

    def forget_offender(self, slot):
        b = self.blocks[slot]
        b.floor_since = b.accuser = None
        for other in self.blocks.values():
            other.first_intf.pop(slot, None)

    # 1: a new guest is not what was in its slot before.
    def forget_predecessors(self, t):
        for g in t.guests:
            if g.flags & NEW:
                for slot, b in self.blocks.items():
                    self.forget_slot(b, g.slot)

    def forget_slot(self, b, slot):
        if b.window:
            b.window.weighted.pop(slot, None)
            b.window.raw.pop(slot, None)
        b.rest_until.pop(slot, None)
        b.first_intf.pop(slot, None)
        if b.accuser == slot:
            b.accuser = None
            self.saw["accuser forgotten"] += 1

    # 2: what each sends, and what it would send untaxed.
    def count(self, g, b):
        self.saw["rate cut"] += b.rate > self.most(g)
        b.rate = min(b.rate, self.most(g))
        if not is_subject(g) and b.rate != ONE:
            b.rate = ONE
            self.forget_offender(g.slot)
            self.saw["rate forgotten"] += 1
        m = min(g.sent + g.recv, U32)
        b.cum_raw = min(b.cum_raw + m, SAT)
        b.cum_w = min(b.cum_w + m * g.rate // ONE, SAT)

    # 3: who reports.
    def is_hostile(self, g):
        return (g.n > SAMPLES or g.sum > g.n << 34 or g.io > g.sum or g.iosq > g.n << 68)

    def hear(self, g, b):
        if g.n and self.is_hostile(g):
            self.saw["hostile report"] += 1
            g.n = 0
        if g.n:
            b.heard = self.now
        if b.heard is not None and not self.is_reporter(b):
            self.saw["stale"] += b.verdict != NONE
        if not self.is_reporter(b):
            b.window, b.verdict, b.intf = None, NONE, 0

    def is_reporter(self, b):
        return b.heard is not None and self.now - b.heard <= self.p.stale

    # 4 and 5: windows of a link open and close.
    def watch(self, state, guests):
        quiet = self.quiet(state, guests)
        waiting = [g for g in guests if self.waits(g, self.blocks[g.slot])]
        for g in guests:
            b = self.blocks[g.slot]
            if b.window and (waiting or b.window.start < quiet):
                self.saw["closed by a wait" if waiting else "closed by a cap"] += 1
                b.window = None
            if self.is_reporter(b) and not waiting:
                self.observe(g, b, quiet)

    def quiet(self, state, guests):
        caps = [g.cap_time + self.p.bite for g in guests if g.cap_time]
        return max([0, state.raised] + caps)

    def waits(self, g, b):
        if not is_subject(g) or percent(clamp(b.wanted, g, g.min)) == percent(g.cap):
            b.wait_since = None
            return False
        if b.wait_since is None:
            b.wait_since = self.now
        late = self.waited_enough(b)
        self.saw["waited enough" if late else "waits"] += 1
        return not late

    def waited_enough(self, b):
        return self.now - b.wait_since > self.p.stale

    def observe(self, g, b, quiet):
        if b.window:
            b.window.counted = True
            self.add(g, b.window)
        elif self.now >= quiet:
            self.saw["opened"] += 1
            b.window = Window(self.now, {s: self.blocks[s].cum_w for s in self.shown},
                              {s: self.blocks[s].cum_raw for s in self.shown})

    def add(self, g, w):
        w.cpu = min(w.cpu + g.cpu, SAT)
        limit = g.ceiling if g.ceiling[0] else (1, full(g))
        w.capped |= bool(g.cap[0] and percent(g.cap) < percent(limit))
        if not g.n:
            return
        if w.n + g.n > SAMPLES:
            self.saw["too many samples"] += 1
            return
        w.n, w.sum, w.io, w.iosq = w.n + g.n, w.sum + g.sum, w.io + g.io, w.iosq + g.iosq

    # 6: verdicts.
    def judge_all(self, t):
        """[(reporter, verdict, (raise, offender) or None)] of the windows that are complete."""
        made = []
        for g in t.guests:
            b = self.blocks[g.slot]
            w = b.window
            if w and w.counted and self.is_complete(w):
                self.saw["complete"] += 1
                complaint = self.judge(g, b, w, t.links[g.link])
                made.append((g.slot, b.verdict, complaint))
                b.window = None
        return made

    def is_complete(self, w):
        return self.now - w.start >= self.p.window and w.n >= self.p.min_samples

    def judge(self, g, b, w, link):
        raw = self.drawn(g, w.raw, "cum_raw")
        capacity = max(1, link.bytes_s * (self.now - w.start) // (max(link.mtu, 1) * 10**9))
        figures = w.figures()
        self.saw["variance cut"] += figures[2] == 2**32 - 1
        if self.may_learn(g, w, sum(raw.values()) - raw[g.slot], capacity):
            self.learn(b, figures)
        base = (g.base, g.base_io, g.base_dev) if g.base else b.learned
        rises = self.rises(base, figures) if base else (0, 0)
        b.intf = max(rises)
        b.verdict = self.verdict(g, w, rises) if base else NO_BASE
        if b.verdict != OVER:
            return None
        offender = self.blame(g, b, w, capacity)
        if offender is None:
            b.verdict = NOBODY
            return None
        return self.complain(b, offender, raw)

    def drawn(self, g, snap, name):
        out = {}
        for j in self.on_link[g.link]:
            cum = getattr(self.blocks[j.slot], name)
            since = cum - snap.get(j.slot, 0)
            out[j.slot] = since if since >= 0 else cum
        return out

    def may_learn(self, g, w, others, capacity):
        return (not g.base and others * 1000 < self.p.learn_share * capacity and not w.capped
                and w.cpu > 0)

    def learn(self, b, figures):
        if not b.learned:
            self.saw["learned"] += 1
            b.learned = figures
            return
        self.saw["learned up" if figures[0] >= b.learned[0] else "learned down"] += 1
        b.learned = tuple(self.toward(*pair) for pair in zip(b.learned, figures))

    def toward(self, base, figure):
        return base + (figure - base) // 8 if figure >= base else base - (base - figure) // 8

    def rises(self, base, figures):
        """How far mean and deviation are over the base, as parts of the whole latency."""
        whole, io, dev = max(base[0], 1), max(0, figures[1] - base[1]), max(0, figures[2] - base[2])
        by_mean, by_dev = io * ONE // whole, dev * ONE // whole
        if self.p.sigma_over:
            by_dev = dev * ONE // max(base[2], self.p.sigma_floor)
        name = "deviation wins over" if self.p.sigma_over else "deviation wins"
        self.saw[name] += by_dev > by_mean
        self.saw["interference cut"] += max(by_mean, by_dev) > U32
        return min(by_mean, U32), min(by_dev, U32)

    def verdict(self, g, w, rises):
        tolerance = g.tolerance or self.p.tolerance
        by_mean = self.is_over(rises[0], tolerance * 1000)
        by_dev = self.is_over(rises[1], tolerance * self.p.dev_tolerance)
        if not by_mean and not by_dev:
            return FINE
        self.saw["over by the mean alone"] += not by_dev
        self.saw["over by the deviation alone"] += not by_mean
        return SELF if self.is_self_inflicted(w) else OVER

    def is_over(self, rise, tolerance):
        """Whether a rise is above so many millionths."""
        return rise * 10**6 > tolerance * ONE

    def is_self_inflicted(self, w):
        return w.capped or w.cpu == 0

    def blame(self, g, b, w, capacity):
        sent = self.drawn(g, w.weighted, "cum_w")
        suspects = [j.slot for j in self.on_link[g.link] if j.slot != g.slot and is_subject(j)]
        rested = [s for s in suspects if not self.rests(b, s)]
        self.saw["spared by its rest"] += len(rested) < len(suspects)
        blamed = [s for s in rested if self.is_to_blame(sent[s], sent[g.slot], capacity)]
        raw = self.drawn(g, w.raw, "cum_raw")
        self.saw["most now is not most untaxed"] += (
            self.largest(blamed, raw) != self.largest(blamed, sent))
        return self.largest(blamed, raw)

    def largest(self, slots, sent):
        return max(slots, key=lambda s: (sent[s], -s), default=None)

    def rests(self, b, slot):
        return b.rest_until.get(slot, 0) > self.now

    def is_to_blame(self, its, own, capacity):
        if its * 1000 <= self.p.blame_ratio * own:
            self.saw["blamed too little"] += 1
            return False
        low = its * 1000 < self.p.blame_floor * capacity
        self.saw["blamed below the floor"] += low
        return not low

    def complain(self, b, offender, raw):
        share = raw[offender] * ONE // max(sum(raw.values()), 1)
        by = share * b.intf // ONE
        b.blamed = offender
        if by and not b.first_intf.get(offender):
            b.first_intf[offender] = b.intf
        return by, offender

    # 7: the largest complaint against each counts.
    def raise_rates(self, made):
        largest = {}
        for accuser, _, complaint in made:
            if complaint:
                by, offender = complaint
                self.saw["largest complaint counts"] += offender in largest
                if offender not in largest or by > largest[offender][0]:
                    largest[offender] = (by, accuser)
        for offender in sorted(largest):
            self.raise_rate(offender, *largest[offender])

    def raise_rate(self, offender, by, accuser):
        if not by:
            self.saw["raise of 0"] += 1
            return
        g, b = self.shown[offender], self.blocks[offender]
        self.saw["raise"] += 1
        self.saw["raise to the most"] += b.rate + by >= self.most(g)
        b.rate, b.accuser = min(b.rate + by, self.most(g)), accuser
        self.links[g.link].raised = self.now
        for j in self.on_link[g.link]:
            self.saw["closed by a raise"] += self.blocks[j.slot].window is not None
            self.blocks[j.slot].window = None

    # 8: calm windows, and what follows from enough of them.
    def keep_calm(self, state, guests, verdicts):
        state.calm_time = state.calm_time or self.now
        if OVER in verdicts:
            state.calm, state.calm_time = 0, self.now
        elif self.is_due(state) and self.is_calm(guests, verdicts):
            state.calm, state.calm_time = state.calm + 1, self.now
            self.saw["calm"] += 1
            if state.calm >= self.p.calm:
                self.back_off(guests)

    def is_due(self, state):
        return self.now - state.calm_time >= self.p.window

    def is_calm(self, guests, verdicts):
        reporters = [b for b in (self.blocks[g.slot] for g in guests) if self.is_reporter(b)]
        self.saw["calm without reporter"] += not reporters
        return (verdicts or not reporters) and all(b.verdict != OVER for b in reporters)

    def back_off(self, guests):
        for g in guests:
            b = self.blocks[g.slot]
            if b.rate > ONE:
                self.saw["back-off"] += 1
                b.rate = ONE + (b.rate - ONE) * (1000 - self.p.back_off) // 1000
                if self.is_light(g, b.rate):
                    self.saw["lift"] += 1
                    b.rate = ONE
                    self.forget_offender(g.slot)

    def is_light(self, g, rate):
        return full(g) * ONE // rate * 1000 >= self.p.lift * full(g)

    # 9: a cap that does not help is taken away.
    def end_futile(self, g, b):
        if not self.p.futile:
            return
        if b.rate <= ONE or b.rate != self.most(g):
            self.saw["floor left"] += b.floor_since is not None
            b.floor_since = None
            return
        if b.floor_since is None:
            b.floor_since = self.now
        if self.stood_long(b) and self.is_in_vain(g, b):
            self.saw["futility"] += 1
            b.rate = ONE
            self.blocks[b.accuser].rest_until[g.slot] = self.now + self.p.futile_rest
            self.forget_offender(g.slot)

    def stood_long(self, b):
        return b.floor_since is not None and self.now - b.floor_since >= self.p.futile

    def is_still_blamed(self, g, b):
        r = self.blocks[b.accuser] if b.accuser in self.shown else None
        return r and self.is_reporter(r) and r.verdict == OVER and r.blamed == g.slot

    def is_in_vain(self, g, b):
        if not self.is_still_blamed(g, b):
            return False
        r = self.blocks[b.accuser]
        return r.intf * 1000 > r.first_intf.get(g.slot, 0) * (1000 - self.p.futile_gain)

    # 10: the plan.
    def line(self, g, b):
        reason, b.wanted, why = self.decided(g, b)
        return entry(b.wanted, b.rate, reason, why)

    def decided(self, g, b):
        """(reason, cap, figures)"""
        if not is_subject(g):
            return (IS_EXEMPT if g.flags & EXEMPT else NOT_CAPPABLE), CAP_NONE, (0, 1000, 0, 0)
        rate = b.rate * 1000 // ONE
        if self.p.on_empty and g.balance == 0 and g.allocated > 0:
            cap = clamp((1, self.least(g)), g, self.least(g))
            return EMPTY, cap, (cap[1], rate, 0, 0)
        if b.rate > ONE:
            cap = clamp((1, full(g) * ONE // b.rate), g, self.least(g))
            return self.taxed(g, b, cap, rate)
        return self.uncapped(g, b)

    def taxed(self, g, b, cap, rate):
        r = self.blocks[b.accuser] if b.accuser in self.shown else None
        if r and self.is_reporter(r):
            reason = FLOOR if self.stood_long(b) and self.is_still_blamed(g, b) else TAXED
            return reason, cap, (cap[1], rate, b.accuser, r.intf * 1000 // ONE)
        return FADING, cap, (cap[1], rate, 0, 0)

    def uncapped(self, g, b):
        for slot in sorted(self.shown):
            r = self.blocks[slot]
            if self.is_reporter(r) and self.rests(r, g.slot):
                left = (r.rest_until[g.slot] - self.now) // 10**6
                return FUTILE, CAP_NONE, (0, 1000, slot, left)
        if b.verdict == OVER:
            return HURT, CAP_NONE, (0, 1000, b.blamed, b.intf * 1000 // ONE)
        reason = OF_VERDICT.get(b.verdict, FREE)
        shown = b.intf * 1000 // ONE if reason != FREE else 0
        return reason, CAP_NONE, (0, 1000, 0, shown)
