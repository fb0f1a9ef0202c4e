# SPDX-License-Identifier: GPL-2.0-or-later
"""load-hostile: a guest lies about its load, beside an honest one. It is flagged, gets no requests, and harms nobody.

loadliar is the agent of the liar. First it says what no agent says, then that it is idle while it
burns, then it withdraws its page and shows it again. Then its pages go while resexd reads them: 400
are freed, and 200 processes killed. At last the guest is paused and destroyed.

HAProxy is not needed: weights are asked for as its agent-check does. Scenario web shows the same
with HAProxy and requests.
"""
import json

from bed import Guest, check, wait_for
from daemon import Daemon, start_agent
from sc_churn import gone

GUESTS = ("honest", "liar")
# A server has weight 0 only while two others have more: the third is dom0.
SERVERS = GUESTS + ("n0",)
PORT = 9700
# Of the agents; resexd reads their pages each 10 ms. It looks each 5 ms whether a guest waits for a
# CPU: agents that wake as often would be seen to wait in each look while dom0 is busy.
AGENT_MS = 50
BURN_S = 1
FREED, KILLED = 200, 100
# ibmon/guest_priv.h allows one guest so many map calls at once and a second; the daemon attaches it
# anew at most 10 times a second.
MAPS_AT_ONCE, MAPS_S = 560, 76
RUBBISH, RANGE, BACK = "it holds no load record", "a value is out of its range", "a time or the guest's clock went back"
LIES = (("noise", RUBBISH), ("kind", RUBBISH), ("no-cpus", RANGE), ("many-cpus", RANGE), ("high-time", RANGE),
        ("high-clock", RANGE), ("no-period", RANGE), ("long-period", RANGE), ("as-hv", RANGE),
        ("clock-back", BACK), ("times-back", BACK))


def daemon(vm):
    conf = {"cluster": "one", "host": "xen1", "transport": "tcp", "key_file": "/run/key",
            "hosts": [{"name": "xen1", "number": 1, "address": "127.0.0.1"}],
            "services": [{"name": "web", "number": 1}],
            "load": {"period": "10ms", "scan": "50ms"},
            "nodes": [{"name": name, "number": i + 1, "host": "xen1", "guest": name, "service": "web"}
                      for i, name in enumerate(GUESTS)] +
            [{"name": "n0", "number": 0, "host": "xen1", "service": "web"}],
            "balance": [{"service": "web", "by": "agent", "port": PORT, "mode": "act", "service_time": "5ms"}]}
    vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key")
    return Daemon(vm, observe=True, cluster_file=vm.put("cluster.json", json.dumps(conf)),
                  interval="5ms", links=[{"name": "none0", "rate": "1GiB/s"}])


# --- what is seen ------------------------------------------------------------------------------


class Look:
    """Once: rows {node: of load-list}, weights {server: the answer to HAProxy's agent-check}, and resexd itself."""

    def __init__(self, vm):
        out = vm.sh("kill -0 $(cat /run/resexd.pid) && resex -j load-list && for n in %s; do "
                    "echo $n=$(printf \"web/$n\\n\" | busybox nc 127.0.0.1 %d); done" % (" ".join(SERVERS), PORT))
        said = out.splitlines()
        self.weights = dict(line.split("=") for line in said[-len(SERVERS):])
        self.rows = {r["node"]: r for r in json.loads("\n".join(said[:-len(SERVERS)]))["nodes"]}
        self.liar, self.honest = self.rows["liar"], self.rows["honest"]


def believed(row):
    return row.get("source") == "ulm" and row["state"] == "fresh" and "disagrees" not in row["flags"]


def flagged(row):
    return row.get("source") == "hv" and row["state"] == "fresh" and "disagrees" in row["flags"]


def note(row):
    """Why what the agent says is not used."""
    return row["sources"][0]["note"]


class Watch:
    """The honest guest's figures go on in each look, and one resexd answers."""

    def __init__(self, vm):
        self.vm = vm
        self.last, self.oldest_ms = None, 0

    def look(self, when):
        seen = Look(self.vm)
        row, was = seen.honest, self.last or seen.honest
        what = "%s: the honest one's load was %s, and is %s" % (when, was, row)
        check(believed(row) and row["beat"] >= was["beat"] and row["busy_ns"] >= was["busy_ns"], what)
        check(row["beat"] > was["beat"] or row["sampled_ns"] == was["sampled_ns"], what)
        check(seen.weights["honest"] != "0%", "%s: it gets no requests: %s" % (when, seen.weights))
        self.last, self.oldest_ms = row, max(self.oldest_ms, row["age_ms"])
        return seen

    def until(self, what, right, seconds=10):
        """The look that is right."""
        def probe():
            seen = self.look(what)
            return right(seen) and seen
        return wait_for(what, seconds, probe, 0.3)


# --- lies ----------------------------------------------------------------------------------------


SAID = "i=0; until tail -n 1 /tmp/liar.out | grep -qx 'LIE {0}' || [ $i -ge 100 ]; do usleep 20000; i=$((i+1)); " \
    "done; tail -n 1 /tmp/liar.out; tail -n 1 /tmp/liar.out | grep -qx 'LIE {0}'"


def be_liar(g, pages):
    g.sh("rm -f /tmp/lie; mkfifo /tmp/lie; loadliar {0} <>/tmp/lie >/tmp/liar.out 2>&1 & echo $! >/tmp/liar.pid; "
         .format(pages) + SAID.format("honest"))


