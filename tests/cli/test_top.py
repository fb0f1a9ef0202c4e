#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_top: resex top as people use it: in a terminal emulator, beside a simulated host and beside a daemon that says what the test wants.

usage: test_top.py [BUILD]

Exit: 0, 1 when something was not as it should be, 77 when python3-pyte is missing (1 with CI=true).
"""
import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
SKIP = 1 if os.environ.get("CI") == "true" else 77
LIMIT = 20  # s: of each wait, on a machine that has much else to do
wrong = []


def check(good, what, *seen):
    if not good:
        print("FAIL %s: %s" % (what, " ".join(map(str, seen))))
        wrong.append(what)


class Stuck(Exception):
    """A wait was too long: what else its part of the test waits for would be as long."""


def brief(guests):
    """As resex-control(7) says: an array of all guests for each figure."""
    of = [{**g, **g["rates"], "latency_us": g["rates"]["latency_us"]["mean"], "latency_p99_us": g["rates"]["latency_us"]["p99"]} for g in guests]
    return {key: [g[key] for g in of] for key in of[0] if key != "rates"}


class Fake:
    """A daemon that answers each method with what replies has, or with nothing while it is deaf."""

    def __init__(self, path):
        self.path, self.replies, self.deaf = path, {}, False
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.server.accept()[0],), daemon=True).start()

    def serve(self, conn):
        for line in conn.makefile():
            request = json.loads(line)
            while self.deaf:
                time.sleep(0.02)
            result = self.replies.get(request["method"])
            if callable(result):
                result = result(request["params"])
            if isinstance(result, dict) and request["params"].get("brief"):
                result = dict(result, guests=brief(result["guests"]))
            reply = {"jsonrpc": "2.0", "id": request["id"]}
            if result is None or isinstance(result, str):
                reply["error"] = {"code": -32015, "message": result or "this host is in no cluster"}
            else:
                reply["result"] = result
            try:
                conn.sendall(json.dumps(reply).encode() + b"\n")
            except OSError:
                return


class Term:
    """A command at a terminal: what it wrote (raw), what is seen (pyte), keys, sizes."""

    def __init__(self, argv, rows=24, cols=80, **env):
        self.screen = pyte.Screen(cols, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.master, slave = os.openpty()
        self.size(rows, cols)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.child = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "LINES": "3", "COLUMNS": "7", **env})

    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.screen.resize(rows, cols)

    def pump(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            data = os.read(self.master, 65536)
            self.raw += data
            self.stream.feed(data)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, pattern, what, limit=LIMIT):
        end = time.monotonic() + limit
        while not re.search(pattern, self.text(), re.M):
            if time.monotonic() > end:
                raise Stuck(what, "no %r in\n%s" % (pattern, self.text()))
            self.pump()

    def key(self, keys, pattern, what):
        os.write(self.master, keys)
        self.until(pattern, what)

    def ended(self, what, code=0):
        end = time.monotonic() + LIMIT
        while self.child.poll() is None and time.monotonic() < end:
            self.pump()
        while select.select([self.master], [], [], 0)[0]:
            self.pump(0)
        check(self.child.poll() == code, what + ": exit status", self.child.poll(), self.text())
        self.given_back(what)
        self.leave()
        os.close(self.master)
        os.close(self.slave)

    def given_back(self, what):
        check(termios.tcgetattr(self.slave) == self.before, what + ": the terminal's modes are as before")
        check(self.raw.count(b"\x1b[?1049h") == self.raw.count(b"\x1b[?1049l"), what + ": the screen is given back")
        check(self.raw.rfind(b"\x1b[?25h") >= self.raw.rfind(b"\x1b[?25l"), what + ": the cursor is seen")

    def leave(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(LIMIT)


def guest(i, name, sent):
    return {"name": name, "uuid": "u%d" % i, "domid": i, "vcpus": 1, "weight": 256, "state": "managed", "rings": 1, "cap": 20,
            "allocated": 1000.0, "balance": 500.0,
            "rates": {"span_us": 1000000, "mtus_sent_s": 1000, "mtus_recv_s": 2000, "bytes_sent_s": sent, "bytes_recv_s": 1e6,
                      "cpu_percent": 10.0 + i, "resos_percent": 50, "capped_percent": 30, "latency_us": {"mean": 200.5, "p99": 300}}}


def listed(*guests, **more):
    return dict({"simulated": True, "epoch": 3, "policy": "ioshares", "guests": list(guests)}, **more)


def replies():
    return {"list": listed(guest(1, "web", 1e6), guest(2, "bulk", 5e6)), "info": {"ticks": 1000, "late_ticks": 0},
            "why": lambda p: {"guests": [{"uuid": p["guest"], "text": "because of " + p["guest"]}]},
            "ring-list": lambda p: {"guests": [{"uuid": p["guest"], "attached": True, "fault": "", "rings": [
                {"qpn": 7, "kind": "SQ", "pid": 1, "comm": "app-" + p["guest"], "wrs": 1}]}]}}


def batch(resex, fake, has_screen):
    fake.replies = replies()
    r = subprocess.run([*resex, "top", "-bn2", "-d0.1", "-o", "name"], capture_output=True, text=True, timeout=LIMIT,
                       env={**os.environ, "COLUMNS": "200"})
    head = "SIMULATED  resex top  2 guests  ioshares  epoch 3  0.0 % of ticks late\n" \
        "NAME                     SENT-MB/s RECV-MB/s CPU-% BALANCE-%     CAP-% CAPPED-% MEAN-us P99-us SPENT-% " \
        "SENT-MTU/s RECV-MTU/s WEIGHT VCPUS    ID RINGS STATE\n"
    rest = "  1.0 %5.1f ||     50 |      20       30   200.5  300.0      50       1000       2000    256     1%6d     1 managed\n"
    one = head + "bulk                           5.0     " + rest % (12, 2) + "web                            1.0     " + rest % (11, 1)
    check(r.returncode == 0 and r.stdout == one + "\n" + one and not r.stderr, "-b to the byte", r, "\n" + one)
    r = subprocess.run([*resex, "top", "-bn1"], capture_output=True, text=True, timeout=LIMIT,
                       env={k: v for k, v in os.environ.items() if k != "COLUMNS"})
    check(max(map(len, r.stdout.splitlines())) == 80 and "P99-us\nweb " in r.stdout.replace("bulk ", "web "), "-b in a pipe", r)
    r = subprocess.run([*resex, "-j", "top", "-n", "2", "-d", ".1", "-o", "-cpu"], capture_output=True, text=True, timeout=LIMIT)
    rounds = [json.loads(line) for line in r.stdout.splitlines()]
    check(len(rounds) == 2 and [g["name"] for g in rounds[1]["list"]["guests"]] == ["web", "bulk"]
          and rounds[0]["host-list"] is None and rounds[0]["info"]["ticks"] == 1000, "-j, sorted the other way round", r)
    for words, code, said in (
            (["-d", "0.01"], 2, "\"0.01\" is not a number of seconds"), (["-d", "nan"], 2, "is not a number of seconds"),
            (["-n", "0"], 2, "-n takes 1 round or more"), (["-o", "size"], 2, "there is no column \"size\": give one of name, sent"),
            (["bulk"], 2, "unexpected argument"), ([], 2, "top needs a terminal" if has_screen else "was built without ncurses: use --batch or --json")):
        r = subprocess.run([*resex, "top", *words], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
        check(r.returncode == code and said in r.stderr and not r.stdout, "top %s" % words, r)
    r = subprocess.run([resex[0], "-s", fake.path + ".none", "top", "-b"], capture_output=True, text=True, timeout=LIMIT)
    check(r.returncode == 7 and "cannot reach resexd" in r.stderr and not r.stdout, "-b without a daemon", r)
    evil = "e\x1b[2J\x9b31m\x07\u202eend"
    for replies_of, printed in ((listed(guest(1, evil, 1)), "e?[2J?31m??end"), (evil, "end")):
        rounds = iter([listed(guest(1, "web", 1)), replies_of])
        fake.replies["list"] = lambda p, rounds=rounds: next(rounds)
        r = subprocess.run([*resex, "top", "-b", "-n", "2", "-d", "0.1"], capture_output=True, timeout=LIMIT,
                           env={**os.environ, "COLUMNS": "200"})
        text = r.stdout.decode() + r.stderr.decode()
        check(printed in text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), "-b of hostile texts", r)
    fake.replies = replies()
    fake.deaf = True
    r = subprocess.run([*resex, "top", "-b", "-n", "1"], capture_output=True, text=True, timeout=LIMIT)
    fake.deaf = False
    check(r.returncode == 7 and "has not answered for 2 s" in r.stderr and not r.stdout, "-b beside a daemon that hangs", r)


def keys(resex, fake):
    fake.replies = replies()
    t = Term([*resex, "top", "-d", "0.1"])
    t.until(r"^u?bulk +5\.0.*\nweb +1\.0.*\nbulk: because of u2\n.*\n.*app-u2", "guests, why and rings")
    t.key(b"\x1bOB", r"^web: because of u1\n.*\n.*app-u1", "Down")
    t.key(b"k", r"^bulk: because of u2", "k")
    t.key(b"j", r"^web: because of u1", "j")
    t.key(b"\x1bOA", r"^bulk: because of u2", "Up")
    t.key(b"\x1bOF", r"^web: because", "End")
    t.key(b"\x1bOH", r"^bulk: because", "Home")
    t.key(b"\x1b[6~", r"^web: because", "PgDn")
    t.key(b"\x1b[5~", r"^bulk: because", "PgUp")
    t.key(b"r", r"^web .*\nbulk ", "r")
    t.key(b"<", r"^bulk .*\nweb ", "<: by name")
    t.key(b"\x1bOC", r"^bulk .*\nweb ", "Right: by what was sent")
    t.key(b">>", r"^bulk +5\.0.*\nweb ", ">: by CPU")
    t.key(b"\x1bOD", r"^bulk +5\.0.*\nweb ", "Left: by what was received, then by name")
    t.key(b"?", r"^Tab, 1, 2 ", "?")
    t.key(b"h", r"^NAME ", "h again")
    t.key(b"\t", r"^this host is in no cluster", "Tab")
    t.key(b"1", r"^NAME ", "1")
    fake.replies["host-list"] = {"cluster": "c", "quorate": True, "hosts": [{"name": "xen1", "state": "up"}]}
    fake.replies["lock-list"] = {"locks": [{"service": "shop", "state": "held"}]}
    t.key(b"2", r"^xen1 +up[\s\S]*^shop +held", "2")
    t.key(b"1 ", r"^NAME ", "Space")
    for rows, cols, pattern in ((1, 1, r"^r$"), (8, 40, r"^NAME .*CPU-%$"), (5, 20, r"^resex top needs 40$"),
                                (50, 200, r"STATE$"), (24, 80, r"P99-us$")):
        t.size(rows, cols)
        t.until(pattern, "a terminal of %d x %d" % (cols, rows))
    fake.replies["list"] = listed(guest(1, "web", 1e6), guest(2, "renamed", 5e6))
    t.until(r"^renamed: because of u2", "a guest that is renamed stays chosen")
    fake.replies["list"] = listed(*(guest(i, "g%d" % i, 1e9 - 1e6 * i) for i in range(256)))
    t.until(r"256 guests", "256 guests")
    t.key(b"\x1bOF<<<", r"^g", "256 guests by name")
    evil = ["\x1b]0;title\x07", "a\x1b[2Jb", "\x9b31mc", "\u202egnp", "\x7f\r\ndef"]
    t.raw, seen = b"", t.raw
    fake.replies["list"] = listed(*(guest(i, name, i) for i, name in enumerate(evil)))
    t.until(r"^\?gnp", "hostile names")
    fake.replies["why"] = lambda p: {"guests": [{"uuid": p["guest"], "text": "\x1b[2J\x1b]0;t\x07because"}]}
    t.until(r"\?\[2J\?\]0;t\?because", "a hostile sentence")
    for bad in (b"\x1b]0", b"\x07", b"\x1b[2J", b"\xc2\x9b", b"\xe2\x80\xae", b"\x7f"):
        check(bad not in t.raw, "no %r reaches the terminal" % bad)
    t.raw = seen + t.raw
    fake.deaf = True
    t.until(r"^resexd has not answered for \d+ s; the rows are", "a daemon that hangs")
    t.key(b"h", r"^Tab, 1, 2 ", "a key while it hangs")
    t.key(b"q", r"", "q while it hangs")
    fake.deaf = False
    t.ended("q")


def ends(resex, fake):
    fake.replies = replies()
    for what in (b"\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        t = Term([*resex, "top"])
        t.until(r"^bulk: because", "top")
        if isinstance(what, bytes):
            os.write(t.master, what)
        else:
            t.child.send_signal(what)
        t.ended(repr(what))
    t = Term([*resex, "top"])
    t.until(r"^bulk: because", "top")
    os.close(t.master)
    os.close(t.slave)
    check(t.child.wait(LIMIT) == 0, "a terminal that is gone: exit status", t.child.returncode)
    t = Term([*resex, "top", "-n", "1"])
    t.ended("-n 1")
    # ncurses does not free all of a terminal that newterm(3) does not know.
    t = Term([*resex, "top"], TERM="no-such", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    t.until(r"no-such", "a terminal that is not known")
    t.ended("a terminal that is not known", 2)
    job = 'set -m; "$@"; echo "stopped $?"; read -r x; fg >/dev/null; echo "ended $?"'
    t = Term(["bash", "--norc", "--noprofile", "-c", job, "job", *resex, "top"])
    t.until(r"^bulk: because", "top as a job")
    t.key(b"\x1a", r"stopped 148", "^Z stops it")
    t.given_back("^Z")
    t.screen.reset()
    t.key(b"\n", r"^bulk: because", "fg draws all of it anew")
    t.key(b"h", r"^Tab, 1, 2 ", "and keys work")
    t.key(b"q", r"ended 0", "and it ends")
    t.ended("a job")


def daemon(resex, directory):
    conf = directory + "/c.json"
    with open(conf, "w", encoding="utf-8") as f:
        json.dump({"links": [{"name": "sim0", "rate": "1GiB/s", "profile": "paper-2011"}], "lock_memory": False, "socket": resex[2],
                   "state_dir": directory + "/state", "lock_file": directory + "/lock"}, f)

    os.mkdir(directory + "/state")
    log = open(directory + "/log", "w+b")

    def start():
        return subprocess.Popen([BUILD + "/resexd", "--hv", "sim", "-c", conf], stderr=log)

    d = start()
    t = Term([*resex, "top", "-d", "0.2"])
    try:
        t.until(r"^SIMULATED[\s\S]*^bulk [\s\S]*^server ", "a simulated host")
        t.until(r"sim-sender|sim-server", "its rings")
        d.send_signal(signal.SIGSTOP)
        t.until(r"^resexd has not answered for", "resexd is stopped")
        t.key(b"\x1bOF", r"", "a key meanwhile")
        d.send_signal(signal.SIGCONT)
        t.until(r"^SIMULATED.*\n\n", "resexd goes on")
        d.kill()
        d.wait(LIMIT)
        t.until(r"^(resexd at .* closed the connection|cannot reach resexd at)", "resexd is killed")
        d = start()
        t.until(r"^resexd was started anew \d+ s ago", "resexd is started anew")
        t.key(b"q", r"", "q")
        t.ended("beside resexd")
    finally:
        t.leave()
        d.kill()
        d.wait(LIMIT)
        log.seek(0)
        if wrong:
            print(log.read().decode("utf-8", "replace"))
        log.close()


def main():
    directory = tempfile.mkdtemp(prefix="resex-top-")
    try:
        fake = Fake(directory + "/fake")
        resex = [BUILD + "/resex", "-s", fake.path]
        with open("config.h" if os.path.exists("config.h") else BUILD + "/config.h", encoding="utf-8") as f:
            has_screen = "#define HAVE_NCURSES 1" in f.read()
        batch(resex, fake, has_screen)
        for part, arguments in (keys, (resex, fake)), (ends, (resex, fake)), (daemon, ([BUILD + "/resex", "-s", directory + "/sock"], directory)):
            if has_screen and pyte:
                try:
                    part(*arguments)
                except Stuck as stuck:
                    check(False, *stuck.args)
    finally:
        shutil.rmtree(directory)
    print("test_top: %d wrong" % len(wrong))
    if wrong:
        return 1
    if not has_screen:
        print("test_top: built without ncurses: text, JSON, and what is said of the screen")
        return 0
    if not pyte:
        print("test_top: python3-pyte was not found; on Debian: apt-get install python3-pyte")
        return SKIP
    return 0


try:
    import pyte
except ImportError:
    pyte = None
    # Debian's packages are for Debian's Python, which need not be the first one in PATH. It finds itself by its path.
    if os.path.realpath(sys.executable) != os.path.realpath("/usr/bin/python3") and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

if __name__ == "__main__":
    sys.exit(main())
