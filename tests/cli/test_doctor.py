#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_doctor: resex doctor beside resexd on its simulated host.

usage: test_doctor.py [BUILD]

A host with everything well, and each fault that the simulator can have: ticks late, no reporter, no queue, a
resexd that is absent, stopped, or hangs, a host of the cluster that is silent. Faults that it cannot have are put
into real replies by a proxy before the control socket. The cap test: on a host whose caps limit, on one whose caps
do nothing, refused, interrupted, and with a resexd that dies meanwhile: the cap is always taken back.

Exit: 0, or 1 when something was not as it should be.
"""
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
WAIT_S = 120
wrong = []

# On the machine of the test the clock may be free; and ticks may be late, so that something is lost.
STEADY = ["daemon", "xen", "scheduler", "privileges", "links", "adapters", "agents", "rings", "reports", "counters", "cluster"]
HANGING = ["ticks", "losses", "clocks"]


def check(good, what, *seen):
    print("%s %s%s" % ("ok  " if good else "FAIL", what, "" if good else ": " + " ".join(map(str, seen))), flush=True)
    if not good:
        wrong.append(what)


def until(test, what):
    end = time.time() + WAIT_S
    while time.time() < end:
        if test():
            return
        time.sleep(0.05)
    raise SystemExit("not within %d s: %s" % (WAIT_S, what))


class Host:
    """A resexd on a simulated host, and resex beside it."""

    def __init__(self, top, name, **conf):
        self.dir = os.path.join(top, name)
        os.makedirs(self.dir + "/state")
        self.sock = self.dir + "/sock"
        self.conf = {"links": [{"name": "sim0", "rate": "1GiB/s", "profile": "paper-2011"}], "lock_memory": False,
                     "socket": self.sock, "state_dir": self.dir + "/state", "lock_file": self.dir + "/lock", **conf}
        self.daemon = None

    def start(self, *options, guests=2):
        with open(self.dir + "/c.json", "w") as f:
            json.dump(self.conf, f)
        self.run([BUILD + "/resexd", "--hv", "sim", "-c", self.dir + "/c.json", *options], guests)
        return self

    def scenario(self, guests, **members):
        whole = {"clock": "real", "duration": "3600s", "policy": "null", "guests": guests, **members}
        with open(self.dir + "/s.json", "w") as f:
            json.dump(whole, f)
        self.run([BUILD + "/resexd", "--hv", "sim", "--scenario", self.dir + "/s.json", "--socket", self.sock],
                 len(guests))
        return self

    def run(self, command, guests):
        # As in test_cluster.sh: SIGHUP reloads it, also when this test runs under nohup.
        self.daemon = subprocess.Popen(["env", "--default-signal=HUP", *command], stdout=subprocess.DEVNULL,
                                       stderr=open(self.dir + "/log", "ab"), start_new_session=True)
        until(lambda: self.daemon.poll() is not None or self.is_ready(guests), "resexd of %s is ready" % self.dir)
        if self.daemon.poll() is not None:
            raise SystemExit("resexd ended: " + open(self.dir + "/log").read())

    def is_ready(self, guests):
        r = self.resex("-j", "ring-list")
        return r.returncode == 0 and sum(g["attached"] for g in json.loads(r.stdout)["guests"]) == guests

    def resex(self, *words, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([BUILD + "/resex", "-s", self.sock, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "300"}, **kw)

    def doctor(self, *words, **kw):
        """(exit status, findings, standard error)"""
        r = self.resex("-j", "doctor", *words, **kw)
        return r.returncode, json.loads(r.stdout)["findings"] if r.stdout else [], r.stderr

    def cap(self, name):
        """Asked without a process of its own: a cap test takes 3 s, and a busy machine starts few processes in that time."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.sock)
            s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"guest-show","params":{"guest":"%s"}}\n' % name.encode())
            o = json.loads(s.makefile().readline())["result"]
        return o["cap"], o["max_cap"]

    def signal(self, number):
        self.daemon.send_signal(number)

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            self.daemon.wait(WAIT_S)


def states(findings):
    return {f["check"]: f["state"] for f in findings}


def says(h, name, text):
    return any(text in f["text"] for f in h.doctor(name)[1])


def finds(h, what, name, state, text, status=1, **kw):
    code, findings, err = h.doctor(name, **kw)
    good = code == status and any(f["state"] == state and text in f["text"] for f in findings)
    check(good, what, code, json.dumps(findings), err)


# --- the checks ------------------------------------------------------------------------


