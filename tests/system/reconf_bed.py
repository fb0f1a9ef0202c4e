# SPDX-License-Identifier: GPL-2.0-or-later
"""reconf_bed: two Xen hosts whose nodes move between two services, each with a HAProxy for both.

	clients -> HAProxy of xen1, HAProxy of xen2 -> n1 (guest of xen1), d1 (dom0 of xen1), n2, d2
	xen1 --- wire.py --- xen2: RDMA, and requests to the other host's nodes

What resexd keeps is on the share, as on a disk: it survives the VM. (QEMU writes it at once: what a
disk loses because it was not synced is not shown here.)
"""
import json
import re
import shutil
import time

import bed
import sc_hosts
import sc_transport
import sc_web
import wire
from bed import Guest, at_once, check, wait_for
from daemon import Daemon, start_agent

AT = (sc_transport.A, sc_transport.B)  # of dom0s, on the wire
SERVICES = {"web": 201, "mail": 202}  # as wire.py wants them: no host has such a number
PORTS = {"web": 8001, "mail": 8002}
NODES = ("n1", "d1", "n2", "d2")
FIRST = {"n1": "web", "d1": "mail", "n2": "mail", "d2": "mail"}
BOTH = dict(FIRST, n2="web")  # after the first moves
SCAN_MS, TIMEOUT_MS, HOLD_MS = 300, 2000, 2000
MINIMUM = 1
# Requests to one service of this host's HAProxy. wrk says on SIGINT what it has seen.
WRK = "rm -f /tmp/wrk-{0}.rc; (sh -c 'echo $$ >/tmp/wrk-{0}.pid; exec wrk -t 1 -c {1} -d 3000 --timeout 60s {2} " \
    "-H \"Accept-Encoding: gzip\" http://127.0.0.1:{3}/{4}' >/tmp/wrk-{0}.out 2>&1; echo $? >/tmp/wrk-{0}.rc) &"
WRK_END = "kill -INT $(cat /tmp/wrk-{0}.pid); i=0; until [ -s /tmp/wrk-{0}.rc ] || [ $i -ge 600 ]; do " \
    "usleep 100000; i=$((i+1)); done; cat /tmp/wrk-{0}.out"
# Else the clients alone would fill the CPU that a host has.
PAUSES = "function delay() return 100 end\n"
HTTPD = "mkdir -p /www && echo d{0} >/www/index.html && busybox httpd -p 8080 -h /www && " \
    "busybox httpd -p 8081 -h /h/files"
# A guest has no share with the host: it fetches nginx from dom0. Each request for page.txt burns its CPU.
NGINX = "cd / && mkdir -p /www /var/log/nginx /var/lib/nginx; get='busybox wget -q -O -'; " \
    "at=http://10.99.{0}.254:8081; $get $at/guest.cpio | busybox cpio -idu 2>/dev/null; " \
    "echo n{0} >/www/index.html && $get $at/page.txt >/www/page.txt && $get $at/nginx.conf >/tmp/nginx.conf && " \
    "nginx -c /tmp/nginx.conf"
NGINX_CONF = sc_web.NGINX.replace("worker_processes 1", "worker_processes 12")
PAGE = " ".join("word%d" % (i * 7919 % 10007) for i in range(20000))
NETWORK = """for m in bridge xen-netback; do modprobe $m || exit 1; done
ip=/usr/sbin/ip
echo 1 >/proc/sys/net/ipv4/ip_forward
$ip link add br0 type bridge && $ip addr add 10.99.{0}.254/24 dev br0 && $ip link set br0 up &&
$ip route add 10.99.{1}.0/24 via {2}"""
GUEST_NETWORK = """modprobe xen-netfront; i=0; until [ -e /sys/class/net/eth0 ] || [ $i -ge 100 ]; do usleep 50000
i=$((i+1)); done
ip addr add 10.99.{0}.1/24 dev eth0 && ip link set eth0 up && ip route add default via 10.99.{0}.254"""
# idle-close-on-response: the old process of a restart leaves no connection before a last reply.
HAPROXY = """global
 stats socket /run/haproxy.sock level admin expose-fd listeners
 stats socket ipv4@127.0.0.1:9000 level admin
 server-state-file /run/haproxy.state
defaults
 mode http
 load-server-state-from-file global
 option idle-close-on-response
 timeout connect 60s
 timeout client 60s
 timeout server 60s
 timeout queue 60s
"""


def address(node):
    number = int(node[1])
    return "10.99.%d.1:80" % number if node[0] == "n" else AT[number - 1] + ":8080"


def haproxy_conf():
    """A slot for each node in each backend; all are disabled: resexd enables those that serve."""
    text = HAPROXY
    for service, port in PORTS.items():
        text += "frontend f%s\n bind 127.0.0.1:%d\n default_backend %s\nbackend %s\n balance roundrobin\n" % (
            service, port, service, service)
        text += "".join(" server %s %s disabled\n" % (n, address(n)) for n in NODES)
    return text


