// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watch: print the views of member_corosync, and what protocols decide under them.
 *
 *	watch SELF HOST=NODEID...
 *
 * It prints each view as a JSON line. On a line "ask" of standard input it tries a whole move, and
 * acquires a lock or checks that it may still act under it; then it prints how many operations that
 * took, and the results. The operations are answered from words in this process. cluster.py runs it
 * beside a real corosync.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/shared/member.h"
#include "src/reconf/move.h"
#include "src/shared/region.h"

enum { HOSTS = 3, NODES = 3, HELD_SERVICE = 7 };

static struct mono now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (struct mono){ ts.tv_sec * NS_PER_S + ts.tv_nsec };
}

static void print_view(const struct member *m, const struct member_view *v)
{
	printf("{\"view\": %llu, \"members\": %llu, \"quorate\": %d, \"note\": \"%s\"}\n",
	       (unsigned long long)v->view, (unsigned long long)v->members.word[0], v->quorate,
	       member_corosync.note(m));
	fflush(stdout);
}

/* --- protocols, answered from words in this process ------------------------------- */

struct answers {
	uint64_t word[HOSTS + 1][REGION_WORDS_BYTES / 8];
	uint32_t operations;
};

/* Each host has a node of service 1 and two of service 2. */
static void answers_begin(struct answers *a, const struct member_view *v)
{
	uint64_t node[REGION_NODES_MAX] = { 0 };

	for (uint32_t n = 0; n < NODES; n++)
		node[n] = region_word(n ? 2 : 1, 1);
	memset(a, 0, sizeof(*a));
	for (uint16_t h = 1; h <= HOSTS; h++) {
		if (region_words(a->word[h], 1, node))
			abort();
		a->word[h][region_lock_offset(HELD_SERVICE) / 8] =
			region_word(0, region_seq((uint32_t)v->view, 1));
	}
}

/* Each host keeps the words of its nodes (move.h), at once. */
static void keep(struct answers *a, uint16_t host)
{
	for (uint32_t n = 0; n < NODES; n++)
		a->word[host][region_kept_offset(n) / 8] = a->word[host][region_node_offset(n) / 8];
}

static struct step_event answer(struct answers *a, const struct step_op *op)
{
	uint64_t *word = &a->word[op->host][op->offset / 8];
	struct step_event ev = { .type = STEP_RESULT,
				 .host = op->host,
				 .link = 1,
				 .tag = op->tag,
				 .outcome = STEP_DONE,
				 .old = *word,
				 .data = op->kind == STEP_READ ? word : NULL,
				 .words = op->len / 8 };

	if (op->kind == STEP_FAA)
		*word += op->value;
	else if (op->kind == STEP_CAS && *word == op->compare)
		*word = op->value;
	keep(a, op->host);
	a->operations++;
	return ev;
}

static struct step_event view_event(const struct member_view *v)
{
	return (struct step_event){
		.type = STEP_VIEW, .view = v->view, .members = v->members, .quorate = v->quorate
	};
}

/* Give one event, and the results of all operations that follow from it. */
static void lock_run(struct lock *l, struct answers *a, const struct step_event *ev, struct mono t)
{
	struct step_out out = { .n = 0 };

	lock_step(l, ev, t, &out);
	for (uint32_t i = 0; i < out.n && i < STEP_OPS_MAX; i++) {
		struct step_event result = answer(a, &out.op[i]);

		lock_step(l, &result, t, &out);
	}
}

static void move_run(struct move *m, struct answers *a, const struct step_event *ev, struct mono t)
{
	struct step_out out = { .n = 0 };

	move_step(m, ev, t, &out);
	for (uint32_t done = 0; done < out.n;) {
		struct step_out more = { .n = 0 };

		for (; done < out.n; done++) {
			struct step_event result = answer(a, &out.op[done]);

			move_step(m, &result, t, &more);
		}
		out = more;
		done = 0;
	}
}

/* Run one whole move under this view. Returns its result. */
static enum move_result move_whole(const struct member_conf *c, const struct member_view *v,
				   struct answers *a)
{
	static struct move_view in;
	static struct move m;
	static struct lock lock[2];
	static struct counter counter[2];
	const struct move_conf mc = { .self = c->self,
				      .hold_ns = 20 * NS_PER_MS,
				      .deadline_ns = 5 * NS_PER_MS,
				      .check_ns = NS_PER_MS,
				      .drift_ppm = 500,
				      .checks = 1 };
	struct step_event view = view_event(v), want = { .type = STEP_ASK };
	struct step_event tick = { .type = STEP_TICK };
	struct mono t = now();

