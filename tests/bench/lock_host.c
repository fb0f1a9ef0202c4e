// SPDX-License-Identifier: GPL-2.0-or-later
/* lock_host: transport, runner and lock of one host, put together. See lock_host.h. */
#include "tests/bench/lock_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 64 };

static const uint8_t key[32] = "the key of a bench and no other";

void lock_host_beat(struct lock_host *h)
{
	struct region_host host = { .cpus = 2 };

	snprintf(host.name, sizeof(host.name), "host-%u", h->number);
	region_beat(&h->region, &host);
}

static int publish(struct lock_host *h, const struct lock_host_conf *c)
{
	struct region_guest guest[REGION_GUESTS_MAX];
	int rc;

	memset(guest, 0, sizeof(guest));
	for (uint32_t i = 0; i < c->guests && i < REGION_GUESTS_MAX; i++)
		snprintf(guest[i].name, sizeof(guest[i].name), "guest-%u", i);
	region_init(&h->region, transport_table(h->t), c->lock.self, c->generation);
	rc = region_publish_guests(&h->region, guest, c->guests);
	if (!rc)
		lock_host_beat(h);
	return rc;
}

static int add_peers(struct lock_host *h, const struct lock_host_conf *c, struct mono now)
{
	int rc = 0;

	for (uint16_t n = 1; n <= TRANSPORT_HOSTS_MAX && !rc; n++) {
		struct transport_peer p = { .host = n };

		snprintf(p.name, sizeof(p.name), "host-%u", n);
		snprintf(p.address, sizeof(p.address), "%s", c->dir);
		if (hostset_has(&c->peers, n))
			rc = transport_add(h->t, &p, now);
	}
	return rc;
}

static int add_lock(struct lock_host *h, const struct lock_host_conf *c)
{
	int rc = runner_open(&h->r, h->t, c->lock.deadline_ns, LOCK_HOST_PREFIX);
	struct runner_user user;

	lock_init(&h->lock, &c->lock);
	user = runner_lock(&h->lock);
	return rc ? rc : runner_add(h->r, &user);
}

/* Of resexd the default (src/conf/cluster.c). */
static uint32_t callers_second(uint32_t callers)
{
	if (!callers)
		return 100000;
	return callers > 64 ? callers : 64;
}

static int open_transport(struct lock_host *h, const struct lock_host_conf *c, struct mono now,
			  char text[static 256])
{
	struct transport_conf t = { .host = c->lock.self,
				    .generation = c->generation,
				    .cluster = "bench",
				    .key = key,
				    .key_len = sizeof(key),
				    .bytes = { REGION_TABLE_BYTES, REGION_WORDS_BYTES },
				    .backoff_max_ns = c->callers ? 0 : 100 * NS_PER_MS,
				    .hellos_max = c->callers ? c->callers : 2 * TRANSPORT_HOSTS_MAX,
				    .hellos_second = callers_second(c->callers),
				    .seed = c->lock.seed ^ c->lock.self };
	uint64_t *words = calloc(1, REGION_WORDS_BYTES);
	int rc = words ? region_words(words, c->generation, NULL) : -ENOMEM;

	snprintf(text, 256, "the words of a region: %s", strerror(-rc));
	snprintf(t.address, sizeof(t.address), "%s", c->dir);
	t.words = words;
	if (!rc)
		rc = transport_find("shm")->open(&h->t, &t, now, text);
	free(words);
	return rc;
}

int lock_host_open(struct lock_host *h, const struct lock_host_conf *c, uint16_t home,
		   struct mono now, char text[static 256])
{
	struct hostset members = { { 0 } };
	int rc;

	memset(h, 0, sizeof(*h));
	h->number = c->lock.self;
	rc = open_transport(h, c, now, text);
	if (rc)
		return rc;
	snprintf(text, 256, "a host of the bench could not be set up");
	rc = publish(h, c);
	if (!rc)
		rc = add_peers(h, c, now);
	if (!rc)
		rc = add_lock(h, c);
	hostset_set(&members, home, true);
	if (rc)
		lock_host_close(h);
	else
		runner_view(h->r, 0, members, true, now);
	return rc;
}

void lock_host_close(struct lock_host *h)
{
	runner_close(h->r);
	transport_close(h->t);
	h->r = NULL;
	h->t = NULL;
}

size_t lock_host_turn(struct lock_host *h, struct mono now)
{
	struct transport_event ev[EVENTS];
	size_t n = transport_poll(h->t, now, ev, EVENTS);

	for (size_t i = 0; i < n; i++) {
		runner_event(h->r, &ev[i], now);
		if (h->peers && ev[i].type != TRANSPORT_ALARM && ev[i].type != TRANSPORT_MESSAGE)
			peers_event(h->peers, &ev[i], now);
	}
	runner_tick(h->r, now);
	return n;
}

struct mono lock_host_due(struct lock_host *h, struct mono now)
{
	struct mono at = { INT64_MAX }, steps = runner_due_at(h->r);

	if (transport_arm(h->t, now, &at))
		return now;
	return steps.ns < at.ns ? steps : at;
}

void lock_host_ask(struct lock_host *h, enum lock_ask what, struct mono now)
{
	runner_ask(h->r, &h->lock, what, NULL, now);
}

void lock_host_renew(struct lock_host *h, struct mono now)
{
	lock_host_ask(h, LOCK_RELEASE, now);
	lock_host_ask(h, LOCK_ACQUIRE, now);
}
