// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/track: rings of processes, published and withdrawn. The processes, what they map, the
 * device and the kinds of rings are fakes; rings with elements of 128 bytes are completion queues.
 */
#include <errno.h>
#include <string.h>

#include "ibmon/agent/proc.h"
#include "ibmon/agent/track.h"
#include "ibmon/agent/track_priv.h"
#include "tests/unit/unit.h"

enum { PROCESSES = 2, RINGS = 64, PARENT = 0, CHILD = 1, NO_PID = 1 << 22, RING_BYTES = 8192 };

/* No process of the machine has such a number, so that its statm cannot be read. */
static pid_t pid_of(int process)
{
	return NO_PID + 1 + process;
}

/* Which rings each process maps; rings of an odd number are completion queues. */
struct world {
	uint64_t maps[PROCESSES];
	bool runs[PROCESSES];
	struct track *track;
	uint64_t published; /* ids */
	uint32_t room, ids, withdrawn, told;
	enum ring_class newest; /* kind of the ring that was published last */
	int waves;		/* begin() without end() */
	struct mono now;
	bool blank;		 /* no entry shows the kind of a ring */
	uint32_t qpn[8], qps;	 /* what the kernel lists */
	void (*meanwhile)(void); /* while the kernel lists its objects */
	int crowd;		 /* other processes, */
	uint32_t files;		 /* with so many open files each */
	uint32_t looks;
};

static struct world world; /* the fakes of proc.h have no context */

static int process_of(pid_t pid)
{
	int p = pid - NO_PID - 1;

	return p >= 0 && p < PROCESSES && world.runs[p] ? p : -1;
}

/* --- fakes of proc.h, pagemap.h, devices.h, nldev.h, classify.h ------------------- */

int proc_rings(pid_t pid, struct maps_ring *out, size_t max)
{
	int p = process_of(pid), n = 0;

	if (p < 0)
		return -ESRCH;
	for (uint64_t k = 0; k < RINGS && (size_t)n < max; k++)
		if (world.maps[p] >> k & 1)
			out[n++] = (struct maps_ring){ .start = (k + 1) << 20,
						       .end = ((k + 1) << 20) + RING_BYTES,
						       .pgoff = (k + 1) << 12 };
	return n;
}

static uint64_t ring_at(uint64_t addr)
{
	return (addr >> 20) - 1;
}

int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	uint32_t cq = ring_at(addr) & 1, header[2] = { cq ? 7 : 8, cq ? 31 : 15 };

	memset(buf, 0, len);
	if ((addr & 0xfffff) == 0 && len == sizeof(header))
		memcpy(buf, header, len);
	else
		memset(buf, 1, len);
	return process_of(pid) < 0 ? -ESRCH : 0;
}

void pagemap_init(struct pagemap *p, int fd)
{
	p->fd = fd;
}

int pagemap_frames(struct pagemap *p, uint64_t addr, size_t n, uint64_t *frame)
{
	(void)p;
	for (size_t i = 0; i < n; i++)
		frame[i] = 1000 * (ring_at(addr) + 1) + i;
	return 0;
}

int proc_mapped_device(pid_t pid, const struct maps_ring *m, dev_t *dev)
{
	(void)pid;
	(void)m;
	*dev = 1;
	return 0;
}

void proc_comm(pid_t pid, char comm[16])
{
	(void)pid;
	strcpy(comm, "app");
}

bool proc_one_thread(pid_t pid)
{
	return pid != 0;
}

pid_t proc_tgid(pid_t tid)
{
	return tid;
}

bool proc_has_uverbs(pid_t pid, uint32_t *files)
{
	*files += world.files;
	world.looks++;
	return process_of(pid) >= 0;
}

int proc_each(int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	int rc = 0;

	for (int p = 1; p <= world.crowd && !rc; p++)
		rc = fn(ctx, p);
	for (int p = 0; p < PROCESSES && !rc; p++)
		if (world.runs[p])
			rc = fn(ctx, pid_of(p));
	return rc;
}

