# SPDX-License-Identifier: GPL-2.0-or-later
"""traces: random traces of what a policy is shown, by seed, in the format of replay.c.

They are closed loops, or nothing would follow from a decision: a cap that was planned is applied
some ticks later, or never; the rate comes into force with it; a capped guest sends less (or does
not care); what the others send makes a reporter's latencies longer. On top of that come guests
that join, leave, lie, report nothing, may not be capped, and figures up to 2^64 - 1.
"""
import random

import second

EXEMPT, CAPPABLE, NEW, ONE = second.EXEMPT, second.CAPPABLE, second.NEW, second.ONE
MS = 1000000
SLOTS, LINKS = 256, 8
# even: without noise, so that there are ties; vain: caps do not help, and are taken back; set:
# several that send slow one or more that report.
KINDS = ("any", "any", "even", "vain", "set", "set")
MTUS = (256, 512, 1024, 2048, 4096)
MESSAGES = (64, 4096, 65536, 65537, 131072, 2 << 20)
LOADS = {"reporter": 0.02, "bulk": 0.3, "both": 0.2, "light": 0.03, "idle": 0}
FORTUNES = (624288000, 624288000, 1000, 7, 0)  # milli-Resos

# Values that make things happen within a short trace. What has none here keeps its default.
TASTE = {
    "low": (100, 100, 300, 600), "guard": (100, 20, 400), "cut": (100, 100, 300, 50),
    "step": (10 * MS, 10 * MS, 1 * MS, 50 * MS), "min_cap": (1000, 1000, 5000, 20000, 40000),
    "victim_bytes": (65536, 65536, 4096, 1000000), "hold": (1000 * MS, 100 * MS, 5 * MS, 0),
    "window": (50 * MS, 50 * MS, 10 * MS, 1 * MS), "min_samples": (16, 1, 4, 4),
    "tolerance": (50, 50, 0, 500), "dev_tolerance": (3000, 3000, 1000, 5000),
    "blame_ratio": (1500, 1500, 1000, 5000),
    "blame_floor": (50, 50, 0, 300), "bite": (10 * MS, 0, 1 * MS), "calm": (4, 2, 1),
    "back_off": (150, 150, 400, 1000),
    "stale": (1000 * MS, 200 * MS, 50 * MS, 10 * MS), "futile": (2000 * MS, 200 * MS, 20 * MS, 0),
    "futile_gain": (100, 100, 0, 500, 1000), "futile_rest": (30000 * MS, 500 * MS, 50 * MS, 0),
    "sigma_over": (0, 0, 1), "sigma_floor": (1000, 1, 100000),
    "spare": (250, 250, 0, 1000), "retry": (5000 * MS, 100 * MS, 500 * MS),
    "gain": (500, 500, 100, 0, 1000), "rest": (30000 * MS, 500 * MS, 50 * MS, 0),
    "learn_share": (50, 50, 200, 1000, 0), "on_empty": (0, 0, 1),
}
# Values of vain traces.
VAIN = {
    "window": (10 * MS, 20 * MS), "min_samples": (1, 4), "min_cap": (5000, 25000, 60000),
    "bite": (0, 1 * MS), "stale": (1000 * MS,), "futile": (20 * MS, 60 * MS),
    "futile_rest": (50 * MS, 500 * MS), "calm": (4, 2), "back_off": (100, 400),
}
# Values of traces of sets.
SET = {
    "window": (10 * MS, 10 * MS, 20 * MS), "min_samples": (1, 4, 16), "min_cap": (1000, 1000, 5000),
    "tolerance": (500, 50, 0), "dev_tolerance": (3000, 3000, 1000), "bite": (10 * MS, 1 * MS, 0),
    "stale": (1000 * MS, 200 * MS, 50 * MS), "futile": (2000 * MS, 200 * MS, 100 * MS, 0),
    "futile_rest": (50 * MS, 500 * MS), "calm": (1, 2, 4), "back_off": (150, 150, 30, 400),
    "blame_floor": (50, 50, 300), "on_empty": (0,),
}
# The parts of the tolerance that a steered reporter claims, among them each at which a rule ends.
LEVELS = (0, 0.3, 0.4, 0.5, 0.5, 0.8, 0.9, 0.9, 1, 1.05, 1.05, 1.2, 1.5, 1.8, 2, 4)
# What one that sends is beside a reporter: its traffic and its messages, as parts of the other's.
BESIDE = ((1, 1), (1.5, 1), (0.25, 32), (0.25, 1000), (0.75, 2), (0.5, 4), (3, 1), (4, 32), (10, 1))
# The parameter that sets the pace of a policy's traces, and ticks in that time.
PACE = {"freemarket": ("step", (0.3, 1, 3)), "ratio": ("hold", (3, 10, 30)),
        "ioshares": ("window", (1, 2, 4)), "slo": ("window", (1, 2, 4))}
