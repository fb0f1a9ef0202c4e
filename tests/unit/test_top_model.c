// SPDX-License-Identifier: GPL-2.0-or-later
/* top_model: order, choice, and what is said when resexd does not answer. */
#include "tests/unit/top_rig.h"

static void list_add(json_t *list, const char *name, const char *uuid, double sent)
{
	json_array_append_new(list, json_pack("{s:s,s:s,s:{s:f}}", "name", name, "uuid", uuid,
					      "rates", "bytes_sent_s", sent));
}

static void take(struct rig *r, json_t *list)
{
	json_t *v = json_pack("{s:o}", "guests", list);

	assert_int_equal(top_model_reply(&r->m, TOP_LIST, v, r->now), 0);
	json_decref(v);
}

/* n guests: g0 sends most. */
static void many(struct rig *r, int n)
{
	json_t *list = json_array();
	char name[16], uuid[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		snprintf(uuid, sizeof(uuid), "u%d", i);
		list_add(list, name, uuid, 1e9 - 1e6 * i);
	}
	take(r, list);
}

static void assert_order(struct rig *r, enum top_column sort, bool reverse, const char *wanted)
{
	char names[64] = "";

	r->m.sort = sort;
	r->m.reverse = reverse;
	top_model_sort(&r->m);
	for (size_t i = 0; i < r->m.n; i++)
		strcat(names, r->m.guests[i].name);
	assert_string_equal(names, wanted);
}

RIG_TEST(sort__by_each_column__figures_descend_words_ascend_unknown_last)
{
	struct rig *r = *state;

	reply(r, TOP_LIST,
	      "{'guests':["
	      "{'name':'b','uuid':'1','state':'paused','domid':3,'vcpus':1,'weight':9,'rings':2,"
	      "'cap':5,'allocated':10,'balance':2,'rates':{'bytes_sent_s':1,'bytes_recv_s':3,"
	      "'cpu_percent':2,'capped_percent':1,'resos_percent':3,'mtus_sent_s':1,"
	      "'mtus_recv_s':2,'latency_us':{'mean':5,'p99':6}}},"
	      "{'name':'C','uuid':'2','state':'exempt','domid':2,'vcpus':3,'weight':8,'rings':1,"
	      "'cap':null,'allocated':0,'balance':0,'rates':null},"
	      "{'name':'a','uuid':'3','state':'managed','domid':1,'vcpus':2,'weight':7,'rings':3,"
	      "'cap':6,'allocated':10,'balance':1,'rates':{'bytes_sent_s':2,'bytes_recv_s':1,"
	      "'cpu_percent':1,'capped_percent':2,'resos_percent':1,'mtus_sent_s':3,"
	      "'mtus_recv_s':1,'latency_us':{'mean':9,'p99':4}}}]}");
	assert_order(r, TOP_NAME, false, "abC");
	assert_order(r, TOP_NAME, true, "Cba");
	assert_order(r, TOP_SENT, false, "abC");
	assert_order(r, TOP_SENT, true, "baC");
	assert_order(r, TOP_RECV, false, "baC");
	assert_order(r, TOP_CPU, false, "baC");
	assert_order(r, TOP_BALANCE, false, "baC");
	assert_order(r, TOP_CAP, false, "abC");
	assert_order(r, TOP_CAP, true, "baC");
	assert_order(r, TOP_CAPPED, false, "abC");
	assert_order(r, TOP_MEAN, false, "abC");
	assert_order(r, TOP_P99, false, "baC");
	assert_order(r, TOP_RESOS, false, "baC");
	assert_order(r, TOP_MTUS_SENT, false, "abC");
	assert_order(r, TOP_MTUS_RECV, false, "baC");
	assert_order(r, TOP_WEIGHT, false, "bCa");
	assert_order(r, TOP_VCPUS, false, "Cab");
	assert_order(r, TOP_ID, false, "bCa");
	assert_order(r, TOP_RINGS, false, "abC");
	assert_order(r, TOP_STATE, false, "Cab");
	assert_int_equal(r->m.guests[0].index, 1);
}

