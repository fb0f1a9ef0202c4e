// SPDX-License-Identifier: GPL-2.0-or-later
/* fuzz_conf: any text through conf_parse, conf_bind and conf_fail. */
#include <errno.h>

#include "src/util/conf.h"
#include "tests/fuzz/fuzz.h"

struct link {
	uint64_t rate;
	uint32_t profile;
	char name[8]; /* last, so that a byte too many leaves the heap block */
};

struct top {
	bool on;
	uint64_t count;
	int64_t period;
	uint64_t percent, permille, mpct, ns;
	char policy[16];
};

static const char *const profiles[] = { "scaled", "paper-2011", NULL };
static const char *const also[] = { "links", "x", NULL };

static const struct conf_key link_keys[] = {
	{ "name", CONF_STRING, offsetof(struct link, name), 1, 7, NULL, 1 },
	{ "rate", CONF_RATE, offsetof(struct link, rate), 1000000, 1ULL << 40, NULL, 0 },
	{ "profile", CONF_ENUM, offsetof(struct link, profile), 0, 0, profiles, 0 },
	{ NULL, CONF_BOOL, 0, 0, 0, NULL, 0 },
};

static const struct conf_key top_keys[] = {
	{ "interval", CONF_DURATION, offsetof(struct top, period), 100000, 3600000000000, NULL, 0 },
	{ "weight", CONF_UINT, offsetof(struct top, count), 1, 65535, NULL, 0 },
	{ "percent", CONF_PERCENT, offsetof(struct top, percent), 1, 400, NULL, 0 },
	{ "permille", CONF_PERMILLE, offsetof(struct top, permille), 1, 1000, NULL, 0 },
	{ "mpct", CONF_MPCT, offsetof(struct top, mpct), 1000, 100000, NULL, 0 },
	{ "ns", CONF_NS, offsetof(struct top, ns), 1, UINT64_MAX, NULL, 0 },
	{ "policy", CONF_STRING, offsetof(struct top, policy), 0, 15, NULL, 0 },
	{ "lock_memory", CONF_BOOL, offsetof(struct top, on), 0, 0, NULL, 0 },
	{ NULL, CONF_BOOL, 0, 0, 0, NULL, 0 },
};

/* An error names a place that is in the text, and says something, in one line. */
static void check_error(const struct conf_error *e, const char *text, size_t len)
{
	int lines = 1;
	char place[64];

	FUZZ_REQUIRE(memchr(e->text, '\0', sizeof(e->text)));
	FUZZ_REQUIRE(!strchr(e->text, '\n'));
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	FUZZ_REQUIRE(e->line >= 0 && e->line <= lines);
	FUZZ_REQUIRE(e->column >= 0 && (size_t)e->column <= len + 1);
	if (e->line)
		snprintf(place, sizeof(place), "f:%d:%d: ", e->line, e->column);
	else
		snprintf(place, sizeof(place), "f: ");
	FUZZ_REQUIRE(!strncmp(e->text, place, strlen(place)));
	FUZZ_REQUIRE(strlen(e->text) > strlen(place));
}

static void bind_link(const struct conf_doc *d, size_t i, const json_t *v)
{
	struct link *l = malloc(sizeof(*l)), before;
	struct conf_error e;
	char path[32];

	if (!l)
		abort();
	memset(l, 0x5a, sizeof(*l));
	before = *l;
	snprintf(path, sizeof(path), "links[%zu]", i);
	if (conf_bind(d, path, v, link_keys, NULL, l, &e)) {
		FUZZ_REQUIRE(!memcmp(l, &before, sizeof(before)));
		check_error(&e, d->text, d->len);
	} else {
		FUZZ_REQUIRE(strlen(l->name) >= 1 && strlen(l->name) <= 7);
		FUZZ_REQUIRE(l->rate == before.rate ||
			     (l->rate >= 1000000 && l->rate <= 1ULL << 40));
		FUZZ_REQUIRE(l->profile == before.profile || l->profile <= 1);
	}
	free(l);
}

