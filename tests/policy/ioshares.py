# SPDX-License-Identifier: GPL-2.0-or-later
"""ioshares: the policy of that name once more, from resex-policies(7); see second.py.

The steps of a tick are methods in the page's order; a guest's block holds what it is as a reporter
(its window, its verdict) and as an offender (its rate, its accuser).
"""
from math import isqrt

from ioshares_why import FINE, NO_BASE, NOBODY, NONE, OVER, SELF, Reasons, is_subject, is_taxed
from second import CAP_NONE, EXEMPT, NEW, ONE, U32, Block, Policy, clamp, full, percent

SAT = 2**62
SAMPLES = 2**20
HOLD = 8 * ONE // 10  # of the excess: above it rates stay
ALL_BACK = 4 * ONE // 10  # at most this: all taxed guests step back
GROSS = 2 * ONE
HUGE = 20 * ONE
LIFT = 950  # permille of the full cap: from here on there is none
QUEUES = 2**16  # of a guest, the most that count
AIM = 900  # permille of the tolerance
LONG = 4  # times a window is, without gross harm
ENOUGH = 8  # the part of min_samples that is enough for a window of stale
REFILLS = 5  # over which the raises of a set are spread


class Window:
    """What one reporter saw since the window was opened."""

    def __init__(self, now, weighted, raw):
        self.start, self.weighted, self.raw = now, weighted, raw
        self.n = self.sum = self.io = self.iosq = self.cpu = 0
        self.capped = self.counted = False
        self.queues = self.active = 0  # of others, that have work; and intervals with some

    def figures(self):
        """(mean of whole latencies, of I/O, deviation of I/O)"""
        var = max(0, self.n * self.iosq - self.io**2) // self.n**2
        return self.sum // self.n, self.io // self.n, isqrt(min(var, 2**64 - 1))

    def is_self_inflicted(self):
        return self.capped or self.cpu == 0


