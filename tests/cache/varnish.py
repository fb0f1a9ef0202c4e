#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""varnish: etc/cache/resex.vcl and vmod_resex in a real varnishd: what is served out of the cache, what is stored, what
is passed, and that none of it is stale. See varnish_bed.py.

	varnish.py [TEST]...	all tests, or those named
	varnish.py --plant	each error of varnish_plants.py in the VCL is found by its test

Exit: 0, 1, or 77 when there is no varnishd (1 when CI=true).
"""
import os
import re
import shutil
import socket
import sys
import tempfile
import time

import varnish_faults  # its tests
import varnish_plants
from varnish_bed import BACKEND, PATIENCE_S, Bed, Failed, Ring, expect, read_message, until
from varnish_checks import TESTS, leaves_well, not_stored, stored, test


@test
def hit(bed):
    path = bed.page()
    r = stored(bed, path, "a page")
    asked = bed.origin.asked(path)[0]
    expect(r.get("x-why") == "verified", "why() says so", r)
    page, version = r.get("x-version").split()
    expect(asked.get("resex-page") == page, "the origin is told the page", asked, page)
    expect(version == "%s.%x" % (page, bed.version), "version() is that of the page", version)
    expect(asked.ours() == ["resex-page"], "the origin is told nothing else", asked)
    bed.ring.say("word", 7)
    for page in (bed.page(), bed.page()):
        other = bed.get(page)
        expect(not other.is_hit and other.state == bed.state, "another page, of the same word, is another one", other)
    bed.ring.say("word", 0)


@test
def says_how(bed):
    """X-Cache: how a request was answered."""
    def says(word, path, *more):
        said = bed.get(path, *more).all("x-cache")
        expect(said == [word] * bool(word), "X-Cache says %r" % word, said, path, *more)
    path = bed.page()
    bed.on(path, {"headers": [("X-Cache", "hit of another cache")]})
    for word in ("miss", "hit", "hit"):
        says(word, path)
    for answer in ({"registered": False}, {"headers": [("Set-Cookie", "a=b")]}, {"status": "404 Not Found"}):
        other = bed.page()
        bed.on(other, answer)
        for _ in range(2):
            says("miss; not stored", other)
    says("pass; not asked", path, [("Cookie", "a=b")])
    says("pass; not asked", path, (), "DELETE")
    bed.ring.say("why", 4)
    says("pass; stale", path)
    bed.ring.say("why", 1)
    bed.update()
    for word in ("miss", "hit"):
        says(word, path)
    says("", path, (), "PRI")  # Varnish's own words


@test
def without_tags(bed):
    """An application that gives none: word 0."""
    bed.use(bed.vcl.replace("lookup(req.http.Host + req.url)", "lookup(req.http.Host + req.url, all = true)"))
    path = bed.page()
    r = stored(bed, path, "a page")
    expect(r.get("x-version").split()[0].endswith(".0"), "the word of all pages", r)
    expect(bed.origin.asked(path)[0].get("resex-page").endswith(".0"), "the origin is told", bed.origin.asked(path)[0])
    bed.use(bed.vcl)


@test
def not_offered(bed):
    """Pages without tags, and an update before each request: at last one miss of 32 is offered. Then no more updates."""
    without_tags = bed.vcl.replace("lookup(req.http.Host + req.url)", "lookup(req.http.Host + req.url, all = true)")
    vcl = bed.use(without_tags, anew=True)  # without a past

    def said(path):
        r = bed.get(path)
        expect(r.state == bed.state, "the page is of now", r)
        asked = bed.origin.asked(path)
        word = r.get("x-cache")
        if word != "hit":
            expect(asked[-1].ours() == ["resex-page"] * (word == "miss"), "what the origin is told: " + word, asked[-1])
        return word
    path = bed.page()
    seen = []
    for _ in range(32 + 160):
        bed.update()
        seen.append(said(path))
    expect(seen == ["miss"] * 32 + (["miss"] + ["miss; not offered"] * 31) * 5, "how they are answered", seen)
    stat = lambda: [bed.stat("RESEX.%s.pages.%s" % (vcl, n)) for n in ("misses", "unoffered", "stored", "refused")]
    until(lambda: stat() == [192, 155, 37, 0], lambda: "varnishstat: %s" % stat())
    # Pages with tags have updates of their own.
    bed.use(bed.vcl)
    path = bed.page()
    for _ in range(40):
        bed.update()
        expect(said(path) == "miss", "with tags each is offered")
    vcl = bed.use(without_tags)
    seen = [said(path) for _ in range(32 + 8)]
    expect(seen[-8:] == ["hit"] * 8 and "miss" in seen[:32], "no more updates: it is stored, and found", seen)
    expect([said(bed.page()) for _ in range(4)] == ["miss"] * 4, "fills bring hits again: each is offered")
    bed.use(bed.vcl)


@test
def version_moves(bed):
    path = bed.page()
    for _ in range(5):
        stored_state = stored(bed, path, "a page").state
        expect(stored_state == bed.state, "it is of now", stored_state)
        bed.update()
        bed.origin.seen.clear()
    r = bed.get(path)
    expect(not r.is_hit and r.state == bed.state, "the version moved: not the old page", r)


@test
def not_verified(bed):
    path = bed.page()
    stored(bed, path, "a page")
    for why, word in ((2, "no home"), (3, "closed"), (4, "stale"), (5, "lost"), (6, "bad"), (7, "rubbish"), (99, "rubbish")):
        bed.ring.say("why", "%x" % why)
        bed.state += 1  # and no home moves the version
        r = bed.get(path)
        expect(r.status == 200 and r.state == bed.state and not r.is_hit, "not verified is passed: " + word, r)
        expect(r.get("x-why") == word, "why() says so", r)
        expect(bed.origin.asked(path)[-1].ours() == [], "a pass is not offered", bed.origin.asked(path)[-1])
        bed.get(path, method="HEAD")
        expect(bed.origin.asked(path)[-1].words[0] == "HEAD", "it is a pass, not a fill", bed.origin.asked(path)[-1])
    bed.ring.say("why", 1)
    bed.update()
    stored(bed, bed.page(), "verified again")


@test
def another_version(bed):
    v = bed.version

    def of_another(home, word):
        def answer(m):
            page = [int(n) for n in m.get("resex-page").split(".")]
            return {"registered": False,
                    "headers": [("resex-version", "%d.%d.%x" % (page[0] + home, page[1] + word, bed.version))]}
        return answer
    for what, answer in (
            ("not registered", {"registered": False}),
            ("registered under the version before", {"version": v - 1}),
            ("registered under the version behind", {"version": v + 1}),
            ("the version of another home", of_another(1, 0)),
            ("the version of another word", of_another(0, 1)),
            ("no version", {"registered": False, "headers": [("resex-version", "rubbish")]}),
            ("an empty one", {"registered": False, "headers": [("resex-version", "")]}),
            ("two headers", {"headers": [("resex-version", "1.2.3")]})):
        not_stored(bed, bed.page(), what, answer)
    path = bed.page()
    bed.on(path, lambda m: registered(m, "%016X" % bed.version))
    stored(bed, path, "capitals, and zeros in front")


def registered(m, version):
    return {"registered": False, "headers": [("Resex-Version", "%s.%s" % (m.get("resex-page"), version))]}


@test
def version_twice(bed):
    path = bed.page()
    bed.on(path, lambda m: {"headers": [("resex-version", "%s.%x" % (m.get("resex-page"), bed.version))]})
    bed.get(path)
    expect(not bed.get(path).is_hit, "two headers of the right version: whose are they? Not stored")


@test
def echo(bed):
    """An application that gives back what it is told has not registered anything."""
    path = bed.page()
    bed.on(path, lambda m: {"registered": False, "headers": [(n, v) for n, v in m.headers if n.startswith("resex-")]})
    bed.get(path)
    expect(not bed.get(path).is_hit, "headers that are given back are no registration")


@test
def forged(bed):
    v = bed.version
    lies = [("resex-page", "1.1"), ("Resex-Version", "1.1.%x" % v), ("RESEX-other", "x"), ("resex-", "x")]
    for path, method in ((bed.page(), "GET"), (bed.page(), "POST"), (bed.page("/pipe"), "GET")):
        body = b"" if method == "GET" else b"abc"
        r = bed.get(path, lies + [("Content-Length", str(len(body)))] * bool(body), method, body)
        asked = bed.origin.asked(path)[0]
        expect(r.status == 200, "it is answered", r)
        expect(asked.ours() == (["resex-page"] if path.startswith("/p") and method == "GET" and "pipe" not in path else []),
               "no inner header of a client reaches the origin: " + method, asked)
        expect(asked.get("resex-page") in (None, r.get("x-version").split()[0] if r.get("x-version") else None),
               "the page is the proxy's word", asked)
    for own in ("/own", "/careless"):
        path = bed.page(own)
        bed.get(path, lies[:2])
        expect(bed.origin.asked(path)[0].ours() == [], "nor past resex.vcl: " + own, bed.origin.asked(path)[0])
    path = bed.page()
    bed.on(path, {"registered": False, "headers": [("resex-version", "1.1.%x" % v)]})
    bed.get(path, lies)
    expect(not bed.get(path, lies).is_hit, "nothing is stored under a client's version")
    path = bed.page()
    bed.get(path, [("Connection", "resex-page, resex-version")] + lies)
    r = bed.get(path, [("Connection", "resex-page, resex-version")] + lies)
    expect(r.status == 200 and r.state == bed.state, "named in Connection: answered", r)


@test
def careless(bed):
    """A VCL that asks for a hit without a lookup has none."""
    path = bed.page("/careless")
    for _ in range(3):
        bed.state += 1  # and the version does not move
        r = bed.get(path)
        expect(not r.is_hit and r.state == bed.state, "not looked up: never a hit", r)
        expect(r.get("x-why") == "not asked", "why() says so", r)


@test
def careless_vcl(bed):
    """Nor has one that does not look at what the methods say, and stores what it likes."""
    bed.use(varnish_plants.UNVERIFIED(varnish_plants.UNREGISTERED(bed.vcl)))
    path = bed.page()
    stored(bed, path, "a page")
    bed.ring.say("why", 4)
    for _ in range(3):
        bed.state += 1
        r = bed.get(path)
        expect(r.status == 200 and not r.is_hit and r.state == bed.state, "not verified: never a hit", r)
    bed.ring.say("why", 1)
    bed.update()
    bed.use(bed.vcl)


@test
def misplaced(bed):
    """A method where it has no meaning: an error, and no guess."""
    vcl, pages = bed.vcl, []
    for sub, statement in (("deliver", "pages.hash();"), ("hash", "if (pages.fill()) { }"), ("recv", "if (pages.hit()) { }"),
                           ("miss", "if (pages.fetch()) { }"), ("hit", 'if (pages.lookup("x")) { }'),
                           ("backend_response", "if (pages.fetch()) { }"), ("backend_fetch", "if (pages.storable()) { }"),
                           ("backend_fetch", "set bereq.http.x = pages.why();"),
                           ("backend_response", "set beresp.http.x = pages.page();")):
        pages.append((sub, statement, bed.page()))
        url = "bereq.url" if "backend" in sub else "req.url"
        vcl = vcl.replace("sub vcl_%s {" % sub, 'sub vcl_%s {\nif (%s == "%s") { %s }' % (sub, url, pages[-1][2], statement), 1)
    bed.use(vcl)
    for sub, statement, path in pages:
        r = [bed.get(path), bed.get(path)][sub == "hit"]
        expect(r.status == 503, "%s in vcl_%s" % (statement, sub), r)
    stored(bed, bed.page(), "others are not hurt")
    bed.use(bed.vcl)


@test
def not_for_all(bed):
    for what, header in (("Set-Cookie", ("Set-Cookie", "a=b")), ("Vary", ("Vary", "Accept-Language")),
                         ("Vary: *", ("Vary", "*")), ("two in Vary", ("Vary", "Accept-Encoding, X-Mood")),
                         ("Vary on the cookie", ("Vary", "Cookie")),
                         ("private", ("Cache-Control", "max-age=100, private")),
                         ("no-store", ("Cache-Control", "No-Store"))):
        not_stored(bed, bed.page(), what, {"headers": [header]})
    not_stored(bed, bed.page(), "two Vary", {"headers": [("Vary", "Accept-Encoding"), ("Vary", "X-Mood")]})
    for status in ("404 Not Found", "302 Found", "500 Internal", "206 Partial Content", "203 Other"):
        not_stored(bed, bed.page(), status, {"status": status}, status=int(status[:3]))
    path = bed.page()
    bed.on(path, {"headers": [("Vary", "accept-encoding"), ("Cache-Control", "no-cache, max-age=0")]})
    stored(bed, path, "Vary: Accept-Encoding, no-cache")


@test
def cut_body(bed):
    """A body that ends with the connection: nobody knows whether it is whole."""
    not_stored(bed, bed.page(), "no length", {"length": False})
    path = bed.page()
    bed.on(path, lambda m: chunked(bed, m))
    stored(bed, path, "chunked")


def chunked(bed, m):
    body = b"state %d" % bed.state
    return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nresex-version: %s.%x\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
            % (m.get("resex-page").encode(), bed.version, len(body), body), False)


# More than resex-cached has places. Each takes half a second: the compiler.
RELOADS = int(os.environ.get("RESEX_RELOADS", "18"))
LEAVES = [("ETag", '"e1"'), ("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"), ("Cache-Control", "public, max-age=99"),
          ("Expires", "Mon, 01 Jan 2035 00:00:00 GMT"), ("Age", "3"), ("Pragma", "x"), ("Surrogate-Control", "max-age=9"),
          ("CDN-Cache-Control", "max-age=9"), ("resex-inner", "x")]


@test
def leave(bed):
    path = bed.page()
    bed.on(path, {"headers": LEAVES})
    bed.get(path)
    r = bed.get(path)
    expect(r.is_hit and r.get("etag") == '"e1"', "a hit has its ETag", r)
    leaves_well(r, "a hit")
    for what, more in (("a miss", {}), ("a pass", {"headers": [("Cookie", "a=b")]}), ("a pass", {"method": "DELETE"})):
        path = bed.page()
        bed.on(path, {"headers": LEAVES if more.get("method") is None else LEAVES[2:]})
        leaves_well(bed.get(path, **more), what)
    leaves_well(bed.get(bed.page(), method="PRI"), "what Varnish says itself")
    path = bed.page()
    bed.on(path, {"headers": [("Cache-Control", "no-store")]})
    r = bed.get(path)
    expect(r.get("cache-control") == "private, no-store", "no-store stays", r)


@test
def conditional(bed):
    path = bed.page()
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    bed.on(path, {"headers": [("ETag", '"e1"'), ("Last-Modified", date)]})
    stored(bed, path, "a page with an ETag")
    r = bed.get(path, [("If-None-Match", '"e1"')])
    expect(r.status == 304 and r.is_hit, "the ETag is confirmed out of the cache", r)
    r = bed.get(path, [("If-None-Match", '"e2"')])
    expect(r.status == 200, "another ETag is not", r)
    r = bed.get(path, [("If-Modified-Since", date)])
    expect(r.status == 200 and r.body, "a date is not", r)
    bed.update()
    bed.on(path, {"headers": [("ETag", '"e2"'), ("Last-Modified", date)]})
    r = bed.get(path, [("If-None-Match", '"e1"')])
    expect(r.status == 200 and r.state == bed.state, "the ETag of the page before is not confirmed", r)
    asked = bed.origin.asked(path)[-1]
    expect(not asked.get("if-none-match"), "a fill is not conditional", asked)
    path = bed.page()
    r = bed.get(path, [("If-Modified-Since", date), ("Cookie", "a=b")])
    expect(not bed.origin.asked(path)[0].get("if-modified-since"), "nor does the origin judge by a date", r)


@test
def ranges(bed):
    path = bed.page()
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    bed.on(path, {"headers": [("ETag", '"e1"'), ("Last-Modified", date)]})
    r = bed.get(path, [("Range", "bytes=0-4")])
    expect(r.status == 206 and r.body == b"state", "a miss fetches all, and gives the part", r)
    expect(not bed.origin.asked(path)[0].get("range"), "the origin is asked for all")
    r = bed.get(path, [("Range", "bytes=0-4")])
    expect(r.status == 206 and r.body == b"state" and r.is_hit, "a hit gives the part", r)
    r = bed.get(path, [("Range", "bytes=0-4"), ("If-Range", '"e1"')])
    expect(r.status == 206, "If-Range with the ETag", r)
    r = bed.get(path, [("Range", "bytes=0-4"), ("If-Range", '"e2"')])
    expect(r.status == 200, "If-Range with another ETag", r)
    r = bed.get(path, [("Range", "bytes=0-4"), ("If-Range", date)])
    expect(r.status == 200, "If-Range with a date", r)
    path = bed.page()
    bed.get(path, [("Range", "bytes=0-4"), ("If-Range", date), ("Cookie", "a=b")])
    asked = bed.origin.asked(path)[0]
    expect(not asked.get("if-range") and not asked.get("range"), "nor does the origin judge by a date", asked)


@test
def methods(bed):
    path = bed.page()
    r = bed.get(path, method="HEAD")
    expect(r.status == 200 and not r.body and r.get("content-length"), "HEAD", r)
    expect(bed.origin.asked(path)[0].words[0] == "GET", "HEAD fills the page", bed.origin.asked(path)[0])
    expect(bed.get(path).is_hit, "which GET hits")
    expect(bed.get(path, method="HEAD").is_hit, "and HEAD")
    page = path
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE", "BAN", "REFRESH", "STRANGE"):
        for _ in range(2):
            r = bed.get(path, [("Content-Length", "3")], method, b"abc")
            expect(r.status == 200 and not r.is_hit, method + " is passed", r)
        expect(len(bed.origin.asked(path, method)) == 2, method + " reaches the origin each time")
        expect(bed.origin.asked(path, method)[0].ours() == [], method + " is not offered")
        expect(bed.origin.asked(path, method)[0].body == b"abc", method + " keeps its body")
    for method in ("POST", "DELETE"):
        path = bed.page()
        r = [bed.get(path, method=method) for _ in range(2)][1]
        expect(not r.is_hit and len(bed.origin.asked(path, method)) == 2, method + " without a body, too", r)
    expect(not bed.get(path).is_hit, "and it fills nothing")
    expect(bed.get(page).is_hit, "the copy is still there")


@test
def piped(bed):
    """What follows on a connection of an unknown method is looked at, too."""
    first, second = bed.page(), bed.page()
    with socket.create_connection(("127.0.0.1", bed.port), timeout=PATIENCE_S) as s, s.makefile("rb") as f:
        s.sendall(("STRANGE %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
                   "GET %s HTTP/1.1\r\nHost: x\r\nresex-page: 1.1\r\n\r\n" % (first, second)).encode())
        for _ in range(2):
            expect(read_message(f, True).status == 200, "both are answered")
    expect(len(bed.origin.asked(second)) == 1, "the second reaches the origin", *bed.origin.asked(second))
    expect("x-forwarded-for" in str(bed.origin.asked(second)[0]).lower(), "by way of Varnish", *bed.origin.asked(second))
    expect(bed.origin.asked(second)[0].get("resex-page") != "1.1", "not with a forged header", *bed.origin.asked(second))


@test
def bodies(bed):
    not_stored(bed, bed.page(), "GET with a body", headers=[("Content-Length", "0")])
    path = bed.page()
    chunks = b"3\r\nabc\r\n0\r\n\r\n"
    bed.get(path, [("Transfer-Encoding", "chunked")], body=chunks)
    expect(not bed.get(path, [("Transfer-Encoding", "chunked")], body=chunks).is_hit, "nor with chunks")


@test
def who_asks(bed):
    for header in ("Cookie", "Authorization"):
        path = bed.page()
        for who in ("a=1", "a=2"):
            bed.on(path, lambda m: {"body": b"state %d " % bed.state + (m.get(header.lower()) or "nobody").encode()})
            r = bed.get(path, [(header, who)])
            expect(r.body.endswith(who.encode()) and not r.is_hit, header + ": a page of their own", r)
        r = bed.get(path)
        expect(r.body.endswith(b"nobody"), "and another for who is nobody", r)


@test
def session(bed):
    """The other lines of resex.vcl: sessions have pages of their own, which are stored."""
    with_session(bed)
    bed.ring.say("word", 7)  # pages may share one: their copies are apart all the same
    path = bed.page()
    bed.on(path, lambda m: {"headers": [("Vary", "Cookie, Accept-Encoding")],
                            "body": b"state %d " % bed.state + (m.get("cookie") or "nobody").encode()})
    mine, yours = [("Cookie", "a=1; session=me; b=2")], [("Cookie", "session=you")]
    r = bed.get(path, mine)
    expect(r.body.endswith(b" session=me"), "the session's own page, and its cookie alone", r)
    r = bed.get(path, yours)
    expect(r.body.endswith(b" session=you"), "another session's", r)
    r = bed.get(path, [("Cookie", "c=3; session=me")])
    expect(r.is_hit and r.body.endswith(b" session=me"), "other cookies do not matter", r)
    r = bed.get(path, [("Cookie", "mysession=me; c=3")])
    expect(not r.is_hit and r.body.endswith(b"nobody"), "no session", r)
    path = bed.page()
    bed.on(path, lambda m: {"body": b"state %d " % bed.state + (m.get("cookie") or "nobody").encode()})
    for who, body in ((mine, b"me"), (yours, b"you"), ([], b"nobody")):
        r = stored(bed, path, "each has one", who) if who == mine else bed.get(path, who)
        expect(r.body.endswith(body), "also without Vary", r)
    bed.update()
    r = bed.get(path, mine)
    expect(not r.is_hit and r.state == bed.state, "the version moved", r)
    not_stored(bed, bed.page(), "Vary", {"headers": [("Vary", "Cookie, X-Mood")]}, mine)
    bed.ring.say("word", 0)
    bed.use(bed.vcl)


def with_session(bed):
    lines = [x for x in bed.vcl.splitlines() if not x.endswith("#-S")]
    bed.use("\n".join(x.replace("#S ", "", 1) for x in lines))


@test
def kept(bed):
    path = bed.page()
    bed.on(path, {"headers": [("Cache-Control", "max-age=3, stale-while-revalidate=99")]})
    ttl, grace, keep = map(float, stored(bed, path, "a page").get("x-kept").split())
    expect(ttl > 3000, "long, whatever the origin says", ttl)
    expect(grace == 0, "no grace", grace)
    expect(keep == 0, "no keep", keep)


@test
def esi(bed):
    path = bed.page("/esi")
    page = b'<p>state %d <esi:include src="/part"/></p>' % bed.state
    bed.on(path, {"body": page})
    bed.get(path)
    r = bed.get(path)
    expect(r.body == page and not bed.origin.asked("/part"), "no ESI", r)


@test
def encodings(bed):
    """Varnish stores what is compressed, and gives each client what it takes."""
    import gzip
    path = bed.page()
    zipped = gzip.compress(b"state %d" % bed.state)
    bed.on(path, {"headers": [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"), ("ETag", '"z"')], "body": zipped})
    r = bed.get(path, [("Accept-Encoding", "gzip")])
    expect(gzip.decompress(r.body) == b"state %d" % bed.state, "gzip", r)
    r = bed.get(path)
    expect(r.is_hit and r.state == bed.state, "plain, of the same copy", r)


@test
def reload(bed):
    """Another VCL: its connection is there at once, and copies stay."""
    path = bed.page()
    stored(bed, path, "a page")
    bed.use(bed.vcl, anew=True)
    expect(bed.get(path).is_hit, "the copy is hit by the new VCL, at once")
    bed.update()
    r = bed.get(path)
    expect(not r.is_hit and r.state == bed.state, "the version moved", r)


@test
def restarted(bed):
    """A request that Varnish begins anew asks anew."""
    path = bed.page("/again")

    def overtaken_by_an_update(m):
        bed.origin.answer.pop(path)
        state, version = bed.state, bed.version
        bed.update()
        return {"body": b"state %d" % state, "version": version}
    bed.on(path, overtaken_by_an_update)
    r = bed.get(path)
    expect(r.status == 200 and r.state == bed.state, "the page of the second time", r)
    expect([m.ours() for m in bed.origin.asked(path)] == [["resex-page"]] * 2, "offered each time")
    expect(bed.get(path).is_hit, "stored")


@test
def label(bed):
    """Files in a VCL of their own, as vmod_resex(3) shows."""
    static = bed.top + "/static.vcl"
    with open(static, "w") as f:
        f.write(BACKEND % bed.origin.port + "sub vcl_recv { unset req.http.resex-page; }\n"
                "sub vcl_backend_response { set beresp.ttl = 1h; }\n")
    bed.adm("vcl.load", "static", static)
    bed.adm("vcl.label", "files", "static")
    bed.own = 'sub vcl_recv { if (req.url ~ "^/static/") { return (vcl(files)); } }'
    bed.use(bed.vcl)
    bed.own = ""
    path = bed.page("/static")
    first = bed.get(path, [("resex-page", "1.1")])
    bed.update()
    r = bed.get(path)
    expect(r.is_hit and r.body == first.body, "cached by time", r)
    expect(bed.origin.asked(path)[0].ours() == [], "without a client's headers", bed.origin.asked(path)[0])
    stored(bed, bed.page(), "a page")
    bed.use(bed.vcl)


@test
def many_reloads(bed):
    """VCLs that were replaced stay for minutes: all have one connection. The ring's server has few places."""
    path = bed.page()
    stored(bed, path, "a page")
    for _ in range(RELOADS):
        name = bed.use(bed.vcl, anew=True)
        r = bed.get(path)
        expect(r.is_hit and r.get("x-why") == "verified", "the copy is hit by each new VCL, at once", r)
    expect(int(bed.ring.say("alive")) == 1, "one connection", bed.ring.say("alive"))
    names = [n for n in re.findall(r"\S+$", bed.adm("vcl.list"), re.M) if n != name]
    for n in names[1 - RELOADS:]:
        bed.adm("vcl.discard", n)
    bed.update()
    stored(bed, bed.page(), "the VCLs of before are gone: a page")


