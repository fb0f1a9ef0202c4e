// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schedule: draws a cluster and its faults from a seed, runs the protocol of move.h on the hosts of
 * a world (world.h), and records what was executed in a history (history.h), which checks it. vt.c
 * runs many schedules.
 */
#include <stddef.h>
#include <string.h>

#include "src/shared/lease.h"
#include "tests/shared/schedule_priv.h"

static const char *const kind_names[SCHEDULE_KINDS] = { "calm",	     "death",	 "storm",
							"views",     "handover", "unseen",
							"newcomers", "restarts", "decides" };

const char *schedule_kind_name(enum schedule_kind k)
{
	return kind_names[k];
}

/* --- loads --------------------------------------------------------------------- */

static void set_load(struct schedule *s, uint32_t i, uint32_t load)
{
	if ((s->load[i] == HIGH) != (load == HIGH))
		schedule_record(s, (struct history_record){ .type = load == HIGH ? HISTORY_HIGH
										 : HISTORY_LOW,
							    .service = id_of(i) });
	s->load[i] = load;
}

static bool any_high(const struct schedule *s)
{
	for (uint32_t i = 0; i < s->services; i++)
		if (s->load[i] == HIGH)
			return true;
	return false;
}

int64_t schedule_break_ns(const struct schedule *s)
{
	int64_t act = HOLD_NS + DEADLINE_NS;

	return act + act * 3 * s->conf.drift_ppm / 1000000 + 2;
}

/* Is there a node to spare for service i, while no other load is high? */
static bool has_donor(const struct schedule *s, uint32_t i)
{
	for (uint32_t d = 0; d < s->services; d++)
		if (d != i && s->load[d] == LOW &&
		    history_count(&s->h, id_of(d)) > s->h.conf.minimum[id_of(d)])
			return true;
	return false;
}

/*
 * The time by which a high load must have made a move, without faults: T, fresh locks, other moves.
 */
static int64_t patience(const struct schedule *s)
{
	return (CHECKS + 10) * CHECK_NS + 6 * schedule_break_ns(s);
}

static void high_begins(struct schedule *s, uint32_t i)
{
	int64_t lasts = between(s, CHECK_NS, (CHECKS + 6) * CHECK_NS);

	if (s->load[i] == HIGH)
		return;
	/* Between two high loads all balancers see a low one. */
	if ((s->kind == SCHEDULE_CALM && any_high(s)) ||
	    (s->kind != SCHEDULE_RESTARTS &&
	     s->w.now - s->h.service[id_of(i)].low_since < 3 * CHECK_NS)) {
		world_timer(&s->w, s->w.now + CHECK_NS, TIMER_HIGH + i);
		return;
	}
	s->event[i]++;
	set_load(s, i, HIGH);
	if (has_death(s))
		return; /* for good */
	if (s->kind == SCHEDULE_CALM && !one_in(s, 4)) {
		lasts = patience(s);
		world_timer(&s->w, s->w.now + lasts, TIMER_DUE + i + 16 * (s->event[i] & 15));
	}
	world_timer(&s->w, s->w.now + lasts + 1, TIMER_LOW + i + 16 * (s->event[i] & 15));
}

static void high_ends(struct schedule *s, uint32_t i, uint32_t event)
{
	if (s->load[i] != HIGH || (s->event[i] & 15) != event)
		return;
	set_load(s, i, LOW);
	world_timer(&s->w, s->w.now + between(s, 3 * CHECK_NS, 12 * CHECK_NS),
		    TIMER_HIGH + (uint32_t)between(s, 0, s->services - 1));
}

/*
 * RESTARTS: the new node's service is the next donor, mostly before its host has saved the move, or
 * right after that. Its host restarts, at first or when the next node was moved, too.
 */
static void moved_on(struct schedule *s, uint32_t i, uint16_t host)
{
	set_load(s, i, LOW);
	high_begins(s, (i + (uint32_t)between(s, 1, s->services - 1)) % s->services);
	if (!one_in(s, 4))
		world_timer(&s->w, s->w.now + between(s, 0, (one_in(s, 4) ? 1 : 12) * CHECK_NS),
			    TIMER_RESTART + host);
}