static void bind_top(const struct conf_doc *d)
{
	struct top t = {
		.count = 1, .period = 100000, .percent = 1, .permille = 1, .mpct = 1000, .ns = 1
	};
	struct conf_error e;

	if (conf_bind(d, "", d->root, top_keys, also, &t, &e))
		check_error(&e, d->text, d->len);
	FUZZ_REQUIRE(t.count >= 1 && t.count <= 65535);
	FUZZ_REQUIRE(t.period >= 100000 && t.period <= 3600000000000);
	FUZZ_REQUIRE(t.percent >= 1 && t.percent <= 400);
	FUZZ_REQUIRE(t.permille >= 1 && t.permille <= 1000);
	FUZZ_REQUIRE(t.mpct >= 1000 && t.mpct <= 100000);
	FUZZ_REQUIRE(t.ns >= 1);
	FUZZ_REQUIRE(memchr(t.policy, '\0', sizeof(t.policy)));
}

/* What is read as a number is shown as a word that is the same number. */
static void check_number(const json_t *v, enum conf_type type)
{
	const struct conf_key k = { .type = type, .max = UINT64_MAX };
	char text[64], want[256] = "";
	uint64_t u = 0, again = 0;
	json_t *word;

	if (conf_number(&k, v, &u, want, sizeof(want))) {
		FUZZ_REQUIRE(want[0]);
		return;
	}
	conf_text(type, u, text, sizeof(text));
	if (strspn(text, "0123456789") == strlen(text))
		return;
	word = json_string(text);
	FUZZ_REQUIRE(word && !conf_number(&k, word, &again, want, sizeof(want)) && again == u);
	json_decref(word);
}

static void check_numbers(const struct conf_doc *d)
{
	static const enum conf_type types[] = {
		CONF_UINT, CONF_DURATION, CONF_NS,	 CONF_RATE,
		CONF_SIZE, CONF_PERCENT,  CONF_PERMILLE, CONF_MPCT
	};
	const char *key;
	json_t *v;

	json_object_foreach(d->root, key, v) {
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			check_number(v, types[i]);
		check_number(v, conf_type_of(key));
	}
}

/* Comments change no value: a further one at the end, or those left out already. */
static void check_comments(const struct conf_doc *d, const char *text, size_t size)
{
	static const char more[] = "\n # \" { [\n// }";
	size_t len = size + sizeof(more) - 1;
	char *with = malloc(len);
	struct conf_error e;
	struct conf_doc again;

	if (!with)
		abort();
	if (size)
		memcpy(with, text, size);
	memcpy(with + size, more, sizeof(more) - 1);
	FUZZ_REQUIRE(conf_parse(&again, "f", with, len, &e) == (d->root ? 0 : -EINVAL));
	FUZZ_REQUIRE(!d->root || json_equal(again.root, d->root));
	conf_free(&again);
	free(with);
	if (!d->root)
		return;
	FUZZ_REQUIRE(!conf_parse_long(&again, "f", d->text, d->len, d->len, &e));
	FUZZ_REQUIRE(json_equal(again.root, d->root));
	conf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_error e;
	struct conf_doc d;
	char *text = malloc(size); /* exactly as long, so that reading on is seen */
	const json_t *links;
	size_t i;
	json_t *v;

	if (size && !text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (conf_parse(&d, "f", text, size, &e)) {
		FUZZ_REQUIRE(!d.root);
		check_error(&e, text, size);
		if (size < CONF_BYTES_MAX / 2)
			check_comments(&d, text, size);
		free(text);
		return 0;
	}
	FUZZ_REQUIRE(d.len <= size && d.text != text);
	if (size < CONF_BYTES_MAX / 2)
		check_comments(&d, text, size);
	free(text);
	bind_top(&d);
	check_numbers(&d);
	links = json_object_get(d.root, "links");
	json_array_foreach(links, i, v)
		bind_link(&d, i, v);
	/* A path taken from the text itself: any bytes a key may hold. */
	if (json_is_string(json_object_get(d.root, "x"))) {
		const char *path = json_string_value(json_object_get(d.root, "x"));

		FUZZ_REQUIRE(conf_fail(&d, path, &e, "at %s", path) < 0);
		check_error(&e, d.text, d.len);
	}
	conf_free(&d);
	return 0;
}
