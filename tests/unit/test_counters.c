// SPDX-License-Identifier: GPL-2.0-or-later
/* counters: names, and sources over a tree of files and messages that the test makes. */
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "src/counters/counters_priv.h"
#include "src/sim/sim.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

struct rig {
	struct tmpdir dir;
	struct counters c;
	struct counter_value v;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	r->c.ops = counters_host;
	r->c.sys = r->dir.path;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	counters_close(&r->c);
	assert_null(r->c.cache);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

/* A file with all the directories above it. */
static void put(struct rig *r, const char *name, const char *text)
{
	for (const char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
		char part[80];

		snprintf(part, sizeof(part), "%.*s", (int)(p - name), name);
		assert_true(!mkdir(tmp_at(&r->dir, part), 0700) || errno == EEXIST);
	}
	tmp_write(&r->dir, name, text);
}

static void put_vif(struct rig *r, const char *vif, int index, const char *rx, const char *tx)
{
	char name[96], text[32];

	snprintf(text, sizeof(text), "%d\n", index);
	snprintf(name, sizeof(name), "class/net/%s/ifindex", vif);
	put(r, name, text);
	snprintf(name, sizeof(name), "class/net/%s/statistics/rx_bytes", vif);
	put(r, name, rx);
	snprintf(name, sizeof(name), "class/net/%s/statistics/tx_bytes", vif);
	put(r, name, tx);
	snprintf(name, sizeof(name), "class/net/%s/statistics/rx_packets", vif);
	put(r, name, "10\n");
	snprintf(name, sizeof(name), "class/net/%s/statistics/tx_packets", vif);
	put(r, name, "20\n");
}

static int read_vif(struct rig *r, uint32_t domid)
{
	const struct counter_name n = { .kind = COUNTER_VIF };

	return counter_vif.read(&r->c, &n, domid, &r->v);
}

static int read_port(struct rig *r, const char *text)
{
	struct counter_name n;

	assert_int_equal(counter_parse_link(text, &n), 0);
	return counter_port.read(&r->c, &n, 0, &r->v);
}

/* --- names ------------------------------------------------------------------------ */

TEST(parse__names_as_the_man_page_has_them__are_taken)
{
	struct counter_name n;

	assert_int_equal(counter_parse_guest("auto", &n), 0);
	assert_int_equal(n.kind, COUNTER_AUTO);
	assert_int_equal(counter_parse_guest("none", &n), 0);
	assert_int_equal(n.kind, COUNTER_NONE);
	assert_int_equal(counter_parse_guest("vif", &n), 0);
	assert_int_equal(n.kind, COUNTER_VIF);
	assert_int_equal(counter_parse_guest("vf:ens1f0np0/3", &n), 0);
	assert_int_equal(n.kind, COUNTER_VF);
	assert_string_equal(n.dev, "ens1f0np0");
	assert_int_equal(n.number, 3);
	assert_int_equal(counter_parse_link("port:mlx5_0/1", &n), 0);
	assert_int_equal(n.kind, COUNTER_PORT);
	assert_string_equal(n.dev, "mlx5_0");
	assert_int_equal(n.number, 1);
	assert_int_equal(counter_parse_link("none", &n), 0);
	assert_int_equal(n.kind, COUNTER_NONE);
}

TEST(parse__anything_else__is_refused)
{
	static const char *const guest[] = {
		"",
		"VIF",
		"vf",
		"vf:",
		"vf:eth0",
		"vf:eth0/",
		"vf:/3",
		"vf:eth0/x",
		"vf:eth0/-1",
		"vf:eth0/3 ",
		"vf:../3",
		"vf:a/b/3",
		"vf:a/ 3",
		"vf:-a/3",
		"port:a/1",
		"vf:a b/3",
		"vf:a/65536",
		"vf:a/0000000",
		"vf:sixteenletters16/1",
		"vif:1",
		" vif",
	};
	static const char *const link[] = { "",	     "auto",   "vif",	  "vf:a/1",
					    "port:", "port:a", "port:a/b" };
	struct counter_name n = { .number = 77 };

	for (size_t i = 0; i < sizeof(guest) / sizeof(guest[0]); i++)
		if (counter_parse_guest(guest[i], &n) != -EINVAL)
			fail_msg("\"%s\" was taken", guest[i]);
	for (size_t i = 0; i < sizeof(link) / sizeof(link[0]); i++)
		if (counter_parse_link(link[i], &n) != -EINVAL)
			fail_msg("\"%s\" was taken", link[i]);
	assert_int_equal(n.number, 77);
}

TEST(find__what_reads_it_here__or_nothing)
{
	struct counters host = { .ops = counters_host }, sim = { .ops = counters_sim }, no = { 0 };
	const struct counter_name any = { .kind = COUNTER_AUTO }, none = { .kind = COUNTER_NONE },
				  vf = { .kind = COUNTER_VF };

	assert_ptr_equal(counter_find(&host, &any), &counter_vif);
	assert_ptr_equal(counter_find(&host, &vf), &counter_vf);
	assert_null(counter_find(&host, &none));
	assert_ptr_equal(counter_find(&sim, &any), &counter_sim);
	assert_null(counter_find(&sim, &vf)); /* nothing real is read on a simulated host */
	assert_null(counter_find(&no, &any));
}

/* --- interfaces -------------------------------------------------------------------- */

RIG_TEST(vif__one_interface__what_it_received_is_what_the_guest_sent)
{
	struct rig *r = *state;

	put_vif(r, "vif7.0", 12, "4000\n", "300\n");
	assert_int_equal(read_vif(r, 7), 0);
	assert_int_equal(r->v.bytes_sent, 4000);
	assert_int_equal(r->v.bytes_recv, 300);
	assert_int_equal(r->v.packets_sent, 10);
	assert_int_equal(r->v.packets_recv, 20);
}

RIG_TEST(vif__several_of_a_guest__are_summed_up_and_others_are_not)
{
	struct rig *r = *state;

	put_vif(r, "vif7.0", 12, "1\n", "10\n");
	put_vif(r, "vif7.15", 13, "2\n", "20\n");
	put_vif(r, "vif77.0", 14, "400\n", "4000\n");
	put_vif(r, "vif7.16", 15, "400\n", "4000\n"); /* more than a guest has */
	assert_int_equal(read_vif(r, 7), 0);
	assert_int_equal(r->v.bytes_sent, 3);
	assert_int_equal(r->v.bytes_recv, 30);
	assert_int_equal(r->v.packets_recv, 40);
}

RIG_TEST(vif__none_of_that_guest__is_no_counter)
{
	struct rig *r = *state;

	assert_int_equal(read_vif(r, 7), -ENOENT);
	put_vif(r, "vif8.0", 12, "1\n", "1\n");
	assert_int_equal(read_vif(r, 7), -ENOENT);
}

RIG_TEST(vif__made_anew_or_one_more__is_another_counter)
{
	struct rig *r = *state;
	uint64_t first, second;

	put_vif(r, "vif7.0", 12, "1\n", "1\n");
	assert_int_equal(read_vif(r, 7), 0);
	first = r->v.which;
	assert_int_equal(read_vif(r, 7), 0);
	assert_true(r->v.which == first);
	put_vif(r, "vif7.0", 13, "1\n", "1\n");
	assert_int_equal(read_vif(r, 7), 0);
	assert_true(r->v.which != first);
	second = r->v.which;
	put_vif(r, "vif7.1", 12, "1\n", "1\n");
	assert_int_equal(read_vif(r, 7), 0);
	assert_true(r->v.which != first && r->v.which != second);
}

RIG_TEST(vif__vanishing_while_it_is_read__is_no_smaller_sum)
{
	struct rig *r = *state;

	put_vif(r, "vif7.0", 12, "5\n", "5\n");
	put_vif(r, "vif7.1", 13, "5\n", "5\n");
	unlink(tmp_at(&r->dir, "class/net/vif7.1/statistics/tx_packets"));
	r->v.bytes_sent = 77;
	assert_int_equal(read_vif(r, 7), -EAGAIN);
	assert_int_equal(r->v.bytes_sent, 77);
}

RIG_TEST(vif__rubbish_in_a_file__is_refused)
{
	static const char *const bad[] = { "",	    "\n",    "-1\n",   "x\n",
					   "12x\n", "1 2\n", "0x10\n", "18446744073709551616\n",
					   "+5\n",  " 5\n",  "N/A\n" };
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_vif(r, "vif7.0", 12, bad[i], "5\n");
		if (read_vif(r, 7) != -EBADMSG)
			fail_msg("\"%s\" was taken", bad[i]);
	}
	put_vif(r, "vif7.0", 12, "18446744073709551615\n", "5");
	assert_int_equal(read_vif(r, 7), 0);
	put_vif(r, "vif7.1", 13, "1\n", "5");
	assert_int_equal(read_vif(r, 7), -EBADMSG); /* no sum goes round */
}

