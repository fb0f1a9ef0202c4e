// SPDX-License-Identifier: GPL-2.0-or-later
/* fake_node: step functions on words in memory. See fake_node.h. */
#include "config.h"

#include "tests/fakes/fake_node.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/cache/fresh.h"

struct node *fake_node_new(void)
{
	struct node *n = calloc(1, sizeof(*n));

	assert(n);
	n->now.ns = 1000 * NS_PER_MS;
	n->home_ns = 5000 * NS_PER_MS;
	n->tags = 1;
	return n;
}

void fake_node_free(struct node *n)
{
	free(n);
}

static void step(struct node *n, struct node_user *u, const struct step_event *ev)
{
	struct step_out out = { .n = 0 };

	u->step(u->state, ev, n->now, &out);
	for (uint32_t i = 0; i < out.n; i++) {
		assert(n->ops < FAKE_NODE_OPS && out.op[i].host < FAKE_NODE_HOSTS);
		assert(out.op[i].tag - u->tag < u->tags);
		n->op[n->ops++] = (struct fake_node_op){ out.op[i], n->link[out.op[i].host] };
	}
	if (u->after)
		u->after(u->owner);
}

static void step_all(struct node *n, const struct step_event *ev)
{
	for (uint32_t i = 0; i < n->users; i++)
		step(n, &n->user[i], ev);
}

uint32_t node_tags(struct node *n, uint32_t tags)
{
	n->tags += tags;
	return n->tags - tags;
}

int node_add(struct node *n, const struct node_user *u)
{
	if (n->full)
		return -ENOSPC;
	assert(n->users < FAKE_NODE_USERS);
	n->user[n->users++] = *u;
	return 0;
}

void node_ask(struct node *n, const void *state, uint32_t what, const void *wish)
{
	const struct step_event ev = { .type = STEP_ASK, .what = what, .wish = wish };

	for (uint32_t i = 0; i < n->users; i++)
		if (n->user[i].state == state)
			step(n, &n->user[i], &ev);
}

struct mono node_now(const struct node *n)
{
	return n->now;
}

uint32_t node_link(const struct node *n, uint16_t host)
{
	return n->link[host];
}

/* A copy, as it is now. */
int node_share(const struct node *n, uint16_t host, int *fd)
{
	if (n->far)
		return -EOPNOTSUPP;
	*fd = memfd_create("fake-versions", MFD_CLOEXEC);
	assert(*fd >= 0);
	assert(write(*fd, n->version[host], sizeof(n->version[host])) ==
	       (ssize_t)sizeof(n->version[host]));
	return 0;
}

static void result(struct node *n, const struct fake_node_op *o, enum step_outcome outcome)
{
	struct step_event ev = { .type = STEP_RESULT,
				 .host = o->op.host,
				 .link = o->link,
				 .tag = o->op.tag,
				 .outcome = outcome };

	if (o->op.kind == STEP_READ && outcome == STEP_DONE) {
		assert(o->op.part == STEP_VERSIONS && o->op.offset / 8 < FAKE_NODE_WORDS);
		ev.data = &n->version[o->op.host][o->op.offset / 8];
		ev.words = o->op.len / 8;
		ev.old = ev.data[0];
		n->reads++;
	}
	for (uint32_t i = 0; i < n->users; i++)
		if (o->op.tag - n->user[i].tag < n->user[i].tags)
			step(n, &n->user[i], &ev);
}

/* The home's transport has the message; the home answers. */
static void answer(struct node *n, const struct fake_node_op *o)
{
	struct mono clock = { n->now.ns + n->home_ns };
	struct fresh_answer a;

	n->sends++;
	if (fresh_reply(o->op.data, o->op.len, clock, &a)) {
		const struct step_event ev = {
			.type = STEP_MESSAGE, .host = o->op.host, .message = &a, .len = sizeof(a)
		};

		step_all(n, &ev);
	}
}

static struct fake_node_op take(struct node *n)
{
	struct fake_node_op o = n->op[0];

	n->ops--;
	for (uint32_t i = 0; i < n->ops; i++)
		n->op[i] = n->op[i + 1];
	return o;
}

void fake_node_run(struct node *n)
{
	while (n->ops) {
		struct fake_node_op o = take(n);

		if (!o.link || o.link != n->link[o.op.host]) {
			result(n, &o, STEP_LOST);
			continue;
		}
		if (o.op.kind == STEP_SEND)
			answer(n, &o);
		result(n, &o, STEP_DONE);
	}
}

void fake_node_link(struct node *n, uint16_t host)
{
	static const uint32_t first = 7;
	struct step_event ev = { .type = STEP_LINK, .host = host };

	for (uint16_t h = 0; h < FAKE_NODE_HOSTS; h++) /* no two links have one number here */
		ev.link = ev.link > n->link[h] ? ev.link : n->link[h];
	ev.link = ev.link ? ev.link + 1 : first;
	n->link[host] = ev.link;
	step_all(n, &ev);
}

void fake_node_cut(struct node *n, uint16_t host)
{
	uint32_t ops = n->ops;

	for (uint32_t i = 0; i < ops; i++) {
		struct fake_node_op o = take(n);

		if (o.op.host == host)
			result(n, &o, STEP_LOST);
		else
			n->op[n->ops++] = o;
	}
	n->link[host] = 0;
}

void fake_node_pass(struct node *n, int64_t ns)
{
	const struct step_event ev = { .type = STEP_TICK };

	n->now.ns += ns;
	for (uint32_t i = 0; i < n->users; i++)
		if (n->user[i].due(n->user[i].state).ns <= n->now.ns)
			step(n, &n->user[i], &ev);
}

void fake_node_beat(struct node *n, uint16_t host)
{
	n->version[host][REGION_CACHE_BEAT / 8] = (uint64_t)(n->now.ns + n->home_ns);
}
