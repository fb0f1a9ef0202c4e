// SPDX-License-Identifier: GPL-2.0-or-later
/* rdmaodd_bad: queue pairs that fail, come and go, are too many, or lie about their rings. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/src/rdmaodd.h"

enum { CQ_ONE = 140, CQ_PAIR = 300, ROUNDS = 6 };

enum { FORGED_US = 20000 }; /* how long a word is false at least once */

/* The far end of a pair follows its near end in odd.qp. */
static struct odd_qp *pair_on(struct odd *o, uint32_t near, uint32_t far)
{
	struct odd_qp *a = odd_qp(o, &(struct odd_shape){ LOAD_RC, near, near, NULL, 0, 0 });
	struct odd_qp *b = odd_qp(o, &(struct odd_shape){ LOAD_RC, far, far, NULL, 0, 0 });

	odd_connect(a, b);
	return a;
}

void odd_prepare_pairs(struct odd *o)
{
	for (int i = 0; i < 2; i++) {
		uint32_t cq = odd_cq(o, CQ_PAIR);

		pair_on(o, cq, cq);
	}
	odd_first(o);
}

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

/* --- reset, errors: the same queue pairs are used again ----------------------------- */

static void again(struct odd_qp *a)
{
	odd_reset(a);
	odd_reset(a->to);
	odd_connect(a, a->to);
}

/*
 * RESET while some work requests are not yet complete. All are signalled: of others,
 * nothing would tell whether they were complete.
 */
void odd_run_reset(struct odd *o)
{
	for (uint32_t i = 0; i < o->qps; i++)
		o->qp[i].unsignalled = 0;
	for (int round = 0; round < ROUNDS; round++) {
		/* A SEND to an end without receives waits, and so does all that is behind it. */
		for (uint32_t i = 0; i < o->qps; i += 2) {
			again(&o->qp[i]);
			o->qp[i + odd_below(o, 2)].starved = true;
		}
		for (uint32_t i = 0; i < o->qps; i++) {
			o->qp[i].target = UINT64_MAX;
			odd_post(&o->qp[i], 1 + odd_below(o, ODD_BATCH_MAX));
		}
		for (uint32_t i = odd_below(o, 4); i > 0; i--)
			odd_poll(o);
		for (uint32_t i = 0; i < o->qps; i += 2)
			again(&o->qp[i]);
		odd_first(o);
		sleep_us(o->pace_us);
	}
	odd_work(o);
}

/* Work requests before, in, and after an error. The ones after it are flushed. */
static void fail(struct odd_qp *q)
{
	q->target = UINT64_MAX;
	odd_post(q, 1 + odd_below(q->o, 3));
	if (q->to->starved) {
		odd_drain(q->o);
		return;
	}
	q->bad_rkey = true;
	odd_post(q, 1);
	q->bad_rkey = false;
	odd_post(q, odd_below(q->o, 4));
	odd_drain(q->o);
}

/* By turns: a key of memory that is not there; a receiver that never has room. */
void odd_run_errors(struct odd *o)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < o->qps; i += 2) {
			struct odd_qp *q = &o->qp[i];
			bool starve = odd_below(o, 2);

			q->rnr_retry = starve ? 1 : 7;
			again(q);
			q->to->starved = starve;
			fail(q);
			q->rnr_retry = 7;
			sleep_us(o->pace_us);
			again(q);
		}
		odd_first(o);
		sleep_us(o->pace_us);
	}
	odd_work(o);
}

/* --- many, short ---------------------------------------------------------------------- */

/*
 * The agent can show 256 rings. 150 send queues and as many completion queues: the send queues have
 * room. With -k more, 270 of each.
 */
void odd_prepare_many(struct odd *o)
{
	for (int i = 0; i < (o->kinds ? 135 : 75); i++)
		pair_on(o, odd_cq(o, CQ_ONE), odd_cq(o, CQ_ONE));
	odd_first(o);
}

/* Not one queue before it begins: what comes then are queue pairs of short life. */
void odd_prepare_none(struct odd *o)
{
	odd_cq(o, CQ_PAIR);
}

/*
 * COUNT pairs, one after the other, each with few work requests; the truth is their sum. One more
 * stays until the end and does nothing: by its numbers the agent knows of all before it.
 */
void odd_run_short(struct odd *o)
{
	struct load_truth sum = { 0 };

	for (uint32_t i = 0; i < o->count; i++) {
		struct odd_qp *a;

		o->qps = o->truths = 0;
		memset(o->truth, 0, 2 * sizeof(o->truth[0]));
		a = pair_on(o, 0, 0);
		odd_poll(o);
		a->target = UINT64_MAX;
		a->unsignalled = 0;
		odd_post(a, 1 + odd_below(o, 7));
		odd_drain(o);
		sleep_us(o->pace_us);
		odd_destroy(a);
		odd_destroy(a->to);
		load_add(&sum, a->truth);
	}
	o->qps = o->truths = 0;
	pair_on(o, 0, 0);
	o->truth[0] = sum;
	o->truths = 1;
	o->qps = 0;
}