/* --- ports -------------------------------------------------------------------------- */

#define PORT "class/infiniband/mlx5_0/ports/1/"

RIG_TEST(port__counters_of_data__are_words_of_four_bytes)
{
	struct rig *r = *state;

	put(r, PORT "counters/port_xmit_data", "1000\n");
	put(r, PORT "counters/port_rcv_data", "2000\n");
	put(r, PORT "counters/port_xmit_packets", "3\n");
	put(r, PORT "counters/port_rcv_packets", "4\n");
	assert_int_equal(read_port(r, "port:mlx5_0/1"), 0);
	assert_int_equal(r->v.bytes_sent, 4000);
	assert_int_equal(r->v.bytes_recv, 8000);
	assert_int_equal(r->v.packets_sent, 3);
	assert_int_equal(r->v.packets_recv, 4);
	assert_int_equal(read_port(r, "port:mlx5_0/2"), -ENOENT);
	put(r, PORT "counters/port_xmit_data", "4611686018427387904\n");
	assert_int_equal(read_port(r, "port:mlx5_0/1"), -EBADMSG); /* no product goes round */
}

RIG_TEST(port__soft_roce__counts_no_bytes)
{
	struct rig *r = *state;

	put(r, "class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", "5\n");
	assert_int_equal(read_port(r, "port:rxe0/1"), -EOPNOTSUPP);
	assert_non_null(strstr(counter_why(COUNTER_PORT, -EOPNOTSUPP), "no bytes"));
}

