# SPDX-License-Identifier: GPL-2.0-or-later
"""web: HAProxy in dom0 sends requests to four guests by the load that their agents publish.

Each guest runs nginx, which compresses a page for each request. Beside the nginx of n1 16 processes
burn CPU. wrk asks by turns under equal weights (mode equal) and under weights that follow the loads
(mode act). The kernel module in n1 fills the agent's page. Then n1 lies: its agent reads a /proc/stat that stands still, as if the guest were idle.
"""
import csv
import json
import os
import re
import subprocess

import cpio
import sc_kmod
from bed import Guest, Skipped, at_once, check, wait_for
from daemon import Daemon, start_agent

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = "haproxy,nginx-light,wrk"
GUESTS = ("n1", "n2", "n3", "n4")
BURNERS, SECONDS, ROUNDS = 16, 15, 2
WRK = "wrk -t 1 -c 8 -d %ds --timeout 30s --latency -H 'Accept-Encoding: gzip' http://127.0.0.1:8000/page.txt"
GOAL = 0.6
DOM0 = "10.99.1.254"
NET = """for m in bridge xen-netback; do modprobe $m || exit 1; done
ip=/usr/sbin/ip
$ip link add br0 type bridge && $ip addr add %s/24 dev br0 && $ip link set br0 up""" % DOM0
NGINX = """worker_processes 1;
error_log /tmp/nginx.err;
events { worker_connections 64; }
http {
 access_log off;
 gzip on; gzip_types *; gzip_comp_level 9; gzip_http_version 1.0;
 server { listen 80; root /www; }
}
"""
HAPROXY = """global
 stats socket /run/haproxy.sock level admin
 stats socket ipv4@127.0.0.1:9000 level user
defaults
 mode http
 timeout connect 30s
 timeout client 60s
 timeout server 60s
frontend web
 bind 127.0.0.1:8000
 default_backend web
backend web
 balance roundrobin
""" + "".join(" server %s 10.99.1.%d:80 weight 100\n" % (name, i + 1) for i, name in enumerate(GUESTS))


# --- the programs ------------------------------------------------------------------------------


def archive(vm, root, path, programs):
    a = cpio.Archive()
    for program in programs:
        cpio.put_elf(a, root, program)
    a.write(vm.share + "/files/" + path)
    return "/h/files/" + path


