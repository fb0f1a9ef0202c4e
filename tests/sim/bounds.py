# SPDX-License-Identifier: GPL-2.0-or-later
"""bounds: what holds of every summary, whatever the scenario. breaches() lists what does not.

The scenario is the one that was given to resexd: what it says of caps and lives is taken from
there, and not from the summary.
"""
from host import policy_of

TICK_S = 0.001


def lives_change(sc, name):
    return any(e["do"] in ("destroy", "create", "reboot") and e["guest"] == name
               for e in sc.get("events", []))


def settings(sc, guest, key):
    """All that was ever set of it, by the guest's own line and by events; 0 is none."""
    own = [guest] + [e["set"] for e in sc.get("events", [])
                     if e["do"] == "guest-set" and e["guest"] == guest["name"]]
    return [o[key] for o in own if o.get(key)]


def operator_caps(sc, guest):
    """In force at some time by the operator's hand."""
    return ([guest["cap"]] if guest.get("cap") else []) + [
        e["cap"] for e in sc.get("events", [])
        if e["do"] == "cap" and e["guest"] == guest["name"] and e["cap"]]


def policies(sc):
    return {policy_of(sc)} | {policy_of(e) for e in sc.get("events", []) if e["do"] == "policy"}


def link_of(sc, guest):
    links = sc.get("links") or [{"name": "link0", "rate": "1GiB/s", "mtu": 1024,
                                 "profile": "paper-2011"}]
    return next((x for x in links if x["name"] == guest.get("link")), links[0])


def caps_seen(out):
    seen = [out["cap"]["lowest"], out["cap"]["last"]] + out.get("series", {}).get("cap", [])
    return [c for c in seen if c is not None]


def of_caps(sc, guest, out):
    """No cap and no rate leaves its bounds."""
    full = 100 * guest.get("vcpus", 1)
    floors = settings(sc, guest, "min_cap") + ([] if guest.get("min_cap") else [1])
    low = min(floors + [full] + settings(sc, guest, "max_cap") + operator_caps(sc, guest))
    fastest = full / min(floors)
    rates = [out["rate"]["min"], out["rate"]["max"]] + [
        r for r in out.get("series", {}).get("rate", []) if r is not None]
    for c in caps_seen(out):
        if not low <= c <= full:
            yield "cap %s is outside %d to %d" % (c, low, full)
    for k in ("p1", "p10", "p50", "p90", "p99"):
        if out["lives"] and not low <= out["cap"][k] <= full:
            yield "cap %s %s is outside %d to %d" % (k, out["cap"][k], low, full)
    for r in rates if out["lives"] else []:
        if not 1 <= r <= fastest + 1e-4:
            yield "rate %s is outside 1 to %g" % (r, fastest)
    if not 0 <= out["cap"]["uncapped"] <= 1:
        yield "uncapped is %s" % out["cap"]["uncapped"]


def of_null(sc, guest, out):
    """A policy that never caps leaves nothing but what the operator set."""
    if policies(sc) != {"null"}:
        return
    if not operator_caps(sc, guest) and not settings(sc, guest, "max_cap") and (
            caps_seen(out) or out["cap"]["changes"] or out["cap"]["uncapped"] != 1):
        yield "capped to %s under null" % out["cap"]["lowest"]
    if out["rate"]["max"] > 1:
        yield "charged at rate %s under null" % out["rate"]["max"]


def of_money(sc, guest, out):
    """Nobody spends more than it was issued; at rate 1 each MTU and each 10 us cost one Reso."""
    r = out["resos"]
    if r["spent"] > r["allocated"] + 1e-3 or min(r.values()) < 0:
        yield "spent %s of %s Resos" % (r["spent"], r["allocated"])
    link = link_of(sc, guest)
    if link.get("profile") != "paper-2011" or out["rate"]["max"] > 1 or not out["lives"]:
        return
    cost = out["mtus_sent"] + out["mtus_recv"] + out["cpu_ns"] / 10000
    paid = r["spent"] + r["overdraft"]
    if abs(cost - paid) > 0.01 + 1e-6 * cost:
        yield "paid %s Resos for %s" % (paid, cost)


def in_flight(sc, guest):
    """MTUs that may be true and not counted: of a message that ends in the last tick."""
    mtu = link_of(sc, guest).get("mtu", 1024)
    sizes = {"KiB": 1024, "MiB": 1024 ** 2, "kB": 1000, "MB": 10 ** 6}
    most = 1
    for app in guest.get("apps", []):
        size = app.get("size", 65536)
        for unit, n in sizes.items():
            if isinstance(size, str) and size.endswith(unit):
                size = float(size[:-len(unit)]) * n
                break
        most = max(most, -(-int(size) // app.get("mtu", mtu)))
    return most


def of_counting(sc, guest, out):
    """What the daemon counted is what was sent."""
    if guest["name"] in sc.get("swap", []):
        return
    seen, true = out["mtus_sent"] + out["mtus_recv"], out["true"]["mtus"]
    if seen > true:
        yield "%d MTUs counted, %d sent" % (seen, true)
    if guest.get("blind"):
        if seen:
            yield "%d MTUs of a blind guest" % seen
        return
    if lives_change(sc, guest["name"]) or out["lost"]:
        return
    if true - seen > in_flight(sc, guest):
        yield "%d MTUs counted, %d sent, %d of them may be on their way" % (
            seen, true, in_flight(sc, guest))


def of_series(sc, guest, out):
    """The pieces of time add up to the whole."""
    del sc, guest
    pieces = out.get("series", {}).get("mtus", [])
    if sum(pieces) > out["mtus_sent"] + out["mtus_recv"]:
        yield "the series has %d MTUs of %d" % (sum(pieces), out["mtus_sent"] + out["mtus_recv"])


def of_apps(sc, guest, out):
    """The truth about a guest is that of its applications; percentiles are in order."""
    del sc, guest
    true = out["true"]
    for k in ("mtus", "bytes", "wrs"):
        if sum(a[k] for a in true["apps"]) != true[k]:
            yield "%s of the applications are not the guest's" % k
    for a in true["apps"]:
        x = a.get("latency", {"n": 0})
        if x["n"] and not (x["min_us"] <= x["mean_us"] <= x["max_us"] and
                           x["p50_us"] <= x["p99_us"] <= x["p999_us"]):
            yield "latencies of %s are not in order" % a["name"]
        if x["n"] and abs(x["ctime_us"] + x["wtime_us"] + x["ptime_us"] - x["mean_us"]) > 0.004:
            yield "the parts of %s are not its latency" % a["name"]


def of_divergence(sc, guest, out):
    """Whoever hides nothing is never said to, whatever it sends; others only if they sent."""
    if out["diverged_at_s"] is None:
        return
    if not guest.get("blind") and guest["name"] not in sc.get("swap", []):
        yield "said to diverge at %s s" % out["diverged_at_s"]
    if not out["true"]["mtus"]:
        yield "said to diverge, and sent nothing"


ALL = (of_caps, of_null, of_money, of_counting, of_series, of_apps, of_divergence)


def breaches(sc, summary):
    out = []
    if not summary["simulated"] or not summary["complete"]:
        out.append("not a complete simulated run")
    if [g["name"] for g in summary["guests"]] != [g["name"] for g in sc["guests"]]:
        return out + ["other guests than the scenario's"]
    for guest, got in zip(sc["guests"], summary["guests"]):
        for check in ALL:
            out += ["%s: %s" % (guest["name"], b) for b in check(sc, guest, got)]
    return out
