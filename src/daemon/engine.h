/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: owns one of everything and runs it.
 *
 * Opened in the order of dependence, closed in reverse; the control thread's
 * loop runs in engine_run. No globals: several engines live in one process.
 */
#ifndef RESEX_DAEMON_ENGINE_H
#define RESEX_DAEMON_ENGINE_H

#include "src/daemon/settings.h"
#include "src/hv/hv.h"
#include "src/util/log.h"

struct engine;

struct engine_conf {
	const struct daemon_conf *conf;
	const struct hv_backend *hv;
	void *hv_arg; /* for the backend's open() */
	const struct log *log;
	bool observe; /* count, account, decide, show; never act */
};

/* 0 or -errno with e filled: one sentence for people. */
int engine_open(struct engine **e, const struct engine_conf *c, struct conf_error *err);
/* Until SIGTERM, SIGINT or SIGHUP. 0 or -errno. */
int engine_run(struct engine *e);
/* Stop the threads, restore all caps, free. How many caps could not be restored. */
int engine_close(struct engine *e);

/* One sentence for what a backend's open() returned. */
void hv_open_text(const char *name, int rc, struct conf_error *err);

#endif