static const struct device rxe = { .dev = 1, .index = 1, .rxe = true, .known = true };

void devices_init(struct devices *d, const char *sysfs, const struct log *log)
{
	memset(d, 0, sizeof(*d));
	d->sysfs = sysfs;
	d->log = log;
	d->dev[d->n++] = rxe;
}

void devices_close(struct devices *d)
{
	d->n = 0;
}

const struct device *devices_find(struct devices *d, uint32_t uverbs)
{
	return uverbs ? NULL : &d->dev[0];
}

uint32_t devices_look(struct devices *d)
{
	return d->n;
}

void devices_forget(struct devices *d)
{
	(void)d;
}

int nldev_objects(struct nldev *nl, uint32_t index, struct nldev_list *l)
{
	if (world.meanwhile)
		world.meanwhile();
	return nldev_qps(nl, index, l);
}

int nldev_qps(struct nldev *nl, uint32_t index, struct nldev_list *l)
{
	(void)nl;
	(void)index;
	l->qps = l->cqs = l->srqs = l->kernel_qps = 0;
	while (l->qps < world.qps) {
		l->qp[l->qps] = (struct nldev_qp){ .qpn = world.qpn[l->qps] };
		l->qps++;
	}
	return 0;
}

int nldev_contexts(struct nldev *nl, uint32_t index, struct nldev_list *l)
{
	(void)nl;
	(void)index;
	(void)l;
	return -EOPNOTSUPP;
}

bool classify_header(uint32_t log2_elem, uint32_t index_mask, uint64_t bytes)
{
	return log2_elem && index_mask && bytes;
}

enum ring_class classify_entry(const uint8_t *entry, uint32_t elem)
{
	return entry[0] && !world.blank ? elem == 128 ? CLASS_CQ : CLASS_SQ : CLASS_UNKNOWN;
}

size_t classify(struct class_ring *ring, size_t n, const struct class_objects *obj)
{
	if (!n || obj->qps != n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		ring[i].kind = CLASS_SQ;
		ring[i].number = obj->qp[i].qpn;
	}
	return n;
}

/* --- the sink ------------------------------------------------------------------ */

static void sink_begin(void *ctx)
{
	((struct world *)ctx)->waves++;
}

static void sink_end(void *ctx)
{
	((struct world *)ctx)->waves--;
}

static int sink_publish(void *ctx, const struct track_ring *r, uint32_t *id)
{
	struct world *w = ctx;

	assert_int_equal(w->waves, 1);
	assert_int_equal(r->id, 0);
	if (!w->room)
		return -ENOSPC;
	w->room--;
	w->newest = r->what.kind;
	*id = ++w->ids;
	return 0;
}

static void sink_withdraw(void *ctx, uint32_t id)
{
	struct world *w = ctx;

	assert_in_range(id, 1, w->ids);
	w->room++;
	w->withdrawn++;
}

static void sink_unpublished(void *ctx, uint32_t queue_pairs)
{
	((struct world *)ctx)->told = queue_pairs;
}

static int sink_join(void *ctx, pid_t pid)
{
	(void)ctx;
	return process_of(pid) < 0 ? -ESRCH : 0;
}

static const struct track_sink sink = { sink_begin,    sink_end,	 sink_publish,
					sink_withdraw, sink_unpublished, sink_join };

/* --- tests ---------------------------------------------------------------------- */

static int setup(void **state)
{
	static const struct log quiet = { .level = LOG_LVL_ERROR, .fd = 2 };

	world = (struct world){ .room = 100, .runs = { [PARENT] = true } };
	*state = &world;
	return track_open(&world.track, &sink, &world, &quiet);
}

static int teardown(void **state)
{
	(void)state;
	track_close(world.track);
	return 0;
}

static void scan(void)
{
	world.now.ns += NS_PER_MS;
	track_scan(world.track, world.now, true);
	assert_int_equal(world.waves, 0);
}

