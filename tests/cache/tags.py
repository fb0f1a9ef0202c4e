#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tags: resex-auction, through libresex-cache, behind a proxy that caches: every tag that it gives is needed, and they
suffice. With all of them no reply is stale, by lists and by Invalidate All; with one kind forgotten, some are. And what
the auction does when resex-cached is not there. Run in the build directory. Exit: 0, 1, or 77 where the auction was not
built."""
import http.client
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import Auction, Daemon, Failed, Proxy, broken, load, missing

TURNS = 4
KINDS = (r"item/\d+", r"category/\d+", r"user/\d+", r"user/\d+/bids", r"user/\d+/items")


def run(top, seed, what, forget=None, all_pages=False):
    """Was a reply wrong? It may be if some tags are forgotten."""
    daemon = Daemon(top, all_pages, (lambda tag: re.fullmatch(forget, tag)) if forget else lambda tag: False)
    auction = Auction(top, "--cache", daemon.path, items=20, users=6, categories=3)
    daemon.db = auction.db
    proxies = [Proxy(auction.port, daemon.handle) for _ in range(2)]
    try:
        code, result = load(auction, proxies, "-n", "4000", "-k", "-U", "40", "-r", "6", "-u", "3", "--seed", str(seed))
        info = auction.info()
    finally:
        for p in proxies:
            p.close()
        auction.close()
        daemon.close()
    if result["replies"] < 4000 or result["updates"] < 100 or result["errors"]:
        raise Failed("%s: too little was done: %s" % (what, result))
    if result["hits"] < (10 if all_pages else 800) or not info["filled"]:
        raise Failed("%s: nothing was cached: %s %s" % (what, result, info))
    found = bool(broken(result))
    if code != found or (found and not forget):
        raise Failed("%s: %s" % (what, result))
    print("tags: %s: %d hits of %d, %d fills, %d refused, %d updates: %d stale" % (
        what, result["hits"], result["replies"], info["filled"], info["not_registered"], result["updates"],
        result["stale"]))
    return found


def status_of(auction, method, path, body=None):
    c = http.client.HTTPConnection("127.0.0.1", auction.port, timeout=30)
    c.request(method, path, body=body, headers={"resex-page": "1.5"})
    r = c.getresponse()
    r.read()
    c.close()
    return r.status, r.headers.get("resex-version")


def without_daemon(top):
    """Pages are served, uncached; changes are refused as not done."""
    auction = Auction(top, "--cache", top + "/nobody.sock")
    try:
        seen = [status_of(auction, "GET", "/item/5"), status_of(auction, "POST", "/bid", "item=5&user=1")]
        info = auction.info()
        page = auction.get("/item/5")
    finally:
        auction.close()
    if seen != [(200, None), (503, None)] or info["not_begun"] != 1 or info["not_done"] != 1 or "item/5=0:0" not in page:
        raise Failed("without resex-cached: %s %s" % (seen, info))
    print("tags: without resex-cached pages are served, and changes are not done")


def main():
    skip = missing()
    if skip:
        print("tags: %s" % skip)
        return 77
    seed = int(os.environ.get("RESEX_SEED") or random.SystemRandom().randrange(2 ** 31))
    print("RESEX_SEED=%d" % seed)
    with tempfile.TemporaryDirectory() as top:
        without_daemon(top)
        run(top, seed, "all tags")
        run(top, seed, "Invalidate All", all_pages=True)
        for kind in KINDS:
            for turn in range(TURNS):
                # A kind that few updates change is not always seen.
                if run(top, seed + turn, "without tags %s" % kind, forget=kind):
                    break
            else:
                raise Failed("without tags %s all replies are right" % kind)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        print("tags: %s" % e)
        sys.exit(1)
