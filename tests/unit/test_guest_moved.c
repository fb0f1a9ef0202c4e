// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_moved: the pages of an mlx5 send queue move, and its agent publishes it anew. Until then
 * the host reads the old frames, which hold anything. What is counted is right, or marked.
 */
#include <endian.h>
#include <string.h>

#include "tests/unit/guest_rig.h"
#include "tests/unit/unit.h"

enum { BLOCKS = 64, NUMBER = 0x77, PID = 4711, DB_AT = 192, BYTES = 1000, CHILD_BYTES = 4000 };

/* One process with one queue pair, and the frames in which its pages are now. */
struct rig {
	struct fixture *x;
	uint64_t ring, db, old_ring, old_db;
	uint32_t posted, descs;
	int child; /* requests that the child posted */
	uint64_t created;
};

static void put(struct rig *r, uint64_t frame, uint32_t at, uint32_t v)
{
	*(uint32_t *)((uint8_t *)fake_page(&r->x->g, frame) + at) = htobe32(v);
}

/* n WRITEs of a queue pair, of one MTU or of several. */
static void post(struct rig *r, uint64_t ring, uint64_t db, uint32_t number, uint32_t bytes, int n)
{
	for (; n > 0; n--, r->posted++) {
		uint32_t at = r->posted % BLOCKS * 64;

		put(r, ring, at, (r->posted & 0xffff) << 8 | 0x08);
		put(r, ring, at + 4, number << 8 | 3);
		put(r, ring, at + 32, bytes);
	}
	put(r, db, DB_AT + 4, r->posted & 0xffff);
}

static uint64_t move_page(struct rig *r, uint64_t from, uint64_t *old)
{
	*old = from;
	memcpy(fake_page(&r->x->g, r->x->g.next), fake_page(&r->x->g, from), GUEST_PAGE);
	return r->x->g.next++;
}

static void publish(struct rig *r)
{
	struct fake_guest *g = &r->x->g;
	struct guest_ring *d;
	uint32_t i;

	fake_write_begin(g);
	if (r->descs)
		fake_ring_at(g, r->descs - 1)->kind = GUEST_RING_FREE;
	i = fake_add_sq(g, ++r->descs, 16);
	d = fake_ring_at(g, i);
	*d = (struct guest_ring){ .id = r->descs,
				  .kind = GUEST_RING_SQ,
				  .provider = GUEST_PROVIDER_MLX5,
				  .number = NUMBER,
				  .pid = PID,
				  .elem_size = 64,
				  .entries = BLOCKS,
				  .path_mtu = 1024,
				  .first_frame = d->first_frame,
				  .frames = 1,
				  .db_frame = r->db,
				  .db_offset = DB_AT,
				  .db_bytes = 8,
				  .created = r->created,
				  .qp_type = GUEST_QP_RC };
	*fake_frame_at(g, d->first_frame) = r->ring;
	fake_write_end(g);
}

static void read_all(struct rig *r)
{
	struct sample s;

	for (uint32_t i = rings(r->x); i-- > 0;) {
		struct ring *ring = r->x->ring[i].ring;

		if (ring_sample(ring, MS, &s))
			guest_drop_faulty(r->x->mon, r->x->ring[i].id, ring_fault(ring), r->x->now);
	}
}

static void turn(struct rig *r)
{
	settle(r->x);
	guest_reap(r->x->mon);
	settle(r->x);
	read_all(r);
	guest_reap(r->x->mon);
}

/*
 * One character a step:
 *
 *	w	the process posts three work requests
 *	t	the control thread and the sampler have a turn
 *	:	200 ms pass: a ring at fault comes back in the next turn
 *	A	the agent publishes the queue where it is now
 *	-	the agent withdraws it: a page is not present
 *	n	another queue pair begins, in other memory
 *	M S D	its pages move: all; those of the queue; that of the doorbell record
 *	z g	the old frames are all zeroes; all ones
 *	o	the old frames are a queue of another process
 *	b	the same as c, with a request after them that is none
 *	.	9.9 s pass
 *	c	a child, whose the old frames are, posts three of CHILD_BYTES as this queue pair
 *	!	SAMPLE_UNCHARGED is set (last)
 */
