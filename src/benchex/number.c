// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * number: parses numbers, sizes and times of options and traces strictly: no sign, no
 * blank, nothing after.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/benchex/parts.h"

/* Parse the digits at s. Their number; 0: none, or the value does not fit. */
static size_t parse_digits(const char *s, size_t len, uint64_t *out)
{
	uint64_t v = 0;
	size_t n = 0;

	for (; n < len && isdigit((unsigned char)s[n]); n++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[n] - '0'), &v))
			return 0;
	*out = v;
	return n;
}

static int within(struct bx_bounds b, uint64_t v, uint64_t *out)
{
	if (v < b.min || v > b.max)
		return -EINVAL;
	*out = v;
	return 0;
}

int bx_number(const char *s, size_t len, struct bx_bounds b, uint64_t *out)
{
	uint64_t v;
	size_t n = parse_digits(s, len, &v);

	return n && n == len ? within(b, v, out) : -EINVAL;
}

/* K and M are powers of two, as sizes of messages and memory are. */
int bx_size(const char *s, size_t len, struct bx_bounds b, uint64_t *out)
{
	uint64_t v, times = 1;
	size_t n = parse_digits(s, len, &v);

	if (n && n + 1 == len) {
		char c = s[n++];

		if (c == 'K' || c == 'k')
			times = 1 << 10;
		else if (c == 'M' || c == 'm')
			times = 1 << 20;
		else
			return -EINVAL;
	}
	if (!n || n != len || __builtin_mul_overflow(v, times, &v))
		return -EINVAL;
	return within(b, v, out);
}

/* bx_size() reads back what is printed here. */
void bx_size_show(uint64_t bytes, char buf[static 24])
{
	if (bytes && !(bytes & ((1 << 20) - 1)))
		snprintf(buf, 24, "%" PRIu64 "M", bytes >> 20);
	else if (bytes && !(bytes & ((1 << 10) - 1)))
		snprintf(buf, 24, "%" PRIu64 "K", bytes >> 10);
	else
		snprintf(buf, 24, "%" PRIu64, bytes);
}

/*
 * Nanoseconds of the unit at s; plain when there is none; 0: not a unit of time. The unit
 * of a number without one depends on the option: seconds for a run, microseconds in a
 * trace.
 */
static uint64_t time_unit(const char *s, size_t len, uint64_t plain)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (len == strlen(units[i].name) && !memcmp(s, units[i].name, len))
			return units[i].ns;
	return len ? 0 : plain;
}

/*
 * In whole numbers: a double would round some times. Times that are not whole nanoseconds
 * are refused.
 */
int bx_time(const char *s, size_t len, uint64_t unit_ns, struct bx_bounds b, uint64_t *out)
{
	uint64_t whole, part = 0, ten = 1;
	size_t n = parse_digits(s, len, &whole), m;

	if (!n)
		return -EINVAL;
	s += n;
	len -= n;
	if (len && *s == '.') {
		m = parse_digits(s + 1, len - 1, &part);
		if (!m || m > 9)
			return -EINVAL;
		for (size_t i = 0; i < m; i++)
			ten *= 10;
		s += m + 1;
		len -= m + 1;
	}
	unit_ns = time_unit(s, len, unit_ns);
	if (!unit_ns || part * unit_ns % ten || __builtin_mul_overflow(whole, unit_ns, &whole) ||
	    __builtin_add_overflow(whole, part * unit_ns / ten, &whole))
		return -EINVAL;
	return within(b, whole, out);
}