def cluster(number):
    nodes = [{"name": n, "number": 1 + (n[0] == "d"), "host": "xen" + n[1], "service": FIRST[n]} for n in NODES]
    for n in nodes:
        # A dom0 carries what its host does for others: its load would decide by itself.
        n.update({"guest": n["name"]} if n["name"][0] == "n" else {"only": ["mail"]})
    return {"cluster": "pair", "host": "xen%d" % number, "transport": "verbs", "key_file": "/run/key",
            "heartbeat": "200ms", "scan": "%dms" % SCAN_MS, "timeout": "%dms" % TIMEOUT_MS, "hold": "%dms" % HOLD_MS,
            "hosts": [{"name": "xen%d" % (i + 1), "number": i + 1, "address": at} for i, at in enumerate(AT)],
            "services": [
                {"name": "web", "number": SERVICES["web"], "minimum": MINIMUM, "high": 3000, "low": 900},
                {"name": "mail", "number": SERVICES["mail"], "minimum": MINIMUM, "high": 1000000, "low": 900000}],
            "nodes": nodes, "load": {"period": "100ms", "scan": "%dms" % SCAN_MS, "stale": "3s"},
            "reconf": {"S": "%dms" % SCAN_MS, "T": "5s", "rest": "0s"},
            "balance": [{"service": s, "socket": "/run/haproxy.sock", "mode": "act"} for s in SERVICES]}


class Look:
    """What a host says at one time.

    words: {node: (service, kept)}, as it has read them; owners: {service: who holds its lock, or
    None}; other: the state of the other host; proxy: {service: the nodes that get requests of its
    HAProxy}.
    """

    def __init__(self, host, said):
        nodes, locks, hosts = (json.loads(text) for text in said[:3])
        self.host = host
        self.words = {n["node"]: (n["service"], n["kept"]) for n in nodes["nodes"]}
        self.owners = {x["service"]: x.get("owner") for x in locks["locks"]}
        self.other = [h["state"] for h in hosts["hosts"] if h["name"] != host.name][0]
        rows = [r.split() for r in said[3].splitlines()[2:] if r]
        self.proxy = {s: {r[3] for r in rows if r[1] == s and not int(r[6]) & 0x09} for s in SERVICES}

    def services(self):
        return {n: w[0] for n, w in self.words.items()}

    def own(self):
        """{node of this host: its service}."""
        return {n: w[0] for n, w in self.words.items() if n[1] == str(self.host.number)}


class Host:
    """xen1 or xen2. Its VM may lose its power, and come anew."""

    def __init__(self, vm, number, run_dir):
        """run_dir: where the logs of its later VMs go."""
        self.vm, self.number, self.name, self.run_dir = vm, number, "xen%d" % number, run_dir
        self.boots = 0

    # --- its VM --------------------------------------------------------------------------------

    def boot(self):
        """The same host, in another VM, which has its disk."""
        old, self.boots = self.vm, self.boots + 1
        self.vm = bed.Vm(old.images, "%s/%s-%d" % (self.run_dir, self.name, self.boots), limit=old.limit,
                         cable=wire.ENDS[self.number - 1], snapshot=old.snapshot, beside=old, **sc_hosts.BED)
        self.vm.__enter__()
        shutil.copytree(old.share + "/files/state", self.vm.share + "/files/state")
        self.set_up()
        self.daemon.begin()

    def set_up(self):
        vm, other = self.vm, 3 - self.number
        sc_transport.plug(vm, AT[self.number - 1])
        vm.sh(NETWORK.format(self.number, other, AT[other - 1]))
        for name, text in (("page.txt", PAGE), ("nginx.conf", NGINX_CONF)):
            vm.put(name, text)
        vm.put("pauses.lua", PAUSES)
        root = sc_web.packages(vm)
        sc_web.archive(vm, root, "guest.cpio", ("/usr/sbin/nginx",))
        programs = sc_web.archive(vm, root, "dom0.cpio", ("/usr/sbin/haproxy", "/usr/bin/wrk"))
        vm.put("haproxy.cfg", haproxy_conf())
        vm.sh("cd / && busybox cpio -idu <%s 2>/dev/null; %s && : >/run/haproxy.state && "
              "haproxy -D -p /run/haproxy.pid -f /h/files/haproxy.cfg" % (programs, HTTPD.format(self.number)))
        vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key; mkdir -p /h/files/state")
        self.daemon = Daemon(vm, observe=True, cluster_file=vm.put("cluster.json", json.dumps(cluster(self.number))),
                             interval="50ms", links=[{"name": "none0", "rate": "1GiB/s"}], state_dir="/h/files/state")

    def set_up_guest(self):
        """The guest n1 or n2, which is a node."""
        self.guest = g = Guest(self.vm, "n%d" % self.number, net=1)
        self.vm.create(g)
        g.sh(GUEST_NETWORK.format(self.number).replace("\n", "; "))
        g.sh(NGINX.format(self.number), 90)
        start_agent(g, "--load-period 100ms")

    # --- what it says ----------------------------------------------------------------------------

    def begin_look(self):
        """What end_look() takes. All in one command: each takes dom0 as long as a few moves."""
        return self.vm.begin("for v in node-list lock-list host-list; do resex -j $v || exit; echo ---; done; "
                             "printf 'show servers state\\n' | busybox nc 127.0.0.1 9000")

    def end_look(self, number):
        """A Look, or None: resexd does not answer."""
        r = self.vm.end(number)
        return Look(self, r.out.split("---\n")) if r.rc == 0 else None

    def look(self):
        return self.end_look(self.begin_look())

    def moves(self):
        return self.daemon.ask("history")["moves"]

    # --- what it does ----------------------------------------------------------------------------

    def restart_proxy(self):
        """Another HAProxy takes its sockets and the states of its servers, and it ends when its requests have."""
        self.vm.sh("printf 'show servers state\\n' | busybox nc 127.0.0.1 9000 >/run/haproxy.state && "
                   "haproxy -D -p /run/haproxy.pid -f /h/files/haproxy.cfg -x /run/haproxy.sock "
                   "-sf $(cat /run/haproxy.pid)")

    def move(self, node, service):
        """Again while it is refused: after a fault not all is read yet, or a lock must be broken first."""
        said = [""]

        def is_moved():
            r = self.vm.run("resex move %s %s" % (node, service), 60)
            said[0] = r.out.strip()
            return r.rc == 0 or "%s serves %s already" % (node, service) in r.out
        try:
            wait_for("move of %s to %s" % (node, service), 20, is_moved, 0.3)
        except bed.Failed as e:
            raise bed.Failed("%s: %s said: %s" % (e, self.name, said[0])) from None

    def clients(self, service, connections, path="", pauses="-s /h/files/pauses.lua"):
        """Requests from now on."""
        self.vm.sh(WRK.format(service, connections, pauses, PORTS[service], path))

    def end_clients(self, service):
        """How many requests there were: none may have failed."""
        out = self.vm.sh(WRK_END.format(service), 90)
        said = re.search(r"(\d+) requests in", out)
        check(said, "wrk says nothing: " + out)
        check("Non-2xx" not in out and "Socket errors" not in out, "%s: requests to %s failed: %s" %
              (self.name, service, out))
        return int(said[1])


