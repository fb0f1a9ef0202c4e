// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_queues: a process that shows resex-agent a hostile table of queues, through datagrams and
 * looks. Whatever it writes, what is published is within the guest ABI and within the limits of a
 * process, and nothing stays when the process is gone.
 *
 * Input: steps of a byte op, one argument byte, and for some ops more:
 *	op % 8: 0 look; 1 full look; 2 write a word anywhere in the table; 3 a datagram of the bytes
 *	that follow; 4 an honest entry; 5 generation; 6 what the next read finds changed; 7 frames,
 *	room, absent pages
 */
#include <errno.h>

#include "ibmon/agent/queue_tables.h"
#include "tests/fuzz/fuzz.h"

enum { PID = 5, STEPS = 120, IDS = 4096, TABLE = 0x10000 };

struct world {
	struct queue_tables *t;
	struct queue_table table;
	bool gone, turn;
	uint8_t moved, absent;
	uint32_t room;
	uint32_t open; /* descriptors */
	bool writing;
	uint32_t ids, rings;
	uint64_t pages;
	uint32_t of[IDS]; /* pages of an id; 0: not published */
};

static struct world w; /* the reader has no context */

static int fake_open(pid_t pid, uint64_t addr)
{
	FUZZ_REQUIRE(pid == PID);
	if (addr != TABLE)
		return -ENOENT;
	w.open++;
	return 3;
}

static void fake_close(int fd)
{
	FUZZ_REQUIRE(fd == 3 && w.open > 0);
	w.open--;
}

static bool fake_mapped(pid_t pid, uint64_t addr)
{
	FUZZ_REQUIRE(pid == PID && addr == TABLE);
	return !w.gone;
}

static int fake_read(int fd, void *buf, size_t len)
{
	FUZZ_REQUIRE(fd == 3 && w.open && len <= sizeof(w.table));
	memcpy(buf, &w.table, len);
	w.table.generation += w.turn;
	w.turn = false;
	return 0;
}

/* Addresses must be such that the agent's arithmetic on them is right. */
static int fake_frames(pid_t pid, uint64_t addr, size_t n, uint64_t *frame)
{
	FUZZ_REQUIRE(pid == PID && addr % GUEST_PAGE == 0 && addr < 1ull << 56);
	FUZZ_REQUIRE(n >= 1 && n < GUEST_RING_FRAMES_MAX);
	for (size_t i = 0; i < n; i++)
		frame[i] = addr / GUEST_PAGE + i + 1 + w.moved;
	return w.absent && addr / GUEST_PAGE % w.absent == 0 ? -EFAULT : 0;
}

static int fake_table(pid_t pid, uint64_t *addr)
{
	(void)pid;
	*addr = TABLE;
	return 0;
}

static int fake_each(int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	return fn(ctx, PID);
}

static void fake_comm(pid_t pid, char comm[16])
{
	(void)pid;
	memcpy(comm, "fuzz", 5);
}

static void sink_begin(void *ctx)
{
	(void)ctx;
	FUZZ_REQUIRE(!w.writing);
	w.writing = true;
}

static void sink_end(void *ctx)
{
	(void)ctx;
	FUZZ_REQUIRE(w.writing);
	w.writing = false;
}

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

static void check_ring(const struct guest_ring *g)
{
	uint32_t shift = g->provider == GUEST_PROVIDER_MLX4; /* completions of half the size */
	bool sq_4 = shift && g->kind == GUEST_RING_SQ;

	FUZZ_REQUIRE(g->kind == GUEST_RING_SQ || g->kind == GUEST_RING_CQ);
	FUZZ_REQUIRE(g->provider == GUEST_PROVIDER_MLX5 || g->provider == GUEST_PROVIDER_MLX4);
	FUZZ_REQUIRE(g->pid == PID);
	FUZZ_REQUIRE(g->number && g->number < 1 << 24 && g->qp_type <= GUEST_QP_RAW);
	FUZZ_REQUIRE(power_of_two(g->elem_size));
	FUZZ_REQUIRE(g->elem_size >= (sq_4 ? 64 : 64u >> shift));
	FUZZ_REQUIRE(g->elem_size <= (sq_4 ? GUEST_PAGE : 128u >> shift));
	FUZZ_REQUIRE(power_of_two(g->entries) && g->entries >= 2 && g->entries <= 1 << 20);
	FUZZ_REQUIRE(g->kind == GUEST_RING_CQ || g->entries <= 1 << 15);
	FUZZ_REQUIRE(!g->path_mtu || (power_of_two(g->path_mtu) && g->path_mtu >= 256));
	FUZZ_REQUIRE(g->path_mtu <= 4096 && g->offset < GUEST_PAGE && g->offset % 64 == 0);
	FUZZ_REQUIRE(g->frames >= 1 && g->frames < GUEST_RING_FRAMES_MAX);
	FUZZ_REQUIRE((uint64_t)g->elem_size * g->entries + g->offset <=
		     (uint64_t)g->frames * GUEST_PAGE);
	FUZZ_REQUIRE(g->db_bytes == (sq_4 ? 0 : 8));
	FUZZ_REQUIRE(g->db_offset % 8 == 0 && g->db_offset <= GUEST_PAGE - 8);
	FUZZ_REQUIRE((g->db_frame == 0) == sq_4);
}