/* A node of host went to service i: its load falls after a while. */
static void relieved(struct schedule *s, uint32_t i, uint16_t host)
{
	if (has_death(s))
		return;
	if (s->kind == SCHEDULE_RESTARTS && !s->quiet) {
		moved_on(s, i, host);
		return;
	}
	world_timer(&s->w, s->w.now + between(s, 0, CHECK_NS * 3 / 2),
		    TIMER_LOW + i + 16 * (s->event[i] & 15));
}

/* --- a host's process ------------------------------------------------------------ */

static void boot(void *ctx, uint16_t host, uint64_t generation, struct mono now)
{
	struct schedule *s = ctx;
	struct schedule_host *h = &s->host[host];
	struct move_conf c = s->conf;

	c.self = host;
	c.seed = world_random(&s->w);
	move_init(&h->move, &c, &h->in, h->lock, h->counter);
	memset(h->seen, 0, sizeof(h->seen));
	if (s->kind == SCHEDULE_DECIDES)
		decide_boot(s, h, now);
	h->next_check = mono_add(now, between(s, 0, CHECK_NS));
	schedule_record(s, (struct history_record){
				   .type = HISTORY_BOOT, .host = host, .value = generation });
	for (uint32_t i = 1; i <= s->services; i++) {
		uint64_t word = region_word(0, region_seq((uint32_t)generation, 0));

		*world_word(&s->w, host, region_lock_offset(i)) = word;
		schedule_record(s, (struct history_record){ .type = HISTORY_WORD,
							    .host = host,
							    .offset = region_lock_offset(i),
							    .now = word });
	}
	schedule_begin_words(s, host);
	schedule_record(s, (struct history_record){ .type = HISTORY_BEGUN, .host = host });
}

/* What a balancer has read of all nodes; some values are old. */
static void scan(struct schedule *s, struct schedule_host *h, struct mono now)
{
	for (uint32_t i = 0; i < h->in.nodes; i++) {
		struct move_node *n = &h->in.node[i];
		uint16_t service;

		if (s->kind != SCHEDULE_CALM && one_in(s, 8))
			continue;
		n->word = *world_word(&s->w, n->host, region_node_offset(n->node));
		schedule_see_node(s, h, i, now);
		service = region_word_id(n->word);
		n->load = service >= 1 && service <= s->services
				  ? s->load[service - 1] + (uint32_t)(world_random(&s->w) % 5)
				  : 0;
		/* It is the daemon that died, not its nodes: a donor stays one. */
		n->alive = has_death(s) || s->w.host[n->host].up;
	}
}

/* A node of donor, by the last scan; any node if it has none. */
static uint32_t node_of(struct schedule *s, const struct schedule_host *h, uint32_t donor)
{
	uint32_t first = (uint32_t)between(s, 0, (int64_t)h->in.nodes - 1);

	for (uint32_t k = 0; k < h->in.nodes; k++) {
		uint32_t i = (first + k) % h->in.nodes;

		if (region_word_id(h->in.node[i].word) == id_of(donor))
			return i;
	}
	return first;
}

/*
 * What decide.h would wish for. Where the history knows of no moves but those for load, or of a
 * bound on delays, the donor is the one that the move would take too. Otherwise any, and some
 * wishes are wrong: of another service's node, of none, against a donor that has none to spare.
 */
static struct move_wish draw_wish(struct schedule *s, struct schedule_host *h, uint32_t i,
				  enum move_for why)
{
	struct move_wish wish = { .why = why, .donor = h->move.donor };
	bool busy = h->move.result == MOVE_BUSY && h->move.service == i &&
		    move_gives(&h->in, &h->move.members, i, wish.donor);

	if (!has_death(s) && !busy && one_in(s, 2))
		wish.donor = (uint32_t)between(s, 0, (int64_t)s->services - 1);
	else if (!busy && move_donor(&h->in, &h->move.members, i, &wish.donor) < 0)
		wish.donor = s->services;
	wish.node = wish.donor < s->services ? node_of(s, h, wish.donor) : 0;
	if (!has_death(s) && one_in(s, 8))
		wish.node = (uint32_t)between(s, 0, h->in.nodes);
	return wish;
}

/* A third of the moves are wished for. */
static void ask(struct schedule *s, struct schedule_host *h, uint32_t i, enum move_for why,
		struct mono now, struct step_out *out)
{
	struct move_wish wish = draw_wish(s, h, i, why);
	struct step_event ev = { .type = STEP_ASK, .what = i };