class Pair:
    """Both hosts and their wire; use it with "with"."""

    def __init__(self, vm):
        self.wire = wire.Wire(set(SERVICES.values()))
        second = bed.Vm(vm.images, vm.run_dir + "/xen2", limit=vm.limit, cable=wire.ENDS[1], snapshot=vm.snapshot,
                        beside=vm, **sc_hosts.BED)
        self.hosts = [Host(vm, 1, vm.run_dir), Host(second, 2, vm.run_dir)]
        self.note = vm.note
        self.looked = self.disagreed = 0.0  # when the last look began, and the last one that did not agree

    def __enter__(self):
        self.wire.__enter__()
        try:
            self.hosts[1].vm.__enter__()
            at_once(Host.set_up, *self.hosts)
            at_once(Host.set_up_guest, *self.hosts)
            at_once(lambda h: h.daemon.begin(), *self.hosts)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        for h in self.hosts:
            h.vm.power_off()
        self.wire.__exit__(kind, value, trace)

    def look(self):
        """Of both, or None: one has not read its own words yet. No service may be below its minimum by these."""
        self.looked = time.monotonic()
        looks = [h.end_look(number) for h, number in [(h, h.begin_look()) for h in self.hosts]]
        if not all(x and x.words["n%d" % x.host.number][1] is not None for x in looks):
            return None
        services = [s for x in looks for s in x.own().values()]
        for s in SERVICES:
            check(services.count(s) >= MINIMUM, "%s is below its minimum: %s" % (s, [x.words for x in looks]))
        return looks

    def until(self, what, seconds, right):
        """The looks that are right."""
        seen = []

        def probe():
            seen[:] = self.look() or seen
            return seen and right(seen) and list(seen)
        try:
            return wait_for(what, seconds, probe, 0.02)
        except bed.Failed as e:
            said = [(x.host.name, x.words, x.owners, x.other, x.proxy) for x in seen]
            raise bed.Failed("%s: %s" % (e, said)) from None

    def until_up(self):
        return self.until("links of both hosts", 30, lambda seen: all(x.other == "up" for x in seen))

    def until_agreed(self, what, seconds=15, services=None):
        """Both hosts, and both HAProxies, have each node where services says; by default, where its own host does."""
        def right(seen):
            true = services or {n: s for x in seen for n, s in x.own().items()}
            want = {s: {n for n, of in true.items() if of == s} for s in SERVICES}
            wrong = [(x.host.name, x.services(), x.proxy) for x in seen if x.services() != true or x.proxy != want]
            if wrong:
                self.disagreed = self.looked
                self.note("not yet %s: %s" % (what, wrong))
            return not wrong
        return self.until("agreement " + what, seconds, right)
