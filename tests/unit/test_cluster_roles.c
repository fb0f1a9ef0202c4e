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
#define NODES_OF(kind)                                                                             \
	SITE_TIMES ", \"nodes\": [" NODE(1, "web", "") ", " NODE(2, "mail", "") ", " NODE(         \
		3, "mail", kind) "]"
#define MOVED NODES_OF(", \"kind\": \"switch\"")
/* By simulated time a hook takes long. */
#define RECONF                                                                                     \
	", \"reconf\": {\"S\": \"%s\", \"T\": \"4s\", \"mode\": \"act\", \"hook\": "               \
	"\"%s/hook\", \"hook_timeout\": \"%s\", \"give_up\": \"%s\"}"
#define BE	"{\"service\": \"web\", \"backend\": \"be\", " ACT "}"
#define MB	"{\"service\": \"mail\", \"backend\": \"mb\", " ACT "}"
#define BALANCE ", \"balance\": [" BE ", " MB "]"
#define CALM                                                                                       \
	"{\"name\": \"web\", \"number\": 1, \"high\": 1000000}, "                                  \
	"{\"name\": \"mail\", \"number\": 255, \"high\": 1000000}"

/*
 * It says how it was called. It fails while the file "fails" is there, and goes on while "hold" is;
 * the file "role" has what it was switched to.
 */
static void write_hook(struct sites *s)
{
	const char *dir = s->dir.path;
	char text[2048];

	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho \"$*\" >>%s/calls\n"
		 "[ ! -e %s/fails ] || { echo no room; exit 3; }\n"
		 "[ $1 = switch ] || { [ \"$(cat %s/role)\" = $4 ]; exit; }\n"
		 "while [ -e %s/hold ]; do sleep 0.01; done\n"
		 "echo $4 >%s/role\n",
		 dir, dir, dir, dir, dir);
	tmp_write(&s->dir, "hook", text);
	tmp_write(&s->dir, "role", "mail\n");
	assert_int_equal(chmod(tmp_at(&s->dir, "hook"), 0700), 0);
}

/* How often. */
static int calls_of(struct sites *s, const char *call)
{
	char *data = NULL, *text;
	size_t len;
	int n = 0;

	if (file_load(tmp_at(&s->dir, "calls"), 65536, &data, &len))
		return 0;
	text = strndup(data, len);
	assert_non_null(text);
	for (const char *at = text; (at = strstr(at, call)) != NULL; at++)
		n++;
	free(text);
	free(data);
	return n;
}

