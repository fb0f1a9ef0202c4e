// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_cached: hosts of roles "app" and "proxy" and "cache" in cluster.json. resexd checks them
 * and is disturbed by nothing in them; resex-cached finds itself, and agrees with its like.
 */
#include "config.h"
#include "src/conf/cluster_change.h"
#include "tests/unit/cluster_conf_rig.h"
#include "tests/unit/tmpdir.h"

#define APP(name, number, more)                                                                    \
	"{\"name\": \"" name "\", \"number\": " number ", \"role\": \"app\", "                     \
	"\"address\": \"10.0.1." number "\"" more "}"
#define PROXY(name, number, more)                                                                  \
	"{\"name\": \"" name "\", \"number\": " number ", \"role\": \"proxy\", "                   \
	"\"address\": \"10.0.1." number "\"" more "}"
#define A10  APP("a10", "10", "")
#define A11  APP("a11", "11", "")
#define P20  PROXY("p20", "20", "")
#define PEEK "{\"name\": \"peek\", \"number\": 200, \"role\": \"client\"}"
#define ALL(more)                                                                                  \
	HEAD more "\"hosts\": [" A10 ", " HOST1 ", " P20 ", " HOST2 ", " A11 ", " PEEK "]}"
#define WITH(...) HEAD "\"hosts\": [" HOST1 ", " HOST2 ", " __VA_ARGS__ "]}"
/* A site without resexd. */
#define ALONE HEAD "\"hosts\": [" A10 ", " A11 ", " P20 ", " PEEK "]}"

#define RIG_TEST(name) TEST_WITH(name, setup, teardown)

RIG_TEST(rows__among_the_hosts__are_in_a_list_of_their_own)
{
	struct cluster_conf *c = *state;
	struct transport_peer p;

	take(c, ALL(""), "xen2");
	assert_int_equal(c->hosts, 2);
	assert_int_equal(c->clients, 1);
	assert_int_equal(c->caches, 3);
	assert_string_equal(c->host[c->self].name, "xen2");
	assert_null(cluster_host_at(c, 10));
	assert_null(cluster_client_at(c, 10));
	assert_ptr_equal(cluster_cached_at(c, 10), &c->cached[0]);
	assert_ptr_equal(cluster_cached_at(c, 20), &c->cached[1]);
	assert_null(cluster_cached_at(c, 1));
	assert_null(cluster_cached_at(c, 200));
	assert_int_equal(c->cached[0].role, CLUSTER_APP);
	assert_int_equal(c->cached[1].role, CLUSTER_PROXY);
	cluster_cached_peer(c, 1, &p);
	assert_int_equal(p.host, 20);
	assert_int_equal(p.role, TRANSPORT_MEMBER);
	assert_int_equal(p.port, 7471);
	assert_string_equal(p.name, "p20");
	assert_string_equal(p.address, "10.0.1.20");
}

RIG_TEST(cache__not_given__has_its_defaults)
{
	struct cluster_conf *c = *state;

	take(c, ALL(""), "xen1");
	assert_true(c->cache.fresh_ns == NS_PER_S && c->cache.detect_ns == 2 * NS_PER_S);
	assert_int_equal(c->cache.words, 65536);
	assert_int_equal(c->cache.slots, 8);
	take(c,
	     ALL("\"cache\": {\"fresh\": \"10ms\", \"detect\": \"60s\", \"words\": 1000000, "
		 "\"slots\": 64}, "),
	     "xen1");
	assert_true(c->cache.fresh_ns == 10 * NS_PER_MS && c->cache.detect_ns == 60 * NS_PER_S);
	assert_int_equal(c->cache.words, 1000000);
	assert_int_equal(c->cache.slots, 64);
}

