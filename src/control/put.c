// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * put: parts of replies that several methods have: errors, guests, accounts, cross-checks. A
 * member's name and meaning is the same wherever it is (resex-control(7)).
 *
 * Without memory jansson's functions fail, and the reply lacks a member. That is not checked at
 * each of them: nothing in resexd depends on a reply.
 */
#include <stdarg.h>
#include <stdio.h>

#include "src/control/methods_priv.h"
#include "src/util/utf8.h"

int call_fail(struct call *c, enum resex_exit code, const char *fmt, ...)
{
	va_list ap;

	c->exit = (int)code;
	c->error.code = PROTO_E_SERVER - c->exit;
	va_start(ap, fmt);
	vsnprintf(c->error.text, sizeof(c->error.text), fmt, ap);
	va_end(ap);
	return c->exit;
}

/* jansson's integers are signed: a figure of a hostile guest must not become negative. */
json_t *value_u(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

json_t *value_s(const char *v)
{
	json_t *s = json_string(v);
	char text[512];

	if (s)
		return s;
	/* It is not UTF-8, such as a guest's name: keep the characters that are. */
	snprintf(text, sizeof(text), "%s", v);
	utf8_mend(text);
	return json_string(text);
}

/*
 * All numbers of replies that are not whole are made here: with at most three decimals, which is
 * what reply_line() then prints.
 */
json_t *value_milli(int64_t thousandths)
{
	return json_real((double)thousandths / 1000.0);
}

/* In Resos: the ledger counts milli-Resos, which operators do not use. */
json_t *value_resos(struct resos r)
{
	return value_milli(r.m);
}

/* null is "no cap". */
json_t *value_cap(struct cap c)
{
	return c.limited ? json_integer(cap_to_percent(c)) : json_null();
}

/* In microseconds, as operators write them; null: unknown. */
json_t *value_us(uint64_t ns, bool known)
{
	return known ? value_milli((int64_t)(ns > INT64_MAX ? INT64_MAX : ns)) : json_null();
}

void put_u(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, value_u(v));
}

void put_i(json_t *o, const char *key, int64_t v)
{
	json_object_set_new(o, key, v < 0 ? json_null() : json_integer(v));
}

void put_name(json_t *o, const char *key, const char *name)
{
	json_object_set_new(o, key, name ? value_s(name) : json_null());
}

void put_s(json_t *o, const char *key, const char *v)
{
	json_object_set_new(o, key, value_s(v));
}

void put_b(json_t *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

void put_resos(json_t *o, const char *key, struct resos r)
{
	json_object_set_new(o, key, value_resos(r));
}

void put_cap(json_t *o, const char *key, struct cap c)
{
	json_object_set_new(o, key, value_cap(c));
}

/* Methods that may be about all guests look first whether one is named. */
struct guest_entry *find_guest(struct call *c, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "guest"));
	struct guest_entry *g;

	if (!name) {
		call_fail(c, RESEX_USAGE, "guest: give a guest's name, domain id or UUID");
		return NULL;
	}
	g = guests_find(c->guests, name);
	if (!g)
		call_fail(c, RESEX_NO_GUEST, "there is no guest \"%.64s\": see resex list", name);
	return g;
}

void put_identity(json_t *o, const struct guest_view *g)
{
	put_s(o, "name", g->name);
	put_u(o, "domid", g->key.domid);
	put_s(o, "uuid", g->uuid);
}

void put_account(json_t *o, const struct account *a)
{
	put_resos(o, "allocated", a->allocated);
	put_resos(o, "balance", a->balance);
	put_resos(o, "spent", a->spent);
	put_resos(o, "overdraft", a->overdraft);
	put_resos(o, "charged_io", a->charged_io);
	put_resos(o, "charged_cpu", a->charged_cpu);
	/* Rounded: a rate is a multiple of 1/65536. */
	json_object_set_new(o, "rate", value_milli(((int64_t)a->rate.q16 * 1000 + 32768) / 65536));
	put_b(o, "late", a->flags & ACCOUNT_LATE);
}

/* null, not false: without a counter it is unknown what a guest really sends. */
void put_diverges(json_t *o, const struct check_view *k)
{
	json_object_set_new(o, "diverges",
			    k->compared ? json_boolean(k->cross->diverges) : json_null());
}

void put_check(json_t *o, const char *key, const struct check_view *k)
{
	const struct cross *c = k->cross;
	json_t *v = json_object();

	json_object_set_new(o, key, k->compared ? v : json_null());
	if (!k->compared) {
		json_decref(v);
		return;
	}
	put_s(v, "source", k->source);
	put_s(v, "error", k->error);
	put_u(v, "windows", c->windows);
	put_u(v, "skipped", c->skipped);
	put_u(v, "sent_bytes", c->sent);
	put_u(v, "explained_bytes", c->explained);
	put_u(v, "sent_bytes_s", cross_rate(&c->last, c->last.sent));
	put_u(v, "explained_bytes_s", cross_rate(&c->last, c->last.explained));
	put_u(v, "unexplained_bytes_s", cross_unexplained(c));
	put_diverges(v, k);
}

void put_policy_note(json_t *o, const struct call *c)
{
	const struct guests_view all = guests_view(c->guests);
	char text[512];

	if (all.stopped)
		snprintf(text, sizeof(text),
			 "policy %s was stopped, and caps no guest: %s; mend it, then resex "
			 "policy-set %s",
			 all.stopped, all.stopped_why, all.stopped);
	else
		guests_unheard_text(c->guests, guests_unheard(c->guests, c->sn), text,
				    sizeof(text));
	put_s(o, "policy_note", text);
}

/* Several may be true at once: the first of them is shown (of other hosts' guests: hosts.c). */
const char *state_of(const struct guest_view *g)
{
	if (g->stopped)
		return "paused";
	if (g->conf->exempt)
		return "exempt";
	if (g->released)
		return "released";
	if (g->paused)
		return "observed";
	if (!g->cappable)
		return "uncappable";
	return g->forged ? "forged" : "managed";
}

json_t *guest_rows(struct call *c, const struct guest_entry *one,
		   json_t *(*row)(struct call *, const struct guest_entry *))
{
	const struct guest_entry *g = one ? one : guests_next(c->guests, NULL);
	json_t *arr = json_array();

	for (; g; g = one ? NULL : guests_next(c->guests, g))
		json_array_append_new(arr, row(c, g));
	return arr;
}

void put_ms(json_t *o, const char *key, int64_t ns)
{
	json_object_set_new(o, key, ns < 0 ? json_null() : json_integer(ns / NS_PER_MS));
}
