# SPDX-License-Identifier: GPL-2.0-or-later
"""claims: what must be so, as functions of summaries, which raise Broken when it is not.

They know nothing of how a summary came to be: each is also given a summary of which it must not
hold (the tests named "planted"), for a claim that cannot fail says nothing.
"""
import statistics

from host import Broken, need

BASE_US = 209          # the paper's figure 1: 64 KB server, alone
SETTLED_S = 3          # IOShares has this long
FUTILE_S, REST_S = 2, 30  # defaults of ioshares: futile, futile_rest
STALE_S, WINDOW_S, CALM, BACK_OFF, LIFT = 1, 0.05, 4, 0.85, 0.95


def over(mean, base):
    """By how much, a part of base."""
    return mean / base - 1


def percent(part):
    return "%+.1f %%" % (100 * part)


# --- the paper's case -----------------------------------------------------------------------

def interferes(null, base):
    got = over(null["server"].mean, base)
    need(got >= 0.25, "null is only %s over base", percent(got))
    return "null %.1f us, %s over base" % (null["server"].mean, percent(got))


def near_base(run, base, name="server", begin_s=SETTLED_S, most=0.10, end_s=None):
    """In each piece of time of the series from begin_s on."""
    worst = max(over(x, base) for x in run[name].latencies(begin_s, end_s))
    need(worst <= most, "%s is %s over base at worst after %g s", name, percent(worst), begin_s)
    return "%s %.1f us, at worst %s after %g s" % (name, run[name].mean, percent(worst), begin_s)


def between(ioshares, freemarket, null):
    a, b, c = (r["server"].mean for r in (ioshares, freemarket, null))
    need(a < b < c, "ioshares %.1f, freemarket %.1f, null %.1f us", a, b, c)
    return "ioshares %.1f, freemarket %.1f, null %.1f us" % (a, b, c)


def worse_than(freemarket, ioshares, null, base):
    """FreeMarket does not bring near base what IOShares does."""
    f, i, n = (over(r["server"].mean, base) for r in (freemarket, ioshares, null))
    need(abs(f) > abs(i), "freemarket %s is as near as ioshares %s", percent(f), percent(i))
    need(n <= 0.10 or f > 0.10, "freemarket %s where null is %s", percent(f), percent(n))
    return "ioshares %s, freemarket %s, null %s" % (percent(i), percent(f), percent(n))


def first_cut_at(ms, wanted=617, within=5):
    need(abs(ms - wanted) <= within, "the first cut is at %d ms", ms)
    return "first cut at %d ms" % ms


def never_capped(run, *names):
    for name in names or run.guests:
        need(run[name].cap["changes"] == 0 and run[name].cap["uncapped"] == 1,
             "%s was capped, to %s", name, run[name].cap["lowest"])
    return "no cap"


def same_as(run, other, name="server", within=0.01):
    a, b = run[name].true_mean, other[name].true_mean
    need(abs(over(a, b)) <= within, "%s takes %.1f us, not %.1f", name, a, b)
    return "%s %.2f us, %.2f" % (name, a, b)


def differs_nowhere(run, other):
    """What really happened is the same, guest by guest."""
    for name, guest in run.guests.items():
        need(guest.raw["true"] == other[name].raw["true"], "%s fared otherwise", name)
    return "all that is true is equal"


def reported_as_true(run, name="server", within=0.005):
    """The daemon heard what its guest's applications went through."""
    got = over(run[name].mean, run[name].true_mean)
    need(abs(got) <= within, "%s reported %.1f us, and took %.1f", name, run[name].mean,
         run[name].true_mean)


# --- ablations ------------------------------------------------------------------------------

def capped_instead(run, capped, not_capped):
    need(run[capped].cap["changes"] > 0, "%s was never capped", capped)
    need(run[not_capped].cap["changes"] == 0, "%s was capped, too", not_capped)
    return "%s capped to %d, %s never" % (capped, run[capped].cap["lowest"], not_capped)


def end_capped(run, *names):
    for name in names:
        need(run[name].cap["last"] is not None, "%s has no cap at the end", name)
    return ", ".join("%s %d" % (n, run[n].cap["last"]) for n in names)


def steps_back(rate, full=100):
    """Calm windows in which a rate goes back to 1: each takes 15 percent of it, and the cap
    rises by 1 at least."""
    steps = 0
    while rate > 1:
        cap = max(1, int(full / rate + 0.5))
        rate = max(1, min(rate * BACK_OFF, full / (cap + 1)))
        if 1 / rate >= LIFT:
            rate = 1
        steps += 1
    return steps


