// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_api: the bodies of resex-cached's HTTP API. The first byte chooses the path, the rest is the
 * body. What is taken is within its ranges; what is not has one sentence.
 */
#include <errno.h>
#include <strings.h>

#include "src/cached/api_body.h"
#include "src/cached/tag.h"
#include "src/util/utf8.h"
#include "tests/fuzz/fuzz.h"

typedef int read_body(struct api_body *b, const char *text, size_t len, struct conf_error *e);

static void check_error(const struct conf_error *e, int rc)
{
	FUZZ_REQUIRE(rc == -EINVAL || rc == -EFBIG);
	FUZZ_REQUIRE(memchr(e->text, 0, sizeof(e->text)) && e->text[0]);
	FUZZ_REQUIRE(!strchr(e->text, '\n'));
	FUZZ_REQUIRE(!strncmp(e->text, "body:", 5) && e->exit != RESEX_OK);
}

static void check_tags(const struct api_body *b)
{
	FUZZ_REQUIRE(b->tags <= API_TAGS_MAX);
	for (uint32_t i = 0; i < b->tags; i++)
		FUZZ_REQUIRE(tag_good(b->tag[i]));
}

static void check_statements(const struct api_body *b)
{
	size_t sum = 0;

	FUZZ_REQUIRE(b->statements <= SQL_STATEMENTS_MAX);
	for (uint32_t i = 0; i < b->statements; i++) {
		const struct sql_statement *s = &b->statement[i];

		FUZZ_REQUIRE(s->text && s->params <= SQL_PARAMS_MAX);
		sum += strlen(s->text);
		for (uint32_t k = 0; k < s->params; k++)
			sum += s->param[k] ? strlen(s->param[k]) : 0;
	}
	FUZZ_REQUIRE(sum <= b->d.len);
}

/* What the path of this number has. */
static void check_good(const struct api_body *b, uint32_t which)
{
	check_tags(b);
	check_statements(b);
	FUZZ_REQUIRE(!b->snapshot || utf8_good(b->snapshot));
	if (which == 0)
		FUZZ_REQUIRE(b->home >= 1 && b->home <= REGION_HOSTS_MAX &&
			     b->word < REGION_CACHE_WORDS_MAX);
	if (which == 3)
		FUZZ_REQUIRE((b->tags == 1) + b->all + !!b->page == 1);
	if (which == 4)
		FUZZ_REQUIRE(b->host ? !b->number
				     : b->number >= 1 && b->number <= REGION_HOSTS_MAX);
}

/* A query is no JSON: any bytes. */
static void check_query(const char *text)
{
	struct conf_error e = { .exit = RESEX_OK };
	uint64_t n = 0;
	char again[32];

	FUZZ_REQUIRE(!api_check_tag(text, "tag", &e) == tag_good(text));
	FUZZ_REQUIRE(tag_good(text) || (e.text[0] && e.exit == RESEX_RANGE));
	if (!api_read_hex(text, &n))
		return;
	snprintf(again, sizeof(again), "%016llx", (unsigned long long)n);
	FUZZ_REQUIRE(strlen(text) <= 16 && !strcasecmp(again + 16 - strlen(text), text));
}

static void check_body(struct bytes *in, uint32_t which)
{
	static read_body *const readers[] = { api_body_fill, api_body_end, api_body_update,
					      api_body_invalidate, api_body_remove };
	char *text = malloc(in->left ? in->left : 1); /* to the byte */
	struct conf_error e = { .exit = RESEX_OK };
	struct api_body b;
	int rc;

	FUZZ_REQUIRE(text);
	memcpy(text, in->at, in->left);
	rc = readers[which](&b, text, in->left, &e);
	free(text); /* what was read is a copy */
	if (rc) {
		check_error(&e, rc);
	} else {
		check_good(&b, which);
		api_body_free(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };
	uint32_t which = take8(&in) % 6;
	char text[1024];

	if (which < 5) {
		check_body(&in, which);
		return 0;
	}
	snprintf(text, sizeof(text), "%.*s", (int)in.left, (const char *)in.at);
	check_query(text);
	return 0;
}
