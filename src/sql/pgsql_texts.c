// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pgsql_texts: see pgsql_texts.h. A text has one place, by its hash. The one that is prepared there
 * stays until another one has come twice, with no third one between.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sql/pgsql_conn.h"

static uint64_t hash_of(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	h ^= h >> 32;
	return h ? h : 1;
}

void pgsql_texts_clear(struct pgsql_texts *t)
{
	for (uint32_t i = 0; i < PGSQL_TEXTS; i++)
		free(t->place[i].text);
	memset(t, 0, sizeof(*t));
}

uint32_t pgsql_texts_use(struct pgsql_texts *t, const char *text, struct pgsql_query *q)
{
	static const char drop[] = "DEALLOCATE ";
	uint64_t h = hash_of(text);
	uint32_t i = h % PGSQL_TEXTS, n = 0;
	const char *name = t->place[i].drop + sizeof(drop) - 1;
	char *copy = NULL;
	bool is_there = t->place[i].text && !strcmp(t->place[i].text, text);

	if (!is_there && t->place[i].seen == h && strlen(text) < PGSQL_TEXT_MAX)
		copy = strdup(text);
	if (!is_there && !copy) {
		t->place[i].seen = h;
		q[n++] = (struct pgsql_query){ .text = text };
		return n;
	}
	snprintf(t->place[i].drop, sizeof(t->place[i].drop), "%sresex_u%u", drop, i);
	if (copy && t->place[i].text)
		q[n++] = (struct pgsql_query){ .text = t->place[i].drop };
	if (copy) {
		q[n++] = (struct pgsql_query){ .name = name, .text = text };
		free(t->place[i].text);
		t->place[i].text = copy;
	}
	q[n++] = (struct pgsql_query){ .name = name };
	return n;
}
