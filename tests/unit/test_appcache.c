// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_appcache: libresex-cache against a server of the test's own, which answers as it should, or
 * with rubbish, late, or not at all.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "resex/cache.h"
#include "tests/unit/tmpdir.h"

/* --- the server --- */

enum { REQUESTS_MAX = 32, REQUEST_MAX = 4096, ANSWER_MAX = 128 * 1024, CONNECTIONS_MAX = 32 };

enum what { ANSWER, HANG, CLOSE /* after the request was read */ };

struct answer {
	enum what what;
	size_t len;
	char text[ANSWER_MAX];
};

struct rig {
	struct tmpdir dir;
	char path[108];
	struct resex_cache *c;
	struct resex_cache_fill *fill;
	int listener, stop[2];
	pthread_t thread;
	pthread_mutex_t lock;  /* of all below */
	struct answer *answer; /* to request 0, 1, ...; the last one serves all others */
	size_t answers;
	char request[REQUESTS_MAX][REQUEST_MAX];
	size_t requests, connections;
};

static bool is_whole(const char *text)
{
	const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");

	return end && (!length || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static const struct answer *next_answer(struct rig *r, const char *text)
{
	const struct answer *a;

	pthread_mutex_lock(&r->lock);
	if (r->requests == REQUESTS_MAX)
		abort();
	strcpy(r->request[r->requests], text);
	a = &r->answer[r->requests < r->answers ? r->requests : r->answers - 1];
	r->requests++;
	pthread_mutex_unlock(&r->lock);
	return a;
}

/* false: the connection is to be closed. */
static bool serve(struct rig *r, int fd, char *text)
{
	size_t len = strlen(text);
	ssize_t n = recv(fd, text + len, REQUEST_MAX - 1 - len, 0);
	const struct answer *a;

	if (n <= 0)
		return false;
	text[len + (size_t)n] = 0;
	if (!is_whole(text))
		return true;
	a = next_answer(r, text);
	*text = 0;
	if (a->what == ANSWER)
		send(fd, a->text, a->len, MSG_NOSIGNAL);
	return a->what == HANG || (a->what == ANSWER && !strstr(a->text, "Connection: close"));
}

static void *serve_all(void *arg)
{
	struct rig *r = arg;
	struct pollfd fd[2 + CONNECTIONS_MAX] = { { r->stop[0], POLLIN, 0 },
						  { r->listener, POLLIN, 0 } };
	char(*text)[REQUEST_MAX] = calloc(CONNECTIONS_MAX, REQUEST_MAX);
	nfds_t n = 2;

	while (poll(fd, n, -1) > 0 && !fd[0].revents) {
		for (nfds_t i = 2; i < n; i++)
			if (fd[i].revents && !serve(r, fd[i].fd, text[i - 2])) {
				close(fd[i].fd);
				fd[i] = (struct pollfd){ .fd = -1 }; /* poll() passes it over */
			}
		if (fd[1].revents && n < 2 + CONNECTIONS_MAX) {
			fd[n++] = (struct pollfd){ accept(r->listener, NULL, NULL), POLLIN, 0 };
			pthread_mutex_lock(&r->lock);
			r->connections++;
			pthread_mutex_unlock(&r->lock);
		}
	}
	for (nfds_t i = 2; i < n; i++)
		if (fd[i].fd >= 0)
			close(fd[i].fd);
	free(text);
	return NULL;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	tmp_open(&r->dir);
	strcpy(r->path, tmp_at(&r->dir, "sock"));
	strcpy(at.sun_path, r->path);
	pthread_mutex_init(&r->lock, NULL);
	r->answer = calloc(REQUESTS_MAX, sizeof(*r->answer));
	r->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(r->listener, 8), 0);
	assert_int_equal(pipe(r->stop), 0);
	assert_int_equal(pthread_create(&r->thread, NULL, serve_all, r), 0);
	assert_int_equal(resex_cache_open(&r->c, r->path), 0);
	resex_cache_timeouts(r->c, 10000, 10000, 10000); /* the machine may be busy */
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	resex_cache_fill_give_up(r->fill);
	resex_cache_close(r->c);
	assert_int_equal(write(r->stop[1], "", 1), 1);
	pthread_join(r->thread, NULL);
	close(r->stop[0]);
	close(r->stop[1]);
	close(r->listener);
	pthread_mutex_destroy(&r->lock);
	tmp_close(&r->dir);
	free(r->answer);
	free(r);
	return 0;
}

static void will(struct rig *r, enum what what, const char *text, size_t len)
{
	struct answer *a;

	pthread_mutex_lock(&r->lock);
	assert_true(r->answers < REQUESTS_MAX && len < ANSWER_MAX);
	a = &r->answer[r->answers++];
	a->what = what;
	a->len = len;
	memcpy(a->text, text, len);
	pthread_mutex_unlock(&r->lock);
}

static void will_say(struct rig *r, const char *status, const char *body)
{
	char *text = malloc(ANSWER_MAX);
	int n = snprintf(text, ANSWER_MAX, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status,
			 strlen(body), body);

	will(r, ANSWER, text, (size_t)n);
	free(text);
}

static size_t requests(struct rig *r)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->requests;
	pthread_mutex_unlock(&r->lock);
	return n;
}

