#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""daemons.py BUILD: test three resexds, each with the membership of a real corosync beside it.

The hosts are simulated and use tcp. run.sh runs this in namespaces of its own, with the members
of cluster.py. The test checks the output and the exit status of resex while corosync is missing,
starts, sees one host cut off, is killed, hangs; while a resexd is killed; and while a fourth host is
added and removed, as cluster.json(5) says. A host without quorum moves no node; the others do.
"""
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # beside the source
from cluster import MEMBERS, NODEID, Member, die_with_parent, play, wait, write_conf

KEY = "0123456789abcdef0123456789abcdef"
READING = (["list"], ["info"], ["guest-show", "bulk"], ["ring-list"], ["policy-list"], ["cap-list"], ["why"],
           ["events"], ["host-list"], ["list", "--all-hosts"], ["lock-list"])
BUSY = 13  # of resex(1)


class Daemon:
    def __init__(self, member, folder, build):
        self.number = member.number
        self.member = member
        self.build = build
        self.folder = os.path.join(folder, "xen%d" % member.number)
        self.log = os.path.join(self.folder, "log")
        self.programs = {n: os.path.join(build, n) for n in ("resexd", "resex", "takelock")}
        self.process = None
        self.begun = 0  # so often: its generation
        os.makedirs(self.path("state"))
        self.write("log", "")
        self.write("key", KEY + "\n")
        self.configure(MEMBERS)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, what):
        with open(self.path(name), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(what)

    def configure(self, hosts):
        self.write("resexd.json", json.dumps({
            "links": [{"name": "sim0", "rate": "1GiB/s"}], "lock_memory": False,
            "socket": self.path("socket"), "state_dir": self.path("state"), "lock_file": self.path("lock"),
            "cluster_file": self.path("cluster.json")}))
        self.write("cluster.json", json.dumps({
            "cluster": "test", "host": "xen%d" % self.number, "key_file": self.path("key"),
            "transport": "tcp", "membership": "corosync",
            "heartbeat": "50ms", "scan": "100ms", "timeout": "500ms", "hold": "1s",
            "hosts": [{"name": "xen%d" % h, "number": h, "address": "10.77.0.%d" % h,
                       "corosync_node": NODEID[h]} for h in hosts],
            "services": [{"name": "web", "number": 1}, {"name": "mail", "number": 2},
                         {"name": "news", "number": 3, "minimum": 0}, {"name": "chat", "number": 4, "minimum": 0}],
            "nodes": [{"name": "n%d" % h, "number": 1, "host": "xen%d" % h, "service": service}
                      for h, service in zip(hosts, ("web", "news", "mail", "mail"))],
            # No load moves a node within this test: it shows what an operator's moves do.
            "reconf": {"mode": "act", "T": "60s"}}))

    def start(self):
        self.begun += 1
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self.member.inside() + [self.programs["resexd"], "--hv", "sim", "-c", self.path("resexd.json")],
                stderr=log, preexec_fn=die_with_parent)

    def end(self, sig):
        """Its exit status."""
        self.process.send_signal(sig)
        return self.process.wait(10)

    def lives(self):
        return self.process.poll() is None

    def logged(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def resex(self, *args):
        """The result; a call that is not answered is a failure of its own."""
        command = [self.programs["resex"], "-s", self.path("socket"), *args]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, -1, "", "nobody answers")

    def says(self, *args):
        said = self.resex("-j", *args)
        return json.loads(said.stdout) if said.returncode == 0 else {}

    def newest_report(self):
        return "%s\n%s" % (json.dumps(self.says("host-list")),
                           "".join("        | %s\n" % l for l in self.logged().splitlines()[-12:]))

    # --- checks of its output ---

    def view(self):
        said = self.says("host-list")
        return said["view"] if said.get("quorate") else -1

    def sees(self, state, *hosts):
        rows = {r["number"]: r for r in self.says("host-list").get("hosts", [])}
        return all(h in rows and rows[h]["state"] == state for h in hosts)

    def members(self):
        return [r["number"] for r in self.says("host-list").get("hosts", []) if r["member"]]

    def generation(self, host):
        rows = self.says("host-list").get("hosts", [])
        return next((r.get("generation", 0) for r in rows if r["number"] == host), 0)

    def lock(self, service):
        return next(l for l in self.says("lock-list")["locks"] if l["service"] == service)

    def held(self, service, owner):
        lock = self.lock(service)
        return lock["state"] == "held" and lock["owner"] == owner and lock["home"] == "xen1"

    def answers(self):
        """All methods that only read are answered, with output and without an error."""
        answers = [self.resex(*words) for words in READING]
        return all(a.returncode == 0 and a.stdout and not a.stderr for a in answers)

    def confesses(self, remedy):
        """It has no quorum, and shows the cause and the remedy: in info and host-list, as text and as JSON."""
        said = [self.says("info"), self.says("host-list")]
        read = [self.resex("info").stdout, self.resex("host-list").stdout]
        return all(s.get("quorate") is False and remedy in s["cluster_note"] for s in said) and \
            all(remedy in r for r in read) and "NO QUORUM, it decides nothing" in read[1]

    def sits_still(self, remedy, service="mail"):
        """Methods that decide are refused, with the remedy; no word is changed; no lock is shown."""
        before = self.says("host-list").get("changes", -1)
        refused = [self.resex("lock-break", *options, service) for options in ([], ["--force"])]
        return all(r.returncode == 1 and not r.stdout and remedy in r.stderr and
                   re.fullmatch("resex: the lock of %s is not broken, for lack of quorum: .*\n" % service, r.stderr)
                   for r in refused) and \
            self.lock(service)["state"] == "unknown" and self.says("host-list")["changes"] == before

    def serves(self, node):
        """By the node's word, as this host reads it; None: it does not know."""
        rows = self.says("node-list").get("nodes", [])
        return next((n["service"] for n in rows if n["node"] == node), None)

    def moves(self, node, service):
        """As resex(1) says: move is refused as busy while another move or a lock is in its way."""
        came = []

        def done():
            came.append(self.resex("move", node, service))
            return came[-1].returncode != BUSY

        return wait(done) and came[-1].returncode == 0

    def moves_nothing(self):
        """A move is refused, and so is each decision on one, for lack of quorum; no word is changed."""
        before = self.says("host-list").get("changes", -1)
        refused = self.resex("move", "n2", "chat")
        return refused.returncode == 1 and "quorum" in refused.stderr and not refused.stdout and \
            wait(self.decides_nothing) and self.says("host-list")["changes"] == before

    def decides_nothing(self):
        """Of each service it says so, since its newest look at the nodes."""
        notes = [s["note"] for s in self.says("service-list")["services"]]
        return len(notes) == 4 and all("quorum" in n for n in notes)

    def reloads(self, hosts, *options):
        self.configure(hosts)
        return self.resex("cluster-reload", *options)

    def agrees(self):
        """No member has, or may have, other settings."""
        return all(l["agreed"] for l in self.says("lock-list")["locks"])

    def takes_lock(self, service):
        """Acquire a lock as this host before its resexd runs, and never release it; its home is xen1."""
        number = {"web": "1", "mail": "2", "news": "3"}[service]
        self.begun += 1
        self.write("state/generation", "%d\n" % self.begun)
        return subprocess.run(self.member.inside() + [
            self.programs["takelock"], self.path("cluster.json"), str(self.number), "1", number, str(self.begun)],
            check=False).returncode == 0

    def breaks(self, service):
        """As resex(1) says: lock-break is refused as busy while the holder may act; then it breaks the lock."""
        came = []

        def done():
            came.append(self.resex("-j", "lock-break", service))
            return came[-1].returncode != BUSY

        return wait(done) and came[-1].returncode == 0 and json.loads(came[-1].stdout)["state"] == "broken"


