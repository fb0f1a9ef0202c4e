// SPDX-License-Identifier: GPL-2.0-or-later
/* choose: the pure part of a move: which donor, which node, and the texts of results. */
#include <errno.h>

#include "tests/unit/move_rig.h"
#include "tests/unit/unit.h"

static const struct hostset all = { { ALL } }, fewer = { { ALL & ~0x20ull } };

TEST_WITH(donor__table_of_loads, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	static const struct {
		uint32_t load[NODES], minimum[SERVICES];
		int rc;
		uint32_t donor;
	} rows[] = {
		{ { 900, 100, 50, 70, 800, 800 }, { 1, 2, 1 }, 0, S20 },
		{ { 900, 900, 900, 900, 100, 100 }, { 1, 2, 1 }, 0, S30 },
		{ { 900, 100, 100, 100, 100, 100 }, { 1, 2, 1 }, 0, S20 }, /* lowest id */
		{ { 900, 100, 100, 100, 200, 200 }, { 1, 3, 1 }, 0, S30 },
		{ { 900, 100, 100, 100, 200, 200 }, { 1, 3, 2 }, -ENOENT, 0 },
		{ { 50, 100, 100, 100, 200, 200 }, { 1, 2, 1 }, -ENOENT, 0 }, /* busier */
		{ { 100, 100, 100, 100, 100, 100 }, { 1, 2, 1 }, -ENOENT, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t donor = 99;

		for (uint32_t n = 0; n < NODES; n++)
			r->view.node[n].load = rows[i].load[n];
		for (uint32_t s = 0; s < SERVICES; s++)
			r->view.service[s].minimum = rows[i].minimum[s];
		assert_int_equal(move_donor(&r->view, &all, S10, &donor), rows[i].rc);
		assert_int_equal(donor, rows[i].rc ? 99 : rows[i].donor);
	}
}

TEST_WITH(donor__dead_or_removed_nodes_do_not_count, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint32_t donor;

	assert_int_equal(move_donor(&r->view, &fewer, S10, &donor), -ENOENT);
	r->view.node[N50].alive = false;
	assert_int_equal(move_donor(&r->view, &all, S10, &donor), 0);
	assert_int_equal(donor, S30);
}

TEST_WITH(donor__service_without_nodes__may_take, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint32_t donor;

	r->view.node[N70].word = region_word(30, NODE_UP + 1);
	assert_int_equal(move_donor(&r->view, &all, S10, &donor), 0);
	assert_int_equal(donor, S20);
}

TEST_WITH(choose__counts_only_what_is_known, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint64_t word[NODES];
	bool ok[NODES];
	uint32_t node = 99;

	for (uint32_t i = 0; i < NODES; i++) {
		word[i] = *node_word(r, i);
		ok[i] = true;
	}
	assert_int_equal(move_choose(&r->view, ok, word, S20, &node), 0);
	assert_int_equal(node, N51);
	r->view.node[N60].load = 50; /* lowest index of equals */
	assert_int_equal(move_choose(&r->view, ok, word, S20, &node), 0);
	assert_int_equal(node, N51);
	ok[N50] = false;
	node = 99;
	assert_int_equal(move_choose(&r->view, ok, word, S20, &node), -ENOSPC);
	assert_int_equal(node, 99);
	r->view.service[S20].minimum = 0;
	ok[N51] = ok[N60] = false;
	assert_int_equal(move_choose(&r->view, ok, word, S20, &node), -ENOSPC); /* none at all */
}

TEST_WITH(text__each_result__is_said_in_words_of_its_own, rig_setup, rig_teardown)
{
	for (int a = MOVE_NONE; a <= MOVE_NOT_KEPT + 1; a++)
		for (int b = a + 1; b <= MOVE_NOT_KEPT + 1; b++)
			assert_string_not_equal(move_result_text((enum move_result)a),
						move_result_text((enum move_result)b));
}
