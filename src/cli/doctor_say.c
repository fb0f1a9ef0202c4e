// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor_say: what all checks of resex doctor use: findings, names in a sentence, and members of
 * replies, which may be of another program. See doctor.h and doctor_priv.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/cli/doctor_priv.h"
#include "src/util/utf8.h"

enum { NAMES_MAX = 4, TEXT_MAX = 1024 };

const char *doctor_state_text(enum doctor_state s)
{
	static const char *const text[DOCTOR_STATES] = { "ok", "unknown", "warning", "fault" };

	return text[s];
}

enum doctor_state doctor_state_of(const json_t *finding)
{
	const char *word = doctor_s(finding, "state");

	for (int s = DOCTOR_OK; s < DOCTOR_STATES; s++)
		if (!strcmp(word, doctor_state_text((enum doctor_state)s)))
			return (enum doctor_state)s;
	return DOCTOR_UNKNOWN;
}

enum doctor_state doctor_worst(const json_t *findings)
{
	enum doctor_state worst = DOCTOR_OK, s;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		s = doctor_state_of(json_array_get(findings, i));
		worst = s > worst ? s : worst;
	}
	return worst;
}

void doctor_say(const struct doctor_report *r, enum doctor_state s, const char *remedy,
		const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_mend(text); /* a name may be cut within a character */
	json_array_append_new(r->findings,
			      json_pack("{s:s,s:s,s:s,s:s}", "check", r->check, "state",
					doctor_state_text(s), "text", text, "remedy", remedy));
}

void doctor_name(struct doctor_names *names, const char *name)
{
	size_t at = strlen(names->text);

	if (names->n++ < NAMES_MAX)
		snprintf(names->text + at, sizeof(names->text) - at, "%s%.70s", at ? ", " : "",
			 name);
}

const char *doctor_names_text(struct doctor_names *names)
{
	size_t at = strlen(names->text);

	if (names->n > NAMES_MAX)
		snprintf(names->text + at, sizeof(names->text) - at, " and %u more",
			 names->n - NAMES_MAX);
	return names->text;
}

const char *doctor_s(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

json_int_t doctor_u(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

double doctor_f(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

bool doctor_b(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

double doctor_percent(json_int_t part, json_int_t all)
{
	return all > 0 ? 100.0 * (double)part / (double)all : 0;
}
