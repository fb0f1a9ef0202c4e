#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""demo: resexd on its embedded SIMULATED host: the paper's pair of guests under each policy.

usage: demo.py BUILD-DIRECTORY [-j | --test | --wide]

A latency-sensitive guest ("server", 64 KiB answers) shares one simulated link with a bulk sender
("bulk", 2 MiB messages). The table is of runs of 30 simulated seconds each; the last part is of a
daemon on the real clock, read with resex -j. All figures are those that the daemon shows.
The screen has 78 x 24 characters; --wide: latencies over time and more neighbours, 107 columns.
-j prints all figures as one JSON object; --test checks that each policy did what it is for.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

sys.dont_write_bytecode = True  # the sources may be read-only
import draw  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIOS = os.path.join(HERE, "..", "scenarios")
STEP = "500ms"
SETTLED_S = 3
LIVE_S = (2, 5)  # without a policy, and under ioshares
LIVE_STEP_S = 0.2
WIDTH, HEIGHT = 78, 24

# (key, text in the table, scenario file, policy)
RUNS = (
    ("base", "server alone", "alone", "null"),
    ("interfered", "no policy", "paper", "null"),
    ("freemarket", "FreeMarket", "paper", "freemarket"),
    ("ioshares", "IOShares", "paper", "ioshares"),
    ("crowd_interfered", "no policy, six bulk", "crowd", "null"),
    ("crowd", "IOShares, six bulk", "crowd", "ioshares"),
    ("equal_neighbour", "IOShares, equal neighbour", "neighbours", "ioshares"),
    ("slow_neighbour", "IOShares, slow neighbour", "slow", "ioshares"),
)


def scenario(directory, name, **members):
    """Write a shipped scenario with changed members to a new file; its path."""
    with open("%s/%s.json" % (SCENARIOS, name), encoding="utf-8") as f:
        doc = json.load(f)
    doc.update(members)
    path = "%s/%s-%s.json" % (directory, name, doc["policy"])
    with open(path, "w", encoding="utf-8") as f:
        json.dump(doc, f)
    return path


