# SPDX-License-Identifier: GPL-2.0-or-later
"""restored: what all scenarios rely on that begin with a snapshot.

Two VMs are restored from the same one. Their kernels do not draw the same random numbers, their
monotonic clocks continue from the snapshot's values at the right rate, and their date is the host's.
"""
import os
import time

import bed
from bed import Guest, check

LATE_S = 30  # that a command may take on a busy machine


def draws(*systems):
    return [s.sh("head -c 16 /dev/urandom | od -An -tx1").strip() for s in systems]


def clocks(name, vm, system, saved):
    """saved: the uptime when the VM was saved."""
    ran = time.monotonic() - vm.began
    began = time.time()
    first = system.sh("cut -d' ' -f1 /proc/uptime; date +%s").split()
    between = time.time()
    # Both clocks again, over a while of the guest's own.
    rate = [float(x) for x in system.sh("f() { cut -d' ' -f1 /proc/uptime; date +%s; }; "
                                        "f; usleep 1500000; f").split()]
    ended = time.time()
    jump = float(first[0]) - saved - ran
    what = "%s: uptime %s s, saved at %.1f, restored %.1f s ago; date %s, the host's %.0f to %.0f; " \
        "a while: %s in %.1f s" % (
        name, first[0], saved, ran, first[1], began, ended, rate, ended - between)
    check(saved <= float(first[0]), "the monotonic clock went back; " + what)
    check(jump < LATE_S, "the monotonic clock jumped by %.1f s; %s" % (jump, what))
    check(began - LATE_S <= float(first[1]) <= between + 1, "the date is not the host's; " + what)
    check(1.4 <= rate[2] - rate[0] <= ended - between + 0.1, "the monotonic clock's rate is wrong; " + what)
    check(1 <= rate[3] - rate[1] <= ended - between + 1, "the date's rate is wrong; " + what)
    return what


def look(vm):
    guests = [Guest(vm, "one"), Guest(vm, "two")]
    vm.create(*guests)
    names = vm.sh("xl list | awk 'NR > 1 { print $1 }' | sort").split()
    check(names == ["Domain-0", "one", "two"], "xl list shows %s" % names)
    vm.note(clocks("dom0", vm, vm, vm.snapshot.uptime))
    for g, r in zip(guests, vm.snapshot.guests):
        vm.note(clocks(g.name, vm, g, r["uptime"]))
    return draws(vm, *guests)


def restored(vm):
    run = vm.run_dir + "/second"
    os.makedirs(run)
    seen = look(vm)
    with bed.Vm(vm.images, run, sched=vm.sched, snapshot=vm.snapshot, beside=vm) as other:
        seen += look(other)
    check(len(set(seen)) == len(seen), "the same random bytes twice: %s" % seen)