/* --- virtual functions --------------------------------------------------------------- */

struct msg {
	uint8_t buf[4096];
	size_t len;
};

static size_t part_begin(struct msg *m, uint16_t type)
{
	const struct nlattr h = { 0, type };

	memcpy(m->buf + m->len, &h, sizeof(h));
	m->len += sizeof(h);
	return m->len - sizeof(h);
}

static void part_end(struct msg *m, size_t at)
{
	uint16_t len = (uint16_t)(m->len - at);

	memcpy(m->buf + at, &len, sizeof(len));
	m->len = NLMSG_ALIGN(m->len);
}

static void part(struct msg *m, uint16_t type, const void *data, size_t len)
{
	size_t at = part_begin(m, type);

	memcpy(m->buf + m->len, data, len);
	m->len += len;
	part_end(m, at);
}

static void msg_begin(struct msg *m, uint16_t type)
{
	struct nlmsghdr h = { .nlmsg_type = type };
	struct ifinfomsg i = { 0 };

	memset(m, 0, sizeof(*m));
	memcpy(m->buf, &h, sizeof(h));
	memcpy(m->buf + sizeof(h), &i, sizeof(i));
	m->len = sizeof(h) + sizeof(i);
}

static void msg_end(struct msg *m)
{
	uint32_t len = (uint32_t)m->len;

	memcpy(m->buf, &len, sizeof(len));
}

/* One virtual function, whose counters are first, first + 1, ...; 0: it has none. */
static void put_vf(struct msg *m, uint32_t number, uint64_t first)
{
	static const uint16_t types[] = { IFLA_VF_STATS_RX_PACKETS, IFLA_VF_STATS_TX_PACKETS,
					  IFLA_VF_STATS_RX_BYTES,   IFLA_VF_STATS_TX_BYTES,
					  IFLA_VF_STATS_BROADCAST,  IFLA_VF_STATS_MULTICAST };
	const struct ifla_vf_mac mac = { .vf = number };
	size_t info = part_begin(m, IFLA_VF_INFO), stats;

	part(m, IFLA_VF_MAC, &mac, sizeof(mac));
	if (first) {
		stats = part_begin(m, IFLA_VF_STATS);
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			uint64_t x = first + i;

			part(m, IFLA_VF_STATS_PAD, "", 0);
			part(m, types[i], &x, sizeof(x));
		}
		part_end(m, stats);
	}
	part_end(m, info);
}

static void make_answer(struct msg *m)
{
	size_t list;

	msg_begin(m, RTM_NEWLINK);
	part(m, IFLA_IFNAME, "ens1f0", 7);
	list = part_begin(m, IFLA_VFINFO_LIST);
	put_vf(m, 0, 100);
	put_vf(m, 1, 0);
	put_vf(m, 3, 300);
	part_end(m, list);
	msg_end(m);
}

TEST(vf__answer_of_the_kernel__is_read_for_that_function_alone)
{
	struct counter_value v = { 0 };
	struct msg m;

	make_answer(&m);
	assert_int_equal(counter_vf_parse(m.buf, m.len, 3, &v), 0);
	assert_int_equal(v.packets_recv, 300);
	assert_int_equal(v.packets_sent, 301);
	assert_int_equal(v.bytes_recv, 302);
	assert_int_equal(v.bytes_sent, 303);
	assert_int_equal(counter_vf_parse(m.buf, m.len, 0, &v), 0);
	assert_int_equal(v.bytes_sent, 103);
	assert_int_equal(counter_vf_parse(m.buf, m.len, 1, &v), -EOPNOTSUPP);
	assert_int_equal(counter_vf_parse(m.buf, m.len, 2, &v), -ENOENT);
	assert_int_equal(v.bytes_sent, 103);
}