def simulate(build, directory, name, policy):
    path = scenario(directory, name, policy=policy, series=STEP)
    r = subprocess.run([build + "/resexd", "--hv", "sim", "--scenario", path],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if r.returncode:
        sys.exit("demo: " + r.stderr.strip())
    return json.loads(r.stdout)


def guest(summary, name):
    """The guest with this name, or None."""
    return next((g for g in summary["guests"] if g["name"] == name), None)


def neighbours(summary):
    return [g for g in summary["guests"] if g["name"] != "server"]


def figures(summary):
    """The figures of one run for the table; those of several neighbours as of one."""
    server, others = guest(summary, "server"), neighbours(summary)
    out = {"mean_us": server["latency"]["mean_us"], "p99_us": server["latency"]["p99_us"],
           "deviation_us": server["latency"]["deviation_us"], "neighbour": None}
    if others:
        caps = [g["cap"]["lowest"] for g in others if g["cap"]["lowest"] is not None]
        out["neighbour"] = {
            "name": others[0]["name"] if len(others) == 1 else "%d bulk" % len(others),
            "mtus_s": sum(g["mtus_sent"] for g in others) / summary["duration_s"],
            "cpu_percent": sum(g["cpu_ns"] for g in others) / summary["duration_s"] / 1e7,
            "lowest_cap": min(caps, default=None), "cap_changes": sum(g["cap"]["changes"] for g in others)}
    return out


def latencies(summary):
    return guest(summary, "server")["series"]["latency_us"]


def kept(runs, key):
    """The neighbour's traffic as a part of what it sends without a policy; None: it ran with none."""
    without = {"freemarket": "interfered", "ioshares": "interfered", "crowd": "crowd_interfered"}.get(key)
    if not without:
        return None
    return figures(runs[key])["neighbour"]["mtus_s"] / figures(runs[without])["neighbour"]["mtus_s"]


def beside(runs, key):
    n, part = figures(runs[key])["neighbour"], kept(runs, key)
    if not n:
        return "-"
    return "%-7s %8.0f %5s %5.0f%% %8s" % (
        n["name"], n["mtus_s"], "-" if part is None else "%.0f%%" % (100 * part), n["cpu_percent"],
        "none" if n["lowest_cap"] is None else "%d%%" % n["lowest_cap"])


def table(runs):
    print("\n%-26s %8s %9s %7s %7s  %-7s %8s %5s %6s %8s" % (
        "30 simulated seconds", "mean us", "over base", "dev us", "p99 us", "beside", "MTU/s", "kept", "CPU", "low cap"))
    base = figures(runs["base"])["mean_us"]
    for key, text, _, _ in RUNS:
        f = figures(runs[key])
        print("%-26s %8.1f %8.1f%% %7.1f %7.1f  %s" % (
            text, f["mean_us"], 100 * (f["mean_us"] / base - 1), f["deviation_us"], f["p99_us"], beside(runs, key)))
    print("\nNo cap recalls a message that is posted: while one of 2 MiB is on the link, the server's requests\n"
          "take as long as without a policy. Caps make that rarer. So means fall, and p99 (%.0f us, %.0f without a\n"
          "policy) does not; the deviation rises. The price is bulk's: it keeps %.0f %% of its traffic." % (
              figures(runs["ioshares"])["p99_us"], figures(runs["interfered"])["p99_us"], 100 * kept(runs, "ioshares")))


def chart(runs):
    """Draw the server's latency over time, a column for each policy."""
    base, top = figures(runs["base"])["mean_us"], figures(runs["interfered"])["mean_us"]
    keys = ("interfered", "freemarket", "ioshares")
    names = {key: text for key, text, _, _ in RUNS}
    print("\nserver's latency from %.0f us (base) to %.0f us (no policy), and bulk's cap" % (base, top))
    series = []
    for key in keys:
        caps = neighbours(runs[key])[0]["series"]["cap"]
        series.append([(us, cap if cap and cap < 100 else None)
                       for us, cap in zip(latencies(runs[key])[:24], caps)])
    draw.columns([names[k] for k in keys], series, base, top, runs["base"]["series_step_s"])


# --- the screen ------------------------------------------------------------------

def row(runs, key, text, chart=20):
    base, top = figures(runs["base"])["mean_us"], figures(runs["interfered"])["mean_us"]
    f = figures(runs[key])
    line = "%-12s %4.0f |%-*s| %4.0f %4.0f" % (text, f["mean_us"], chart, draw.bar(f["mean_us"], base, top, chart),
                                              f["p99_us"], f["deviation_us"])
    n, part = f["neighbour"], kept(runs, key)
    if not n:
        return line
    return line + "  %6.0f %4.0f %% %4.0f %% %5s" % (
        n["mtus_s"] / 1000, 100 if part is None else 100 * part, n["cpu_percent"],
        "none" if n["lowest_cap"] is None else "%d %%" % n["lowest_cap"])


def first_part(runs):
    """The lines before the live part."""
    names = {"base": "server alone", "interfered": "no policy", "freemarket": "FreeMarket", "ioshares": "IOShares"}
    swing = latencies(runs["freemarket"])[:24], latencies(runs["ioshares"])[:24]
    base, top = figures(runs["base"])["mean_us"], figures(runs["interfered"])["mean_us"]
    p99 = [figures(runs[k])["p99_us"] for k in ("interfered", "ioshares")]
    return ["SIMULATED host. A server and bulk (2 MiB messages) share a link. --wide: more.",
            "",
            "             server's latency, us                   what bulk has left",
            "             mean                         p99  dev   kMTU/s  part   CPU   cap",
            *(row(runs, key, text) for key, text in names.items()),
            "",
            "FreeMarket caps at the end of an epoch: mean by 0.5 s %s" % draw.sparkline(swing[0], base, top),
            "IOShares caps as long as the server waits longer      %s" % draw.sparkline(swing[1], base, top),
            "",
            "p99 stays (%.0f, %.0f us): no cap recalls a message that is posted. While one" % tuple(p99),
            "of 2 MiB is sent, the server waits as without a policy; caps make that rarer.",
            "IOShares needs a server that reports latencies: man resex-policies.",
            ""]


class Screen:
    """Prints what the live part shows: on a terminal one line that grows, else that line when it is whole."""
    def __init__(self, base, top, quiet):
        self.base, self.top, self.values = base, top, []
        self.live = not quiet and sys.stdout.isatty()
        self.lines = []

    def line(self):
        known = [v for v in self.values if v is not None]
        return "server %3s us %s" % ("%.0f" % known[-1] if known else "-",
                                     draw.sparkline(self.values, self.base, self.top))

    def add(self, us):
        self.values.append(us)
        if self.live:
            print("\r" + self.line(), end="", flush=True)

    def end(self):
        print(("\r" if self.live else "") + "\n".join([self.line(), *self.lines]))

    def say(self, text):
        self.lines += textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


# --- the daemon on the real clock ----------------------------------------------


class Daemon:
    """resexd with the paper's pair of guests, in real time."""

    def __init__(self, build, directory):
        socket = directory + "/sock"
        path = scenario(directory, "paper", clock="real", duration="60s")
        self.resex = [build + "/resex", "-s", socket]
        self.log = open(directory + "/log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [build + "/resexd", "--hv", "sim", "--scenario", path, "--socket", socket,
             "--summary", directory + "/summary"], stderr=self.log)

    def ask(self, *words):
        r = subprocess.run(self.resex + ["-j", *words], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
        if r.returncode:
            raise RuntimeError(r.stderr.strip())
        return json.loads(r.stdout)

    def ready(self):
        for _ in range(200):
            try:
                if len([g for g in self.ask("list")["guests"] if g.get("rings")]) == 2:
                    return
            except RuntimeError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.log.seek(0)
        sys.exit("demo: resexd did not start:\n" + self.log.read())

    def stop(self):
        self.process.terminate()
        rc = self.process.wait(10)
        self.log.close()
        return rc


def live(build, directory, base, top, quiet):
    """Without a policy, then under ioshares, in real time. (the screen, why bulk is capped, exit code of resexd)."""
    d = Daemon(build, directory)
    screen = Screen(base, top, quiet)
    try:
        d.ready()
        for policy, seconds in zip(("null", "ioshares"), LIVE_S):
            d.ask("policy-set", policy)
            for _ in range(round(seconds / LIVE_STEP_S)):
                time.sleep(LIVE_STEP_S)
                rows = {g["name"]: g for g in d.ask("list")["guests"]}
                screen.add(rows["server"]["latency_us"])
        why = d.ask("why", "bulk")["guests"][0]["text"]
    finally:
        rc = d.stop()
    screen.say("%d s without a policy, then resex policy-set ioshares; resex why bulk:" % LIVE_S[0])
    screen.say(why)
    return screen, why, rc


# --- the test -----------------------------------------------------------


def fits(lines):
    return len(lines) <= HEIGHT and max(map(len, lines)) <= WIDTH


def judge(runs, screen, why):
    """Print one line for each claim; the number of claims that fail."""
    mean = {key: figures(runs[key])["mean_us"] for key, _, _, _ in RUNS}
    skip = round(SETTLED_S / runs["ioshares"]["series_step_s"])
    worst = max(latencies(runs["ioshares"])[skip:])
    untouched = [figures(runs[k])["neighbour"]["cap_changes"] == 0
                 for k in ("interfered", "equal_neighbour", "slow_neighbour")]
    claims = (
        ("bulk slows the server by a quarter or more", mean["interfered"] >= 1.25 * mean["base"]),
        ("FreeMarket helps, IOShares helps more",
         mean["ioshares"] < mean["freemarket"] < mean["interfered"]),
        ("IOShares holds the server within 10 % of base from 3 s on", worst <= 1.1 * mean["base"]),
        ("six bulk guests slow it to more than twice its base, and IOShares holds it within 10 % of it",
         mean["crowd_interfered"] > 2 * mean["base"] and mean["crowd"] <= 1.1 * mean["base"]),
        ("null, an equal and a slow neighbour: nobody is capped", all(untouched)),
        ("an equal neighbour interferes by chance, so that blame is at stake",
         mean["equal_neighbour"] >= 1.05 * mean["base"]),
        ("a slow neighbour leaves the server within 2 % of base",
         mean["slow_neighbour"] <= 1.02 * mean["base"]),
        ("in real time bulk is capped because of the server", "guest server" in why),
        ("all fits %d x %d characters" % (WIDTH, HEIGHT), fits(first_part(runs) + [screen.line()] + screen.lines)),
    )
    for text, holds in claims:
        print("%s %s" % ("pass" if holds else "FAIL", text))
    failed = sum(not holds for _, holds in claims)
    print("demo: %d passed, %d failed" % (len(claims) - failed, failed))
    return failed


def as_json(runs, why):
    out = {"simulated": True}
    for key, _, _, _ in RUNS:
        out[key + "_us"] = figures(runs[key])["mean_us"]
    out["runs"] = {key: figures(runs[key]) for key, _, _, _ in RUNS}
    out["why_bulk"] = why
    print(json.dumps(out))


def run(build, mode):
    directory = tempfile.mkdtemp(prefix="resex-demo-")
    try:
        runs = {key: simulate(build, directory, name, policy) for key, _, name, policy in RUNS}
        if mode == "--wide":
            print("This host is SIMULATED. Real Xen and real RDMA verbs: ./dev demo --real")
            chart(runs)
            table(runs)
            return 0
        if not mode:
            print("\n".join(first_part(runs)))
        screen, why, rc = live(build, directory, figures(runs["base"])["mean_us"],
                               figures(runs["interfered"])["mean_us"], bool(mode))
        if mode == "-j":
            as_json(runs, why)
        elif mode == "--test":
            return 1 if judge(runs, screen, why) else rc
        else:
            screen.end()
        return rc
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    words = sys.argv[1:]
    if not 1 <= len(words) <= 2 or words[1:] not in ([], ["-j"], ["--test"], ["--wide"]):
        sys.exit("usage: demo.py BUILD-DIRECTORY [-j | --test | --wide]")
    try:
        sys.exit(run(words[0], words[1] if len(words) == 2 else ""))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of stdout is gone
        sys.exit(141)


main()
