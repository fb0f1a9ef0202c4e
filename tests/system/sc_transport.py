# SPDX-License-Identifier: GPL-2.0-or-later
"""transport: the backend "verbs" on soft-RoCE: its contract, its liars, and two hosts on a cable."""
import json
import os
import re
import tempfile
import time

import bed
from bed import Failed, check, wait_for

A, B = "10.99.0.1", "10.99.0.2"


# --- one VM: all hosts are here -------------------------------------------------------


def suite(vm, command, seconds):
    """A program of cmocka's: all its tests passed. How many, and how long they took."""
    began = time.monotonic()
    r = vm.run("RESEX_PATIENCE=60 %s 2>&1" % command, seconds)
    vm.note("%s: %.1f s\n%s" % (command, time.monotonic() - began, r.out))
    failed = [x.strip() for x in r.out.splitlines() if "FAILED  ] " in x or "LINE   ]" in x]
    passed = re.search(r"  PASSED  \] [1-9]", r.out)
    check(r.rc == 0 and passed, "%s ended with %d: %s" %
          (command, r.rc, "; ".join(failed[:6]) or r.out[-400:]))


def peek(vm):
    """resex-peek reads a resexd over verbs, with nothing but READs, and without an address of its own."""
    conf = {"cluster": "one", "host": "xen1", "transport": "verbs", "key_file": "/run/key",
            "hosts": [{"name": "xen1", "number": 1, "address": A}, {"name": "peek", "number": 200, "role": "client"}],
            "services": [{"name": "web", "number": 1}]}
    files = {"cluster_file": vm.put("cluster.json", json.dumps(conf)), "links": [{"name": "sim0", "rate": "1GiB/s"}],
             "socket": "/run/sock", "state_dir": "/run/state", "lock_file": "/run/lock", "lock_memory": False}
    vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key; "
          "(sh -c 'echo $$ >/run/resexd.pid; mkdir -p /run/state; exec resexd --hv sim -c %s' >/h/files/resexd.log 2>&1; "
          "echo $? >/run/resexd.rc) &" % vm.put("resexd.json", json.dumps(files)))
    wait_for("answer of resexd", 20, lambda: vm.run("resex -s /run/sock -j info").rc == 0, 0.2)
    said = vm.run("resex-peek -j -w 20 -c /h/files/cluster.json 2>&1", 60)
    check(said.rc == 0, "resex-peek ended with %d: %s" % (said.rc, said.out[-400:]))
    host, service = said.json()["hosts"][0], said.json()["services"][0]
    vm.note("resex-peek: %s; %s" % (host, service))
    check(host["state"] == "beats" and host["guests"] == 2, "resex-peek read %s" % host)
    check(service["service"] == "web" and service["lock"] == "free", "resex-peek read %s" % service)
    vm.sh("kill -TERM $(cat /run/resexd.pid); i=0; until [ -s /run/resexd.rc ] || [ $i -ge 100 ]; do usleep 100000; "
          "i=$((i+1)); done; [ $(cat /run/resexd.rc) = 0 ]", 60)


def transport(vm):
    vm.sh("[ -e /dev/infiniband/rdma_cm ] || /t/rxe.sh")
    vm.sh("/usr/sbin/ip addr add %s/24 dev dummy0" % B)
    suite(vm, "/t/contract verbs %s %s" % (A, B), 300)
    suite(vm, "/t/liar_verbs " + A, 100)
    peek(vm)


# --- two VMs --------------------------------------------------------------------------

# Unix sockets' names must be short, which those of logs need not be.
_dir = tempfile.gettempdir() + "/resex-cable-%d-" % os.getpid()
CABLE = (_dir + "a", _dir + "b")


def plug(vm, at):
    """rxe0 on the cable, whose ends need MAC addresses that differ."""
    vm.sh("/t/rxe.sh eth0 %s 52:54:00:00:00:%02x" % (at, int(at.rpartition(".")[2])))


