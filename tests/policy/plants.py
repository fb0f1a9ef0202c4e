# SPDX-License-Identifier: GPL-2.0-or-later
"""plants: errors for one rule of the second implementation, each of which compare.py must find."""
import ioshares
import second


def with_method(name, method):
    """A plant: the policy with another method of this name, which gets the true one first."""
    def plant(make):
        true = getattr(make, name)
        return type(make.__name__, (make,), {name: lambda self, *args: method(true, self, *args)})
    return plant


def with_param(**changed):
    """A plant: the policy that is told one parameter and takes another."""
    def plant(make):
        def init(self, params=()):
            make.__init__(self, params)
            for name, change in changed.items():
                setattr(self.p, name, change(getattr(self.p, name)))
        return type(make.__name__, (make,), {"__init__": init})
    return plant


def keep_cut_time(true, self, t, b):
    at = b.cut_at
    true(self, t, b)
    b.cut_at = at


def not_sticky(true, self, t, g, b):
    b.empty = False
    true(self, t, g, b)


def from_force(true, self, t, g, b):
    b.cap = g.cap if b.cap[0] and g.cap[0] else b.cap
    true(self, t, g, b)


def spared_begins_anew(true, self, t, g, b):
    if g.flags & second.EXEMPT or not g.flags & second.CAPPABLE:
        b.__dict__.update(self.new_block().__dict__)
        b.epoch = t.epoch
    return true(self, t, g, b)


def victim_exclusive(true, self, g, size):
    return true(self, g, size + (size == self.p.victim_bytes))


def equal_not_renewed(true, self, t, g, b):
    if g.msg != b.size or self.is_expired(t, b):
        true(self, t, g, b)


def low_inclusive(true, self, g):
    return g.balance * 1000 <= g.allocated * self.p.low


def among(kind, plant):
    """A plant that is looked for in traces of one kind only, where it is less rare."""
    def of_kind(make):
        planted = plant(make)
        planted.KIND = kind
        return planted
    return of_kind


def never(*_):
    return False


def keep_epoch(true, self, t, b):
    true(self, type("T", (), {"epoch": 0}), b)


def null_reason(true, self, t, g, b):
    line = true(self, t, g, b)
    return line[:5] + (line[6], line[5]) + line[7:]


def not_least(true, self, g):
    return max(g.min, 1)


def always(*_):
    return True


def with_constant(method, name, value):
    """A plant: this method takes another value for one of the figures that are fixed."""
    def changed(true, self, *args):
        kept = getattr(ioshares, name)
        setattr(ioshares, name, value)
        try:
            return true(self, *args)
        finally:
            setattr(ioshares, name, kept)
    return with_method(method, changed)


def with_result(method, change):
    """A plant: what this method gives is changed."""
    return with_method(method, lambda true, self, *args: change(true(self, *args)))


def told(method, **changed):
    """A plant: this method alone takes other parameters."""
    def of(true, self, *args):
        kept = {name: getattr(self.p, name) for name in changed}
        for name, change in changed.items():
            setattr(self.p, name, change(kept[name]))
        try:
            return true(self, *args)
        finally:
            for name, value in kept.items():
                setattr(self.p, name, value)
    return with_method(method, of)


def keeping(method, *names):
    """A plant: this method leaves these of a guest's figures, whose block is its last argument."""
    def of(true, self, *args):
        b = args[-1]
        kept = [getattr(b, name) for name in names]
        out = true(self, *args)
        for name, value in zip(names, kept):
            setattr(b, name, value)
        return out
    return with_method(method, of)


def release_keeping(*names):
    def of(true, self, slot):
        b = self.blocks[slot]
        kept = [getattr(b, name) for name in names]
        true(self, slot)
        for name, value in zip(names, kept):
            setattr(b, name, value)
    return with_method("release", of)


def forget_keeping(name):
    """A plant: a new guest has this of the former guest of its slot, in the blocks of others."""
    def of(true, self, b, slot, new):
        kept = getattr(b, name)
        kept = dict(kept) if isinstance(kept, dict) else kept
        true(self, b, slot, new)
        setattr(b, name, kept)
    return with_method("forget_slot", of)


