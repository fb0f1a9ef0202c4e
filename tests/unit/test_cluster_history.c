// SPDX-License-Identifier: GPL-2.0-or-later
/* history: moves in memory and in a file, and files that are cut, foreign, or cannot be written. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/cluster/history.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

struct rig {
	struct tmpdir dir;
	struct history *h;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	tmp_open(&r->dir);
	*state = r;
	return 0;
}

/* No file may grow beyond, as on a disk that is nearly full. */
static void limit_files(rlim_t bytes)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
	setrlimit(RLIMIT_FSIZE, &l);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	limit_files(RLIM_INFINITY);
	history_close(r->h);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

#define RIG_TEST(name) TEST_WITH(name, setup, teardown)

static void again(struct rig *r)
{
	history_close(r->h);
	assert_int_equal(history_open(&r->h, r->dir.path), 0);
}

static const struct cluster_move example = {
	.wall_ns = 5,
	.node = "n1",
	.donor = "mail",
	.taker = "web",
	.why = "load",
	.outcome = "observed",
	.high_ns = 7,
	.taker_before = 3000,
	.donor_before = 200,
	.taker_predicted = 1500,
	.donor_predicted = 400,
	.taker_seen = -1,
	.donor_seen = -1,
	.host = "xen1",
	.taker_fence = "4.17",
	.donor_fence = "4.9",
	.told = 2,
	.held_ns = 11,
	.read_ns = 12,
	.told_ns = 13,
	.moved_ns = 14,
	.released_ns = 15,
};

static off_t size_of(struct rig *r, const char *name)
{
	struct stat st = { .st_size = -1 };

	stat(tmp_at(&r->dir, name), &st);
	return st.st_size;
}

RIG_TEST(move__is_there_after_a_restart_with_its_later_load)
{
	struct rig *r = *state;
	const struct cluster_move *m;
	struct cluster_move *at, want = example;

	again(r);
	assert_null(history_get(r->h, 0));
	assert_string_equal(history_note(r->h), "");
	history_add(r->h, &example);
	at = history_add(r->h, &example);
	assert_int_equal(at->id, 2);
	at->taker_seen = 1600;
	at->seen_wall_ns = 9;
	history_changed(r->h, at);
	again(r);
	assert_string_equal(history_note(r->h), "");
	want.id = 2;
	want.taker_seen = 1600;
	want.seen_wall_ns = 9;
	m = history_get(r->h, 0);
	assert_non_null(m);
	assert_memory_equal(m, &want, sizeof(want));
	assert_int_equal(history_get(r->h, 1)->id, 1);
	assert_int_equal(history_get(r->h, 1)->taker_seen, -1);
	assert_null(history_get(r->h, 2));
	assert_int_equal(history_add(r->h, &example)->id, 3);
}

RIG_TEST(file__that_is_full_becomes_the_older_one)
{
	struct rig *r = *state;
	uint64_t id = 0;

	again(r);
	while (size_of(r, "history.jsonl.1") < 0) {
		id = history_add(r->h, &example)->id;
		assert_true(id < HISTORY_FILE_MAX / 200);
		if (id % 1000 == 0)
			again(r); /* what an earlier run wrote counts */
	}
	assert_in_range(size_of(r, "history.jsonl.1"), HISTORY_FILE_MAX,
			HISTORY_FILE_MAX + HISTORY_LINE_MAX);
	assert_in_range(size_of(r, "history.jsonl"), 1, HISTORY_LINE_MAX);
	again(r);
	assert_string_equal(history_note(r->h), "");
	assert_int_equal(history_get(r->h, 0)->id, id);
	assert_int_equal(history_get(r->h, HISTORY_MOVES - 1)->id, id - HISTORY_MOVES + 1);
	assert_null(history_get(r->h, HISTORY_MOVES));
}

static const char good[] =
	"{\"id\":3,\"wall_ns\":5,\"node\":\"n1\",\"from\":\"mail\",\"to\":\"web\",\"why\":\"load\","
	"\"outcome\":\"observed\",\"high_ns\":7,\"seen_wall_ns\":0,\"taker_before\":1,"
	"\"donor_before\":1,\"taker_predicted\":1,\"donor_predicted\":1,\"taker_seen\":-1,"
	"\"donor_seen\":-1}";

/* The line with one part of it replaced. */
static int parse_with(const char *part, const char *by)
{
	const char *at = strstr(good, part);
	struct cluster_move m;
	char line[2 * HISTORY_LINE_MAX];

	assert_non_null(at);
	snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - good), good, by, at + strlen(part));
	return history_parse(line, strlen(line), &m);
}

