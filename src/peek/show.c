// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * show: what was read, as one JSON object with flat rows, and as tables of the same rows. main.c
 * prints one of the two.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cli/table.h"
#include "src/load/index.h"
#include "src/peek/peek.h"

/* A host's name here; of one that cluster.json does not have, its number. */
static const char *name_of(const struct cluster_conf *c, uint32_t number, char buf[static 16])
{
	const struct cluster_host *h = cluster_host_at(c, (uint16_t)number);

	if (h)
		return h->name;
	snprintf(buf, 16, "%u", number);
	return buf;
}

static json_t *names_of(const struct cluster_conf *c, const uint64_t set[REGION_SET_WORDS])
{
	json_t *a = json_array();
	struct hostset s;
	char buf[16];

	memcpy(s.word, set, sizeof(s.word));
	for (uint16_t h = hostset_next(&s, 0); h; h = hostset_next(&s, h))
		json_array_append_new(a, json_string(name_of(c, h, buf)));
	return a;
}

/* Who has this lock: a host, or what the word says instead. */
static json_t *owner_of(const struct cluster_conf *c, uint64_t word)
{
	uint16_t id = region_word_id(word);
	char buf[16];

	if (id == REGION_LOCK_DIRTY)
		return json_string("free, next sweeps");
	if (id == REGION_LOCK_BROKEN)
		return json_string("broken");
	return id ? json_string(name_of(c, id, buf)) : json_string("free");
}

static void put_seq(json_t *row, uint64_t word)
{
	uint64_t seq = region_word_seq(word);

	json_object_set_new(row, "epoch", json_integer(region_seq_epoch(seq)));
	json_object_set_new(row, "count", json_integer(region_seq_count(seq)));
}

static uint64_t word_at(const struct peek_host *h, uint32_t offset)
{
	return h->words[offset / 8];
}

static json_t *service_row(const struct cluster_conf *c, const struct peek_host *h, uint32_t i)
{
	const struct region_service *s = &h->service[i];
	uint64_t lock = word_at(h, region_lock_offset(s->service));
	json_t *row = json_object();

	json_object_set_new(row, "host", json_string(h->conf->name));
	json_object_set_new(row, "service", json_string(s->name));
	json_object_set_new(row, "number", json_integer(s->service));
	json_object_set_new(row, "minimum", json_integer(s->minimum));
	json_object_set_new(row, "balancers", names_of(c, s->balancers));
	json_object_set_new(row, "lock", owner_of(c, lock));
	put_seq(row, lock);
	json_object_set_new(
		row, "counter",
		json_integer((json_int_t)word_at(h, region_counter_offset(s->service))));
	return row;
}

/* What the node has carried between the two readings, and what it carries now. */
static void put_load(json_t *row, const struct peek_host *h, uint32_t n)
{
	const struct load_record *was = &h->load[0][n], *is = &h->load[1][n];
	int index = was->head.seq && is->head.seq ? load_index(was, is) : -ENOENT;
	json_int_t span = is->sampled_ns - was->sampled_ns;

	json_object_set_new(row, "load", index < 0 ? json_null() : json_integer(index));
	json_object_set_new(row, "load_span_ns", index < 0 ? json_null() : json_integer(span));
	if (!is->head.seq)
		is = was;
	if (!is->head.seq)
		return;
	json_object_set_new(row, "source", json_string(load_source_name(is->source)));
	json_object_set_new(row, "load_flags", json_integer(is->flags));
	json_object_set_new(row, "load_cpus", json_integer(is->cpus));
	json_object_set_new(row, "load_beat", json_integer((json_int_t)is->beat));
	json_object_set_new(row, "running",
			    is->flags & LOAD_NO_RUNNING ? json_null() : json_integer(is->running));
	json_object_set_new(row, "load_avg_1",
			    is->source == LOAD_HV ? json_null()
						  : json_real(is->load_avg[0] / 1000.0));
}

static const char *node_name(const struct cluster_conf *c, const struct peek_host *h, uint32_t n)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (c->node[i].host == h->conf->number && c->node[i].number == n)
			return c->node[i].name;
	return NULL;
}

