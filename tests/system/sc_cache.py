# SPDX-License-Identifier: GPL-2.0-or-later
"""cache: cached pages stay coherent over verbs, while two machines on a cable fail in many ways.

Clients read and change pages without end, and each reply is checked; meanwhile faults are made, one after
another, in an order that a printed seed gives. The same as tests/cache/faults.py, which has more of them over
shm and tcp. RESEX_SEED: the seed; RESEX_CACHE_BREAK: a rule of src/cache/cache.h that is not kept: then a
violation must be found.
"""
import concurrent.futures
import os
import random
import tempfile
import time

import bed
from bed import Failed, Skipped, check, wait_for
from cache_bed import RULES, CacheWorld, address, missing

_dir = tempfile.gettempdir() + "/resex-cache-%d-" % os.getpid()
CABLE = (_dir + "a", _dir + "b")
FRESH_S, DETECT_S = 2.0, 4.0
TRIES = 4
BROKEN_FAULTS = 3  # a rule that is broken is seen soon
LEASE_S = DETECT_S + 2 * FRESH_S
FIELDS = ("replies", "hits", "updates", "stale", "backwards", "future")


class Faults:
    """Each method makes one, which is mended when it returns. False: its moment did not come."""

    def __init__(self, world, rng):
        self.w, self.rng = world, rng

    def longer(self):
        """Than all leases."""
        return LEASE_S * (1.1 + self.rng.random() / 2)

    def app(self):
        name = self.rng.choice(("app1", "app2"))
        wait_for("membership of " + name, 30, lambda: self.w.figures(name).get("in"), 0.2)
        return name

    def back(self, name, whats, seconds):
        self.w.kill(name, whats)
        time.sleep(seconds)
        if "cached" in whats:
            self.w.start_cached(name)
        if "server" in whats:
            self.w.start_server(name)

    def home_back_within_fresh(self):
        for _ in range(TRIES):
            if self.w.restart_cached(self.app()) < FRESH_S:
                return True
        return False

    def home_back_beyond_fresh(self):
        self.back(self.app(), ["cached"], FRESH_S * 1.1 + self.rng.random() * LEASE_S)

    def host_back_beyond_fresh(self):
        self.back(self.app(), ["server", "cached"], FRESH_S * 1.1 + self.rng.random() * LEASE_S)

    def updater_killed(self, moment):
        for _ in range(TRIES):
            name = self.app()
            if self.w.kill_held(name, moment):
                time.sleep(self.rng.random() * LEASE_S)
                self.w.start_cached(name)
                return True
        return False

    def updater_killed_before_commit(self):
        return self.updater_killed("commit_unsent")

    def updater_killed_in_commit(self):
        return self.updater_killed("commit_sent")

    def updater_killed_after_commit(self):
        return self.updater_killed("committed")

    def application_killed(self):
        self.back(self.app(), ["server"], self.rng.random() * FRESH_S)

    def stopped(self, name, whats):
        pids = " ".join("$(cat /run/%s-%s.pid)" % (name, w) for w in whats)
        self.w.of[name].sh("kill -STOP %s; usleep %d; kill -CONT %s" % (pids, self.longer() * 1e6, pids))

    def home_stopped(self):
        self.stopped(self.app(), ["cached"])

    def host_stopped(self):
        self.stopped(self.app(), ["cached", "server"])

    def proxy_stopped(self):
        self.stopped("front1", ["cached"])

    def cut(self, *pairs):
        self.w.cut(pairs)
        time.sleep(self.longer())
        self.w.cut(pairs, False)

    def homes_cut_off(self):
        self.cut(("one", "app2"), ("one", "front1"), ("two", "app1"))

    def homes_cut_off_one_way(self):
        self.cut(*self.rng.choice(((("two", "app1"),), (("one", "app2"), ("one", "front1")))))

    def proxy_cut_off(self):
        self.cut(("one", "front1"))

    def database_cut_off(self):
        self.cut(("two", "db"), ("one", "dbc"))

    def database_cut_off_one_way(self):
        self.cut(self.rng.choice((("two", "db"), ("one", "dbc"))))

    def cable_cut(self):
        for path in CABLE:
            os.rename(path, path + ".cut")
        time.sleep(self.longer())
        for path in CABLE:
            os.rename(path + ".cut", path)

    def database_restarted(self):
        self.w.end_postgres(self.rng.choice(("QUIT", "INT")))
        time.sleep(self.rng.random() * LEASE_S)
        self.w.start_postgres()


KINDS = [name for name in vars(Faults) if name[0] != "_" and name not in (
    "longer", "app", "back", "updater_killed", "stopped", "cut")]


def judge(result, broken):
    bad = {k: result[k] for k in RULES if result[k]}
    if broken:
        return bad
    check(not bad, "%s of %d replies: %s" % (bad, result["replies"], result.get("first")))
    check(result["end_read"], "the end could not be read")
    return bad


