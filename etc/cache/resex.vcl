# SPDX-License-Identifier: GPL-2.0-or-later
# resex.vcl: dynamic pages are cached, and none is served stale (man vmod_resex(3), resex-cache(7)).
#
# Your own VCL defines the backend, and includes this file:
#
#	vcl 4.1;
#	backend default { .host = "127.0.0.1"; .port = "8080"; }
#	include "resex.vcl";
#
# Why a page out of the cache is not stale. Each request first asks which version the page has now:
# one READ of the version word at its home. The version is part of the hash. So a request can only
# hit a copy that was filled under the version that this request has just read; and when the version
# moves, no request finds the old copy any more. It is not purged: nobody asks for it, and it goes
# when Varnish needs room.
#
# Why a request may wait for a fill that another one began. It waits for its own hash, so for a fill
# under the version that its own READ gave. The home registers a fill under a version only if all
# updates that were committed before any READ of this version are in its page (R1 and R2 of
# src/cache/cache.h): an update in between would have moved the version, or the home would have
# refused the fill. So the page is no older than the waiting request's READ, however long the fill
# takes, and that READ was made after the request came. A request that comes after the version has
# moved has another hash. It does not wait, and does not get that page.
#
# A page that is not registered under the version of its request is given to its client, and not
# stored. So is one that came while the version moved.
#
# Without an answer of resex-cached (none runs, no home is reached, timeout) the request is passed:
# slower, never stale, and no error.

vcl 4.1;

import resex;
import std;

sub vcl_init {
	new pages = resex.cache("/run/resex-cached/ring.sock", timeout = 50ms);
}

