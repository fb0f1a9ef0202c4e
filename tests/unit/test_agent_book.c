// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/book: the pages that the agent writes, read back by dom0's reader
 * (ibmon/registry). The pages are plain memory, and tests can move them.
 */
#include <errno.h>
#include <string.h>

#include "ibmon/agent/book.h"
#include "ibmon/registry.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/* --- pages that can move ------------------------------------------------------- */

struct pages {
	size_t n, limit;
	uint64_t shift; /* added to every page's number: they all moved */
	void *mem[BOOK_PAGES_MAX];
	uint64_t ref[BOOK_PAGES_MAX];
};

static int fake_get(struct pages *p, void **mem, struct guest_ref *ref)
{
	if (p->n == p->limit)
		return -ENOMEM;
	p->mem[p->n] = aligned_alloc(GUEST_PAGE, GUEST_PAGE);
	assert_non_null(p->mem[p->n]);
	memset(p->mem[p->n], 0, GUEST_PAGE);
	p->ref[p->n] = 1000 + p->n;
	*mem = p->mem[p->n];
	*ref = (struct guest_ref){ .type = GUEST_REF_FRAME, .ref = p->ref[p->n++] };
	return 0;
}

static int fake_renew(struct pages *p, const void *mem, struct guest_ref *ref)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->mem[i] != mem)
			continue;
		if (ref->ref == p->ref[i])
			return 0;
		ref->ref = p->ref[i];
		return 1;
	}
	return -EFAULT;
}

static const struct pages_ops fake_ops = { .name = "fake", .get = fake_get, .renew = fake_renew };

static int fake_page(void *ctx, const struct guest_ref *ref, const volatile void **page)
{
	struct pages *p = (struct pages *)ctx;

	for (size_t i = 0; i < p->n; i++) {
		if (p->ref[i] != ref->ref)
			continue;
		*page = p->mem[i];
		return 0;
	}
	return -EINVAL;
}

/* --- a book and its reader ----------------------------------------------------- */

struct rig {
	struct pages pages;
	struct book *book;
	struct registry got;
};

static int rig_open(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->pages.limit = BOOK_PAGES_MAX;
	assert_int_equal(book_open(&r->book, &fake_ops, &r->pages, 4711), 0);
	*state = r;
	return 0;
}

static int rig_close(void **state)
{
	struct rig *r = *state;

	book_close(r->book);
	for (size_t i = 0; i < r->pages.n; i++)
		free(r->pages.mem[i]);
	free(r);
	return 0;
}

static int look(struct rig *r)
{
	const struct registry_limits lim = {
		.rings = GUEST_RINGS_MAX, .pages = GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE
	};

	return registry_walk(r->pages.mem[0], &lim, fake_page, &r->pages, &r->got);
}

static struct guest_registry *page(struct rig *r)
{
	return (struct guest_registry *)r->pages.mem[0];
}

static struct guest_ring ring_of(uint32_t frames)
{
	struct guest_ring g = { .kind = GUEST_RING_SQ,
				.provider = GUEST_PROVIDER_RXE,
				.number = 17,
				.pid = 100,
				.elem_size = 256,
				.entries = 2,
				.frames = frames,
				.comm = "app" };

	return g;
}

/* Frames of a ring: unlike those of all others. */
static void fill(uint64_t *frame, uint32_t n, uint64_t base)
{
	for (uint32_t i = 0; i < n; i++)
		frame[i] = base * 100000 + i + 1;
}

static uint32_t add(struct rig *r, uint32_t frames, uint64_t base)
{
	static uint64_t frame[GUEST_RING_FRAMES_MAX];
	struct guest_ring g = ring_of(frames);
	uint32_t id = 0;

	fill(frame, frames, base);
	book_begin(r->book);
	assert_int_equal(book_add(r->book, &g, frame, &id), 0);
	book_end(r->book);
	return id;
}

static void drop(struct rig *r, uint32_t id)
{
	book_begin(r->book);
	book_remove(r->book, id);
	book_end(r->book);
}

static const struct ring_desc *find(const struct rig *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->got.rings; i++)
		if (r->got.ring[i].id == id)
			return &r->got.ring[i];
	return NULL;
}

