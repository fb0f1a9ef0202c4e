# SPDX-License-Identifier: GPL-2.0-or-later
"""kinds: the faults of faults.py. Each is made at its moment, lasts, and is mended, by one function; true: it was made.

What is drawn stands in the schedule, which hangs on the seed alone: kind, variant, host, and four numbers from 0 to 1."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

from hosts import Failed, http, signal_to, tree, until
from stall import CUT

APPS, PROXIES = ("app1", "app2", "app3"), ("front1", "front2")
MOMENT_S = 2.5  # so long a moment is waited for
TRIES = 4

# Kind -> (function, variants, hosts, transports)
KINDS = {}


def kind(name, variants, hosts, transports=("shm", "tcp")):
    def put(fn):
        KINDS[name] = (fn, variants, hosts, transports)
        return fn
    return put


class Fault:
    def __init__(self, number, name, variant, host, draw):
        self.number, self.kind, self.variant, self.host, self.draw = number, name, variant, host, draw

    def __str__(self):
        return "%d: %s (%s) at %s, %s" % (self.number, self.kind, self.variant, self.host,
                                          " ".join("%.3f" % d for d in self.draw))


def schedule(seed, number, each, transport, kinds=None):
    """Of round so-and-so: so many of each kind, in an order that the seed gives. Variants take turns over the rounds."""
    rng, turns = random.Random("%d %d" % (seed, number)), random.Random(seed)
    rows = []
    for name, (_, variants, hosts, transports) in KINDS.items():
        first = turns.randrange(len(variants))
        if transport not in transports or (kinds and name not in kinds):
            continue
        n = each(name)
        for i in range(n):
            rows.append((name, variants[(first + number * n + i) % len(variants)], rng.choice(hosts),
                         tuple(rng.random() for _ in range(4))))
    rng.shuffle(rows)
    return [Fault(i, *row) for i, row in enumerate(rows)]


class Hands:
    """What faults need of a world."""
    def __init__(self, world, fresh_s, detect_s):
        self.w, self.net, self.fresh, self.detect = world, world.net, fresh_s, detect_s
        self.lease = detect_s + 2 * fresh_s
        self.why = {}  # a fault at this host was missed
        self.by_name = {h.name: h for h in world.hosts}

    def longer(self, draw):
        """Longer than all leases."""
        return self.lease * 1.2 + draw * self.lease

    def await_member(self, host):
        """Only a member has updates; a host that was removed comes back after a while."""
        end = time.monotonic() + 4
        while time.monotonic() < end:
            if host.info().get("in"):
                return True
            time.sleep(0.05)
        self.why[host.name] = "it is no member"
        return False

    def held(self, host, name, moment, draw, limit_s=3.0, skips=3):
        s = host.stalls[name]
        s.arm(moment, int(draw * skips), int(limit_s * 1000))
        came = s.passed(moment)
        if s.wait_held(MOMENT_S):
            return True
        self.why[host.name] = "%d came to %s" % (s.passed(moment) - came, moment)
        return False

    def make(self, fault):
        """true: it was made. What it did is mended."""
        fn = KINDS[fault.kind][0]
        host = self.by_name.get(fault.host)
        if host is None:
            return fn(self, fault, None)
        with host.lock:
            for _ in range(TRIES):
                if fn(self, fault, host):
                    return True
        return False


class CommitLock:
    """While it is held, no COMMIT of this member's updates ends: its transaction waits in the database."""
    def __init__(self, world, member):
        self.p = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-d", world.unix], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.say("SET lock_timeout = '2s'; SELECT pg_advisory_lock(77, %d); SELECT 'has';" % member)
        line = "first"
        while line and line.strip() != "has":  # the end of the file: there is no database now
            line = self.p.stdout.readline()

    def say(self, text):
        try:
            self.p.stdin.write(text + "\n")
            self.p.stdin.flush()
        except OSError:
            pass

    def release(self):
        try:
            self.p.stdin.close()
        except OSError:
            pass
        self.p.stdout.close()
        self.p.wait()


# --- updaters are killed ---------------------------------------------------------------------------

VICTIMS = {"cached": ["cached"], "server": ["server"], "both": ["server", "cached"]}


