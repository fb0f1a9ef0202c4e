// SPDX-License-Identifier: GPL-2.0-or-later
/* order: when an operator's order to move a node can begin, and what is said when it cannot. */
#include <errno.h>
#include <string.h>

#include "src/cluster/order.h"
#include "src/reconf/move.h"
#include "tests/unit/unit.h"

static const struct cluster_host host = { .name = "xen2" };
static const struct cluster_service web = { .name = "web", .number = 1, .minimum = 1 };
static const struct cluster_service mail = { .name = "mail", .number = 2, .minimum = 2 };
static const struct cluster_node both = { .name = "n1" };
static const struct cluster_node switched = { .name = "n1", .kind = CLUSTER_NODE_SWITCH };

struct world {
	struct cluster_node_seen node;
	struct cluster_move move;
	struct order order;
	char why[CLUSTER_WHY_TEXT];
};

/* n1 serves mail, which has a node to spare, and is to serve web. */
static struct world *begin(void)
{
	static struct world w;

	w = (struct world){ .node = { .conf = &both,
				      .host = &host,
				      .service = &mail,
				      .kept = true,
				      .word = region_word(2, 9) },
			    .move = { .node = "n7", .taker = "shop", .why = "order" },
			    .order = { .node = &w.node, .taker = &web, .may = true, .nodes = 3 } };
	return &w;
}

static int check(struct world *w)
{
	memset(w->why, '?', sizeof(w->why) - 1);
	return order_check(&w->order, w->why);
}

static void assert_silent(struct world *w, int rc)
{
	assert_int_equal(check(w), rc);
	assert_string_equal(w->why, "");
}

TEST(order__that_may_begin__and_others_that_their_error_explains)
{
	struct world *w = begin();

	assert_silent(w, 0);
	w->order.may = false;
	assert_silent(w, -EACCES);
	w->order.fixed = true;
	assert_silent(w, -ECANCELED);
	w->node.service = NULL;
	assert_silent(w, -ENODATA);
}

TEST(order__while_a_move_is_under_way__names_that_and_since_when)
{
	struct world *w = begin();

	w->order.under_way = true;
	assert_int_equal(check(w), -EBUSY);
	assert_string_equal(w->why, "another move is under way: try again");
	w->order.move = &w->move;
	w->order.move_ns = 1200 * NS_PER_MS;
	assert_int_equal(check(w), -EBUSY);
	assert_string_equal(w->why, "the move of n7 to shop, which an operator began 1200 ms ago, "
				    "is under way: try again when resex history shows its end");
	strcpy(w->move.why, "load");
	assert_int_equal(check(w), -EBUSY);
	assert_non_null(strstr(w->why, ", which this host began 1200 ms ago,"));
}

TEST(order__to_the_service_of_its_word__says_what_is_not_done)
{
	struct world *w = begin();

	w->order.taker = &mail;
	w->node.phase_name = "switches";
	assert_silent(w, -EALREADY);
	w->node.kept = false;
	assert_int_equal(check(w), -EINPROGRESS);
	assert_non_null(strstr(w->why, "its move to mail is not done: xen2 has not saved it yet"));
	w->node.kept = true;
	w->node.conf = &switched;
	w->node.ready = region_word(1, 8);
	w->order.pending_ns = 3 * NS_PER_S;
	assert_int_equal(check(w), -EINPROGRESS);
	assert_non_null(strstr(w->why, "its move to mail is not done: xen2 prepares it for 3000 ms "
				       "now (phase switches): wait until resex node-list"));
	/* It goes on serving while newer words name the same service. */
	w->node.ready = region_word(2, 8);
	assert_silent(w, -EALREADY);
}

TEST(order__that_would_leave_less_than_the_minimum__says_so)
{
	struct world *w = begin();

	w->order.nodes = 2;
	assert_int_equal(check(w), -ENOSPC);
	assert_string_equal(w->why, "mail keeps its minimum of 2 nodes, and has 2: move another "
				    "node to it first, or lower its \"minimum\" in cluster.json");
	w->node.service = &web;
	w->order.taker = &mail;
	w->order.nodes = 1;
	assert_int_equal(check(w), -ENOSPC);
	assert_non_null(strstr(w->why, "web keeps its minimum of 1 node, and has 1: "));
	/* One that is in no service leaves none. */
	w->node.service = NULL;
	w->node.lost = true;
	w->order.nodes = 0;
	assert_silent(w, 0);
}

TEST(result__of_an_order__speaks_of_no_load)
{
	assert_string_equal(order_result_text(MOVE_NO_DONOR),
			    "the service that it serves has no more than its minimum of nodes");
	assert_string_equal(order_result_text(MOVE_LATE), move_result_text(MOVE_LATE));
}
