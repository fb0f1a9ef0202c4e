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
FILES = {"above": (512, 90), "none": (300, 0), "low": (256, 58), "pvh": (400, 70)}
UUID = "5c2b4f60-0000-4000-8000-%012x"
STATE = "/var/lib/resex"


class Tenant(Guest):
    """A guest with a cap and a weight in its configuration."""

    def __init__(self, vm, name, weight, cap, number, initrd="tiny", **settings):
        settings.setdefault("memory", 96)
        super().__init__(vm, name, on_reboot="restart", initrd=initrd, **settings)
        self.uuid = UUID % number
        self.set_own(weight, cap)

    def set_own(self, weight, cap):
        self.weight, self.cap = weight, cap
        self.more = ['uuid="%s"' % self.uuid, "cpu_weight=%d" % weight] + (["cap=%d" % cap] if cap else [])

    def own(self):
        return self.weight, self.cap


def daemon(vm, policy=BUSY, **settings):
    path = vm.put("busy.json", json.dumps(policy))
    return Daemon(vm, policy=policy["policy"], policy_file=path, links=LINKS, epoch="500ms", **settings)


def wait_managed(d, guests):
    """Until resexd manages these domains, and no others."""
    def managed():
        rows = d.ask("cap-list")["guests"]
        return sorted((r["domid"], r["state"]) for r in rows) == sorted((g.domid, "managed") for g in guests)
    wait_for("the guests to be managed", 20, managed, 0.1)


def caps_now(vm, guests):
    """{name: (weight, cap)} as Xen's own tool sees them."""
    out = vm.sh("; ".join("xl %s -d %s | tail -n 1" % (xl_sched(vm), g.name) for g in guests))
    rows = [line.split() for line in out.splitlines()]
    return {r[0]: (int(r[-2]), int(r[-1])) for r in rows}


def as_files(vm, guests, when):
    now, own = caps_now(vm, guests), {g.name: g.own() for g in guests}
    check(now == own, "%s: weights and caps are %s, the operator's files say %s" % (when, now, own))


def caps_file(vm, guests, when):
    """caps.json holds no guest but these, each once, and what it says of them is right."""
    text = vm.sh("cat %s/caps.json 2>/dev/null || true" % STATE)
    kept = json.loads(text) if text else {}
    own = {g.uuid: g.own() for g in guests}
    for key in ("guests", "gone"):
        uuids = [r["uuid"] for r in kept.get(key, [])]
        check(len(set(uuids)) == len(uuids) and set(uuids) <= set(own), "%s: caps.json has %s" % (when, text))
    for r in kept.get("guests", []):
        check((r["weight"], r["cap"]) == own[r["uuid"]], "%s: caps.json has %s" % (when, text))


def moving(d, guests):
    """Until the policy has capped each of them below its own cap."""
    def capped():
        rows = {r["domid"]: r for r in d.ask("cap-list")["guests"]}
        return all(rows.get(g.domid, {}).get("changes", 0) > 2 for g in guests)
    wait_for("caps that move", 20, capped, 0.1)


# What a guest goes through, as shell words for dom0; a delay in us comes first.
SAVE = "(usleep {1}; xl save {0} /tmp/{0}.save && xl restore /tmp/{0}.save; rc=$?; rm -f /tmp/{0}.save; exit $rc)"
# Without ssh: xl runs the "host" as a command. PVH guests only: for PV guests Xen needs shadow
# paging, without which it is built here ("Failed to enable logdirty: 95").
MIGRATE = "(usleep {1}; xl migrate -s '' {0} 'xl migrate-receive')"
REBOOT = "(usleep {1}; echo {2} >$(xenstore-read /local/domain/{3}/console/tty))"


def log_of(g, how):
    """xenconsoled names the log after the domain as it is when it is made."""
    return "%s/console/guest-%s%s.log" % (g.vm.share, g.name, "--incoming" if how == MIGRATE else "")


def go(g, how, delay):
    """Begin one of these in dom0."""
    g.log = log_of(g, how)
    g.rebooted()
    if how == REBOOT:
        g.count += 1
    words = shlex.quote("%d reboot -f" % g.count)
    return g.vm.begin(how.format(g.name, int(1e6 * delay), words, g.domid))


def back(g, before, how):
    """Wait for the guest's next domain, until it takes commands."""
    if how == REBOOT:
        g.wait_ready()
    else:
        g.domid = int(g.vm.sh("xl domid " + g.name))
        g.sh("true")
    check(g.domid != before, "%s is still domain %d" % (g.name, before))


def disturb(vm, d, rng, hows, kill):
    """hows: {guest: what it goes through}; kill: seconds until SIGKILL, or None. How resexd goes on."""
    before = {g: g.domid for g in hows}
    jobs = [go(g, how, rng.uniform(0, 0.6)) for g, how in hows.items()]
    again = None
    if kill is not None:
        vm.sh("usleep %d" % (1e6 * kill))
        d.kill()
        again = rng.choice(("at once", "later", "restore"))
        if again == "at once":
            d.begin()
    for job in jobs:
        out = vm.end(job, 60)
        check(out.rc == 0, "a guest could not be moved: " + out.out)
    for g, how in hows.items():
        back(g, before[g], how)
    return again


