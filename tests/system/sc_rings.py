# SPDX-License-Identifier: GPL-2.0-or-later
"""rings: unmodified perftest with libresex-rings.so preloaded, over soft-RoCE. The host knows each path MTU
then, and counts what it counts without the library.
"""
from bed import Guest, check, wait_for
from daemon import Daemon, listening, with_agent
from sc_count import PERFTEST, perftest

PRELOADED = "RESEX_RINGS=rxe LD_PRELOAD=libresex-rings.so "


def path_mtus(d, g):
    return [r["path_mtu"] for r in d.rings(g.name)["rings"] if r.get("kind") == "SQ"]


def rings(vm):
    g = Guest(vm, "pv", "pv")
    vm.create(g)
    with Daemon(vm, observe=True) as d:
        with_agent(g)
        wait_for("agent of %s seen" % g.name, 20, lambda: d.rings(g.name)["attached"], 0.2)
        said = g.sh("RESEX_RINGS=nothing LD_PRELOAD=libresex-rings.so resex-agent -V 2>&1")
        check("RESEX_RINGS has \"nothing\"" in said, "the library is not loaded: " + said)
        for command, *row in PERFTEST if vm.deep else PERFTEST[:2]:
            perftest(d, g, PRELOADED + command, *row)
        # Both of a pair that runs for long.
        line = PRELOADED + "ib_send_bw -e -d rxe0 -F -x 1 -m 512 -s 4096 -n 1000000"
        g.sh("{0} >/tmp/server 2>&1 & {1}; {0} 10.99.0.1 >/tmp/client 2>&1 &".format(line, listening(18515)))
        wait_for("path MTU of both send queues; perftest: " + g.sh("cat /tmp/server /tmp/client"), 30,
                 lambda: path_mtus(d, g) == [512, 512], 0.2)
        providers = {r["provider"] for r in d.rings(g.name)["rings"]}
        check(providers == {"rxe"}, "providers: %s" % providers)
        g.sh("killall -9 ib_send_bw")
        wait_for("no send queue", 20, lambda: path_mtus(d, g) == [], 0.2)
