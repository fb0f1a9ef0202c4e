// SPDX-License-Identifier: GPL-2.0-or-later
/* top_layout: screens of resex top to the byte, at any size, with any text in them. */
#include "tests/unit/top_rig.h"

#define TWO                                                                                        \
	"{'simulated':true,'epoch':7,'policy':'ioshares','guests':["                               \
	"{'name':'bulk','uuid':'u-bulk','domid':2,'vcpus':1,'weight':256,'state':'managed',"       \
	"'rings':1,'cap':25,'allocated':1000,'balance':620,"                                       \
	"'rates':{'bytes_sent_s':812345678,'bytes_recv_s':0,'cpu_percent':24.9,"                   \
	"'capped_percent':87.3,'resos_percent':99.6,'mtus_sent_s':793306,'mtus_recv_s':0,"         \
	"'latency_us':null}},"                                                                     \
	"{'name':'server','uuid':'u-server','domid':1,'vcpus':2,'weight':512,'state':'managed',"   \
	"'rings':4,'cap':null,'allocated':1000,'balance':5,"                                       \
	"'rates':{'bytes_sent_s':310000000.4,'bytes_recv_s':1200,'cpu_percent':101.25,"            \
	"'capped_percent':0,'resos_percent':12.4,'mtus_sent_s':302734,'mtus_recv_s':1.2,"          \
	"'latency_us':{'mean':221.62,'p99':1271000}}}]}"

#define WHY                                                                                        \
	"{'guests':[{'uuid':'u-bulk','text':'capped at 25 %: it slows guest server, whose mean "   \
	"latency is 6 % above its 209 us alone'}]}"

#define RINGS                                                                                      \
	"{'guests':[{'uuid':'u-bulk','attached':true,'rings':["                                    \
	"{'id':1,'kind':'SQ','qpn':17,'pid':4242,'comm':'ib_write_bw','wrs':1059,"                 \
	"'mtus_sent':2168832,'mtus_recv':0,'errors':0,'state':'active','fault':''},"               \
	"{'id':2,'kind':'CQ','qpn':null,'pid':4242,'comm':'ib_write_bw','wrs':0,"                  \
	"'mtus_sent':0,'mtus_recv':0,'errors':0,'state':'active','fault':'gone'}]}]}"

static void assert_screen(struct rig *r, int rows, int cols, const char *wanted)
{
	char *text = screen(r, rows, cols);

	assert_string_equal(text, wanted);
	free(text);
}

static void two(struct rig *r)
{
	reply(r, TOP_LIST, TWO);
	reply(r, TOP_INFO, "{'ticks':1000,'late_ticks':12,'paused':false,'observe':true}");
	reply(r, TOP_WHY, WHY);
	reply(r, TOP_RINGLIST, RINGS);
}

RIG_TEST(guests__of_80x16__have_bars_why_and_rings)
{
	struct rig *r = *state;

	two(r);
	assert_screen(
		r, 16, 80,
		"SIMULATED  resex top  2 guests  ioshares  observing only  epoch 7\n"
		"\n"
		"NAME     SENT-MB/s RECV-MB/s CPU-%   BALANCE-%     CAP-% CAPPED-% MEAN-us P99-us\n"
		"bulk         812.3       0.0  24.9 ||||     62 |      25       87       -      -\n"
		"server       310.0       0.0 101.2 |         0      none        0   221.6  1271k\n"
		"bulk: capped at 25 %: it slows guest server, whose mean latency is 6 % above its\n"
		"209 us alone\n"
		"QPN  KIND   PID  COMM          WRS  MTUS-SENT  MTUS-RECV  ERRORS  STATE   FAULT\n"
		" 17  SQ    4242  ib_write_bw  1059    2168832          0       0  active  -\n"
		"  -  CQ    4242  ib_write_bw     0          0          0       0  active  gone\n"
		"\n\n\n\n\n"
		"q quit  Tab hosts  h help  < > sort  r reverse  Up Down choose\n");
	assert_int_equal(r->g.cells[3 * 80].attr, TOP_REVERSE);
	assert_int_equal(r->g.cells[4 * 80].attr, TOP_PLAIN);
	assert_int_equal(r->g.cells[2 * 80].attr, TOP_BOLD);
	assert_int_equal(r->g.cells[2 * 80 + 9].attr, TOP_BOLD | TOP_REVERSE);
}

