/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_app: app.h and proxy.h as the test writes them: they keep what was asked last, and answer
 * with `result`, at once or when the test says so. For tests of the API.
 */
#ifndef RESEX_TESTS_FAKE_APP_H
#define RESEX_TESTS_FAKE_APP_H

#include "src/cached/app.h"
#include "src/cached/proxy.h"

enum { FAKE_APP_TAGS = 64, FAKE_APP_WAITING = 256 };

struct fake_asked {
	app_done *done;
	void *arg;
};

struct app {
	/* The newest call. */
	/* "begin", "end", "give_up", "update", "invalidate", "invalidate page", "remove"; NULL */
	const char *what;
	uint16_t home, host;
	uint32_t word;
	uint64_t id, key;
	bool force, all;
	uint32_t tags;
	char tag[FAKE_APP_TAGS][APP_TAG_MAX + 1];
	char snapshot[256]; /* "none" without one */
	uint32_t statements;
	char text[1024]; /* of all statements: "SQL|PARAM|PARAM;SQL|NULL;" */
	uint32_t calls;	 /* so far */

	struct app_result result;
	bool later; /* calls wait here: */
	struct fake_asked waiting[FAKE_APP_WAITING];
	uint32_t waits;
	bool no_memory;	 /* of what people see */
	char shown[256]; /* the tag of app_show */
};

struct proxy {
	uint64_t key; /* of proxy_show */
};

/* An app whose result is APP_OK with some figures. */
void fake_app_open(struct app *a);
/* Answers the oldest call that waits. */
void fake_app_answer(struct app *a);

#endif
