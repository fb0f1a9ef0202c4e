#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hosts: three resexd that share memory: one hangs and goes on, another dies while it holds a lock.

usage: hosts.py BUILD-DIRECTORY [-j | --test]

The daemons, their memory (shm) and the locks are real; the hypervisors and guests are SIMULATED. Nodes
go from one service to another by resex move, which needs the locks of both. xen2 is killed while it
holds one of them. Nobody tells xen1: it waits until the lease of xen2 is over, and then has the lock.
Each step fits 78 x 24 characters. -j prints one JSON object; --test checks what was promised.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

WIDTH, HEIGHT = 78, 24
HOSTS = ("xen1", "xen2", "xen3")
HOLD_S, TIMEOUT_S = 1, 1
PATIENCE_S = 30
LOOK_S = 0.01
# xen2 gets a node for one of these. Their locks were never used: so it waits for a lease, while it holds
# that of web. That is seen, but for a machine that is busy for as long; then the next one serves.
UNUSED = ("db", "queue", "archive")
SERVICES = {"web": "xen1", "mail": "xen1", **dict.fromkeys(UNUSED, "xen2")}  # and who balances it
NODES = (("n1", "xen1", None, "web"), ("n2", "xen1", "server", "web"),
         ("n3", "xen3", None, "mail"), ("n4", "xen3", "server", "mail"))
FIGURES = ("silent_s", "back_s", "first_move_s", "free_s", "up_again_s", "seconds", "tries")
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    pass


