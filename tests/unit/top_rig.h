/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top_rig: a model of resex top, replies as JSON with ' for ", and its screen as text. */
#ifndef RESEX_TESTS_TOP_RIG_H
#define RESEX_TESTS_TOP_RIG_H

#include <stdlib.h>
#include <string.h>

#include "src/cli/top_layout.h"
#include "src/util/utf8.h"
#include "tests/unit/prop.h"

struct rig {
	struct top_model m;
	struct top_grid g;
	struct mono now;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	top_model_init(&r->m);
	r->g.utf8 = true;
	r->now.ns = 100 * NS_PER_S;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	top_model_free(&r->m);
	top_grid_free(&r->g);
	free(r);
	return 0;
}

static json_t *parse(const char *json)
{
	char *text = strdup(json);
	json_t *v;

	assert_non_null(text);
	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	v = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_non_null(v);
	free(text);
	return v;
}

static void reply(struct rig *r, enum top_reply what, const char *json)
{
	json_t *v = parse(json);

	assert_int_equal(top_model_reply(&r->m, what, v, r->now), 0);
	json_decref(v);
}

/* The rows, each ended by a newline, without empty ones at the end. To be freed. */
static char *text_of(const struct top_grid *g)
{
	size_t size = (size_t)g->rows * (4 * (size_t)g->cols + 2) + 1, n = 0;
	char *text = malloc(size);

	assert_non_null(text);
	for (int y = 0; y < g->rows; y++) {
		n += top_grid_text(g, y, text + n);
		text[n++] = '\n';
	}
	while (n > 1 && text[n - 1] == '\n' && text[n - 2] == '\n')
		n--;
	text[n] = 0;
	return text;
}

static char *screen(struct rig *r, int rows, int cols)
{
	assert_int_equal(top_grid_resize(&r->g, rows, cols), 0);
	top_layout(&r->m, &r->g, r->now);
	return text_of(&r->g);
}

/* The row of the screen that holds this. */
static void assert_shows(struct rig *r, int rows, int cols, const char *part)
{
	char *text = screen(r, rows, cols);

	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
	free(text);
}

#endif