static void assert_frames(const struct rig *r, uint32_t id, uint64_t base)
{
	const struct ring_desc *d = find(r, id);

	assert_non_null(d);
	for (uint32_t i = 0; i < d->frames; i++)
		assert_int_equal(r->got.frame[d->first_frame + i], base * 100000 + i + 1);
}

TEST_WITH(new_book__is_an_empty_registry, rig_open, rig_close)
{
	struct rig *r = *state;

	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.agent_pid, 4711);
	assert_int_equal(r->got.rings, 0);
	assert_int_equal(r->got.faults, 0);
	assert_int_equal(book_ref(r->book).ref, 1000);
	assert_int_equal(book_ref(r->book).type, GUEST_REF_FRAME);
}

TEST_WITH(ring_added__is_read_back_as_it_was, rig_open, rig_close)
{
	struct rig *r = *state;
	uint32_t id = add(r, 3, 7);
	const struct ring_desc *d;

	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, 1);
	d = find(r, id);
	assert_non_null(d);
	assert_int_equal(d->kind, RING_SQ);
	assert_int_equal(d->number, 17);
	assert_int_equal(d->pid, 100);
	assert_int_equal(d->elem_size, 256);
	assert_int_equal(d->entries, 2);
	assert_string_equal(d->comm, "app");
	assert_frames(r, id, 7);
	assert_int_equal(book_rings(r->book), 1);
}

TEST_WITH(while_changes_are_made__the_reader_is_told_to_wait, rig_open, rig_close)
{
	struct rig *r = *state;
	uint32_t before;

	assert_int_equal(look(r), 0);
	before = r->got.generation;
	book_begin(r->book);
	assert_int_equal(look(r), -EAGAIN);
	book_end(r->book);
	assert_int_equal(look(r), 0);
	assert_true(r->got.generation > before);
	assert_true(registry_changed(r->pages.mem[0], before));
}

TEST_WITH(ring_removed__others_keep_their_place_and_ids_do_not_come_back, rig_open, rig_close)
{
	struct rig *r = *state;
	uint32_t a = add(r, 3, 1), b = add(r, 5, 2), c = add(r, 2, 3), d;
	uint32_t first_c;

	assert_int_equal(look(r), 0);
	first_c = find(r, c)->first_frame;
	drop(r, b);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, 2);
	assert_null(find(r, b));
	assert_frames(r, a, 1);
	assert_frames(r, c, 3);
	assert_int_equal(find(r, c)->first_frame, first_c);
	d = add(r, 4, 4);
	assert_int_equal(look(r), 0);
	assert_true(d > c);
	assert_frames(r, d, 4);
	assert_frames(r, c, 3);
	assert_true(find(r, d)->first_frame < first_c); /* the gap was used */
}

TEST_WITH(queue_pairs_without_a_ring__are_told_at_any_time, rig_open, rig_close)
{
	struct rig *r = *state;
	struct registry_qps qps;

	book_unseen(r->book, 1ull << 40);
	book_unpublished(r->book, 22);
	assert_int_equal(registry_qps(page(r), &qps), 0);
	assert_int_equal(qps.unseen, 1ull << 40);
	assert_int_equal(qps.unpublished, 22);
	book_unpublished(r->book, 0);
	assert_int_equal(registry_qps(page(r), &qps), 0);
	assert_int_equal(qps.unpublished, 0);
	assert_int_equal(look(r), 0);
}

TEST_WITH(removing_what_is_not_there__changes_nothing, rig_open, rig_close)
{
	struct rig *r = *state;
	uint32_t a = add(r, 1, 1);

	drop(r, a + 1);
	drop(r, 0);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, 1);
	assert_int_equal(book_rings(r->book), 1);
}

TEST_WITH(out_of_the_abis_ranges__is_refused, rig_open, rig_close)
{
	struct rig *r = *state;
	struct guest_ring bad[6];
	uint64_t frame[2] = { 1, 2 };
	uint32_t id = 77;

	for (size_t i = 0; i < 6; i++)
		bad[i] = ring_of(2);
	bad[0].kind = GUEST_RING_FREE;
	bad[1].elem_size = 96;
	bad[2].entries = 1;
	bad[3].offset = GUEST_PAGE;
	bad[4].frames = 0;
	bad[5].frames = GUEST_RING_FRAMES_MAX + 1;
	book_begin(r->book);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(book_add(r->book, &bad[i], frame, &id), -EINVAL);
	book_end(r->book);
	assert_int_equal(id, 77);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings + r->got.faults, 0);
}