static json_t *node_row(const struct cluster_conf *c, const struct peek_host *h, uint32_t n)
{
	const char *name = node_name(c, h, n);
	uint64_t word = word_at(h, region_node_offset(n));
	bool known = n < h->host.nodes;
	json_t *row = json_object();

	json_object_set_new(row, "host", json_string(h->conf->name));
	json_object_set_new(row, "node", json_integer(n));
	if (known)
		name = h->node[n].name;
	json_object_set_new(row, "name", name ? json_string(name) : json_null());
	json_object_set_new(row, "service", json_integer(region_word_id(word)));
	put_seq(row, word);
	put_load(row, h, n);
	json_object_set_new(row, "up",
			    known ? json_boolean(h->node[n].flags & REGION_NODE_UP) : json_null());
	json_object_set_new(row, "fixed",
			    known ? json_boolean(h->node[n].flags & REGION_NODE_FIXED)
				  : json_null());
	return row;
}

static void put_record(json_t *row, const struct cluster_conf *c, const struct peek_host *h)
{
	const struct region_host *r = &h->host;

	json_object_set_new(row, "beat", json_integer((json_int_t)r->beat));
	json_object_set_new(row, "wall_ns", json_integer(r->wall_ns));
	json_object_set_new(row, "generation", json_integer((json_int_t)r->generation));
	json_object_set_new(row, "view", json_integer((json_int_t)r->view));
	json_object_set_new(row, "members", names_of(c, r->members));
	json_object_set_new(row, "quorate", json_boolean(r->quorate));
	json_object_set_new(row, "guests", json_integer(r->guests));
	json_object_set_new(row, "nodes", json_integer(r->nodes));
	json_object_set_new(row, "services", json_integer(r->services));
	json_object_set_new(row, "cpus", json_integer(r->cpus));
	json_object_set_new(row, "policy", json_string(r->policy));
	json_object_set_new(row, "version", json_string(r->version));
	json_object_set_new(row, "says_name", json_string(r->name));
	json_object_set_new(row, "simulated", json_boolean(r->flags & REGION_HOST_SIMULATED));
}

static json_t *directory_of(const struct peek_host *h)
{
	static const char *const name[REGION_TABLES] = { "host", "guests", "nodes", "services",
							 "loads" };
	json_t *a = json_array();

	for (int i = 0; i < REGION_TABLES; i++) {
		const struct region_entry *e = &h->header.table[i];

		if (!e->count) /* it publishes no loads */
			continue;
		json_array_append_new(
			a, json_pack("{s:s, s:I, s:I, s:I, s:I}", "table", name[i], "part",
				     (json_int_t)e->part, "offset", (json_int_t)e->offset, "stride",
				     (json_int_t)e->stride, "count", (json_int_t)e->count));
	}
	return a;
}

static json_t *host_row(const struct cluster_conf *c, const struct peek_host *h)
{
	const char *state = "unread";
	json_t *row = json_object();

	if (h->stage == PEEK_DONE)
		state = h->beats ? "beats" : "silent";
	json_object_set_new(row, "name", json_string(h->conf->name));
	json_object_set_new(row, "number", json_integer((json_int_t)h->conf->number));
	json_object_set_new(row, "address", json_string(h->conf->address));
	json_object_set_new(row, "state", json_string(state));
	json_object_set_new(row, "note", h->note[0] ? json_string(h->note) : json_null());
	if (h->stage == PEEK_DONE) {
		put_record(row, c, h);
		json_object_set_new(row, "directory", directory_of(h));
	}
	return row;
}

static void add_words(json_t *services, json_t *nodes, const struct cluster_conf *c,
		      const struct peek_host *h)
{
	for (uint32_t i = 0; i < h->host.services; i++)
		json_array_append_new(services, service_row(c, h, i));
	/* Also a node that its host does not describe, if it has a load, or its word a service. */
	for (uint32_t n = 0; n < REGION_NODES_MAX; n++)
		if ((n < h->host.nodes && h->node[n].name[0]) || h->load[0][n].head.seq ||
		    region_word_id(word_at(h, region_node_offset(n))))
			json_array_append_new(nodes, node_row(c, h, n));
}

