# SPDX-License-Identifier: GPL-2.0-or-later
"""bounds: all that is bounded is full: words, lists of tags, the log of ended updates, slots of updates and of the ring,
Varnish's memory. Then pages are slower, or not cached, and counters say why; none is stale."""
import json
import subprocess
import time

from hosts import Failed, FaultWorld, http, until
from kinds import stop

SMALL = {"app": {"listings": 64, "log": 4}, "proxy": {"ring_slots": 64, "ring_clients": 1}}


class Bounds:
    def __init__(self, test, transport, lists, seconds):
        self.test, self.transport, self.lists, self.seconds = test, transport, lists, seconds
        self.name = "bounds-%s-%s" % (transport, "lists" if lists else "all")
        self.w = FaultWorld(test.net, test.stall, test.top + "/pg", "%s/%s" % (test.top, self.name), test.build, apps=3,
                            proxies=2, transport=transport, lists=lists, items=self.pages(), memory="1m", work_ms=10,
                            cache={"fresh": "200ms", "detect": "400ms", "words": 8, "slots": 1}, more=SMALL)

    def pages(self):
        """Without lists they must not all find room in Varnish, which has 1 MiB or more."""
        return 300 if self.lists else 3000

    def counters(self):
        """What was full, and how often it mattered."""
        seen = {}

        def add(key, n):
            seen[key] = seen.get(key, 0) + n
        for h in self.w.hosts:
            c = json.loads(http(h.api, "GET", "/v1/cache")[2])
            if h.role == "app":
                for key in ("full", "log_short", "moved", "pending", "ended"):
                    add("refused: " + key, c["home"]["refused"].get(key, 0))
                add("lists dropped", c["home"]["evicted"])
                add("registered", c["home"]["registered"])
                if c["home"]["listings_used"] > 64 or c["home"]["log_used"] > 4:
                    raise Failed("%s: more is used than there is: %s" % (h.name, c["home"]))
                continue
            r = subprocess.run(["varnishstat", "-1", "-j", "-n", h.dir + "/varnish"], stdout=subprocess.PIPE, check=True)
            for name, v in json.loads(r.stdout)["counters"].items():
                if name.endswith("not_slot"):
                    add("no slot of the ring", v["value"])
                elif name == "MAIN.n_lru_nuked":
                    add("pages that Varnish dropped", v["value"])
        return seen

    def load(self, rate):
        # More readers than slots of the ring, more updaters than slots of updates.
        return self.w.load(self.w.proxies, "-r", "320", "-u", "60", "-t", "6", "-P", str(self.pages()), "-z", "0.4", "-T",
                           str(self.seconds), "-R", str(rate), "-S", str(self.test.seed % 2 ** 31))

    def ended(self, p):
        out, err = p.communicate()
        if not out:
            raise Failed("resex-cacheload: %s" % err)
        r = json.loads(out)
        self.test.judge(self.name, r, 0)
        return r

    def run(self):
        """First many updates, for words, log and slots; then few, for lists, Varnish and the ring."""
        try:
            self.w.start()
            first = self.ended(self.load(100 if self.lists else 5))
            p = self.load(1)
            time.sleep(self.seconds / 2)
            for h in self.w.proxies:  # while nobody answers, requests take all slots
                stop([h.cached.pid], 0.3)
            r = self.ended(p)
            for k in ("replies", "hits", "updates", "errors"):
                r[k] += first[k]
            seen = self.counters()
            until(lambda: all(h.info().get("in") for h in self.w.apps), "all are members")
        finally:
            self.w.close(keep=True)
        # Without lists, all pages are of one word, and many are stored.
        must = {"registered", "no slot of the ring"} | (
            {"refused: log_short", "lists dropped"} if self.lists else {"pages that Varnish dropped"})
        none = sorted(k for k in must if not seen.get(k))
        if none:
            raise Failed("%s: this bound was not reached: %s: %s" % (self.name, ", ".join(none), seen))
        return r, seen