def kill_at(x, f, h, moment):
    names = VICTIMS[f.variant]
    if not x.await_member(h):
        return False
    # "before": half of them before anything of the update is sent, half when the database has all but COMMIT.
    if moment == "commit_unsent" and f.draw[0] < 0.5:
        moment = "commit_behind"
    # "in": half of them while the COMMIT is surely under way; it takes effect when its client is dead.
    lock = CommitLock(x.w, h.number) if moment == "commit_sent" and f.draw[0] < 0.5 else None
    try:
        if not x.held(h, "cached", moment, f.draw[1]):
            return False
        if moment == "commit_sent" and not lock:
            time.sleep(f.draw[2] * 0.001)
        x.w.kill(h, names)
        if lock:
            time.sleep(f.draw[2] * 0.3)
    finally:
        if lock:
            lock.release()
    h.stalls["cached"].let_go()
    time.sleep(f.draw[3] * 2 * x.lease)
    x.w.start_again(h, names)
    return True


@kind("killed before COMMIT", tuple(VICTIMS), APPS)
def killed_before(x, f, h):
    return kill_at(x, f, h, "commit_unsent")


@kind("killed in COMMIT", tuple(VICTIMS), APPS)
def killed_in(x, f, h):
    return kill_at(x, f, h, "commit_sent")


@kind("killed after COMMIT", tuple(VICTIMS), APPS)
def killed_after(x, f, h):
    # The application may have been told already: then both live as long as the answer takes.
    return kill_at(x, f, h, "committed")


# --- homes come back -------------------------------------------------------------------------------

@kind("home back within fresh", ("alone", "with its application"), APPS)
def back_within(x, f, h):
    if not x.await_member(h):
        return False
    names = ["cached"] if f.variant == "alone" else ["server", "cached"]
    time.sleep(f.draw[0] * 0.2)
    began = time.monotonic()
    x.w.kill(h, names)
    x.w.start_again(h, names[::-1])
    return time.monotonic() - began < x.fresh


@kind("home back beyond fresh", ("alone", "with its application"), APPS)
def back_beyond(x, f, h):
    if not x.await_member(h):
        return False
    names = ["cached"] if f.variant == "alone" else ["server", "cached"]
    x.w.kill(h, names)
    time.sleep(x.fresh * 1.1 + f.draw[0] * 2 * x.lease)
    x.w.start_again(h, names[::-1])
    return True


# --- what hangs ------------------------------------------------------------------------------------