static bool was_called(struct sites *s, const char *call)
{
	return calls_of(s, call) > 0;
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
		snprintf(more, sizeof(more), MOVED RECONF "%s", "100ms", s->dir.path, "3600s",
			 give_up, i == 1 ? BALANCE : "");
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

/* Does host 3 wait for a hook? */
static bool has_hook(struct sites *s)
{
	struct cluster_node_seen n;
	bool has = false;

	for (uint32_t i = 0; s->at[3].c && i < cluster_conf(s->at[3].c)->nodes; i++) {
		cluster_node_see(s->at[3].c, i, s->now, &n);
		has |= n.phase >= ROLE_SWITCHES;
	}
	return has;
}

/* A hook takes real time, of which simulated time leaves little, and a busy machine less. */
static void pass_ms(struct sites *s)
{
	if (has_hook(s))
		usleep(1000);
	sites_ms(s);
}

/* As site_until. */
#define hook_until(s, what)                                                                        \
	do {                                                                                       \
		for (int ms_ = 0; ms_ < 30000 && !(what); ms_++)                                   \
			pass_ms(s);                                                                \
		if (!(what))                                                                       \
			fail_msg("not within 30 s: %s", #what);                                    \
	} while (0)

static bool serves(const struct fake_process *p)
{
	return p->server[2].admin <= ACT_SERVE;
}

static void move_to(struct sites *s, uint32_t node, uint32_t service)
{
	uint64_t ticket;
	char why[CLUSTER_WHY_TEXT];

	/* Right after the start not all is read yet. */
	for (int ms = 0; cluster_move(s->at[1].c, node, service, s->now, &ticket, why); ms++) {
		assert_in_range(ms, 0, 30000);
		sites_ms(s);
	}
	hook_until(s, cluster_result(s->at[1].c, ticket) != -EINPROGRESS);
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

	hook_until(s, serves(mb) && !serves(be) && is_phase(s, 1, "ready"));
	mb->server[2].own = 1;
	move_to(s, 2, 0);
	hook_until(s, mb->server[2].admin == ACT_DRAIN && is_phase(s, 1, "waits"));
	sites_pass(s, 5 * NS_PER_S);
	assert_false(was_called(s, "switch"));
	assert_true(!serves(be) && is_phase(s, 1, "waits"));
	assert_non_null(strstr(cluster_role_note(s->at[3].c, 2), "xen1 has not acknowledged"));
	assert_string_equal(cluster_role_note(s->at[1].c, 2), "");
	mb->server[2].own = 0;
	hook_until(s, serves(be));
	assert_true(!serves(mb) && is_phase(s, 1, "ready"));
	assert_true(was_called(s, "switch n3 mail web\ncheck n3 - web\n"));
	assert_true(in_file(s, 1));
	/* the host starts again: it is still prepared, and no request is lost */
	site_kill(s, 3);
	hook_until(s, site_sees(s, 1, 3).state == CLUSTER_DOWN);
	tmp_write(&s->dir, "calls", "");
	open_host(s, 3);
	hook_until(s, node(s, 1).word_known && is_phase(s, 1, "ready"));
	assert_true(serves(be) && !was_called(s, "switch"));
}

RIG_TEST(hook__that_fails__is_told_and_the_node_goes_back)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");

	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	tmp_write(&s->dir, "fails", "");
	move_to(s, 2, 0);
	hook_until(s, strstr(cluster_role_note(s->at[3].c, 2), "no room"));
	assert_true(!serves(be) && !serves(mb) && in_file(s, 0));
	/* what it was before survives, so that it can go back */
	site_kill(s, 3);
	hook_until(s, site_sees(s, 1, 3).state == CLUSTER_DOWN);
	open_host(s, 3);
	hook_until(s, node(s, 1).phase > ROLE_READY);
	assert_int_equal(node(s, 1).from, 255);
	assert_true(site_has_event(s, 3, "reconf", "the hook prepares node n3 for web"));
	unlink(tmp_at(&s->dir, "fails"));
	hook_until(s, serves(be));
	assert_false(serves(mb));
}

RIG_TEST(haproxy__that_is_not_reached__acknowledges_nothing)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");

	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	mb->away = true;
	move_to(s, 2, 0);
	hook_until(s, is_phase(s, 1, "waits"));
	sites_pass(s, 5 * NS_PER_S);
	assert_true(!was_called(s, "switch") && !serves(be));
	mb->away = false;
	hook_until(s, serves(be));
	assert_false(serves(mb));
}

/* rule 1 of role.h: the host of n3 cannot save what becomes of it. */
RIG_TEST(word__that_is_not_kept__changes_nothing)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");
	uint64_t ack;

	hook_until(s, serves(mb) && is_phase(s, 1, "ready") && node(s, 1).kept);
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
	hook_until(s, serves(be));
	assert_false(cluster_newest_host(s->at[1].c, 1)->ack[2] == ack);
}

RIG_TEST(haproxy__that_is_only_observed__acknowledges_what_an_operator_did)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "0s");

	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	assert_int_equal(cluster_balance_set(s->at[1].c, 1, CLUSTER_OBSERVE), 0);
	mb->server[2].own = 1;
	move_to(s, 2, 0);
	sites_pass(s, 5 * NS_PER_S);
	assert_true(is_phase(s, 1, "waits") && serves(mb) && !serves(be));
	mb->server[2].admin = ACT_OUT;
	sites_pass(s, 5 * NS_PER_S);
	assert_false(was_called(s, "switch"));
	mb->server[2].own = 0;
	hook_until(s, serves(be));
}