@test
def cold(bed):
    """A socket has a connection while a VCL that asks there is warm."""
    other = bed.top + "/other.sock"
    ring = Ring(bed.build + "/tests/cache/ringd", other)
    vcl = bed.vcl.replace(bed.socket, other)
    names = [bed.load(vcl) for _ in range(2)]
    for state, alive in (("warm", 1), ("cold", 1), ("cold", 0), ("warm", 1), ("warm", 1), ("cold", 1), ("cold", 0)):
        bed.adm("vcl.state", names[0], state)
        names.reverse()
        until(lambda: int(ring.say("alive")) == alive, lambda: "%s: %d wanted: %s" % (state, alive, ring.say("alive")))
    for name in names:
        bed.adm("vcl.state", name, "warm")
    for alive in (1, 0):
        bed.adm("vcl.discard", names.pop())
        until(lambda: int(ring.say("alive")) == alive, "discarded: %d wanted" % alive)
    ring.p.stdin.close()
    ring.p.wait()


@test
def wrong_settings(bed):
    """Of a VCL: refused when it is loaded, in one sentence."""
    for was, wrong, said in (("timeout = 3s", "timeout = 0s", "the timeout 0s is out of range: 1us to 10s"),
                             ("timeout = 3s", "timeout = 11s", "the timeout 11s is out of range: 1us to 10s"),
                             (bed.socket, "", "cannot be used: Invalid argument"),
                             (bed.socket, "/" + "x" * 107, "cannot be used: File name too long")):
        try:
            bed.adm("vcl.load", "wrong%d" % bed.loaded, bed.write_vcl("wrong", bed.vcl.replace(was, wrong)))
        except Failed as e:
            expect(said in str(e), "the sentence", e)
        else:
            raise Failed("%s is accepted" % wrong)


