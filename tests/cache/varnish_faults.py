# SPDX-License-Identifier: GPL-2.0-or-later
"""varnish_faults: tests of varnish.py: the ring's server ends, fills are overtaken while others wait for them, and the
origin errs."""
import threading
import time

from varnish_bed import PATIENCE_S, expect, until
from varnish_checks import leaves_well, stored, test

CROWD = 50


@test
def timeout(bed):
    path = bed.page()
    stored(bed, path, "a page")
    bed.ring.say("hold", 1)
    bed.state += 1
    crowd = bed.together(20, path)()
    expect({(r.status, r.state, r.get("x-why")) for r in crowd} == {(200, bed.state, "timeout")},
           "no answer within the timeout is a pass", *crowd)
    bed.ring.say("hold", 0)
    bed.update()
    until(lambda: bed.get(path).is_hit, "hits again")


@test
def server_ends(bed):
    path = bed.page()
    stored(bed, path, "a page")
    bed.ring.say("stop")
    bed.state += 1
    for _ in range(3):
        r = bed.get(path)
        expect(r.status == 200 and r.state == bed.state and r.get("x-why") == "no server", "no server is a pass", r)
    bed.version += 1
    bed.ring.say("version", "%x" % bed.version)
    bed.ring.say("start")
    until(lambda: bed.get(path).is_hit, "the server is found again")
    expect(bed.get(path).state == bed.state, "the page is of now")


@test
def server_ends_while_asked(bed):
    path = bed.page()
    bed.ring.say("hold", 1)
    crowd = bed.together(20, path)
    time.sleep(0.1)
    bed.ring.say("stop")
    got = crowd()
    expect({(r.status, r.state) for r in got} == {(200, bed.state)}, "all are passed", *got)
    bed.ring.say("start")
    until(lambda: bed.get(path).is_hit, "the server is found again")


class Slow:
    """A page whose first computation waits, and shows the database as it was when it began."""
    def __init__(self, bed, path, registered=None):
        self.bed, self.registered = bed, registered
        self.begun, self.go, self.first = threading.Event(), threading.Event(), True
        bed.on(path, self)

    def __call__(self, m):
        if not self.first:
            return {}
        self.first = False
        state, version = self.bed.state, self.bed.version
        self.begun.set()
        expect(self.go.wait(PATIENCE_S), "it is let go")
        told = {"body": b"state %d" % state, "version": version}
        return dict(told, registered=False) if self.registered is False else told


@test
def coalesced(bed):
    path = bed.page()
    slow = Slow(bed, path)
    asleep = bed.stat("MAIN.busy_sleep")
    crowd = bed.together(CROWD, path)
    expect(slow.begun.wait(PATIENCE_S), "a fill begins")
    until(lambda: bed.stat("MAIN.busy_sleep") - asleep == CROWD - 1 or len(bed.origin.asked(path)) > 1, "the others wait")
    slow.go.set()
    got = crowd()
    expect(len(bed.origin.asked(path)) == 1, "one fill for all", len(bed.origin.asked(path)))
    expect({(r.status, r.state) for r in got} == {(200, bed.state)}, "all get its page", *got)


@test
def coalesced_and_overtaken(bed):
    """The version moves while others wait for a fill. They may get the page that was right when they came; who comes later
    may not, and does not wait."""
    path = bed.page()
    slow = Slow(bed, path)
    asleep = bed.stat("MAIN.busy_sleep")
    crowd = bed.together(20, path)
    expect(slow.begun.wait(PATIENCE_S), "a fill begins")
    until(lambda: bed.stat("MAIN.busy_sleep") - asleep == 19, "the others wait")
    before = bed.state
    bed.update()
    r = bed.get(path)
    expect(r.state == bed.state and not r.is_hit, "a later request does not wait, and gets the new page", r)
    slow.go.set()
    got = crowd()
    expect({r.state for r in got} == {before}, "they get what they waited for", *got)
    r = bed.get(path)
    expect(r.is_hit and r.state == bed.state, "the old page does not come back", r)


@test
def overtaken(bed):
    """A slow origin: the version moves before it answers; it registered before, or was refused."""
    for registered in (True, False):
        path = bed.page()
        slow = Slow(bed, path, registered)
        first = bed.together(1, path)
        expect(slow.begun.wait(PATIENCE_S), "a fill begins")
        before = bed.state
        bed.update()
        slow.go.set()
        expect(first()[0].state == before, "its own request gets it", registered)
        r = bed.get(path)
        expect(r.state == bed.state and not r.is_hit, "no later one does", registered, r)
        expect(bed.get(path).is_hit, "the new page is stored")


