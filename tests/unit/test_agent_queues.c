// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/queue_entry, queue_tables: tables of queues, also hostile ones, in processes that the test
 * makes up: pid P has its table at TABLE, and frame P * 2^20 + page number at each address.
 */
#include <errno.h>
#include <string.h>

#include "ibmon/agent/queue_tables.h"
#include "tests/unit/prop.h"

enum { PROCESSES = 300, IDS = 4096, MB = 1 << 20, MOVED = 7777 };

#define TABLE 0x7f0000001000ull
#define QUEUE 0x560000000040ull
#define DB    0x560000100008ull

struct process {
	bool lives, cut;  /* cut: its file is shorter */
	bool here_before; /* before the agent */
	struct queue_table table;
};

struct rig {
	struct process p[PROCESSES];
	struct queue_tables *t;
	struct log log;
	/* The sink. */
	struct guest_ring ring[IDS];
	uint64_t frame[IDS]; /* the first */
	uint32_t ids, begins, ends, notes, room;
	int joins, join_rc;
	/* The processes. */
	uint64_t moved;	     /* added to frame numbers */
	uint64_t moved_page; /* MOVED is added to the frame number of this page */
	uint64_t absent;     /* a page that is not there */
	int64_t now;	     /* 0: 555 */
	int turns;	     /* generations that are written while a table is copied */
	int tables_read;
	int open; /* descriptors */
};

static struct rig *rig;

/* Descriptors are process ids. */
static int fake_open(pid_t pid, uint64_t addr)
{
	if (!rig->p[pid].lives || addr != TABLE)
		return -ENOENT;
	rig->open++;
	return pid;
}

static void fake_close(int fd)
{
	assert_in_range(fd, 1, PROCESSES - 1);
	rig->open--;
}

static bool fake_mapped(pid_t pid, uint64_t addr)
{
	return rig->p[pid].lives && addr == TABLE;
}

/* The file of a process that has ended can still be read. */
static int fake_read(int fd, void *buf, size_t len)
{
	struct process *p = &rig->p[fd];

	if (p->cut)
		return -EFAULT;
	assert_true(len <= sizeof(p->table));
	memcpy(buf, &p->table, len);
	if (len == sizeof(p->table)) {
		rig->tables_read++;
		p->table.generation += 2 * (uint32_t)(rig->turns > 0 ? rig->turns-- > 0 : 0);
	}
	return 0;
}

static int fake_frames(pid_t pid, uint64_t addr, size_t n, uint64_t *frame)
{
	for (size_t i = 0; i < n; i++) {
		if (addr / GUEST_PAGE + i == rig->absent)
			return -EFAULT;
		frame[i] = (uint64_t)pid * MB + addr / GUEST_PAGE + i + rig->moved;
		if (addr / GUEST_PAGE + i == rig->moved_page)
			frame[i] += MOVED;
	}
	return 0;
}

static int fake_table(pid_t pid, uint64_t *addr)
{
	*addr = TABLE;
	return rig->p[pid].lives ? 0 : -ENOENT;
}

static int fake_each(int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	int rc = 0;

	for (pid_t pid = 1; !rc && pid < PROCESSES; pid++)
		if (rig->p[pid].here_before)
			rc = fn(ctx, pid);
	return rc;
}

static void fake_comm(pid_t pid, char comm[16])
{
	snprintf(comm, 16, "app%d", (int)pid);
}

static const struct queue_reader reader = { fake_open,	 fake_read,  fake_close, fake_mapped,
					    fake_frames, fake_table, fake_each,	 fake_comm };

static void sink_begin(void *ctx)
{
	(void)ctx;
	assert_int_equal(rig->begins, rig->ends);
	rig->begins++;
}

static void sink_end(void *ctx)
{
	(void)ctx;
	rig->ends++;
	assert_int_equal(rig->begins, rig->ends);
}

static int sink_publish(void *ctx, const struct guest_ring *g, const uint64_t *frame, uint32_t *id)
{
	(void)ctx;
	assert_int_equal(rig->begins, rig->ends + 1);
	if (!rig->room)
		return -ENOSPC;
	rig->room--;
	assert_true(rig->ids + 1 < IDS);
	*id = ++rig->ids;
	rig->ring[*id] = *g;
	rig->ring[*id].id = *id;
	rig->frame[*id] = frame[0];
	return 0;
}