@test
def counters(bed):
    names = ["hits", "misses", "passes", "stored", "refused"]
    vcl = bed.use(bed.vcl, anew=True)  # from 0
    in_ring = lambda: list(map(int, bed.ring.say("counts").split()))
    time.sleep(0.3)  # until its header has what was before
    before = in_ring()
    path = bed.page()
    for _ in range(4):
        bed.get(path)
    bed.on(path + "x", {"registered": False})
    bed.get(path + "x")
    bed.on(path + "y", {"headers": [("Set-Cookie", "a=b")]})
    bed.get(path + "y")
    bed.ring.say("why", 4)
    bed.get(path)
    bed.get(path, [("Cookie", "a=b")])  # was not to be looked up
    bed.ring.say("why", 1)
    seen = lambda: [bed.stat("RESEX.%s.pages.%s" % (vcl, n)) for n in names]
    until(lambda: seen() == [3, 3, 1, 1, 2], lambda: "varnishstat: %s" % seen())
    until(lambda: [n - b for n, b in zip(in_ring(), before)] == [3, 3, 1, 1, 2],
          lambda: "the ring's header: %s, then %s" % (before, in_ring()))
    expect(bed.stat("RESEX.%s.pages.not_fresh" % vcl) == 1, "why it was passed")


def run(bed, name):
    began = time.monotonic()
    try:
        TESTS[name](bed)
    except (Failed, OSError) as e:
        print("FAIL %s: %s" % (name, e))
        return False
    print("pass %s (%.1f s)" % (name, time.monotonic() - began), flush=True)
    return True


def run_tests(bed, names):
    return sum(not run(bed, name) for name in names or TESTS)


def main():
    if not shutil.which("varnishd"):
        print("varnish: varnishd was not found; on Debian: apt-get install varnish", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else 77
    source = os.environ.get("srcdir") or os.path.dirname(os.path.abspath(__file__)) + "/../.."
    top = tempfile.mkdtemp(prefix="resex-varnish-")
    bed, wrong = None, 1
    try:
        bed = Bed(top, os.getcwd(), source)
        if sys.argv[1:2] == ["--plant"]:
            wrong = varnish_plants.run(bed, TESTS, sys.argv[2:])
        else:
            wrong = run_tests(bed, sys.argv[1:])
    except Failed as e:
        print("FAIL: %s" % e)
    finally:
        if bed:
            bed.close()
        if wrong:
            print("left in %s" % top)
        else:
            shutil.rmtree(top, ignore_errors=True)
    print("varnish: %d failed" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
