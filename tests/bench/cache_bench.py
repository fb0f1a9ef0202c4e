# SPDX-License-Identifier: GPL-2.0-or-later
"""cache_bench: what the parts of cache.py share: installations whose hosts have CPUs of their own, runs of clients, CPU
time by tier, tables, goals and plots."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../etc/demo"))
from cacheworld import Failed, World, http, until  # noqa: E402

READERS = 16  # as in the paper: 14,000 replies a second of 1.2 ms
TICKS = os.sysconf("SC_CLK_TCK")
# What a run of clients and the start of an installation take besides, in s: for the time that is told at the begin.
RUN_S, WORLD_S, RESTART_S = 0.7, 7, 2
# Replies until as many pages are dropped as fetched: three for each of the pages. Under load it may take long.
SETTLE_REPLIES, SETTLE_S = 4000, 6
CPUS = sorted(os.sched_getaffinity(0))
# The proxy and the clients; the application servers and the database. With one CPU all share it.
FRONT, BACK = set(CPUS[(len(CPUS) + 1) // 2:]) or set(CPUS), set(CPUS[:(len(CPUS) + 1) // 2])


def say(text):
    print("== " + text, file=sys.stderr, flush=True)


def children(pid):
    r = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True)
    return [int(p) for p in r.stdout.split()]


def cpu_of(pids):
    """User and system time, in s, also of children that have ended."""
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/stat" % pid) as f:
                words = f.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        total += sum(int(w) for w in words[11:15])
    return total / TICKS


def place(pids, cpus):
    for pid in pids:
        try:
            for task in os.listdir("/proc/%d/task" % pid):
                os.sched_setaffinity(int(task), cpus)
        except (FileNotFoundError, ProcessLookupError):
            pass


class Figures(dict):
    """Medians, by name; each: what the rounds gave."""
    def __init__(self, each):
        super().__init__({k: statistics.median(r[k] for r in each) for k in each[0]})
        self.each = each


class BenchWorld(World):
    """A World whose tiers can be put on CPUs, and whose servers can be started with other options."""
    words = ()
    front = set(CPUS)

    def auction(self, h):
        return super().auction(h) + list(self.words)

    def postgres(self):
        with open(self.pg_dir + "/data/postmaster.pid") as f:
            pid = int(f.readline())
        return [pid] + children(pid)

    def tiers(self):
        front = []
        for h in self.proxies:
            front += [h.server.pid, h.cached.pid] + children(h.server.pid)
        return {"front": front, "app": [h.server.pid for h in self.apps],
                "homes": [h.cached.pid for h in self.apps if h.cached], "db": self.postgres()}

    def lay(self, apart):
        """Put the tiers on CPUs of their own; or let all use all."""
        self.front, back = (FRONT, BACK) if apart else (set(CPUS), set(CPUS))
        self.apart = apart
        for name, pids in self.tiers().items():
            place(pids, self.front if name == "front" else back)

    def fills(self):
        """Of all application servers, so far: fills that were begun, and those that were refused or failed, by why."""
        begun, refused = 0, {}
        for h in self.apps:
            f = json.loads(http(h.api, "GET", "/v1/cache")[2])["fills"]
            begun += f["begun"]
            for why, n in list(f["refused"].items()) + list(f["failed"].items()):
                refused[why] = refused.get(why, 0) + n
        return begun, refused

    def restart(self, hosts):
        for h in hosts:
            h.server.terminate()
            h.server.wait()
            h.start_server()
        self.lay(self.apart)
        if hosts is self.apps:
            for p in self.proxies:  # until its probes have found them again
                until(p.answers, "a proxy with its application servers")

    def set_origin(self, work_ms, *words):
        self.work_ms, self.words = work_ms, words
        self.restart(self.apps)

    def set_memory(self, memory):
        self.memory = memory
        self.restart(self.proxies)


WORLDS = {
    "lists": {"work_ms": 4},
    "all": {"work_ms": 4, "lists": False},
    "tcp": {"work_ms": 4, "transport": "tcp"},
    "uncached": {"cached": False, "proxies": 0},
}


class Bench:
    def __init__(self, build, seconds, rounds, seed, json_only):
        self.build, self.seconds, self.rounds_n, self.seed = build, seconds, rounds, seed
        self.out = sys.stderr if json_only else sys.stdout
        self.result, self.goals, self.worlds, self.round = {}, [], {}, 0
        self.top = tempfile.mkdtemp(prefix="resex-bench-")
        os.chmod(self.top, 0o755)

    # --- installations

    def world(self, name):
        if name not in self.worlds:
            say("starting the installation \"%s\"" % name)
            w = BenchWorld("%s/%s" % (self.top, name), self.build, cache={"fresh": "2s", "detect": "4s"}, **WORLDS[name])
            self.worlds[name] = w
            w.start()
            w.lay(True)
            if w.proxies:
                self.warm(w)
        return self.worlds[name]

    def close(self, keep=()):
        for name in [n for n in self.worlds if n not in keep]:
            self.worlds.pop(name).close()
        if not keep:
            shutil.rmtree(self.top, ignore_errors=True)

    # --- runs

    def load(self, w, hosts, trace=1, readers=READERS, updaters=4, more=(), seconds=None):
        """The object of one run of clients, and CPU times by tier. A reply that is not right ends the benchmark."""
        words = ["-r", readers, "-u", updaters, "-t", trace, "-S", self.seed + self.round] + list(more)
        if "-n" not in words:
            words += ["-T", seconds or self.seconds]
        tiers = w.tiers()
        for _ in range(3):
            before = {k: cpu_of(v) for k, v in tiers.items()}
            p = w.load(hosts, *map(str, words), preexec_fn=lambda: os.sched_setaffinity(0, w.front))
            out, err = p.communicate()
            r = json.loads(out) if out else {"replies": 0}
            if r["replies"]:
                break
            say("no reply; again: " + err)  # of a machine that had no time for it
        if not r["replies"] or sum(r[k] for k in ("stale", "backwards", "future", "undone", "torn", "wrong")):
            raise Failed("resex-cacheload: %s %s" % (out[:600], err))
        if r["errors"]:
            say("%d errors of %d replies: %s" % (r["errors"], r["replies"], r["error"]))
        n = r["replies"]
        hit, miss = r["latency"]["hit"], r["latency"]["miss"]
        r["us"] = (hit["mean_us"] * hit["n"] + miss["mean_us"] * miss["n"]) / n
        r["miss_us"] = miss["mean_us"]
        r["hits"] /= n
        r["share"] = 1000 * r["updates"] / (n + r["updates"])
        r["cpu"] = {k: 1e6 * (cpu_of(v) - before[k]) / n for k, v in tiers.items()}
        r["cpu"]["clients"] = 1e6 * r["cpu_seconds"] / n
        return r

    def warm(self, w, replies=12000, trace=1):
        """Until nearly all pages are stored, or those that trace 6 asks for most."""
        self.load(w, w.proxies, trace, 16, more=("-U", 0, "-n", replies))

    def settle(self, w, trace, readers, more=()):
        """The steady state: all pages are stored, then the updates of this run have dropped as many as are fetched."""
        self.warm(w, 6000, 6 if trace == 6 else 1)  # what the run before has dropped and made
        if trace > 1 or "-R" in more:
            self.load(w, w.proxies, trace, readers, 4, tuple(more) + ("-n", SETTLE_REPLIES, "-T", SETTLE_S))

    def measure(self, w, hosts, trace=1, readers=READERS, more=(), seconds=None, settle=True):
        if settle and hosts is w.proxies and w.lists:
            self.settle(w, trace, readers, more)
        r = self.load(w, hosts, trace, readers, 4, more, seconds)
        back = r["cpu"]["app"] + r["cpu"]["homes"] + r["cpu"]["db"]
        return {"tps": r["tps"], "replies": r["replies"], "us": r["us"], "miss_us": r["miss_us"], "hits": r["hits"],
                "share": r["share"], "updates_s": r["updates_s"],
                "drops": (1 - r["hits"]) * r["replies"] / max(1, r["updates"]), "clients_us": r["cpu"]["clients"],
                "front_us": r["cpu"]["front"], "back_us": back, "served_us": r["cpu"]["front"] + back}

    def needed(self, w, trace, more=()):
        """What the updates of a trace drop: misses of 1000 replies; those of them whose page shows nothing new since the
        reply before it; of 1000 pages, those that an update changes and that are asked for again; and fills of 1000
        replies that were refused, by why."""
        self.settle(w, trace, READERS, more)
        path = self.top + "/needed.log"
        _, before = w.fills()
        r = self.load(w, w.proxies, trace, READERS, 4, ("-l", path) + tuple(more))
        _, refused = w.fills()
        shown, misses, same = {}, 0, 0
        with open(path) as f:
            for line in f:
                if not line.startswith('{"e":"reply"'):
                    continue
                reply = json.loads(line)
                page, states = reply["asked"], reply["states"]
                if not reply["hit"]:
                    misses += 1
                    same += shown.get(page) == states
                shown[page] = states
        os.unlink(path)
        return {"misses": 1000 * misses / r["replies"], "same": 1000 * same / r["replies"],
                "dropped": 1000 * (misses - same) / max(1, r["updates"]) / r["pages"],
                "refused": {k: 1000 * (n - before.get(k, 0)) / r["replies"] for k, n in refused.items() if n > before.get(k, 0)}}

    def rounds(self, *runs, times=None):
        """runs: functions that measure one thing; in turns. For each, Figures of what it returned."""
        seen = [[] for _ in runs]
        for self.round in range(times or self.rounds_n):
            for s, run in zip(seen, runs):
                s.append(run())
        return [Figures(s) for s in seen]

    # --- what is printed

    def show(self, text=""):
        print(text, file=self.out, flush=True)

    def table(self, name, title, rows, columns=None):
        """rows: dicts. columns: which are printed; all of them are in the data and in the object."""
        heads = list(rows[0])
        with open("%s/bench-cache-%s.dat" % (self.build, name), "w") as f:
            f.write("# " + " ".join(heads) + "\n")
            for r in rows:
                f.write(" ".join("%g" % v if isinstance(v, (int, float)) else str(v) for v in r.values()) + "\n")
        self.show("\n%s: %s" % (name, title))
        columns = columns or heads
        self.show(" ".join("%12s" % h for h in columns))
        for r in rows:
            self.show(" ".join("%12s" % ("%.4g" % r[h] if isinstance(r[h], float) else r[h]) for h in columns))
        self.result[name] = rows

    def goal(self, what, value, least=None, most=None, each=None):
        """A figure that has a goal. None is judged for the exit status. each: the same of each round."""
        met = value >= least if least is not None else value <= most
        bound = ">= %g" % least if least is not None else "<= %g" % most
        self.goals.append({"what": what, "value": value, "goal": bound, "met": met, "rounds": each or [value]})
        spread = "%.3g..%.3g" % (min(each), max(each)) if each else ""
        self.show("  %-66s %8.3g %-12s goal %-8s %s" % (what, value, spread, bound, "met" if met else "missed"))

    def ratio(self, what, over, under, least=None, most=None, key="tps"):
        """A goal: one Figures over another, with the spread of the rounds."""
        self.goal(what, over[key] / under[key], least, most,
                  [a[key] / max(b[key], 1e-9) for a, b in zip(over.each, under.each)])

    def note(self, text):
        self.show("  " + text)

    def plot(self, name, what=None):
        script, what = HERE + "/cache.gp", what or name
        svg = "%s/bench-cache-%s.svg" % (self.build, what)
        words = ["gnuplot", "-e", 'what="%s"; data="%s/bench-cache-%s.dat"; out="%s"' % (what, self.build, name, svg), script]
        if not shutil.which("gnuplot"):
            shutil.copy(script, self.build + "/bench-cache.gp")
            say("no plot: gnuplot was not found. The data: %s/bench-cache-%s.dat; the script: %s/bench-cache.gp" % (
                self.build, name, self.build))
        elif subprocess.run(words).returncode == 0:
            say("the plot: " + svg)