static size_t connections(struct rig *r)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->connections;
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Request i was METHOD PATH with this body. */
static void asked(struct rig *r, size_t i, const char *line, const char *body)
{
	char text[REQUEST_MAX];

	pthread_mutex_lock(&r->lock);
	assert_true(i < r->requests);
	strcpy(text, r->request[i]);
	pthread_mutex_unlock(&r->lock);
	text[strlen(line)] = text[strlen(line)] == ' ' ? 0 : '!';
	assert_string_equal(text, line);
	text[strlen(line)] = ' ';
	assert_string_equal(strstr(text, "\r\n\r\n") + 4, body);
}

static void says(struct rig *r, const char *part)
{
	if (!strstr(resex_cache_error(r->c), part))
		fail_msg("\"%s\" has no \"%s\"", resex_cache_error(r->c), part);
}

/* --- the handle --- */

TEST(open__path_too_long__is_refused)
{
	struct resex_cache *c = NULL;
	char path[109];

	memset(path, 'x', sizeof(path));
	path[108] = 0;
	assert_int_equal(resex_cache_open(&c, path), -ENAMETOOLONG);
	assert_null(c);
	path[107] = 0;
	assert_int_equal(resex_cache_open(&c, path), 0);
	resex_cache_close(c);
	resex_cache_close(NULL);
}

RIG_TEST(open__no_path__takes_that_of_the_environment)
{
	struct rig *r = *state;
	struct resex_cache *c = NULL;
	struct resex_cache_fill *f = NULL;

	will_say(r, "200 OK", "{\"fill\": \"7.1\"}");
	setenv("RESEX_CACHE_SOCKET", r->path, 1);
	assert_int_equal(resex_cache_open(&c, NULL), 0);
	unsetenv("RESEX_CACHE_SOCKET");
	resex_cache_timeouts(c, 10000, 0, 0);
	assert_int_equal(resex_cache_fill_begin(c, "1.2", &f), 0);
	resex_cache_fill_give_up(f);
	resex_cache_close(c);
	assert_int_equal(requests(r), 2);
}

/* --- fills --- */

static int begin(struct rig *r, const char *page)
{
	return resex_cache_fill_begin(r->c, page, &r->fill);
}

static void begun(struct rig *r, const char *page)
{
	will_say(r, "200 OK", "{\"fill\": \"7.1\"}");
	assert_int_equal(begin(r, page), 0);
}

/* The fill that was begun. */
static int end(struct rig *r, const char *const *tag, size_t tags, const char *snapshot,
	       char version[RESEX_CACHE_VERSION_SIZE])
{
	struct resex_cache_fill *f = r->fill;

	r->fill = NULL;
	return resex_cache_fill_end(f, tag, tags, snapshot, version, RESEX_CACHE_VERSION_SIZE);
}

static const char *const two_tags[] = { "item/5", "user/3" };

