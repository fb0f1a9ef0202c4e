# SPDX-License-Identifier: GPL-2.0-or-later
"""hello: what all other scenarios stand on."""
from bed import Guest, check
from daemon import with_rxe


def hello(vm):
    pv, pvh = Guest(vm, "pv", "pv"), Guest(vm, "pvh", "pvh")
    vm.create(pv, pvh)
    names = vm.sh("xl list | awk 'NR > 1 { print $1 }' | sort").split()
    check(names == ["Domain-0", "pv", "pvh"], "xl list shows %s" % names)
    for g in (pv, pvh):
        with_rxe(g)
        kind = g.sh("cat /sys/hypervisor/guest_type").strip()
        check(kind.lower() == g.kind, "guest %s says that it is %s" % (g.name, kind))
        out = g.sh("rdmaload -n 50 -s 0-4096", 60)
        check('TRUTH {"program":"rdmaload"' in out, "rdmaload told no truth: %.200s" % out)
