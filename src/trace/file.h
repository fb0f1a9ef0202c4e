/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file: a thread that takes records out of a ring, encodes them, and writes them into a new file.
 * Neither the sampler nor the control thread ever waits for the disk. See format.h for the file.
 *
 * The file has whole blocks alone at all times, also when a write failed, but for the last block
 * when the process is killed while it writes.
 */
#ifndef RESEX_TRACE_FILE_H
#define RESEX_TRACE_FILE_H

#include "src/trace/ring.h"

struct trace_file;

/* Where records come from. All must outlive the file. */
struct trace_source {
	struct trace_ring *ring;
	const _Atomic uint32_t *end; /* not 0: no record follows: enum trace_end */
	/* The payload of a record in the file: less than TRACE_RECORD_MAX bytes. */
	void (*encode)(void *encoder, const struct trace_ring_head *h, const uint8_t *payload,
		       struct trace_out *o);
	void *encoder;
};

struct trace_file_view {
	uint64_t bytes, ticks; /* written */
	uint32_t end;	       /* enum trace_end; 0: it is being written, or error ended it */
	int error;	       /* errno of a write that failed; 0: none */
	bool done;	       /* nothing is written any more: call trace_file_close */
};

/*
 * Make the file, whose first record is this one (of n bytes), and start the thread. most: bytes of
 * the file at most. 0; -EEXIST: something has that name; or another -errno.
 */
int trace_file_open(struct trace_file **f, const char *path, uint64_t most,
		    const struct trace_source *from, const uint8_t *record, size_t n);
/* No record follows: write what is in the ring, and END. Returns at once. */
void trace_file_finish(struct trace_file *f, enum trace_end end);
struct trace_file_view trace_file_view(const struct trace_file *f);
/* Wait for the thread, which is done or was told to finish. NULL is fine. */
void trace_file_close(struct trace_file *f);

#endif
