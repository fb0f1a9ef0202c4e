#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmod_mutants.sh BUILD [PATTERN]: break vmod_resex.c in one small way at a time; tests/cache/varnish.py must notice it.
# On demand (a minute or two): unit tests cannot run a VMOD. check-mutants.sh tries whether the rows still apply.
#
# Exit: 0 when each was noticed, 1 when one was not, or could not be made.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: vmod_mutants.sh BUILD [PATTERN]}" && pwd)
pattern=${2-.}

# TESTS @ SED-EXPRESSION
list() {
	cat <<'LIST'
forged @ s/!strncasecmp(h.b, ours, sizeof(ours) - 1)/!strncmp(h.b, ours, sizeof(ours) - 1)/
forged leave @ s/^\t\tif (is_ours(h->hd\[from\])) {/\t\tif (false) {/
version_twice @ s/http_CountHdr(h, header_version) == 1 && //
another_version @ s/http_GetHdr(h, header_version, &text) &&$/http_GetHdr(h, header_version, \&text) ||/
careless_vcl @ s/t && t->why == CACHE_RING_VERIFIED ? t : NULL/t/
without_tags @ s/all ? CACHE_RING_ALL : 0/0/
version_moves overtaken @ s/VRT_hashdata(ctx, TOSTRANDS(2, t->key, t->version));/VRT_hashdata(ctx, TOSTRAND(t->key));/
session @ s/VRT_hashdata(ctx, TOSTRANDS(2, t->key, t->version));/VRT_hashdata(ctx, TOSTRAND(t->version));/
careless_vcl @ s/^\tVRT_hashdata(ctx, TOSTRAND(alone));/\t;/
careless_vcl @ s/__atomic_add_fetch(&cache->unverified, 1, __ATOMIC_RELAXED)/cache->unverified/
forged @ s/^\thttp_ForceHeader(ctx->http_req, header_page, t->page);/\t;/
hit @ s/^\thttp_ForceHeader(ctx->http_req, header_version, t->version);/\t;/
two_lengths @ s/^\t\tstrip(ctx->http_bereq);/\t\t;/
echo @ s/^\thttp_Unset(ctx->http_bereq, header_version);/\t;/
forged @ s/if (t && !ctx->bo->uncacheable)/if (t)/
another_version @ s/!version_text_same(&v, &t->expected))/false)/
counters @ s/^\tcache_count(cache, RING_HITS);/\t;/
counters @ s/^\tcache_count(cache, RING_MISSES);/\t;/
not_offered @ s/^\t\tcache_count(cache, RING_UNOFFERED);/\t\t;/
not_offered @ s/^\t\tt->all = all;/\t\tt->all = true;/
not_offered @ s/^\t\tt->all = all;/\t\t;/
not_offered @ s/^\t\toffer_hit(&cache->offer);/\t\t;/
not_offered @ s/^\tt->offers = true;/\t;/
not_offered @ s/return t \&\& t->offers;/return t;/
counters @ s/cache_count_pass(cache, t ? t->why : 0);/;/
counters @ s/^\tt->stored = true;/\t;/
counters @ s/^\tt->offered = true;/\t;/
wrong_settings @ s/timeout >= 1e-6 && //
wrong_settings @ s/ && timeout <= 10//
wrong_settings @ s/^\tif (rc) {/\tif (false) {/
cold @ s/^\t\tring_pool_put(&pool, c->client);/\t\t;/
many_reloads @ s/ring_pool_get(&pool, c->path, &c->client)/ring_client_open(\&c->client, c->path)/
misplaced @ s/^\tif (ctx->method & methods)/\tif (true)/
LIST
}

# build_vmod SOURCE: libvmod_resex.so with this vmod_resex.c, in $tmp.
build_vmod() {
	(cd "$build" && ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -O1 -w -fPIC -fvisibility=hidden -shared -Wl,-u,Vmod_resex_Data \
		-I. -Isrc/vmod -I"$top" -I"$top/include" -I"$(pkg-config --variable=pkgincludedir varnishapi)" -o "$tmp/libvmod_resex.so" \
		"$1" src/vmod/libvmod_resex_so-task.o src/cache/libvmod_resex_so-*.o src/ring/libvmod_resex_so-*.o src/util/libvmod_resex_so-clock.o libvmod-generated.a)
}

# run_tests TEST...: 0 when all pass.
run_tests() {
	(cd "$build" && RESEX_PATIENCE=4 RESEX_VMODDIR=$tmp srcdir=$top python3 "$top/tests/cache/varnish.py" "$@") >"$tmp/out" 2>&1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
list | grep -e "$pattern" >"$tmp/list" || { echo "vmod_mutants: none match '$pattern'"; exit 1; }
build_vmod "$top/src/vmod/vmod_resex.c"
# shellcheck disable=SC2046
run_tests $(cut -d @ -f 1 "$tmp/list" | tr ' ' '\n' | sort -u) || { cat "$tmp/out"; echo "vmod_mutants: the tests are red on the code as it is"; exit 1; }
n=0 bad=0
while IFS= read -r line; do
	tests=${line%% @ *}
	n=$((n + 1))
	sed "${line#* @ }" "$top/src/vmod/vmod_resex.c" >"$tmp/vmod_resex.c"
	if cmp -s "$tmp/vmod_resex.c" "$top/src/vmod/vmod_resex.c" || ! build_vmod "$tmp/vmod_resex.c" >"$tmp/out" 2>&1; then
		cat "$tmp/out"
		echo "cannot be made: $line"
		bad=$((bad + 1))
		continue
	fi
	# shellcheck disable=SC2086
	if run_tests $tests; then
		echo "LIVES: $line"
		bad=$((bad + 1))
	fi
done <"$tmp/list"
echo "vmod_mutants: $((n - bad)) of $n noticed"
[ "$bad" -eq 0 ]
