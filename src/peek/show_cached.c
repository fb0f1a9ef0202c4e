// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show_cached: what was read of a cached host, as flat rows. show.c puts them into its object, and
 * prints them.
 */
#include <stdio.h>

#include "src/cache/cache.h"
#include "src/peek/peek.h"

static const char *state_of(const struct peek_cached *h)
{
	if (h->stage != PEEK_CACHED_DONE)
		return "unread";
	if (!h->serves.words)
		return "read";
	if (!h->beat)
		return "closed";
	return h->beats ? "beats" : "silent";
}

/* Whole numbers of jansson have a sign: the beat is far below. */
static void put_words(json_t *row, const struct peek_cached *h)
{
	bool open = h->log != 0;

	json_object_set_new(row, "beat_ns",
			    h->beat ? json_integer((json_int_t)h->beat) : json_null());
	json_object_set_new(row, "generation",
			    open ? json_integer(cache_word_generation(h->log)) : json_null());
	json_object_set_new(row, "ended",
			    open ? json_integer((json_int_t)cache_word_count(h->log))
				 : json_null());
	json_object_set_new(row, "words", json_integer(h->serves.words));
	json_object_set_new(row, "open", json_integer(h->open));
	json_object_set_new(row, "moved", json_integer(h->moved));
	json_object_set_new(row, "slots", json_integer(h->serves.slots));
}

static json_t *cached_row(const struct peek_cached *h)
{
	json_t *row = json_object();

	json_object_set_new(row, "name", json_string(h->conf->name));
	json_object_set_new(row, "number", json_integer((json_int_t)h->conf->number));
	json_object_set_new(row, "role",
			    json_string(h->conf->role == CLUSTER_APP ? "app" : "proxy"));
	json_object_set_new(row, "address", json_string(h->conf->address));
	json_object_set_new(row, "state", json_string(state_of(h)));
	json_object_set_new(row, "note", h->note[0] ? json_string(h->note) : json_null());
	if (h->stage != PEEK_CACHED_DONE)
		return row;
	json_object_set_new(row, "start", json_integer((json_int_t)h->generation));
	if (h->serves.words)
		put_words(row, h);
	return row;
}

/* The newest update of this slot that host number has marked. */
static json_t *ack_row(const struct cluster_conf *c, const struct peek_cached *h, uint32_t slot,
		       uint32_t number, uint64_t word)
{
	const struct cluster_cached *by = cluster_cached_at(c, (uint16_t)number);
	json_t *row = json_object();
	char buf[16];

	snprintf(buf, sizeof(buf), "%u", number);
	json_object_set_new(row, "host", json_string(h->conf->name));
	json_object_set_new(row, "slot", json_integer(slot));
	json_object_set_new(row, "by", json_string(by ? by->name : buf));
	json_object_set_new(row, "fence", json_integer(cache_update_fence(word)));
	json_object_set_new(row, "number", json_integer((json_int_t)cache_word_count(word)));
	return row;
}

void peek_cached_rows(const struct cluster_conf *conf, const struct peek_cached *h, json_t *cached,
		      json_t *acks)
{
	json_array_append_new(cached, cached_row(h));
	if (h->stage != PEEK_CACHED_DONE)
		return;
	for (uint32_t i = 0; i < h->serves.slots * REGION_HOSTS_MAX; i++)
		if (h->ack[i])
			json_array_append_new(acks, ack_row(conf, h, i / REGION_HOSTS_MAX,
							    i % REGION_HOSTS_MAX + 1, h->ack[i]));
}
