/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shm_rig: hosts of the backend "shm" in one process and one folder, by a simulated time. */
#ifndef RESEX_TESTS_SHM_RIG_H
#define RESEX_TESTS_SHM_RIG_H

#include <errno.h>
#include <string.h>

#include "src/transport/shm/shm.h"
#include "tests/unit/tmpdir.h"

enum { HOSTS = 3, LOG = 512, BYTES = 4096 };

static const uint8_t key[] = "0123456789abcdef0123456789abcdef";

struct host {
	struct transport *t;
	struct transport_event log[LOG];
	size_t n;
};

struct rig {
	struct tmpdir dir;
	struct mono now;
	struct host host[HOSTS + 1]; /* from 1 */
	int load;		     /* transport_conf.fd of that part */
};

static inline struct rig *rig_new(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	r->now.ns = 1000 * NS_PER_S;
	return r;
}

static inline void rig_free(struct rig *r)
{
	for (int i = 1; i <= HOSTS; i++)
		transport_close(r->host[i].t);
	tmp_close(&r->dir);
	free(r);
}

static inline int try_open(struct rig *r, uint16_t host, uint64_t generation)
{
	struct transport_conf c = { .host = host,
				    .generation = generation,
				    .cluster = "test",
				    .key = key,
				    .key_len = sizeof(key),
				    .bytes = { BYTES, BYTES, BYTES },
				    .fd = { [TRANSPORT_LOAD] = r->load },
				    .seed = host };
	uint64_t words[BYTES / 8] = { 40, 41, 42 };
	char text[256] = "";

	snprintf(c.address, sizeof(c.address), "%s", r->dir.path);
	c.words = words;
	return transport_shm.open(&r->host[host].t, &c, r->now, text);
}

static inline void add(struct rig *r, uint16_t at, uint16_t host)
{
	struct transport_peer p = { .host = host };

	snprintf(p.name, sizeof(p.name), "h%u", host);
	snprintf(p.address, sizeof(p.address), "%s", r->dir.path);
	assert_int_equal(transport_add(r->host[at].t, &p, r->now), 0);
}

static inline void turn(struct rig *r)
{
	for (int i = 1; i <= HOSTS; i++) {
		struct host *h = &r->host[i];

		if (h->t)
			h->n += transport_poll(h->t, r->now, h->log + h->n, LOG - h->n);
		assert_true(h->n < LOG);
	}
}

/* Let simulated time pass, a millisecond a turn. */
static inline void pass(struct rig *r, int64_t ns)
{
	int64_t end = r->now.ns + ns;

	for (; r->now.ns < end; r->now.ns += NS_PER_MS)
		turn(r);
	r->now.ns = end;
	turn(r);
}

/* Where in the log of `at` is this event of `host`? From `from`; -1: nowhere. */
static inline int find(struct rig *r, uint16_t at, enum transport_event_type type, uint16_t host,
		       size_t from)
{
	for (size_t i = from; i < r->host[at].n; i++)
		if (r->host[at].log[i].type == type && r->host[at].log[i].host == host)
			return (int)i;
	return -1;
}

/* Hosts 1 and 2 with links to each other, no faults. */
static inline struct rig *rig_pair(void)
{
	struct rig *r = rig_new();

	assert_int_equal(try_open(r, 1, 1), 0);
	assert_int_equal(try_open(r, 2, 1), 0);
	add(r, 1, 2);
	add(r, 2, 1);
	pass(r, 20 * NS_PER_MS);
	assert_int_equal(transport_link(r->host[1].t, 2), 1);
	assert_int_equal(transport_link(r->host[2].t, 1), 1);
	return r;
}

static inline void post(struct rig *r, uint16_t at, struct transport_op op)
{
	int why = 0;

	if (!op.deadline.ns)
		op.deadline = mono_add(r->now, 100 * NS_PER_MS);
	if (transport_post(r->host[at].t, &op, 1, r->now, &why) != 1)
		fail_msg("post: %s", strerror(-why));
}

static inline struct transport_op op_faa(uint16_t host, uint32_t word, uint64_t value, uint64_t tag)
{
	return (struct transport_op){ .kind = TRANSPORT_FAA64,
				      .host = host,
				      .part = TRANSPORT_WORDS,
				      .offset = 8 * word,
				      .value = value,
				      .tag = tag };
}

static inline struct transport_op op_read(uint16_t host, enum transport_part part, uint32_t words,
					  uint64_t tag)
{
	return (struct transport_op){
		.kind = TRANSPORT_READ, .host = host, .part = part, .len = 8 * words, .tag = tag
	};
}

/* The event of the operation with this tag; NULL: not yet. */
static inline const struct transport_event *result(struct rig *r, uint16_t at, uint64_t tag)
{
	for (size_t i = 0; i < r->host[at].n; i++)
		if (r->host[at].log[i].type == TRANSPORT_RESULT && r->host[at].log[i].tag == tag)
			return &r->host[at].log[i];
	return NULL;
}

/* The words of a host, as its memory has them now: what no transport can show. */
static inline uint64_t word_of(struct rig *r, uint16_t host, uint32_t word)
{
	return ((volatile uint64_t *)shm_of(r->host[host].t)->region.mem[TRANSPORT_WORDS])[word];
}

static inline void faults(struct rig *r, uint16_t at, struct shm_faults f)
{
	assert_int_equal(transport_shm_faults(r->host[at].t, &f), 0);
}

#endif
