// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * keep: the step function by which a host keeps the words of its nodes. See keep.h.
 *
 * The host that runs it also serves the words: other hosts' moves (move.c) change them meanwhile.
 * Each state has a function, which put out what it has room for. The rules are those of move.h,
 * "Kept words"; tests/model/move.pml has them in its rows with KEPT.
 */
#include <string.h>

#include "src/reconf/keep.h"
#include "src/reconf/put.h"

enum { ROUNDS = KEEP_TAGS / REGION_NODES_MAX };

static const struct mono NEVER = { INT64_MAX };

bool keep_begin(uint64_t *node, const uint64_t *file, const uint16_t *service, bool first)
{
	bool same = file != NULL;

	for (uint32_t i = 0; i < REGION_NODES_MAX; i++) {
		/* rule: never the configured service while others may count the node */
		bool uncounted = file || first;

		node[i] = region_word(uncounted ? service[i] : 0, region_seq(0, 1));
		if (file && file[i]) /* rule: a host begins a node with the word of its file */
			node[i] = file[i];
		/* A node of neither file nor configuration needs no place in the file. */
		same = same && (node[i] == file[i] || (!file[i] && !service[i]));
	}
	return !same;
}

void keep_init(struct keep *k, const struct keep_conf *c, const uint64_t *saved)
{
	memset(k, 0, sizeof(*k));
	k->conf = *c;
	memcpy(k->saved, saved, c->nodes * sizeof(k->saved[0]));
}

static bool put(struct keep *k, struct step_op op, uint32_t index, struct step_out *out)
{
	op.host = k->conf.self;
	op.tag = k->conf.tag + k->round % ROUNDS * REGION_NODES_MAX + index;
	k->full = !step_put(out, op);
	k->waited += !k->full;
	return !k->full;
}

/* Is it the result of an operation of this round? */
static bool ours(const struct keep *k, const struct step_event *ev)
{
	uint32_t tag = ev->tag - k->conf.tag;

	return k->waited && ev->tag >= k->conf.tag && tag < KEEP_TAGS &&
	       tag / REGION_NODES_MAX == k->round % ROUNDS;
}

static void rest(struct keep *k, struct mono now)
{
	k->state = KEEP_RESTS;
	k->next = mono_add(now, k->conf.check_ns);
}

/* --- 1: read ------------------------------------------------------------------------ */

static void start_read(struct keep *k, struct step_out *out)
{
	struct step_op op = {
		.kind = STEP_READ,
		.offset = region_node_offset(0),
		.len = region_kept_offset(k->conf.nodes - 1) + 8 - region_node_offset(0),
	};

	k->round++;
	k->waited = 0;
	if (put(k, op, 0, out))
		k->state = KEEP_READS;
}

static bool is_behind(const struct keep *k, uint32_t i)
{
	return k->kept[i] != k->word[i];
}

static void read_result(struct keep *k, const struct step_event *ev, struct mono now)
{
	bool save = false, write = false;

	if (ev->outcome != STEP_DONE || ev->words < REGION_NODES_MAX + k->conf.nodes) {
		rest(k, now);
		return;
	}
	memcpy(k->word, ev->data, k->conf.nodes * sizeof(k->word[0]));
	memcpy(k->kept, ev->data + REGION_NODES_MAX, k->conf.nodes * sizeof(k->kept[0]));
	k->word_link = ev->link;
	for (uint32_t i = 0; i < k->conf.nodes; i++) {
		write = write || is_behind(k, i);
		save = save || k->word[i] != k->saved[i];
	}
	k->todo = 0;
	if (save)
		k->state = KEEP_SAVES;
	else if (write)
		k->state = KEEP_KEEPS;
	else
		rest(k, now);
}

/* --- 2: save ------------------------------------------------------------------------ */

static void saved(struct keep *k, bool durable, struct mono now)
{
	if (k->state != KEEP_SAVES)
		return;
	/* rule: a word is durable before it is kept */
	if (!durable) {
		rest(k, now);
		return;
	}
	memcpy(k->saved, k->word, k->conf.nodes * sizeof(k->saved[0]));
	k->state = KEEP_KEEPS;
}

/* --- 3: the kept words -------------------------------------------------------------- */

static void run_keeps(struct keep *k, struct mono now, struct step_out *out)
{
	k->full = false;
	for (; k->todo < k->conf.nodes && !k->down; k->todo++) {
		uint32_t i = k->todo;
		struct step_op op = {
			.kind = STEP_CAS,
			.offset = region_kept_offset(i),
			.compare = k->kept[i],
			.value = k->saved[i],
			.link = k->word_link,
		};

		if (is_behind(k, i) && !put(k, op, i, out))
			return;
	}
	if (!k->waited)
		rest(k, now);
}

/* --- events ------------------------------------------------------------------------- */

static void result(struct keep *k, const struct step_event *ev, struct mono now)
{
	bool lost = ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN;

	if (lost && ev->host == k->conf.self) {
		k->down = true;
		k->link = ev->link;
	}
	if (!ours(k, ev))
		return;
	k->waited--;
	if (k->state == KEEP_READS)
		read_result(k, ev, now);
}

void keep_step(struct keep *k, const struct step_event *ev, struct mono now, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(k, ev, now);
	else if (ev->type == STEP_ASK)
		saved(k, ev->what == KEEP_SAVED, now);
	else if (ev->type == STEP_LINK && ev->host == k->conf.self && ev->link > k->link)
		k->down = false;
	if (k->state == KEEP_KEEPS)
		run_keeps(k, now, out);
	else if (k->state == KEEP_RESTS && !k->down && mono_sub(now, k->next) >= 0)
		start_read(k, out);
}

struct mono keep_due(const struct keep *k)
{
	if (k->full)
		return (struct mono){ 0 };
	return k->state == KEEP_RESTS && !k->down ? k->next : NEVER;
}

enum keep_state keep_state(const struct keep *k)
{
	return k->state;
}

const uint64_t *keep_wants(const struct keep *k)
{
	return k->state == KEEP_SAVES ? k->word : NULL;
}