RIG_TEST(fill__is_registered__has_the_version)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";

	begun(r, "2.17");
	will_say(r, "200 OK", "{\"version\": \"c0ffee\"}");
	assert_int_equal(end(r, two_tags, 2, "10:20:10,14", version), 0);
	assert_string_equal(version, "2.17.c0ffee");
	asked(r, 0, "POST /v1/fill", "{\"home\": 2, \"word\": 17}");
	asked(r, 1, "POST /v1/fill/7.1",
	      "{\"tags\":[\"item/5\",\"user/3\"],\"snapshot\":\"10:20:10,14\"}");
	assert_string_equal(resex_cache_error(r->c), "");
}

RIG_TEST(fill__of_word_0__sends_no_tags)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";

	begun(r, "65535.0");
	will_say(r, "200 OK", "{\"version\": \"ffffffffffffffff\"}");
	assert_int_equal(end(r, two_tags, 2, NULL, version), 0);
	assert_string_equal(version, "65535.0.ffffffffffffffff");
	asked(r, 1, "POST /v1/fill/7.1", "{\"tags\":[]}");
	begun(r, "1.0");
	will_say(r, "200 OK", "{\"version\": \"1\"}");
	assert_int_equal(end(r, NULL, 0, NULL, version), 0);
}

RIG_TEST(fill__not_registered__has_the_reason)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "as it was";

	begun(r, "2.17");
	will_say(r, "200 OK",
		 "{\"version\": null, \"why\": \"pending\", \"text\": \"an update of item/5 is "
		 "pending\"}");
	assert_int_equal(end(r, two_tags, 2, NULL, version), -EAGAIN);
	assert_string_equal(version, "as it was");
	assert_string_equal(resex_cache_error(r->c), "an update of item/5 is pending");
}

RIG_TEST(fill__given_up__is_told)
{
	struct rig *r = *state;

	begun(r, "2.17");
	will_say(r, "200 OK", "{}");
	resex_cache_fill_give_up(r->fill);
	r->fill = NULL;
	asked(r, 1, "DELETE /v1/fill/7.1", "");
	resex_cache_fill_give_up(NULL);
}

RIG_TEST(fill__refused__has_the_sentence_tamed)
{
	struct rig *r = *state;

	will_say(r, "503 Service Unavailable",
		 "{\"error\": \"not\\u001b[2J now\", \"why\": \"closed\"}");
	assert_int_equal(begin(r, "2.17"), -EAGAIN);
	assert_string_equal(resex_cache_error(r->c), "not?[2J now");
	assert_int_equal(begin(r, "2.17"), -EAGAIN);
	assert_int_equal(requests(r), 2); /* a refusal is no reason to keep quiet */
}

RIG_TEST(fill__no_daemon__fails_and_says_where)
{
	struct rig *r = *state;

	unlink(r->path);
	assert_int_equal(begin(r, "2.17"), -EAGAIN);
	says(r, r->path);
	says(r, "cannot be reached");
}

RIG_TEST(fill__daemon_hangs__no_other_is_tried_for_a_while)
{
	struct rig *r = *state;

	resex_cache_timeouts(r->c, 30, 0, 0);
	will(r, HANG, "", 0);
	assert_int_equal(begin(r, "2.17"), -EAGAIN);
	says(r, "no answer in 30 ms");
	assert_int_equal(begin(r, "2.17"), -EAGAIN);
	says(r, "was slow");
}

RIG_TEST(fill__daemon_hangs_at_the_end__fails)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";

	begun(r, "2.17");
	will(r, HANG, "", 0);
	resex_cache_timeouts(r->c, 0, 30, 0);
	assert_int_equal(end(r, two_tags, 2, NULL, version), -EAGAIN);
	assert_string_equal(version, "");
}

RIG_TEST(fills__one_after_another__keep_the_connection)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE];

	for (int i = 0; i < 3; i++) {
		begun(r, "2.17");
		will_say(r, "200 OK", "{\"version\": \"1\"}");
		assert_int_equal(end(r, two_tags, 2, NULL, version), 0);
	}
	assert_int_equal(requests(r), 6);
	assert_int_equal(connections(r), 1);
}

