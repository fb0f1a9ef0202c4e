/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_reader: READs load records of a cluster's nodes, as a client of it. For loadage and
 * loadtruth.
 */
#ifndef RESEX_TESTS_LOAD_READER_H
#define RESEX_TESTS_LOAD_READER_H

#include <signal.h>
#include <stdbool.h>

#include "src/conf/cluster.h"
#include "src/util/clock.h"

struct load_reader {
	const char *name; /* of the program */
	struct cluster_conf conf;
	struct transport *t;
	struct clock clock;
	uint64_t tag; /* of the READ that is pending */
	bool pending;
};

struct mono load_reader_now(struct load_reader *r);
/* 0 or -errno; says why on stderr. */
int load_reader_open(struct load_reader *r, const char *program, const char *file,
		     const char *client);
/*
 * READ the record of conf.node[i], and wait until it has come or *ends. 0; -EAGAIN or -ENOMSG: the
 * record is torn, or not written yet; -ENOTCONN: no READ was done; another -errno: what was read is
 * not a load record. *at: when the READ ended.
 */
int load_reader_read(struct load_reader *r, uint32_t i, const volatile sig_atomic_t *ends,
		     struct load_record *to, struct mono *at);

#endif
