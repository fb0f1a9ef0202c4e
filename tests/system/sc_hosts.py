# SPDX-License-Identifier: GPL-2.0-or-later
"""hosts: two Xen hosts on a cable, dom0 to dom0 over soft-RoCE.

The transport's contract holds, with hosts in both. The two work on each other's memory
(sc_transport), take one lock by turns, and run resexd, which sees the other host's guests, Resos
and caps by READs alone; while the cable is cut and healed, and processes are stopped, killed and
started again. At last one host loses its power in the middle of all that, and boots anew.
"""
import json
import os

import bed
import sc_transport
from bed import Failed, Guest, check, wait_for
from daemon import Daemon, Load, wait_rings, with_agent
from sc_transport import A, B, CABLE

BED = {"sched": "credit2", "memory": 1280, "dom0_memory": 640, "cpus": 1}
LOAD = "--qps 1 --types rc --mix write=1 --sizes 4096-4096 --mtu 1024 --count 200-200 --seed 7"
CAP = 40
PORT = 9900  # where the second host's dom0 serves the contract's hosts


def cable(away):
    for path in CABLE:
        if away:
            os.rename(path, path + ".cut")
        else:
            os.rename(path + ".cut", path)


# --- the contract --------------------------------------------------------------------------------


# What a network between two kernels can change, and the parts below do not try: they kill processes,
# and the counters check each word and message while the cable is cut. Scenario "transport" has all
# tests in one kernel; with --deep the whole suite is run here, too.
ACROSS = ("send__from_another_process__*", "order__*")


def contract(vms):
    """The suite, with every other of its hosts, and of their processes, in the second dom0."""
    vms[1].sh("(RESEX_PATIENCE=60 /t/contract serve %s %d >/tmp/serve.out 2>/h/files/serve.err & "
              "echo $! >/tmp/serve.pid)" % (B, PORT))
    wait_for("who serves the contract's hosts", 10, lambda: "listening" in vms[1].run("cat /tmp/serve.out").out, 0.2)
    command = "/t/contract verbs %s %s %d" % (A, B, PORT)
    for some in [""] if vms[0].deep else ["RESEX_TEST='%s' " % x for x in ACROSS]:
        sc_transport.suite(vms[0], some + command, 500)
    vms[1].sh("kill $(cat /tmp/serve.pid)")


# --- one lock, by turns --------------------------------------------------------------------------


class Locker:
    """lock_hosts on one of the two; Mover: move_hosts."""
    what = "lock"

    def __init__(self, vm, number):
        self.vm, self.number, self.generation = vm, number, 0

    def start(self):
        self.generation += 1
        err = "/h/files/%s-%d.err" % (self.what, self.generation)
        self.vm.sh("rm -f /tmp/%s.out; (/t/%s_hosts verbs %d %d %s %s >/tmp/%s.out 2>%s & echo $! >/tmp/%s.pid)" %
                   (self.what, self.what, self.number, self.generation, A, B, self.what, err, self.what))
        wait_for("start of %s_hosts" % self.what, 10, lambda: "open" in self.vm.run("cat " + err).out, 0.2)

    def signal(self, what):
        self.vm.sh("kill -%s $(cat /tmp/%s.pid)" % (what, self.what))

    def now(self):
        return json.loads(sc_transport.answer(self.vm, self.what, "USR1"))

    def progress(self, **more):
        """Until it counted so much more of each than now."""
        before = self.now()
        self.until(**{key: before[key] + n for key, n in more.items()})

    def until(self, **least):
        sc_transport.wait_progress("%s_hosts %d" % (self.what, self.number), self.now, least)

    def told(self):
        out = sc_transport.answer(self.vm, self.what, "TERM")
        self.vm.note("%s_hosts %d: %s" % (self.what, self.number, out.strip()))
        return json.loads(out)


class Mover(Locker):
    what = "move"


