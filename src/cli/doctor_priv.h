/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_priv: what the files of the checks share. For callers: doctor.h. */
#ifndef RESEX_CLI_DOCTOR_PRIV_H
#define RESEX_CLI_DOCTOR_PRIV_H

#include "src/cli/doctor.h"

/* Append a finding. remedy: "" if nothing is to be done. */
void doctor_say(const struct doctor_report *r, enum doctor_state s, const char *remedy,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Names for a sentence: "a", "a, b", "a, b, c, d and 3 more". Zeroed at first. */
struct doctor_names {
	uint32_t n;
	char text[320];
};

void doctor_name(struct doctor_names *names, const char *name);
/* What is to be printed; valid until the next doctor_name(). */
const char *doctor_names_text(struct doctor_names *names);

/* Members of a reply: "" and 0 if there is none of this type. */
const char *doctor_s(const json_t *o, const char *key);
json_int_t doctor_u(const json_t *o, const char *key);
double doctor_f(const json_t *o, const char *key);
bool doctor_b(const json_t *o, const char *key);
/* part of all, in percent; 0 of nothing. */
double doctor_percent(json_int_t part, json_int_t all);

typedef void doctor_run_fn(const struct doctor_facts *f, const struct doctor_report *r);
doctor_run_fn doctor_agents, doctor_rings, doctor_reports, doctor_losses, doctor_counters;
doctor_run_fn doctor_adapters, doctor_links, doctor_cluster, doctor_clocks;

#endif