	if (why == MOVE_FOR_ORDER || one_in(s, 3))
		ev.wish = &wish;
	move_step(&h->move, &ev, now, out);
}

/* Home, or an operator: whatever the load is. The promises of the other kinds are about load. */
static bool is_ordered(struct schedule *s)
{
	return s->kind != SCHEDULE_CALM && !has_death(s) && !s->quiet && one_in(s, 16);
}

static void check_load(struct schedule *s, struct schedule_host *h, struct mono now,
		       struct step_out *out)
{
	bool asked;

	scan(s, h, now);
	h->next_check = mono_add(now, CHECK_NS);
	if (s->kind == SCHEDULE_DECIDES) {
		decide_check(s, h, now, out);
		return;
	}
	asked = schedule_adopt(s, h, now, out);
	h->turn++;
	for (uint32_t k = 0; k < s->services; k++) {
		uint32_t i = (k + h->turn) % s->services;

		if (!(h->serves >> i & 1))
			continue;
		counter_check(&h->counter[i], s->load[i] == HIGH);
		if (asked || h->comes_later || move_state(&h->move) != MOVE_IDLE)
			continue;
		if (counter_high_for_t(&h->counter[i]))
			ask(s, h, i, MOVE_FOR_LOAD, now, out);
		else if (is_ordered(s))
			ask(s, h, i, MOVE_FOR_ORDER, now, out);
		else
			continue;
		asked = true;
	}
}

static uint64_t may_of(const struct schedule *s, uint16_t host, uint32_t i)
{
	return s->h.process[host][s->w.host[host].boot % HISTORY_PAST].may[id_of(i)];
}

static bool may_changed(const struct schedule *s, uint16_t host)
{
	for (uint32_t i = 0; i < s->services; i++)
		if (lock_may_act(&s->host[host].lock[i], world_clock(&s->w, host), 0) !=
		    (may_of(s, host, i) != 0))
			return true;
	return false;
}

/* Record first which leases ended by other hosts' clocks, then the one that this host begins. */
static void record_leases(struct schedule *s, uint16_t host)
{
	for (uint16_t i = 0; i < s->services; i++) {
		for (uint16_t o = 1; o <= s->hosts; o++) {
			/* In this order the host itself is last. */
			uint16_t holder = (uint16_t)((o + host - 1u) % s->hosts + 1);
			bool may = s->w.host[holder].up &&
				   lock_may_act(&s->host[holder].lock[i],
						world_clock(&s->w, holder), 0);
			/* Of different views, the fences decide, not the clocks. */
			uint64_t now = may ? s->host[holder].lock[i].view + 1 : 0;
			uint64_t was = may_of(s, holder, i);

			if (now != was && (holder == host || !may))
				schedule_record(s, (struct history_record){ .type = HISTORY_MAY,
									    .host = holder,
									    .service = id_of(i),
									    .value = now });
		}
	}
}

static void step_keep(struct schedule *s, uint16_t host, const struct step_event *ev,
		      struct mono now, struct step_out *out)
{
	struct step_event mine = *ev;

	mine.what -= ev->type == STEP_ASK ? SCHEDULE_ASK_KEEP : 0;
	keep_step(&s->host[host].keep, &mine, now, out);
	schedule_await_saved(s, host);
}

static void step(void *ctx, uint16_t host, const struct step_event *ev, struct mono now,
		 struct step_out *out)
{
	struct schedule *s = ctx;
	struct schedule_host *h = &s->host[host];
	bool keeps = ev->type == STEP_ASK && ev->what >= SCHEDULE_ASK_KEEP;

	if (s->h.conf.nodes[host] && (keeps || ev->type != STEP_ASK))
		step_keep(s, host, ev, now, out);
	if (keeps || !h->serves)
		return;
	if (ev->type == STEP_VIEW)
		schedule_record(s, (struct history_record){ .type = HISTORY_VIEW,
							    .host = host,
							    .service = ev->quorate,
							    .old = ev->view,
							    .value = ev->members.word[0] });
	move_step(&h->move, ev, now, out);
	if (mono_sub(now, h->next_check) >= 0)
		check_load(s, h, now, out);
	if (may_changed(s, host))
		record_leases(s, host);
}

