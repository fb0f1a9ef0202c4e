#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_cache: the verbs of resex that speak to resex-cached: two application servers and a proxy over shm, SQLite.

usage: test_cache.py [BUILD]

Exit: 0, 1 when something was not as it should be, 77 when resex-cached was built without SQLite.
"""
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading

TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
sys.path.insert(0, TOP + "/etc/demo")
sys.dont_write_bytecode = True
from cacheworld import World, http, until  # noqa: E402

NOBODY = 65534
wrong = []


def check(good, what, *seen):
    print("%s %s%s" % ("ok  " if good else "FAIL", what, "" if good else ": " + " ".join(map(str, seen))))
    if not good:
        wrong.append(what)


def said(r, status, *texts):
    return r.returncode == status and all(t in r.stdout + r.stderr for t in texts)


def reads(w):
    app, front = w.apps[0], w.proxies[0]
    r = app.resex("cache-list")
    check(said(r, 0, "role                     app", "MEMBER", "app2", "listings_used"), "cache-list of an application server", r)
    r = front.resex("cache-list")
    check(said(r, 0, "role                     proxy", "HOME", "app1", "CLIENT"), "cache-list of a proxy", r)
    r = app.resex("-j", "cache-list")
    check(r.returncode == 0 and json.loads(r.stdout)["home"]["open"] is True, "cache-list -j", r)
    for what in ("item/5", "/item/5", "http://shop/item/5", "\u00e4 &?=%"):
        r = app.resex("cache-show", what)
        check(said(r, 0, "home                     11"), "cache-show %s" % what, r)
    check(said(app.resex("update-list"), 0, "UPDATER"), "update-list, of none")
    r = app.resex("cache-events", "-n", "1")
    check(r.returncode == 0 and r.stdout.count("\n") == 1, "cache-events -n 1", r)
    r = app.resex("-j", "cache-events")
    check(r.returncode == 0 and all("text" in json.loads(line) for line in r.stdout.splitlines()), "cache-events -j", r)


def peeks(w):
    """A client of the list reads each host; one that is not listed there reads none."""
    def peek(file):
        return subprocess.run([w.build + "/resex-peek", "-c", file, "-w", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    app, front = w.apps[0], w.proxies[0]
    r = peek(app.dir + "/cluster.json")
    rows = {words[0]: words[3] for words in map(str.split, r.stdout.splitlines()) if len(words) > 10}
    check(r.returncode == 0 and rows.get("app1") == rows.get("app2") == "beats" and rows.get(front.name) == "read",
          "resex-peek reads all", r)
    with open(app.dir + "/cluster.json") as f:
        text = f.read()
    with open(w.top + "/other.json", "w") as f:
        f.write(text.replace('"number": 200', '"number": 201'))
    r = peek(w.top + "/other.json")
    check("it does not list our number" in r.stdout and "beats" not in r.stdout, "a client that is not listed reads none", r)


def steers(w):
    app, other = w.apps
    for words in (["item/5"], ["/item/5"], ["--all"], ["-a"]):
        r = app.resex("cache-invalidate", *words)
        check(r.returncode == 0 and not r.stdout, "cache-invalidate %s" % words[0], r)
    r = app.resex("cache-remove", "app2")
    check(said(r, 13, "--force"), "a host that beats is not removed", r)
    before = other.info()["generation"]
    r = app.resex("cache-remove", "--force", "app2")
    check(r.returncode == 0, "but with --force", r)
    until(lambda: other.info().get("generation", 0) > before, "app2 comes back as a new generation")
    check(said(app.resex("cache-events"), 0, "app2"), "cache-events has the removal", app.resex("cache-events").stdout)


def waits(w):
    """An update that waits for a hung member is listed, with its name."""
    app, other = w.apps
    other.cached.send_signal(signal.SIGSTOP)
    t = threading.Thread(target=http, args=(app.api, "POST", "/v1/update", {"tags": ["item/5"], "statements": []}))
    t.start()
    try:
        until(lambda: said(app.resex("update-list"), 0, "acks", "app2"), lambda: app.resex("update-list"), 10)
        check(True, "update-list names the host whose acknowledgement is missing")
    except Exception as e:
        check(False, "update-list names the host whose acknowledgement is missing", e)
    other.cached.send_signal(signal.SIGCONT)
    t.join()
    until(lambda: other.info().get("in"), "app2 is in again")


def refusals(w):
    app, front = w.apps[0], w.proxies[0]
    rows = ((app, 2, "exactly one", "cache-show"), (app, 2, "give one tag", "cache-invalidate"),
            (app, 2, "give one tag", "cache-invalidate", "--all", "x"), (app, 2, "exactly one", "cache-remove"),
            (app, 2, "unexpected", "cache-list", "x"), (app, 2, "unexpected", "update-list", "x"),
            (app, 2, "unexpected", "cache-events", "x"), (app, 2, "too long", "cache-show", "x" * 1100),
            (app, 2, "255", "cache-show", "x" * 300), (app, 2, "no such application server", "cache-remove", "nobody"),
            (app, 2, "\"--force\"", "cache-list", "--force"), (front, 2, "proxy", "cache-invalidate", "x"),
            (front, 2, "proxy", "update-list"))
    for host, status, text, *words in rows:
        r = host.resex(*words)
        check(said(r, status, text) and r.stderr.count("\n") == 1, "%s: %s" % (" ".join(words)[:60], text), r)
    if os.geteuid() == 0:
        # Another user need not be able to enter the build directory.
        with tempfile.TemporaryDirectory() as d:
            os.chmod(d, 0o755)
            shutil.copy(w.build + "/resex", d)
            r = subprocess.run([d + "/resex", "-s", app.api, "cache-list"], user=NOBODY, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        check(said(r, 8, "no permission to speak to resex-cached"), "another user may not", r)
    r = subprocess.run([w.build + "/resex", "-s", w.top + "/none", "cache-list"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    check(said(r, 7, "cannot reach resex-cached"), "no daemon", r)
    for words in (["list"], ["guest-set", "x", "weight=5"], ["top", "-b", "-n", "1"]):
        r = app.resex(*words)
        check(said(r, 2, "is the socket of resex-cached, and this verb asks resexd: ") and r.stderr.count("\n") == 1,
              "%s at the socket of resex-cached" % words[0], r)


def strangers(w):
    """What answers is not resex-cached."""
    path = w.top + "/stranger"
    for reply in (b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n{", b"rubbish\r\n\r\n{}", b"HTTP/1.1 999 x\r\n\r\n{}",
                  b"\0\xff" * 4000):
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            s.listen()
            p = subprocess.Popen([w.build + "/resex", "-s", path, "update-list"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
            c, _ = s.accept()
            c.recv(4096)
            c.sendall(reply)
            c.close()
            out, err = p.communicate()
        os.unlink(path)
        check(p.returncode == 7 and "closed the connection" in err, "a reply of %r" % reply[:24], p.returncode, out, err)


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    top = tempfile.mkdtemp(prefix="resex-clicache-")
    os.chmod(top, 0o755)
    w = World(top, build, backend="sqlite", cache={"fresh": "500ms", "detect": "20s"})
    try:
        w.where = top + "/cache.db"
        db = sqlite3.connect(w.where)
        with open(TOP + "/etc/cache/schema-sqlite.sql") as f:
            db.executescript(f.read())
        db.close()
        w.write_settings()
        for h in w.hosts:
            h.start_cached()
        if w.apps[0].cached.wait(1) and "built" in w.apps[0].tail("cached"):
            print("test_cache: built without SQLite", file=sys.stderr)
            sys.exit(77)
    except subprocess.TimeoutExpired:
        pass
    try:
        for h in w.hosts:
            until(lambda h=h: w.is_ready(h), lambda h=h: h.tail("cached"))
        for part in (reads, peeks, steers, waits, refusals, strangers):
            part(w)
    finally:
        w.close()
        shutil.rmtree(top, ignore_errors=True)
    print("test_cache: %d wrong" % len(wrong))
    sys.exit(1 if wrong else 0)


main()
