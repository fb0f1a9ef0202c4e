#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""figures: what the paper's text says of its figures holds of those that resex-lab draws.

usage: figures.py [--lab PROGRAM]

One call of resex-lab runs all; each test reads its JSON, and prints the figures it was judged by.
Those named "planted" show that a claim fails of figures of which it must not hold.
Exit: 0, or 1 when a claim does not hold.
"""
import argparse
import copy
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import claims as c  # noqa: E402
from group import Group  # noqa: E402
from host import Broken, need  # noqa: E402

DURATION_S = "5"
DEPTHS = (1, 2, 4, 16)
SIZES = ("128 KiB", "256 KiB", "512 KiB", "1 MiB", "2 MiB")
group = Group("figures")


class Lab:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder

    def draw(self, name, *args):
        """The JSON of a call that writes to a folder of its own."""
        out = os.path.join(self.folder, name)
        done = subprocess.run([self.program, "figures", *args, "-j", "-o", out, "-d", DURATION_S],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        need(done.returncode == 0 and not done.stderr, "resex-lab ended with %d: %s",
             done.returncode, done.stderr.decode(errors="replace")[-400:])
        return out, json.loads(done.stdout)


class Figures:
    def __init__(self, runs):
        self.of = {(r["name"], r["series"], r["point"]): r for r in runs}

    def __call__(self, name, series, point=""):
        return self.of["figure" + name, series, point]

    def mean(self, name, series, point=""):
        return self(name, series, point)["mean_us"]


# --- claims ---------------------------------------------------------------------------------

def stable_base(f):
    normal = f("1", "normal")
    need(abs(c.over(normal["mean_us"], c.BASE_US)) <= 0.01, "%.1f us", normal["mean_us"])
    need(normal["deviation_us"] <= 1, "it deviates by %.1f us", normal["deviation_us"])
    return "%.1f us, deviation %.2f" % (normal["mean_us"], normal["deviation_us"])


def spread_when_interfered(f):
    normal, said = f("1", "normal"), []
    for series in ("by 128 KiB, depth 1", "by 256 KiB, depth 1", "by 2 MiB, depth 1"):
        got = f("1", series)
        need(got["mean_us"] > normal["mean_us"] * 1.1, "%s: mean %.1f us", series, got["mean_us"])
        need(got["deviation_us"] > 10 * normal["deviation_us"], "%s: deviation %.1f us", series,
             got["deviation_us"])
        need(got["min_us"] < normal["mean_us"], "%s: none is below normal", series)
        said.append("%.1f" % got["deviation_us"])
    return "deviation %s us" % ", ".join(said)


def restored_at_ratio(f, depth="depth 1"):
    """At the cap of 100 / ratio; the same for all sizes."""
    base = f.mean("4", "base", "3")
    free, capped = (c.over(f.mean("4", "BenchEx, " + depth, cap), base) for cap in ("100", "3"))
    need(free >= 0.25, "without a cap it is %s over base", c.percent(free))
    need(capped <= 0.05, "at cap 3 it is %s over base", c.percent(capped))
    ratios = [c.over(r["mean_us"], base) for (name, series, _), r in f.of.items()
              if name == "figure3-depths" and series == "BenchEx, " + depth]
    need(len(ratios) == 6 and max(ratios) <= 0.07, "by ratio: %s", " ".join(map(c.percent, ratios)))
    return "%s, %s at cap 3, by ratio at most %s" % (c.percent(free), c.percent(capped),
                                                    c.percent(max(ratios)))


def falls_with_cap(f):
    """Never slower with a lower cap, at whatever depth."""
    for (name, series, point), r in f.of.items():
        if name != "figure4" or series == "base":
            continue
        lower = [x["mean_us"] for (n, s, p), x in f.of.items()
                 if (n, s) == (name, series) and int(p) < int(point)]
        need(all(x <= r["mean_us"] * 1.005 for x in lower), "%s: slower below cap %s", series, point)
    return "8 series"


def no_cap_holds_deep_sender(f):
    base = f.mean("4", "base", "3")
    got = c.over(f.mean("4", "sender, depth 16", "3"), base)
    need(got >= 0.25, "a sender of depth 16 is held at %s", c.percent(got))
    return c.percent(got)


def parts_grow(f):
    """WTime does, much more beside a neighbour than beside two servers; CTime is constant."""
    one, three, beside = (f("2", "WTime", p) for p in ("1", "3", "3 + depth 1"))
    for r in (three, beside):
        got = c.over(r["ctime_us"], one["ctime_us"])
        need(abs(got) <= 0.01, "CTime differs by %s", c.percent(got))
    grown = [c.over(r["wtime_us"], one["wtime_us"]) for r in (three, beside)]
    need(0.1 < grown[0] < grown[1] / 2, "WTime grows by %s", " ".join(map(c.percent, grown)))
    return "WTime of 3 %s, and a neighbour %s" % tuple(map(c.percent, grown))


def ordered(f):
    """base < ioshares < freemarket <= null, beside each size and depth. The mean has the first
    second in it, in which IOShares begins to cap."""
    worst, best = 0, 9
    for depth in DEPTHS:
        for size in SIZES:
            base = f.mean("9-depths", "base", size)
            null, free, ios = (c.over(f.mean("9-depths", "%s, depth %d" % (p, depth), size), base)
                               for p in ("no policy", "FreeMarket", "IOShares"))
            what = "%s, depth %d" % (size, depth)
            need(ios <= 0.07, "%s: ioshares is %s over base", what, c.percent(ios))
            need(free >= 0.10, "%s: freemarket is %s over base", what, c.percent(free))
            need(0 < ios < free <= null + 0.001, "%s: %s %s %s", what,
                 *map(c.percent, (ios, free, null)))
            worst, best = max(worst, ios), min(best, free)
    return "ioshares at worst %s, freemarket at best %s" % (c.percent(worst), c.percent(best))


def over_time_between(f):
    base, null = f.mean("7", "base"), f.mean("7", "interfered, depth 1")
    for depth in DEPTHS:
        ios = f.mean("7", "IOShares, depth %d" % depth)
        free = f.mean("5", "FreeMarket, depth %d" % depth)
        need(base < ios < free < null, "depth %d: %.1f %.1f %.1f %.1f us", depth, base, ios, free,
             null)
    return "4 depths"


def nobody_capped(f):
    """Though servers that vary interfere by chance."""
    cases = [f("8", p + ", depth 1", n) for p in ("no policy", "FreeMarket", "IOShares")
             for n in ("base", "64KB-64KB", "64KB-2MB-nointf", "varying base", "varying 64KB-64KB")]
    need(all(r["cap_changes"] == 0 for r in cases), "a guest was capped")
    by_chance = c.over(f.mean("8", "IOShares, depth 1", "varying 64KB-64KB"),
                       f.mean("8", "IOShares, depth 1", "varying base"))
    need(by_chance >= 0.05, "servers that vary are only %s slower", c.percent(by_chance))
    for case in ("64KB-64KB", "64KB-2MB-nointf"):
        got = c.over(f.mean("8", "IOShares, depth 1", case), f.mean("8", "IOShares, depth 1", "base"))
        need(got <= 0.02, "%s: %s over base", case, c.percent(got))
    return "15 runs without a cap, by chance %s" % c.percent(by_chance)


def resos_run_out(rows):
    """Balances as figure6.csv has them: time, the server, the neighbour of depth 1."""
    own, other = [r[1] for r in rows], [r[2] for r in rows]
    need(max(other) == 624288, "at most %g Resos", max(other))
    need(min(other) < 0.10 * max(other), "the neighbour's never fall below 10 %%")
    need(min(own) > 0.10 * max(own), "the server's fall below 10 %%")
    return "neighbour at least %g, server %g" % (min(other), min(own))


# --- files ----------------------------------------------------------------------------------

def stands_alone(page):
    """A page and its pictures are read without a network, and are well formed."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    pictures = re.findall(r"<svg.*?</svg>", text, re.S)
    for svg in pictures:
        xml.etree.ElementTree.fromstring(svg)
    need(len(pictures) == 12, "%d pictures", len(pictures))
    rest = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    need("//" not in rest and "src=" not in rest and "nan" not in text and "inf<" not in text,
         "it refers to another file, or shows what is no number")
    return "%d pictures" % len(pictures)


