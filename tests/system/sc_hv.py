# SPDX-License-Identifier: GPL-2.0-or-later
"""hv: the calls of src/hv, one by one, against a guest that holds known pages."""
import re

from bed import Guest, check


def probe(vm, kind, *others):
    names = ["hv" + kind] + ["other%d" % i for i in range(len(others))]
    guests = [Guest(vm, name, k, run="/t/hvguest") for name, k in zip(names, (kind,) + others)]
    words = " ".join("%s /h/console/guest-%s.log" % (g.config(), g.name) for g in guests)
    r = vm.run("/t/hvprobe.sh /t/hvprobe " + words, 120)
    failed = re.findall(r"^(?:FAIL|hvprobe).*(?<! 0 failed)$", r.out, re.M)
    for name in names:
        vm.run("xl destroy " + name)
    vm.note("hv %s: %d checks; %s" % (kind, len(re.findall("^PASS", r.out, re.M)),
                                      "; ".join(re.findall("^COST: (.*)", r.out, re.M))))
    check(r.rc == 0, "%s: %s" % (kind, "; ".join(failed)))


def hv_pv(vm):
    probe(vm, "pv", "pv")


def hv_pvh(vm):
    probe(vm, "pvh")
