#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""reconf: nodes go by themselves to the service that has a burst; and the paper's case, simulated.

usage: reconf.py BUILD-DIRECTORY [-j | --test]

Three resexd over shm, each with one node, an HTTP server (node.py). HAProxy balances two services, and
wrk sends bursts, to one and then to the other. Each resexd is in a mount namespace of its own, in which
the files of /proc that load is read from are those of its node. Nobody orders a move: xen1 decides by
the loads that it reads. -j prints one JSON object; --test checks what was promised. Exit: 0, 1, or 77
when mount namespaces are not permitted (1 when CI=true).
"""
import csv
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SERVICES = ("web", "mail")
FIRST = {"n1": "web", "n2": "mail", "n3": "mail"}  # a node of each host, xen1 to xen3
CONNECTIONS = 8
BURST_S = 10  # T, a move, and 5 T until resexd looks at what it brought
SAMPLE_S = 0.1
PATIENCE_S = 20
SIMULATED = ("rigid_tps", "over_tps", "reconf_tps", "equal_rigid_tps", "equal_reconf_tps", "equal_moves")
REAL = ("requests", "failed", "moves")
# A mount in the namespace shows nowhere else. "mount" runs there from its root: in a chroot, "/" may
# be no mount point.
APART = """nsenter -t $$ -m mount --make-rprivate / && cd "$1" && shift &&
for f in stat loadavg pressure; do
	at=/proc/$f
	[ $f != pressure ] || at=/proc/pressure/cpu
	[ ! -e $at ] || mount --bind $f $at || exit
done && exec "$@\""""


def say(text):
    print("== " + text, file=sys.stderr, flush=True)


def until(holds, what):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            sys.exit("demo: not within %d s: %s" % (PATIENCE_S, what()))
        time.sleep(0.02)


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def apart(folder, *command):
    """The command, with the files of the folder in /proc."""
    return ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "--propagation", "unchanged",
            "sh", "-c", APART, "sh", folder, *command]