RIG_TEST(guests__of_the_least_size__have_some_columns_and_why)
{
	struct rig *r = *state;

	two(r);
	assert_screen(r, TOP_ROWS_LEAST, TOP_COLS_LEAST,
		      "SIMULATED  resex top  2 guests  ioshares\n"
		      "\n"
		      "NAME     SENT-MB/s RECV-MB/s CPU-%\n"
		      "bulk         812.3       0.0  24.9\n"
		      "server       310.0       0.0 101.2\n"
		      "bulk: capped at 25 %: it slows guest ser\n"
		      "\n"
		      "q quit  Tab hosts  h help  < > sort\n");
}

RIG_TEST(guests__sorted_by_a_column_without_room__show_it_in_place_of_the_last)
{
	struct rig *r = *state;

	two(r);
	r->m.sort = TOP_STATE;
	assert_shows(r, 8, 40,
		     "NAME     SENT-MB/s RECV-MB/s STATE\nbulk         812.3       0.0 ma");
	r->m.sort = TOP_P99;
	assert_shows(r, 8, 44, "NAME     SENT-MB/s RECV-MB/s CPU-% P99-us\n");
}

RIG_TEST(guests__of_a_wide_terminal__have_all_columns_and_long_bars)
{
	struct rig *r = *state;

	two(r);
	assert_shows(r, 16, 200,
		     "CPU-%              BALANCE-%                  CAP-% CAPPED-% MEAN-us P99-us "
		     "SPENT-% SENT-MTU/s RECV-MTU/s WEIGHT VCPUS    ID RINGS STATE\n");
	assert_shows(r, 16, 200, " 24.9 |||||||||||         62 ||||                25       87 ");
	assert_shows(r, 16, 200,
		     "     100     793306          0    256     1     2     1 managed\n");
}

RIG_TEST(caps__of_half_of_all_vcpus__fill_half_a_bar)
{
	struct rig *r = *state;

	reply(r, TOP_LIST, "{'guests':[{'name':'a','uuid':'1','cap':100,'vcpus':2}]}");
	assert_shows(r, 16, 200, " |||||||||          100 ");
}

RIG_TEST(guests__without_rates__have_dashes)
{
	struct rig *r = *state;

	reply(r, TOP_LIST,
	      "{'guests':[{'name':'a','uuid':'1','cap':5,'vcpus':1,'allocated':0,'balance':0},"
	      "{'name':'b','uuid':'2','rates':null}]}");
	assert_screen(
		r, 8, 80,
		"resex top  2 guests  epoch 0\n"
		"\n"
		"NAME     SENT-MB/s RECV-MB/s CPU-%   BALANCE-%     CAP-% CAPPED-% MEAN-us P99-us\n"
		"a                -         -     -           - |       5        -       -      -\n"
		"b                -         -     -           -      none        -       -      -\n"
		"a:\n"
		"\n"
		"q quit  Tab hosts  h help  < > sort  r reverse  Up Down choose\n");
}

RIG_TEST(batch__of_two_guests__has_the_columns_that_fit_of_one_width)
{
	struct rig *r = *state;
	char *text;

	two(r);
	reply(r, TOP_INFO, "{'ticks':1000,'late_ticks':12,'policy_note':'no guest reports'}");
	assert_int_equal(top_layout_batch(&r->m, &r->g, 1000, r->now), 0);
	text = text_of(&r->g);
	assert_string_equal(
		text,
		"SIMULATED  resex top  2 guests  ioshares  epoch 7  1.2 % of ticks late\n"
		"no guest reports\n"
		"NAME                     SENT-MB/s RECV-MB/s CPU-% BALANCE-%     CAP-% CAPPED-% "
		"MEAN-us P99-us SPENT-% SENT-MTU/s RECV-MTU/s WEIGHT VCPUS    ID RINGS STATE\n"
		"bulk                         812.3       0.0  24.9 ||     62 |      25       87 "
		"      -      -     100     793306          0    256     1     2     1 managed\n"
		"server                       310.0       0.0 101.2 |       0      none        0 "
		"  221.6  1271k      12     302734          1    512     2     1     4 managed\n");
	free(text);
	assert_int_equal(top_layout_batch(&r->m, &r->g, 80, r->now), 0);
	text = text_of(&r->g);
	assert_string_equal(
		text,
		"SIMULATED  resex top  2 guests  ioshares  epoch 7  1.2 % of ticks late\n"
		"no guest reports\n"
		"NAME       SENT-MB/s RECV-MB/s CPU-% BALANCE-%     CAP-% CAPPED-% MEAN-us P99-us\n"
		"bulk           812.3       0.0  24.9 ||     62 |      25       87       -      -\n"
		"server         310.0       0.0 101.2 |       0      none        0   221.6  "
		"1271k\n");
	free(text);
}

