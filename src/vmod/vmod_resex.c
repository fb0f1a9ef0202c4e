// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmod_resex: Varnish in front of a coherent cache (man vmod_resex(3), etc/cache/resex.vcl).
 *
 *	client's task	lookup: asks the ring; hash: adds the version; hit, or
 *			fill: gives the version to the fetch, in headers
 *	fetch's task	fetch: takes it out of bereq; storable: compares it with the response's
 *
 * No page is served out of the cache whose version was not verified for this request, whatever the
 * VCL forgets: what was not verified is hashed to what no other request has, and what was not
 * offered is not storable.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cache/cache.h"
#include "vcl.h"
#include "vsb.h"

#include "VSC_resex.h"
#include "src/ring/ring_pool.h"
#include "src/util/clock.h"
#include "src/vmod/task.h"
#include "vcc_resex_if.h"

/* As Varnish wants names of headers: the length in front, the colon behind. */
static const char header_page[] = "\013resex-page:";
static const char header_version[] = "\016resex-version:";
static const char ours[] = "resex-";

/* A method where it has no meaning is an error of the VCL. */
static bool is_called_in(VRT_CTX, unsigned methods, const char *method, const char *where)
{
	CHECK_OBJ_NOTNULL(ctx, VRT_CTX_MAGIC);
	if (ctx->method & methods)
		return true;
	VRT_fail(ctx, "resex: %s() has a meaning in %s alone: call it there", method, where);
	return false;
}

/* --- headers --- */

static bool is_ours(txt h)
{
	return Tlen(h) >= sizeof(ours) - 1 && !strncasecmp(h.b, ours, sizeof(ours) - 1);
}

static void strip(struct http *h)
{
	unsigned unset = (unsigned)h->logtag + HTTP_HDR_UNSET - HTTP_HDR_METHOD;
	uint16_t to = HTTP_HDR_FIRST;

	for (uint16_t from = HTTP_HDR_FIRST; from < h->nhd; from++) {
		if (is_ours(h->hd[from])) {
			if (h->vsl)
				VSLbt(h->vsl, (enum VSL_tag_e)unset, h->hd[from]);
			continue;
		}
		h->hd[to] = h->hd[from];
		h->hdf[to] = h->hdf[from];
		to++;
	}
	h->nhd = to;
}

VCL_VOID vmod_strip(VRT_CTX, VCL_HTTP h)
{
	CHECK_OBJ_NOTNULL(ctx, VRT_CTX_MAGIC);
	if (h) /* none in this subroutine */
		strip(h);
}

/* The version that the headers say; false: none does, or more than one. */
static bool read_version(const struct http *h, struct version_text *v)
{
	const char *text = NULL;

	return http_CountHdr(h, header_version) == 1 && http_GetHdr(h, header_version, &text) &&
	       version_text_read(v, text);
}

/* --- the client's task --- */

/* Its task; NULL: it was not verified. */
static struct task *verified(VRT_CTX, const struct vmod_resex_cache *cache)
{
	struct task *t = task_find(ctx, cache);

	return t && t->why == CACHE_RING_VERIFIED ? t : NULL;
}

static struct ring_answer ask(struct vmod_resex_cache *cache, const char *key, bool all)
{
	if (!cache->client)
		return (struct ring_answer){ .why = RING_NO_SERVER };
	return ring_client_ask(cache->client, cache_ring_key(key, strlen(key)),
			       all ? CACHE_RING_ALL : 0, cache->timeout_ns);
}

/* For varnishlog(1): why a request is passed. */
static void say_why(VRT_CTX, const struct vmod_resex_cache *cache, uint32_t why)
{
	int state = cache->client ? ring_client_state(cache->client) : 0;

	if (why == RING_NO_SERVER && state)
		VSLb(ctx->vsl, SLT_VCL_Error,
		     "resex %s: %s: %s: is resex-cached running, and may %s", cache->name,
		     cache->path, strerror(-state), "varnishd use its socket?");
	else
		VSLb(ctx->vsl, SLT_VCL_Error, "resex %s: not verified: %s", cache->name,
		     why ? ring_why_text(why) : "no key, or no room in workspace_client");
}

