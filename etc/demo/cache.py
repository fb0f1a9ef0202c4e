#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cache: dynamic pages out of a cache, none of them stale, also while a host dies.

usage: cache.py BUILD-DIRECTORY [-j | --test] [--sqlite] [--tcp] [--seconds N]

An auction: two application servers (resex-auction, resex-cached), which are the homes of the pages'
versions; a proxy (Varnish with vmod_resex, resex-cached); PostgreSQL, or SQLite with --sqlite. Clients
read through the proxy, others bid at the application servers. Half-way one application server is
killed, and started again. Each reply is checked: it shows no less than what was committed before it was
asked for. First the same clients read from the application servers directly, which is no cache.
-j prints one JSON object; --test checks what was promised. Exit: 0, 1, or 77 when PostgreSQL or Varnish
is not there (1 when CI=true).
"""
import json
import os
import shutil
import signal
import sys
import tempfile
import time

from cacheworld import Failed, World, http, until

ORIGIN_MS = 4
READERS = 16


def say(text):
    print("== " + text, file=sys.stderr, flush=True)


def missing():
    names = ["varnishd"]
    if "--sqlite" not in sys.argv:
        names.append("psql")
    return [n for n in names if not shutil.which(n)]


def ended(p):
    """Its JSON object."""
    out, err = p.communicate()
    if not out:
        raise Failed("resex-cacheload: %s" % err)
    return json.loads(out)


def kill_and_return(w, host, seconds):
    """The host is killed as by a power cut, and comes back when its updates were resolved."""
    time.sleep(seconds)
    say("%s is killed" % host.name)
    host.end(signal.SIGKILL)
    time.sleep(seconds)
    say("%s starts again" % host.name)
    host.start_cached()
    host.start_server()


def run(build, top, seconds):
    w = World(top, build, backend="sqlite" if "--sqlite" in sys.argv else "pgsql",
              transport="tcp" if "--tcp" in sys.argv else "shm", work_ms=ORIGIN_MS, cache={"fresh": "500ms", "detect": "1s"})
    try:
        say("starting the database, 2 application servers and a proxy in %s" % top)
        w.start()
        say("%d clients without a cache, for %d s" % (READERS, seconds // 2))
        bare = ended(w.load(w.apps, "-r", str(READERS), "-u", "2", "-t", "3", "-T", str(seconds // 2)))
        say("the same clients through the proxy, for %d s" % (2 * seconds))
        p = w.load(w.proxies, "-r", str(READERS), "-u", "2", "-t", "3", "-T", str(2 * seconds), "-S", "2")
        kill_and_return(w, w.apps[1], seconds // 2)
        r = ended(p)
        until(lambda: all(h.info().get("in") for h in w.apps), "both application servers are in the cache again")
        status, _, body = http(w.proxies[0].api, "GET", "/v1/cache")
        if status != 200:
            raise Failed("the proxy's counters: %s" % body)
        return {"replies": r["replies"] + bare["replies"], "hits": r["hits"], "updates": r["updates"] + bare["updates"],
                "stale": r["stale"] + bare["stale"], "backwards": r["backwards"] + bare["backwards"],
                "future": r["future"] + bare["future"], "torn": r.get("torn", 0) + bare.get("torn", 0),
                "errors": r["errors"], "tps_cached": round(r["tps"], 1), "tps_uncached": round(bare["tps"], 1),
                "origin_ms": ORIGIN_MS, "p50_hit_us": r["latency"]["hit"]["p50_us"],
                "p50_uncached_us": bare["latency"]["miss"]["p50_us"], "first": r["first"] or bare["first"]}
    except Failed:
        for h in w.hosts:
            for name in ("cached", "server"):
                if os.path.exists("%s/%s.log" % (h.dir, name)):
                    print("-- %s of %s: %s" % (name, h.name, h.tail(name)), file=sys.stderr)
        raise
    finally:
        w.close()


def check(r):
    wrong = [k for k in ("stale", "backwards", "future", "torn") if r[k]]
    few = [k for k, n in (("replies", 1000), ("hits", 500), ("updates", 20)) if r[k] < n]
    slow = r["tps_cached"] < 2 * r["tps_uncached"]
    tests = [("no reply is wrong", not wrong), ("there were replies, hits and updates", not few),
             ("the cache gives twice the replies", not slow)]
    for name, good in tests:
        print("%s: %s" % ("PASS" if good else "FAIL", name))
    bad = sum(not good for _, good in tests)
    print("demo cache: %d passed, %d failed" % (len(tests) - bad, bad))
    return 1 if bad else 0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seconds = 10
    if "--seconds" in sys.argv:
        given = sys.argv[sys.argv.index("--seconds") + 1:][:1]
        if not given or not given[0].isdecimal() or not 2 <= int(given[0]) <= 3600:
            sys.exit("demo: --seconds takes a whole number from 2 to 3600, not %s" % (given[0] if given else "nothing"))
        seconds = int(given[0])
    lacks = missing()
    if lacks:
        print("demo cache: %s not there: apt-get install varnish postgresql" % ", ".join(lacks), file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    top = tempfile.mkdtemp(prefix="resex-cache-")
    os.chmod(top, 0o755)
    try:
        r = run(sys.argv[1], top, seconds)
    except Failed as e:
        sys.exit("demo: %s" % e)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    if "-j" in sys.argv:
        print(json.dumps(r))
    elif "--test" in sys.argv:
        sys.exit(check(r))
    else:
        print("%d replies, %d of them out of the cache; %d updates" % (r["replies"], r["hits"], r["updates"]))
        print("%.0f replies a second with the cache, %.0f without, at %d ms a page" %
              (r["tps_cached"], r["tps_uncached"], ORIGIN_MS))
        if r["first"]:
            print("first wrong reply: %s" % r["first"])
        print("%d stale of %d" % (r["stale"] + r["backwards"], r["replies"]))
    sys.exit(1 if r["stale"] + r["backwards"] + r["future"] + r["torn"] else 0)


main()