static void sink_withdraw(void *ctx, uint32_t id)
{
	(void)ctx;
	assert_int_equal(rig->begins, rig->ends + 1);
	assert_int_equal(rig->ring[id].id, id);
	rig->ring[id].id = 0;
	rig->room++;
}

static void sink_note(void *ctx, pid_t pid, uint32_t qpn)
{
	(void)ctx;
	(void)pid;
	(void)qpn;
	rig->notes++;
}

static int sink_join(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)pid;
	rig->joins++;
	return rig->join_rc;
}

static const struct queue_sink sink = { sink_begin,    sink_end,  sink_publish,
					sink_withdraw, sink_note, sink_join };

static int setup(void **state)
{
	rig = calloc(1, sizeof(*rig));
	assert_non_null(rig);
	log_init(&rig->log, "test", LOG_LVL_ERROR);
	rig->room = GUEST_RINGS_MAX;
	assert_int_equal(queue_tables_open(&rig->t, &sink, NULL, &reader, &rig->log), 0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	queue_tables_close(rig->t);
	assert_int_equal(rig->open, 0);
	free(rig);
	return 0;
}

/* --- processes -------------------------------------------------------------------------- */

static struct queue_entry a_queue(uint32_t kind, uint32_t number)
{
	return (struct queue_entry){ .kind = kind,
				     .provider = GUEST_PROVIDER_MLX5,
				     .number = number,
				     .qp_type = kind == GUEST_RING_SQ ? GUEST_QP_RC : 0,
				     .path_mtu = kind == GUEST_RING_SQ ? 1024 : 0,
				     .elem_size = 64,
				     .entries = 128,
				     .address = QUEUE + number * (uint64_t)MB * 64,
				     .doorbell = DB,
				     .serial = number };
}

/* Of mlx4: slots of 128 bytes, and no doorbell record; or completions of 32. */
static struct queue_entry a_queue_4(uint32_t kind, uint32_t number)
{
	struct queue_entry e = a_queue(kind, number);

	e.provider = GUEST_PROVIDER_MLX4;
	e.elem_size = kind == GUEST_RING_SQ ? 128 : 32;
	if (kind == GUEST_RING_SQ)
		e.doorbell = 0;
	return e;
}

static void list(pid_t pid, int slot, struct queue_entry e)
{
	rig->p[pid].table.entry[slot] = e;
	rig->p[pid].table.generation += 2;
}

static void begin(pid_t pid)
{
	rig->p[pid] = (struct process){ .lives = true,
					.table = { .magic = QUEUE_TABLE_MAGIC,
						   .version = QUEUE_TABLE_VERSION,
						   .nonce = 77 + (uint64_t)pid } };
}

static int tell_of(pid_t pid, uint64_t address, uint64_t nonce)
{
	const struct agent_queues q = { AGENT_QUEUES_MAGIC, AGENT_QUEUES_VERSION, 0, address,
					nonce };

	return queue_tables_datagram(rig->t, pid, &q, sizeof(q));
}

static int tell(pid_t pid)
{
	return tell_of(pid, TABLE, 77 + (uint64_t)pid);
}

static bool look(bool full)
{
	return queue_tables_look(rig->t, (struct mono){ rig->now ? rig->now : 555 }, full);
}

/* The published ring of a number; NULL: none. */
static const struct guest_ring *ring(uint32_t number)
{
	for (uint32_t i = 1; i <= rig->ids; i++)
		if (rig->ring[i].id && rig->ring[i].number == number)
			return &rig->ring[i];
	return NULL;
}

static uint32_t rings(void)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= rig->ids; i++)
		n += rig->ring[i].id != 0;
	return n;
}

/* A process 5 with a send queue 1, published. */
static void one_published(void)
{
	begin(5);
	list(5, 0, a_queue(GUEST_RING_SQ, 1));
	assert_int_equal(tell(5), 0);
	assert_true(look(false));
	assert_non_null(ring(1));
}

/* --- entries ------------------------------------------------------------------------------ */

