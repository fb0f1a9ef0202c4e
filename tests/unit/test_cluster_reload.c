// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_reload: other hosts and services come into force while the cluster runs; what hosts hold
 * is compared, and a difference stops what it touches and nothing else.
 */
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define WEB	 "{\"name\": \"web\", \"number\": 1}"
#define WEB_2	 "{\"name\": \"web\", \"number\": 1, \"minimum\": 2}"
#define MAIL	 "{\"name\": \"mail\", \"number\": 255}"
#define DB	 "{\"name\": \"db\", \"number\": 7}"
#define SERVICES WEB ", " MAIL

enum { WEB_AT, MAIL_AT };

static void reload(struct sites *s, int n, int hosts, const char *services)
{
	uint64_t ticket;

	assert_int_equal(site_reload(s, n, hosts, SITE_TIMES, services, &ticket), 0);
	assert_int_equal(cluster_reload_result(s->at[n].c, ticket), -EINPROGRESS);
	site_work(s, &s->at[n]);
	assert_int_equal(cluster_reload_result(s->at[n].c, ticket), 0);
	assert_int_equal(cluster_reload_result(s->at[n].c, ticket + 1), -ESRCH);
	assert_int_equal(cluster_conf(s->at[n].c)->hosts, hosts);
}

/* The result of a lock-break without force. The locks are free: -EALREADY, if it is not refused. */
static int break_of(struct sites *s, int n, uint32_t service)
{
	uint64_t ticket;

	return site_break(s, n, service, false, &ticket);
}

/* Host 3 acquires the lock of this service at host 1, whose first word it has. */
static void take_lock(struct sites *s, uint32_t service)
{
	const struct transport_op op = { .kind = TRANSPORT_CAS64,
					 .host = 1,
					 .part = TRANSPORT_WORDS,
					 .offset = region_lock_offset(service),
					 .compare = region_word(0, region_seq(1, 0)),
					 .value = region_word(3, region_seq(1, 1)),
					 .tag = UINT64_MAX, /* no file of the cluster has it */
					 .deadline = mono_add(s->now, TIMEOUT) };

	assert_int_equal(transport_post(s->at[3].c->worker.t, &op, 1, s->now, NULL), 1);
}

static bool sees(struct sites *s, int n, int other, enum cluster_agree agree)
{
	return site_sees(s, n, other).agree == agree;
}

/* Three hosts, and each has read the others. */
static struct sites *three(void)
{
	struct sites *s = sites_pair();

	site_open(s, 3);
	for (int n = 1; n <= 3; n++)
		for (int other = 1; other <= 3; other++)
			site_until(s, sees(s, n, other, CLUSTER_AGREE_SAME) &&
					      site_lock(s, n, WEB_AT).agree == CLUSTER_AGREE_SAME);
	return s;
}

TEST(service__changed_on_one_host__stops_its_decisions_until_all_have_it)
{
	struct sites *s = three();
	struct cluster_lock l;

	reload(s, 1, 3, WEB_2 ", " MAIL);
	/* What was read before says nothing about the new settings. */
	assert_true(sees(s, 1, 2, CLUSTER_AGREE_UNREAD) && sees(s, 1, 3, CLUSTER_AGREE_UNREAD));
	assert_true(sees(s, 1, 1, CLUSTER_AGREE_SAME));
	site_until(s, sees(s, 1, 2, CLUSTER_AGREE_SERVICES) &&
			      sees(s, 1, 3, CLUSTER_AGREE_SERVICES) &&
			      sees(s, 2, 1, CLUSTER_AGREE_SERVICES));
	assert_true(sees(s, 2, 3, CLUSTER_AGREE_SAME));
	assert_non_null(strstr(site_sees(s, 2, 1).note, "differs in service web"));
	assert_non_null(strstr(site_sees(s, 2, 1).note, "cluster-reload"));
	assert_int_equal(site_sees(s, 2, 1).state, CLUSTER_UP);
	assert_true(
		site_has_event(s, 2, "agreement", "xen1: its cluster.json differs in service web"));
	for (int n = 1; n <= 2; n++) {
		assert_int_equal(break_of(s, n, WEB_AT), -EXDEV);
		assert_int_equal(break_of(s, n, MAIL_AT), -EALREADY);
	}
	l = site_lock(s, 1, WEB_AT);
	assert_int_equal(l.agree, CLUSTER_AGREE_SERVICES);
	assert_string_equal(l.differs->name, "xen2");
	assert_int_equal(site_lock(s, 1, MAIL_AT).agree, CLUSTER_AGREE_SAME);

	reload(s, 2, 3, WEB_2 ", " MAIL);
	site_until(s, sees(s, 1, 2, CLUSTER_AGREE_SAME) && sees(s, 2, 1, CLUSTER_AGREE_SAME));
	assert_true(site_has_event(s, 1, "agreement", "xen2: holds the same"));
	assert_int_equal(break_of(s, 1, WEB_AT), -EXDEV);
	assert_string_equal(site_lock(s, 1, WEB_AT).differs->name, "xen3");
	reload(s, 3, 3, WEB_2 ", " MAIL);
	site_until(s, break_of(s, 1, WEB_AT) == -EALREADY && break_of(s, 3, WEB_AT) == -EALREADY);
	assert_null(site_lock(s, 1, WEB_AT).differs);
	sites_free(s);
}