class Drawn:
    """What a window shows of its link: what each guest sent, by slot, and what the link can."""

    def __init__(self, window, weighted, raw, reporter, link, since):
        self.weighted, self.raw = weighted, raw
        self.capacity = max(1, link.bytes_s * since // (max(link.mtu, 1) * 10**9))
        self.own = raw[reporter]
        self.others = sum(raw.values()) - self.own
        self.busy = self.own
        if 0 < window.sum < since:
            self.busy = min(self.own * since // window.sum, 2**64 - 1)


class LinkState:
    def __init__(self):
        self.calm = self.calm_time = self.raised = self.cycles = 0


class IOShares(Reasons, Policy):
    NAME, REASONS = "ioshares", 18
    PARAMS = (
        ("window", "ns", 1000000, 10000000000, 50000000), ("min_samples", "-", 1, 1000000, 128),
        ("tolerance", "permille", 0, 10000, 50),
        ("dev_tolerance", "permille", 1000, 100000, 3000),
        ("blame_ratio", "permille", 1000, 100000, 1500),
        ("blame_floor", "permille", 0, 1000, 50), ("bite", "ns", 0, 1000000000, 10000000),
        ("calm", "-", 1, 1000, 4), ("back_off", "permille", 1, 1000, 150),
        ("stale", "ns", 10000000, 100000000000, 1000000000),
        ("futile", "ns", 0, 100000000000, 2000000000), ("futile_gain", "permille", 0, 1000, 100),
        ("futile_rest", "ns", 0, 1000000000000, 30000000000),
        ("min_cap", "mpct", 1000, 100000, 1000), ("sigma_over", "-", 0, 1, 0),
        ("sigma_floor", "ns", 1, 1000000000, 1000), ("learn_share", "permille", 0, 1000, 50),
        ("on_empty", "-", 0, 1, 0))
    RULES = (
        "learned", "learned up", "learned down", "opened", "closed by a wait", "closed by a cap",
        "closed by a raise", "closed by a restart", "waits", "waited enough", "stale",
        "hostile report", "too many samples", "complete", "complete early",
        "complete with an eighth", "prolonged by a pause", "gross by its claim alone",
        "deviation wins", "deviation wins over", "excess of the deviation", "claim cut", "holds",
        "claim not believed", "busy", "spared by its rest", "blamed as taxed",
        "blamed for its traffic", "blamed for its size", "size without traffic",
        "set below the floor", "set too light", "set of several", "weighed by size",
        "most now is not most untaxed", "raise", "raise by 2", "raise to the next cap",
        "raise by 8", "raise by 2 for caps that are alike", "no rate changes",
        "several queues at a time", "always active", "own counts less",
        "raise to the most", "raise to before", "gross: not to before", "spread",
        "spread when taxed", "alone again", "a place in between", "first raise",
        "largest demand counts", "calm",
        "calm without reporter", "one steps back", "all step back", "step by 1 %", "lift",
        "pinned by a claim", "pinned no more", "futility", "futility above the floor",
        "rate forgotten", "rate cut", "accuser forgotten", "left a set",
        "restarted with its rate", "sent before its restart", "size expired", "pause",
        "pause expired", "variance cut", "interference cut")

    def __init__(self, params=()):
        super().__init__(params)
        self.links = {}

    def new_block(self):
        b = Block()
        b.rate, b.cum_w, b.cum_raw, b.wanted, b.wait_since = ONE, 0, 0, CAP_NONE, None
        b.size = b.size_seen = b.pause = b.pause_seen = b.sent_time = 0
        b.heard = b.window = b.learned = b.pinned_since = b.accuser = None
        b.verdict, b.holds, b.blamed, b.top = NONE, False, set(), 0
        b.intf = b.claimed = b.excess = b.complained = 0
        b.next_rate = b.next_time = b.before = b.place = 0
        b.rest_until, b.first_intf, b.rise = {}, {}, (0, 0)
        return b

    def plan(self, t):
        self.now = t.now
        self.shown = {g.slot: g for g in t.guests}
        self.on_link = {}
        for g in t.guests:
            self.on_link.setdefault(g.link, []).append(g)
        for g in t.guests:
            if g.flags & NEW:
                self.begin(g, self.blocks[g.slot])
        for g in t.guests:
            self.count(g, self.blocks[g.slot])
        for g in t.guests:
            self.hear(g, self.blocks[g.slot])
        for link, guests in self.on_link.items():
            self.watch(self.links.setdefault(link, LinkState()), guests)
        made, demands = self.judge_all(t)
        self.raise_rates(self.largest_demands(demands))
        for link, guests in self.on_link.items():
            verdicts = [v for slot, v in made if self.shown[slot].link == link]
            self.keep_calm(self.links[link], guests, verdicts)
        for g in t.guests:
            self.end_futile(g, self.blocks[g.slot])
        return {g.slot: self.line(g, self.blocks[g.slot]) for g in t.guests}

    def since(self, time):
        return self.now - time

    # Rates and the caps that they stand for.
    def most(self, g):
        return max(min(full(g) * ONE // self.least(g), U32), ONE)

    def cap_of(self, g, rate):
        return full(g) * ONE // rate

    def above(self, g, rate, by):
        p = percent((1, self.cap_of(g, rate)))
        next_cap = full(g) * ONE // ((p - 1) * 1000) if p > 1 else 0
        self.saw["raise to the next cap"] += next_cap > rate * by // 1000
        return max(rate * by // 1000, next_cap)

    def below(self, g, rate):
        p = percent((1, self.cap_of(g, rate)))
        part = rate * (1000 - self.p.back_off) // 1000
        next_cap = full(g) * ONE // ((p + 1) * 1000)
        self.saw["step by 1 %"] += next_cap < part
        return max(min(part, next_cap), ONE)

    def release(self, slot):
        b = self.blocks[slot]
        b.rate, b.next_rate, b.before = ONE, 0, 0
        b.pinned_since = b.accuser = None
        for other in self.blocks.values():
            other.first_intf.pop(slot, None)

    # 1: a new guest is not what was in its slot before.
    def begin(self, g, b):
        for other in self.blocks.values():
            self.forget_slot(other, g.slot, b)
        self.saw["closed by a restart"] += b.window is not None
        self.saw["restarted with its rate"] += is_taxed(b)
        b.window, b.sent_time, b.wait_since = None, 0, None

    def forget_slot(self, b, slot, new):
        if b.window:
            self.saw["sent before its restart"] += new.cum_raw > b.window.raw.get(slot, 0)
            b.window.weighted[slot], b.window.raw[slot] = new.cum_w, new.cum_raw
        b.rest_until.pop(slot, None)
        b.first_intf.pop(slot, None)
        self.saw["left a set"] += slot in b.blamed
        b.blamed = b.blamed - {slot}
        if b.accuser == slot:
            b.accuser = None
            self.saw["accuser forgotten"] += 1

    # 2: what each sends, and what it would send untaxed.
    def count(self, g, b):
        self.begin_rate(b)
        self.saw["rate cut"] += b.rate > self.most(g)
        b.rate = min(b.rate, self.most(g))
        if g.flags & EXEMPT and (is_taxed(b) or b.next_rate):
            self.release(g.slot)
            self.saw["rate forgotten"] += 1
        self.remember_size(g, b)
        m = min(g.sent + g.recv, U32)
        if m:
            self.remember_pause(b)
        b.cum_raw = min(b.cum_raw + m, SAT)
        b.cum_w = min(b.cum_w + m * g.rate // ONE, SAT)

    def begin_rate(self, b):
        if b.next_rate and b.next_time <= self.now:
            b.rate, b.next_rate = b.next_rate, 0
            self.saw["first raise"] += 1

    def is_old(self, seen, age):
        return self.since(seen) > age

    def remember_size(self, g, b):
        if g.msg >= b.size or self.is_old(b.size_seen, self.p.stale):
            self.saw["size expired"] += g.msg < b.size
            b.size, b.size_seen = g.msg, self.now

    def remember_pause(self, b):
        v = self.pause(b)
        if v >= b.pause or self.is_old(b.pause_seen, 2 * self.p.stale):
            self.saw["pause expired"] += v < b.pause
            self.saw["pause"] += v > b.pause
            b.pause, b.pause_seen = v, self.now
        b.sent_time = self.now

    def pause(self, b):
        return min(self.since(b.sent_time), self.p.stale) if b.sent_time else 0

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
            b.window, b.verdict, b.holds = None, NONE, False
            b.intf = b.claimed = b.excess = 0

    def is_reporter(self, b):
        return b.heard is not None and self.since(b.heard) <= self.p.stale

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
        queues = sum(min(j.queues, QUEUES) for j in self.on_link[g.link] if j.slot != g.slot)
        w.queues = min(w.queues + queues, SAT)
        w.active += queues > 0
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
        """([(reporter, verdict)], [(reporter, offender, rate)]) of the complete windows."""
        made, demands = [], []
        for g in t.guests:
            b = self.blocks[g.slot]
            w = b.window
            if not w or not w.counted:
                continue
            d = Drawn(w, self.drawn(g, w.weighted, "cum_w"), self.drawn(g, w.raw, "cum_raw"),
                      g.slot, t.links[g.link], self.since(w.start))
            if self.is_complete(g, b, w, d):
                self.saw["complete"] += 1
                demands += self.judge(g, b, w, d)
                made.append((g.slot, b.verdict))
                b.window = None
        return made, demands

    def least_window(self, g):
        return max([self.p.window] + self.pauses(self.on_link[g.link]))

    def pauses(self, guests):
        return [b.pause for b in (self.blocks[j.slot] for j in guests) if is_taxed(b)]

    def has_lasted(self, since, least):
        return since >= least

    def has_samples(self, n, least):
        return n >= least

    def is_complete(self, g, b, w, d):
        least, since = self.least_window(g), self.since(w.start)
        if not self.has_lasted(since, least):
            self.saw["prolonged by a pause"] += (
                w.n >= self.p.min_samples and since >= self.p.window)
            return False
        if not self.has_samples(w.n, self.p.min_samples):
            return self.is_long_enough(w)
        return self.is_long(since, least) or self.is_gross(g, b, w, d)

    def is_long(self, since, least):
        return since >= LONG * least

    def is_long_enough(self, w):
        enough = self.since(w.start) >= self.p.stale and w.n * ENOUGH >= self.p.min_samples
        self.saw["complete with an eighth"] += enough
        return enough

    def is_gross(self, g, b, w, d):
        base = self.base(g, b)
        if not base:
            return False
        rises = self.rises(base, w.figures())
        early = self.is_far_over(self.excess(g, *self.believed(base, rises, d, w)))
        self.saw["complete early"] += early
        self.saw["gross by its claim alone"] += not early and self.excess(g, *rises) >= GROSS
        return early

    def base(self, g, b):
        return (g.base, g.base_io, g.base_dev) if g.base else b.learned

    def judge(self, g, b, w, d):
        """The demands of this window, after what it says of its reporter."""
        figures = w.figures()
        self.saw["variance cut"] += figures[2] == 2**32 - 1
        b.complained = b.excess if b.verdict == OVER else 0
        b.holds, b.intf, b.claimed, b.excess = False, 0, 0, 0
        if self.may_learn(g, w, d):
            self.learn(b, figures)
        base = self.base(g, b)
        if not base:
            b.verdict = NO_BASE
            return []
        rises = self.rises(base, figures)
        b.intf, b.claimed = max(rises), self.excess(g, *rises)
        b.rise = self.shown_rise(base, figures)
        b.excess = self.excess(g, *self.believed(base, rises, d, w))
        self.saw["claim cut"] += b.excess < b.claimed
        members = self.members(g, b, w, d) if self.is_near(b.excess) else []
        b.holds = bool(members)
        b.verdict = self.verdict(b, w, members)
        return self.complain(g, b, members, d) if b.verdict == OVER else []

    def drawn(self, g, snap, name):
        out = {}
        for j in self.on_link[g.link]:
            cum = getattr(self.blocks[j.slot], name)
            since = cum - snap.get(j.slot, 0)
            out[j.slot] = since if since >= 0 else cum
        return out

    def may_learn(self, g, w, d):
        return (not g.base and d.others * 1000 < self.p.learn_share * d.capacity and not w.capped
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

    def shown_rise(self, base, figures):
        """Permille of the base latency: how much more the mean and the deviation are."""
        return tuple(min(max(0, figures[i] - base[i]) * ONE // max(base[0], 1), U32) * 1000 // ONE
                     for i in (1, 2))

    def waits_beside(self, base, w):
        """How long a request waits while others have work, as a part of its whole latency."""
        each = min(base[1] * ONE // max(base[0], 1), U32)
        if not w.active:
            return each
        self.saw["several queues at a time"] += w.queues > w.active
        return min(each * w.queues // w.active, U32)

    def part_active(self, d):
        """For which part of the time others can have work."""
        left = d.capacity - min(d.own, d.others)
        self.saw["always active"] += d.others >= left
        self.saw["own counts less"] += d.others < d.own
        return ONE if d.others >= left else d.others * ONE // left

    def believed(self, base, rises, d, w):
        """The part of both rises that the others' traffic can have caused."""
        each = self.waits_beside(base, w)
        by_mean = each * self.part_active(d) // ONE
        by_dev = U32 if self.p.sigma_over else isqrt(by_mean * each)
        return min(rises[0], by_mean), min(rises[1], by_dev)

    def excess(self, g, by_mean, by_dev):
        """A rise as a part of what is tolerated."""
        tolerance = g.tolerance or self.p.tolerance or 1
        mean = by_mean * 1000 // tolerance
        dev = by_dev * 10**6 // (tolerance * self.p.dev_tolerance)
        self.saw["excess of the deviation"] += dev > mean
        return max(mean, dev)

    def is_near(self, excess):
        return excess > HOLD

    def is_over(self, excess):
        return excess > ONE

    def is_far_over(self, excess):
        return excess >= GROSS

    def is_self_inflicted(self, w):
        return w.is_self_inflicted()

    def verdict(self, b, w, members):
        if not self.is_over(b.claimed):
            self.saw["holds"] += b.holds
            return FINE
        if self.is_self_inflicted(w):
            return SELF
        self.saw["claim not believed"] += bool(members) and not self.is_over(b.excess)
        return OVER if self.is_over(b.excess) and members else NOBODY

    # The set that is to blame.
    def members(self, g, b, w, d):
        """Slots of the set, none if it is not to blame."""
        if self.is_self_inflicted(w):
            return []
        self.saw["busy"] += d.busy != d.own
        found = [j.slot for j in self.on_link[g.link] if j.slot != g.slot and is_subject(j)
                 and d.raw[j.slot] and not self.is_spared(b, j.slot)
                 and self.is_member(b, j.slot, d)]
        if not found or self.is_below_floor(found, d):
            return []
        if any(is_taxed(self.blocks[s]) for s in found):
            return found
        return [] if self.is_light(b, found, d) else found

    def is_spared(self, b, slot):
        spared = self.rests(b, slot)
        self.saw["spared by its rest"] += spared
        return spared

    def rests(self, b, slot):
        return b.rest_until.get(slot, 0) > self.now

    def is_member(self, b, slot, d):
        if is_taxed(self.blocks[slot]):
            self.saw["blamed as taxed"] += 1
            return True
        if self.sends_more(slot, d):
            self.saw["blamed for its traffic"] += 1
            return True
        return self.sends_larger(b, slot, d)

    def sends_more(self, slot, d):
        return d.weighted[slot] * 1000 > self.p.blame_ratio * d.busy

    def size(self, b):
        return max(b.size, 1)

    def sends_larger(self, b, slot, d):
        if not self.is_larger(self.size(self.blocks[slot]), self.size(b)):
            return False
        enough = self.is_quarter(d.raw[slot], d.own)
        self.saw["blamed for its size" if enough else "size without traffic"] += 1
        return enough

    def is_larger(self, size, own):
        return size * 1000 > self.p.blame_ratio * own

    def is_quarter(self, raw, own):
        return raw * 4 >= own

    def is_below_floor(self, found, d):
        low = self.is_little(sum(d.weighted[s] for s in found), d.capacity)
        self.saw["set below the floor"] += low
        return low

    def is_little(self, sent, capacity):
        return sent * 1000 < self.p.blame_floor * capacity

    def weight(self, b, found, d):
        own = self.size(b)
        return sum(d.weighted[s] * max(self.size(self.blocks[s]), own) for s in found)

    def is_light(self, b, found, d):
        light = self.weight(b, found, d) * 1000 <= self.p.blame_ratio * d.busy * self.size(b)
        self.saw["set too light"] += light
        self.saw["weighed by size"] += not light and (
            sum(d.weighted[s] for s in found) * 1000 <= self.p.blame_ratio * d.busy)
        return light

    def complain(self, g, b, members, d):
        """[(reporter, offender, rate demanded)], and notes whom it blames."""
        self.saw["set of several"] += len(members) > 1
        b.blamed, b.top = set(members), self.largest(members, d.raw)
        self.saw["most now is not most untaxed"] += b.top != self.largest(members, d.weighted)
        for o in members:
            self.note_first(b, o)
        return [(g.slot, o, self.demand(b, o)) for o in members]

    def note_first(self, b, slot):
        if not b.first_intf.get(slot):
            b.first_intf[slot] = b.intf

    def largest(self, slots, sent):
        return max(slots, key=lambda s: (sent[s], -s))

    def factor(self, b):
        by = b.excess * 10**6 // (AIM * ONE)
        if 1200 < by < 2000 and self.is_alike(b):
            self.saw["raise by 2 for caps that are alike"] += 1
            return 2000
        most = 8000 if self.is_huge(b.excess) else 2000
        self.saw["raise by 2"] += by >= most == 2000
        self.saw["raise by 8"] += by >= most == 8000
        return min(by, most)

    def is_alike(self, b):
        return b.complained > 0 and b.excess * 1000 > b.complained * 970

    def is_huge(self, excess):
        return excess >= HUGE

    def demand(self, b, slot):
        o = self.blocks[slot]
        if o.before and not self.is_far_over(b.excess):
            self.saw["raise to before"] += 1
            return o.before
        self.saw["gross: not to before"] += o.before != 0
        return self.above(self.shown[slot], o.rate, self.factor(b))

    # 7: the largest demand on each counts, and raises are spread.
    def largest_demands(self, demands):
        """{offender: (rate, accuser)}"""
        largest = {}
        for accuser, offender, rate in demands:
            self.saw["largest demand counts"] += (
                offender in largest and rate != largest[offender][0])
            if offender not in largest or rate > largest[offender][0]:
                largest[offender] = (rate, accuser)
        return largest

    def raise_rates(self, largest):
        for link, guests in self.on_link.items():
            raised = [self.raise_rate(g, *largest[g.slot]) for g in guests if g.slot in largest]
            self.saw["no rate changes"] += bool(raised) and not any(raised)
            for g in guests if any(raised) else ():
                self.saw["closed by a raise"] += self.blocks[g.slot].window is not None
                self.blocks[g.slot].window = None

    def raise_rate(self, g, rate, accuser):
        b, state = self.blocks[g.slot], self.links[g.link]
        self.saw["raise"] += 1
        self.saw["raise to the most"] += rate >= self.most(g)
        rate = min(rate, self.most(g))
        b.before, b.accuser = 0, accuser
        if rate == b.rate:
            return False
        later = self.time_of_raise(g, b, state)
        state.raised = max(state.raised, self.now + later)
        if not later:
            b.rate = rate
            return True
        self.saw["spread"] += 1
        self.saw["spread when taxed"] += is_taxed(b)
        b.next_rate, b.next_time = rate, self.now + later
        return True

    def time_of_raise(self, g, b, state):
        """How long until the guest's place in the cycle."""
        others = self.others_charged(g)
        if not is_taxed(b) or not others:
            b.place = self.free_place({o.place for o in others})
        if not others:
            state.cycles = self.now
        self.saw["alone again"] += not others and is_taxed(b)
        cycle = REFILLS * self.p.bite
        return (self.part(b.place, cycle) - (self.now - state.cycles)) % cycle if cycle else 0

    def others_charged(self, g):
        blocks = (self.blocks[o.slot] for o in self.on_link[g.link] if o.slot != g.slot)
        return [b for b in blocks if is_taxed(b) or b.next_rate]

    def free_place(self, taken):
        place = min(set(range(len(taken) + 1)) - taken)
        self.saw["a place in between"] += any(place < p for p in taken)
        return place

    def part(self, place, cycle):
        return cycle * int(format(place, "08b")[::-1], 2) // 256

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
        return self.since(state.calm_time) >= self.p.window

    def is_calm(self, guests, verdicts):
        blocks = [self.blocks[g.slot] for g in guests]
        reporters = [b for b in blocks if self.is_reporter(b)]
        self.saw["calm without reporter"] += not reporters
        return bool(verdicts or not reporters) and not any(b.holds for b in blocks)

    def back_off(self, guests):
        taxed = [g for g in guests if is_taxed(self.blocks[g.slot])]
        if taxed and self.is_one_at_a_time(guests):
            self.saw["one steps back"] += len(taxed) > 1
            taxed = [self.highest(taxed)]
        self.saw["all step back"] += len(taxed) > 1
        for g in taxed:
            self.step_back(g, self.blocks[g.slot])

    def is_one_at_a_time(self, guests):
        blocks = [self.blocks[g.slot] for g in guests]
        return any(self.is_middling(b.excess) for b in blocks
                   if self.is_reporter(b) and b.verdict == FINE)

    def is_middling(self, excess):
        return excess > ALL_BACK

    def highest(self, taxed):
        return max(taxed, key=lambda g: (self.blocks[g.slot].rate, -g.slot))

    def step_back(self, g, b):
        b.before, b.rate = b.rate, self.below(g, b.rate)
        if self.is_nearly_full(g, b.rate):
            self.saw["lift"] += 1
            self.release(g.slot)

    def is_nearly_full(self, g, rate):
        return self.cap_of(g, rate) * 1000 >= LIFT * full(g)

    # 9: a cap that does not help is taken away.
    def end_futile(self, g, b):
        if not self.p.futile:
            return
        if not self.is_pinned(g, b):
            self.saw["pinned no more"] += b.pinned_since is not None
            b.pinned_since = None
            return
        if b.pinned_since is None:
            b.pinned_since = self.now
        if self.is_long_pinned(b) and self.is_in_vain(g, b):
            self.saw["futility"] += 1
            self.saw["futility above the floor"] += b.rate != self.most(g)
            self.blocks[b.accuser].rest_until[g.slot] = self.now + self.p.futile_rest
            self.release(g.slot)

    def is_pinned(self, g, b):
        if not is_taxed(b):
            return False
        return b.rate == self.most(g) or self.is_held_by_a_claim(g, b)

    def is_held_by_a_claim(self, g, b):
        r = self.claimant(g, b)
        held = bool(r) and self.is_claim(r)
        self.saw["pinned by a claim"] += held
        return held

    def is_claim(self, r):
        return not self.is_far_over(r.excess) and r.claimed >= 2 * r.excess

    def claimant(self, g, b):
        """The accuser's block, while it is worse than it should be and its set has the guest."""
        r = self.blocks[b.accuser] if b.accuser in self.shown else None
        return r if r and r.verdict in (OVER, NOBODY) and g.slot in r.blamed else None

    def is_long_pinned(self, b):
        return b.pinned_since is not None and self.since(b.pinned_since) >= self.p.futile

    def is_in_vain(self, g, b):
        r = self.claimant(g, b)
        if not r:
            return False
        return r.intf * 1000 > r.first_intf.get(g.slot, 0) * (1000 - self.p.futile_gain)
