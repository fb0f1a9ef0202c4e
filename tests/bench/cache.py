#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cache: what caching of dynamic pages gives and costs (figures 8 to 12 of the paper), as ratios in one run.

usage: cache.py BUILD-DIRECTORY [--seconds N] [--rounds N] [--seed N] [-j] [PART]...

figure8   replies a second, response time and misses (figures 8 and 9) by trace: no cache, Invalidate All, lists
rate      the same by updates a second, as many for all three
clients   trace 1 by clients; a page that waits for 4 ms, or computes; hosts apart, or all on all CPUs
origin    by what a page costs without a cache: where caching stops to pay
load      figure 12: busy processes beside the back-ends; by trace and by updates a second where most are busy
size      figure 10: Zipf, by the size of the cache
depends   figure 11: by the things on which a page depends
hit       Varnish's CPU for a verified hit, next to one that is not
tcp       how much longer a hit takes over tcp, next to bare round trips
busy      hits while the homes' CPUs are busy
update    what an update costs in the database, next to a plain one

Without a part: all. Standard output has the tables, each with its goals; with -j, one object. Progress is on standard
error. Data for plots, and the plots: BUILD-DIRECTORY/bench-cache-*.

The CPUs of this machine are halved: application servers and the database have one half, the proxy and the clients the
other, but in the rows "shared" of clients. What is compared is measured in turns; a figure is the median of the rounds,
and a goal has the lowest and the highest of the rounds beside it. Before a run with lists, the same requests are made until
as many pages are dropped as are fetched.
CPU times are of a reply, in us: clients; front (Varnish and resex-cached of the proxy); back (applications, homes and
the database); served: front and back.
"""
import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cache_bench import BACK, CPUS, FRONT, RESTART_S, RUN_S, SETTLE_S, WORLD_S, Bench, Failed, children, cpu_of, place, say  # noqa: E402
from cacheworld import free_ports, http, until  # noqa: E402

TRACES, RATES = range(1, 6), (2, 10, 40, 100)
COSTS = (0.1, 0.5, 1, 4, 10)
BUSY, LOADED_RATES = (0, 2, 4, 8), (2, 10, 40)
LOADED = 21.9  # the goal of figure 12
SLOW_S = 6  # busy back-ends give few replies: so long a run, at least
SIZES_KIB = (1024, 2048, 4096, 65536)  # Varnish takes no less
DEPENDS = (1, 4, 16, 64)
KEEP = ("-k",)
SCHEMES = ("none_tps", "all_tps", "lists_tps", "all/none", "lists/none", "all_hits", "lists_hits")


# --- figures of the paper

def schemes(b, first, rows, title, name, more):
    """No cache, Invalidate All and lists, in turns over all rows. The table, and Figures of the three for each row."""
    lists, every = b.world("lists"), b.world("all")
    runs = []
    for row in rows:
        trace, words = more(row)
        for w, hosts in ((lists, lists.apps), (every, every.proxies), (lists, lists.proxies)):
            def run(w=w, hosts=hosts, trace=trace, words=words, row=row):
                if row == rows[0] and w is every:
                    b.warm(w)
                return b.measure(w, hosts, trace, more=words)
            runs.append(run)
    say("%d runs a round" % len(runs))
    seen = b.rounds(*runs)
    table = []
    for i, row in enumerate(rows):
        n, e, l = seen[3 * i:3 * i + 3]
        r = {first: row, "none_tps": n["tps"], "all_tps": e["tps"], "lists_tps": l["tps"], "all/none": e["tps"] / n["tps"],
             "lists/none": l["tps"] / n["tps"], "all_hits": e["hits"], "lists_hits": l["hits"], "none_us": n["us"],
             "all_us": e["us"], "lists_us": l["us"], "updates/1000": l["share"], "lists_updates_s": l["updates_s"],
             "drops/update": l["drops"]}
        r.update({k + "_" + t + "_us": v[t + "_us"] for k, v in (("none", n), ("all", e), ("lists", l))
                  for t in ("clients", "front", "back")})
        table.append(r)
    b.table(name, title, table, [first] + list(SCHEMES) + ["none_us", "lists_us", "updates/1000", "drops/update"])
    return table, [seen[3 * i:3 * i + 3] for i in range(len(rows))]


def say_needed(b, what, need):
    b.note("%s: an update drops %.1f of 1000 pages, as far as they are asked for again" % (what, need["dropped"]))
    b.note("%s: misses of 1000 replies: %.1f, and %.1f of pages that show nothing new" % (
        what, need["misses"] - need["same"], need["same"]))
    b.note("%s: fills refused, of 1000 replies: %s" % (
        what, ", ".join("%s %.2f" % kv for kv in sorted(need["refused"].items())) or "none"))


def permitted(b, what, t, need):
    """What lists could give in trace 5 at most: each page that an update drops costs the back-ends what it costs without a
    cache, an update what it costs when there is nothing else, and the rest nothing; the proxy's CPUs as measured."""
    w = b.world("lists")
    r = b.load(w, w.apps, 5, 1, 4, ("-U", "999"))
    an_update = sum(r["cpu"][k] for k in ("app", "homes", "db")) * r["replies"] / max(1, r["updates"])
    page, share = t[0]["none_back_us"], t[4]["updates/1000"] / (1000 - t[4]["updates/1000"])
    us = page * (need["misses"] - need["same"]) / 1000 + an_update * share
    most = min(1e6 * len(BACK) / max(us, 1e-9), 1e6 * len(FRONT) / (t[4]["lists_front_us"] + t[4]["lists_clients_us"]))
    b.note("%s: these pages (%.0f us) and the updates (%.0f us) take %.0f us of the back-ends' CPU a reply" % (
        what, page, an_update, us))
    b.note("%s: so the trace permits %.0f replies a second at most here, %.2g of trace 2; measured: %.0f" % (
        what, most, most / t[1]["lists_tps"], t[4]["lists_tps"]))