@test
def refused_under_load(bed):
    """What is not stored wakes all that wait: each asks for itself."""
    path = bed.page()
    slow = Slow(bed, path, False)
    asleep = bed.stat("MAIN.busy_sleep")
    crowd = bed.together(20, path)
    expect(slow.begun.wait(PATIENCE_S), "a fill begins")
    until(lambda: bed.stat("MAIN.busy_sleep") - asleep == 19, "the others wait")
    bed.state += 1  # what was refused was of before
    slow.go.set()
    got = crowd()
    expect(sorted(r.state for r in got)[1:] == [bed.state] * 19, "they do not get what was not registered", *got)


@test
def two_lengths(bed):
    r = bed.get(bed.page(), [("Content-Length", "3"), ("Content-Length", "5")], "POST", b"abcde")
    expect(r.status == 400, "two Content-Lengths of a client", r)
    path = bed.page()
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\nresex-version: %s.%x\r\n\r\nabcde"
    bed.on(path, lambda m: raw % ((m.get("resex-page") or "0.0").encode(), bed.version))
    r = bed.get(path)
    expect(r.status == 502 and len(r.all("content-length")) == 1, "two Content-Lengths of the origin", r)
    leaves_well(r, "an error")
    expect(len(bed.origin.asked(path)) == 2 and bed.origin.asked(path)[1].ours() == [], "fetched once more, not offered",
           *bed.origin.asked(path))
    r = bed.get(path, [("Cookie", "a=b")])
    expect(r.status == 502, "also of a pass", r)
    bed.origin.answer.pop(path)
    until(lambda: bed.get(path).is_hit, "later it is stored")


@test
def breaks_off(bed):
    """An origin that ends in the middle of a page."""
    path = bed.page()
    def half(m):
        bed.origin.answer.pop(path)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nresex-version: %s.%x\r\n\r\nstate" % (
            m.get("resex-page").encode(), bed.version)
    bed.on(path, half)
    r = bed.get(path)
    expect(r.status == 200 and r.state == bed.state, "nobody sees it", r)
    expect(not bed.get(path).is_hit, "and nothing is stored")


@test
def error_is_not_kept(bed):
    """Requests that waited for a fetch that failed do not get its error, nor does a later one."""
    path = bed.page()
    begun, go, tries = threading.Event(), threading.Event(), []
    def fails(m):
        tries.append(m)
        if len(tries) == 1:
            begun.set()
            expect(go.wait(PATIENCE_S), "it is let go")
        return b"rubbish\r\n\r\n" if len(tries) <= 2 else {}
    bed.on(path, fails)
    asleep = bed.stat("MAIN.busy_sleep")
    crowd = bed.together(5, path)
    expect(begun.wait(PATIENCE_S), "a fetch begins")
    until(lambda: bed.stat("MAIN.busy_sleep") - asleep == 4, "the others wait")
    go.set()
    got = [r.status for r in crowd()]
    expect(sorted(got) == [200] * 4 + [503], "one request sees the error", *got)
    until(lambda: bed.get(path).is_hit, "later it is stored")


@test
def no_room(bed):
    """A page for which Varnish has no room is served all the same."""
    path = bed.page()
    bed.on(path, {"body": b"state %d " % bed.state + b"x" * (6 << 20)})
    for _ in range(2):
        r = bed.get(path)
        expect(r.status == 200 and len(r.body) > 6 << 20, "it is served", r.status, len(r.body))


@test
def old_versions(bed):
    """They go when their room is needed."""
    path = bed.page()
    nuked, failed = bed.stat("MAIN.n_lru_nuked"), bed.stat("MAIN.fetch_failed")
    bed.on(path, lambda m: {"body": b"state %d " % bed.state + b"x" * 40000})
    for _ in range(150):  # 6 MB in a storage of 4
        r = bed.get(path)
        expect(r.status == 200 and not r.is_hit and r.state == bed.state, "each version is fetched", r.status)
        bed.update()
    expect(bed.stat("MAIN.n_lru_nuked") > nuked, "room was made")
    expect(bed.stat("MAIN.fetch_failed") == failed, "and enough")