class Bed:
    def __init__(self, build, top):
        self.build, self.top, self.made = build, top, []
        ports = free_ports(len(SERVICES) + len(FIRST))
        self.port, self.at = dict(zip(SERVICES, ports)), dict(zip(FIRST, ports[len(SERVICES):]))
        self.socket = top + "/haproxy.sock"

    def start(self):
        os.mkdir(self.top + "/shm")
        for n, name in enumerate(FIRST, 1):
            d = "%s/%d" % (self.top, n)
            os.makedirs(d + "/state")
            self.run([sys.executable, HERE + "/node.py", name, str(self.at[name]), d], n)
            until(lambda f=d + "/pressure": os.path.exists(f) and os.path.getsize(f), self.logs)
        if subprocess.run(apart(self.top + "/1", "true"), stderr=subprocess.DEVNULL, check=False).returncode:
            print("demo: mount namespaces are not permitted here: run it as root, outside of a container",
                  file=sys.stderr)
            sys.exit(1 if os.environ.get("CI") == "true" else 77)
        with open(os.open(self.top + "/key", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write(os.urandom(32).hex() + "\n")
        self.write_haproxy()
        self.run(["haproxy", "-f", self.top + "/haproxy.cfg"], 1)
        for n in range(1, len(FIRST) + 1):
            self.start_host(n)
        until(self.is_ready, lambda: "resexd knows all loads, and HAProxy the first services\n%s" % self.logs())

    def run(self, command, n):
        """Host n's log has what it says."""
        with open("%s/%d/log" % (self.top, n), "a", encoding="utf-8") as log:
            self.made.append(subprocess.Popen(command, stdout=log, stderr=log))

    def write_haproxy(self):
        """A server for each node in each backend; resexd makes those ready that serve."""
        with open(self.top + "/haproxy.cfg", "w", encoding="utf-8") as f:
            f.write("global\n stats socket %s level admin\n maxconn 200\ndefaults\n mode http\n timeout connect 5s\n"
                    " timeout client 30s\n timeout server 30s\n timeout queue 30s\n" % self.socket)
            for service, port in self.port.items():
                f.write("frontend f%s\n bind 127.0.0.1:%d\n default_backend %s\nbackend %s\n balance roundrobin\n"
                        % (service, port, service, service))
                for name, at in self.at.items():
                    f.write(" server %s 127.0.0.1:%d weight 100 disabled\n" % (name, at))

    def start_host(self, n):
        d = "%s/%d" % (self.top, n)
        cluster = {"cluster": "demo", "host": "xen%d" % n, "transport": "shm", "key_file": self.top + "/key",
                   "heartbeat": "50ms", "scan": "50ms", "timeout": "300ms", "hold": "300ms",
                   "load": {"source": "ulm", "period": "20ms"},
                   "hosts": [{"name": "xen%d" % i, "number": i, "address": self.top + "/shm"}
                             for i in range(1, len(FIRST) + 1)],
                   "services": [{"name": s, "number": i, "balancers": ["xen1"], "high": 950, "low": 500}
                                for i, s in enumerate(SERVICES, 1)],
                   "nodes": [{"name": name, "number": 1, "host": "xen%d" % i, "service": service}
                             for i, (name, service) in enumerate(FIRST.items(), 1)],
                   "reconf": {"mode": "act", "T": "1s", "rest": "3s"},
                   "balance": [{"service": s, "socket": self.socket, "mode": "act"} for s in SERVICES]}
        daemon = {"links": [{"name": "sim0", "rate": "1GiB/s"}], "lock_memory": False, "socket": d + "/sock",
                  "state_dir": d + "/state", "lock_file": d + "/lock", "cluster_file": d + "/cluster.json"}
        for name, what in (("cluster", cluster), ("resexd", daemon)):
            with open("%s/%s.json" % (d, name), "w", encoding="utf-8") as f:
                json.dump(what, f)
        self.run(apart(d, self.build + "/resexd", "--hv", "sim", "-c", d + "/resexd.json"), n)

    def ask(self, *words):
        """What resex -j says on xen1; None: it failed."""
        r = subprocess.run([self.build + "/resex", "-s", self.top + "/1/sock", "-j", *words],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return None if r.returncode else json.loads(r.stdout)

    def rows(self):
        """By HAProxy: (service, node, requests that it has got, is it ready), of each server."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            s.sendall(b"show stat -1 4 -1\n")
            said = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        return [(r["pxname"], r["svname"], int(r["stot"]), r["status"] not in ("MAINT", "DRAIN"))
                for r in csv.DictReader(said.lstrip("# ").splitlines())]

    def sample(self):
        """Of each service: its nodes, and the requests that they have got."""
        rows = self.rows()
        return {s: ([name for of, name, _, ready in rows if of == s and ready],
                    sum(got for of, _, got, _ in rows if of == s)) for s in SERVICES}

    def is_ready(self):
        if not os.path.exists(self.socket):
            return False
        seen, said = self.sample(), self.ask("service-list")
        first = all(sorted(seen[s][0]) == [n for n in FIRST if FIRST[n] == s] for s in SERVICES)
        return bool(first and said and all(s["load"] is not None and s["load"] >= 0 and not s.get("note")
                                           for s in said["services"]))

    def logs(self):
        text = []
        for n in range(1, len(FIRST) + 1):
            path = "%s/%d/log" % (self.top, n)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as f:
                    text.append("xen%d: %s" % (n, f.read()[-500:]))
        return "\n".join(text)

    def close(self):
        for p in self.made:
            p.terminate()
        for p in self.made:
            p.wait()


# --- bursts ---------------------------------------------------------------------


def read_wrk(said):
    """(requests, failed)"""
    bad = re.findall(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    bad += re.findall(r"Non-2xx or 3xx responses: (\d+)()", said)
    requests = re.search(r"(\d+) requests in ", said)
    return int(requests.group(1)) if requests else 0, sum(int(n) for found in bad for n in found if n)


def burst(bed, service):
    """wrk asks one service. (requests, failed, the phases): a phase ends when the service has other nodes."""
    say("a burst on %s, %d s" % (service, BURST_S))
    wrk = subprocess.Popen(["wrk", "-t1", "-c%d" % CONNECTIONS, "-d%ds" % BURST_S, "--timeout", "30s",
                            "http://127.0.0.1:%d/" % bed.port[service]], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    samples = []
    while wrk.poll() is None:
        samples.append((time.monotonic(), bed.sample()))
        time.sleep(SAMPLE_S)
    requests, failed = read_wrk(wrk.stdout.read())
    phases = []
    for (since, a), (till, b) in zip(samples, samples[1:]):
        if not phases or phases[-1]["nodes"][service] != a[service][0]:
            phases.append({"burst": service, "seconds": 0, "requests": dict.fromkeys(SERVICES, 0)})
        phases[-1]["nodes"] = {s: a[s][0] for s in SERVICES}
        phases[-1]["seconds"] += till - since
        for s in SERVICES:
            phases[-1]["requests"][s] += b[s][1] - a[s][1]
    return requests, failed + (wrk.returncode != 0), phases


def real(build):
    """What three resexd do."""
    top = tempfile.mkdtemp(prefix="resex-demo-")
    bed = Bed(build, top)
    out = {"requests": 0, "failed": 0, "phases": []}
    try:
        say("starting three resexd, HAProxy, and an HTTP server for each node")
        bed.start()
        for service in SERVICES:
            requests, failed, phases = burst(bed, service)
            out["requests"] += requests
            out["failed"] += failed
            out["phases"] += phases
        said = bed.ask("history")
        if not said:
            sys.exit("demo: resex history failed\n" + bed.logs())
        out["history"] = said["moves"]
    finally:
        bed.close()
        shutil.rmtree(top, ignore_errors=True)
    out["moves"] = sum(m["outcome"] == "moved" for m in out["history"])
    return out


def start_lab(build):
    """Four services of two nodes, and bursts of 16384 requests. The real part has priority."""
    return subprocess.Popen(["nice", "-n", "19", build + "/resex-lab", "reconf", "--shares", "2:2:2:2",
                             "--bursts", "16384", "-j"], stdout=subprocess.PIPE)


def simulated(lab):
    """What the lab says."""
    say("waiting for the simulation of the paper's case")
    said = lab.communicate()[0]
    if lab.returncode:
        sys.exit("demo: resex-lab reconf failed")
    figures = json.loads(said)
    return {key: figures[key] for key in SIMULATED}


# --- output -----------------------------------------------------------------------


def rate(phase, service):
    return phase["requests"][service] / phase["seconds"]


def show(all_):
    print("Three resexd on this machine, over shm; each has a node. Real: HAProxy, wrk, and\n"
          "of each node an HTTP server, which has a fifth of a core, and its load: the CPU\n"
          "time that it used, and the requests that waited. SIMULATED: the hypervisors,\n"
          "which do nothing here.\n")
    form = "%-8s %7s   %-9s %11s   %-9s %11s"
    print(form % ("burst on", "seconds", "web", "requests/s", "mail", "requests/s"))
    for p in all_["phases"]:
        cells = [x for s in SERVICES for x in (",".join(p["nodes"][s]), "%.0f" % rate(p, s))]
        print(form % (p["burst"], "%.1f" % p["seconds"], *cells))
    print("\n%d requests, %d failed; %d moves\n" % (all_["requests"], all_["failed"], all_["moves"]))
    form = "%-8s  %-4s  %-4s  %-4s  %-9s  %-13s  %6s  %9s  %5s"
    print("resex history; loads are of the service TO, in 1/1000 of its CPUs:\n"
          + form % ("TIME", "NODE", "FROM", "TO", "WHY", "OUTCOME", "BEFORE", "PREDICTED", "SEEN"))
    for m in all_["history"]:
        print(form % (time.strftime("%H:%M:%S", time.localtime(m["time_ns"] / 1e9)), m["node"], m["from"], m["to"],
                           m["why"], m["outcome"], *("-" if m[k] is None else m[k]
                                                     for k in ("to_before", "to_predicted", "to_seen"))))
    form = "%-38s %8s %17s %8s"
    print("\nSIMULATED by resex-lab reconf: requests a second, of 8 nodes for 4 services\n"
          + form % ("", "rigid", "over-provisioned", "moved"))
    print(form % ("bursts of 16384 requests", *("%.0f" % all_[k] for k in SIMULATED[:3])))
    print(form % ("equal loads: %.1f moves" % all_["equal_moves"], "%.0f" % all_["equal_rigid_tps"], "-",
                  "%.0f" % all_["equal_reconf_tps"]))


def judge(all_):
    """Print one line for each claim; the number of claims that fail."""
    doc = json.loads(as_json(all_))
    moved = [(m["to"], m["why"]) for m in all_["history"] if m["outcome"] == "moved"]
    claims = (
        ("-j has all figures, as numbers", all(isinstance(doc.get(k), (int, float)) for k in SIMULATED + REAL)),
        ("there were requests, and none failed: %d, %d" % (doc["requests"], doc["failed"]),
         doc["requests"] > 0 and doc["failed"] == 0),
        ("each burst got a node, for load: %s" % moved,
         moved == [(s, "load") for s in SERVICES] and doc["moves"] == 2),
        ("HAProxy had two servers then for each burst, and one before", [
            [len(p["nodes"][s]) for p in all_["phases"] if p["burst"] == s] for s in SERVICES] == [[1, 2], [1, 2]]),
        ("simulated: bursts get more than twice as much as rigid, and 90 % of over-provisioned",
         doc["reconf_tps"] >= 2.2 * doc["rigid_tps"] and doc["reconf_tps"] >= 0.9 * doc["over_tps"]),
        ("simulated: equal loads lose nothing by moves", doc["equal_reconf_tps"] >= 0.96 * doc["equal_rigid_tps"]),
    )
    for text, holds in claims:
        print("%s %s" % ("pass" if holds else "FAIL", text))
    failed = sum(not holds for _, holds in claims)
    print("demo --reconf: %d passed, %d failed" % (len(claims) - failed, failed))
    return failed


def as_json(all_):
    return json.dumps({"simulated": SIMULATED, "real": REAL, **all_})


def main():
    words = sys.argv[1:]
    if not 1 <= len(words) <= 2 or words[1:] not in ([], ["-j"], ["--test"]):
        sys.exit("usage: reconf.py BUILD-DIRECTORY [-j | --test]")
    build = os.path.abspath(words[0])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all children end, too
    try:
        lab = start_lab(build)
        try:
            all_ = {**real(build), **simulated(lab)}
        finally:
            lab.kill()
        if words[1:] == ["--test"]:
            sys.exit(1 if judge(all_) else 0)
        if words[1:] == ["-j"]:
            print(as_json(all_))
        else:
            show(all_)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of stdout is gone
        sys.exit(141)


main()