def later(name, count):
    """A plant: for this method time stands a few ns beside what it is."""
    def method(true, self, *args):
        self.now, kept = self.now + count, self.now
        try:
            return true(self, *args)
        finally:
            self.now = kept
    return with_method(name, method)


# 1 and 2: new guests, what each sends.
def predecessor_sent(true, self, b, slot, new):
    kept = dict(b.window.weighted) if b.window else None
    true(self, b, slot, new)
    if kept is not None:
        b.window.weighted = kept


def former_life_counts(true, self, b, slot, new):
    true(self, b, slot, new)
    if b.window:
        b.window.weighted[slot] = b.window.raw[slot] = 0


def only_present(true, self, b, slot, new):
    if any(self.blocks[s] is b for s in self.shown):
        true(self, b, slot, new)


def restart_is_new(true, self, t):
    for g in t.guests:
        g.kept = False
    return true(self, t)


def own_rate(true, self, g, b):
    rate, g.rate = g.rate, b.rate
    true(self, g, b)
    g.rate = rate


def uncappable_is_free(true, self, g, b):
    true(self, g, b)
    if not ioshares.is_subject(g) and b.rate != second.ONE:
        self.release(g.slot)


def equal_size_not_renewed(true, self, g, b):
    seen = b.size_seen
    same = g.msg == b.size and not self.is_old(seen, self.p.stale)
    true(self, g, b)
    b.size_seen = seen if same else b.size_seen


def equal_pause_not_renewed(true, self, b):
    seen, v = b.pause_seen, self.pause(b)
    same = v == b.pause and not self.is_old(seen, 2 * self.p.stale)
    true(self, b)
    b.pause_seen = seen if same else b.pause_seen


def old_inclusive(true, self, seen, age):
    return self.since(seen) >= age


def pause_without_end(true, self, b):
    return self.since(b.sent_time) if b.sent_time else 0


def pause_from_start(true, self, b):
    return min(self.since(b.sent_time), self.p.stale)


# 3 to 5: reporters and windows.
def limits_hostile(true, self, g):
    at_limit = (g.n == 2**20, g.sum == g.n << 34, g.iosq == g.n << 68)
    return any(at_limit) or true(self, g)


def stale_exclusive(true, self, b):
    return b.heard is not None and self.now - b.heard < self.p.stale


def quiet_but(word):
    def changed(true, self, state, guests):
        caps = [g.cap_time + self.p.bite for g in guests if g.cap_time and word != "caps"]
        return max([0, state.raised if word != "raised" else 0] + caps)
    return changed


def quiet_later(true, self, state, guests):
    return true(self, state, guests) + 1


def closed_inclusive(true, self, state, guests):
    for b in (self.blocks[g.slot] for g in guests):
        if b.window and b.window.start == self.quiet(state, guests):
            b.window = None
    true(self, state, guests)


def wait_for_ever(true, self, g, b):
    true(self, g, b)
    return b.wait_since is not None


def opening_counts(true, self, g, b, quiet):
    true(self, g, b, quiet)
    if b.window and not b.window.counted:
        self.add(g, b.window)


# 6: complete windows and what they say.
def pauses_of_all(true, self, guests):
    return [self.blocks[g.slot].pause for g in guests]


def pause_instead(true, self, g):
    return max(self.pauses(self.on_link[g.link]), default=self.p.window)


def lasted_exclusive(true, self, since, least):
    return since > least


def samples_exclusive(true, self, n, least):
    return n > least


def long_exclusive(true, self, since, least):
    return since > ioshares.LONG * least


def eighth_for_all(true, self, g, b, w, d):
    return true(self, g, b, w, d) or self.is_long_enough(w)


def eighth_before_least(true, self, g, b, w, d):
    return true(self, g, b, w, d) or (
        w.n < self.p.min_samples and self.is_long_enough(w))


def eighth_exclusive(true, self, w):
    return w.n * ioshares.ENOUGH != self.p.min_samples and true(self, w)


def gross_if_given(true, self, g, b, w, d):
    return bool(g.base) and true(self, g, b, w, d)


def claims_end_windows(true, self, g, b, w, d):
    base = self.base(g, b)
    return bool(base) and self.is_far_over(self.excess(g, *self.rises(base, w.figures())))