def together(daemons, after=0):
    """All hosts are in one quorate view, numbered above after; each sees the others, and their view."""
    said = [d.says("host-list") for d in daemons.values()]
    if not all(s.get("quorate") and s["view"] > after for s in said) or len({s["view"] for s in said}) != 1:
        return False
    return all(r["member"] and r["state"] in ("self", "up") and r.get("quorate") and r["view"] == s["view"] and
               (r["state"] == "self") == (r["number"] == d.number)
               for d, s in zip(daemons.values(), said) for r in s["hosts"])


def views_reported(daemon):
    """[(number, members, quorate)] from its events, oldest first."""
    views = []
    for line in daemon.resex("-j", "events").stdout.splitlines():
        event = json.loads(line)
        report = re.match(r"xen\d: view (\d+) of (\d+) hosts(, without quorum)?", event["text"])
        if event["kind"] == "members" and report:
            views.append((int(report[1]), int(report[2]), not report[3]))
    return views


def good_views(histories):
    """No minority had a quorum, no number went back."""
    return all(views and [v[0] for v in views] == sorted(v[0] for v in views) and
               all(n >= 2 for _, n, quorate in views if quorate) for views in histories)


def repeats(log):
    """Reports about corosync that came twice in a row, without another between."""
    lines = [l for l in log.splitlines() if "corosync" in l]
    return [a for a, b in zip(lines, lines[1:]) if a == b]


