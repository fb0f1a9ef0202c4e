// SPDX-License-Identifier: GPL-2.0-or-later
/* task: see task.h. Tasks are in their own workspace, and go with it. */
#include "config.h"

#include "cache/cache.h"

#include "VSC_resex.h"
#include "src/vmod/task.h"

/* A fetch has ended. */
static void task_fini(VRT_CTX, void *priv)
{
	struct task *t;

	(void)ctx;
	CAST_OBJ_NOTNULL(t, priv, TASK_MAGIC);
	if (t->offered)
		cache_count(t->cache, t->stored ? RING_STORED : RING_REFUSED);
}

static const struct vmod_priv_methods task_methods = {
	.magic = VMOD_PRIV_METHODS_MAGIC,
	.type = "resex task",
	.fini = task_fini,
};

struct task *task_find(VRT_CTX, const struct vmod_resex_cache *cache)
{
	const struct vmod_priv *p = VRT_priv_task_get(ctx, cache);
	struct task *t;

	if (!p || !p->priv)
		return NULL;
	CAST_OBJ_NOTNULL(t, p->priv, TASK_MAGIC);
	return t;
}

struct task *task_make(VRT_CTX, struct vmod_resex_cache *cache)
{
	struct vmod_priv *p = VRT_priv_task(ctx, cache);
	struct task *t = p ? p->priv : NULL;
	bool offered = t && t->offered;

	if (p && !t)
		t = WS_Alloc(ctx->ws, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct task){ .magic = TASK_MAGIC, .cache = cache, .offered = offered };
	p->priv = t;
	p->methods = &task_methods;
	return t;
}

static void add(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

void cache_count(struct vmod_resex_cache *cache, enum ring_count what)
{
	uint64_t *counter[RING_COUNTS] = {
		[RING_HITS] = &cache->vsc->hits,       [RING_MISSES] = &cache->vsc->misses,
		[RING_PASSES] = &cache->vsc->passes,   [RING_STORED] = &cache->vsc->stored,
		[RING_REFUSED] = &cache->vsc->refused, [RING_UNOFFERED] = &cache->vsc->unoffered,
	};

	add(counter[what]);
	if (cache->client)
		ring_client_count(cache->client, what);
}

void cache_count_pass(struct vmod_resex_cache *cache, uint32_t why)
{
	struct VSC_resex *v = cache->vsc;

	cache_count(cache, RING_PASSES);
	switch (why) {
	case RING_NO_SERVER:
		add(&v->not_server);
		break;
	case RING_TIMEOUT:
		add(&v->not_time);
		break;
	case RING_FULL:
		add(&v->not_slot);
		break;
	case CACHE_RING_NO_HOME:
		add(&v->not_home);
		break;
	case CACHE_RING_CLOSED:
		add(&v->not_open);
		break;
	case CACHE_RING_STALE:
		add(&v->not_fresh);
		break;
	case CACHE_RING_LOST:
		add(&v->not_read);
		break;
	case 0:
		add(&v->not_asked);
		break;
	default: /* CACHE_RING_BAD, RING_RUBBISH */
		add(&v->not_answer);
		break;
	}
}