/* Digits that are cut would be another figure. */
RIG_TEST(figures__too_long_for_their_column__lose_decimals_then_get_a_letter)
{
	struct rig *r = *state;

	reply(r, TOP_LIST,
	      "{'guests':[{'name':'a','uuid':'1','cap':123456,'vcpus':1,'domid':1e30,"
	      "'rates':{'bytes_sent_s':12345678901234567,'bytes_recv_s':1e300,"
	      "'cpu_percent':12345.67,'mtus_sent_s':99999999999999}}]}");
	assert_shows(r, 16, 200, "12345679k         > 12346");
	assert_shows(r, 16, 200, " ||||||||||||||||| 123k ");
	assert_shows(r, 16, 200, " 100000000M          - ");
}

static const char hosts_json[] =
	"{'cluster':'web','quorate':true,'cluster_note':'','hosts':["
	"{'name':'xen1','state':'self','age_ms':3,'guests':2,'simulated':true,"
	"'policy':'ioshares','member':true,'generation':1,'note':''},"
	"{'name':'xen2','state':'silent','age_ms':3900,'guests':12,'simulated':false,"
	"'policy':'null','member':false,'generation':2,'note':'no heartbeat for 3.9 s'},"
	"{'name':'xen3','state':'down','age_ms':null,'member':true,'note':'no route'}]}";

static const char locks_json[] =
	"{'locks':[{'service':'shop','state':'held','owner':'xen2','home':'xen1',"
	"'since_ms':61000,'age_ms':2,'fence':'1.4','differs':null},"
	"{'service':'mail','state':'unknown','home':null}]}";

RIG_TEST(hosts__of_80x16__have_locks_below_them)
{
	struct rig *r = *state;

	two(r);
	top_model_key(&r->m, TOP_KEY_PAGE, 1);
	reply(r, TOP_HOSTS, hosts_json);
	reply(r, TOP_LOCKS, locks_json);
	assert_screen(
		r, 16, 80,
		"SIMULATED  resex top  2 guests  ioshares  observing only  epoch 7\n"
		"\n"
		"cluster web\n"
		"HOST  STATE     AGE  GUESTS  SIMULATED  POLICY    MEMBER  GENERATION  NOTE\n"
		"xen1  self    0.0 s       2  yes        ioshares  yes              1  -\n"
		"xen2  silent  3.9 s      12  no         null      no               2  no heartbe\n"
		"xen3  down        -       -  -          -         yes              -  no route\n"
		"SERVICE  LOCK     OWNER  HOME   SINCE    AGE  FENCE  DIFFERS\n"
		"shop     held     xen2   xen1  61.0 s  0.0 s  1.4    -\n"
		"mail     unknown  -      -          -      -  -      -\n"
		"\n\n\n\n\n"
		"q quit  Tab guests  h help  Up Down scroll\n");
	top_model_key(&r->m, TOP_KEY_DOWN, 1);
	assert_shows(r, 9, 80,
		     "\nxen2  silent  3.9 s      12  no         null      no               "
		     "2  no heartbe\nxen3  down        -       -  -          -         yes"
		     "              -  no route\n2 locks: see resex lock-list\n");
	assert_shows(r, 10, 80,
		     "no heartbe\nxen3  down        -       -  -          -         yes            "
		     "  -  no route\nSERVICE  LOCK     OWNER  HOME   SINCE    AGE  FENCE  "
		     "DIFFERS\nshop     held     xen2   xen1  61.0 s  0.0 s  1.4    -\nmail ");
}

RIG_TEST(hosts__of_the_least_size__are_shown_one_by_one__and_locks_are_counted)
{
	struct rig *r = *state;

	two(r);
	top_model_key(&r->m, TOP_KEY_PAGE, 1);
	reply(r, TOP_HOSTS, hosts_json);
	reply(r, TOP_LOCKS, locks_json);
	assert_screen(r, TOP_ROWS_LEAST, TOP_COLS_LEAST,
		      "SIMULATED  resex top  2 guests  ioshares\n"
		      "\n"
		      "cluster web\n"
		      "HOST  STATE     AGE  GUESTS  SIMULATED\n"
		      "xen1  self    0.0 s       2  yes\n"
		      "and 2 more\n"
		      "2 locks: see resex lock-list\n"
		      "q quit  Tab guests  h help\n");
	top_model_key(&r->m, TOP_KEY_END, 1);
	assert_shows(r, 8, 40, "xen3  down        -       -  -\n2 locks: ");
	reply(r, TOP_LOCKS, "{'locks':[]}");
	top_model_key(&r->m, TOP_KEY_HOME, 1);
	assert_shows(r, 8, 40,
		     "xen2  silent  3.9 s      12  no\nxen3  down        -       -  -\nq ");
}

