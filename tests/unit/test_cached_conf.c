// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cached_conf: cached.json, and what a host remembers in "floors". What is taken, what is refused,
 * where and with which remedy; the examples are good. The backends here only have names.
 */
#include "config.h"
#include "src/cached/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/examples.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

static const struct sql_ops pgsql = { .name = "pgsql" }, sqlite = { .name = "sqlite" };
const struct sql_ops *const sql_backends[] = { &pgsql, &sqlite, NULL };

const struct sql_ops *sql_find(const char *name)
{
	for (int i = 0; sql_backends[i]; i++)
		if (!strcmp(sql_backends[i]->name, name))
			return sql_backends[i];
	return NULL;
}

static int setup(void **state)
{
	struct cached_conf *c = malloc(sizeof(*c));

	if (!c)
		return -1;
	memset(c, 0xa5, sizeof(*c)); /* what the file does not fill does not count */
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

#define RIG_TEST(name) TEST_WITH(name, setup, teardown)
#define SQL	       "\"sql\": {\"backend\": \"pgsql\", \"where\": \"dbname=shop\"}"

static void take(struct cached_conf *c, enum cluster_cached_role role, const char *text)
{
	struct conf_error e = { 0 };

	if (cached_conf_parse(c, "f", text, strlen(text), role, &e))
		fail_msg("%s", e.text);
}

/* --- what is taken ----------------------------------------------------------------- */

RIG_TEST(proxy__of_an_empty_file__has_the_defaults)
{
	struct cached_conf *c = *state;

	take(c, CLUSTER_PROXY, "{}");
	assert_string_equal(c->cluster_file, RESEX_CONFDIR "/cluster.json");
	assert_string_equal(c->state_dir, RESEX_STATEDIR "-cached");
	assert_string_equal(c->socket, "/run/resex-cached/api.sock");
	assert_string_equal(c->ring, "/run/resex-cached/ring.sock");
	assert_string_equal(c->socket_group, "");
	assert_string_equal(c->ring_group, "");
	assert_int_equal(c->ring_slots, 256);
	assert_int_equal(c->ring_clients, 16);
	assert_int_equal(c->timeout_ns, 50 * NS_PER_MS);
	assert_null(c->sql);
}

RIG_TEST(app__of_its_database_alone__has_the_defaults)
{
	struct cached_conf *c = *state;

	take(c, CLUSTER_APP, "{" SQL "}");
	assert_int_equal(c->listings, 1048576);
	assert_int_equal(c->log, 65536);
	assert_int_equal(c->fill_timeout_ns, 60 * NS_PER_S);
	assert_ptr_equal(c->sql, &pgsql);
	assert_string_equal(c->sql_where, "dbname=shop");
	assert_int_equal(c->sql_timeout_ns, 5 * NS_PER_S);
}

RIG_TEST(proxy__each_key__is_taken)
{
	struct cached_conf *c = *state;

	take(c, CLUSTER_PROXY,
	     "{\"cluster_file\": \"/c\", \"state_dir\": \"/d\", \"socket\": \"/s\", "
	     "\"socket_group\": "
	     "\"g\", \"ring\": \"/r\", \"ring_group\": \"h\", \"ring_slots\": 1024, "
	     "\"ring_clients\": 64, \"timeout\": \"10s\"}");
	assert_string_equal(c->cluster_file, "/c");
	assert_string_equal(c->state_dir, "/d");
	assert_string_equal(c->socket, "/s");
	assert_string_equal(c->socket_group, "g");
	assert_string_equal(c->ring, "/r");
	assert_string_equal(c->ring_group, "h");
	assert_int_equal(c->ring_slots, 1024);
	assert_int_equal(c->ring_clients, 64);
	assert_int_equal(c->timeout_ns, 10 * NS_PER_S);
}

RIG_TEST(app__each_key__is_taken)
{
	struct cached_conf *c = *state;

	take(c, CLUSTER_APP,
	     "{\"listings\": 16777216, \"log\": 1048576, \"fill_timeout\": \"1s\", \"sql\": "
	     "{\"backend\": \"sqlite\", \"where\": \"/db\", \"timeout\": \"100ms\"}}");
	assert_int_equal(c->listings, 1 << 24);
	assert_int_equal(c->log, 1 << 20);
	assert_int_equal(c->fill_timeout_ns, NS_PER_S);
	assert_ptr_equal(c->sql, &sqlite);
	assert_string_equal(c->sql_where, "/db");
	assert_int_equal(c->sql_timeout_ns, 100 * NS_PER_MS);
}

#define A CLUSTER_APP
#define P CLUSTER_PROXY

/* --- what is refused --------------------------------------------------------------- */

RIG_TEST(file__that_cannot_be__is_refused_with_place_and_remedy)
{
	static const struct {
		const char *text, *said;
		enum cluster_cached_role role;
	} rows[] = {
		{ "", "f:", P },
		{ "[]", "f:1:1: ", P },
		{ "{\"sokcet\": 1}", "f:1:2: unknown key \"sokcet\"", P },
		{ "{\"state_dir\": \"\"}", "of at most 107 bytes", P },
		{ "{\"state_dir\": \"d\"}",
		  "f:1:15: state_dir is \"d\": write a whole path, which begins with /", P },
		{ "{\"cluster_file\": \"c\"}", "cluster_file is \"c\": write a whole path", P },
		{ "{\"socket\": \"s\"}", "socket is \"s\": write a whole path", P },
		{ "{\"ring\": \"r\"}", "ring is \"r\": write a whole path", P },
		{ "{\"ring\": \"/run/resex-cached/api.sock\"}", "f:1:10: socket and ring are both",
		  P },
		{ "{\"socket\": \"/run/resex-cached/ring.sock\"}",
		  "f:1:12: socket and ring are both \"/run/resex-cached/ring.sock\": give each",
		  P },
		{ "{\"ring_slots\": 63}", "from 64 to 1024", P },
		{ "{\"ring_slots\": 1025}", "from 64 to 1024", P },
		{ "{\"ring_slots\": 100}", "ring_slots 100 is no multiple of 64", P },
		{ "{\"ring_clients\": 0}", "from 1 to 64", P },
		{ "{\"ring_clients\": 65}", "from 1 to 64", P },
		{ "{\"timeout\": \"999us\"}", "1ms", P },
		{ "{\"timeout\": \"11s\"}", "10s", P },
		{ "{\"socket_group\": \"\"}", "1 to 64 bytes", P },
		{ "{" SQL ", \"listings\": 0}", "from 1 to 16777216", A },
		{ "{" SQL ", \"listings\": 16777217}", "from 1 to 16777216", A },
		{ "{" SQL ", \"log\": 0}", "from 1 to 1048576", A },
		{ "{" SQL ", \"log\": 1048577}", "from 1 to 1048576", A },
		{ "{" SQL ", \"fill_timeout\": \"999ms\"}", "1s", A },
		{ "{" SQL ", \"fill_timeout\": \"3601s\"}", "3600s", A },
		/* of the other role */
		{ "{" SQL "}",
		  "sql is a setting of application servers, and this host has the role proxy", P },
		{ "{\"log\": 5}", "log is a setting of application servers", P },
		{ "{\"listings\": 5}", "listings is a setting of application servers", P },
		{ "{\"fill_timeout\": \"9s\"}", "fill_timeout is a setting of", P },
		{ "{" SQL ", \"ring\": \"/r\"}", "ring is a setting of proxies, and this host has",
		  A },
		{ "{" SQL ", \"ring_group\": \"r\"}", "ring_group is a setting of proxies", A },
		{ "{" SQL ", \"ring_slots\": 64}", "ring_slots is a setting of proxies", A },
		{ "{" SQL ", \"ring_clients\": 4}", "ring_clients is a setting of proxies", A },
		{ "{" SQL ", \"timeout\": \"9s\"}", "timeout is a setting of proxies", A },
		/* the database */
		{ "{}", "an application server needs its database: add \"sql\"", A },
		{ "{\"sql\": []}", "sql", A },
		{ "{\"sql\": {\"where\": \"x\"}}", "\"backend\"", A },
		{ "{\"sql\": {\"backend\": \"pgsql\"}}", "\"where\"", A },
		{ "{\"sql\": {\"backend\": \"mysql\", \"where\": \"x\"}}",
		  "f:1:21: there is no database backend \"mysql\" here: write pgsql or sqlite", A },
		{ "{\"sql\": {\"backend\": \"sqlite\", \"where\": \"db\"}}",
		  "the file \"db\" is not a whole path", A },
		{ "{\"sql\": {\"backend\": \"pgsql\", \"where\": \"x\", \"timeout\": \"99ms\"}}",
		  "100ms", A },
		{ "{\"sql\": {\"backend\": \"pgsql\", \"where\": \"x\", \"timeout\": \"61s\"}}",
		  "60s", A },
		{ "{\"sql\": {\"backend\": \"pgsql\", \"where\": \"x\", \"user\": \"y\"}}",
		  "unknown key \"user\"", A },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_error e = { 0 };

		if (cached_conf_parse(*state, "f", rows[i].text, strlen(rows[i].text), rows[i].role,
				      &e) != -EINVAL)
			fail_msg("row %zu was accepted", i);
		if (!strstr(e.text, rows[i].said))
			fail_msg("row %zu: \"%s\" does not say \"%s\"", i, e.text, rows[i].said);
	}
}

/* --- with cluster.json and the key ------------------------------------------------- */

#define CLUSTER                                                                                    \
	"{\"cluster\": \"c\", \"transport\": \"tcp\", \"key_file\": \"%s/key\", \"hosts\": ["      \
	"{\"name\": \"a\", \"number\": 1, \"role\": \"app\", \"address\": \"10.0.0.1\"}, "         \
	"{\"name\": \"p\", \"number\": 2, \"role\": \"proxy\", \"address\": \"10.0.0.2\"}]}"

/* The three files; key: its mode, 0: there is none. */
static void write_all(struct tmpdir *d, const char *more, mode_t key)
{
	char text[1024];

	tmp_open(d);
	snprintf(text, sizeof(text), CLUSTER, d->path);
	tmp_write(d, "cluster", text);
	snprintf(text, sizeof(text), "{\"cluster_file\": \"%s/cluster\"%s}", d->path, more);
	tmp_write(d, "cached", text);
	if (!key)
		return;
	tmp_write(d, "key", "0123456789abcdef\n");
	assert_int_equal(chmod(tmp_at(d, "key"), key), 0);
}

RIG_TEST(load__finds_the_host_with_its_role_and_reads_the_key)
{
	struct cached_conf *c = *state;
	struct conf_error e = { 0 };
	struct tmpdir d;

	write_all(&d, ", " SQL, 0600);
	if (cached_conf_load(c, tmp_at(&d, "cached"), "a", "p", &e))
		fail_msg("%s", e.text);
	assert_ptr_equal(c->self, cluster_cached_at(&c->cluster, 1));
	assert_ptr_equal(c->sql, &pgsql);
	assert_int_equal(c->key.len, 16);
	assert_memory_equal(c->key.bytes, "0123456789abcdef", 16);
	assert_int_equal(c->cluster.cache.words, 65536);
	/* By the host's name it is the proxy, which has no database. */
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), NULL, "p.example", &e), -EINVAL);
	assert_non_null(strstr(e.text, "sql is a setting of application servers"));
	tmp_close(&d);
	write_all(&d, "", 0600);
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), NULL, "p.example", &e), 0);
	assert_string_equal(c->self->name, "p");
	tmp_close(&d);
}

