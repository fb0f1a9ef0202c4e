// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_world_sends: messages, and words of the user's, in the virtual network. Each host sends
 * numbers to the others, and READs a word of theirs that counts what came to it.
 */
#include <string.h>

#include "tests/shared/world.h"
#include "tests/unit/prop.h"

enum { HOSTS = 3, SENDS = 1024, ROUNDS = 200, AT = 8 };

enum came { NOT_YET, CAME, DONE, NEVER, UNKNOWN };

struct sent {
	uint16_t host, target;
	uint32_t boot, target_boot; /* when it was sent */
	enum came came, outcome;
};

struct rig {
	struct world *w;
	struct sent sent[SENDS];
	uint32_t data[SENDS]; /* the message of each: its number */
	uint32_t n;
	uint64_t count[HOSTS + 1]; /* the word of each host */
	uint64_t read;		   /* READs that returned it */
	struct mono due[HOSTS + 1];
	uint32_t last[HOSTS + 1][HOSTS + 1];
	uint32_t late, lost;
	const char *wrong;
};

static void boot(void *ctx, uint16_t host, uint64_t generation, struct mono now)
{
	struct rig *r = ctx;

	(void)generation;
	r->due[host] = now;
	r->count[host] = 0;
}

static uint64_t *word(void *ctx, uint16_t host, enum step_part part, uint32_t offset)
{
	struct rig *r = ctx;

	return part == STEP_VERSIONS && offset == AT ? &r->count[host] : NULL;
}

static void hears(struct rig *r, uint16_t host, const struct step_event *ev)
{
	struct sent *s;
	uint32_t n;

	memcpy(&n, ev->message, sizeof(n));
	s = &r->sent[n];
	if (ev->len != sizeof(n) || n >= r->n || s->host != ev->host || s->target != host)
		r->wrong = "a message came to another host, or with other contents";
	if (s->came != NOT_YET)
		r->wrong = "a message came twice";
	if (s->outcome == NEVER)
		r->wrong = "a message came that was LOST or REFUSED";
	if (n < r->last[ev->host][host] && r->sent[r->last[ev->host][host]].boot == s->boot)
		r->wrong = "messages of one host came in another order";
	r->last[ev->host][host] = n;
	r->late += s->outcome == UNKNOWN;
	s->came = CAME;
	r->count[host]++;
}

static void result(struct rig *r, const struct step_event *ev)
{
	struct sent *s = &r->sent[ev->tag % SENDS];

	if (ev->tag >= SENDS) { /* a READ of three words; one is there */
		if (ev->outcome == STEP_DONE && (ev->words != 3 || ev->data[0] || ev->data[2]))
			r->wrong = "a READ returned words that are not there";
		r->read += ev->outcome == STEP_DONE && ev->data[1] > 0;
		return;
	}
	s->outcome = ev->outcome == STEP_DONE	   ? DONE
		     : ev->outcome == STEP_UNKNOWN ? UNKNOWN
						   : NEVER;
	r->lost += s->outcome == NEVER;
	if (s->outcome == NEVER && s->came == CAME)
		r->wrong = "a message was LOST or REFUSED, but it came";
}

static void posts(struct rig *r, uint16_t host, struct mono now, struct step_out *out)
{
	uint16_t target = (uint16_t)world_between(r->w, 1, HOSTS);

	r->due[host] = mono_add(now, NS_PER_MS);
	if (r->n == SENDS)
		return;
	r->data[r->n] = r->n;
	r->sent[r->n] = (struct sent){ .host = host,
				       .target = target,
				       .boot = r->w->host[host].boot,
				       .target_boot = r->w->host[target].boot };
	out->op[out->n++] = (struct step_op){ .kind = STEP_SEND,
					      .host = target,
					      .len = sizeof(r->data[0]),
					      .data = &r->data[r->n],
					      .tag = r->n };
	r->n++;
	out->op[out->n++] = (struct step_op){ .kind = STEP_READ,
					      .part = STEP_VERSIONS,
					      .host = target,
					      .len = 24,
					      .allowed_ns = 3 * NS_PER_MS,
					      .tag = SENDS };
}

