# SPDX-License-Identifier: GPL-2.0-or-later
"""liar: a guest that hides a queue pair from its agent sends more than it claims, and is told so.

Two guests send to dom0's RDMA device, and dom0 counts the bytes of their interfaces. All that the
honest one sends stands in its queues. So does what the other one sends at first; then another
process sends there, whose directory in /proc is covered by an empty one before it has a queue.
"""
from bed import Guest, check, wait_for
from daemon import Daemon, listening, with_agent
from net import PEER, Net

# Of the link, bytes a second: so few that dom0 has time for all else. resexd is told the least it takes.
RATE = 200000
LINKS = [{"name": "rxe0", "rate": 1000000, "mtu": 1024}]
# No other protocol has anything to send; and each sender gets far beyond this.
CROSSCHECK = {"window": "2s", "floor": "20kB/s"}
# -r: so many receives that none is missing when the server is late. -u 22: nor is anything sent
# again when its acknowledgements are, by seconds.
# -e: as in sc_link. It takes longer than all of this.
SIZE, DEPTH = 65536, 4
SEND = "ib_send_bw -d rxe0 -F -e -u 22 -x 1 -s %d -t %d -r 256 -n 100000 -p %%d" % (SIZE, DEPTH)
HIDE = "mkdir -p /tmp/empty; mount --bind /tmp/empty /proc/%s"


class Sender:
    """perftest in a guest, whose server is in dom0; begins to send when it is let go."""

    def __init__(self, g, port):
        self.g, self.port, self.tag = g, port, "/tmp/send%d" % port
        self.pid = g.sh("rm -f {0}.go; sh -c 'echo $$ >{0}.pid; until [ -e {0}.go ]; do usleep 20000; "
                        "done; exec {1} {2}' >{0}.out 2>&1 & i=0; until [ -s {0}.pid ] || [ $i -ge 100 ]; "
                        "do usleep 50000; i=$((i+1)); done; cat {0}.pid"
                        .format(self.tag, SEND % port, PEER)).strip()
        check(self.pid.isdigit(), "no process: %s" % self.pid)

    def hide(self):
        self.g.sh(HIDE % self.pid)
        check(self.g.run("[ -e /proc/%s/maps ]" % self.pid).rc, "the process can be seen")
        return self

    def go(self):
        vm = self.g.vm
        vm.sh("timeout 900 {0} >/h/files/send{1}.log 2>&1 & echo $! >/run/send{1}.pid; {2}"
              .format(SEND % self.port, self.port, listening(self.port)))
        self.g.sh("touch %s.go" % self.tag)
        return self

    def alive(self):
        r = self.g.run("kill -0 {0} || {{ tail -n 3 {1}.out; false; }}".format(self.pid, self.tag))
        check(r.rc == 0, "the sender in %s ended: %s" % (self.g.name, r.out[-200:]))

    def stop(self):
        self.g.sh("kill %s; true" % self.pid)
        self.g.vm.run("kill $(cat /run/send%d.pid); true" % self.port)


def look(d, name):
    """Its part of ring-list; a dom0 that is busy with frames may be late to answer once or more."""
    def answer():
        r = d.vm.run("resex -j ring-list " + name)
        return r.json()["guests"][0] if r.rc == 0 else None
    return wait_for("answer to ring-list", 10, answer, 0.1)


def counter(d, name):
    return look(d, name)["counter"]


def queues(d, name):
    return [r for r in look(d, name)["rings"] if r.get("kind") == "SQ" and r["state"] == "active"]


def agree(d, s, n):
    """A sender's counter and its queues say the same, for so many windows; it did send."""
    name = s.g.name
    before = counter(d, name)
    wait_for("%d windows of %s" % (n, name), 2 * n + 5,
             lambda: counter(d, name)["windows"] >= before["windows"] + n, 0.3)
    s.alive()
    after = counter(d, name)
    sent = after["sent_bytes"] - before["sent_bytes"]
    explained = after["explained_bytes"] - before["explained_bytes"]
    what = "%s sent %d bytes, explained are %d" % (name, sent, explained)
    d.vm.note(what)
    flight = 1.2 * DEPTH * SIZE  # claimed when they are whole
    check(sent > 40000 * n, "too little to be seen: " + what)
    check(sent <= explained + flight, "more than can be explained: " + what)
    check(explained <= 1.2 * sent + flight, "more is explained than there can be: " + what)
    check(not after["diverges"], "it diverges: " + what)


def liar(vm):
    Net(vm, RATE)
    honest, other = Guest(vm, "honest", net=1), Guest(vm, "liar", net=2)
    vm.create(honest, other)
    for g in (honest, other):
        with_agent(g)
    shown = [Sender(honest, 18601), Sender(other, 18602)]
    hidden = Sender(other, 18603).hide()
    with Daemon(vm, observe=True, links=LINKS, crosscheck=CROSSCHECK) as d:
        for s in shown:
            check(counter(d, s.g.name)["source"] == "vif", "no interface of %s" % s.g.name)
            s.go()
            wait_for("send queue of " + s.g.name, 20, lambda: look(d, s.g.name)["rings"], 0.3)
        for s in shown:
            agree(d, s, 3)

        shown[1].stop()
        wait_for("end of the queue that is seen", 20, lambda: not queues(d, "liar"), 0.3)
        hidden.go()
        wait_for("divergence of liar", 20, lambda: counter(d, "liar")["diverges"], 0.3)
        hidden.alive()
        vm.note("the liar: %s" % counter(d, "liar"))
        check(not queues(d, "liar"), "the hidden queue is seen")
        wait_for("DIVERGES in ring-list's text", 10, lambda: "DIVERGES" in vm.run("resex ring-list liar").out, 0.1)
        why = vm.sh("resex why liar")
        check("queue pairs do not explain" in why, "why does not say so: " + why)
        agree(d, shown[0], 2)

        hidden.stop()
        wait_for("end of the divergence", 20, lambda: not counter(d, "liar")["diverges"], 0.3)
        told = [(e["guest"], e["kind"]) for e in d.events() if e["kind"].startswith("divergence")]
        check(told == [("liar", "divergence"), ("liar", "divergence-end")], "events: %s" % told)
        check("queue pairs do not" not in vm.sh("resex why"), "why still says so")
        shown[0].stop()
