/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters: what guests and ports sent, by counters that no guest can forge.
 * src/guests reads them once a window for the cross-check.
 *
 * A source is a kind, a name, and a function that reads it. vif (a guest's
 * interfaces in dom0), vf (a virtual function, by netlink), port (an InfiniBand
 * port), sim (the simulated host). Sent and received are as the guest, or the
 * port, sees them. Counters may vanish, restart and go back: the reader must
 * compare `which` and the values (core/crosscheck.h does).
 */
#ifndef RESEX_COUNTERS_H
#define RESEX_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COUNTER_DEV_MAX = 64 }; /* with the NUL */

enum counter_kind {
	COUNTER_AUTO, /* a guest's: the first source there is */
	COUNTER_NONE,
	COUNTER_VIF,
	COUNTER_VF,
	COUNTER_PORT,
	COUNTER_SIM,
};

/* "vif", "vf:ens1f0/3", "port:mlx5_0/1" */
struct counter_name {
	enum counter_kind kind;
	char dev[COUNTER_DEV_MAX];
	uint32_t number; /* of the virtual function, or the port */
};

struct counter_value {
	uint64_t bytes_sent, bytes_recv;
	uint64_t packets_sent, packets_recv;
	uint64_t which; /* when it changes, the counter is another one */
};

struct counter_ops;

struct counters {
	const struct counter_ops *const *ops; /* those there are, ended by NULL; NULL: none */
	const char *sys;		      /* where sysfs is mounted: "/sys" */
	void *arg;			      /* sim: the struct sim_host */
	uint64_t round; /* readings of one round may share one answer of the kernel */
	void *cache;	/* such an answer; NULL at first */
};

struct counter_ops {
	enum counter_kind kind;
	const char *name;
	/*
	 * 0; -ENOENT: there is no such counter (the guest has no interface);
	 * -EOPNOTSUPP: the device counts no bytes; -EBADMSG: it is not a
	 * number; -EAGAIN: it is changing; or another -errno. Does not wait.
	 */
	int (*read)(struct counters *c, const struct counter_name *n, uint32_t domid,
		    struct counter_value *v);
};

/* A Xen host has vif, vf and port, the simulated one sim. */
extern const struct counter_ops *const counters_host[];
extern const struct counter_ops *const counters_sim[];

/* Free the cache; c may be used again. */
void counters_close(struct counters *c);

/* The source that reads n, or NULL: there is none, or n is COUNTER_NONE. */
const struct counter_ops *counter_find(const struct counters *c, const struct counter_name *n);

/*
 * A guest's ("auto", "none", "vif", "vf:INTERFACE/NUMBER") and a link's ("none",
 * "port:DEVICE/PORT"). 0, or -EINVAL.
 */
int counter_parse_guest(const char *text, struct counter_name *n);
int counter_parse_link(const char *text, struct counter_name *n);

/* Do both mean the same counter, however they were written? */
bool counter_same(const struct counter_name *a, const struct counter_name *b);

/* Why it cannot be read, for people: the end of a sentence. */
const char *counter_why(enum counter_kind kind, int rc);

#endif
