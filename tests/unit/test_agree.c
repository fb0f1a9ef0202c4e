// SPDX-License-Identifier: GPL-2.0-or-later
/* agree: which hosts hold the same settings, by part; what was read too early does not count. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/agree.h"
#include "tests/unit/unit.h"

#define S(name, number, more) "{\"name\": \"" name "\", \"number\": " number more "}"
#define WEB		      S("web", "1", "")
#define WEB_2		      S("web", "1", ", \"minimum\": 2")
#define WEB_HIGH	      S("web", "1", ", \"high\": 2000")
#define MAIL		      S("mail", "9", "")
#define MAIL_FIRST	      S("mail", "9", ", \"priority\": 1")
#define DB		      S("db", "4", "")
#define AT(n)		      "\"address\": \"10.0.0." n "\""
#define H(n)		      "{\"name\": \"x" n "\", \"number\": " n ", " AT(n) "}"
#define THREE		      H("1") ", " H("2") ", " H("3")

enum { US = 1, OTHER = 2, THIRD = 3, WEB_AT = 0, MAIL_AT = 1, VIEW = 40 };

struct rig {
	struct cluster_conf ours, theirs;
	struct agree a;
	struct region_host host;
	struct region_service service[PEERS_SERVICES_MAX];
	struct peer_seen seen;
	struct member_view view;
};

static void take(struct cluster_conf *c, const char *hosts, const char *services)
{
	struct conf_error e = { 0 };
	char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"cluster\": \"c\", \"transport\": \"tcp\", \"hosts\": [%s], \"services\": [%s]}",
		hosts, services);
	if (cluster_conf_parse(c, "f", text, strlen(text), "x1", &e))
		fail_msg("%s", e.text);
}

/* Our file has three hosts, web and mail; it was published at 100, and the lock's home is 1. */
static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	take(&r->ours, THREE, WEB ", " MAIL);
	agree_init(&r->a, &r->ours);
	agree_home(&r->a, US, 1, (struct mono){ 50 });
	agree_published(&r->a, VIEW, (struct mono){ 100 });
	r->view = (struct member_view){ VIEW, hostset_first(3), true };
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* A reading that began at this time, of a host with these hosts and services. */
static void has(struct rig *r, int64_t at, const char *hosts, const char *services)
{
	take(&r->theirs, hosts, services);
	r->host.view = VIEW;
	r->host.hosts_digest = cluster_hosts_digest(&r->theirs);
	r->host.services_digest = cluster_services_digest(r->theirs.service, r->theirs.services);
	for (uint32_t i = 0; i < r->theirs.services; i++) {
		const struct cluster_service *s = &r->theirs.service[i];

		r->service[i] = (struct region_service){ .service = (uint32_t)s->number,
							 .minimum = (uint32_t)s->minimum,
							 .more = s->more };
		memcpy(r->service[i].balancers, s->balancers.word, sizeof(s->balancers));
		memcpy(r->service[i].name, s->name, sizeof(s->name));
	}
	r->seen = (struct peer_seen){ .known = true,
				      .read = { at },
				      .host = &r->host,
				      .service = r->service,
				      .services = r->theirs.services };
}

static void read_of(struct rig *r, uint16_t host, int64_t at, const char *hosts,
		    const char *services)
{
	has(r, at, hosts, services);
	agree_read(&r->a, host, &r->seen);
}

static void assert_with(const struct rig *r, enum cluster_agree want, const char *differs)
{
	char text[96];

	agree_differs(&r->a, OTHER, text, sizeof(text));
	assert_string_equal(text, differs);
	assert_int_equal(agree_with(&r->a, OTHER), want);
}

static void assert_service(const struct rig *r, uint32_t i, enum cluster_agree want,
			   uint16_t want_first)
{
	uint16_t first = 99;

	assert_int_equal(agree_on_service(&r->a, &r->view, i, &first), want);
	assert_int_equal(first, want_first);
}

