// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * haproxy_text: the replies of HAProxy's Runtime API, line by line. Seen of 2.6.12; its management
 * guide, section 9.3, has the columns.
 */
#include <string.h>

#include "src/reconf/haproxy_text.h"

struct field {
	const char *at;
	size_t len;
};

/* The columns that are needed, in the order of these enums. */
enum {
	STATE_ID,
	STATE_BACKEND,
	STATE_NAME,
	STATE_OP,
	STATE_ADMIN,
	STATE_WEIGHT,
	STATE_INITIAL,
	STATE_COLUMNS
};
enum { STAT_BACKEND, STAT_NAME, STAT_QUEUED, STAT_CURRENT, STAT_TOTAL, STAT_LATENCY, STAT_COLUMNS };

static const char *const state_columns[HAPROXY_COLUMNS] = {
	"be_id",	   "be_name",	  "srv_name",	 "srv_op_state",
	"srv_admin_state", "srv_uweight", "srv_iweight",
};

static const char *const stat_columns[HAPROXY_COLUMNS] = {
	"pxname", "svname", "qcur", "scur", "stot", "rtime",
};

/* srv_op_state, and those bits of srv_admin_state with which it gets no request. */
enum { OP_STARTING = 1, OP_RUNNING = 2, OP_STOPPING = 3 };
/* Maintenance (forced, inherited, name not resolved), drain (forced, inherited). Not 0x04: it
 * stays set when a server that was configured as disabled is made ready. */
enum { ADMIN_CLOSED = 0x01 | 0x02 | 0x20 | 0x08 | 0x10 };
/* What "set server state" sets: each of its words clears the other bit. */
enum { ADMIN_FORCED_OUT = 0x01, ADMIN_FORCED_DRAIN = 0x08 };

static void set_fault(struct haproxy_text *t, enum haproxy_fault fault, const char *words,
		      size_t len)
{
	if (t->fault)
		return;
	t->fault = fault;
	if (len >= sizeof(t->words))
		len = sizeof(t->words) - 1;
	for (size_t i = 0; i < len; i++)
		t->words[i] = words[i] >= ' ' && words[i] <= '~' ? words[i] : '?';
	t->words[len] = '\0';
}

/* Nothing of the reply can be used, whatever it was so far. */
static void lose(struct haproxy_text *t, enum haproxy_fault fault)
{
	t->lost = true;
	t->fault = fault;
	t->words[0] = '\0';
}

static bool field_is(const struct field *f, const char *word)
{
	return strlen(word) == f->len && memcmp(word, f->at, f->len) == 0;
}

/*
 * The field at *at, and *at behind its separator; NULL behind the last one. In CSV a field may be
 * in quotes, in which a separator is text; the quotes stay, as no name that is looked for has any.
 */
static struct field take_field(const char **at, const char *end, char separator)
{
	struct field f = { .at = *at };
	const char *p = *at;
	bool quoted = false;

	for (; p < end && (quoted || *p != separator); p++)
		if (separator == ',' && *p == '"')
			quoted = !quoted;
	f.len = (size_t)(p - f.at);
	*at = p < end ? p + 1 : NULL;
	return f;
}

static char separator_of(const struct haproxy_text *t)
{
	return t->kind == HAPROXY_REPLY_STAT ? ',' : ' ';
}

static const char *const *columns_of(const struct haproxy_text *t)
{
	return t->kind == HAPROXY_REPLY_STAT ? stat_columns : state_columns;
}

static void read_header(struct haproxy_text *t)
{
	const char *const *name = columns_of(t);
	const char *at = t->line + 2, *end = t->line + t->len;
	bool found[HAPROXY_COLUMNS] = { false };

	if (t->len < 2 || memcmp(t->line, "# ", 2) != 0) {
		set_fault(t, HAPROXY_SAID, t->line, t->len);
		return;
	}
	for (t->fields = 0; at; t->fields++) {
		struct field f = take_field(&at, end, separator_of(t));

		for (int i = 0; i < HAPROXY_COLUMNS && name[i]; i++) {
			if (found[i] || !field_is(&f, name[i]))
				continue;
			found[i] = true;
			t->column[i] = t->fields;
		}
	}
	for (int i = 0; i < HAPROXY_COLUMNS && name[i]; i++)
		if (!found[i])
			set_fault(t, HAPROXY_COLUMN, name[i], strlen(name[i]));
}