class Bed:
    """Three hosts in one folder."""

    def __init__(self, build, top):
        self.build, self.top, self.daemon, self.others, self.said = build, top, {}, [], {}

    def path(self, name, what):
        return "%s/%s/%s" % (self.top, name, what)

    def start(self):
        os.mkdir(self.top + "/shm")
        with open(os.open(self.top + "/key", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write(os.urandom(32).hex() + "\n")
        for name in HOSTS:
            self.write(name)
            self.start_host(name)
        for name in HOSTS:
            self.until(lambda n=name: self.is_ready(n), "%s sees the others, and knows all locks and nodes" % name)

    def write(self, name):
        os.makedirs(self.path(name, "state"))
        # xen2 looks at locks more rarely: so it holds the first one for longer before it has the second.
        scan = "500ms" if name == "xen2" else "50ms"
        cluster = {"cluster": "demo", "host": name, "transport": "shm", "key_file": self.top + "/key",
                   "heartbeat": "50ms", "scan": scan, "load": {"scan": scan},
                   "timeout": "%ds" % TIMEOUT_S, "hold": "%ds" % HOLD_S,
                   "hosts": [{"name": h, "number": i, "address": self.top + "/shm"} for i, h in enumerate(HOSTS, 1)],
                   "services": [{"name": s, "number": i, "minimum": int(s not in UNUSED), "balancers": [host]}
                                for i, (s, host) in enumerate(SERVICES.items(), 1)],
                   "nodes": [{"name": n, "number": i, "host": host, "service": service, **({"guest": guest} if guest else {})}
                             for i, (n, host, guest, service) in enumerate(NODES, 1)],
                   "reconf": {"mode": "observe", "S": "500ms", "T": "5s"}}
        daemon = {"links": [{"name": "sim0", "rate": "1GiB/s"}], "lock_memory": False, "socket": self.path(name, "sock"),
                  "state_dir": self.path(name, "state"), "lock_file": self.path(name, "lock"),
                  "cluster_file": self.path(name, "cluster.json")}
        for file, what in (("cluster", cluster), ("resexd", daemon)):
            with open(self.path(name, file + ".json"), "w", encoding="utf-8") as f:
                json.dump(what, f)

    def start_host(self, name):
        """In a session of its own: ^C is for this program, which ends them."""
        with open(self.path(name, "log"), "a", encoding="utf-8") as log:
            self.daemon[name] = subprocess.Popen(
                [self.build + "/resexd", "--hv", "sim", "-c", self.path(name, "resexd.json")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def signal(self, name, number):
        self.daemon[name].send_signal(number)
        if number == signal.SIGKILL:
            self.daemon[name].wait()

    def ask(self, name, method):
        """A method's rows; None: no answer. Over the socket itself: it is quicker than resex."""
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(PATIENCE_S)
                s.connect(self.path(name, "sock"))
                s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"%s"}\n' % method.encode())
                said = b""
                while not said.endswith(b"\n"):
                    more = s.recv(65536)
                    if not more:
                        return None
                    said += more
            return json.loads(said).get("result")
        except OSError:
            return None

    def rows(self, name, method, key):
        """By name."""
        said = self.ask(name, method)
        return {r[key]: r for r in (said or {}).get(method.split("-")[0] + "s", [])}

    def host(self, name, of):
        return self.rows(name, "host-list", "name").get(of, {})

    def lock(self, name, of):
        return self.rows(name, "lock-list", "service").get(of, {})

    def is_ready(self, name):
        hosts, locks = self.rows(name, "host-list", "name"), self.rows(name, "lock-list", "service")
        return (len(hosts) == len(HOSTS) and all(h["state"] in ("self", "up") and h.get("guests") == 2 for h in hosts.values())
                and locks and all(k["state"] == "free" for k in locks.values())
                and self.knows_nodes(name))

    def knows_nodes(self, name):
        nodes = self.rows(name, "node-list", "node")
        return bool(nodes) and all(n["service"] for n in nodes.values())

    def until(self, holds, what):
        """The seconds until it holds."""
        began = time.monotonic()
        while not holds():
            for name, p in self.daemon.items():
                if p.poll() not in (None, -signal.SIGKILL):
                    raise Failed("resexd of %s has ended\n%s" % (name, self.logs()))
            if time.monotonic() - began > PATIENCE_S:
                raise Failed("not within %d s: %s\n%s" % (PATIENCE_S, what, self.logs()))
            time.sleep(LOOK_S)
        return time.monotonic() - began

    def resex(self, name, *words):
        """The lines of a command, run as a user would on that host; a verb that fails is a fault."""
        p = self.order(name, *words)
        out = p.communicate(timeout=PATIENCE_S)[0]
        self.others.remove(p)
        if p.returncode:
            raise Failed("%s: resex %s: %s" % (name, " ".join(words), out.strip()))
        return out.splitlines()

    def order(self, name, *words):
        p = subprocess.Popen([self.build + "/resex", "-s", self.path(name, "sock"), *words], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                             env={**os.environ, "COLUMNS": str(WIDTH), "LC_ALL": "C.UTF-8"})
        self.others.append(p)
        return p

    def logs(self):
        text = []
        for name in HOSTS:
            if os.path.exists(self.path(name, "log")):
                with open(self.path(name, "log"), encoding="utf-8", errors="replace") as f:
                    text.append("%s: %s" % (name, f.read()[-500:]))
        return "\n".join(text)

    def close(self):
        """Also one that is stopped."""
        for p in [*self.others, *self.daemon.values()]:
            if p.poll() is None:
                p.terminate()
                p.send_signal(signal.SIGCONT)
        for p in [*self.others, *self.daemon.values()]:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


class Screen:
    """Steps, printed as they are made; all of them are kept for the test."""

    def __init__(self, quiet):
        self.quiet, self.steps = quiet, []

    def step(self, text):
        self.steps.append([])
        number = "%d  " % len(self.steps)
        self.say("", *textwrap.wrap(text, WIDTH, initial_indent=number, subsequent_indent="   "))

    def note(self, text):
        self.say(*textwrap.wrap(text, WIDTH, initial_indent="   ", subsequent_indent="   "))

    def say(self, *lines):
        self.steps[-1] += lines
        if not self.quiet:
            print("\n".join(lines), flush=True)

    def show(self, bed, name, *words):
        self.say("%s# resex %s" % (name, " ".join(words)), *bed.resex(name, *words))

    def fits(self):
        return all(len(s) <= HEIGHT and max(map(len, s)) <= WIDTH for s in self.steps)


# --- the steps ----------------------------------------------------------------------


def know_each_other(bed, screen, out):
    bed.start()
    out["hosts"] = len(bed.rows("xen1", "host-list", "name"))
    screen.step("Three hosts read each other's memory. SIMULATED: their hypervisors and guests. "
                "Real: the three resexd on this machine, their memory (shm), what they do.")
    screen.show(bed, "xen1", "host-list")


def hang(bed, screen, out):
    """xen3 is stopped, and goes on."""
    began = time.monotonic()
    bed.signal("xen3", signal.SIGSTOP)
    screen.step("xen3 hangs (SIGSTOP). Others can still read its memory: no process of xen3 is "
                "needed for that. But its heartbeat stands still.")
    bed.until(lambda: bed.host("xen1", "xen3").get("state") == "silent", "xen3 is silent")
    out["silent_s"] = time.monotonic() - began
    out["silent_note"] = bed.host("xen1", "xen3").get("note")
    screen.note("%.1f s later:" % out["silent_s"])
    screen.show(bed, "xen1", "host-list")
    bed.signal("xen3", signal.SIGCONT)
    out["back_s"] = bed.until(lambda: bed.host("xen1", "xen3").get("state") == "up", "xen3 is up again")
    screen.note("It goes on (SIGCONT): up again after %.2f s." % out["back_s"])


def move(bed, screen, out):
    """The first use of the locks of web and mail."""
    screen.step("web gets a node of mail. xen1 needs the locks of both services. They are new: so "
                "it waits first, as for a holder that it does not know.")
    began = time.monotonic()
    screen.show(bed, "xen1", "move", "n3", "web")
    out["first_move_s"] = time.monotonic() - began
    screen.note("That took %.1f s." % out["first_move_s"])


def held(bed):
    return bed.lock("xen1", "web").get("owner") == "xen2"


def read_since(bed, at):
    """xen1 has read the lock of web since then."""
    asked = time.monotonic()
    return (bed.lock("xen1", "web")["age_ms"] + 1) / 1000 < asked - at


def undo(bed):
    """All as before the move, after one that was too quick to be seen."""
    if bed.daemon["xen2"].poll() is not None:
        bed.start_host("xen2")
    bed.until(lambda: bed.host("xen1", "xen2").get("state") == "up" and bed.knows_nodes("xen1") and
              bed.knows_nodes("xen2"), "xen2 is up again")
    if bed.rows("xen1", "node-list", "node")["n1"]["service"] != "web":
        bed.resex("xen1", "move", "n1", "web")
    bed.until(lambda: bed.rows("xen2", "node-list", "node")["n1"]["service"] == "web", "xen2 knows that n1 serves web")


def kill_holder(bed, taker):
    """xen2 is killed while it holds the lock of web. When; None: it released the lock before."""
    order = bed.order("xen2", "move", "n1", taker)
    bed.until(lambda: held(bed) or order.poll() is not None, "xen2 holds the lock of web")
    seen = held(bed)
    if seen:
        bed.signal("xen2", signal.SIGKILL)
    at = time.monotonic()
    order.communicate()
    bed.others.remove(order)
    if not seen:
        return None
    bed.until(lambda: bed.host("xen1", "xen2").get("state") == "down" and read_since(bed, at),
              "xen1 knows that xen2 is down")
    return at if held(bed) else None


def die(bed, screen, out):
    for taker in UNUSED:
        out["tries"] += 1
        killed = kill_holder(bed, taker)
        if killed:
            break
        undo(bed)
    else:
        raise Failed("%d times xen2 was not seen to hold the lock of web: this machine is too busy" % len(UNUSED))
    screen.step("%s gets a node of web. xen2 has the lock of web, and waits for that of %s. "
                "It is killed (SIGKILL), and cannot release the lock any more." % (taker, taker))
    screen.say("xen2# resex move n1 %s" % taker)
    lock = bed.lock("xen1", "web")
    out["held_by"], out["held_fence"] = lock["owner"], lock["fence"]
    out["holder_state"] = bed.host("xen1", "xen2")["state"]
    screen.show(bed, "xen1", "lock-list")
    return killed


def wait_for_lease(bed, screen, out, killed):
    screen.step("xen1 needs the lock of web. It asks nobody: after hold + timeout (%d s) without a "
                "change xen2 can do nothing under the lock any more, even if it still lived." % (HOLD_S + TIMEOUT_S))
    screen.show(bed, "xen1", "move", "n3", "mail")
    out["moved"] = True
    bed.until(lambda: bed.lock("xen1", "web").get("state") != "held", "the lock of web is not held")
    out["free_s"] = time.monotonic() - killed
    lock = bed.lock("xen1", "web")
    out["free_state"], out["free_fence"] = lock["state"], lock["fence"]
    screen.note("%.1f s after xen2 died:" % out["free_s"])
    screen.show(bed, "xen1", "lock-list")
    screen.note("FENCE grew: what xen2 had still under way would find another number.")


def come_back(bed, screen, out):
    screen.step("xen2 starts again.")
    began = time.monotonic()
    bed.start_host("xen2")
    bed.until(lambda: bed.host("xen1", "xen2").get("state") == "up", "xen2 is up again")
    out["up_again_s"] = time.monotonic() - began
    out["generation"] = bed.host("xen1", "xen2")["generation"]
    screen.note("%.1f s later:" % out["up_again_s"])
    screen.show(bed, "xen1", "host-list")


def run(build, quiet):
    """(the screen, what was seen)"""
    top = tempfile.mkdtemp(prefix="resex-demo-")
    bed, screen = Bed(build, top), Screen(quiet)
    out = {"simulated": True, "hold_s": HOLD_S, "timeout_s": TIMEOUT_S, "tries": 0}
    began = time.monotonic()
    try:
        know_each_other(bed, screen, out)
        hang(bed, screen, out)
        move(bed, screen, out)
        wait_for_lease(bed, screen, out, die(bed, screen, out))
        come_back(bed, screen, out)
        out["seconds"] = time.monotonic() - began
    finally:
        for number in ENDS:
            signal.signal(number, signal.SIG_IGN)  # nothing stops the cleaning
        bed.close()
        shutil.rmtree(top, ignore_errors=True)
    return screen, {k: round(v, 3) if isinstance(v, float) else v for k, v in out.items()}


# --- the test -----------------------------------------------------------------------


def processes_of(folder):
    """Numbers of the processes whose command line names something in the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if folder.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def interrupted(build, number):
    """The demo gets a signal in its second step, while xen3 is stopped: (exit status, what is left)."""
    folder = tempfile.mkdtemp(prefix="resex-demo-test-")
    try:
        p = subprocess.Popen([sys.executable, os.path.abspath(__file__), build], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder}, start_new_session=True)
        for line in p.stdout:
            if line.startswith("2  "):
                break
        lived = len(processes_of(folder))
        os.killpg(p.pid, number)
        p.stdout.read()
        return p.wait(), lived, os.listdir(folder) + processes_of(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fence(text):
    return [int(n) for n in text.split(".")]


def judge(build, screen, seen):
    """Print one line for each claim; the number of claims that fail."""
    doc = json.loads(as_json(seen))
    ends = {n.name: interrupted(build, n) for n in (signal.SIGINT, signal.SIGTERM)}
    claims = (
        ("-j has all figures, as numbers", all(isinstance(doc.get(k), (int, float)) for k in FIGURES)),
        ("three hosts saw each other", doc["hosts"] == 3),
        ("a host that hung was silent, not before its time, and its note says why: %s" % doc["silent_note"],
         doc["silent_s"] > TIMEOUT_S / 2 and "no heartbeat" in doc["silent_note"]),
        ("xen2 was down, and held the lock", (doc["held_by"], doc["holder_state"]) == ("xen2", "down")),
        ("the lock was free, but not before the lease of the dead was over",
         doc["free_state"] == "free" and doc["free_s"] >= HOLD_S + TIMEOUT_S),
        ("FENCE grew: %s, %s" % (doc["held_fence"], doc["free_fence"]), fence(doc["held_fence"]) < fence(doc["free_fence"])),
        ("the node was moved, and xen2 came back", doc["moved"] and doc["generation"] > 1),
        ("each of %d steps fits %d x %d" % (len(screen.steps), WIDTH, HEIGHT), len(screen.steps) == 6 and screen.fits()),
        ("^C and SIGTERM leave nothing: %s" % ends,
         all(lived >= 3 and not left for _, lived, left in ends.values()) and
         (ends["SIGINT"][0], ends["SIGTERM"][0]) == (130, 143)),
    )
    for text, holds in claims:
        print("%s %s" % ("pass" if holds else "FAIL", text))
    failed = sum(not holds for _, holds in claims)
    print("demo --hosts: %d passed, %d failed" % (len(claims) - failed, failed))
    return failed


def as_json(seen):
    return json.dumps(seen)


def main():
    words = sys.argv[1:]
    if not 1 <= len(words) <= 2 or words[1:] not in ([], ["-j"], ["--test"]):
        sys.exit("usage: hosts.py BUILD-DIRECTORY [-j | --test]")
    for number in ENDS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        screen, seen = run(os.path.abspath(words[0]), bool(words[1:]))
        if words[1:] == ["--test"]:
            sys.exit(1 if judge(words[0], screen, seen) else 0)
        if words[1:] == ["-j"]:
            print(as_json(seen))
    except Failed as e:
        sys.exit("demo: %s" % e)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of stdout is gone
        sys.exit(141)


main()