TEST(vf__interface_without_any__is_no_counter)
{
	struct counter_value v;
	struct msg m;

	msg_begin(&m, RTM_NEWLINK);
	part(&m, IFLA_IFNAME, "eth0", 5);
	msg_end(&m);
	assert_int_equal(counter_vf_parse(m.buf, m.len, 0, &v), -ENOENT);
}

TEST(vf__error_in_place_of_an_answer__is_told)
{
	static const struct {
		int error, rc;
	} rows[] = { { -ENODEV, -ENOENT }, { -EPERM, -EPERM }, { 0, -EBADMSG }, { 5, -EBADMSG } };
	struct counter_value v;
	struct msg m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		msg_begin(&m, NLMSG_ERROR);
		memcpy(m.buf + NLMSG_HDRLEN, &rows[i].error, sizeof(rows[i].error));
		msg_end(&m);
		assert_int_equal(counter_vf_parse(m.buf, m.len, 0, &v), rows[i].rc);
	}
}

TEST(vf__answer_cut_short_or_spoilt__is_read_within_its_bounds)
{
	struct counter_value v;
	struct msg whole;
	struct prop p;

	prop_start(&p);
	make_answer(&whole);
	for (int i = 0; i < 20000; i++) {
		size_t len = prop_one_in(&p, 2) ? whole.len : prop_range(&p, 0, whole.len);
		uint8_t *m = malloc(len ? len : 1); /* what is beyond is not ours */
		int rc;

		assert_non_null(m);
		memcpy(m, whole.buf, len);
		for (uint64_t k = prop_range(&p, 0, 3); len && k; k--)
			m[prop_range(&p, 0, len - 1)] = (uint8_t)prop_u64(&p);
		rc = counter_vf_parse(m, len, (uint32_t)prop_range(&p, 0, 4), &v);
		prop_assert(&p, i, rc <= 0 && (len == whole.len || rc < 0));
		free(m);
	}
}

RIG_TEST(vf__asked_of_this_kernel__there_is_none_on_the_loopback)
{
	struct rig *r = *state;
	struct counter_name n;

	assert_int_equal(counter_parse_guest("vf:lo/0", &n), 0);
	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), -ENOENT);
	assert_int_equal(counter_parse_guest("vf:nosuchdev/0", &n), 0);
	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), -ENOENT);
}

RIG_TEST(vf__two_of_one_interface_in_one_round__are_asked_for_once)
{
	struct rig *r = *state;
	struct counter_name n = { .kind = COUNTER_VF, .dev = "lo", .number = 0 };
	struct msg m;

	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), -ENOENT);
	assert_non_null(r->c.cache);
	/* what is kept of the round is read again, though the kernel would say otherwise */
	make_answer(&m);
	counter_vf_keep(&r->c, m.buf, m.len);
	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), 0);
	n.number = 3;
	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), 0);
	assert_int_equal(r->v.bytes_sent, 303);
	r->c.round++;
	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), -ENOENT);
	counter_vf_keep(&r->c, m.buf, m.len);
	strcpy(n.dev, "nosuchdev");
	assert_int_equal(counter_vf.read(&r->c, &n, 0, &r->v), -ENOENT);
}

/* --- the simulated host ----------------------------------------------------------------- */

TEST(sim__each_byte_the_link_carried__is_counted_blind_or_not)
{
	struct sim_conf *conf = calloc(1, sizeof(*conf));
	struct counters c = { .ops = counters_sim };
	const struct counter_name any = { .kind = COUNTER_AUTO };
	struct counter_value v, before = { 0 };
	struct sim_host *h;
	struct sim_truth t;

	assert_non_null(conf);
	sim_conf_demo(conf);
	conf->guest[1].blind = true;
	assert_int_equal(sim_open(&h, conf, (struct mono){ 0 }), 0);
	c.arg = h;
	for (int ms = 1; ms <= 200; ms++) {
		sim_advance(h, (struct mono){ ms * NS_PER_MS + 333 });
		assert_int_equal(counter_find(&c, &any)->read(&c, &any, 2, &v), 0);
		assert_int_equal(sim_truth(h, 1, &t), 0);
		/* messages under way count as far as they are */
		assert_true(v.bytes_sent >= t.bytes - t.bytes_recv);
		assert_true(v.bytes_sent <
			    t.bytes + 16 * (uint64_t)conf->guest[1].app[0].msg_bytes);
		assert_true(v.bytes_sent >= before.bytes_sent);
		assert_true(v.packets_sent >= before.packets_sent);
		before = v;
	}
	assert_true(v.bytes_sent > 0 && v.packets_sent > 0);
	assert_int_equal(counter_sim.read(&c, &any, 99, &v), -ENOENT);
	sim_close(h);
	free(conf);
}