static int sink_publish(void *ctx, const struct guest_ring *g, const uint64_t *frame, uint32_t *id)
{
	(void)ctx;
	FUZZ_REQUIRE(w.writing && frame[0] && frame[g->frames - 1]);
	check_ring(g);
	if (w.rings >= w.room)
		return -ENOSPC;
	*id = ++w.ids % IDS;
	if (!*id)
		*id = ++w.ids % IDS;
	FUZZ_REQUIRE(!w.of[*id]);
	w.of[*id] = g->frames;
	w.rings++;
	w.pages += g->frames;
	FUZZ_REQUIRE(w.pages <= QUEUE_TABLE_PAGES_MAX && w.rings <= QUEUE_TABLE_ENTRIES);
	return 0;
}

static void sink_withdraw(void *ctx, uint32_t id)
{
	(void)ctx;
	FUZZ_REQUIRE(w.writing && id < IDS && w.of[id]);
	w.pages -= w.of[id];
	w.of[id] = 0;
	w.rings--;
}

static void sink_note(void *ctx, pid_t pid, uint32_t qpn)
{
	uint32_t mtu, type;

	(void)ctx;
	(void)mtu;
	FUZZ_REQUIRE(queue_tables_rxe(w.t, pid, qpn, &mtu, &type) && type <= GUEST_QP_RAW);
}

static int sink_join(void *ctx, pid_t pid)
{
	(void)ctx;
	return pid == PID ? 0 : -ESRCH;
}

static void honest(uint8_t arg, uint8_t form)
{
	static const uint32_t entries[] = { 2, 64, 4096, 32768 };
	bool cq = form & 1, mlx4 = form & 128;

	w.table.entry[arg % QUEUE_TABLE_ENTRIES] = (struct queue_entry){
		.kind = cq ? GUEST_RING_CQ : GUEST_RING_SQ,
		.provider = form & 64 ? GUEST_PROVIDER_RXE
			    : mlx4    ? GUEST_PROVIDER_MLX4
				      : GUEST_PROVIDER_MLX5,
		.number = 1u + arg,
		.qp_type = cq ? 0 : GUEST_QP_RC,
		.path_mtu = cq ? 0 : 1024,
		.elem_size = mlx4 && !cq ? 256 : 64,
		.entries = entries[form >> 1 & 3] << (form >> 3 & (cq ? 3 : 0)),
		.address = 0x1000000ull * (1u + arg) + 64u * (form >> 5),
		.doorbell = mlx4 && !cq ? 0 : 0x20000000ull + 64u * arg,
		.serial = ++w.ids,
	};
	w.table.generation = (w.table.generation | 1) + 1;
}

static void datagram(struct bytes *in)
{
	uint8_t buf[sizeof(struct agent_queues) + 8];
	size_t len = take8(in) % (sizeof(buf) + 1);

	take(in, buf, len);
	queue_tables_datagram(w.t, PID, buf, len);
}

static void look(bool full)
{
	bool wrote = queue_tables_look(w.t, (struct mono){ 1 }, full);

	FUZZ_REQUIRE(!w.writing);
	FUZZ_REQUIRE(wrote || w.ids || !w.rings);
	FUZZ_REQUIRE(queue_tables_unpublished(w.t) <= UINT16_MAX + QUEUE_TABLE_ENTRIES);
	FUZZ_REQUIRE(queue_tables_count(w.t) <= 1);
}

static void step(struct bytes *in)
{
	uint8_t op = take8(in), arg = take8(in);
	uint64_t v;

	switch (op % 8) {
	case 0:
	case 1:
		look(op % 8);
		break;
	case 2:
		v = take64(in);
		memcpy((uint8_t *)&w.table + (take16(in) % (sizeof(w.table) / 8)) * 8, &v, 8);
		break;
	case 3:
		datagram(in);
		break;
	case 4:
		honest(arg, take8(in));
		break;
	case 5:
		w.table.generation += arg;
		break;
	case 6:
		w.turn = true;
		break;
	default:
		w.moved = arg & 1;
		w.absent = arg >> 1 & 3;
		w.room = arg & 8 ? arg >> 4 : QUEUE_TABLE_ENTRIES;
		queue_tables_room(w.t);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct queue_reader reader = { fake_open,	 fake_read,   fake_close,
						    fake_mapped, fake_frames, fake_table,
						    fake_each,	 fake_comm };
	static const struct queue_sink sink = { sink_begin,    sink_end,  sink_publish,
						sink_withdraw, sink_note, sink_join };
	static const struct log quiet = { .program = "fuzz", .level = LOG_LVL_ERROR - 1, .fd = 2 };
	struct bytes in = { data, size };
	bool left;

	memset(&w, 0, sizeof(w));
	w.room = QUEUE_TABLE_ENTRIES;
	w.table = (struct queue_table){ .magic = QUEUE_TABLE_MAGIC,
					.version = QUEUE_TABLE_VERSION,
					.nonce = 7 };
	if (queue_tables_open(&w.t, &sink, NULL, &reader, &quiet))
		abort();
	if (queue_tables_list(w.t))
		abort();
	queue_tables_find(w.t, 4, &left);
	FUZZ_REQUIRE(!left && queue_tables_count(w.t) == 1);
	for (int i = 0; i < STEPS && in.left; i++)
		step(&in);
	w.gone = true;
	look(false);
	FUZZ_REQUIRE(!w.rings && !w.pages && queue_tables_count(w.t) == 0);
	queue_tables_close(w.t);
	FUZZ_REQUIRE(!w.open);
	return 0;
}
