# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon: resexd in dom0, the agent and RDMA load in guests, and what is true of their counts."""
import itertools
import json
import re
import subprocess

from bed import Failed, check, wait_for

LINK = {"name": "rxe0", "rate": "1Gbit/s", "mtu": 1024}


class Daemon:
    """resexd with a configuration; use it with "with" or begin() and stop()."""

    def __init__(self, vm, observe=False, **settings):
        self.vm = vm
        conf = {"policy": "null", "links": [LINK], "state_dir": "/var/lib/resex",
                "socket": "/run/resex/resexd.sock", "lock_file": "/run/resex/resexd.lock"}
        conf.update(settings)
        path = vm.put("resexd.json", json.dumps(conf, indent=1))
        self.command = "resexd --hv xen --foreground -c %s%s" % (path, " --observe" if observe else "")

    def begin(self):
        self.vm.sh("rm -f /run/resexd.rc; (sh -c 'echo $$ >/run/resexd.pid; exec %s' "
                   ">>/h/files/resexd.log 2>&1; echo $? >/run/resexd.rc) &" % self.command)
        wait_for("answer of resexd", 20, lambda: self.vm.run("resex -j info").rc == 0, 0.2)
        return self

    def stop(self):
        """Its exit code after SIGTERM."""
        r = self.vm.run("kill -TERM $(cat /run/resexd.pid); i=0; until [ -s /run/resexd.rc ] || [ $i -ge 100 ]; do "
                        "usleep 100000; i=$((i+1)); done; exit $(cat /run/resexd.rc || echo 99)", 60)
        return r.rc

    def kill(self):
        self.vm.run("kill -9 $(cat /run/resexd.pid); true")

    def signal(self, name):
        self.vm.sh("kill -%s $(cat /run/resexd.pid)" % name)

    def __enter__(self):
        return self.begin()

    def __exit__(self, kind, value, trace):
        rc = self.stop()
        if rc == 99:
            self.kill()
        if kind is None:
            check(rc == 0, "resexd ended with %d on SIGTERM (99: it did not within 10 s)" % rc)

    def ask(self, words):
        r = self.vm.run("resex -j " + words)
        check(r.rc == 0, "resex %s ended with %d: %s" % (words, r.rc, r.out.strip()))
        return r.json()

    def events(self):
        return [json.loads(line) for line in self.vm.sh("resex -j events").splitlines()]

    def rings(self, name):
        """The daemon gives a sampler that is late 100 ms to answer; on a busy machine it may be later."""
        def answer():
            r = self.vm.run("resex -j ring-list " + name)
            if r.rc == 1 and "the sampler does not answer" in r.out:
                return None
            check(r.rc == 0, "resex ring-list ended with %d: %s" % (r.rc, r.out.strip()))
            return r.json()["guests"][0]
        return wait_for("answer of the sampler", 5, answer)

    def record(self, name):
        """What it decides on from now on, into a file that replay() reads."""
        self.vm.sh("resex trace-start /h/files/%s.trace" % name)

    def replay(self, name):
        """End the recording, and replay it on this machine: each decision and balance must be the same."""
        self.vm.sh("resex trace-stop")
        self.vm.note(self.lab("replay", "%s/files/%s.trace" % (self.vm.share, name)))

    def lab(self, *words):
        """What resex-lab prints on this machine. It must find nothing wrong."""
        r = subprocess.run([self.vm.build + "/resex-lab", *words], capture_output=True, text=True, timeout=600,
                           check=False)
        check(r.returncode == 0 and not r.stderr, "resex-lab %s ended with %d: %s%s" %
              (" ".join(words), r.returncode, r.stdout, r.stderr))
        return r.stdout

    def rss_kb(self):
        return int(self.vm.sh("sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\).*/\\1/p' "
                              "/proc/$(cat /run/resexd.pid)/status"))


def xl_sched(vm):
    return "sched-credit2" if vm.sched == "credit2" else "sched-credit"


def xl_cap(vm, name):
    """(weight, cap) as Xen's own tool sees them; cap 0 is none."""
    words = vm.sh("xl %s -d %s" % (xl_sched(vm), name)).split()
    return int(words[-2]), int(words[-1])


# --- guests -------------------------------------------------------------------


def with_rxe(g):
    if not g.rxe:
        g.sh("rxe.sh eth0 10.99.1.%d" % g.net if g.net else "rxe.sh")
        g.rxe = True
    return g


