# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon: resexd in dom0, the agent and RDMA load in guests, and what is true of their counts."""
import json

from bed import check, wait_for

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
        return self.ask("ring-list " + name)["guests"][0]

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
    g.sh("rxe.sh eth0 10.99.1.%d" % g.net if g.net else "rxe.sh")
    return g


def with_agent(g):
    with_rxe(g)
    g.sh("resex-agent --foreground >/tmp/agent.log 2>&1 & echo $! >/tmp/agent.pid; "
         "i=0; until [ $i -ge 100 ] || grep -q . /tmp/agent.log && kill -0 $(cat /tmp/agent.pid); do "
         "usleep 50000; i=$((i+1)); done; sleep 0.3; kill -0 $(cat /tmp/agent.pid) || "
         "{ cat /tmp/agent.log; false; }")
    return g


class Load:
    """rdmaload in a guest, waiting for go(); its truth comes only from finish()."""

    def __init__(self, g, options, tag="load"):
        self.g, self.tag = g, tag
        g.sh("rm -f /tmp/{0}.in /tmp/{0}.out; mkfifo /tmp/{0}.in; "
             "rdmaload --wait --hold 600 {1} <>/tmp/{0}.in >/tmp/{0}.out 2>&1 & "
             "echo $! >/tmp/{0}.pid; i=0; until grep -q ^READY /tmp/{0}.out || [ $i -ge 200 ]; do "
             "usleep 50000; i=$((i+1)); done; head -n 1 /tmp/{0}.out; grep -q ^READY /tmp/{0}.out"
             .format(tag, options), 30)

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


def wait_rings(d, name, streams, seconds=20):
    """Until the daemon reads both send queues of so many of rdmaload's streams."""
    def enough():
        rings = d.rings(name)["rings"]
        return len([r for r in rings if r.get("kind") == "SQ" and r["state"] == "active"]) >= 2 * streams
    wait_for("%d send queues of %s in ring-list" % (2 * streams, name), seconds, enough, 0.2)


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


def agree(who, told, counted):
    """What the guest did and what dom0 counted, by the promises of ring-list."""
    truth, qps = told["total"], told["qps"]
    both = "%s: counted %s, true %s" % (who, counted, truth)
    # Only posts that were refused or aborted make a bound of the number.
    if truth["refused"] or truth["aborted"]:
        check(counted["wrs"] >= truth["wrs"], "work requests below the truth; " + both)
    else:
        check(counted["wrs"] == truth["wrs"], "work requests; " + both)
    # Of entries that were lost the MTUs are known, but not of UD, and not which way they went.
    if not counted["lost"]:
        for k in ("mtus_sent", "mtus_recv"):
            check(counted[k] == truth[k], "%s; %s" % (k, both))
    elif all(q["type"] != "UD" for q in qps):
        mtus = [c["mtus_sent"] + c["mtus_recv"] for c in (counted, truth)]
        check(mtus[0] == mtus[1], "MTUs %d, %d expected; %s" % (mtus[0], mtus[1], both))
        check("mtus-estimated" in counted["flags"], "the estimate is not marked; " + both)
    check(counted["wrs"] == counted["seen"] + counted["lost"], "seen and lost are not all; " + both)
    for k in ("bytes_sent", "bytes_recv"):
        most = counted[k] + counted["bytes_bound"]
        check(counted[k] <= truth[k] <= most, "%s; %s" % (k, both))
    if counted["lost"] == 0:
        check(counted["errors"] == truth["errors"], "errors; " + both)
        for k, names in OPS.items():
            true = sum(truth["ops"][n] for n in names)
            check(counted["ops"][k] == true, "operations %s; %s" % (k, both))
    else:
        check("lapped" in counted["flags"], "entries were lost, and no lap is shown; " + both)
