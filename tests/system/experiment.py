# SPDX-License-Identifier: GPL-2.0-or-later
"""experiment: the paper's claim on real Xen and real verbs: base, interfered, FreeMarket, IOShares,
and the way back when the server is silent; repeats interleaved, judged by permutation.

Every repeat begins with the server alone; what it measures then is its SLA (guest-set). Then bulk
sends, and the policies come in an order of chance. After IOShares the server is left alone, and
the time until bulk's cap is gone is taken. With two bulk guests the second one sends, too, then,
and the policies of POLICIES_TWO come. After each change of policy SETTLE_S pass under load before
MEASURE_S are measured, whatever is seen.

The scenario records all of it (resex trace-start), and replays it by resex-lab on this machine.
"""
import random
import statistics

import permute
from bed import check
from pair import MEASURE_S, SETTLE_S, STEP_S, Pair

PHASES = {  # name: (what is said of it, policy)
    "base": ("server alone", "null"),
    "interfered": ("no policy", "null"),
    "freemarket": ("FreeMarket", "freemarket"),
    "ioshares": ("IOShares", "ioshares"),
    "interfered-two": ("no policy, 2", "null"),
    "ioshares-two": ("IOShares, 2", "ioshares"),
}
BASE_SETTLE_S = 1
WITHIN = 0.30  # of base, under IOShares
FAR_BELOW = 0.5  # of no policy
REPEATS = 10
REPEATS_SHORT = 1  # too few for a permutation: it must show the difference
POLICIES = ("interfered", "freemarket", "ioshares")
POLICIES_SHORT = ("interfered", "ioshares")  # no claim is about FreeMarket
POLICIES_TWO = ("interfered-two", "ioshares-two")
CPU_MOST = 0.55
ALPHA = 0.05


def one_repeat(pair, number, order, order_two, tell):
    """{phase: figures}, and "back_off": seconds, or None."""
    out = {}

    def phase(name, **options):
        out[name] = f = pair.phase("%s.%d" % (name, number), PHASES[name][1], **options)
        tell("repeat %d %-14s %s" % (number, name, in_a_line(f)))
    phase("base", settle_s=BASE_SETTLE_S)
    pair.calibrate(out["base"])
    pair.bulk_on()
    for name in order:
        phase(name)
        if name == "ioshares":
            out["back_off"] = gone = pair.uncapped_after(out[name])
            tell("repeat %d %-14s %s" % (number, "back-off", "bulk had no cap when the server fell silent"
                 if gone is None else "bulk's cap gone %.1f s after the server fell silent" % gone))
    if order_two:
        pair.bulk_on(number=2)
        for name in order_two:
            phase(name, bulks=2)
        out["bulk2"] = pair.bulk_off(2)
    out["bulk"] = pair.bulk_off()
    return out


def run(vm, repeats, seed, tell, policies=POLICIES, two=True, recorded=False):
    """All repeats; begin and end are the same but for what was measured. recorded: and replayed."""
    rng = random.Random(seed)
    out = []
    with Pair(vm, bulks=1 + two) as pair:
        if recorded:
            pair.daemon.record("experiment")
        for number in range(1, repeats + 1):
            order, order_two = list(policies), list(POLICIES_TWO) if two else []
            rng.shuffle(order)
            rng.shuffle(order_two)
            out.append(one_repeat(pair, number, order, order_two, tell))
        dropped = pair.net.sent()[1]
        if recorded:
            replayed(pair)
    return {"repeats": out, "seed": seed, "settle_s": SETTLE_S, "measure_s": MEASURE_S,
            "link_bytes_s": pair.net.rate, "link_dropped": dropped, "verdict": verdict(out)}


def replayed(pair):
    """What real guests did is decided on again, bit for bit; under another policy, bulk gets other caps."""
    pair.daemon.replay("experiment")
    said = pair.daemon.lab("replay", "--policy", "freemarket", "%s/files/experiment.trace" % pair.vm.share)
    pair.vm.note(said)
    check("domain %d may have behaved otherwise" % pair.bulk.domid in said,
          "bulk had other caps under IOShares than FreeMarket sets: %s" % said)


def of(repeats, phase, who="server", what="mean_us"):
    return [r[phase][who][what] for r in repeats]


def measured(repeats):
    return [phase for phase in PHASES if phase in repeats[0]]


def verdict(repeats):
    """What the repeats say, in figures."""
    phases = measured(repeats)
    mean = {phase: statistics.mean(of(repeats, phase)) for phase in phases}
    client = {phase: statistics.mean(of(repeats, phase, "client")) for phase in phases}
    none = of(repeats, "interfered")
    helped = {suffix: {
        "lower_in": sum(a < b for a, b in zip(of(repeats, "ioshares" + suffix), of(repeats, "interfered" + suffix))),
        "p": permute.lower(of(repeats, "ioshares" + suffix), of(repeats, "interfered" + suffix)),
    } for suffix in ("", "-two") if "ioshares" + suffix in phases}
    return {
        "mean_us": mean, "client_mean_us": client,
        "over_base": {phase: mean[phase] / mean["base"] - 1 for phase in phases},
        "repeats": len(repeats),
        "helped": helped,
        "p_freemarket": permute.lower(of(repeats, "freemarket"), none) if "freemarket" in phases else None,
        "p_least": permute.least(len(repeats), len(repeats)),
        "cpu_most": max(r[phase]["cpu"][g] for r in repeats for phase in phases
                        for g in ("server", "bulk")),
        "back_off_s": [r["back_off"] for r in repeats if r["back_off"] is not None],
    }