RIG_TEST(file__that_cannot_be__is_refused_with_place_and_remedy)
{
	static const struct {
		const char *text, *host, *said;
	} rows[] = {
		{ WITH(APP("a", "1", "")), "xen1",
		  "number 1 is already used by \"xen1\": give each host its own" },
		{ WITH(A10 ", " PROXY("p", "10", "")), "xen1", "already used by \"a10\"" },
		{ WITH(A10 ", {\"name\": \"c\", \"number\": 10, \"role\": \"client\"}"), "xen1",
		  "already used by \"a10\"" },
		{ WITH(PEEK ", " APP("a", "200", "")), "xen1", "already used by \"peek\"" },
		{ HEAD "\"hosts\": [" APP("a", "1", "") ", " HOST1 "]}", "xen1",
		  "number 1 is already used by \"a\"" },
		{ WITH(APP("xen1", "9", "")), "xen1", "host \"xen1\" is listed twice" },
		{ WITH(A10 ", " PROXY("a10", "9", "")), "xen1", "host \"a10\" is listed twice" },
		{ WITH("{\"name\": \"a\", \"number\": 9, \"role\": \"app\"}"), "xen1",
		  "host \"a\" has no \"address\": give one" },
		{ WITH(APP("a", "9", ", \"rights\": \"atomics\"")), "xen1",
		  "has no \"rights\": leave it out" },
		{ WITH(PROXY("p", "9", ", \"corosync_node\": 3")), "xen1",
		  "has no \"corosync_node\": leave it out" },
		{ WITH("{\"name\": \"a\", \"number\": 9, \"role\": \"app\", \"address\": "
		       "\"10.0.0.1\"}"),
		  "xen1", "\"10.0.0.1\" port 7471 is already used by \"xen1\"" },
		{ WITH(A10 ", {\"name\": \"a\", \"number\": 9, \"role\": \"app\", \"address\": "
			   "\"10.0.1.10\"}"),
		  "xen1", "already used by \"a10\"" },
		{ WITH("{\"name\": \"a\", \"number\": 9, \"role\": \"app\", \"address\": "
		       "\"db.example\"}"),
		  "xen1", "host \"a\" cannot be called at \"db.example\"" },
		{ WITH(A10), "a10.example", "run resexd on members alone" },
		{ HEAD "\"host\": \"a10\", \"hosts\": [" HOST1 ", " A10 "]}", "xen1",
		  "\"a10\" has the role app or proxy, and runs resex-cached" },
		{ HEAD "\"hosts\": [" A10 "]}", "a10", "only clients and cached hosts" },
		{ HEAD "\"hosts\": [" HOST1 ", " A10 "], \"services\": [{\"name\": \"w\", "
		       "\"number\": 1, \"balancers\": [\"a10\"]}]}",
		  "xen1", "\"a10\" runs resex-cached, and balances nothing" },
		{ HEAD "\"hosts\": [" HOST1 ", " A10 "], \"nodes\": [{\"name\": \"n\", "
		       "\"number\": 1, \"host\": \"a10\"}]}",
		  "xen1", "unknown host \"a10\"" },
		{ ALL("\"cache\": [], "), "xen1", "cache" },
		{ ALL("\"cache\": {\"fress\": \"1s\"}, "), "xen1", "fress" },
		{ ALL("\"cache\": {\"fresh\": \"9ms\"}, "), "xen1", "10ms" },
		{ ALL("\"cache\": {\"fresh\": \"61s\"}, "), "xen1", "60s" },
		{ ALL("\"cache\": {\"detect\": \"99ms\"}, "), "xen1", "100ms" },
		{ ALL("\"cache\": {\"detect\": \"61s\"}, "), "xen1", "60s" },
		{ ALL("\"cache\": {\"words\": 0}, "), "xen1", "from 1 to 1000000" },
		{ ALL("\"cache\": {\"words\": 1000001}, "), "xen1", "from 1 to 1000000" },
		{ ALL("\"cache\": {\"slots\": 0}, "), "xen1", "from 1 to 64" },
		{ ALL("\"cache\": {\"slots\": 65}, "), "xen1", "from 1 to 64" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(*state, i, rows[i].text, rows[i].host, rows[i].said);
}

/* --- resexd is not disturbed ------------------------------------------------------ */

RIG_TEST(resexd__with_cached_hosts_or_without__agrees_and_accepts_as_many)
{
	static const char *const text[] = { HEAD BOTH "}", WITH(A10), WITH(A11 ", " P20),
					    HEAD "\"cache\": {\"words\": 1}, " BOTH "}" };
	struct cluster_conf *c = *state;
	uint64_t agreement = 0, hosts = 0;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		take(c, text[i], "xen1");
		if (i == 0) {
			agreement = cluster_agreement(c);
			hosts = cluster_hosts_digest(c);
		}
		assert_true(cluster_agreement(c) == agreement);
		assert_true(cluster_hosts_digest(c) == hosts);
		assert_true(cluster_nodes_digest(c) == 0);
		assert_int_equal(c->callers, 8);
		assert_int_equal(cluster_lowest_host(c), 1);
	}
}

RIG_TEST(reload__of_cached_hosts_and_cache__changes_nothing)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ HEAD BOTH "}", WITH(A10) },
		{ WITH(A10), HEAD BOTH "}" },
		{ WITH(A10 ", " P20), WITH(A11 ", " PROXY("p20", "10", "")) },
		{ WITH(A10), WITH(APP("a10", "10", ", \"port\": 9")) },
		{ HEAD BOTH "}", HEAD "\"cache\": {\"fresh\": \"2s\"}, " BOTH "}" },
	};
	struct cluster_conf *b = calloc(1, sizeof(*b)), *a = *state;
	struct cluster_changes *ch = calloc(1, sizeof(*ch));
	const struct hostset present = hostset_first(2);
	struct cluster_refusal why;

	assert_non_null(b);
	assert_non_null(ch);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		take(a, rows[i].from, "xen1");
		take(b, rows[i].to, "xen1");
		assert_int_equal(cluster_change(a, b, &present, ch, &why), 0);
		assert_int_equal(ch->n, 0);
		assert_false(ch->hosts);
	}
	free(ch);
	free(b);
}