RIG_TEST(fills__connection_was_closed__go_on_with_another)
{
	struct rig *r = *state;
	static const char last[] =
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 15\r\n\r\n"
		"{\"fill\": \"7.1\"}";

	will(r, ANSWER, last, sizeof(last) - 1);
	assert_int_equal(begin(r, "2.17"), 0);
	will_say(r, "200 OK", "{}");
	resex_cache_fill_give_up(r->fill);
	r->fill = NULL;
	assert_int_equal(connections(r), 2);
}

RIG_TEST(fill__proxy_in_the_environment__is_not_asked)
{
	struct rig *r = *state;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	begun(r, "2.17");
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	asked(r, 0, "POST /v1/fill", "{\"home\": 2, \"word\": 17}");
}

static const struct bad_page {
	const char *name, *page;
} bad_pages[] = {
	{ "page__empty__is_refused", "" },
	{ "page__no_word__is_refused", "2" },
	{ "page__empty_word__is_refused", "2." },
	{ "page__no_home__is_refused", ".17" },
	{ "page__home_0__is_refused", "0.17" },
	{ "page__home_too_large__is_refused", "65536.17" },
	{ "page__word_too_large__is_refused", "2.4294967296" },
	{ "page__word_of_many_digits__is_refused", "2.99999999999999999999999" },
	{ "page__leading_zero__is_refused", "2.017" },
	{ "page__sign__is_refused", "2.+17" },
	{ "page__three_parts__is_refused", "2.17.5" },
	{ "page__behind_it__is_refused", "2.17 " },
	{ "page__before_it__is_refused", " 2.17" },
	{ "page__hexadecimal__is_refused", "0x2.17" },
	{ "page__json__is_refused", "2.17}, {\"home\": 3" },
};

static void refuse_page(void **state)
{
	const struct bad_page *row = *state;
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	assert_int_equal(begin(r, row->page), -EINVAL);
	says(r, "HOME.WORD");
	assert_int_equal(requests(r), 0);
	teardown(&rig);
}
TEST_ROWS(bad_pages, refuse_page)

#define LONG_ID "12345678901234567890123456789012345678901234567890123456789012345"

