# SPDX-License-Identifier: GPL-2.0-or-later
"""reconf: nodes of two Xen hosts move between two services, by order and by load, and no request fails.

Requests go through a HAProxy on each host. At last each daemon restarts
in turn, and resexd is killed: no node moves.
"""
from bed import check, wait_for
from daemon import start_agent
from reconf_bed import BOTH, FIRST, SERVICES, Pair

# Of the requests that make load, to one of the two HAProxies.
CONNECTIONS = 12


def with_clients(pair, do):
    """While clients ask both services on both hosts. How many requests: none failed."""
    for h in pair.hosts:
        for s in SERVICES:
            h.clients(s, 1)
    do()
    return sum(h.end_clients(s) for h in pair.hosts for s in SERVICES)


def orders(pair):
    """n2 goes to web and back, twice, by orders of both hosts."""
    for i, h in enumerate(pair.hosts + pair.hosts):
        services = BOTH if i % 2 == 0 else FIRST
        h.move("n2", services["n2"])
        pair.until_agreed("after a move by order", services=services)


def of_load(pair):
    """The newest move for load of either host, or None."""
    rows = [m for h in pair.hosts for m in h.moves() if m["outcome"] == "moved" and m["why"] == "load"]
    return max(rows, key=lambda m: m["time_ns"], default=None)


def by_load(pair):
    """Requests burn the CPU of n1 until web has n2, too; then its load has fallen."""
    one = pair.hosts[0]
    for h in pair.hosts:
        h.vm.sh("resex reconf act")
    one.clients("web", CONNECTIONS, "page.txt", pauses="")
    wait_for("move for load", 60, lambda: of_load(pair), 0.5)
    pair.until_agreed("after a move for load", services=BOTH)

    def seen():
        move = of_load(pair)
        return move and move["seen_ns"] and move
    move = wait_for("load of web after the move", 40, seen, 0.5)
    loads = one.vm.sh("resex load-list")
    requests = one.end_clients("web")
    for h in pair.hosts:
        h.vm.sh("resex reconf observe")
    pair.note("%d requests; %s; then\n%s" % (requests, move, loads))
    check((move["node"], move["from"], move["to"]) == ("n2", "mail", "web"), "another move: %s" % move)
    check(0 <= move["to_seen"] < 0.8 * move["to_before"], "the load of web has not fallen: %s" % move)
    return move, requests


def restart_daemon(h):
    rc = h.daemon.stop()
    check(rc == 0, "resexd of %s ended with %d" % (h.name, rc))
    h.daemon.begin()


def kill_daemon(h):
    h.daemon.kill()
    h.daemon.begin()


def restart_agent(h):
    h.guest.sh("kill $(cat /tmp/agent.pid); while kill -0 $(cat /tmp/agent.pid) 2>/dev/null; do usleep 50000; done")
    start_agent(h.guest, "--load-period 100ms")


def restarts(pair):
    """Each daemon in turn. What each host counts as moves stays, and so do words and proxies."""
    for h in pair.hosts:
        for restart in (restart_daemon, kill_daemon, restart_agent, type(h).restart_proxy):
            before = [x.moves() for x in pair.hosts]
            restart(h)
            pair.until_up()
            pair.until_agreed("after %s of %s" % (restart.__name__, h.name), services=BOTH)
            after = [x.moves() for x in pair.hosts]
            check(after == before, "%s of %s: moves were %s, and are %s" % (restart.__name__, h.name, before, after))


def reconf(vm):
    with Pair(vm) as pair:
        pair.until_agreed("at first", services=FIRST)
        requests = with_clients(pair, lambda: orders(pair))
        move, loaded = by_load(pair)
        restarted = with_clients(pair, lambda: restarts(pair))
    return "moves by order, %d requests; load %d, and %d after n2 came, %d requests; restarts, %d requests; " \
        "0 failed" % (requests, move["to_before"], move["to_seen"], loaded, restarted)