static struct mono due(void *ctx, uint16_t host)
{
	struct schedule_host *h = &((struct schedule *)ctx)->host[host];
	struct mono d = { INT64_MAX };

	if (h->keep.conf.nodes)
		d = keep_due(&h->keep);
	if (h->serves)
		d = mono_earlier(d, mono_earlier(move_due(&h->move), h->next_check));
	return d;
}

/* --- notices of the world ----------------------------------------------------------- */

/* NEWCOMERS: one of the hosts that have not come yet comes within so long. */
static void next_comes(struct schedule *s, int64_t within)
{
	for (uint16_t h = 1; h <= s->hosts; h++) {
		if (!s->host[h].comes_later || s->host[h].comes)
			continue;
		s->host[h].comes = true;
		world_timer(&s->w, s->w.now + between(s, 0, within), TIMER_COME + h);
		return;
	}
}

static void come(struct schedule *s, uint16_t host)
{
	s->host[host].comes_later = false;
	world_ask(&s->w, host, 0);
}

/*
 * NEWCOMERS: the only balancer of the last service dies when it holds the lock of its donor, the
 * second service. That is the second lock of all hosts that want a node for the first one.
 * Newcomers begin at bad times: right before it acquires that lock, which they see free, and when
 * the first lock was just released, before others look again.
 */
static void newcomers(struct schedule *s, const struct world_effect *e)
{
	uint32_t i = e->offset / 8;
	bool victims = e->poster == s->victim && i == 2 && !s->struck;

	if (victims && e->now == e->old && one_in(s, 2))
		next_comes(s, 4 * s->w.conf.delay_max);
	if (victims && e->now != e->old && region_word_id(e->now) == e->poster) {
		s->struck = true;
		world_timer(&s->w, s->w.now + between(s, 0, NS_PER_MS / 4), TIMER_VICTIM);
	}
	if (s->struck && i == 1 && e->now != e->old && region_word_id(e->now) == 0)
		next_comes(s, NS_PER_MS / 2);
}

/* DEATH: of the host that acquired the lock of the loaded service. */
static void choose_victim(struct schedule *s, const struct world_effect *e)
{
	uint32_t i = e->offset / 8;

	if (s->kind != SCHEDULE_DEATH || s->victim || i < 1 || i > s->services ||
	    s->load[i - 1] != HIGH || e->poster == 1 || region_word_id(e->now) != e->poster ||
	    --s->victim_in > 0)
		return;
	s->victim = e->poster;
	world_timer(&s->w, s->w.now + between(s, 0, HOLD_NS / 2), TIMER_VICTIM);
}

static void effect(void *ctx, const struct world_effect *e)
{
	struct schedule *s = ctx;
	struct history_record r = { .t = e->t,
				    .type = HISTORY_EFFECT,
				    .host = e->poster,
				    .target = e->op->host,
				    .op = e->op->kind,
				    .boot = e->boot,
				    .offset = e->offset,
				    .compare = e->op->compare,
				    .old = e->old,
				    .now = e->now,
				    .value = (uint64_t)e->posted };
	uint64_t moves = s->h.moves;

	history_add(&s->h, &r);
	if (s->h.moves > moves && !s->h.violation)
		relieved(s, region_word_id(e->now) - 1u, e->op->host);
	if (e->offset >= REGION_COUNTERS)
		return;
	if (s->kind == SCHEDULE_NEWCOMERS)
		newcomers(s, e);
	else if (e->now != e->old)
		choose_victim(s, e);
}

static void result(void *ctx, const struct world_effect *e)
{
	struct schedule *s = ctx;

	if (e->offset < REGION_NODE_WORDS || e->offset >= REGION_ACKS)
		return;
	history_add(&s->h, &(struct history_record){ .t = s->w.now,
						     .type = HISTORY_SEEN,
						     .host = e->poster,
						     .target = e->op->host,
						     .boot = e->boot,
						     .offset = e->offset,
						     .now = e->now,
						     .value = (uint64_t)e->t });
}