	in = (struct move_view){ .services = 2 };
	for (uint16_t i = 0; i < 2; i++)
		in.service[i] = (struct move_service){ (uint16_t)(i + 1), 1, c->hosts };
	for (uint16_t h = 1; h <= HOSTS; h++)
		for (uint16_t n = 0; n < NODES; n++)
			in.node[in.nodes++] = (struct move_node){
				.host = h,
				.node = n,
				.load = n ? 1 : 9,
				.alive = true,
				.word = a->word[h][region_node_offset(n) / 8],
			};
	move_init(&m, &mc, &in, lock, counter);
	move_run(&m, a, &view, t);
	for (uint16_t h = 1; h <= HOSTS; h++) {
		struct step_event link = { .type = STEP_LINK, .host = h, .link = 1 };

		move_run(&m, a, &link, t);
	}
	/* Again: the first look at a counter is ahead, and new locks are waited for. */
	for (int tries = 0; tries < 5 && (!tries || move_result(&m) == MOVE_COUNTER_AHEAD ||
					  move_result(&m) == MOVE_BUSY);
	     tries++) {
		counter_check(&counter[0], true); /* its load is high, and has been for T */
		move_run(&m, a, &want, t);
		for (int i = 0; i < 1000 && move_state(&m) != MOVE_IDLE; i++) {
			t = mono_add(t, NS_PER_MS / 2);
			move_run(&m, a, &tick, t);
		}
	}
	return move_result(&m);
}

/* A lock that is held from the first quorate view on, under a lease longer than the test. */
static bool held_may_act(const struct member_conf *c, const struct member_view *v,
			 struct answers *a, struct lock *l)
{
	const struct lock_conf lc = { .self = c->self,
				      .service = HELD_SERVICE,
				      .hold_ns = 600 * NS_PER_S,
				      .deadline_ns = NS_PER_S,
				      .check_ns = NS_PER_MS,
				      .drift_ppm = 500 };
	struct step_event view = view_event(v);
	struct step_event want = { .type = STEP_ASK, .what = LOCK_ACQUIRE };

	if (!l->conf.self)
		lock_init(l, &lc);
	lock_run(l, a, &view, now());
	if (v->quorate && lock_state(l) == LOCK_IDLE)
		lock_run(l, a, &want, now());
	return lock_may_act(l, now(), NS_PER_S);
}

static void print_decisions(const struct member_conf *c, const struct member_view *v,
			    struct lock *held)
{
	static struct answers a;
	enum move_result result;
	bool may_act;

	answers_begin(&a, v);
	result = move_whole(c, v, &a);
	may_act = held_may_act(c, v, &a, held);
	printf("{\"operations\": %u, \"move\": \"%s\", \"may_act\": %s}\n", a.operations,
	       result == MOVE_MOVED  ? "moved"
	       : result == MOVE_VIEW ? "no quorum"
				     : move_result_text(result),
	       may_act ? "true" : "false");
	fflush(stdout);
}

static int parse(struct member_conf *c, int argc, char **argv)
{
	unsigned self, host, node;
	char rest;

	if (argc < 3 || sscanf(argv[1], "%u%c", &self, &rest) != 1)
		return -1;
	c->self = (uint16_t)self;
	for (int i = 2; i < argc; i++) {
		if (sscanf(argv[i], "%u=%u%c", &host, &node, &rest) != 2 || host < 1 ||
		    host > HOSTS)
			return -1;
		hostset_set(&c->hosts, host, true);
		c->node[host - 1] = node;
	}
	return 0;
}

/* Wait until fd or standard input is readable, or the membership is due. */
static bool asked(const struct member *m)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = member_corosync.fd(m), .events = POLLIN } };
	int64_t left = mono_sub(member_corosync.due(m), now()) / NS_PER_MS + 1;
	char line[16];

	if (left > 1000)
		left = 1000;
	if (poll(p, 2, left < 0 ? 0 : (int)left) <= 0 || !p[0].revents)
		return false;
	if (!fgets(line, sizeof(line), stdin))
		exit(0);
	return !strcmp(line, "ask\n");
}

int main(int argc, char **argv)
{
	struct member_conf c = { .connect_ms = MEMBER_CONNECT_MS };
	struct member_view v;
	char note[256] = "";
	struct lock held = { .conf = { .self = 0 } };
	struct member *m;
	int rc;

	if (parse(&c, argc, argv)) {
		fprintf(stderr, "usage: watch SELF HOST=NODEID...\n");
		return 2;
	}
	rc = member_corosync.open(&m, &c, now());
	if (rc && rc != -ENODEV) {
		fprintf(stderr, "watch: %s\n", strerror(-rc));
		return 1;
	}
	for (;;) {
		bool news = member_corosync.update(m, now(), &v);

		if (news || strcmp(note, member_corosync.note(m)) != 0)
			print_view(m, &v);
		snprintf(note, sizeof(note), "%s", member_corosync.note(m));
		if (asked(m))
			print_decisions(&c, &v, &held);
	}
}