# --- the scenario ------------------------------------------------------------------------


def without_corosync(d, check):
    d[1].start()
    d[2].start()
    check("resexds begin without corosync, and see each other",
          wait(lambda: d[1].sees("up", 2) and d[2].sees("up", 1)))
    check("each says that corosync is missing", all(d[h].confesses("start corosync") for h in (1, 2)) and
          all("start corosync" in d[h].logged() for h in (1, 2)))
    check("each decides nothing", all(d[h].sits_still("start corosync") for h in (1, 2)))
    check("nor moves a node", all(d[h].moves_nothing() for h in (1, 2)))
    check("what only shows is answered", all(d[h].answers() for h in (1, 2)))
    check("a host takes locks, and says no more", all(d[3].takes_lock(s) for s in ("web", "mail", "news")))
    d[3].start()


def corosync_comes(d, check):
    for m in d.values():
        m.member.start_corosync()
    check("corosync comes: all three in one view with quorum", wait(lambda: together(d)))
    check("none was started again for that", all(m.lives() and m.generation(m.number) == m.begun for m in d.values()))
    infos = [m.says("info") for m in d.values()]
    check("info shows the view and its quorum", all(
        i["quorate"] and i["view"] == d[1].view() and i["membership"] == "corosync" and i["cluster_note"] == ""
        for i in infos))
    check("each lists the guests of all", all(wait(lambda m=m: [
        len(h["guests"]) for h in m.says("list", "--all-hosts")["hosts"]] == [2, 2, 2]) for m in d.values()))
    check("each sees the locks held", all(wait(lambda m=m: all(m.held(s, "xen3") for s in ("web", "mail", "news")))
                                          for m in d.values()))


def one_is_cut_off(d, check):
    first = d[1].view()
    d[3].member.cable("down")
    check("one is cut off: it says so, and sees nobody",
          wait(lambda: d[3].confesses("mend the network to the others") and d[3].members() == [3] and
               d[3].sees("down", 1, 2)))
    check("it decides nothing", d[3].sits_still("mend the network to the others"))
    check("nor moves a node", d[3].moves_nothing())
    check("what only shows is answered there", d[3].answers())
    check("the others go on in a higher view without it",
          wait(lambda: all(d[h].view() > first and d[h].members() == [1, 2] and d[h].sees("down", 3)
                           for h in (1, 2))) and d[1].view() == d[2].view())
    before = d[2].says("host-list")["changes"]
    count = d[2].lock("web")["count"]
    check("they break a lock of the one that is cut off", d[2].breaks("web"))
    check("by one operation", d[2].says("host-list")["changes"] == before + 1)
    check("as both see", all(wait(lambda m=d[h]: m.lock("web")["state"] == "broken" and
                                  m.lock("web")["owner"] is None and m.lock("web")["count"] > count) for h in (1, 2)))
    again = d[1].resex("lock-break", "web")
    check("there is nothing left to break", again.returncode == 1 and "the lock of web is not held" in again.stderr)
    check("a host that decides differs from one that does not", not d[1].sits_still("mend the network", "news"))
    check("by force, for which none need wait", d[1].lock("news")["state"] == "broken")
    check("they move a node", d[1].moves("n2", "chat"))
    check("as both see it", all(wait(lambda m=d[h]: m.serves("n2") == "chat") for h in (1, 2)))
    second = d[1].view()
    d[3].member.cable("up")
    check("healed: all in one view, higher than all before, and their links stand", wait(lambda: together(d, second)))
    check("the host that was cut off sees what became of its locks",
          wait(lambda: d[3].lock("web")["state"] == "broken" and d[3].held("mail", "xen3")))
    check("and where the node is; it moves it back",
          wait(lambda: d[3].serves("n2") == "chat") and d[3].moves("n2", "news") and
          all(wait(lambda m=m: m.serves("n2") == "news") for m in d.values()))


def corosync_dies(d, check):
    before = d[1].view()
    d[2].member.kill_corosync()
    check("corosync is killed: its resexd says so", wait(lambda: d[2].confesses("start corosync")))
    check("and decides nothing, though its links stand", d[2].sees("up", 1, 3) and
          d[2].sits_still("start corosync") and d[1].held("mail", "xen3"))
    check("what only shows is answered there", d[2].answers())
    check("the others go on without it, and see it live",
          wait(lambda: all(d[h].view() > before and d[h].members() == [1, 3] and d[h].sees("up", 2) for h in (1, 3))))
    before = d[1].view()
    d[2].member.start_corosync()
    check("corosync is started again: all in one view, higher than all before", wait(lambda: together(d, before)))
    check("and no resexd was", all(m.lives() and m.generation(m.number) == m.begun for m in d.values()))


