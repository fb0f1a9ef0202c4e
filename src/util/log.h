/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log: one line a message, to stderr, with the priority prefix that
 * systemd's journal understands (<3>..<7>) when it listens (JOURNAL_STREAM is set):
 * "<4>resexd: the message". Control characters in a message (C0, DEL, C1) are
 * written as \x0a, a backslash as two; messages are cut at 1023 bytes.
 * errno is unchanged. Thread-safe (one write() a line). Never called in the 1 ms
 * path.
 */
#ifndef RESEX_UTIL_LOG_H
#define RESEX_UTIL_LOG_H

#include <stdarg.h>

enum log_level { LOG_LVL_ERROR = 3, LOG_LVL_WARNING = 4, LOG_LVL_INFO = 6, LOG_LVL_DEBUG = 7 };

struct log {
	const char *program;
	enum log_level level; /* messages above it are dropped */
	int fd;		      /* usually 2 */
	int prefix;	      /* 1: "<N>" prefix for the journal */
};

void log_init(struct log *l, const char *program, enum log_level level);
void log_msg(const struct log *l, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