def answer(vm, tag, signal):
    """The line that a program says on this signal: its output is /tmp/TAG.out."""
    return vm.sh("n=$(wc -l </tmp/{0}.out); kill -{1} $(cat /tmp/{0}.pid); i=0; until [ $(wc -l </tmp/{0}.out) -gt $n ]; "
                 "do [ $((i+=1)) -lt 2000 ] || exit 1; usleep 20000; done; tail -n 1 /tmp/{0}.out".format(tag, signal), 60)


def wait_progress(who, ask, least):
    """Until each count in what it says is at least so high."""
    said = {}

    def enough():
        said.update(ask())
        return all(said[key] >= n for key, n in least.items())
    try:
        wait_for("progress of " + who, 30, enough, 0.1)
    except Failed as e:
        raise Failed("%s: %s are wanted; %s" % (e, least, said)) from None


class Host:
    """two_hosts on one VM of the two: it works on the other until it is told to stop."""

    def __init__(self, vm, number, at, peer_at):
        self.vm, self.number, self.generation = vm, number, 0
        self.line = "/t/two_hosts verbs %d %s %d %s" % (number, at, 3 - number, peer_at)

    def start(self):
        self.generation += 1
        self.err = "/h/files/two-%d.err" % self.generation
        self.vm.sh("rm -f /tmp/two.*; (%s %d >/tmp/two.out 2>%s & echo $! >/tmp/two.pid)"
                   % (self.line, self.generation, self.err))
        wait_for("start of two_hosts", 10, lambda: "open" in self.said(), 0.1)

    def said(self):
        out = self.vm.run("cat " + self.err).out
        check(not out or "open" in out, "two_hosts: " + out)
        return out

    def signal(self, what):
        self.vm.sh("kill -%s $(cat /tmp/two.pid)" % what)

    def state(self):
        """For a failure: is it there, and where does it wait?"""
        return self.vm.run("cat %s; p=$(cat /tmp/two.pid); grep State /proc/$p/status; cat /proc/$p/wchan; "
                           "cat /proc/$p/stack; cat /proc/$p/syscall; dmesg | tail -n 5" % self.err).out

    def idle(self):
        """Told to stop before, it says that all it posted is over."""
        try:
            wait_for("idleness of two_hosts", 5, lambda: "idle" in self.said(), 0.1)
        except Failed as e:
            raise Failed("%s: %s" % (e, self.state())) from None

    def told(self):
        out = answer(self.vm, "two", "TERM")
        self.vm.note("host %d: %s" % (self.number, out.strip()))
        return json.loads(out)

    def progress(self, **least):
        """Until it counted so much of each."""
        wait_progress("two_hosts %d" % self.number, lambda: json.loads(answer(self.vm, "two", "USR1")), least)

    def changes(self, what):
        """How often it saw the peer's link go "up" or "down"."""
        return len(re.findall(r"^[\d.]+ %s: host %d," % (what, 3 - self.number), self.said(), re.M))

    def wait_change(self, what, n):
        wait_for("host %d to see the other %s for the %d. time" % (self.number, what, n), 30,
                 lambda: self.changes(what) >= n, 0.1)


def finish(hosts, reborn=()):
    """What both counted, when both are idle; each word is what was added to it.

    reborn: who was killed does not know what it had added before.
    """
    for h in hosts:
        h.signal("TERM")
    for h in hosts:
        h.idle()
    got = [h.told() for h in hosts]
    for h in hosts:
        h.signal("TERM")
    for i, mine in enumerate(got):
        theirs = got[1 - i]
        word = mine["word"]
        check(word is not None and mine["own"] is not None,
              "host %d has no link at the end: %s" % (i + 1, mine))
        check(mine["done"] <= word and (word <= mine["done"] + mine["unknown"] or hosts[i] in reborn),
              "the word is not what host %d added: %s" % (i + 1, mine))
        check(theirs["own"] == word, "the owner sees another word: %s of %s" % (theirs, mine))
        check((mine["served"], mine["refused"]) == (0, 0),
              "an operation was refused, or a process served: %s" % mine)
    return got


ENOUGH = {"done": 21, "reads": 4, "messages": 4}


