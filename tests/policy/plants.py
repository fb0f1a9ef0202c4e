# SPDX-License-Identifier: GPL-2.0-or-later
"""plants: errors for one rule of the second implementation, each of which compare.py must find."""
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


def low_inclusive(true, self, g):
    return g.balance * 1000 <= g.allocated * self.p.low


def never(*_):
    return False


def keep_epoch(true, self, t, b):
    true(self, type("T", (), {"epoch": 0}), b)


def null_reason(true, self, t, g, b):
    line = true(self, t, g, b)
    return line[:5] + (line[6], line[5]) + line[7:]


ALL = {
    "null-why-swapped": ("null", with_method("guest", null_reason)),
    "freemarket-guard-ignored": ("freemarket", with_method("is_guarded", never)),
    "freemarket-step-short": ("freemarket", with_param(step=lambda v: v - 1)),
    "freemarket-low-inclusive": ("freemarket", with_method("is_low", low_inclusive)),
    "freemarket-never-lifted": ("freemarket", with_method("begin_epoch", keep_epoch)),
    "freemarket-least-ignored": ("freemarket", with_method("least", lambda _, self, g: g.min)),
    "freemarket-step-over-epochs": ("freemarket", with_method("begin_epoch", keep_cut_time)),
    "freemarket-empty-forgotten": ("freemarket", with_method("slow", not_sticky)),
    "freemarket-cut-from-force": ("freemarket", with_method("cut", from_force)),
    "freemarket-spared-anew": ("freemarket", with_method("guest", spared_begins_anew)),
}
