// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * move_hosts: one host of several, each a process. They move nodes between two services.
 *
 *	move_hosts BACKEND NUMBER GENERATION ADDRESS-1 ADDRESS-2 ...
 *
 * BACKEND: of transport.h; "shm+faults": "shm", with operations delayed, lost and late. Host 1 is
 * the locks' home; hosts 2 and 3 have nodes, half of them of either service at first; all balance
 * both. Each host draws which service's load is high, for itself, and anew after a while. With
 * "shm", an address is a folder: there a host saves the words of its nodes, and begins with them.
 *
 * A host that has counted all nodes under both locks sees no service below its minimum, whatever
 * others do or did: otherwise that is a violation. SIGUSR2: ask for no more moves. At its end it
 * prints its counts as one JSON object (host_process.h).
 */
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/core/random.h"
#include "src/reconf/keep.h"
#include "src/reconf/move_priv.h"
#include "src/shared/nodes_file.h"
#include "src/shared/region.h"
#include "src/transport/shm/faults.h"
#include "tests/shared/host_process.h"

enum {
	SERVICES = 2,
	HOST_NODES = 4,
	MINIMUM = 1, /* of each service, for each host with nodes */
	PORT = 7950,
	PREFIX = 0x30e,
	SCAN_TAG = MOVE_TAGS,
	KEEP_TAG = SCAN_TAG + MOVE_NODES_MAX,
	RESULTS = MOVE_NOT_KEPT + 1,
};

/* Over a network between virtual machines, and of processes of one machine. */
struct times {
	int64_t hold_ns, deadline_ns, check_ns;
	uint32_t checks; /* T: longer than hold and deadline */
};

static const struct times slow = { 600 * NS_PER_MS, 400 * NS_PER_MS, 25 * NS_PER_MS, 44 };
static const struct times fast = { 150 * NS_PER_MS, 50 * NS_PER_MS, 10 * NS_PER_MS, 22 };

struct me {
	struct host_process p;
	const struct times *times;
	struct move move;
	struct move_view in;
	struct keep keep;
	char state_dir[128]; /* empty: it saves nothing */
	uint64_t file[REGION_NODES_MAX];
	struct lock lock[SERVICES];
	struct counter counter[SERVICES];
	struct mono next_check, next_load;
	uint32_t turn; /* of the nodes that are read, one a check */
	uint32_t high; /* index of the service whose load is high; SERVICES: none */
	uint64_t rng;
	uint64_t results[RESULTS], from[SERVICES];
	uint64_t counted, violations, unclean;
	char what[160]; /* the first violation */
};

/* --- the move ----------------------------------------------------------------------- */

static uint32_t nodes_of(const struct move_view *in, const uint64_t *word, uint16_t service)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->nodes; i++)
		n += region_word_id(word ? word[i] : in->node[i].word) == service;
	return n;
}

/* All nodes were read under both locks: no other host moves one of them now. */
static void check_minimum(struct me *m)
{
	for (uint32_t i = 0; i < m->in.nodes; i++)
		if (m->move.at[i] != AT_DONE)
			return;
	m->counted++;
	m->unclean += m->move.sweeps > 0;
	for (uint32_t s = 0; s < SERVICES; s++) {
		uint32_t n = nodes_of(&m->in, m->move.word, m->in.service[s].id);

		if (n < m->in.service[s].minimum && !m->violations++)
			snprintf(m->what, sizeof(m->what), "service %u has %u nodes of %u",
				 m->in.service[s].id, n, m->in.service[s].minimum);
	}
}

static void step_move(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	struct me *m = state;
	enum move_state before = move_state(&m->move), after;

	move_step(&m->move, ev, now, out);
	after = move_state(&m->move);
	if (before == MOVE_COUNTS &&
	    (after == MOVE_ANNOUNCES ||
	     (after != before &&
	      (move_result(&m->move) == MOVE_NO_DONOR || move_result(&m->move) == MOVE_NOT_KEPT))))
		check_minimum(m);
	if (before != MOVE_IDLE && after == MOVE_IDLE) {
		m->results[move_result(&m->move)]++;
		m->from[m->move.donor] += move_result(&m->move) == MOVE_MOVED;
	}
}

static struct mono due_move(const void *state)
{
	return move_due(&((const struct me *)state)->move);
}

/* --- the own nodes ------------------------------------------------------------------ */

static bool has_nodes(int host)
{
	return host == 2 || host == 3;
}

/* The service of a node when its host starts for the first time. */
static uint16_t begins(uint32_t node)
{
	return (uint16_t)(node % SERVICES + 1);
}