static void new_view(struct schedule *s, uint64_t members)
{
	uint32_t n = (uint32_t)__builtin_popcountll(members);

	s->members = members;
	s->view++;
	for (uint16_t h = 1; h <= s->hosts; h++) {
		bool in = members >> (h - 1) & 1;

		/* Some hosts get the view long after others have decided by it. */
		int64_t within = s->kind == SCHEDULE_HANDOVER && one_in(s, 3) ? 6 * HOLD_NS
									      : HOLD_NS;

		/* A minority sees itself, as a view of its own. */
		world_view(&s->w, h, s->view, in ? members : 1ull << (h - 1),
			   in && 2 * n > s->hosts && s->view <= REGION_EPOCH_MAX, within);
	}
}

/*
 * UNSEEN: poster has posted an operation to target that will be late. Some other hosts do not
 * reach target for a while, or target refuses sweeps: the next holder's sweep misses its nodes, and
 * the holder after that sees them again.
 */
static void hide(struct schedule *s, uint16_t poster, uint16_t target)
{
	int64_t lasts = HOLD_NS + DEADLINE_NS;

	if (one_in(s, 2)) {
		s->w.conf.unswept = target;
		s->w.conf.unswept_in = (uint32_t)between(s, 1, 2);
		return;
	}
	lasts = between(s, lasts, lasts + s->w.conf.late_min);
	for (uint16_t b = 1; b <= s->hosts; b++)
		if (b != poster && b != target && !one_in(s, 4))
			world_cut(&s->w, b, target, lasts);
}

/*
 * Poster is late with a move. Hosts whose nodes it may have counted restart, and may lose them. No
 * host wants a lock but to adopt these: a sweep would stop what is late.
 */
static void lose(struct schedule *s, uint16_t poster)
{
	for (uint16_t h = 2; h <= s->hosts; h++)
		if (h != poster && one_in(s, 2))
			world_timer(&s->w, s->w.now + between(s, 0, 4 * s->w.conf.delay_max),
				    TIMER_RESTART + h);
	for (uint32_t i = 0; i < s->services; i++)
		set_load(s, i, LOW);
	world_timer(&s->w, s->w.now + between(s, 4 * CHECK_NS, 16 * CHECK_NS),
		    TIMER_HIGH + (uint32_t)between(s, 0, s->services - 1));
}

static void notice(void *ctx, enum world_notice what, uint16_t host, uint64_t value)
{
	struct schedule *s = ctx;
	uint64_t bit = 1ull << (host - 1);

	if (what == NOTICE_CRASH)
		schedule_record(s, (struct history_record){ .type = HISTORY_CRASH, .host = host });
	else if (what == NOTICE_PAUSE)
		schedule_record(s, (struct history_record){
					   .type = HISTORY_PAUSE,
					   .host = host,
					   .value = value > (uint64_t)CHECK_NS ? value : 0 });
	else if (what != NOTICE_BOOT)
		schedule_record(s, (struct history_record){ .type = HISTORY_NOTE,
							    .host = host,
							    .service = (uint16_t)what,
							    .value = value });
	if (what == NOTICE_LATE && s->kind == SCHEDULE_UNSEEN)
		hide(s, host, (uint16_t)value);
	if (s->loss && !s->quiet && what == NOTICE_PAUSE)
		lose(s, host);
	if (!s->dynamic || !s->view)
		return;
	if (what == NOTICE_CRASH && !one_in(s, 3))
		new_view(s, s->members & ~bit);
	else if (what == NOTICE_BOOT && !(s->members & bit))
		new_view(s, s->members | bit);
}

/* --- troubles ------------------------------------------------------------------------ */

static void strike(struct schedule *s)
{
	if (one_in(s, 2))
		world_crash(&s->w, s->victim, one_in(s, 2) ? -1 : 4 * schedule_break_ns(s));
	else
		world_pause(&s->w, s->victim, 5 * schedule_break_ns(s));
	if (s->kind != SCHEDULE_NEWCOMERS)
		return;
	set_load(s, 2, MIDDLE);
	set_load(s, 0, HIGH);
	for (uint16_t h = 1; h <= s->hosts; h++) {
		if (!s->host[h].comes_later || s->host[h].comes || one_in(s, 2))
			continue;
		s->host[h].comes = true;
		world_timer(&s->w, s->w.now + between(s, 0, 2 * schedule_break_ns(s)),
			    TIMER_COME + h);
	}
}

