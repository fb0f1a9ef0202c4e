# SPDX-License-Identifier: GPL-2.0-or-later
"""sets: ioshares beside more than one sender, and with other sizes, links, depths and neighbours.

Computing varies from request to request, so that guests meet by chance. Each test prints its
seeds. Without --deep there are few seeds and short runs; with it 20 seeds, all sizes, and ten
simulated minutes where equal servers must never be capped.
"""
import bounds
import claims as c
from group import Group
from host import Run, need, scenario, sender, server

group = Group("sets")
VARIED = {"variation": 300}
COMPUTE_NS, POST_NS = 146964, 1000  # the simulator's defaults
SIZES = {"KiB": 1024, "MiB": 1024 ** 2}
SEARCHED = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 34, 50)
SPREAD_US = 50000  # the moments of fixed caps: at cap 1 a guest runs as seldom


def seeds(host, few=2):
    return range(1, 1 + (1 if host.slow else 20 if host.deep else few))


def said_seeds(host, few=2):
    return "seeds 1 to %d" % seeds(host, few)[-1]


def of(host, deep, short):
    return deep if host.deep else short


def once(host, sc):
    """A run that no other test asks for: judged here, and not kept."""
    run = Run(sc, host.summary(host.write(sc)))
    found = bounds.breaches(sc, run.summary)
    need(not found, "%s", "; ".join(found[:5]))
    return run


def base_ns(size="64KiB", bytes_s=1 << 30):
    """What a server of this size takes alone: (all, without computing)."""
    io = round(int(size[:-3]) * SIZES[size[-3:]] * 1e9 / bytes_s) + POST_NS
    return COMPUTE_NS + io, io


def varied(size="64KiB", name="server", bytes_s=1 << 30, **app):
    """A server that reports, whose base is as computed."""
    base, io = base_ns(size, bytes_s)
    sla = {"tolerance": 50, "base": "%dns" % base, "base_io": "%dns" % io,
           "base_deviation": "0ns"}
    return server(name, sla, size=size, **{**VARIED, **app})


def base_us(size="64KiB", bytes_s=1 << 30):
    return base_ns(size, bytes_s)[0] / 1000


def bulks(k, **app):
    return [sender("b%d" % i, **app) for i in range(k)]


def sent(run, begin_s=0):
    """MTUs a second of all but the server."""
    return sum(sum(g.series["mtus"][g.at(begin_s):]) for g in run.guests.values()
               if g.name != "server") / (run.summary["duration_s"] - begin_s)


# --- k senders ------------------------------------------------------------------------------

def beside(host, k, policy="ioshares", seed=1, seconds=20, **bulk):
    return once(host, scenario([varied()] + bulks(k, **bulk), policy, "%ds" % seconds, "1s",
                               seed=seed))


def mean_over(run, base, begin_s):
    got = run["server"].latencies(begin_s)
    return c.over(sum(got) / len(got), base)