/* --- reload ---------------------------------------------------------------------------------- */

static void reload_host(struct sites *s, int i, const char *nodes, const char *period,
			const char *timeout)
{
	char more[4096];
	uint64_t ticket;

	snprintf(more, sizeof(more), "%s" RECONF "%s", nodes, period, s->dir.path, timeout, "3601s",
		 i == 1 ? BALANCE : "");
	assert_int_equal(site_reload(s, i, SITES, more, CALM, &ticket), 0);
	hook_until(s, cluster_reload_result(s->at[i].c, ticket) == 0);
}

static int events_of(struct sites *s, int host, const char *says)
{
	const struct event_text *e;
	int n = 0;

	for (uint64_t id = 0; (e = guests_event_after(s->at[host].g->gs, id)) != NULL; id = e->id)
		n += strstr(e->text, says) != NULL;
	return n;
}

/* The hook prepares n3 for web, and waits for the end of the file "hold". */
static struct sites *open_held(void **state)
{
	struct sites *s = open_switch(state, "3601s");

	hook_until(s, is_phase(s, 1, "ready"));
	tmp_write(&s->dir, "hold", "");
	move_to(s, 2, 0);
	hook_until(s, was_called(s, "switch n3 mail web\n") && is_phase(s, 1, "switches"));
	return s;
}

#define N3_FIRST                                                                                   \
	SITE_TIMES                                                                                 \
	", \"nodes\": [" NODE(3, "mail", ", \"kind\": \"switch\"") ", " NODE(                      \
		1, "web", "") ", " NODE(2, "mail", "") "]"

RIG_TEST(hook__that_runs__goes_on_over_a_reload_of_other_settings)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_held(state);
	struct cluster_node_seen n;

	for (int i = 1; i <= SITES; i++)
		reload_host(s, i, N3_FIRST, "200ms", "3600s");
	sites_pass(s, 5 * NS_PER_S);
	cluster_node_see(s->at[1].c, 0, s->now, &n);
	assert_true(!strcmp(n.conf->name, "n3") && n.phase == ROLE_SWITCHES);
	assert_true(!serves(be) && !serves(mb));
	unlink(tmp_at(&s->dir, "hold"));
	hook_until(s, serves(be));
	assert_int_equal(calls_of(s, "switch"), 1);
	assert_int_equal(calls_of(s, "check n3 - web"), 1);
	assert_int_equal(events_of(s, 3, "the hook prepares node n3 for web"), 1);
	assert_true(in_file(s, 1));
}

/* Two files with the same nodes in another order agree. Each host acknowledges in its own order. */
RIG_TEST(node__is_prepared_though_a_host_lists_nodes_in_another_order)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");

	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	reload_host(s, 2, N3_FIRST, "200ms", "3600s");
	move_to(s, 2, 0);
	hook_until(s, serves(be) && is_phase(s, 1, "ready"));
	assert_true(!serves(mb) && in_file(s, 1));
}

/* It is killed, so that it may be another program, or of another deadline. */
RIG_TEST(hook__of_other_settings__is_called_again)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_held(state);

	reload_host(s, 3, MOVED, "100ms", "3599s");
	hook_until(s, calls_of(s, "switch n3 mail web\n") == 2);
	unlink(tmp_at(&s->dir, "hold"));
	hook_until(s, serves(be));
	assert_true(!serves(mb) && calls_of(s, "switch") == 2);
}

/* The program says what the node serves. Nobody waits for a node whose host has given up. */
RIG_TEST(role__that_cannot_be_read_at_a_reload__is_asked_of_the_program)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");
	char path[512];

	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	snprintf(path, sizeof(path), "%s/roles", s->at[3].g->dir.path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("roles", path), 0);
	reload_host(s, 3, MOVED, "100ms", "3599s");
	hook_until(s, calls_of(s, "check n3 - mail") == 2 && in_file(s, 255));
	assert_int_equal(events_of(s, 3, "roles cannot be read: Too many levels of"), 1);
	assert_false(was_called(s, "switch"));
	move_to(s, 2, 0);
	hook_until(s, serves(be) && is_phase(s, 1, "ready"));
}

