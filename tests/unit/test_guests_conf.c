// SPDX-License-Identifier: GPL-2.0-or-later
/* guests/conf: another configuration for guests that run, and for the policy in force. */
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

/* A configuration beside the rig's own; freed by the test. */
static struct daemon_conf *other(struct guests_rig *g, const char *guests)
{
	struct daemon_conf *was = calloc(1, sizeof(*was)), *conf = calloc(1, sizeof(*conf));

	assert_true(was && conf);
	*was = g->conf;
	rig_settings(g, guests);
	*conf = g->conf;
	g->conf = *was;
	free(was);
	return conf;
}

static struct policy_inst *policy(const struct policy_ops *ops)
{
	struct policy_inst *pi = NULL;

	assert_int_equal(policy_new(&pi, ops, false), 0);
	return pi;
}

WITH_RIG(reload__guests_settings__are_those_of_the_new_file)
{
	struct guests_rig *g = *state;
	struct daemon_conf *conf = other(g, "\"default\": {\"min_cap\": 7},"
					    " \"guest-5\": {\"weight\": 9, \"link\": \"ib1\"}");

	rig_create(g, 4, 4);
	rig_create(g, 5, 5);
	rig_settle(g);
	assert_int_equal(guests_reload(g->gs, conf, policy(&policy_freemarket), WALL), 0);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.min_mpct, 7000);
	assert_int_equal(rig_in_set(g, 5)->weight, 9);
	assert_int_equal(rig_in_set(g, 5)->link, 1);
	rig_create(g, 6, 6); /* who comes later has them too */
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 6)->bounds.min_mpct, 7000);
	assert_non_null(rig_event(g, "reload"));
	g->gs->conf = &g->conf;
	free(conf);
}

WITH_RIG(reload__guest_was_set_by_hand__the_file_counts_again)
{
	struct guests_rig *g = *state;
	struct daemon_conf *conf = other(g, "");
	struct guest_conf by_hand;

	rig_create(g, 4, 4);
	rig_settle(g);
	by_hand = rig_guest(g, "4")->conf;
	by_hand.weight = 99;
	guests_configure(g->gs, rig_guest(g, "4"), &by_hand, "weight", WALL);
	guests_release(g->gs, rig_guest(g, "4"), true, WALL);
	assert_int_equal(guests_reload(g->gs, conf, policy(&policy_freemarket), WALL), 0);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->weight, 256);
	assert_false(rig_guest(g, "4")->set);		      /* and goes with its name */
	assert_true(rig_in_set(g, 4)->flags & POLICY_EXEMPT); /* no setting: it stays released */
	g->gs->conf = &g->conf;
	free(conf);
}

WITH_RIG(reload__same_policy_and_parameters__goes_on_with_its_state)
{
	struct guests_rig *g = *state;
	struct daemon_conf *conf = other(g, "");
	struct policy_inst *was = g->gs->policy;

	assert_int_equal(guests_reload(g->gs, conf, policy(&policy_freemarket), WALL), 0);
	assert_ptr_equal(g->gs->policy, was);
	assert_null(g->gs->policy_old);
	assert_non_null(strstr(rig_event(g, "reload")->text, "goes on"));
	g->gs->conf = &g->conf;
	free(conf);
}

WITH_RIG(reload__other_parameter_or_policy__is_in_force_in_the_next_set)
{
	struct guests_rig *g = *state;
	struct daemon_conf *conf = other(g, "");
	struct policy_inst *low = policy(&policy_freemarket);
	json_t *percent = json_string("25%");
	char want[256];

	assert_int_equal(policy_param_set(low, "low", percent, want, sizeof(want)), 0);
	json_decref(percent);
	assert_int_equal(guests_reload(g->gs, conf, low, WALL), 0);
	rig_settle(g);
	assert_ptr_equal(g->set->policy, low);
	assert_int_equal(guests_reload(g->gs, conf, policy(&policy_null), WALL), 0);
	rig_settle(g);
	assert_ptr_equal(g->set->policy->ops, &policy_null);
	g->gs->conf = &g->conf;
	free(conf);
}

WITH_RIG(reload__policy_cannot_be_swapped_now__nothing_changes)
{
	struct guests_rig *g = *state;
	struct daemon_conf *conf = other(g, "\"default\": {\"weight\": 9}");
	struct policy_inst *third = policy(&policy_freemarket);

	rig_create(g, 4, 4);
	rig_settle(g);
	/* the sampler stands still from here on */
	assert_int_equal(guests_set_policy(g->gs, policy(&policy_null), WALL), 0);
	assert_int_equal(guests_reload(g->gs, conf, third, WALL), -EBUSY);
	assert_ptr_equal(g->gs->policy->ops, &policy_null);
	assert_ptr_equal(g->gs->conf, &g->conf);
	assert_int_equal(rig_guest(g, "4")->conf.weight, 256);
	policy_free(third);
	free(conf);
}
