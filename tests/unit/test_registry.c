// SPDX-License-Identifier: GPL-2.0-or-later
/* registry: what an agent, honest or not, may publish. */
#include "tests/unit/prop.h"

#include <errno.h>
#include <string.h>

#include "tests/fakes/fake_guest.h"
#include "tests/unit/unit.h"

static const struct registry_limits limits = { .rings = GUEST_RINGS_MAX, .pages = 65536 };

struct fixture {
	struct fake_guest g;
	struct registry out;
	uint32_t gets;
	uint64_t tear_at; /* when this page is asked for, the agent writes meanwhile */
};

static int get_page(void *ctx, const struct guest_ref *ref, const volatile void **page)
{
	struct fixture *f = ctx;

	f->gets++;
	if (ref->type != GUEST_REF_FRAME || ref->ref == 0 || ref->ref >= FAKE_FRAMES)
		return -EINVAL;
	if (ref->ref == f->tear_at) {
		fake_write_begin(&f->g);
		fake_write_end(&f->g);
	}
	*page = fake_page(&f->g, ref->ref);
	return 0;
}

static int walk(struct fixture *f)
{
	f->gets = 0;
	memset(&f->out, 0xee, sizeof(f->out));
	return registry_walk(fake_registry(&f->g), &limits, get_page, f, &f->out);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	fake_guest_open(&f->g);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fake_guest_close(&f->g);
	free(f);
	return 0;
}

/* --- the node in xenstore --- */

TEST(node__both_forms__are_read)
{
	struct guest_ref ref;

	assert_int_equal(registry_node_parse("2 grant 8", &ref), 0);
	assert_int_equal(ref.type, GUEST_REF_GRANT);
	assert_int_equal(ref.ref, 8);
	assert_int_equal(registry_node_parse("2 frame 123456789012", &ref), 0);
	assert_int_equal(ref.type, GUEST_REF_FRAME);
	assert_true(ref.ref == 123456789012u);
}

TEST(node__not_of_the_form__is_refused)
{
	static const char *const rows[] = {
		"",
		"2",
		"2 ",
		"2 grant",
		"2 grant ",
		"2 grant x",
		"2 grant 8x",
		"2 grant 8 9",
		"2 page 8",
		"grant 8",
		"x grant 8",
		"2 grant -8",
		"2 grant 0x8",
		"2 frame 99999999999999999999",
		"2 grant 4294967296",
		"2grant 8",
		"2 frame8",
		"2 GRANT 8",
		"-2 grant 8",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct guest_ref ref = { .type = 77, .ref = 78 };
		int ret = registry_node_parse(rows[i], &ref);

		if (ret != -EBADMSG)
			print_error("accepted or wrongly refused: \"%s\"\n", rows[i]);
		assert_int_equal(ret, -EBADMSG);
		assert_int_equal(ref.type, 77); /* written only on success */
		assert_int_equal(ref.ref, 78);
	}
}

TEST(node__version_of_another_time__is_refused)
{
	struct guest_ref ref;

	assert_int_equal(registry_node_parse("1 grant 8", &ref), -EPROTONOSUPPORT);
}

TEST(node__any_bytes__never_pass_unless_of_the_form)
{
	static const char letters[] = "01289 grantfme-+x\t\n";
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 100000; i++) {
		char s[GUEST_ABI_NODE_MAX];
		size_t n = prop_range(&p, 0, sizeof(s) - 1);
		struct guest_ref ref;

		for (size_t k = 0; k < n; k++)
			s[k] = letters[prop_range(&p, 0, sizeof(letters) - 2)];
		s[n] = '\0';
		if (registry_node_parse(s, &ref) == 0)
			prop_assert(&p, i,
				    !strncmp(s, "2 grant ", 8) || !strncmp(s, "2 frame ", 8));
	}
}

/* --- walking --- */

RIG_TEST(walk__empty_registry__has_no_rings)
{
	struct fixture *f = *state;

	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 0);
	assert_int_equal(f->out.faults, 0);
	assert_int_equal(f->out.frames, 0);
	assert_int_equal(f->out.generation, 2);
	assert_int_equal(f->out.agent_pid, 100);
	assert_int_equal(f->out.heartbeat, 1);
}

