// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * common: what holds for each database: see backend.h. Nothing that a table or an application says
 * is believed: a value that cannot be one is a sentence, and the caller does nothing.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/sql/backend.h"
#include "src/util/utf8.h"

int sql_fail(struct sql_error *e, int rc, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	e->state[0] = '\0';
	/* Databases write lines; a sentence is one. */
	for (char *c = e->text; *c; c++)
		if (*c == '\n' || *c == '\t' || *c == '\r')
			*c = ' ';
	n = strlen(e->text);
	while (n && e->text[n - 1] == ' ')
		e->text[--n] = '\0';
	utf8_mend(e->text);
	utf8_tame(e->text);
	return rc;
}

int sql_conf_check(const struct sql_conf *c, struct sql_error *e)
{
	if (!c->where || !c->where[0] || strlen(c->where) >= SQL_WHERE_MAX)
		return sql_fail(e, -EINVAL,
				"sql.where has %zu bytes: it must have 1 .. %d, and say where the "
				"database is",
				c->where ? strlen(c->where) : 0, SQL_WHERE_MAX - 1);
	if (c->self < 1 || c->self > HOSTSET_MAX)
		return sql_fail(e, -EINVAL, "the number of this host is %u: it must be 1 .. %d",
				c->self, HOSTSET_MAX);
	if (c->timeout_ns < NS_PER_S / 100 || c->timeout_ns > 3600 * NS_PER_S)
		return sql_fail(e, -EINVAL, "sql.timeout is %" PRId64 " ns: it must be 10ms .. 1h",
				c->timeout_ns);
	if (c->hang_ns < 0)
		return sql_fail(e, -EINVAL, "a transaction may hang %" PRId64 " ns: give 0 or more",
				c->hang_ns);
	return 0;
}

/* --- statements --------------------------------------------------------------------------- */

/* BEGIN, COMMIT, SET and all others that are not here are refused. */
static bool verb_allowed(const char *verb, size_t len)
{
	static const char *const allowed[] = {
		"INSERT", "UPDATE",   "DELETE", "MERGE", "REPLACE", "WITH", "SELECT",  "VALUES",
		"CALL",	  "TRUNCATE", "LOCK",	"DO",	 "CREATE",  "DROP", "COMMENT", "ALTER",
	};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (strlen(allowed[i]) == len && !strncasecmp(allowed[i], verb, len))
			return true;
	return false;
}

/* A comment before the verb is refused, too: databases differ in where it ends. */
static int statement_check(const struct sql_update *u, uint32_t i, size_t *room,
			   struct sql_error *e)
{
	const struct sql_statement *s = &u->statement[i];
	const char *verb = s->text ? s->text + strspn(s->text, " \t\r\n\f") : "";
	size_t len = strspn(verb, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
	size_t bytes = s->text ? strlen(s->text) : 0;

	if (s->params > SQL_PARAMS_MAX)
		return sql_fail(e, -EINVAL, "statement %u has %u parameters: at most %d are taken",
				i + 1, s->params, SQL_PARAMS_MAX);
	for (uint32_t k = 0; k < s->params; k++)
		bytes += s->param[k] ? strlen(s->param[k]) : 0;
	if (bytes > *room)
		return sql_fail(e, -EINVAL,
				"the statements of an update have more than %d bytes: make "
				"several updates of it",
				SQL_TEXT_MAX);
	*room -= bytes;
	if (!verb_allowed(verb, len))
		return sql_fail(
			e, -EINVAL,
			"statement %u begins with \"%.*s\": it must begin with INSERT, UPDATE, "
			"DELETE or another verb that neither ends the transaction nor "
			"outlives it",
			i + 1, (int)(len ? (len < 20 ? len : 20) : strnlen(verb, 10)), verb);
	return 0;
}

int sql_update_check(const struct sql_update *u, struct sql_error *e)
{
	size_t room = SQL_TEXT_MAX;

	if (!u->name)
		return sql_fail(e, -EINVAL, "the name of an update is 0, which is none");
	if (u->statements > SQL_STATEMENTS_MAX)
		return sql_fail(e, -EINVAL, "an update has %u statements: at most %d are taken",
				u->statements, SQL_STATEMENTS_MAX);
	for (uint32_t i = 0; i < u->statements; i++) {
		int rc = statement_check(u, i, &room, e);

		if (rc)
			return rc;
	}
	return 0;
}

void sql_refused(struct sql_error *e, const struct sql_update *u, uint32_t i, const char *state,
		 const char *why)
{
	sql_fail(e, 0, "statement %u of %u was refused: %s", i + 1, u->statements, why);
	snprintf(e->state, sizeof(e->state), "%s", state);
}

/* --- values of tables --------------------------------------------------------------------- */

int sql_number(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *value,
	       struct sql_error *e)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;
	uint64_t n;

	errno = 0;
	n = digits ? strtoull(text, NULL, 10) : 0;
	if (!digits || text[digits] || errno || n < min || n > max)
		return sql_fail(e, -EPROTO,
				"%s is %.40s: it must be %" PRIu64 " .. %" PRIu64
				"; correct it in the database",
				what, text ? text : "NULL", min, max);
	*value = n;
	return 0;
}