/* What a fill's begin may get. Never a fill. */
static const struct rubbish {
	const char *name, *text;
	int rc;
} rubbish[] = {
	{ "begin__no_http__fails", "rubbish\r\n\r\n", -EAGAIN },
	{ "begin__nothing_of_a_body__fails", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	  -EPROTO },
	{ "begin__cut_body__fails",
	  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 90\r\n\r\n{\"fill\": \"7.1\"}",
	  -EAGAIN },
	{ "begin__no_json__fails", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{\"fi", -EPROTO },
	{ "begin__array__fails", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", -EPROTO },
	{ "begin__no_fill__fails", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", -EPROTO },
	{ "begin__fill_is_a_number__fails",
	  "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"fill\": 7}", -EPROTO },
	{ "begin__fill_is_empty__fails",
	  "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"fill\": \"\"}", -EPROTO },
	{ "begin__fill_is_a_path__fails",
	  "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"fill\": \"../update\"}", -EPROTO },
	{ "begin__fill_ends_the_line__fails",
	  "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"fill\": \"7\\r1\"}", -EPROTO },
	{ "begin__fill_is_long__fails",
	  "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n{\"fill\": \"" LONG_ID "\"}", -EPROTO },
	{ "begin__fill_twice__fails",
	  "HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{\"fill\":\"1\",\"fill\":\"2\"}", -EPROTO },
	{ "begin__moved__fails",
	  "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
	  -EAGAIN },
	{ "begin__status_500__fails",
	  "HTTP/1.1 500 No\r\nContent-Length: 15\r\n\r\n{\"fill\": \"7.1\"}", -EAGAIN },
};

static void begin_with_rubbish(void **state)
{
	const struct rubbish *row = *state;
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	will(r, ANSWER, row->text, strlen(row->text));
	assert_int_equal(begin(r, "2.17"), row->rc);
	assert_true(*resex_cache_error(r->c));
	assert_null(r->fill);
	teardown(&rig);
}
TEST_ROWS(rubbish, begin_with_rubbish)

RIG_TEST(begin__body_without_end__fails)
{
	struct rig *r = *state;
	char *body = calloc(1, ANSWER_MAX);

	memset(body, ' ', 70000);
	strcpy(body + 70000, "{\"fill\": \"7.1\"}");
	will_say(r, "200 OK", body);
	free(body);
	assert_int_equal(begin(r, "2.17"), -EAGAIN);
	says(r, "more than 65536 bytes");
}

RIG_TEST(begin__deep_json__fails)
{
	struct rig *r = *state;
	char body[8192] = "{\"fill\": ";

	memset(body + strlen(body), '[', 8000);
	will_say(r, "200 OK", body);
	assert_int_equal(begin(r, "2.17"), -EPROTO);
}

static const struct bad_version {
	const char *name, *body;
} bad_versions[] = {
	{ "version__missing__fails", "{}" },
	{ "version__empty__fails", "{\"version\": \"\"}" },
	{ "version__zero__fails", "{\"version\": \"0\"}" },
	{ "version__zeros__fails", "{\"version\": \"0000\"}" },
	{ "version__too_long__fails", "{\"version\": \"12345678901234567\"}" },
	{ "version__no_hex__fails", "{\"version\": \"12g4\"}" },
	{ "version__header__fails", "{\"version\": \"1\\r\\nx: y\"}" },
	{ "version__number__fails", "{\"version\": 5}" },
	{ "version__true__fails", "{\"version\": true}" },
};

static void end_with_bad_version(void **state)
{
	const struct bad_version *row = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	begun(r, "2.17");
	will_say(r, "200 OK", row->body);
	assert_int_equal(end(r, two_tags, 2, NULL, version), -EPROTO);
	assert_string_equal(version, "");
	teardown(&rig);
}
TEST_ROWS(bad_versions, end_with_bad_version)

#define LONG_TAG                                                                                   \
	"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345"    \
	"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345"    \
	"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345"

static const struct tag {
	const char *name, *tag;
	int rc;
} tags[] = {
	{ "tag__longest__is_sent", LONG_TAG, 0 },
	{ "tag__too_long__is_refused", LONG_TAG "6", -EINVAL },
	{ "tag__empty__is_refused", "", -EINVAL },
	{ "tag__null__is_refused", NULL, -EINVAL },
	{ "tag__new_line__is_refused", "item\n5", -EINVAL },
	{ "tag__delete__is_refused", "item\x7f", -EINVAL },
	{ "tag__no_utf8__is_refused", "item\xff", -EINVAL },
	{ "tag__cut_utf8__is_refused", "item\xc3", -EINVAL },
	{ "tag__utf8__is_sent", "\xc3\xa4pfel \"\\/", 0 },
};

static void end_with_tag(void **state)
{
	const struct tag *row = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	begun(r, "2.17");
	will_say(r, "200 OK", "{\"version\": \"1\"}");
	assert_int_equal(end(r, &row->tag, 1, NULL, version), row->rc);
	assert_int_equal(requests(r), 2);
	if (row->rc) /* resex-cached need not wait for it */
		asked(r, 1, "DELETE /v1/fill/7.1", "");
	teardown(&rig);
}
TEST_ROWS(tags, end_with_tag)

RIG_TEST(end__number_of_tags__is_bounded)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";
	const char *tag[65];

	for (int i = 0; i < 65; i++)
		tag[i] = "x";
	begun(r, "2.17");
	will_say(r, "200 OK", "{\"version\": \"1\"}");
	assert_int_equal(end(r, tag, 64, NULL, version), 0);
	begun(r, "2.17");
	will_say(r, "200 OK", "{}");
	assert_int_equal(end(r, tag, 65, NULL, version), -E2BIG);
	says(r, "65 tags");
	asked(r, 3, "DELETE /v1/fill/7.1", "");
	begun(r, "2.17");
	will_say(r, "200 OK", "{}");
	assert_int_equal(end(r, tag, 0, NULL, version), -EINVAL);
}

RIG_TEST(end__wrong_tag_and_a_daemon_that_dies__has_the_first_sentence)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";
	const char *empty = "";

	begun(r, "2.17");
	will(r, CLOSE, "", 0);
	assert_int_equal(end(r, &empty, 1, NULL, version), -EINVAL);
	says(r, "a tag of 0 bytes");
}

RIG_TEST(end__small_buffer__is_refused)
{
	struct rig *r = *state;
	struct resex_cache_fill *f;
	char version[RESEX_CACHE_VERSION_SIZE - 1] = "";

	begun(r, "2.17");
	will_say(r, "200 OK", "{}");
	f = r->fill;
	r->fill = NULL;
	assert_int_equal(resex_cache_fill_end(f, two_tags, 2, NULL, version, sizeof(version)),
			 -ENOSPC);
	says(r, "48");
}

RIG_TEST(end__snapshot_is_no_utf8__is_refused)
{
	struct rig *r = *state;
	char version[RESEX_CACHE_VERSION_SIZE] = "";

	begun(r, "2.17");
	will_say(r, "200 OK", "{}");
	assert_int_equal(end(r, two_tags, 2, "\xff", version), -EINVAL);
}

/* --- updates --- */

static const char *const params[] = { "5", NULL };
static const struct resex_cache_statement statements[] = {
	{ "UPDATE items SET name = $2 WHERE id = $1", params, 2 },
	{ "DELETE FROM bids", NULL, 0 },
};

static int update(struct rig *r, struct resex_cache_result *result)
{
	return resex_cache_update(r->c, two_tags, 2, statements, 2, result);
}

RIG_TEST(update__done__has_its_result)
{
	struct rig *r = *state;
	struct resex_cache_result result = { 0 };

	will_say(r, "200 OK", "{\"transaction\": 123, \"rows\": [1, 0]}");
	assert_int_equal(update(r, &result), 0);
	assert_int_equal(result.transaction, 123);
	assert_int_equal(result.rows[0], 1);
	assert_int_equal(result.rows[1], 0);
	asked(r, 0, "POST /v1/update",
	      "{\"tags\":[\"item/5\",\"user/3\"],\"statements\":["
	      "{\"sql\":\"UPDATE items SET name = $2 WHERE id = $1\",\"params\":[\"5\",null]},"
	      "{\"sql\":\"DELETE FROM bids\",\"params\":[]}]}");
	assert_int_equal(update(r, NULL), 0);
}

static const struct end_row {
	const char *name, *status, *body;
	int rc;
	const char *says, *state;
} ends[] = {
	{ "update__refused__is_without_effect", "409 Conflict",
	  "{\"error\": \"no such item\", \"why\": \"refused\", \"sqlstate\": \"23502\"}",
	  -ECANCELED, "no such item", "23502" },
	{ "update__refused_with_a_long_state__has_none", "409 Conflict",
	  "{\"error\": \"no such item\", \"sqlstate\": \"235022\"}", -ECANCELED, "no such item",
	  "" },
	{ "update__not_now__is_not_done", "503 Service Unavailable",
	  "{\"error\": \"no slot is free\", \"why\": \"busy\"}", -EAGAIN, "no slot is free", "" },
	{ "update__not_now_by_others__is_not_known", "503 Service Unavailable", "<html>",
	  -EINPROGRESS, "not known", "" },
	{ "update__wrong__is_without_effect", "400 Bad Request", "{\"error\": \"no tags\"}",
	  -EINVAL, "no tags", "" },
	{ "update__too_large__is_without_effect", "413 Too Large", "<html>", -EINVAL,
	  "does not accept", "" },
	{ "update__timeout__is_not_known", "504 Gateway Timeout", "{\"error\": \"it takes long\"}",
	  -EINPROGRESS, "it takes long", "" },
	{ "update__status_500__is_not_known", "500 No", "", -EINPROGRESS, "not known", "" },
	{ "update__status_500_with_a_result__is_not_known", "500 No",
	  "{\"transaction\": 9, \"rows\": [1, 1]}", -EINPROGRESS, "not known", "" },
	{ "update__status_302__is_not_known", "302 Found", "", -EINPROGRESS, "not known", "" },
	{ "update__no_json__is_not_known", "200 OK", "{", -EINPROGRESS, "not known", "" },
	{ "update__no_transaction__is_not_known", "200 OK", "{\"rows\": [1, 1]}", -EINPROGRESS,
	  "not known", "" },
	{ "update__transaction_0__is_not_known", "200 OK", "{\"transaction\": 0, \"rows\": [1, 1]}",
	  -EINPROGRESS, "not known", "" },
	{ "update__few_rows__is_not_known", "200 OK", "{\"transaction\": 9, \"rows\": [1]}",
	  -EINPROGRESS, "not known", "" },
	{ "update__many_rows__is_not_known", "200 OK", "{\"transaction\": 9, \"rows\": [1, 1, 1]}",
	  -EINPROGRESS, "not known", "" },
	{ "update__rows_below_0__is_not_known", "200 OK", "{\"transaction\": 9, \"rows\": [1, -1]}",
	  -EINPROGRESS, "not known", "" },
	{ "update__rows_are_texts__is_not_known", "200 OK",
	  "{\"transaction\": 9, \"rows\": [\"1\", 1]}", -EINPROGRESS, "not known", "" },
};

static void update_ends(void **state)
{
	const struct end_row *row = *state;
	struct resex_cache_result result = { .transaction = 5 };
	void *rig = NULL;
	struct rig *r;

	setup(&rig);
	r = rig;
	will_say(r, row->status, row->body);
	assert_int_equal(update(r, &result), row->rc);
	says(r, row->says);
	assert_string_equal(result.sqlstate, row->state);
	assert_int_equal(result.transaction, 0);
	assert_int_equal(requests(r), 1);
	teardown(&rig);
}
TEST_ROWS(ends, update_ends)

RIG_TEST(update__no_daemon__is_not_done)
{
	struct rig *r = *state;

	unlink(r->path);
	assert_int_equal(update(r, NULL), -EAGAIN);
	says(r, "cannot be reached");
}

RIG_TEST(update__daemon_dies__is_not_known_and_not_repeated)
{
	struct rig *r = *state;

	will(r, CLOSE, "", 0);
	assert_int_equal(update(r, NULL), -EINPROGRESS);
	assert_int_equal(requests(r), 1);
}

/* libcurl itself would repeat it. */
RIG_TEST(update__daemon_dies_on_a_connection_that_was_kept__is_not_repeated)
{
	struct rig *r = *state;

	begun(r, "2.17");
	will(r, CLOSE, "", 0);
	assert_int_equal(update(r, NULL), -EINPROGRESS);
	assert_int_equal(requests(r), 2);
	will_say(r, "200 OK", "{}");
}

RIG_TEST(update__daemon_hangs__is_not_known)
{
	struct rig *r = *state;

	will(r, HANG, "", 0);
	resex_cache_timeouts(r->c, 0, 0, 30);
	assert_int_equal(update(r, NULL), -EINPROGRESS);
	says(r, "no answer in 30 ms");
}

RIG_TEST(update__wrong_request__is_not_sent)
{
	struct rig *r = *state;
	const char *many[65];
	struct resex_cache_statement s[65] = { { NULL, NULL, 0 } }, long_one = { "x", many, 65 };
	struct resex_cache_statement bad_sql = { "\xff", NULL, 0 };
	struct resex_cache_statement bad_param = { "x", (const char *[]){ "\xff" }, 1 };

	for (int i = 0; i < 65; i++)
		many[i] = "x";
	assert_int_equal(resex_cache_update(r->c, two_tags, 0, statements, 2, NULL), -EINVAL);
	assert_int_equal(resex_cache_update(r->c, two_tags, 2, statements, 0, NULL), -EINVAL);
	assert_int_equal(resex_cache_update(r->c, many, 65, statements, 2, NULL), -E2BIG);
	assert_int_equal(resex_cache_update(r->c, two_tags, 2, s, 65, NULL), -E2BIG);
	assert_int_equal(resex_cache_update(r->c, two_tags, 2, s, 1, NULL), -EINVAL);
	assert_int_equal(resex_cache_update(r->c, two_tags, 2, &long_one, 1, NULL), -E2BIG);
	assert_int_equal(resex_cache_update(r->c, two_tags, 2, &bad_sql, 1, NULL), -EINVAL);
	assert_int_equal(resex_cache_update(r->c, two_tags, 2, &bad_param, 1, NULL), -EINVAL);
	assert_int_equal(requests(r), 0);
}