RIG_TEST(hosts__not_read__agree_with_nothing)
{
	struct rig *r = *state;

	assert_with(r, CLUSTER_AGREE_UNREAD, "");
	assert_service(r, WEB_AT, CLUSTER_AGREE_UNREAD, OTHER);
	r->seen = (struct peer_seen){ .known = false };
	agree_read(&r->a, OTHER, &r->seen);
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
}

RIG_TEST(hosts__with_the_same__agree_whatever_the_order)
{
	struct rig *r = *state;

	read_of(r, OTHER, 101, H("3") ", " H("1") ", " H("2"), MAIL ", " WEB);
	assert_with(r, CLUSTER_AGREE_SAME, "");
	assert_service(r, WEB_AT, CLUSTER_AGREE_UNREAD, THIRD);
	read_of(r, THIRD, 101, THREE, WEB ", " MAIL);
	assert_service(r, WEB_AT, CLUSTER_AGREE_SAME, 0);
	assert_service(r, MAIL_AT, CLUSTER_AGREE_SAME, 0);
	/* Those that are not in the view do not count. */
	hostset_set(&r->view.members, THIRD, false);
	read_of(r, THIRD, 102, H("1"), WEB);
	assert_service(r, WEB_AT, CLUSTER_AGREE_SAME, 0);
}