static const struct wrong {
	const char *name;
	size_t at; /* of a field of 32 bits, or of 64 if wide */
	bool wide, cq, mlx4;
	uint64_t value;
} wrongs[] = {
#define W32(field, v) offsetof(struct queue_entry, field), false, false, false, v
#define W64(field, v) offsetof(struct queue_entry, field), true, false, false, v
#define C32(field, v) offsetof(struct queue_entry, field), false, true, false, v
#define M32(field, v) offsetof(struct queue_entry, field), false, false, true, v
#define M64(field, v) offsetof(struct queue_entry, field), true, false, true, v
#define N32(field, v) offsetof(struct queue_entry, field), false, true, true, v
	{ "entry__kind_of_none__is_refused", W32(kind, 3) },
	{ "entry__provider_without_layout__is_refused", W32(provider, 4) },
	{ "entry__number_0__is_refused", W32(number, 0) },
	{ "entry__number_of_25_bits__is_refused", W32(number, 1 << 24) },
	{ "entry__unknown_type__is_refused", W32(qp_type, GUEST_QP_RAW + 1) },
	{ "entry__mtu_that_is_none__is_refused", W32(path_mtu, 1000) },
	{ "entry__mtu_too_large__is_refused", W32(path_mtu, 8192) },
	{ "entry__mtu_too_small__is_refused", W32(path_mtu, 128) },
	{ "entry__block_of_128__is_refused", W32(elem_size, 128) },
	{ "entry__one_block__is_refused", W32(entries, 1) },
	{ "entry__blocks_not_a_power__is_refused", W32(entries, 96) },
	{ "entry__blocks_of_17_bits__is_refused", W32(entries, 65536) },
	{ "entry__address_0__is_refused", W64(address, 0) },
	{ "entry__address_odd__is_refused", W64(address, QUEUE + 8) },
	{ "entry__address_too_high__is_refused", W64(address, 1ull << 56) },
	{ "entry__doorbell_0__is_refused", W64(doorbell, 0) },
	{ "entry__doorbell_across_pages__is_refused", W64(doorbell, DB + 4) },
	{ "entry__doorbell_too_high__is_refused", W64(doorbell, UINT64_MAX - 7) },
	{ "entry__completion_of_32__is_refused", C32(elem_size, 32) },
	{ "entry__completion_of_256__is_refused", C32(elem_size, 256) },
	{ "entry__completion_queue_with_mtu__is_refused", C32(path_mtu, 1024) },
	{ "entry__completion_queue_with_type__is_refused", C32(qp_type, GUEST_QP_RC) },
	{ "entry__completion_queue_of_16_mib__is_refused", C32(entries, 1 << 18) },
	{ "entry__completions_of_21_bits__is_refused", C32(entries, 1 << 21) },
	{ "entry__mlx4_slot_of_32__is_refused", M32(elem_size, 32) },
	{ "entry__mlx4_slot_beyond_a_page__is_refused", M32(elem_size, 8192) },
	{ "entry__mlx4_slots_of_17_bits__is_refused", M32(entries, 65536) },
	{ "entry__mlx4_slots_with_a_doorbell_record__is_refused", M64(doorbell, DB) },
	{ "entry__mlx4_completion_of_16__is_refused", N32(elem_size, 16) },
	{ "entry__mlx4_completion_of_128__is_refused", N32(elem_size, 128) },
	{ "entry__mlx4_completions_without_a_doorbell_record__is_refused",
	  offsetof(struct queue_entry, doorbell), true, true, true, 0 },
};

static void wrong_is_refused(void **state)
{
	const struct wrong *w = *state;
	uint32_t kind = w->cq ? GUEST_RING_CQ : GUEST_RING_SQ;
	struct queue_entry e = w->mlx4 ? a_queue_4(kind, 9) : a_queue(kind, 9);
	uint32_t narrow = (uint32_t)w->value;
	struct guest_ring g;
	struct queue_place p;

	assert_int_equal(queue_entry_parse(&e, &g, &p), QUEUE_MEMORY);
	memcpy((uint8_t *)&e + w->at, w->wide ? (const void *)&w->value : &narrow,
	       w->wide ? sizeof(w->value) : sizeof(narrow));
	assert_int_equal(queue_entry_parse(&e, &g, &p), -EBADMSG);
}
TEST_ROWS(wrongs, wrong_is_refused)

TEST(entry__largest_queues__are_accepted)
{
	struct queue_entry sq = a_queue(GUEST_RING_SQ, 0xffffff), cq = a_queue(GUEST_RING_CQ, 1);
	struct guest_ring g;
	struct queue_place p;

	sq.entries = 32768;
	sq.path_mtu = 4096;
	assert_int_equal(queue_entry_parse(&sq, &g, &p), QUEUE_MEMORY);
	assert_int_equal(p.pages, 513);
	cq.elem_size = 128;
	cq.entries = 1 << 16;
	assert_int_equal(queue_entry_parse(&cq, &g, &p), QUEUE_MEMORY);
	assert_int_equal(p.pages, 2049);
}

