# SPDX-License-Identifier: GPL-2.0-or-later
"""ablations: with a part taken away or set against the rest, the result goes, too.

So it is shown that what ioshares reaches comes from what is seen, reported and capped.
"""
import statistics

import claims as c
from group import Group
from host import example, need, scenario, sender, server

group = Group("ablations")
# Its I/O is mostly posting: a sender hardly hurts it, whatever it sends.
POSTER = {"size": "4KiB", "compute": "100us", "post": "50us"}
POSTER_SLA = {"tolerance": 50, "base": "153816ns", "base_io": "53816ns", "base_deviation": "0ns"}


def pair(policy="ioshares", bulk=None, **more):
    return scenario([server(), bulk or sender()], policy, **more)


def alone(host):
    return host.run(scenario([server()], "null"))["server"].mean


def blind(host):
    return host.run(pair(bulk=sender(guest={"blind": True})))


@group.test("IBMon blinded: ioshares does not help, the latency is null's within 1 percent")
def _(host):
    c.never_capped(blind(host))
    return c.same_as(blind(host), host.run(pair("null")))


@group.test("IBMon blinded: the counter tells within 5 s who sends unseen, and nobody else")
def _(host):
    run, again = blind(host), host.run(pair("null", bulk=sender(rate=30, guest={"blind": True})))
    at = run["bulk"].raw["diverged_at_s"]
    need(at is not None and at <= 5, "bulk: %s", at)
    need(run["server"].raw["diverged_at_s"] is None, "the server is said to diverge")
    # 60 MiB/s are more than a twentieth of the link, 20 MiB/s are not
    need(again["bulk"].raw["diverged_at_s"], "bulk, 30 messages a second, is not found")
    less = host.run(pair("null", bulk=sender(rate=10, guest={"blind": True})))
    need(less["bulk"].raw["diverged_at_s"] is None, "what is below the floor is found")
    return "bulk after %.1f s" % at


def swapped(host):
    return host.run(scenario([server(), {**sender(), "sla": server()["sla"]}],
                             swap=["server", "bulk"], duration="90s"))


@group.test("labels swapped: the other one is capped, and nobody is helped")
def _(host):
    run, null = swapped(host), host.run(pair("null"))
    need(run["server"].true_mean >= 0.99 * null["server"].true_mean, "the server was helped")
    return c.capped_instead(run, "server", "bulk") + ", server %.1f us, null %.1f" % (
        run["server"].true_mean, null["server"].true_mean)


@group.test("null equals interfered: an ioshares that may only observe changes nothing, either")
def _(host):
    null, seen = host.run(pair("null")), host.run(pair(), "--observe")
    c.never_capped(null)
    c.never_capped(seen)
    return c.differs_nowhere(seen, null)


def equal(host, size):
    guests = [server("a", size=size), server("b", size=size)]
    return host.run(scenario(guests, duration="10s")), host.run(
        scenario(guests, "null", duration="10s"))


@group.test("two equal reporters never cap each other, also when they slow each other down")
def _(host):
    c.never_capped(equal(host, "64KiB")[0])
    run, null = equal(host, "256KiB")
    c.never_capped(run)
    need(null["a"].mean > 1.2 * 392, "they do not slow each other down: %.1f us", null["a"].mean)
    return c.differs_nowhere(run, null) + ", 64 KB and 256 KB (%.1f us)" % run["a"].mean


@group.test("two equal servers in antiphase leave each other within 2 percent of base")
def _(host):
    run = host.run(example("equal"))
    c.never_capped(run)
    got = c.over(run["server"].mean, alone(host))
    need(got <= 0.02, "the server is %s over base", c.percent(got))
    return c.percent(got)


def by_chance(n, seed, policy="ioshares", duration="30s"):
    """Servers whose computing varies, so that they come to wait for each other."""
    return scenario([server("s%d" % i, variation=500) for i in range(n)], policy, duration, None,
                    seed=seed)


def servers_by_chance(n, seeds):
    @group.test("%d equal servers that interfere by chance: never a cap" % n)
    def _(host):
        runs = [host.run(by_chance(n, seed)) for seed in range(1, 1 + (1 if host.slow else seeds))]
        for run in runs:
            c.never_capped(run)
            need(c.over(run["s0"].true_mean, c.BASE_US) > 0.05, "they do not interfere")
        got = c.over(runs[0]["s0"].true_mean, c.BASE_US)
        return "%s over base, seeds 1 to %d" % (c.percent(got), len(runs))


for _n in (2, 3, 8):
    servers_by_chance(_n, 3)


