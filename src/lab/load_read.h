/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_read: how the front-ends of a SIMULATED cluster come to know loads: by the product's own
 * parts, in virtual time.
 *
 *	web.c: a node has sampled -> region_publish_load() -> the node's region
 *	each scan_ns, each front-end: peers_scan() -> transport/sim -> region -> peers -> loaded()
 *
 * Each node is a host of its own, with the pages of a region and one node record; each front-end is
 * a client. Its first reading takes three waves; later ones take one, of three READs a host. A
 * record that is being written while it is read is torn, and is READ again.
 */
#ifndef RESEX_LAB_LOAD_READ_H
#define RESEX_LAB_LOAD_READ_H

#include "src/sim/web.h"

struct load_read_conf {
	uint32_t nodes, frontends;
	uint32_t sources;	    /* 1 .. 3: front-end i reads the records of the .. */
	enum load_source source[3]; /* .. (i mod sources)-th of these */
	int64_t scan_ns;	    /* between two scans of a front-end */
	int64_t read_ns;	    /* a READ takes this, there and back */
	int64_t write_ns;	    /* a record is torn for so long when it is written */
	uint64_t seed;		    /* of when each front-end begins */
	void *arg;
	/* A front-end has a new record. found_ns: when the reading began that found it. */
	void (*loaded)(void *arg, uint32_t frontend, uint32_t node, const struct load_record *r,
		       int64_t found_ns);
};

struct load_read_stats {
	uint64_t reads; /* of load records; what else was READ does not count */
	uint64_t torn;	/* of these */
};

struct load_read;

/* 0; -EINVAL: out of range; -ENOMEM. */
int load_read_open(struct load_read **r, const struct load_read_conf *c);
void load_read_close(struct load_read *r);
void load_read_stats(const struct load_read *r, struct load_read_stats *s);

/* As struct web_ops says. */
void load_read_begin(struct load_read *r, struct web *w);
void load_read_sampled(struct load_read *r, uint32_t node, const struct load_record *rec);
void load_read_timer(struct load_read *r, struct web *w, uint32_t what, uint32_t of, int64_t now);

#endif