def lifted_after(run, stop_s, name="bulk", most_s=None):
    """A cap goes back to none once its reporter is stale, a step each window."""
    if most_s is None:
        rate = run[name].series["rate"][run[name].at(stop_s)]
        most_s = STALE_S + (CALM + steps_back(rate)) * (WINDOW_S + 0.01) + 0.1
    caps = run[name].caps(stop_s)
    need(caps[0] is not None, "%s had no cap when reports stopped", name)
    free = next((i for i, c in enumerate(caps) if c is None), None)
    need(free is not None, "%s still has cap %s", name, caps[-1])
    took = (free + 1) * run[name].step_s
    need(took <= most_s, "%s had its cap for %.1f s more, not %.1f", name, took, most_s)
    need(not any(caps[free:]), "%s got a cap again", name)
    return "cap %d gone %.1f s after the last report, at most %.1f" % (caps[0], took, most_s)


def episodes(caps):
    """[(begin, end)] of the times with a cap, in pieces; the last may not have ended."""
    out = []
    for i, c in enumerate(caps):
        if c is None:
            continue
        if out and out[-1][1] == i:
            out[-1][1] = i + 1
        else:
            out.append([i, i + 1])
    return out


def released_and_left_alone(run, name="bulk", floor=1, rest_s=REST_S, futile_s=FUTILE_S):
    """Futility: at its floor for futile, then no cap, and none for rest. No floor: capped for
    futile, and for a second before, for a reporter that claims twice what it is believed."""
    g = run[name]
    step = g.step_s
    most = 100 * g.raw["vcpus"] / floor if floor else 1.02
    spells = episodes(g.caps())
    need(spells and spells[0][1] < len(g.caps()), "%s was never released", name)
    floors, rests = [], []
    for k, (begin, end) in enumerate(spells):
        need(min(g.caps()[begin:end]) >= (floor or 1), "%s below its floor", name)
        floors.append(sum(r >= most - 0.01 for r in g.series["rate"][begin:end]) * step)
        # the last may be capped still; within a window and a piece of the series
        need(floors[-1] <= futile_s + 2 * WINDOW_S + 2 * step + (0 if floor else 1),
             "%s stood at its floor for %.1f s", name, floors[-1])
        rests.append(((spells[k + 1][0] if k + 1 < len(spells) else len(g.caps())) - end) * step)
    for got in rests[:-1]:
        need(got >= rest_s - step, "%s was left alone for %.1f s only", name, got)
    if spells[-1][1] < len(g.caps()):
        need(floors[-1] >= futile_s - step, "%s was released after %.1f s", name, floors[-1])
    return "at rate %g and more for %s s, then free for %s s" % (
        most, "/".join("%.1f" % f for f in floors), "/".join("%.1f" % r for r in rests))


def no_cap_helps(run, null, name="server", bulk="bulk", above=1, within=0.01):
    """At whatever cap above that one the latency is null's."""
    pieces = [(c, x, y) for c, x, y in zip(run[bulk].caps(), run[name].series["true_latency_us"],
                                           null[name].series["true_latency_us"])
              if c is not None and c > above]
    need(pieces, "%s had no cap above %d", bulk, above)
    for cap, x, y in pieces:
        need(abs(over(x, y)) <= within, "%s takes %.1f us at cap %d, %.1f without", name, x, cap, y)
    return "caps %d to %d: %.1f us at least, null %.1f" % (
        max(p[0] for p in pieces), min(p[0] for p in pieces), min(p[1] for p in pieces),
        null[name].mean)


# --- sets of guests ---------------------------------------------------------------------------

def kept_at(found, latency):
    """The part of the throughput that fixed caps leave at this latency: between two that were
    tried it is on the line through them."""
    found = sorted(found)
    if latency <= found[0][0]:
        return found[0][1]
    for (a, x), (b, y) in zip(found, found[1:]):
        if latency <= b:
            return max(x, x + (y - x) * (latency - a) / (b - a) if b > a else y)
    return found[-1][1]


