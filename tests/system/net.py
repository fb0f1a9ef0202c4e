# SPDX-License-Identifier: GPL-2.0-or-later
"""net: guests of one host that share a link of known rate to a peer, all of it in one VM.

	guest rxe0 on eth0 (10.99.1.N) --- vif --- br0 --- vethA === vethB, rxe0 of dom0 (10.99.1.254)

What guests send to dom0's rxe0 leaves br0 by vethA, whose token bucket is the link: RATE bytes of
frames a second, first come first served, and a queue so deep that nothing is dropped. What comes
back to the guests is not limited.
"""
import re

from bed import check

PEER = "10.99.1.254"
RATE = 4000000
# An rxe queue pair keeps no more than 64 frames unacknowledged: 4 MB hold those of 50.
UP = """
# Without it dom0 answers for the peer's address on br0 too, and packets that come there are not
# for the rxe device on vethB: verbs hang while TCP works.
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
for m in bridge xen-netback veth sch_tbf; do modprobe $m || exit 1; done
ip=/usr/sbin/ip
$ip link add br0 type bridge && $ip link set br0 up &&
$ip link add vethA type veth peer name vethB &&
$ip link set vethA master br0 up && rxe.sh vethB {peer}
"""


class Net:
    """The arrangement in dom0, made when it is not there yet; its rate is changed at will."""

    def __init__(self, vm, rate=RATE):
        self.vm = vm
        if vm.run("[ -e /sys/class/net/vethB ]").rc:
            vm.sh(UP.format(peer=PEER))
        self.set_rate(rate)

    def set_rate(self, rate):
        """Bytes a second: what tc calls bps."""
        self.rate = rate
        self.vm.sh("/usr/sbin/tc qdisc replace dev vethA root tbf rate %dbps burst 4kb limit 4mb"
                   % rate)

    def sent(self):
        """(bytes, dropped frames) of the link so far."""
        out = self.vm.sh("/usr/sbin/tc -s qdisc show dev vethA")
        m = re.search(r"Sent (\d+) bytes \d+ pkt \(dropped (\d+),", out)
        check(m, "tc shows no counts: " + out)
        return int(m.group(1)), int(m.group(2))