def lower(v, suffix):
    """The claim that IOShares helps, by permutation if there are enough repeats, else by sign."""
    h = v["helped"][suffix]
    if v["p_least"] <= ALPHA:
        return ("IOShares is lower than no policy: p = %.2g (of %.2g at least), by permutation of the "
                "repeats' means" % (h["p"], v["p_least"]), h["p"] <= ALPHA)
    return ("IOShares is lower than no policy in %d of %d repeats" % (h["lower_in"], v["repeats"]),
            h["lower_in"] == v["repeats"])


def claims_of(v, suffix, bulk):
    """Those for one bulk guest or for two."""
    base, none, ios = (v["mean_us"][p] for p in ("base", "interfered" + suffix, "ioshares" + suffix))
    over = v["over_base"]["ioshares" + suffix]
    return (
        ("%s the server: %.1f ms, %.1f alone" % (bulk, none / 1e3, base / 1e3), none > 1.5 * base),
        lower(v, suffix),
        ("IOShares is far below no policy: %.1f ms of %.1f" % (ios / 1e3, none / 1e3), ios < FAR_BELOW * none),
        ("IOShares is within %.0f %% of base: %+.1f %%" % (100 * WITHIN, 100 * over), over <= WITHIN),
    )


def claims(v):
    """(what is claimed, whether it holds)."""
    two = claims_of(v, "-two", "two bulk guests slow") if "-two" in v["helped"] else ()
    return claims_of(v, "", "bulk slows") + two + (
        ("bulk's cap goes when the server falls silent: after %s s" %
         ", ".join("%.1f" % s for s in v["back_off_s"]), bool(v["back_off_s"])),
        ("no guest used more than %.0f %% of its VCPU: %.0f %%" % (100 * CPU_MOST, 100 * v["cpu_most"]),
         v["cpu_most"] < CPU_MOST),
    )


# --- for people ----------------------------------------------------------------


def ms(us):
    return "-" if us is None else "%.1f" % (us / 1e3)


def in_a_line(f):
    s, x = f["server"], f["resexd"]
    return "server %5s ms (p50 %s, p99 %s), client %5s; bulk cap %3.0f%%, CPU %2.0f%%" % (
        ms(s["mean_us"]), ms(s["p50_us"]), ms(s["p99_us"]), ms(f["client"]["mean_us"]),
        x["cap"], 100 * f["cpu"]["bulk"])


def average(repeats, phase, who, what):
    values = [r[phase][who][what] for r in repeats if r[phase][who][what] is not None]
    return statistics.mean(values) if values else None


def table(repeats):
    """One row a phase, each figure the mean of the repeats."""
    rows = ["%-14s | %6s %6s %6s %6s %6s %6s %9s | %6s %6s | %7s %5s %5s %6s %6s | %6s %5s" % (
        "means of %d" % len(repeats), "mean", "p50", "p99", "CTime", "WTime", "PTime", "over base",
        "mean", "p99", "latency", "cap", "rate", "server", "bulk", "server", "bulk"),
        "%-14s | %-51s | %-13s | %-33s | %s" % ("", "server's own, ms", "client's, ms",
                                                "resexd: ms, %, MTU/s", "CPU %")]
    base = average(repeats, "base", "server", "mean_us")
    for phase in measured(repeats):
        def a(who, what, phase=phase):
            return average(repeats, phase, who, what)
        rows.append("%-14s | %6s %6s %6s %6s %6s %6s %+8.1f%% | %6s %6s | %7s %5.0f %5.1f %6.0f %6.0f | %6.0f %5.0f" % (
            PHASES[phase][0], *(ms(a("server", k + "_us")) for k in ("mean", "p50", "p99", "ctime", "wtime", "ptime")),
            100 * (a("server", "mean_us") / base - 1), ms(a("client", "mean_us")),
            ms(a("client", "p99_us")), ms(a("resexd", "latency_us")), a("resexd", "cap"),
            a("resexd", "rate"), a("resexd", "server_mtus_s") or 0, a("resexd", "bulk_mtus_s") or 0,
            100 * a("cpu", "server"), 100 * a("cpu", "bulk")))
    return rows


def timeline(repeats, phase):
    """[(ms, cap)] a step of time since the policy came, the mean of the repeats."""
    out = []
    for i in range(round((SETTLE_S + MEASURE_S) / STEP_S)):
        looks = [x for r in repeats for x in r[phase]["series"]
                 if i * STEP_S <= x[0] < (i + 1) * STEP_S]
        us = [x[1] for x in looks if x[1] is not None]
        caps = [x[2] for x in looks]
        cap = statistics.mean(caps) if caps else 100
        out.append((statistics.mean(us) / 1e3 if us else None, round(cap) if cap < 100 else None))
    return out


def experiment(vm):
    """As ./dev demo --real, and recorded; not deep: with fewer repeats, without FreeMarket and the second
    bulk guest."""
    out = (run(vm, REPEATS, 1, vm.note, recorded=True) if vm.deep else
           run(vm, REPEATS_SHORT, 1, vm.note, POLICIES_SHORT, False, recorded=True))
    for line in table(out["repeats"]):
        vm.note(line)
    v = out["verdict"]
    for text, holds in claims(v):
        vm.note("%s: %s" % ("holds" if holds else "DOES NOT HOLD", text))
    failed = [text for text, holds in claims(v) if not holds]
    check(not failed, "; ".join(failed))
    check(out["link_dropped"] == 0, "the link dropped %d frames" % out["link_dropped"])
