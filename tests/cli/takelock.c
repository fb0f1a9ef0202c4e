// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * takelock: acquires the lock of a service and ends without releasing it, as a host that
 * dies does. For tests/cli/test_cluster.sh and tests/member/daemons.py.
 *
 *	takelock FILE SELF HOME SERVICE GENERATION
 *
 * As host SELF of the cluster of FILE, a cluster.json. Exit: 0 if the lock was acquired, 1 if
 * it was held, or could not be acquired within 10 s.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/conf/cluster.h"
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
	if (region_word_id(word) && region_word_id(word) < REGION_LOCK_BROKEN)
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

static struct transport *open_as(const struct cluster_conf *cc, uint16_t self, uint64_t generation,
				 struct clock *c)
{
	const struct cluster_host *h = cluster_host_at(cc, self);
	struct transport_conf conf = { .host = self,
				       .generation = generation,
				       .agreement = cluster_agreement(cc),
				       .bytes = { 4096, 4096 },
				       .seed = 1 };
	struct conf_error e = { 0 };
	struct transport *t = NULL;
	struct cluster_key key;
	char text[256] = "";

	if (!h || cluster_key_load(&key, cc->key_file, &e)) {
		fprintf(stderr, "takelock: %s\n", h ? e.text : "there is no such host");
		return NULL;
	}
	strcpy(conf.address, h->address);
	if (strcmp(transport_backends[cc->transport]->name, "shm") != 0)
		conf.port = (uint16_t)h->port;
	strcpy(conf.cluster, cc->cluster);
	conf.key = key.bytes;
	conf.key_len = key.len;
	if (transport_backends[cc->transport]->open(&t, &conf, now_of(c), text))
		fprintf(stderr, "takelock: %s\n", text);
	return t;
}

static bool add_home(struct transport *t, const struct cluster_conf *cc, uint16_t home,
		     struct mono now)
{
	struct transport_peer p;
	uint32_t i = 0;

	while (i < cc->hosts && cc->host[i].number != home)
		i++;
	if (i == cc->hosts)
		return false;
	cluster_peer(cc, i, &p);
	return !transport_add(t, &p, now);
}

int main(int argc, char **argv)
{
	static struct cluster_conf cc;
	struct conf_error e = { 0 };
	uint16_t self, home;
	struct transport *t;
	struct clock c;
	bool taken;

	if (argc != 6)
		return 2;
	self = (uint16_t)atoi(argv[2]);
	home = (uint16_t)atoi(argv[3]);
	clock_real(&c);
	if (cluster_conf_load(&cc, argv[1], "", &e)) {
		fprintf(stderr, "takelock: %s\n", e.text);
		return 1;
	}
	t = open_as(&cc, self, strtoull(argv[5], NULL, 10), &c);
	if (!t)
		return 1;
	taken = add_home(t, &cc, home, now_of(&c)) && link_up(t, &c, home) &&
		take(t, &c, self, home, (uint32_t)atoi(argv[4]));
	transport_close(t);
	if (!taken)
		fprintf(stderr, "takelock: the lock was not to be had\n");
	return taken ? 0 : 1;
}