def one_round(vm, d, rng, guests, hows, kill):
    """resexd has begun. It ends after the round, or --restore-caps is run."""
    moving(d, hows)
    again = disturb(vm, d, rng, hows, kill)
    if again == "restore":
        vm.sh(d.command + " --restore-caps >>/h/files/resexd.log 2>&1")
        return
    if again == "later":
        d.begin()
    wait_managed(d, guests)
    vm.sh("usleep %d" % rng.randrange(500000))
    rc = d.stop()
    check(rc == 0, "resexd ended with %d on SIGTERM" % rc)


def rounds(vm, guests, plan, seed):
    """plan: [({name: what it goes through}, whether resexd is killed)]."""
    rng, d = random.Random(seed), daemon(vm)
    words = {SAVE: "saved", MIGRATE: "migrated", REBOOT: "rebooted"}
    for i, (hows, killed) in enumerate(plan):
        kill = rng.uniform(0, 3) if killed else None
        when = "round %d of seed %d (%s, resexd killed %s)" % (
            i, seed, ", ".join("%s %s" % (name, words[how]) for name, how in hows.items()),
            "never" if kill is None else "after %.2f s" % kill)
        vm.note(when)
        d.begin()
        one_round(vm, d, rng, guests, {vm.guests[name]: how for name, how in hows.items()}, kill)
        as_files(vm, guests, when)
        caps_file(vm, guests, when)


def renamed(vm, d, g):
    """Its rows follow the new name, and its own cap stays."""
    vm.sh("xl rename %s other" % g.name)
    wait_for("the new name in cap-list", 10, lambda: "other" in [r["name"] for r in d.ask("cap-list")["guests"]], 0.1)
    vm.sh("xl rename other " + g.name)


def edited(vm, d, g):
    """Its file says another cap when it is created again, under the same UUID: the new cap counts."""
    before = g.domid
    vm.sh("xl destroy " + g.name)
    g.set_own(g.weight + 10, 99)  # no cap of the policy is as high
    vm.create(g)
    check(g.domid != before, "%s is still domain %d" % (g.name, before))


def created_paused(vm, d, g):
    """A domain that has not run yet is not cappable, and has its own cap when it runs."""
    vm.sh("xl destroy " + g.name)
    vm.sh(g.create_script().replace("xl create", "xl create -p"))
    g.domid = int(vm.sh("xl domid " + g.name))

    def row():
        return {r["domid"]: r for r in d.ask("cap-list")["guests"]}.get(g.domid)
    seen = wait_for("the paused domain in cap-list", 10, row, 0.1)
    check(seen["changes"] == 0 and "has not run" in seen["note"], "a domain that has not run: %s" % seen)
    now = caps_now(vm, [g])[g.name]
    check(now == g.own(), "a domain that has not run has weight and cap %s" % (now,))
    vm.sh("xl unpause " + g.name)
    g.wait_ready()


def step(vm, guests, g, what):
    """One of these three while the caps move."""
    with daemon(vm) as d:
        moving(d, guests)
        what(vm, d, g)
        wait_managed(d, guests)
        moving(d, guests)
    as_files(vm, guests, what.__name__)
    caps_file(vm, guests, what.__name__)
    vm.note(what.__name__)


def long_plan(rng, names, reboots, moves):
    """So many of each, a third of the rounds with a SIGKILL. The PVH guest is migrated at times."""
    todo = [REBOOT] * reboots + [SAVE] * moves
    rng.shuffle(todo)
    plan = []
    while todo:
        some = [todo.pop() for _ in range(min(len(todo), len(names)))]
        hows = dict(zip(rng.sample(names, len(some)), some))
        if hows.get("pvh") == SAVE and rng.random() < 0.5:
            hows["pvh"] = MIGRATE
        plan.append((hows, len(plan) % 3 == 1))
    return plan


def tenants(vm, names):
    guests = [Tenant(vm, name, *FILES[name], number, kind="pvh" if name == "pvh" else "pv")
              for number, name in enumerate(names, 1)]
    vm.create(*guests)
    as_files(vm, guests, "at first")
    return guests


def survive_once(vm, guests):
    """The short form, for the scenario caps (sc_operator)."""
    seed = random.randrange(1 << 32)
    rounds(vm, guests, [({"above": SAVE, "none": REBOOT}, seed % 3 == 0)], seed)


def survive(vm):
    guests = tenants(vm, FILES)
    seed = random.randrange(1 << 32)
    rounds(vm, guests, long_plan(random.Random(seed), list(FILES), *((50, 15) if vm.deep else (9, 3))), seed)
    for what in (renamed, created_paused, edited):
        step(vm, guests, guests[0], what)