RIG_TEST(reload__with_a_number_that_collides__is_refused)
{
	struct cluster_conf *b = calloc(1, sizeof(*b)), *a = *state;
	struct cluster_changes *ch = calloc(1, sizeof(*ch));
	const struct hostset present = hostset_first(2);
	struct conf_error e = { 0 };
	struct tmpdir d;

	assert_non_null(b);
	assert_non_null(ch);
	take(a, HEAD BOTH "}", "xen1");
	tmp_open(&d);
	tmp_write(&d, "f", WITH(APP("a", "2", "")));
	assert_int_equal(cluster_change_load(a, b, tmp_at(&d, "f"), "xen1", &present, ch, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "number 2 is already used by \"xen2\""));
	tmp_close(&d);
	free(ch);
	free(b);
}

/* --- resex-cached ----------------------------------------------------------------- */

static int load(struct cluster_conf *c, const char *text, const char *name, const char *hostname,
		uint32_t *self, struct conf_error *e)
{
	struct tmpdir d;
	int rc;

	tmp_open(&d);
	tmp_write(&d, "f", text);
	memset(c, 0xa5, sizeof(*c));
	memset(e, 0, sizeof(*e));
	*self = 99;
	rc = cluster_cached_load(c, tmp_at(&d, "f"), name, hostname, self, e);
	tmp_close(&d);
	return rc;
}