static int save_nodes(const struct me *m)
{
	return m->state_dir[0] ? nodes_file_save(m->state_dir, NODES_FILE_WORDS, m->file) : 0;
}

/* m->file: the words to begin with, which are saved. */
static int begin_nodes(struct me *m, const struct host_process_conf *c)
{
	uint16_t service[REGION_NODES_MAX] = { 0 };
	uint64_t file[REGION_NODES_MAX] = { 0 };
	int rc = -ENOENT;

	for (uint32_t n = 0; n < HOST_NODES && has_nodes(c->self); n++)
		service[n] = begins(n);
	if (!strcmp(c->backend, "shm")) {
		snprintf(m->state_dir, sizeof(m->state_dir), "%s/state-%u", c->address[c->self - 1],
			 c->self);
		if (mkdir(m->state_dir, 0700) && errno != EEXIST)
			return -errno;
		rc = nodes_file_load(m->state_dir, NODES_FILE_WORDS, file);
	}
	if (keep_begin(m->file, rc ? NULL : file, service, c->generation == 1 || !m->state_dir[0]))
		return save_nodes(m);
	return 0;
}

static void keep_nodes(struct me *m)
{
	const uint64_t *wants = keep_wants(&m->keep);
	int rc;

	if (!wants)
		return;
	memcpy(m->file, wants, HOST_NODES * sizeof(m->file[0]));
	rc = save_nodes(m);
	runner_ask(m->p.r, &m->keep, rc ? KEEP_FAILED : KEEP_SAVED, NULL, host_process_now(&m->p));
}

/* --- loads -------------------------------------------------------------------------- */

/* ASK: read the word of node what. */
static void step_scan(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	struct move_view *in = state;
	const struct move_node *n = &in->node[ev->what % MOVE_NODES_MAX];

	(void)now;
	if (ev->type == STEP_RESULT && ev->outcome == STEP_DONE)
		in->node[ev->tag - SCAN_TAG].word = ev->old;
	if (ev->type == STEP_ASK)
		out->op[out->n++] = (struct step_op){
			.kind = STEP_READ,
			.host = n->host,
			.offset = region_node_offset(n->node),
			.len = 8,
			.tag = SCAN_TAG + ev->what,
		};
}

static struct mono due_scan(const void *state)
{
	(void)state;
	return (struct mono){ INT64_MAX };
}

static void draw_load(struct me *m, struct mono now)
{
	int64_t t = m->times->checks * m->times->check_ns;

	/* Mostly of the one with fewer nodes: so nodes go to and fro. */
	m->high = (uint32_t)(random_next(&m->rng) % (SERVICES + 1));
	if (random_next(&m->rng) % 2)
		m->high = nodes_of(&m->in, NULL, 1) > nodes_of(&m->in, NULL, 2);
	m->next_load = mono_add(now, t + (int64_t)(random_next(&m->rng) % (uint64_t)(2 * t)));
}

static void check_load(struct me *m, struct mono now)
{
	bool asked = host_process_is_quiet() || host_process_stops();

	if (mono_sub(now, m->next_load) >= 0)
		draw_load(m, now);
	for (uint32_t i = 0; i < m->in.nodes; i++)
		m->in.node[i].load = region_word_id(m->in.node[i].word) == m->high + 1 ? 900
										       : 100 + i;
	for (uint32_t s = 0; s < SERVICES; s++) {
		counter_check(&m->counter[s], s == m->high);
		if (asked || move_state(&m->move) != MOVE_IDLE ||
		    !counter_high_for_t(&m->counter[s]))
			continue;
		runner_ask(m->p.r, m, s, NULL, now);
		asked = true;
	}
	runner_ask(m->p.r, &m->in, m->turn++ % m->in.nodes, NULL, now);
	m->next_check = mono_add(now, m->times->check_ns);
}

/* --- the process -------------------------------------------------------------------- */

static void print_counts(const struct me *m)
{
	printf("{\"host\": %u, \"idle\": %d", m->p.self, move_state(&m->move) == MOVE_IDLE);
	for (int i = 1; i < RESULTS; i++)
		printf(", \"%s\": %llu", move_result_text((enum move_result)i),
		       (unsigned long long)m->results[i]);
	for (uint32_t s = 0; s < SERVICES; s++)
		printf(", \"from_%u\": %llu, \"now_%u\": %u, \"minimum_%u\": %u", s + 1,
		       (unsigned long long)m->from[s], s + 1,
		       nodes_of(&m->in, NULL, m->in.service[s].id), s + 1,
		       m->in.service[s].minimum);
	printf(", \"moves\": %llu, \"counted\": %llu, \"unclean\": %llu, \"nodes\": %u, \"ups\": "
	       "%llu, \"downs\": %llu, \"alarms\": %llu, \"violations\": %llu, \"what\": \"%s\"}\n",
	       (unsigned long long)m->results[MOVE_MOVED], (unsigned long long)m->counted,
	       (unsigned long long)m->unclean, m->in.nodes, (unsigned long long)m->p.ups,
	       (unsigned long long)m->p.downs, (unsigned long long)m->p.alarms,
	       (unsigned long long)m->violations, m->what);
	fflush(stdout);
}

