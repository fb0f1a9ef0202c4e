// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plugin_table: is the table of a plug-in, struct policy_ops, one that resexd can use? Built-in
 * policies are checked by tests instead. plugin.c calls it under guard, since pointers of the
 * table may lead anywhere.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/conf/plugin.h"

static int refuse(char why[static PLUGIN_WHY_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(char why[static PLUGIN_WHY_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, PLUGIN_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

bool plugin_name_fits(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !name[n] && n < FLOW_NAME_MAX && name[0] >= 'a';
}

/* One line of text that can be printed. */
static bool is_text(const char *s)
{
	size_t n = 0;

	if (!s || !*s)
		return false;
	for (; s[n]; n++)
		if (n == POLICY_TEXT_MAX || (unsigned char)s[n] < 0x20 || s[n] == 0x7f)
			return false;
	return true;
}

static bool is_unit(const char *unit)
{
	static const char *const units[] = { "ns", "bytes", "permille", "mpct", "-" };

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i]))
			return true;
	return false;
}

static int check_size(size_t size, size_t most, const char *member, char *why)
{
	if (size <= most && size % 8 == 0)
		return 0;
	return refuse(why, "%s is %zu: use a multiple of 8, at most %zu", member, size, most);
}

static int check_head(const struct policy_ops *ops, const char *name, char *why)
{
	int rc;

	if (ops->abi != POLICY_ABI)
		return refuse(why,
			      "it was built for version %u of resex/policy.h, and resexd has %u: "
			      "build it again with the header of this resexd",
			      ops->abi, POLICY_ABI);
	if (ops->size != sizeof(*ops))
		return refuse(why,
			      "size is %u: write .size = sizeof(struct policy_ops), which is %zu",
			      ops->size, sizeof(*ops));
	if (!is_text(ops->name) || !plugin_name_fits(ops->name))
		return refuse(why,
			      "its name does not fit: use lower-case letters, digits and '-', a "
			      "letter first, at most %d",
			      FLOW_NAME_MAX - 1);
	if (strcmp(ops->name, name) != 0)
		return refuse(why, "it says that its name is \"%.63s\": call the file %.63s.so",
			      ops->name, ops->name);
	if (!is_text(ops->text))
		return refuse(why, "its text is missing or no line of 1 to %d bytes: write one",
			      POLICY_TEXT_MAX);
	if (!ops->decide)
		return refuse(why, "it has no decide(): set .decide");
	if (ops->needs_reports > 1)
		return refuse(why, "needs_reports is %u: use 0 or 1", ops->needs_reports);
	rc = check_size(ops->params_size, POLICY_PARAMS_SIZE, "params_size", why);
	if (!rc)
		rc = check_size(ops->global_size, POLICY_GLOBAL_SIZE, "global_size", why);
	if (!rc)
		rc = check_size(ops->guest_size, POLICY_GUEST_SIZE, "guest_size", why);
	return rc;
}

static int check_param(const struct policy_ops *ops, const struct policy_param *p, char *why)
{
	const char *name = p->name;
	size_t n = is_text(name) ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;

	if (!n || name[n] || n >= FLOW_NAME_MAX || name[0] < 'a')
		return refuse(why,
			      "parameter %td has no name that fits: use lower-case letters, digits "
			      "and '_', a letter first",
			      p - ops->params);
	if (!is_text(p->text))
		return refuse(why, "parameter %s has no text: write one line", name);
	if (!is_unit(p->unit))
		return refuse(why,
			      "parameter %s has no unit that is known: use \"ns\", \"bytes\", "
			      "\"permille\", \"mpct\" or \"-\"",
			      name);
	if (p->offset % 8 || ops->params_size < 8 || p->offset > ops->params_size - 8)
		return refuse(why,
			      "parameter %s is at offset %zu: use offsetof() of a uint64_t in a "
			      "struct of params_size, %zu",
			      name, p->offset, ops->params_size);
	if (p->min > p->def || p->def > p->max || p->max > INT64_MAX)
		return refuse(why,
			      "parameter %s has a default or an end of its range that does "
			      "not fit: use min <= def <= max < 2^63",
			      name);
	for (const struct policy_param *q = ops->params; q < p; q++)
		if (!strcmp(q->name, name) || q->offset == p->offset)
			return refuse(why,
				      "parameters %s and %s have one name or one offset: give each "
				      "its own",
				      q->name, name);
	return 0;
}

static int check_params(const struct policy_ops *ops, char *why)
{
	const struct policy_param *p = ops->params;
	int rc = 0;

	for (; !rc && p && p->name; p++) {
		if (p - ops->params == POLICY_PARAMS_MAX)
			return refuse(why,
				      "it has more than %d parameters: end the table with name "
				      "NULL",
				      POLICY_PARAMS_MAX);
		rc = check_param(ops, p, why);
	}
	return rc;
}

static int check_reasons(const struct policy_ops *ops, char *why)
{
	uint32_t n = 0;

	if (!ops->reasons)
		return refuse(why, "it has no reasons: set .reasons, at least one");
	for (; ops->reasons[n]; n++) {
		if (n == POLICY_REASONS_MAX)
			return refuse(why, "it has more than %d reasons: end the list with NULL",
				      POLICY_REASONS_MAX);
		if (!is_text(ops->reasons[n]))
			return refuse(why, "reason %u is no line of 1 to %d bytes: write one", n,
				      POLICY_TEXT_MAX);
	}
	return n ? 0 : refuse(why, "it has no reasons: write at least one");
}

int plugin_table_check(const struct policy_ops *ops, const char *name,
		       char why[static PLUGIN_WHY_MAX])
{
	int rc = check_head(ops, name, why);

	if (!rc)
		rc = check_params(ops, why);
	if (!rc)
		rc = check_reasons(ops, why);
	return rc;
}
