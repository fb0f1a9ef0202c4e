// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_roles: a node of kind switch, which is a host of its own: no request is sent to it until
 * the host that balances has acknowledged, and the hook has prepared it. Host 1 balances web and
 * mail with a fake HAProxy; hooks are real programs.
 */
#include <sys/stat.h>

#include "src/reconf/role.h"
#include "src/shared/nodes_file.h"
#include "src/util/file.h"
#include "tests/unit/balances_rig.h"

#define NODE(n, of, kind)                                                                          \
	"{\"name\": \"n" #n "\", \"number\": " #n ", \"host\": \"xen" #n "\", "                    \
	"\"service\": \"" of "\", \"server\": \"s" #n "\"" kind "}"
#define MOVED                                                                                      \
	SITE_TIMES ", \"nodes\": [" NODE(1, "web", "") ", " NODE(2, "mail", "") ", " NODE(         \
		3, "mail", ", \"kind\": \"switch\"") "]"
/* By simulated time a hook takes long. */
#define RECONF                                                                                     \
	", \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\", \"mode\": \"act\", \"hook\": "            \
	"\"%s/hook\", \"hook_timeout\": \"3600s\", \"give_up\": \"%s\"}"
#define BALANCE                                                                                    \
	", \"balance\": [{\"service\": \"web\", \"backend\": \"be\", " ACT "}, "                   \
	"{\"service\": \"mail\", \"backend\": \"mb\", " ACT "}]"
#define CALM                                                                                       \
	"{\"name\": \"web\", \"number\": 1, \"high\": 1000000}, "                                  \
	"{\"name\": \"mail\", \"number\": 255, \"high\": 1000000}"

/* It says how it was called, and fails while the file "fails" is there. */
static void write_hook(struct sites *s)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho \"$*\" >>%s/calls\n[ ! -e %s/fails ] || { echo no room; exit 3; "
		 "}\n",
		 s->dir.path, s->dir.path);
	tmp_write(&s->dir, "hook", text);
	assert_int_equal(chmod(tmp_at(&s->dir, "hook"), 0700), 0);
}

static bool was_called(struct sites *s, const char *call)
{
	char *text = NULL;
	size_t len;
	bool was;

	if (file_load(tmp_at(&s->dir, "calls"), 65536, &text, &len))
		return false;
	was = strstr(text, call) != NULL;
	free(text);
	return was;
}

static void open_host(struct sites *s, int i)
{
	site_open(s, i);
	s->at[i].c->worker.load_ops = &by_test;
	s->at[i].c->worker.fill.filler = NULL;
}

static struct sites *open_switch(void **state, const char *give_up)
{
	struct sites *s = sites_new();
	char more[4096], text[SITE_TEXT], name[32];

	*state = s;
	by_test = load_proc;
	by_test.sample = sample_busy;
	write_hook(s);
	for (int i = 1; i <= SITES; i++) {
		snprintf(more, sizeof(more), MOVED RECONF "%s", s->dir.path, give_up,
			 i == 1 ? BALANCE : "");
		site_text(s, i, "test", SITES, more, CALM, text);
		snprintf(name, sizeof(name), "c%d.json", i);
		tmp_write(&s->dir, name, text);
		open_host(s, i);
		busy[i] = 300;
	}
	return s;
}

static struct cluster_node_seen node(struct sites *s, int host)
{
	struct cluster_node_seen n;

	cluster_node_see(s->at[host].c, 2, s->now, &n);
	return n;
}

static bool is_phase(struct sites *s, int host, const char *phase)
{
	return !strcmp(node(s, host).phase_name, phase);
}

static bool serves(const struct fake_process *p)
{
	return p->server[2].admin <= ACT_SERVE;
}

static void move_to(struct sites *s, uint32_t node, uint32_t service)
{
	uint64_t ticket;
	char why[192];

	/* Right after the start not all is read yet. */
	for (int ms = 0; cluster_move(s->at[1].c, node, service, s->now, &ticket, why); ms++) {
		assert_in_range(ms, 0, 30000);
		sites_ms(s);
	}
	site_until(s, cluster_result(s->at[1].c, ticket) != -EINPROGRESS);
	assert_int_equal(cluster_result(s->at[1].c, ticket), 0);
}

static bool in_file(struct sites *s, uint16_t service)
{
	uint64_t file[REGION_NODES_MAX];

	return !nodes_file_load(s->at[3].g->dir.path, NODES_FILE_ROLES, file) &&
	       region_word_id(file[3]) == service;
}