def moves(vms):
    """Both move nodes of host 2 between two services; host 1, the locks' home, dies, and the cable is cut."""
    one, two = both = [Mover(vm, i + 1) for i, vm in enumerate(vms)]
    for h in both:
        h.start()
    two.progress(counted=1)
    cable(True)
    two.until(downs=1)
    cable(False)
    two.progress(counted=1)
    downs = two.now()["downs"]
    one.signal("KILL")
    two.until(downs=downs + 1)
    one.start()
    wait_for("a sweep, of either", 120, lambda: sum(h.now()["unclean"] for h in both) >= 1, 0.5)
    for h in both:
        h.signal("USR2")
    wait_for("the moves to end", 30, lambda: all(h.now()["idle"] for h in both), 0.3)
    got = [h.told() for h in (two, one)]
    for r in got:
        check(r["violations"] == 0, "host %d: %s" % (r["host"], r["what"]))
    check(got[0]["now_1"] + got[0]["now_2"] == got[0]["nodes"], "a node is in no service: %s" % got[0])
    check(min(got[0]["now_1"], got[0]["now_2"]) >= got[0]["minimum_1"], "below the minimum: %s" % got[0])
    check(sum(r["moves"] for r in got) >= 1, "no node was moved: %s" % got)


def locks(vms):
    """The home of the lock is host 1; it and host 2 die in turn, and the cable is cut."""
    one, two = both = [Locker(vm, i + 1) for i, vm in enumerate(vms)]
    for h in both:
        h.start()
    for h in both:
        h.progress(turns=3)
    before = two.now()
    cable(True)
    two.until(downs=before["downs"] + 1)  # the home asks nothing of it, and may not notice
    one.progress(turns=3)  # what the other held has lapsed
    cable(False)
    two.until(ups=before["ups"] + 1)
    for h in both:
        h.progress(turns=3)
    two.signal("KILL")
    one.progress(turns=3)
    two.start()
    for h in both:
        h.progress(turns=3)
    downs = two.now()["downs"]
    one.signal("KILL")
    two.until(downs=downs + 1)
    before = two.now()["unclean"]
    one.start()
    for h in both:
        h.progress(turns=3)
    # One of the two held it first after the restart, and cleaned it for both.
    after = one.now()["unclean"] + two.now()["unclean"]
    check(after > before, "the restarted home's lock was had as if nobody could have held it: %d" % after)
    got = [h.told() for h in (two, one)]
    for r in got:
        check(r["violations"] == 0, "host %d: %s" % (r["host"], r["what"]))
        check(r["turns"] >= 3, "host %d had the lock only %d times: %s" % (r["host"], r["turns"], r))
    check(max(r["fence"] for r in got) >> 24 == 2, "the fences are not of the home's second start: %s" % got)


# --- a host is gone, and comes again -----------------------------------------------------------------


def power(vms, boot):
    """The second host loses its power while both count and lock; boot() is the same host, anew."""
    counters = [sc_transport.Host(v, i + 1, at, peer) for i, (v, at, peer) in enumerate(zip(vms, (A, B), (B, A)))]
    lockers = [Locker(v, i + 1) for i, v in enumerate(vms)]
    for h in counters + lockers:
        h.generation += 10  # than those of the parts before
        h.start()
    for h in counters:
        h.progress(**sc_transport.ENOUGH)
    for h in lockers:
        h.progress(turns=3)
    vms[1].power_off()
    counters[0].wait_change("down", 1)
    with boot() as anew:
        sc_transport.plug(anew, B)
        for h in (counters[1], lockers[1]):
            h.vm = anew
            h.start()
        counters[0].wait_change("up", 2)
        for h in counters:
            h.progress(**sc_transport.ENOUGH)
        for h in lockers:
            h.progress(turns=3)
        got = [h.told() for h in lockers[::-1]]
        survivor, _ = sc_transport.finish(counters, reborn=counters[1:])
    for r in got:
        check(r["violations"] == 0, "host %d: %s" % (r["host"], r["what"]))
        check(r["turns"] >= 3, "host %d had the lock only %d times: %s" % (r["host"], r["turns"], r))
    check((survivor["ups"], survivor["downs"], survivor["generation"]) == (2, 1, counters[1].generation),
          "who lived saw not one death: %s" % survivor)


# --- resexd on both ---------------------------------------------------------------------------------


def seen(d, name):
    """How the daemon sees that host, with its guests."""
    return [h for h in d.ask("list --all-hosts")["hosts"] if h["name"] == name][0]


def wait_state(d, name, state, seconds=20):
    wait_for("%s to be %s in host-list" % (name, state), seconds, lambda: seen(d, name)["state"] == state, 0.3)
    return seen(d, name)