RIG_TEST(walk__valid_descriptors__are_copied_in_full)
{
	struct fixture *f = *state;
	struct ring_desc d;

	fake_add_sq(&f->g, 5, 16);
	fake_add_sq(&f->g, 9, 64);
	fake_ring_at(&f->g, 1)->kind = GUEST_RING_CQ;
	fake_ring_at(&f->g, 1)->elem_size = 128;
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 2);
	d = f->out.ring[0];
	assert_int_equal(d.id, 5);
	assert_int_equal(d.kind, RING_SQ);
	assert_int_equal(d.provider, GUEST_PROVIDER_RXE);
	assert_int_equal(d.number, 21);
	assert_int_equal(d.pid, 4711);
	assert_int_equal(d.elem_size, 256);
	assert_int_equal(d.entries, 16);
	assert_int_equal(d.path_mtu, 1024);
	assert_int_equal(d.frames, 2);
	assert_string_equal(d.comm, "fake");
	assert_int_equal(f->out.frame[d.first_frame], FAKE_FRAME_RINGS);
	assert_int_equal(f->out.frame[d.first_frame + 1], FAKE_FRAME_RINGS + 1);
	d = f->out.ring[1];
	assert_int_equal(d.id, 9);
	assert_int_equal(d.kind, RING_CQ);
	assert_int_equal(d.elem_size, 128);
	assert_int_equal(f->out.frame[d.first_frame], FAKE_FRAME_RINGS + 2);
}

RIG_TEST(walk__as_many_rings_as_the_abi_allows__takes_all)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < GUEST_RINGS_MAX; i++)
		fake_add_sq(&f->g, i + 1, 2);
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, GUEST_RINGS_MAX);
	assert_int_equal(f->out.faults, 0);
	assert_int_equal(f->out.ring[GUEST_RINGS_MAX - 1].id, GUEST_RINGS_MAX);
}

RIG_TEST(walk__more_rings_than_the_limit__refuses_the_rest)
{
	struct fixture *f = *state;
	struct registry_limits two = { .rings = 2, .pages = 65536 };

	for (uint32_t i = 0; i < 5; i++)
		fake_add_sq(&f->g, i + 1, 2);
	assert_int_equal(registry_walk(fake_registry(&f->g), &two, get_page, f, &f->out), 0);
	assert_int_equal(f->out.rings, 2);
	assert_int_equal(f->out.faults, 3);
	assert_int_equal(f->out.fault[0].id, 3);
	assert_int_equal(f->out.fault[0].fault, RING_FAULT_LIMIT);
}

RIG_TEST(walk__more_frames_than_the_limit__refuses_the_ring)
{
	struct fixture *f = *state;
	struct registry_limits three = { .rings = 8, .pages = 3 };

	fake_add_sq(&f->g, 1, 8);  /* 1 page */
	fake_add_sq(&f->g, 2, 64); /* 5 pages: too many */
	fake_add_sq(&f->g, 3, 16); /* 2 pages: fits */
	assert_int_equal(registry_walk(fake_registry(&f->g), &three, get_page, f, &f->out), 0);
	assert_int_equal(f->out.faults, 1);
	assert_int_equal(f->out.fault[0].id, 2);
	assert_int_equal(f->out.fault[0].fault, RING_FAULT_LIMIT);
	assert_int_equal(f->out.rings, 2);
	assert_int_equal(f->out.ring[1].id, 3);
}

/* The frame of a doorbell record is mapped, too. */
RIG_TEST(walk__doorbell_record__counts_as_a_frame)
{
	struct fixture *f = *state;
	struct registry_limits limit = { .rings = 8, .pages = 2 };
	struct guest_ring *d;

	fake_add_sq(&f->g, 1, 8); /* 1 page */
	d = fake_ring_at(&f->g, 0);
	d->provider = GUEST_PROVIDER_MLX5;
	d->qp_type = GUEST_QP_UD;
	assert_int_equal(registry_walk(fake_registry(&f->g), &limit, get_page, f, &f->out), 0);
	assert_int_equal(f->out.rings, 1);
	assert_int_equal(f->out.ring[0].qp_type, GUEST_QP_UD);
	fake_add_sq(&f->g, 2, 8);
	limit.pages = 2;
	assert_int_equal(registry_walk(fake_registry(&f->g), &limit, get_page, f, &f->out), 0);
	assert_int_equal(f->out.rings, 1);
	assert_int_equal(f->out.fault[0].fault, RING_FAULT_LIMIT);
}

