# SPDX-License-Identifier: GPL-2.0-or-later
"""survive-ioshares: survive under IOShares, whose caps move with what another guest reports."""
import random

from bed import wait_for
from daemon import Load, wait_rings, with_agent, xl_cap
from sc_ioshares import BASE, BULK, MODEST, SLA, SLOW
from sc_survive import REBOOT, SAVE, Tenant, as_files, caps_file, daemon, one_round

# A window ends each 10 ms, and each window moves the cap.
QUICK = {"policy": "ioshares", "params": {"window": 10000000, "min_samples": 1, "bite": 0, "futile": 0}}
# The victim complains for 300 ms, and does not for 300 ms: the cap falls and rises.
MOODS = "(while :; do for l in '%d %d %d' '%d %d %d'; do echo $l >/tmp/lat.new; mv /tmp/lat.new /tmp/lat; " \
    "usleep 300000; done; done) & " % (SLOW + BASE)


def at_work(g, options):
    with_agent(g)
    Load(g, options).go()


def survive_ioshares(vm):
    bulk = Tenant(vm, "bulk", 512, 90, 1, initrd="guest", memory=192)
    victim = Tenant(vm, "victim", 300, 0, 2, initrd="guest", memory=192)
    vm.create(bulk, victim)
    at_work(victim, MODEST)
    victim.sh(MOODS + "usleep 100000; latload /tmp/lat 200 >/tmp/latload.log 2>&1 & sleep 0.5; ! grep . /tmp/latload.log")
    d = daemon(vm, QUICK, guests={"victim": {"sla": SLA}, "bulk": {"min_cap": 50}})
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    hows = [REBOOT, SAVE] if not vm.deep else [REBOOT] * 20 + [SAVE] * 6
    rng.shuffle(hows)
    for i, how in enumerate(hows):
        kill = rng.uniform(0, 3) if i % 3 == 1 else None
        when = "round %d of seed %d (%s, killed %s)" % (i, seed, "reboot" if how == REBOOT else "save", kill)
        at_work(bulk, BULK)
        d.begin()
        wait_rings(d, "bulk", 1)
        wait_for("a cap of bulk below its own", 20, lambda: 0 < xl_cap(vm, "bulk")[1] < 90, 0.05)
        one_round(vm, d, rng, [bulk, victim], {bulk: how}, kill)
        vm.note(when)
        as_files(vm, [bulk, victim], when)
        caps_file(vm, [bulk, victim], when)
        if how == SAVE:
            vm.sh("xl destroy bulk")
            vm.create(bulk)