RIG_TEST(hosts__without_a_cluster__are_the_sentence_of_resexd)
{
	struct rig *r = *state;

	two(r);
	reply(r, TOP_HOSTS, hosts_json);
	top_model_key(&r->m, TOP_KEY_HOSTS, 1);
	top_model_refused(&r->m, TOP_HOSTS, "this host is in no cluster: name a cluster_file");
	assert_shows(r, 8, 40, "\nthis host is in no cluster: name a\ncluster_file\n");
	reply(r, TOP_HOSTS, "{'cluster':'web','quorate':false,'cluster_note':'1 of 3'}");
	assert_shows(r, 8, 80, "cluster web: NO QUORUM, this host decides nothing: 1 of 3\n");
}

RIG_TEST(help__replaces_the_page__until_a_key_is_pressed)
{
	struct rig *r = *state;

	two(r);
	top_model_key(&r->m, TOP_KEY_HELP, 1);
	assert_screen(r, 8, 40,
		      "SIMULATED  resex top  2 guests  ioshares\n"
		      "Up Down      choose, or scroll\n"
		      "PgUp PgDn    a page; also Home, End\n"
		      "< >          sort by another column\n"
		      "r            reverse the order\n"
		      "Tab, 1, 2    guests; hosts and locks\n"
		      "Space        ask resexd now\n"
		      "h, q         this help; quit\n");
	top_model_key(&r->m, TOP_KEY_DOWN, 1);
	assert_shows(r, 8, 40, "\nNAME ");
}

RIG_TEST(screens__too_small__are_one_sentence)
{
	struct rig *r = *state;

	two(r);
	assert_screen(r, 7, 40, "resex top needs 40 columns and 8 rows\n");
	assert_screen(r, 9, 39, "resex top needs 40 columns and 8 rows\n");
	assert_screen(r, 4, 10, "resex top\nneeds 40\ncolumns\nand 8 rows\n");
	assert_screen(r, 1, 1, "r\n");
	assert_screen(r, 0, -5, "r\n");
	assert_screen(r, 3, 1, "r\ne\ns\n");
}

/* Each cell of a row has its place, and no byte in it is obeyed by a terminal. */
static void assert_harmless(const struct top_grid *g)
{
	for (int y = 0; y < g->rows; y++)
		for (int x = 0; x < g->cols; x++) {
			const struct top_cell *c = &g->cells[y * g->cols + x];
			unsigned char first = (unsigned char)c->text[0];
			char tamed[8];

			assert_int_equal(strlen(c->text) == 0, c->width == 0);
			assert_true(c->width != 0 || (x > 0 && c[-1].width == 2));
			assert_true(c->width != 2 || (x + 1 < g->cols && c[1].width == 0));
			assert_true(c->width == 0 || (first >= 0x20 && first != 0x7f));
			assert_true(utf8_good(c->text));
			snprintf(tamed, sizeof(tamed), "%s", c->text);
			utf8_tame(tamed);
			assert_string_equal(tamed, c->text);
		}
}