RIG_TEST(walk__duplicate_ids__takes_the_first)
{
	struct fixture *f = *state;

	fake_add_sq(&f->g, 5, 16);
	fake_add_sq(&f->g, 6, 2);
	fake_add_sq(&f->g, 5, 64);
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 2);
	assert_int_equal(f->out.ring[0].entries, 16);
	assert_int_equal(f->out.ring[1].id, 6);
	assert_int_equal(f->out.faults, 1);
	assert_int_equal(f->out.fault[0].id, 5);
	assert_int_equal(f->out.fault[0].fault, RING_FAULT_DESC);
}

RIG_TEST(walk__free_descriptors__are_passed_over)
{
	struct fixture *f = *state;

	fake_add_sq(&f->g, 1, 2);
	fake_add_sq(&f->g, 2, 2);
	fake_ring_at(&f->g, 0)->kind = GUEST_RING_FREE;
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 1);
	assert_int_equal(f->out.ring[0].id, 2);
	assert_int_equal(f->out.faults, 0);
}

RIG_TEST(walk__generation_odd__is_try_again)
{
	struct fixture *f = *state;

	fake_write_begin(&f->g);
	assert_int_equal(walk(f), -EAGAIN);
	fake_write_end(&f->g);
	assert_int_equal(walk(f), 0);
}

RIG_TEST(walk__written_while_it_is_read__is_try_again)
{
	struct fixture *f = *state;

	fake_add_sq(&f->g, 1, 2);
	f->tear_at = FAKE_FRAME_DIRECTORY;
	assert_int_equal(walk(f), -EAGAIN);
	f->tear_at = FAKE_FRAME_LIST;
	assert_int_equal(walk(f), -EAGAIN);
	f->tear_at = 0;
	assert_int_equal(walk(f), 0);
}

RIG_TEST(walk__directory_with_too_many_rings__reads_no_more_than_it_holds)
{
	struct fixture *f = *state;
	struct guest_directory *d = fake_page(&f->g, FAKE_FRAME_DIRECTORY);

	fake_add_sq(&f->g, 1, 2);
	d->rings = UINT32_MAX;
	walk(f); /* refused or cut: either way nothing beyond the page is read */
	d->rings = 1;
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 1);
}

RIG_TEST(walk__directory_without_magic__gives_no_rings)
{
	struct fixture *f = *state;
	struct guest_directory *d = fake_page(&f->g, FAKE_FRAME_DIRECTORY);

	fake_add_sq(&f->g, 1, 2);
	d->magic = 0;
	if (walk(f) == 0)
		assert_int_equal(f->out.rings, 0);
}

RIG_TEST(walk__page_that_cannot_be_had__gives_no_rings_from_it)
{
	struct fixture *f = *state;
	struct guest_registry *r = fake_registry(&f->g);

	fake_add_sq(&f->g, 1, 2);
	r->directory[0].ref = UINT64_MAX;
	if (walk(f) == 0)
		assert_int_equal(f->out.rings, 0);
	r->directory[0].ref = FAKE_FRAME_DIRECTORY;
	r->frame_page[0].type = GUEST_REF_NONE;
	if (walk(f) == 0)
		assert_int_equal(f->out.rings, 0);
}

/* --- one field out of its range --- */

/* A field of a structure that the agent writes, and what is written over it. */
struct field {
	size_t at, size;
	uint32_t value;
};

#define FIELD(type, name, value)                                                                   \
	{                                                                                          \
		offsetof(type, name), sizeof(((type *)0)->name), value                             \
	}

static void write_field(void *in, struct field f)
{
	uint16_t half = (uint16_t)f.value;

	assert_true(f.size == sizeof(half) || f.size == sizeof(f.value));
	memcpy((char *)in + f.at, f.size == sizeof(half) ? (void *)&half : (void *)&f.value,
	       f.size);
}