RIG_TEST(readings__not_begun_after_the_publication__do_not_count)
{
	struct rig *r = *state;

	read_of(r, OTHER, 100, THREE, WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
	read_of(r, OTHER, 101, THREE, WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SAME, "");
	/* The same once more changes nothing, another view does. */
	agree_published(&r->a, VIEW, (struct mono){ 200 });
	assert_with(r, CLUSTER_AGREE_SAME, "");
	agree_published(&r->a, VIEW + 4, (struct mono){ 300 });
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
	read_of(r, OTHER, 301, THREE, WEB ", " MAIL); /* it is in the former view */
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
	assert_service(r, WEB_AT, CLUSTER_AGREE_UNREAD, 0); /* and so are we, by r->view */
	r->host.view = VIEW + 4;
	agree_read(&r->a, OTHER, &r->seen);
	assert_with(r, CLUSTER_AGREE_SAME, "");
}

RIG_TEST(readings__from_before_a_link_to_the_locks__do_not_count)
{
	struct rig *r = *state;

	static const struct {
		uint16_t home;
		uint32_t link;
		enum cluster_agree want;
	} rows[] = { { US, 1, CLUSTER_AGREE_SAME },
		     { US, 2, CLUSTER_AGREE_UNREAD },
		     { THIRD, 2, CLUSTER_AGREE_UNREAD },
		     { THIRD, 2, CLUSTER_AGREE_SAME } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t at = 200 + (int64_t)i * 10;

		read_of(r, OTHER, at, THREE, WEB ", " MAIL);
		agree_home(&r->a, rows[i].home, rows[i].link, (struct mono){ at });
		assert_with(r, rows[i].want, "");
		read_of(r, OTHER, at, THREE, WEB ", " MAIL);
		assert_with(r, rows[i].want, "");
	}
}

RIG_TEST(difference__in_one_service__touches_no_other)
{
	struct rig *r = *state;

	read_of(r, THIRD, 101, THREE, WEB ", " MAIL);
	read_of(r, OTHER, 101, THREE, WEB_2 ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SERVICES, "its cluster.json differs in service web");
	assert_service(r, WEB_AT, CLUSTER_AGREE_SERVICES, OTHER);
	assert_service(r, MAIL_AT, CLUSTER_AGREE_SAME, 0);
	read_of(r, OTHER, 102, THREE, WEB);
	assert_with(r, CLUSTER_AGREE_SERVICES, "its cluster.json differs in service mail");
	assert_service(r, WEB_AT, CLUSTER_AGREE_SAME, 0);
	assert_service(r, MAIL_AT, CLUSTER_AGREE_SERVICES, OTHER);
	read_of(r, OTHER, 103, THREE, WEB ", " DB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SERVICES, "its cluster.json has further services");
	assert_service(r, WEB_AT, CLUSTER_AGREE_SAME, 0);
	assert_service(r, MAIL_AT, CLUSTER_AGREE_SAME, 0);
}

/* The record has a digest of them, so that the difference is found in one service. */
RIG_TEST(difference__in_settings_of_moves__touches_that_service_alone)
{
	struct rig *r = *state;

	take(&r->ours, THREE, WEB ", " MAIL_FIRST);
	agree_init(&r->a, &r->ours);
	agree_published(&r->a, VIEW, (struct mono){ 100 });
	read_of(r, THIRD, 101, THREE, WEB ", " MAIL_FIRST);
	read_of(r, OTHER, 101, THREE, WEB ", " MAIL_FIRST);
	assert_with(r, CLUSTER_AGREE_SAME, "");
	read_of(r, OTHER, 102, THREE, WEB_HIGH ", " MAIL_FIRST);
	assert_with(r, CLUSTER_AGREE_SERVICES, "its cluster.json differs in service web");
	assert_service(r, MAIL_AT, CLUSTER_AGREE_SAME, 0);
	/* A release without them */
	read_of(r, OTHER, 103, THREE, WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SERVICES, "its cluster.json differs in service mail");
	assert_service(r, WEB_AT, CLUSTER_AGREE_SAME, 0);
}

RIG_TEST(difference__in_the_hosts__touches_all)
{
	struct rig *r = *state;

	read_of(r, THIRD, 101, THREE ", " H("4"), WEB ", " MAIL);
	assert_service(r, MAIL_AT, CLUSTER_AGREE_HOSTS, THIRD); /* not OTHER, which was not read */
	read_of(r, OTHER, 101, H("1") ", " H("2"), WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_HOSTS, "its cluster.json has other hosts");
	assert_service(r, MAIL_AT, CLUSTER_AGREE_HOSTS, OTHER);
}

/* Nothing is decided by them yet. */
RIG_TEST(difference__in_the_nodes__is_told_and_touches_nothing)
{
	struct rig *r = *state;

	r->a.nodes = r->host.nodes_digest = 7;
	read_of(r, THIRD, 101, THREE, WEB ", " MAIL);
	read_of(r, OTHER, 101, THREE, WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SAME, "");
	r->host.nodes_digest = 8;
	read_of(r, OTHER, 102, THREE, WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_NODES, "its cluster.json has other nodes");
	assert_service(r, WEB_AT, CLUSTER_AGREE_SAME, 0);
	read_of(r, OTHER, 103, THREE, WEB_2 ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SERVICES, "its cluster.json differs in service web");
	assert_service(r, WEB_AT, CLUSTER_AGREE_SERVICES, OTHER);
	r->host.nodes_digest = 0;
	read_of(r, OTHER, 104, THREE, WEB ", " MAIL);
	assert_with(r, CLUSTER_AGREE_NODES,
		    "its cluster.json has no nodes, or its resexd is older");
}

RIG_TEST(services__without_the_digest_of_the_record__were_read_at_another_time)
{
	struct rig *r = *state;

	has(r, 101, THREE, WEB_2 ", " MAIL);
	r->service[0].minimum = 1;
	agree_read(&r->a, OTHER, &r->seen);
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
	r->seen.services = 0; /* as of a host with more of them than are read */
	agree_read(&r->a, OTHER, &r->seen);
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
}

RIG_TEST(settings__new_here__are_compared_once_they_are_published)
{
	struct rig *r = *state;

	read_of(r, OTHER, 101, THREE, WEB_2 ", " MAIL);
	take(&r->ours, THREE, WEB_2 ", " MAIL);
	agree_init(&r->a, &r->ours);
	read_of(r, OTHER, 102, THREE, WEB_2 ", " MAIL);
	assert_with(r, CLUSTER_AGREE_UNREAD, "");
	assert_service(r, WEB_AT, CLUSTER_AGREE_UNREAD, 0);
	agree_published(&r->a, VIEW, (struct mono){ 103 });
	read_of(r, OTHER, 104, THREE, WEB_2 ", " MAIL);
	assert_with(r, CLUSTER_AGREE_SAME, "");
}
