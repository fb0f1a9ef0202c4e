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


def only_ratio(true, self, its, own, capacity):
    return its * 1000 > self.p.blame_ratio * own


def only_floor(true, self, its, own, capacity):
    return its * 1000 >= self.p.blame_floor * capacity


def ratio_inclusive(true, self, its, own, capacity):
    return true(self, its, own - 1 if its * 1000 == self.p.blame_ratio * own > 0 else own, capacity)


def floor_exclusive(true, self, its, own, capacity):
    return its * 1000 != self.p.blame_floor * capacity and true(self, its, own, capacity)


def first_complaint(true, self, made):
    seen, kept = set(), []
    for accuser, verdict, complaint in made:
        if complaint and complaint[1] not in seen:
            seen.add(complaint[1])
            kept.append((accuser, verdict, complaint))
    true(self, kept)


def highest_slot(true, self, slots, sent):
    return max(slots, key=lambda s: (sent[s], s), default=None)


def most_untaxed(true, self, g, b, w, capacity):
    found = true(self, g, b, w, capacity)
    sent = self.drawn(g, w.weighted, "cum_w")
    blamed = [s for s in sent if found is not None and s != g.slot and not self.rests(b, s)
              and ioshares.is_subject(self.shown[s])
              and self.is_to_blame(sent[s], sent[g.slot], capacity)]
    return self.largest(blamed, sent)


def weighted_share(true, self, b, offender, raw):
    g = self.shown[offender]
    r = next(s for s, other in self.blocks.items() if other is b)
    return true(self, b, offender, self.drawn(g, self.blocks[r].window.weighted, "cum_w"))


def own_rate(true, self, g, b):
    rate, g.rate = g.rate, b.rate
    true(self, g, b)
    g.rate = rate


def from_capped(true, self, g, w, others, capacity):
    capped, w.capped = w.capped, False
    learned = true(self, g, w, others, capacity)
    w.capped = capped
    return learned


def toward_floor(true, self, base, figure):
    return base + (figure - base) // 8


def learn_inclusive(true, self, g, w, others, capacity):
    same = others * 1000 == self.p.learn_share * capacity
    return true(self, g, w, -1 if same else others, capacity + same)


def window_exclusive(true, self, w):
    return self.now - w.start > self.p.window and true(self, w)


def samples_exclusive(true, self, w):
    return w.n > self.p.min_samples and true(self, w)


def quiet_but(word):
    def changed(true, self, state, guests):
        caps = [g.cap_time + self.p.bite for g in guests if g.cap_time and word != "caps"]
        return max([0, state.raised if word != "raised" else 0] + caps)
    return changed


def wait_for_ever(true, self, g, b):
    true(self, g, b)
    return b.wait_since is not None


def stale_exclusive(true, self, b):
    return b.heard is not None and self.now - b.heard < self.p.stale


def rest_inclusive(true, self, b, slot):
    return slot in b.rest_until and b.rest_until[slot] >= self.now


def silent_is_calm(true, self, guests, verdicts):
    return true(self, guests, verdicts or [0])


def first_not_forgotten(true, self, slot):
    b = self.blocks[slot]
    b.floor_since = b.accuser = None


def predecessor_rests(true, self, b, slot):
    until = b.rest_until.get(slot)
    true(self, b, slot)
    if until:
        b.rest_until[slot] = until


def predecessor_sent(true, self, b, slot):
    kept = dict(b.window.weighted) if b.window else None
    true(self, b, slot)
    if kept is not None:
        b.window.weighted = kept


def predecessor_accuses(true, self, b, slot):
    accuser = b.accuser
    true(self, b, slot)
    b.accuser = accuser


def floor_kept(true, self, g, b):
    since = b.floor_since
    true(self, g, b)
    if b.floor_since is None and b.rate > second.ONE:
        b.floor_since = since


def gain_inclusive(true, self, g, b):
    first = b.accuser is not None and self.blocks[b.accuser].first_intf.get(g.slot, 0)
    if first and self.blocks[b.accuser].intf * 1000 == first * (1000 - self.p.futile_gain):
        return self.blocks[b.accuser].verdict == ioshares.OVER
    return true(self, g, b)


def opening_counts(true, self, g, b, quiet):
    true(self, g, b, quiet)
    if b.window and not b.window.counted:
        self.add(g, b.window)


def empty_without_money(true, self, g, b):
    return true(self, type("G", (), {**{n: getattr(g, n) for n in g.__slots__}, "allocated": 1}), b)


def tolerance_inclusive(true, self, rise, tolerance):
    return rise * 10**6 >= tolerance * second.ONE


def last_of_equals(true, self, made):
    true(self, list(reversed(made)))


def later(name, count):
    """A plant: for this method time stands a few ns beside what it is."""
    def method(true, self, *args):
        self.now, kept = self.now + count, self.now
        try:
            return true(self, *args)
        finally:
            self.now = kept
    return with_method(name, method)


def quiet_later(true, self, state, guests):
    return true(self, state, guests) + 1


def closed_inclusive(true, self, state, guests):
    for b in (self.blocks[g.slot] for g in guests):
        if b.window and b.window.start == self.quiet(state, guests):
            b.window = None
    true(self, state, guests)


def floor_untold(true, self, g, b, cap, rate):
    reason, *rest = true(self, g, b, cap, rate)
    return (ioshares.TAXED if reason == ioshares.FLOOR else reason, *rest)