static uint32_t shown(enum ring_class kind)
{
	uint32_t n = 0;

	for (size_t i = 0; i < track_rings(world.track); i++)
		n += track_ring(world.track, i)->what.kind == kind &&
		     track_ring(world.track, i)->id;
	return n;
}

/* The rings of a process that runs are published. */
static void begin(uint64_t rings)
{
	world.maps[PARENT] = rings;
	assert_int_equal(track_list(world.track), 0);
	assert_int_equal(track_look(world.track, TRACK_LOOK_FILES), 1);
	scan();
}

static void fork_and_exit(void)
{
	world.maps[CHILD] = world.maps[PARENT];
	world.runs[CHILD] = true;
	world.runs[PARENT] = false;
}

RIG_TEST(ring__parent_exits_and_a_child_maps_it__keeps_its_id)
{
	begin(3);
	assert_int_equal(world.ids, 2);
	fork_and_exit();
	scan(); /* before the agent hears of the exit */
	assert_int_equal(world.withdrawn, 0);
	track_gone(world.track, pid_of(PARENT), world.now);
	scan();
	assert_int_equal(world.withdrawn, 0);
	assert_int_equal(world.ids, 2);
	assert_int_equal(track_ring(world.track, 0)->pid, pid_of(CHILD));
}

RIG_TEST(ring__parent_executes_another_program__its_child_keeps_the_id)
{
	begin(3);
	world.maps[CHILD] = world.maps[PARENT];
	world.runs[CHILD] = true;
	world.maps[PARENT] = 0;
	scan();
	assert_int_equal(world.withdrawn, 0);
	assert_int_equal(world.ids, 2);
}

RIG_TEST(ring__last_process_that_maps_it_exits__is_withdrawn)
{
	begin(3);
	fork_and_exit();
	scan();
	world.runs[CHILD] = false;
	scan();
	assert_int_equal(world.withdrawn, 2);
	assert_int_equal(track_rings(world.track), 0);
}

RIG_TEST(room__none_is_left__completion_queues_give_way)
{
	world.room = 4;
	begin(0x3f); /* three of each kind */
	assert_int_equal(shown(CLASS_SQ), 3);
	assert_int_equal(shown(CLASS_CQ), 1);
	world.maps[PARENT] = 0xff;
	scan();
	assert_int_equal(shown(CLASS_SQ), 4);
	assert_int_equal(shown(CLASS_CQ), 0);
	assert_int_equal(world.told, 0);
	world.maps[PARENT] = 0xf; /* two of each kind: there is room for all again */
	scan();
	assert_int_equal(shown(CLASS_SQ), 2);
	assert_int_equal(shown(CLASS_CQ), 2);
}

RIG_TEST(room__too_little_for_the_send_queues__says_how_many_are_left_out)
{
	world.room = 4;
	begin(0xfff); /* six of each kind */
	assert_int_equal(shown(CLASS_SQ), 4);
	assert_int_equal(shown(CLASS_CQ), 0);
	assert_int_equal(world.told, 2);
	world.maps[PARENT] = 0xffb; /* one less of those that are shown */
	scan();
	assert_int_equal(shown(CLASS_SQ), 4);
	assert_int_equal(world.told, 1);
	world.runs[PARENT] = false;
	scan();
	assert_int_equal(world.told, 0);
	assert_int_equal(world.room, 4);
}

/* Counting takes the one ring for the send queue of the one queue pair. */
RIG_TEST(ring__its_entries_show_another_kind__is_published_again_as_that)
{
	world.blank = true;
	world.qps = 1;
	world.qpn[0] = 20;
	begin(2);
	assert_int_equal(world.newest, CLASS_SQ);
	scan();
	assert_int_equal(world.ids, 1);
	world.blank = false;
	scan();
	assert_int_equal(world.withdrawn, 1);
	assert_int_equal(world.ids, 2);
	assert_int_equal(world.newest, CLASS_CQ);
	scan();
	assert_int_equal(world.ids, 2);
}

