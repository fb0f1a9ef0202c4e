# SPDX-License-Identifier: GPL-2.0-or-later
"""wrong: methods of IOShares with one error each, for plants.py. Each gets the true one first."""
import ioshares
import ioshares_why
import second


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
        return ioshares_why.FINE
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


def one_later(true, self, g, b, state):
    later = true(self, g, b, state)
    return later + (later > 0)


def taxed_at_once(true, self, g, b, state):
    taxed = ioshares.is_taxed(b)
    return true(self, g, b, state) * (not taxed)


def kept_when_alone(true, self, g, b, state):
    place = b.place
    later = true(self, g, b, state)
    b.place = place if ioshares.is_taxed(b) else b.place
    return later


def cycles_kept(true, self, g, b, state):
    cycles = state.cycles
    later = true(self, g, b, state)
    state.cycles = cycles or self.now
    return later


def never_free_again(true, self, taken):
    return max(taken, default=-1) + 1


def raised_now(true, self, g, rate, accuser):
    out = true(self, g, rate, accuser)
    self.links[g.link].raised = self.now
    return out


def before_kept(true, self, g, rate, accuser):
    before = self.blocks[g.slot].before
    out = true(self, g, rate, accuser)
    self.blocks[g.slot].before = before
    return out


def unchanged_is_raised(true, self, g, rate, accuser):
    true(self, g, rate, accuser)
    return True


def silent_is_calm(true, self, guests, verdicts):
    return true(self, guests, verdicts or [0])


def near_is_calm(true, self, guests, verdicts):
    blocks = [self.blocks[g.slot] for g in guests]
    return bool(verdicts or not any(self.is_reporter(b) for b in blocks))


def over_is_no_time(true, self, state, guests, verdicts):
    time = state.calm_time
    true(self, state, guests, verdicts)
    if ioshares_why.OVER in verdicts:
        state.calm_time = time


def over_keeps_calm(true, self, state, guests, verdicts):
    calm = state.calm
    true(self, state, guests, verdicts)
    if ioshares_why.OVER in verdicts:
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
    return r if r and r.verdict == ioshares_why.OVER else None


def most_alone(true, self, g, b):
    r = true(self, g, b)
    return r if r and r.top == g.slot else None


def in_no_set(true, self, g, b):
    r = self.blocks[b.accuser] if b.accuser in self.shown else None
    return r if r and r.verdict in (ioshares_why.OVER, ioshares_why.NOBODY) else None


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


def floor_untold(true, self, g, b, cap):
    reason, *rest = true(self, g, b, cap)
    return (ioshares_why.TAXED if reason == ioshares_why.FLOOR else reason, *rest)


def held_is_taxed(true, self, g, b, cap):
    reason, *rest = true(self, g, b, cap)
    return (ioshares_why.TAXED if reason == ioshares_why.HELD else reason, *rest)


def nobody_blames(true, self, r, g):
    return r.verdict in (ioshares_why.NOBODY, ioshares_why.OVER) and g.slot in r.blamed


def soon_untold(true, self, g, b):
    soon, b.next_rate = b.next_rate, 0
    said = true(self, g, b)
    b.next_rate = soon
    return said


def self_is_evidence(true, self, b):
    return true(self, b) or b.verdict == ioshares_why.SELF


def own_evidence(true, self, g):
    reason, *rest = true(self, g)
    own = self.is_evidence(self.blocks[g.slot]) and reason in (ioshares_why.UNKNOWN, ioshares_why.UNHEARD)
    return (ioshares_why.FREE if own else reason, *rest)


def unheard_is_unknown(true, self, g):
    reason, *rest = true(self, g)
    return (ioshares_why.UNKNOWN if reason == ioshares_why.UNHEARD else reason, *rest)


def spared_is_free(true, self, g):
    said = true(self, g)
    return (ioshares_why.FREE, *said[1:]) if said[0] == ioshares_why.SPARED else said


def least_is_soon(true, self, g):
    said = true(self, g)
    return (ioshares_why.SOON, *said[1:]) if said[0] == ioshares_why.LEAST else said


def mean_alone(true, self, base, figures):
    return true(self, base, figures)[0], 0


def rise_of_whole(true, self, base, figures):
    return true(self, base, (figures[0], figures[0] - base[0] + base[1], figures[2]))