sub vcl_recv {
	# These headers are between Varnish and the application. A client has none.
	resex.strip(req);

	if (req.method == "PRI") {
		return (synth(405));
	}
	# All others change something, or nobody knows what they do. They are not piped: what follows
	# on a piped connection is not looked at, headers included.
	if (req.method != "GET" && req.method != "HEAD") {
		return (pass);
	}
	# A page may depend on the body, and on a Host that is not there.
	if (req.http.Content-Length || req.http.Transfer-Encoding || !req.http.Host) {
		return (pass);
	}
	# A page of parts would be of several moments.
	if (req.esi_level > 0) {
		return (pass);
	}
	# A date has whole seconds: two versions of a page can have the same. ETags are good.
	unset req.http.If-Modified-Since;
	if (req.http.If-Range && req.http.If-Range !~ {"^""}) {
		unset req.http.If-Range;
		unset req.http.Range;
	}

	# Who asks? As it stands: a page may depend on any cookie, so a request with one is passed.
	# If your pages depend on the cookie "session" alone, delete the lines with "#-S" behind them,
	# here and below, and take the "#S" away from those that begin with it. Then the application
	# gets this cookie alone, and each session has pages of its own.
	if (req.http.Authorization) {
		return (pass);
	}
	if (req.http.Cookie) { #-S
		return (pass); #-S
	} #-S
	#S if (req.http.Cookie ~ "(^|;\s*)session=") {
	#S 	set req.http.Cookie = "session=" +
	#S 	    regsub(req.http.Cookie, "^(.*;\s*)?session=([^;]*).*$", "\2");
	#S } else {
	#S 	unset req.http.Cookie;
	#S }

	# The key: all that names the page. If your application gives no tags, say all = true.
	set req.http.Host = req.http.Host.lower();
	if (!pages.lookup(req.http.Host + req.url)) { #-S
	#S if (!pages.lookup(req.http.Host + req.url + " " + req.http.Cookie)) {
		return (pass);
	}
	return (hash);
}

# Key and version; what was not verified gets a hash of its own.
sub vcl_hash {
	pages.hash();
}

sub vcl_hit {
	if (!pages.hit()) {
		return (pass);
	}
}

# The application is told which page it fills: resex-page. With all = true a miss is passed when fills
# bring hardly any hits, since updates come faster than pages are asked for again.
sub vcl_miss {
	if (!pages.fill()) {
		return (pass);
	}
}

# The version of the request stays here: an application might give back what it is told. What is
# passed or piped goes without inner headers.
sub vcl_backend_fetch {
	pages.fetch();
}

sub vcl_pipe {
	pages.fetch();
}

sub vcl_backend_response {
	# Varnish reads the first Content-Length of two, and gives both to the client.
	std.collect(beresp.http.Content-Length);
	if (beresp.http.Content-Length ~ ",") {
		return (error(502, "Two lengths"));
	}
	set beresp.do_esi = false;
	# No old copy while a new one is fetched, and none to be confirmed by the application.
	set beresp.grace = 0s;
	set beresp.keep = 0s;
	if (bereq.uncacheable) {
		return (deliver);
	}
	if (beresp.status != 200 ||
	    # For one client alone.
	    beresp.http.Set-Cookie ||
	    beresp.http.Cache-Control ~ "(?i)\b(no-store|private)\b" ||
	    # It depends on what the key does not name.
	    (beresp.http.Vary && beresp.http.Vary !~ "(?i)^\s*Accept-Encoding\s*$") || #-S
	    #S (beresp.http.Vary && beresp.http.Vary !~
	    #S     "(?i)^\s*(Accept-Encoding|Cookie)(\s*,\s*(Accept-Encoding|Cookie))*\s*$") ||
	    # A body that ends when the connection does may have been cut.
	    (!beresp.http.Content-Length && beresp.http.Transfer-Encoding !~ "(?i)chunked") ||
	    # Last: it counts. Registered, and under the version of this request?
	    !pages.storable()) {
		# Until it ends, requests of this page and this version do not wait for each other.
		# Each of them can still store its response.
		set beresp.ttl = 1s;
		set beresp.uncacheable = true;
		return (deliver);
	}
	# Whole, then served: what breaks off is fetched again, and nobody sees it.
	set beresp.do_stream = false;
	# How long is a matter of room: the version decides whether it is found.
	set beresp.ttl = 1h;
	return (deliver);
}

# Also when Varnish has no room for a page. Once more, as without a cache: fetch() does not offer it
# again.
sub vcl_backend_error {
	if (bereq.http.resex-page && bereq.retries == 0) {
		return (retry);
	}
	set beresp.grace = 0s;
	set beresp.keep = 0s;
	set beresp.ttl = 1s;
	set beresp.uncacheable = true;
}

# Caches behind this one cannot ask for the version. They, and browsers, have to ask here.
sub resex_leave {
	resex.strip(resp);
	if (resp.http.Cache-Control ~ "(?i)\bno-store\b") {
		set resp.http.Cache-Control = "private, no-store";
	} else {
		set resp.http.Cache-Control = "private, no-cache";
	}
	unset resp.http.Age;
	unset resp.http.Expires;
	unset resp.http.Pragma;
	unset resp.http.Surrogate-Control;
	unset resp.http.CDN-Cache-Control;
	# As with If-Modified-Since.
	if (req.method == "GET" || req.method == "HEAD") {
		unset resp.http.Last-Modified;
	}
}

# X-Cache is for people: how this request was answered (vmod_resex(3)). An application's own goes: its
# words are not about this cache. Who does not want to say it unsets it in a vcl_deliver of their own,
# behind this one.
sub vcl_deliver {
	call resex_leave;
	if (obj.hits > 0) {
		set resp.http.X-Cache = "hit";
	} else if (pages.why() != "verified") {
		set resp.http.X-Cache = "pass; " + pages.why();
	} else if (!pages.offered()) {
		set resp.http.X-Cache = "miss; not offered";
	} else if (obj.uncacheable) {
		set resp.http.X-Cache = "miss; not stored";
	} else {
		set resp.http.X-Cache = "miss";
	}
}

sub vcl_synth {
	call resex_leave;
}