TEST(service__added_before_others__leaves_their_locks_as_read)
{
	struct sites *s = three();

	take_lock(s, 255);
	site_until(s, region_word_id(site_lock(s, 2, MAIL_AT).word) == 3);
	sites_pass(s, 5 * NS_PER_S);
	assert_in_range(site_lock(s, 2, MAIL_AT).since_ns, 4 * NS_PER_S, 6 * NS_PER_S);
	reload(s, 2, 3, DB ", " MAIL ", " WEB);
	assert_int_equal(region_word_id(site_lock(s, 2, 1).word), 3);
	assert_in_range(site_lock(s, 2, 1).since_ns, 4 * NS_PER_S, 6 * NS_PER_S);
	assert_false(site_lock(s, 2, 0).known);
	site_until(s, site_lock(s, 2, 0).known && site_lock(s, 2, 2).known);
	site_until(s, sees(s, 1, 2, CLUSTER_AGREE_SERVICES));
	assert_non_null(strstr(site_sees(s, 1, 2).note, "has further services"));
	assert_int_equal(break_of(s, 1, WEB_AT), -EALREADY);
	sites_free(s);
}

TEST(host__left_out__loses_its_links_and_comes_back_when_it_is_added)
{
	struct sites *s = three();

	reload(s, 1, 2, SERVICES);
	assert_int_equal(transport_link(s->at[1].c->worker.t, 3), 0);
	assert_true(site_has_event(s, 1, "host", "xen3: its memory cannot be read any more"));
	site_until(s, site_sees(s, 3, 1).state == CLUSTER_DOWN);
	site_until(s, sees(s, 2, 1, CLUSTER_AGREE_HOSTS));
	assert_int_equal(break_of(s, 2, WEB_AT), -EXDEV);
	site_until(s, break_of(s, 1, MAIL_AT) == -EXDEV);
	reload(s, 2, 2, SERVICES);
	site_until(s, break_of(s, 1, WEB_AT) == -EALREADY && break_of(s, 2, WEB_AT) == -EALREADY);
	assert_false(hostset_has(&s->at[1].c->worker.view.members, 3));

	reload(s, 1, 3, SERVICES);
	assert_false(site_sees(s, 1, 3).host);
	reload(s, 2, 3, SERVICES);
	site_until_up(s, 1, 3, 1);
	site_until_up(s, 3, 1, 1);
	for (int n = 1; n <= 3; n++)
		site_until(s, break_of(s, n, WEB_AT) == -EALREADY &&
				      site_lock(s, n, WEB_AT).agree == CLUSTER_AGREE_SAME);
	sites_free(s);
}

TEST(reload__during_a_break__waits_for_its_end)
{
	struct sites *s = three();
	struct cluster *c = s->at[2].c;
	uint64_t broken, second, third, reloaded;
	struct cluster_conf *again = NULL;
	struct cluster_changes ch = { 0 };
	struct conf_error e = { 0 };

	take_lock(s, 1);
	site_until(s, region_word_id(site_lock(s, 2, WEB_AT).word) == 3);
	assert_int_equal(cluster_break(c, WEB_AT, true, &broken), 0);
	assert_int_equal(site_reload(s, 2, 3, SITE_TIMES, DB ", " SERVICES, &reloaded), 0);
	assert_int_equal(site_reload(s, 2, 3, SITE_TIMES, SERVICES, &third), -EBUSY);
	/* The file as it was when it was read first: it differs from what comes into force. */
	assert_int_equal(cluster_read_again(c, s->now, &again, &ch, &e), -EBUSY);
	assert_int_equal(e.exit, RESEX_BUSY);
	assert_non_null(strstr(e.text, "as it was read before, it is not in force yet"));
	/* By the index of now, which is another service's afterwards. */
	assert_int_equal(cluster_break(c, MAIL_AT, true, &second), 0);
	s->at[2].due = s->now;
	site_step(s, &s->at[2]);
	assert_int_equal(cluster_result(c, broken), -EINPROGRESS);
	assert_int_equal(cluster_reload_result(c, reloaded), -EINPROGRESS);
	assert_int_equal(cluster_result(c, second), -EAGAIN);
	site_until(s, cluster_reload_result(c, reloaded) == 0);
	assert_int_equal(cluster_result(c, broken), 0);
	assert_int_equal(region_word_id(site_lock(s, 2, 1).word), REGION_LOCK_BROKEN);
	sites_free(s);
}

TEST(cluster__closed_before_the_answer__frees_the_settings)
{
	struct sites *s = sites_pair();
	uint64_t ticket;

	assert_int_equal(site_reload(s, 1, 3, SITE_TIMES, WEB_2, &ticket), 0);
	sites_free(s);
}