RIG_TEST(load__with_a_wrong_part__names_that_file)
{
	struct cached_conf *c = *state;
	struct conf_error e = { 0 };
	struct tmpdir d;

	write_all(&d, ", " SQL, 0);
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), "a", "", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/key: the key is missing"));
	tmp_write(&d, "key", "0123456789abcdef\n");
	assert_int_equal(chmod(tmp_at(&d, "key"), 0640), 0);
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), "a", "", &e), -EINVAL);
	assert_non_null(strstr(e.text, "/key: other users may read"));
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), "x", "", &e), -EINVAL);
	assert_non_null(strstr(e.text, "/cluster:1:"));
	tmp_write(&d, "cluster", "{");
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), "a", "", &e), -EINVAL);
	assert_int_equal(unlink(tmp_at(&d, "cluster")), 0);
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "cached"), "a", "", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/cluster: "));
	assert_int_equal(cached_conf_load(c, tmp_at(&d, "none"), "a", "", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/none: "));
	tmp_close(&d);
}

/* --- floors ------------------------------------------------------------------------ */

TEST(floors__saved__are_loaded)
{
	static const struct cached_floors all[] = { { 0, 0 },
						    { 7, 9 },
						    { REGION_EPOCH_MAX, REGION_EPOCH_MAX } };
	struct conf_error e = { 0 };
	struct cached_floors f = { 5, 5 };
	struct tmpdir d;

	tmp_open(&d);
	assert_int_equal(cached_floors_load(&f, d.path, &e), 0);
	assert_int_equal(f.generation, 0);
	assert_int_equal(f.fence, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(cached_floors_save(&all[i], d.path, &e), 0);
		assert_int_equal(cached_floors_load(&f, d.path, &e), 0);
		assert_int_equal(f.generation, all[i].generation);
		assert_int_equal(f.fence, all[i].fence);
	}
	tmp_close(&d);
}

TEST(floors__damaged__are_refused_with_the_remedy_and_left_alone)
{
	static const char *const text[] = { "",
					    "{}",
					    "7 9",
					    "{\"generation\": 7}",
					    "{\"fence\": 7}",
					    "{\"generation\": 7, \"fence\": -1}",
					    "{\"generation\": 1073741824, \"fence\": 1}",
					    "{\"generation\": 7, \"fence\": 7, \"x\": 1}" };
	struct tmpdir d;

	tmp_open(&d);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct cached_floors f = { 5, 6 };
		struct conf_error e = { 0 };

		tmp_write(&d, "floors", text[i]);
		assert_int_equal(cached_floors_load(&f, d.path, &e), -EINVAL);
		assert_non_null(strstr(e.text, "/floors: the file is damaged: write"));
		assert_int_equal(e.exit, RESEX_BAD_CONFIG);
		assert_int_equal(f.generation, 5);
		assert_int_equal(f.fence, 6);
	}
	tmp_close(&d);
}

