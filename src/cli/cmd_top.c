// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_top: the verb top: one loop that waits for resexd, keys and signals at once.
 *
 *	resexd <-- top_link --> top_model --> top_layout --> top_screen, or lines of --batch
 *
 * A round asks for all that is shown, one reply after the other. Between rounds, another guest that
 * is chosen, or the other page, is asked for at once.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"
#include "src/cli/top_layout.h"
#include "src/cli/top_link.h"
#include "src/cli/top_screen.h"
#include "src/util/clock.h"
#include "src/util/utf8.h"

#define DELAY_LEAST 0.1
#define DELAY_MOST  3600.0
/* A daemon that is gone is looked for this often. */
#define RETRY_NS NS_PER_S

struct top {
	struct cli *cli;
	struct clock clock;
	struct top_model model;
	struct top_grid grid;
	struct top_link link;
	struct top_screen *screen; /* NULL: --batch or --json */
	int signals;		   /* signalfd(2); -1: none */
	int64_t delay_ns;
	long rounds, most; /* done; -1: no end */
	struct mono began, next;
	bool busy;	   /* in a round */
	bool whole;	   /* it is one of all replies, not of the page's alone */
	enum top_reply at; /* it waits for this reply */
	char told[48];	   /* what the page's replies were asked for */
	json_t *list;	   /* the newest reply, for --json */
	bool quit, dirty;
	int rc;
};

static const char *const methods[TOP_REPLIES] = { "list",      "info",	    "why",
						  "ring-list", "host-list", "lock-list" };

static struct mono now_of(struct top *t)
{
	return t->clock.now(&t->clock);
}

/* What the page shows: a guest's UUID, or the hosts. */
static const char *page_wants(const struct top *t)
{
	return t->model.page == TOP_PAGE_HOSTS ? "hosts" : t->model.chosen;
}

static bool is_wanted(const struct top *t, enum top_reply what)
{
	switch (what) {
	case TOP_LIST:
	case TOP_INFO:
		return t->whole;
	case TOP_WHY:
	case TOP_RINGLIST:
		return t->screen && t->model.page == TOP_PAGE_GUESTS && t->model.n;
	case TOP_HOSTS:
	case TOP_LOCKS:
		return t->screen ? t->model.page == TOP_PAGE_HOSTS : t->cli->options.json;
	case TOP_REPLIES:
		break;
	}
	return false;
}