def over(least):
    """A plant for a rule that holds above this excess: it holds at it, too."""
    return lambda true, self, excess: excess >= least


def far_over_exclusive(true, self, excess):
    return excess > ioshares.GROSS


def from_capped(true, self, g, w, d):
    capped, w.capped = w.capped, False
    learned = true(self, g, w, d)
    w.capped = capped
    return learned


def toward_floor(true, self, base, figure):
    return base + (figure - base) // 8


def learn_inclusive(true, self, g, w, d):
    same = d.others * 1000 == self.p.learn_share * d.capacity
    others, d.others = d.others, d.others - same
    learned = true(self, g, w, d)
    d.others = others
    return learned


def one_at_a_time(true, self, base, w):
    return base[1] * ioshares.ONE // max(base[0], 1)


def own_never_slows(true, self, d):
    return min(d.others * ioshares.ONE // d.capacity, ioshares.ONE)


def more_than_always(true, self, d):
    return d.others * ioshares.ONE // max(1, d.capacity - min(d.own, d.others))


def own_queues(true, self, g, w):
    w.queues += min(g.queues, ioshares.QUEUES)
    true(self, g, w)


def mean_of_all(true, self, g, w):
    true(self, g, w)
    w.active += not any(j.queues for j in self.on_link[g.link] if j.slot != g.slot)


def huge_exclusive(true, self, excess):
    return excess > ioshares.HUGE


def all_is_believed(true, self, base, rises, d, w):
    return rises


def latency_is_io(true, self, base, rises, d, w):
    return true(self, (base[0], base[0], base[2]), rises, d, w)


def deviation_is_believed(true, self, base, rises, d, w):
    return true(self, base, rises, d, w)[0], rises[1]


def own_counts_as_others(true, self, base, rises, d, w):
    others, d.others = d.others, d.others + d.own
    out = true(self, base, rises, d, w)
    d.others = others
    return out


def deviation_over_own_base(true, self, base, rises, d, w):
    over_base, self.p.sigma_over = self.p.sigma_over, 0
    out = true(self, base, rises, d, w)
    self.p.sigma_over = over_base
    return out


def without_tolerance(true, self, g, by_mean, by_dev):
    if g.tolerance or self.p.tolerance:
        return true(self, g, by_mean, by_dev)
    return max(by_mean, by_dev)


def claim_unread(true, self, b, w, members):
    if not self.is_over(b.excess):
        return ioshares.FINE
    return true(self, b, w, members)


# The set.
def idle_counts(true, self, g, b, w, d):
    d.busy = d.own
    return true(self, g, b, w, d)


def silent_belong(true, self, g, b, w, d):
    raw = d.raw
    d.raw = {s: sent or int(ioshares.is_taxed(self.blocks[s])) for s, sent in raw.items()}
    found = true(self, g, b, w, d)
    d.raw = raw
    return found


def taxed_like_others(true, self, b, slot, d):
    return self.sends_more(slot, d) or self.sends_larger(b, slot, d)


def more_inclusive(true, self, slot, d):
    return d.weighted[slot] * 1000 >= self.p.blame_ratio * d.busy


def more_now(true, self, slot, d):
    return d.raw[slot] * 1000 > self.p.blame_ratio * d.busy


def larger_inclusive(true, self, size, own):
    return size * 1000 >= self.p.blame_ratio * own


def quarter_sent_exclusive(true, self, raw, own):
    return raw * 4 > own


def little_inclusive(true, self, sent, capacity):
    return sent * 1000 <= self.p.blame_floor * capacity


def little_each(true, self, found, d):
    return all(true(self, [s], d) for s in found)


def light_inclusive(true, self, b, found, d):
    weight = self.weight(b, found, d) * 1000
    return weight != self.p.blame_ratio * d.busy * self.size(b) and true(self, b, found, d)


def weight_of_traffic(true, self, b, found, d):
    return sum(d.weighted[s] for s in found) * self.size(b)


def weight_of_size(true, self, b, found, d):
    return sum(d.weighted[s] * self.size(self.blocks[s]) for s in found)


def light_if_taxed(true, self, g, b, w, d):
    found = true(self, g, b, w, d)
    return [] if found and self.is_light(b, found, d) else found


def rest_inclusive(true, self, b, slot):
    return slot in b.rest_until and b.rest_until[slot] >= self.now


def highest_slot(true, self, slots, sent):
    return max(slots, key=lambda s: (sent[s], s))


def most_untaxed(true, self, g, b, members, d):
    out = true(self, g, b, members, d)
    b.top = self.largest(members, d.weighted)
    return out


def first_is_newest(true, self, b, slot):
    b.first_intf[slot] = b.intf


def without_next_cap(true, self, g, rate, by):
    return rate * by // 1000


def back_without_next_cap(true, self, g, rate):
    return max(rate * (1000 - self.p.back_off) // 1000, second.ONE)


def never_before(true, self, b, slot):
    return self.above(self.shown[slot], self.blocks[slot].rate, self.factor(b))


def always_before(true, self, b, slot):
    return self.blocks[slot].before or true(self, b, slot)


# 7 to 9: raises, steps back, futility.
def first_demand(true, self, demands):
    kept = {}
    for demand in demands:
        kept.setdefault(demand[1], demand)
    return true(self, list(kept.values()))


def last_of_equals(true, self, demands):
    return true(self, list(reversed(demands)))


def one_later(true, self, g, delay, rate, accuser):
    return true(self, g, delay + (delay > 0), rate, accuser)


def taxed_at_once(true, self, g, delay, rate, accuser):
    taxed = ioshares.is_taxed(self.blocks[g.slot])
    return true(self, g, 0 if taxed else delay, rate, accuser)


def raised_now(true, self, g, delay, rate, accuser):
    out = true(self, g, delay, rate, accuser)
    self.links[g.link].raised = self.now
    return out


def before_kept(true, self, g, delay, rate, accuser):
    before = self.blocks[g.slot].before
    out = true(self, g, delay, rate, accuser)
    self.blocks[g.slot].before = before
    return out


def unchanged_is_raised(true, self, g, delay, rate, accuser):
    true(self, g, delay, rate, accuser)
    return True


def silent_is_calm(true, self, guests, verdicts):
    return true(self, guests, verdicts or [0])


def near_is_calm(true, self, guests, verdicts):
    blocks = [self.blocks[g.slot] for g in guests]
    return bool(verdicts or not any(self.is_reporter(b) for b in blocks))


def over_is_no_time(true, self, state, guests, verdicts):
    time = state.calm_time
    true(self, state, guests, verdicts)
    if ioshares.OVER in verdicts:
        state.calm_time = time


def over_keeps_calm(true, self, state, guests, verdicts):
    calm = state.calm
    true(self, state, guests, verdicts)
    if ioshares.OVER in verdicts:
        state.calm = calm


def one_for_any_verdict(true, self, guests):
    return any(self.is_middling(self.blocks[g.slot].excess) for g in guests)


def highest_of_equals(true, self, taxed):
    return max(taxed, key=lambda g: (self.blocks[g.slot].rate, g.slot))


def lowest_rate(true, self, taxed):
    return min(taxed, key=lambda g: (self.blocks[g.slot].rate, g.slot))


def claim_when_over(true, self, r):
    return r.claimed >= 2 * r.excess


def only_over(true, self, g, b):
    r = true(self, g, b)
    return r if r and r.verdict == ioshares.OVER else None


def most_alone(true, self, g, b):
    r = true(self, g, b)
    return r if r and r.top == g.slot else None


def in_no_set(true, self, g, b):
    r = self.blocks[b.accuser] if b.accuser in self.shown else None
    return r if r and r.verdict in (ioshares.OVER, ioshares.NOBODY) else None


def pin_kept(true, self, g, b):
    since = b.pinned_since
    true(self, g, b)
    if b.pinned_since is None and ioshares.is_taxed(b):
        b.pinned_since = since


def gain_inclusive(true, self, g, b):
    r = self.claimant(g, b)
    first = r.first_intf.get(g.slot, 0) if r else 0
    same = first and r.intf * 1000 == first * (1000 - self.p.futile_gain)
    return bool(same) or true(self, g, b)


def rest_of_all(true, self, g, b):
    accuser = b.accuser
    true(self, g, b)
    until = self.now + self.p.futile_rest
    if accuser is not None and self.blocks[accuser].rest_until.get(g.slot) == until:
        for other in self.blocks.values():
            other.rest_until[g.slot] = until


def first_not_forgotten(true, self, slot):
    first = [(b, b.first_intf.get(slot)) for b in self.blocks.values()]
    true(self, slot)
    for b, intf in first:
        b.first_intf[slot] = intf


# 10: the plan.
def empty_without_money(true, self, g, b):
    return true(self, type("G", (), {**{n: getattr(g, n) for n in g.__slots__}, "allocated": 1}), b)


def floor_untold(true, self, g, b, cap, rate):
    reason, *rest = true(self, g, b, cap, rate)
    return (ioshares.TAXED if reason == ioshares.FLOOR else reason, *rest)


def nobody_is_floor(true, self, g, b):
    return (b.rate == self.most(g) and self.is_long_pinned(b)
            and bool(self.claimant(g, b)))


def set_uncounted(true, self, g, b):
    reason, cap, why = true(self, g, b)
    return reason, cap, ((why[0], 1000, *why[2:]) if reason == ioshares.HURT else why)


IOSHARES = {
    "window-kept-by-restart": among("set", keeping("begin", "window")),
    "pause-over-restart": among("set", keeping("begin", "sent_time")),
    "wait-over-restart": keeping("begin", "wait_since"),
    "restart-is-new": with_method("decide", restart_is_new),
    "predecessor-rests": among("vain", forget_keeping("rest_until")),
    "predecessor-blamed-first": among("vain", forget_keeping("first_intf")),
    "predecessor-in-set": forget_keeping("blamed"),
    "predecessor-accuses": forget_keeping("accuser"),
    "predecessor-sent": among("even", with_method("forget_slot", predecessor_sent)),
    "former-life-counts": with_method("forget_slot", former_life_counts),
    "absent-remember-predecessor": with_method("forget_slot", only_present),
    "first-rate-late": among("set", later("begin_rate", -1)),
    "weighed-by-planned-rate": with_method("count", own_rate),
    "uncappable-is-free": with_method("count", uncappable_is_free),
    "old-inclusive": among("set", with_method("is_old", old_inclusive)),
    "size-never-old": among("set", with_method("is_old", never)),
    "equal-size-not-renewed": among("set", with_method("remember_size", equal_size_not_renewed)),
    "equal-pause-not-renewed": among("set", with_method("remember_pause", equal_pause_not_renewed)),
    "pause-without-end": with_method("pause", pause_without_end),
    "pause-from-start": with_method("pause", pause_from_start),
    "hostile-believed": with_method("is_hostile", never),
    "limits-hostile": with_method("is_hostile", limits_hostile),
    "stale-exclusive": with_method("is_reporter", stale_exclusive),
    "stale-holds": among("set", keeping("hear", "holds")),
    "caps-bite-at-once": with_method("quiet", quiet_but("caps")),
    "raise-not-awaited": among("vain", with_method("quiet", quiet_but("raised"))),
    "quiet-later": with_method("quiet", quiet_later),
    "closed-inclusive": with_method("watch", closed_inclusive),
    "waits-for-ever": with_method("waits", wait_for_ever),
    "never-waits": with_method("waits", never),
    "wait-longer": among("even", later("waited_enough", 1)),
    "opening-tick-counts": with_method("observe", opening_counts),
    "pauses-of-untaxed": among("set", with_method("pauses", pauses_of_all)),
    "pauses-ignored": among("set", with_method("pauses", lambda *_: [])),
    "pause-instead-of-window": among("set", with_method("least_window", pause_instead)),
    "window-exclusive": with_method("has_lasted", lasted_exclusive),
    "samples-exclusive": with_method("has_samples", samples_exclusive),
    "long-exclusive": with_method("is_long", long_exclusive),
    "long-shorter": with_constant("is_long", "LONG", 3),
    "eighth-for-all": among("set", with_method("is_complete", eighth_for_all)),
    "eighth-exclusive": with_method("is_long_enough", eighth_exclusive),
    "eighth-late": later("is_long_enough", -1),
    "eighth-a-seventh": with_constant("is_long_enough", "ENOUGH", 7),
    "gross-over-given-alone": with_method("is_gross", gross_if_given),
    "gross-by-claim": among("set", with_method("is_gross", claims_end_windows)),
    "gross-exclusive": among("set", with_method("is_far_over", far_over_exclusive)),
    "gross-never": with_method("is_gross", never),
    "learns-when-capped": with_method("may_learn", from_capped),
    "learns-rounding-down": with_method("toward", toward_floor),
    "learn-share-inclusive": with_method("may_learn", learn_inclusive),
    "one-tolerance": with_param(dev_tolerance=lambda v: 1000),
    "no-tolerance-is-all": with_method("excess", without_tolerance),
    "sigma-floor-ignored": with_param(sigma_floor=lambda v: 1),
    "claims-believed": with_method("believed", all_is_believed),
    "believed-of-latency": with_method("believed", latency_is_io),
    "believed-deviation": with_method("believed", deviation_is_believed),
    "believed-own-traffic": with_method("believed", own_counts_as_others),
    "believed-over-own-base": with_method("believed", deviation_over_own_base),
    "near-inclusive": among("set", with_method("is_near", over(ioshares.HOLD))),
    "near-is-over": among("set", with_constant("is_near", "HOLD", second.ONE)),
    "tolerance-inclusive": among("set", with_method("is_over", over(second.ONE))),
    "claim-unread": among("set", with_method("verdict", claim_unread)),
    "self-inflicted-ignored": with_method("is_self_inflicted", never),
    "idle-time-counts": with_method("members", idle_counts),
    "silent-belong": among("set", with_method("members", silent_belong)),
    "taxed-like-others": with_method("is_member", taxed_like_others),
    "blame-ratio-ignored": with_method("sends_more", always),
    "blame-ratio-inclusive": among("set", with_method("sends_more", more_inclusive)),
    "blame-ratio-of-now": with_method("sends_more", more_now),
    "size-ignored": with_method("is_larger", never),
    "size-inclusive": among("even", told("is_larger", blame_ratio=lambda v: v - 1)),
    "quarter-sent-ignored": with_method("is_quarter", always),
    "quarter-sent-exclusive": among("set", with_method("is_quarter", quarter_sent_exclusive)),
    "blame-floor-ignored": with_method("is_little", never),
    "blame-floor-exclusive": among("even", with_method("is_little", little_inclusive)),
    "blame-floor-of-each": among("set", with_method("is_below_floor", little_each)),
    "light-ignored": among("set", with_method("is_light", never)),
    "light-inclusive": among("set", with_method("is_light", light_inclusive)),
    "light-if-taxed": among("set", with_method("members", light_if_taxed)),
    "weight-of-traffic": with_method("weight", weight_of_traffic),
    "weight-of-size": with_method("weight", weight_of_size),
    "rest-inclusive": among("vain", with_method("rests", rest_inclusive)),
    "rest-ignored": with_method("rests", never),
    "highest-slot-blamed": among("set", with_method("largest", highest_slot)),
    "blame-most-untaxed": with_method("complain", most_untaxed),
    "first-is-newest": with_method("note_first", first_is_newest),
    "aim-at-tolerance": with_constant("factor", "AIM", 1000),
    "alike-never": among("set", with_method("is_alike", never)),
    "alike-always": with_method("is_alike", always),
    "huge-never": with_method("is_huge", never),
    "huge-exclusive": among("set", with_method("is_huge", huge_exclusive)),
    "unchanged-is-raised": with_method("raise_rate", unchanged_is_raised),
    "one-at-a-time": with_method("waits_beside", one_at_a_time),
    "own-never-slows": with_method("part_active", own_never_slows),
    "more-than-always": with_method("part_active", more_than_always),
    "own-queues-count": with_method("add", own_queues),
    "queues-of-all-intervals": with_method("add", mean_of_all),
    "claim-when-over": among("vain", with_method("is_claim", claim_when_over)),
    "eighth-before-least": with_method("is_complete", eighth_before_least),
    "raise-without-end": with_result("factor", lambda by: by + (by == 2000)),
    "raise-without-next-cap": among("set", with_method("above", without_next_cap)),
    "back-without-next-cap": among("set", with_method("below", back_without_next_cap)),
    "never-before": among("set", with_method("demand", never_before)),
    "before-when-gross": among("set", with_method("demand", always_before)),
    "first-demand-counts": among("set", with_method("largest_demands", first_demand)),
    "last-of-equals": among("set", with_method("largest_demands", last_of_equals)),
    "spread-over-one": with_constant("apart", "REFILLS", 1),
    "spread-later": among("set", with_method("raise_rate", one_later)),
    "taxed-at-once": among("set", with_method("raise_rate", taxed_at_once)),
    "spread-not-awaited": among("set", with_method("raise_rate", raised_now)),
    "before-kept-by-raise": among("set", with_method("raise_rate", before_kept)),
    "silence-is-calm": with_method("is_calm", silent_is_calm),
    "near-is-calm": among("set", with_method("is_calm", near_is_calm)),
    "calm-later": later("is_due", -1),
    "calm-time-over": with_method("keep_calm", over_is_no_time),
    "calm-kept-over": among("set", with_method("keep_calm", over_keeps_calm)),
    "all-back": among("set", with_method("is_one_at_a_time", never)),
    "one-back": with_method("is_one_at_a_time", always),
    "one-back-inclusive": among("set", with_method("is_middling", over(ioshares.ALL_BACK))),
    "one-back-for-any": among("set", with_method("is_one_at_a_time", one_for_any_verdict)),
    "one-back-of-equals": among("set", with_method("highest", highest_of_equals)),
    "lowest-back": among("set", with_method("highest", lowest_rate)),
    "back-off-late": with_param(calm=lambda v: v + 1),
    "back-off-less": told("below", back_off=lambda v: v - 1),
    "never-lifted": with_method("is_nearly_full", never),
    "release-keeps-before": among("set", release_keeping("before")),
    "first-not-forgotten": among("vain", with_method("release", first_not_forgotten)),
    "claims-hold-for-ever": among("set", with_method("is_held_by_a_claim", never)),
    "futile-only-over": among("set", with_method("claimant", only_over)),
    "futile-most-alone": among("set", with_method("claimant", most_alone)),
    "futile-in-no-set": among("set", with_method("claimant", in_no_set)),
    "futile-pin-kept": among("vain", with_method("end_futile", pin_kept)),
    "futile-later": among("vain", later("end_futile", -1)),
    "futility-never": with_method("is_in_vain", never),
    "futility-gain-inclusive": among("set", with_method("is_in_vain", gain_inclusive)),
    "rest-of-all": among("set", with_method("end_futile", rest_of_all)),
    "empty-without-money": with_method("decided", empty_without_money),
    "least-ignored": with_method("least", not_least),
    "floor-untold": with_method("taxed", floor_untold),
    "floor-for-nobody": among("set", with_method("is_at_floor", nobody_is_floor)),
    "set-uncounted": with_method("uncapped", set_uncounted),
}
ALL = {
    "null-why-swapped": ("null", with_method("guest", null_reason)),
    "freemarket-guard-ignored": ("freemarket", with_method("is_guarded", never)),
    "freemarket-step-short": ("freemarket", with_param(step=lambda v: v - 1)),
    "freemarket-low-inclusive": ("freemarket", with_method("is_low", low_inclusive)),
    "freemarket-never-lifted": ("freemarket", with_method("begin_epoch", keep_epoch)),
    "freemarket-least-ignored": ("freemarket", with_method("least", not_least)),
    "freemarket-step-over-epochs": ("freemarket", with_method("begin_epoch", keep_cut_time)),
    "freemarket-empty-forgotten": ("freemarket", with_method("slow", not_sticky)),
    "freemarket-cut-from-force": ("freemarket", with_method("cut", from_force)),
    "freemarket-spared-anew": ("freemarket", with_method("guest", spared_begins_anew)),
    "ratio-hold-inclusive": ("ratio", with_param(hold=lambda v: v - 1)),
    "ratio-victim-exclusive": ("ratio", with_method("cap", victim_exclusive)),
    "ratio-equal-not-renewed": ("ratio", with_method("remember", equal_not_renewed)),
    "ratio-least-ignored": ("ratio", with_method("least", not_least)),
    **{"ioshares-" + name: ("ioshares", plant) for name, plant in IOSHARES.items()},
}