/* --- forge: words of the header of a ring ----------------------------------------------- */

struct forged {
	volatile uint32_t *word;
	uint32_t was;
};

/* The header of this process's newest send queue: no other ring has elements of that size. */
static volatile uint32_t *newest_sq(void)
{
	enum { LOG2_SQ_MIN = 8, LOG2_MAX = 16 };
	FILE *f = fopen("/proc/self/maps", "r");
	volatile uint32_t *found = NULL;
	unsigned long long newest = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		/* FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH */
		const char *space = strchr(line, ' ');
		unsigned long long offset;
		volatile uint32_t *h;

		space = space ? strchr(space + 1, ' ') : NULL;
		if (!space || !strstr(line, "/dev/infiniband/uverbs"))
			continue;
		offset = strtoull(space, NULL, 16);
		h = (volatile uint32_t *)(uintptr_t)strtoull(line, NULL, 16);
		if (h[0] < LOG2_SQ_MIN || h[0] > LOG2_MAX || offset < newest)
			continue;
		newest = offset;
		found = h;
	}
	if (f)
		fclose(f);
	if (!found)
		odd_die("no send queue in /proc/self/maps", ENOENT);
	return found;
}

static uint32_t false_value(struct odd *o, uint32_t was)
{
	const uint32_t edge[] = { 0, was + 1, was - 1, was ^ 0x80000000, UINT32_MAX, was << 1 };
	uint32_t v = was;

	while (v == was)
		v = odd_below(o, 2) ? edge[odd_below(o, 6)] : (uint32_t)load_random(&o->ctx);
	return v;
}

/* The word of this name in a send queue's header. */
static volatile uint32_t *field(const char *name, volatile uint32_t *header)
{
	static const struct {
		const char *name;
		uint32_t word;
	} fields[] = { { "log2", 0 }, { "mask", 1 }, { "producer", 32 }, { "consumer", 64 } };

	for (int i = 0; i < 4; i++)
		if (name && !strncmp(name, fields[i].name, strlen(fields[i].name)))
			return header + fields[i].word;
	fputs("rdmaodd: -k log2, mask, producer or consumer, then -once or -always\n", stderr);
	exit(2);
}

/* One work request of each queue pair, until all are complete. */
static void one_each(struct odd *o)
{
	for (uint32_t i = 0; i < o->qps; i++) {
		o->qp[i].target = o->qp[i].posted + 1;
		odd_post(&o->qp[i], 1);
	}
	odd_drain(o);
}

/*
 * The last queue pair made is the one that lies. It always restores the word before it
 * posts, because its own library reads it; the kernel has a copy of all but the producer.
 * When the ring has been right for longer than it was false, it does more work.
 */
void odd_run_forge(struct odd *o)
{
	volatile uint32_t *word = field(o->kinds, newest_sq());
	bool always = strstr(o->kinds, "-always");
	uint32_t when = odd_below(o, o->count / 2 + 1), late = o->count / 2;
	int64_t began = odd_now_ns();

	for (uint32_t i = 0; i < o->count; i++) {
		uint32_t was;

		one_each(o);
		was = *word;
		if (always || i == when)
			*word = false_value(o, was);
		sleep_us(o->pace_us + (i == when ? FORGED_US : 0));
		if (always || i == when)
			*word = was;
	}
	sleep_us((long)((odd_now_ns() - began) / 1000) + 1000000);
	for (uint32_t i = 0; i < late; i++)
		one_each(o);
	printf("LIAR qpn=%u late=%u\n", o->qp[o->qps - 1].qp->qp_num, late);
}

/* --- writer: a child posts to its parent's ring ------------------------------------------- */

static void turn_to(struct odd *o, uint32_t whose)
{
	__atomic_store_n(&o->turn, whose, __ATOMIC_RELEASE);
}

static void await_turn(struct odd *o, uint32_t whose)
{
	while (__atomic_load_n(&o->turn, __ATOMIC_ACQUIRE) != whose)
		sleep_us(200);
}

static void write_as_child(struct odd *o)
{
	struct odd_qp *q = &o->qp[o->qps - 1];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint32_t n = 1 + odd_below(o, 3), room;

		await_turn(o, 1);
		q->target = UINT64_MAX;
		room = q->depth - odd_waiting(q);
		/* The parent needs room for one: it rings no doorbell when it posts nothing. */
		odd_post(q, n < room ? n : room - 1);
		turn_to(o, 0);
	}
}

/*
 * The library of each process numbers its own work requests, so that numbers come twice in
 * the ring. The kernel takes the child's when it hears the parent's doorbell.
 */
void odd_run_writer(struct odd *o)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		odd_die("fork", errno);
	if (pid == 0)
		write_as_child(o);
	for (uint32_t i = 0; i < o->count; i++) {
		turn_to(o, 1);
		await_turn(o, 0);
		one_each(o);
		sleep_us(o->pace_us);
	}
	printf("LIAR qpn=%u late=0\n", o->qp[o->qps - 1].qp->qp_num);
}