def daemon(vm, number, **settings):
    hosts = [{"name": "xen%d" % (i + 1), "number": i + 1, "address": at} for i, at in enumerate((A, B))]
    hosts.append({"name": "peek", "number": 200, "role": "client"})
    conf = {"cluster": "pair", "host": "xen%d" % number, "transport": "verbs", "key_file": "/run/key",
            "timeout": "2s", "hosts": hosts, "services": [{"name": "web", "number": 1}]}
    vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key; mkdir -p /var/lib/resex")
    return Daemon(vm, cluster_file=vm.put("cluster.json", json.dumps(conf)), **settings)


def same_guest(first, second):
    """What the first host says of its guest is what the second reads of it."""
    own = {g["name"]: g for g in first.ask("list")["guests"]}["one"]
    theirs = {g["name"]: g for g in seen(second, "xen1")["guests"]}.get("one")
    if not theirs:
        return None
    keys = ("domid", "uuid", "cap", "mtus_sent", "mtus_recv", "allocated", "weight", "state", "rings")
    return theirs if all(own[k] == theirs[k] for k in keys) else None


def daemons(vms):
    g = Guest(vms[0], "one")
    vms[0].create(g)
    with_agent(g)
    first = daemon(vms[0], 1, guests={"one": {"max_cap": CAP}})
    second = daemon(vms[1], 2)
    with first, second:
        wait_state(first, "xen2", "up")
        generation = wait_state(second, "xen1", "up")["generation"]
        load = Load(g, LOAD)
        wait_rings(first, "one", load.streams, load.pid)
        load.go().wait_done()
        theirs = wait_for("the guest's figures on the other host", 20, lambda: same_guest(first, second), 0.5)
        vms[0].note("as the other host reads it: %s" % theirs)
        check(theirs["mtus_sent"] > 0 and theirs["cap"] == CAP and theirs["allocated"] > 0,
              "the guest as the other host reads it: %s" % theirs)
        load.finish()
        # A client in the dom0 of the second host: over the cable, and over its own device.
        peek = vms[1].run("resex-peek -j -w 30 -c /h/files/cluster.json", 60)
        read = {h["name"]: (h["state"], h.get("guests")) for h in peek.json()["hosts"]}
        check(peek.rc == 0 and read == {"xen1": ("beats", 1), "xen2": ("beats", 0)}, "resex-peek read %s" % read)
        first.signal("STOP")
        silent = wait_state(second, "xen1", "silent")
        check([x["name"] for x in silent["guests"]] == ["one"], "a silent host's guests are gone: %s" % silent)
        first.signal("CONT")
        wait_state(second, "xen1", "up")
        cable(True)
        wait_state(second, "xen1", "down", 30)
        wait_state(first, "xen2", "down", 30)
        cable(False)
        wait_state(second, "xen1", "up", 30)
        wait_state(first, "xen2", "up", 30)
        lock = second.ask("lock-list")["locks"][0]
        check((lock["state"], lock["home"]) == ("free", "xen1"), "the lock of web: %s" % lock)
        first.kill()
        down = wait_state(second, "xen1", "down", 30)
        check(down["note"], "nothing is said of why xen1 is down: %s" % down)
        first.begin()
        again = wait_state(second, "xen1", "up", 30)["generation"]
        check(again == generation + 1, "generation %d came after %d" % (again, generation))


# --- both hosts ----------------------------------------------------------------------------------------


def hosts(vm):
    def boot(name):
        return bed.Vm(vm.images, vm.run_dir + "/" + name, limit=vm.limit, cable=CABLE[::-1],
                      snapshot=vm.snapshot, beside=vm, **BED)

    second = boot("second")
    try:
        with second as other:
            vms = (vm, other)
            for v, at in zip(vms, (A, B)):
                sc_transport.plug(v, at)
            vm.note("--- the contract")
            contract(vms)
            counters = [sc_transport.Host(vm, 1, A, B), sc_transport.Host(other, 2, B, A)]
            for part in (sc_transport.clean, sc_transport.cut, sc_transport.killed):
                vm.note("--- counters, " + part.__name__)
                part(counters)
                for h in counters:
                    h.generation += 1
            vm.note("--- locks")
            locks(vms)
            vm.note("--- moves")
            moves(vms)
            vm.note("--- daemons")
            daemons(vms)
            vm.note("--- power")
            power(vms, lambda: boot("second-anew"))
    except Failed as e:
        raise Failed("%s (the second host's logs are in %s*)" % (e, second.run_dir)) from None
    finally:
        for path in CABLE + tuple(p + ".cut" for p in CABLE):
            if os.path.exists(path):
                os.unlink(path)
