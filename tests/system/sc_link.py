# SPDX-License-Identifier: GPL-2.0-or-later
"""link: a guest and dom0 speak verbs over a link of known rate, connected by librdmacm too."""
import re

from bed import Guest, check
from daemon import with_rxe
from net import PEER, RATE, Net

# Of each frame of 1082 bytes that the bucket counts 1024 are payload.
PAYLOAD = 1024 / 1082
SLOW = RATE // 16  # this much any machine can send
# -u 18: with perftest's 67 ms a full queue of the link would be taken for loss, and sent again.
# -e: who spins takes the only VCPU from the kernel that does the sending.
MESSAGES = 20
BULK = "ib_send_bw -d rxe0 -F -e -u 18 -s 65536 -t 4 -r 20 -n %d" % MESSAGES
LATENCY = "ib_send_lat -d rxe0 -F -e -u 18 -x 1 -s 64 -n 50"


def perftest(vm, g, command):
    """The server in dom0, the client in the guest; the client's output."""
    server = vm.begin("timeout 100 %s >/h/files/perftest.log 2>&1" % command)
    r = g.run("i=0; until timeout 60 {0} {1} >/tmp/out 2>&1; do i=$((i+1)); [ $i -gt 3 ] && break; "
              "sleep 0.5; done; cat /tmp/out; [ $i -le 3 ]".format(command, PEER), 90)
    check(r.rc == 0, "%s: %s" % (command, r.out[-300:]))
    vm.end(server, 20)
    return r.out


def bandwidth(net, g, options, tries=5):
    """Payload bytes a second by perftest's average."""
    before = net.sent()[0]
    out = perftest(net.vm, g, BULK + options)
    m = re.search(r"^ *65536 +\d+ +[\d.]+ +([\d.]+)", out, re.M)
    check(m, "no figures of ib_send_bw: " + out[-300:])
    rate, sent = float(m.group(1)) * (1 << 20), net.sent()[0] - before
    what = "ib_send_bw%s: %.0f B/s over a link of %d, which sent %d bytes" % (
        options, rate, net.rate, sent)
    net.vm.note(what)
    # perftest prints 0.00 when it could not measure the clock of a busy CPU.
    if rate == 0 and tries > 1:
        return bandwidth(net, g, options, tries - 1)
    check(rate > 0, "no rate in 5 runs: " + what)
    check(rate < 1.05 * net.rate * PAYLOAD, what)
    check(sent * PAYLOAD >= MESSAGES * 65536, what)
    return rate


def link(vm):
    net = Net(vm, SLOW)
    g = Guest(vm, "one", net=1)
    vm.create(g)
    with_rxe(g)
    slow = bandwidth(net, g, " -x 1")
    net.set_rate(RATE)
    rates = [bandwidth(net, g, options) for options in (" -x 1", " -R")]
    vm.note([line for line in perftest(vm, g, LATENCY).splitlines() if line[:3] == " 64"])
    check(max(rates) > 1.3 * slow, "hardly faster than %d B/s on 16 times the link: %s" % (slow, rates))
    check(net.sent()[1] == 0, "the link dropped %d frames" % net.sent()[1])
