# SPDX-License-Identifier: GPL-2.0-or-later
"""benchex: server, client and bulk over soft-RoCE in one plain VM; both sides agree."""
import json

from bed import check, wait_for

HOST = "10.99.0.1"


class Server:
    """benchex server in the VM; its results, one JSON a line, and what it said."""

    def __init__(self, vm, name, options=""):
        self.vm, self.name = vm, name
        vm.sh("benchex server -j -e %s >/tmp/%s.out 2>/tmp/%s.err & echo $! >/tmp/%s.pid; "
              "i=0; until grep -q listening /tmp/%s.err; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; "
              "usleep 100000; done" % (options, name, name, name, name))

    def signal(self, what="TERM"):
        self.vm.sh("kill -%s $(cat /tmp/%s.pid)" % (what, self.name))

    def said(self):
        return self.vm.run("cat /tmp/%s.err" % self.name).out

    def end(self):
        """Ended by a signal: its results, the total last."""
        self.signal()
        wait_for("end of the server", 10, lambda: self.vm.run(
            "kill -0 $(cat /tmp/%s.pid)" % self.name).rc != 0, 0.1)
        return results(self.vm.sh("cat /tmp/%s.out" % self.name))


def results(text):
    return [json.loads(line) for line in text.splitlines()]


def run(vm, line, rc=0, seconds=60):
    """One client or bulk; its result, or when it is to fail what it said."""
    r = vm.run("benchex %s -j 2>/tmp/run.err; rc=$?; cat /tmp/run.err >&2; exit $rc" % line, seconds)
    check(r.rc == rc, "benchex %s ended with %d (%d was expected): %s" % (line, r.rc, rc, r.out[-400:]))
    found = [x for x in r.out.splitlines() if x.startswith("{")]
    return json.loads(found[0]) if found else r.out


def us(hist):
    return "n %d mean %.0f p50 %.0f p99 %.0f us" % (
        hist["n"], hist["mean_us"], hist["p50_us"], hist["p99_us"])


def skeleton(vm):
    vm.sh("/t/rxe.sh")
    s = Server(vm, "s1")
    c = run(vm, "client %s -e -n 200 -s 64K" % HOST)
    b = run(vm, "bulk %s -e -n 100 -s 256K -D 4 -q 2" % HOST)
    each, total = s.end()[0], None
    vm.note("client %s" % us(c["latency"]["total"]))
    vm.note("bulk %.1f MB/s, %s" % (b["MB_s"], b["qps"]))
    vm.note("server %s" % {k: us(v) for k, v in each["latency"].items()})
    check(each["requests"] == c["requests"] == 200, "%s %s" % (each, c))


def benchex(vm):
    skeleton(vm)
