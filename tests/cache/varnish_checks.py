# SPDX-License-Identifier: GPL-2.0-or-later
"""varnish_checks: the list of varnish.py's tests, and what many of them demand."""
from varnish_bed import expect

TESTS = {}


def test(f):
    TESTS[f.__name__] = f
    return f


def stored(bed, path, what, headers=()):
    """This page is stored: the second response is a hit, and the origin is asked once."""
    first, second = bed.get(path, headers), bed.get(path, headers)
    expect(first.status == 200 and not first.is_hit, what + ": the first is a miss", first)
    expect(second.status == 200 and second.is_hit and second.body == first.body, what + ": the second is a hit", second)
    expect(len(bed.origin.asked(path)) == 1, what + ": the origin is asked once")
    return second


def not_stored(bed, path, what, answer=None, headers=(), status=200):
    """This response is not stored: it reaches its client, and the next one asks the origin, which answers as usual; that is
    stored, if its request may be looked up."""
    if answer:
        bed.on(path, answer)
    first = bed.get(path, headers)
    expect(first.status == status and not first.is_hit, what + ": the response reaches its client", first)
    bed.origin.answer.pop(path, None)
    second = bed.get(path, headers)
    expect(second.status == 200 and not second.is_hit, what + ": it is not stored", second)
    expect(second.state == bed.state, what + ": the next response is of now", second)
    if not headers:
        third = bed.get(path)
        expect(third.is_hit and third.state == bed.state, what + ": which is stored", third)
    return first


def leaves_well(r, what):
    expect(r.get("cache-control") == "private, no-cache", what + ": nobody else keeps it", r)
    for name in ("last-modified", "expires", "age", "pragma", "surrogate-control", "cdn-cache-control"):
        expect(r.get(name) is None, "%s: %s stays here" % (what, name), r)
    expect(r.ours() == [], what + ": inner headers stay here", r)
