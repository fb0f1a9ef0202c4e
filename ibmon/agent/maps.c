// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * maps: a line of /proc/PID/maps -> a mapping of uverbsN or of a table, for proc.c. See maps.h.
 *
 * The kernel writes these lines, but any process can choose the file name in them: the
 * caller checks the device number as well.
 */
#include "config.h"

#include <string.h>

#include "ibmon/agent/maps.h"
#include "resex/guest_abi.h"
#include "resex/queue_table.h"

#define UVERBS_DIR "/infiniband/uverbs"

/*
 * Parse a hexadecimal number that is followed by stop, and move *p past stop. Not
 * strtoull(): the text has no NUL, and signs, blanks or 0x must not be accepted.
 */
static bool parse_hex(const char **p, const char *end, char stop, uint64_t *v)
{
	const char *s = *p;
	uint64_t n = 0;

	for (; s < end && *s != stop; s++) {
		unsigned int d;

		if (*s >= '0' && *s <= '9')
			d = (unsigned int)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			d = (unsigned int)(*s - 'a' + 10);
		else
			return false;
		if (n >> 60)
			return false;
		n = n << 4 | d;
	}
	if (s == *p || s == end)
		return false;
	*p = s + 1;
	*v = n;
	return true;
}

/* Anywhere in the path: in a container it may have another beginning. */
bool maps_is_uverbs(const char *path, size_t len, uint32_t *uverbs)
{
	const char *s = memmem(path, len, UVERBS_DIR, strlen(UVERBS_DIR));
	const char *end = path + len;
	uint32_t n = 0;

	if (!s)
		return false;
	s += strlen(UVERBS_DIR);
	if (s == end || end - s > 5)
		return false;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9') /* " (deleted)", too: the device is gone */
			return false;
		n = n * 10 + (uint32_t)(*s - '0');
	}
	*uverbs = n;
	return true;
}

/* "START-END PERM OFFSET DEV INODE   PATH" */
bool maps_parse(const char *line, size_t len, struct maps_ring *m)
{
	const char *p = line, *end = line + len, *path;
	struct maps_ring r;

	path = memchr(line, '/', len);
	if (!path || !maps_is_uverbs(path, (size_t)(end - path), &r.uverbs))
		return false;
	if (!parse_hex(&p, end, '-', &r.start) || !parse_hex(&p, end, ' ', &r.end))
		return false;
	/* A ring is a shared mapping that the process reads. */
	if (end - p < 5 || p[0] != 'r' || p[3] != 's' || p[4] != ' ')
		return false;
	p += 5;
	if (!parse_hex(&p, end, ' ', &r.pgoff))
		return false;
	if (r.end <= r.start || (r.start | r.end | r.pgoff) % GUEST_PAGE)
		return false;
	*m = r;
	return true;
}

bool maps_is_table(const char *line, size_t len, uint64_t *start)
{
	static const char name[] = "/memfd:" QUEUE_TABLE_NAME " (deleted)";
	const char *p = line, *end = line + len, *path = memchr(line, '/', len);
	uint64_t from, to, pgoff;

	if (!path || (size_t)(end - path) != strlen(name) || memcmp(path, name, strlen(name)) != 0)
		return false;
	if (!parse_hex(&p, end, '-', &from) || !parse_hex(&p, end, ' ', &to))
		return false;
	if (end - p < 5 || p[0] != 'r' || p[3] != 's' || p[4] != ' ')
		return false;
	p += 5;
	if (!parse_hex(&p, end, ' ', &pgoff) || pgoff || from % GUEST_PAGE ||
	    to - from != sizeof(struct queue_table))
		return false;
	*start = from;
	return true;
}
