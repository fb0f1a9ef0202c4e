# SPDX-License-Identifier: GPL-2.0-or-later
"""plants: errors for one rule of the second implementation, each of which compare.py must find."""
import ioshares
import second
import wrong


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


def stands_for_all(_, self, threshold):
    return threshold + 1


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
IOSHARES = {
    "window-kept-by-restart": among("set", keeping("begin", "window")),
    "pause-over-restart": among("set", keeping("begin", "sent_time")),
    "wait-over-restart": keeping("begin", "wait_since"),
    "restart-is-new": with_method("decide", wrong.restart_is_new),
    "predecessor-rests": among("vain", forget_keeping("rest_until")),
    "predecessor-blamed-first": among("vain", forget_keeping("first_intf")),
    "predecessor-in-set": forget_keeping("blamed"),
    "predecessor-accuses": forget_keeping("accuser"),
    "predecessor-sent": among("even", with_method("forget_slot", wrong.predecessor_sent)),
    "former-life-counts": with_method("forget_slot", wrong.former_life_counts),
    "absent-remember-predecessor": with_method("forget_slot", wrong.only_present),
    "first-rate-late": among("set", later("begin_rate", -1)),
    "weighed-by-planned-rate": with_method("count", wrong.own_rate),
    "uncappable-is-free": with_method("count", wrong.uncappable_is_free),
    "old-inclusive": among("set", with_method("is_old", wrong.old_inclusive)),
    "size-never-old": among("set", with_method("is_old", never)),
    "equal-size-not-renewed": among("set", with_method(
        "remember_size", wrong.equal_size_not_renewed)),
    "equal-pause-not-renewed": among("set", with_method(
        "remember_pause", wrong.equal_pause_not_renewed)),
    "pause-without-end": with_method("pause", wrong.pause_without_end),
    "pause-from-start": with_method("pause", wrong.pause_from_start),
    "hostile-believed": with_method("is_hostile", never),
    "limits-hostile": with_method("is_hostile", wrong.limits_hostile),
    "stale-exclusive": with_method("is_reporter", wrong.stale_exclusive),
    "stale-holds": among("set", keeping("hear", "holds")),
    "caps-bite-at-once": with_method("quiet", wrong.quiet_but("caps")),
    "raise-not-awaited": among("vain", with_method("quiet", wrong.quiet_but("raised"))),
    "quiet-later": with_method("quiet", wrong.quiet_later),
    "closed-inclusive": with_method("watch", wrong.closed_inclusive),
    "waits-for-ever": with_method("waits", wrong.wait_for_ever),
    "never-waits": with_method("waits", never),
    "wait-longer": among("even", later("waited_enough", 1)),
    "opening-tick-counts": with_method("observe", wrong.opening_counts),
    "pauses-of-untaxed": among("set", with_method("pauses", wrong.pauses_of_all)),
    "pauses-ignored": among("set", with_method("pauses", lambda *_: [])),
    "pause-instead-of-window": among("set", with_method("least_window", wrong.pause_instead)),
    "window-exclusive": with_method("has_lasted", wrong.lasted_exclusive),
    "samples-exclusive": with_method("has_samples", wrong.samples_exclusive),
    "long-exclusive": with_method("is_long", wrong.long_exclusive),
    "long-shorter": with_constant("is_long", "LONG", 3),
    "eighth-for-all": among("set", with_method("is_complete", wrong.eighth_for_all)),
    "eighth-exclusive": with_method("is_long_enough", wrong.eighth_exclusive),
    "eighth-late": later("is_long_enough", -1),
    "eighth-a-seventh": with_constant("is_long_enough", "ENOUGH", 7),
    "gross-over-given-alone": with_method("is_gross", wrong.gross_if_given),
    "gross-by-claim": among("set", with_method("is_gross", wrong.claims_end_windows)),
    "gross-exclusive": among("set", with_method("is_far_over", wrong.far_over_exclusive)),
    "gross-never": with_method("is_gross", never),
    "learns-when-capped": with_method("may_learn", wrong.from_capped),
    "learns-rounding-down": with_method("toward", wrong.toward_floor),
    "learn-share-inclusive": with_method("may_learn", wrong.learn_inclusive),
    "one-tolerance": with_param(dev_tolerance=lambda v: 1000),
    "no-tolerance-is-all": with_method("excess", wrong.without_tolerance),
    "sigma-floor-ignored": with_param(sigma_floor=lambda v: 1),
    "claims-believed": with_method("believed", wrong.all_is_believed),
    "believed-of-latency": with_method("believed", wrong.latency_is_io),
    "believed-deviation": with_method("believed", wrong.deviation_is_believed),
    "believed-own-traffic": with_method("believed", wrong.own_counts_as_others),
    "believed-over-own-base": with_method("believed", wrong.deviation_over_own_base),
    "near-inclusive": among("set", with_method("is_near", wrong.over(ioshares.HOLD))),
    "near-is-over": among("set", with_constant("is_near", "HOLD", second.ONE)),
    "tolerance-inclusive": among("set", with_method("is_over", wrong.over(second.ONE))),
    "claim-unread": among("set", with_method("verdict", wrong.claim_unread)),
    "self-inflicted-ignored": with_method("is_self_inflicted", never),
    "idle-time-counts": with_method("members", wrong.idle_counts),
    "silent-belong": among("set", with_method("members", wrong.silent_belong)),
    "taxed-like-others": with_method("is_member", wrong.taxed_like_others),
    "blame-ratio-ignored": with_method("sends_more", always),
    "blame-ratio-inclusive": among("set", with_method("sends_more", wrong.more_inclusive)),
    "blame-ratio-of-now": with_method("sends_more", wrong.more_now),
    "size-ignored": with_method("is_larger", never),
    "size-inclusive": among("even", told("is_larger", blame_ratio=lambda v: v - 1)),
    "quarter-sent-ignored": with_method("is_quarter", always),
    "quarter-sent-exclusive": among("set", with_method("is_quarter", wrong.quarter_sent_exclusive)),
    "blame-floor-ignored": with_method("is_little", never),
    "blame-floor-exclusive": among("even", with_method("is_little", wrong.little_inclusive)),
    "blame-floor-of-each": among("set", with_method("is_below_floor", wrong.little_each)),
    "light-ignored": among("set", with_method("is_light", never)),
    "light-inclusive": among("set", with_method("is_light", wrong.light_inclusive)),
    "light-if-taxed": among("set", with_method("members", wrong.light_if_taxed)),
    "weight-of-traffic": with_method("weight", wrong.weight_of_traffic),
    "weight-of-size": with_method("weight", wrong.weight_of_size),
    "rest-inclusive": among("vain", with_method("rests", wrong.rest_inclusive)),
    "rest-ignored": with_method("rests", never),
    "highest-slot-blamed": among("set", with_method("largest", wrong.highest_slot)),
    "blame-most-untaxed": with_method("complain", wrong.most_untaxed),
    "first-is-newest": with_method("note_first", wrong.first_is_newest),
    "aim-at-tolerance": with_constant("factor", "AIM", 1000),
    "alike-never": among("set", with_method("is_alike", never)),
    "alike-always": with_method("is_alike", always),
    "huge-never": with_method("is_huge", never),
    "huge-exclusive": among("set", with_method("is_huge", wrong.huge_exclusive)),
    "unchanged-is-raised": with_method("raise_rate", wrong.unchanged_is_raised),
    "one-at-a-time": with_method("waits_beside", wrong.one_at_a_time),
    "own-never-slows": with_method("part_active", wrong.own_never_slows),
    "more-than-always": with_method("part_active", wrong.more_than_always),
    "own-queues-count": with_method("add", wrong.own_queues),
    "queues-of-all-intervals": with_method("add", wrong.mean_of_all),
    "claim-when-over": among("vain", with_method("is_claim", wrong.claim_when_over)),
    "eighth-before-least": with_method("is_complete", wrong.eighth_before_least),
    "raise-without-end": with_result("factor", lambda by: by + (by == 2000)),
    "raise-without-next-cap": among("set", with_method("above", wrong.without_next_cap)),
    "back-without-next-cap": among("set", with_method("below", wrong.back_without_next_cap)),
    "never-before": among("set", with_method("demand", wrong.never_before)),
    "before-when-gross": among("set", with_method("demand", wrong.always_before)),
    "first-demand-counts": among("set", with_method("largest_demands", wrong.first_demand)),
    "last-of-equals": among("set", with_method("largest_demands", wrong.last_of_equals)),
    "spread-over-one": with_constant("time_of_raise", "REFILLS", 1),
    "spread-later": among("set", with_method("time_of_raise", wrong.one_later)),
    "taxed-at-once": among("set", with_method("time_of_raise", wrong.taxed_at_once)),
    "place-kept-alone": among("set", with_method("time_of_raise", wrong.kept_when_alone)),
    "cycles-kept": among("set", with_method("time_of_raise", wrong.cycles_kept)),
    "places-not-reused": among("set", with_method("free_place", wrong.never_free_again)),
    "places-in-a-row": with_result("part", lambda d: d // 2),
    "spread-not-awaited": among("set", with_method("raise_rate", wrong.raised_now)),
    "before-kept-by-raise": among("set", with_method("raise_rate", wrong.before_kept)),
    "silence-is-calm": with_method("is_calm", wrong.silent_is_calm),
    "near-is-calm": among("set", with_method("is_calm", wrong.near_is_calm)),
    "calm-later": later("is_due", -1),
    "calm-time-over": with_method("keep_calm", wrong.over_is_no_time),
    "calm-kept-over": among("set", with_method("keep_calm", wrong.over_keeps_calm)),
    "all-back": among("set", with_method("is_one_at_a_time", never)),
    "one-back": with_method("is_one_at_a_time", always),
    "one-back-inclusive": among("set", with_method("is_middling", wrong.over(ioshares.ALL_BACK))),
    "one-back-for-any": among("set", with_method("is_one_at_a_time", wrong.one_for_any_verdict)),
    "one-back-of-equals": among("set", with_method("highest", wrong.highest_of_equals)),
    "lowest-back": among("set", with_method("highest", wrong.lowest_rate)),
    "back-off-late": with_param(calm=lambda v: v + 1),
    "back-off-less": told("below", back_off=lambda v: v - 1),
    "never-lifted": with_method("is_nearly_full", never),
    "release-keeps-before": among("set", release_keeping("before")),
    "first-not-forgotten": among("vain", with_method("release", wrong.first_not_forgotten)),
    "claims-hold-for-ever": among("set", with_method("is_held_by_a_claim", never)),
    "futile-only-over": among("set", with_method("claimant", wrong.only_over)),
    "futile-most-alone": among("set", with_method("claimant", wrong.most_alone)),
    "futile-in-no-set": among("set", with_method("claimant", wrong.in_no_set)),
    "futile-pin-kept": among("vain", with_method("end_futile", wrong.pin_kept)),
    "futile-later": among("vain", later("end_futile", -1)),
    "futility-never": with_method("is_in_vain", never),
    "futility-gain-inclusive": among("set", with_method("is_in_vain", wrong.gain_inclusive)),
    "rest-of-all": among("set", with_method("end_futile", wrong.rest_of_all)),
    "empty-without-money": with_method("decided", wrong.empty_without_money),
    "least-ignored": with_method("least", not_least),
    "floor-untold": with_method("taxed", wrong.floor_untold),
    "held-is-taxed": with_method("taxed", wrong.held_is_taxed),
    "nobody-blames": among("set", with_method("blames", wrong.nobody_blames)),
    "soon-untold": among("set", with_method("uncapped", wrong.soon_untold)),
    "spared-is-free": with_method("unaccused", wrong.spared_is_free),
    "least-is-soon": with_method("unaccused", wrong.least_is_soon),
    "self-is-evidence": with_method("is_evidence", wrong.self_is_evidence),
    "own-evidence": with_method("unaccused", wrong.own_evidence),
    "unheard-is-unknown": with_method("unaccused", wrong.unheard_is_unknown),
    "mean-alone": with_method("shown_rise", wrong.mean_alone),
    "rise-of-whole": with_method("shown_rise", wrong.rise_of_whole),
}
def all_believed(_, self, rise, bound):
    return rise


def in_a_row(_, self, cycle, place):
    return cycle * place // 256


def pause_ignored(true, self, l):
    true(self, l)
    l.pause = 0


def never_later(_, self, l, age, excess):
    return self.p.retry


def largest_is_last(true, self, link, windows):
    j = true(self, link, windows)
    for g, b in self.on(link):
        if self.reports(g) and self.has_enough(b, windows) and self.excess(g) == j.excess:
            j.worst = g
    return j


SLO = {
    "claims-believed": with_method("believed", all_believed),
    "alike-never": with_method("is_alike", never),
    "spare-ignored": with_param(spare=lambda v: 0),
    "forgets-never": with_method("forgets", never),
    "near-never": with_method("is_near", never),
    "in-a-row": among("set", with_method("part", in_a_row)),
    "silent-never": with_method("is_silent", never),
    "in-vain-never": with_method("is_in_vain", never),
    "futile-never": with_method("is_futile", never),
    "least-ignored": with_method("least", not_least),
    "pause-ignored": with_method("note_pause", pause_ignored),
    "little-as-gross": with_method("time_to_hold", never_later),
    "last-of-equals": with_method("judge", largest_is_last),
    "tolerance-of-own-ignored": with_method("tolerance", lambda _, self, g: self.p.tolerance or 1),
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
    "freemarket-stands-for-all": ("freemarket", with_method("stands", stands_for_all)),
    "ratio-hold-inclusive": ("ratio", with_param(hold=lambda v: v - 1)),
    "ratio-victim-exclusive": ("ratio", with_method("cap", victim_exclusive)),
    "ratio-equal-not-renewed": ("ratio", with_method("remember", equal_not_renewed)),
    "ratio-least-ignored": ("ratio", with_method("least", not_least)),
    **{"ioshares-" + name: ("ioshares", plant) for name, plant in IOSHARES.items()},
    **{"slo-" + name: ("slo", plant) for name, plant in SLO.items()},
}
