# SPDX-License-Identifier: GPL-2.0-or-later
"""load: guests as nodes. What the hypervisor alone tells of guests that are idle, busy, capped, and contend for a CPU.

Nobody asks the guests: no agent runs in them. What they themselves count as steal is compared, and so is
their CPU time as Xen's list has it.
"""
import json
import re

from bed import Guest, check, wait_for
from daemon import Daemon, xl_sched

# The sampler looks each 5 ms: each ms it would take most of the emulated CPUs.
SECONDS = 6
CAP = 30
TRACE = "/sys/kernel/tracing"


def daemon(vm, guests):
    conf = {"cluster": "one", "host": "xen1", "transport": "tcp", "key_file": "/run/key",
            "hosts": [{"name": "xen1", "number": 1, "address": "127.0.0.1"}],
            "nodes": [{"name": "n-" + g.name, "number": i + 1, "host": "xen1", "guest": g.name}
                      for i, g in enumerate(guests)] + [{"name": "n0", "number": 0, "host": "xen1"}]}
    vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key")
    return Daemon(vm, observe=True, cluster_file=vm.put("cluster.json", json.dumps(conf)),
                  interval="5ms", links=[{"name": "none0", "rate": "1GiB/s"}])


def rows(d):
    return {r["guest"]: r for r in d.ask("load-list")["nodes"]}


def look(vm, d, guests):
    """{guest: (what is told, its CPU time by Xen's list and when, its own steal and when)}, in ns."""
    jobs = [(g, g.begin("cat /proc/uptime; head -n 1 /proc/stat")) for g in guests]
    told = rows(d)
    out = vm.sh("domtool list; cut -d' ' -f1 /proc/uptime").split("\n")
    at = 1e9 * float(out[-2])
    cpu = {int(w[0]): int(w[2]) for w in (line.split() for line in out[:-2])}
    seen = {}
    for g, job in jobs:
        up, stat = g.end(job).out.splitlines()
        steal = 1e7 * int(stat.split()[8]), 1e9 * float(up.split()[0])
        seen[g.name] = told[g.name], (cpu[g.domid], at), steal
    return seen


def over(vm, d, guests, what):
    """{guest: shares of one CPU}: busy and wait as they are told, cpu by Xen, steal by the guest."""
    a = look(vm, d, guests)
    vm.sh("sleep %d" % SECONDS)
    b = look(vm, d, guests)
    shares = {}
    for name, (told, cpu, steal) in b.items():
        was = a[name]
        ns = told["sampled_ns"] - was[0]["sampled_ns"]
        shares[name] = {key: (told[key + "_ns"] - was[0][key + "_ns"]) / ns for key in ("busy", "wait")}
        shares[name]["cpu"] = (cpu[0] - was[1][0]) / (cpu[1] - was[1][1])
        shares[name]["steal"] = (steal[0] - was[2][0]) / (steal[1] - was[2][1])
        shares[name]["load"] = told["load"]
        check(told["source"] == "hv" and told["state"] == "fresh" and told["running"] is None,
              "%s: %s" % (what, told))
    vm.note("%s: %s" % (what, shares))
    return shares


def agrees(what, name, s):
    text = "%s, %s: %s" % (what, name, s)
    # Of an idle guest nearly all CPU time is of the commands of look(), which run between the two readings.
    more = 0.002 if s["cpu"] > 0.1 else 0.005
    check(abs(s["busy"] - s["cpu"]) <= 0.03 * s["cpu"] + more, "busy is not Xen's CPU time; " + text)
    # Some ms of it are of ticks that looked in another moment.
    check(abs(s["wait"] - s["steal"]) <= 0.10 * s["steal"] + 0.02, "wait is not the guest's steal; " + text)


def kind(s):
    """By the hypervisor's two figures alone."""
    if s["busy"] + s["wait"] < 0.25:
        return "idle"
    if s["wait"] < 0.2:
        return "busy"
    return "capped" if s["busy"] < 0.375 else "contended"


def told_apart(vm, d, what, guests, want):
    shares = over(vm, d, guests, what)
    for name, s in shares.items():
        agrees(what, name, s)
    seen = {name: kind(s) for name, s in shares.items()}
    check(seen == want, "%s: they are taken for %s: %s" % (what, seen, shares))
    return shares


def hypercalls(vm):
    """Calls of the hypervisor and sleeps of each thread of resexd, by the kernel's trace points."""
    events = "%s/events/syscalls/sys_enter_" % TRACE
    # tracing_on begins and ends both at once: what is enabled later, or longer, is counted otherwise.
    out = vm.sh("mount -t tracefs trace {0} 2>/dev/null; cd {0} && echo 0 >tracing_on && echo >trace && "
                "echo 4096 >buffer_size_kb && for e in ioctl clock_nanosleep; do echo 1 >{1}$e/enable; done; "
                "echo 1 >tracing_on; sleep 2; echo 0 >tracing_on; "
                "for e in ioctl clock_nanosleep; do echo 0 >{1}$e/enable; done; "
                "grep -o 'resexd-[0-9]* .*sys_[a-z_]*(' trace".format(TRACE, events))
    counts = {}
    for thread, call in re.findall(r"resexd-(\d+) .*sys_(ioctl|clock_nanosleep)\(", out):
        counts.setdefault(thread, {"ioctl": 0, "clock_nanosleep": 0})[call] += 1
    vm.note("system calls of each thread: %s" % counts)
    return max(counts.values(), key=lambda c: c["clock_nanosleep"])


def load(vm):
    # Not the tiny ones, which use CPU time always.
    _, one, two = guests = [Guest(vm, name, more=['cpus="1"']) for name in ("idle", "one", "two")]
    vm.create(*guests)
    with daemon(vm, guests) as d:
        wait_for("loads of the guests", 20, lambda: all(
            rows(d)[g.name]["state"] == "fresh" and rows(d)[g.name]["load"] is not None for g in guests), 0.2)
        host = rows(d)[None]
        check(host["source"] in ("ulm", "klm") and host["guest"] is None, "the host itself: %s" % host)
        one.sh("(while :; do :; done) & echo $! >/tmp/pid")
        told_apart(vm, d, "one burns", guests, {"idle": "idle", "one": "busy", "two": "idle"})
        xl = "xl %s -d one -c %%d" % xl_sched(vm)
        vm.sh(xl % CAP)
        told_apart(vm, d, "capped", guests, {"idle": "idle", "one": "capped", "two": "idle"})
        vm.sh(xl % 0)
        two.sh("(while :; do :; done) & echo $! >/tmp/pid")
        both = told_apart(vm, d, "both burn", guests, {"idle": "idle", "one": "contended", "two": "contended"})
        calls = hypercalls(vm)
        check(calls["clock_nanosleep"] > 100 and abs(calls["ioctl"] - calls["clock_nanosleep"]) <= 2,
              "the sampler makes more than one hypercall a tick: %s" % calls)
        vm.sh("xl destroy two")
        wait_for("a note on the guest that is gone", 10, lambda: rows(d)["two"]["state"] == "stale" and
                 rows(d)["two"]["note"] == "the guest two does not run on xen1", 0.2)
    return "contended: busy %.2f, wait %.2f, the guest's own steal %.2f; %d hypercalls in %d ticks" % (
        both["one"]["busy"], both["one"]["wait"], both["one"]["steal"], calls["ioctl"], calls["clock_nanosleep"])
