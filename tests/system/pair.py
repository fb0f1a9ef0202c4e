# SPDX-License-Identifier: GPL-2.0-or-later
"""pair: benchex's server and a neighbour in two guests on one link (net.py), resexd in dom0.

There can be more neighbours, each in a guest of its own: bulk2 and so on.
The server's client and the neighbours' peer are in dom0, behind the link. A phase is one script
in dom0: it changes the policy, lets things settle for a fixed time, and measures for a fixed
time, while resexd is asked beside it. All that it leaves is kept with the logs.
"""
import json
import re

from bed import Guest, check, read_text, wait_for
from daemon import Daemon, with_agent, xl_sched
from net import PEER, RATE, Net

SERVER = "benchex server --events --json"
CLIENT = "benchex client --events --json"
ANSWERS = "--size 16K --options 20 --think 5ms"
# Computing for each message makes caps graded: without it a third of a CPU fills the link.
BULK = "benchex bulk %s --events --json --size 64K --qps 4 --depth 8 --work 40us --seconds 0" % PEER
QPS = 4
SETTLE_S, MEASURE_S = 4, 3
STEP_S = 0.5
# Emulated CPUs are slow: with a tick each millisecond and a look at the processes each 5 ms resexd
# and the agents alone would take a good part of them, and latencies would show that.
INTERVAL = "5ms"
AGENT = "--scan-ms 100"
LOOK_US = 400000
LINK = {"name": "shared", "rate": RATE, "mtu": 1024}

PHASE = """
f=/h/files/{name}
now() {{ cut -d' ' -f1 /proc/uptime; }}
cpu() {{ domtool list; now; }}
{change} >$f.change 2>&1 || {{ cat $f.change; exit 1; }}
: >/tmp/go
(while [ -e /tmp/go ]; do echo "$(now) $(resex -j list | tr -d '\\n')"; usleep {every}; done >$f.list) &
{settle} && cpu >$f.before && {measure} && cpu >$f.after
rc=$?
resex why >$f.why
rm /tmp/go
wait
exit $rc
"""


def cpu_shares(before, after):
    """{domid: part of one CPU} between two of PHASE's looks."""
    def parse(text):
        rows = [line.split() for line in text.splitlines() if line]
        return float(rows[-1][0]), {int(r[0]): int(r[2]) / 1e9 for r in rows[:-1]}
    (t0, c0), (t1, c1) = parse(before), parse(after)
    return {d: (c1[d] - c0[d]) / (t1 - t0) for d in c1 if d in c0}


def rows_of(text):
    """PHASE's looks at resex -j list: [(seconds from the first, {guest's name: row})]."""
    out = []
    for line in text.splitlines():
        at, _, doc = line.partition(" ")
        try:
            rows = {g["name"]: g for g in json.loads(doc)["guests"]}
        except ValueError:
            continue  # resexd was busy, or the look was cut off at the end
        out.append((float(at), rows))
    return [(at - out[0][0], rows) for at, rows in out]


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def summary(lat):
    return {k: lat[k] for k in ("n", "mean_us", "deviation_us", "p50_us", "p99_us")}