static void run(struct me *m)
{
	while (!host_process_stops() || move_state(&m->move) != MOVE_IDLE) {
		struct mono now = host_process_now(&m->p);

		host_process_turn(&m->p);
		keep_nodes(m);
		if (mono_sub(now, m->next_check) >= 0)
			check_load(m, now);
		if (host_process_stops() > 1)
			break;
		if (host_process_is_asked())
			print_counts(m);
		host_process_sleep(&m->p);
	}
}

static void set_up(struct me *m, int hosts)
{
	struct move_view *in = &m->in;
	uint32_t with = 0;

	for (int h = 1; h <= hosts; h++) {
		with += has_nodes(h);
		for (uint16_t n = 0; n < HOST_NODES && has_nodes(h); n++)
			in->node[in->nodes++] =
				(struct move_node){ .host = (uint16_t)h, .node = n, .alive = true };
	}
	in->services = SERVICES;
	for (uint32_t s = 0; s < SERVICES; s++)
		in->service[s] =
			(struct move_service){ .id = (uint16_t)(s + 1),
					       .minimum = with * MINIMUM,
					       .balancers = hostset_first((uint32_t)hosts) };
}

static int open_protocols(struct me *m, int hosts)
{
	const struct move_conf mc = { .self = m->p.self,
				      .hold_ns = m->times->hold_ns,
				      .deadline_ns = m->times->deadline_ns,
				      .check_ns = m->times->check_ns,
				      .drift_ppm = 1000,
				      .checks = m->times->checks,
				      .seed = m->p.self };
	const struct runner_user move = { m, step_move, due_move, 0, MOVE_TAGS };
	const struct runner_user scan = { &m->in, step_scan, due_scan, SCAN_TAG, MOVE_NODES_MAX };
	const struct keep_conf kc = { .self = m->p.self,
				      .tag = KEEP_TAG,
				      .nodes = HOST_NODES,
				      .check_ns = m->times->check_ns };
	struct runner_user keep;
	int rc;

	set_up(m, hosts);
	move_init(&m->move, &mc, &m->in, m->lock, m->counter);
	rc = runner_add(m->p.r, &move);
	if (!rc)
		rc = runner_add(m->p.r, &scan);
	keep_init(&m->keep, &kc, m->file);
	keep = runner_keep(&m->keep);
	if (!rc && has_nodes(m->p.self))
		rc = runner_add(m->p.r, &keep);
	if (!rc)
		runner_view(m->p.r, 0, hostset_first((uint32_t)hosts), true,
			    host_process_now(&m->p));
	return rc;
}

/* Delays, lost requests and results, and operations that are executed after a lease. */
static int make_faults(struct me *m)
{
	const struct shm_faults f = { .seed = m->rng,
				      .out_max_ns = NS_PER_MS,
				      .back_max_ns = NS_PER_MS,
				      .drop_permille = 1,
				      .drop_back_permille = 1,
				      .late_permille = 2,
				      .late_max_ns = 3 * m->times->hold_ns };

	return transport_shm_faults(m->p.t, &f);
}

int main(int argc, char **argv)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];
	struct host_process_conf c = {
		.name = "move_hosts", .port = PORT, .words = words, .prefix = PREFIX
	};
	struct me *m = calloc(1, sizeof(*m));
	bool faulty;
	int rc;

	if (!m || !host_process_args(&c, argc, argv)) {
		free(m);
		return 2;
	}
	faulty = !strcmp(c.backend, "shm+faults");
	if (faulty)
		c.backend = "shm";
	m->times = strcmp(c.backend, "verbs") ? &fast : &slow;
	m->rng = c.generation << 8 | c.self;
	c.deadline_ns = m->times->deadline_ns;
	rc = begin_nodes(m, &c);
	if (!rc)
		rc = region_words(words, c.generation, m->file);
	if (!rc)
		rc = host_process_open(&m->p, &c);
	if (!rc && faulty)
		rc = make_faults(m);
	if (!rc)
		rc = open_protocols(m, c.hosts);
	if (!rc) {
		fputs("open\n", stderr);
		run(m);
		print_counts(m);
	}
	host_process_close(&m->p);
	free(m);
	return rc ? 1 : 0;
}