static const struct registry_row {
	const char *name;
	int rc;
	struct field f;
} registry_rows[] = {
#define ROW(field, value, rc)                                                                      \
	{                                                                                          \
		"registry of which " #field " is " #value ": " #rc, rc,                            \
			FIELD(struct guest_registry, field, value)                                 \
	}
	ROW(magic, GUEST_REGISTRY_MAGIC ^ 1, -EBADMSG),
	ROW(version, GUEST_ABI_VERSION + 1, -EPROTONOSUPPORT),
	ROW(directories, GUEST_DIRECTORIES_MAX + 1, -EBADMSG),
	ROW(frame_pages, GUEST_FRAME_PAGES_MAX + 1, -EBADMSG),
	ROW(latencies, UINT32_MAX, -EBADMSG),
	ROW(frames, GUEST_FRAMES_PER_PAGE + 1, -EBADMSG), /* more than one page holds */
#undef ROW
};

/* It is not a registry until the field is right again. */
static void run_registry_row(void **state)
{
	const struct registry_row *row = *state;
	struct guest_registry *r, good;
	struct fixture *f;

	assert_int_equal(setup(state), 0);
	f = *state;
	fake_add_sq(&f->g, 1, 2);
	r = fake_registry(&f->g);
	good = *r;
	write_field(r, row->f);
	assert_int_equal(walk(f), row->rc);
	*r = good;
	assert_int_equal(walk(f), 0);
	teardown(state);
}
TEST_ROWS(registry_rows, run_registry_row)

static const struct ring_row {
	const char *name;
	struct field f;
} ring_rows[] = {
#define ROW(field, value)                                                                          \
	{                                                                                          \
		"ring of which " #field " is " #value ": a fault, and no more",                    \
			FIELD(struct guest_ring, field, value)                                     \
	}
	ROW(id, 0),
	ROW(kind, 3),
	ROW(kind, UINT16_MAX),
	ROW(elem_size, 63),
	ROW(elem_size, 16),
	ROW(elem_size, 8192),
	ROW(elem_size, 0),
	ROW(entries, 0),
	ROW(entries, 1),
	ROW(entries, 17),
	ROW(entries, 1u << 21),
	ROW(offset, 4096),
	ROW(offset, UINT32_MAX),
	ROW(frames, 0),
	ROW(frames, GUEST_RING_FRAMES_MAX + 1),
	ROW(frames, 5),	     /* there are 4 */
	ROW(first_frame, 4), /* the last one is 3 */
	ROW(first_frame, UINT32_MAX),
	ROW(path_mtu, 100),
#undef ROW
};

/* The ring is not taken, and the next one is. */
static void run_ring_row(void **state)
{
	const struct ring_row *row = *state;
	struct fixture *f;
	struct guest_ring *d;

	assert_int_equal(setup(state), 0);
	f = *state;
	fake_add_sq(&f->g, 1, 16);
	fake_add_sq(&f->g, 2, 16);
	d = fake_ring_at(&f->g, 0);
	write_field(d, row->f);
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 1);
	assert_int_equal(f->out.ring[0].id, 2);
	assert_int_equal(f->out.faults, 1);
	assert_int_equal(f->out.fault[0].id, d->id);
	assert_int_equal(f->out.fault[0].fault, RING_FAULT_DESC);
	teardown(state);
}
TEST_ROWS(ring_rows, run_ring_row)

RIG_TEST(walk__first_frame_plus_frames_wraps__is_a_fault)
{
	struct fixture *f = *state;

	fake_add_sq(&f->g, 1, 16);
	fake_ring_at(&f->g, 0)->first_frame = UINT32_MAX - 1;
	fake_ring_at(&f->g, 0)->frames = 4;
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.rings, 0);
	assert_int_equal(f->out.fault[0].fault, RING_FAULT_DESC);
}

RIG_TEST(walk__name_with_control_characters__becomes_printable)
{
	struct fixture *f = *state;
	const char *comm = f->out.ring[0].comm;

	fake_add_sq(&f->g, 1, 2);
	memcpy(fake_ring_at(&f->g, 0)->comm, "\x1b[2Ja\n\xff\x80 zzzzzzzz", 16);
	assert_int_equal(walk(f), 0);
	assert_true(memchr(comm, '\0', 16) != NULL);
	for (const char *c = comm; *c; c++)
		assert_in_range(*c, 0x20, 0x7e);
}

RIG_TEST(walk__latency_pages__are_handed_on)
{
	struct fixture *f = *state;
	struct guest_registry *r = fake_registry(&f->g);

	r->latency[0] = (struct guest_ref){ GUEST_REF_FRAME, 0, FAKE_FRAME_LATENCY };
	r->latency[1] = (struct guest_ref){ GUEST_REF_GRANT, 0, 12 };
	r->latencies = 2;
	assert_int_equal(walk(f), 0);
	assert_int_equal(f->out.latencies, 2);
	assert_int_equal(f->out.latency[1].type, GUEST_REF_GRANT);
	assert_int_equal(f->out.latency[1].ref, 12);
}