def figure8(b):
    t, seen = schemes(b, "trace", list(TRACES), "4 ms a page, 16 readers; each trace with its share of updates", "figure8",
                lambda trace: (trace, KEEP if trace > 1 else ()))
    b.ratio("trace 1: replies a second, lists / no cache", seen[0][2], seen[0][0], least=8.8)
    b.ratio("trace 1: response time, no cache / lists", seen[0][0], seen[0][2], least=3.3, key="us")
    b.ratio("lists: trace 5 / trace 2", seen[4][2], seen[1][2], least=0.9)
    for trace in TRACES[2:]:
        b.ratio("trace %d: Invalidate All / no cache" % trace, seen[trace - 1][1], seen[trace - 1][0], least=0.9)
    need = b.needed(b.world("lists"), 5, KEEP)
    say_needed(b, "lists, trace 5", need)
    permitted(b, "lists, trace 5", t, need)
    front = [r["lists_front_us"] for r in t]
    b.note("lists, trace 5 / trace 2 by the proxy's CPU time of a reply: %.3g; updates a second in them: %.0f and %.0f" % (
        front[1] / front[4], t[4]["lists_updates_s"], t[1]["lists_updates_s"]))
    b.note("trace 5: CPU of a reply in us, none: back %.0f; all: front %.0f, back %.0f; lists: front %.0f, back %.0f" % (
        t[4]["none_back_us"], t[4]["all_front_us"], t[4]["all_back_us"], t[4]["lists_front_us"], t[4]["lists_back_us"]))
    lists, every = b.world("lists"), b.world("all")
    for w in (lists, every):
        w.set_origin(4, "--cpu")
    n, e = b.rounds(lambda: b.measure(lists, lists.apps, 5, 2, KEEP), lambda: b.measure(every, every.proxies, 5, 2, KEEP))
    for w in (lists, every):
        w.set_origin(4)
    b.ratio("trace 5, a page computes 4 ms, 2 readers: Invalidate All / no cache", e, n, least=0.9)
    b.result["computed"] = {"none": n, "all": e}
    for what in ("figure8", "figure8b", "figure9"):
        b.plot("figure8", what)