def first_line(path):
    with open(path, encoding="utf-8") as f:
        return f.readline()


def columns(path):
    with open(path, encoding="utf-8") as f:
        return [[float(x or "nan") for x in line.split(",")] for line in f.readlines()[2:]]


# --- tests ----------------------------------------------------------------------------------

CLAIMS = (
    ("figure 1: alone, the server takes the paper's 209 us, and hardly varies", stable_base),
    ("figure 1: when interfered, it is slower and spread", spread_when_interfered),
    ("figure 2: WTime grows, much more beside a neighbour than beside servers; CTime does not", parts_grow),
    ("figures 3, 4: base is restored at the cap of 100 / ratio, for depth 1", restored_at_ratio),
    ("figure 4: no lower cap makes the server slower", falls_with_cap),
    ("figure 4: a cap of the ratio does not hold a sender of depth 16", no_cap_holds_deep_sender),
    ("figures 5, 7: IOShares is nearer to base than FreeMarket, both than none", over_time_between),
    ("figure 8: no guest is capped without interference", nobody_capped),
    ("figure 9: IOShares is near base beside each size, FreeMarket is not", ordered),
)


def plant(f, holds, change):
    """The claim fails of runs that were changed."""
    runs = copy.deepcopy(list(f.of.values()))
    for r in runs:
        change(r)
    c.fails(holds, Figures(runs))


