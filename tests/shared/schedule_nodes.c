// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schedule_nodes: the words of a host's nodes in a schedule: on its disk, which may lose them, and
 * as other hosts see and adopt them.
 */
#include <string.h>

#include "tests/shared/schedule_priv.h"

/* --- a host's disk ----------------------------------------------------------------- */

void schedule_begin_words(struct schedule *s, uint16_t host)
{
	struct schedule_host *h = &s->host[host];
	bool lost = h->has_disk && s->loss && !s->quiet && !one_in(s, s->loss == LOSS_ANY ? 2 : 4);
	uint64_t node[REGION_NODES_MAX];
	const struct keep_conf kc = {
		.self = host, .tag = MOVE_TAGS, .nodes = s->h.conf.nodes[host], .check_ns = CHECK_NS
	};

	/* Before anybody can read the words. */
	if (keep_begin(node, h->has_disk && !lost ? h->disk : NULL, s->begins[host], !h->has_disk))
		memcpy(h->disk, node, sizeof(node));
	h->has_disk = true;
	h->saves = false;
	keep_init(&h->keep, &kc, node);
	for (uint32_t i = 0; i < WORLD_WORDS; i++) {
		*world_word(&s->w, host, region_node_offset(i)) = node[i];
		*world_word(&s->w, host, region_kept_offset(i)) = node[i];
	}
	for (uint32_t i = 0; i < s->h.conf.nodes[host]; i++)
		schedule_record(s, (struct history_record){ .type = HISTORY_WORD,
							    .host = host,
							    .offset = region_node_offset(i),
							    .now = node[i],
							    .value = lost });
}

static void start_save(struct schedule *s, uint16_t host)
{
	struct schedule_host *h = &s->host[host];
	const uint64_t *wants = keep_wants(&h->keep);
	int64_t lasts = s->kind == SCHEDULE_RESTARTS && !s->quiet ? 12 * CHECK_NS : CHECK_NS;

	if (!wants || h->saves)
		return;
	memcpy(h->saving, wants, h->keep.conf.nodes * sizeof(h->saving[0]));
	h->saves = true;
	h->durable = false;
	h->saves_boot = s->w.host[host].boot;
	world_timer(&s->w, s->w.now + between(s, 0, lasts), TIMER_DURABLE + host);
}

static bool still_saves(const struct schedule *s, uint16_t host)
{
	const struct schedule_host *h = &s->host[host];

	return h->saves && s->w.host[host].up && h->saves_boot == s->w.host[host].boot;
}

/* A save that fails may have changed the file, or not. */
void schedule_durable(struct schedule *s, uint16_t host)
{
	struct schedule_host *h = &s->host[host];
	uint32_t fails_in = s->kind == SCHEDULE_RESTARTS ? 4 : 16;
	bool fails = s->kind != SCHEDULE_CALM && !s->quiet && one_in(s, fails_in);

	if (!still_saves(s, host))
		return;
	if (!fails || one_in(s, 2))
		memcpy(h->disk, h->saving, h->keep.conf.nodes * sizeof(h->disk[0]));
	if (fails)
		world_ask(&s->w, host, SCHEDULE_ASK_KEEP + KEEP_FAILED);
	else
		world_timer(&s->w, s->w.now + between(s, 0, NS_PER_MS), TIMER_SAVED + host);
	h->durable = !fails;
}

void schedule_saved(struct schedule *s, uint16_t host)
{
	if (!still_saves(s, host) || !s->host[host].durable)
		return; /* a timer of an earlier process */
	world_ask(&s->w, host, SCHEDULE_ASK_KEEP + KEEP_SAVED);
}

/*
 * A save ends when its answer has arrived: the next one would be of the same words, and its answer
 * taken for that to others.
 */
void schedule_await_saved(struct schedule *s, uint16_t host)
{
	s->host[host].saves = s->host[host].saves && keep_wants(&s->host[host].keep);
	start_save(s, host);
}

/* --- nodes in no service ------------------------------------------------------- */

/* In which service it was last, or since when in none, on one link. */
void schedule_see_node(struct schedule *s, struct schedule_host *h, uint32_t i, struct mono now)
{
	const struct move_node *n = &h->in.node[i];
	const struct world_link *l = &s->w.link[h - s->host][n->host];
	struct schedule_node *seen = &h->seen[i];

	if (region_word_id(n->word)) {
		seen->service = region_word_id(n->word);
		seen->link = 0;
	} else if (l->up && seen->link != l->number) {
		seen->link = l->number;
		seen->since = now;
	}
}

/*
 * For which service a balancer adopts node i: the one that it was in last or, if that is not known,
 * the configured one. Sometimes it is wrong, as after a move that the host has not seen.
 */
static uint32_t adopter_of(struct schedule *s, const struct schedule_host *h, uint32_t i)
{
	const struct move_node *n = &h->in.node[i];
	uint16_t id = h->seen[i].service ? h->seen[i].service : s->begins[n->host][n->node];

	return one_in(s, s->loss == LOSS_ANY ? 4 : 2) ? (uint32_t)between(s, 0, s->services - 1)
						      : id - 1u;
}

/* Was a node adopted, or tried to be? */
bool schedule_adopt(struct schedule *s, struct schedule_host *h, struct mono now,
		    struct step_out *out)
{
	for (uint32_t i = 0; s->loss && i < h->in.nodes; i++) {
		const struct schedule_node *seen = &h->seen[i];
		struct move_wish wish = { .why = MOVE_FOR_ADOPTION,
					  .node = i,
					  .since = seen->since,
					  .link = seen->link };
		struct step_event ev = { .type = STEP_ASK, .wish = &wish };

		if (!seen->link || one_in(s, 4))
			continue;
		ev.what = adopter_of(s, h, i);
		if (!(h->serves >> ev.what & 1) || move_state(&h->move) != MOVE_IDLE)
			continue;
		move_step(&h->move, &ev, now, out);
		if (move_state(&h->move) != MOVE_IDLE)
			return true;
	}
	return false;
}
