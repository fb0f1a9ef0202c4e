# SPDX-License-Identifier: GPL-2.0-or-later
"""cacheworld: a whole installation of the cache on one machine, for the demo, the tests and the benchmarks: PostgreSQL
or SQLite, application servers (resex-cached and resex-auction), and proxies (resex-cached and Varnish).

Each host has a folder of its own below the world's. All of it ends with close(), also what hangs."""
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PATIENCE_S = 60
KEY = "0123456789abcdef" * 4


class Failed(Exception):
    pass


def until(holds, what, patience=PATIENCE_S):
    end = time.monotonic() + patience
    while True:
        v = holds()
        if v:
            return v
        if time.monotonic() > end:
            raise Failed("not within %d s: %s" % (patience, what() if callable(what) else what))
        time.sleep(0.02)


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def http(where, method, path, body=None, timeout=30):
    """(status, headers in lower case, body). where: a UNIX socket's path, or (address, port)."""
    kind = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
    data = b"" if body is None else json.dumps(body).encode()
    head = "%s %s HTTP/1.0\r\nHost: world\r\n" % (method, path)
    if body is not None:
        head += "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(data)
    with socket.socket(kind) as s:
        s.settimeout(timeout)
        s.connect(where)
        s.sendall(head.encode() + b"\r\n" + data)
        reply = b"".join(iter(lambda: s.recv(65536), b""))
    head, _, rest = reply.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split()
    if len(words) < 2:
        raise Failed("%s %s: no reply" % (method, path))
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
    return int(words[1]), headers, rest


class Host:
    """An application server or a proxy."""
    def __init__(self, world, name, number, role):
        self.world, self.name, self.number, self.role = world, name, number, role
        self.dir = "%s/%s" % (world.top, name)
        self.api, self.ring = self.dir + "/api.sock", self.dir + "/ring.sock"
        self.address = "127.0.0.1"
        self.cached = self.server = None
        os.mkdir(self.dir)
        os.mkdir(self.dir + "/state")

    def settings(self):
        c = {"cluster_file": self.dir + "/cluster.json", "state_dir": self.dir + "/state", "socket": self.api}
        if self.role == "app":
            c["sql"] = {"backend": self.world.backend, "where": self.world.where, "timeout": self.world.sql_timeout}
        else:
            c.update(ring=self.ring, timeout="100ms")
        return dict(c, **self.world.more.get(self.role, {}))

    def run(self, name, *words):
        words, more = self.world.wrapped(self, name, list(words))
        with open("%s/%s.log" % (self.dir, name), "a") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **more)

    def start_cached(self):
        self.cached = self.run("cached", self.world.build + "/resex-cached", "-c", self.dir + "/cached.json", "-H", self.name)

    def info(self):
        try:
            status, _, body = http(self.api, "GET", "/v1/info", timeout=5)
            return json.loads(body) if status == 200 else {}
        except (OSError, ValueError, Failed):
            return {}

    def resex(self, *words):
        return subprocess.run([self.world.build + "/resex", "-s", self.api] + list(words), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)

    def spawn_server(self):
        """The application, or Varnish."""
        w = self.world
        self.server = self.run("server", *(w.auction(self) if self.role == "app" else w.varnish(self)))

    def start_server(self):
        self.spawn_server()
        self.await_server()

    def await_server(self):
        until(lambda: self.answers(), lambda: "%s's %s: see %s/server.log" % (self.name, self.role, self.dir))

    def answers(self):
        if self.server.poll() is not None:
            raise Failed("%s's server ended: %s" % (self.name, self.tail("server")))
        try:
            return http((self.address, self.port), "GET", "/", timeout=5)[0] == 200
        except (OSError, Failed):
            return False

    def tail(self, name):
        with open("%s/%s.log" % (self.dir, name)) as f:
            return f.read()[-600:]

    def end(self, sig=signal.SIGTERM):
        for p in (self.server, self.cached):
            if p and p.poll() is None:
                p.send_signal(sig)
                p.send_signal(signal.SIGCONT)
        for p in (self.server, self.cached):
            if p:
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


