# SPDX-License-Identifier: GPL-2.0-or-later
"""writes: writes go on. How long is a write delayed when a member is killed, or hangs? At most detect + 2 fresh, and what
this machine itself was late: how late a process woke up that did nothing but sleep, and how long the two hosts, and the
database, waited for a CPU meanwhile.

Two hosts write without end; the third is the member that fails: idle, or within an update of its own, whose transaction
holds its rows. A write is delayed from its begin until it is done, however often it must be asked for."""
import signal
import subprocess
import sys
import threading
import time

from hosts import Failed, FaultWorld, Waits, signal_to, tree, until
from kinds import Hands, updates_of

FRESH_S, DETECT_S, SQL_S = 0.3, 0.6, 3.0
# One write after another, of one item, straight to resex-cached. A line each: begin, end, how often it was asked for.
WRITER = """import json, socket, sys, time
path, host, item = sys.argv[1], sys.argv[2], int(sys.argv[3])
body = json.dumps({"tags": ["item/%d" % item], "statements": [
    {"sql": "UPDATE items SET state = state + 1, last = 0 WHERE id = $1", "params": [str(item)]}]}).encode()
ask = b"POST /v1/update HTTP/1.0\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body
def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)
while True:
    began, tries, done = now(), 0, False
    while not done:
        tries += 1
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(60)
                s.connect(path)
                s.sendall(ask)
                said = b"".join(iter(lambda: s.recv(4096), b""))
            done = b" 200 " in said[:16]
        except OSError:
            said = b""
        if not done:
            time.sleep(0.002)
    print("%.6f %.6f %d" % (began, now(), tries), flush=True)
    time.sleep(0.001)
"""


class Writer(threading.Thread):
    def __init__(self, host, item):
        super().__init__(daemon=True)
        self.host, self.writes = host, []
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.process = subprocess.Popen([sys.executable, "-S", "-c", WRITER, host.api, host.name, str(item)],
                                        stdout=subprocess.PIPE, text=True)
        self.start()

    def run(self):
        for line in self.process.stdout:
            begin, end, tries = line.split()
            self.writes.append((float(begin), float(end), int(tries)))

    def longest(self, begin, end):
        """Of those that were under way at a time within: (delay, begin, end). One may not have ended."""
        seen = list(self.writes)
        last = (seen[-1][1] if seen else self.began) + 0.001
        seen.append((last, max(time.clock_gettime(time.CLOCK_MONOTONIC), last), 0))
        return max(((e - b, b, e) for b, e, _ in seen if e >= begin and b <= end), default=(0.0, begin, begin))

    def stop(self):
        self.process.kill()
        self.process.wait()


class Writes:
    def __init__(self, test, transport):
        self.test, self.transport = test, transport
        self.top = "%s/writes-%s" % (test.top, transport)
        self.bound = DETECT_S + 2 * FRESH_S
        self.rows = []
        self.w = FaultWorld(test.net, test.stall, test.top + "/pg", self.top, test.build, apps=3, proxies=0,
                            transport=transport, items=20, sql_timeout="%dms" % (SQL_S * 1000),
                            cache={"fresh": "%dms" % (FRESH_S * 1000), "detect": "%dms" % (DETECT_S * 1000)})
        self.hands = Hands(self.w, FRESH_S, DETECT_S)

    def note(self, what, began, over):
        delay, b, e = max(w.longest(began, over) for w in self.writers)
        late = self.test.late.between(b, e) + self.waits.between(b, e)
        self.rows.append((what, delay, late))
        if delay > self.bound + late:
            self.too_long.append("%s: a write took %.3f s: more than %.3f s, and this machine was %.3f s late" %
                                 (what, delay, self.bound, late))

    def named(self, victim):
        """A member for which an update waits is named by update-list."""
        def is_named():
            return any(victim.name in u.get("missing", []) for h in self.w.apps if h is not victim for u in updates_of(h))
        until(is_named, "update-list names %s" % victim.name, self.bound)

    def fail(self, how, where, victim):
        """The member is killed, or stopped; it is idle, or within an update of its own."""
        own = Writer(victim, 3) if where == "in an update" else None
        try:
            if own and not self.hands.held(victim, "cached", "commit_unsent", 0, 20):
                raise Failed("%s makes no updates" % victim.name)
            began = time.clock_gettime(time.CLOCK_MONOTONIC)
            if how == "killed":
                self.w.kill(victim, ["cached"])
            else:
                signal_to(victim.cached.pid, signal.SIGSTOP)
                if not own:
                    self.named(victim)
            time.sleep(2.2 * self.bound)
            self.note("%s, %s" % (how, where), began, time.clock_gettime(time.CLOCK_MONOTONIC))
        finally:
            if own:
                own.stop()
            victim.stalls["cached"].let_go()
            if how == "killed":
                self.w.start_again(victim, ["cached"])
            else:
                signal_to(victim.cached.pid, signal.SIGCONT)
        until(self.all_in, "all are members again")
        time.sleep(0.2)

    def all_in(self):
        """All look alike at all, also one that was removed and does not know it yet."""
        infos = [h.info() for h in self.w.apps]
        if not all(i.get("in") for i in infos):
            return False
        own = {i["name"]: i["generation"] for i in infos}
        return all(own == {m["name"]: m["generation"] for m in i["members"] if m["in"]} for i in infos)

    def run(self, repeats):
        self.too_long, self.writers, self.waits = [], [], None
        try:
            self.w.start()
            self.writers = [Writer(h, i + 1) for i, h in enumerate(self.w.apps[:2])]
            self.waits = Waits(lambda: [h.cached.pid for h in self.w.apps[:2]] + tree(self.w.postmaster()))
            victim = self.w.apps[2]
            time.sleep(0.5)
            for _ in range(repeats):
                for how in ("killed", "stopped"):
                    for where in ("idle", "in an update"):
                        self.fail(how, where, victim)
            if min(len(w.writes) for w in self.writers) < 20 * repeats:
                raise Failed("writes: too few: %s" % [len(w.writes) for w in self.writers])
        finally:
            for w in self.writers:
                w.stop()
            if self.waits:
                self.waits.over = True
            self.w.close(keep=True)
        return self.rows

    def text(self):
        said = []
        for what in dict.fromkeys(w for w, _, _ in self.rows):
            said.append("%s: %s" % (what, ", ".join("%.3f" % d + (" (late %.3f)" % l if l > 0.05 else "")
                                                  for w, d, l in self.rows if w == what)))
        return "writes, %s: at most %.3f s; longest delays: %s" % (self.transport, self.bound, "; ".join(said))