RIG_TEST(node_of_kind_switch__is_prepared_when_its_requests_have_ended)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");

	site_until(s, serves(mb) && !serves(be) && is_phase(s, 1, "ready"));
	mb->server[2].own = 1;
	move_to(s, 2, 0);
	site_until(s, mb->server[2].admin == ACT_DRAIN && is_phase(s, 1, "waits"));
	sites_pass(s, 5 * NS_PER_S);
	assert_false(was_called(s, "switch"));
	assert_true(!serves(be) && is_phase(s, 1, "waits"));
	assert_non_null(strstr(cluster_role_note(s->at[3].c, 2), "xen1 has not acknowledged"));
	assert_string_equal(cluster_role_note(s->at[1].c, 2), "");
	mb->server[2].own = 0;
	site_until(s, serves(be));
	assert_true(!serves(mb) && is_phase(s, 1, "ready"));
	assert_true(was_called(s, "switch n3 mail web\ncheck n3 - web\n"));
	assert_true(in_file(s, 1));
	/* the host starts again: it is still prepared, and no request is lost */
	site_kill(s, 3);
	site_until(s, site_sees(s, 1, 3).state == CLUSTER_DOWN);
	tmp_write(&s->dir, "calls", "");
	open_host(s, 3);
	site_until(s, node(s, 1).word_known && is_phase(s, 1, "ready"));
	assert_true(serves(be) && !was_called(s, "switch"));
}

RIG_TEST(hook__that_fails__is_told_and_the_node_goes_back)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");

	site_until(s, serves(mb) && is_phase(s, 1, "ready"));
	tmp_write(&s->dir, "fails", "");
	move_to(s, 2, 0);
	site_until(s, strstr(cluster_role_note(s->at[3].c, 2), "no room"));
	assert_true(!serves(be) && !serves(mb) && in_file(s, 0));
	/* what it was before survives, so that it can go back */
	site_kill(s, 3);
	site_until(s, site_sees(s, 1, 3).state == CLUSTER_DOWN);
	open_host(s, 3);
	site_until(s, node(s, 1).phase > ROLE_READY);
	assert_int_equal(node(s, 1).from, 255);
	assert_true(site_has_event(s, 3, "reconf", "the hook prepares node n3 for web"));
	unlink(tmp_at(&s->dir, "fails"));
	site_until(s, serves(be));
	assert_false(serves(mb));
}

RIG_TEST(haproxy__that_is_not_reached__acknowledges_nothing)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");

	site_until(s, serves(mb) && is_phase(s, 1, "ready"));
	mb->away = true;
	move_to(s, 2, 0);
	site_until(s, is_phase(s, 1, "waits"));
	sites_pass(s, 5 * NS_PER_S);
	assert_true(!was_called(s, "switch") && !serves(be));
	mb->away = false;
	site_until(s, serves(be));
	assert_false(serves(mb));
}

/* rule 1 of role.h: the host of n3 cannot save what becomes of it. */
RIG_TEST(word__that_is_not_kept__changes_nothing)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");
	uint64_t ack;

	site_until(s, serves(mb) && is_phase(s, 1, "ready") && node(s, 1).kept);
	move_to(s, 1, 0); /* the first moves give all words a new epoch, which must be kept */
	move_to(s, 1, 1);
	sites_pass(s, 2 * NS_PER_S);
	ack = cluster_newest_host(s->at[1].c, 1)->ack[2]; /* xen2 has no HAProxy */
	assert_true(ack);
	s->at[3].busy = true;
	move_to(s, 2, 0);
	sites_pass(s, 5 * NS_PER_S);
	assert_true(node(s, 1).service->number == 1 && serves(mb) && !serves(be));
	assert_true(cluster_newest_host(s->at[1].c, 1)->ack[2] == ack);
	s->at[3].busy = false;
	site_until(s, serves(be));
	assert_false(cluster_newest_host(s->at[1].c, 1)->ack[2] == ack);
}

RIG_TEST(haproxy__that_is_only_observed__acknowledges_what_an_operator_did)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");

	site_until(s, serves(mb) && is_phase(s, 1, "ready"));
	assert_int_equal(cluster_balance_set(s->at[1].c, 1, CLUSTER_OBSERVE), 0);
	mb->server[2].own = 1;
	move_to(s, 2, 0);
	sites_pass(s, 5 * NS_PER_S);
	assert_true(is_phase(s, 1, "waits") && serves(mb) && !serves(be));
	mb->server[2].admin = ACT_OUT;
	sites_pass(s, 5 * NS_PER_S);
	assert_false(was_called(s, "switch"));
	mb->server[2].own = 0;
	site_until(s, serves(be));
}
