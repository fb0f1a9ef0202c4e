#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cache: what caching of dynamic pages gives and costs (figures 8 to 12 of the paper), as ratios in one run.

usage: cache.py BUILD-DIRECTORY [--seconds N] [--rounds N] [-j] [PART]...

Parts: figure8 (replies a second and response time by trace, no cache, Invalidate All, lists), origin (by what a page
costs), load (figure 12: the same beside busy back-ends), size (figure 10: by pages in the cache), hit (Varnish's CPU for a
verified hit, next to one that is not; over shm), tcp (how much longer a hit takes over tcp, next to a bare round trip),
busy (hits while the homes' CPUs are busy), update (what an update costs in the database, next to a plain one). Without a
part: all. Figure 11, by the dependencies of a page, is not there.

All run on this machine: clients, proxies, application servers and database share its CPUs. So what is compared is
measured in turns, and a ratio is of medians over the rounds. Data for plots: BUILD-DIRECTORY/bench-cache-*.dat.
"""
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/demo"))
from cacheworld import Failed, World, free_ports, http, until  # noqa: E402

READERS = 16
TICKS = os.sysconf("SC_CLK_TCK")


def option(name, default):
    return type(default)(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


SECONDS, ROUNDS = option("--seconds", 3), option("--rounds", 3)


def say(text):
    print("== " + text, file=sys.stderr, flush=True)


def cpu_of(pids):
    """User and system time, in s."""
    total = 0
    for pid in pids:
        with open("/proc/%d/stat" % pid) as f:
            words = f.read().rsplit(")", 1)[1].split()
        total += int(words[11]) + int(words[12])
    return total / TICKS


def children(pid):
    r = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True)
    return [int(p) for p in r.stdout.split()]


class Bench:
    def __init__(self, build):
        self.build, self.result, self.n = build, {}, 0
        self.top = tempfile.mkdtemp(prefix="resex-bench-")
        os.chmod(self.top, 0o755)

    def world(self, **more):
        self.n += 1
        w = World("%s/%d" % (self.top, self.n), self.build, cache={"fresh": "2s", "detect": "4s"}, **more)
        w.start()
        return w

    def load(self, w, hosts, trace=1, seconds=None, readers=READERS, updaters=2, *more):
        """One JSON object; a wrong reply ends the benchmark."""
        words = ["-r", str(readers), "-u", str(updaters), "-t", str(trace), "-T", str(seconds or SECONDS)]
        p = w.load(hosts, *words, *more)
        out, err = p.communicate()
        r = json.loads(out) if out else {}
        if not r or r["stale"] or r["backwards"] or r["future"]:
            raise Failed("resex-cacheload: %s %s" % (out[:400], err))
        r["mean_us"] = (r["latency"]["hit"]["mean_us"] * r["latency"]["hit"]["n"] +
                        r["latency"]["miss"]["mean_us"] * r["latency"]["miss"]["n"]) / max(1, r["replies"])
        return r

    def warm(self, w, hosts):
        self.load(w, hosts, 1, 2)

    def rounds(self, *runs):
        """runs: functions that measure one thing; in turns. The medians of what they return."""
        seen = [[] for _ in runs]
        for _ in range(ROUNDS):
            for s, run in zip(seen, runs):
                s.append(run())
        return [{k: statistics.median(r[k] for r in s) for k in s[0]} for s in seen]

    def table(self, name, heads, rows):
        with open("%s/bench-cache-%s.dat" % (self.build, name), "w") as f:
            f.write("# " + " ".join(heads) + "\n")
            for r in rows:
                f.write(" ".join("%g" % v if isinstance(v, (int, float)) else str(v) for v in r) + "\n")
        print("\n%s" % name)
        print("  ".join("%12s" % h for h in heads))
        for r in rows:
            print("  ".join("%12s" % ("%.4g" % v if isinstance(v, float) else v) for v in r))
        self.result[name] = [dict(zip(heads, r)) for r in rows]
        sys.stdout.flush()

    # --- figures of the paper

    def three(self, work_ms):
        """Worlds: lists, and Invalidate All. No cache is the first one's application servers, asked directly."""
        return self.world(work_ms=work_ms), self.world(work_ms=work_ms, lists=False)

    def measure(self, w, hosts, trace, *more):
        r = self.load(w, hosts, trace, None, READERS, 2, *more)
        return {"tps": r["tps"], "us": r["mean_us"], "hits": r["hits"] / max(1, r["replies"])}

    def figure8(self):
        lists, every = self.three(4)
        rows = []
        for trace in range(1, 6):
            say("trace %d" % trace)
            self.warm(lists, lists.proxies)
            self.warm(every, every.proxies)
            bare, l, e = self.rounds(lambda: self.measure(lists, lists.apps, trace),
                                     lambda: self.measure(lists, lists.proxies, trace),
                                     lambda: self.measure(every, every.proxies, trace))
            rows.append((trace, bare["tps"], e["tps"], l["tps"], e["tps"] / bare["tps"], l["tps"] / bare["tps"],
                         bare["us"] / l["us"], e["hits"], l["hits"]))
        self.table("figure8", ("trace", "none_tps", "all_tps", "lists_tps", "all/none", "lists/none", "none/lists_us",
                               "all_hits", "lists_hits"), rows)
        lists.close()
        every.close()

    def origin(self):
        rows = []
        for ms in (0.1, 0.5, 1, 2, 4, 10):
            say("a page costs %g ms" % ms)
            w = self.world(work_ms=ms)
            self.warm(w, w.proxies)
            bare, l = self.rounds(lambda: self.measure(w, w.apps, 2), lambda: self.measure(w, w.proxies, 2))
            rows.append((ms, bare["tps"], l["tps"], l["tps"] / bare["tps"], bare["us"] / l["us"]))
            w.close()
        self.table("origin", ("origin_ms", "none_tps", "lists_tps", "lists/none", "none/lists_us"), rows)

    def burn(self, n):
        return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]

    def figure12(self):
        w, rows = self.world(work_ms=4), []
        for n in (0, 2, 4, 8):
            say("%d busy processes beside the back-ends" % n)
            self.warm(w, w.proxies)
            made = self.burn(n)
            try:
                bare, l = self.rounds(lambda: self.measure(w, w.apps, 5), lambda: self.measure(w, w.proxies, 5))
            finally:
                for p in made:
                    p.kill()
                    p.wait()
            rows.append((n, bare["tps"], l["tps"], l["tps"] / bare["tps"]))
        self.table("load", ("busy", "none_tps", "lists_tps", "lists/none"), rows)
        w.close()

    def size(self):
        w, rows = self.world(work_ms=4), []
        for pages in (50, 200, 800, 1251):
            say("at most %d pages" % pages)
            l, = self.rounds(lambda: self.measure(w, w.proxies, 6, "-P", str(pages)))
            rows.append((pages, l["tps"], l["hits"]))
        self.table("size", ("pages", "lists_tps", "hits"), rows)
        w.close()

    # --- what it costs

    def plain_varnish(self, w):
        """A Varnish that serves from its cache without asking for versions."""
        h = w.proxies[0]
        port, = free_ports(1)
        d = h.dir + "/plain"
        os.makedirs(d)
        with open(d + "/plain.vcl", "w") as f:
            f.write('vcl 4.1; backend b { .host = "127.0.0.1"; .port = "%d"; }\n' % w.apps[0].port +
                    "sub vcl_recv { return (hash); } sub vcl_backend_response { set beresp.ttl = 1h; set beresp.grace = 0s;"
                    " unset beresp.http.Cache-Control; }"
                    'sub vcl_deliver { set resp.http.X-Cache = "miss"; if (obj.hits > 0) { set resp.http.X-Cache = "hit"; } }\n')
        p = subprocess.Popen(["varnishd", "-F", "-j", "none", "-n", d + "/n", "-a", "127.0.0.1:%d" % port, "-f",
                              d + "/plain.vcl", "-s", "default=malloc,64m", "-p", "thread_pools=2", "-p",
                              "thread_pool_min=20"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        fake = type("Front", (), {"address": "127.0.0.1", "port": port})()
        until(lambda: self.alive(port), "the plain Varnish")
        return p, fake

    @staticmethod
    def alive(port):
        try:
            return http(("127.0.0.1", port), "GET", "/", timeout=5)[0] == 200
        except (OSError, Failed):
            return False

    def hit(self):
        w = self.world(work_ms=0)
        p, front = self.plain_varnish(w)
        both = {"verified": (w.proxies[0].server.pid, w.proxies), "plain": (p.pid, [front])}

        def run(name):
            pid, hosts = both[name]
            pids = children(pid)
            begun = cpu_of(pids)
            r = self.load(w, hosts, 1, None, 4, 1, "-U", "0")
            return {"cpu_us": 1e6 * (cpu_of(pids) - begun) / max(1, r["replies"]), "p50_us": r["latency"]["hit"]["p50_us"]}
        for name in both:
            self.warm(w, both[name][1])
        v, q = self.rounds(lambda: run("verified"), lambda: run("plain"))
        self.table("hit", ("", "cpu_us", "p50_us"), [("plain", q["cpu_us"], q["p50_us"]), ("verified", v["cpu_us"], v["p50_us"]),
                                                     ("ratio", v["cpu_us"] / q["cpu_us"], v["p50_us"] / q["p50_us"])])
        p.send_signal(signal.SIGTERM)
        p.wait()
        w.close()

    @staticmethod
    def round_trip():
        """The median of a bare TCP round trip of 64 bytes between two threads, in us."""
        s = socket.create_server(("127.0.0.1", 0))

        def echo():
            c, _ = s.accept()
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                b = c.recv(64)
                if not b:
                    return
                c.sendall(b)
        threading.Thread(target=echo, daemon=True).start()
        c = socket.create_connection(s.getsockname())
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seen = []
        for _ in range(5000):
            at = time.perf_counter()
            c.sendall(b"x" * 64)
            c.recv(64)
            seen.append(time.perf_counter() - at)
        c.close()
        s.close()
        return {"us": 1e6 * statistics.median(seen)}

    def tcp(self):
        worlds = {t: self.world(transport=t) for t in ("shm", "tcp")}

        def run(t):
            r = self.load(worlds[t], worlds[t].proxies, 1, None, 1, 1, "-U", "0")
            return {"us": r["latency"]["hit"]["p50_us"]}
        for w in worlds.values():
            self.warm(w, w.proxies)
        shm, tcp, bare = self.rounds(lambda: run("shm"), lambda: run("tcp"), self.round_trip)
        self.table("tcp", ("", "p50_us"), [("shm", shm["us"]), ("tcp", tcp["us"]), ("round_trip", bare["us"]),
                                           ("round_trips_more", (tcp["us"] - shm["us"]) / bare["us"])])
        for w in worlds.values():
            w.close()

    def busy(self):
        """The homes' resex-cached and applications share one CPU with busy loops; the proxy has the other."""
        rows = []
        for t in ("shm", "tcp"):
            w = self.world(transport=t)
            homes = [p.pid for a in w.apps for p in (a.cached, a.server)]
            for pid in homes:
                os.sched_setaffinity(pid, {0})
            self.warm(w, w.proxies)
            made = []

            def measure():
                r = self.load(w, w.proxies, 1, None, 4, 1, "-U", "0")
                return {"tps": r["tps"]}

            def beside():
                made.extend(self.burn(8))
                for p in made:
                    os.sched_setaffinity(p.pid, {0})
                    os.setpriority(os.PRIO_PROCESS, p.pid, 0)
                try:
                    return measure()
                finally:
                    while made:
                        p = made.pop()
                        p.kill()
                        p.wait()
            for pid in [os.getpid(), w.proxies[0].cached.pid, w.proxies[0].server.pid] + children(w.proxies[0].server.pid):
                for task in os.listdir("/proc/%d/task" % pid):
                    os.sched_setaffinity(int(task), {1})
            idle, full = self.rounds(measure, beside)
            rows.append((t, idle["tps"], full["tps"], full["tps"] / idle["tps"]))
            os.sched_setaffinity(0, {0, 1})
            w.close()
        self.table("busy", ("", "idle_tps", "busy_tps", "ratio"), rows)

    def update(self):
        """CPU time of PostgreSQL's processes for an update through the cache, next to a plain transaction."""
        w, bare = self.world(), self.world(cached=False, proxies=0)

        def run(x):
            pids = self.postgres(x)
            begun = cpu_of(pids)
            r = self.load(x, x.apps, 5, None, 1, 4, "-U", "999")
            return {"cpu_us": 1e6 * (cpu_of(self.postgres(x)) - begun) / max(1, r["updates"]), "updates_s": r["updates_s"]}
        run(w), run(bare)
        through, plain = self.rounds(lambda: run(w), lambda: run(bare))
        self.table("update", ("", "cpu_us", "updates_s"),
                   [("plain", plain["cpu_us"], plain["updates_s"]), ("cached", through["cpu_us"], through["updates_s"]),
                    ("ratio", through["cpu_us"] / plain["cpu_us"], through["updates_s"] / plain["updates_s"])])
        w.close()
        bare.close()

    @staticmethod
    def postgres(w):
        with open(w.top + "/pg/data/postmaster.pid") as f:
            pid = int(f.readline())
        return [pid] + children(pid)


PARTS = {"figure8": Bench.figure8, "origin": Bench.origin, "load": Bench.figure12, "size": Bench.size, "hit": Bench.hit,
         "tcp": Bench.tcp, "busy": Bench.busy, "update": Bench.update}


def main():
    values = {i + 1 for i, w in enumerate(sys.argv) if w in ("--seconds", "--rounds")}
    words = [w for i, w in enumerate(sys.argv) if i > 1 and i not in values and not w.startswith("-")]
    unknown = [w for w in words if w not in PARTS]
    if len(sys.argv) < 2 or unknown:
        sys.exit(__doc__ if not unknown else "cache: there is no part %s: %s" % (unknown[0], ", ".join(PARTS)))
    b = Bench(sys.argv[1])
    try:
        for name in words or PARTS:
            PARTS[name](b)
        if "-j" in sys.argv:
            print(json.dumps(b.result))
    except Failed as e:
        sys.exit("bench cache: %s" % e)
    finally:
        shutil.rmtree(b.top, ignore_errors=True)


main()