def limits_hostile(true, self, g):
    at_limit = (g.n == 2**20, g.sum == g.n << 34, g.iosq == g.n << 68)
    return any(at_limit) or true(self, g)


def back_off_up(true, self, guests):
    self.p.back_off, kept = self.p.back_off - 1, self.p.back_off
    true(self, guests)
    self.p.back_off = kept


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
    "ioshares-blame-ratio-ignored": ("ioshares", with_method("is_to_blame", only_floor)),
    "ioshares-blame-floor-ignored": ("ioshares", with_method("is_to_blame", only_ratio)),
    "ioshares-blame-ratio-inclusive": (
        "ioshares", among("even", with_method("is_to_blame", ratio_inclusive))),
    "ioshares-blame-floor-exclusive": (
        "ioshares", among("even", with_method("is_to_blame", floor_exclusive))),
    "ioshares-first-complaint-counts": ("ioshares", with_method("raise_rates", first_complaint)),
    "ioshares-highest-slot-blamed": (
        "ioshares", among("even", with_method("largest", highest_slot))),
    "ioshares-blame-most-untaxed": ("ioshares", with_method("blame", most_untaxed)),
    "ioshares-share-weighted": ("ioshares", with_method("complain", weighted_share)),
    "ioshares-weighed-by-planned-rate": ("ioshares", with_method("count", own_rate)),
    "ioshares-learns-when-capped": ("ioshares", with_method("may_learn", from_capped)),
    "ioshares-learns-rounding-down": ("ioshares", with_method("toward", toward_floor)),
    "ioshares-learn-share-inclusive": ("ioshares", with_method("may_learn", learn_inclusive)),
    "ioshares-window-exclusive": ("ioshares", with_method("is_complete", window_exclusive)),
    "ioshares-samples-exclusive": ("ioshares", with_method("is_complete", samples_exclusive)),
    "ioshares-caps-bite-at-once": ("ioshares", with_method("quiet", quiet_but("caps"))),
    "ioshares-raise-not-awaited": (
        "ioshares", among("vain", with_method("quiet", quiet_but("raised")))),
    "ioshares-waits-for-ever": ("ioshares", with_method("waits", wait_for_ever)),
    "ioshares-never-waits": ("ioshares", with_method("waits", never)),
    "ioshares-stale-exclusive": ("ioshares", with_method("is_reporter", stale_exclusive)),
    "ioshares-rest-inclusive": (
        "ioshares", among("vain", with_method("rests", rest_inclusive))),
    "ioshares-rest-ignored": ("ioshares", with_method("rests", never)),
    "ioshares-silence-is-calm": ("ioshares", with_method("is_calm", silent_is_calm)),
    "ioshares-hostile-believed": ("ioshares", with_method("is_hostile", never)),
    "ioshares-self-inflicted-ignored": ("ioshares", with_method("is_self_inflicted", never)),
    "ioshares-never-lifted": ("ioshares", with_method("is_light", never)),
    "ioshares-back-off-late": ("ioshares", with_param(calm=lambda v: v + 1)),
    "ioshares-back-off-less": ("ioshares", with_method("back_off", back_off_up)),
    "ioshares-tolerance-inclusive": ("ioshares", with_method("is_over", tolerance_inclusive)),
    "ioshares-one-tolerance": ("ioshares", with_param(dev_tolerance=lambda v: 1000)),
    "ioshares-sigma-floor-ignored": ("ioshares", with_param(sigma_floor=lambda v: 1)),
    "ioshares-futility-never": ("ioshares", with_method("is_in_vain", never)),
    "ioshares-futility-gain-inclusive": (
        "ioshares", among("vain", with_method("is_in_vain", gain_inclusive))),
    "ioshares-futile-floor-kept": (
        "ioshares", among("vain", with_method("end_futile", floor_kept))),
    "ioshares-first-not-forgotten": (
        "ioshares", among("vain", with_method("forget_offender", first_not_forgotten))),
    "ioshares-predecessor-rests": (
        "ioshares", among("vain", with_method("forget_slot", predecessor_rests))),
    "ioshares-predecessor-sent": (
        "ioshares", among("even", with_method("forget_slot", predecessor_sent))),
    "ioshares-predecessor-accuses": ("ioshares", with_method("forget_slot", predecessor_accuses)),
    "ioshares-opening-tick-counts": ("ioshares", with_method("observe", opening_counts)),
    "ioshares-empty-without-money": ("ioshares", with_method("decided", empty_without_money)),
    "ioshares-least-ignored": ("ioshares", with_method("least", not_least)),
    "ioshares-last-of-equals": (
        "ioshares", among("vain", with_method("raise_rates", last_of_equals))),
    "ioshares-floor-untold": ("ioshares", with_method("taxed", floor_untold)),
    "ioshares-futile-later": ("ioshares", among("vain", later("end_futile", -1))),
    "ioshares-calm-later": ("ioshares", later("is_due", -1)),
    "ioshares-wait-longer": (
        "ioshares", among("even", later("waited_enough", 1))),
    "ioshares-quiet-later": ("ioshares", with_method("quiet", quiet_later)),
    "ioshares-closed-inclusive": ("ioshares", with_method("watch", closed_inclusive)),
    "ioshares-limits-hostile": ("ioshares", with_method("is_hostile", limits_hostile)),
}
