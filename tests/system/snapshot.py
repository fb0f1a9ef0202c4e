# SPDX-License-Identifier: GPL-2.0-or-later
"""snapshot: VMs that booted once, saved, for scenarios to begin with.

A snapshot holds all of a VM: Xen, dom0, its guests, and the programs under test in their memory.
Its key is a hash of all that it is made from: images (the programs are in them), QEMU and its
command line, the text of the modules that prepare the VM. It is made anew when the key changed,
so that no scenario meets a program of another build. The key also names this boot of this machine:
the saved Xen has measured how fast the TSC runs, and the CPU's features.

The time since the snapshot: monotonic clocks continue from the snapshot's values, date is set to
the host's, and the kernels' randomness is seeded anew (bed.Vm.rejoin, bed.Guest.adopt). The
scenario "restored" checks this.

What was seen to work in a restored VM (QEMU 7.2, Xen 4.17, Linux 6.1): xl create of PV and PVH
guests, rxe and agents that were up before, and interfaces of guests on dom0's bridge. QEMU saves
no VM that has a 9p share mounted, so dom0 first stops xenconsoled, which writes there, and unmounts
its shares. No PVH guest runs in a snapshot: QEMU would have to save the state of SVM.
"""
import hashlib
import json
import os
import shutil
import subprocess
import threading

import bed
import daemon
import net

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = ("xen", "vmlinux", "dom0.initrd", "guest.initrd")
MAKERS = ("bed.py", "daemon.py", "net.py", "snapshot.py")


def pair(vm):
    """Two guests, each with an RDMA device of its own and an agent."""
    guests = [bed.Guest(vm, "ready%d" % i, on_reboot="restart") for i in (1, 2)]
    vm.create(*guests)
    bed.at_once(daemon.with_agent, *guests)


def linked(vm):
    """Two guests whose RDMA devices reach dom0's."""
    net.Net(vm)
    guests = [bed.Guest(vm, "ready%d" % i, on_reboot="restart", net=i) for i in (1, 2)]
    vm.create(*guests)
    bed.at_once(daemon.with_rxe, *guests)


# name: (the snapshot that it begins with, what is done then)
RECIPES = {
    "dom0": (None, None),
    "pair": ("dom0", pair),
    "linked": ("dom0", linked),
}


class Snapshot:
    def __init__(self, path, cpu_s=0.0):
        """cpu_s: what it took, of one that was just made."""
        self.memory, self.cpu_s = path + "/memory", cpu_s
        with open(path + "/state", encoding="utf-8") as f:
            state = json.load(f)
        self.guests, self.uptime = state["guests"], state["uptime"]


class Store:
    """All snapshots, in one directory. One whose key is no longer right is removed."""

    def __init__(self, path, images, logs):
        self.path, self.images, self.logs = path, images, logs
        self.locks, self.lock, self.failures = {}, threading.Lock(), {}
        self.base = hashlib.sha256()
        for name in ["%s/%s" % (images, name) for name in IMAGES] + ["%s/%s" % (HERE, name) for name in MAKERS]:
            with open(name, "rb") as f:
                self.base.update(f.read())
        self.base.update(subprocess.check_output(["qemu-system-x86_64", "--version"]))
        with open("/proc/sys/kernel/random/boot_id", "rb") as f:
            self.base.update(f.read())
        self.base = self.base.hexdigest()[:16]
        os.makedirs(path, exist_ok=True)
        for name in os.listdir(path):
            if name != self.base:
                shutil.rmtree(path + "/" + name)

    def get(self, recipe, options):
        """The snapshot of a VM with these options, made if there is none."""
        alike = dict(options, cable=options.get("cable") and ("CABLE", "CABLE'"))
        command = bed.Vm("IMAGES", "RUN", **alike).arguments("IMAGES", "SHARE")
        name = recipe + "." + hashlib.sha256(json.dumps(command).encode()).hexdigest()[:8]
        path = "%s/%s/%s" % (self.path, self.base, name)
        with self.lock:
            lock = self.locks.setdefault(name, threading.Lock())
        with lock:
            if name in self.failures:
                raise self.failures[name]
            if os.path.exists(path):
                return Snapshot(path)
            try:
                return self._make(recipe, options, path)
            except Exception as e:
                self.failures[name] = e
                raise

    def _make(self, recipe, options, path):
        before, prepare = RECIPES[recipe]
        begin = self.get(before, options) if before else None
        shutil.rmtree(path + ".new", ignore_errors=True)
        os.makedirs(path + ".new")
        logs = "%s/snapshot-%s" % (self.logs, os.path.basename(path))
        shutil.rmtree(logs, ignore_errors=True)
        with bed.Vm(self.images, logs, snapshot=begin, **options) as vm:
            if prepare:
                prepare(vm)
            guests, up = [g.ready_made() for g in vm.guests.values()], bed.uptime(vm)
            at = vm.save(path + ".new/memory")
            for g in guests:
                g["uptime"] += at
            with open(path + ".new/state", "w", encoding="utf-8") as f:
                json.dump({"guests": guests, "uptime": up + at}, f)
        os.rename(path + ".new", path)
        return Snapshot(path, vm.cpu_seconds() + (begin.cpu_s if begin else 0))
