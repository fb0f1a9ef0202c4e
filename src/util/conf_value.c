// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf_value: read values of all types strictly, and show values and ranges in
 * the form in which they are written in a file.
 *
 * Strictly: "10 ms", "10MS" and 10.0 are errors, not guesses. A figure that was
 * read otherwise than it was meant would cap guests wrongly without any message.
 * Only before a percent sign may a blank stand, since many languages write it there.
 */
#include "src/util/conf_parts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t times, over; /* value = number x times / over */
};

static const struct unit durations[] = {
	{ "s", 1000000000, 1 }, { "ms", 1000000, 1 }, { "us", 1000, 1 },
	{ "ns", 1, 1 },		{ NULL, 0, 0 },
};

/*
 * Units of whole bytes first, the largest of them first: show_unit() uses the first that fits.
 * Multiples of 1000 and of 1024 are both common for links, so both are known, and bits.
 */
static const struct unit rates[] = {
	{ "TiB/s", 1ull << 40, 1 },
	{ "TB/s", 1000000000000, 1 },
	{ "GiB/s", 1ull << 30, 1 },
	{ "GB/s", 1000000000, 1 },
	{ "MiB/s", 1ull << 20, 1 },
	{ "MB/s", 1000000, 1 },
	{ "KiB/s", 1ull << 10, 1 },
	{ "kB/s", 1000, 1 },
	{ "B/s", 1, 1 },
	{ "Tbit/s", 1000000000000, 8 },
	{ "Gbit/s", 1000000000, 8 },
	{ "Mbit/s", 1000000, 8 },
	{ "kbit/s", 1000, 8 },
	{ "bit/s", 1, 8 },
	{ NULL, 0, 0 },
};

static const struct unit sizes[] = {
	{ "GiB", 1ull << 30, 1 },
	{ "GB", 1000000000, 1 },
	{ "MiB", 1ull << 20, 1 },
	{ "MB", 1000000, 1 },
	{ "KiB", 1ull << 10, 1 },
	{ "kB", 1000, 1 },
	{ "B", 1, 1 },
	{ NULL, 0, 0 },
};

/* -EINVAL: the number would be too large. */
static int add_digit(uint64_t *n, char digit)
{
	return __builtin_mul_overflow(*n, 10u, n) ||
			       __builtin_add_overflow(*n, (uint64_t)(digit - '0'), n)
		       ? -EINVAL
		       : 0;
}

/* "10ms": digits, then exactly one of the units. */
static int read_unit(const struct unit *units, const char *s, uint64_t *out)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s); s++)
		if (add_digit(&n, *s))
			return -EINVAL;

	for (const struct unit *u = units; u->name; u++) {
		if (strcmp(s, u->name) != 0)
			continue;
		/* A byte is the least that is counted: "1bit/s" would have to be rounded. */
		if (__builtin_mul_overflow(n, u->times, &n) || n % u->over)
			return -EINVAL;
		*out = n / u->over;
		return 0;
	}
	return -EINVAL;
}

/* v in the largest unit that it is a whole number of. */
static void show_unit(const struct unit *units, uint64_t v, char *buf, size_t size)
{
	const struct unit *u = units;

	/* Ends: the last unit of whole bytes or nanoseconds has times 1. */
	while (v % u->times)
		u++;
	snprintf(buf, size, "%" PRIu64 "%s", v / u->times, u->name);
}

/* How many decimals of a percentage a type holds; -1: it is none. */
static int percent_decimals(enum conf_type type)
{
	switch (type) {
	case CONF_PERCENT:
		return 0;
	case CONF_PERMILLE:
		return 1;
	case CONF_MPCT:
		return 3;
	default:
		return -1;
	}
}

/* "2.5%", in units of the last of decimals. */
static int read_percent(const char *s, int decimals, uint64_t *out)
{
	const char *point = NULL;
	uint64_t n = 0;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !point); s++) {
		if (*s == '.')
			point = s;
		else if ((point && s - point > decimals) || add_digit(&n, *s))
			return -EINVAL;
	}
	if (point && s == point + 1) /* "5.%" */
		return -EINVAL;
	for (long have = point ? s - point - 1 : 0; have < decimals; have++)
		if (add_digit(&n, '0'))
			return -EINVAL;
	if (strcmp(*s == ' ' ? s + 1 : s, "%") != 0)
		return -EINVAL;
	*out = n;
	return 0;
}

static void show_percent(int decimals, uint64_t v, char *buf, size_t size)
{
	uint64_t one = 1, rest;

	for (int i = 0; i < decimals; i++)
		one *= 10;
	for (rest = v % one; rest && rest % 10 == 0; rest /= 10)
		decimals--;
	if (rest)
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 "%%", v / one, decimals, rest);
	else
		snprintf(buf, size, "%" PRIu64 "%%", v / one);
}

static int read_integer(const json_t *v, uint64_t *out)
{
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return -EINVAL;
	*out = (uint64_t)json_integer_value(v);
	return 0;
}