def with_agent(g, options=""):
    """A guest of a snapshot may have both already."""
    with_rxe(g)
    if g.agent != options:
        check(g.agent is None, "another agent runs in %s, with %s" % (g.name, g.agent))
        start_agent(g, options)
        g.agent = options
    return g


def start_agent(g, options=""):
    """Without samples of load, which wake an emulated guest a hundred times a second."""
    if "--load-period" not in options:
        options += " --load-period off"
    g.sh("resex-agent --foreground " + options + " >/tmp/agent.log 2>&1 & echo $! >/tmp/agent.pid; "
         "i=0; until [ $i -ge 100 ] || grep -q . /tmp/agent.log && kill -0 $(cat /tmp/agent.pid); do "
         "usleep 50000; i=$((i+1)); done; sleep 0.3; kill -0 $(cat /tmp/agent.pid) || "
         "{ cat /tmp/agent.log; false; }")


def listening(port):
    """Shell words: wait until a process listens on this TCP port."""
    return ("i=0; until grep -q ':%04X [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6 || [ $i -ge 200 ]; "
            "do usleep 50000; i=$((i+1)); done; [ $i -lt 200 ]" % port)


class Load:
    """rdmaload in a guest, waiting for go(); its truth comes only from finish()."""

    def __init__(self, g, options, tag="load"):
        self.g, self.tag = g, tag
        said = g.sh("rm -f /tmp/{0}.in /tmp/{0}.out; mkfifo /tmp/{0}.in; "
                    "rdmaload --wait --hold 600 {1} <>/tmp/{0}.in >/tmp/{0}.out 2>&1 & "
                    "echo $! >/tmp/{0}.pid; i=0; until grep -q ^READY /tmp/{0}.out || [ $i -ge 200 ]; do "
                    "usleep 50000; i=$((i+1)); done; head -n 1 /tmp/{0}.out; grep -q ^READY /tmp/{0}.out"
                    .format(tag, options), 30)
        ready = re.search(r"^READY pid=(\d+) qpns=(\S+)", said, re.M)
        self.pid, self.streams = int(ready[1]), len(ready[2].split(","))

    def go(self):
        self.g.sh("echo go >/tmp/%s.in" % self.tag)
        return self

    def done(self):
        return self.g.run("grep -qE '^DONE|^rdmaload:' /tmp/%s.out" % self.tag).rc == 0

    def wait_done(self, seconds=60):
        self.g.sh("i=0; until grep -qE '^DONE|^rdmaload:' /tmp/{0}.out || [ $i -ge {1} ]; do "
                  "usleep 100000; i=$((i+1)); done; grep -q ^DONE /tmp/{0}.out || {{ tail -n 3 /tmp/{0}.out; "
                  "false; }}".format(self.tag, 10 * seconds), seconds + 15)
        return self

    def finish(self):
        """Let it tell its truth and end."""
        out = self.g.sh("echo end >/tmp/{0}.in; i=0; until grep -q ^TRUTH /tmp/{0}.out || [ $i -ge 200 ]; do "
                        "usleep 50000; i=$((i+1)); done; sed -n 's/^TRUTH //p' /tmp/{0}.out"
                        .format(self.tag), 40)
        return json.loads(out)


def send_queues(d, name, pid=None):
    """Rows of ring-list: the send queues that are read, of one process or all."""
    return [r for r in d.rings(name)["rings"]
            if r.get("kind") == "SQ" and r["state"] == "active" and pid in (None, r["pid"])]


def wait_rings(d, name, streams, pid=None):
    """Until the daemon reads both send queues of so many of rdmaload's streams."""
    wait_for("%d send queues of %s in ring-list" % (2 * streams, name), 20,
             lambda: len(send_queues(d, name, pid)) >= 2 * streams, 0.2)


def wait_first(d, load):
    """Until the daemon has counted the one work request each stream of a --first Load did.

    From then on it knows a packet number of each queue pair, so that it counts MTUs exactly,
    however long it may stall. Before that, it can but guess those of what it does not see.
    """
    wait_for("the first work requests of %s in ring-list" % load.g.name, 20, lambda: len(
        [r for r in send_queues(d, load.g.name, load.pid) if r.get("wrs")]) == load.streams, 0.2)


def wait_settled(d, name):
    """Two looks that agree."""
    seen = [d.rings(name)["totals"]]

    def still():
        seen.append(d.rings(name)["totals"])
        return seen[-1] == seen[-2]
    wait_for("end of counting in " + name, 10, still, 0.2)
    return seen[-1]