def packages(vm):
    """The root that Debian's are unpacked in."""
    root = vm.images + "/../web"
    made = subprocess.run([HERE + "/fetch-root.sh", root, PACKAGES], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if made.returncode and os.environ.get("CI") != "true":
        raise Skipped("Debian's %s could not be fetched: %s" % (PACKAGES, made.stdout[-200:]))
    check(made.returncode == 0, "Debian's packages could not be fetched: " + made.stdout[-400:])
    return root


def put_programs(vm):
    root = packages(vm)
    vm.sh("cd / && busybox cpio -idu <%s 2>/dev/null" %
          archive(vm, root, "dom0.cpio", ("/usr/sbin/haproxy", "/usr/bin/wrk")))
    # Guests have no share with the host: they fetch theirs from dom0.
    archive(vm, root, "guest.cpio", ("/usr/sbin/nginx",))
    words = "the load of every node is read by the host that sends it requests ".split()
    vm.put("page.txt", " ".join(words[(i * i + i // 7) % len(words)] + str(i * 7919 % 1000) for i in range(1200)))
    vm.put("nginx.conf", NGINX)
    vm.put("haproxy.cfg", HAPROXY)
    vm.sh("busybox httpd -p 8080 -h /h/files")


def serve(g):
    """nginx in the guest."""
    g.sh("modprobe xen-netfront; i=0; until [ -e /sys/class/net/eth0 ] || [ $i -ge 100 ]; do usleep 50000; i=$((i+1)); "
         "done; ip addr add 10.99.1.%d/24 dev eth0 && ip link set eth0 up" % g.net)
    g.sh("cd / && mkdir -p /www /var/log/nginx /var/lib/nginx; get='busybox wget -q -O -'; at=http://%s:8080; "
         "$get $at/guest.cpio | busybox cpio -idu 2>/dev/null; $get $at/page.txt >/www/page.txt && "
         "$get $at/nginx.conf >/tmp/nginx.conf && nginx -c /tmp/nginx.conf" % DOM0, 90)


# --- what is seen ------------------------------------------------------------------------------


def daemon(vm):
    conf = {"cluster": "one", "host": "xen1", "transport": "tcp", "key_file": "/run/key",
            "hosts": [{"name": "xen1", "number": 1, "address": "127.0.0.1"}],
            "services": [{"name": "web", "number": 1}],
            "load": {"period": "10ms", "scan": "50ms"},
            "nodes": [{"name": name, "number": i + 1, "host": "xen1", "guest": name, "service": "web"}
                      for i, name in enumerate(GUESTS)],
            "balance": [{"service": "web", "socket": "/run/haproxy.sock", "mode": "act"}]}
    vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key")
    return Daemon(vm, observe=True, cluster_file=vm.put("cluster.json", json.dumps(conf)),
                  interval="5ms", links=[{"name": "none0", "rate": "1GiB/s"}])


def stat(vm):
    """{server: its row of "show stat"}, by HAProxy itself."""
    out = vm.sh("printf 'show stat -1 4 -1\\n' | busybox nc 127.0.0.1 9000")
    return {r["svname"]: r for r in csv.DictReader(out.lstrip("# ").splitlines()) if r["pxname"] == "web"}


def weights(vm):
    return [int(stat(vm)[name]["weight"]) for name in GUESTS]


def load(vm, seconds=SECONDS):
    """wrk's p99 in ms, requests a second, and how many of 1000 requests n1 got."""
    before = stat(vm)
    out = vm.sh(WRK % seconds, seconds + 90)
    after = stat(vm)
    p99 = re.search(r"^ +99% +([\d.]+)(us|ms|s) *$", out, re.M)
    rate = re.search(r"^Requests/sec: +([\d.]+)", out, re.M)
    check(p99 and rate, "no figures of wrk: " + out)
    check("Non-2xx" not in out and "Socket errors" not in out, "requests failed: " + out)
    sent = {n: int(after[n]["stot"]) - int(before[n]["stot"]) for n in GUESTS}
    return {"p99_ms": float(p99[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[p99[2]], "rate": float(rate[1]),
            "n1": round(1000 * sent["n1"] / max(1, sum(sent.values()))), "sent": sent}


def set_mode(vm, mode):
    vm.sh("resex balance-set web " + mode)
    if mode == "equal":
        wait_for("equal weights", 10, lambda: weights(vm) == [100] * 4, 0.2)
    else:
        wait_for("weights that spare n1", 20, lambda: weights(vm)[0] < 30, 0.2)


def node(d, name):
    return [r for r in d.ask("load-list")["nodes"] if r["node"] == name][0]


# --- the scenario ------------------------------------------------------------------------------


def module(vm, d, g):
    """The figures of n1 come from its kernel, and without it from /proc again."""
    sc_kmod.build(vm)
    g.sh("busybox wget -q -O /tmp/loadmon.ko http://%s:8080/resex_loadmon.ko && insmod /tmp/loadmon.ko" % DOM0)
    seen = wait_for("klm of n1", 30, lambda: node(d, "n1").get("source") == "klm" and node(d, "n1"), 0.2)
    check(seen["running"] >= BURNERS and not seen["note"], "n1 by its module: %s" % seen)
    set_mode(vm, "act")
    got = load(vm)
    vm.note("by the module: %s; %s" % (got, vm.sh("resex load-list; resex why --node n1")))
    check(node(d, "n1")["source"] == "klm", "the module fills no more: %s" % node(d, "n1"))
    check(got["n1"] < 20, "n1 is not spared: %s" % got)
    g.sh("echo 1 >/sys/module/resex_loadmon/parameters/hold; i=0; until rmmod resex_loadmon 2>/dev/null || "
         "[ $i -ge 100 ]; do usleep 100000; i=$((i+1)); done; [ $i -lt 100 ]")
    wait_for("ulm of n1", 30, lambda: node(d, "n1").get("source") == "ulm", 0.2)
    check("disagrees" not in node(d, "n1")["flags"], "another source is taken for a lie: %s" % node(d, "n1"))


def lies(vm, d, g):
    """n1 says that it is idle, and is taken for what the hypervisor sees."""
    g.sh("kill $(cat /tmp/agent.pid); cat /proc/stat >/tmp/stat; mount --bind /tmp/stat /proc/stat")
    start_agent(g, "--load-period 10ms")
    seen = wait_for("n1 to disagree", 30, lambda: "disagrees" in node(d, "n1")["flags"] and node(d, "n1"), 0.2)
    vm.note("the liar: %s" % seen)
    check(seen["source"] == "hv", "a liar's load is its own: %s" % seen)
    got = load(vm)
    vm.note("beside a liar: %s; %s" % (got, vm.sh("resex balance-list; resex why --node n1")))
    check("disagrees" in node(d, "n1")["flags"], "it is believed again: %s" % node(d, "n1"))
    return got


def web(vm):
    vm.sh(NET)
    put_programs(vm)
    guests = [Guest(vm, name, net=i + 1) for i, name in enumerate(GUESTS)]
    vm.create(*guests)
    for g in guests:
        serve(g)
        start_agent(g, "--load-period 10ms")
    vm.sh("haproxy -D -f /h/files/haproxy.cfg")
    load(vm, 2)  # service times are measured
    guests[0].sh("i=0; while [ $i -lt %d ]; do (while :; do :; done) & i=$((i+1)); done" % BURNERS)
    seen = {"equal": [], "act": []}
    with daemon(vm) as d:
        wait_for("the agents' loads", 30, lambda: all(node(d, n).get("source") == "ulm" for n in GUESTS), 0.2)
        for _ in range(ROUNDS):
            for mode in ("equal", "act"):
                set_mode(vm, mode)
                seen[mode].append(load(vm))
                vm.note("%s: %s" % (mode, seen[mode][-1]))
                vm.note(vm.sh("resex balance-list; resex why --node n1; resex load-list"))
        module(vm, d, guests[0])
        liar = lies(vm, d, guests[0])
    check(weights(vm) == [100] * 4, "weights after the end of resexd: %s" % weights(vm))
    least = {mode: min(r["p99_ms"] for r in rows) for mode, rows in seen.items()}
    ratio = max(r["p99_ms"] for r in seen["act"]) / least["equal"]
    text = "p99 %.0f ms instead of %.0f: %.2f; n1 got %d of 1000 requests, as a liar %d" % (
        max(r["p99_ms"] for r in seen["act"]), least["equal"], ratio, seen["act"][-1]["n1"], liar["n1"])
    check(ratio <= GOAL, text)
    check(liar["n1"] == 0, "a liar draws requests: " + text)
    return text