TEST(line__of_another_form__is_refused)
{
	char name[REGION_NAME + 3] = "\"", spaces[HISTORY_LINE_MAX + 1];

	assert_int_equal(parse_with("load", "calm"), 0);
	memset(name + 1, 'x', REGION_NAME - 1);
	strcat(name, "\"");
	assert_int_equal(parse_with("\"n1\"", name), 0);
	name[REGION_NAME] = 'x';
	strcpy(name + REGION_NAME + 1, "\"");
	assert_int_equal(parse_with("\"n1\"", name), -EINVAL);
	assert_int_equal(parse_with("3", "0"), -EINVAL);
	assert_int_equal(parse_with("3", "-1"), -EINVAL);
	assert_int_equal(parse_with("3", "9007199254740992"), -EINVAL);
	assert_int_equal(parse_with("5", "\"5\""), -EINVAL);
	assert_int_equal(parse_with("\"donor_seen\":-1", "\"donor_seen\":1.5"), -EINVAL);
	assert_int_equal(parse_with(",\"donor_seen\":-1", ""), -EINVAL);
	assert_int_equal(parse_with("\"load\"", "\"0123456789abcdef\""), -EINVAL);
	assert_int_equal(parse_with("\"web\"", "null"), -EINVAL);
	assert_int_equal(parse_with("}", ""), -EINVAL);
	/* JSON, with spaces behind it. */
	memset(spaces, ' ', sizeof(spaces) - 1);
	spaces[0] = '}';
	spaces[HISTORY_LINE_MAX - sizeof(good) + 3] = 0;
	assert_int_equal(parse_with("}", spaces), -EINVAL);
	spaces[HISTORY_LINE_MAX - sizeof(good) + 2] = 0;
	assert_int_equal(parse_with("}", spaces), 0);
}

TEST(line__of_an_earlier_release__is_read_and_what_it_lacks_is_not_known)
{
	struct cluster_move m;

	assert_int_equal(history_parse(good, sizeof(good) - 1, &m), 0);
	assert_string_equal(m.host, "");
	assert_string_equal(m.taker_fence, "");
	assert_true(m.told == -1 && m.held_ns == -1 && m.released_ns == -1);
	assert_int_equal(parse_with("}", ",\"host\":\"xen2\",\"told\":0}"), 0);
	assert_int_equal(parse_with("}", ",\"host\":2}"), -EINVAL);
	assert_int_equal(parse_with("}", ",\"told\":\"2\"}"), -EINVAL);
	assert_int_equal(parse_with("}", ",\"held_ns\":null}"), -EINVAL);
	assert_int_equal(parse_with("}", ",\"donor_fence\":\"012345678901234567890123\"}"),
			 -EINVAL);
}

TEST(line__with_the_longest_values__has_room)
{
	struct cluster_move m, again;
	char *text;

	memset(&m, 0, sizeof(m));
	memset(m.node, 'x', sizeof(m.node) - 1);
	memcpy(m.donor, m.node, sizeof(m.node));
	memcpy(m.taker, m.node, sizeof(m.node));
	memcpy(m.host, m.node, sizeof(m.node));
	memset(m.why, 'x', sizeof(m.why) - 1);
	memset(m.outcome, 'x', sizeof(m.outcome) - 1);
	memset(m.taker_fence, '9', sizeof(m.taker_fence) - 1);
	memset(m.donor_fence, '9', sizeof(m.donor_fence) - 1);
	m.id = (1ll << 53) - 1;
	m.wall_ns = m.high_ns = m.seen_wall_ns = m.told = m.held_ns = m.read_ns = INT64_MIN;
	m.told_ns = m.moved_ns = m.released_ns = m.taker_before = m.donor_before = INT64_MIN;
	m.taker_predicted = m.donor_predicted = m.taker_seen = m.donor_seen = INT64_MIN;
	text = history_line(&m);
	assert_in_range(strlen(text), 1, HISTORY_LINE_MAX);
	assert_int_equal(history_parse(text, strlen(text), &again), 0);
	assert_memory_equal(&m, &again, sizeof(m));
	free(text);
}

