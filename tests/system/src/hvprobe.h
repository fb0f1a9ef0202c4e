/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvprobe: what its files share. */
#ifndef RESEX_TESTS_HVPROBE_H
#define RESEX_TESTS_HVPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/hv/hv.h"

#define PROBE_FRAMES_MAX 64

struct probe {
	const struct hv_backend *hv;
	unsigned int checks, failed;
	uint32_t domid;
	size_t frames;
	uint64_t frame[PROBE_FRAMES_MAX];
};

/* One line, PASS or FAIL; returns ok. */
bool probe_check(struct probe *p, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* As probe_check of got == want, with both shown when they differ. */
bool probe_equal(struct probe *p, long long got, long long want, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Microseconds a call since start, as a line of its own. */
void probe_cost(const char *what, int64_t start_ns, unsigned int calls);
int64_t probe_now(void);
void probe_sleep_ms(unsigned int ms);
/* Runs a command of the test script; its failure is a failed check. */
void probe_run(struct probe *p, const char *command);
/* The listed domain, or false. */
bool probe_find(struct probe *p, struct hv_sched *s, uint32_t domid, struct hv_dom *d);

struct hv_mem *probe_open_mem(struct probe *p);
struct hv_sched *probe_open_sched(struct probe *p);
struct hv_watch *probe_open_watch(struct probe *p);

/* Each proves one part; argv is what follows DOMID. */
void probe_list(struct probe *p, char **argv);
void probe_caps(struct probe *p, char **argv);
void probe_race(struct probe *p, char **argv);
void probe_nocaps(struct probe *p, char **argv);
void probe_pools(struct probe *p, char **argv);
void probe_map(struct probe *p, char **argv);
void probe_frames(struct probe *p, char **argv);
void probe_hostile(struct probe *p, char **argv);
void probe_many(struct probe *p, char **argv);
void probe_grant(struct probe *p, char **argv);
void probe_balloon(struct probe *p, char **argv);
void probe_zombie(struct probe *p, char **argv);
void probe_watch(struct probe *p, char **argv);
void probe_events(struct probe *p, char **argv);

#endif
