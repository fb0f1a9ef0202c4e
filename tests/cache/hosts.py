# SPDX-License-Identifier: GPL-2.0-or-later
"""hosts: cacheworld's installation, with hosts that can be cut off: each has a network namespace, an address and a link
to a bridge; the database, too. Some have another boot time. Each program runs with stall.c.

All of a test runs in namespaces that it makes for itself, also of processes: when it ends, all of it ends."""
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, TOP + "/etc/demo")
from cacheworld import Failed, World, http, until  # noqa: E402
from stall import Stall  # noqa: E402

NET = "10.77.0."
MAC = "02:77:00:00:00:%02x"
NOBODY = "02:77:00:00:ff:ff"
LOG_MIB = 128  # room for the database's log
NUMBERS = {"db": 5, "app1": 11, "app2": 12, "app3": 13, "front1": 21, "front2": 22, "twin": 40, "hub": 254}
# What the clocks of these hosts say, in seconds more than this machine's: they were booted long ago.
BOOTED = {"app2": 5 * 86400, "app3": 3, "front2": 400 * 86400}
LIBPQ = "connect_timeout=2 keepalives_idle=1 keepalives_interval=1 keepalives_count=3 tcp_user_timeout=4000"

# Varnish 7.1 ends with a panic if it is stopped and goes on while it reads from the origin (its issue 3801): its
# cache is empty then. Another panic is none of that.
INTERRUPTED = re.compile(r"Error: Child \(\d+\) died signal=6\nError: Child \(\d+\) Panic at: [^\n]*\n"
                         r"Assert error in v1f_read\(\), [^\n]*\n  Condition\(VTCP_Check\(i\)\) not true\.\n"
                         r"(?:(?!Error:)[^\n]*\n)*?errno = 4 ")


def enter(program):
    """Start this program again, in namespaces of its own. The shell is their first process, and buries orphans."""
    if os.environ.get("RESEX_FAULTS") == "inside":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    if os.geteuid():
        print("%s: only root can make hosts that can be cut off: run it as root" % program)
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    os.environ["RESEX_FAULTS"] = "inside"
    os.execvp("unshare", ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                          '"$@"; exit $?', "sh", sys.executable] + sys.argv)


def run(words, text=None):
    r = subprocess.run(words, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        raise Failed("%s: %s" % (" ".join(words), r.stdout))


class Net:
    """A bridge, and a namespace of each name. Frames of a cut go to an address that nobody has: no error is seen."""
    def __init__(self, names):
        self.names, self.holder = list(names), {}
        self.lock = threading.Lock()
        self.cuts = set()
        run(["ip", "link", "add", "br77", "type", "bridge"])
        run(["ip", "link", "set", "br77", "up", "address", MAC % NUMBERS["hub"]])
        run(["ip", "addr", "add", NET + "%d/24" % NUMBERS["hub"], "dev", "br77"])
        for name in self.names:
            self.holder[name] = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        for name in self.names:
            self.add(name)
        for name in self.names + ["hub"]:
            self.batch(name, ["neigh replace %s lladdr %s dev %s nud permanent" %
                              (NET + str(NUMBERS[o]), MAC % NUMBERS[o], "br77" if name == "hub" else "eth0")
                              for o in self.names + ["hub"] if o != name])

    def add(self, name):
        pid, n = self.holder[name].pid, NUMBERS[name]
        own = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink("/proc/%d/ns/net" % pid) != own, "a network namespace")
        run(["ip", "link", "add", "v%d" % n, "type", "veth", "peer", "name", "eth0", "netns", str(pid)])
        run(["ip", "link", "set", "v%d" % n, "master", "br77", "up"])
        self.batch(name, ["link set lo up", "link set eth0 address " + MAC % n, "link set eth0 up",
                          "addr add %s%d/24 dev eth0" % (NET, n)])

    def batch(self, name, lines):
        run(([] if name == "hub" else self.within(name)) + ["ip", "-batch", "-"], "\n".join(lines) + "\n")

    def within(self, name):
        return ["nsenter", "--net", "--target", str(self.holder[name].pid)]

    def address(self, name):
        return NET + str(NUMBERS[name])

    def cut(self, pairs, cut=True):
        """(from, to): what one sends to the other is lost."""
        with self.lock:
            for a in {a for a, _ in pairs}:
                self.batch(a, ["neigh replace %s lladdr %s dev eth0 nud permanent" %
                               (self.address(b), NOBODY if cut else MAC % NUMBERS[b]) for f, b in pairs if f == a])
            self.cuts = self.cuts | set(pairs) if cut else self.cuts - set(pairs)

    def heal(self):
        if self.cuts:
            self.cut(set(self.cuts), False)