def rate(b):
    t, seen = schemes(b, "updates_s", list(RATES), "4 ms a page, 16 readers; as many updates a second for all three", "rate",
                lambda r: (1, ("-R", r)))
    b.ratio("lists: highest rate of updates / lowest", seen[-1][2], seen[0][2], least=0.9)
    for r, of_rate in zip(t[1:], seen[1:]):
        b.ratio("%d updates a second: Invalidate All / no cache" % r["updates_s"], of_rate[1], of_rate[0], least=0.9)
    say_needed(b, "lists, %d updates a second" % RATES[-1], b.needed(b.world("lists"), 1, ("-R", RATES[-1])))
    b.plot("rate")


def clients(b):
    w = b.world("lists")
    rows = []
    for words, readers, apart in (((), 2, True), ((), 8, True), ((), 16, True), (("--cpu",), 2, True),
                                  ((), 8, False), ((), 16, False), (("--cpu",), 2, False)):
        if words != w.words:
            w.set_origin(4, *words)
        w.lay(apart)
        say("%d clients, %s, %s" % (readers, "computed" if words else "waited", "apart" if apart else "shared"))
        n, l = b.rounds(lambda: b.measure(w, w.apps, 1, readers), lambda: b.measure(w, w.proxies, 1, readers))
        rows.append({"page": "computes" if words else "waits", "clients": readers, "hosts": "apart" if apart else "shared",
                     "none_tps": n["tps"], "lists_tps": l["tps"], "lists/none": l["tps"] / n["tps"], "none_us": n["us"],
                     "lists_us": l["us"], "clients_us": l["clients_us"], "none_served": n["served_us"],
                     "lists_served": l["served_us"], "none/lists": n["served_us"] / l["served_us"]})
        w.lay(True)
    w.set_origin(4)
    b.table("clients", "trace 1; none/lists: by CPU time of a reply, without the clients'", rows)
    for r in rows:
        what = "%s, %d clients, %s: " % (r["page"], r["clients"], r["hosts"])
        b.goal(what + "lists / no cache", r["lists/none"], least=8.8)
        b.goal(what + "response time, no cache / lists", r["none_us"] / r["lists_us"], least=3.3)


def origin(b):
    lists, every, rows = b.world("lists"), b.world("all"), []
    columns = {"few_none": (lists, "apps", 2), "few_lists": (lists, "proxies", 2), "none": (lists, "apps", 5),
               "lists": (lists, "proxies", 5), "all": (every, "proxies", 5)}
    for ms in COSTS:
        say("a page waits for %g ms" % ms)
        for w in (lists, every):
            w.set_origin(ms)
        seen = b.rounds(*[lambda c=c: b.measure(c[0], getattr(c[0], c[1]), c[2], more=KEEP) for c in columns.values()])
        r = dict(zip(columns, seen))
        rows.append({"origin_ms": ms, "few_none_tps": r["few_none"]["tps"], "few_lists_tps": r["few_lists"]["tps"],
                     "few_lists/none": r["few_lists"]["tps"] / r["few_none"]["tps"], "none_tps": r["none"]["tps"],
                     "lists_tps": r["lists"]["tps"], "lists/none": r["lists"]["tps"] / r["none"]["tps"],
                     "all_tps": r["all"]["tps"], "all/none": r["all"]["tps"] / r["none"]["tps"],
                     "none_served_us": r["none"]["served_us"], "lists_served_us": r["lists"]["served_us"]})
    for w in (lists, every):
        w.set_origin(4)
    b.table("origin", "trace 5 (few_: trace 2), 16 readers; a page waits for so long, besides what it reads", rows)
    for key, name in (("few_lists/none", "lists, trace 2"), ("lists/none", "lists, trace 5"), ("all/none", "Invalidate All, trace 5")):
        lost = ["%g" % r["origin_ms"] for r in rows if r[key] < 1]
        b.note("%s: %s" % (name, "caching does not pay at %s ms" % ", ".join(lost) if lost else
                           "caching pays at each cost, the least is %.3g at %g ms" % min((r[key], r["origin_ms"]) for r in rows)))
    b.goal("4 ms a page, lists, trace 2: lists / no cache", next(r["few_lists/none"] for r in rows if r["origin_ms"] == 4),
           least=8.8)
    b.plot("origin")


def burn(n, cpus):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, cpus))
            for _ in range(n)]


def put_out(made):
    for p in made:
        p.kill()
        p.wait()