def crowd(host, policy):
    return host.run(scenario([server("a"), server("b"), server("c"), sender("bulk"),
                              sender("bulk2")], policy, duration="120s", series="500ms"))


@group.test("one reporter, two senders: both end capped, the reporter ends within 10 percent")
def _(host):
    run = host.run(example("senders", duration="90s", series="500ms"))
    said = c.end_capped(run, "bulk", "bulk2")
    c.never_capped(run, "server")
    return said + "; " + c.near_base(run, alone(host), begin_s=80)


@group.test("three reporters, two senders: both senders end capped, and no reporter")
def _(host):
    run = crowd(host, "ioshares")
    c.never_capped(run, "a", "b", "c")
    return c.end_capped(run, "bulk", "bulk2")


@group.test("three reporters, two senders: three quarters of the harm are gone at the end")
def _(host):
    run, null = crowd(host, "ioshares"), crowd(host, "null")
    base, said = alone(host), []
    for name in "abc":
        last = run[name].latencies(110)
        got, most = c.over(statistics.mean(last), base), c.over(max(last), base)
        harm = c.over(null[name].mean, base)
        need(got <= 0.25 * harm and most <= 0.27 * harm, "%s is %s over base, at most %s, null %s",
             name, c.percent(got), c.percent(most), c.percent(harm))
        said.append(c.percent(got))
    return "%s over base, null %s" % (" ".join(said), c.percent(harm))


def stops(host):
    return host.run(pair(bulk=None) | {"guests": [server(report_stop="5s"), sender()]})


@group.test("a reporter that stops: the cap goes back to none, and the harm comes back")
def _(host):
    run = stops(host)
    said = c.lifted_after(run, 5)
    c.fails(c.near_base, run, alone(host), begin_s=15)
    return said


def poster(host, policy="ioshares", **app):
    return host.run(scenario([server(sla=POSTER_SLA, **POSTER, **app), sender()], policy,
                             duration="90s"))


@group.test("a reporter that says the truth of a harmless sender: it is not capped")
def _(host):
    return c.never_capped(poster(host)) + ", server %.1f us" % poster(host)["server"].mean


@group.test("a reporter that lies of it: released after 2 s, left alone for 30 s")
def _(host):
    return c.released_and_left_alone(poster(host, report=3000), floor=None)


@group.test("a reporter that lies of it: the sender still sends more than half of all it could")
def _(host):
    run, null = poster(host, report=3000), poster(host, "null")
    part = run["bulk"].mtus / null["bulk"].mtus
    need(part > 0.5, "it sent %.0f %% only", 100 * part)
    return "%.0f %%, capped %.0f %% of the time" % (
        100 * part, 100 * (1 - run["bulk"].cap["uncapped"]))


# It has little to compute and waits for its clients: 5 percent of the link slow it down by 5.
TALKER = {"size": "4KiB", "compute": "1us", "think": "200us"}
TALKER_SLA = {"tolerance": 50, "base": "5815ns", "base_io": "4815ns", "base_deviation": "0ns"}


def small_talk(host, policy="ioshares"):
    """4 percent of the link, and still half as much again as the reporter."""
    guests = [server(sla=TALKER_SLA, report=3000, **TALKER), sender(size="256KiB", rate=170)]
    return host.run(scenario(guests, policy, duration="20s"))


@group.test("a reporter that lies of one who sends less than 5 percent of the link: no cap")
def _(host):
    run = small_talk(host)
    need(run["bulk"].mtus > 1.5 * run["server"].mtus, "blame_ratio alone protects it")
    return c.never_capped(run)


@group.test("a reporter that lies of one who sends as much as itself: no cap")
def _(host):
    return c.never_capped(host.run(scenario([server(report=3000), server("other")])))


@group.test("a reporter that lies of a sender that hurts it gains nothing: an honest one's cap, "
            "or one below")
def _(host):
    honest, *liars = (host.run(example("liar", duration="90s", series="500ms", guests=[
        server(report=report), sender(rate=250)])) for report in (1000, 1500, 3000, 10000))
    last, said = honest["bulk"].cap["last"], []
    need(last > 2, "beside an honest one the cap is %d", last)
    for run in liars:
        caps = set(run["bulk"].caps(60))
        need(caps <= {last - 1, last}, "caps %s, beside an honest one %d", sorted(caps), last)
        said.append("%.0f" % (100 * run["bulk"].mtus / honest["bulk"].mtus))
    return "cap %d beside an honest one; it sends %s %% of that beside the others" % (
        last, " ".join(said))


