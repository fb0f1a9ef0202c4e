#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""members: what resex -j prints against what resex-control(7) says it prints.

usage: members.py [--cluster] PAGE RESEX [-s SOCKET]

--cluster: of the verbs that show a cluster; else of those of one host. Every member the page names for a verb must be
in its reply, and every member of a reply must stand there too.
"""
import json, re, subprocess, sys

CALLS = {
    "list": ["list"], "info": ["info"], "guest-show": ["guest-show", "bulk"], "ring-list": ["ring-list"],
    "policy-list": ["policy-list"], "policy-show": ["policy-show", "freemarket"], "cap-list": ["cap-list"],
    "why": ["why"],
}
CLUSTER_CALLS = {"host-list": ["host-list"], "list-hosts": ["list", "--all-hosts"], "lock-list": ["lock-list"],
                 "load-list": ["load-list"], "node-list": ["node-list"], "balance-list": ["balance-list"],
                 "why-node": ["why", "--node", "n2"], "service-list": ["service-list"], "why-move": ["why-move", "web"],
                 "history": ["history"]}
# What the page names by reference: "as in list", "the account of list".
ACCOUNT = {"allocated", "balance", "spent", "overdraft", "charged_io", "charged_cpu", "rate", "late"}
# The agents of simulated guests say nothing of their load: nothing is compared with it. No node moves.
NOT_SIMULATED = {"load-list": {"taken", "counted", "waited"},
                 "history": {"id", "time_ns", "node", "from", "to", "why", "outcome", "high_ms", "seen_ns", "to_before",
                             "to_predicted", "to_seen", "from_before", "from_predicted", "from_seen", "host", "by",
                             "to_fence", "from_fence", "told", "held_us", "read_us", "told_us", "moved_us",
                             "released_us"}}
EVENT_MEMBERS = {"id", "time_ns", "guest", "kind", "text"}


def words(lines):
    """The arguments of .Cm in these lines."""
    out = set()
    for line in lines:
        for part in re.findall(r"(?:^|\s)\.?Cm\s+(.*)", line):
            out |= {w for w in re.split(r"[\s,:.]+", part) if re.fullmatch(r"[a-z][a-z0-9_]*", w)}
    return out


def page(path):
    """{verb: members named for it}, by the items of the page's first list."""
    verbs, verb, lines = {}, None, []
    for line in open(path):
        m = re.match(r"\.It Cm ([a-z-]+)\*?", line)
        if m:
            verb = m.group(1)
            verbs[verb] = []
        elif line.startswith(".Sh ERRORS"):
            break
        elif verb:
            verbs[verb].append(line)
    return {v: words(l) for v, l in verbs.items()}


def members(v):
    if isinstance(v, dict):
        return set(v) | set().union(*map(members, v.values()))
    if isinstance(v, list):
        return set().union(*map(members, v))
    return set()


def compare(calls, resex, named, also):
    wrong = 0
    for verb, call in calls.items():
        got = members(json.loads(subprocess.check_output(resex + ["-j"] + call)))
        for w in sorted(named[verb] - got - NOT_SIMULATED.get(verb, set())):
            print("%s: the page names \"%s\", which is not in the reply" % (verb, w))
            wrong += 1
        for w in sorted(got - named[verb] - also.get(verb, set())):
            print("%s: \"%s\" is in the reply and not in the page" % (verb, w))
            wrong += 1
    return wrong


def check_cluster(path, resex):
    named = page(path)
    head = {"cluster", "membership", "view", "quorate", "cluster_note", "transport", "changes"} & named["host-list"]
    return compare(CLUSTER_CALLS, resex, named, {"list-hosts": named["host-list"], "lock-list": head})


def check_host(path, resex):
    named = page(path)
    wrong = compare(CALLS, resex, named, {"guest-show": named["list"], "why": ACCOUNT & named["list"]})
    line = subprocess.check_output(resex + ["-j", "events", "-n", "1"]).splitlines()[0]
    if set(json.loads(line)) != EVENT_MEMBERS or not EVENT_MEMBERS <= named["events"]:
        print("events: members are %s" % sorted(json.loads(line)))
        wrong += 1
    return wrong


if sys.argv[1] == "--cluster":
    sys.exit(1 if check_cluster(sys.argv[2], sys.argv[3:]) else 0)
sys.exit(1 if check_host(sys.argv[1], sys.argv[2:]) else 0)
