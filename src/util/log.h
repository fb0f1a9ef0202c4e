/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log: one line a message, to stderr: "resexd: the message". If stderr is the journal's
 * (JOURNAL_STREAM names it, systemd.exec(5)), the line has the priority that the journal
 * understands, and no program, which the journal adds: "<4>the message". Events go to the
 * journal with fields (systemd.journal-fields(7)).
 *
 * Control characters in a message (C0, DEL, C1) are written as \x0a, a backslash as two;
 * messages are cut at 1023 bytes. errno is unchanged. Thread-safe (one write() or send() a
 * message). Never called in the 1 ms path.
 */
#ifndef RESEX_UTIL_LOG_H
#define RESEX_UTIL_LOG_H

#include <stdarg.h>

enum log_level { LOG_LVL_ERROR = 3, LOG_LVL_WARNING = 4, LOG_LVL_INFO = 6, LOG_LVL_DEBUG = 7 };

struct log {
	const char *program;
	enum log_level level; /* messages above it are dropped */
	int fd;		      /* usually 2 */
	const char *journal;  /* stderr is the journal's: where it takes fields; else NULL */
};

void log_init(struct log *l, const char *program, enum log_level level);
void log_msg(const struct log *l, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Fields of an event besides its text. guest and message_id may be NULL or "": without it. */
struct log_fields {
	const char *event, *guest, *message_id; /* EVENT, GUEST, MESSAGE_ID */
};

/* As log_msg("EVENT GUEST: TEXT"), with the fields where the journal listens. */
void log_event(const struct log *l, enum log_level level, const struct log_fields *f,
	       const char *text);

#endif
