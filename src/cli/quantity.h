/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quantity: numbers with their units, for people: "6.29ms", "1.25GB/s", "35%". JSON has the numbers
 * themselves, in the unit that a member's name ends with.
 */
#ifndef RESEX_CLI_QUANTITY_H
#define RESEX_CLI_QUANTITY_H

#include <stddef.h>

enum quantity {
	QUANTITY_PLAIN,
	QUANTITY_NS, /* durations */
	QUANTITY_US,
	QUANTITY_MS,
	QUANTITY_BYTES, /* multiples of 1000, as in rates of links */
	QUANTITY_RATE,	/* bytes a second */
	QUANTITY_PERCENT,
	QUANTITY_PERMILLE, /* shown as percents */
};

/*
 * v with its unit, of at most three digits but for whole days or TB; no blank, so that it is one
 * word for awk(1). How long it is. v may be of any size, and not a number.
 */
size_t quantity_text(enum quantity q, double v, char *out, size_t size);

#endif
