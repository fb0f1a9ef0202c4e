// SPDX-License-Identifier: GPL-2.0-or-later
/* file: the thread that writes a trace; see file.h. */
#include "src/trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/util/clock.h"

/* The ring has room for far more than is recorded in this time. */
#define TURN_NS (20 * NS_PER_MS)

enum {
	/* Room that is kept in the file for END: a block with one record of two numbers. */
	END_ROOM = TRACE_BLOCK_HEAD + TRACE_RECORD_HEAD + 2 * TRACE_NUMBER_MAX,
	/* And for what belongs to one tick: TICK, ACCOUNTS, DECIDED. */
	TICK_ROOM = 3 * (TRACE_RECORD_MAX + TRACE_BLOCK_HEAD),
};

struct trace_file {
	int fd;
	uint64_t most;
	struct trace_source from;
	pthread_t thread;
	uint32_t number; /* of the next block */
	size_t used;	 /* bytes of records in block */
	uint64_t taken;	 /* ticks, those in block included */
	_Atomic uint64_t bytes, ticks;
	_Atomic uint32_t finish; /* enum trace_end; 0: not told to */
	_Atomic uint32_t end;
	_Atomic int error;
	_Atomic bool done;
	uint8_t block[TRACE_BLOCK_HEAD + TRACE_BLOCK_MAX];
};

static int write_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -EIO;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

/* Write the records that stand in the block. A part of a block is taken back. */
static int write_block(struct trace_file *f)
{
	uint64_t bytes = atomic_load(&f->bytes);
	int rc;

	if (!f->used)
		return 0;
	trace_block_fill(f->block, (uint32_t)f->used, f->number++);
	rc = write_all(f->fd, f->block, TRACE_BLOCK_HEAD + f->used);
	if (rc) {
		if (ftruncate(f->fd, (off_t)bytes))
			rc = -errno;
		return rc;
	}
	atomic_store(&f->bytes, bytes + TRACE_BLOCK_HEAD + f->used);
	atomic_store(&f->ticks, f->taken);
	f->used = 0;
	return 0;
}

/* The next record: its payload goes to o->at. */
static uint8_t *begin_record(struct trace_file *f, enum trace_kind kind, struct trace_out *o)
{
	uint8_t *record = f->block + TRACE_BLOCK_HEAD + f->used;

	record[0] = (uint8_t)kind;
	*o = (struct trace_out){ record + TRACE_RECORD_HEAD, f->block + sizeof(f->block), false };
	return record;
}

static void end_record(struct trace_file *f, uint8_t *record, const struct trace_out *o)
{
	trace_store32(record + 1, (uint32_t)(o->at - record) - TRACE_RECORD_HEAD);
	f->used += (size_t)(o->at - record);
}

static int write_end(struct trace_file *f, uint32_t end)
{
	struct trace_out o;
	uint8_t *record = begin_record(f, TRACE_END, &o);
	int rc;

	trace_put(&o, end);
	trace_put(&o, f->taken);
	end_record(f, record, &o);
	rc = write_block(f);
	if (!rc && fsync(f->fd))
		rc = -errno;
	if (!rc)
		atomic_store(&f->end, end);
	return rc;
}

/* An output is written with the inputs that it belongs to, which found room for both. */
static bool is_output(uint32_t kind)
{
	return kind == TRACE_ACCOUNTS || kind == TRACE_DECIDED;
}

static bool is_large(const struct trace_file *f)
{
	return atomic_load(&f->bytes) + TRACE_BLOCK_HEAD + f->used + TICK_ROOM + END_ROOM > f->most;
}

/* Write what the ring has. *large: it would be more than the file may have. */
static int drain(struct trace_file *f, bool *large)
{
	struct trace_ring_head h;
	const uint8_t *payload;

	while ((payload = trace_ring_oldest(f->from.ring, &h))) {
		struct trace_out o;
		uint8_t *record;
		int rc = TRACE_BLOCK_MAX - f->used < TRACE_RECORD_MAX ? write_block(f) : 0;

		if (rc)
			return rc;
		*large = !is_output(h.kind) && is_large(f);
		if (*large)
			break;
		record = begin_record(f, h.kind, &o);
		f->from.encode(f->from.encoder, &h, payload, &o);
		end_record(f, record, &o);
		f->taken += h.kind == TRACE_TICK;
		trace_ring_got(f->from.ring, &h);
	}
	return write_block(f);
}

static void *file_main(void *arg)
{
	struct trace_file *f = arg;
	bool large = false;
	struct clock clock;
	int rc = 0;

	clock_real(&clock);

	for (;;) {
		/* Looked at before the ring: what was put before it is drained, too. */
		uint32_t end = atomic_load(f->from.end);

		if (!end)
			end = atomic_load(&f->finish);
		rc = drain(f, &large);
		if (large)
			end = TRACE_LARGE;
		if (!rc && end)
			rc = write_end(f, end);
		if (rc || end)
			break;
		clock.sleep_until(&clock, mono_add(clock.now(&clock), TURN_NS));
	}
	atomic_store(&f->error, -rc);
	atomic_store(&f->done, true);
	return NULL;
}

static int start_thread(struct trace_file *f)
{
	sigset_t all, old;
	int rc;

	/* Signals are for the control thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&f->thread, NULL, file_main, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

static int begin_file(struct trace_file *f, const uint8_t *record, size_t n)
{
	uint8_t head[TRACE_HEAD];
	int rc;

	trace_head_fill(head);
	rc = write_all(f->fd, head, sizeof(head));
	if (rc)
		return rc;
	atomic_store(&f->bytes, sizeof(head));
	memcpy(f->block + TRACE_BLOCK_HEAD, record, n);
	f->used = n;
	return write_block(f);
}

int trace_file_open(struct trace_file **out, const char *path, uint64_t most,
		    const struct trace_source *from, const uint8_t *record, size_t n)
{
	struct trace_file *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	f->from = *from;
	f->most = most;
	/* A new file: nothing that exists is written over, nor what a link names. */
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		rc = -errno;
		free(f);
		return rc;
	}
	rc = begin_file(f, record, n);
	if (!rc)
		rc = start_thread(f);
	if (rc) {
		unlink(path);
		close(f->fd);
		free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void trace_file_finish(struct trace_file *f, enum trace_end end)
{
	atomic_store(&f->finish, end);
}

struct trace_file_view trace_file_view(const struct trace_file *f)
{
	/* done first: what is read after it is final. */
	bool done = atomic_load(&f->done);

	return (struct trace_file_view){
		.bytes = atomic_load(&f->bytes),
		.ticks = atomic_load(&f->ticks),
		.end = atomic_load(&f->end),
		.error = atomic_load(&f->error),
		.done = done,
	};
}

void trace_file_close(struct trace_file *f)
{
	if (!f)
		return;
	pthread_join(f->thread, NULL);
	close(f->fd);
	free(f);
}