RIG_TEST(cached__is_found__by_its_own_name_or_that_of_the_file_or_of_the_host)
{
	static const struct {
		const char *text, *name, *hostname, *found;
	} rows[] = {
		{ ALL(""), "p20", "xen1", "p20" },
		{ ALL(""), NULL, "a11.example.org", "a11" },
		{ ALL("\"host\": \"a10\", "), NULL, "a11", "a10" },
		{ ALL("\"host\": \"xen1\", "), "a11", "xen1", "a11" },
		{ ALONE, NULL, "a10", "a10" }, /* there need be no members */
	};
	struct cluster_conf *c = *state;
	struct conf_error e;
	uint32_t self;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (load(c, rows[i].text, rows[i].name, rows[i].hostname, &self, &e))
			fail_msg("row %zu: %s", i, e.text);
		assert_true(self < c->caches);
		assert_string_equal(c->cached[self].name, rows[i].found);
		assert_string_equal(c->host_name, rows[i].found);
	}
}

RIG_TEST(cached__not_in_the_file__is_refused_with_the_remedy)
{
	static const char long_name[] = "a10xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
					"xxxxxxxxxxxxxxxxxxxxxxxxx";
	static const struct {
		const char *text, *name, *hostname, *said;
	} rows[] = {
		{ ALL(""), "a12", "a10", "\"a12\" is no cached host: add { \"name\": \"a12\"" },
		{ ALL(""), NULL, "a12", "or give this host's name there with \"host\"" },
		{ ALL("\"host\": \"a12\", "), NULL, "a10", "\"a12\" is no cached host" },
		{ ALL(""), "xen1", "a10", "\"xen1\" is a member or a client" },
		{ ALL(""), "peek", "a10", "\"peek\" is a member or a client" },
		{ ALL(""), NULL, "xen2", "\"xen2\" is a member or a client" },
		{ ALL(""), long_name, "a10", "is no cached host" },
		{ HEAD BOTH "}", NULL, "a10", "is no cached host" },
	};
	struct cluster_conf *c = *state;
	struct conf_error e;
	uint32_t self;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (load(c, rows[i].text, rows[i].name, rows[i].hostname, &self, &e) != -EINVAL)
			fail_msg("row %zu was accepted", i);
		if (!strstr(e.text, rows[i].said))
			fail_msg("row %zu: \"%s\" does not say \"%s\"", i, e.text, rows[i].said);
		assert_true(e.line >= 1);
		assert_true(!rows[i].name || !strstr(e.text, "or give this host's name"));
		assert_int_equal(self, 99);
	}
	assert_int_equal(cluster_cached_load(c, "/nonexistent", NULL, "a", &self, &e), -ENOENT);
}