def fixed(host, k, cap, seconds=5, spread_us=SPREAD_US, **bulk):
    """Caps of the operator, each set at a moment of its own."""
    events = [{"at": "%dus" % (100000 + i * spread_us // k), "do": "cap", "guest": "b%d" % i,
               "cap": cap} for i in range(k)]
    return once(host, scenario([server(sla=None, **VARIED)] + bulks(k, **bulk), "null",
                               "%ds" % seconds, "1s", events=events))


def search(host, k, free, above):
    """[(latency over base, part of the throughput)] of each cap, until it is above this."""
    found = []
    for cap in SEARCHED:
        run = fixed(host, k, cap, of(host, 10, 5))
        found.append(figures(run, free, 1))
        if found[-1][0] > above and len(found) > 1:
            break
    return found


def figures(run, free, begin_s):
    return mean_over(run, base_us(), begin_s), sent(run, begin_s) / free


def against_fixed(host, k, policy="ioshares"):
    """Of k senders: what each seed gives, and fixed caps."""
    free = sent(beside(host, k, "null", seconds=5), 1)
    got = [figures(beside(host, k, policy, seed), free, 10) for seed in seeds(host, 1)]
    return got, search(host, k, free, max(max(got)[0], 0.05))


@group.test("k senders of 2 MiB, k up to 3: each second within 10 percent from the 3rd on")
def _(host):
    said = []
    for k in (1, 2, 3):
        for seed in seeds(host):
            run = beside(host, k, seed=seed, seconds=of(host, 20, 8))
            said.append(c.near_base(run, base_us()))
    return "%s .. %s; %s" % (said[0], said[-1], said_seeds(host))


def k_senders(few, many):
    @group.test("%s senders: from 10 s on within 10 percent, or as good as the best fixed caps" %
                " to ".join(map(str, sorted({min(many), max(many)}))))
    def _(host):
        said = []
        for k in of(host, many, few):
            got, found = against_fixed(host, k)
            for one in got:
                said.append("%d: %s" % (k, c.as_fixed_caps(one, found)))
        return "%s; %s" % ("; ".join(said[:2]), said_seeds(host, 1))


k_senders((1, 3), (1, 2, 3, 4))
k_senders((6,), (5, 6, 7, 8))
k_senders((16,), (10, 12, 14, 16))


@group.test("800 MB/s from 1, 2 or 4 guests: the same latency within 3 points")
def _(host):
    for seed in seeds(host):
        runs = [beside(host, n, seed=seed, seconds=15, rate=400 // n) for n in (1, 2, 4)]
        said = c.within_points([mean_over(r, base_us(), 3) for r in runs])
    return "%s; %s" % (said, said_seeds(host))


@group.test("800 MB/s from 8 to 15 guests: as near as the lowest fixed caps, nearer than the next")
def _(host):
    said = []
    for n in of(host, (8, 10, 12, 15), (8, 15)):
        app = {"rate": 400 // n}
        lowest, more = (mean_over(fixed(host, n, cap, 10, **app), base_us(), 3) for cap in (1, 2))
        for seed in seeds(host):
            got = mean_over(beside(host, n, seed=seed, seconds=of(host, 20, 10), **app),
                            base_us(), 3)
            need(got <= lowest + 0.02 and got < more, "%d: %s, fixed caps of 1 %s, of 2 %s", n,
                 c.percent(got), c.percent(lowest), c.percent(more))
        said.append("%d: %s, fixed caps of 1 %s, of 2 %s" % (
            n, c.percent(got), c.percent(lowest), c.percent(more)))
    return "%s; %s" % ("; ".join(said), said_seeds(host))


# --- other sizes, links, depths, numbers of guests ------------------------------------------

def held(host, guests, base, names, duration_s=20, **more):
    """Within 10 percent of base from the 3rd second on, and caps that only go in steps."""
    for seed in seeds(host, 1):
        run = once(host, scenario(guests, duration="%ds" % duration_s, seed=seed, **more))
        got = mean_over(run, base, 3)
        need(got <= 0.10, "seed %d: %s over base", seed, c.percent(got))
        said = c.goes_in_steps(run, duration_s // 2, *names)
    return "%s, %s" % (c.percent(got), said)


VICTIMS = ("4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB")
MESSAGES = ("64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "8MiB")


@group.test("servers of 4 KiB to 1 MiB beside a sender of 2 MiB: within 10 percent, in steps")
def _(host):
    said = [held(host, [varied(size), sender()], base_us(size), ["bulk"])
            for size in of(host, VICTIMS, ("4KiB", "32KiB", "256KiB", "1MiB"))]
    return "%s; %s" % ("; ".join(said), said_seeds(host, 1))


@group.test("messages of 64 KiB to 8 MiB: within 10 percent, in steps")
def _(host):
    said = [held(host, [varied(), sender(size=size)], base_us(), ["bulk"])
            for size in of(host, MESSAGES, ("64KiB", "512KiB", "8MiB"))]
    return "%s; %s" % ("; ".join(said), said_seeds(host, 1))


@group.test("four senders of 64 KiB to 2 MiB: within 10 percent, in steps")
def _(host):
    said = [held(host, [varied()] + bulks(4, size=size), base_us(), ["b0", "b1", "b2", "b3"])
            for size in of(host, MESSAGES[:6], ("64KiB", "1MiB"))]
    return "%s; %s" % ("; ".join(said), said_seeds(host, 1))


def link(gbit):
    return {"name": "ib0", "rate": "%dGbit/s" % gbit, "mtu": 1024 if gbit <= 10 else 4096}


@group.test("links of 4 to 400 Gbit/s: within 10 percent, in steps")
def _(host):
    said = []
    for gbit in of(host, (4, 8, 10, 25, 40, 56, 100, 200, 400), (4, 25, 400)):
        bytes_s = gbit * 10 ** 9 / 8
        said.append("%d: %s" % (gbit, held(
            host, [varied(bytes_s=bytes_s), sender()], base_us(bytes_s=bytes_s), ["bulk"],
            of(host, 20, 8), links=[link(gbit)])))
    return "%s; %s" % ("; ".join(said), said_seeds(host, 1))


@group.test("a link of 1 Gbit/s: as good as the best fixed cap, which is the lowest")
def _(host):
    bytes_s = 10 ** 9 / 8
    guests, base = [varied(bytes_s=bytes_s), sender()], base_us(bytes_s=bytes_s)
    events = [{"at": "100ms", "do": "cap", "guest": "bulk", "cap": 1}]
    fix, run = (once(host, scenario(guests, p, "10s", "1s", links=[link(1)], **more))
                for p, more in (("null", {"events": events}), ("ioshares", {})))
    got, best = mean_over(run, base, 3), mean_over(fix, base, 3)
    need(got <= best + 0.02, "%s over base, at cap 1 %s", c.percent(got), c.percent(best))
    need(best > 0.10, "a fixed cap of 1 is enough")
    return "%s over base, at cap 1 %s" % (c.percent(got), c.percent(best))


@group.test("depths 1 to 4 of 2 MiB, and 1 to 64 of 64 KiB: within 10 percent, in steps")
def _(host):
    said = [held(host, [varied(), sender(size=size, depth=depth)], base_us(), ["bulk"])
            for size, depths in (("2MiB", of(host, (1, 2, 4), (4,))),
                                 ("64KiB", of(host, (1, 2, 4, 8, 16, 32, 64), (8, 64))))
            for depth in depths]
    return "%s; %s" % ("; ".join(said), said_seeds(host, 1))


@group.test("depths 32 and 64 of 2 MiB: no cap helps; released, and left alone for 30 s")
def _(host):
    said = []
    for depth in of(host, (32, 64), (32,)):
        for seed in seeds(host, 1):
            run = once(host, scenario([varied(), sender(depth=depth)], duration="45s", seed=seed))
            said.append(c.released_and_left_alone(run))
    return "%s; %s" % (said[-1], said_seeds(host, 1))


@group.test("1 to 8 guests in all, 400 messages a second together: caps go in steps")
def _(host):
    said = []
    for n in of(host, (1, 2, 3, 4, 5, 6, 8), (1, 8)):
        for seed in seeds(host, 1):
            run = once(host, scenario([varied()] + bulks(n - 1, rate=400 // max(1, n - 1)),
                                      duration="20s", seed=seed))
            said.append("%d: %s" % (n, c.goes_in_steps(run, 10)))
    return "%s; %s" % ("; ".join(said[:1] + said[-1:]), said_seeds(host, 1))


# --- neighbours that are not to blame --------------------------------------------------------

def equals(n, variation, seed, policy="ioshares", seconds=20):
    guests = [varied(name="s%d" % i, variation=variation) for i in range(n)]
    return scenario(guests, policy, "%ds" % seconds, None, seed=seed)


def noise(seed):
    """Computing varies by 1 or by 0.3."""
    return 1000 if seed % 2 else 300


def left_alone(host, n, seed, seconds):
    run = once(host, equals(n, noise(seed), seed, seconds=seconds))
    harm = c.over(run["s0"].true_mean, base_us())
    need(harm > 0.05, "they do not make each other slower: %s", c.percent(harm))
    c.never_capped(run)
    return "%d: %s" % (n, c.percent(harm))


@group.test("2 to 8 equal servers that make each other slower by chance: never a cap")
def _(host):
    said = [left_alone(host, n, seed, of(host, 60, 15))
            for n in of(host, range(2, 9), (2, 3, 8)) for seed in seeds(host)]
    return "%s .. %s over base; %s" % (said[0], said[-1], said_seeds(host))


@group.test("equal servers for ten minutes (without --deep for one): never a cap")
def _(host):
    said = [left_alone(host, n, seed, of(host, 600, 60))
            for n in of(host, range(2, 9), (2,)) for seed in (1, 2)[:of(host, 2, 1)]]
    return "%s .. %s over base" % (said[0], said[-1])


LIES = (1200, 1500, 2000, 3000, 10000, 100000)
LIGHT = (("64KiB", 70), ("16KiB", 200), ("64KiB", 30), ("64KiB", 50), ("4KiB", 200), ("16KiB", 150))


@group.test("a neighbour whose harm is below the tolerance, and a reporter that claims 1.2 to 100 "
            "times its latency: it keeps 90 percent and more of its throughput")
def _(host):
    least, most = 1, 0
    for size, rate in of(host, LIGHT, LIGHT[:2]):
        null = once(host, scenario([varied(size), sender(rate=rate)], "null", "10s", "1s"))
        harm = mean_over(null, base_us(size), 1)
        need(0.005 < harm < 0.05, "it does %s of harm", c.percent(harm))
        most = max(most, harm)
        for lie in of(host, LIES, (1200, 3000, 100000)):
            for seed in seeds(host, 1):
                run = once(host, scenario([varied(size, report=lie), sender(rate=rate)],
                                          duration="10s", series="1s", seed=seed))
                least = min(least, c.keeps(run, null, "bulk"))
    return "%.0f %% at least, harm %s at most; %s" % (
        100 * least, c.percent(most), said_seeds(host, 1))


IDLE = ({"busy": "20ms", "quiet": "20ms"}, {"busy": "5ms", "quiet": "5ms"},
        {"busy": "100ms", "quiet": "100ms"}, {"busy": "500ms", "quiet": "500ms"},
        {"think": "209us"})


@group.test("a server that is idle for half of each window: no equal is capped")
def _(host):
    for pauses in of(host, IDLE, IDLE[:1] + IDLE[2:]):
        for others in of(host, (1, 3), (3,)):
            for seed in seeds(host, 1):
                guests = [varied(variation=noise(seed), **pauses)] + [
                    varied(name="o%d" % i, variation=noise(seed)) for i in range(others)]
                run = once(host, scenario(guests, duration="%ds" % of(host, 60, 10), series=None,
                                          seed=seed))
                harm = c.over(run["server"].true_mean, base_us())
                need(harm > 0.05, "they do not make it slower: %s", c.percent(harm))
                c.never_capped(run)
    return "%s over base; %s" % (c.percent(harm), said_seeds(host, 1))


# --- guests that come and go ----------------------------------------------------------------

def restarts(each_ms, until_ms=20000, **event):
    """Events at the same distance; a policy that changes begins with a new state."""
    event = event or {"do": "reboot", "guest": "b0"}
    return [{"at": "%dms" % ms, **event} for ms in range(each_ms, until_ms, each_ms)]


def beside_restarts(host, k, events, seed=1):
    return mean_over(once(host, scenario([varied()] + bulks(k), duration="20s", series="1s",
                                         seed=seed, events=events)), base_us(), 3)


@group.test("a sender that restarts each 700 ms: the server as beside one that does not")
def _(host):
    for k in (1, 2):
        for each in of(host, (300, 700, 1500), (700,)):
            for seed in seeds(host, 1):
                steady = mean_over(beside(host, k, seed=seed), base_us(), 3)
                got = beside_restarts(host, k, restarts(each), seed)
                need(got <= steady + 0.005, "each %d ms: %s, steady %s", each, c.percent(got),
                     c.percent(steady))
    return "%s, beside one that does not %s; %s" % (c.percent(got), c.percent(steady),
                                                    said_seeds(host, 1))


@group.test("planted: with a policy that forgets each 700 ms the server fares worse")
def _(host):
    steady = mean_over(beside(host, 1), base_us(), 3)
    got = beside_restarts(host, 1, restarts(700, do="policy", policy="ioshares"))
    need(got > steady + 0.005, "%s, steady %s", c.percent(got), c.percent(steady))
    return "%s, steady %s" % (c.percent(got), c.percent(steady))


SPELLS = ((200, 800, 0), (200, 800, 900), (500, 500, 750), (100, 900, 950), (300, 300, 0),
          (1000, 1000, 0), (3000, 3000, 0))


@group.test("bursts, also at the edge of an epoch: the server as beside a steady sender")
def _(host):
    steady = max(mean_over(beside(host, 1, seed=s), base_us(), 3) for s in seeds(host, 1))
    said = []
    for busy, quiet, start in of(host, SPELLS, SPELLS[1:3]):
        for seed in seeds(host, 1):
            bulk = sender(busy="%dms" % busy, quiet="%dms" % quiet, start="%dms" % start)
            run = once(host, scenario([varied(), bulk], duration="20s", series="1s", seed=seed))
            said.append(mean_over(run, base_us(), 3))
            need(said[-1] <= steady + 0.01, "bursts of %d ms: %s, steady %s", busy,
                 c.percent(said[-1]), c.percent(steady))
    return "%s at most, beside a steady one %s; %s" % (
        c.percent(max(said)), c.percent(steady), said_seeds(host, 1))


@group.test("two and four senders in turn: the server as beside one that does not stop")
def _(host):
    steady = max(mean_over(beside(host, 1, seed=s), base_us(), 3) for s in seeds(host, 1))
    said = []
    for n in (2, 4):
        for busy in of(host, (50, 100, 200, 300, 500, 700, 1000), (100, 1000)):
            for seed in seeds(host, 1):
                guests = [varied()] + [
                    sender("b%d" % i, busy="%dms" % busy, quiet="%dms" % (busy * (n - 1)),
                           start="%dms" % (busy * i)) for i in range(n)]
                run = once(host, scenario(guests, duration="20s", series="1s", seed=seed))
                said.append(mean_over(run, base_us(), 3))
                need(said[-1] <= steady + 0.015, "%d in turn each %d ms: %s, one %s", n, busy,
                     c.percent(said[-1]), c.percent(steady))
    return "%s at most, beside one %s; %s" % (
        c.percent(max(said)), c.percent(steady), said_seeds(host, 1))


# --- planted: each rule off breaks its line ---------------------------------------------------

def without(**params):
    return {"policy": "ioshares", "params": params}


def breaks(sentence, params, claim):
    """A claim that holds with the defaults, and must not with these parameters."""
    @group.test("planted: %s" % sentence)
    def _(host):
        claim(host, "ioshares")
        return c.fails(claim, host, without(**params))


def near_three(host, policy):
    return c.near_base(beside(host, 3, policy, seconds=8), base_us())


def near_eight(host, policy):
    got = mean_over(beside(host, 8, policy, seconds=8), base_us(), 5)
    need(got <= 0.25, "%s over base", c.percent(got))
    return c.percent(got)


def kept_beside(k):
    def as_fixed(host, policy):
        got, found = against_fixed(host, k, policy)
        return c.as_fixed_caps(got[0], found)
    return as_fixed


def in_steps(host, policy):
    return c.goes_in_steps(once(host, scenario([varied("16KiB"), sender()], policy, "20s")), 10)


def equals_free(host, policy):
    return c.never_capped(once(host, equals(3, 1000, 1, policy)))


breaks("caps that begin at one moment are worse than fixed ones", {"bite": 0}, kept_beside(3))
breaks("a deviation that may rise no more than the mean costs throughput",
       {"dev_tolerance": 1000}, kept_beside(1))
breaks("rates that never go back cost throughput", {"calm": 1000}, kept_beside(1))
breaks("rates that go back at once do not go in steps", {"back_off": 1000}, in_steps)
breaks("windows of a second are too slow", {"window": 1000000000}, near_three)
breaks("windows of 5000 reports are too slow", {"min_samples": 5000}, near_three)
breaks("windows of a few reports cap equal servers", {"window": 1000000, "min_samples": 1},
       equals_free)
breaks("without blame_ratio equal servers are capped", {"blame_ratio": 1000}, equals_free)
breaks("only guests that send a hundred times as much to blame: nobody is",
       {"blame_ratio": 100000}, near_three)
breaks("only guests that fill the link to blame: nobody is", {"blame_floor": 1000}, near_three)
breaks("no cap below 20: too many messages", {"min_cap": 20000}, near_three)
breaks("a cap that must end all harm: released", {"futile_gain": 1000}, near_eight)
breaks("the deviation over that of base: no cap is thought to help", {"sigma_over": 1}, near_three)


@group.test("planted: of null, of a crowd, of fixed caps set at one moment the claims fail")
def _(host):
    free = sent(beside(host, 3, "null", seconds=5), 1)
    found = search(host, 3, free, 0.5)
    c.fails(c.as_fixed_caps, (0.87, 1.0), found)
    at_once = figures(fixed(host, 3, 5, spread_us=0), free, 1)
    c.as_fixed_caps(figures(fixed(host, 3, 5), free, 1), found, most=1)
    said = c.fails(c.as_fixed_caps, at_once, found, most=1)
    crowds = [beside(host, k, "null", seconds=5) for k in (1, 3)]
    for run in crowds:
        c.fails(c.near_base, run, base_us())
    c.fails(c.within_points, [mean_over(r, base_us(), 1) for r in crowds])
    return said


@group.test("planted: freemarket's caps do not go in steps")
def _(host):
    return c.fails(in_steps, host, "freemarket")


@group.test("planted: a neighbour that does harm is not left alone")
def _(host):
    guests = [varied(report=1200), sender(rate=150)]
    run, null = (once(host, scenario(guests, p, "10s", "1s")) for p in ("ioshares", "null"))
    return c.fails(c.keeps, run, null, "bulk")
