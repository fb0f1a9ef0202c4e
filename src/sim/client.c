// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: clients of a server: when their requests come.
/*
 * Clients are on other hosts: a request comes whether the server's guest runs or not. It is
 * small and comes in at no cost.
 *
 * Closed loop: each client thinks, from the moment its reply has left, then sends its next
 * request. Open loop: requests come by themselves, with exponential gaps, and do not wait for
 * replies; those that find SIM_REQUESTS_MAX waiting are dropped. In a quiet spell none comes.
 */
#include "src/sim/model.h"

static struct sim_timers *timers(const struct sim_task *t)
{
	return &t->dom->host->timers;
}

/* A closed loop never overflows: each client has at most one request here. */
static void queue_request(struct sim_task *t, int64_t now)
{
	struct sim_server *s = &t->server;

	if (s->waiting == SIM_REQUESTS_MAX) {
		t->truth->dropped++;
		return;
	}
	s->arrived[(s->first + s->waiting++) % SIM_REQUESTS_MAX] = now;
}

/* --- closed loop --- */

static void arm_earliest(struct sim_task *t)
{
	const struct sim_server *s = &t->server;
	int64_t at = s->thinking ? s->come[0] : 0;

	for (uint32_t i = 1; i < s->thinking; i++)
		at = s->come[i] < at ? s->come[i] : at;
	if (s->thinking)
		sim_timer_arm(timers(t), &t->come, at);
}

void sim_client_think(struct sim_task *t, int64_t now)
{
	struct sim_server *s = &t->server;
	int64_t at = now;

	if (t->conf->rate)
		return;
	if (t->conf->think_ns)
		at += sim_draw(&t->dom->rand, &t->conf->think_vary, t->conf->think_ns);
	at = t->start + sim_next_busy(t->conf, at - t->start);
	if (at <= now) {
		queue_request(t, now);
		return;
	}
	s->come[s->thinking++] = at;
	arm_earliest(t);
}

static void end_thinking(struct sim_task *t, int64_t now)
{
	struct sim_server *s = &t->server;
	uint32_t left = 0;

	for (uint32_t i = 0; i < s->thinking; i++)
		if (s->come[i] <= now)
			queue_request(t, s->come[i]);
		else
			s->come[left++] = s->come[i];
	s->thinking = left;
	arm_earliest(t);
}

/* --- open loop --- */

static void arm_arrival(struct sim_task *t)
{
	static const struct sim_vary exponential = { SIM_VARY_PHASES, 1000 };
	struct sim_server *s = &t->server;

	/* On the clock of busy time: gaps span quiet spells. */
	s->busy += sim_draw(&t->dom->rand, &exponential, NS_PER_S / (int64_t)t->conf->rate);
	sim_timer_arm(timers(t), &t->come, t->start + sim_time_of_busy(t->conf, s->busy));
}

/* --- both --- */

void sim_client_begin(struct sim_task *t, int64_t now)
{
	if (t->conf->rate)
		arm_arrival(t);
	else
		for (uint32_t i = 0; i < t->conf->clients; i++)
			sim_client_think(t, now);
}

void sim_client_come(struct sim_task *t, int64_t now)
{
	if (!t->conf->rate) {
		end_thinking(t, now);
		return;
	}
	queue_request(t, now);
	arm_arrival(t);
}

/* Requests that wait are lost with their process, as are those of its clients. */
void sim_client_end(struct sim_task *t)
{
	sim_timer_disarm(timers(t), &t->come);
	t->server.thinking = 0;
}