def absent(top):
    h = Host(top, "absent")
    code, findings, err = h.doctor()
    of = states(findings)
    check(code == 7 and not err and of["daemon"] == "fault" and of["rings"] == "unknown" and "clocks" in of,
          "resexd is absent", code, findings, err)
    check("cannot reach resexd" in findings[0]["text"] and "resexd --check" in findings[0]["remedy"],
          "the finding says so, and what to do", findings[0])
    code, findings, err = h.doctor("rings")
    check(code == 7 and states(findings) == {"rings": "unknown"} and err.startswith("resex: cannot reach"),
          "one check of an absent resexd", code, findings, err)
    code, findings, err = h.doctor("--cap-test", "server", "--yes")
    check(code == 7 and not findings and err.startswith("resex: cannot reach"), "a cap test without resexd", err)


def usage(top):
    h = Host(top, "usage")
    r = h.resex("doctor", "--list")
    names = [line.split()[0] for line in r.stdout.splitlines()[1:]]
    check(r.returncode == 0 and set(STEADY + HANGING) == set(names), "--list", r)
    r = h.resex("-j", "doctor", "--list")
    check([c["check"] for c in json.loads(r.stdout)["checks"]] == names, "--list as JSON", r)
    for words, text in ((["ring"], 'there is no check "ring" (resex doctor --list)'), (["--list", "rings"], "give nothing else"),
                        (["--yes"], "--yes is for --cap-test alone"), (["--cap-test"], "needs a value")):
        r = h.resex("doctor", *words)
        check(r.returncode == 2 and text in r.stderr and r.stderr.count("\n") == 1, "wrong usage: " + " ".join(words), r)


def healthy(h):
    code, findings, err = h.doctor(*STEADY)
    of = states(findings)
    check(code == 0 and not err and set(of) == set(STEADY) and set(of.values()) <= {"ok", "unknown"}, "a host with everything well",
          code, findings, err)
    check([c for c, s in of.items() if s != "ok"] == ["links", "adapters"],
          "but for links and adapters: a simulated host has no device", of)
    r = h.resex("doctor", *STEADY)
    check(r.returncode == 0 and "ok       rings       2 queues of 2 guests" in r.stdout and
          r.stdout.endswith("%d ok, 2 unknown, 0 warnings, 0 faults\n" % (len(STEADY) - 2)), "the same as text", r.stdout)
    r = subprocess.run([BUILD + "/resex", "-s", h.sock, "doctor", "rings", "privileges"], stdout=subprocess.PIPE, text=True,
                       env={**os.environ, "COLUMNS": "50"})
    check(max(map(len, r.stdout.splitlines())) <= 50, "text fits the terminal", r.stdout)
    code, findings, _ = h.doctor(*HANGING)
    check(set(states(findings)) == set(HANGING) and code in (0, 1), "only the checks that are named", findings)


def late(h):
    """resexd stands for half of the time: of the ticks that are left many are late."""
    done = threading.Event()

    def hinder():
        while not done.is_set():
            h.signal(signal.SIGSTOP)
            time.sleep(0.01)
            h.signal(signal.SIGCONT)
            time.sleep(0.01)

    t = threading.Thread(target=hinder)
    t.start()
    try:
        code, findings, err = h.doctor("ticks")
    finally:
        done.set()
        t.join()
    check(code == 1 and states(findings)["ticks"] in ("warning", "fault") and "ticks were late" in findings[0]["text"],
          "late ticks", code, findings, err)


def unheard(top):
    hidden = {"name": "hidden", "blind": True, "apps": [{"kind": "sender"}]}
    for name, first in (("heard", {"kind": "server"}), ("unheard", {"kind": "sender"})):
        h = Host(top, name).scenario([{"name": "a", "apps": [first]}, hidden], policy="ioshares")
        try:
            if name == "heard":
                until(lambda: says(h, "reports", "no latency is promised"), "the server reports")
                finds(h, "reporters without a promised latency", "reports", "unknown", "no latency is promised to a", status=0)
                continue
            until(lambda: says(h, "reports", "no guest reports any"), "a second without reports")
            finds(h, "no reporter", "reports", "warning", "no guest reports any on link0")
            finds(h, "a hidden queue", "rings", "ok", "1 queues of 1 guests", status=0)
            until(lambda: h.doctor("counters")[0] == 1, "the hidden sender diverges")
            finds(h, "what it sends is seen", "counters", "fault", "more is sent by hidden")
        finally:
            h.stop()


