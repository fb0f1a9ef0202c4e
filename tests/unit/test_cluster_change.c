// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_change: what may change while a cluster runs, what is refused, where and with which
 * remedy; and the digests of the parts. The numbers are of a program in another language, written
 * from the head of cluster_agree.c.
 */
#include "config.h"
#include "src/conf/cluster_change.h"

#include <errno.h>

#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

#define H(name, number, address)                                                                   \
	"{\"name\": \"" name "\", \"number\": " number ", \"address\": \"10.0.0." address "\"}"
#define HP(name, number, address, more)                                                            \
	"{\"name\": \"" name "\", \"number\": " number ", \"address\": \"10.0.0." address          \
	"\", " more "}"
#define X2		   H("x2", "2", "2")
#define X3		   H("x3", "3", "3")
#define X4		   H("x4", "4", "4")
#define CLIENT(name, more) "{\"name\": \"" name "\", \"number\": 7, \"role\": \"client\"" more "}"
#define P7		   CLIENT("p", "")
#define WEB		   "{\"name\": \"web\", \"number\": 1, \"balancers\": [\"x2\"]}"
#define MAIL                                                                                       \
	"{\"name\": \"mail\", \"number\": 200, \"minimum\": 3, \"balancers\": [\"x2\", \"x3\"]}"
#define FILE_OF(head, hosts, services)                                                             \
	"{\"cluster\": \"c\", \"transport\": \"tcp\", " head "\"hosts\": [" hosts                  \
	"], \"services\": [" services "]}"
#define CORO "\"membership\": \"corosync\", "
#define SHM_OF(address)                                                                            \
	"{\"cluster\": \"c\", \"transport\": \"shm\", \"hosts\": ["                                \
	"{\"name\": \"x2\", \"number\": 2, \"address\": \"/s\"}, "                                 \
	"{\"name\": \"x3\", \"number\": 3, \"address\": \"" address "\"}]}"
#define NODE(host, number)                                                                         \
	"\"nodes\": [{\"name\": \"n\", \"number\": " number ", \"host\": \"" host "\"}], "
#define GUEST_NODE(name, number, guest)                                                            \
	"\"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"x2\"}, "                         \
	"{\"name\": \"" name "\", \"number\": " number ", \"host\": \"x2\", \"guest\": \"" guest   \
	"\"}], "
#define WEB_BALANCE(number, more, socket)                                                          \
	"\"nodes\": [{\"name\": \"n\", \"number\": " number ", \"host\": \"x3\", "                 \
	"\"service\": \"web\"" more "}], "                                                         \
	"\"balance\": [{\"service\": \"web\", \"socket\": \"" socket "\"}], "
#define WEB_AGENT(port)                                                                            \
	"\"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"x3\", "                          \
	"\"service\": \"web\"}], \"balance\": [{\"service\": \"web\", \"by\": \"agent\", "         \
	"\"service_time\": \"1ms\", \"port\": " port "}], "
#define WEB_OF(more) "{\"name\": \"web\", \"number\": 1, \"balancers\": [\"x2\"]" more "}"
#define TWO_NODES                                                                                  \
	"\"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"x3\", \"service\": "             \
	"\"web\"" O_AT_X4 "}], "
#define TWO_HOSTS X2 ", " X3 ", " X4
#define O_AT_X4	  "}, {\"name\": \"o\", \"number\": 1, \"host\": \"x4\", \"service\": \"web\""
#define BASE	  FILE_OF("", X2 ", " X3, WEB ", " MAIL)
#define HOST1	  H("x1", "1", "1")
#define SELF6	  H("x2", "6", "6")
#define WEB_NODE(more)                                                                             \
	"\"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"x3\", \"service\": \"web\"" more \
	"}], "
#define MAIL_NODE                                                                                  \
	"\"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"x3\", \"service\": \"mail\"}], "
#define OWN_OF_WEB                                                                                 \
	"\"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"x2\", \"service\": \"web\"}], "
#define NODES_OF(host) "; nodes of host " host ": others, or with other settings"
#define SEVEN                                                                                      \
	X3 ", " X4 ", " H("a", "5", "5") ", " H("b", "6", "6") ", " H("c", "17", "7") ", " H(      \
		"d", "8", "8") ", " H("e", "9", "9")
#define CORO_BASE FILE_OF(CORO, X2 ", " X3, WEB ", " MAIL)

struct confs {
	struct cluster_conf a, b;
	struct cluster_changes ch;
	struct tmpdir dir;
};

