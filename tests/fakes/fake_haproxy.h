/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_haproxy: act_haproxy.h without sockets: HAProxy's processes are structs of
 * the test, by the name of their backend.
 */
#ifndef RESEX_TESTS_FAKE_HAPROXY_H
#define RESEX_TESTS_FAKE_HAPROXY_H

#include "src/reconf/act_haproxy.h"

enum { FAKE_PROCESSES = 4, FAKE_SERVERS = 8 };

struct fake_process {
	char backend[HAPROXY_NAME_MAX]; /* "": no such process */
	bool away;			/* nobody listens */
	bool hangs;			/* it answers nothing */
	bool refuses;			/* nothing is set */
	uint32_t start;			/* another one: it was restarted */
	struct {
		char name[HAPROXY_NAME_MAX]; /* "": no more */
		bool down;
		uint16_t weight, initial;
		enum act_want admin; /* ACT_KEEP: as ACT_SERVE */
		uint32_t own, queued;
		uint64_t served, latency_ns;
	} server[FAKE_SERVERS];
	uint32_t reads; /* in all */
	uint32_t puts;	/* that set something */
};

extern struct fake_process fake_process[FAKE_PROCESSES];

/* No processes. */
void fake_haproxy_clear(void);
/* A process with the servers s1 .. sn of this weight. */
struct fake_process *fake_haproxy_run(const char *backend, int n, uint16_t weight);
/* It begins again, with the configured weights, and all serve. */
void fake_haproxy_restart(struct fake_process *p);
/* How many handles are open. */
extern int fake_haproxy_open;

#endif
