# SPDX-License-Identifier: GPL-2.0-or-later
"""survive: guests that reboot, or are saved and restored, while they are capped get their own caps back.

The policy moves all caps each 10 ms. The guests go and come at random moments, and in a third of the
rounds resexd is killed meanwhile. At the end of each round resexd ends, and each guest's cap and weight
must be those of the operator's file.
"""
import json
import random
import shlex

from bed import Guest, check, wait_for
from daemon import Daemon, xl_sched

LINKS = [{"name": "rxe0", "rate": 1000000, "mtu": 1024}]
# Each guest is capped as soon as it has spent anything, down to half a CPU: less would only make
# it boot slowly.
BUSY = {"policy": "freemarket", "params": {"low": 1000, "guard": 0, "cut": 20, "step": 10000000, "min_cap": 50000}}
# name: (weight, cap) of the operator's files; 0 is no cap.
FILES = {"above": (512, 90), "none": (300, 0), "low": (256, 58)}
UUID = "5c2b4f60-0000-4000-8000-%012x"
STATE = "/var/lib/resex"


class Tenant(Guest):
    """A guest with a cap and a weight in its configuration."""

    def __init__(self, vm, name, weight, cap, number, kind="pv"):
        super().__init__(vm, name, kind=kind, memory=96 if kind == "pv" else 128, on_reboot="restart", initrd="tiny")
        self.uuid = UUID % number
        self.set_own(weight, cap)

    def set_own(self, weight, cap):
        self.weight, self.cap = weight, cap
        self.more = ['uuid="%s"' % self.uuid, "cpu_weight=%d" % weight] + (["cap=%d" % cap] if cap else [])

    def own(self):
        return self.weight, self.cap


class Round:
    """The guests, a resexd that runs or does not, and what the operator's files say."""

    def __init__(self, vm, rng):
        self.vm, self.rng = vm, rng
        self.done = []

    def daemon(self, **settings):
        policy = self.vm.put("busy.json", json.dumps(BUSY))
        return Daemon(self.vm, policy="freemarket", policy_file=policy, links=LINKS, epoch="500ms", **settings)

    def wait_listed(self, d, guests):
        """Until resexd manages these domains, and no other of their names."""
        def listed():
            rows = d.ask("cap-list")["guests"]
            return sorted((r["domid"], r["state"]) for r in rows) == sorted((g.domid, "managed") for g in guests)
        wait_for("the guests to be managed", 20, listed, 0.1)


def caps_now(vm, guests):
    """{name: (weight, cap)} as Xen's own tool sees them."""
    out = vm.sh("; ".join("xl %s -d %s | tail -n 1" % (xl_sched(vm), g.name) for g in guests))
    rows = [line.split() for line in out.splitlines()]
    return {r[0]: (int(r[-2]), int(r[-1])) for r in rows}


def as_files(vm, guests, when):
    now, own = caps_now(vm, guests), {g.name: g.own() for g in guests}
    check(now == own, "%s: weights and caps are %s, the operator's files say %s" % (when, now, own))


def caps_file(vm, guests, when):
    """caps.json holds no domain but these guests', and each once, with its own cap."""
    text = vm.sh("cat %s/caps.json 2>/dev/null || true" % STATE)
    rows = json.loads(text)["guests"] if text else []
    uuids = [r["uuid"] for r in rows]
    own = {g.uuid: g.own() for g in guests}
    check(len(set(uuids)) == len(uuids) and set(uuids) <= set(own), "%s: caps.json has %s" % (when, text))
    for r in rows:
        check((r["weight"], r["cap"]) == own[r["uuid"]], "%s: caps.json has %s" % (when, text))


def moving(d, guests):
    """Until the policy has capped each of them below its own cap."""
    def capped():
        rows = {r["domid"]: r for r in d.ask("cap-list")["guests"]}
        return all(rows.get(g.domid, {}).get("changes") for g in guests)
    wait_for("caps that move", 20, capped, 0.1)


def console(g, words, delay):
    """Shell words for dom0: type this into a guest some time from now."""
    g.count += 1
    return "(usleep %d; echo %s >$(xenstore-read /local/domain/%d/console/tty))" % (
        1e6 * delay, shlex.quote("%d %s" % (g.count, words)), g.domid)


def reboot(g, delay):
    return console(g, "reboot -f", delay)


def restore(g, delay):
    return "(usleep %d; xl save %s /tmp/%s.save && xl restore /tmp/%s.save; rc=$?; rm -f /tmp/%s.save; exit $rc)" % (
        1e6 * delay, g.name, g.name, g.name, g.name)


def back(g, before, is_reboot):
    """Wait for the guest's next domain, until it takes commands."""
    if is_reboot:
        g.wait_ready()
    else:
        g.domid = int(g.vm.sh("xl domid " + g.name))
        g.sh("true")
    check(g.domid != before, "%s is still domain %d" % (g.name, before))


def one_round(r, d, guests, saved, kill):
    """Each guest reboots, those in saved are saved and restored instead; kill: seconds until SIGKILL, or None."""
    rng, vm = r.rng, r.vm
    moving(d, guests)
    before = {g: g.domid for g in guests}
    jobs = []
    for g in guests:
        if g not in saved:
            g.rebooted()
        jobs.append(vm.begin((restore if g in saved else reboot)(g, rng.uniform(0, 0.6))))
    again = "later"
    if kill is not None:
        vm.sh("usleep %d" % (1e6 * kill))
        d.kill()
        again = rng.choice(("at once", "later", "restore"))
        if again == "at once":
            d.begin()
    for job in jobs:
        out = vm.end(job, 60)
        check(out.rc == 0, "xl save or restore: " + out.out)
    for g in guests:
        back(g, before[g], g not in saved)
    if kill is not None and again == "restore":
        vm.sh(d.command + " --restore-caps >>/h/files/resexd.log 2>&1")
        return
    if kill is not None and again == "later":
        d.begin()
    r.wait_listed(d, guests)
    vm.sh("usleep %d" % rng.randrange(1000000))
    rc = d.stop()
    check(rc == 0, "resexd ended with %d on SIGTERM" % rc)


def rounds(vm, guests, plan, seed):
    """plan: [(how many guests are saved and restored, whether resexd is killed)]."""
    rng = random.Random(seed)
    r = Round(vm, rng)
    d = r.daemon()
    for i, (saves, killed) in enumerate(plan):
        saved = rng.sample(guests, saves)
        kill = rng.uniform(0, 3) if killed else None
        when = "round %d of seed %d (saved %s, killed %s)" % (i, seed, [g.name for g in saved], kill)
        d.begin()
        one_round(r, d, guests, saved, kill)
        as_files(vm, guests, when)
        caps_file(vm, guests, when)
        r.done.append(when)
        vm.note(when)
    return r


def survive(vm):
    guests = [Tenant(vm, name, *FILES[name], number) for number, name in enumerate(FILES, 1)]
    vm.create(*guests)
    as_files(vm, guests, "at first")
    seed = random.randrange(1 << 32)
    vm.note("seed %d" % seed)
    rounds(vm, guests, [(1, False), (0, True)], seed)