/* It needs no preparation any more; then it does again, and what it serves is known. */
RIG_TEST(hook__of_a_node_that_is_of_kind_both_now__is_killed)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_held(state);

	for (int i = 1; i <= SITES; i++)
		reload_host(s, i, NODES_OF(""), "100ms", "3600s");
	hook_until(s, serves(be) && !serves(mb));
	unlink(tmp_at(&s->dir, "hold"));
	sites_pass(s, 5 * NS_PER_S);
	assert_true(calls_of(s, "switch") == 1 && in_file(s, 0));
	tmp_write(&s->dir, "role", "web\n");
	for (int i = 1; i <= SITES; i++)
		reload_host(s, i, MOVED, "100ms", "3600s");
	hook_until(s, in_file(s, 1) && is_phase(s, 1, "ready"));
	assert_true(serves(be) && calls_of(s, "switch") == 1);
}

/* Nobody waits longer for a node that is not ready, however often settings change. */
RIG_TEST(give_up__goes_on_over_a_reload)
{
	struct fake_process *mb;
	struct sites *s;

	fake_haproxy_run("be", 3, CONFIGURED);
	mb = fake_haproxy_run("mb", 3, CONFIGURED);
	s = open_switch(state, "3601s");
	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	mb->away = true;
	move_to(s, 2, 0);
	hook_until(s, is_phase(s, 1, "waits"));
	s->now.ns += 2000 * NS_PER_S;
	reload_host(s, 1, MOVED, "200ms", "3600s");
	sites_pass(s, NS_PER_S);
	s->now.ns += 1580 * NS_PER_S;
	sites_pass(s, NS_PER_S);
	assert_string_equal(cluster_history(s->at[1].c, 0)->why, "order");
	hook_until(s, !strcmp(cluster_history(s->at[1].c, 0)->why, "undo"));
}

/* --- words that are lost -------------------------------------------------------------------- */

static void kill_all(struct sites *s)
{
	for (int i = 1; i <= SITES; i++)
		site_kill(s, i);
}

/* All hosts start again: so nobody has seen in which service n3 was, whose words are lost. */
static void lose_words(struct sites *s)
{
	kill_all(s);
	tmp_write(&s->at[3].g->dir, "nodes", "");
	tmp_write(&s->dir, "calls", "");
	for (int i = 1; i <= SITES; i++)
		open_host(s, i);
	hook_until(s, node(s, 1).lost && node(s, 1).word_known);
}

static bool is_in(struct sites *s, const char *service)
{
	struct cluster_node_seen n = node(s, 1);

	return n.service && n.kept && !strcmp(n.service->name, service);
}

/* It is configured for mail, and was prepared for web. */
RIG_TEST(lost_node__is_adopted_by_the_service_that_its_host_has_prepared_it_for)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");
	struct mono began;

	move_to(s, 2, 0);
	hook_until(s, serves(be) && is_phase(s, 1, "ready"));
	lose_words(s);
	hook_until(s, node(s, 1).serves);
	assert_string_equal(node(s, 1).serves->name, "web");
	assert_non_null(strstr(node(s, 1).note, "its host had lost which one it serves"));
	began = s->now;
	hook_until(s, is_in(s, "web"));
	/* its host knows: nobody waits for others that may know better */
	assert_true(mono_sub(s->now, began) < 4 * 4 * NS_PER_S);
	hook_until(s, is_phase(s, 1, "ready"));
	assert_true(serves(be) && !serves(mb) && !was_called(s, "n3"));
}

/* The word named web, but the node was not prepared for it yet, and goes on serving mail. */
RIG_TEST(lost_node__that_was_not_prepared_yet__goes_back)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");

	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	mb->server[2].own = 1;
	move_to(s, 2, 0);
	hook_until(s, is_phase(s, 1, "waits") && node(s, 1).kept);
	site_kill(s, 3);
	tmp_write(&s->at[3].g->dir, "nodes", "");
	open_host(s, 3);
	hook_until(s, node(s, 1).lost && node(s, 1).was);
	assert_string_equal(node(s, 1).was->name, "web");
	hook_until(s, is_in(s, "mail"));
	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	assert_true(!serves(be) && !was_called(s, "switch"));
}