RIG_TEST(text__with_all_that_a_terminal_obeys__is_harmless)
{
	static const char *const rows[][2] = {
		{ "a\033[2Jb\007", "a?[2Jb?" },
		{ "\x9b"
		  "31m\xc2\x9b"
		  "31m",
		  "?31m?31m" },
		{ "\xe2\x80\xae"
		  "evil\xe2\x81\xa6",
		  "?evil?" },
		{ "e\xcc\x81", "e?" },
		{ "\xff\xfe\xc3", "???" },
		{ "\xf0\x9f\x98\x80.", "?." },
		{ "h\xc3\xa4user", "h\xc3\xa4user" },
		{ "\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac" },
		{ "x\xc2\xad\xe2\x80\x8b\xef\xbb\xbfy", "x???y" },
	};
	struct rig *r = *state;
	char out[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(top_grid_resize(&r->g, 1, 20), 0);
		top_grid_put(&r->g, 0, 0, 20, rows[i][0], TOP_PLAIN);
		assert_harmless(&r->g);
		top_grid_text(&r->g, 0, out);
		assert_string_equal(out, rows[i][1]);
	}
	r->g.utf8 = false;
	assert_int_equal(top_grid_resize(&r->g, 1, 20), 0);
	top_grid_put(&r->g, 0, 0, 20, "h\xc3\xa4user", TOP_PLAIN);
	top_grid_text(&r->g, 0, out);
	assert_string_equal(out, "h?user");
	/* Half of a wide character has no room. */
	r->g.utf8 = true;
	assert_int_equal(top_grid_resize(&r->g, 1, 3), 0);
	assert_int_equal(top_grid_put(&r->g, 0, 0, 3, "\xe6\x97\xa5\xe6\x9c\xac", TOP_PLAIN), 2);
}

static uint64_t below(struct prop *p, uint64_t n)
{
	return prop_u64(p) % n;
}

/* Bytes of any kind, more often those that mean something. */
static json_t *any_text(struct prop *p)
{
	static const char *const parts[] = { "\033[",	     "\x1b]0;",	 "\xc2\x9b", "\xe2\x80\xae",
					     "\xe6\x97\xa5", "a",	 " ",	     "\n",
					     "\x7f",	     "\xcc\x81", "%s",	     "\xc3\xa4" };
	char text[64] = "";

	for (uint64_t n = below(p, 7); n; n--)
		strcat(text, parts[below(p, sizeof(parts) / sizeof(parts[0]))]);
	return json_string(text);
}

static json_t *any_value(struct prop *p)
{
	switch (below(p, 8)) {
	case 0:
		return json_null();
	case 1:
		return json_boolean(below(p, 2));
	case 2:
		return json_integer((json_int_t)prop_hostile(p));
	case 3:
		return json_real(-1e18 + (double)below(p, 4) * 1e18);
	case 4:
		return json_array();
	default:
		return any_text(p);
	}
}

static json_t *any_row(struct prop *p)
{
	static const char *const keys[] = { "name",	 "uuid",    "state",   "cap",
					    "allocated", "vcpus",   "balance", "attached",
					    "text",	 "kind",    "qpn",     "comm",
					    "fault",	 "service", "note",    "age_ms" };
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (below(p, 4))
			json_object_set_new(o, keys[i], any_value(p));
	return o;
}

static json_t *any_list(struct prop *p, const char *key)
{
	json_t *list = json_array(), *o = json_pack("{s:o}", key, list);

	for (uint64_t n = below(p, 6); n; n--) {
		json_t *row = below(p, 8) ? any_row(p) : any_value(p), *rings = json_array();

		json_array_append_new(rings, any_row(p));
		if (json_is_object(row))
			json_object_set(row, "rings", rings);
		json_decref(rings);
		json_array_append_new(list, row);
	}
	return o;
}

RIG_TEST(screens__of_any_reply_size_and_key__are_harmless)
{
	static const char *const keys[TOP_REPLIES] = { "guests", "policy_note", "guests",
						       "guests", "hosts",	"locks" };
	struct rig *r = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 3000; i++) {
		enum top_reply what = (enum top_reply)below(&p, TOP_REPLIES);
		json_t *v = below(&p, 50) ? any_list(&p, keys[what]) : any_value(&p);
		json_t *said = any_text(&p);

		r->now.ns += (int64_t)below(&p, 3) * NS_PER_S;
		if (below(&p, 8))
			assert_int_equal(top_model_reply(&r->m, what, v, r->now), 0);
		else
			top_model_refused(&r->m, what, json_string_value(said));
		if (!below(&p, 10))
			top_model_lost(&r->m, json_string_value(said));
		if (!below(&p, 3))
			top_model_asked(&r->m, r->now);
		top_model_key(&r->m, (enum top_key)below(&p, TOP_KEY_REFRESH + 1),
			      top_layout_rows(&r->m, &r->g));
		r->g.utf8 = below(&p, 4);
		free(screen(r, (int)below(&p, 30), (int)below(&p, 120)));
		assert_harmless(&r->g);
		assert_int_equal(top_layout_batch(&r->m, &r->g, 1000, r->now), 0);
		assert_harmless(&r->g);
		json_decref(v);
		json_decref(said);
	}
}
