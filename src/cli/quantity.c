// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * quantity: a number and its unit as one word, in the unit that leaves one to three digits before
 * the point. table.c asks it for cells. See quantity.h.
 */
#include "src/cli/quantity.h"

#include <stdio.h>
#include <string.h>

/* In the order of size. */
struct unit {
	const char *name;
	double times; /* how many of the unit before it are one */
	double below; /* from so many on, the next unit; 0: there is none */
};

/*
 * From 999.5 on three digits would be 1000. Minutes and hours begin where seconds and minutes get
 * long, not at the first whole one: "90s" says more than "1.5min".
 */
#define DECADE 999.5
static const struct unit durations[] = {
	{ "ns", 1, DECADE }, { "us", 1000, DECADE }, { "ms", 1000, DECADE }, { "s", 1000, 120 },
	{ "min", 60, 120 },  { "h", 60, 48 },	     { "d", 24, 0 },
};
static const struct unit sizes[] = {
	{ "B", 1, DECADE },	{ "kB", 1000, DECADE }, { "MB", 1000, DECADE },
	{ "GB", 1000, DECADE }, { "TB", 1000, 0 },
};

static size_t format_number(double v, char *out, size_t size)
{
	size_t n;

	n = (size_t)snprintf(out, size, v < 9.995 ? "%.2f" : v < 99.95 ? "%.1f" : "%.0f", v);
	if (n >= size)
		n = size - 1;
	if (!memchr(out, '.', n))
		return n;
	while (out[n - 1] == '0')
		n--;
	if (out[n - 1] == '.')
		n--;
	return n;
}

static size_t format_unit(const struct unit *u, size_t from, double v, const char *more, char *out,
			  size_t size)
{
	const char *sign = v < 0 ? "-" : "";
	char number[400]; /* the largest double has 309 digits */
	size_t n;
	int all;

	if (v < 0)
		v = -v;
	for (u += from; u->below > 0 && v >= u->below; u++)
		v /= u[1].times;
	n = format_number(v, number, sizeof(number));
	all = snprintf(out, size, "%s%.*s%s%s", sign, (int)n, number, u->name, more);
	return all < 0 ? 0 : (size_t)all < size ? (size_t)all : size - 1;
}

size_t quantity_text(enum quantity q, double v, char *out, size_t size)
{
	static const struct unit percent[] = { { "%", 1, 0 } };

	switch (q) {
	case QUANTITY_NS:
		return format_unit(durations, 0, v, "", out, size);
	case QUANTITY_US:
		return format_unit(durations, 1, v, "", out, size);
	case QUANTITY_MS:
		return format_unit(durations, 2, v, "", out, size);
	case QUANTITY_BYTES:
		return format_unit(sizes, 0, v, "", out, size);
	case QUANTITY_RATE:
		return format_unit(sizes, 0, v, "/s", out, size);
	case QUANTITY_PERCENT:
		return format_unit(percent, 0, v, "", out, size);
	case QUANTITY_PERMILLE:
		return format_unit(percent, 0, v / 10, "", out, size);
	default:
		return (size_t)snprintf(out, size, "%.0f", v);
	}
}