def resexd_dies(d, check):
    view = d[1].view()
    before = d[3].generation(3)
    d[3].end(signal.SIGKILL)
    check("resexd is killed: the others see it down, and its host a member",
          wait(lambda: all(d[h].sees("down", 3) and d[h].members() == [1, 2, 3] for h in (1, 2))))
    d[3].start()
    check("started again it is of the next generation", wait(lambda: together(d) and d[3].begun == before + 1 and all(
        m.generation(h) == d[h].begun for m in d.values() for h in MEMBERS)))
    check("and the view is still that", d[1].view() == view)


def corosync_hangs(d, check):
    before = d[1].view()
    d[3].member.corosync.send_signal(signal.SIGSTOP)
    check("corosync hangs: its resexd still stops clean", d[3].end(signal.SIGTERM) == 0)
    d[3].start()
    check("a resexd started beside it says so",
          wait(lambda: d[3].confesses("corosync hangs")))
    check("decides nothing", d[3].sits_still("corosync hangs"))
    check("and answers, and is seen by the others", d[3].answers() and
          wait(lambda: all(d[h].sees("up", 3) and d[h].generation(3) == d[3].begun for h in (1, 2))))
    wait(lambda: d[1].view() > before)
    before = d[1].view()
    d[3].member.corosync.send_signal(signal.SIGCONT)
    check("it goes on: all in one view, higher than all before", wait(lambda: together(d, before)))


def reloaded(daemons, hosts, change):
    """cluster-reload, on one after the other, as cluster.json(5) says."""
    said = [m.reloads(hosts) for m in daemons]
    return all(r.returncode == 0 and "in force: %s\n" % change in r.stdout for r in said)


def host_is_added_and_removed(d, check):
    new, four = Daemon(Member(4, os.path.dirname(d[1].folder)), os.path.dirname(d[1].folder), d[1].build), (*MEMBERS, 4)
    new.configure(four)
    three = list(d.values())
    check("a host is added: cluster-reload on each", reloaded(three, four, "host xen4 is new"))
    check("before it is a member all hold the same, and decide", wait(lambda: all(m.agrees() for m in three)) and
          all(m.members() == [1, 2, 3] and m.sees("down", 4) for m in three))
    write_conf(new.member.conf, four)
    check("corosync takes its new list", d[1].member.reload_corosync())
    new.member.start_corosync()
    check("its corosync is started: it is a member that holds nothing yet",
          wait(lambda: all(m.members() == [1, 2, 3, 4] and not m.agrees() for m in three)))
    new.start()
    check("its resexd is started: all in one view, and all hold the same",
          wait(lambda: together({**d, 4: new}) and all(m.agrees() for m in (*three, new))))

    def refused():
        r = d[1].reloads(MEMBERS)
        return r.returncode == 4 and "its resexd and its corosync, and wait until host-list" in r.stderr

    check("a host that is up is not left out", refused())
    check("it stops", new.end(signal.SIGTERM) == 0)
    check("nor is a member of corosync", wait(lambda: d[1].sees("down", 4)) and refused())
    new.member.kill_corosync()
    check("it is no member", wait(lambda: all(m.members() == [1, 2, 3] for m in three)))
    check("it is removed: cluster-reload on each", reloaded(three, MEMBERS, "host xen4 is left out"))
    write_conf(new.member.conf, MEMBERS)
    check("corosync takes its old list", d[1].member.reload_corosync())
    check("all hold the same again", wait(lambda: together(d) and all(m.agrees() for m in three)))
    new.member.holder.kill()


def end(d, check):
    bad = [[(4, 2, True), (3, 2, True)], [(4, 1, True)], []]
    check("the check of views can fail", not any(good_views([b]) for b in bad) and good_views([[(4, 2, True)]]))
    check("no minority had a quorum, no view's number went back", good_views([views_reported(m) for m in d.values()]))
    check("each stops clean", all(m.end(signal.SIGTERM) == 0 for m in d.values()))
    check("no sentence on corosync was logged again and again", not any(repeats(m.logged()) for m in d.values()))


def scenario(members, folder, score, build):
    d = {h: Daemon(members[h], folder, build) for h in MEMBERS}

    def check(what, good):
        score.check(what, good, d)

    for part in (without_corosync, corosync_comes, one_is_cut_off, corosync_dies, resexd_dies,
                 corosync_hangs, host_is_added_and_removed, end):
        part(d, check)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    sys.exit(play("member daemons", lambda members, folder, score: scenario(members, folder, score, build)) != 0)


if __name__ == "__main__":
    main()
