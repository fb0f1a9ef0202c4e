# SPDX-License-Identifier: GPL-2.0-or-later
"""ioshares_why: the plan of ioshares.py and its reasons, from resex-policies(7); see second.py."""
from second import CAP_NONE, CAPPABLE, EXEMPT, ONE, clamp, entry

NONE, NO_BASE, FINE, SELF, NOBODY, OVER = range(6)  # verdicts
(FREE, TAXED, EMPTY, IS_EXEMPT, NOT_CAPPABLE, FUTILE, SELF_HURT, HURT, UNBLAMED, BASELESS,
 FADING, FLOOR, UNHEARD, UNKNOWN, SPARED, SOON, HELD, LEAST) = range(18)


def is_subject(g):
    return bool(g.flags & CAPPABLE and not g.flags & EXEMPT)


def is_taxed(b):
    return b.rate != ONE


class Reasons:
    """The last step of a tick: the cap of each guest, and why."""

    # 10: the plan.
    def line(self, g, b):
        reason, b.wanted, why = self.decided(g, b)
        return entry(b.wanted, b.rate, reason, why)

    def decided(self, g, b):
        """(reason, cap, figures)"""
        if not is_subject(g):
            return (IS_EXEMPT if g.flags & EXEMPT else NOT_CAPPABLE), CAP_NONE, (0, 0, 0, 0)
        if self.p.on_empty and g.balance == 0 and g.allocated > 0:
            cap = clamp((1, self.least(g)), g, self.least(g))
            return EMPTY, cap, (cap[1], 0, 0, 0)
        if is_taxed(b):
            cap = clamp((1, self.cap_of(g, b.rate)), g, self.least(g))
            return self.taxed(g, b, cap)
        return self.uncapped(g, b)

    def is_at_floor(self, g, b):
        return b.rate == self.most(g) and self.is_long_pinned(b)

    def accuser(self, b):
        r = self.blocks[b.accuser] if b.accuser in self.shown else None
        return r if r and self.is_reporter(r) else None

    def because(self, reason, slot, cap=CAP_NONE):
        rise = self.blocks[slot].rise
        return reason, cap, (cap[1], rise[0], slot, rise[1])

    def blames(self, r, g):
        return r.verdict == OVER and g.slot in r.blamed

    def taxed(self, g, b, cap):
        r = self.accuser(b)
        if not r:
            return FADING, cap, (cap[1], 0, 0, 0)
        reason = FLOOR if self.is_at_floor(g, b) else TAXED
        return self.because(reason if self.blames(r, g) else HELD, b.accuser, cap)

    def uncapped(self, g, b):
        if b.next_rate and self.accuser(b):
            return self.because(SOON, b.accuser)
        for slot in sorted(self.shown):
            r = self.blocks[slot]
            if self.is_reporter(r) and self.rests(r, g.slot):
                left = (r.rest_until[g.slot] - self.now) // 10**6
                return FUTILE, CAP_NONE, (0, 0, slot, left)
        if b.verdict in (NONE, FINE):
            return self.unaccused(g)
        if b.verdict == NO_BASE:
            return BASELESS, CAP_NONE, (0, 0, 0, 0)
        who, top = (g.slot, b.top) if b.verdict == OVER else (0, 0)
        reason = {SELF: SELF_HURT, NOBODY: UNBLAMED, OVER: HURT}[b.verdict]
        return reason, CAP_NONE, (who, b.rise[0], top, b.rise[1])

    def unaccused(self, g):
        """Do others say that this guest does not slow them down, or can none say so?"""
        others = [o.slot for o in self.on_link[g.link] if o is not g]
        others = {slot: self.blocks[slot] for slot in others if self.is_reporter(self.blocks[slot])}
        slow = [slot for slot, o in others.items() if o.verdict in (NOBODY, OVER)]
        by = [slot for slot in slow if self.blames(others[slot], g)]
        if by:
            return self.because(LEAST if self.most(g) == ONE else SOON, min(by))
        if slow:
            return self.because(SPARED, min(slow))
        known = FREE if any(map(self.is_evidence, others.values())) else UNKNOWN
        return known if others else UNHEARD, CAP_NONE, (0, 0, 0, 0)

    def is_evidence(self, b):
        return b.verdict in (FINE, NOBODY, OVER)