/* Balances of the members are theirs; callers are the hosts that call. */
RIG_TEST(cached__reads_the_rest__without_a_part_in_it)
{
	struct cluster_conf *c = *state;
	struct conf_error e;
	uint32_t self;

	if (load(c,
		 HEAD "\"hosts\": [" HOST1 ", " A10 "], " WEB
		      ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"xen1\", "
		      "\"service\": \"web\"}], \"balance\": [{\"service\": \"web\", \"socket\": "
		      "\"/s\"}]}",
		 NULL, "a10", &self, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c->nodes, 1);
	assert_int_equal(c->balances, 0);
	assert_int_equal(
		load(c, ALL("\"callers\": 3, \"callers_second\": 4, "), NULL, "a10", &self, &e), 0);
	assert_int_equal(c->callers, 3);
	assert_int_equal(c->callers_second, 4);
}

RIG_TEST(cached__callers__are_by_default_as_many_as_may_call)
{
	char text[1 << 14] = HEAD "\"hosts\": [" HOST1;
	struct cluster_conf *c = *state;
	struct conf_error e;
	size_t n = strlen(text);
	uint32_t self;

	for (int i = 2; i <= 100; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      ",{\"name\": \"h%d\", \"number\": %d, \"role\": \"%s\", "
				      "\"address\": \"10.0.0.%d\"}",
				      i, i, i % 2 ? "app" : "proxy", i);
	strcpy(text + n, "]}");
	assert_int_equal(load(c, text, "h7", "", &self, &e), 0);
	assert_int_equal(c->callers, 99);
	assert_int_equal(c->callers_second, 99);
	assert_int_equal(load(c, ALL(""), "a10", "", &self, &e), 0);
	assert_int_equal(c->callers, 8);
	assert_int_equal(c->callers_second, 64);
}

/* A tool of such a site. */
RIG_TEST(client__of_cached_hosts_alone__reads_the_file)
{
	struct cluster_conf *c = *state;
	struct conf_error e = { 0 };
	struct tmpdir d;

	tmp_open(&d);
	tmp_write(&d, "f", ALONE);
	if (cluster_client_load(c, tmp_at(&d, "f"), "peek", &e))
		fail_msg("%s", e.text);
	assert_int_equal(c->hosts, 0);
	assert_int_equal(c->caches, 3);
	tmp_write(&d, "f", HEAD "\"hosts\": [" PEEK "]}");
	assert_int_equal(cluster_client_load(c, tmp_at(&d, "f"), "peek", &e), -EINVAL);
	tmp_close(&d);
}

/* --- agreement of cached hosts ----------------------------------------------------- */

static uint64_t agreement_of(struct cluster_conf *c, const char *text)
{
	struct conf_error e;
	uint32_t self;

	if (load(c, text, NULL, "a10", &self, &e))
		fail_msg("%s", e.text);
	return cluster_cache_agreement(c);
}

RIG_TEST(agreement__what_makes_another__is_each_of_these)
{
	static const char *const text[] = {
		WITH(A10 ", " P20),
		WITH(A10),
		WITH(A10 ", " P20 ", " A11),
		WITH(A10 ", " APP("p20", "20", "")),
		WITH(A10 ", " PROXY("p20", "21", "")),
		HEAD "\"drift\": 999, \"hosts\": [" A10 ", " P20 "]}",
		HEAD "\"cache\": {\"fresh\": \"2s\"}, \"hosts\": [" A10 ", " P20 "]}",
		HEAD "\"cache\": {\"detect\": \"1s\"}, \"hosts\": [" A10 ", " P20 "]}",
		/* not detect's in fresh's place */
		HEAD "\"cache\": {\"fresh\": \"2s\", \"detect\": \"1s\"}, \"hosts\": [" A10 ", " P20
		     "]}",
		HEAD "\"cache\": {\"words\": 8}, \"hosts\": [" A10 ", " P20 "]}",
		HEAD "\"cache\": {\"slots\": 9}, \"hosts\": [" A10 ", " P20 "]}",
	};
	enum { N = sizeof(text) / sizeof(text[0]) };
	uint64_t v[N];

	for (int i = 0; i < N; i++) {
		v[i] = agreement_of(*state, text[i]);
		assert_true(v[i] != 0 && v[i] != cluster_agreement(*state));
		for (int k = 0; k < i; k++)
			assert_true(v[i] != v[k]);
	}
}

RIG_TEST(agreement__what_does_not_matter_to_cached_hosts__changes_nothing)
{
	static const char *const text[] = {
		WITH(P20 ", " A10),
		WITH(APP("a10", "10", ", \"port\": 9") ", " P20 ", " PEEK),
		HEAD "\"hosts\": [" A10 ", " PROXY("other", "20", "") "]}",
		HEAD "\"hold\": \"3s\", \"timeout\": \"2s\", \"heartbeat\": \"1s\", "
		     "\"membership\": \"corosync\", \"hosts\": [" HOST2 ", " A10 ", " P20 "], " WEB
		     "}",
		HEAD "\"cache\": {\"fresh\": \"1000ms\", \"slots\": 8}, \"hosts\": [" A10 ", " P20
		     "]}",
	};
	uint64_t v = agreement_of(*state, WITH(A10 ", " P20));

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		assert_true(agreement_of(*state, text[i]) == v);
}

/* By a program in another language, written from the head of cluster_agree.c. */
RIG_TEST(agreement__is_this_number)
{
	assert_true(agreement_of(*state, WITH(A10 ", " P20)) == 0x6cce592846c1724bull);
}
