# SPDX-License-Identifier: GPL-2.0-or-later
"""benchex: server, clients and bulk over soft-RoCE in one plain VM.

Both sides agree, whatever is asked for, and whatever happens to one of them.
"""
import json
import random

from bed import check, wait_for

HOST = "10.99.0.1"
OPS = ["send", "send_imm", "write", "write_imm", "read", "fetch_add", "cmp_swap"]


class Job:
    """benchex in the background: its results, one JSON a line, and what it said."""

    count = 0

    def __init__(self, vm, line):
        Job.count += 1
        self.vm, self.line, self.at = vm, line, "/tmp/bx%d" % Job.count
        vm.sh("(benchex %s -j >%s.out 2>%s.err & echo $! >%s.pid; wait $!; echo $? >%s.rc) & "
              "until [ -s %s.pid ]; do usleep 10000; done" % ((line,) + (self.at,) * 5))

    def alive(self):
        return self.vm.run("[ -s %s.rc ]" % self.at).rc != 0

    def signal(self, what="TERM"):
        self.vm.sh("kill -%s $(cat %s.pid)" % (what, self.at))
        return self

    def said(self):
        return self.vm.run("cat %s.err" % self.at).out

    def results(self):
        return [json.loads(x) for x in self.vm.sh("cat %s.out" % self.at).splitlines()]

    def wait(self, seconds=30, rc=0):
        """Its results, once it ended as expected."""
        wait_for("end of benchex " + self.line, seconds, lambda: not self.alive(), 0.1)
        got = int(self.vm.sh("cat %s.rc" % self.at))
        check(got == rc, "benchex %s ended with %d (%d was expected): %s" %
              (self.line, got, rc, self.said()[-400:]))
        return self.results()


class Server(Job):
    def __init__(self, vm, options="-e"):
        super().__init__(vm, "server " + options)
        wait_for("benchex " + self.line, 5, lambda: "listening" in self.said(), 0.1)

    def end(self):
        """By a signal: the results of sessions, and the total."""
        *each, total = self.signal().wait()
        check(total["peer"] == "all", "the server's last result is not of all: %s" % total)
        check(total["requests"] == sum(r["requests"] for r in each),
              "the total is not the sum: %s of %s" % (total, each))
        return each, total


def run(vm, line, rc=0, seconds=60):
    """One client or bulk in the foreground: its result, and what it said."""
    r = vm.run("benchex %s -j 2>&1" % line, seconds)
    check(r.rc == rc, "benchex %s ended with %d (%d was expected): %s" % (line, r.rc, rc, r.out[-400:]))
    found = [x for x in r.out.splitlines() if x.startswith("{")]
    said = [x for x in r.out.splitlines() if not x.startswith("{")]
    return json.loads(found[0]) if found else None, " ".join(said)


def figures(hist):
    return "n %d mean %.0f p50 %.0f p99 %.0f us" % (
        hist["n"], hist["mean_us"], hist["p50_us"], hist["p99_us"])


def client(vm, options, **more):
    return run(vm, "client %s %s" % (HOST, options), **more)[0]


def bulk(vm, options, **more):
    return run(vm, "bulk %s %s" % (HOST, options), **more)[0]


def same(what, a, b):
    check(a == b, "%s: %s, but %s" % (what, a, b))


# --- what is asked for is done, and both sides agree ------------------------------


def perftest(vm):
    """The same sizes by others' programs, to be put beside ours: what 500 iterations more take.

    Their own figures are not used: they come from the cycle counter, which is not steady here.
    """
    for command, per in (("ib_write_lat -s 65536", 2), ("ib_write_bw -t 2 -s 262144", 1)):
        line = "%s -d rxe0 -F -x 1 -n" % command
        took = vm.sh("for n in 20 520; do {0} $n >/dev/null 2>&1 & sleep 0.7; read a _ </proc/uptime; "
                     "{0} $n {1} >/dev/null 2>&1; read b _ </proc/uptime; echo $a $b; wait; done"
                     .format(line, HOST), 60).split()
        few, more = float(took[1]) - float(took[0]), float(took[3]) - float(took[2])
        vm.note("%s: %.0f us each" % (command, (more - few) / 500 / per * 1e6))