RIG_TEST(changed__generation_and_heartbeat__are_seen_alone)
{
	struct fixture *f = *state;
	struct guest_registry *r = fake_registry(&f->g);

	assert_false(registry_changed(r, 2));
	r->heartbeat = 77;
	assert_false(registry_changed(r, 2));
	assert_int_equal(registry_heartbeat(r), 77);
	fake_write_begin(&f->g);
	assert_true(registry_changed(r, 2));
}

RIG_TEST(qps__of_a_page_that_holds_no_registry__are_refused)
{
	struct fixture *f = *state;
	struct guest_registry *r = fake_registry(&f->g);
	struct registry_qps qps = { .unseen = 1 };

	r->qps_unseen = 1ull << 40;
	r->qps_unpublished = 22;
	r->magic++;
	assert_int_equal(registry_qps(r, &qps), -EBADMSG);
	assert_int_equal(qps.unseen, 1);
	r->magic--;
	assert_int_equal(registry_qps(r, &qps), 0);
	assert_int_equal(qps.unseen, 1ull << 40);
	assert_int_equal(qps.unpublished, 22);
}

static void check_taken(struct prop *p, int i, const struct registry *r)
{
	uint64_t pages = 0;

	prop_assert(p, i, r->rings <= GUEST_RINGS_MAX && r->faults <= GUEST_RINGS_MAX);
	prop_assert(p, i, r->latencies <= GUEST_LATENCIES_MAX);
	prop_assert(p, i, r->frames <= GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE);
	for (uint32_t k = 0; k < r->rings; k++) {
		const struct ring_desc *d = &r->ring[k];

		prop_assert(p, i, d->id > 0);
		prop_assert(p, i, d->kind == RING_SQ || d->kind == RING_CQ);
		prop_assert(p, i, d->elem_size >= 32 && d->elem_size <= 4096);
		prop_assert(p, i, (d->elem_size & (d->elem_size - 1)) == 0);
		prop_assert(p, i, d->entries >= 2 && d->entries <= 1u << 20);
		prop_assert(p, i, (d->entries & (d->entries - 1)) == 0);
		prop_assert(p, i, d->offset < 4096);
		prop_assert(p, i, d->frames >= 1 && d->frames <= GUEST_RING_FRAMES_MAX);
		prop_assert(p, i, d->first_frame <= r->frames);
		prop_assert(p, i, d->frames <= r->frames - d->first_frame);
		pages += d->frames;
		for (uint32_t j = 0; j < k; j++)
			prop_assert(p, i, r->ring[j].id != d->id);
	}
	prop_assert(p, i, pages <= limits.pages);
}

/* Random words written anywhere in the agent's pages: what is taken is always in its ranges. */
RIG_TEST(walk__pages_rewritten_at_random__takes_only_what_is_valid)
{
	struct fixture *f = *state;
	struct guest_registry good;
	struct prop p;
	uint32_t taken = 0;

	prop_start(&p);
	for (uint32_t i = 0; i < 40; i++)
		fake_add_sq(&f->g, i + 1, 2u << prop_range(&p, 0, 6));
	good = *fake_registry(&f->g);
	for (int i = 0; i < 20000; i++) {
		uint64_t frame = prop_one_in(&p, 4) ? FAKE_FRAME_REGISTRY
						    : prop_range(&p, FAKE_FRAME_DIRECTORY,
								 FAKE_FRAME_DIRECTORY + 1);
		uint32_t *w = (uint32_t *)fake_page(&f->g, frame) + prop_range(&p, 0, 1023);
		uint32_t old = *w;

		*w = (uint32_t)prop_hostile(&p);
		if (walk(f) == 0) {
			taken++;
			check_taken(&p, i, &f->out);
		}
		if (!prop_one_in(&p, 50))
			*w = old;
		if (prop_one_in(&p, 500)) /* heal what makes it no registry at all */
			*fake_registry(&f->g) = good;
	}
	assert_true(taken > 100); /* the test is about registries that are taken */
}