TICKS = {"ioshares": (30, 60, 120), "slo": (60, 120, 200)}


class Rng(random.Random):
    """Only what gives the same figures in every version of Python."""

    def below(self, n):
        return int(self.random() * n)

    def among(self, items):
        return items[int(self.random() * len(items))]

    def between(self, low, high):
        return low + int(self.random() * (high - low + 1))

    def hostile(self, bits=64):
        """Any magnitude, and often an end of the range."""
        kind = self.below(8)
        if kind < 4:
            middle = 2**(bits - 1) - 1 + self.below(3)
            return (0, 2**bits - 1, middle, 2**bits - 1 - self.below(3))[kind]
        return self.getrandbits(bits) >> self.below(bits)


class Member:
    """One guest of the little host, with what it is like."""

    def __init__(self, rng, slot, links, hostile):
        self.slot, self.flags = slot, NEW
        self.flags |= CAPPABLE * (rng.random() < 0.9) | EXEMPT * (rng.random() < 0.07)
        self.link, self.weight = rng.below(links), rng.among((1, 1, 2, 65535))
        self.vcpus = rng.among((1, 1, 1, 2, 4, 4096 if hostile else 8))
        self.bound(rng, hostile)
        self.cap, self.cap_time, self.rate = self.ceiling, 0, ONE
        self.wanted, self.wanted_rate, self.due = None, ONE, 0
        self.behave(rng, hostile)
        self.promise(rng)
        self.flood, self.duelling, self.cast = hostile and rng.random() < 0.3, False, None
        self.allocated = self.balance = 0
        self.kept = False
        self.depth = rng.among((1, 2, 3, 16, 64))

    def bound(self, rng, hostile):
        most = self.vcpus * second.VCPU
        self.ceiling, self.min = second.CAP_NONE, 1000
        if rng.random() < 0.15:
            self.ceiling = (1, rng.among((1000, most // 2, most, most * 2, rng.between(1, most))))
        if rng.random() < 0.1:
            self.min = rng.among((0, 1500, 10000, most, 2 * most))
        if hostile and rng.random() < 0.2:
            self.min = rng.hostile(32)

    def behave(self, rng, hostile):
        self.role = rng.among(("reporter", "reporter", "bulk", "bulk", "both", "light", "idle"))
        self.load = LOADS[self.role] * rng.among((0.5, 1, 1, 2, 4))
        self.reports = self.role in ("reporter", "both")
        self.lies, self.obeys = rng.random() < 0.08, rng.random() < 0.75
        self.sleepy, self.hostile = rng.random() < 0.05, hostile and rng.random() < 0.4
        self.applies = rng.among((0, 0, 0, 1, 1, 2, 5)) if rng.random() < 0.95 else -1
        self.message = rng.among((*MESSAGES, rng.between(1, 1 << 30)))
        self.active, self.samples = True, rng.among((1, 4, 8, 20, 100))
        self.pace = rng.among((0.3, 1, 1, 2))

    def promise(self, rng):
        self.io, self.whole = rng.among(((100000, 200000), (30000, 40000), (1, 1), (5000, 2000000)))
        self.dev, self.slope = self.io // rng.among((10, 50, 1)), rng.among((0.2, 1, 3, 1e-4))
        self.tolerance = rng.among((0, 0, 0, 0, 1, 50, 500, 20000))
        self.base = (self.whole, self.io, self.dev)
        if not self.reports or rng.random() < 0.25:
            self.base = (0, 0, 0)

    def duel(self, rng, role):
        """One of two that surely get in each other's way."""
        self.duelling = True
        self.role, self.link, self.load = role, 0, LOADS[role] * rng.among((1, 2, 4))
        self.flags, self.reports, self.lies = NEW | CAPPABLE, role == "reporter", False
        self.sleepy, self.flood, self.obeys = False, False, rng.random() < 0.6
        self.applies = rng.among((0, 0, 1))
        if role == "reporter":
            self.base, self.slope = (self.whole, self.io, self.dev), rng.among((0.2, 1, 3))
        else:
            self.base = (0, 0, 0)

    def play_part(self, rng, cast):
        """One of a set, or one that it slows; cast is what it plays."""
        self.cast, self.role, self.reports = cast, cast.role, cast.role == "reporter"
        self.link, self.load, self.message = 0, cast.load, cast.message
        self.flags = NEW | CAPPABLE * (rng.random() < 0.97)
        self.lies = self.sleepy = self.flood = self.hostile = False
        self.obeys, self.applies = cast.obeys, rng.among((0, 0, 0, 1, 2))
        self.pace, self.vcpus, self.ceiling = 0.3, rng.among((1, 1, 2)), second.CAP_NONE
        self.min, self.cap, self.tolerance = 1000, self.ceiling, cast.tolerance
        self.whole, self.io, self.dev = 200000, 100000, 1000
        self.base = (0, 0, 0)
        if cast.known and self.reports:
            self.base = (self.whole, self.io, self.dev)
        self.level, self.ticks = 0, 0

    def restart(self):
        self.flags, self.kept = self.flags | NEW, True
        self.cap, self.cap_time, self.rate, self.wanted = self.ceiling, 0, ONE, None

    def sends(self):
        """As part of the link."""
        if not self.active:
            return 0
        if self.cap[0] and self.obeys:
            return self.load * min(1, self.cap[1] / (self.vcpus * second.VCPU))
        return self.load


class Part:
    """What a guest plays in traces of sets; another that takes its place plays it, too."""

    def __init__(self, rng, role, load, message):
        self.role, self.load, self.message = role, load, message
        self.tolerance = rng.among((0, 0, 500, 125))
        self.known, self.obeys = rng.random() < 0.8, rng.random() < 0.6
        # A reporter's: whether it is steered, how it exaggerates, which part of the time it asks,
        # how many requests are in flight, how much they differ, how often its level changes.
        # A sender's: how many ticks lie between two bursts.
        self.steered, self.claim = rng.random() < 0.5, rng.among((1, 1, 0.6, 1.2, 3, 100))
        self.busy, self.depth = rng.among((0.05, 0.3, 0.5, 1)), rng.among((1, 1, 4))
        self.jitter = 0 if self.steered else rng.among((0, 0, 0.3, 2))
        self.moves, self.burst = rng.among((0.03, 0.1, 0.3)), rng.among((1, 1, 1, 2, 7))


class World:
    """A host of a few guests, moved on tick by tick."""

    def __init__(self, rng, policy, kind):
        self.rng, self.policy = rng, policy
        self.noisy = rng.random() < 0.5 if kind == "set" else kind != "even"
        self.hostile, self.churn = rng.random() < 0.2, rng.among((0, 0.005, 0.05))
        self.jumps = 0.1
        if kind == "set":
            self.hostile, self.churn = False, rng.among((0, 0, 0.001, 0.01))
            self.jumps = rng.among((0, 0.01, 0.1))
        links = (1, 1, 2) if kind == "set" else (1, 1, 1, 2, LINKS)
        self.links = [self.new_link() for _ in range(rng.among(links))]
        self.said_links = 0
        self.slots = rng.among((4, 8, 8, SLOTS))
        self.members, self.away = {}, {}
        for _ in range(rng.among((0, 0, 1) if kind == "set" else (1, 2, 2, 3, 3, 4, 6, 10))):
            self.join()
        if kind == "set":
            self.give_parts()
        elif kind == "vain" or rng.random() < 0.4:
            for m, role in zip(self.members.values(), ("reporter", "bulk")):
                m.duel(rng, role)
                m.obeys = m.obeys and kind != "vain"
        self.set_clock(kind)

    def give_parts(self):
        rng = self.rng
        own, message = rng.among((0.01, 0.04, 0.1)), rng.among((4096, 65536, 1 << 20))
        parts = [Part(rng, "reporter", own, message) for _ in range(rng.among((1, 1, 1, 2, 3)))]
        beside, senders, more = rng.among(BESIDE), rng.among((1, 1, 2, 3, 4, 6, 12)), rng.random()
        if not self.noisy and rng.random() < 0.3:
            parts, beside, senders, more = parts[:1], rng.among(BESIDE[1:5]), 1, 1
            parts[0].load = own = 0.2
        for _ in range(senders):
            traffic, larger = beside
            parts.append(Part(rng, "bulk", own * traffic, message * larger))
            beside = rng.among((beside, beside, rng.among(BESIDE)))
        if more < 0.5:
            part = Part(rng, "bulk", rng.among((0.3, 0.5, 0.8, 0.5 - own)), message * 2)
            part.obeys = False
            parts.append(part)
        self.slots = SLOTS
        for part in parts:
            slot = rng.among([s for s in range(24) if s not in self.members])
            self.members[slot] = Member(rng, slot, len(self.links), False)
            self.members[slot].play_part(rng, part)
            self.issue(self.members[slot])

    def new_link(self):
        rng = self.rng
        if not self.noisy:
            return second.Link(1024 * 10**6, 1024)
        speed = rng.among((2**30, 2**30, 125 * 10**8, rng.between(1, 2**40)))
        return second.Link(speed, rng.among(MTUS))

    def set_clock(self, kind):
        rng = self.rng
        name, steps = PACE.get(self.policy.NAME, (None, (1,)))
        if kind == "set":
            steps = (0.25, 0.25, 0.5, 1, 2, 3)
        beat = getattr(self.policy.p, name) if name else 5 * MS
        self.dt = max(1000, int(beat / rng.among(steps)))
        self.now = rng.among((0, 1, 10**9, 10**15 + 7, 2**61))
        short = max(100000, self.dt * rng.among((10, 30, 100)))
        self.epoch_ns = rng.among((1000 * MS, 1000 * MS, short))
        self.epoch, self.epoch_start = 0, self.now

    def leave(self, slot):
        """And perhaps something comes in its place: itself once more, or another of its kind."""
        rng, old = self.rng, self.members.pop(slot)
        roll = rng.random()
        if roll < 0.4:
            self.away[slot] = (old, rng.among((0, 0, 1, 2, 5, 20)))
        elif roll < 0.7:
            m = self.members[slot] = Member(rng, slot, len(self.links), self.hostile)
            self.issue(m)
            if old.duelling:
                m.duel(rng, old.role)
            if old.cast:
                m.play_part(rng, old.cast)

    def join(self):
        free = [s for s in range(self.slots) if s not in self.members and s not in self.away]
        if free:
            slot = self.rng.among(free)
            self.members[slot] = Member(self.rng, slot, len(self.links), self.hostile)
            self.issue(self.members[slot])

    def come_back(self):
        """Guests that were restarted have the slots and the blocks that they had."""
        for slot, (m, ticks) in list(self.away.items()):
            self.away[slot] = (m, ticks - 1)
            if ticks == 0:
                m.restart()
                self.members[slot] = m
                del self.away[slot]

    def issue(self, m):
        rng = self.rng
        m.allocated = m.balance = rng.among(FORTUNES) if rng.random() < 0.2 else 10**9
        if m.hostile:
            m.allocated, m.balance = rng.hostile(63), rng.hostile(63)

    def move_time(self):
        rng, roll = self.rng, self.rng.random()
        step = self.dt
        if roll < self.jumps:
            step = rng.among((0, 1, self.dt * 2, self.dt * 7, self.dt // 2, -self.dt // 2))
        self.now = max(0, self.now + step)
        if self.now - self.epoch_start >= self.epoch_ns:
            passed = (self.now - self.epoch_start) // self.epoch_ns
            self.epoch += passed
            self.epoch_start += passed * self.epoch_ns
            for m in self.members.values():
                self.issue(m)
        return max(0, step)

    def move_members(self):
        rng = self.rng
        for slot in [s for s in self.members if rng.random() < self.churn]:
            self.leave(slot)
        self.come_back()
        if rng.random() < 2 * self.churn or not self.members:
            self.join()
        for m in self.members.values():
            roll = rng.random()
            if m.cast and rng.random() < 0.8:
                continue
            if roll < 0.02:
                m.active = not m.active
            elif roll < 0.03:
                m.flags |= CAPPABLE
            elif roll < 0.032:
                m.flags ^= CAPPABLE
            elif roll < 0.034:
                m.flags ^= EXEMPT
            elif roll < 0.04:
                m.bound(rng, self.hostile)
            elif roll < 0.042:
                m.min = rng.among((1000, 10000, 30000, m.vcpus * second.VCPU))
            elif roll < 0.046:
                m.balance = m.allocated // rng.among((1, 8, 20))

    def tick(self):
        passed = self.move_time()
        self.move_members()
        t = second.Tick()
        t.now, t.epoch_start, t.epoch_ns, t.interval, t.epoch = (
            self.now, self.epoch_start, self.epoch_ns, self.dt, self.epoch)
        t.links = self.links
        load = [0] * len(self.links)
        for m in self.members.values():
            load[m.link] += m.sends()
        t.guests = [self.show(self.members[s], passed, load) for s in sorted(self.members)]
        return t

    def show(self, m, passed, load):
        g = second.Guest()
        g.slot, g.flags, g.link, g.weight = m.slot, m.flags, m.link, m.weight
        g.ceiling, g.min, g.vcpus = m.ceiling, m.min, m.vcpus
        g.cap, g.cap_time, g.rate = m.cap, m.cap_time, m.rate
        self.use(g, m, passed)
        g.allocated, g.balance = m.allocated, m.balance
        if m.cast:
            self.ask(g, m, load[m.link] - m.sends(), passed)
        else:
            self.report(g, m, load[m.link] - m.sends())
        g.base, g.base_io, g.base_dev = m.base
        g.tolerance = m.tolerance
        g.kept, m.kept = m.kept, False
        m.flags &= ~NEW
        if m.flood:
            self.flood(g)
        if m.hostile:
            self.spoil(g)
        return g

    def use(self, g, m, passed):
        rng, link = self.rng, self.links[m.link]
        all_mtus = link.bytes_s * passed // (link.mtu * 10**9)
        mtus = int(round(m.sends() * 1000)) * all_mtus // 1000
        if m.cast:
            m.ticks += 1
            mtus = 0 if m.ticks % m.cast.burst else mtus * m.cast.burst
        elif self.noisy:
            mtus = int(m.sends() * all_mtus * (0.9 + 0.2 * rng.random()))
        g.sent, g.recv = (mtus, 0) if m.slot % 3 else (mtus - mtus // 4, mtus // 4)
        g.msg = m.message // rng.among((1, 1, 2, 100)) if m.active else 0
        if m.cast:
            g.msg = min(m.message, 2**32 - 1) if mtus else 0
        g.queues = rng.among((0, 1, 1, m.depth)) if mtus else 0
        g.cpu = 0 if m.sleepy and rng.random() < 0.7 else passed // 2
        spent = int(m.allocated * m.pace * passed / self.epoch_ns * (0.5 + rng.random()))
        m.balance = max(0, m.balance - spent)

    def report(self, g, m, others):
        g.n = g.sum = g.io = g.iosq = 0
        if not (m.reports and m.active) or self.rng.random() < 0.1:
            return
        slow = 50 * m.slope if m.lies else others * m.slope
        io, dev = int(m.io * (1 + slow)), int(m.dev * (1 + slow / 3))
        g.n = self.rng.between(1, m.samples)
        g.io, g.sum = g.n * io, g.n * (io + max(0, m.whole - m.io))
        g.iosq = g.n * (io * io + dev * dev)

    def tolerance(self, m):
        return m.tolerance or getattr(self.policy.p, "tolerance", 50)

    def ask(self, g, m, others, passed):
        """A queue, as the page has it, in front of a guest that asks for a part of the time."""
        rng, part = self.rng, m.cast
        g.n = g.sum = g.io = g.iosq = 0
        if not (m.reports and m.active) or rng.random() < 0.02:
            return
        used = min(others, 0.97)
        rise = int(part.claim * m.io * used / (1 - used))
        if part.steered:
            m.level = rng.among(LEVELS) if rng.random() < part.moves else m.level
            rise = int(m.level * m.whole * self.tolerance(m) / 1000)
        elif self.noisy:
            rise = int(rise * (0.8 + 0.4 * rng.random()))
        dev = int(part.jitter * rise)
        g.n = min(2**20, int(passed * part.busy * part.depth / (m.whole + rise)))
        g.io, g.sum = g.n * (m.io + rise), g.n * (m.whole + rise)
        g.iosq = g.n * ((m.io + rise)**2 + dev * dev)

    def flood(self, g):
        """The most that can be reported, and all below."""
        rng = self.rng
        g.n = rng.among((2**20, 2**19, rng.between(1, 2**20), 1, 2**20 + 1))
        g.sum = (g.n << 34) - rng.among((0, 0, 1, -1, rng.between(0, 2**34)))
        g.io = g.sum >> rng.among((0, 1, 2, 10, 30))
        g.iosq = (g.n << 68) - rng.among((0, 0, 1, -1, rng.getrandbits(68)))

    def spoil(self, g):
        rng = self.rng
        for name in ("cpu", "sent", "recv", "queues", "n", "sum", "io", "base", "base_io", "base_dev"):
            if rng.random() < 0.1:
                setattr(g, name, rng.hostile())
        for name in ("msg", "rate", "tolerance"):
            if rng.random() < 0.05:
                setattr(g, name, rng.hostile(32))
        if rng.random() < 0.1:
            g.iosq = rng.hostile(128)

    def answer(self, plan):
        """The actor: applies what was planned, later or never; the rate comes with the cap."""
        for slot, line in plan.items():
            m = self.members[slot]
            cap = second.clamp(line[:2], m, m.min)
            if second.percent(cap) == second.percent(m.cap):
                m.wanted, m.rate = None, line[2]
                continue
            if m.wanted != second.percent(cap):
                m.wanted, m.due = second.percent(cap), m.applies
            if m.due == 0:
                self.apply(m, cap, line[2])
            else:
                m.due -= 1

    def apply(self, m, cap, rate):
        rng = self.rng
        if rng.random() < 0.2 and cap[0]:
            cap = (1, 1000 * second.percent(cap))
        m.cap, m.rate, m.wanted = cap, rate, None
        m.cap_time = max(0, self.now + rng.among((0, 0, 1000, self.dt // 2, -1000)))


def pick_params(rng, policy):
    """Mostly values of which something can be seen, in some traces the ends of the ranges."""
    wild = rng.among((0, 0, 0.05, 0.3))
    out = {}
    for name, _, least, most, default in policy.PARAMS:
        value = rng.among(TASTE[name]) if name in TASTE else default
        if rng.random() < wild:
            value = rng.among((least, most, min(most, least + 1), min(most, least + rng.hostile())))
        out[name] = value
    return out


def text_of(t):
    """The tick's lines, links left out."""
    out = ["tick %d %d %d %d %d" % (t.now, t.epoch_start, t.epoch_ns, t.interval, t.epoch)]
    for g in t.guests:
        out.append("guest %d %d %d %d %d %d %d %d %d %d %d %d" % (
            g.slot, g.flags, g.link, g.weight, g.ceiling[1], g.min, g.vcpus, g.cap[1], g.cap_time,
            g.rate, g.allocated, g.balance))
        out.append("usage 0 %d %d %d %d 0 0 0 0 0 %d" % (
            g.msg, g.cpu, g.sent, g.recv, g.queues))
        if g.n or g.sum or g.io or g.iosq:
            squares = (g.iosq >> 64, g.iosq & (2**64 - 1))
            out.append("report 0 %d %d %d %d %d" % (g.n, g.sum, g.io, *squares))
        if g.base or g.base_io or g.base_dev or g.tolerance:
            out.append("sla %d %d %d %d" % (g.base, g.base_io, g.base_dev, g.tolerance))
        if g.kept:
            out.append("kept")
    out.append("decide")
    return out


def play(make, seed):
    """(trace for replay, lines it should print, policy object) of one trace."""
    rng = Rng(seed)
    kind, params = rng.among(KINDS), pick_params(rng, make)
    kind = make.KIND or kind
    if kind == "vain":
        params.update((name, rng.among(VAIN[name])) for name in params if name in VAIN)
    if kind == "set":
        params.update((name, rng.among(SET[name])) for name in params if name in SET)
    policy = make(params)
    world = World(rng, policy, kind)
    lines = ["policy " + make.NAME] + ["param %s %d" % item for item in params.items()]
    lines += ["link %d %d %d" % (i, k.bytes_s, k.mtu) for i, k in enumerate(world.links)]
    wanted = ["policy " + make.NAME]
    ticks = 200 if kind == "set" else rng.among(TICKS.get(make.NAME, (20, 60, 60, 150)))
    for number in range(ticks):
        t = world.tick()
        lines += text_of(t)
        plan = policy.decide(t)
        wanted.append("tick %d" % number)
        wanted += ["plan %d " % slot + " ".join(map(str, plan[slot])) for slot in sorted(plan)]
        world.answer(plan)
    return lines, wanted, policy