VCL_BOOL vmod_cache_lookup(VRT_CTX, struct vmod_resex_cache *cache, VCL_STRING key, VCL_BOOL all)
{
	struct ring_answer a;
	struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_RECV, ".lookup", "vcl_recv"))
		return 0;
	t = task_make(ctx, cache);
	if (t && key && *key) {
		a = ask(cache, key, all);
		t->why = a.why;
		t->key = key;
		t->all = all;
	}
	if (!t || t->why != CACHE_RING_VERIFIED) {
		cache_count_pass(cache, t ? t->why : 0);
		say_why(ctx, cache, t ? t->why : 0);
		return 0;
	}
	t->expected = (struct version_text){ a.home, a.word, a.version };
	version_text_page(&t->expected, t->page);
	version_text_write(&t->expected, t->version);
	return 1;
}

VCL_VOID vmod_cache_hash(VRT_CTX, struct vmod_resex_cache *cache)
{
	const struct task *t;
	char alone[64];

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_HASH, ".hash", "vcl_hash"))
		return;
	t = verified(ctx, cache);
	if (t) {
		VRT_hashdata(ctx, TOSTRANDS(2, t->key, t->version));
		return;
	}
	snprintf(alone, sizeof(alone), "not verified %" PRIx64 " %" PRIxPTR " %" PRIx64,
		 cache->born, (uintptr_t)cache,
		 __atomic_add_fetch(&cache->unverified, 1, __ATOMIC_RELAXED));
	VRT_hashdata(ctx, TOSTRAND(alone));
}

VCL_BOOL vmod_cache_hit(VRT_CTX, struct vmod_resex_cache *cache)
{
	const struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_HIT, ".hit", "vcl_hit"))
		return 0;
	t = verified(ctx, cache);
	if (!t)
		return 0;
	if (t->all)
		offer_hit(&cache->offer);
	cache_count(cache, RING_HITS);
	return 1;
}

VCL_BOOL vmod_cache_fill(VRT_CTX, struct vmod_resex_cache *cache)
{
	struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_MISS, ".fill", "vcl_miss"))
		return 0;
	t = verified(ctx, cache);
	if (!t)
		return 0;
	cache_count(cache, RING_MISSES);
	if (t->all && !offer_miss(&cache->offer, t->expected.home, t->expected.version)) {
		cache_count(cache, RING_UNOFFERED);
		return 0;
	}
	t->offers = true;
	/* Instead of a client's own. */
	http_ForceHeader(ctx->http_req, header_page, t->page);
	http_ForceHeader(ctx->http_req, header_version, t->version);
	return 1;
}

static VCL_STRING text_of(VRT_CTX, const struct vmod_resex_cache *cache, const char *method,
			  size_t offset)
{
	const struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_TASK_C, method, "subroutines of the client's side"))
		return NULL;
	t = verified(ctx, cache);
	return t ? (const char *)t + offset : NULL;
}

VCL_STRING vmod_cache_page(VRT_CTX, struct vmod_resex_cache *cache)
{
	return text_of(ctx, cache, ".page", offsetof(struct task, page));
}

VCL_STRING vmod_cache_version(VRT_CTX, struct vmod_resex_cache *cache)
{
	return text_of(ctx, cache, ".version", offsetof(struct task, version));
}

VCL_BOOL vmod_cache_offered(VRT_CTX, struct vmod_resex_cache *cache)
{
	const struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_TASK_C, ".offered", "subroutines of the client's side"))
		return 0;
	t = verified(ctx, cache);
	return t && t->offers;
}

VCL_STRING vmod_cache_why(VRT_CTX, struct vmod_resex_cache *cache)
{
	const struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_TASK_C, ".why", "subroutines of the client's side"))
		return NULL;
	t = task_find(ctx, cache);
	return t && t->why ? ring_why_text(t->why) : "not asked";
}

/* --- the fetch's task --- */

VCL_BOOL vmod_cache_fetch(VRT_CTX, struct vmod_resex_cache *cache)
{
	struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_BACKEND_FETCH | VCL_MET_PIPE, ".fetch",
			  "vcl_backend_fetch and vcl_pipe"))
		return 0;
	t = ctx->method == VCL_MET_PIPE ? NULL : task_make(ctx, cache);
	if (t && !ctx->bo->uncacheable)
		t->expects = read_version(ctx->http_bereq, &t->expected);
	if (!t || !t->expects) {
		/* A pass, or an attempt after the first: perhaps with headers of a client. */
		strip(ctx->http_bereq);
		return 0;
	}
	t->offered = true;
	/* Else an application that gives headers back would seem to have registered the page. */
	http_Unset(ctx->http_bereq, header_version);
	return 1;
}