/* What is accepted is within what the guest ABI allows, and the ring is within its pages. */
TEST(entry__any_bytes__are_in_range_or_refused)
{
	struct prop r;
	int accepted = 0;

	prop_start(&r);
	for (int step = 0; step < 200000; step++) {
		uint32_t kind = 1 + (uint32_t)prop_range(&r, 0, 1);
		struct queue_entry e = step % 2 ? a_queue(kind, 3) : a_queue_4(kind, 3);
		struct guest_ring g = { 0 };
		struct queue_place p = { 0 };
		uint32_t *word = (uint32_t *)&e;

		for (uint64_t k = prop_range(&r, 0, 2); k > 0; k--)
			word[prop_range(&r, 0, 11)] = prop_one_in(&r, 2)
							      ? 1u << prop_range(&r, 0, 31)
							      : (uint32_t)prop_hostile(&r);
		if (queue_entry_parse(&e, &g, &p) != QUEUE_MEMORY)
			continue;
		accepted++;
		prop_assert(&r, step, g.frames == p.pages && g.frames >= 1);
		prop_assert(&r, step, g.frames < GUEST_RING_FRAMES_MAX);
		prop_assert(&r, step, g.offset < GUEST_PAGE && p.page + g.offset == e.address);
		prop_assert(&r, step,
			    (uint64_t)g.elem_size * g.entries + g.offset <=
				    (uint64_t)g.frames * GUEST_PAGE);
		prop_assert(&r, step, g.db_offset <= GUEST_PAGE - 8 && g.db_offset % 8 == 0);
		prop_assert(&r, step, p.db_page % GUEST_PAGE == 0 && p.page % GUEST_PAGE == 0);
		prop_assert(&r, step, g.db_bytes || (p.db_page | g.db_offset) == 0);
	}
	assert_true(accepted > 1000);
}

TEST(datagram__any_other_form__is_refused)
{
	const struct agent_queues good = { AGENT_QUEUES_MAGIC, AGENT_QUEUES_VERSION, 0, TABLE, 1 };
	struct agent_queues q = good, out;

	assert_int_equal(queue_datagram_parse(&q, sizeof(q), &out), 0);
	assert_int_equal(out.address, TABLE);
	assert_int_equal(queue_datagram_parse(&q, sizeof(q) - 1, &out), -EBADMSG);
	assert_int_equal(queue_datagram_parse(&q, 3, &out), -EBADMSG);
	q.version++;
	assert_int_equal(queue_datagram_parse(&q, sizeof(q), &out), -EBADMSG);
	q = good;
	q.magic++;
	assert_int_equal(queue_datagram_parse(&q, sizeof(q), &out), -EBADMSG);
	q = good;
	q.address++;
	assert_int_equal(queue_datagram_parse(&q, sizeof(q), &out), -EBADMSG);
	q.address = 0;
	assert_int_equal(queue_datagram_parse(&q, sizeof(q), &out), -EBADMSG);
	q.address = 1ull << 56;
	assert_int_equal(queue_datagram_parse(&q, sizeof(q), &out), -EBADMSG);
}

/* --- tables ------------------------------------------------------------------------------- */

RIG_TEST(table__queue_listed__is_published_with_its_frames)
{
	const struct guest_ring *g;

	(void)state;
	one_published();
	g = ring(1);
	assert_int_equal(g->kind, GUEST_RING_SQ);
	assert_int_equal(g->provider, GUEST_PROVIDER_MLX5);
	assert_int_equal(g->pid, 5);
	assert_string_equal(g->comm, "app5");
	assert_int_equal(g->elem_size, 64);
	assert_int_equal(g->entries, 128);
	assert_int_equal(g->path_mtu, 1024);
	assert_int_equal(g->qp_type, GUEST_QP_RC);
	assert_int_equal(g->offset, 0x40);
	assert_int_equal(g->frames, 3);
	assert_int_equal(g->db_offset, 8);
	assert_int_equal(g->db_bytes, 8);
	assert_int_equal(g->created, 555);
	assert_int_equal(rig->frame[g->id], 5 * MB + (QUEUE + 64ull * MB) / GUEST_PAGE);
	assert_int_equal(g->db_frame, 5 * MB + DB / GUEST_PAGE);
}