# --- truth ----------------------------------------------------------------------


OPS = {"send": ["SEND", "SEND_IMM"], "write": ["WRITE", "WRITE_IMM"], "read": ["READ"],
       "fetch_add": ["FETCH_ADD"], "cmp_swap": ["CMP_SWAP"]}


def difference(before, after):
    """Totals of what came between two looks at ring-list; flags as they are."""
    out = {k: after[k] - before[k] for k in after if isinstance(after[k], int)}
    out["ops"] = {k: after["ops"][k] - before["ops"][k] for k in after["ops"]}
    out["flags"] = after["flags"]
    return out


def agree(who, told, counted, rows, guessed=False):
    """What the guest did and what dom0 counted, by the promises of ring-list.

    rows are the process's send_queues() while it holds them; guessed: MTUs of what was lost may be.
    """
    both = "%s: counted %s, true %s" % (who, counted, told["total"])
    check(counted["wrs"] == counted["seen"] + counted["lost"], "seen and lost are not all; " + both)
    check_wrs(counted, told["total"], both)
    agree_qps(who, told["qps"], rows, guessed)


def agree_qps(who, qps, rows, guessed):
    """Each queue pair by itself. Those whose number the agent was not sure of must fit in some order."""
    row = {r["qpn"]: r for r in rows if r["qpn"]}
    for t in qps:
        if t["qpn"] in row:
            agree_qp(who, row[t["qpn"]], t, guessed)
    left = [t for t in qps if t["qpn"] not in row]
    nameless = [r for r in rows if not r["qpn"] and r.get("wrs")]
    check(len(left) == len(nameless), "%s: not one queue each for %s: %s" % (who, left, rows))
    failure = None
    for order in itertools.permutations(nameless):
        try:
            for r, t in zip(order, left):
                agree_qp(who, r, t, guessed)
            return
        except Failed as e:
            failure = e
    raise failure


def check_wrs(c, t, both):
    # Only posts that were refused or aborted make a bound of the number.
    if t["refused"] or t["aborted"]:
        check(c["wrs"] >= t["wrs"], "work requests below the truth; " + both)
    else:
        check(c["wrs"] == t["wrs"], "work requests; " + both)


def agree_qp(who, c, t, guessed):
    both = "queue pair %d of %s: counted %s, true %s" % (t["qpn"], who, c, t)
    check_wrs(c, t, both)
    for k in ("bytes_sent", "bytes_recv"):
        check(c[k] <= t[k] <= c[k] + c["bytes_bound"], "%s; %s" % (k, both))
    check(guessed or "mtus-guessed" not in c["flags"], "a guess, though packet numbers were known; " + both)
    if c["lost"]:
        check("lapped" in c["flags"], "entries were lost, and no lap is shown; " + both)
        if t["type"] != "UD":
            agree_lost(c, t, both)
        return
    for k in ("mtus_sent", "mtus_recv", "errors"):
        check(c[k] == t[k], "%s; %s" % (k, both))
    for k, names in OPS.items():
        check(c["ops"][k] == sum(t["ops"][n] for n in names), "operations %s; %s" % (k, both))


def agree_lost(c, t, both):
    """Of entries that were lost, packet numbers tell the MTUs, but not which way they went."""
    wrong = c["mtus_sent"] + c["mtus_recv"] - t["mtus_sent"] - t["mtus_recv"]
    if "mtus-guessed" in c["flags"]:
        most = c["lost"] * (t["largest_mtus"] - 1)
        check(abs(wrong) <= most, "MTUs are wrong by %d, what was lost explains %d; %s" % (wrong, most, both))
    else:
        check(wrong == 0, "MTUs are wrong by %d; %s" % (wrong, both))
    check("mtus-estimated" in c["flags"] or c["mtus_sent"] == t["mtus_sent"],
          "the estimate is not marked; " + both)


def settle(who, d, load, before, guessed=False):
    """When a Load is done: what it did and what was counted since before agree."""
    load.wait_done(90)
    counted = difference(before, wait_settled(d, load.g.name))
    rows = send_queues(d, load.g.name, load.pid)
    told = load.finish()
    d.vm.note("%s: true %s, counted %s" % (who, told["total"], counted))
    check(told["total"]["wrs"] > 0, "%s did nothing" % who)
    agree(who, told, counted, rows, guessed)
    return rows