def measured(vm):
    s = Server(vm)
    c = client(vm, "-e -n 200 -s 64K")
    b = bulk(vm, "-e -n 100 -s 256K -D 2")
    each, total = s.end()
    mine, theirs = c["latency"]["total"], total["latency"]
    vm.note("client, 64 KiB: " + figures(mine))
    vm.note("server: " + ", ".join("%s %s" % (k, figures(v)) for k, v in theirs.items()))
    vm.note("bulk WRITE, 256 KiB: %.2f MB/s" % b["MB_s"])
    same("requests of client and server", c["requests"], each[0]["requests"])
    same("answers timed", (200, 200), (mine["n"], theirs["wtime"]["n"]))
    check(mine["mean_us"] >= sum(theirs[k]["mean_us"] for k in ("ctime", "wtime", "ptime")),
          "the client's mean is less than the server's: %s %s" % (mine, theirs))
    same("bytes", (200 << 16, 200 << 16), (c["bytes"], total["bytes"]))
    same("answers by WRITE with immediate", {"write_imm": 200}, each[0]["qps"][0]["completed"])
    same("requests by SEND", {"send": 200}, c["qps"][0]["completed"])
    same("requests never answered", 0, c["lost"])


def truth(result, n, size):
    """Each queue pair did n messages of this size, by the charging rule."""
    for q in result["qps"]:
        done, mtu = q["completed"], q["path_mtu"]
        mtus = -(-size // mtu)
        atomics = done.get("fetch_add", 0) + done.get("cmp_swap", 0)
        reads = done.get("read", 0)
        same("messages of %s" % q, n, sum(done.values()))
        same("MTUs received of %s" % q, reads * mtus, q["mtus_recv"])
        same("MTUs sent of %s" % q, (n - reads - atomics) * mtus + atomics, q["mtus_sent"])
        same("bytes of %s" % q, ((n - reads - atomics) * size + 8 * atomics, reads * size),
             (q["bytes_sent"], q["bytes_recv"]))
        same("errors and outstanding of %s" % q, (0, 0), (q["errors"], q["outstanding"]))
    same("messages in all", n * len(result["qps"]), result["requests"])


def operations(vm):
    s = Server(vm)
    for op in OPS:
        size = "" if op in ("fetch_add", "cmp_swap") else "-s 5000"
        r = bulk(vm, "-e -n 40 -q 2 -D 4 %s -m %s" % (size, op))
        truth(r, 40, 5000)
        same("operations asked for", [{op: 40}] * 2, [q["completed"] for q in r["qps"]])
    mixed = bulk(vm, "-e -n 300 -q 3 -D 16 -s 3000 -C 8 -m %s" % ",".join(OPS))
    truth(mixed, 300, 3000)
    for op in OPS:
        got = sum(q["completed"].get(op, 0) for q in mixed["qps"])
        check(70 < got < 200, "of 900 messages %d were %s: %s" % (got, op, mixed["qps"]))
    each, _ = s.end()
    same("results of the server, which bulk has none of", [], each)
    check(s.said().count("bulk from") == 8, "the server saw other bulk than 8: " + s.said())


def sizes(vm):
    s = Server(vm, "-e -M 16M -D 4")
    for size, n in (("1", 50), ("31", 50), ("1K-100K", 40), ("16M", 2)):
        client(vm, "-e -s %s -n %d -D 2 -o 10" % (size, n), seconds=100)
    for size, n in ((1, 60), (16 << 20, 2)):
        truth(bulk(vm, "-e -s %d -n %d" % (size, n), seconds=100), n, size)
    _, total = s.end()
    same("answers of all sizes", 142, total["requests"])
    s = Server(vm, "-e -M 64K")
    _, said = run(vm, "client %s -s 128K" % HOST, rc=1)
    check("65536" in said and "--size-max" in said, "too large a size: " + said)
    _, said = run(vm, "client %s -s 64 -o 16385" % HOST, rc=1)
    check("16384" in said and "--options-max" in said, "too much work for a request: " + said)
    s.end()


def polled(vm):
    s = Server(vm, "-D 16")
    c = client(vm, "-n 300 -D 16 -s 1K -o 10")
    truth(bulk(vm, "-n 300 -D 32 -s 1K"), 300, 1024)
    each, _ = s.end()
    same("polled requests", [300], [r["requests"] for r in each])
    same("polled answers", 300, c["latency"]["total"]["n"])


def many(vm):
    """Sixteen clients in four processes, and bulk beside them."""
    s = Server(vm, "-e -D 8")
    jobs = [Job(vm, "client %s -e -c 4 -n 30 -D 2 -s 1K-4K -o 20 -S %d" % (HOST, i))
            for i in range(4)] + [Job(vm, "bulk %s -e -q 4 -n 40 -s 16K" % HOST)]
    got = [j.wait(60)[0] for j in jobs]
    same("requests of each process", [120] * 4 + [160], [r["requests"] for r in got])
    each, total = s.end()
    same("requests in all", 480, total["requests"])
    same("queue pairs of each process", [4] * 4, [len(r["qps"]) for r in each])
    same("bytes in all", sum(r["bytes"] for r in got[:4]), total["bytes"])


def paced(vm):
    s = Server(vm)
    c = client(vm, "-e -r 2 -n 6 -s 1K -o 10")
    check(c["cpu_s"] < 0.5 * c["elapsed_s"], "who sleeps for completions spins: %s" % c)
    # The time runs from the first post, which may itself be late.
    c = client(vm, "-e -r 50 -n 50 -s 1K -o 10")
    check(c["elapsed_s"] >= 0.5, "50 requests at 50 a second took %s s" % c["elapsed_s"])
    t = client(vm, "-e -s 64 -n 5 --think 300ms")
    check(t["elapsed_s"] >= 4 * 0.3, "4 times 300 ms of thought took %s s" % t["elapsed_s"])
    check(t["latency"]["total"]["min_us"] < 300000, "thought is taken for latency: %s" % t["latency"]["total"])
    vm.sh("benchex client %s -e -r 100000 -T 1 -s 1K -j >/tmp/late" % HOST)
    late = json.loads(vm.sh("cat /tmp/late"))
    check(late["late"] > 0, "100000 a second were sent when they were due: %s" % late)
    check(late["latency"]["total"]["max_us"] > 100000,
          "requests that waited for their turn were let off: %s" % late["latency"]["total"])
    b = bulk(vm, "-e -r 100 -B 10 -n 100 -s 100 -D 16")
    check(b["elapsed_s"] >= 0.5, "100 messages at 100 a second took %s s" % b["elapsed_s"])
    quick = bulk(vm, "-e -n 200 -s 1K -D 4")
    slow = bulk(vm, "-e -n 200 -s 1K -D 4 -w 5ms")
    check(slow["cpu_s"] >= quick["cpu_s"] + 0.5, "work of 1 s took %.3f s of CPU more" %
          (slow["cpu_s"] - quick["cpu_s"]))
    k = bulk(vm, "-e -k 20 -r 10 -T 2 -s 1K")
    check(k["control_rounds"] >= 10, "20 control rounds a second: %s in 2 s" % k["control_rounds"])
    _, total = s.end()
    check(total["cpu_s"] < 0.8 * total["elapsed_s"], "the server spins: %s" % total)


def ends(vm):
    """By time, by signal, and of the server by --once."""
    s = Server(vm, "-e --once -a /tmp/no-agent")
    truth_of = bulk(vm, "-e -T 1 -s 4K -D 8 -q 2")
    same("how bulk ended", ("time", [0, 0]),
         (truth_of["ended"], [q["outstanding"] + q["errors"] for q in truth_of["qps"]]))
    j = Job(vm, "bulk %s -e -T 0 -s 64K -D 4 -i 0.2" % HOST)
    wait_for("progress of bulk", 10, lambda: "requests" in j.said(), 0.1)
    r = j.signal("INT").wait()[0]
    same("how bulk ended", ("signal", 0, 0),
         (r["ended"], r["qps"][0]["outstanding"], r["qps"][0]["errors"]))
    check(r["requests"] > 0, "bulk did nothing before the signal")
    check(s.alive(), "bulk's end was the server's: " + s.said())
    client(vm, "-e -n 20 -s 1K")
    *_, total = s.wait()
    same("latencies that no agent took", (0, 20), (total["reported"], total["report_dropped"]))


# --- things that go wrong ----------------------------------------------------------


def killed_client(vm):
    """One client dies, another is not disturbed, and the server lives."""
    s = Server(vm, "-e -D 4")
    good = Job(vm, "client %s -e -T 4 -s 4K -o 20" % HOST)
    bad = [Job(vm, "client %s -e -c 2 -D 8 -T 60 -s 64K -o 20 -i 0.1" % HOST),
           Job(vm, "bulk %s -e -q 2 -D 4 -T 60 -s 64K -m send,read -i 0.1" % HOST)]
    for j in bad:
        wait_for("progress of " + j.line, 10, lambda j=j: "requests" in j.said(), 0.1)
        j.signal("KILL")
    r = good.wait()[0]
    same("how the other ended", "time", r["ended"])
    check(r["requests"] > 10, "the other was stopped: %s" % r)
    check("bulk from" in s.said(), "the bulk that died is still there: " + s.said())
    client(vm, "-e -n 20 -s 4K")
    each, _ = s.end()
    same("sessions that ended", 3, len(each))
    same("requests of who lived", [r["requests"], 20],
         sorted((x["requests"] for x in each if len(x["qps"]) == 1), reverse=True))


def killed_server(vm):
    for kind, what in (("client", "-e -T 60 -s 4K -c 2 -i 0.1"),
                       ("bulk", "-e -T 60 -s 64K -q 2 -D 4 -i 0.1")):
        s = Server(vm)
        j = Job(vm, "%s %s %s" % (kind, HOST, what))
        wait_for("progress of " + kind, 10, lambda: "requests" in j.said(), 0.1)
        s.signal("KILL")
        r = j.wait(rc=1)[0]
        same("how %s ended" % kind, "peer", r["ended"])
        check(r["requests"] > 0, "%s lost its result: %s" % (kind, r))
        check(HOST in j.said(), "%s did not say who is gone: %s" % (kind, j.said()))
        posted = sum(sum(q["completed"].values()) + q["errors"] + q["outstanding"] for q in r["qps"])
        if kind == "client":
            same("requests answered and lost, of those sent", posted, r["requests"] + r["lost"])
            check(r["lost"] > 0, "the server died, and no request was lost: %s" % r)


def refused(vm):
    _, said = run(vm, "client %s" % HOST, rc=1)
    check("no server listens" in said, "no server listens, but: " + said)
    s = Server(vm)
    _, said = run(vm, "server", rc=1)
    check("taken" in said and "--port" in said, "a second server: " + said)
    _, said = run(vm, "client 10.1.2.3", rc=1)
    check("10.1.2.3" in said, "an address out of reach: " + said)
    _, said = run(vm, "server -b 192.0.2.1", rc=1)
    check("192.0.2.1" in said, "an address without a device: " + said)
    s.end()


LIES = {"good": "answered 4096", "version": "refused 2", "options-max": "refused 7",
        "hello-length": "refused 3", "rkey": "disconnected", "no-receives": "disconnected",
        "write": "failed remote invalid request error", "read": "failed remote invalid request error",
        "ask-length": "disconnected"}


def liars(vm):
    """None of them disturbs the good client for long, also where answers go one by one."""
    s = Server(vm)
    slow = [vm.begin("/t/bxliar %s 18620 %s" % (HOST, name)) for name in ("no-receives", "dead")]
    good = Job(vm, "client %s -e -T 20 -r 20 -s 4K -o 20" % HOST)
    names = ("good magic version server-role role no-conns index no-depth depth size stride address "
             "options options-max hello-length ask-magic ask-kind ask-seq ask-options ask-bytes ask-none ask-length "
             "write read rkey").split()
    lines = vm.sh("/t/bxliar %s 18620 %s" % (HOST, " ".join(names)), 100).splitlines()
    for name, line in zip(names, lines):
        want = LIES.get(name, "disconnected" if name.startswith("ask-") else "refused 3")
        check(line == "%s: %s" % (name, want), "%s was expected: %s" % (want, line))
    seed = random.randrange(1 << 32)
    vm.note(vm.sh("/t/bxliar %s 18620 random 100 %d" % (HOST, seed), 100).strip())
    r = good.wait()[0]
    same("how the good client ended beside liars", "time", r["ended"])
    check(r["requests"] >= 300, "it was disturbed: %s" % r["requests"])
    for job, name in zip(slow, ("no-receives", "dead")):
        same("a liar's end", "%s: disconnected" % name, vm.end(job, 60).out.strip())
    same("the server after liars, seed %d" % seed, True, s.alive())
    for word in ("its kind is unknown", "not the next", "larger than its place", "than its hello said",
                 "took no answer for 30 s"):
        check(word in s.said(), "the server did not say \"%s\": %s" % (word, s.said()))
    s.end()


def benchex(vm):
    vm.sh("/t/rxe.sh")
    perftest(vm)
    for part in (measured, operations, sizes, polled, many, paced, ends, killed_client,
                 killed_server, refused, liars):
        vm.note("--- " + part.__name__)
        part(vm)
