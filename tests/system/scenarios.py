# SPDX-License-Identifier: GPL-2.0-or-later
"""scenarios: the table of all scenarios and the beds they run in."""
import collections

import experiment
import sc_agent
import sc_benchex
import sc_benchex_count
import sc_brief
import sc_cache
import sc_cap
import sc_churn
import sc_controls
import sc_count
import sc_errors
import sc_forged
import sc_frames
import sc_golden
import sc_hello
import sc_hook
import sc_hosts
import sc_hv
import sc_ioshares
import sc_liar
import sc_kmod
import sc_link
import sc_load
import sc_load_hostile
import sc_matrix
import sc_operator
import sc_reconf
import sc_reconf_faults
import sc_restored
import sc_rings
import sc_store
import sc_survive
import sc_survive_ioshares
import sc_traffic
import sc_transport
import sc_transport_bench
import sc_web
import wire

# name: (options of the VM, what snapshot it begins with; None: it boots). PVH guests are created in
# a restored VM: what QEMU saves of SVM while none runs is enough.
BEDS = {
    "plain": ({"kind": "plain", "memory": 512, "limit": 120}, None),
    "verbs": ({"kind": "plain", "memory": 1024, "limit": 900}, None),
    # Instructions are compared: one CPU, so that each of them is in the time of an operation.
    "verbs-counted": ({"kind": "plain", "memory": 1024, "limit": 900, "cpus": 1, "instruction_ns": 1}, None),
    # Small, so that the pages of a process that exited are soon used again: the rings of "dead".
    "small": ({"kind": "plain", "memory": 384, "limit": 300, "cpus": 1}, None),
    "cable": ({"kind": "plain", "memory": 512, "limit": 600, "cpus": 1, "cable": sc_transport.CABLE}, None),
    "cache-cable": ({"kind": "plain", "memory": 1024, "limit": 3600, "cpus": 1, "cable": sc_cache.CABLE}, None),
    "xen-cable": (dict(sc_hosts.BED, limit=900, cable=sc_transport.CABLE), "dom0"),
    "xen-wire": (dict(sc_hosts.BED, limit=3600, cable=wire.ENDS[0]), "dom0"),
    "dom0": ({"sched": "credit2", "limit": 900}, "dom0"),
    "pair": ({"sched": "credit2", "limit": 1800}, "pair"),
    # Times are judged: the machine that runs this must not lengthen them. 4 ns an instruction are about
    # the speed of the others on an idle machine; lives of a few milliseconds need a faster one.
    "counted": ({"sched": "credit2", "limit": 1800, "instruction_ns": 1}, "pair"),
    "linked": ({"sched": "credit2", "limit": 2400, "instruction_ns": 4}, "linked"),
    "linked-dom0": ({"sched": "credit2", "limit": 2400, "instruction_ns": 4}, "dom0"),
    "credit-dom0": ({"sched": "credit", "limit": 600}, "dom0"),
    # The same for scenarios of an hour.
    "dom0-long": ({"sched": "credit2", "limit": 3600}, "dom0"),
    "credit-dom0-long": ({"sched": "credit", "limit": 3600}, "dom0"),
    "credit-linked": ({"sched": "credit", "limit": 2400, "instruction_ns": 4}, "linked"),
}

# when: always; deep: with --deep or when it is named; named: only when it is named.
# beside: another may run beside it.
Scenario = collections.namedtuple("Scenario", "name bed run text when beside",
                                  defaults=["always", False])

