/* SPDX-License-Identifier: GPL-2.0-or-later */
/* front_rig: the transport's front on a backend that does what the test says. */
#ifndef RESEX_TESTS_FRONT_RIG_H
#define RESEX_TESTS_FRONT_RIG_H

#include <errno.h>
#include <string.h>

#include "src/transport/backend.h"
#include "tests/unit/prop.h"

enum { SENT_MAX = 4096, BYTES = 4096, START = 77 };

/* What a host of this generation sends about itself; the start is always the same. */
#define SELF(g) ((struct hello_self){ .generation = (g), .start = START })

static const uint8_t key[] = "a key that nobody should ever see";
static const size_t parts[TRANSPORT_PARTS] = { BYTES, 2 * BYTES };

struct fake {
	struct transport t;
	int call_rc, submit_rc, flush_rc;
	unsigned flushes;
	bool done_at_once, up_at_once, down_in_submit;
	unsigned calls[TRANSPORT_HOSTS_MAX + 1], hung_up[TRANSPORT_HOSTS_MAX + 1];
	uint16_t evicted;
	struct hostset serves;		       /* hosts that have a link to us */
	struct transport_slot *sent[SENT_MAX]; /* in the order given */
	uint64_t tag[SENT_MAX];
	size_t n;
	bool *closed_clean;
};

struct rig {
	struct fake *f;
	struct mono now;
	struct transport_event ev[2048];
	size_t n;
	bool closed_clean;
};

static inline struct fake *fake_of(struct transport *t)
{
	return (struct fake *)t;
}

static inline void fake_close(struct transport *t)
{
	struct fake *f = fake_of(t);

	front_fini(t);
	*f->closed_clean = !t->key && !t->conf.key;
	free(f);
}

static inline int fake_call(struct transport *t, struct transport_out *o, struct mono now)
{
	struct fake *f = fake_of(t);

	f->calls[o->peer.host]++;
	if (f->up_at_once)
		assert_int_equal(front_up(t, o, &SELF(1), parts, now), 0);
	return f->call_rc;
}

static inline void fake_hang_up(struct transport *t, struct transport_out *o)
{
	fake_of(t)->hung_up[o->peer.host]++;
}

static inline void fake_evict(struct transport *t, uint16_t host)
{
	fake_of(t)->evicted = host;
}

static inline bool fake_serves(const struct transport *t, uint16_t host)
{
	return hostset_has(&((const struct fake *)t)->serves, host);
}

static inline int fake_submit(struct transport *t, struct transport_out *o,
			      struct transport_slot *s, struct mono now)
{
	struct fake *f = fake_of(t);

	assert_int_equal(s->state, SLOT_SENT);
	if (f->down_in_submit)
		front_down(t, o, -EIO, "broke meanwhile", now);
	if (f->submit_rc)
		return f->submit_rc;
	assert_true(f->n < SENT_MAX);
	f->tag[f->n] = s->op.tag;
	f->sent[f->n++] = s;
	if (f->done_at_once)
		front_done(t, o, s, TRANSPORT_DONE, s->op.tag + 1, key, 0);
	return 0;
}

static inline int fake_flush(struct transport *t, struct transport_out *o)
{
	(void)o;
	fake_of(t)->flushes++;
	return fake_of(t)->flush_rc;
}

static inline void fake_progress(struct transport *t, struct mono now)
{
	(void)t;
	(void)now;
}

static inline int fake_fd(struct transport *t)
{
	(void)t;
	return 99;
}

static inline int fake_arm(struct transport *t, struct mono now, struct mono *due)
{
	(void)t;
	(void)now;
	(void)due;
	return 0;
}

static const struct transport_ops ops = {
	.close = fake_close,
	.call = fake_call,
	.hang_up = fake_hang_up,
	.evict = fake_evict,
	.serves = fake_serves,
	.submit = fake_submit,
	.flush = fake_flush,
	.progress = fake_progress,
	.fd = fake_fd,
	.arm = fake_arm,
};

static inline struct transport_conf conf_good(void)
{
	return (struct transport_conf){ .host = 1,
					.generation = 5,
					.start = START,
					.cluster = "test",
					.key = key,
					.key_len = sizeof(key),
					.address = "here",
					.bytes = { BYTES, BYTES },
					.seed = 42 };
}

static inline struct rig *rig_with(const struct transport_conf *c)
{
	struct rig *r = calloc(1, sizeof(*r));
	char text[256];

	assert_non_null(r);
	r->now.ns = 1000 * NS_PER_S;
	r->f = calloc(1, sizeof(*r->f));
	assert_non_null(r->f);
	r->f->closed_clean = &r->closed_clean;
	assert_int_equal(front_init(&r->f->t, &ops, c, r->now, text), 0);
	return r;
}

static inline struct rig *rig_new(void)
{
	struct transport_conf c = conf_good();

	return rig_with(&c);
}

static inline void rig_free(struct rig *r)
{
	transport_close(&r->f->t);
	assert_true(r->closed_clean);
	free(r);
}

static inline int add(struct rig *r, uint16_t host)
{
	struct transport_peer p = { .host = host, .name = "peer", .address = "there" };

	return transport_add(&r->f->t, &p, r->now);
}

static inline void poll_all(struct rig *r)
{
	r->n = transport_poll(&r->f->t, r->now, r->ev, 2048);
}

static inline struct transport_out *out(struct rig *r, uint16_t host)
{
	return &r->f->t.out[host - 1];
}

static inline void up(struct rig *r, uint16_t host, uint64_t generation)
{
	assert_int_equal(front_up(&r->f->t, out(r, host), &SELF(generation), parts, r->now), 0);
}

/* The link to host 2 is up, and the user has the event. */
static inline struct rig *rig_up(void)
{
	struct rig *r = rig_new();

	assert_int_equal(add(r, 2), 0);
	poll_all(r);
	assert_int_equal(r->f->calls[2], 1);
	up(r, 2, 7);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].type, TRANSPORT_UP);
	assert_int_equal(r->ev[0].generation, 7);
	assert_int_equal(r->ev[0].link, 1);
	return r;
}

static inline struct transport_op op(struct rig *r, enum transport_kind kind, uint64_t tag)
{
	struct transport_op o = { .kind = kind,
				  .host = 2,
				  .part = TRANSPORT_WORDS,
				  .len = 8,
				  .tag = tag,
				  .data = key,
				  .deadline = mono_add(r->now, NS_PER_S) };
	return o;
}

static inline int post(struct rig *r, struct transport_op o)
{
	int why = 0;
	size_t n = transport_post(&r->f->t, &o, 1, r->now, &why);

	assert_true((n == 1) == (why == 0));
	return why;
}

static inline void done(struct rig *r, size_t i)
{
	front_done(&r->f->t, out(r, r->f->sent[i]->op.host), r->f->sent[i], TRANSPORT_DONE, 3, key,
		   0);
}

#endif