/* It was being prepared when its host died: for which service, nobody knows. */
RIG_TEST(lost_node__of_which_its_host_knows_nothing__is_not_adopted)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_held(state);

	lose_words(s);
	unlink(tmp_at(&s->dir, "hold"));
	sites_pass(s, 40 * NS_PER_S);
	assert_true(node(s, 1).lost && !node(s, 1).serves && node(s, 1).from == 255);
	assert_non_null(strstr(node(s, 1).note, "does not know for which one it is prepared"));
	assert_false(was_called(s, "n3"));
	move_to(s, 2, 0);
	hook_until(s, serves(be));
	assert_false(serves(mb));
	assert_true(was_called(s, "check n3 - web\n") && was_called(s, "switch n3 mail web\n"));
}

/* --- proxies that nobody watches any more --------------------------------------------------- */

/* What host 1 says of a file with these nodes and this balance; conf, if it may come into force. */
static int read_again(struct sites *s, const char *nodes, const char *balance,
		      struct cluster_conf **conf, struct conf_error *e)
{
	char more[4096], text[SITE_TEXT];
	struct cluster_changes ch;

	snprintf(more, sizeof(more), "%s" RECONF ", \"balance\": [%s]", nodes, "100ms", s->dir.path,
		 "3600s", "3601s", balance);
	site_text(s, 1, "test", SITES, more, CALM, text);
	tmp_write(&s->dir, "c1.json", text);
	return cluster_read_again(s->at[1].c, s->now, conf, &ch, e);
}

/* May it? If not, the message says so. */
static bool may(struct sites *s, const char *nodes, const char *balance, const char *says)
{
	struct cluster_conf *conf = NULL;
	struct conf_error e = { 0 };
	int rc = read_again(s, nodes, balance, &conf, &e);

	free(conf);
	if (!rc)
		return true;
	assert_int_equal(rc, -EPERM);
	if (!strstr(e.text, says))
		fail_msg("\"%s\", not \"%s\"", e.text, says);
	return false;
}

RIG_TEST(reload__that_leaves_requests_unwatched__is_refused)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");

	hook_until(s, serves(mb) && !serves(be) && is_phase(s, 1, "ready"));
	hook_until(s, may(s, MOVED, MB, "requests of web to node n3"));
	assert_false(may(s, MOVED, BE, "requests of mail to node n3 (server s3 of mb)"));
	move_to(s, 2, 0);
	hook_until(s, serves(be) && !serves(mb));
	/* nothing is known of a HAProxy that is not reached */
	mb->away = true;
	hook_until(s, !may(s, MOVED, BE, "if HAProxy runs no more, restart resexd"));
	mb->away = false;
	hook_until(s, may(s, MOVED, BE, "server s3 of mb"));
	assert_false(may(s, MOVED, MB, "server s3 of be"));
	assert_false(may(s, MOVED, MB, "run resex balance-set web observe and"));
	/* only of a node */
	assert_false(may(s, NODES_OF(", \"kind\": \"switch\", \"only\": [\"mail\"]"), BE ", " MB,
			 "server s3 of be"));
	assert_true(may(s, NODES_OF(", \"kind\": \"switch\", \"only\": [\"mail\", \"web\"]"),
			BE ", " MB, ""));
	/* the remedy without a move */
	assert_int_equal(cluster_balance_set(s->at[1].c, 0, CLUSTER_OBSERVE), 0);
	sites_pass(s, NS_PER_S); /* weights are restored */
	be->server[2].own = 1;
	be->server[2].admin = ACT_OUT;
	sites_pass(s, NS_PER_S);
	assert_false(may(s, MOVED, MB, "until its requests have ended"));
	be->server[2].own = 0;
	hook_until(s, may(s, MOVED, MB, "server s3 of be"));
}

