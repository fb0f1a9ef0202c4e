/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool: scenarios run by the whole daemon on a simulated host (run.h), in some processes. Each
 * process takes the next piece of work that no other has taken, and writes the result to memory
 * that all share: so results do not depend on the number of processes. Errors are printed.
 */
#ifndef RESEX_LAB_POOL_H
#define RESEX_LAB_POOL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct pool {
	uint32_t pieces;
	/* Do piece i. 0, or -errno: this process takes no further piece. */
	int (*work)(void *arg, uint32_t i);
	void *arg;
};

/* Memory of so many bytes, all 0, that the processes share. NULL: there is none. */
void *pool_memory(size_t size);
void pool_release(void *memory, size_t size);

/* Do all pieces in so many processes; returns when all processes have ended. The exit code. */
int pool_run(const struct pool *p, uint32_t jobs);

/*
 * Run a scenario, a text with this name, and return its summary, which the caller releases. 0, or
 * -errno; -EINTR: a signal ended the run.
 */
int pool_scenario(const char *name, const char *text, json_t **summary);

#endif
