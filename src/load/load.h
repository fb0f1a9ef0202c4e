/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: where load records come from, behind one ops struct.
 *
 *	source -> struct load_record -> the part "load" of the region -> READ -> load/index.h
 *
 * src/cluster samples once a period. Sources: proc (LOAD_ULM), hv (LOAD_HV). The kernel module
 * fills the record itself (kmod.h).
 */
#ifndef RESEX_LOAD_LOAD_H
#define RESEX_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "resex/load_abi.h"
#include "src/core/units.h"

struct load;

struct load_ops {
	enum load_source source; /* in the records */
	/*
	 * arg: proc: the folder with the files of /proc (char *); hv: the guest (struct
	 * load_guest *). 0; -errno: text says in one sentence what is missing.
	 */
	int (*open)(struct load **l, const void *arg, char text[static 128]);
	void (*close)(struct load *l);
	/*
	 * Fill in the times, gauges, cpus and flags of r, in which load_sample() has filled in the
	 * rest. Does not block but for as long as the kernel takes to print its files. -errno: r
	 * is not to be used; -EPROTO: a file, or the hypervisor, says what was not expected.
	 */
	int (*sample)(struct load *l, struct load_record *r);
};

extern const struct load_ops load_proc, load_hv;

/* The records of one node. Zeros but for node: there is none yet. */
struct load_series {
	uint32_t node;
	uint64_t beat;	     /* of the newest record */
	struct mono sampled; /* when it was */
};

/*
 * Make the next record of the node, sampled at that time. It has LOAD_OVERRUN if the one before is
 * two periods old or older. 0; an error of ops->sample(): nothing has changed.
 */
int load_sample(struct load_series *s, const struct load_ops *ops, struct load *l,
		int64_t period_ns, struct mono at, struct load_record *r);

/* A guest as the hypervisor counts it. The caller of load_hv fills it in before each sample. */
struct load_guest {
	uint64_t cpu_ns;      /* of all its VCPUs since it was created */
	uint64_t runnable_ns; /* one of them at least had a CPU or waited for one; only grows */
	uint32_t vcpus;	      /* online */
	int64_t look_ns;      /* between two looks at whether it is runnable */
	/* For how long its VCPUs waited for a CPU, in sum; of a guest of one VCPU not asked for. */
	bool waits_known;
	uint64_t waits_ns;
	bool simulated;
};

/* --- waiting (wait.c), pure -------------------------------------------------------- */

/*
 * For how long a VCPU waited for a CPU: for so long it was runnable, less how long it ran. That it
 * ran is exact; that it was runnable is known from looks at it. One that ran between two looks was
 * not seen, and then it ran for longer than it was runnable. So the difference goes up and down by
 * some looks, and ns, which may only grow, takes what is above its highest value. Of a VCPU that
 * always runs between two looks the difference would fall without end: it is cut.
 */
struct load_wait {
	bool began;
	uint64_t cpu_ns, runnable_ns; /* at the last call */
	uint64_t ns;
	int64_t owed_ns; /* how far the difference is below its highest value */
};

/* Zeros: none yet. Both times only grow, or begin anew. look_ns: between two looks. */
void load_wait_add(struct load_wait *w, uint64_t cpu_ns, uint64_t runnable_ns, int64_t look_ns);

/* --- texts of the kernel (proc_text.c) ------------------------------------------- */

/*
 * Parse text of len bytes: /proc/stat, with tick_ns a tick; /proc/loadavg; /proc/pressure/cpu.
 * Fill in what they say. 0; -EPROTO: it is not such a text.
 */
int load_parse_stat(const char *text, size_t len, uint64_t tick_ns, struct load_record *r);
int load_parse_loadavg(const char *text, size_t len, struct load_record *r);
int load_parse_pressure(const char *text, size_t len, struct load_record *r);

#endif