VCL_BOOL vmod_cache_storable(VRT_CTX, struct vmod_resex_cache *cache)
{
	struct version_text v;
	struct task *t;

	CHECK_OBJ_NOTNULL(cache, CACHE_MAGIC);
	if (!is_called_in(ctx, VCL_MET_BACKEND_RESPONSE, ".storable", "vcl_backend_response"))
		return 0;
	t = task_find(ctx, cache);
	if (!t || !t->expects || !read_version(ctx->http_beresp, &v) ||
	    !version_text_same(&v, &t->expected))
		return 0;
	t->stored = true;
	return 1;
}

/* --- objects --- */

/*
 * Varnish gives a VMOD no place for what all VCLs of a process share: so this is the one global. It
 * is used when a VCL becomes warm or cold, never by a request.
 */
static struct ring_pool pool = RING_POOL_INIT;

/* Of one VCL: what its events are for. */
struct list {
	struct vmod_resex_cache *first;
};

static void free_list(VRT_CTX, void *priv)
{
	(void)ctx;
	free(priv);
}

static const struct vmod_priv_methods list_methods = {
	.magic = VMOD_PRIV_METHODS_MAGIC,
	.type = "resex objects",
	.fini = free_list,
};

static struct list *list_of(struct vmod_priv *vcl)
{
	if (!vcl->priv) {
		vcl->priv = calloc(1, sizeof(struct list));
		AN(vcl->priv);
		vcl->methods = &list_methods;
	}
	return vcl->priv;
}

VCL_VOID vmod_cache__init(VRT_CTX, struct vmod_resex_cache **out, const char *name,
			  struct vmod_priv *vcl, VCL_STRING ring, VCL_DURATION timeout)
{
	struct list *list = list_of(vcl);
	struct vmod_resex_cache *c;
	struct clock clock;
	int rc;

	CHECK_OBJ_NOTNULL(ctx, VRT_CTX_MAGIC);
	if (!(timeout >= 1e-6 && timeout <= 10)) {
		VRT_fail(ctx, "resex: %s: the timeout %gs is out of range: 1us to 10s", name,
			 timeout);
		return;
	}
	rc = ring_client_check(ring ? ring : "");
	if (rc) {
		VRT_fail(ctx, "resex: %s: the path \"%s\" of the ring cannot be used: %s", name,
			 ring ? ring : "", strerror(-rc));
		return;
	}
	c = calloc(1, sizeof(*c));
	AN(c);
	c->magic = CACHE_MAGIC;
	c->name = strdup(name);
	c->path = strdup(ring);
	AN(c->name && c->path);
	c->timeout_ns = llround(timeout * 1e9);
	clock_real(&clock);
	c->born = clock.now(&clock).ns;
	c->vsc = VSC_resex_New(NULL, &c->seg, "%s.%s", VCL_Name(ctx->vcl), name);
	AN(c->vsc);
	c->next = list->first;
	list->first = c;
	*out = c;
}

VCL_VOID vmod_cache__fini(struct vmod_resex_cache **cache)
{
	struct vmod_resex_cache *c = *cache;

	*cache = NULL;
	if (!c)
		return;
	CHECK_OBJ(c, CACHE_MAGIC);
	ring_pool_put(&pool, c->client);
	VSC_resex_Destroy(&c->seg);
	free(c->name);
	free(c->path);
	FREE_OBJ(c);
}

static int warm(VRT_CTX, struct list *list)
{
	for (struct vmod_resex_cache *c = list->first; c; c = c->next) {
		int rc = ring_pool_get(&pool, c->path, &c->client);

		if (rc) {
			VSB_printf(ctx->msg, "resex: %s: no thread for the ring: %s\n", c->name,
				   strerror(-rc));
			return 1;
		}
		VRT_VSC_Reveal(c->seg);
	}
	/* Else the first requests after a reload would all be passed. */
	for (struct vmod_resex_cache *c = list->first; c; c = c->next)
		ring_client_settle(c->client);
	return 0;
}

static void cool(struct list *list)
{
	for (struct vmod_resex_cache *c = list->first; c; c = c->next) {
		ring_pool_put(&pool, c->client);
		c->client = NULL;
		VRT_VSC_Hide(c->seg);
	}
}

/* The connection ends with the last VCL that is warm: resex-cached has room for a few. */
int vmod_event(VRT_CTX, struct vmod_priv *vcl, enum vcl_event_e e)
{
	CHECK_OBJ_NOTNULL(ctx, VRT_CTX_MAGIC);
	switch (e) {
	case VCL_EVENT_WARM:
		return warm(ctx, list_of(vcl));
	case VCL_EVENT_COLD:
		cool(list_of(vcl));
		return 0;
	default:
		return 0;
	}
}