class World:
    """apps, proxies: how many. Numbers of application servers are from 11 on, those of proxies from 21. more: by role,
    further settings of cached.json."""
    def __init__(self, top, build, apps=2, proxies=1, backend="pgsql", transport="shm", cache=None, cached=True,
                 work_ms=0, lists=True, memory="256m", items=1000,
                 sql_timeout="5s", more=None):
        self.top, self.build, self.backend, self.transport = top, os.path.abspath(build), backend, transport
        self.cached, self.work_ms, self.lists, self.memory, self.items = cached, work_ms, lists, memory, items
        self.sql_timeout, self.more = sql_timeout, more or {}
        self.pg_dir = top + "/pg"
        self.cache = dict({"fresh": "1s", "detect": "2s", "words": 65536, "slots": 8}, **(cache or {}))
        os.makedirs(top + "/shm", exist_ok=True)
        self.apps = [Host(self, "app%d" % (i + 1), 11 + i, "app") for i in range(apps)]
        self.proxies = [Host(self, "front%d" % (i + 1), 21 + i, "proxy") for i in range(proxies)]
        self.hosts = self.apps + self.proxies
        ports = free_ports(2 * len(self.hosts))
        for h in self.hosts:
            h.port, h.cluster_port = ports.pop(), ports.pop()

    # --- the database

    def start_database(self):
        if self.backend == "sqlite":
            self.where, schema = self.top + "/auction.db", "schema-sqlite.sql"
            self.db, suffix = "sqlite:" + self.where, "-sqlite"
            db = sqlite3.connect(self.where)
            with open("%s/etc/cache/%s" % (TOP, schema)) as f:
                db.executescript(f.read())
            db.close()
        else:
            self.where = self.db = self.pg("start").strip()
            suffix = ""
            self.psql("-f", TOP + "/etc/cache/schema.sql")
            self.psql("-c", "ALTER ROLE postgres SET idle_in_transaction_session_timeout = '5s'")
        words = ["--init", "-d", self.db, "--schema", "%s/etc/cache/auction%s.sql" % (TOP, suffix), "--items",
                 str(self.items)]
        if self.cached:
            words += ["--guard", "%s/etc/cache/auction-guard%s.sql" % (TOP, suffix)]
        r = subprocess.run([self.build + "/resex-auction"] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode:
            raise Failed("resex-auction --init: %s" % r.stdout)

    def psql(self, *words):
        r = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.where] + list(words),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if r.returncode:
            raise Failed("psql: %s" % r.stderr)
        return r.stdout

    def pg(self, verb):
        words, more = self.wrapped(None, "pg", ["sh", TOP + "/tests/cache/pg.sh", verb, self.pg_dir])
        return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, **more).stdout

    def restart_database(self):
        self.pg("restart")

    # --- the hosts

    def wrapped(self, host, name, words):
        """How a program of a host (None: the database's) is run: its words, and what else subprocess.Popen is told."""
        return words, {}

    def write_settings(self):
        rows = [{"name": "peek", "number": 200, "role": "client"}]
        for h in self.hosts:
            rows.append({"name": h.name, "number": h.number, "role": h.role,
                         "address": self.top + "/shm" if self.transport == "shm" else h.address})
            if self.transport != "shm":
                rows[-1]["port"] = h.cluster_port
        for h in self.hosts:
            with open(os.open(h.dir + "/key", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
                f.write(KEY + "\n")
            cluster = {"cluster": "auction", "transport": self.transport, "key_file": h.dir + "/key", "hosts": rows,
                       "cache": self.cache}
            for name, what in (("cluster", cluster), ("cached", h.settings())):
                with open("%s/%s.json" % (h.dir, name), "w") as f:
                    json.dump(what, f, indent=1)

    def auction(self, h):
        words = [self.build + "/resex-auction", "-l", "%s:%d" % (h.address, h.port), "-d", self.db]
        words += ["--cache", h.api] if self.cached else ["--no-cache"]
        if self.work_ms:
            words += ["--work", str(self.work_ms)]
        return words

    def varnish(self, h):
        """Backends in turn, those that answer; then etc/cache/resex.vcl with this proxy's ring."""
        names = [a.name for a in self.apps]
        vcl = "vcl 4.1;\nimport directors;\n"
        for a in self.apps:
            vcl += """backend %s { .host = "%s"; .port = "%d"; .max_connections = 200;
	.probe = { .url = "/"; .interval = 500ms; .timeout = 2s; .window = 2; .threshold = 1; .initial = 1; } }
""" % (a.name, a.address, a.port)
        vcl += "sub vcl_init { new apps = directors.round_robin(); %s }\n" % " ".join(
            "apps.add_backend(%s);" % n for n in names)
        vcl += "sub vcl_recv { set req.backend_hint = apps.backend(); }\n"
        with open(TOP + "/etc/cache/resex.vcl") as f:
            rules = f.read()
        old = 'resex.cache("/run/resex-cached/ring.sock", timeout = 50ms)'
        key = "req.url)) { #-S"  # not the line beside it, which is a comment
        if old not in rules or rules.count(key) != 1:
            raise Failed("etc/cache/resex.vcl is not as this program knows it")
        rules = rules.replace(old, 'resex.cache("%s", timeout = 100ms)' % h.ring)
        rules = rules.replace("import resex;", 'import resex from "%s/libvmod_resex.so";' % self.build)
        if not self.lists:
            rules = rules.replace(key, "req.url, all = true)) { #-S")
        with open(h.dir + "/resex.vcl", "w") as f:
            f.write(vcl + rules)
        os.makedirs(h.dir + "/varnish", exist_ok=True)
        return ["varnishd", "-F", "-j", "none", "-n", h.dir + "/varnish", "-a", "%s:%d" % (h.address, h.port), "-f", h.dir + "/resex.vcl",
                "-s", "default=malloc,%s" % self.memory, "-p", "thread_pools=2", "-p", "thread_pool_min=20"]

    def start(self):
        self.start_database()
        self.write_settings()
        if self.cached:
            for h in self.hosts:
                h.start_cached()
            for h in self.hosts:
                until(lambda h=h: self.is_ready(h), lambda h=h: "resex-cached of %s: %s" % (h.name, h.tail("cached")))
        for h in self.apps:
            h.start_server()
        for h in self.proxies:
            h.spawn_server()
        for h in self.proxies:
            h.await_server()

    def is_ready(self, h):
        if h.cached.poll() is not None:
            raise Failed("resex-cached of %s ended: %s" % (h.name, h.tail("cached")))
        i = h.info()
        return i.get("in") if h.role == "app" else i.get("usable") == len(self.apps)

    def load(self, proxies, *words, **more):
        """resex-cacheload against these addresses: a process."""
        w = [self.build + "/resex-cacheload", "-j"]
        for h in proxies:
            w += ["-p", "%s:%d" % (h.address, h.port)]
        for a in self.apps:
            w += ["-a", "%s:%d" % (a.address, a.port)]
        return subprocess.Popen(w + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def close(self, keep=False):
        for h in self.hosts:
            h.end()
        if self.backend == "pgsql" and os.path.isdir(self.pg_dir):
            self.pg("stop")
        if not keep:
            shutil.rmtree(self.top, ignore_errors=True)
