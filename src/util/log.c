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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/notify.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

enum {
	LOG_TEXT_MAX = 1024,		 /* of a message, before escaping */
	LOG_LINE_MAX = 4 * LOG_TEXT_MAX, /* an escaped byte takes four */
	LOG_HEAD_MAX = 128,		 /* "<N>program: " */
};

/*
 * Is stderr the journal's? The variable alone says nothing: programs that a service starts
 * inherit it, and may write elsewhere.
 */
static bool is_journal(int fd)
{
	const char *named = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!named || fstat(fd, &st))
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return !strcmp(named, own);
}

void log_init(struct log *l, const char *program, enum log_level level)
{
	*l = (struct log){ program, level, STDERR_FILENO,
			   is_journal(STDERR_FILENO) ? JOURNAL_SOCKET : NULL };
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

/* dst holds 4 bytes for each of src. Returns the bytes written. */
static size_t escape_controls(char *dst, const char *src, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char prev = 0;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)src[i];
		unsigned char next = i + 1 < len ? (unsigned char)src[i + 1] : 0;

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

/* One line; an error here cannot be reported anywhere. */
static void write_line(const struct log *l, enum log_level level, const char *text, size_t len)
{
	char line[LOG_HEAD_MAX + LOG_LINE_MAX + 1];
	ssize_t done;
	size_t n;
	int ret;

	/* The journal removes "<N>" and files the line under that priority. */
	if (l->journal)
		ret = snprintf(line, LOG_HEAD_MAX, "<%d>", (int)level);
	else
		ret = snprintf(line, LOG_HEAD_MAX, "%s: ", l->program);
	n = bytes_written(ret, LOG_HEAD_MAX);
	n += escape_controls(line + n, text, len);
	line[n++] = '\n';
	do {
		done = write(l->fd, line, n);
	} while (done < 0 && errno == EINTR);
}

void log_msg(const struct log *l, enum log_level level, const char *fmt, ...)
{
	char text[LOG_TEXT_MAX];
	int saved = errno;
	size_t len;
	va_list ap;

	if (level > l->level)
		return;

	va_start(ap, fmt);
	len = bytes_written(vsnprintf(text, sizeof(text), fmt, ap), sizeof(text));
	va_end(ap);
	write_line(l, level, text, len);
	errno = saved;
}

/* "NAME=value", of which no byte can end the line and begin another field. Returns its end. */
static char *add_bytes(char *at, const char *name, const char *value, size_t len)
{
	at = stpcpy(at, name);
	*at++ = '=';
	at += escape_controls(at, value, len);
	*at++ = '\n';
	return at;
}

static char *add_field(char *at, const char *name, const char *value)
{
	if (!value || !value[0])
		return at;
	return add_bytes(at, name, value,
			 strlen(value) < LOG_TEXT_MAX ? strlen(value) : LOG_TEXT_MAX - 1);
}

void log_event(const struct log *l, enum log_level level, const struct log_fields *f,
	       const char *text)
{
	enum { FIELDS = 6 };
	char fields[FIELDS * (LOG_HEAD_MAX + LOG_LINE_MAX)], message[LOG_TEXT_MAX];
	const char priority = (char)('0' + level);
	int saved = errno;
	size_t len;
	char *at;

	if (level > l->level)
		return;
	len = bytes_written(snprintf(message, sizeof(message), "%s%s%s: %s", f->event,
				     f->guest && f->guest[0] ? " " : "", f->guest ? f->guest : "",
				     text),
			    sizeof(message));
	at = add_bytes(fields, "MESSAGE", message, len);
	at = add_bytes(at, "PRIORITY", &priority, 1);
	at = add_field(at, "SYSLOG_IDENTIFIER", l->program);
	at = add_field(at, "EVENT", f->event);
	at = add_field(at, "GUEST", f->guest);
	at = add_field(at, "MESSAGE_ID", f->message_id);
	if (!l->journal || notify_send(l->journal, fields, (size_t)(at - fields)))
		write_line(l, level, message, len);
	errno = saved;
}
