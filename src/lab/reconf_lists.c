// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_lists: options of "resex-lab reconf" that are lists: of sites, in the order of their
 * nodes, and of nodes. What a list does not say of the last ones is as if it was not given.
 * reconf_options.c calls it.
 */
#include <stdlib.h>
#include <string.h>

#include "src/lab/reconf_cmd.h"

uint32_t reconf_numbers(const char *text, char apart, long least, long most, uint32_t *list,
			uint32_t room)
{
	uint32_t n = 0;
	char *end;

	for (;; text = end + 1) {
		long v = strtol(text, &end, 10);

		if (end == text || v < least || v > most || n == room)
			return 0;
		list[n++] = (uint32_t)v;
		if (!*end)
			return n;
		if (*end != apart)
			return 0;
	}
}

/* The number of a service that an option is for. */
static uint32_t *place_of(struct reconf_service *s, int letter)
{
	switch (letter) {
	case 'P':
		return &s->priority;
	case 'M':
		return &s->minimum;
	case 'G':
		return &s->guarantee;
	default: /* 'X' */
		return &s->maximum;
	}
}

int reconf_set_services(struct reconf_options *o, int letter, const char *name, const char *text)
{
	long least = letter == 'P' || letter == 'G' ? 0 : 1;
	long most = letter == 'P' ? DECIDE_PRIORITY_MAX : RECONF_NODES_MAX;
	uint32_t list[WEB_SITES_MAX];
	uint32_t n = reconf_numbers(text, ':', least, most, list, WEB_SITES_MAX);

	if (!n)
		return lab_refuse("--%s %s: give numbers from %ld to %ld of up to %d sites, as 2:1",
				  name, text, least, most, WEB_SITES_MAX);
	for (uint32_t i = 0; i < n; i++)
		*place_of(&o->plan.rules.service[i], letter) = list[i];
	return -1;
}

int reconf_set_cpus(struct reconf_options *o, const char *text)
{
	if (reconf_numbers(text, ':', 1, WEB_CPUS_MAX, o->plan.web.node_cpus, RECONF_NODES_MAX))
		return -1;
	return lab_refuse("--cpus %s: give the CPUs of up to %d nodes, 1 to %d each, as 4:4:1",
			  text, RECONF_NODES_MAX, WEB_CPUS_MAX);
}

/* Read the sites of one node: "23" is the second and the third, "0" all. False: any other text. */
static bool read_only(const char *word, size_t len, uint64_t *may)
{
	*may = 0;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '1' || word[i] > '0' + WEB_SITES_MAX)
			return len == 1 && word[0] == '0';
		*may |= UINT64_C(1) << (word[i] - '1');
	}
	return len > 0;
}

int reconf_set_only(struct reconf_options *o, const char *text)
{
	const char *word = text;

	for (uint32_t n = 0; n < RECONF_NODES_MAX; n++) {
		size_t len = strcspn(word, ":");

		if (!read_only(word, len, &o->plan.rules.may[n]))
			break;
		if (!word[len])
			return -1;
		word += len + 1;
	}
	return lab_refuse("--only %s: give the numbers of the sites of up to %d nodes, as 12:12:0; "
			  "0: all",
			  text, RECONF_NODES_MAX);
}

/* --- together --------------------------------------------------------------------- */

static int check_site(const struct reconf_plan *p, uint32_t i)
{
	const struct reconf_service *s = &p->rules.service[i];

	if (s->minimum > p->share[i])
		return lab_refuse("--minimum %u of site %u: it has only %u of --shares", s->minimum,
				  i + 1, p->share[i]);
	if (s->maximum && s->maximum < s->minimum)
		return lab_refuse("--maximum %u of site %u: give at least its --minimum, which is "
				  "%u",
				  s->maximum, i + 1, s->minimum);
	if (s->guarantee > (s->maximum ? s->maximum : p->web.nodes))
		return lab_refuse("--guarantee %u of site %u: give at most its --maximum, which is "
				  "%u",
				  s->guarantee, i + 1, s->maximum ? s->maximum : p->web.nodes);
	return -1;
}

static int check_only(const struct reconf_plan *p)
{
	uint32_t node = 0;

	for (uint32_t s = 0; s < p->web.sites; s++)
		for (uint32_t k = 0; k < p->share[s]; k++, node++) {
			if (p->rules.may[node] && p->rules.paper)
				return lab_refuse("--only: the papers' rule knows nothing of it: "
						  "leave \"paper\" out of --without");
			if (p->rules.may[node] && !(p->rules.may[node] >> s & 1))
				return lab_refuse("--only: node %u begins in site %u, and must "
						  "have it in its list",
						  node + 1, s + 1);
		}
	return -1;
}

int reconf_check_lists(const struct reconf_plan *p)
{
	for (uint32_t i = 0; i < p->web.sites; i++) {
		int rc = check_site(p, i);

		if (rc >= 0)
			return rc;
	}
	return check_only(p);
}
