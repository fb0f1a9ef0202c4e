// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex-cacheload: clients of cached pages. Exit: 0 all replies were right, 1 one was not or
 * nothing was shown, 2 used wrongly. See load.h.
 */
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cacheload/load.h"
#include "src/util/file.h"

static int run(const struct load_options *o, struct load_result *r)
{
	char text[LOAD_TEXT_MAX] = "";
	int rc = o->check ? load_check(o->check, r, text) : load_run(o, r, text);

	if (rc) {
		fprintf(stderr, "resex-cacheload: %s\n", *text ? text : strerror(-rc));
		return RESEX_FAILURE;
	}
	rc = load_print(stdout, o, r);
	if (rc) {
		fprintf(stderr, "resex-cacheload: output: %s\n", strerror(-rc));
		return RESEX_FAILURE;
	}
	/* A run without a reply shows nothing. */
	return load_broken(r) || !r->checked ? RESEX_FAILURE : RESEX_OK;
}

int main(int argc, char **argv)
{
	struct load_options o;
	struct load_result *r;
	int rc;

	file_keep_standard();
	rc = load_options(&o, argc, argv);
	if (rc >= 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r) {
		fputs("resex-cacheload: there is no memory\n", stderr);
		return RESEX_FAILURE;
	}
	rc = run(&o, r);
	free(r);
	return rc;
}