static const struct moved_row {
	const char *name, *steps;
	uint64_t wrs;
} moved_rows[] = {
	{ "moved__all_pages__is_counted_once", "AwtMAtwt", 6 },
	{ "moved__work_before_it_was_noticed__is_counted", "AwtMwtAtwt", 9 },
	{ "moved__again_and_again__is_counted_once", "AwtMwtAtwtMwtAtMAMAwt", 15 },
	{ "moved__doorbell_record_alone__is_counted", "AwtDwtAtwt", 9 },
	{ "moved__queue_alone__is_counted", "AwtSwtAtwt", 9 },
	{ "moved__queue_alone_and_tried_again_meanwhile__is_counted", "AwtSwt:t:twtAtwt", 12 },
	{ "moved__before_it_was_read__is_counted_whole", "AMwAtwt", 6 },
	{ "moved__before_it_did_anything__is_counted_whole", "AtMwtAtwt", 6 },
	{ "moved__blank_queue_alone__is_counted_whole", "AtSwtAtwt", 6 },
	{ "moved__old_frames_are_ones__is_counted", "AwtMgtwAtwt", 9 },
	{ "moved__old_frames_are_another_queue__no_work_of_it_is_counted", "AwtMotwAtwt", 9 },
	{ "moved__old_frames_are_zeroed__is_marked", "AwtMztwAtwt!", 6 },
	{ "moved__a_lap_before_it_was_noticed__is_marked", "AwtMwwwwwwwwwwwwwwwwwwwwwwAtwt!", 6 },
	{ "moved__child_posts_in_the_old_frames__is_counted_until_noticed_and_marked",
	  "AwtMctAtwt!", 9 },
	{ "moved__some_of_the_old_frames_was_taken__is_marked", "AwtMwbtAtwt!", 6 },
	{ "moved__newest_reading_counted_what_is_not_there__is_marked", "AwtMgtc:tctwAtwt!", 9 },
	{ "moved__at_fault_for_10_s__is_marked", "AwtSwt:t.tAtwt!", 6 },
	{ "absent__page_is_there_again__is_counted_once", "Awt-twAtwt", 9 },
	{ "absent__page_is_there_again_elsewhere__is_counted_once", "Awt-tMzwAtwt", 9 },
	{ "absent__for_20_s__is_marked", "Awt-t..twAtwt!", 6 },
	{ "another__of_its_number_elsewhere__is_counted_whole", "Awt-tnwAtwt", 9 },
};

/* Each time as many as the child posted before, and three more. */
static void child_posts(struct rig *r)
{
	uint32_t posted = r->posted;

	r->child += 3;
	post(r, r->old_ring, r->old_db, NUMBER, CHILD_BYTES, r->child);
	r->posted = posted;
}

/* At block 3 of those that the parent has not posted there. */
static void child_errs(struct rig *r)
{
	uint32_t posted = r->posted;

	r->posted -= 3;
	post(r, r->old_ring, r->old_db, NUMBER, CHILD_BYTES, 4);
	put(r, r->old_ring, (posted % BLOCKS) * 64 + 4, NUMBER << 8); /* without segments */
	r->posted = posted;
}

static void another_queue(struct rig *r)
{
	uint32_t posted = r->posted;

	r->posted = 0;
	post(r, r->old_ring, r->old_db, NUMBER + 1, CHILD_BYTES, 20);
	r->posted = posted;
}

static void fill_old(struct rig *r, int byte)
{
	memset(fake_page(&r->x->g, r->old_ring), byte, GUEST_PAGE);
	memset(fake_page(&r->x->g, r->old_db), byte, GUEST_PAGE);
}

static void new_queue(struct rig *r)
{
	r->ring = r->x->g.next++;
	r->db = r->x->g.next++;
	r->posted = 0;
	r->created++;
}