def as_fixed_caps(got, found, goal=0.05, most=0.10, points=0.02, part=0.80):
    """Beside the best fixed caps; got, and each of found, is (latency over base, part of the
    throughput): within most of base or as near as the best of them, and not much less throughput
    than they leave at the same latency, or at the goal where it is nearer to base than that."""
    best, at = min(found)[0], max(got[0], goal)
    kept = kept_at(found, at)
    need(got[0] <= max(most, best + points), "%s over base, the best fixed caps %s",
         percent(got[0]), percent(best))
    need(got[1] >= part * kept, "at %s it keeps %.1f %% of the throughput; fixed caps %.1f %% at "
         "%s", percent(got[0]), 100 * got[1], 100 * kept, percent(at))
    return "%s, keeps %.0f %% (fixed caps %s at best, and %.0f %% at %s)" % (
        percent(got[0]), 100 * got[1], percent(best), 100 * kept, percent(at))


def within_points(means, most=0.03):
    """Parts over base that differ by little."""
    spread = max(means) - min(means)
    need(spread <= most, "they are %.1f points apart: %s", 100 * spread,
         " ".join(percent(m) for m in means))
    return " ".join(percent(m) for m in means)


def keeps(run, null, name, part=0.9):
    """Of what it sends in each piece of time under null, so that what it sends later for want of
    time does not count."""
    pieces = list(zip(run[name].series["mtus"], null[name].series["mtus"]))
    got = sum(min(a, b) for a, b in pieces) / sum(b for _, b in pieces)
    need(got >= part, "%s keeps %.0f %% of its throughput", name, 100 * got)
    return got


# --- stability ------------------------------------------------------------------------------

def band(caps):
    """Lowest, highest, and how often the direction changed; no cap is 100."""
    got = [100 if c is None else c for c in caps]
    moves = [b - a for a, b in zip(got, got[1:]) if b != a]
    turns = sum((a > 0) != (b > 0) for a, b in zip(moves, moves[1:]))
    return min(got), max(got), turns


def settles(run, begin_s, width=3, latency=0.05):
    """The limit cycle: from begin_s on no cap moves by more than width percent of a CPU, and no
    second's mean latency of a server strays from the mean of all by more than this part."""
    said = []
    for name, g in run.guests.items():
        low, high, turns = band(g.caps(begin_s))
        need(high - low <= width, "%s swings between caps %d and %d", name, low, high)
        if high < 100:
            said.append("%s %d-%d (%d turns)" % (name, low, high, turns))
        got = g.latencies(begin_s)
        if not got:
            continue
        n = max(1, round(1 / g.step_s))
        seconds = [statistics.fmean(got[i:i + n]) for i in range(0, len(got) - n + 1, n)]
        mean = statistics.fmean(seconds)
        far = max(abs(over(s, mean)) for s in seconds)
        need(far <= latency, "%s swings by %s around %.1f us", name, percent(far), mean)
    return ", ".join(said) or "no cap"


def goes_in_steps(run, begin_s, *names, turns_s=2.5):
    """The cycle of a settled cap: a step of the back-off (15 percent of the rate, one percent of
    a CPU at least) and back, about once a second."""
    said = []
    for name in names or run.guests:
        low, high, turns = band(run[name].caps(begin_s))
        most = max(low + 1, round((low + 0.5) / BACK_OFF))
        need(high <= most, "%s swings between caps %d and %d, not %d", name, low, high, most)
        got = turns / (run.summary["duration_s"] - begin_s)
        need(got <= turns_s, "%s turns %.1f times a second", name, got)
        if high < 100:
            said.append("%s %d-%d" % (name, low, high))
    return ", ".join(said[:3]) or "no cap"


def only_futile_swings(run, name, begin_s=0):
    """The slow cycle of a cap that helps nobody: capped less than a quarter of the time."""
    spells = episodes(run[name].caps(begin_s))
    gaps = [b[0] - a[1] for a, b in zip(spells, spells[1:])]
    step = run[name].step_s
    need(all(g * step >= REST_S - step for g in gaps), "%s is capped again after %.1f s", name,
         min(gaps, default=0) * step)
    part = sum(b - a for a, b in spells) * step / run.summary["duration_s"]
    need(part <= 0.25, "%s is capped for %s of the time", name, percent(part))
    return "%s capped %d times, %.0f %% of the time" % (name, len(spells), 100 * part)


def fails(claim, *args, **kw):
    """A claim that must not hold of these."""
    try:
        claim(*args, **kw)
    except Broken as e:
        return str(e)
    raise Broken("%s held, and must not" % claim.__name__)