/* Without control characters: these strings appear in messages, tables and paths. */
static int read_string(const struct conf_key *k, const json_t *v, const char **out)
{
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);

	if (!s || n < k->min || n > k->max)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)s[i]))
			return -EINVAL;
	*out = s;
	return 0;
}

/* A relative path would mean another file in each folder in which a program is started. */
static int read_path(const struct conf_key *k, const json_t *v, const char **out)
{
	int rc = read_string(k, v, out);

	return rc || !**out || **out == '/' ? rc : -EINVAL;
}

static int read_enum(const struct conf_key *k, const json_t *v, uint64_t *out)
{
	const char *s = json_string_value(v);

	for (uint32_t i = 0; s && k->names[i]; i++)
		if (!strcmp(k->names[i], s)) {
			*out = i;
			return 0;
		}
	return -EINVAL;
}

static bool in_range(const struct conf_key *k, uint64_t u)
{
	return u >= k->min && u <= k->max;
}

/* A number with a unit, or (plain) an integer without one; within the range of k. */
static int read_number(const struct conf_key *k, const struct unit *units, bool plain,
		       const json_t *v, uint64_t *out)
{
	const char *s = json_string_value(v);
	int ret = -EINVAL;
	uint64_t u = 0;

	if (s && units)
		ret = read_unit(units, s, &u);
	else if (plain)
		ret = read_integer(v, &u);
	if (ret || !in_range(k, u))
		return -EINVAL;
	*out = u;
	return 0;
}

/* A percentage, or an integer in the unit of k. */
static int read_share(const struct conf_key *k, const json_t *v, uint64_t *out)
{
	const char *s = json_string_value(v);
	uint64_t u = 0;

	if ((s ? read_percent(s, percent_decimals(k->type), &u) : read_integer(v, &u)) ||
	    !in_range(k, u))
		return -EINVAL;
	*out = u;
	return 0;
}

int conf_read(const struct conf_key *k, const json_t *v, struct conf_value *out)
{
	switch (k->type) {
	case CONF_BOOL:
		if (!json_is_boolean(v))
			return -EINVAL;
		out->u = json_is_true(v);
		return 0;
	case CONF_UINT:
		return read_number(k, NULL, true, v, &out->u);
	case CONF_STRING:
		return read_string(k, v, &out->s);
	case CONF_PATH:
		return read_path(k, v, &out->s);
	case CONF_ENUM:
		return read_enum(k, v, &out->u);
	case CONF_DURATION:
		if (read_number(k, durations, false, v, &out->u))
			return -EINVAL;
		/* Durations are int64_t, so that differences of times can be negative. */
		return out->u <= INT64_MAX ? 0 : -EINVAL;
	case CONF_RATE:
		return read_number(k, rates, true, v, &out->u);
	case CONF_SIZE:
		return read_number(k, sizes, true, v, &out->u);
	case CONF_NS:
		return read_number(k, durations, true, v, &out->u);
	case CONF_PERCENT:
	case CONF_PERMILLE:
	case CONF_MPCT:
		return read_share(k, v, &out->u);
	}
	return -EINVAL;
}

/* "-1", "-1ms", or a string of more digits than an integer of jansson holds: in no range. */
static bool is_beyond_all(const json_t *v)
{
	enum { DIGITS_MOST = 18 };
	const char *s = json_string_value(v);
	size_t digits = s ? strspn(s, "0123456789") : 0;

	if (!s)
		return json_is_integer(v) && json_integer_value(v) < 0;
	return (s[0] == '-' && isdigit((unsigned char)s[1])) ||
	       (digits > DIGITS_MOST && !s[digits]);
}

int conf_number(const struct conf_key *k, const json_t *v, uint64_t *out, char *want, size_t size)
{
	struct conf_value value = { 0, NULL };
	struct conf_key any = *k;

	any.min = 0;
	any.max = UINT64_MAX;
	if (conf_read(k, v, &value)) {
		conf_want(k, want, size);
		return is_beyond_all(v) || !conf_read(&any, v, &value) ? -ERANGE : -EINVAL;
	}
	*out = value.u;
	return 0;
}

enum conf_type conf_type_of(const char *unit)
{
	static const struct {
		const char *unit;
		enum conf_type type;
	} types[] = { { "ns", CONF_NS },
		      { "bytes", CONF_SIZE },
		      { "permille", CONF_PERMILLE },
		      { "mpct", CONF_MPCT } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].unit, unit))
			return types[i].type;
	return CONF_UINT;
}

void conf_text(enum conf_type type, uint64_t v, char *buf, size_t size)
{
	if (percent_decimals(type) >= 0)
		show_percent(percent_decimals(type), v, buf, size);
	else if (type == CONF_DURATION || type == CONF_NS)
		show_unit(durations, v, buf, size);
	else if (type == CONF_RATE && v)
		show_unit(rates, v, buf, size);
	else if (type == CONF_SIZE && v)
		show_unit(sizes, v, buf, size);
	else
		snprintf(buf, size, "%" PRIu64, v);
}

