# SPDX-License-Identifier: GPL-2.0-or-later
"""forged: a queue pair that forges a word of its ring is counted again, and told when it goes on.

rdmaodd (see sc_traffic) forges the header through its own mapping; its queue pair goes on working.
"""
from bed import Guest, check, wait_for
from daemon import Daemon, send_queues, with_agent
from sc_traffic import Odd


def run_odd(g, options):
    """Its truth, and the queue pair that lied; its queues are still there until the context ends."""
    odd = Odd(g, options)
    odd.go()
    return odd


def end(d, g, odd):
    g.run("kill -9 %s" % " ".join(str(pid) for pid in odd.pids))
    wait_for("end of the queues of %s" % g.name, 10, lambda: not send_queues(d, g.name), 0.2)


def forged_events(d):
    return [e for e in d.events() if e["kind"] == "ring-forged"]


def state(d, g):
    return {r["name"]: r for r in d.ask("list")["guests"]}[g.name]["state"]


def honest(d, g):
    """A program that makes and destroys queue pairs makes no event."""
    end(d, g, run_odd(g, "short -n 20 -p 20000"))
    check(not forged_events(d), "an honest program is told as forged: %s" % forged_events(d))
    check(state(d, g) != "forged" and not d.rings(g.name)["forged"], "the guest is in state forged")


def once(vm, d, g):
    """Forged for 25 ms, it is counted again."""
    odd = run_odd(g, "forge -k mask-once -n 300 -p 5000")
    rows = [r for r in odd.rows(d) if r["qpn"] == odd.liar]
    vm.note("forged once: %s" % rows)
    check([r for r in rows if r["state"] == "active" and r.get("wrs")], "it is not counted again: %s" % rows)
    end(d, g, odd)


def always(vm, d, g):
    """Forged again and again, it is told, and charged."""
    odd = run_odd(g, "forge -k mask-always -n 300 -p 20000")
    told = forged_events(d)
    rings, row = d.rings(g.name), d.ask("guest-show " + g.name)
    vm.note("forged %d times, %d MTUs charged unread, events %s" % (
        rings["forged_times"], row["mtus_unread"], told))
    check(told and "still published" in told[-1]["text"], "no event: %s" % d.events())
    check(rings["forged"] and rings["forged_times"], "ring-list does not say forged: %s" % rings)
    check("FORGED" in vm.sh("resex ring-list " + g.name), "ring-list's text does not say FORGED")
    check("cannot be read" in vm.sh("resex why " + g.name), "why does not say it")
    check(row["state"] == "forged", "the state is " + row["state"])
    check(row["mtus_unread"] > 0, "nothing is charged for what could not be read")
    end(d, g, odd)


def forged(vm):
    g = Guest(vm, "forger")
    vm.create(g)
    with_agent(g)
    with Daemon(vm, guests={"default": {"unreadable": "1MB/s"}}) as d:
        wait_for("agent of forger seen", 20, lambda: d.rings(g.name)["attached"], 0.2)
        honest(d, g)
        once(vm, d, g)
        always(vm, d, g)