static int setup(void **state)
{
	struct confs *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	memset(&f->a, 0xa5, sizeof(f->a)); /* what the file does not fill does not count */
	memset(&f->b, 0x5a, sizeof(f->b));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void take(struct cluster_conf *c, const char *text)
{
	struct conf_error e = { 0 };

	if (cluster_conf_parse(c, "f", text, strlen(text), "x2", &e))
		fail_msg("%s", e.text);
}

/* What is said of the way from a to b: the refusal with its place, or all changes. */
static void change(struct confs *f, const char *a, const char *b, uint32_t present, char *said,
		   size_t size)
{
	struct hostset there = { { 0 } };
	struct cluster_refusal why = { 0 };
	size_t n = 0;

	take(&f->a, a);
	take(&f->b, b);
	hostset_set(&there, (uint32_t)f->a.host[f->a.self].number, true);
	if (present)
		hostset_set(&there, present, true);
	said[0] = '\0';
	if (cluster_change(&f->a, &f->b, &there, &f->ch, &why)) {
		snprintf(said, size, "%s %u %s: %s", why.list, why.number, why.key, why.text);
		return;
	}
	n += (size_t)snprintf(said, size, "%s", f->ch.hosts ? "hosts" : "");
	for (uint32_t i = 0; i < f->ch.n; i++) {
		char text[CLUSTER_CHANGE_TEXT];

		cluster_change_text(&f->a, &f->b, &f->ch.change[i], text);
		n += (size_t)snprintf(said + n, size - n, "; %s", text);
	}
}

static const struct row {
	const char *a, *b;
	uint32_t present; /* beside this host; 0: none */
	const char *said; /* a part of it; of changes all */
} rows[] = {
	/* in whatever order and words it is listed */
	{ BASE, BASE, 3, "" },
	{ BASE, FILE_OF("\"hold\": \"2000ms\", ", X3 ", " X2, MAIL ", " WEB), 3, "" },
	{ BASE,
	  FILE_OF("\"host\": \"x2\", ", HP("x2", "2", "2", "\"port\": 7471") ", " X3,
		  WEB ", " MAIL),
	  3, "" },
	/* hosts are added; with static membership behind the first */
	{ BASE, FILE_OF("", X2 ", " X3 ", " X4, WEB ", " MAIL), 3, "hosts; host x4 is new" },
	{ BASE, FILE_OF("", X2 ", " X3 ", " H("x1", "1", "1"), WEB ", " MAIL), 3,
	  "hosts 1 number: number 1 is below 2, the host that has the locks: give the new host a "
	  "higher one" },
	/* with corosync behind the lowest that is there */
	{ CORO_BASE, FILE_OF(CORO, X2 ", " X3 ", " H("x1", "1", "1"), WEB ", " MAIL), 3,
	  "hosts 1 number: number 1 is below 2, the host that has the locks" },
	{ FILE_OF(CORO, HOST1 ", " SELF6, ""), FILE_OF(CORO, HOST1 ", " SELF6 ", " X4, ""), 0,
	  "hosts 4 number: number 4 is below 6, the host that has the locks" },
	{ FILE_OF(CORO, HOST1 ", " SELF6, ""), FILE_OF(CORO, HOST1 ", " SELF6 ", " X4, ""), 1,
	  "hosts; host x4 is new" },
	{ FILE_OF("", HOST1 ", " SELF6, ""), FILE_OF("", HOST1 ", " SELF6 ", " X4, ""), 0,
	  "hosts; host x4 is new" },
	/* callers that is not given grows with the hosts; that is no change of a key */
	{ FILE_OF("", X2 ", " X3, ""),
	  FILE_OF("",
		  X2 ", " X3 ", " X4
		     ", " H("a", "5", "5") ", " H("b", "6", "6") ", " H("c", "7", "7") ", " H(
			     "d", "8", "8") ", " H("e", "9", "9") ", " H("f", "10", "10"),
		  ""),
	  3,
	  "hosts; host x4 is new; host a is new; host b is new; host c is new; host d is new; host "
	  "e is new; host f is new" },
	/* with a client, too; but what the file gives is compared, whatever else changes */
	{ FILE_OF("", X2 ", " SEVEN, ""), FILE_OF("", X2 ", " SEVEN ", " P7, ""), 3,
	  "; client p is new" },
	{ BASE, FILE_OF("\"load\": {\"period\": \"1s\"}, ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 load: load of this host is 10ms since its start: write that, or restart its resexd" },
	{ BASE, FILE_OF(NODE("x2", "1"), X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 nodes: nodes of this host is none since" },
	{ FILE_OF(NODE("x2", "1"), X2, ""), FILE_OF(NODE("x2", "2"), X2, ""), 0,
	  " 0 nodes: nodes of this host is 1 n since" },
	{ FILE_OF(NODE("x2", "1"), X2, ""), FILE_OF("", X2, ""), 0, " 0 nodes: nodes of" },
	{ FILE_OF(NODE("x2", "1"), X2, ""), FILE_OF(GUEST_NODE("m", "2", "g"), X2, ""), 0,
	  " 0 nodes: nodes of this host is 1 n since" },
	{ FILE_OF(GUEST_NODE("m", "2", "g"), X2, ""), FILE_OF(GUEST_NODE("m", "2", "h"), X2, ""), 0,
	  " 0 nodes: nodes of this host is 1 n, 2 m (guest g) since" },
	{ FILE_OF(GUEST_NODE("m", "2", "g"), X2, ""), FILE_OF(GUEST_NODE("o", "2", "g"), X2, ""), 0,
	  " 0 nodes: nodes of this host is" },
	{ FILE_OF(GUEST_NODE("m", "2", "g"), X2, ""), FILE_OF(GUEST_NODE("m", "2", "g"), X2, ""), 0,
	  "" },
	{ BASE, FILE_OF(NODE("x3", "1"), X2 ", " X3, WEB ", " MAIL), 3,
	  NODES_OF("x3") }, /* another's */
	/* balance is of this host; nodes are of all */
	{ BASE, FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB ", " MAIL), 3,
	  NODES_OF("x3") "; balance of service web is new" },
	{ FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB), FILE_OF("", X2 ", " X3, WEB), 3,
	  NODES_OF("x3") "; balance of service web is left out" },
	{ FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB),
	  FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB), 3, "" },
	{ FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB),
	  FILE_OF(WEB_BALANCE("2", "", "/h"), X2 ", " X3, WEB), 3,
	  NODES_OF("x3") "; balance of service web has other settings or nodes" },
	{ FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB),
	  FILE_OF(WEB_BALANCE("1", "", "/i"), X2 ", " X3, WEB), 3,
	  "; balance of service web has other settings or nodes" },
	{ FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3, WEB),
	  FILE_OF(WEB_BALANCE("1", ", \"server\": \"s\"", "/h"), X2 ", " X3, WEB), 3,
	  NODES_OF("x3") "; balance of service web has other settings or nodes" },
	{ FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3 ", " X4, WEB),
	  FILE_OF(WEB_BALANCE("1", O_AT_X4, "/h"), X2 ", " X3 ", " X4, WEB), 3,
	  NODES_OF("x4") "; balance of service web has other settings or nodes" },
	{ FILE_OF(WEB_BALANCE("1", O_AT_X4, "/h"), X2 ", " X3 ", " X4, WEB),
	  FILE_OF(WEB_BALANCE("1", "", "/h"), X2 ", " X3 ", " X4, WEB), 3,
	  NODES_OF("x4") "; balance of service web has other settings or nodes" },
	{ FILE_OF(WEB_NODE(""), X2 ", " X3, WEB), FILE_OF(NODE("x3", "1"), X2 ", " X3, WEB), 3,
	  NODES_OF("x3") },
	{ FILE_OF(WEB_NODE(""), X2 ", " X3, WEB),
	  FILE_OF(WEB_NODE(", \"server\": \"s\""), X2 ", " X3, WEB), 3, NODES_OF("x3") },
	{ FILE_OF(WEB_NODE(""), X2 ", " X3, WEB ", " MAIL),
	  FILE_OF(MAIL_NODE, X2 ", " X3, WEB ", " MAIL), 3, NODES_OF("x3") },
	{ FILE_OF(WEB_NODE(", \"guest\": \"g\""), X2 ", " X3, WEB),
	  FILE_OF(WEB_NODE(", \"guest\": \"h\""), X2 ", " X3, WEB), 3, NODES_OF("x3") },
	{ FILE_OF(NODE("x2", "1"), X2 ", " X3, WEB), FILE_OF(OWN_OF_WEB, X2 ", " X3, WEB), 3,
	  NODES_OF("x2") },
	{ FILE_OF(NODE("x3", "1"), X2 ", " X3, ""), FILE_OF("", X2, ""), 0,
	  "hosts; host x3 is left out" NODES_OF("x3") },
	{ FILE_OF(WEB_AGENT("8"), X2 ", " X3, WEB), FILE_OF(WEB_AGENT("8"), X2 ", " X3, WEB), 3,
	  "" },
	{ FILE_OF(WEB_AGENT("8"), X2 ", " X3, WEB), FILE_OF(WEB_AGENT("9"), X2 ", " X3, WEB), 3,
	  "; balance of service web has other settings or nodes" },
	{ BASE, FILE_OF("\"callers\": 9, ", X2 ", " X3 ", " X4, WEB ", " MAIL), 3,
	  " 0 callers: callers of this host is 8 since" },
	{ BASE, FILE_OF("\"callers_second\": 9, ", X2 ", " X3 ", " X4, WEB ", " MAIL), 3,
	  " 0 callers_second: callers_second of this host is 64 since" },
	/* hosts are removed when they are stopped, but not the first */
	{ BASE,
	  FILE_OF("", X2,
		  WEB ", {\"name\": \"mail\", \"number\": 200, \"minimum\": 3, \"balancers\": "
		      "[\"x2\"]}"),
	  0, "hosts; host x3 is left out; service mail: other balancers" },
	{ FILE_OF("", X2 ", " X3, ""), FILE_OF("", X2, ""), 3,
	  "hosts 3 : host \"x3\" is up and left out: stop its resexd first" },
	{ FILE_OF(CORO, X2 ", " X3, ""), FILE_OF(CORO, X2, ""), 3,
	  "hosts 3 : host \"x3\" is left out, but is up or a member of corosync: stop its resexd "
	  "and "
	  "its corosync, and wait until host-list shows it down and as no member" },
	{ FILE_OF("", H("x1", "1", "1") ", " X2, ""), FILE_OF("", X2, ""), 0,
	  "hosts 1 : host \"x1\" has the locks and is left out: to remove it, stop resexd on all "
	  "hosts" },
	{ FILE_OF(CORO, H("x1", "1", "1") ", " X2, ""), FILE_OF(CORO, X2, ""), 0,
	  "hosts; host x1 is left out" },
	/* a number keeps its host */
	{ BASE, FILE_OF("", X2 ", " HP("x3", "3", "9", "\"port\": 5"), WEB ", " MAIL), 3,
	  "; host x3: address 10.0.0.9 port 5, was 10.0.0.3 port 7471" },
	{ BASE, FILE_OF("", X2 ", " HP("x3", "3", "3", "\"port\": 5"), WEB ", " MAIL), 3,
	  "; host x3: address 10.0.0.3 port 5, was 10.0.0.3 port 7471" },
	{ FILE_OF("", X2 ", " X3, ""), FILE_OF("", X2 ", " H("y", "3", "3"), ""), 3,
	  "; host y: was called x3" },
	{ SHM_OF("/a"), SHM_OF("/b"), 0, "; host x3: address /b, was /a" },
	{ FILE_OF("", X2 ", " X3, ""), FILE_OF("", X2 ", " H("y", "3", "9"), ""), 3,
	  "hosts 3 number: number 3 is \"x3\": give \"y\" a number that no host had" },
	{ FILE_OF("", X2 ", " X3, ""), FILE_OF("", X2 ", " H("x3", "4", "3"), ""), 0,
	  "hosts 4 number: host \"x3\" has number 3: give it that number again, or stop resexd on "
	  "all hosts first" },
	{ FILE_OF("", X2 ", " X3, ""), FILE_OF("", X2 ", " H("x3", "4", "3"), ""), 3,
	  "hosts 4 number: host \"x3\" has number 3: give it that number again, or stop resexd on "
	  "all hosts first" },
	{ FILE_OF("", X2 ", " X3, ""),
	  FILE_OF("", X2 ", " H("y", "3", "3") ", " H("x3", "4", "9"), ""), 3,
	  "hosts 4 number: host \"x3\" has number 3" },
	{ CORO_BASE,
	  FILE_OF(CORO, X2 ", " HP("x3", "3", "3", "\"corosync_node\": 9"), WEB ", " MAIL), 3,
	  "hosts 3 corosync_node: corosync_node of \"x3\" was 3: write that, or stop resexd on all "
	  "hosts first" },
	{ BASE, FILE_OF("", X2 ", " HP("x3", "3", "3", "\"corosync_node\": 9"), WEB ", " MAIL), 3,
	  "" },
	/* clients */
	{ FILE_OF("", X2 ", " P7, ""), FILE_OF("", P7 ", " X2, ""), 0, "" },
	{ FILE_OF("", X2, ""), FILE_OF("", X2 ", " P7, ""), 0, "; client p is new" },
	{ FILE_OF("", X2 ", " P7, ""), FILE_OF("", X2, ""), 0, "; client p is left out" },
	{ FILE_OF("", X2 ", " P7, ""), FILE_OF("", X2 ", " CLIENT("q", ""), ""), 0,
	  "; client q: was called p" },
	{ FILE_OF("", X2 ", " P7, ""),
	  FILE_OF("", X2 ", " CLIENT("p", ", \"address\": \"10.0.0.9\""), ""), 0,
	  "; client p: calls from 10.0.0.9, was any address" },
	{ FILE_OF("", X2 ", " P7, ""),
	  FILE_OF("", X2 ", " CLIENT("p", ", \"rights\": \"atomics\""), ""), 0,
	  "; client p: rights atomics, was read" },
	{ FILE_OF("", X2 ", " CLIENT("p", ", \"address\": \"10.0.0.9\""), ""),
	  FILE_OF("", X2 ", " CLIENT("q", ", \"rights\": \"atomics\""), ""), 0,
	  "; client q: was called p, calls from any address, was 10.0.0.9, rights atomics, was "
	  "read" },
	/* services */
	{ BASE, FILE_OF("", X2 ", " X3, "{\"name\": \"new\", \"number\": 7}, " WEB ", " MAIL), 3,
	  "; service new is new" },
	{ BASE,
	  FILE_OF("", X2 ", " X3,
		  "{\"name\": \"web\", \"number\": 1, \"minimum\": 0, \"balancers\": "
		  "[\"x2\"]}, " MAIL),
	  3, "; service web: minimum 0, was 1" },
	{ BASE, FILE_OF("", X2 ", " X3, "{\"name\": \"web\", \"number\": 1}, " MAIL), 3,
	  "; service web: other balancers" },
	{ BASE,
	  FILE_OF("", X2 ", " X3 ", " X4,
		  "{\"name\": \"web\", \"number\": 1, \"minimum\": 4}, " MAIL),
	  3, "hosts; host x4 is new; service web: minimum 4, was 1, and other balancers" },
	{ BASE, FILE_OF("", X2 ", " X3, WEB_OF(", \"guarantee\": 2") ", " MAIL), 3,
	  "; service web: guarantee 2, was 1" },
	{ BASE, FILE_OF("", X2 ", " X3, WEB_OF(", \"maximum\": 4") ", " MAIL), 3,
	  "; service web: maximum 4, was 1024" },
	{ FILE_OF("", X2, WEB_OF(", \"maximum\": 4")),
	  FILE_OF("", X2, WEB_OF(", \"maximum\": 4, \"low\": 1")), 0,
	  "; service web: low 1, was 900" },
	{ BASE, FILE_OF("", X2 ", " X3, WEB_OF(", \"share\": 2") ", " MAIL), 3,
	  "; service web: share 2, was 1 by default" },
	{ FILE_OF("", X2, WEB_OF(", \"share\": 1")), FILE_OF("", X2, WEB), 0,
	  "; service web: share 1 by default, was 1" },
	{ FILE_OF("", X2, WEB_OF(", \"share\": 1")), FILE_OF("", X2, WEB_OF(", \"share\": 2")), 0,
	  "; service web: share 2, was 1" },
	{ FILE_OF("", X2 ", " X3, WEB_OF(", \"priority\": 7")),
	  FILE_OF("", X2 ", " X3,
		  "{\"name\": \"web\", \"number\": 1, \"priority\": 6, \"high\": 2000, \"low\": "
		  "1}"),
	  3,
	  "; service web: priority 6, was 7, high 2000, was 1500, low 1, was 900, and other "
	  "balancers" },
	/* the others' defaults follow the minimum, and the nodes */
	{ FILE_OF("", X2, WEB_OF(", \"priority\": 1")),
	  FILE_OF("", X2, WEB_OF(", \"priority\": 1, \"minimum\": 2000")), 0,
	  "; service web: minimum 2000, was 1" },
	{ FILE_OF("", X2 ", " X3 ", " X4, WEB), FILE_OF(TWO_NODES, X2 ", " X3 ", " X4, WEB), 0,
	  NODES_OF("x3") NODES_OF("x4") },
	{ FILE_OF("", X2 ", " X3 ", " X4, WEB),
	  FILE_OF(TWO_NODES, X2 ", " X3 ", " X4, WEB_OF(", \"low\": 1")), 0,
	  "; service web: low 1, was 900" NODES_OF("x3") NODES_OF("x4") },
	{ FILE_OF(WEB_NODE(""), TWO_HOSTS, WEB),
	  FILE_OF(WEB_NODE(", \"kind\": \"switch\""), TWO_HOSTS, WEB), 0, NODES_OF("x3") },
	{ FILE_OF(WEB_NODE(""), TWO_HOSTS, WEB),
	  FILE_OF(WEB_NODE(", \"capacity\": 999"), TWO_HOSTS, WEB), 0, NODES_OF("x3") },
	{ FILE_OF(WEB_NODE(""), TWO_HOSTS, WEB),
	  FILE_OF(WEB_NODE(", \"only\": [\"web\"]"), TWO_HOSTS, WEB), 0, NODES_OF("x3") },
	/* a service that comes is one of all */
	{ FILE_OF(WEB_NODE(""), TWO_HOSTS, WEB), FILE_OF(WEB_NODE(""), TWO_HOSTS, WEB ", " MAIL), 0,
	  "; service mail is new" },
	{ BASE, FILE_OF("\"load\": {\"scan\": \"60ms\"}, ", X2 ", " X3, WEB ", " MAIL), 3,
	  "; load: scan 60ms, was 50ms" },
	{ BASE,
	  FILE_OF("\"load\": {\"stale\": \"2s\", \"window\": \"300ms\"}, ", X2 ", " X3,
		  WEB ", " MAIL),
	  3, "; load: stale 2s, was 500ms, window 300ms, was 200ms" },
	/* when nodes move */
	{ FILE_OF(TWO_NODES, TWO_HOSTS, WEB), FILE_OF(TWO_NODES "\"reconf\": {}, ", TWO_HOSTS, WEB),
	  0, "; reconf is new" },
	{ FILE_OF(TWO_NODES "\"reconf\": {}, ", TWO_HOSTS, WEB), FILE_OF(TWO_NODES, TWO_HOSTS, WEB),
	  0, "; reconf is left out" },
	{ FILE_OF(TWO_NODES "\"reconf\": {}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"mode\": \"act\"}, ", TWO_HOSTS, WEB), 0,
	  "; reconf: mode act, was observe" },
	{ FILE_OF(TWO_NODES "\"reconf\": {}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"T\": \"5000ms\", \"budget\": \"6/min\"}, ", TWO_HOSTS,
		  WEB),
	  0, "" },
	{ FILE_OF(TWO_NODES "\"reconf\": {}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"S\": \"200ms\", \"T\": \"6s\", \"margin\": \"30%\", "
			    "\"rest\": \"1s\", \"freeze\": \"2s\", \"budget\": \"6/h\"}, ",
		  TWO_HOSTS, WEB),
	  0,
	  "; reconf: S 200ms, was 100ms, T 6s, was 5s, margin 30%, was 20%, rest 1s, was 30s, "
	  "freeze 2s, was 60s, budget 6/h, was 6/min" },
	{ FILE_OF(TWO_NODES "\"reconf\": {\"budget\": \"1/s\"}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"budget\": \"2/s\"}, ", TWO_HOSTS, WEB), 0,
	  "; reconf: budget 2/s, was 1/s" },
	{ FILE_OF(TWO_NODES "\"reconf\": {\"budget\": \"1/s\"}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"budget\": \"1/h\"}, ", TWO_HOSTS, WEB), 0,
	  "; reconf: budget 1/h, was 1/s" },
	{ FILE_OF(TWO_NODES "\"reconf\": {\"hook\": \"/h\"}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"hook\": \"/i\"}, ", TWO_HOSTS, WEB), 0,
	  "; reconf: another hook" },
	{ FILE_OF(TWO_NODES "\"reconf\": {\"hook\": \"/h\"}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"hook_timeout\": \"5s\", \"give_up\": \"0s\"}, ",
		  TWO_HOSTS, WEB),
	  0, "; reconf: hook_timeout 5s, was 30s, give_up 0s, was 120s, and another hook" },
	{ FILE_OF(TWO_NODES "\"reconf\": {}, ", TWO_HOSTS, WEB),
	  FILE_OF(TWO_NODES "\"reconf\": {\"give_up\": \"40s\"}, ", TWO_HOSTS, WEB), 0,
	  "; reconf: give_up 40s, was 120s" },
	{ BASE, FILE_OF("", X2 ", " X3, MAIL), 3,
	  "services 1 : service \"web\" is left out: write it again; to remove it, stop resexd on "
	  "all "
	  "hosts" },
	{ BASE, FILE_OF("", X2 ", " X3, "{\"name\": \"wob\", \"number\": 1}, " MAIL), 3,
	  "services 1 number: number 1 is service \"web\": give \"wob\" a number that no service "
	  "had" },
	{ BASE, FILE_OF("", X2 ", " X3, WEB ", {\"name\": \"mail\", \"number\": 100}"), 3,
	  "services 100 number: service \"mail\" has number 200: give it that number again" },
	{ BASE, FILE_OF("", X2 ", " X3, MAIL ", {\"name\": \"web\", \"number\": 2}"), 3,
	  "services 2 number: service \"web\" has number 1: give it that number again" },
	{ FILE_OF("", X2, "{\"name\": \"v\", \"number\": 1}, {\"name\": \"w\", \"number\": 2}"),
	  FILE_OF("", X2, "{\"name\": \"v\", \"number\": 2}, {\"name\": \"w\", \"number\": 1}"), 0,
	  "services 1 number: service \"w\" has number 2: give it that number again" },
	/* what all hosts must have equal */
	{ BASE, FILE_OF(CORO, X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 membership: membership is static in force, and must be equal on all hosts: write "
	  "that, "
	  "or stop resexd on all of them, change it in each file, and start them again" },
	{ CORO_BASE, BASE, 3, " 0 membership: membership is corosync in force" },
	{ BASE, FILE_OF("\"hold\": \"1s\", ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 hold: hold is 2s in force, and must be equal" },
	{ BASE, FILE_OF("\"timeout\": \"2s\", ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 timeout: timeout is 1s in force" },
	{ BASE, FILE_OF("\"drift\": 1, ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 drift: drift is 1000 in force" },
	{ FILE_OF("", X2, ""), "{\"cluster\": \"d\", \"transport\": \"tcp\", \"hosts\": [" X2 "]}",
	  0, " 0 cluster: cluster is c in force" },
	/* what this host has since its start */
	{ FILE_OF("", X2, ""),
	  "{\"cluster\": \"c\", \"transport\": \"shm\", \"hosts\": [{\"name\": \"x2\", "
	  "\"number\": 2, \"address\": \"/s\"}]}",
	  0,
	  " 0 transport: transport of this host is tcp since its start: write that, or restart "
	  "its resexd" },
	{ BASE, FILE_OF("\"key_file\": \"/k\", ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 key_file: key_file of this host is " },
	{ BASE, FILE_OF("\"heartbeat\": \"1s\", ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 heartbeat: heartbeat of this host is 100ms since" },
	{ BASE, FILE_OF("\"scan\": \"1s\", ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 scan: scan of this host is 500ms since" },
	{ BASE, FILE_OF("\"callers\": 9, ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 callers: callers of this host is 8 since" },
	{ FILE_OF("\"callers\": 9, ", X2, ""), FILE_OF("", X2, ""), 0,
	  " 0 callers: callers of this host is 9 since" },
	{ BASE, FILE_OF("\"callers_second\": 9, ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 callers_second: callers_second of this host is 64 since" },
	{ BASE, FILE_OF("", H("x2", "2", "9") ", " X3, WEB ", " MAIL), 3,
	  "hosts 2 address: address of this host is 10.0.0.2 since" },
	{ BASE, FILE_OF("", HP("x2", "2", "2", "\"port\": 9") ", " X3, WEB ", " MAIL), 3,
	  "hosts 2 port: port of this host is 7471 since" },
	{ BASE, FILE_OF("\"host\": \"x3\", ", X2 ", " X3, WEB ", " MAIL), 3,
	  " 0 host: this host runs as \"x2\", number 2, and is \"x3\" in this file: correct "
	  "\"host\"" },
	{ BASE, FILE_OF("", H("x2", "9", "2") ", " X3, WEB ", " MAIL), 3,
	  "hosts 9 number: host \"x2\" has number 2: give it that number again, or stop resexd on "
	  "all hosts first" },
	{ BASE,
	  FILE_OF("\"host\": \"y\", ", H("y", "9", "2") ", " X3,
		  "{\"name\": \"web\", \"number\": 1, \"balancers\": [\"y\"]}"),
	  3,
	  "hosts 9 number: this host runs as \"x2\", number 2, and is \"y\", number 9, in this "
	  "file: give it its number again" },
	{ FILE_OF("\"hold\": \"10500us\", ", X2, ""), FILE_OF("", X2, ""), 0,
	  " 0 hold: hold is 10500us in force" },
	{ FILE_OF("\"scan\": \"10000001ns\", ", X2, ""), FILE_OF("", X2, ""), 0,
	  " 0 scan: scan of this host is 10000001ns since" },
};

RIG_TEST(change__of_each_key__takes_effect_or_is_refused_with_the_remedy)
{
	char said[2048];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		bool refused = r->said[0] && r->said[0] != ';' &&
			       strncmp(r->said, "hosts;", 6) != 0;

		change(*state, r->a, r->b, r->present, said, sizeof(said));
		if (refused ? !strstr(said, r->said) : strcmp(said, r->said) != 0)
			fail_msg("row %zu: \"%s\", not \"%s\"", i, said, r->said);
	}
}

/* Both ways of naming a place, and an error of the file itself. */
RIG_TEST(load__a_refusal__names_the_place_in_the_file)
{
	static const struct {
		const char *text;
		int rc;
		const char *said;
	} files[] = {
		{ FILE_OF("", X2 ",\n" X3 ",\n" X4, WEB ", " MAIL), 0, "" },
		{ FILE_OF("", X2 ",\n" H("x3", "4", "3"), WEB ", " MAIL), -EPERM,
		  "cluster.json:2:26: host \"x3\" has number 3" },
		{ FILE_OF("\"hold\":\n \"1s\", ", X2 ", " X3, WEB ", " MAIL), -EPERM,
		  "cluster.json:2:2: hold is 2s in force" },
		{ FILE_OF("", X2 ", " X3, "\n" MAIL), -EPERM,
		  "cluster.json:1:165: service \"web\" is left" },
		{ FILE_OF("", X2 ", " X2, WEB), -EINVAL, "\"x2\" is listed twice" },
	};
	struct confs *f = *state;
	const struct hostset there = { { 2 } };

	tmp_open(&f->dir);
	take(&f->a, BASE);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct conf_error e = { 0 };

		tmp_write(&f->dir, "cluster.json", files[i].text);
		assert_int_equal(
			cluster_change_load(&f->a, &f->b, f->dir.at, "x2", &there, &f->ch, &e),
			files[i].rc);
		if (!strstr(e.text, files[i].said))
			fail_msg("file %zu: \"%s\", not \"%s\"", i, e.text, files[i].said);
	}
	tmp_close(&f->dir);
}

#define NO_MINIMUM	   "{\"name\": \"web\", \"number\": 1, \"minimum\": 0}"
#define ROLE(more)	   "{\"name\": \"n\", \"number\": 1, \"host\": \"x2\"" more "}"
#define SWITCH		   ", \"kind\": \"switch\""
#define GUEST(name)	   ", \"guest\": \"" name "\""
#define RECONF(more)	   "], \"reconf\": {" more "}, "
#define ROLES(nodes, more) FILE_OF("\"nodes\": [" nodes RECONF(more), X2 ", " X3, NO_MINIMUM)
#define HOOKED(nodes)	   ROLES(nodes, "\"hook\": \"/h\"")
#define OF_WEB		   ", \"service\": \"web\", \"only\": [\"web\"]"
#define OTHER		   ROLE(OF_WEB ", \"capacity\": 9" SWITCH)

RIG_TEST(role__of_a_node__is_the_same_whatever_else_changes)
{
	static const struct {
		const char *a, *b;
		bool same;
	} roles[] = {
		{ HOOKED(ROLE(SWITCH)), HOOKED(ROLE(SWITCH)), true },
		/* all but its program */
		{ HOOKED(ROLE(SWITCH)),
		  ROLES("{\"name\": \"o\", \"number\": 1, \"host\": \"x3\"}, " OTHER,
			"\"hook\": \"/h\", \"S\": \"200ms\", \"mode\": \"act\", "
			"\"give_up\": \"0s\""),
		  true },
		{ HOOKED(ROLE(SWITCH)), ROLES(ROLE(SWITCH), "\"hook\": \"/i\""), false },
		{ HOOKED(ROLE(SWITCH)),
		  ROLES(ROLE(SWITCH), "\"hook\": \"/h\", \"hook_timeout\": \"29s\""), false },
		/* of a guest this host has none */
		{ HOOKED(ROLE(SWITCH GUEST("g"))), ROLES(ROLE(SWITCH GUEST("g")), ""), true },
		{ HOOKED(ROLE(SWITCH GUEST("g"))),
		  ROLES(ROLE(SWITCH GUEST("g")), "\"hook_timeout\": \"29s\""), false },
		/* another node */
		{ HOOKED(ROLE(SWITCH GUEST("g"))), HOOKED(ROLE(SWITCH GUEST("i"))), false },
		{ HOOKED(ROLE(SWITCH)),
		  HOOKED("{\"name\": \"n\", \"number\": 2, \"host\": \"x2\"" SWITCH "}"), false },
		{ HOOKED(ROLE(SWITCH)),
		  HOOKED("{\"name\": \"n\", \"number\": 1, \"host\": \"x3\"" SWITCH "}"), false },
		{ HOOKED(ROLE(SWITCH)),
		  HOOKED("{\"name\": \"m\", \"number\": 1, \"host\": \"x2\"" SWITCH "}"), false },
		/* it needs no preparation, or nobody is asked for it */
		{ HOOKED(ROLE(SWITCH)), HOOKED(ROLE("")), false },
		{ HOOKED(ROLE("")), HOOKED(ROLE(SWITCH)), false },
		{ HOOKED(ROLE("")), HOOKED(ROLE("")), false },
		{ HOOKED(ROLE(SWITCH GUEST("g"))),
		  FILE_OF("\"nodes\": [" ROLE(SWITCH GUEST("g")) "], ", X2 ", " X3, NO_MINIMUM),
		  false },
	};
	struct confs *f = *state;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		for (int back = 0; back < 2; back++) {
			const struct cluster_node *n, *m;

			take(&f->a, back ? roles[i].b : roles[i].a);
			take(&f->b, back ? roles[i].a : roles[i].b);
			n = &f->a.node[f->a.nodes - 1];
			m = &f->b.node[f->b.nodes - 1];
			if (cluster_same_role(&f->a, n, &f->b, m) != roles[i].same)
				fail_msg("row %zu, back %d", i, back);
		}
}

#define X3_NODE(name, number, more)                                                                \
	"{\"name\": \"" name "\", \"number\": " number                                             \
	", \"host\": \"x3\", \"service\": \"web\"" more "}"
#define N_NODE	    X3_NODE("n", "1", SWITCH)
#define BOTH_NODE   X3_NODE("o", "2", GUEST("g"))
#define TWO	    N_NODE ", " BOTH_NODE
#define AT_H	    "\"backend\": \"be\", \"socket\": \"/h\""
#define BY(more)    "\"balance\": [{\"service\": \"web\", " more "}], "
#define HOOK_RECONF "\"reconf\": {\"hook\": \"/h\"}, "
#define LEFT(nodes, balance, reconf)                                                               \
	FILE_OF("\"nodes\": [" nodes "], " balance reconf, X2 ", " X3,                             \
		NO_MINIMUM ", {\"name\": \"mail\", \"number\": 200, \"minimum\": 0}")
#define OLD LEFT(TWO, BY(AT_H), HOOK_RECONF)

RIG_TEST(node__whose_requests_nobody_watches_by_another_file__is_found)
{
	static const struct {
		const char *a, *b, *left;
	} files[] = {
		{ OLD, OLD, "" },
		{ OLD,
		  LEFT(BOTH_NODE ", " N_NODE, BY(AT_H ", \"k\": 2, \"mode\": \"act\""),
		       HOOK_RECONF),
		  "" },
		{ OLD, LEFT(TWO, "", HOOK_RECONF), "n" },
		{ OLD, LEFT(TWO, BY("\"backend\": \"be\", \"socket\": \"/i\""), HOOK_RECONF), "n" },
		{ OLD, LEFT(TWO, BY("\"backend\": \"bf\", \"socket\": \"/h\""), HOOK_RECONF), "n" },
		{ OLD,
		  LEFT(X3_NODE("n", "1", SWITCH ", \"server\": \"s\"") ", " BOTH_NODE, BY(AT_H),
		       HOOK_RECONF),
		  "n" },
		{ OLD,
		  LEFT("{\"name\": \"n\", \"number\": 1, \"host\": \"x3\", \"service\": \"mail\", "
		       "\"only\": [\"mail\"]" SWITCH "}, " BOTH_NODE,
		       BY(AT_H), HOOK_RECONF),
		  "n" },
		/* called otherwise it is the same node */
		{ OLD,
		  LEFT(X3_NODE("m", "1", SWITCH ", \"server\": \"n\"") ", " BOTH_NODE, BY(AT_H),
		       HOOK_RECONF),
		  "" },
		/* it is no node any more */
		{ OLD, LEFT(BOTH_NODE, "", HOOK_RECONF), "" },
		{ OLD, LEFT(X3_NODE("n", "3", SWITCH), "", HOOK_RECONF), "" },
		/* it needs no preparation, until it does again; or from now on; or never */
		{ OLD, LEFT(X3_NODE("n", "1", "") ", " BOTH_NODE, "", HOOK_RECONF), "n" },
		{ OLD, LEFT(N_NODE ", " X3_NODE("o", "2", GUEST("g") SWITCH), "", HOOK_RECONF),
		  "no" },
		{ LEFT(TWO, BY(AT_H), ""), LEFT(TWO, "", HOOK_RECONF), "" },
		{ OLD, LEFT(TWO, "", ""), "n" },
		{ LEFT(TWO, "", HOOK_RECONF), LEFT(TWO, "", HOOK_RECONF), "" },
	};
	struct confs *f = *state;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct cluster_node *n = NULL;
		char left[256] = "";

		take(&f->a, files[i].a);
		take(&f->b, files[i].b);
		while ((n = cluster_next_left(&f->a, &f->b, 1, n)) != NULL)
			strcat(left, n->name);
		if (strcmp(left, files[i].left) != 0)
			fail_msg("files %zu: \"%s\", not \"%s\"", i, left, files[i].left);
		assert_null(cluster_next_left(&f->a, &f->b, 200, NULL));
	}
}

RIG_TEST(digests__of_a_known_file__are_the_known_numbers)
{
	struct cluster_conf *c = &((struct confs *)*state)->a;

#define K1   H("x2", "1", "1")
#define K2   H("k", "2", "2")
#define K277 HP("k", "2", "2", "\"corosync_node\": 77")
#define KWEB WEB_OF("")
#define KMAIL                                                                                      \
	"{\"name\": \"mail\", \"number\": 200, \"minimum\": 3, \"balancers\": [\"k\", \"x2\"]}"
	take(c, FILE_OF("", K277 ", " K1, KMAIL ", " KWEB));
	assert_true(cluster_hosts_digest(c) == 0xc36fb0984b532ebb);
	assert_true(cluster_service_digest(cluster_service_find(c, "web")) == 0xd3a75ac3e33ab07f);
	assert_true(cluster_service_digest(cluster_service_find(c, "mail")) == 0xd35ffb2d0c4ada0);
	assert_true(cluster_services_digest(c->service, c->services) == 0x5c0e4fba5a6af21e);
	assert_true(cluster_agreement(c) == 0xc2748b131d490cde);
	take(c, FILE_OF("", K1,
			WEB_OF(", \"minimum\": 1, \"guarantee\": 2, \"share\": 4, "
			       "\"maximum\": 9, \"priority\": 5, \"high\": 2000, "
			       "\"low\": 100")));
	assert_true(c->service[0].more == 0x5d8e980f12a8abf1);
	assert_true(cluster_service_digest(&c->service[0]) == 0xba767f0bbfb1afa7);
	take(c, FILE_OF("", K1, WEB_OF(", \"priority\": 1")));
	assert_true(c->service[0].more == 0x379d99a485087bb2);
	assert_true(cluster_service_digest(&c->service[0]) == 0x2b606ca38c45451d);
	take(c, FILE_OF(CORO, K277 ", " K1, ""));
	assert_true(cluster_hosts_digest(c) == 0x4d8c4530e695615f);
	assert_true(cluster_services_digest(c->service, c->services) == 0x5a77b06f230caa36);
	assert_true(cluster_agreement(c) == 0x6ae92ca2c87c84e4);
	assert_true(cluster_nodes_digest(c) == 0);
#define KNODE(name, number, host, more)                                                            \
	"{\"name\": \"" name "\", \"number\": " number ", \"host\": \"" host "\"" more "}"
#define KN                                                                                         \
	KNODE("n", "255", "k",                                                                     \
	      ", \"guest\": \"g\", \"service\": \"mail\", \"server\": \"s1\", \"kind\": "          \
	      "\"switch\", \"capacity\": 500, \"only\": [\"mail\"]")
#define KM KNODE("m", "7", "x2", ", \"guest\": \"i\"")
#define KH KNODE("h", "0", "x2", ", \"service\": \"web\"")
	take(c, FILE_OF("\"nodes\": [" KN ", " KM ", " KH "], ", K2 ", " K1, KMAIL ", " KWEB));
	assert_true(cluster_nodes_digest(c) == 0x83cc87c46217bc23);
	c->reconf.given = true;
	assert_true(cluster_nodes_digest(c) == 0x8717fa83fb5f62cc);
}