TEST_WITH(as_many_rings_as_the_abi_has__then_no_more, rig_open, rig_close)
{
	struct rig *r = *state;
	struct guest_ring g = ring_of(1);
	uint64_t frame = 5;
	uint32_t id;

	for (uint32_t i = 0; i < GUEST_RINGS_MAX; i++)
		add(r, 1, i + 1);
	book_begin(r->book);
	assert_int_equal(book_add(r->book, &g, &frame, &id), -ENOSPC);
	book_end(r->book);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, GUEST_RINGS_MAX);
	assert_int_equal(r->got.faults, 0);
	drop(r, r->got.ring[9].id);
	add(r, 1, 999);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, GUEST_RINGS_MAX);
}

TEST_WITH(as_many_frames_as_the_abi_has__then_no_more, rig_open, rig_close)
{
	const uint32_t all = GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE;
	static uint64_t frame[GUEST_RING_FRAMES_MAX];
	struct rig *r = *state;
	struct guest_ring g = ring_of(1);
	uint32_t id;

	for (uint32_t i = 0; i < all / GUEST_RING_FRAMES_MAX; i++)
		add(r, GUEST_RING_FRAMES_MAX, i + 1);
	book_begin(r->book);
	assert_int_equal(book_add(r->book, &g, frame, &id), -ENOSPC);
	book_end(r->book);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.frames, all);
	assert_int_equal(r->got.faults, 0);
	drop(r, r->got.ring[2].id);
	add(r, GUEST_RING_FRAMES_MAX, 77); /* just what became free */
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.frames, all);
}

TEST_WITH(no_page_to_be_had__is_an_error_and_the_book_stays_whole, rig_open, rig_close)
{
	struct rig *r = *state;
	struct guest_ring g = ring_of(1);
	uint64_t frame = 5;
	uint32_t id;

	r->pages.limit = 1;
	book_begin(r->book);
	assert_int_equal(book_add(r->book, &g, &frame, &id), -ENOMEM);
	book_end(r->book);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings + r->got.faults, 0);
	r->pages.limit = BOOK_PAGES_MAX;
	add(r, 1, 1);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, 1);
}

TEST_WITH(heartbeat__goes_up_without_a_new_generation, rig_open, rig_close)
{
	struct rig *r = *state;
	uint32_t generation;

	assert_int_equal(look(r), 0);
	generation = r->got.generation;
	assert_int_equal(book_beat(r->book), 0);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.heartbeat, 1);
	assert_int_equal(r->got.generation, generation);
}

TEST_WITH(directory_page_that_moved__is_named_anew, rig_open, rig_close)
{
	struct rig *r = *state;
	uint32_t id = add(r, 2, 1), generation;

	assert_int_equal(look(r), 0);
	generation = r->got.generation;
	for (size_t i = 1; i < r->pages.n; i++)
		r->pages.ref[i] += 500;
	assert_int_equal(look(r), 0);
	assert_null(find(r, id)); /* it is not where it was said to be */
	assert_int_equal(book_beat(r->book), 0);
	assert_int_equal(look(r), 0);
	assert_frames(r, id, 1);
	assert_true(r->got.generation > generation);
}

TEST_WITH(registry_page_that_moved__asks_for_a_new_node, rig_open, rig_close)
{
	struct rig *r = *state;

	r->pages.ref[0] = 42;
	assert_int_equal(book_beat(r->book), 1);
	assert_int_equal(book_ref(r->book).ref, 42);
	assert_int_equal(book_beat(r->book), 0);
}

static const struct guest_latency *latency_page(struct rig *r, uint32_t i)
{
	const volatile void *p = NULL;

	assert_int_equal(fake_page(&r->pages, &page(r)->latency[i], &p), 0);
	return (const struct guest_latency *)(uintptr_t)p;
}