def be(r, **to):
    r.update(to)


PLANTED = (
    (stable_base, lambda r: be(r, mean_us=r["mean_us"] * 1.02)),
    (stable_base, lambda r: be(r, deviation_us=1.1)),
    (spread_when_interfered, lambda r: be(r, deviation_us=0.4)),
    (spread_when_interfered, lambda r: be(r, min_us=209.1)),
    (spread_when_interfered, lambda r: be(r, mean_us=209)),
    (parts_grow, lambda r: be(r, ctime_us=150) if "+" in r["point"] else None),
    (parts_grow, lambda r: be(r, wtime_us=120) if "+" in r["point"] else None),
    (restored_at_ratio, lambda r: be(r, mean_us=220) if r["point"] == "3" and
     r["series"] != "base" else None),
    (restored_at_ratio, lambda r: be(r, mean_us=225) if "cap 12" in r["point"] and
     r["series"] != "base" else None),
    (restored_at_ratio, lambda r: be(r, mean_us=250) if r["point"] == "100" else None),
    (falls_with_cap, lambda r: be(r, mean_us=290) if r["point"] == "25" else None),
    (no_cap_holds_deep_sender, lambda r: be(r, mean_us=230)),
    (over_time_between, lambda r: be(r, mean_us=260) if "IOShares" in r["series"] else None),
    (nobody_capped, lambda r: be(r, cap_changes=1) if r["point"] == "varying 64KB-64KB" else None),
    (nobody_capped, lambda r: be(r, mean_us=210) if r["point"] == "varying 64KB-64KB" else None),
    (nobody_capped, lambda r: be(r, mean_us=214) if r["point"] == "64KB-64KB" else None),
    (ordered, lambda r: be(r, mean_us=224) if r["series"] == "IOShares, depth 4" else None),
    (ordered, lambda r: be(r, mean_us=228) if r["series"] == "FreeMarket, depth 2" else None),
    (ordered, lambda r: be(r, mean_us=231) if r["series"] == "no policy, depth 16" else None),
)


@group.test("figure 6: the neighbour's Resos run out, the server's do not")
def _(_lab, out, _f):
    rows = columns(os.path.join(out, "figure6.csv"))
    c.fails(resos_run_out, [[t, b, a] for t, a, b, *_ in rows])
    return resos_run_out(rows)


@group.test("the page stands alone, and each CSV says that it is simulated")
def _(_lab, out, _f):
    tables = [f for f in os.listdir(out) if f.endswith(".csv")]
    for name in tables:
        need(first_line(os.path.join(out, name)).startswith("# SIMULATED"), "%s does not", name)
    return "%d CSVs, %s" % (len(tables), stands_alone(os.path.join(out, "report.html")))


@group.test("the same seed gives the same files with one process and with three, another does not")
def _(lab, _out, _f):
    one, three, other = (lab.draw(name, "1", "9", *args)[0] for name, args in (
        ("one", ("-J", "1")), ("three", ("-J", "3")), ("other", ("-s", "2"))))
    names = [n for n in os.listdir(one) if not n.endswith(".png")]
    need(filecmp.cmpfiles(one, three, names, shallow=False)[0] == names, "they differ")
    need("figure9.csv" in filecmp.cmpfiles(one, other, names, shallow=False)[1],
         "seed 2 gave the figures of seed 1")
    return "%d files" % len(names)


def judge(function, *args):
    """(held, what it said)"""
    try:
        return True, function(*args)
    except Broken as e:
        return False, str(e)
    except (KeyError, ValueError, OSError, xml.etree.ElementTree.ParseError) as e:
        return False, "%s: %s" % (type(e).__name__, e)


def main():
    p = argparse.ArgumentParser(description="the paper's claims of the figures that are drawn")
    p.add_argument("--lab", default="./resex-lab")
    args, results = p.parse_args(), []
    with tempfile.TemporaryDirectory(prefix="resex-figures-") as folder:
        lab = Lab(args.lab, folder)
        out, got = lab.draw("all")
        f = Figures(got["runs"])
        results += [(text, *judge(holds, f)) for text, holds in CLAIMS]
        results += [(text, *judge(test, lab, out, f)) for text, test in group.tests]
        results += [("planted: %s fails (%d)" % (holds.__name__, i), *judge(plant, f, holds, change))
                    for i, (holds, change) in enumerate(PLANTED)]
    for text, held, said in results:
        print("%s %s%s" % ("ok" if held else "FAIL", text, " (%s)" % said if said else ""))
    held = sum(r[1] for r in results)
    print("figures: %d passed, %d failed" % (held, len(results) - held))
    return 0 if held == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