def lie(g, name):
    g.sh("echo {0} >/tmp/lie; ".format(name) + SAID.format(name))


def trusted(w, when):
    """It is believed, and gets requests."""
    return w.until("belief in the guest that is honest %s" % when, lambda x: believed(x.liar) and
                   x.weights["liar"] not in ("0%", ""), 20)


def told(w, g, name, why):
    """resexd says why in one sentence, publishes the hypervisor's figures, and the guest gets no requests."""
    lie(g, name)
    w.until("%s to be told" % name, lambda x: flagged(x.liar) and note(x.liar) == "its load page: " + why and
            x.weights["liar"] == "0%")


def cpu(w, g, when):
    """(CPU time of the guest as it is published, and when; by Xen's list, and when), in ns."""
    row = w.look(when).liar
    out = w.vm.sh("domtool list; cut -d' ' -f1 /proc/uptime").split("\n")
    mine = [int(line.split()[2]) for line in out[:-2] if line.split()[0] == str(g.domid)]
    return row["busy_ns"], row["sampled_ns"], mine[0], 1e9 * float(out[-2])


def burns(w, g):
    """It says that it is idle, and uses a CPU."""
    lie(g, "idle")
    w.until("the idle one to disagree", lambda x: note(x.liar).startswith("it disagrees: it says 0.0"))
    a = cpu(w, g, "burns")
    w.vm.sh("sleep %d" % BURN_S)
    b = cpu(w, g, "burns")
    x = w.look("burns")
    shown = (b[0] - a[0]) / (b[1] - a[1])
    true = (b[2] - a[2]) / (b[3] - a[3])
    what = "it burns %.3f CPUs by what is published, %.3f by Xen's list: %s" % (shown, true, x.liar)
    w.vm.note(what)
    check(flagged(x.liar) and x.weights["liar"] == "0%", what)
    check(true > 0.5 and abs(shown - true) <= 0.03 * true + 0.002, what)
    return shown


# --- pages that go ---------------------------------------------------------------------------------


def storm(w, d, g, pages, how, turns):
    words = "%s %s %d" % (pages, how, turns)
    before = d.ask("info")["map_calls"], float(w.vm.sh("cut -d' ' -f1 /proc/uptime"))
    job = g.begin("loadliar " + words)
    while "### END %d " % job not in g.text():
        w.look(words)
        w.vm.sh("sleep 0.5")
    r = g.end(job)
    check(r.rc == 0 and "DONE %d" % turns in r.out, "loadliar %s ended with %d: %s" % (words, r.rc, r.out))
    row = w.look(words).liar
    calls = d.ask("info")["map_calls"] - before[0]
    seconds = float(w.vm.sh("cut -d' ' -f1 /proc/uptime")) - before[1]
    what = "%s: %d pages mapped in %.1f s; then %s, %s" % (words, calls, seconds, row.get("source"), note(row))
    w.vm.note(what)
    check(10 <= calls <= MAPS_AT_ONCE + MAPS_S * seconds, what)
    return calls


def paused(w):
    """It is not held against it."""
    w.vm.sh("xl pause liar")
    w.until("the hypervisor's load of a paused guest", lambda x: x.liar.get("source") == "hv")
    w.vm.sh("xl unpause liar")
    w.until("belief in it after a pause", lambda x: believed(x.liar) or check(
        "disagrees" not in x.liar["flags"], "a pause is taken for a lie: %s" % x.liar), 20)


def destroyed(w, g):
    g.sh("kill $(cat /tmp/liar.pid); loadliar frame freed 1000000 >/dev/null 2>&1 & sleep 1")
    w.vm.sh("xl destroy liar")
    gone(w.vm, g.domid, "destroyed while its load was read")
    w.until("a note on the guest that is gone", lambda x: x.liar["state"] == "stale" and
            x.liar["note"] == "the guest liar does not run on xen1")
    del w.vm.guests["liar"]


def load_hostile(vm):
    honest, liar = Guest(vm, "honest", net=1), Guest(vm, "liar", net=2)
    vm.create(honest, liar)
    start_agent(honest, "--load-period %dms" % AGENT_MS)
    be_liar(liar, "grant")
    with daemon(vm) as d:
        wait_for("belief in the honest one", 20, lambda: believed(Look(vm).honest), 0.2)
        w = Watch(vm)
        trusted(w, "at first")
        for name, why in LIES:
            told(w, liar, name, why)
        shown = burns(w, liar)
        lie(liar, "elsewhere")
        vm.sh("sleep 2")
        x = w.look("elsewhere")
        check(flagged(x.liar), "it is believed when it shows another page: %s" % x.liar)
        vm.sh("sleep 3")
        trusted(w, "for long")
        alarms = [e for e in d.events() if e["kind"] == "alarm"]
        check(len(alarms) == 1 and "the load of guest liar disagrees" in alarms[0]["text"], "alarms: %s" % alarms)
        lie(liar, "half")
        w.until("half-written to be told", lambda x: note(x.liar) == "its load page: it is always half-written")
        liar.sh("kill $(cat /tmp/liar.pid)")
        maps = [storm(w, d, liar, pages, how, turns) for how, turns in (("freed", FREED), ("killed", KILLED))
                for pages in ("grant", "frame")]
        be_liar(liar, "frame")
        trusted(w, "after storms")
        paused(w)
        destroyed(w, liar)
    return "%d lies told; busy %.2f of the one that says it is idle; %s pages mapped in storms; figures of the " \
        "honest one at most %d ms old" % (len(LIES) + 2, shown, maps, w.oldest_ms)
