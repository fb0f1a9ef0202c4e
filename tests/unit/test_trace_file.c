// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * file: the thread that writes a trace: what is in the file when the recording ended by trace-stop,
 * by the file's size, or because a write failed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/trace/file.h"
#include "tests/unit/unit.h"

enum { LARGEST = 2 << 20, WAIT_MS = 20000 };

struct bed {
	struct trace_ring ring;
	_Atomic uint32_t end;
	struct trace_file *file;
	char path[64];
	uint8_t *bytes; /* of the file */
	size_t n;
};

/* What a record has n times over. */
static void encode(void *encoder, const struct trace_ring_head *h, const uint8_t *payload,
		   struct trace_out *o)
{
	uint32_t n = trace_load32(payload);

	assert_ptr_equal(encoder, NULL);
	for (uint32_t i = 0; i < n; i++)
		trace_put_byte(o, (uint8_t)h->kind);
}

/* A record that takes so many bytes of the ring. */
static bool put_of(struct bed *b, enum trace_kind kind, uint32_t n, uint32_t bytes)
{
	uint8_t *to = trace_ring_room(&b->ring, bytes);

	if (!to)
		return false;
	trace_ring_head_fill(to, kind, bytes - TRACE_RING_HEAD);
	trace_store32(to + TRACE_RING_HEAD, n);
	trace_ring_put(&b->ring, bytes);
	return true;
}

static bool put(struct bed *b, enum trace_kind kind, uint32_t n)
{
	return put_of(b, kind, n, 16);
}

static const uint8_t first[] = { TRACE_CONF, 1, 0, 0, 0, 77 };

static int open_file(struct bed *b)
{
	return trace_file_open(&b->file, b->path, LARGEST,
			       &(struct trace_source){ &b->ring, &b->end, encode, NULL }, first,
			       sizeof(first));
}

static int setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	snprintf(b->path, sizeof(b->path), "/tmp/resex-trace-file-%d", (int)getpid());
	unlink(b->path);
	assert_int_equal(open_file(b), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bed *b = *state;

	unlink(b->path);
	free(b->bytes);
	free(b);
	return 0;
}

static struct trace_file_view wait_done(struct bed *b)
{
	struct trace_file_view v = trace_file_view(b->file);

	for (int i = 0; !v.done && i < WAIT_MS; i++) {
		usleep(1000);
		v = trace_file_view(b->file);
	}
	assert_true(v.done);
	trace_file_close(b->file);
	return v;
}

static void read_file(struct bed *b)
{
	FILE *f = fopen(b->path, "r");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	b->n = (size_t)st.st_size;
	b->bytes = malloc(b->n);
	assert_non_null(b->bytes);
	assert_int_equal(fread(b->bytes, 1, b->n, f), b->n);
	fclose(f);
}

/* What is in the file, which has whole blocks alone. */
struct found {
	uint64_t of[TRACE_KINDS]; /* records */
	uint64_t tick_bytes;	  /* of payloads of TICK */
	uint64_t end, ticks;	  /* as END says */
	enum trace_kind last;
};

static struct found find_all(const struct bed *b)
{
	struct found f = { .last = 0 };
	uint32_t version, number = 0;

	assert_int_equal(trace_head_check(b->bytes, &version), 0);
	for (size_t at = TRACE_HEAD; at < b->n; number++) {
		const uint8_t *block = b->bytes + at;
		uint32_t n = trace_block_bytes(block);
		struct trace_in in = { block + TRACE_BLOCK_HEAD, block + TRACE_BLOCK_HEAD + n,
				       false };
		struct trace_in payload;
		enum trace_kind kind;

		assert_true(n && at + TRACE_BLOCK_HEAD + n <= b->n &&
			    trace_block_good(block, number));
		while (trace_next(&in, &kind, &payload) > 0) {
			f.of[kind]++;
			f.last = kind;
			if (kind == TRACE_TICK)
				f.tick_bytes += (uint64_t)(payload.end - payload.at);
			if (kind == TRACE_END) {
				f.end = trace_get(&payload, TRACE_ENDS);
				f.ticks = trace_get(&payload, UINT64_MAX);
			}
		}
		assert_ptr_equal(in.at, in.end);
		at += TRACE_BLOCK_HEAD + n;
	}
	return f;
}

#define WITH_FILE(name) TEST_WITH(name, setup, teardown)