/* The needed fields of a row, as columns_of(). False: it has not the fields of the header. */
static bool take_row(struct haproxy_text *t, struct field *field)
{
	const char *const *name = columns_of(t);
	const char *at = t->line, *end = t->line + t->len;
	uint32_t n;

	for (n = 0; at; n++) {
		struct field f = take_field(&at, end, separator_of(t));

		for (int i = 0; i < HAPROXY_COLUMNS && name[i]; i++)
			if (t->column[i] == n)
				field[i] = f;
	}
	return n == t->fields;
}

/* A decimal number, up to most. 0 and a fault: it is none. */
static uint64_t number(struct haproxy_text *t, const struct field *f, int column, uint64_t most)
{
	const char *name = columns_of(t)[column];
	uint64_t v = 0;
	bool good = f->len > 0;

	for (size_t i = 0; good && i < f->len; i++) {
		uint64_t digit = (uint64_t)(f->at[i] - '0');

		good = f->at[i] >= '0' && f->at[i] <= '9' && digit <= most &&
		       v <= (most - digit) / 10;
		if (good)
			v = v * 10 + digit;
	}
	if (!good)
		set_fault(t, HAPROXY_NUMBER, name, strlen(name));
	return good ? v : 0;
}

/* conf's server of this name. HAProxy has its servers in the order of its file, as conf may: so the
 * next one is tried first. */
static bool find_server(struct haproxy_text *t, const struct field *name, uint32_t *index)
{
	uint32_t n = t->conf->servers;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (t->next + i) % n;

		if (!field_is(name, t->conf->server[at]))
			continue;
		t->next = (at + 1) % n;
		*index = at;
		return true;
	}
	return false;
}

static enum act_want want_of(uint64_t admin)
{
	if (admin & ADMIN_FORCED_OUT)
		return ACT_OUT;
	return admin & ADMIN_FORCED_DRAIN ? ACT_DRAIN : ACT_SERVE;
}

static void read_state(struct haproxy_text *t)
{
	struct field f[HAPROXY_COLUMNS] = { { NULL, 0 } };
	uint64_t id, op, admin, weight, initial;
	struct act_server *s;
	uint32_t i;

	if (!take_row(t, f) || !field_is(&f[STATE_BACKEND], t->conf->backend)) {
		set_fault(t, HAPROXY_ROW, t->line, t->len);
		return;
	}
	id = number(t, &f[STATE_ID], STATE_ID, INT32_MAX);
	op = number(t, &f[STATE_OP], STATE_OP, OP_STOPPING);
	admin = number(t, &f[STATE_ADMIN], STATE_ADMIN, UINT16_MAX);
	weight = number(t, &f[STATE_WEIGHT], STATE_WEIGHT, HAPROXY_WEIGHT_MAX);
	initial = number(t, &f[STATE_INITIAL], STATE_INITIAL, HAPROXY_WEIGHT_MAX);
	if (!t->fault && (!id || (t->backend && t->backend != id)))
		set_fault(t, HAPROXY_ROW, t->line, t->len);
	if (t->fault)
		return;
	t->backend = (uint32_t)id;
	if (!find_server(t, &f[STATE_NAME], &i))
		return;
	s = &t->server[i];
	if (s->there) {
		set_fault(t, HAPROXY_TWICE, f[STATE_NAME].at, f[STATE_NAME].len);
		return;
	}
	s->there = true;
	s->up = (op == OP_STARTING || op == OP_RUNNING) && !(admin & ADMIN_CLOSED);
	s->admin = want_of(admin);
	s->weight = (uint16_t)weight;
	s->initial = (uint16_t)initial;
}

static void read_stat(struct haproxy_text *t)
{
	struct field f[HAPROXY_COLUMNS] = { { NULL, 0 } };
	uint64_t queued, current, total, ms;
	uint32_t i;

	if (!take_row(t, f) || !field_is(&f[STAT_BACKEND], t->conf->backend)) {
		set_fault(t, HAPROXY_ROW, t->line, t->len);
		return;
	}
	queued = number(t, &f[STAT_QUEUED], STAT_QUEUED, INT32_MAX);
	current = number(t, &f[STAT_CURRENT], STAT_CURRENT, INT32_MAX);
	total = number(t, &f[STAT_TOTAL], STAT_TOTAL, UINT64_MAX);
	ms = number(t, &f[STAT_LATENCY], STAT_LATENCY, INT32_MAX);
	if (t->fault || !find_server(t, &f[STAT_NAME], &i))
		return;
	if (t->counted[i]) {
		set_fault(t, HAPROXY_TWICE, f[STAT_NAME].at, f[STAT_NAME].len);
		return;
	}
	t->counted[i] = true;
	t->server[i].own = (uint32_t)(queued + current);
	t->server[i].queued = (uint32_t)queued;
	t->server[i].served = total;
	t->server[i].latency_ns = ms * NS_PER_MS;
}