def stop(pids, seconds):
    for pid in pids:
        signal_to(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        for pid in pids:
            signal_to(pid, signal.SIGCONT)
    return True


@kind("home stopped", ("cached", "with its application"), APPS)
def home_stopped(x, f, h):
    if not x.await_member(h):
        return False
    pids = [h.cached.pid] + ([h.server.pid] if f.variant != "cached" else [])
    return stop(pids, x.longer(f.draw[0]))


@kind("updater stopped", ("application",), APPS)
def updater_stopped(x, f, h):
    return stop([h.server.pid], x.longer(f.draw[0]))


@kind("proxy stopped", ("cached", "with Varnish"), PROXIES)
def proxy_stopped(x, f, h):
    pids = [h.cached.pid] + (tree(h.server.pid) if f.variant != "cached" else [])
    return stop(pids, x.longer(f.draw[0]))


@kind("Varnish stopped", ("all of it",), PROXIES)
def varnish_stopped(x, f, h):
    return stop(tree(h.server.pid), x.longer(f.draw[0]))


# Between a check and what follows: the moment, of which program, and how many may pass before.
THREADS = {
    "looked": ("cached", 3), "clock_read": ("cached", 400), "commit_unsent": ("cached", 3), "commit_behind": ("cached", 3),
    "commit_sent": ("cached", 3), "committed": ("cached", 3), "fill_begun": ("server", 40), "fill_ends": ("server", 40),
    "fill_ended": ("server", 40), "update_ends": ("server", 5),
}


def thread_held(x, f, h, name, moment, skips):
    seconds = x.longer(f.draw[0])
    if not x.held(h, name, moment, f.draw[1], seconds, skips):
        return False
    if not h.stalls[name].wait_gone(seconds + 3):
        raise Failed("%s of %s does not go on: %s" % (moment, h.name, f))
    return True


@kind("thread of an application server stopped", tuple(THREADS), APPS)
def thread_stopped(x, f, h):
    name, skips = THREADS[f.variant]
    return x.await_member(h) and thread_held(x, f, h, name, f.variant, skips)


@kind("thread that joins stopped", ("joined",), APPS)
def join_stopped(x, f, h):
    """The row is in, and the home does not know it yet."""
    x.w.kill(h, ["cached"])
    h.stalls["cached"].arm("joined", 0, int(1000 * x.longer(f.draw[0])))
    x.w.start_again(h, ["cached"])
    return h.stalls["cached"].wait_held(4) and h.stalls["cached"].wait_gone(x.longer(1) + 3)


@kind("thread of a proxy stopped", ("clock_read", "asked"), PROXIES)
def proxy_thread_stopped(x, f, h):
    if f.variant == "asked":
        return thread_held(x, f, h, "server", "asked", 200)
    return thread_held(x, f, h, "cached", "clock_read", 2000)


# --- cuts ------------------------------------------------------------------------------------------

def others(x, h):
    return [o.name for o in x.w.hosts if o is not h]


def cut(x, f, h, of, way):
    pairs = [(h.name, o) for o in of] if way != "in" else []
    pairs += [(o, h.name) for o in of] if way != "out" else []
    time.sleep(f.draw[1] * 0.1)
    x.net.cut(pairs)
    try:
        time.sleep(x.longer(f.draw[0]))
    finally:
        x.net.cut(pairs, False)
    return True


@kind("cut off from hosts", ("both ways",), APPS + PROXIES, ("tcp",))
def cut_hosts(x, f, h):
    return cut(x, f, h, others(x, h), "")


@kind("cut off from hosts, one way", ("out", "in"), APPS + PROXIES, ("tcp",))
def cut_hosts_one_way(x, f, h):
    return cut(x, f, h, others(x, h), f.variant)


@kind("cut off from the database", ("both ways",), APPS)
def cut_database(x, f, h):
    return cut(x, f, h, ["db"], "")


@kind("cut off from the database, one way", ("out", "in"), APPS)
def cut_database_one_way(x, f, h):
    return cut(x, f, h, ["db"], f.variant)


@kind("cut off from both", ("both ways",), APPS, ("tcp",))
def cut_both(x, f, h):
    return cut(x, f, h, others(x, h) + ["db"], "")


@kind("cut off from both, one way", ("out", "in"), APPS, ("tcp",))
def cut_both_one_way(x, f, h):
    return cut(x, f, h, others(x, h) + ["db"], f.variant)


# --- the connection is lost in COMMIT ----------------------------------------------------------------

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_addr = '%s' AND query = 'COMMIT' AND state = 'active'"


@kind("connection lost in COMMIT", ("request", "answer", "terminated", "late", "network"), APPS)
def lost_in_commit(x, f, h):
    s, v = h.stalls["cached"], f.variant
    if not x.await_member(h):
        return False
    lock = CommitLock(x.w, h.number) if v in ("terminated", "late") else None
    try:
        # "request": nothing of the update arrives, or all but its COMMIT.
        lost = "commit_sent" if v != "request" else "commit_unsent" if f.draw[0] < 0.5 else "commit_behind"
        if not x.held(h, "cached", lost, f.draw[1]):
            return False
        if v == "answer":
            time.sleep(0.002 + f.draw[2] * 0.03)
        if v == "terminated":
            x.w.psql("-c", TERMINATE % h.address)
        elif v == "network":
            x.net.cut([(h.name, "db"), ("db", h.name)])
        s.let_go(CUT if v in ("request", "answer", "late") else 0)
        if v == "late":  # the update is resolved meanwhile
            time.sleep(f.draw[2] * 0.4)
        if v == "network":
            time.sleep(x.longer(f.draw[0]))
    except Failed:  # there is no database now
        return False
    finally:
        if lock:
            lock.release()
        s.let_go()
        if v == "network":
            x.net.cut([(h.name, "db"), ("db", h.name)], False)
    return True


# --- the database ----------------------------------------------------------------------------------

@kind("database restarted", ("immediate", "fast", "in COMMIT", "down"), ("app1", "app2", "app3"))
def database_restarted(x, f, h):
    if f.variant == "in COMMIT" and not (x.await_member(h) and x.held(h, "cached", "commit_sent", f.draw[1])):
        return False
    with x.w.database_lock:
        try:
            x.w.end_database(signal.SIGINT if f.variant == "fast" else signal.SIGQUIT)
            h.stalls["cached"].let_go()
            if f.variant == "down":
                time.sleep(x.longer(f.draw[0]))
        finally:
            x.w.pg("restart")
    return True


# A new file of the log is needed, and there is no room for it: the whole server ends with a panic, and so does each start.
@kind("no room for the database's log", ("free at once", "in COMMIT", "found later"), APPS)
def log_full(x, f, h):
    if f.variant == "in COMMIT" and not (x.await_member(h) and x.held(h, "cached", "commit_sent", f.draw[1])):
        return False
    with x.w.database_lock:
        try:
            panics = x.w.log_panics()
            x.w.fill_log()
            h.stalls["cached"].let_go()
            until(lambda: x.w.log_panics() > panics, "a panic of PostgreSQL, whose log has no room", 30)
            if f.variant != "free at once":
                until(x.w.database_ended, "the end of PostgreSQL, whose log has no room", 30)
            if f.variant == "found later":
                time.sleep(x.longer(f.draw[0]))
        finally:
            x.w.free_log()
            x.w.revive_database()
    return True


# --- what must not matter ----------------------------------------------------------------------------

@kind("wall clock jumped", ("cached", "server"), APPS + PROXIES)
def wall_clock(x, f, h):
    """Years, forth and back. Not that of Varnish: a time that goes back would be an error of its own."""
    name = "cached" if h.role == "proxy" else f.variant
    h.stalls[name].real_offset(int((f.draw[0] - 0.5) * 2e17))
    time.sleep(f.draw[1] * 0.3)
    return True


@kind("two of one number", ("same machine", "another machine", "copy of a machine"), APPS)
def twin(x, f, h):
    """Another resex-cached of this number. On the same machine it must not start; on another one it may harm nobody but
    its own number. A copy of a machine knows the generations of the first one, and is believed to be its next life."""
    top = "%s/twin-%d" % (h.dir, f.number)
    shutil.rmtree(top, ignore_errors=True)
    os.mkdir(top)
    if f.variant == "copy of a machine":
        shutil.copytree(h.dir + "/state", top + "/state")
    else:
        os.mkdir(top + "/state")
    same = f.variant == "same machine" or x.w.transport == "shm"
    # Until it serves, the number is free on its machine: the other one would rightly take it.
    if same and not x.await_member(h):
        return False
    with open(h.dir + "/cluster.json") as c:
        cluster = json.load(c)
    for row in cluster["hosts"]:
        if row["name"] == h.name and not same:
            row["address"] = x.net.address("twin")
    settings = dict(h.settings(), cluster_file=top + "/cluster.json", state_dir=top + "/state", socket=top + "/api.sock")
    for name, what in (("cluster", cluster), ("cached", settings)):
        with open("%s/%s.json" % (top, name), "w") as c:
            json.dump(what, c)
    with open(top + "/cached.log", "w") as log:
        p = subprocess.Popen(x.net.within(h.name if same else "twin") +
                             [x.w.build + "/resex-cached", "-c", top + "/cached.json", "-H", h.name],
                             stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        time.sleep(x.longer(f.draw[0]))
        with open(top + "/cached.log") as log:
            joined = "in the cache:" in log.read()
    finally:
        p.kill()
        p.wait()
    if f.variant == "copy of a machine" and not same:
        # The others know a later life of this number: what an operator does then.
        x.w.kill(h, ["cached"])
        shutil.rmtree(h.dir + "/state")
        shutil.copytree(top + "/state", h.dir + "/state")
        x.w.start_again(h, ["cached"])
    if same and joined:
        raise Failed("a second resex-cached of %s is in the cache on the same machine: see %s/cached.log" % (h.name, top))
    return True


def updates_of(host):
    status, _, body = http(host.api, "GET", "/v1/updates", timeout=5)
    if status != 200:
        raise Failed("%s: GET /v1/updates: %d" % (host.name, status))
    return json.loads(body)["updates"]
