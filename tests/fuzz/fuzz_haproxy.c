// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_haproxy: any bytes as replies of HAProxy's. However they are cut, the result is the same;
 * what is accepted has the fields that a plain split at separators finds, within their limits.
 *
 * Input: a byte for the kind of reply, one for the length of pieces, then the reply.
 */
#define _GNU_SOURCE /* memmem, strsep */
#include "src/reconf/haproxy_text.h"
#include "tests/fuzz/fuzz.h"

enum { KINDS = 4, FIELDS_MAX = 4096 };

static const struct act_conf conf = {
	.backend = "web",
	.servers = 3,
	.server = { "n1", "n2", "n3" },
};

struct result {
	struct act_server server[HAPROXY_SERVERS_MAX];
	struct haproxy_text text;
	bool ended;
	size_t used;
};

static void parse(struct result *r, enum haproxy_reply kind, const char *s, size_t len,
		  size_t piece)
{
	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < conf.servers; i++)
		r->server[i].there = true;
	haproxy_text_begin(&r->text, &conf, kind, r->server);
	while (r->used < len && !r->ended && !r->text.lost) {
		size_t n = len - r->used < piece ? len - r->used : piece, used;
		/* Of its very length: a parser that reads beyond it is found. */
		char *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, s + r->used, n);
		r->ended = haproxy_text_feed(&r->text, copy, n, &used);
		FUZZ_REQUIRE(used <= n && (used == n || r->ended || r->text.lost));
		r->used += used;
		free(copy);
	}
}

static int split(char *line, const char *separator, const char **field)
{
	int n = 0;

	while (line && n < FIELDS_MAX)
		field[n++] = strsep(&line, separator);
	return n;
}

static const char *named(const char **names, const char **field, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return field[i];
	FUZZ_REQUIRE(!"a column of this name");
	return "";
}

static uint64_t number(const char *s, uint64_t most)
{
	char *end;
	uint64_t v = strtoull(s, &end, 10);

	FUZZ_REQUIRE(*s >= '0' && *s <= '9' && !*end && v <= most);
	return v;
}

static enum act_want admin_of(uint64_t bits)
{
	return bits & 1 ? ACT_OUT : bits & 8 ? ACT_DRAIN : ACT_SERVE;
}

/* The rows of an accepted table, which is a string without quotes; its first line is the header. */
static void check_table(char *s, const struct result *r, bool state)
{
	static const char *names[FIELDS_MAX], *field[FIELDS_MAX];
	char *line = strsep(&s, "\n");
	uint32_t there = 0;
	int n = split(line + 2, state ? " " : ",", names);

	FUZZ_REQUIRE(line[0] == '#' && line[1] == ' ');
	while ((line = strsep(&s, "\n")) && *line) {
		const struct act_server *v = NULL;
		const char *name;

		if (!strcmp(line, "> "))
			break;
		FUZZ_REQUIRE(split(line, state ? " " : ",", field) == n);
		FUZZ_REQUIRE(!strcmp(named(names, field, n, state ? "be_name" : "pxname"), "web"));
		name = named(names, field, n, state ? "srv_name" : "svname");
		for (uint32_t i = 0; i < conf.servers; i++)
			if (!strcmp(conf.server[i], name))
				v = &r->server[i];
		if (!v)
			continue;
		there++;
		FUZZ_REQUIRE(v->there);
		if (state) {
			FUZZ_REQUIRE(v->weight ==
				     number(named(names, field, n, "srv_uweight"), 256));
			FUZZ_REQUIRE(v->initial ==
				     number(named(names, field, n, "srv_iweight"), 256));
			FUZZ_REQUIRE(r->text.backend ==
				     number(named(names, field, n, "be_id"), INT32_MAX));
			FUZZ_REQUIRE(!v->up || number(named(names, field, n, "srv_op_state"), 2));
			FUZZ_REQUIRE(v->admin ==
				     admin_of(number(named(names, field, n, "srv_admin_state"),
						     UINT16_MAX)));
			FUZZ_REQUIRE(!v->up || v->admin == ACT_SERVE);
		} else {
			FUZZ_REQUIRE(v->served ==
				     number(named(names, field, n, "stot"), UINT64_MAX));
			FUZZ_REQUIRE(v->queued ==
				     number(named(names, field, n, "qcur"), INT32_MAX));
			FUZZ_REQUIRE(v->latency_ns ==
				     1000000 * number(named(names, field, n, "rtime"), INT32_MAX));
			FUZZ_REQUIRE(v->own ==
				     number(named(names, field, n, "scur"), INT32_MAX) +
					     number(named(names, field, n, "qcur"), INT32_MAX));
		}
	}
	for (uint32_t i = 0; i < conf.servers; i++)
		there -= r->server[i].there;
	FUZZ_REQUIRE(!there);
}

static void check_good(const struct result *r, enum haproxy_reply kind, char *s)
{
	if (kind == HAPROXY_REPLY_EMPTY) {
		FUZZ_REQUIRE(s[strspn(s, "\n")] == '>');
	} else if (kind == HAPROXY_REPLY_INFO) {
		FUZZ_REQUIRE(strstr(s, "\nStopping: 0\n") && !strncmp(s, "Name: ", 6));
	} else if (kind == HAPROXY_REPLY_STATE) {
		FUZZ_REQUIRE(!strncmp(s, "1\n", 2));
		check_table(s + 2, r, true);
	} else if (!strchr(s, '"')) {
		check_table(s, r, false);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result whole, cut;
	struct bytes b = { data, size };
	enum haproxy_reply kind = take8(&b) % KINDS;
	size_t piece = take8(&b) % 16 + 1;
	char *s;

	parse(&whole, kind, (const char *)b.at, b.left, SIZE_MAX);
	parse(&cut, kind, (const char *)b.at, b.left, piece);
	FUZZ_REQUIRE(whole.ended == cut.ended && whole.text.lost == cut.text.lost);
	FUZZ_REQUIRE(whole.used == cut.used || whole.text.lost);
	FUZZ_REQUIRE(whole.text.fault == cut.text.fault && whole.text.backend == cut.text.backend);
	FUZZ_REQUIRE(!strcmp(whole.text.words, cut.text.words));
	FUZZ_REQUIRE(!memcmp(whole.server, cut.server, sizeof(cut.server)));
	for (const char *w = whole.text.words; *w; w++)
		FUZZ_REQUIRE(*w >= ' ' && *w <= '~');
	if (!whole.ended || whole.text.fault)
		return 0;
	s = malloc(whole.used + 1);
	if (!s)
		abort();
	memcpy(s, b.at, whole.used);
	s[whole.used] = '\0';
	/* A NUL ends a string, and not a reply. */
	if (strlen(s) == whole.used)
		check_good(&whole, kind, s);
	free(s);
	return 0;
}