def begin(hosts, **least):
    """Both run, and each has done so much."""
    for h in hosts:
        h.start()
    for h in hosts:
        h.progress(**least or ENOUGH)


def clean(hosts):
    """Nothing goes wrong: all is done, and arrives once and in order."""
    begin(hosts, done=100, reads=10, messages=10)
    got = finish(hosts)
    check([r["messages"] for r in got] == [r["sent"] for r in got[::-1]],
          "not all messages came once: %s" % got)
    for i, r in enumerate(got):
        check(r["done"] > 20 and r["reads"] > 3 and r["messages"] > 3,
              "host %d did little: %s" % (i + 1, r))
        check((r["ups"], r["downs"], r["unknown"], r["lost"], r["gaps"], r["alarms"]) ==
              (1, 0, 0, 0, 0, 0), "host %d, which nothing disturbed: %s" % (i + 1, r))


def cut(hosts):
    """The cable is cut for longer than any deadline, twice; then it is as before.

    Nothing is told of it to either end. (An end whose own eth0 is set down and up again does not
    do for this: its rxe0, of Linux 6.1, was seen to receive nothing any more.)
    """
    begin(hosts)
    for number in (1, 2):
        for path in CABLE:
            os.rename(path, path + ".cut")
        for h in hosts:
            h.wait_change("down", number)
        time.sleep(2)  # beyond the deadline of an operation
        for path in CABLE:
            os.rename(path + ".cut", path)
        for h in hosts:
            h.wait_change("up", number + 1)
    for h in hosts:
        h.progress(**ENOUGH)
    for i, r in enumerate(finish(hosts)):
        check((r["downs"], r["ups"]) == (2, 3), "host %d saw not each of two cuts: %s" % (i + 1, r))
        check(r["dark_max_ms"] > 1000, "host %d was dark for %.0f ms" % (i + 1, r["dark_max_ms"]))
        check(r["poll_max_ms"] < 500, "a call of poll took %.0f ms" % r["poll_max_ms"])


def killed(hosts):
    """A process dies without a word and is started anew: its words begin anew, its peer goes on."""
    begin(hosts)
    for number in (1, 2):
        hosts[1].signal("KILL")
        hosts[0].wait_change("down", number)
        hosts[1].start()
        hosts[0].wait_change("up", number + 1)
        for h in hosts:
            h.progress(**ENOUGH)
    survivor, _ = finish(hosts, reborn=hosts[1:])
    check((survivor["ups"], survivor["downs"], survivor["generation"]) == (3, 2, hosts[1].generation),
          "who lived saw not each of the two deaths: %s" % survivor)


def dead(hosts):
    """A machine is gone: the other notices by itself, and never stands still over it."""
    begin(hosts)
    hosts[1].vm.power_off()
    hosts[0].wait_change("down", 1)
    hosts[0].signal("TERM")
    hosts[0].idle()
    r = hosts[0].told()
    hosts[0].signal("TERM")
    check(r["downs"] >= 1 and r["word"] is None, "the dead machine is still there: %s" % r)
    check(r["own"] is not None, "the living one's own link went with it: %s" % r)
    check(r["poll_max_ms"] < 500, "a call of poll took %.0f ms" % r["poll_max_ms"])


def hosts(vm):
    second = bed.Vm(vm.images, vm.run_dir + "/second", kind="plain", memory=512, limit=500, cpus=1,
                    cable=CABLE[::-1], beside=vm)
    try:
        with second as other:
            both = [Host(vm, 1, A, B), Host(other, 2, B, A)]
            for h, at in zip(both, (A, B)):
                plug(h.vm, at)
            for part in (clean, cut, killed, dead):
                vm.note("--- " + part.__name__)
                part(both)
                for h in both:
                    h.generation += 1
    except Failed as e:
        raise Failed("%s (the second VM's logs are in %s)" % (e, second.run_dir)) from None
    finally:
        for path in CABLE + tuple(p + ".cut" for p in CABLE):
            if os.path.exists(path):
                os.unlink(path)