/* "Name: HAProxy", ..., "Stopping: 0", ... */
static void read_info(struct haproxy_text *t)
{
	struct field f = { t->line, t->len };

	if (t->lines == 1 && (t->len < 6 || memcmp(t->line, "Name: ", 6) != 0)) {
		set_fault(t, HAPROXY_SAID, t->line, t->len);
	} else if (t->len > 10 && memcmp(t->line, "Stopping: ", 10) == 0) {
		t->stopping_seen = true;
		if (!field_is(&f, "Stopping: 0"))
			set_fault(t, HAPROXY_STOPPING, t->line, t->len);
	}
}

static void read_line(struct haproxy_text *t)
{
	struct field f = { t->line, t->len };

	if (!t->len) {
		t->blank = true;
		return;
	}
	t->lines++;
	if (t->blank || t->kind == HAPROXY_REPLY_EMPTY) {
		set_fault(t, HAPROXY_SAID, t->line, t->len);
	} else if (t->kind == HAPROXY_REPLY_INFO) {
		read_info(t);
	} else if (t->kind == HAPROXY_REPLY_STATE && t->lines == 1) {
		if (!field_is(&f, "1")) /* the version of the format */
			set_fault(t, HAPROXY_SAID, t->line, t->len);
	} else if (!t->fields) {
		read_header(t);
	} else if (t->kind == HAPROXY_REPLY_STATE) {
		read_state(t);
	} else {
		read_stat(t);
	}
}

static void end_reply(struct haproxy_text *t)
{
	bool rows = t->kind == HAPROXY_REPLY_STATE || t->kind == HAPROXY_REPLY_STAT;

	if (t->kind == HAPROXY_REPLY_INFO && !t->stopping_seen)
		set_fault(t, HAPROXY_NO_STOPPING, "", 0);
	if (rows && !t->fields)
		set_fault(t, HAPROXY_SAID, "", 0);
	if (t->kind == HAPROXY_REPLY_STAT)
		for (uint32_t i = 0; i < t->conf->servers; i++)
			t->server[i].there = t->server[i].there && t->counted[i];
}

void haproxy_text_begin(struct haproxy_text *t, const struct act_conf *conf,
			enum haproxy_reply kind, struct act_server *server)
{
	memset(t, 0, offsetof(struct haproxy_text, line));
	t->conf = conf;
	t->server = server;
	t->kind = kind;
	if (kind == HAPROXY_REPLY_STATE)
		memset(server, 0, conf->servers * sizeof(*server));
}

bool haproxy_text_feed(struct haproxy_text *t, const char *data, size_t len, size_t *used)
{
	const char *at = data, *end = data + len;

	while (at < end && !t->lost) {
		/* A line's first two bytes one by one: they may be the prompt, which has no end. */
		const char *nl = memchr(at, '\n', t->len < 2 ? 1 : (size_t)(end - at));
		size_t n = nl ? (size_t)(nl - at) : t->len < 2 ? 1 : (size_t)(end - at);

		if (n > sizeof(t->line) - t->len) {
			lose(t, HAPROXY_LINE);
			break;
		}
		memcpy(t->line + t->len, at, n);
		t->len += n;
		at += n;
		t->total += n;
		if (nl) {
			if (!t->fault)
				read_line(t);
			at++;
			t->total++;
			t->len = 0;
			t->ended_line = true;
		} else if (t->ended_line && t->len == 2 && memcmp(t->line, "> ", 2) == 0) {
			end_reply(t);
			*used = (size_t)(at - data);
			return true;
		}
		if (t->total > HAPROXY_REPLY_MAX)
			lose(t, HAPROXY_REPLY);
	}
	*used = (size_t)(at - data);
	return false;
}