@group.test("no deviation at base: nobody is capped for jitter, nor for the noise of its own")
def _(host):
    lone = host.run(scenario([server()], duration="10s"))
    c.never_capped(lone)
    strict = {"policy": "ioshares", "params": {"sigma_over": 1, "tolerance": 0}}
    run = host.run(scenario([server(sla={**server()["sla"], "tolerance": 1}), sender(rate=10)],
                            strict, duration="10s"))
    c.never_capped(run)
    return "deviation alone %.2f us" % lone["server"].raw["latency"]["deviation_us"]


@group.test("no deviation at base, over which it is taken: rates and caps stay in their bounds")
def _(host):
    run = host.run(pair({"policy": "ioshares", "params": {"sigma_over": 1, "sigma_floor": 1}},
                        duration="10s"))
    need(run["bulk"].rate["max"] == 100 and run["bulk"].cap["lowest"] == 1, "rate %s, cap %s",
         run["bulk"].rate["max"], run["bulk"].cap["lowest"])
    return "rate at most %g, cap at least 1" % run["bulk"].rate["max"]


@group.test("a learned base is as good as a given one")
def _(host):
    run = host.run(example("learn", series="100ms"))
    c.never_capped(run, "server")
    return c.near_base(run, alone(host), begin_s=6)


def deep(host, policy="ioshares", depth=16, min_cap=2):
    return host.run(pair(policy, sender(depth=depth, guest={"min_cap": min_cap}), duration="60s"))


@group.test("depth 16: no cap above 1 changes the latency by more than 1 percent")
def _(host):
    return c.no_cap_helps(host.run(example("deep", series="100ms", duration="60s")),
                          deep(host, "null"))


@group.test("depth 16, cap 2 at least: released after 2 s at its floor, left alone for 30 s")
def _(host):
    return c.released_and_left_alone(deep(host), floor=2)


@group.test("depth 64: also cap 1 helps nobody, and the sender is released")
def _(host):
    c.no_cap_helps(deep(host, depth=64, min_cap=1), deep(host, "null", 64, 1), above=0)
    return c.released_and_left_alone(deep(host, depth=64, min_cap=1), floor=1)


# --- planted --------------------------------------------------------------------------------

@group.test("planted: a run that does see is not as null")
def _(host):
    return c.fails(c.same_as, host.run(pair()), host.run(pair("null")))


@group.test("planted: a run that may cap differs from null somewhere")
def _(host):
    return c.fails(c.differs_nowhere, host.run(pair()), host.run(pair("null")))


@group.test("planted: labels not swapped, the other one is not capped")
def _(host):
    return c.fails(c.capped_instead, host.run(pair()), "server", "bulk")


@group.test("planted: without blame_ratio equal reporters would cap each other")
def _(host):
    rule = {"policy": "ioshares", "params": {"blame_ratio": 1000}}
    run = host.run(scenario([server("a", size="256KiB"), server("b", size="256KiB", clients=2)],
                            rule, duration="10s"))
    return c.fails(c.never_capped, run)


@group.test("planted: without blame_ratio equal servers that interfere by chance would, too")
def _(host):
    rule = {"policy": "ioshares", "params": {"blame_ratio": 1000}}
    return c.fails(c.never_capped, host.run(by_chance(3, 1, rule, "10s")))


@group.test("planted: without blame_floor one who sends little would be capped for the lie")
def _(host):
    rule = {"policy": "ioshares", "params": {"blame_floor": 0}}
    return c.fails(c.never_capped, small_talk(host, rule))


@group.test("planted: under null nobody ends capped, and no harm is gone")
def _(host):
    null = crowd(host, "null")
    c.fails(c.end_capped, null, "bulk", "bulk2")
    return c.fails(c.near_base, null, alone(host), "a", begin_s=110, most=0.6 * 0.84)


@group.test("planted: of a reporter that goes on the cap is not lifted")
def _(host):
    return c.fails(c.lifted_after, host.run(pair()), 5)


@group.test("planted: without the futility rule the sender is never released")
def _(host):
    run = host.run(pair({"policy": "ioshares", "params": {"futile": 0}},
                        sender(depth=64), duration="60s"))
    return c.fails(c.released_and_left_alone, run)


@group.test("planted: futility after 4 s, or a rest of 10 s, is not as it must be")
def _(host):
    late, short = (host.run(pair({"policy": "ioshares", "params": p}, sender(
        depth=16, guest={"min_cap": 2}), duration="60s"))
        for p in ({"futile": 4000000000}, {"futile_rest": 10000000000}))
    return "%s; %s" % (c.fails(c.released_and_left_alone, late, floor=2),
                       c.fails(c.released_and_left_alone, short, floor=2))


@group.test("planted: at depth 1 caps do help")
def _(host):
    return c.fails(c.no_cap_helps, host.run(pair()), host.run(pair("null")))
