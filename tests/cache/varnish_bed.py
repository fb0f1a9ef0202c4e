# SPDX-License-Identifier: GPL-2.0-or-later
"""varnish_bed: a real varnishd with vmod_resex and etc/cache/resex.vcl, a ring whose versions the test moves (ringd), and
an origin that the test tells what to answer. One number is the database: each page shows it."""
import json
import os
import re
import socket
import subprocess
import threading
import time

PATIENCE_S = float(os.environ.get("RESEX_PATIENCE", "20"))  # varnish_plants.py has less
HOME = "/run/resex-cached/ring.sock"  # of the ring, in resex.vcl
BACKEND = """vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "%d"; }
"""
WRAP = BACKEND + """%s
# The test sees how long a copy is kept. Some responses ask for ESI; some requests go their own way, or begin anew.
sub vcl_recv {
	if (req.url ~ "^/pipe") { return (pipe); }
	if (req.url ~ "^/own") { return (pass); }
	if (req.url ~ "^/careless") { return (hash); }
}
sub vcl_backend_response { if (bereq.url ~ "^/esi") { set beresp.do_esi = true; } }
include "%s";
sub vcl_deliver {
	set resp.http.x-kept = obj.ttl + " " + obj.grace + " " + obj.keep;
	set resp.http.x-why = pages.why();
	set resp.http.x-version = pages.page() + " " + pages.version();
	if (req.url ~ "^/again" && req.restarts == 0) { return (restart); }
}
"""


class Failed(Exception):
    pass


def expect(good, what, *seen):
    if not good:
        raise Failed("%s: %s" % (what, " ".join(map(str, seen))))


def until(holds, what, patience_s=PATIENCE_S):
    """what: a text, or a function that makes it when it is needed."""
    end = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > end:
            raise Failed("not within %d s: %s" % (patience_s, what() if callable(what) else what))
        time.sleep(0.005)


class Message:
    """A request or a response: the words of its first line, its headers as (name, value), its body."""
    def __init__(self, words, headers, body):
        self.words, self.headers, self.body = words, headers, body

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name]

    def get(self, name):
        return ", ".join(self.all(name)) if self.all(name) else None

    def ours(self):
        """Inner headers, whatever they are."""
        return sorted(n.lower() for n, _ in self.headers if n.lower().startswith("resex-"))

    @property
    def status(self):
        return int(self.words[1])

    @property
    def is_hit(self):
        return len((self.get("x-varnish") or "").split()) == 2

    @property
    def state(self):
        """The database, as the page shows it."""
        return int(re.search(rb"state (\d+)", self.body).group(1))

    def __str__(self):
        return "%s %s %r" % (self.words, self.headers, self.body[:200])


def read_message(f, is_response, has_body=True):
    """None: the other end is closed. A body that breaks off is a Failed."""
    line = f.readline()
    if not line:
        return None
    words = line.decode("latin-1").split(None, 2)
    headers = []
    while True:
        line = f.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            break
        name, value = line.split(":", 1)
        headers.append((name, value.strip()))
    m = Message(words, headers, b"")
    if not has_body or (is_response and m.status == 304):
        return m
    if m.get("transfer-encoding") == "chunked":
        while True:
            n = int(f.readline() or b"0", 16)
            m.body += f.read(n)
            f.readline()
            if not n:
                break
    elif m.get("content-length"):
        m.body = f.read(int(m.all("content-length")[0]))
        if len(m.body) != int(m.all("content-length")[0]):
            raise Failed("a body that breaks off: %s" % m)
    elif is_response:
        m.body = f.read()
    return m


class Origin:
    """answer: by path, a function of the request and the ordinary answer that gives what is sent instead: a dict of
    changes (see reply), bytes, or None: the connection is closed."""
    def __init__(self, bed):
        self.bed, self.answer, self.seen, self.lock = bed, {}, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        with s, s.makefile("rb") as f:
            while True:
                try:
                    m = read_message(f, False)
                    if not m:
                        return
                    with self.lock:
                        self.seen.append(m)
                    said = self.reply(m)
                    if said:
                        s.sendall(said[0])
                    if not said or said[1]:
                        return
                except (OSError, Failed):
                    return

    def reply(self, m):
        """What is sent, and whether the connection ends then; None: nothing is."""
        page, state, version = m.get("resex-page"), self.bed.state, self.bed.version
        told = self.answer.get(m.words[1], lambda m: {})(m)
        if told is None or isinstance(told, (bytes, tuple)):
            return (told, True) if isinstance(told, bytes) else told
        body = told.get("body", b"state %d" % state)
        headers = [("Content-Type", "text/plain")] + told.get("headers", [])
        if told.get("length", True):
            headers.append(("Content-Length", str(len(body))))
        if page and told.get("registered", True):
            headers.append(("resex-version", "%s.%x" % (page, told.get("version", version))))
        text = "HTTP/1.1 %s\r\n" % told.get("status", "200 OK")
        text += "".join("%s: %s\r\n" % h for h in headers) + "\r\n"
        return text.encode("latin-1") + (b"" if m.words[0] == "HEAD" else body), not told.get("length", True)

    def asked(self, path, method=None):
        with self.lock:
            return [m for m in self.seen if m.words[1] == path and method in (None, m.words[0])]