ALL = [
    Scenario("no-xen", "plain", sc_errors.no_xen,
             "without Xen, one sentence and a code of its own"),
    Scenario("benchex", "verbs", sc_benchex.benchex,
             "server, clients and bulk over RDMA: both sides agree, whatever happens to one"),
    Scenario("transport", "verbs", sc_transport.transport,
             "the transport's contract over RDMA, and peers that do what they may not"),
    Scenario("kmod", "verbs", sc_kmod.kmod,
             "the kernel module's load record is fresher than one of /proc, and needs no process"),
    Scenario("kmod-figures", "verbs", sc_kmod.figures,
             "how near the module's figures are to the truth, and what a sample costs beside one of /proc", "deep"),
    Scenario("golden", "small", sc_golden.golden,
             "record the golden rings of rxe anew, for tests/golden/rxe", "deep"),
    Scenario("transport-hosts", "cable", sc_transport.hosts,
             "two machines without Xen on a cable: the first part of hosts, and one that dies", "deep"),
    Scenario("cache", "cache-cable", sc_cache.cache,
             "cached pages of two machines stay coherent over RDMA, whatever fails", "deep"),
    Scenario("transport-bench", "verbs-counted", sc_transport_bench.transport_bench,
             "what an operation of the transport takes beside perftest's (for ./dev bench verbs)", "named"),
    Scenario("transport-parts", "verbs", sc_transport_bench.transport_parts,
             "how fast the transport reads a large part, and its longest poll (for ./dev bench verbs)", "named"),
    Scenario("agent-load", "verbs", sc_agent.agent_load,
             "how late the agent's heartbeats are beside 5,000 processes (for ./dev bench agent)", "named"),
    Scenario("hello", "pair", sc_hello.hello,
             "the programs start in dom0 and in guests, and guests have RDMA", "deep", True),
    Scenario("errors", "pair", sc_errors.errors,
             "each thing that can be wrong is one sentence and a code of its own", beside=True),
    Scenario("hv-pv", "dom0", sc_hv.hv_pv,
             "each call of the Xen backend, against a PV guest that also lies about its frames", beside=True),
    Scenario("benchex-count", "pair", sc_benchex_count.benchex_count,
             "every operation of benchex is counted, also by guests and programs that are disturbed",
             "deep", True),
    Scenario("churn", "pair", sc_churn.churn,
             "guests that come, go, pause and move their memory are counted, and leave nothing", beside=True),
    Scenario("traffic", "pair", sc_traffic.traffic,
             "unusual RDMA traffic is counted right, or marked as ring-list promises", "deep", True),
    Scenario("rings", "pair", sc_rings.rings,
             "with libresex-rings.so preloaded, perftest is counted the same, and the host knows path MTUs", "deep", True),
    Scenario("traffic-all", "pair", sc_traffic.traffic_all,
             "all cases of traffic, also those that are known to fail", "named", True),
    Scenario("brief", "counted", sc_brief.brief,
             "of queue pairs that live 20 ms 95 % of the work is counted, the rest told", "deep", True),
    Scenario("restore", "pair", sc_cap.restore,
             "old caps come back after an end and after 20 kills; one daemon only", beside=True),
    Scenario("store", "pair", sc_store.store,
             "a stopped xenstored, and a guest that fills it, keep nobody from control of caps", "deep", True),
    Scenario("hostile", "pair", sc_churn.hostile,
             "a guest that lies harms neither its neighbour nor the daemon", beside=True),
    Scenario("forged", "pair", sc_forged.forged,
             "a queue pair that forges its ring is counted again, and told when it goes on", "deep", True),
    Scenario("frames", "pair", sc_frames.frames,
             "queues whose pages move, are shared or freed while they are read are counted, or marked", "deep", True),
    Scenario("liar", "linked", sc_liar.liar,
             "a guest that hides a queue pair from its agent is told to diverge, no other is", "deep", True),
    # Not where instructions are counted: perftest once told 5 % more than the link carries there.
    Scenario("link", "dom0", sc_link.link,
             "a guest reaches dom0's RDMA device over a link of known rate, by librdmacm too", beside=True),
    Scenario("restored", "pair", sc_restored.restored,
             "VMs of one snapshot draw other random numbers, and their clocks are right", beside=True),
    Scenario("load", "linked-dom0", sc_load.load,
             "guests that are idle, busy, capped and contend are told apart by the hypervisor alone", "deep", True),
    Scenario("load-hostile", "linked", sc_load_hostile.load_hostile,
             "a guest that lies about its load is flagged, gets no requests, and harms nobody", "deep", True),
    Scenario("web", "linked-dom0", sc_web.web,
             "requests go to the guests that are idle; one that burns is spared, also when it lies", "deep", True),
    Scenario("hook", "pair", sc_hook.hook,
             "a guest's agent runs the program that dom0 wants; a guest that lies or is mute is a failure",
             "deep", True),
    Scenario("caps", "dom0", sc_operator.caps,
             "survive and operator in short, with the same guests", beside=True),
    Scenario("operator", "dom0-long", sc_operator.operator,
             "caps that xl sets are taken, however busy the policy is", "deep", True),
    Scenario("survive", "dom0-long", sc_survive.survive,
             "guests that reboot or are restored while capped get their own caps back", "deep", True),
    Scenario("survive-credit", "credit-dom0-long", sc_survive.survive,
             "survive under the credit scheduler", "deep", True),
    Scenario("survive-ioshares", "dom0-long", sc_survive_ioshares.survive_ioshares,
             "survive under IOShares", "deep", True),
    Scenario("hosts", "xen-cable", sc_hosts.hosts,
             "two Xen hosts count, lock and see each other's guests while things go wrong"),
    Scenario("reconf", "xen-wire", sc_reconf.reconf,
             "nodes of two Xen hosts move between two services, by order and load, and no request fails", "deep"),
    Scenario("reconf-faults", "xen-wire", sc_reconf_faults.reconf_faults,
             "cuts, kills and power losses at each phase of a move of two Xen hosts (--deep: each at each)", "deep"),
    Scenario("hv-pvh", "credit-dom0", sc_hv.hv_pvh,
             "each call of the Xen backend, against a PVH guest that balloons"),
    Scenario("count", "pair", sc_count.count,
             "work requests, MTUs and bytes of PV and PVH guests are what they did"),
    Scenario("cap", "linked", sc_cap.cap,
             "a guest that overspends is capped until the next epoch, another is not", "deep", True),
    Scenario("cap-credit", "credit-linked", sc_cap.cap, "cap under the credit scheduler", "deep", True),
    Scenario("ioshares", "linked", sc_ioshares.ioshares,
             "the cap of who is to blame follows the latencies that another guest reports", "deep", True),
    Scenario("experiment", "linked", experiment.experiment,
             "IOShares brings a server back that bulk RDMA on its link ruined; all is replayed bit for bit",
             beside=True),
    Scenario("controls", "linked", sc_controls.controls,
             "a burner, an equal and an unseen neighbour are left alone, and the policy changes nothing", "deep"),
    Scenario("benchex-count-long", "pair", sc_benchex_count.benchex_count_long,
             "the same as benchex-count with 10,000 work requests of every operation", "deep"),
    Scenario("matrix", "linked", sc_matrix.matrix,
             "attackers x victims x policies, as a table (takes 6 minutes)", "deep"),
]
