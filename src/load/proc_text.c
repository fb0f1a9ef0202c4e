// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proc_text: what /proc/stat, loadavg and pressure/cpu say. proc.c reads the files; in a guest they
 * may come from anybody, so each number is bounded, and what was not expected is an error.
 */
#ifdef HAVE_CONFIG_H
#include "config.h" /* memmem */
#endif
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/load/index.h"
#include "src/load/load.h"

struct text {
	const char *at, *end;
};

/* A decimal number, and the spaces before it. False: there is none, or it is above most. */
static bool take_number(struct text *t, uint64_t most, uint64_t *v)
{
	bool any = false;

	while (t->at < t->end && *t->at == ' ')
		t->at++;
	for (*v = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
		uint64_t digit = (uint64_t)(*t->at - '0');

		if (*v > (most - digit) / 10)
			return false;
		*v = *v * 10 + digit;
		any = true;
	}
	return any;
}

static bool take_word(struct text *t, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

static void skip_line(struct text *t)
{
	const char *nl = memchr(t->at, '\n', (size_t)(t->end - t->at));

	t->at = nl ? nl + 1 : t->end;
}

/* The lines "cpuN ..." that follow. */
static uint32_t count_cpus(struct text *t)
{
	uint32_t n = 0;

	while (take_word(t, "cpu") && n <= LOAD_CPUS_MAX) {
		skip_line(t);
		n++;
	}
	return n;
}

int load_parse_stat(const char *text, size_t len, uint64_t tick_ns, struct load_record *r)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, TIMES };
	struct text t = { text, text + len };
	uint64_t time[TIMES];
	uint32_t cpus;

	if (!take_word(&t, "cpu "))
		return -EPROTO;
	/* The times of all CPUs. user and nice include those of guests. */
	for (int i = 0; i < TIMES; i++) {
		if (!take_number(&t, UINT64_MAX / 8 / tick_ns, &time[i]))
			return -EPROTO;
		time[i] *= tick_ns;
	}
	skip_line(&t);
	cpus = count_cpus(&t);
	if (!cpus || cpus > LOAD_CPUS_MAX)
		return -EPROTO;
	r->cpus = cpus;
	r->busy_ns = time[USER] + time[NICE] + time[SYSTEM];
	r->irq_ns = time[IRQ];
	r->softirq_ns = time[SOFTIRQ];
	r->iowait_ns = time[IOWAIT];
	r->steal_ns = time[STEAL];
	r->flags |= LOAD_IDLE_REPAIRED;
	return 0;
}

/* "0.42": in 1/1000. */
static bool take_average(struct text *t, uint32_t *v)
{
	uint64_t whole, part;
	const char *point;

	if (!take_number(t, 1000000, &whole) || !take_word(t, "."))
		return false;
	point = t->at;
	if (!take_number(t, 99, &part) || t->at - point != 2)
		return false;
	*v = (uint32_t)(whole * 1000 + part * 10);
	return true;
}

int load_parse_loadavg(const char *text, size_t len, struct load_record *r)
{
	struct text t = { text, text + len };
	uint64_t running;

	for (int i = 0; i < 3; i++)
		if (!take_average(&t, &r->load_avg[i]))
			return -EPROTO;
	if (!take_number(&t, UINT32_MAX, &running) || !take_word(&t, "/"))
		return -EPROTO;
	r->running = (uint32_t)running;
	return 0;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": us. */
int load_parse_pressure(const char *text, size_t len, struct load_record *r)
{
	struct text t = { text, text + len };
	const char *total;
	uint64_t us;

	if (!take_word(&t, "some "))
		return -EPROTO;
	total = memmem(t.at, (size_t)(t.end - t.at), " total=", 7);
	if (!total)
		return -EPROTO;
	t.at = total + 7;
	if (!take_number(&t, UINT64_MAX / 1000, &us))
		return -EPROTO;
	r->wait_ns = us * 1000;
	return 0;
}