RIG_TEST(lines__that_are_no_moves__are_counted_and_left_out)
{
	char text[1024];
	struct rig *r = *state;

	snprintf(text, sizeof(text), "rubbish\n%s\n[]\n%.40s", good, good);
	tmp_write(&r->dir, "history.jsonl", text);
	again(r);
	assert_int_equal(history_get(r->h, 0)->id, 3);
	assert_null(history_get(r->h, 1));
	assert_non_null(strstr(history_note(r->h), "/history.jsonl: 3 lines are no move"));
	/* A line that was cut gets an end before the next one. */
	history_add(r->h, &example);
	assert_string_equal(history_note(r->h), "");
	again(r);
	assert_int_equal(history_get(r->h, 0)->id, 4);
	assert_int_equal(history_get(r->h, 1)->id, 3);
}

RIG_TEST(file__that_is_none_of_ours__is_not_read)
{
	struct rig *r = *state;

	assert_int_equal(mkfifo(tmp_at(&r->dir, "history.jsonl.1"), 0600), 0);
	again(r);
	assert_non_null(strstr(history_note(r->h), "history.jsonl.1 is not read: "));
	history_add(r->h, &example);
	assert_string_equal(history_note(r->h), "");
	assert_int_equal(truncate(tmp_at(&r->dir, "history.jsonl"), 2 * HISTORY_FILE_MAX + 1), 0);
	again(r);
	assert_non_null(strstr(history_note(r->h), "history.jsonl is not read: File too large"));
	assert_null(history_get(r->h, 0));
	/* It is put aside by the next move, in place of the FIFO. */
	history_add(r->h, &example);
	assert_string_equal(history_note(r->h), "");
	assert_in_range(size_of(r, "history.jsonl"), 1, HISTORY_LINE_MAX);
}

/* What is there instead of the file when the daemon starts; made by make_X(). */
static void make_folder(const char *name)
{
	assert_int_equal(mkdir(name, 0700), 0);
}

static void make_fifo(const char *name)
{
	assert_int_equal(mkfifo(name, 0600), 0);
}

static void make_link(const char *name)
{
	assert_int_equal(symlink("/dev/full", name), 0);
}

static void make_socket(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(strlen(name) < sizeof(a.sun_path));
	strcpy(a.sun_path, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
}

/* It takes no longer than another start, and costs no move. */
RIG_TEST(file__with_something_else_in_its_place__costs_no_move)
{
	static void (*const make[])(const char *name) = { make_folder, make_fifo, make_link,
							  make_socket };
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(make) / sizeof(make[0]); i++) {
		make[i](tmp_at(&r->dir, "history.jsonl"));
		again(r);
		assert_non_null(strstr(history_note(r->h), "history.jsonl is not written: "));
		assert_int_equal(history_add(r->h, &example)->id, 1);
		assert_non_null(strstr(history_note(r->h), "moves are in memory alone"));
		assert_int_equal(history_get(r->h, 0)->id, 1);
		/* It is written again when that is possible. */
		assert_int_equal(remove(tmp_at(&r->dir, "history.jsonl")), 0);
		history_add(r->h, &example);
		assert_string_equal(history_note(r->h), "");
		again(r);
		assert_int_equal(history_get(r->h, 0)->id, 2);
		assert_null(history_get(r->h, 1));
		assert_int_equal(unlink(tmp_at(&r->dir, "history.jsonl")), 0);
	}
}

RIG_TEST(file__replaced_while_the_daemon_runs__is_noticed)
{
	struct rig *r = *state;

	again(r);
	history_add(r->h, &example);
	assert_int_equal(unlink(tmp_at(&r->dir, "history.jsonl")), 0);
	make_folder(tmp_at(&r->dir, "history.jsonl"));
	history_add(r->h, &example);
	assert_non_null(strstr(history_note(r->h), "is not written: Is a directory"));
	assert_int_equal(rmdir(tmp_at(&r->dir, "history.jsonl")), 0);
	history_add(r->h, &example);
	assert_string_equal(history_note(r->h), "");
	/* And one without an end of its last line: the next line is one of its own. */
	assert_int_equal(unlink(tmp_at(&r->dir, "history.jsonl")), 0);
	tmp_write(&r->dir, "history.jsonl", "rubbish");
	history_add(r->h, &example);
	again(r);
	assert_non_null(strstr(history_note(r->h), "1 line is no move"));
	assert_int_equal(history_get(r->h, 0)->id, 4);
	assert_null(history_get(r->h, 1));
}

