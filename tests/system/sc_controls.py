# SPDX-License-Identifier: GPL-2.0-or-later
"""controls: neighbours that IOShares must leave alone, in the arrangement of the experiment."""
import statistics

from bed import check
from pair import ANSWERS, CLIENT, SERVER, Pair, start_server

TIMES = {"settle_s": 2, "measure_s": 3}
ALIKE = 2  # the server's latency with and without the policy differs by less than this factor


def agent_off(g):
    g.sh("kill $(cat /tmp/agent.pid); while kill -0 $(cat /tmp/agent.pid) 2>/dev/null; do usleep 50000; done")


class Arm:
    """With a neighbour as it is: without a policy and under IOShares, in turn."""

    def __init__(self, pair, name, repeats, **times):
        before = len(pair.daemon.events())
        self.phases = {"null": [], "ioshares": []}
        for i in range(repeats):
            for policy, phases in self.phases.items():
                phases.append(pair.phase("%s.%s.%d" % (name, policy, i + 1), policy, **times))
        self.caps = [e for e in pair.daemon.events()[before:] if e["kind"] == "cap"]
        self.ms = {policy: statistics.mean(f["server"]["mean_us"] for f in phases) / 1e3
                   for policy, phases in self.phases.items()}
        self.last = self.phases["ioshares"][-1]
        self.text = "%s: server %.1f ms without a policy, %.1f under IOShares; %s" % (
            name, self.ms["null"], self.ms["ioshares"], self.last["why"].replace("\n", "; "))
        pair.vm.note(self.text)
        check(not self.caps, "somebody was capped: %s; %s" % (self.caps, self.text))

    def nothing_changed(self):
        ratio = self.ms["ioshares"] / self.ms["null"]
        check(1 / ALIKE < ratio < ALIKE, "the policy made a difference; " + self.text)


def burner(pair):
    """Computes without pause, and sends nothing."""
    pair.bulk.sh("sh -c 'while :; do :; done' & echo $! >/tmp/burn.pid")
    arm = Arm(pair, "burner", 2, **TIMES)
    pair.bulk.sh("kill $(cat /tmp/burn.pid)")
    check(arm.last["cpu"]["bulk"] > 0.3, "it hardly burned CPU time: %s" % arm.last["cpu"])
    arm.nothing_changed()


def equal(pair):
    """A server like the other, with as much to do."""
    start_server(pair.bulk, "second", SERVER + " --report")
    client = pair.vm.begin("%s %s --seconds 0 10.99.1.%d & echo $! >/run/second.pid; wait" %
                           (CLIENT, ANSWERS, pair.bulk.net))
    # Without the pause between one client's end and the next one's start, in which only the other
    # server would send: in such a window it is not an equal.
    arm = Arm(pair, "equal", 2, settle_s=0, measure_s=5)
    pair.vm.sh("kill $(cat /run/second.pid)")
    pair.vm.end(client)
    pair.bulk.sh("kill $(cat /tmp/second.pid)")
    x = arm.last["resexd"]
    check(x["bulk_mtus_s"] > 0.5 * x["server_mtus_s"], "it hardly sent; %s; %s" % (x, arm.text))
    arm.nothing_changed()


def blind(pair):
    """Bulk as in the experiment, but nobody tells where its queues are."""
    agent_off(pair.bulk)
    pair.bulk_on(queues=0)
    arm = Arm(pair, "blind", 1, **TIMES)
    pair.bulk_off()
    check(not arm.last["resexd"]["bulk_mtus_s"], "its queues are seen; " + arm.text)
    return arm


def controls(vm):
    with Pair(vm) as pair:
        base = pair.phase("base", "null", settle_s=1)
        pair.calibrate(base)
        burner(pair)
        equal(pair)
        arm = blind(pair)
    alone = base["server"]["mean_us"] / 1e3
    vm.note("alone: %.1f ms" % alone)
    check(min(arm.ms.values()) > 1.3 * alone, "bulk did not hurt the server, alone %.1f ms; %s" % (alone, arm.text))
    check(arm.ms["ioshares"] > arm.ms["null"] / ALIKE, "IOShares helped, seeing nothing; " + arm.text)