class Proxy:
    """Forwards requests to resexd, and changes members of its replies: {method: {path: value}}."""

    def __init__(self, h, changes):
        self.h, self.changes = h, changes
        self.path = h.dir + "/proxy"
        self.s = socket.socket(socket.AF_UNIX)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.s.bind(self.path)
        self.s.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.s.accept()
            threading.Thread(target=self.forward, args=(client,), daemon=True).start()

    def forward(self, client):
        up = socket.socket(socket.AF_UNIX)
        up.connect(self.h.sock)
        requests, replies = client.makefile("r"), up.makefile("r")
        for line in requests:
            up.sendall(line.encode())
            reply = json.loads(replies.readline())
            for path, value in self.changes.get(json.loads(line)["method"], {}).items():
                at, words = reply["result"], path.split(".")
                for w in words[:-1]:
                    at = at[int(w)] if isinstance(at, list) else at[w]
                at[words[-1]] = value
            client.sendall((json.dumps(reply) + "\n").encode())


def patched(h, sys_dir):
    """Faults that the simulator cannot have, in what resexd says of a host without them."""
    real = {"info": {"simulated": False}}
    rows = [
        ("agents", "warning", "no agent is heard in server", {"ring-list": {"guests.0.attached": False}}),
        ("agents", "warning", "the agent of bulk is silent", {"ring-list": {"guests.1.agent_silent": True}}),
        ("rings", "warning", "a queue of bulk is not read: its memory is gone", {"ring-list": {"guests.1.rings.0.fault": "its memory is gone"}}),
        ("rings", "fault", "bulk publishes queues", {"ring-list": {"guests.1.forged": True}}),
        ("scheduler", "fault", "scheduler null, which has no caps", {"info": {"schedulers": ["null"]}}),
        ("daemon", "warning", "resexd has version 0.1", {"info": {"version": "0.1"}}),
        ("losses", "warning", "7 events", {"info": {"events_lost": 7}}),
        ("links", "warning", "link sim0 has a rate of 1.074 GB/s, but sim0 carries 1.250 GB/s", real),
    ]
    env = dict(os.environ, RESEX_SYSFS=sys_dir)
    for name, state, text, changes in rows:
        p = Proxy(h, changes)
        r = subprocess.run([BUILD + "/resex", "-s", p.path, "-j", "doctor", name], stdout=subprocess.PIPE, text=True, env=env)
        found = json.loads(r.stdout)["findings"]
        check(r.returncode == 1 and any(f["state"] == state and text in f["text"] for f in found), text, r)
    with open(sys_dir + "/class/infiniband/sim0/ports/1/rate", "w") as f:
        f.write("8 Gb/sec (4X SDR)\n")
    r = subprocess.run([BUILD + "/resex", "-s", p.path, "-j", "doctor", "links", "xen"], stdout=subprocess.PIPE, text=True, env=env)
    found = json.loads(r.stdout)["findings"]
    check(r.returncode == 1 and states(found) == {"links": "fault", "xen": "ok"} and "Xen 4.17.3" in found[0]["text"],
          "a rate above the device's, on dom0 of Xen", found)


def make_sys(top):
    files = {"hypervisor/type": "xen", "hypervisor/properties/features": "00002f05", "hypervisor/version/major": "4",
             "hypervisor/version/minor": "17", "hypervisor/version/extra": ".3",
             "class/infiniband/sim0/ports/1/rate": "10 Gb/sec (1X QDR)", "class/infiniband/sim0/ports/1/link_layer": "Ethernet",
             "class/infiniband/sim0/ports/1/state": "4: ACTIVE"}
    for name, text in files.items():
        path = top + "/sys/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text + "\n")
    return top + "/sys"


def deaf_begins(top):
    """A resexd that hangs: it accepts, and never answers. resex waits for some seconds, while other tests run."""
    h = Host(top, "deaf")
    s = socket.socket(socket.AF_UNIX)
    s.bind(h.sock)
    s.listen()
    out = {}
    t = threading.Thread(target=lambda: out.update(r=h.doctor("daemon", "clocks", "ticks")))
    t.start()
    return s, t, out


def deaf_ends(begun):
    begun[1].join(WAIT_S)
    code, findings, err = begun[2]["r"]
    check(code == 7 and "did not answer within 12 s" in findings[0]["text"] and "process %d" % os.getpid() in findings[0]["text"] and
          set(states(findings)) == {"daemon", "clocks", "ticks"}, "resexd hangs", code, findings, err)


def stopped(h):
    h.signal(signal.SIGSTOP)
    try:
        finds(h, "resexd is stopped", "daemon", "fault", "process %d, is stopped by a signal" % h.daemon.pid, status=7)
    finally:
        h.signal(signal.SIGCONT)


