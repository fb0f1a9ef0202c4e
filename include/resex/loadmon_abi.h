/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loadmon_abi: what resexd asks of the kernel module resex_loadmon (man loadmon(4)).
 *
 * A process opens /dev/resex-load and names a load record in its own memory. From then on the
 * module writes the record, once a period, until the file is closed.
 */
#ifndef RESEX_LOADMON_ABI_H
#define RESEX_LOADMON_ABI_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif

#include "resex/load_abi.h"

#define LOADMON_PATH "/dev/resex-load"

#define LOADMON_PERIOD_MIN_NS 100000u	     /* 0.1 ms */
#define LOADMON_PERIOD_MAX_NS 10000000000ull /* 10 s */
#define LOADMON_PERIOD_NS     1000000u	     /* instead of 0 */

#define LOADMON_ALIGN 64u

#define LOADMON_NO_OFFSET  0xffffffffu
#define LOADMON_OFFSET_MAX 8192u /* above it is no offset in a struct rq */

struct loadmon_fill {
	uint64_t record;    /* its address: a multiple of LOADMON_ALIGN; all of it in one page */
	uint64_t period_ns; /* LOADMON_PERIOD_MIN_NS .. MAX_NS; 0: LOADMON_PERIOD_NS */
	uint32_t node;	    /* its number, below REGION_NODES_MAX */
	/*
	 * Of nr_running in the running kernel's struct rq, in bytes: a multiple of 4.
	 * LOADMON_NO_OFFSET: not known; then the record has LOAD_NO_RUNNING.
	 */
	uint32_t running_offset;
	uint64_t reserved[2]; /* 0 */
};

static_assert(sizeof(struct loadmon_fill) == 40, "what the ioctl takes");

/*
 * Fill the record. It goes on from the beat and the sequence that the record has. When this
 * returns 0, the first sample is there. EINVAL: a number is out of range, or reserved is not 0;
 * EFAULT: no memory that can be written and stay where it is; EBUSY: this file fills a record
 * already, or the module holds (loadmon(4)).
 */
#define LOADMON_FILL _IOW('R', 0x4c, struct loadmon_fill)

#endif