static void step(void *ctx, uint16_t host, const struct step_event *ev, struct mono now,
		 struct step_out *out)
{
	struct rig *r = ctx;

	if (ev->type == STEP_MESSAGE)
		hears(r, host, ev);
	else if (ev->type == STEP_RESULT)
		result(r, ev);
	if (now.ns >= r->due[host].ns)
		posts(r, host, now, out);
}

static struct mono due(void *ctx, uint16_t host)
{
	return ((struct rig *)ctx)->due[host];
}

static void effect(void *ctx, const struct world_effect *e)
{
	(void)ctx;
	(void)e;
}

static void notice(void *ctx, enum world_notice what, uint16_t host, uint64_t value)
{
	(void)ctx;
	(void)what;
	(void)host;
	(void)value;
}

static void timer(void *ctx, uint32_t what)
{
	(void)ctx;
	(void)what;
}

static const struct world_conf faulty = {
	.hosts = HOSTS,
	.delay_min = 20 * NS_PER_US,
	.delay_max = NS_PER_MS,
	.deadline = 8 * NS_PER_MS,
	.tick_late = NS_PER_MS,
	.lease = 30 * NS_PER_MS,
	.faults_until = 200 * NS_PER_MS,
	.fault_in = 10,
	.faults_max = 8,
	.weight = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
	.restarts = true,
};

static struct world world;
static struct rig rig;

static void run(const struct world_conf *c, uint64_t seed)
{
	static const struct world_actor a = { boot,   step,  due,  effect, effect,
					      notice, timer, &rig, word };

	memset(&rig, 0, sizeof(rig));
	rig.w = &world;
	world_init(&world, c, &a, seed);
	world_start(&world, 0, 0);
	world_run(&world, 900 * NS_PER_MS);
}

TEST(message__any_faults__comes_once_in_order_or_never)
{
	struct prop p;
	uint32_t late = 0, lost = 0, read = 0;

	prop_start(&p);
	for (int i = 0; i < ROUNDS; i++) {
		run(&faulty, prop_u64(&p));
		if (rig.wrong || world.broken)
			print_error("%s\n", rig.wrong ? rig.wrong : world.broken);
		prop_assert(&p, i, !rig.wrong && !world.broken);
		for (uint32_t k = 0; k < rig.n; k++) {
			const struct sent *s = &rig.sent[k];

			prop_assert(&p, i,
				    s->outcome != DONE || s->came == CAME ||
					    s->target_boot != world.host[s->target].boot);
		}
		late += rig.late;
		lost += rig.lost;
		read += rig.read > 0;
	}
	assert_true(late > 0 && lost > 0 && read > 0); /* or the above means little */
}

TEST(message__no_faults__comes)
{
	struct world_conf c = faulty;
	struct prop p;

	prop_start(&p);
	c.fault_in = 0;
	for (int i = 0; i < 20; i++) {
		uint32_t came = 0;

		run(&c, prop_u64(&p));
		prop_assert(&p, i, !rig.wrong && !world.broken);
		for (uint32_t k = 0; k < rig.n; k++)
			came += rig.sent[k].came == CAME;
		/* Only those from before the first links were up are lost. */
		prop_assert(&p, i, rig.n == SENDS && came + 30 > SENDS);
	}
}

TEST(link__cut_one_way__the_other_goes_on)
{
	static const struct world_actor a = { boot,   step,  due,  effect, effect,
					      notice, timer, &rig, word };
	struct world_conf c = faulty;
	uint32_t there = 0, back = 0;

	c.fault_in = 0;
	memset(&rig, 0, sizeof(rig));
	rig.w = &world;
	world_init(&world, &c, &a, 7);
	world_start(&world, 0, 0);
	world_run(&world, 20 * NS_PER_MS);
	world_cut_one(&world, 1, 2, 200 * NS_PER_MS);
	rig.last[1][2] = rig.last[2][1] = 0;
	world_run(&world, 21 * NS_PER_MS); /* what was on its way */
	there = rig.last[1][2];
	back = rig.last[2][1];
	world_run(&world, 150 * NS_PER_MS);
	assert_int_equal(rig.last[1][2], there);
	assert_true(rig.last[2][1] > back);
	assert_null(rig.wrong);
}