/* The host goes on counting under the new id. */
RIG_TEST(queue_pair__more_is_known_of_it__is_published_again)
{
	world.qps = 1;
	world.qpn[0] = 20;
	world.blank = true;
	begin(1);
	assert_int_equal(world.ids, 1);
	assert_false(track_again(world.track, pid_of(PARENT), 21));
	assert_false(track_again(world.track, pid_of(CHILD), 20));
	scan();
	assert_int_equal(world.withdrawn, 0);
	assert_true(track_again(world.track, pid_of(PARENT), 20));
	scan();
	assert_int_equal(world.withdrawn, 1);
	assert_int_equal(world.ids, 2);
	scan();
	assert_int_equal(world.ids, 2);
}

/* A process destroys its queue pair 20 and creates 21. */
static void replace_queue_pair(void)
{
	world.maps[PARENT] = 4;
	world.qpn[0] = 21;
	world.meanwhile = NULL;
}

RIG_TEST(queue_pair__replaced_while_the_kernel_lists__does_not_give_its_number_away)
{
	world.blank = true;
	world.maps[PARENT] = 1;
	world.qps = 1;
	world.qpn[0] = 19;
	track_unseen(world.track); /* of before the agent */
	world.qpn[0] = 20;
	world.meanwhile = replace_queue_pair;
	begin(1);
	assert_int_equal(world.ids, 0);
	assert_int_equal(track_unseen(world.track), 1); /* 20, whose ring nobody could read */
	scan();
	assert_int_equal(world.ids, 1);
	assert_int_equal(track_ring(world.track, 0)->what.number, 21);
	world.maps[PARENT] = 0;
	world.qps = 0;
	scan();
	assert_int_equal(track_unseen(world.track), 1);
}

/* --- many processes ------------------------------------------------------------------ */

RIG_TEST(look__at_a_crowd__is_bounded_and_goes_on_where_it_was)
{
	uint32_t looks = 0;
	int parts = 0;

	world.crowd = 1000;
	world.files = 40;
	world.runs[PARENT] = false;
	assert_int_equal(track_list(world.track), 0);
	for (; track_looks(world.track) && looks < 1000; parts++) {
		assert_int_equal(track_look(world.track, TRACK_LOOK_FILES), 0);
		assert_in_range(world.looks - looks, 1, TRACK_LOOK_FILES / 48 + 1);
		looks = world.looks;
	}
	assert_int_equal(parts, 46);
	/* Then a few of them again, and no more until the next list. */
	while (track_looks(world.track))
		track_look(world.track, TRACK_LOOK_FILES);
	assert_in_range(world.looks, 1001, 1000 + 12);
	looks = world.looks;
	assert_int_equal(track_look(world.track, TRACK_LOOK_FILES), 0);
	assert_int_equal(world.looks, looks);
}

RIG_TEST(look__at_processes_seen_before__costs_the_same_for_a_crowd)
{
	uint32_t looks;

	world.crowd = 4000;
	world.files = 40;
	assert_int_equal(track_list(world.track), 0);
	while (track_looks(world.track))
		track_look(world.track, TRACK_LOOK_FILES);
	looks = world.looks;
	assert_int_equal(track_list(world.track), 0);
	while (track_looks(world.track))
		track_look(world.track, TRACK_LOOK_FILES);
	assert_in_range(world.looks - looks, 1, 12); /* of 4000 / 32 that are due */
}

/* A child that inherited rings is found before a crowd that came meanwhile. */
RIG_TEST(ring__parent_exits_in_a_crowd__its_child_keeps_the_id)
{
	begin(3);
	world.crowd = 4000;
	world.files = 40;
	fork_and_exit();
	track_gone(world.track, pid_of(PARENT), world.now);
	assert_int_equal(world.withdrawn, 0);
	assert_int_equal(track_ring(world.track, 0)->pid, pid_of(CHILD));
}