RIG_TEST(sort__of_equal_figures__is_by_name_then_uuid)
{
	struct rig *r = *state;
	json_t *list = json_array();

	list_add(list, "b", "0", 1);
	list_add(list, "a", "2", 1);
	list_add(list, "a", "1", 1);
	take(r, list);
	assert_string_equal(r->m.guests[0].uuid, "1");
	assert_string_equal(r->m.guests[1].uuid, "2");
	assert_string_equal(r->m.guests[2].uuid, "0");
}

RIG_TEST(list__brief__has_the_same_rows)
{
	static const char *const lists[] = {
		"{'guests':[{'name':'a','uuid':'1','state':'managed','domid':1,'vcpus':2,"
		"'weight':3,'rings':4,'cap':5,'allocated':10,'balance':6,"
		"'rates':{'bytes_sent_s':7,'bytes_recv_s':8,'cpu_percent':9,'capped_percent':10,"
		"'resos_percent':11,'mtus_sent_s':12,'mtus_recv_s':13,"
		"'latency_us':{'mean':14,'p99':15}}},{'name':'b','uuid':'2','cap':1,'rates':null}]"
		"}",
		"{'guests':{'name':['a','b'],'uuid':['1','2'],'state':['managed'],'domid':[1],"
		"'vcpus':[2,null],'weight':[3],'rings':[4],'cap':[5,1],'allocated':[10],"
		"'balance':[6],'bytes_sent_s':[7],'bytes_recv_s':[8],'cpu_percent':[9],"
		"'capped_percent':[10],'resos_percent':[11],'mtus_sent_s':[12],"
		"'mtus_recv_s':[13],'latency_us':[14],'latency_p99_us':[15]}}"
	};
	struct rig *r = *state;
	char *text[2];

	for (int i = 0; i < 2; i++) {
		reply(r, TOP_LIST, lists[i]);
		assert_int_equal(top_layout_batch(&r->m, &r->g, 1000, r->now), 0);
		text[i] = text_of(&r->g);
		assert_string_equal(r->m.guests[0].uuid, "1");
	}
	assert_string_equal(text[0], text[1]);
	assert_non_null(strstr(text[1], " 14.0 "));
	free(text[0]);
	free(text[1]);
}

RIG_TEST(sort__of_guests_without_a_figure__puts_them_last_whatever_their_name)
{
	struct rig *r = *state;

	reply(r, TOP_LIST, "{'guests':[{'name':'a','uuid':'1'},{'name':'b','uuid':'2','cap':1}]}");
	assert_order(r, TOP_CAP, false, "ba");
	assert_order(r, TOP_CAP, true, "ba");
}

RIG_TEST(names__longer_than_their_room__are_cut_at_a_whole_character)
{
	struct rig *r = *state;
	json_t *list = json_array();
	char name[301] = "";

	for (int i = 0; i < 150; i++)
		strcat(name, "\xc3\xa4");
	list_add(list, name, "1", 1);
	take(r, list);
	assert_int_equal(strlen(r->m.guests[0].name), 254);
	assert_true(utf8_good(r->m.guests[0].name));
}

RIG_TEST(columns__by_their_word__are_found_in_any_case)
{
	for (int c = 0; c < TOP_COLUMNS; c++)
		assert_int_equal(top_column_find(top_column_word((enum top_column)c)), c);
	assert_int_equal(top_column_find("Mtus-Recv"), TOP_MTUS_RECV);
	assert_int_equal(top_column_find(""), TOP_COLUMNS);
	assert_int_equal(top_column_find("sen"), TOP_COLUMNS);
}

RIG_TEST(choice__of_a_guest_that_is_renamed_and_moves__stays)
{
	struct rig *r = *state;
	json_t *list = json_array();

	many(r, 3);
	top_model_key(&r->m, TOP_KEY_DOWN, 1);
	assert_string_equal(top_model_chosen(&r->m)->name, "g1");
	list_add(list, "other", "u1", 1);
	list_add(list, "g0", "u0", 2);
	list_add(list, "g2", "u2", 3);
	take(r, list);
	assert_string_equal(top_model_chosen(&r->m)->name, "other");
	assert_int_equal(r->m.at, 2);
}

