# SPDX-License-Identifier: GPL-2.0-or-later
"""scenarios: the table of all scenarios and the beds they run in."""
import collections

import experiment
import sc_benchex
import sc_benchex_count
import sc_cap
import sc_churn
import sc_controls
import sc_count
import sc_errors
import sc_hello
import sc_hosts
import sc_hv
import sc_ioshares
import sc_liar
import sc_link
import sc_matrix
import sc_transport
import sc_transport_bench

# One VM each, in this order.
BEDS = {
    "plain": {"kind": "plain", "memory": 512, "limit": 120},
    "verbs": {"kind": "plain", "memory": 1024, "limit": 900},
    "cable": {"kind": "plain", "memory": 512, "limit": 600, "cpus": 1, "cable": sc_transport.CABLE},
    "xen-cable": dict(sc_hosts.BED, limit=900, cable=sc_transport.CABLE),
    "credit2": {"sched": "credit2", "limit": 2400},
    "credit": {"sched": "credit", "limit": 600},
}

# extra: only when it is named.
Scenario = collections.namedtuple("Scenario", "name bed run text extra", defaults=[False])

ALL = [
    Scenario("no-xen", "plain", sc_errors.no_xen,
             "without Xen, one sentence and a code of its own"),
    Scenario("benchex", "verbs", sc_benchex.benchex,
             "server, clients and bulk over RDMA: both sides agree, whatever happens to one"),
    Scenario("transport", "verbs", sc_transport.transport,
             "the transport's contract over RDMA, and peers that do what they may not"),
    Scenario("transport-hosts", "cable", sc_transport.hosts,
             "two machines without Xen on a cable: the first part of hosts, and one that dies", True),
    Scenario("transport-bench", "verbs", sc_transport_bench.transport_bench,
             "what an operation of the transport takes beside perftest's (for ./dev bench verbs)", True),
    Scenario("hosts", "xen-cable", sc_hosts.hosts,
             "two Xen hosts count, lock and see each other's guests while things go wrong"),
    Scenario("hello", "credit2", sc_hello.hello,
             "the programs start in dom0 and in guests, and guests have RDMA", True),
    Scenario("errors", "credit2", sc_errors.errors,
             "each thing that can be wrong is one sentence and a code of its own"),
    Scenario("hv-pv", "credit2", sc_hv.hv_pv,
             "each call of the Xen backend, against a PV guest that also lies about its frames"),
    Scenario("hv-pvh", "credit", sc_hv.hv_pvh,
             "each call of the Xen backend, against a PVH guest that balloons"),
    Scenario("count", "credit2", sc_count.count,
             "work requests, MTUs and bytes of PV and PVH guests are what they did"),
    Scenario("benchex-count", "credit2", sc_benchex_count.benchex_count,
             "every operation of benchex is counted, also by guests and programs that are disturbed"),
    Scenario("benchex-count-long", "credit2", sc_benchex_count.benchex_count_long,
             "the same with 10,000 work requests of every operation", True),
    Scenario("cap", "credit2", sc_cap.cap,
             "a guest that overspends is capped until the next epoch, another is not"),
    Scenario("ioshares", "credit2", sc_ioshares.ioshares,
             "the cap of who is to blame follows the latencies that another guest reports"),
    Scenario("link", "credit2", sc_link.link,
             "a guest reaches dom0's RDMA device over a link of known rate, by librdmacm too"),
    Scenario("liar", "credit2", sc_liar.liar,
             "a guest that hides a queue pair from its agent is told to diverge, no other is"),
    Scenario("experiment", "credit2", experiment.experiment,
             "IOShares brings a server back that bulk RDMA on its link ruined; FreeMarket beside it"),
    Scenario("controls", "credit2", sc_controls.controls,
             "a burner, an equal and an unseen neighbour are left alone, and the policy changes nothing"),
    Scenario("matrix", "credit2", sc_matrix.matrix,
             "attackers x victims x policies, as a table (takes 6 minutes)", True),
    Scenario("restore", "credit2", sc_cap.restore,
             "old caps come back after an end and after 20 kills; one daemon only"),
    Scenario("churn", "credit2", sc_churn.churn,
             "guests that come, go, pause and move their memory are counted, and leave nothing"),
    Scenario("hostile", "credit2", sc_churn.hostile,
             "a guest that lies harms neither its neighbour nor the daemon"),
    Scenario("cap-credit", "credit", sc_cap.cap, "cap under the credit scheduler"),
]


def clean(vm):
    """After each scenario: no daemon and no guest is left for the next."""
    vm.run("kill -9 $(cat /run/resexd.pid); rm -f /run/resexd.pid")
    for name in vm.guests:
        vm.run("xl destroy " + name)
    vm.guests.clear()
