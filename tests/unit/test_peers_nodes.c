// SPDX-License-Identifier: GPL-2.0-or-later
/* peers: nodes of a host and their loads, in the wave of the host's record. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/shared/peers.h"
#include "tests/fakes/fake_transport.h"
#include "tests/unit/unit.h"

enum { HOST = 3, NODE = 2 };

struct rig {
	struct transport t;
	struct peers *p;
	struct mono now;
	struct region r;
	struct peer_seen s;
	struct load_record load;
	uint8_t table[REGION_TABLE_BYTES] __attribute__((aligned(64)));
	uint8_t loads[REGION_LOADS_BYTES] __attribute__((aligned(64)));
};

/* The host has nodes 0 .. n - 1, of which only NODE has a name. */
static void publish(struct rig *r, uint32_t n)
{
	struct region_node v[REGION_NODES_MAX] = { [NODE] = { .node = NODE, .name = "web-2" } };
	struct region_host h = { .cpus = 2 };

	assert_int_equal(region_publish_nodes(&r->r, v, n), 0);
	region_beat(&r->r, &h);
}

static void sample(struct rig *r)
{
	r->load.node = NODE;
	r->load.source = LOAD_SIM;
	r->load.beat++;
	region_publish_load(&r->r, &r->load);
}

/* The host starts, with or without loads, and its link comes up. */
static void up(struct rig *r, uint64_t generation, bool loads)
{
	struct transport_event ev = { .type = TRANSPORT_UP,
				      .host = HOST,
				      .link = ++r->t.link[HOST],
				      .generation = generation };

	memset(r->table, 0, sizeof(r->table));
	memset(r->loads, 0, sizeof(r->loads));
	region_init(&r->r, r->table, HOST, generation);
	if (loads)
		region_init_loads(&r->r, r->loads);
	r->t.table[HOST] = r->table;
	r->t.bytes[HOST] = sizeof(r->table);
	r->t.loads[HOST] = loads ? r->loads : NULL;
	peers_event(r->p, &ev, r->now);
}

/* A whole scan, 50 ms later. Returns the number of waves. */
static uint32_t scan(struct rig *r)
{
	struct transport_event ev;
	uint32_t waves = 0;

	r->t.posted = 0;
	r->now = mono_add(r->now, 50 * NS_PER_MS);
	peers_scan(r->p, r->now);
	for (; peers_scanning(r->p); waves++) {
		assert_in_range(r->t.n, 1, TRANSPORT_DEPTH);
		for (uint32_t n = r->t.n; n; n--) {
			fake_transport_end(&r->t, 0, TRANSPORT_DONE, &ev);
			peers_event(r->p, &ev, r->now);
		}
	}
	peers_see(r->p, HOST, &r->s);
	return waves;
}

static int setup(void **state)
{
	struct rig *r = aligned_alloc(64, (sizeof(*r) + 63) / 64 * 64);

	if (!r)
		return -1;
	memset(r, 0, sizeof(*r));
	r->now = (struct mono){ NS_PER_S };
	r->t.depth = TRANSPORT_DEPTH;
	*state = r;
	return peers_open(&r->p, &r->t, 40 * NS_PER_MS);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	peers_close(r->p);
	free(r);
	return 0;
}

TEST_WITH(nodes__and_their_loads__are_read_with_the_host_in_one_wave, setup, teardown)
{
	struct rig *r = *state;
	struct mono first;

	up(r, 17, true);
	publish(r, 4);
	sample(r);
	assert_int_equal(scan(r), 3); /* header, host, nodes */
	assert_int_equal(r->s.nodes, 4);
	assert_string_equal(r->s.node[NODE].record.name, "web-2");
	assert_string_equal(r->s.node[3].record.name, "");
	assert_memory_equal(&r->s.node[NODE].load, &r->load, sizeof(r->load));
	assert_int_equal(r->s.node[3].load.head.seq, 0);
	assert_true(r->s.node[NODE].moved.ns == r->now.ns);
	first = r->now;
	assert_int_equal(scan(r), 1);
	assert_int_equal(r->t.posted, 3);		   /* host, nodes, loads */
	assert_true(r->s.node[NODE].moved.ns == first.ns); /* the load is the same */
	region_publish_load(&r->r, &r->load);		   /* written again, but not sampled */
	scan(r);
	assert_true(r->s.node[NODE].moved.ns == first.ns);
	sample(r);
	scan(r);
	assert_true(r->s.node[NODE].moved.ns == r->now.ns);
	assert_int_equal(r->s.node[NODE].load.beat, 2);
}