RIG_TEST(choice__of_a_guest_that_is_gone__is_the_one_in_its_place)
{
	struct rig *r = *state;

	many(r, 3);
	top_model_key(&r->m, TOP_KEY_END, 1);
	assert_string_equal(top_model_chosen(&r->m)->name, "g2");
	many(r, 2);
	assert_string_equal(top_model_chosen(&r->m)->name, "g1");
	many(r, 0);
	assert_null(top_model_chosen(&r->m));
	many(r, 1);
	assert_string_equal(top_model_chosen(&r->m)->name, "g0");
}

RIG_TEST(keys__among_256_guests__move_the_choice_and_the_screen_follows)
{
	struct rig *r = *state;
	size_t rows;

	many(r, 256);
	free(screen(r, 24, 80));
	rows = top_layout_rows(&r->m, &r->g);
	assert_int_equal(rows, 10);
	top_model_key(&r->m, TOP_KEY_UP, rows);
	assert_int_equal(r->m.at, 0);
	top_model_key(&r->m, TOP_KEY_PAGE_DOWN, rows);
	assert_shows(r, 24, 80, "\ng10 ");
	top_model_key(&r->m, TOP_KEY_PAGE_UP, rows);
	assert_shows(r, 24, 80, "\ng0 ");
	top_model_key(&r->m, TOP_KEY_DOWN, rows);
	top_model_key(&r->m, TOP_KEY_PAGE_UP, rows);
	assert_int_equal(r->m.at, 0);
	top_model_key(&r->m, TOP_KEY_END, rows);
	assert_int_equal(r->m.at, 255);
	assert_shows(r, 24, 80, "\ng255 ");
	top_model_key(&r->m, TOP_KEY_DOWN, rows);
	top_model_key(&r->m, TOP_KEY_PAGE_DOWN, rows);
	assert_int_equal(r->m.at, 255);
	top_model_key(&r->m, TOP_KEY_HOME, rows);
	assert_int_equal(r->m.at, 0);
	for (int i = 0; i < 256; i++, top_model_key(&r->m, TOP_KEY_DOWN, rows)) {
		char name[16];

		snprintf(name, sizeof(name), "\ng%d ", i);
		assert_shows(r, 24, 80, name);
	}
}

RIG_TEST(keys__left_and_right__go_around_all_columns)
{
	struct rig *r = *state;

	many(r, 2);
	for (int i = 0; i < TOP_COLUMNS; i++)
		top_model_key(&r->m, TOP_KEY_RIGHT, 1);
	assert_int_equal(r->m.sort, TOP_SENT);
	top_model_key(&r->m, TOP_KEY_LEFT, 1);
	assert_int_equal(r->m.sort, TOP_NAME);
	top_model_key(&r->m, TOP_KEY_LEFT, 1);
	assert_int_equal(r->m.sort, TOP_STATE);
	top_model_key(&r->m, TOP_KEY_REVERSE, 1);
	assert_true(r->m.reverse);
	top_model_key(&r->m, TOP_KEY_RIGHT, 1);
	assert_false(r->m.reverse);
}

/* A reply to the former choice must not stand under the name of the new one. */
RIG_TEST(detail__of_another_guest__is_not_shown)
{
	struct rig *r = *state;

	many(r, 2);
	reply(r, TOP_WHY, "{'guests':[{'uuid':'u0','text':'not capped'}]}");
	assert_shows(r, 24, 80, "\ng0: not capped\n");
	top_model_key(&r->m, TOP_KEY_DOWN, 1);
	assert_shows(r, 24, 80, "\ng1:\n");
	top_model_refused(&r->m, TOP_WHY, "there is no guest \"g1\"");
	assert_shows(r, 24, 80, "\ng1: there is no guest \"g1\"\n");
	reply(r, TOP_WHY, "{'guests':[{'uuid':'u1','text':'not capped'}]}");
	assert_shows(r, 24, 80, "\ng1: not capped\n");
	top_model_refused(&r->m, TOP_WHY, "it is gone");
	assert_shows(r, 24, 80, "\ng1: it is gone\n");
}