RIG_TEST(table__queues_of_mlx4__the_send_queue_has_no_doorbell_record)
{
	const struct guest_ring *g;

	(void)state;
	begin(5);
	list(5, 0, a_queue_4(GUEST_RING_SQ, 1));
	list(5, 1, a_queue_4(GUEST_RING_CQ, 2));
	assert_int_equal(tell(5), 0);
	assert_true(look(false));
	g = ring(1);
	assert_int_equal(g->provider, GUEST_PROVIDER_MLX4);
	assert_int_equal(g->elem_size, 128);
	assert_int_equal(g->frames, 5);
	assert_int_equal(g->db_frame | g->db_offset | g->db_bytes, 0);
	g = ring(2);
	assert_int_equal(g->elem_size, 32);
	assert_int_equal(g->db_frame, 5 * MB + DB / GUEST_PAGE);
	assert_int_equal(g->db_bytes, 8);
	assert_false(look(true)); /* their frames are the same */
}

RIG_TEST(table__unchanged__is_neither_read_nor_published_again)
{
	(void)state;
	one_published();
	assert_int_equal(tell(5), 0);
	assert_false(look(false));
	assert_false(look(true));
	assert_int_equal(rig->tables_read, 1);
	assert_int_equal(rig->joins, 1);
	assert_int_equal(rig->begins, 1);
}

RIG_TEST(table__queue_gone__is_withdrawn)
{
	(void)state;
	one_published();
	list(5, 1, a_queue(GUEST_RING_CQ, 2));
	list(5, 0, (struct queue_entry){ 0 });
	assert_true(look(false));
	assert_null(ring(1));
	assert_non_null(ring(2));
}

/* Its number and its memory are those of the one before. */
RIG_TEST(table__another_queue_in_its_place__is_another_ring)
{
	struct queue_entry e = a_queue(GUEST_RING_SQ, 1);

	(void)state;
	one_published();
	e.serial = 99;
	list(5, 0, e);
	rig->now = 600;
	assert_true(look(false));
	assert_int_equal(rings(), 1);
	assert_int_equal(ring(1)->id, 2);
	assert_int_equal(ring(1)->created, 600); /* the host may not go on with the one before */
}

RIG_TEST(table__being_written__is_read_later)
{
	(void)state;
	one_published();
	list(5, 0, a_queue(GUEST_RING_SQ, 2));
	rig->p[5].table.generation++;
	assert_false(look(true));
	assert_non_null(ring(1));
	rig->p[5].table.generation++;
	assert_true(look(false));
	assert_non_null(ring(2));
}

RIG_TEST(table__changed_while_it_is_copied__is_read_later)
{
	(void)state;
	one_published();
	list(5, 0, a_queue(GUEST_RING_SQ, 2));
	rig->turns = 1;
	assert_false(look(false));
	assert_non_null(ring(1));
	assert_true(look(false));
	assert_non_null(ring(2));
}

RIG_TEST(table__bad_entry__spoils_only_itself)
{
	struct queue_entry bad = a_queue(GUEST_RING_SQ, 1);

	(void)state;
	begin(5);
	bad.entries = 3;
	list(5, 0, bad);
	list(5, 254, a_queue(GUEST_RING_SQ, 2));
	tell(5);
	look(false);
	assert_int_equal(rings(), 1);
	assert_non_null(ring(2));
	assert_int_equal(queue_tables_unpublished(rig->t), 0);
}

/* Another program has the same process id, and something else at the address. */
static const struct gone {
	const char *name;
	uint64_t nonce;
	uint32_t magic, version;
	bool dead, cut;
} gones[] = {
	{ "table__another_nonce__is_gone", 1, QUEUE_TABLE_MAGIC, QUEUE_TABLE_VERSION, false,
	  false },
	{ "table__no_magic__is_gone", 82, 0, QUEUE_TABLE_VERSION, false, false },
	{ "table__another_version__is_gone", 82, QUEUE_TABLE_MAGIC, 2, false, false },
	{ "table__not_mapped__is_gone", 82, QUEUE_TABLE_MAGIC, QUEUE_TABLE_VERSION, true, false },
	{ "table__cut__is_gone", 82, QUEUE_TABLE_MAGIC, QUEUE_TABLE_VERSION, false, true },
};