TEST_WITH(nodes__more_than_last_time__cost_a_second_wave, setup, teardown)
{
	struct rig *r = *state;

	up(r, 17, true);
	publish(r, 3);
	scan(r);
	publish(r, REGION_NODES_MAX);
	assert_int_equal(scan(r), 2);
	assert_int_equal(r->s.nodes, REGION_NODES_MAX);
	assert_int_equal(r->s.why, 0);
	assert_int_equal(scan(r), 1);
	publish(r, 3);
	assert_int_equal(scan(r), 1);
	assert_int_equal(r->s.nodes, 3);
	assert_string_equal(r->s.node[NODE].record.name, "web-2");
}

TEST_WITH(loads__of_a_host_that_publishes_none__are_not_asked_for, setup, teardown)
{
	struct rig *r = *state;

	up(r, 17, false);
	publish(r, 3);
	assert_int_equal(scan(r), 3);
	assert_int_equal(r->s.why, 0);
	assert_int_equal(r->s.nodes, 3);
	assert_int_equal(r->s.node[NODE].load.head.seq, 0);
}

TEST_WITH(loads__of_an_earlier_start__are_forgotten, setup, teardown)
{
	struct rig *r = *state;

	up(r, 17, true);
	publish(r, 3);
	sample(r);
	scan(r);
	up(r, 18, false);
	publish(r, 3);
	scan(r);
	assert_int_equal(r->s.why, 0);
	assert_string_equal(r->s.node[NODE].record.name, "web-2");
	assert_int_equal(r->s.node[NODE].load.head.seq, 0);
	peers_forget(r->p, HOST);
	peers_see(r->p, HOST, &r->s);
	assert_int_equal(r->s.nodes, 0);
}

TEST_WITH(loads__torn__are_read_again_and_the_old_one_stays, setup, teardown)
{
	struct rig *r = *state;
	struct load_record *at = (void *)(r->loads + NODE * sizeof(*at));

	up(r, 17, true);
	publish(r, 3);
	sample(r);
	scan(r);
	sample(r);
	at->busy_ns ^= 1;
	assert_int_equal(scan(r), 5);
	assert_int_equal(r->s.why, -EAGAIN);
	assert_int_equal(r->s.node[NODE].load.beat, 1);
	at->busy_ns ^= 1;
	scan(r);
	assert_int_equal(r->s.why, 0);
	assert_int_equal(r->s.node[NODE].load.beat, 2);
}

TEST_WITH(nodes__and_loads_of_another_number__are_refused, setup, teardown)
{
	struct rig *r = *state;
	struct region_node v[3] = { [NODE] = { .node = NODE + 1, .name = "web-2" } };
	struct region_host h = { .cpus = 2 };

	up(r, 17, true);
	assert_int_equal(region_publish_nodes(&r->r, v, 3), 0);
	region_beat(&r->r, &h);
	scan(r);
	assert_int_equal(r->s.why, -ERANGE);
	publish(r, 3);
	scan(r);
	assert_int_equal(r->s.why, 0);
	sample(r);
	memcpy(r->loads, r->loads + NODE * sizeof(r->load), sizeof(r->load)); /* of node 2 at 0 */
	scan(r);
	assert_int_equal(r->s.why, -ERANGE);
	assert_int_equal(r->s.node[0].load.head.seq, 0);
}
