/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * haproxy_text: what HAProxy's Runtime API replies, read as it comes. Pure: bytes in, servers or a
 * fault out.
 *
 *	socket -> act_haproxy -> haproxy_text_feed() -> struct act_server
 *
 * A reply, in prompt mode, is lines, an empty line and "> "; of "set server" it is empty. Only a
 * line is kept: a reply may come a byte at a time, and may be longer than anything that is kept of
 * it. Columns are found by their names in the reply's header line, never by their places.
 */
#ifndef RESEX_RECONF_HAPROXY_TEXT_H
#define RESEX_RECONF_HAPROXY_TEXT_H

#include <stddef.h>

#include "src/reconf/act.h"

enum {
	HAPROXY_LINE_MAX = 8192,	 /* the header of "show stat" has 1,900 bytes */
	HAPROXY_REPLY_MAX = 1024 * 1024, /* "show stat" has about 350 bytes a server */
	HAPROXY_WORDS_MAX = 96,		 /* with the NUL: kept of what was not expected */
};

enum haproxy_reply {
	HAPROXY_REPLY_EMPTY, /* of a command whose success is no word */
	HAPROXY_REPLY_INFO,  /* of "show info" */
	HAPROXY_REPLY_STATE, /* of "show servers state B" */
	HAPROXY_REPLY_STAT,  /* of "show stat ID 4 -1" */
};

enum haproxy_fault {
	HAPROXY_GOOD,
	HAPROXY_SAID,	  /* words where none, or other ones, were expected */
	HAPROXY_LINE,	  /* a line of more than HAPROXY_LINE_MAX bytes */
	HAPROXY_REPLY,	  /* more than HAPROXY_REPLY_MAX bytes */
	HAPROXY_COLUMN,	  /* the header has no column words */
	HAPROXY_ROW,	  /* a row that has not the fields of its header, or of another backend */
	HAPROXY_NUMBER,	  /* a field that is no number, or too great; words: its column */
	HAPROXY_TWICE,	  /* two servers of one name: words */
	HAPROXY_STOPPING, /* this process serves nobody new: another one took its place */
	HAPROXY_NO_STOPPING, /* "show info" does not say whether it stops */
	HAPROXY_FAULTS,
};

enum { HAPROXY_COLUMNS = 7 };

struct haproxy_text {
	const struct act_conf *conf;
	struct act_server *server; /* where to write, as conf->server[] */
	enum haproxy_reply kind;
	enum haproxy_fault fault;	  /* the first of this reply */
	char words[HAPROXY_WORDS_MAX];	  /* of the fault, printable */
	uint32_t backend;		  /* its number in HAProxy; 0: the reply has no server */
	uint32_t column[HAPROXY_COLUMNS]; /* the place of each column that is needed */
	uint32_t fields;		  /* of the header */
	uint32_t next;			  /* where the server of the next row is expected */
	uint32_t lines;
	bool blank; /* an empty line came: the reply's last */
	bool ended_line;
	bool lost; /* nothing can be made of it any more, and its end is not waited for */
	bool stopping_seen;
	bool counted[HAPROXY_SERVERS_MAX]; /* "show stat" has it */
	size_t total, len;
	char line[HAPROXY_LINE_MAX];
};

/*
 * A reply of this kind begins. server is as conf->server[]: STATE writes it anew, with there, up,
 * admin and weights; STAT adds own, queued, served and latency_ns, and a server that it does not
 * name is not there. EMPTY and INFO do not write.
 */
void haproxy_text_begin(struct haproxy_text *t, const struct act_conf *conf,
			enum haproxy_reply kind, struct act_server *server);

/*
 * Take data up to the end of the reply; *used: how many bytes. True: this was the end, and t->fault
 * says what the reply was. False: more is to come, unless t->lost: then t->fault is LINE or REPLY.
 */
bool haproxy_text_feed(struct haproxy_text *t, const char *data, size_t len, size_t *used);

#endif