static void assert_trouble(struct rig *r, bool bad, const char *wanted)
{
	char text[768];

	assert_int_equal(top_model_trouble(&r->m, r->now, text, sizeof(text)), bad);
	assert_string_equal(text, wanted);
}

RIG_TEST(trouble__before_any_reply__has_no_rows)
{
	struct rig *r = *state;

	assert_trouble(r, false, "");
	assert_shows(r, 8, 40, "\nwaiting for resexd\n");
	top_model_lost(&r->m, "cannot reach resexd");
	assert_trouble(r, true, "cannot reach resexd");
	assert_shows(r, 8, 40, "\ncannot reach resexd\n");
}

RIG_TEST(trouble__of_a_daemon_that_hangs__is_told_from_two_seconds_on)
{
	struct rig *r = *state;

	many(r, 1);
	r->now.ns += NS_PER_S;
	top_model_asked(&r->m, r->now);
	r->now.ns += TOP_HUNG_NS - 1;
	assert_trouble(r, false, "");
	r->now.ns += 1;
	assert_trouble(r, true, "resexd has not answered for 2 s; the rows are 3 s old");
	r->now.ns += 60 * NS_PER_S;
	assert_shows(r, 8, 80, "\nresexd has not answered for 62 s; the rows are 63 s old\n");
	many(r, 1);
	assert_trouble(r, false, "");
}

RIG_TEST(trouble__of_a_daemon_that_is_started_anew__is_told_for_ten_seconds)
{
	struct rig *r = *state;

	many(r, 1);
	reply(r, TOP_INFO, "{'ticks':5000}");
	top_model_lost(&r->m, "resexd closed the connection");
	r->now.ns += 4 * NS_PER_S;
	assert_trouble(r, true, "resexd closed the connection; the rows are 4 s old");
	many(r, 1);
	reply(r, TOP_INFO, "{'ticks':200}");
	r->now.ns += 3 * NS_PER_S;
	assert_trouble(r, false, "resexd was started anew 3 s ago");
	assert_shows(r, 8, 40, "\nresexd was started anew 3 s ago\n");
	r->now.ns += 7 * NS_PER_S;
	assert_trouble(r, false, "");
	reply(r, TOP_INFO, "{'ticks':300}");
	assert_trouble(r, false, "");
}

RIG_TEST(trouble__of_another_process_at_the_socket__is_told_whatever_its_ticks)
{
	struct rig *r = *state;

	top_model_connected(&r->m, 100, r->now);
	many(r, 1);
	reply(r, TOP_INFO, "{'ticks':5}");
	assert_trouble(r, false, "");
	top_model_connected(&r->m, 100, r->now); /* it only closed the connection */
	assert_trouble(r, false, "");
	top_model_connected(&r->m, 0, r->now);
	top_model_connected(&r->m, 101, r->now);
	assert_trouble(r, false, "");
	top_model_connected(&r->m, 102, r->now);
	reply(r, TOP_INFO, "{'ticks':9000}");
	assert_trouble(r, false, "resexd was started anew 0 s ago");
}

RIG_TEST(trouble__of_a_list_that_is_refused__is_the_sentence)
{
	struct rig *r = *state;

	many(r, 1);
	top_model_refused(&r->m, TOP_LIST, "too many connections\xff");
	assert_trouble(r, true, "too many connections");
	many(r, 1);
	assert_trouble(r, false, "");
}

RIG_TEST(notes__of_the_policy__stand_below_the_title)
{
	struct rig *r = *state;

	many(r, 1);
	reply(r, TOP_INFO, "{'ticks':5,'late_ticks':5,'paused':true,'policy_note':'unheard'}");
	assert_shows(r, 8, 80,
		     "resex top  1 guest  paused  epoch 0  100.0 % of ticks late\nunheard\n");
}
