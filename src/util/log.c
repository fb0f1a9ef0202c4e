// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * log: format one message into one line, and write it with one write().
 *
 * Messages contain names of guests, paths and errors of peers. So control
 * characters are escaped here, for all callers: no input can forge a second line or
 * a priority, or control the reader's terminal.
 */
#include "src/util/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LOG_TEXT_MAX = 1024,		 /* of a message, before escaping */
	LOG_LINE_MAX = 4 * LOG_TEXT_MAX, /* an escaped byte takes four */
	LOG_HEAD_MAX = 128,		 /* "<N>program: " */
};

void log_init(struct log *l, const char *program, enum log_level level)
{
	*l = (struct log){ program, level, STDERR_FILENO, getenv("JOURNAL_STREAM") != NULL };
}

/* Is b, between prev and next, (part of) a control character: C0, DEL, C1 as UTF-8 or raw? */
static bool is_control(unsigned char prev, unsigned char b, unsigned char next)
{
	if (b < 0x20 || b == 0x7f)
		return true;
	if (b == 0xc2)
		return next >= 0x80 && next < 0xa0;
	return b >= 0x80 && b < 0xa0 && (prev < 0x80 || prev == 0xc2);
}

/* dst holds 4 bytes for each of src, which ends with a NUL. Returns the bytes written. */
static size_t escape_controls(char *dst, const char *src, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char prev = 0;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)src[i], next = (unsigned char)src[i + 1];

		if (is_control(prev, b, next)) {
			dst[n++] = '\\';
			dst[n++] = 'x';
			dst[n++] = hex[b >> 4];
			dst[n++] = hex[b & 15];
		} else if (b == '\\') {
			dst[n++] = '\\';
			dst[n++] = '\\';
		} else {
			dst[n++] = (char)b;
		}
		prev = b;
	}
	return n;
}

/* How many bytes snprintf wrote to a buffer of size bytes, from its return value. */
static size_t bytes_written(int ret, size_t size)
{
	if (ret < 0)
		return 0;
	return (size_t)ret < size ? (size_t)ret : size - 1;
}

void log_msg(const struct log *l, enum log_level level, const char *fmt, ...)
{
	char text[LOG_TEXT_MAX], line[LOG_HEAD_MAX + LOG_LINE_MAX + 1];
	int saved = errno, ret;
	size_t n, len;
	ssize_t done;
	va_list ap;

	if (level > l->level)
		return;

	va_start(ap, fmt);
	len = bytes_written(vsnprintf(text, sizeof(text), fmt, ap), sizeof(text));
	va_end(ap);
	/* The journal removes "<N>" and files the line under that priority. */
	if (l->prefix)
		ret = snprintf(line, LOG_HEAD_MAX, "<%d>%s: ", (int)level, l->program);
	else
		ret = snprintf(line, LOG_HEAD_MAX, "%s: ", l->program);
	n = bytes_written(ret, LOG_HEAD_MAX);
	n += escape_controls(line + n, text, len);
	line[n++] = '\n';

	/* An error here cannot be reported anywhere. */
	do {
		done = write(l->fd, line, n);
	} while (done < 0 && errno == EINTR);
	errno = saved;
}