def loaded(b, w, made, trace, words):
    """A run beside busy processes. They wait until the cache is in its steady state: else that takes as long as a run."""
    for p in made:
        p.send_signal(signal.SIGSTOP)
    b.settle(w, trace, 2, words)
    for p in made:
        p.send_signal(signal.SIGCONT)
    if "-R" in words and made:  # a slower cache drops more pages a reply
        b.load(w, w.proxies, trace, 2, 4, tuple(words) + ("-T", SETTLE_S // 2))
    return b.measure(w, w.proxies, trace, 2, words, max(SLOW_S, b.seconds) if made else None, settle=False)


def loaded_row(name, n, l):
    """n: without a cache; l: with lists. permits: what the hits permit, if a miss costs what a page costs without a cache."""
    return {"": name, "none_tps": n["tps"], "lists_tps": l["tps"], "lists/none": l["tps"] / n["tps"], "hits": l["hits"],
            "permits": 1 / max(1 - l["hits"], 1 / l["replies"]), "miss/none_us": l["miss_us"] / n["us"], "updates/1000": l["share"],
            "none_updates_s": n["updates_s"], "lists_updates_s": l["updates_s"], "none_replies": n["replies"],
            "none_back_us": n["back_us"], "lists_back_us": l["back_us"], "front_us": l["front_us"]}


def goal_holds(rows, key):
    """Up to which value of this column, between the last that reaches the goal and the first that does not."""
    rows = sorted(rows, key=lambda r: r[key])
    good = [r[key] for r in rows if r["lists/none"] >= LOADED]
    bad = [r[key] for r in rows if r["lists/none"] < LOADED]
    if not bad:
        return "at all, up to %.3g" % good[-1]
    return "up to %.3g, and not at %.3g" % (max(v for v in good if v < bad[0]), bad[0]) if good and good[0] < bad[0] else \
        "at none: not at %.3g" % bad[0]


def load(b):
    w, rows, seen = b.world("lists"), [], {}
    runs = {"trace%d" % t: (t, KEEP if t > 1 else ()) for t in TRACES}
    runs.update({"%d/s" % r: (1, ("-R", r)) for r in LOADED_RATES})
    w.set_origin(4, "--cpu")
    for n in BUSY:
        names = list(runs) if n == BUSY[-1] else ["trace5", "2/s"]
        say("%d busy processes beside the back-ends: %s" % (n, " ".join(names)))
        made, todo = burn(n, BACK), []
        for name in names:
            trace, words = runs[name]
            todo.append(lambda t=trace, k=words: b.measure(w, w.apps, t, 2, k, max(SLOW_S, b.seconds) if made else None))
            todo.append(lambda t=trace, k=words: loaded(b, w, made, t, k))
        try:
            figures = b.rounds(*todo)
        finally:
            put_out(made)
        seen = {name: figures[2 * i:2 * i + 2] for i, name in enumerate(names)}
        bare, l = seen["trace5"]
        same, few = seen["2/s"]
        rows.append({"busy": n, "none_replies": bare["replies"], "none_tps": bare["tps"], "lists_tps": l["tps"],
                     "lists/none": l["tps"] / bare["tps"], "r_none_tps": same["tps"], "r_lists_tps": few["tps"],
                     "r_lists/none": few["tps"] / same["tps"], "lists_hits": l["hits"], "r_lists_hits": few["hits"]})
    w.set_origin(4)
    b.table("load", "trace 5, 2 readers, a page computes 4 ms; r_: 2 updates a second instead", rows)
    table = [loaded_row(name, *seen[name]) for name in runs]
    b.table("loaded", "%d busy processes beside the back-ends; permits: by its hits alone" % BUSY[-1], table,
            list(table[0])[:10])
    for name in runs:
        b.ratio("%s, %d busy processes: lists / no cache" % (name, BUSY[-1]), *reversed(seen[name]), least=LOADED)
    b.note("goal %g by trace, updates of 1000: it holds %s" % (LOADED, goal_holds(table[:len(TRACES)], "updates/1000")))
    b.note("goal %g by updates a second that are done: it holds %s" % (
        LOADED, goal_holds(table[len(TRACES):], "lists_updates_s")))
    b.plot("load")


def size(b):
    w = b.world("lists")
    w.set_origin(4, "--depends", "16")  # larger pages: not all find room
    none, = b.rounds(lambda: b.measure(w, w.apps, 6, more=KEEP))
    rows = []
    for kib in SIZES_KIB:
        say("a cache of %d KiB" % kib)
        w.set_memory("%dk" % kib)
        b.warm(w)
        l, = b.rounds(lambda: b.measure(w, w.proxies, 6, more=KEEP))
        rows.append({"KiB": kib, "objects": objects(w), "lists_tps": l["tps"], "none_tps": none["tps"],
                     "lists/none": l["tps"] / none["tps"], "hits": l["hits"]})
    w.set_memory("256m")
    w.set_origin(4)
    b.warm(w)
    b.table("size", "trace 6 (Zipf), 16 readers, 16 things a page, by the size of Varnish's storage", rows)
    b.goal("the smallest cache: lists / no cache", rows[0]["lists/none"], least=1)
    b.plot("size")


def objects(w):
    r = subprocess.run(["varnishstat", "-n", w.proxies[0].dir + "/varnish", "-1", "-f", "MAIN.n_object"],
                       stdout=subprocess.PIPE, text=True)
    return int(r.stdout.split()[1]) if r.stdout else 0


def depends(b):
    lists, every, rows = b.world("lists"), b.world("all"), []
    for n in DEPENDS:
        say("%d things a page" % n)
        for w in (lists, every):
            w.set_origin(4, "--depends", str(n))
        b.warm(lists)
        l, e, bare = b.rounds(lambda: b.measure(lists, lists.proxies, 3, more=KEEP),
                              lambda: b.measure(every, every.proxies, 3, more=KEEP),
                              lambda: b.measure(lists, lists.apps, 3, more=KEEP))
        rows.append({"things": n, "lists_tps": l["tps"], "all_tps": e["tps"], "none_tps": bare["tps"],
                     "lists/none": l["tps"] / bare["tps"], "lists/all": l["tps"] / e["tps"], "lists_hits": l["hits"],
                     "drops/update": l["drops"]})
    for w in (lists, every):
        w.set_origin(4)
    b.table("depends", "trace 3 (5 updates of 1000), 16 readers; each page depends on so many things", rows)
    b.goal("most things: lists / Invalidate All", rows[-1]["lists/all"], least=1)
    b.plot("depends")


# --- what it costs

def plain_varnish(w):
    """A Varnish that serves from its cache without asking for versions, and its place in resex-cacheload's list."""
    port, = free_ports(1)
    d = w.proxies[0].dir + "/plain"
    os.makedirs(d)
    with open(d + "/plain.vcl", "w") as f:
        f.write('vcl 4.1; backend b { .host = "127.0.0.1"; .port = "%d"; }\n' % w.apps[0].port +
                "sub vcl_recv { return (hash); } sub vcl_backend_response { set beresp.ttl = 1h; set beresp.grace = 0s;"
                " unset beresp.http.Cache-Control; }"
                'sub vcl_deliver { set resp.http.X-Cache = "miss"; if (obj.hits > 0) { set resp.http.X-Cache = "hit"; } }\n')
    p = subprocess.Popen(["varnishd", "-F", "-j", "none", "-n", d + "/n", "-a", "127.0.0.1:%d" % port, "-f", d + "/plain.vcl",
                          "-s", "default=malloc,256m", "-p", "thread_pools=2", "-p", "thread_pool_min=20"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers():
        try:
            return http(("127.0.0.1", port), "GET", "/", timeout=5)[0] == 200
        except (OSError, Failed):
            return False
    until(answers, "the plain Varnish")
    place([p.pid] + children(p.pid), w.front)
    return p, type("Front", (), {"address": "127.0.0.1", "port": port})()


def hit(b):
    w = b.world("lists")
    p, front = plain_varnish(w)
    both = {"verified": (w.proxies[0].server.pid, w.proxies), "plain": (p.pid, [front])}

    def run(name):
        pid, hosts = both[name]
        pids = [pid] + children(pid)
        begun = cpu_of(pids)
        r = b.load(w, hosts, 1, 4, 1)
        return {"cpu_us": 1e6 * (cpu_of(pids) - begun) / r["replies"], "p50_us": r["latency"]["hit"]["p50_us"]}
    try:
        b.load(w, [front], readers=16, more=("-n", 12000))
        b.warm(w)
        v, q = b.rounds(lambda: run("verified"), lambda: run("plain"), times=2 * b.rounds_n)
    finally:
        p.send_signal(signal.SIGTERM)
        p.wait()
    b.table("hit", "4 readers, trace 1, over shm: varnishd's CPU time of a reply", [
        {"": "plain", **q}, {"": "verified", **v}, {"": "ratio", **{k: v[k] / q[k] for k in v}}])
    b.goal("Varnish's CPU time of a hit, verified / plain", v["cpu_us"] / q["cpu_us"], most=1.15)


def echo(s):
    """Another process, on the homes' CPUs, that sends back what it gets."""
    pid = os.fork()
    if pid:
        return pid
    os.sched_setaffinity(0, BACK)
    c, _ = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        data = c.recv(64)
        if not data:
            os._exit(0)
        c.sendall(data)


def round_trip():
    """The median of a bare TCP round trip of 64 bytes from the proxy's CPUs to the homes', in us."""
    s = socket.create_server(("127.0.0.1", 0))
    pid = echo(s)
    os.sched_setaffinity(0, FRONT)
    c = socket.create_connection(s.getsockname())
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    seen = []
    for _ in range(5000):
        at = time.perf_counter()
        c.sendall(b"x" * 64)
        c.recv(64)
        seen.append(time.perf_counter() - at)
    c.close()
    os.waitpid(pid, 0)
    os.sched_setaffinity(0, set(CPUS))
    s.close()
    return {"us": 1e6 * statistics.median(seen)}


def tcp(b):
    def run(name):
        w = b.world(name)
        return {"us": b.load(w, w.proxies, 1, 1, 1)["latency"]["hit"]["p50_us"]}
    for name in ("lists", "tcp"):
        b.warm(b.world(name))
    shm, far, bare = b.rounds(lambda: run("lists"), lambda: run("tcp"), round_trip)
    more = (far["us"] - shm["us"]) / bare["us"]
    b.table("tcp", "a hit, 1 reader", [{"": "shm", "p50_us": shm["us"]}, {"": "tcp", "p50_us": far["us"]},
                                       {"": "round_trip", "p50_us": bare["us"]}])
    b.goal("a hit over tcp is longer by so many round trips", more, most=2)


def busy(b):
    rows = []
    for name in ("lists", "tcp"):
        w = b.world(name)
        b.warm(w)

        def idle():
            r = b.load(w, w.proxies, 1, 4, 1)
            return {"tps": r["tps"], "hits": r["hits"]}

        def beside():
            made = burn(8 * len(BACK), BACK)
            try:
                return idle()
            finally:
                put_out(made)
        say("homes' CPUs busy, %s" % ("shm" if name == "lists" else "tcp"))
        i, f = b.rounds(idle, beside)
        rows.append({"": "shm" if name == "lists" else "tcp", "idle_tps": i["tps"], "busy_tps": f["tps"],
                     "ratio": f["tps"] / i["tps"], "idle_hits": i["hits"], "busy_hits": f["hits"]})
    b.table("busy", "8 busy processes a CPU of the homes, 4 readers, trace 1", rows)
    b.goal("hits over shm, busy / idle", rows[0]["ratio"], least=0.9)


def update(b):
    """CPU time of PostgreSQL's processes for an update through the cache, next to a plain transaction. One reads, since
    updates are a share of requests: 999 of 1000."""
    worlds = b.world("lists"), b.world("uncached")

    def run(w):
        begun = cpu_of(w.postgres())
        r = b.load(w, w.apps, 5, 1, 4, ("-U", "999"))
        return {"cpu_us": 1e6 * (cpu_of(w.postgres()) - begun) / max(1, r["updates"]), "updates_s": r["updates_s"],
                "p50_us": r["latency"]["update"]["p50_us"]}
    for w in worlds:
        run(w)
    through, plain = b.rounds(lambda: run(worlds[0]), lambda: run(worlds[1]))
    b.table("update", "4 updaters: PostgreSQL's CPU time of an update (without fsync)", [
        {"": "plain", **plain}, {"": "cached", **through}, {"": "ratio", **{k: through[k] / plain[k] for k in plain}}])
    b.goal("PostgreSQL's CPU time of an update, cached / plain", through["cpu_us"] / plain["cpu_us"], most=2)


# name: (function, installations, runs a round, runs that warm, restarts, runs a round that take SLOW_S)
PARTS = {
    "figure8": (figure8, ("lists", "all"), 17, 5, 4, 0),
    "rate": (rate, ("lists", "all"), 12, 4, 0, 0),
    "depends": (depends, ("lists", "all"), 12, 4, 10, 0),
    "clients": (clients, ("lists",), 14, 0, 5, 0),
    "origin": (origin, ("lists", "all"), 25, 0, 12, 0),
    "load": (load, ("lists",), 28, 0, 2, 22),
    "size": (size, ("lists",), 5, 5, 7, 0),
    "hit": (hit, ("lists",), 4, 2, 0, 0),
    "tcp": (tcp, ("lists", "tcp"), 2, 2, 0, 0),
    "busy": (busy, ("lists", "tcp"), 4, 2, 0, 0),
    "update": (update, ("lists", "uncached"), 2, 1, 0, 0),
}


def planned(names, seconds, rounds):
    """About so long, in s."""
    worlds = len({w for n in names for w in PARTS[n][1]})
    return worlds * (WORLD_S + 2) + sum(
        rounds * (runs * (seconds + RUN_S) + slow * max(0, SLOW_S - seconds)) + 2 * warm + RESTART_S * restarts
        for _, _, runs, warm, restarts, slow in (PARTS[n] for n in names))


def options():
    p = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0].replace("cache.py", "%(prog)s"),
                                description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", metavar="BUILD-DIRECTORY")
    p.add_argument("parts", metavar="PART", nargs="*")
    p.add_argument("--seconds", type=int, default=2, help="of each run (2)")
    p.add_argument("--rounds", type=int, default=3, help="medians of so many (3)")
    p.add_argument("--seed", type=int, default=1, help="of pages and updates (1)")
    p.add_argument("-j", "--json", action="store_true", help="print one object")
    o = p.parse_intermixed_args()
    for name in o.parts:
        if name not in PARTS:
            p.error("there is no part %s: %s" % (name, ", ".join(PARTS)))
    if o.seconds < 1 or o.rounds < 1 or o.seed < 0:
        p.error("give seconds and rounds of 1 or more, and a seed of 0 or more")
    return o


def main():
    o = options()
    names = [n for n in PARTS if not o.parts or n in o.parts]
    b = Bench(os.path.abspath(o.build), o.seconds, o.rounds, o.seed, o.json)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends
    say("seed %d, %d rounds of %d s, %d CPUs; parts: %s" % (o.seed, o.rounds, o.seconds, len(CPUS), " ".join(names)))
    say("this will take about %.0f minutes on a quiet machine" % (planned(names, o.seconds, o.rounds) / 60 + 0.5))
    if os.getloadavg()[0] > 0.5 * len(CPUS):
        say("the load average is %.1f already: what is measured will be rough" % os.getloadavg()[0])
    try:
        for i, name in enumerate(names):
            part = time.monotonic()
            say("part %s (%d of %d)" % (name, i + 1, len(names)))
            PARTS[name][0](b)
            say("%s took %.0f s" % (name, time.monotonic() - part))
            b.close({w for n in names[i + 1:] for w in PARTS[n][1]} or {"none"})
        took = time.monotonic() - began
        missed = [g["what"] for g in b.goals if not g["met"]]
        b.show("\n%d of %d goals met; %.0f s; seed %d" % (len(b.goals) - len(missed), len(b.goals), took, o.seed))
        if o.json:
            print(json.dumps(dict(b.result, goals=b.goals, seed=o.seed, seconds=o.seconds, rounds=o.rounds, cpus=len(CPUS),
                                  took_s=round(took))))
    except Failed as e:
        sys.exit("bench cache: %s" % e)
    finally:
        b.close()


main()