class FaultWorld(World):
    """A world on a Net. stall: the library of stall.c; pg_dir: of the server of all worlds."""
    def __init__(self, net, stall, pg_dir, *args, **more):
        super().__init__(*args, **more)
        self.net, self.stall, self.pg_dir = net, stall, pg_dir
        self.broken = ""
        self.database_lock = threading.Lock()
        self.unix = "host=%s port=5432 user=postgres dbname=postgres" % pg_dir
        for h in self.hosts:
            h.address = net.address(h.name)
            h.stalls = {name: Stall("%s/%s.stall" % (h.dir, name)) for name in ("cached", "server")}
            h.lock = threading.Lock()
            h.wanted = False  # its programs are to run

    def wrapped(self, host, name, words):
        prefix = self.net.within(host.name if host else "db")
        if host:
            if name == "cached" and host.name in BOOTED:
                prefix += ["unshare", "--time", "--boottime", str(BOOTED[host.name])]
            prefix += ["env", "LD_PRELOAD=" + self.stall, "RESEX_STALL=" + host.stalls[name].path]
            prefix += ["RESEX_BREAK=" + self.broken] if self.broken else []
        return prefix + words, {}

    def varnish(self, h):
        return super().varnish(h) + ["-p", "connect_timeout=0.7", "-p", "first_byte_timeout=2",
                                     "-p", "between_bytes_timeout=3", "-p", "backend_idle_timeout=20"]

    def start_database(self):
        """One server for all worlds; the tables are made anew."""
        if os.path.isdir(self.pg_dir):
            self.where = self.unix
            self.psql("-c", "DROP SCHEMA IF EXISTS resex CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        else:
            self.make_database()
        super().start_database()
        # A COMMIT of an update can be held, in the database, by who has the lock of its host.
        self.psql("-c", """CREATE FUNCTION resex.faults_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(77, NEW.member); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER faults_commit AFTER INSERT OR UPDATE ON resex.update
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION resex.faults_commit()""")
        self.where = self.db = "host=%s port=5432 user=postgres dbname=postgres %s" % (self.net.address("db"), LIBPQ)

    def make_database(self):
        """Its log is in a file system of its own, which a test can fill."""
        self.pg("start")
        with open(self.pg_dir + "/data/postgresql.conf", "a") as f:
            f.write("listen_addresses = '%s'\nlog_min_messages = fatal\nmin_wal_size = 32MB\nmax_wal_size = 48MB\n" %
                    self.net.address("db"))
        with open(self.pg_dir + "/data/pg_hba.conf", "a") as f:
            f.write("host all all %s0/24 trust\n" % NET)
        self.end_database(signal.SIGINT)
        log, data = self.pg_dir + "/log-disk", os.stat(self.pg_dir + "/data")
        os.mkdir(log)
        run(["mount", "-t", "tmpfs", "-o", "size=%dm,mode=700,uid=%d,gid=%d" % (LOG_MIB, data.st_uid, data.st_gid), "log", log])
        run(["cp", "-a", self.pg_dir + "/data/pg_wal", log])
        shutil.rmtree(self.pg_dir + "/data/pg_wal")
        os.symlink(log + "/pg_wal", self.pg_dir + "/data/pg_wal")
        self.pg("restart")

    def fill_log(self):
        """The log's disk is full. New files of the log are asked for until one is not there any more."""
        panics = self.log_panics()
        with open(self.pg_dir + "/log-disk/filler", "wb", buffering=0) as f:
            for size in (1 << 20, 4096):
                try:
                    while f.write(bytes(size)) == size:
                        pass
                except OSError as e:
                    if e.errno != errno.ENOSPC:
                        raise
        for _ in range(40):
            if self.log_panics() > panics or self.database_ended():
                return
            try:
                self.psql("-c", "SELECT pg_switch_wal()")
            except Failed:  # it is this one that finds no room, or the server has ended
                pass
            time.sleep(0.05)

    def free_log(self):
        if os.path.exists(self.pg_dir + "/log-disk/filler"):
            os.unlink(self.pg_dir + "/log-disk/filler")

    def log_panics(self):
        with open(self.pg_dir + "/server.log", errors="replace") as f:
            return sum("PANIC:" in line and "No space left" in line for line in f)

    def revive_database(self):
        """It starts again by itself, unless it has given up."""
        def answers():
            if self.database_ended():
                self.pg("restart")
            try:
                return self.psql("-c", "SELECT 1")
            except Failed:
                return False
        until(answers, "PostgreSQL's start", 30)

    def remove_database(self):
        """Also what it had: the next one is made from nothing."""
        self.end_database(signal.SIGINT)
        run(["umount", self.pg_dir + "/log-disk"])
        super().pg("stop")

    def end_database(self, sig):
        os.kill(self.postmaster(), sig)
        until(self.database_ended, "PostgreSQL's end", 30)

    def database_ended(self):
        return not os.path.exists(self.pg_dir + "/data/postmaster.pid")

    def pg(self, verb):
        """World starts a server, which is there."""
        if verb == "start" and os.path.isdir(self.pg_dir):
            return self.unix
        return super().pg(verb)

    def postmaster(self):
        with open(self.pg_dir + "/data/postmaster.pid") as f:
            return int(f.readline())

    def psql(self, *words):
        tcp, self.where = self.where, self.unix
        try:
            return super().psql(*words)
        finally:
            self.where = tcp

    # --- programs that are killed and started again

    def start(self):
        super().start()
        for h in self.hosts:
            h.wanted = True

    def kill(self, host, names):
        """As by a power cut. false: it had ended by itself, which check_alive says."""
        for name in names:
            p = getattr(host, name)
            if p.poll() is None:
                for pid in tree(p.pid):
                    signal_to(pid, signal.SIGKILL)
                p.wait()
            host.stalls[name].disarm()

    def start_again(self, host, names):
        for name in names:
            if name == "cached":
                host.start_cached()
            else:
                host.spawn_server()

    def ended(self):
        """Programs that ended without being told."""
        return ["%s of %s ended with %s: %s" % (name, h.name, getattr(h, name).returncode, h.tail(name)[-300:])
                for h in self.hosts if h.wanted and not h.lock.locked() for name in ("cached", "server")
                if getattr(h, name).poll() is not None and not h.lock.locked()]

    def close(self, keep=False):
        """The database stays."""
        pg, self.pg_dir = self.pg_dir, "/nonexistent"
        for h in self.hosts:
            h.wanted = False
        super().close(keep)
        self.pg_dir = pg

    def panics(self):
        """What the logs say that must never be said."""
        found = []
        for h in self.hosts:
            for name in ("cached", "server"):
                with open("%s/%s.log" % (h.dir, name), errors="replace") as f:
                    text = INTERRUPTED.sub("", f.read())
                found += ["%s's %s: %s" % (h.name, name, line.strip()) for line in text.splitlines()
                          if any(w in line for w in ("Panic", "Assert", "died signal", "runtime error", "AddressSanitizer"))]
        return found


def signal_to(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def tree(pid):
    """This process and its children: varnishd has one."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [pid] + [p for c in f.read().split() for p in tree(int(c))]
    except OSError:
        return [pid]


class Lateness(threading.Thread):
    """How late this machine is: a process of its own sleeps for short, and says for how long it did."""
    PROGRAM = """import time, sys
STEP = 0.002
at = time.clock_gettime(time.CLOCK_MONOTONIC)
while True:
    time.sleep(STEP)
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    if now - at > STEP + 0.004:
        print("%.6f %.6f" % (now, now - at - STEP), flush=True)
    at = now
"""

    def __init__(self):
        super().__init__(daemon=True)
        self.late = []
        self.process = subprocess.Popen([sys.executable, "-S", "-c", self.PROGRAM], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.start()

    def run(self):
        for line in self.process.stdout:
            at, late = line.split()
            self.late.append((float(at), float(late)))

    def between(self, begin, end):
        """All that it was late, in seconds, from begin to end (CLOCK_MONOTONIC)."""
        return sum(late for at, late in self.late if begin <= at <= end + late)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Waits(threading.Thread):
    """How long programs waited for a CPU: the kernel counts it for each thread. Its sum, since nothing else is known."""
    STEP_S = 0.05

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.known, self.sum, self.seen, self.over = pids, {}, 0.0, [], False
        self.start()

    def look(self):
        now = {}
        for pid in self.pids():
            try:
                tids = os.listdir("/proc/%d/task" % pid)
            except OSError:
                continue
            for tid in tids:
                try:
                    with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
                        now[tid] = int(f.read().split()[1]) / 1e9
                except OSError:
                    pass
        self.sum += sum(max(0.0, v - self.known.get(tid, v)) for tid, v in now.items())
        self.known = now
        self.seen.append((time.clock_gettime(time.CLOCK_MONOTONIC), self.sum))

    def run(self):
        while not self.over:
            self.look()
            time.sleep(self.STEP_S)

    def between(self, begin, end):
        """In seconds; what was looked at last before, and first behind."""
        before = [s for t, s in self.seen if t <= begin]
        behind = [s for t, s in self.seen if t >= end]
        return (behind[0] if behind else self.sum) - (before[-1] if before else 0.0)


__all__ = ["Failed", "FaultWorld", "Lateness", "Net", "Waits", "enter", "http", "run", "signal_to", "time", "tree", "until"]