WITH_FILE(file__told_to_finish__has_all_that_was_put)
{
	struct bed *b = *state;
	struct trace_file_view v;
	struct found f;

	for (int i = 0; i < 500; i++) {
		assert_true(put(b, TRACE_TICK, 3000));
		assert_true(i % 5 || put(b, TRACE_DECIDED, 100));
	}
	trace_file_finish(b->file, TRACE_CLOSED);
	v = wait_done(b);
	assert_int_equal(v.end, TRACE_CLOSED);
	assert_int_equal(v.ticks, 500);
	assert_int_equal(v.error, 0);
	read_file(b);
	assert_int_equal(v.bytes, b->n);
	f = find_all(b);
	assert_int_equal(f.of[TRACE_CONF], 1);
	assert_int_equal(f.of[TRACE_TICK], 500);
	assert_int_equal(f.of[TRACE_DECIDED], 100);
	assert_int_equal(f.last, TRACE_END);
	assert_int_equal(f.end, TRACE_CLOSED);
	assert_int_equal(f.ticks, 500);
}

/* The thread looks at the ring all the while. */
WITH_FILE(file__ring_begins_at_its_front_again__has_all_that_was_put)
{
	enum { TURNS = 5, RECORDS = TRACE_RING_FRONT / 1024 };
	struct bed *b = *state;
	uint32_t bytes = 0, n = 0;
	uint64_t base = 0;
	struct found f;

	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < RECORDS; i++, bytes += n++)
			assert_true(put_of(b, TRACE_TICK, n, 1024));
		for (int i = 0; i < WAIT_MS && trace_file_view(b->file).ticks != n; i++)
			usleep(1000);
		assert_int_equal(trace_file_view(b->file).ticks, n);
		assert_true(turn == 0 || atomic_load(&b->ring.base) > base);
		base = atomic_load(&b->ring.base);
	}
	trace_file_finish(b->file, TRACE_CLOSED);
	assert_int_equal(wait_done(b).ticks, n);
	read_file(b);
	f = find_all(b);
	assert_int_equal(f.of[TRACE_TICK], n);
	assert_int_equal(f.tick_bytes, bytes);
}

WITH_FILE(file__sampler_says_that_it_is_behind__ends_so)
{
	struct bed *b = *state;

	put(b, TRACE_TICK, 10);
	atomic_store(&b->end, TRACE_BEHIND);
	assert_int_equal(wait_done(b).end, TRACE_BEHIND);
	read_file(b);
	assert_int_equal(find_all(b).ticks, 1);
}

WITH_FILE(file__has_its_largest_size__ends_with_whole_ticks)
{
	struct bed *b = *state;
	struct found f;

	/* More than the file may have; what belongs to a tick is large. */
	for (int i = 0; i < 60; i++) {
		assert_true(put(b, TRACE_TICK, 60000));
		assert_true(put(b, TRACE_ACCOUNTS, 70000));
		assert_true(put(b, TRACE_DECIDED, 10000));
	}
	assert_int_equal(wait_done(b).end, TRACE_LARGE);
	read_file(b);
	assert_true(b->n <= LARGEST && b->n > LARGEST - (1 << 20));
	f = find_all(b);
	assert_int_equal(f.end, TRACE_LARGE);
	assert_true(f.of[TRACE_TICK] > 0 && f.of[TRACE_TICK] < 60);
	assert_int_equal(f.ticks, f.of[TRACE_TICK]);
	assert_int_equal(f.tick_bytes, 60000 * f.ticks);
	assert_int_equal(f.of[TRACE_ACCOUNTS], f.ticks);
	assert_int_equal(f.of[TRACE_DECIDED], f.ticks);
}

WITH_FILE(file__write_fails__has_whole_blocks_and_no_end)
{
	struct bed *b = *state;
	struct rlimit was, most;
	struct trace_file_view v;
	struct found f;

	/* As a disk that is full: the second block of 250,000 bytes does not fit. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	most = was;
	most.rlim_cur = 400000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
	for (int i = 0; i < 10; i++)
		assert_true(put(b, TRACE_TICK, 100000));
	v = wait_done(b);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(v.error, EFBIG);
	assert_int_equal(v.end, 0);
	read_file(b);
	assert_int_equal(v.bytes, b->n);
	f = find_all(b);
	assert_true(f.of[TRACE_TICK] > 0 && f.of[TRACE_TICK] < 10);
	assert_int_equal(f.of[TRACE_TICK], v.ticks);
	assert_int_equal(f.of[TRACE_END], 0);
}

WITH_FILE(file__of_a_name_that_exists__is_not_touched)
{
	struct bed *b = *state;
	struct trace_file *file = b->file;

	trace_file_finish(file, TRACE_STOPPED);
	wait_done(b);
	read_file(b);
	assert_int_equal(open_file(b), -EEXIST);
	assert_int_equal(find_all(b).of[TRACE_CONF], 1);
}
