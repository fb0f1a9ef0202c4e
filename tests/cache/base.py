#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""base: the base case, resex-auction without a cache, passes the checker of resex-cacheload; behind a proxy that is wrong
it does not, for each way to be wrong. The checker in Python agrees about each run. Run in the build directory.

    base.py [CONNINFO]    on SQLite, or in this empty database of PostgreSQL

Exit: 0, 1, or 77 where the auction was not built."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check
from rig import Auction, Failed, Proxy, Wrong, broken, load, missing

# Name, what the proxy does, rules of which at least one must be broken; none: it is right.
PROXIES = (
    ("passes all on", "right", ()),
    ("believes a copy for 200 ms", "by_time", ("stale", "backwards")),
    ("sometimes gives the oldest", "sometimes_old", ("stale", "backwards")),
    ("sometimes gives another page", "another_page", ("wrong",)),
    ("raises a counter", "too_new", ("future",)),
    ("shows an old thing beside new ones", "half_old", ("torn",)),
)


def look(what, log, seen, wanted):
    code, result = seen
    found = broken(result)
    if result["replies"] < 1000 or result["updates"] < 20 or result["errors"] or not result["end_read"]:
        raise Failed("%s: too little was done: %s" % (what, result))
    if wanted and (not found & set(wanted) or code != 1):
        raise Failed("%s: nothing of %s was found: %s" % (what, " ".join(wanted), result))
    if not wanted and (found or code):
        raise Failed("%s: %s" % (what, result))
    second = check.check(log)
    for key in ("replies", "hits", "updates", "checked") + check.RULES:
        if second[key] != result[key]:
            raise Failed("%s: %s: check.py counts %s, resex-cacheload %s" % (what, key, second[key], result[key]))
    print("base: %s: %s" % (what, ", ".join("%d %s" % (result[r], r) for r in check.RULES if result[r]) or
                            "all of %d replies are right" % result["replies"]))
    return result


def main():
    skip = missing()
    if skip:
        print("base: %s" % skip)
        return 77
    seed = int(os.environ.get("RESEX_SEED") or random.SystemRandom().randrange(2 ** 31))
    print("RESEX_SEED=%d" % seed)
    with tempfile.TemporaryDirectory() as top:
        log = top + "/log"
        options = ["-n", "2000", "-k", "-U", "40", "-r", "8", "-u", "3", "--seed", str(seed), "--log", log]
        auction = Auction(top, "--no-cache", db=sys.argv[1] if len(sys.argv) > 1 else None)
        try:
            result = look("no proxy", log, load(auction, [], *options), ())
            if result["hits"]:
                raise Failed("hits without a cache: %s" % json.dumps(result))
            for name, handle, wanted in PROXIES:
                proxy = Proxy(auction.port, getattr(Wrong(random.Random(seed)), handle))
                look("a proxy that %s" % name, log, load(auction, [proxy], *options), wanted)
                proxy.close()
        finally:
            auction.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        print("base: %s" % e)
        sys.exit(1)
