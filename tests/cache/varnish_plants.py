# SPDX-License-Identifier: GPL-2.0-or-later
"""varnish_plants: errors in etc/cache/resex.vcl, each of which its test in varnish.py must find."""
import re

from varnish_bed import Failed


def without(*lines):
    """The VCL without these lines, each of which is there once. A line is named by how it begins."""
    def edit(vcl):
        for line in lines:
            vcl, n = re.subn(r"^\s*%s.*\n" % re.escape(line), "", vcl, flags=re.M)
            if n != 1:
                raise Failed("%d lines begin with %r" % (n, line))
        return vcl
    return edit


def without_if(condition, more=lambda vcl: vcl):
    """The VCL without this if, which has one statement. more: another edit."""
    def edit(vcl):
        vcl, n = re.subn(r"^\s*if \(%s\) \{.*\n.*\n\s*\}.*\n" % re.escape(condition), "", vcl, flags=re.M)
        if n != 1:
            raise Failed("%d such ifs: %s" % (n, condition))
        return more(vcl)
    return edit


def instead(old, new, more=lambda vcl: vcl):
    def edit(vcl):
        if vcl.count(old) != 1:
            raise Failed("%d times: %s" % (vcl.count(old), old))
        return more(vcl.replace(old, new))
    return edit


def both(one, two):
    return lambda vcl: two(one(vcl))


# What is passed when it was not verified. In the VMOD, too, is a net: what was not verified has a hash of its own.
LOOKUP = "if (!pages.lookup(req.http.Host + req.url)) { #-S"
UNVERIFIED = both(instead(LOOKUP, LOOKUP + "\n}\nif (false) {"),
                  both(without_if("!pages.fill()", instead("sub vcl_miss {", "sub vcl_miss {\npages.fill();")),
                       without_if("!pages.hit()", instead("sub vcl_hit {", "sub vcl_hit {\npages.hit();"))))
UNREGISTERED = instead("!pages.storable()", "!pages.storable() && false")
NO_HASH = instead("pages.hash();", "")

PLANTS = [
    ("the version is not in the hash", NO_HASH, ["version_moves", "coalesced_and_overtaken", "overtaken", "conditional"]),
    ("what is not verified is not passed", UNVERIFIED, ["not_verified"]),
    ("what is not verified may hit", both(UNVERIFIED, NO_HASH), ["not_verified", "timeout", "server_ends"]),
    ("not registered is stored", UNREGISTERED,
     ["another_version", "version_twice", "echo", "forged"]),
    ("clients' inner headers", without("resex.strip(req)"), ["forged"]),
    ("inner headers of what is passed", instead("sub vcl_backend_fetch {\n\tpages.fetch();", "sub vcl_backend_fetch {"),
     ["hit"]),
    ("inner headers of what is piped", instead("sub vcl_pipe {\n\tpages.fetch();", "sub vcl_pipe {"), ["forged"]),
    ("inner headers leave", without("resex.strip(resp)"), ["leave"]),
    ("methods", without_if('req.method != "GET" && req.method != "HEAD"'), ["methods"]),
    ("unknown methods are piped", instead('if (req.method != "GET" && req.method != "HEAD") {\n\t\treturn (pass);',
                                          'if (req.method != "GET" && req.method != "HEAD") {\n\t\treturn (pipe);'), ["piped"]),
    ("a GET with a body", without_if("req.http.Content-Length || req.http.Transfer-Encoding || !req.http.Host"), ["bodies"]),
    ("If-Modified-Since", without("unset req.http.If-Modified-Since"), ["conditional"]),
    ("If-Range with a date", without("unset req.http.If-Range", "unset req.http.Range"), ["ranges"]),
    ("Authorization", without_if("req.http.Authorization"), ["who_asks"]),
    ("Cookie", without_if("req.http.Cookie"), ["who_asks"]),
    ("sessions share pages", instead('+ req.url + " " + req.http.Cookie', "+ req.url"), ["session"]),
    ("ESI", without("set beresp.do_esi"), ["esi"]),
    ("grace", instead("\tset beresp.grace = 0s;\n\tset beresp.keep = 0s;\n\tif", "\tset beresp.keep = 0s;\n\tif"),
     ["kept"]),
    ("keep", instead("\tset beresp.keep = 0s;\n\tif", "\tset beresp.keep = 5s;\n\tif"), ["kept"]),
    ("two lengths", without_if('beresp.http.Content-Length ~ ","'), ["two_lengths"]),
    ("two lengths are not seen", without("std.collect"), ["two_lengths"]),
    ("status", instead("beresp.status != 200 ||", ""), ["not_for_all"]),
    ("Set-Cookie", without("beresp.http.Set-Cookie"), ["not_for_all"]),
    ("private", without("beresp.http.Cache-Control ~"), ["not_for_all"]),
    ("Vary", without('(beresp.http.Vary && beresp.http.Vary !~ "'), ["not_for_all"]),
    ("a body without length", without("(!beresp.http.Content-Length &&"), ["cut_body"]),
    ("streamed", without("set beresp.do_stream"), ["breaks_off"]),
    ("short ttl", without("set beresp.ttl = 1h"), ["kept"]),
    ("no retry", without_if("bereq.http.resex-page && bereq.retries == 0"), ["breaks_off", "no_room"]),
    ("an error is kept", instead("\tset beresp.ttl = 1s;\n\tset beresp.uncacheable = true;\n}", "}"), ["error_is_not_kept"]),
    ("what is not to be stored is", instead("\t\tset beresp.ttl = 1s;\n\t\tset beresp.uncacheable = true;\n", ""),
     ["another_version", "not_for_all"]),
    ("Cache-Control", instead('"private, no-cache"', '"public"'), ["leave"]),
    ("no-store is weakened", instead('"private, no-store"', '"private, no-cache"'), ["leave"]),
    ("a miss is not said", without('set resp.http.X-Cache = "miss";'), ["says_how"]),
    ("a hit is said to be a miss", without('set resp.http.X-Cache = "hit";'), ["says_how"]),
    ("all is said to be offered", instead("!pages.offered()", "false"), ["not_offered"]),
    ("all is said to be stored", instead("else if (obj.uncacheable)", "else if (false)"), ["says_how"]),
    ("what is not verified is said to be a miss", instead('pages.why() != "verified"', "false"), ["says_how"]),
    ("a hit is not said", instead("obj.hits > 0", "obj.hits > 1"), ["says_how"]),
    ("requests do not wait for each other", instead("\treturn (hash);", "\tset req.hash_ignore_busy = true;\n\treturn (hash);"),
     ["coalesced"]),
] + [(name, without("unset resp.http.%s;" % name), ["leave"])
     for name in ("Age", "Expires", "Pragma", "Surrogate-Control", "CDN-Cache-Control", "Last-Modified")]


def run(bed, tests, names):
    """The number of plants that are not found by one of their tests. names: of plants; none: all."""
    missed, true = 0, bed.vcl
    for name, edit, found_by in PLANTS:
        if names and name not in names:
            continue
        bed.vcl = edit(true)
        bed.use(bed.vcl)
        for test in found_by:
            try:
                tests[test](bed)
            except (Failed, OSError) as e:
                print("found: %s: by %s: %.150s" % (name, test, e), flush=True)
            else:
                print("MISSED: %s: by %s" % (name, test), flush=True)
                missed += 1
            bed.forget()
    print("varnish_plants: %d plants, %d missed" % (len(PLANTS), missed))
    return missed