/* VIEWS, HANDOVER: one or two hosts are cut off, or come back. */
static void trouble(struct schedule *s)
{
	uint64_t all = (1ull << s->hosts) - 1;
	uint16_t a = (uint16_t)(s->kind == SCHEDULE_HANDOVER && one_in(s, 2)
					? (uint32_t)__builtin_ctzll(s->members) + 1u
					: (uint32_t)between(s, 1, s->hosts));
	int64_t lasts = between(s, DEADLINE_NS, 4 * HOLD_NS);
	bool cut = one_in(s, 2);

	if (s->quiet)
		return;
	if (s->members != all) {
		new_view(s, all);
	} else {
		/* Membership may be wrong, too: nothing is cut. */
		for (uint16_t b = 1; cut && b <= s->hosts && !one_in(s, 3); b++)
			world_cut(&s->w, a, b, lasts);
		new_view(s, all & ~(1ull << (a - 1)));
	}
	world_timer(&s->w, s->w.now + between(s, DEADLINE_NS, 3 * HOLD_NS), TIMER_TROUBLE);
}

/* An operator breaks a lock by force, if the one that it looks at is held. */
static void break_by_force(struct schedule *s)
{
	uint16_t home = (uint16_t)between(s, 1, s->hosts);
	uint32_t offset =
		region_lock_offset(id_of((uint32_t)between(s, 0, (int64_t)s->services - 1)));
	uint64_t *word;

	if (!s->dynamic)
		home = 1;
	word = world_word(&s->w, home, offset);
	if (s->quiet)
		return;
	if (s->w.host[home].up && region_word_id(*word) && region_word_id(*word) <= s->hosts) {
		schedule_record(s, (struct history_record){ .type = HISTORY_EFFECT,
							    .host = HISTORY_OPERATOR,
							    .target = home,
							    .op = STEP_CAS,
							    .offset = offset,
							    .compare = *word,
							    .old = *word,
							    .now = lease_broken_word(*word) });
		*word = lease_broken_word(*word);
	}
	world_timer(&s->w, s->w.now + between(s, 0, 2 * CHECK_NS), TIMER_OPERATOR);
}

/* No more faults from now on: all hosts and links work. One load stays high. */
static void heal(struct schedule *s)
{
	s->quiet = true;
	for (uint16_t h = 1; h <= s->hosts; h++)
		world_revive(&s->w, h);
	if (s->dynamic && s->members != (1ull << s->hosts) - 1)
		new_view(s, (1ull << s->hosts) - 1);
	world_timer(&s->w, s->w.now + 7 * HOLD_NS, TIMER_HEAL + 1);
}

static void last_load(struct schedule *s)
{
	uint32_t i = (uint32_t)between(s, 0, s->services - 1);

	for (uint32_t k = 0; k < s->services; k++)
		set_load(s, k, LOW);
	if (!has_donor(s, i))
		return;
	if (s->kind == SCHEDULE_DECIDES)
		decide_last(s);
	s->event[i]++;
	set_load(s, i, HIGH);
	s->moves_before = s->h.moves;
	world_timer(&s->w, s->w.now + patience(s), TIMER_DUE + i + 16 * (s->event[i] & 15));
}

/* A view above the last epoch decides nothing; a host does not start after the last generation. */
static bool are_epochs_used_up(const struct schedule *s)
{
	for (uint32_t h = 1; h <= s->hosts; h++)
		if (s->w.host[h].generation == REGION_EPOCH_MAX)
			return true;
	return s->view > REGION_EPOCH_MAX;
}

static void must_have_moved(struct schedule *s, uint32_t i, uint32_t event)
{
	if (s->load[i] == HIGH && (s->event[i] & 15) == event && !s->h.service[id_of(i)].moves &&
	    has_donor(s, i) && !are_epochs_used_up(s))
		history_fail(&s->h, HISTORY_MISSED,
			     "the load of service %u was high for %lld ms, and no node was moved",
			     id_of(i), (long long)patience(s) / NS_PER_MS);
}