void conf_store(const struct conf_key *k, const struct conf_value *v, void *out)
{
	char *at = (char *)out + k->offset;
	uint32_t u32 = (uint32_t)v->u;
	bool b = v->u != 0;

	switch (k->type) {
	case CONF_BOOL:
		memcpy(at, &b, sizeof(b));
		break;
	case CONF_STRING:
	case CONF_PATH:
		memset(at, 0, k->max + 1);
		memcpy(at, v->s, strlen(v->s));
		break;
	case CONF_ENUM:
		memcpy(at, &u32, sizeof(u32));
		break;
	case CONF_UINT:
	case CONF_DURATION: /* int64_t: conf_read keeps it below 2^63 */
	case CONF_RATE:
	case CONF_SIZE:
	case CONF_NS:
	case CONF_PERCENT:
	case CONF_PERMILLE:
	case CONF_MPCT:
		memcpy(at, &v->u, sizeof(v->u));
		break;
	}
}

void conf_append(char *buf, size_t size, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + n, size - n, fmt, ap);
	va_end(ap);
}

void conf_show(const json_t *v, char *buf, size_t size)
{
	enum { SHOWN = 60 };
	char *s;

	if (json_is_object(v) || json_is_array(v)) {
		snprintf(buf, size, "an %s", json_is_object(v) ? "object" : "array");
		return;
	}
	/* As JSON, so that control characters of the value appear as escapes. */
	s = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	if (s && strlen(s) > SHOWN) {
		size_t cut = SHOWN;

		while (cut && ((unsigned char)s[cut] & 0xc0) == 0x80)
			cut--; /* not within a character */
		s[cut] = '\0';
		snprintf(buf, size, "%s...%s", s, json_is_string(v) ? "\"" : "");
	} else {
		snprintf(buf, size, "%s", s ? s : "a value");
	}
	free(s);
}

/* 'a duration such as "1s", from 10ms to 3600s'; high in place of an example out of range. */
static void want_unit(const struct conf_key *k, const struct unit *units, const char *what,
		      const char *example, char *buf, size_t size)
{
	char low[32], high[32];
	uint64_t u = 0;

	show_unit(units, k->min, low, sizeof(low));
	show_unit(units, k->max, high, sizeof(high));
	if (read_unit(units, example, &u) || !in_range(k, u))
		example = high;
	snprintf(buf, size, "write a %s such as \"%s\", from %s to %s", what, example, low, high);
}

/* The whole numbers are in a unit that the key's page has; for caps it is the percent. */
static void want_share(const struct conf_key *k, char *buf, size_t size)
{
	static const char *const units[] = { [CONF_PERCENT] = "",
					     [CONF_PERMILLE] = " (1/1000)",
					     [CONF_MPCT] = " (1/1000 of a percent)" };
	const int decimals = percent_decimals(k->type);
	char low[32], high[32];
	uint64_t u = 0;

	show_percent(decimals, k->min, low, sizeof(low));
	show_percent(decimals, k->max, high, sizeof(high));
	snprintf(buf, size,
		 "write a percentage such as \"%s\", from %s to %s, or a whole number from %" PRIu64
		 " to %" PRIu64 "%s",
		 !read_percent("10%", decimals, &u) && in_range(k, u) ? "10%" : high, low, high,
		 k->min, k->max, units[k->type]);
}

void conf_want(const struct conf_key *k, char *buf, size_t size)
{
	switch (k->type) {
	case CONF_BOOL:
		snprintf(buf, size, "write true or false");
		break;
	case CONF_UINT:
		snprintf(buf, size, "write a whole number from %" PRIu64 " to %" PRIu64, k->min,
			 k->max);
		break;
	case CONF_STRING:
		snprintf(buf, size,
			 "write a string of %" PRIu64 " to %" PRIu64
			 " bytes without control characters",
			 k->min, k->max);
		break;
	case CONF_PATH:
		snprintf(buf, size,
			 "write a whole path, which begins with /, of at most %" PRIu64
			 " bytes without control characters",
			 k->max);
		break;
	case CONF_ENUM:
		snprintf(buf, size, "write one of");
		for (size_t i = 0; k->names[i]; i++)
			conf_append(buf, size, "%s \"%s\"", i ? "," : "", k->names[i]);
		break;
	case CONF_DURATION:
		want_unit(k, durations, "duration", "1s", buf, size);
		break;
	case CONF_RATE:
		want_unit(k, rates, "rate", "10Gbit/s", buf, size);
		break;
	case CONF_SIZE:
		want_unit(k, sizes, "size", "64KiB", buf, size);
		break;
	case CONF_NS:
		want_unit(k, durations, "duration", "10ms", buf, size);
		conf_append(buf, size, ", or a whole number of ns");
		break;
	case CONF_PERCENT:
	case CONF_PERMILLE:
	case CONF_MPCT:
		want_share(k, buf, size);
		break;
	}
}
