// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ringd PATH: what resex-cached is for a proxy, as the test wants it: all pages have one version,
 * which the test moves. A line on standard input is a command, and is answered by a line:
 *
 *	version HEX	from now on
 *	word N		all pages have this word, 0: each its own
 *	why N		enum cache_ring_why of all answers from now on
 *	hold 0|1	give no answers
 *	stop, start	as a process that is killed, and comes back; the counts are of its life
 *	counts		hits misses passes stored refused, of the newest connection
 *	alive		connections
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake_ringd.h"

struct ringd {
	struct fake_ringd_conf conf;
	struct fake_ringd *f; /* NULL: stopped */
	uint64_t version;
	uint32_t why, word;
};

static void answer(void *arg, struct cache_ring_slot *s)
{
	struct ringd *r = arg;

	s->why = __atomic_load_n(&r->why, __ATOMIC_SEQ_CST);
	s->version = __atomic_load_n(&r->version, __ATOMIC_SEQ_CST);
	s->home = 1 + (uint32_t)(s->key % 3);
	s->word = __atomic_load_n(&r->word, __ATOMIC_SEQ_CST);
	if (s->flags & CACHE_RING_ALL)
		s->word = 0;
	else if (s->word)
		s->home = 1;
	else
		s->word = 1 + (uint32_t)(s->key % 65535);
}

static uint64_t count(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_SEQ_CST);
}

static void say_counts(struct ringd *r)
{
	const struct cache_ring_header *h = r->f ? fake_ringd_header(r->f) : NULL;

	if (h)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		       count(&h->hits), count(&h->misses), count(&h->passes), count(&h->stored),
		       count(&h->refused));
	else
		puts("0 0 0 0 0");
}

static void hold(struct ringd *r, bool holds)
{
	if (r->f)
		fake_ringd_hold(r->f, holds);
}

static void stop(struct ringd *r)
{
	if (r->f)
		fake_ringd_stop(r->f, false);
	r->f = NULL;
}

static void start(struct ringd *r)
{
	if (!r->f)
		r->f = fake_ringd_start(&r->conf);
}

static void obey(struct ringd *r, const char *verb, uint64_t n)
{
	if (!strcmp(verb, "counts")) {
		say_counts(r);
		return;
	}
	if (!strcmp(verb, "alive")) {
		printf("%" PRIu32 "\n", r->f ? fake_ringd_alive(r->f) : 0);
		return;
	}
	if (!strcmp(verb, "version"))
		__atomic_store_n(&r->version, n, __ATOMIC_SEQ_CST);
	else if (!strcmp(verb, "word"))
		__atomic_store_n(&r->word, (uint32_t)n, __ATOMIC_SEQ_CST);
	else if (!strcmp(verb, "why"))
		__atomic_store_n(&r->why, (uint32_t)n, __ATOMIC_SEQ_CST);
	else if (!strcmp(verb, "hold"))
		hold(r, n != 0);
	else if (!strcmp(verb, "stop"))
		stop(r);
	else if (!strcmp(verb, "start"))
		start(r);
	else
		exit(2);
	puts("ok");
}

int main(int argc, char **argv)
{
	struct ringd r = { .version = 1, .why = CACHE_RING_VERIFIED };
	char line[80], verb[20];

	if (argc != 2)
		return 2;
	r.conf = (struct fake_ringd_conf){
		.path = argv[1], .slots = 256, .answer = answer, .arg = &r, .files = 2
	};
	r.f = fake_ringd_start(&r.conf);
	puts("ok");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		uint64_t n = 0;

		if (sscanf(line, "%19s %" SCNx64, verb, &n) < 1)
			return 2;
		obey(&r, verb, n);
	}
	if (r.f)
		fake_ringd_stop(r.f, false);
	return 0;
}