int sql_take_epoch(const char *epoch, const char *version, const char *table, uint32_t *value,
		   struct sql_error *e)
{
	char what[64];
	uint64_t n = 0;
	int rc;

	snprintf(what, sizeof(what), "%s.version", table);
	rc = sql_number(version, 0, UINT32_MAX, what, &n, e);
	if (rc)
		return rc;
	if (n != SQL_SCHEMA)
		return sql_fail(e, -EPROTO,
				"the tables are of version %" PRIu64
				", this program is for version %d: install the schema of the same "
				"release",
				n, SQL_SCHEMA);
	snprintf(what, sizeof(what), "%s.epoch", table);
	rc = sql_number(epoch, 0, SQL_EPOCH_MAX, what, &n, e);
	if (!rc)
		*value = (uint32_t)n;
	return rc;
}

int sql_no_epoch(const char *table, struct sql_error *e)
{
	return sql_fail(e, -EPROTO, "%s is empty: install the tables anew: etc/cache/schema*.sql",
			table);
}

int sql_take_member(const char *const cell[static SQL_CELLS], const char *table,
		    struct sql_member *m, struct sql_error *e)
{
	static const struct {
		const char *name;
		uint64_t min, max;
	} column[SQL_CELLS] = {
		[SQL_NUMBER] = { "number", 1, HOSTSET_MAX },
		[SQL_GENERATION] = { "generation", 0, REGION_EPOCH_MAX },
		[SQL_FENCE] = { "fence", 0, REGION_EPOCH_MAX },
		[SQL_IN] = { "is_in", 0, 1 },
		[SQL_RAISED] = { "raised", 1, INT64_MAX },
	};
	uint64_t value[SQL_CELLS];

	for (int i = 0; i < SQL_CELLS; i++) {
		char what[96];
		int rc;

		snprintf(what, sizeof(what), "%s.%s of host %.10s", table, column[i].name,
			 cell[SQL_NUMBER] ? cell[SQL_NUMBER] : "NULL");
		rc = sql_number(cell[i], column[i].min, column[i].max, what, &value[i], e);
		if (rc)
			return rc;
	}
	*m = (struct sql_member){
		.number = (uint16_t)value[SQL_NUMBER],
		.in = value[SQL_IN],
		.generation = (uint32_t)value[SQL_GENERATION],
		.fence = (uint32_t)value[SQL_FENCE],
		.raised = value[SQL_RAISED],
	};
	return 0;
}

int sql_look_add(struct sql_look *l, const struct sql_member *m, const char *table,
		 struct sql_error *e)
{
	if (hostset_has(&l->rows, m->number))
		return sql_fail(e, -EPROTO, "%s has two rows of host %u: delete the older one",
				table, m->number);
	hostset_set(&l->rows, m->number, true);
	hostset_set(&l->members, m->number, m->in);
	l->generation[m->number] = m->generation;
	l->fence[m->number] = m->fence;
	l->raised[m->number] = m->raised;
	return 0;
}

/* --- rules -------------------------------------------------------------------------------- */

int sql_raise(uint32_t is, uint32_t least, const char *what, uint16_t host, uint32_t *next,
	      struct sql_error *e)
{
	uint32_t n = is > least ? is : least;

	if (n >= REGION_EPOCH_MAX)
		return sql_fail(
			e, -ERANGE,
			"the %s of host %u is %u, and cannot be raised: give the host another "
			"number in cluster.json",
			what, host, n);
	*next = n + 1;
	return 0;
}

int sql_removes(const struct sql_member *m, uint16_t host, uint32_t generation, struct sql_error *e)
{
	if (!m && !generation)
		return 0;
	if (!m)
		return sql_fail(e, -ESTALE, "host %u has no row any more: look again", host);
	if (generation && m->generation != generation)
		return sql_fail(e, -ESTALE,
				"host %u is of generation %u now, not %u: it came back; look again",
				host, m->generation, generation);
	return m->in;
}

int sql_resolved(const char *name, const char *number, uint16_t slot, uint64_t wanted,
		 uint64_t *transaction, struct sql_error *e)
{
	char *end = NULL;
	long long stored;

	errno = 0;
	stored = name ? strtoll(name, &end, 10) : 0;
	if (!name || end == name || *end || errno)
		return sql_fail(e, -EPROTO,
				"the name of the newest update of slot %u is %.40s, which is none: "
				"delete the row",
				slot, name ? name : "NULL");
	if (stored > sql_name_stored(wanted))
		return sql_fail(e, -ESTALE,
				"slot %u had a newer update than the one that is looked for: is "
				"there another resex-cached with the number of this host? end it",
				slot);
	if (stored < sql_name_stored(wanted)) {
		*transaction = 0;
		return 0;
	}
	return sql_number(number, 1, INT64_MAX, "the transaction of the update", transaction, e);
}

uint64_t sql_mix(const uint64_t *part, uint32_t n)
{
	uint64_t x = 0;

	for (uint32_t i = 0; i < n; i++) {
		x = (x ^ part[i]) + 0x9e3779b97f4a7c15u;
		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
		x = (x ^ x >> 27) * 0x94d049bb133111ebu;
		x ^= x >> 31;
	}
	return x ? x : 1;
}
