// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_cached: any text through cached_conf_parse. Input: a byte, whose lowest bit is the role,
 * then the text. A refusal names a place in the text; an accepted file has whole paths, numbers
 * within their limits, and a database if and only if the host is an application server.
 */
#include <errno.h>

#include "src/cached/conf.h"
#include "tests/fuzz/fuzz.h"

/* They only have names: nothing is opened here. */
static const struct sql_ops pgsql = { .name = "pgsql" }, sqlite = { .name = "sqlite" };
const struct sql_ops *const sql_backends[] = { &pgsql, &sqlite, NULL };
const struct transport_backend *const transport_backends[] = { NULL };

const struct sql_ops *sql_find(const char *name)
{
	for (int i = 0; sql_backends[i]; i++)
		if (!strcmp(sql_backends[i]->name, name))
			return sql_backends[i];
	return NULL;
}

static void check_error(const struct conf_error *e, size_t len)
{
	char place[64];

	FUZZ_REQUIRE(memchr(e->text, '\0', sizeof(e->text)));
	FUZZ_REQUIRE(!strchr(e->text, '\n'));
	FUZZ_REQUIRE(e->line >= 1 && (size_t)e->line <= len + 1);
	FUZZ_REQUIRE(e->column >= 1 && (size_t)e->column <= len + 1);
	snprintf(place, sizeof(place), "f:%d:%d: ", e->line, e->column);
	FUZZ_REQUIRE(!strncmp(e->text, place, strlen(place)));
	FUZZ_REQUIRE(strlen(e->text) > strlen(place));
}

static void check_path(const char *path, size_t size)
{
	FUZZ_REQUIRE(path[0] == '/' && memchr(path, '\0', size));
}

static void check_conf(const struct cached_conf *c, enum cluster_cached_role role)
{
	check_path(c->cluster_file, sizeof(c->cluster_file));
	check_path(c->state_dir, sizeof(c->state_dir));
	check_path(c->socket, sizeof(c->socket));
	check_path(c->ring, sizeof(c->ring));
	FUZZ_REQUIRE(strcmp(c->ring, c->socket) != 0);
	FUZZ_REQUIRE(memchr(c->socket_group, '\0', sizeof(c->socket_group)));
	FUZZ_REQUIRE(memchr(c->ring_group, '\0', sizeof(c->ring_group)));
	FUZZ_REQUIRE(c->ring_slots >= 64 && c->ring_slots <= CACHE_RING_SLOTS_MAX);
	FUZZ_REQUIRE(c->ring_slots % 64 == 0);
	FUZZ_REQUIRE(c->ring_clients >= 1 && c->ring_clients <= 64);
	FUZZ_REQUIRE(c->timeout_ns >= NS_PER_MS && c->timeout_ns <= 10 * NS_PER_S);
	FUZZ_REQUIRE(c->listings >= 1 && c->listings <= CACHED_LISTINGS_MAX);
	FUZZ_REQUIRE(c->log >= 1 && c->log <= CACHED_LOG_MAX);
	FUZZ_REQUIRE(c->fill_timeout_ns >= NS_PER_S);
	FUZZ_REQUIRE(c->sql_timeout_ns >= 100 * NS_PER_MS && c->sql_timeout_ns <= 60 * NS_PER_S);
	FUZZ_REQUIRE((role == CLUSTER_APP) == (c->sql != NULL));
	FUZZ_REQUIRE(memchr(c->sql_where, '\0', sizeof(c->sql_where)));
	FUZZ_REQUIRE(!c->sql == !c->sql_where[0]);
	FUZZ_REQUIRE(c->sql != &sqlite || c->sql_where[0] == '/');
	/* The tables of a schema, with what was read as defaults. */
	FUZZ_REQUIRE(cached_conf_table(c).keys && cached_conf_sql_table().keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cached_conf c;
	struct bytes in = { data, size };
	enum cluster_cached_role role = take8(&in) & 1 ? CLUSTER_PROXY : CLUSTER_APP;
	struct conf_error e;
	char *text = malloc(in.left); /* exactly as long, so that reading on is seen */
	int rc;

	if (in.left && !text)
		abort();
	if (in.left)
		memcpy(text, in.at, in.left);
	memset(&e, 0x5a, sizeof(e));
	rc = cached_conf_parse(&c, "f", text, in.left, role, &e);
	free(text);
	if (rc) {
		FUZZ_REQUIRE(rc == -EINVAL || rc == -EFBIG);
		check_error(&e, in.left);
		return 0;
	}
	check_conf(&c, role);
	return 0;
}
