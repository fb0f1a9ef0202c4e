// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_log: see load_log.h. load_options.c calls it for --workload log:FILE.
 */
#include "src/lab/load_log.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/file.h"

enum {
	DATE = 24,	 /* characters of 26/Nov/2026:03:15:09.123 */
	YEAR_MAX = 2200, /* so that ns fit into 64 bits */
	TIME_MAX_MS = 3600 * 1000 - 1,
	CONNECTIONS_MAX = 1000000,
};

#define BYTES_MAX (INT64_C(1) << 40)

/* What is left of a line. */
struct words {
	const char *at, *end;
};

/* A request; line: where it is in the log. */
struct request {
	struct web_arrival a;
	uint64_t line;
};

struct parser {
	const char *name;
	char *error; /* 256 */
	uint64_t line;
	uint32_t cpus, room;
	struct request *request;
	struct load_log *log;
};

static int wrong(const struct parser *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int wrong(const struct parser *p, const char *fmt, ...)
{
	int n = snprintf(p->error, 256, "%.100s:%ju: ", p->name, (uintmax_t)p->line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->error + n, 256 - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* --- words ------------------------------------------------------------------------ */

/* The next word. Empty at the end of the line. */
static struct words next_word(struct words *w)
{
	struct words word;

	while (w->at < w->end && *w->at == ' ')
		w->at++;
	word.at = w->at;
	while (w->at < w->end && *w->at != ' ')
		w->at++;
	word.end = w->at;
	return word;
}

/* A number of at most max, and what follows it: c, or the end of the word if c is 0. */
static bool take_number(struct words *w, char c, int64_t max, int64_t *v)
{
	const char *from = w->at;
	int64_t n = 0;

	for (; w->at < w->end && isdigit((unsigned char)*w->at); w->at++) {
		n = 10 * n + (*w->at - '0');
		if (n > max)
			return false;
	}
	if (w->at == from || (c ? w->at == w->end || *w->at != c : w->at != w->end))
		return false;
	w->at += !!c;
	*v = n;
	return true;
}

/* The same of a time, which is -1 where the request did not come so far. */
static bool take_time(struct words *w, char c, int64_t *ms)
{
	bool minus = w->at < w->end && *w->at == '-';

	w->at += minus;
	if (!take_number(w, c, TIME_MAX_MS, ms) || (minus && *ms != 1))
		return false;
	if (minus)
		*ms = -1;
	return true;
}

/* A plus: with "option logasap" the figure is not the last one. */
static void skip_plus(struct words *w)
{
	w->at += w->at < w->end && *w->at == '+';
}

/* --- the date --------------------------------------------------------------------- */

/* Days since 1970 in the Gregorian calendar, of a year above 0. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1; /* years begin in March */
	int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

	return 365 * y + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

/* 1 .. 12; 0: none */
static int64_t month_of(const char *s)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++)
		if (!memcmp(s, names + 3 * i, 3))
			return i + 1;
	return 0;
}

static bool parse_date(const char *s, int64_t *ns)
{
	struct words day = { s, s + 3 }, year = { s + 7, s + DATE }, fraction;
	int64_t d, y, h, m, sec, ms, month = month_of(s + 3);

	if (!take_number(&day, '/', 31, &d) || !month || s[6] != '/' ||
	    !take_number(&year, ':', YEAR_MAX, &y) || !take_number(&year, ':', 23, &h) ||
	    !take_number(&year, ':', 59, &m) || !take_number(&year, '.', 60, &sec))
		return false;
	fraction = (struct words){ year.at, s + DATE };
	if (!take_number(&fraction, 0, 999, &ms) || !d || y < 1970)
		return false;
	*ns = ((days(y, month, d) * 24 + h) * 60 + m) * 60 * NS_PER_S + sec * NS_PER_S +
	      ms * NS_PER_MS;
	return true;
}

/* Go behind the first "[DATE] ". false: there is none. */
static bool find_date(struct words *w, int64_t *ns)
{
	const char *s = w->at;

	while (s < w->end && (s = memchr(s, '[', (size_t)(w->end - s)))) {
		s++;
		if (w->end - s <= DATE + 1)
			return false;
		if (s[DATE] == ']' && s[DATE + 1] == ' ' && parse_date(s, ns)) {
			w->at = s + DATE + 1;
			return true;
		}
	}
	return false;
}

/* --- a line ----------------------------------------------------------------------- */

static int add_request(struct parser *p, const struct request *r)
{
	uint32_t room = p->room ? 2 * p->room : 1024;
	struct request *more;

	if (p->log->n == WEB_ARRIVALS_MAX)
		return wrong(p, "a log may have %d requests: cut it here", WEB_ARRIVALS_MAX);
	if (!p->request || p->log->n == p->room) {
		more = reallocarray(p->request, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->request = more;
		p->room = room;
	}
	p->request[p->log->n++] = *r;
	return 0;
}

struct times {
	int64_t request, queue, connect, answer, active; /* TR, Tw, Tc, Tr, Ta; ms */
};

static bool parse_times(struct words w, struct times *t)
{
	if (!take_time(&w, '/', &t->request) || !take_time(&w, '/', &t->queue) ||
	    !take_time(&w, '/', &t->connect) || !take_time(&w, '/', &t->answer))
		return false;
	skip_plus(&w);
	return take_time(&w, 0, &t->active);
}

/* AC/FC/BC/SC/RC: the fourth. */
static bool parse_connections(struct words w, int64_t *sc)
{
	int64_t n;

	for (int i = 0; i < 3; i++)
		if (!take_number(&w, '/', CONNECTIONS_MAX, &n))
			return false;
	if (!take_number(&w, '/', CONNECTIONS_MAX, sc))
		return false;
	skip_plus(&w);
	return take_number(&w, 0, CONNECTIONS_MAX, &n);
}

/* <NOSRV>: no server; <STATS>, <CACHE> and the like: HAProxy itself. */
static bool of_server(const struct words *server)
{
	const char *slash = memchr(server->at, '/', (size_t)(server->end - server->at));

	return slash + 1 < server->end && slash[1] != '<';
}

/* others: of the server, at once */
static int64_t cpu_time(const struct parser *p, int64_t answer_ms, int64_t others)
{
	int64_t ns = answer_ms * NS_PER_MS + NS_PER_MS / 2;

	if (others >= p->cpus)
		ns = ns * p->cpus / (others + 1);
	return ns ? ns : 1;
}

static int parse_line(struct parser *p, struct words w)
{
	struct request r = { .line = p->line };
	struct words server, bytes;
	int64_t date, status, n, sc;
	struct times t;

	if (!find_date(&w, &date)) {
		p->log->others++;
		return 0;
	}
	next_word(&w); /* the front-end */
	server = next_word(&w);
	if (server.at == server.end || !memchr(server.at, '/', (size_t)(server.end - server.at)))
		return wrong(p, "no BACKEND/SERVER follows the front-end: log with \"option "
				"httplog\"");
	if (!parse_times(next_word(&w), &t))
		return wrong(p, "its times are not TR/Tw/Tc/Tr/Ta in ms, each below an hour: log "
				"with \"option httplog\"");
	bytes = next_word(&w);
	if (!take_time(&bytes, 0, &status) || status > 999)
		return wrong(p, "its status is not a number of at most 3 digits, or -1");
	bytes = next_word(&w);
	skip_plus(&bytes);
	if (!take_number(&bytes, 0, BYTES_MAX, &n))
		return wrong(p, "its bytes are not a number of at most %jd", (intmax_t)BYTES_MAX);
	for (int i = 0; i < 3; i++)
		next_word(&w); /* two cookies; how it ended */
	if (!parse_connections(next_word(&w), &sc))
		return wrong(p, "its connections are not AC/FC/BC/SC/RC: log with \"option "
				"httplog\"");
	if (!of_server(&server) || t.answer < 0 || t.request < 0) {
		p->log->unanswered++;
		return 0;
	}
	r.a = (struct web_arrival){ .at_ns = date + t.request * NS_PER_MS,
				    .cpu_ns = cpu_time(p, t.answer, sc) };
	p->log->bytes += (uint64_t)n;
	return add_request(p, &r);
}

/* --- the log ---------------------------------------------------------------------- */

/* HAProxy writes a line when the request is over: lines are not in the order of arrival. */
static int by_arrival(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->a.at_ns != y->a.at_ns)
		return x->a.at_ns < y->a.at_ns ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Times from the first request on. */
static int make_trace(struct parser *p)
{
	struct load_log *l = p->log;
	const struct request *r = p->request;

	if (!r) {
		snprintf(p->error, 256,
			 "%.100s: there is no answered request in it: log with \"option httplog\"",
			 p->name);
		return -EINVAL;
	}
	qsort(p->request, l->n, sizeof(*r), by_arrival);
	l->arrival = calloc(l->n, sizeof(*l->arrival));
	if (!l->arrival)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n; i++) {
		l->arrival[i] = r[i].a;
		l->arrival[i].at_ns -= r[0].a.at_ns;
		p->line = r[i].line;
		if (l->arrival[i].at_ns > LOAD_LOG_SPAN_MAX_NS)
			return wrong(p,
				     "it came %.0f s after the first request: give a log of at "
				     "most %.0f s",
				     (double)l->arrival[i].at_ns / NS_PER_S,
				     (double)LOAD_LOG_SPAN_MAX_NS / NS_PER_S);
	}
	return 0;
}

int load_log_parse(struct load_log *l, const char *name, const char *text, size_t len,
		   uint32_t cpus, char error[static 256])
{
	struct parser p = { .name = name, .error = error, .cpus = cpus, .log = l };
	const char *end = text + len;
	int rc = 0;

	*l = (struct load_log){ .n = 0 };
	while (!rc && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct words w = { text, newline ? newline : end };

		p.line++;
		if (w.end - w.at > LOAD_LOG_LINE_MAX)
			rc = wrong(&p, "it has over %d characters: is this a log of HAProxy?",
				   LOAD_LOG_LINE_MAX);
		else
			rc = parse_line(&p, w);
		text = newline ? newline + 1 : end;
	}
	if (!rc)
		rc = make_trace(&p);
	if (rc == -ENOMEM)
		snprintf(error, 256, "%.100s: there is no memory for its requests", name);
	free(p.request);
	if (rc)
		load_log_free(l);
	return rc;
}

int load_log_read(struct load_log *l, const char *file, uint32_t cpus, char error[static 256])
{
	size_t len;
	char *text;
	int rc = file_load(file, LOAD_LOG_BYTES_MAX, &text, &len);

	if (rc == -EFBIG)
		snprintf(error, 256, "%.100s: it has over %d MB: cut it", file,
			 LOAD_LOG_BYTES_MAX >> 20);
	else if (rc)
		snprintf(error, 256, "%.100s: %s", file,
			 rc == -EINVAL ? "it is not a file" : strerror(-rc));
	if (rc)
		return rc;
	rc = load_log_parse(l, file, text, len, cpus, error);
	free(text);
	return rc;
}

void load_log_free(struct load_log *l)
{
	free(l->arrival);
	*l = (struct load_log){ .n = 0 };
}