class Pair:
    """Use with "with"; bulks: how many neighbours."""

    def __init__(self, vm, policy="null", bulks=1):
        self.vm = vm
        self.net = Net(vm)
        self.server = Guest(vm, "server", net=1)
        self.bulks = [Guest(vm, "bulk%s" % (n if n > 1 else ""), net=1 + n) for n in range(1, bulks + 1)]
        self.bulk = self.bulks[0]
        vm.create(self.server, *self.bulks)
        for g in (self.server, *self.bulks):
            with_agent(g, AGENT)
        self.sessions = 0
        self.client_options = ANSWERS
        self.daemon = Daemon(vm, policy=policy, links=[LINK], interval=INTERVAL)

    def __enter__(self):
        start_server(self.server, "server", SERVER + " --report")
        self.vm.sh("%s >/h/files/sink.out 2>/h/files/sink.err & echo $! >/run/sink.pid" % SERVER)
        self.daemon.begin()
        return self

    def __exit__(self, kind, value, trace):
        self.vm.run("kill $(cat /run/sink.pid)")
        self.daemon.__exit__(kind, value, trace)

    def client(self, seconds):
        self.sessions += 1
        return "%s %s --seconds %d %s" % (CLIENT, self.client_options, seconds, "10.99.1.%d" % self.server.net)

    # --- the neighbour -----------------------------------------------------------

    def bulk_on(self, command=BULK, queues=QPS, number=1):
        g = self.bulks[number - 1]
        g.sh("%s >/tmp/bulk.out 2>/tmp/bulk.err & echo $! >/tmp/bulk.pid" % command)

        def seen():
            rings = self.daemon.rings(g.name)["rings"]
            return len([r for r in rings if r.get("kind") == "SQ" and r["state"] == "active"]) >= queues
        if queues:
            wait_for("%d send queues of %s in ring-list" % (queues, g.name), 20, seen, 0.2)

    def bulk_off(self, number=1):
        """What bulk says of itself. It must not have ended before."""
        g = self.bulks[number - 1]
        out = g.sh("kill $(cat /tmp/bulk.pid); i=0; while kill -0 $(cat /tmp/bulk.pid) 2>/dev/null && "
                   "[ $i -lt 200 ]; do usleep 50000; i=$((i+1)); done; cat /tmp/bulk.out /tmp/bulk.err", 60)
        ended = re.search(r'"ended": *"(\w+)"', out)
        check(ended and ended.group(1) == "signal", "%s did not send to the end: %.300s" % (g.name, out))
        return json.loads(out[:out.index("\n")])

    # --- a phase -----------------------------------------------------------------

    def phase(self, name, policy, settle_s=SETTLE_S, measure_s=MEASURE_S, bulks=1):
        """Put the policy in force, settle, measure: the figures, those of the first so many bulks as one."""
        settle = self.client(settle_s) + " >$f.settle" if settle_s else ":"
        script = PHASE.format(name=name, change="resex policy-set " + policy, every=LOOK_US,
                              settle=settle, measure=self.client(measure_s) + " >$f.client")
        self.vm.sh(script, settle_s + measure_s + 30)
        session = session_line(self.server, "server", self.sessions)
        base = "%s/files/%s" % (self.vm.share, name)
        with open(base + ".server", "w", encoding="utf-8") as f:
            json.dump(session, f)
        return self._figures(name, base, session, measure_s, self.bulks[:bulks])

    def _figures(self, name, base, session, measure_s, bulks):
        looks = rows_of(read_text(base + ".list"))
        begin = looks[-1][0] - measure_s
        within = [rows for at, rows in looks if at >= begin]
        lat = session["latency"]
        out = {"name": name, "server": summary(lat["total"])}
        for part in ("ctime", "wtime", "ptime"):
            out["server"][part + "_us"] = lat[part]["mean_us"]
        out["client"] = summary(json.loads(read_text(base + ".client"))["latency"]["total"])
        shares = cpu_shares(read_text(base + ".before"), read_text(base + ".after"))
        out["cpu"] = {"dom0": shares[0], "server": shares[self.server.domid],
                      "bulk": max(shares[g.domid] for g in bulks)}
        names = [g.name for g in bulks]
        out["resexd"] = {
            "latency_us": mean([r["server"]["latency_us"] for r in within]),
            "cap": mean([cap_of(r, names) for r in within]),
            "server_capped": any(r["server"]["cap"] for _, r in looks),
            "bulk_capped": any(r[n]["cap"] for _, r in looks for n in names),
            "rate": mean([r[n]["rate"] for r in within for n in names]),
            "bulk_mtus_s": moved(looks, begin, names), "server_mtus_s": moved(looks, begin, ["server"])}
        out["why"] = read_text(base + ".why").strip()
        out["series"] = [(round(at, 2), r["server"]["latency_us"], cap_of(r, names)) for at, r in looks]
        self.vm.note(json.dumps(out))
        return out

    def calibrate(self, figures):
        """The SLA of the server: its latency as it was, alone."""
        s = figures["server"]
        sla = {"base": s["mean_us"], "base_io": min(s["mean_us"], s["wtime_us"] + s["ptime_us"]),
               "base_deviation": s["deviation_us"]}
        self.vm.sh("resex guest-set server " + " ".join("sla.%s=%dus" % x for x in sla.items()))

    def uncapped_after(self, figures, seconds=30):
        """Nobody asks the server since the end of this phase: the seconds from then until bulk had
        no cap any more; None when it had none at the end."""
        if figures["series"][-1][2] == 100:
            return None
        out = self.vm.sh("now() {{ cut -d' ' -f1 /proc/uptime; }}; t0=$(tail -n 1 /h/files/{2}.after); i=0; "
                         "until [ $(xl {0} -d bulk | awk 'END {{ print $NF }}') = 0 ] || [ $i -ge {1} ]; do "
                         "usleep 50000; i=$((i+1)); done; echo $t0 $(now) $i"
                         .format(xl_sched(self.vm), 10 * seconds, figures["name"]), 4 * seconds).split()
        took = float(out[1]) - float(out[0])
        check(int(out[2]) < 10 * seconds, "bulk is still capped %.0f s after the server fell silent" % took)
        return took


def start_server(g, tag, command):
    g.sh("{1} >/tmp/{0}.out 2>/tmp/{0}.err & echo $! >/tmp/{0}.pid; usleep 500000; "
         "kill -0 $(cat /tmp/{0}.pid) || {{ cat /tmp/{0}.err; false; }}".format(tag, command))


def session_line(g, tag, number):
    """What a server in g said of its client number so-and-so, counted from 1."""
    out = g.sh("i=0; until [ $(wc -l </tmp/{0}.out) -ge {1} ] || [ $i -ge 100 ]; do usleep 50000; "
               "i=$((i+1)); done; sed -n {1}p /tmp/{0}.out".format(tag, number), 30)
    try:
        return json.loads(out)
    except ValueError:
        check(False, "the server in %s has no result of session %d: %.200s; %s"
              % (g.name, number, out, g.run("tail -n 3 /tmp/%s.err" % tag).out))


def cap_of(rows, names):
    """The mean of their caps, in percent; no cap is 100."""
    return mean([rows[n]["cap"] or 100 for n in names])


def moved(looks, begin, names):
    """MTUs a second that guests sent together while they were measured, as dom0 counts."""
    within = [(at, sum(rows[n]["mtus_sent"] for n in names)) for at, rows in looks
              if at >= begin and all(n in rows for n in names)]
    if len(within) < 2 or within[-1][0] <= within[0][0]:
        return None
    return (within[-1][1] - within[0][1]) / (within[-1][0] - within[0][0])