/* One object a line. What a terminal would obey is written as \u, since -j may be seen on one. */
static void print_json(struct top *t, const char *trouble)
{
	json_t *o = json_object(), *guests = json_array();

	json_object_set_new(o, "time_ns", json_integer(clock_wall_ns()));
	if (trouble) {
		json_object_set_new(o, "error", json_string(trouble));
		json_decref(guests);
	} else {
		for (size_t i = 0; i < t->model.n; i++)
			json_array_append(guests, json_array_get(json_object_get(t->list, "guests"),
								 t->model.guests[i].index));
		json_object_set_new(t->list, "guests", guests);
		json_object_set(o, "list", t->list);
		json_object_set(o, "info", t->model.info);
		json_object_set_new(o, "host-list",
				    t->model.hosts ? json_incref(t->model.hosts) : json_null());
		json_object_set_new(o, "lock-list",
				    t->model.locks ? json_incref(t->model.locks) : json_null());
	}
	json_dumpf(o, stdout, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(o);
}

static void print_text(struct top *t)
{
	char line[4 * TOP_COLS_MAX + 1];

	if (top_layout_batch(&t->model, &t->grid, table_width(stdout), now_of(t)))
		return;
	if (t->rounds)
		putchar('\n');
	for (int y = 0; y < t->grid.rows; y++)
		if (top_grid_text(&t->grid, y, line))
			puts(line);
}

/* Of --batch and --json: a round is over, or resexd has not answered for too long. */
static void print_round(struct top *t)
{
	struct client *c = &t->cli->client;
	char trouble[768];
	bool bad = top_model_trouble(&t->model, now_of(t), trouble, sizeof(trouble));

	t->rc = RESEX_OK;
	if (bad) {
		t->rc = t->link.rc ? t->link.rc : RESEX_NO_DAEMON;
		snprintf(c->error, sizeof(c->error), "%.600s", trouble);
		utf8_tame(c->error);
		if (!t->model.seen) { /* as other verbs end */
			t->quit = true;
			return;
		}
	}
	if (t->cli->options.json)
		print_json(t, bad ? trouble : NULL);
	else if (bad)
		printf("\n%s\n", c->error);
	else
		print_text(t);
	/* A pipe would hold rounds back until a buffer is full. A reader that is gone ends this. */
	if (fflush(stdout) || ferror(stdout))
		t->quit = true;
}

static void count_round(struct top *t)
{
	if (!t->screen)
		print_round(t);
	t->rounds++;
	if (t->most >= 0 && t->rounds >= t->most)
		t->quit = true;
}

static void end_round(struct top *t)
{
	struct mono now = now_of(t);
	int64_t wait = t->delay_ns;

	t->busy = false;
	t->dirty = true;
	if (!t->whole)
		return;
	if (t->screen && t->model.lost[0] && wait > RETRY_NS)
		wait = RETRY_NS;
	t->next = mono_add(t->began, wait);
	if (mono_sub(now, t->next) > 0)
		t->next = now;
	count_round(t);
}

static void lose(struct top *t)
{
	struct client *c = &t->cli->client;

	utf8_tame(c->error);
	top_model_lost(&t->model, c->error);
	t->told[0] = 0;
	t->whole = true;
	end_round(t);
}

/* Ask for what comes from t->at on; when that was all, the round is over. */
static void ask_next(struct top *t)
{
	json_t *params = NULL;

	while (t->at < TOP_REPLIES && !is_wanted(t, t->at))
		t->at++;
	if (t->at == TOP_REPLIES) {
		end_round(t);
		return;
	}
	if (t->at >= TOP_WHY)
		snprintf(t->told, sizeof(t->told), "%s", page_wants(t));
	/* The whole list takes ten times as long, there and here: it is for programs. */
	if (t->at == TOP_LIST && !t->cli->options.json)
		params = json_pack("{s:b}", "brief", 1);
	if (t->at == TOP_WHY || t->at == TOP_RINGLIST)
		params = json_pack("{s:s}", "guest", t->told);
	if (top_link_send(&t->link, methods[t->at], params))
		lose(t);
	else
		top_model_asked(&t->model, now_of(t));
}

static void begin_round(struct top *t, bool whole)
{
	t->busy = true;
	t->whole = whole;
	t->at = TOP_LIST;
	t->began = now_of(t);
	if (t->cli->client.fd < 0) {
		if (top_link_open(&t->link)) {
			lose(t);
			return;
		}
		top_model_connected(&t->model, t->link.pid, t->began);
	}
	ask_next(t);
}

static void take_reply(struct top *t, json_t *r)
{
	if (t->at == TOP_LIST && t->cli->options.json) {
		json_decref(t->list);
		t->list = json_incref(r);
	}
	/* Without memory the former rows stay. */
	top_model_reply(&t->model, t->at, r, now_of(t));
	json_decref(r);
	t->at++;
	ask_next(t);
}

static void on_link(struct top *t)
{
	json_t *r = NULL;

	switch (top_link_turn(&t->link, &r)) {
	case TOP_LINK_NOTHING:
		break;
	case TOP_LINK_REPLY:
		if (t->busy)
			take_reply(t, r);
		else /* nothing was asked for */
			json_decref(r);
		break;
	case TOP_LINK_REFUSED:
		if (!t->busy)
			break;
		top_model_refused(&t->model, t->at++, t->cli->client.error);
		ask_next(t);
		break;
	case TOP_LINK_LOST:
		t->began = now_of(t);
		lose(t);
		break;
	}
}

static void on_keys(struct top *t)
{
	enum top_key key;

	while (top_screen_key(t->screen, &key)) {
		t->dirty = true;
		if (key == TOP_KEY_QUIT)
			t->quit = true;
		else if (key == TOP_KEY_REFRESH)
			t->next = now_of(t);
		else
			top_model_key(&t->model, key, top_layout_rows(&t->model, &t->grid));
	}
}

static void on_signal(struct top *t)
{
	struct signalfd_siginfo si;

	while (read(t->signals, &si, sizeof(si)) == sizeof(si)) {
		t->dirty = true;
		if (si.ssi_signo == SIGTSTP)
			top_screen_suspend(t->screen);
		else if (si.ssi_signo == SIGCONT)
			top_screen_resume(t->screen);
		else if (si.ssi_signo != SIGWINCH)
			t->quit = true;
	}
}

static void draw(struct top *t)
{
	int rows, cols;

	top_screen_size(t->screen, &rows, &cols);
	if (top_grid_resize(&t->grid, rows, cols))
		return;
	top_layout(&t->model, &t->grid, now_of(t));
	top_screen_draw(t->screen, &t->grid);
	t->dirty = false;
}

/* Of --batch: how long a round is waited for. */
static int64_t patience(const struct top *t)
{
	return t->delay_ns > TOP_HUNG_NS ? t->delay_ns : TOP_HUNG_NS;
}

/* Until there is something to do without an event. */
static int timeout_ms(struct top *t)
{
	struct mono now = now_of(t);
	int64_t ns = NS_PER_S; /* ages grow */

	if (!t->busy && mono_sub(t->next, now) < ns)
		ns = mono_sub(t->next, now);
	return ns > 0 ? (int)((ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

static void on_time(struct top *t)
{
	struct mono now = now_of(t);
	char trouble[768];

	if (!t->busy && mono_sub(now, t->next) >= 0)
		begin_round(t, true);
	else if (!t->busy && t->cli->client.fd >= 0 && t->screen &&
		 strcmp(t->told, page_wants(t)) != 0)
		begin_round(t, false);
	else if (t->busy && !t->screen && mono_sub(now, t->began) >= patience(t)) {
		t->began = now;
		count_round(t);
	}
	/* The sentence holds how long ago that was. */
	if (!t->dirty && t->screen &&
	    (top_model_trouble(&t->model, now, trouble, sizeof(trouble)) || *trouble))
		t->dirty = true;
}

static void loop(struct top *t)
{
	t->next = now_of(t);
	while (!t->quit) {
		struct pollfd p[3] = {
			{ .fd = t->screen ? STDIN_FILENO : -1, .events = POLLIN },
			{ .fd = t->signals, .events = POLLIN },
			{ .fd = t->cli->client.fd, .events = POLLIN },
		};

		if (t->dirty && t->screen)
			draw(t);
		if (top_link_is_full(&t->link))
			p[2].events |= POLLOUT;
		if (poll(p, 3, timeout_ms(t)) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			on_signal(t);
		if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL)) /* the terminal is gone */
			break;
		if (p[0].revents)
			on_keys(t);
		if (p[2].revents)
			on_link(t);
		on_time(t);
	}
}

/* Before the screen is opened: from then on a signal must not end the process. */
static int take_signals(struct top *t)
{
	static const int signals[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT
	};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signals < 0 ? -1 : 0;
}

static int open_screen(struct top *t)
{
	struct client *c = &t->cli->client;
	int rc;

	if (take_signals(t)) {
		snprintf(c->error, sizeof(c->error), "no file descriptor for signals: %s",
			 strerror(errno));
		return RESEX_FAILURE;
	}
	rc = top_screen_open(&t->screen, c->error, sizeof(c->error));
	if (!rc)
		t->grid.utf8 = top_screen_is_utf8(t->screen);
	t->dirty = true;
	return rc;
}

/* "-mean": the other way round. */
static int take_sort(struct top *t, const char *word)
{
	struct cli *c = t->cli;
	int n;

	t->model.reverse = *word == '-';
	t->model.sort = top_column_find(word + t->model.reverse);
	if (t->model.sort != TOP_COLUMNS)
		return RESEX_OK;
	n = snprintf(c->client.error, sizeof(c->client.error),
		     "there is no column \"%.40s\": give one of", word);
	for (int i = 0; i < TOP_COLUMNS; i++)
		n += snprintf(c->client.error + n, sizeof(c->client.error) - (size_t)n, "%s%s",
			      i ? ", " : " ", top_column_word((enum top_column)i));
	return RESEX_USAGE;
}

static int take_options(struct top *t)
{
	const struct options *o = &t->cli->options;
	double delay = 1;
	char *end;

	if (no_arguments(t->cli))
		return RESEX_USAGE;
	if (o->delay) {
		delay = strtod(o->delay, &end);
		/* Also of no number. */
		if (end == o->delay || *end || !(delay >= DELAY_LEAST && delay <= DELAY_MOST))
			return word_error(t->cli, o->delay, "a number of seconds, 0.1 to 3600");
	}
	if (!o->lines)
		return usage_error(t->cli, "-n takes 1 round or more");
	t->delay_ns = (int64_t)(delay * (double)NS_PER_S);
	t->most = o->lines;
	return o->sort ? take_sort(t, o->sort) : RESEX_OK;
}

int run_top(struct cli *c)
{
	struct top t = { .cli = c, .signals = -1, .grid.utf8 = true };
	int rc;

	clock_real(&t.clock);
	top_model_init(&t.model);
	top_link_init(&t.link, &c->client);
	rc = take_options(&t);
	if (!rc && !c->options.batch && !c->options.json)
		rc = open_screen(&t);
	if (!rc) {
		loop(&t);
		rc = t.rc;
	}
	top_screen_close(t.screen);
	if (t.signals >= 0)
		close(t.signals);
	top_link_close(&t.link);
	top_grid_free(&t.grid);
	top_model_free(&t.model);
	json_decref(t.list);
	return rc;
}
