// SPDX-License-Identifier: GPL-2.0-or-later
/* ring_pool: see ring_pool.h. A path is looked for when a VCL becomes warm, never by a request. */
#include "config.h"

#include "src/ring/ring_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ring_share {
	struct ring_client *client;
	uint32_t users;
	struct ring_share *next;
	char path[];
};

static int add(struct ring_pool *p, const char *path, struct ring_share **out)
{
	size_t len = strlen(path) + 1;
	struct ring_share *s = calloc(1, sizeof(*s) + len);
	int rc;

	if (!s)
		return -ENOMEM;
	memcpy(s->path, path, len);
	rc = ring_client_open(&s->client, path);
	if (rc) {
		free(s);
		return rc;
	}
	s->next = p->first;
	p->first = s;
	*out = s;
	return 0;
}

int ring_pool_get(struct ring_pool *p, const char *path, struct ring_client **c)
{
	struct ring_share *s;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	for (s = p->first; s && strcmp(s->path, path) != 0; s = s->next)
		;
	if (!s)
		rc = add(p, path, &s);
	if (!rc) {
		s->users++;
		*c = s->client;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void ring_pool_put(struct ring_pool *p, struct ring_client *c)
{
	struct ring_share **at, *s;

	if (!c)
		return;
	pthread_mutex_lock(&p->lock);
	for (at = &p->first; (*at)->client != c; at = &(*at)->next)
		;
	s = *at;
	if (!--s->users) {
		*at = s->next;
		ring_client_close(s->client);
		free(s);
	}
	pthread_mutex_unlock(&p->lock);
}