static void gone_is_withdrawn(void **state)
{
	const struct gone *g = *state;
	void *unused;

	setup(&unused);
	one_published();
	assert_int_equal(rig->p[5].table.nonce, 82);
	rig->p[5].table.nonce = g->nonce;
	rig->p[5].table.magic = g->magic;
	rig->p[5].table.version = g->version;
	rig->p[5].lives = !g->dead;
	rig->p[5].cut = g->cut;
	assert_true(look(false));
	assert_int_equal(rings(), 0);
	assert_int_equal(queue_tables_count(rig->t), 0);
	teardown(&unused);
}
TEST_ROWS(gones, gone_is_withdrawn)

RIG_TEST(process_exits__its_queues_alone_are_withdrawn)
{
	(void)state;
	one_published();
	begin(6);
	list(6, 0, a_queue(GUEST_RING_SQ, 6));
	tell(6);
	look(false);
	queue_tables_gone(rig->t, 5);
	assert_null(ring(1));
	assert_non_null(ring(6));
	assert_int_equal(rig->begins, rig->ends);
}

RIG_TEST(program_executed__its_new_table_replaces_the_old)
{
	(void)state;
	one_published();
	begin(5);
	rig->p[5].table.nonce = 4711;
	list(5, 0, a_queue(GUEST_RING_SQ, 3));
	assert_int_equal(tell_of(5, TABLE, 4711), 0);
	assert_null(ring(1));
	look(false);
	assert_non_null(ring(3));
	assert_int_equal(queue_tables_count(rig->t), 1);
}

/* The sender may have exited, and its process id may be another's. */
RIG_TEST(datagram__of_no_table__leaves_nothing)
{
	(void)state;
	one_published();
	begin(6);
	assert_int_equal(tell_of(6, TABLE, 1), -ESTALE);
	assert_int_equal(tell_of(6, TABLE + GUEST_PAGE, 83), -ENOENT);
	assert_int_equal(tell(7), -ENOENT);
	assert_int_equal(tell(0), -EBADMSG);
	rig->join_rc = -ESRCH;
	assert_int_equal(tell(6), -ESRCH);
	assert_int_equal(queue_tables_count(rig->t), 1);
	assert_int_equal(rig->joins, 2);
	assert_non_null(ring(1));
}

RIG_TEST(frames_changed__published_anew_by_a_full_look)
{
	(void)state;
	one_published();
	rig->moved = 1000;
	rig->now = 600;
	assert_false(look(false));
	assert_true(look(true));
	assert_int_equal(rings(), 1);
	assert_int_equal(ring(1)->id, 2);
	assert_int_equal(rig->frame[2], 5 * MB + (QUEUE + 64ull * MB) / GUEST_PAGE + 1000);
	assert_int_equal(ring(1)->created, 555); /* the host knows by it that it is the same */
	assert_int_equal(rig->begins, 2);	 /* it sees both changes at once */
	assert_false(look(true));
}

/*
 * A child has no table: the queue is the parent's, wherever its pages are. Those to which the
 * parent has written, of several, are others.
 */
RIG_TEST(page_shared_after_fork__the_queue_stays_the_parents)
{
	const uint64_t page[] = { (QUEUE + 64ull * MB) / GUEST_PAGE + 2, DB / GUEST_PAGE };

	(void)state;
	one_published();
	begin(6);
	for (uint32_t i = 0; i < 2; i++) {
		rig->moved_page = page[i];
		assert_true(look(true));
		assert_int_equal(rings(), 1);
		assert_int_equal(ring(1)->id, 2 + i);
		assert_int_equal(ring(1)->pid, 5);
	}
	assert_int_equal(ring(1)->db_frame, 5 * MB + DB / GUEST_PAGE + MOVED);
}

RIG_TEST(page_absent__published_when_it_is_there)
{
	(void)state;
	begin(5);
	list(5, 0, a_queue(GUEST_RING_SQ, 1));
	rig->absent = DB / GUEST_PAGE;
	tell(5);
	assert_false(look(false));
	assert_int_equal(queue_tables_unpublished(rig->t), 1);
	rig->absent = 0;
	assert_false(look(false));
	assert_true(look(true));
	assert_int_equal(queue_tables_unpublished(rig->t), 0);
	rig->absent = DB / GUEST_PAGE; /* it was freed */
	assert_true(look(true));
	assert_null(ring(1));
	assert_int_equal(queue_tables_unpublished(rig->t), 1);
	rig->absent = 0;
	rig->now = 600;
	assert_true(look(true));
	assert_int_equal(ring(1)->created, 555);
}