static void step(struct rig *r, char c)
{
	if (c == 'w')
		post(r, r->ring, r->db, NUMBER, BYTES, 3);
	else if (c == 't')
		turn(r);
	else if (c == ':')
		r->x->now.ns += 200 * MS;
	else if (c == 'A')
		publish(r);
	else if (c == '-')
		drop(r->x, r->descs - 1);
	else if (c == 'n')
		new_queue(r);
	else if (c == 'z' || c == 'g')
		fill_old(r, c == 'z' ? 0 : 0xff);
	else if (c == 'o')
		another_queue(r);
	else if (c == 'c')
		child_posts(r);
	else if (c == 'b')
		child_errs(r);
	else if (c == '.')
		r->x->now.ns += 9900 * MS;
	if (c == 'M' || c == 'S')
		r->ring = move_page(r, r->ring, &r->old_ring);
	if (c == 'M' || c == 'D')
		r->db = move_page(r, r->db, &r->old_db);
}

static void rig_open(struct rig *r)
{
	void *fixture = NULL;

	assert_int_equal(setup(&fixture), 0);
	*r = (struct rig){ .x = fixture, .created = 555 };
	new_queue(r);
}

static void rig_begin(struct rig *r)
{
	rig_open(r);
	attach(r->x);
	turn(r); /* rings of the first walk are old */
}

static void run_moved_row(void **state)
{
	const struct moved_row *row = *state;
	bool marked = strchr(row->steps, '!');
	struct ring_totals t;
	struct guest_forged f;
	struct rig r;
	void *fixture;

	rig_begin(&r);
	fixture = r.x;
	for (const char *c = row->steps; *c; c++)
		step(&r, *c);
	assert_int_equal(rings(r.x), 1);
	t = totals(r.x);
	assert_int_equal(t.wrs, row->wrs);
	assert_int_equal(!!(t.flags & SAMPLE_UNCHARGED), marked);
	if (!strpbrk(row->steps, "cb"))
		assert_int_equal(t.mtus_sent, row->wrs);
	assert_int_equal(t.lost, 0);
	assert_int_equal(look(r.x)->qps_missed, 0);
	if (!strchr(row->steps, '.')) /* for that long, an honest agent had looked */
		assert_false(guest_forged_next(r.x->mon, &f) || look(r.x)->forged);
	teardown(&fixture);
}
TEST_ROWS(moved_rows, run_moved_row)

/* Another ring waits to be reaped: rings that were withdrawn stay for that long. */
TEST(moved__while_another_waits_to_be_reaped__is_not_read_twice)
{
	struct ring_totals t;
	void *fixture;
	struct rig r;

	rig_begin(&r);
	fixture = r.x;
	step(&r, 'A');
	add(r.x, 100, 16);
	step(&r, 'w');
	step(&r, 't');
	assert_int_equal(rings(r.x), 2);
	drop(r.x, 1);
	settle(r.x);
	assert_true(guest_reap_pending(r.x->mon));
	step(&r, 'M');
	fake_write_begin(&r.x->g);
	fake_ring_at(&r.x->g, 0)->id = 2;
	fake_ring_at(&r.x->g, 0)->db_frame = r.db;
	*fake_frame_at(&r.x->g, fake_ring_at(&r.x->g, 0)->first_frame) = r.ring;
	fake_write_end(&r.x->g);
	settle(r.x);
	assert_int_equal(rings(r.x), 1);
	for (int i = 0; i < 3; i++)
		step(&r, 't');
	assert_int_equal(rings(r.x), 1);
	assert_int_equal(r.x->ring[0].id, 2);
	t = totals(r.x);
	assert_int_equal(t.wrs, 3);
	teardown(&fixture);
}

/* It was there before resexd: what it did before is counted, and not charged. */
TEST(moved__ring_of_the_first_walk_before_it_was_read__is_old)
{
	void *fixture;
	struct rig r;

	rig_open(&r);
	fixture = r.x;
	for (const char *c = "Aw"; *c; c++)
		step(&r, *c);
	attach(r.x);
	settle(r.x);
	assert_int_equal(rings(r.x), 1);
	assert_int_equal(r.x->ring[0].old, 1);
	for (const char *c = "MAt"; *c; c++)
		step(&r, *c);
	assert_int_equal(rings(r.x), 1);
	assert_int_equal(r.x->ring[0].old, 1);
	assert_int_equal(totals(r.x).wrs, 3);
	teardown(&fixture);
}
