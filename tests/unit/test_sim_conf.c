// SPDX-License-Identifier: GPL-2.0-or-later
/* sim/conf: every figure out of range is refused, and it is said which and where. */
#include <errno.h>
#include <string.h>

#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

/* One 32-bit or 64-bit field of the demo's host: its range, and where it stands. */
struct figure {
	const char *field;
	int guest, app, link;
	size_t at;
	int bytes;
	int64_t min, max;
};

#define HOST(f, lo, hi)                                                                            \
	{                                                                                          \
#f, -1, -1, -1, offsetof(struct sim_conf, f),                                      \
			(int)sizeof(((struct sim_conf *)0)->f), lo, hi                             \
	}
#define LINK(f, lo, hi)                                                                            \
	{                                                                                          \
#f, -1, -1, 0, offsetof(struct sim_conf, link[0].f),                               \
			(int)sizeof(((struct sim_conf *)0)->link[0].f), lo, hi                     \
	}
#define GUEST(f, lo, hi)                                                                           \
	{                                                                                          \
#f, BULK, -1, -1, offsetof(struct sim_conf, guest[BULK].f),                        \
			(int)sizeof(((struct sim_conf *)0)->guest[BULK].f), lo, hi                 \
	}
#define APP(g, f, lo, hi)                                                                          \
	{                                                                                          \
#f, g, 0, -1, offsetof(struct sim_conf, guest[g].app[0].f),                        \
			(int)sizeof(((struct sim_conf *)0)->guest[g].app[0].f), lo, hi             \
	}

static const struct figure figures[] = {
	HOST(guests, 0, 256),
	HOST(links, 1, 8),
	HOST(cap_period_ns, MS, S),
	HOST(sched, SIM_CREDIT2, SIM_CREDIT),
	LINK(bytes_s, 1 << 20, 1LL << 40),
	LINK(mtu, 1024, 4096),
	GUEST(vcpus, 1, 4096),
	GUEST(weight, 1, 65535),
	GUEST(cap, 0, 100),
	GUEST(link, 0, 0),
	GUEST(apps, 0, 4),
	APP(BULK, kind, SIM_APP_IDLE, SIM_APP_BURNER),
	APP(BULK, op, OP_SEND, OP_READ),
	APP(BULK, qps, 1, 64),
	APP(BULK, msg_bytes, 1, 16 << 20),
	APP(BULK, depth, 1, 1024),
	APP(BULK, path_mtu, 256, 1024), /* the link's is 1024 */
	APP(BULK, rate, 0, 10000000),
	APP(BULK, post_ns, 100, S),
	APP(BULK, start_ns, 0, 1000000 * S),
	APP(BULK, stop_ns, 0, 1000000 * S),
	APP(SERVER, depth, 1, 1024),
	APP(SERVER, compute_ns, 0, S),
	APP(SERVER, clients, 1, 64),
	APP(SERVER, report, 0, 1000000),
	APP(SERVER, report_stop_ns, 0, 1000000 * S),
};

static struct sim_conf with(const struct figure *f, int64_t v)
{
	uint32_t narrow = (uint32_t)v;
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].burst = 1;
	memcpy((uint8_t *)&c + f->at, f->bytes == 4 ? (const void *)&narrow : (const void *)&v,
	       (size_t)f->bytes);
	return c;
}

/* The demo has two guests and one link described: more of them need figures of their own. */
static bool may_be_all(const struct figure *f)
{
	return strcmp(f->field, "guests") != 0 && strcmp(f->field, "links") != 0 &&
	       strcmp(f->field, "apps") != 0 && strcmp(f->field, "kind") != 0;
}

TEST(figure__at_either_end__is_taken)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		struct sim_conf least = with(&figures[i], figures[i].min);
		struct sim_conf most = with(&figures[i], figures[i].max);

		if (!may_be_all(&figures[i]))
			continue;
		print_message("%s\n", figures[i].field);
		assert_int_equal(sim_conf_check(&least, NULL), 0);
		assert_int_equal(sim_conf_check(&most, NULL), 0);
	}
}

