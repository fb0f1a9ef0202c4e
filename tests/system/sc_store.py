# SPDX-License-Identifier: GPL-2.0-or-later
"""store: a xenstored that is stopped, and a guest that fills it, keep nobody from control of caps."""
import json

from bed import check, wait_for
from daemon import Daemon, wait_rings, xl_sched
from sc_cap import LINKS, changes, two_guests

OWN = 73
NODES = 900  # below the 1000 that xenstored grants a guest
ANSWER_S, END_S, START_S = 2, 3, 8
STOP, CONT = ("kill -%s $(cat /run/xenstored.pid)" % s for s in ("STOP", "CONT"))

# Ends with "SECONDS CODE OUTPUT"; the command is killed after some time.
TIMED = """a=$(cut -d' ' -f1 /proc/uptime)
timeout -s KILL %d sh -c '%s' >/tmp/timed.out 2>&1; rc=$?
echo $(cut -d' ' -f1 /proc/uptime) $a $rc; cat /tmp/timed.out"""

# Its exit code; 99: it did not end in time.
END = ("kill -TERM $(cat /run/resexd.pid); i=0; until [ -s /run/resexd.rc ] || [ $i -ge %d ]; do usleep 100000; "
       "i=$((i+1)); done; exit $(cat /run/resexd.rc || echo 99)")


def timed(vm, command, limit):
    """(seconds, exit code, output)"""
    head, _, text = vm.sh(TIMED % (limit, command), limit + 30).partition("\n")
    end, begin, rc = head.split()
    return float(end) - float(begin), int(rc), text


def answers(vm, when):
    for words in ("info", "list", "cap-list"):
        took, rc, text = timed(vm, "resex " + words, 3 * ANSWER_S)
        check(rc == 0 and took <= ANSWER_S, "%s: resex %s ended with %d after %.1f s: %s" % (when, words, rc, took, text))
    return text


def caps(vm, *guests):
    return [rows[-1][1] for rows in changes(vm, 1, *guests)]


def fill(vm, d, guest):
    """Nodes come below a guest's own, as it may write them; its registry and the neighbour's are still read."""
    before = len(d.events())
    d.vm.sh("seq 1 %d | sed 's|.*|/local/domain/%d/data/resex/n& x|' | xargs xenstore-write" % (NODES, guest.domid))
    answers(vm, "a guest has written %d nodes" % NODES)
    wait_rings(d, "greedy", 1)
    wait_rings(d, "modest", 1)
    told = [e for e in d.events()[before:] if e["kind"] == "registry"]
    check(len(told) < 10, "%d nodes made %d events: %s" % (NODES, len(told), told[:3]))


def stopped(vm, d, greedy, modest):
    """All that an operator needs while xenstored is stopped. How long it took."""
    names = answers(vm, "xenstored is stopped")
    check("greedy" in names and "modest" in names, "cap-list shows: " + names)
    check(min(c for _, c in changes(vm, 2, greedy)[0]) < OWN, "the policy no longer caps greedy")
    answers(vm, "xenstored is stopped for seconds")
    ended, rc, text = timed(vm, END % (10 * END_S), 4 * END_S)
    check(rc == 0 and ended <= END_S, "SIGTERM: resexd ended with %d after %.1f s (99: not at all)" % (rc, ended))
    now = caps(vm, greedy, modest)
    check(now == [OWN, 0], "greedy and modest have the caps %s after the end" % now)
    took, rc, text = timed(vm, d.command, 2 * START_S)
    check(rc == 1 and took <= START_S and "xenstored does not answer" in text and len(text.splitlines()) == 1,
          "a start without xenstored ended with %d after %.1f s and said: %s" % (rc, took, text))
    return "xenstored stopped: an end took %.1f s, a start failed after %.1f s" % (ended, took)


def store(vm):
    greedy, modest = two_guests(vm)
    vm.sh("xl %s -d greedy -c %d" % (xl_sched(vm), OWN))
    quick = {"policy": "freemarket", "params": {"low": 1000, "guard": 0, "step": 20000000}}
    d = Daemon(vm, policy="freemarket", policy_file=vm.put("quick.json", json.dumps(quick)), links=LINKS, epoch="2s",
               guests={"modest": {"exempt": True}})
    d.begin()
    wait_rings(d, "greedy", 1)
    wait_rings(d, "modest", 1)
    fill(vm, d, modest)
    vm.sh(STOP)
    try:
        vm.note(stopped(vm, d, greedy, modest))
    finally:
        vm.sh(CONT)
    with d:
        wait_rings(d, "greedy", 1)
        vm.sh(STOP)
        try:
            answers(vm, "xenstored is stopped again")
        finally:
            vm.sh(CONT)
        vm.sh("xl rename modest other")
        wait_for("new name", 5, lambda: "other" in vm.sh("resex list"), 0.2)