json_t *peek_json(const struct cluster_conf *conf, const struct peek_all *all)
{
	json_t *hosts = json_array(), *services = json_array(), *nodes = json_array();
	json_t *cached = json_array(), *acks = json_array();

	for (size_t i = 0; i < all->hosts; i++) {
		json_array_append_new(hosts, host_row(conf, all->host[i]));
		if (all->host[i]->stage == PEEK_DONE)
			add_words(services, nodes, conf, all->host[i]);
	}
	for (size_t i = 0; i < all->caches; i++)
		peek_cached_rows(conf, all->cached[i], cached, acks);
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "cluster", conf->cluster,
			 "transport", transport_backends[conf->transport]->name, "client",
			 conf->client[conf->self].name, "hosts", hosts, "services", services,
			 "nodes", nodes, "cached", cached, "acks", acks);
}

/* --- text ------------------------------------------------------------------------- */

static const struct column host_cols[] = {
	{ "NAME", "name", 1 },
	{ "NUMBER", "number", 0 },
	{ "STATE", "state", 1 },
	{ "BEAT", "beat", 0 },
	{ "GENERATION", "generation", 0 },
	{ "VIEW", "view", 0 },
	{ "MEMBERS", "members", 1 },
	{ "QUORUM", "quorate", 1 },
	{ "GUESTS", "guests", 0 },
	{ "POLICY", "policy", 1 },
	{ "VERSION", "version", 1 },
	{ "NOTE", "note", 1 },
	{ 0 },
};

static const struct column service_cols[] = {
	{ "HOST", "host", 1 },		 { "SERVICE", "service", 1 },
	{ "NUMBER", "number", 0 },	 { "MINIMUM", "minimum", 0 },
	{ "LOCK", "lock", 1 },		 { "EPOCH", "epoch", 0 },
	{ "COUNT", "count", 0 },	 { "COUNTER", "counter", 0 },
	{ "BALANCERS", "balancers", 1 }, { 0 },
};

static const struct column node_cols[] = {
	{ "HOST", "host", 1 },
	{ "NODE", "node", 0 },
	{ "NAME", "name", 1 },
	{ "SERVICE", "service", 0 },
	{ "EPOCH", "epoch", 0 },
	{ "COUNT", "count", 0 },
	{ "LOAD", "load", 0 },
	{ "SOURCE", "source", 1 },
	{ "UP", "up", 1 },
	{ "FIXED", "fixed", 1 },
	{ 0 },
};

static const struct column cached_cols[] = {
	{ "NAME", "name", 1 },
	{ "NUMBER", "number", 0 },
	{ "ROLE", "role", 1 },
	{ "STATE", "state", 1 },
	{ "BEAT", "beat_ns", 0 },
	{ "GENERATION", "generation", 0 },
	{ "ENDED", "ended", 0 },
	{ "WORDS", "words", 0 },
	{ "OPEN", "open", 0 },
	{ "MOVED", "moved", 0 },
	{ "SLOTS", "slots", 0 },
	{ "NOTE", "note", 1 },
	{ 0 },
};

static const struct column ack_cols[] = {
	{ "HOST", "host", 1 },	 { "SLOT", "slot", 0 },	    { "BY", "by", 1 },
	{ "FENCE", "fence", 0 }, { "NUMBER", "number", 0 }, { 0 },
};

static void print_rows(const json_t *all, const char *key, const struct column *cols)
{
	const json_t *rows = json_object_get(all, key);

	if (!json_array_size(rows))
		return;
	putchar('\n');
	table_print(stdout, rows, cols);
}

void peek_print(const json_t *all)
{
	const json_t *h;
	size_t i;

	printf("cluster %s over %s, as client %s\n",
	       json_string_value(json_object_get(all, "cluster")),
	       json_string_value(json_object_get(all, "transport")),
	       json_string_value(json_object_get(all, "client")));
	if (json_array_size(json_object_get(all, "hosts")))
		table_print(stdout, json_object_get(all, "hosts"), host_cols);
	json_array_foreach(json_object_get(all, "hosts"), i, h)
		if (json_is_true(json_object_get(h, "simulated")))
			printf("%s: SIMULATED: none of its guests or figures is real\n",
			       json_string_value(json_object_get(h, "name")));
	print_rows(all, "services", service_cols);
	print_rows(all, "nodes", node_cols);
	print_rows(all, "cached", cached_cols);
	print_rows(all, "acks", ack_cols);
}
