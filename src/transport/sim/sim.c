// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim: the SIMULATED backend; see sim.h. All READs take the same time, so they are one queue in the
 * order in which they were posted: the first ones have been read and are on their way back.
 */
#include "src/transport/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/transport/backend.h"

/* A READ under way. */
struct sim_read {
	struct transport_out *out;
	struct transport_slot *slot; /* NULL: its link has ended */
	int64_t there_ns, back_ns;
};

struct sim_room {
	void *data;
	uint32_t len;
};

struct sim {
	struct transport t; /* first */
	struct transport_sim conf;
	struct sim_read *queue; /* a ring; room is a power of two */
	uint32_t room, head, n, read;
	struct sim_room *data[TRANSPORT_HOSTS_MAX]; /* of each slot of a link */
};

static struct sim *sim_of(struct transport *t)
{
	return (struct sim *)(void *)t;
}

static struct sim_read *nth(struct sim *s, uint32_t i)
{
	return &s->queue[(s->head + i) & (s->room - 1)];
}

static void sim_close(struct transport *t)
{
	struct sim *s = sim_of(t);

	for (int i = 0; i < TRANSPORT_HOSTS_MAX; i++) {
		for (int k = 0; s->data[i] && k < TRANSPORT_SLOTS; k++)
			free(s->data[i][k].data);
		free(s->data[i]);
	}
	free(s->queue);
	front_fini(t);
	free(s);
}

static int sim_call(struct transport *t, struct transport_out *o, struct mono now)
{
	const struct sim *s = sim_of(t);
	const struct hello_self peer = { .generation = s->conf.generation,
					 .start = s->conf.generation,
					 .role = TRANSPORT_MEMBER };

	return front_up(t, o, &peer, s->conf.bytes, now);
}

static void sim_hang_up(struct transport *t, struct transport_out *o)
{
	struct sim *s = sim_of(t);

	for (uint32_t i = 0; i < s->n; i++)
		if (nth(s, i)->out == o)
			nth(s, i)->slot = NULL;
}

static int grow_queue(struct sim *s)
{
	uint32_t room = s->room ? 2 * s->room : 4;
	struct sim_read *more;

	if (s->n < s->room)
		return 0;
	more = calloc(room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		more[i] = *nth(s, i);
	free(s->queue);
	s->queue = more;
	s->room = room;
	s->head = 0;
	return 0;
}

/* The slot's own memory, so that the data stays until the slot is free again. NULL: none. */
static void *data_of(struct sim *s, const struct transport_slot *slot)
{
	struct sim_room **link = &s->data[slot->op.host - 1], *r;
	void *more;

	if (!*link)
		*link = calloc(TRANSPORT_SLOTS, sizeof(**link));
	if (!*link)
		return NULL;
	r = &(*link)[slot->index];
	if (slot->op.len > r->len) {
		more = realloc(r->data, slot->op.len);
		if (!more)
			return NULL;
		r->data = more;
		r->len = slot->op.len;
	}
	return r->data;
}

/* A READ: of a client without rights the front refuses all else. */
static int sim_submit(struct transport *t, struct transport_out *o, struct transport_slot *slot,
		      struct mono now)
{
	struct sim *s = sim_of(t);

	if (grow_queue(s) || !data_of(s, slot))
		return -ENOMEM;
	*nth(s,
	     s->n++) = (struct sim_read){ .out = o,
					  .slot = slot,
					  .there_ns = now.ns + s->conf.there_ns,
					  .back_ns = now.ns + s->conf.there_ns + s->conf.back_ns };
	return 0;
}

static void sim_progress(struct transport *t, struct mono now)
{
	struct sim *s = sim_of(t);

	for (; s->read < s->n && nth(s, s->read)->there_ns <= now.ns; s->read++) {
		const struct transport_slot *slot = nth(s, s->read)->slot;

		if (slot)
			s->conf.read(s->conf.arg, slot->op.host, slot->op.part, slot->op.offset,
				     slot->op.len, now, data_of(s, slot));
	}
	while (s->read && nth(s, 0)->back_ns <= now.ns) {
		const struct sim_read r = *nth(s, 0);

		s->head = (s->head + 1) & (s->room - 1);
		s->n--;
		s->read--;
		if (r.slot)
			front_done(t, r.out, r.slot, TRANSPORT_DONE, 0, data_of(s, r.slot), 0);
	}
}

static int sim_fd(struct transport *t)
{
	(void)t;
	return -1;
}

static int sim_arm(struct transport *t, struct mono now, struct mono *due)
{
	struct sim *s = sim_of(t);

	(void)now;
	if (s->read && nth(s, 0)->back_ns < due->ns)
		due->ns = nth(s, 0)->back_ns;
	if (s->read < s->n && nth(s, s->read)->there_ns < due->ns)
		due->ns = nth(s, s->read)->there_ns;
	return 0;
}

/* It is a client: evict and serves are of those that serve. */
static const struct transport_ops ops = {
	.close = sim_close,
	.call = sim_call,
	.hang_up = sim_hang_up,
	.submit = sim_submit,
	.progress = sim_progress,
	.fd = sim_fd,
	.arm = sim_arm,
};

int transport_sim_open(struct transport **t, const struct transport_sim *conf, uint16_t host,
		       struct mono now, char text[static 256])
{
	static const uint8_t key[TRANSPORT_KEY_MIN] = { 0 }; /* nobody else is there to know it */
	const struct transport_conf c = { .host = host,
					  .generation = 1,
					  .start = 1,
					  .role = TRANSPORT_CLIENT,
					  .cluster = "simulated",
					  .key = key,
					  .key_len = sizeof(key) };
	struct sim *s;
	int rc;

	if (conf->there_ns < 0 || conf->back_ns < 0 || !conf->generation || !conf->read) {
		snprintf(text, 256, "a time, the generation or the memory is out of range");
		return -EINVAL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		snprintf(text, 256, "there is no memory for the transport");
		return -ENOMEM;
	}
	s->conf = *conf;
	rc = front_init(&s->t, &ops, &c, now, text);
	if (rc) {
		free(s);
		return rc;
	}
	*t = &s->t;
	return 0;
}
