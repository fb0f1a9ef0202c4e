# SPDX-License-Identifier: GPL-2.0-or-later
"""rig: what tests of the auction and its clients share: an auction on SQLite, clients, a caching proxy in front, and a
stand-in for resex-cached.

The proxy is right, or wrong in a chosen way. Proxy and stand-in are in one process, and share the version words: together
they do what Varnish with vmod_resex, and resex-cached with one home, do. Run in the build directory.
"""
import http.client
import http.server
import json
import os
import re
import socket
import socketserver
import sqlite3
import subprocess
import threading
import time
import uuid

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
AUCTION, LOAD = "./resex-auction", "./resex-cacheload"
RULES = ("stale", "backwards", "future", "undone", "torn", "wrong")
PATIENCE_S = 30


class Failed(Exception):
    pass


def missing():
    """What was not built here; "": nothing."""
    if not os.access(AUCTION, os.X_OK):
        return "resex-auction was not built: configure with libcurl"
    r = subprocess.run([AUCTION, "-d", "sqlite:/", "--init", "--schema", "/nonexistent"], stderr=subprocess.PIPE, text=True)
    return "resex-auction was built without SQLite" if "was built with" in r.stderr else ""


class Auction:
    """db: a connection string of an empty database of PostgreSQL; None: SQLite, in top."""

    def __init__(self, top, *options, db=None, items=60, users=12, categories=5):
        self.db = db or top + "/auction-%s.db" % uuid.uuid4().hex
        where = ["-d", db or "sqlite:" + self.db]
        schema = TOP + "/etc/cache/auction%s.sql" % ("" if db else "-sqlite")
        subprocess.run([AUCTION] + where + ["--init", "--schema", schema, "-I", str(items), "-U", str(users),
                                            "-G", str(categories)], check=True)
        self.process = subprocess.Popen([AUCTION] + where + ["-l", "127.0.0.1:0"] + list(options),
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "port" not in line:
            raise Failed("resex-auction does not start")
        self.port = int(line.split()[-1])

    def get(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        c.request("GET", path)
        text = c.getresponse().read().decode()
        c.close()
        return text

    def info(self):
        return json.loads(self.get("/info"))

    def close(self):
        self.process.terminate()
        if self.process.wait(timeout=PATIENCE_S):
            raise Failed("resex-auction ends with %d" % self.process.returncode)
        self.process.stdout.close()


def load(auction, proxies, *options):
    """(exit code, result)"""
    command = [LOAD, "--json", "--app", "127.0.0.1:%d" % auction.port] + list(options)
    for p in proxies:
        command += ["--proxy", "127.0.0.1:%d" % p.port]
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not r.stdout:
        raise Failed("resex-cacheload: %s" % r.stderr)
    return r.returncode, json.loads(r.stdout)


def broken(result):
    return {rule for rule in RULES if result[rule]}


# --- the proxy ---

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client that went away


class Proxy:
    """handle(path, fetch) gives (text, is it a hit); fetch(headers) asks the application: (status, headers, text)."""

    def __init__(self, port, handle):
        def fetch_from(path, connections):
            def fetch(headers):
                c = getattr(connections, "c", None)
                if not c:
                    c = connections.c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
                c.request("GET", path, headers=headers)
                r = c.getresponse()
                return r.status, r.headers, r.read()
            return fetch

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            connections = threading.local()

            def do_GET(self):
                status, text, hit = handle(self.path, fetch_from(self.path, self.connections))
                self.send_response_only(status)
                self.send_header("X-Cache", "hit" if hit else "miss")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


STATE = re.compile(rb"([a-z0-9/_-]+)=([0-9]+):([0-9]+)")


class Wrong:
    """What a wrong proxy does with pages. Each function is a handle of a Proxy."""

    def __init__(self, rng):
        self.rng, self.lock, self.kept = rng, threading.Lock(), {}

    def keep(self, path, text):
        with self.lock:
            self.kept.setdefault(path, []).append((time.monotonic(), text))

    def right(self, path, fetch):
        status, _, text = fetch({})
        return status, text, False

    def by_time(self, path, fetch):
        """A cache that believes what it has for 200 ms."""
        with self.lock:
            old = self.kept.get(path)
        if old and time.monotonic() - old[-1][0] < 0.2:
            return 200, old[-1][1], True
        status, _, text = fetch({})
        self.keep(path, text)
        return status, text, False

    def sometimes_old(self, path, fetch):
        status, _, text = fetch({})
        self.keep(path, text)
        with self.lock:
            return status, (self.kept[path][0][1] if self.rng.random() < 0.05 else text), False

    def another_page(self, path, fetch):
        status, _, text = fetch({})
        with self.lock:
            other = self.kept.get("other")
            self.kept["other"] = text
        return status, other if other and self.rng.random() < 0.05 else text, False

    def too_new(self, path, fetch):
        status, _, text = fetch({})
        if self.rng.random() < 0.05:
            text = STATE.sub(lambda m: m.group(1) + b"=%d:%s" % (int(m.group(2)) + 1, m.group(3)), text, count=1)
        return status, text, False

    def half_old(self, path, fetch):
        """One thing of the page is as it was when the page was first asked for."""
        status, _, text = fetch({})
        self.keep(path, text)
        with self.lock:
            old = STATE.findall(self.kept[path][0][1])
        if self.rng.random() < 0.2:
            name, value, last = self.rng.choice(old)
            text = re.sub(rb"\b%s=[0-9]+:[0-9]+" % name, b"%s=%s:%s" % (name, value, last), text)
        return status, text, False


# --- the stand-in for resex-cached ---

class Daemon:
    """One home, one updater, SQLite. forget(tag): the application would have forgotten this tag."""

    def __init__(self, top, all_pages=False, forget=lambda tag: False):
        self.path = top + "/api-%s.sock" % uuid.uuid4().hex[:8]
        self.db, self.all_pages, self.forget = None, all_pages, forget
        self.lock, self.updating = threading.Lock(), threading.Lock()
        self.word_of, self.version, self.tags = {}, {}, {}
        self.pending, self.ended, self.fills, self.serial = [], [], {}, 0
        self.copies = {}
        self.refused = 0
        daemon = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, o = daemon.answer(self.command, self.path, json.loads(body) if body else {})
                text = json.dumps(o).encode()
                self.send_response_only(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
            do_POST = do_DELETE = answer

            def address_string(self):
                return "unix"

            def log_message(self, *args):
                pass

        class UnixServer(Server):
            address_family = socket.AF_UNIX

            def server_bind(self):
                self.socket.bind(self.server_address)
        self.server = UnixServer(self.path, Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method, path, o):
        if path == "/v1/fill":
            return self.begin(o)
        if path == "/v1/update":
            return self.update(o)
        fill = self.fills.pop(path[len("/v1/fill/"):], None)
        if not fill:
            return 404, {"error": "no such fill", "why": "unknown"}
        return (200, {}) if method == "DELETE" else self.end(fill, o)

    def begin(self, o):
        with self.lock:
            self.serial += 1
            self.fills["1.%d" % self.serial] = (o["word"], self.version[o["word"]], len(self.ended))
            return 200, {"fill": "1.%d" % self.serial}

    def end(self, fill, o):
        word, version, log = fill
        tags = {t for t in o["tags"] if not self.forget(t)}
        with self.lock:
            late = [u for u in self.pending + self.ended[log:] if word == 0 or u & tags]
            if self.version[word] != version or late:
                self.refused += 1
                return 200, {"version": None, "why": "pending", "text": "an update came between"}
            self.tags.setdefault(word, set()).update(tags)
            return 200, {"version": "%x" % version}

    def update(self, o):
        tags = set(o["tags"])
        with self.updating:
            with self.lock:
                for word, listed in self.tags.items():
                    if word == 0 or tags & listed:
                        self.version[word] += 1
                        self.tags[word] = set()
                self.pending.append(tags)
            status, answer = self.transact(o["statements"])
            with self.lock:
                self.pending.remove(tags)
                self.ended.append(tags)
        return status, answer

    def transact(self, statements):
        c = sqlite3.connect(self.db, isolation_level=None, timeout=PATIENCE_S)
        try:
            c.execute("BEGIN IMMEDIATE")
            rows = [c.execute(s["sql"], {str(i + 1): p for i, p in enumerate(s["params"])}).rowcount for s in statements]
            c.execute("COMMIT")
        except sqlite3.Error as e:
            return 409, {"error": str(e), "why": "refused"}
        finally:
            c.close()
        with self.lock:
            self.serial += 1
            return 200, {"transaction": self.serial, "rows": rows}

    def handle(self, path, fetch):
        """A proxy's: the version word is part of the key."""
        with self.lock:
            word = self.word_of.setdefault(path, 0 if self.all_pages else len(self.word_of) + 1)
            version = self.version.setdefault(word, 1)
            copy = self.copies.get((path, word, version))
        if copy:
            return 200, copy, True
        status, headers, text = fetch({"resex-page": "1.%d" % word})
        if status == 200 and headers.get("resex-version") == "1.%d.%x" % (word, version):
            with self.lock:
                self.copies[path, word, version] = text
        return status, text, False