static void assert_refused(const struct figure *f, int64_t v)
{
	struct sim_conf c = with(f, v);
	struct sim_conf_error e;
	struct sim_host *h = NULL;

	memset(&e, 0xee, sizeof(e));
	print_message("%s %lld\n", f->field, (long long)v);
	assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
	assert_string_equal(e.field, f->field);
	assert_int_equal(e.guest, f->guest);
	assert_int_equal(e.app, f->app);
	assert_int_equal(e.link, f->link);
	assert_true(strlen(e.range) > 3);
	assert_int_equal(sim_open(&h, &c, (struct mono){ 0 }), -EINVAL);
	assert_null(h);
}

TEST(figure__beyond_either_end__is_refused_by_name)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		/* Unsigned fields turn -1 into their largest value. */
		assert_refused(&figures[i], figures[i].min - 1);
		assert_refused(&figures[i], figures[i].max + 1);
	}
}

TEST(range__of_a_number__is_told)
{
	struct sim_conf_error e;
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].qps = 65;
	assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
	assert_string_equal(e.range, "1 .. 64");
	c.guest[BULK].app[0].qps = 1;
	c.guest[BULK].app[0].path_mtu = 2048;
	assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
	assert_string_equal(e.range, "256, 512, 1024, 2048 or 4096; at most 1024");
}

TEST(burst__is_looked_at_in_open_loop_only)
{
	struct sim_conf_error e;
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].burst = 1025;
	assert_int_equal(sim_conf_check(&c, &e), 0);
	c.guest[BULK].app[0].rate = 1000;
	assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
	assert_string_equal(e.field, "burst");
	c.guest[BULK].app[0].burst = 1024;
	assert_int_equal(sim_conf_check(&c, &e), 0);
	c.guest[BULK].app[0].burst = 0;
	assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
}

TEST(rings__that_fill_the_registry__are_the_most_there_may_be)
{
	struct sim_conf_error e;
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guest[BULK].apps = SIM_APPS_MAX;
	for (uint32_t i = 0; i < SIM_APPS_MAX; i++) {
		c.guest[BULK].app[i] = c.guest[BULK].app[0];
		c.guest[BULK].app[i].qps = SIM_APP_QPS_MAX;
		c.guest[BULK].app[i].depth = 1023; /* 1024 slots */
	}
	assert_int_equal(sim_conf_check(&c, &e), 0);
	for (uint32_t i = 0; i < SIM_APPS_MAX; i++)
		c.guest[BULK].app[i].depth = 1024; /* 2048 slots */
	assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
	assert_string_equal(e.field, "depth");
	assert_int_equal(e.guest, BULK);
}

TEST(other_mistakes__are_refused_by_name)
{
	static const char *const fields[] = { "mtu",  "name",	 "name",    "stop_ns",
					      "name", "swapped", "swapped", "op" };

	for (int how = 0; how < 8; how++) {
		struct sim_conf_error e;
		struct sim_conf c;

		sim_conf_demo(&c);
		switch (how) {
		case 0:
			c.link[0].mtu = 1000;
			break;
		case 1:
			c.guest[BULK].name[0] = '\0';
			break;
		case 2:
			memset(c.guest[BULK].name, 'x', FLOW_NAME_MAX);
			break;
		case 3:
			c.guest[BULK].app[0].start_ns = c.guest[BULK].app[0].stop_ns = 5;
			break;
		case 4:
			memset(c.guest[BULK].app[0].name, 'x', FLOW_NAME_MAX);
			break;
		case 5:
			c.swap = true; /* both are guest 0 */
			break;
		case 6:
			c.swap = true;
			c.swapped[1] = 2;
			break;
		default:
			c.guest[BULK].app[0].op = OP_CMP_SWAP;
		}
		assert_int_equal(sim_conf_check(&c, &e), -EINVAL);
		assert_string_equal(e.field, fields[how]);
	}
}