def no_tcp(world):
    """No home is reached by TCP: nobody listens at, or is connected with, an address and port of cluster.json."""
    ends = {"%02X%02X%02X%02X:%04X" % (*(int(n) for n in reversed(address(h.name).split("."))), h.cluster_port)
            for h in world.hosts}
    for name, vm in world.vms.items():
        rows = [line.split() for line in vm.sh("cat /proc/net/tcp").splitlines()[1:]]
        used = [r for r in rows if ends & set(r[1:3])]
        check(not used, "TCP at an address of the transport in VM %s: %s" % (name, used))


def order(rng, each):
    kinds = KINDS * each
    rng.shuffle(kinds)
    return kinds


def under_load(vm, world, faults, kinds):
    """What the checker counted while these faults were made, and how many were."""
    world.begin_load("-r", "6", "-u", "4", "-P", "120", "-R", "8", "-T", "86400", "-W", "30")
    time.sleep(3)
    missed = []
    for kind in kinds:
        began = time.monotonic()
        if getattr(faults, kind)() is False:
            missed.append(kind)
        vm.note("%s: %.1f s%s" % (kind, time.monotonic() - began, ", missed" if kind in missed[-1:] else ""))
        time.sleep(faults.rng.random() * 2)
    check(len(missed) <= len(kinds) / 10, "these faults could not be made: %s" % " ".join(missed))
    return world.end_load(), len(kinds) - len(missed)


def campaign(vm, world, rng, each, broken):
    began = time.monotonic()
    world.start()
    vm.note("all is there after %.1f s" % (time.monotonic() - began))
    packets = world.packets()
    kinds = order(rng, each)[:BROKEN_FAULTS if broken else None]
    r, made = under_load(vm, world, Faults(world, rng), kinds)
    vm.note("under faults: %s" % r)
    if judge(r, broken):
        return "%s is broken: %s of %d replies: %s" % (
            broken, ", ".join("%d %s" % (r[k], k) for k in RULES if r[k]), r["replies"], r["first"])
    wait_for("all to be well again", 60, world.is_well, 0.2)
    for h in world.hosts:
        wait_for("answer of %s's server" % h.name, 60, lambda h=h: world.answers(h.name), 0.2)
    world.begin_load("-r", "6", "-U", "0", "-P", "120", "-T", "86400")
    time.sleep(10)
    again = world.end_load()
    vm.note("after them: %s" % again)
    check(not judge(again, broken) and not broken, "%s is broken, and nothing was found" % broken)
    check(again["hits"] > again["replies"] / 3, "hits do not come back: %d of %d" % (again["hits"], again["replies"]))
    front = world.figures("front1")
    packets = [b - a for a, b in zip(packets, world.packets())]
    vm.note("front1: %s; packets of rxe0: %s" % (front, packets))
    no_tcp(world)
    check(front["reads"] > 200 and min(packets) > front["reads"],
          "%d READs, and rxe0 has sent %d packets, and received %d" % (front["reads"], *packets))
    total = {k: r[k] + again[k] for k in FIELDS}
    check(r["hits"] > r["replies"] / 50 and r["updates"] > 5 * len(kinds), "too little was done: %s" % total)
    return ("%(replies)d replies (%(hits)d hits), %(updates)d updates, %(stale)d stale, %(backwards)d backwards, "
            "%(future)d future" % total + "; %d faults; %d READs over verbs" % (made, front["reads"]))


def cache(vm):
    why = missing()
    if why:
        raise (Failed if os.environ.get("CI") == "true" else Skipped)(why)
    seed = int(os.environ.get("RESEX_SEED") or random.SystemRandom().randrange(2 ** 31))
    broken = os.environ.get("RESEX_CACHE_BREAK", "")
    vm.note("RESEX_SEED=%d" % seed)
    second = bed.Vm(vm.images, vm.run_dir + "/second", kind="plain", memory=1024, limit=vm.limit, cpus=1,
                    cable=CABLE[::-1], beside=vm)
    world = CacheWorld({"one": vm, "two": second}, vm.build, broken,
                       cache={"fresh": "%dms" % (FRESH_S * 1000), "detect": "%dms" % (DETECT_S * 1000)}, items=100,
                       more={"proxy": {"timeout": "500ms"}})
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(world.make)
            with second:
                made.result()
                world.pack()
                return campaign(vm, world, random.Random(seed), 2 if vm.deep else 1, broken)
    except Failed as e:
        raise Failed("RESEX_SEED=%d: %s (the second VM's logs are in %s)" % (seed, e, second.run_dir)) from None
    finally:
        world.close()
        for path in CABLE + tuple(p + ".cut" for p in CABLE):
            if os.path.exists(path):
                os.unlink(path)