def cluster(top):
    hosts = []
    os.mkdir(top + "/shm")
    for n in (1, 2):
        h = Host(top, "xen%d" % n, cluster_file="%s/xen%d/cluster.json" % (top, n))
        with open(h.dir + "/key", "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write("0123456789abcdef0123456789abcdef\n")
        with open(h.dir + "/cluster.json", "w") as f:
            json.dump({"cluster": "test", "host": "xen%d" % n, "transport": "shm", "key_file": h.dir + "/key",
                       "heartbeat": "50ms", "scan": "100ms", "timeout": "1s", "hold": "1s",
                       "hosts": [{"name": "xen%d" % i, "number": i, "address": top + "/shm"} for i in (1, 2)]}, f)
        hosts.append(h.start())
    try:
        until(lambda: states(hosts[0].doctor("cluster")[1])["cluster"] == "ok", "both hosts are up")
        finds(hosts[0], "a cluster that is well", "cluster", "ok", "all 2 hosts of cluster test are up", status=0)
        hosts[1].signal(signal.SIGSTOP)
        until(lambda: hosts[0].doctor("cluster")[0] == 1, "a host is silent")
        finds(hosts[0], "a silent host", "cluster", "warning", "xen2 is not up")
        hosts[1].signal(signal.SIGCONT)
        until(lambda: hosts[0].doctor("cluster")[0] == 0, "it is back")
    finally:
        for h in hosts:
            h.stop()


# --- the cap test ------------------------------------------------------------------------


def is_back(h, name):
    return h.cap(name) == (None, None)


def capped(h):
    code, findings, err = h.doctor("--cap-test", "server", "--yes")
    f = findings[0] if findings else {}
    check(code == 0 and f["state"] == "ok" and f["before_percent"] > 90 and 40 < f["during_percent"] < 60 and f["cap"] == 50,
          "a cap limits", code, findings, err)
    check(is_back(h, "server"), "and is taken back when the verb ends", h.cap("server"))
    check(len(findings) == 1, "with --cap-test no other check is made", findings)


def ignored(top):
    h = Host(top, "ignored").scenario([{"name": "busy", "max_cap": 90, "apps": [{"kind": "burner"}]},
                                       {"name": "idle", "apps": [{"kind": "idle"}]}], host={"ignore_caps": True})
    try:
        code, findings, err = h.doctor("--cap-test", "busy", "-y", "scheduler")
        check(code == 1 and states(findings) == {"scheduler": "ok", "cap": "fault"} and
              "a cap of 50 percent does nothing" in findings[1]["text"] and findings[1]["during_percent"] > 90,
              "a host whose caps do nothing", code, findings, err)
        until(lambda: h.cap("busy") == (90, 90), "the highest cap of before is back")
        code, findings, err = h.doctor("--cap-test", "idle", "-y")
        check(code == 0 and states(findings) == {"cap": "unknown"} and "too little" in findings[0]["text"], "an idle guest",
              code, findings, err)
    finally:
        h.stop()


def refused(h):
    def refuses(text, status=1, words=("--cap-test", "bulk", "--yes"), **kw):
        code, findings, err = h.doctor(*words, **kw)
        check(code == status and not findings and text in err and err.count("\n") == 1, "refused: " + text, code, findings, err)

    refuses("the standard input is no terminal: give --yes", 2, ("--cap-test", "bulk"))
    refuses('no guest "nobody"', 3, ("--cap-test", "nobody", "--yes"))
    for on, off, text in ((["guest-set", "bulk", "exempt=true"], ["guest-set", "bulk", "exempt=false"], "it is exempt"),
                          (["cap-release", "bulk"], ["cap-release", "--undo", "bulk"], "it is released"),
                          (["pause", "bulk"], ["resume", "bulk"], "it is paused")):
        h.resex(*on)
        refuses(text)
        h.resex(*off)


def answered(h):
    """Asked on a terminal: N, then y and ^C there."""
    for answer, text in ((b"n\n", b"no cap was set"), (b"y\n", b"the test was interrupted; no cap of it is left")):
        said = b""
        pid, fd = pty.fork()
        if not pid:
            os.execv(BUILD + "/resex", ["resex", "-s", h.sock, "doctor", "--cap-test", "server"])
        while b"[y/N]" not in said:
            said += os.read(fd, 4096)
        os.write(fd, answer)
        if answer == b"y\n":
            until(lambda: h.cap("server")[0], "the cap is in force")
            os.write(fd, b"\x03")
        try:
            while True:
                more = os.read(fd, 4096)
                if not more:
                    break
                said += more
        except OSError:
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        check(status == 1 and text in said and is_back(h, "server"), "answered %r" % answer, status, said, h.cap("server"))


def cap_test_begins(h, guest):
    p = subprocess.Popen([BUILD + "/resex", "-s", h.sock, "doctor", "--cap-test", guest, "--yes"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    # Both: a cap that is shown may be a former one.
    until(lambda: all(h.cap(guest)) or p.poll() is not None, "the cap of the test is in force")
    return p


def interrupted(h):
    for number in (signal.SIGTERM, signal.SIGHUP):
        p = cap_test_begins(h, "server")
        p.send_signal(number)
        out, err = p.communicate(timeout=WAIT_S)
        check(p.returncode == 1 and not out and "the test was interrupted" in err and is_back(h, "server"),
              "interrupted by %s" % number.name, p.returncode, out, err, h.cap("server"))


def disturbed(h):
    """What others do meanwhile is said, and stays."""
    def says(text, p):
        out, err = p.communicate(timeout=WAIT_S)
        check(p.returncode == 1 and not out and text in err and err.count("\n") == 1, "disturbed: " + text, p.returncode, out,
              err)

    def stopped():
        """A cap test that waits: what is done now is done during it, however busy the machine is."""
        p = cap_test_begins(h, "server")
        p.send_signal(signal.SIGSTOP)
        return p

    # Another operator's cap, set meanwhile, is left.
    p = stopped()
    h.resex("guest-set", "server", "max_cap=33")
    p.send_signal(signal.SIGCONT)
    says("its max_cap was changed to 33 during the test", p)
    check(h.cap("server")[1] == 33, "a cap that someone else sets meanwhile stays", h.cap("server"))
    h.resex("guest-set", "server", "max_cap=0")
    until(lambda: h.cap("server")[0] is None, "the other operator's cap is gone")  # or it passes for that of the test
    p = stopped()
    h.signal(signal.SIGHUP)
    until(lambda: not h.cap("server")[1], "the reload takes the cap away")
    p.send_signal(signal.SIGCONT)
    says("its max_cap was changed to 0 during the test", p)
    until(lambda: is_back(h, "server"), "after a reload nothing is left of it")
    p = stopped()
    h.resex("pause", "server")
    p.send_signal(signal.SIGCONT)
    says("taken away during the test, which says nothing: its state is observed now", p)
    h.resex("resume", "server")
    until(lambda: is_back(h, "server"), "after a pause nothing is left of it")
    # A second test would take the cap of the first one for the guest's own.
    p = cap_test_begins(h, "server")
    code, findings, err = h.doctor("--cap-test", "server", "--yes")
    check(code == 13 and not findings and "another cap test runs on this host: try again" in err, "two at once", code, findings,
          err)
    out, err = p.communicate(timeout=WAIT_S)
    check(p.returncode == 0 and is_back(h, "server"), "the first one goes on", p.returncode, out, err, h.cap("server"))


def dies(h):
    p = cap_test_begins(h, "server")
    h.signal(signal.SIGKILL)
    h.daemon.wait()
    out, err = p.communicate(timeout=WAIT_S)
    check(p.returncode == 7 and not out and "could not be taken back" in err and "resex guest-set server max_cap=0" in err,
          "resexd dies in the cap test", p.returncode, out, err)


def observes(top):
    h = Host(top, "observes").start("--observe")
    try:
        finds(h, "resexd only observes", "daemon", "warning", "sets no cap")
        code, _, err = h.doctor("--cap-test", "bulk", "--yes")
        check(code == 1 and "only observes" in err, "and so there is no cap test", code, err)
    finally:
        h.stop()


def main():
    top = tempfile.mkdtemp(prefix="resex-doctor-", dir="/tmp")
    h = Host(top, "good", policy="null")
    try:
        deaf = deaf_begins(top)
        h.start()
        absent(top)
        usage(top)
        healthy(h)
        patched(h, make_sys(top))
        refused(h)
        capped(h)
        answered(h)
        interrupted(h)
        disturbed(h)
        late(h)
        stopped(h)
        dies(h)
        ignored(top)
        unheard(top)
        observes(top)
        cluster(top)
        deaf_ends(deaf)
    finally:
        h.stop()
        shutil.rmtree(top, ignore_errors=True)
    print("test_doctor: %d wrong" % len(wrong))
    sys.exit(1 if wrong else 0)


main()
