// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * takelock: takes the lock of a service, and goes without giving it back, as a host does
 * that dies. For tests/cli/test_cluster.sh.
 *
 *	takelock FOLDER CLUSTER KEY SELF HOME SERVICE
 *
 * Over shm in FOLDER, as host SELF, whose generation is 1; KEY is the key itself. Exit: 0
 * when it was taken, 1 when it was held, or not to be had within 10 s.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/region_abi.h"
#include "src/transport/transport.h"
#include "src/util/clock.h"

static struct mono now_of(struct clock *c)
{
	return c->now(c);
}

/* The next result; false: none came in time. */
static bool next_result(struct transport *t, struct clock *c, struct mono end,
			struct transport_event *ev)
{
	while (mono_sub(end, now_of(c)) > 0) {
		if (!transport_poll(t, now_of(c), ev, 1))
			poll(NULL, 0, 1);
		else if (ev->type == TRANSPORT_RESULT)
			return ev->outcome == TRANSPORT_DONE;
	}
	return false;
}

static bool cas(struct transport *t, struct clock *c, struct transport_op *op, uint64_t *old)
{
	struct mono end = mono_add(now_of(c), 10 * NS_PER_S);
	struct transport_event ev = { 0 };

	op->deadline = end;
	if (transport_post(t, op, 1, now_of(c), NULL) != 1 || !next_result(t, c, end, &ev))
		return false;
	*old = ev.old;
	return true;
}

static bool take(struct transport *t, struct clock *c, uint16_t self, uint16_t home,
		 uint32_t service)
{
	struct transport_op op = { .kind = TRANSPORT_CAS64,
				   .host = home,
				   .part = TRANSPORT_WORDS,
				   .offset = region_lock_offset(service) };
	uint64_t word, old;

	if (!cas(t, c, &op, &word)) /* 0 for 0: what stands there */
		return false;
	if (region_word_id(word) && region_word_id(word) != REGION_LOCK_BROKEN)
		return false;
	op.compare = word;
	op.value = region_word(self, region_word_seq(word) + 1);
	return cas(t, c, &op, &old) && old == word;
}

static bool link_up(struct transport *t, struct clock *c, uint16_t home)
{
	struct mono end = mono_add(now_of(c), 10 * NS_PER_S);
	struct transport_event ev;

	while (!transport_link(t, home) && mono_sub(end, now_of(c)) > 0) {
		transport_poll(t, now_of(c), &ev, 1);
		poll(NULL, 0, 1);
	}
	return transport_link(t, home) != 0;
}

int main(int argc, char **argv)
{
	struct transport_conf conf = { .generation = 1, .start = 1, .bytes = { 4096, 4096 }, .seed = 1 };
	struct transport_peer p = { .name = "home" };
	struct transport *t = NULL;
	struct clock c;
	char text[256] = "";
	bool taken;

	if (argc != 7)
		return 2;
	clock_real(&c);
	snprintf(conf.address, sizeof(conf.address), "%s", argv[1]);
	snprintf(p.address, sizeof(p.address), "%s", argv[1]);
	snprintf(conf.cluster, sizeof(conf.cluster), "%s", argv[2]);
	conf.key = (const uint8_t *)argv[3];
	conf.key_len = strlen(argv[3]);
	conf.host = (uint16_t)atoi(argv[4]);
	p.host = (uint16_t)atoi(argv[5]);
	if (transport_find("shm")->open(&t, &conf, now_of(&c), text)) {
		fprintf(stderr, "takelock: %s\n", text);
		return 1;
	}
	taken = !transport_add(t, &p, now_of(&c)) && link_up(t, &c, p.host) &&
		take(t, &c, conf.host, p.host, (uint32_t)atoi(argv[6]));
	transport_close(t);
	if (!taken)
		fprintf(stderr, "takelock: the lock was not to be had\n");
	return taken ? 0 : 1;
}