class Ring:
    def __init__(self, program, path):
        self.p = subprocess.Popen([program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.read()

    def read(self):
        line = self.p.stdout.readline()
        expect(line, "ringd has ended", self.p.poll())
        return line.strip()

    def say(self, *words):
        self.p.stdin.write(" ".join(map(str, words)) + "\n")
        self.p.stdin.flush()
        return self.read()


class Bed:
    def __init__(self, top, build, source):
        self.top, self.build = top, build
        self.state, self.version, self.pages, self.loaded = 1, 0x40000001, 0, 0
        self.names = {}  # of VCLs that are loaded
        self.own = ""  # what the VCL has before it includes resex.vcl
        self.origin = Origin(self)
        self.socket = top + "/ring.sock"
        self.ring = Ring(build + "/tests/cache/ringd", self.socket)
        self.ring.say("version", "%x" % self.version)
        with open(source + "/etc/cache/resex.vcl") as f:
            self.vcl = f.read()
        expect(HOME in self.vcl and "timeout = 50ms" in self.vcl, "resex.vcl has the ring and its timeout")
        # A busy machine: an answer may be late.
        self.vcl = self.vcl.replace(HOME, self.socket).replace("timeout = 50ms", "timeout = 3s")
        self.start_varnish()

    def start_varnish(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        cc = "exec cc -std=gnu99 -O0 -fPIC -shared -Wl,-x -o %o %s"
        std = subprocess.run(["pkg-config", "--variable=vmoddir", "varnishapi"], stdout=subprocess.PIPE, text=True).stdout
        own = os.environ.get("RESEX_VMODDIR", self.build)  # vmod_mutants.sh
        params = {"vmod_path": own + ":" + std.strip(), "cc_command": cc, "thread_pools": "1", "thread_pool_min": "60",
                  "vsl_space": "4m", "vsl_mask": "-Debug", "cli_timeout": "300"}
        command = ["varnishd", "-F", "-n", self.top + "/varnish", "-j", "none", "-a", "127.0.0.1:%d" % self.port,
                   "-s", "malloc,4m", "-f", self.write_vcl("first", self.vcl)]
        self.names["", self.vcl] = "boot"
        for p in params.items():
            command += ["-p", "%s=%s" % p]
        self.log = open(self.top + "/varnishd.log", "w")
        self.varnishd = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        until(self.answers, "varnishd answers; see %s" % self.log.name, 60)

    def answers(self):
        expect(self.varnishd.poll() is None, "varnishd has ended", open(self.log.name).read())
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except OSError:
            return False

    def write_vcl(self, name, vcl):
        path = "%s/%s.vcl" % (self.top, name)
        with open(path, "w") as f:
            f.write(WRAP % (self.origin.port, self.own, path + ".resex"))
        with open(path + ".resex", "w") as f:
            f.write(vcl)
        return path

    def adm(self, *words):
        r = subprocess.run(["varnishadm", "-n", self.top + "/varnish"] + list(words), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        expect(r.returncode == 0, "varnishadm " + " ".join(words), r.stdout)
        return r.stdout

    def use(self, vcl, anew=False):
        """A VCL that is made of resex.vcl; it is loaded once, or anew. Returns its name. The one before stays: threads that
        are idle have it for a minute."""
        if anew or (self.own, vcl) not in self.names:
            self.names[self.own, vcl] = self.load(vcl)
        name = self.names[self.own, vcl]
        self.adm("vcl.use", name)
        return name

    def load(self, vcl):
        self.loaded += 1
        name = "v%d" % self.loaded
        self.adm("vcl.load", name, self.write_vcl(name, vcl))
        return name

    def update(self):
        """A commit, and the version of all pages moves, as homes see to it."""
        self.version += 1
        self.ring.say("version", "%x" % self.version)
        self.state += 1

    def forget(self):
        """What a test that failed has left."""
        for words in (("start",), ("hold", 0), ("why", 1), ("word", 0)):
            self.ring.say(*words)
        self.origin.answer.clear()
        self.update()
        path = self.page()
        until(lambda: self.get(path).get("x-why") == "verified", "the server is found again", 60)

    def page(self, prefix=""):
        self.pages += 1
        return "%s/p%d" % (prefix, self.pages)

    def on(self, path, answer):
        self.origin.answer[path] = answer if callable(answer) else lambda m: answer

    def send(self, path, headers=(), method="GET", body=b""):
        """A connection on which this was sent."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        text = "%s %s HTTP/1.1\r\nHost: www.example.com\r\nConnection: close\r\n" % (method, path)
        text += "".join("%s: %s\r\n" % h for h in headers)
        s.sendall(text.encode("latin-1") + b"\r\n" + body)
        return s

    def receive(self, s, method="GET"):
        with s, s.makefile("rb") as f:
            m = read_message(f, True, method != "HEAD")
        expect(m, "a response")
        return m

    def get(self, path, headers=(), method="GET", body=b""):
        return self.receive(self.send(path, headers, method, body), method)

    def together(self, n, path):
        """n requests at once. Returns a function that waits for their responses."""
        sent = [self.send(path) for _ in range(n)]
        return lambda: [self.receive(s) for s in sent]

    def stat(self, name):
        said = subprocess.run(["varnishstat", "-n", self.top + "/varnish", "-1", "-j", "-f", name], stdout=subprocess.PIPE,
                              text=True).stdout
        try:
            return sum(v["value"] for v in json.loads(said)["counters"].values())
        except ValueError as e:
            raise Failed("varnishstat -j prints no JSON (a quote in vmod_resex.vsc?): %s" % e) from None

    def close(self):
        self.varnishd.terminate()
        self.varnishd.wait()
        self.ring.p.stdin.close()
        self.ring.p.wait()
        self.log.close()