/* The other thread has not taken the settings over yet, and the word still names mail. */
RIG_TEST(proxy__that_will_be_left__begins_to_send_nothing)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_switch(state, "3601s");
	struct cluster_conf *conf = NULL;
	struct conf_error e = { 0 };
	uint64_t ticket;

	hook_until(s, serves(mb) && !serves(be) && is_phase(s, 1, "ready"));
	assert_int_equal(cluster_balance_set(s->at[1].c, 1, CLUSTER_OBSERVE), 0);
	sites_pass(s, NS_PER_S);
	mb->server[2].admin = ACT_OUT;
	hook_until(s, may(s, MOVED, BE, "server s3 of mb"));
	assert_int_equal(read_again(s, MOVED, BE, &conf, &e), 0);
	assert_int_equal(cluster_reload(s->at[1].c, conf, &ticket), 0);
	assert_int_equal(cluster_balance_set(s->at[1].c, 1, CLUSTER_ACT), 0);
	for (int i = 0; i < 40; i++) {
		s->now.ns += 25 * MS;
		cluster_work(s->at[1].c, snap_latest(&s->at[1].g->ho), s->now, WALL);
		assert_int_equal(mb->server[2].admin, ACT_OUT);
	}
	assert_int_equal(cluster_reload_result(s->at[1].c, ticket), -EINPROGRESS);
	hook_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	sites_pass(s, 5 * NS_PER_S);
	assert_int_equal(mb->server[2].admin, ACT_OUT);
	move_to(s, 2, 0);
	hook_until(s, serves(be));
}

/* xen3 waits for xen1, though it balances nothing by the new file: it still has the old one. */
RIG_TEST(host__of_another_file__is_waited_for)
{
#define FOR_23(name, number)                                                                       \
	"{\"name\": \"" name "\", \"number\": " number ", \"high\": 1000000, "                     \
	"\"balancers\": [\"xen2\", \"xen3\"]}"
#define BY_23 FOR_23("web", "1") ", " FOR_23("mail", "255")
	struct fake_process *mb;
	struct sites *s;
	char more[4096];

	fake_haproxy_run("be", 3, CONFIGURED);
	mb = fake_haproxy_run("mb", 3, CONFIGURED);
	s = open_switch(state, "3601s");
	hook_until(s, serves(mb) && is_phase(s, 1, "ready"));
	mb->server[2].own = 1;
	move_to(s, 2, 0);
	hook_until(s, is_phase(s, 1, "waits"));
	snprintf(more, sizeof(more), MOVED RECONF, "100ms", s->dir.path, "3600s", "3601s");
	for (int i = 3; i >= 2; i--) {
		uint64_t ticket;

		assert_int_equal(site_reload(s, i, SITES, more, BY_23, &ticket), 0);
		hook_until(s, cluster_reload_result(s->at[i].c, ticket) == 0);
	}
	sites_pass(s, 10 * NS_PER_S);
	assert_true(!was_called(s, "switch") && is_phase(s, 1, "waits"));
	assert_non_null(strstr(cluster_role_note(s->at[3].c, 2), "xen1 has not acknowledged"));
	mb->server[2].own = 0;
	hook_until(s, was_called(s, "switch n3 mail web\n") && is_phase(s, 1, "ready"));
	assert_false(serves(mb));
}

/* It balances nothing by the file that all have: nothing is awaited from it. */
RIG_TEST(host__that_balances_nothing__is_not_waited_for)
{
	struct sites *s = open_switch(state, "3601s");
	char more[4096];

	snprintf(more, sizeof(more), MOVED RECONF, "100ms", s->dir.path, "3600s", "3601s");
	for (int i = 1; i <= SITES; i++) {
		uint64_t ticket;

		assert_int_equal(site_reload(s, i, SITES, more, BY_23, &ticket), 0);
		hook_until(s, cluster_reload_result(s->at[i].c, ticket) == 0);
	}
	hook_until(s, is_phase(s, 1, "ready"));
	move_to(s, 2, 0);
	s->at[1].busy = true; /* its control thread acknowledges nothing now */
	hook_until(s, was_called(s, "switch n3 mail web\n"));
}