/* Each begin makes the host read the registry again. */
RIG_TEST(no_room__is_counted_and_tried_when_there_is_room)
{
	(void)state;
	rig->room = 1;
	begin(5);
	list(5, 0, a_queue(GUEST_RING_CQ, 1));
	list(5, 1, a_queue(GUEST_RING_SQ, 2));
	list(5, 2, a_queue(GUEST_RING_SQ, 3));
	rig->p[5].table.unlisted = 4;
	tell(5);
	look(false);
	assert_non_null(ring(2)); /* send queues first */
	assert_int_equal(queue_tables_unpublished(rig->t), 5);
	assert_false(look(true));
	assert_false(look(true));
	assert_int_equal(rig->begins, 1);
	rig->room = 1;
	queue_tables_room(rig->t);
	assert_true(look(true));
	assert_non_null(ring(3));
	assert_int_equal(queue_tables_unpublished(rig->t), 4);
}

RIG_TEST(unlisted__beyond_what_can_be__is_bounded)
{
	(void)state;
	one_published();
	rig->p[5].table.unlisted = UINT32_MAX;
	rig->p[5].table.generation += 2;
	look(false);
	assert_int_equal(queue_tables_unpublished(rig->t), UINT16_MAX);
}

RIG_TEST(pages__of_one_process__are_bounded)
{
	(void)state;
	begin(5);
	for (uint32_t i = 0; i < 5; i++) {
		struct queue_entry e = a_queue(GUEST_RING_CQ, 1 + i);

		e.entries = 1 << 17; /* 8 MiB, and a page for its offset */
		list(5, (int)i, e);
	}
	list(5, 9, a_queue(GUEST_RING_SQ, 9));
	tell(5);
	look(false);
	assert_int_equal(rings(), 4);
	assert_non_null(ring(9));
	assert_non_null(ring(3));
	list(5, 0, (struct queue_entry){ 0 });
	look(false);
	assert_int_equal(rings(), 4);
	assert_non_null(ring(4));
}

RIG_TEST(tables__of_too_many_processes__are_refused)
{
	(void)state;
	for (pid_t pid = 1; pid <= QUEUE_TABLES_MAX; pid++) {
		begin(pid);
		assert_int_equal(tell(pid), 0);
	}
	begin(QUEUE_TABLES_MAX + 1);
	assert_int_equal(tell(QUEUE_TABLES_MAX + 1), -ENOSPC);
	queue_tables_gone(rig->t, 1);
	assert_int_equal(tell(QUEUE_TABLES_MAX + 1), 0);
}

RIG_TEST(rxe__queue_pair_is_noted_and_not_published)
{
	struct queue_entry e = { .kind = GUEST_RING_SQ,
				 .provider = GUEST_PROVIDER_RXE,
				 .number = 17,
				 .qp_type = GUEST_QP_UC,
				 .path_mtu = 2048 };
	uint32_t mtu = 0, type = 0;

	(void)state;
	begin(5);
	list(5, 0, e);
	e = (struct queue_entry){ .kind = GUEST_RING_CQ,
				  .provider = GUEST_PROVIDER_RXE,
				  .number = 18 };
	list(5, 1, e);
	tell(5);
	assert_false(look(false));
	assert_int_equal(rig->notes, 1);
	assert_false(queue_tables_rxe(rig->t, 5, 18, &mtu, &type));
	assert_false(queue_tables_rxe(rig->t, 6, 17, &mtu, &type));
	assert_true(queue_tables_rxe(rig->t, 5, 17, &mtu, &type));
	assert_int_equal(mtu, 2048);
	assert_int_equal(type, GUEST_QP_UC);
}

RIG_TEST(tables_from_before_the_agent__are_found_in_portions)
{
	bool left;

	(void)state;
	for (pid_t pid = 1; pid <= 100; pid++) {
		begin(pid);
		rig->p[pid].here_before = true;
		rig->p[pid].lives = pid % 2;
	}
	assert_int_equal(tell(99), 0);
	assert_int_equal(queue_tables_list(rig->t), 0);
	assert_int_equal(queue_tables_find(rig->t, 10, &left), 4);
	assert_true(left);
	while (left)
		queue_tables_find(rig->t, 10, &left);
	assert_int_equal(queue_tables_count(rig->t), 50);
	assert_int_equal(rig->joins, 50);
}