TEST(floors__without_a_folder__are_said_to_be_unsaved)
{
	const struct cached_floors f = { 1, 2 };
	struct conf_error e = { 0 };

	assert_int_equal(cached_floors_save(&f, "/nonexistent", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/floors: this host's generation could not be"));
}

/* --- examples ---------------------------------------------------------------------- */

RIG_TEST(example_files__are_good)
{
	struct cached_conf *c = *state;
	struct conf_error e = { 0 };
	char path[256];
	uint32_t self;

	example_path("etc/cache/cluster-cache.json", path, sizeof(path));
	if (cluster_cached_load(&c->cluster, path, NULL, "front1", &self, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c->cluster.caches, 3);
	for (int i = 0; i < 2; i++) {
		struct conf_doc d;
		const char *const file[] = { "etc/cache/cached-app.json",
					     "etc/cache/cached-proxy.json" };

		if (conf_load(&d, example_path(file[i], path, sizeof(path)), &e))
			fail_msg("%s", e.text);
		take(c, i ? CLUSTER_PROXY : CLUSTER_APP, d.text);
		conf_free(&d);
	}
}

RIG_TEST(man_page__its_examples_are_good)
{
	struct cached_conf *c = *state;
	struct examples ex;

	examples_open(&ex, "man/resex-cached.8");
	assert_int_equal(ex.n, 3); /* the third is of the HTTP API */
	take(c, CLUSTER_APP, ex.text[0]);
	assert_string_equal(c->socket_group, "shop");
	take(c, CLUSTER_PROXY, ex.text[1]);
	assert_string_equal(c->ring_group, "varnish");
}
