# SPDX-License-Identifier: GPL-2.0-or-later
"""anew: the database is made anew while all hosts run: another server, its tables, and other rows. All that was cached is
dropped: a page of the old database is not shown any more, each host says why in one sentence, and joins again. Then pages
are cached as before."""
import http.client
import json
import re
import threading
import time

from hosts import Failed, FaultWorld, until

PAGES = ["/item/%d" % i for i in range(1, 21)]
SENTENCE = "out of the cache: the database is another one, or was restored: all that is cached is dropped; it joins again"
STATE = re.compile(rb"<!-- page: \S+ state: (\S+)")


def ask(host, method, path, body=None):
    c = http.client.HTTPConnection(host.address, host.port, timeout=20)
    try:
        c.request(method, path, body=body)
        r = c.getresponse()
        return r.status, r.headers.get("X-Cache", ""), r.read()
    finally:
        c.close()


class Reader(threading.Thread):
    """Asks one proxy for all pages in turn, until it is over. seen: (begin, page, its first state, whether it was a hit)."""
    def __init__(self, proxy):
        super().__init__(daemon=True)
        self.proxy, self.seen, self.over = proxy, [], False
        self.start()

    def run(self):
        while not self.over:
            for page in PAGES:
                began = time.monotonic()
                try:
                    status, how, text = ask(self.proxy, "GET", page)
                except OSError:
                    continue
                state = STATE.search(text)
                if status == 200 and state:
                    self.seen.append((began, page, state.group(1).decode(), how == "hit"))
            time.sleep(0.002)


class Anew:
    def __init__(self, test, transport, lists, fresh_s, detect_s):
        self.test, self.fresh, self.name = test, fresh_s, "anew-%s-%s" % (transport, "lists" if lists else "all")
        self.w = FaultWorld(test.net, test.stall, test.top + "/pg", "%s/%s" % (test.top, self.name), test.build, apps=3,
                            proxies=2, transport=transport, lists=lists, items=100,
                            cache={"fresh": "%dms" % (fresh_s * 1000), "detect": "%dms" % (detect_s * 1000)})

    def load(self):
        p = self.w.load(self.w.proxies, "-r", "16", "-u", "6", "-P", "60", "-n", "6000", "-R", "20" if self.w.lists else "1", "-S",
                        str(self.test.seed % 2 ** 31))
        out, err = p.communicate()
        if not out:
            raise Failed("resex-cacheload: %s" % err)
        r = json.loads(out)
        self.test.judge(self.name, r)
        return r

    def system(self):
        return self.w.psql("-A", "-t", "-c", "SELECT system_identifier FROM pg_control_system()").strip()

    def sentences(self):
        """By host: how often it has said it."""
        said = {}
        for h in self.w.apps:
            with open(h.dir + "/cached.log") as f:
                said[h.name] = f.read().count(SENTENCE)
        return said

    def all_in(self):
        """In the new database: each row is of a life that has begun since."""
        rows = self.w.psql("-A", "-t", "-c", "SELECT number FROM resex.member WHERE is_in ORDER BY number").split()
        return [int(n) for n in rows] == [h.number for h in self.w.apps] and all(h.info().get("in") for h in self.w.apps)

    def replace(self):
        """The old database ends, and another one is there. Returns when the old one had ended."""
        system = self.system()
        self.w.remove_database()
        ended = time.monotonic()
        self.w.start_database()
        if self.system() == system:
            raise Failed("%s: the new database has the old one's identifier %s: this shows nothing" % (self.name, system))
        until(self.all_in, "all are members in the new database")
        return ended

    def old_pages(self, seen, since):
        """Replies to what was asked since then that show a change which only the old database has had."""
        return [row for row in seen if row[0] > since and not row[2].startswith(row[1][1:] + "=0:")]

    def run(self):
        readers = []
        try:
            self.w.start()
            before = self.load()
            for page in PAGES:
                if ask(self.w.apps[0], "POST", "/bid", "item=%s&user=1&update=1" % page.split("/")[2])[0] != 200:
                    raise Failed("%s: a bid for %s was refused" % (self.name, page))
            readers = [Reader(p) for p in self.w.proxies]
            until(lambda: all(sum(row[3] for row in r.seen) >= 5 * len(PAGES) for r in readers), "the pages are hits")
            ended = self.replace()
            back = time.monotonic()
            until(lambda: all(sum(row[3] and row[0] > back for row in r.seen) >= 5 * len(PAGES) for r in readers),
                  "the pages of the new database are hits")
            for r in readers:
                r.over = True
                r.join()
            said = self.sentences()
            after = self.load()
        finally:
            for r in readers:
                r.over = True
            self.w.close(keep=True)
        seen = [row for r in readers for row in r.seen]
        old = self.old_pages(seen, ended + self.fresh)
        if old:
            raise Failed("%s: %d replies show a page of the old database, which had ended; one shows %s, %.3f s after its end" % (
                self.name, len(old), old[0][2], old[0][0] - ended))
        if len(self.old_pages(seen, 0)) < 10 * len(PAGES):
            raise Failed("%s: the old database's pages were hardly seen: this shows nothing" % self.name)
        if set(said.values()) != {1}:
            raise Failed("%s: each host must say once \"%s\"; they said it so often: %s" % (self.name, SENTENCE, said))
        for k in ("replies", "hits", "updates", "errors"):
            after[k] += before[k]
        return after, {"seconds without it": round(back - ended, 2), "pages read meanwhile": len(seen)}
