/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update: what a form changes: the statements of one transaction, and the tags of all that they
 * change, lists that get longer, too.
 */
#ifndef RESEX_AUCTION_UPDATE_H
#define RESEX_AUCTION_UPDATE_H

#include <stdint.h>

#include "resex/cache.h"

enum { UPDATE_TAGS = 6, UPDATE_STATEMENTS = 4, UPDATE_PARAMS = 6, UPDATE_NAME_MAX = 200 };

struct update {
	char tag[UPDATE_TAGS][48];
	const char *tags[UPDATE_TAGS]; /* for resex_cache_update */
	size_t n;
	struct resex_cache_statement statement[UPDATE_STATEMENTS];
	const char *param[UPDATE_STATEMENTS][UPDATE_PARAMS];
	size_t statements;
	/* the form's values, as texts of numbers */
	char item[24], user[24], category[24], amount[24], number[24];
	char name[UPDATE_NAME_MAX + 1];
};

/*
 * Of POST path with this form: "item=5&user=3&raise=1". new_item: the id of an item whose form
 * has none. 0; -ENOENT: no such path; -EINVAL with a sentence in why. u must not be moved.
 */
int update_read(struct update *u, const char *path, const char *form, uint64_t new_item, char *why,
		size_t size);

#endif
