# SPDX-License-Identifier: GPL-2.0-or-later
"""host: scenarios as Python objects, and resexd run on them.

A scenario that was run already is not run again: claims share their runs. Every summary that
comes back is remembered with its scenario, for the claims about all of them (see bounds.py).
"""
import concurrent.futures
import copy
import json
import os
import subprocess
import tempfile
import threading

TOP = os.path.abspath(os.environ.get("srcdir") or
                      os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
EXAMPLES = os.path.join(TOP, "etc", "scenarios")
TIMEOUT_S = 300

# The paper's: its link, its 64 KB server, and how long that takes when alone.
LINK = {"name": "ib0", "rate": "1GiB/s", "mtu": 1024, "profile": "paper-2011"}
SLA = {"tolerance": 50, "base": "209us", "base_io": "62036ns", "base_deviation": "0ns"}


class Broken(Exception):
    """A claim that does not hold."""


def need(holds, text, *figures):
    if not holds:
        raise Broken(text % figures if figures else text)


# --- scenarios ------------------------------------------------------------------------------

def server(name="server", sla=SLA, guest=None, **app):
    out = {"name": name, "apps": [{"kind": "server", "size": "64KiB", **app}], **(guest or {})}
    if sla:
        out["sla"] = sla
    return out


def sender(name="bulk", guest=None, **app):
    return {"name": name, "apps": [{"kind": "sender", "size": "2MiB", **app}], **(guest or {})}


def scenario(guests, policy="ioshares", duration="30s", series="100ms", **more):
    out = {"duration": duration, "policy": policy, "links": [LINK], "guests": guests, **more}
    if series:
        out["series"] = series
    return out


def examples():
    """Names of the files in etc/scenarios, without .json."""
    return sorted(f[:-5] for f in os.listdir(EXAMPLES) if f.endswith(".json"))


def example(name, **changes):
    with open(os.path.join(EXAMPLES, name + ".json"), encoding="utf-8") as f:
        return {**json.load(f), **changes}


def policy_of(sc):
    p = sc.get("policy", "freemarket")
    return p if isinstance(p, str) else p["policy"]


# --- runs -----------------------------------------------------------------------------------

class Guest:
    """A guest of a summary, with what claims ask for most."""

    def __init__(self, summary, raw):
        self.raw, self.step_s = raw, summary.get("series_step_s")
        self.name, self.cap, self.rate = raw["name"], raw["cap"], raw["rate"]
        self.mtus = raw["mtus_sent"] + raw["mtus_recv"]
        self.series = raw.get("series")

    @property
    def mean(self):
        """As its applications reported to the daemon, us."""
        return self.raw["latency"]["mean_us"]

    @property
    def true_mean(self):
        return self.raw["true"]["apps"][0]["latency"]["mean_us"]

    def latencies(self, begin_s=0, end_s=None):
        """True means of each piece of time in this part of the run, us."""
        got = self.series["true_latency_us"][self.at(begin_s):None if end_s is None
                                             else self.at(end_s)]
        return [x for x in got if x is not None]

    def caps(self, begin_s=0):
        """At the end of each piece of time; no cap is None."""
        return self.series["cap"][self.at(begin_s):]

    def at(self, t_s):
        return round(t_s / self.step_s)


class Run:
    def __init__(self, sc, text):
        self.scenario, self.text, self.summary = sc, text, json.loads(text)
        self.guests = {g["name"]: Guest(self.summary, g) for g in self.summary["guests"]}

    def __getitem__(self, name):
        return self.guests[name]


class Host:
    def __init__(self, resexd, resex, deep=False):
        self.resexd, self.resex = os.path.abspath(resexd), os.path.abspath(resex)
        self.dir = tempfile.TemporaryDirectory(prefix="resex-sim-")
        self.lock, self.cache, self.files = threading.Lock(), {}, 0
        with open(self.resexd, "rb") as f:
            program = f.read()
        # with a sanitizer all takes many times as long, with that of threads fifty times
        self.tsan = b"__tsan_init" in program
        self.slow = self.tsan or b"__asan_init" in program
        self.deep = deep and not self.slow

    def close(self):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def write(self, sc):
        """A scenario, or its text, in a file of its own."""
        with self.lock:
            self.files += 1
            path = self.path("%d.json" % self.files)
        with open(path, "wb") as f:
            f.write(sc if isinstance(sc, bytes) else json.dumps(sc, indent=1).encode())
        return path

    def start(self, path, *args):
        """resexd as it ended: returncode, stdout, stderr in bytes."""
        return subprocess.run([self.resexd, "--hv", "sim", "--scenario", path, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S,
                              env={**os.environ, "TMPDIR": self.dir.name}, check=False)

    def summary(self, path, *args):
        """Its bytes; every run must succeed and be silent."""
        done = self.start(path, *args)
        need(done.returncode == 0 and not done.stderr, "%s %s ended with %d: %s",
             path, " ".join(args), done.returncode, done.stderr.decode(errors="replace")[-400:])
        return done.stdout

    def run(self, sc, *args):
        key = json.dumps([sc, args], sort_keys=True)
        with self.lock:
            future = self.cache.get(key)
            mine = future is None
            if mine:
                future = self.cache[key] = concurrent.futures.Future()
        if mine:
            try:
                sc = copy.deepcopy(sc)
                future.set_result(Run(sc, self.summary(self.write(sc), *args)))
            except BaseException as e:  # whoever waits must hear of it
                future.set_exception(e)
        return future.result()

    def runs(self):
        """All that have ended well."""
        with self.lock:
            done = [f for f in self.cache.values() if f.done() and not f.exception()]
        return [f.result() for f in done]