RIG_TEST(file__that_cannot_be_put_aside__grows_no_further)
{
	struct rig *r = *state;
	off_t size;

	make_folder(tmp_at(&r->dir, "history.jsonl.1"));
	again(r);
	for (int i = 0; i < HISTORY_FILE_MAX / 200; i++)
		history_add(r->h, &example);
	assert_non_null(strstr(history_note(r->h), "history.jsonl.1 is not replaced: "));
	size = size_of(r, "history.jsonl");
	assert_in_range(size, HISTORY_FILE_MAX, HISTORY_FILE_MAX + HISTORY_LINE_MAX);
	history_add(r->h, &example);
	assert_int_equal(size_of(r, "history.jsonl"), size);
	assert_int_equal(rmdir(tmp_at(&r->dir, "history.jsonl.1")), 0);
	history_add(r->h, &example);
	assert_string_equal(history_note(r->h), "");
	assert_int_equal(size_of(r, "history.jsonl.1"), size);
}

RIG_TEST(disk__that_is_full__costs_the_lines_of_that_time_and_no_move)
{
	struct rig *r = *state;

	signal(SIGXFSZ, SIG_IGN);
	again(r);
	history_add(r->h, &example);
	limit_files((rlim_t)size_of(r, "history.jsonl") + 40); /* a part of a line */
	history_add(r->h, &example);
	assert_non_null(strstr(history_note(r->h), "is not written: No space left on device"));
	history_add(r->h, &example);
	assert_non_null(strstr(history_note(r->h), "is not written: File too large"));
	assert_int_equal(history_get(r->h, 0)->id, 3);
	limit_files(RLIM_INFINITY);
	history_add(r->h, &example);
	assert_string_equal(history_note(r->h), "");
	again(r);
	assert_non_null(strstr(history_note(r->h), "1 line is no move"));
	assert_int_equal(history_get(r->h, 0)->id, 4);
	assert_int_equal(history_get(r->h, 1)->id, 1);
	assert_null(history_get(r->h, 2));
}

/* --- the time of day is for people ---------------------------------------------------------- */

#define YEAR_NS (365 * 24 * 3600 * NS_PER_S)

RIG_TEST(clock__set_back_a_year__changes_no_order_and_no_rotation)
{
	struct cluster_move m = example;
	struct rig *r = *state;
	int64_t last = 0;

	again(r);
	m.wall_ns = 20000 * 24 * 3600 * NS_PER_S;
	for (int i = 0; size_of(r, "history.jsonl.1") < 0; i++) {
		m.wall_ns += i == 500 ? -YEAR_NS : i == 700 ? YEAR_NS / 2 : NS_PER_S;
		last = (int64_t)history_add(r->h, &m)->id;
	}
	for (int i = 0; i < 10; i++) {
		m.wall_ns -= YEAR_NS;
		last = (int64_t)history_add(r->h, &m)->id;
	}
	for (int k = 0; k < 2; k++) {
		for (uint32_t n = 0; n < HISTORY_MOVES; n++)
			assert_int_equal(history_get(r->h, n)->id, last - n);
		again(r);
		assert_string_equal(history_note(r->h), "");
	}
	assert_true(history_get(r->h, 0)->wall_ns < history_get(r->h, 1)->wall_ns);
}

RIG_TEST(line__of_a_later_load__makes_no_move_that_is_too_old_new_again)
{
	struct rig *r = *state;
	struct cluster_move old;

	again(r);
	old = *history_add(r->h, &example);
	for (int i = 0; i < HISTORY_MOVES; i++)
		history_add(r->h, &example);
	old.seen_wall_ns = 77;
	history_changed(r->h, &old);
	again(r);
	assert_int_equal(history_get(r->h, 0)->id, HISTORY_MOVES + 1);
	assert_int_equal(history_get(r->h, HISTORY_MOVES - 1)->id, 2);
}

static void move_file(struct rig *r, const char *from, const char *to)
{
	char name[sizeof(r->dir.at)];

	strcpy(name, tmp_at(&r->dir, from));
	assert_int_equal(rename(name, tmp_at(&r->dir, to)), 0);
}

/* Ids begin again, and the moves are others. */
RIG_TEST(ids__of_a_file_that_could_not_be_read__are_no_other_moves)
{
	struct cluster_move m = example;
	struct rig *r = *state;

	again(r);
	history_add(r->h, &m);
	history_add(r->h, &m);
	move_file(r, "history.jsonl", "kept");
	again(r);
	m.wall_ns++;
	assert_int_equal(history_add(r->h, &m)->id, 1);
	move_file(r, "kept", "history.jsonl.1");
	again(r);
	assert_true(history_get(r->h, 0)->id == 1 && history_get(r->h, 1)->id == 2);
	assert_true(history_get(r->h, 2)->id == 1 && !history_get(r->h, 3));
	assert_int_equal(history_add(r->h, &m)->id, 3);
}