TEST_WITH(latencies__stand_by_number_and_lap, rig_open, rig_close)
{
	struct rig *r = *state;
	struct guest_latency_sample s[GUEST_LATENCY_SAMPLES];
	const struct guest_latency *l;
	unsigned int index;

	book_begin(r->book);
	assert_int_equal(book_latency_add(r->book, 55, "trader", &index), 0);
	book_end(r->book);
	for (uint32_t k = 0; k < GUEST_LATENCY_SAMPLES; k++)
		s[k] = (struct guest_latency_sample){ k + 1, 2 * (k + 1), 3 * (k + 1) };
	book_latency_put(r->book, index, s, GUEST_LATENCY_SAMPLES, 1000);
	book_latency_dropped(r->book, index, 5);
	assert_int_equal(latency_page(r, 0)->dropped, 0);
	book_latency_put(r->book, index, s, 3, 2000);
	l = latency_page(r, 0);
	assert_int_equal(l->magic, GUEST_LATENCY_MAGIC);
	assert_int_equal(l->pid, 55);
	assert_string_equal(l->comm, "trader");
	assert_int_equal(l->written, GUEST_LATENCY_SAMPLES + 3);
	assert_int_equal(l->writing, l->written);
	assert_int_equal(l->dropped, 5);
	assert_int_equal(l->time, 2000);
	assert_memory_equal(l->sample, s, sizeof(s)); /* the last three are the first three again */
}

TEST_WITH(latency_pages__are_limited_and_used_again_clean, rig_open, rig_close)
{
	struct rig *r = *state;
	const struct guest_latency_sample s = { .wtime_ns = 1 };
	unsigned int index[GUEST_LATENCIES_MAX], other;
	size_t pages;

	book_begin(r->book);
	for (uint32_t i = 0; i < GUEST_LATENCIES_MAX; i++)
		assert_int_equal(book_latency_add(r->book, 100 + i, "a", &index[i]), 0);
	assert_int_equal(book_latency_add(r->book, 200, "b", &other), -ENOSPC);
	book_end(r->book);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.latencies, GUEST_LATENCIES_MAX);
	book_latency_put(r->book, index[3], &s, 1, 1);
	pages = r->pages.n;
	book_begin(r->book);
	book_latency_remove(r->book, index[3]);
	book_end(r->book);
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.latencies, GUEST_LATENCIES_MAX - 1);
	book_begin(r->book);
	assert_int_equal(book_latency_add(r->book, 200, "b", &other), 0);
	book_end(r->book);
	assert_int_equal(other, index[3]);
	assert_int_equal(r->pages.n, pages);
	assert_int_equal(latency_page(r, 3)->pid, 200);
	assert_int_equal(latency_page(r, 3)->written, 0);
	assert_int_equal(latency_page(r, 3)->sample[0].wtime_ns, 0);
	book_latency_put(r->book, other, &s, 1, 1);
	assert_int_equal(latency_page(r, 3)->written, 1);
}

TEST_WITH(closed_book__shows_nothing_to_a_late_reader, rig_open, rig_close)
{
	struct rig *r = *state;

	add(r, 2, 1);
	book_close(r->book);
	r->book = NULL;
	assert_int_equal(look(r), 0);
	assert_int_equal(r->got.rings, 0);
	assert_int_equal(r->got.frames, 0);
}

/* Any order of adding and removing: the reader sees just what is there. */
TEST_WITH(random_changes__reader_and_writer_agree, rig_open, rig_close)
{
	struct {
		uint32_t id;
		uint64_t base;
	} have[64] = { 0 };
	struct rig *r = *state;
	struct prop p;
	uint32_t n = 0;

	prop_start(&p);
	for (uint64_t step = 1; step < 3000; step++) {
		size_t i = prop_range(&p, 0, 63);

		if (have[i].id) {
			drop(r, have[i].id);
			have[i].id = 0;
			n--;
		} else {
			have[i].id = add(r, (uint32_t)prop_range(&p, 1, 60), step);
			have[i].base = step;
			n++;
		}
		prop_assert(&p, step, look(r) == 0);
		prop_assert(&p, step, r->got.rings == n && r->got.faults == 0);
		for (size_t k = 0; k < 64; k++)
			if (have[k].id)
				assert_frames(r, have[k].id, have[k].base);
	}
}