static void timer(void *ctx, uint32_t what)
{
	struct schedule *s = ctx;
	uint32_t i = what & 0xf;

	switch (what & 0xf00) {
	case TIMER_HIGH:
		return s->quiet ? (void)0 : high_begins(s, i);
	case TIMER_LOW:
		return high_ends(s, i, what >> 4 & 0xf);
	case TIMER_VICTIM:
		return strike(s);
	case TIMER_TROUBLE:
		return trouble(s);
	case TIMER_COME:
		return come(s, (uint16_t)i);
	case TIMER_OPERATOR:
		return break_by_force(s);
	case TIMER_DURABLE:
		return schedule_durable(s, (uint16_t)i);
	case TIMER_SAVED:
		return schedule_saved(s, (uint16_t)i);
	case TIMER_RESTART:
		return s->quiet ? (void)0
				: world_crash(&s->w, (uint16_t)i,
					      between(s, 0, (s->loss ? 1 : 8) * CHECK_NS / 4));
	case TIMER_HEAL:
		return i ? last_load(s) : heal(s);
	default:
		return must_have_moved(s, i, what >> 4 & 0xf);
	}
}

/* --- a whole run ----------------------------------------------------------------------- */

/*
 * Which service adopts a node is drawn, and the sweep of one adoption makes the CAS of another one
 * fail: they get some more time.
 */
static void must_adopt(struct schedule *s, int64_t t)
{
	int64_t end = t + 8 * patience(s);

	if (!s->quiet || are_epochs_used_up(s))
		return;
	for (; history_count(&s->h, 0) && !s->h.violation && !s->w.broken && t <= end;
	     t += CHECK_NS)
		world_run(&s->w, t);
	if (history_count(&s->h, 0))
		history_fail(&s->h, HISTORY_MISSED, "%u nodes are in no service for good",
			     history_count(&s->h, 0));
}

/* NEWCOMERS: a host that met the dead holder's lock goes on wanting it. */
static void must_have_had(struct schedule *s)
{
	const struct history_service *x = &s->h.service[id_of(1)];

	if (x->stuck_since && x->met && s->w.now - x->met > s->h.conf.delay_ns)
		history_fail(&s->h, HISTORY_DELAY, "lock %u of a dead holder is not had at all",
			     id_of(1));
}

bool schedule_run(struct schedule *s, uint64_t seed, const struct schedule_options *o)
{
	struct world_actor a = { boot, step, due, effect, result, notice, timer, s, NULL };
	struct world_conf c;
	int64_t end;

	schedule_draw(s, seed, o);
	c = s->w.conf;
	world_init(&s->w, &c, &a, s->w.rng);
	world_start(&s->w, s->view, s->members);
	if (s->kind == SCHEDULE_NEWCOMERS) {
		world_timer(&s->w, between(s, 0, 4 * CHECK_NS), TIMER_HIGH + 2);
		world_timer(&s->w, between(s, 0, 20 * CHECK_NS), TIMER_HIGH + 0);
	} else {
		world_timer(&s->w, between(s, 0, 4 * CHECK_NS),
			    TIMER_HIGH + (uint32_t)between(s, 0, s->services - 1));
	}
	if (!has_death(s) && one_in(s, 2))
		world_timer(&s->w, between(s, 0, 10 * CHECK_NS),
			    TIMER_HIGH + (uint32_t)between(s, 0, s->services - 1));
	if (s->dynamic)
		world_timer(&s->w, between(s, 2 * HOLD_NS, 8 * HOLD_NS), TIMER_TROUBLE);
	if (!has_death(s) && s->kind != SCHEDULE_CALM && one_in(s, 4))
		world_timer(&s->w, between(s, 0, 10 * CHECK_NS), TIMER_OPERATOR);
	end = c.faults_until;
	if (s->kind == SCHEDULE_STORM || s->kind == SCHEDULE_UNSEEN ||
	    s->kind == SCHEDULE_RESTARTS || s->kind == SCHEDULE_DECIDES || s->dynamic) {
		world_timer(&s->w, c.faults_until, TIMER_HEAL);
		end += 7 * HOLD_NS + patience(s) + 4 * CHECK_NS;
	}
	for (int64_t t = 0; t <= end && !s->h.violation && !s->w.broken; t += CHECK_NS)
		world_run(&s->w, t);
	if (s->kind == SCHEDULE_NEWCOMERS)
		must_have_had(s);
	must_adopt(s, end);
	if (s->w.broken)
		history_fail(&s->h, HISTORY_WORLD, "%s", s->w.broken);
	return !s->h.violation;
}
