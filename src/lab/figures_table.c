// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_table: the figures of the paper (Ranadive, Gavrilovska, Schwan: ResourceExchange) as
 * tables: the cells of each, what the paper's text says of it, what was chosen to fit, and what
 * follows. figures_beside.c has the numbers. Pure.
 */
#include <string.h>

#include "src/lab/figures.h"

enum {
	MOST_KIB = 2048,
	OWN_KIB = 64,
	BY_CHANCE = 500, /* permille, as in etc/scenarios/neighbours.json */
	SOME_CHANCE = 100,
	SLOW_RATE = 10, /* messages in an epoch of 1 s: VII-C */
	RESOS_MS = 3000,
	RESOS_STEP_MS = 10,
};

static void pair(struct figures_cell *c, uint32_t policy, uint32_t kib, uint32_t depth)
{
	c->policy = policy;
	c->neighbour = FIGURES_BENCHEX;
	c->kib = kib;
	c->depth = depth;
}

static void depth_name(const char *what, uint32_t i, char name[FIGURES_NAME_MAX])
{
	snprintf(name, FIGURES_NAME_MAX, "%s, depth %u", what, figures_depths[i]);
}

static void size_name(uint32_t i, char name[FIGURES_NAME_MAX])
{
	if (figures_sizes[i] < 1024)
		snprintf(name, FIGURES_NAME_MAX, "%u KiB", figures_sizes[i]);
	else
		snprintf(name, FIGURES_NAME_MAX, "%u MiB", figures_sizes[i] / 1024);
}

/* --- 1 --- */

/* The paper does not say how large the messages of figure 1's load are: so two more sizes. */
enum { SERIES1 = 1 + FIGURES_DEPTHS + 2 };

static void cell1(uint32_t s, uint32_t p, struct figures_cell *c)
{
	(void)p;
	if (s > FIGURES_DEPTHS)
		pair(c, FIGURES_NULL, figures_sizes[s - FIGURES_DEPTHS], 1);
	else if (s)
		pair(c, FIGURES_NULL, MOST_KIB, figures_depths[s - 1]);
}

static void series1(uint32_t s, char name[FIGURES_NAME_MAX])
{
	if (s > FIGURES_DEPTHS)
		snprintf(name, FIGURES_NAME_MAX, "by %u KiB, depth 1",
			 figures_sizes[s - FIGURES_DEPTHS]);
	else if (s)
		depth_name("by 2 MiB", s - 1, name);
	else
		snprintf(name, FIGURES_NAME_MAX, "normal");
}

/* --- 2: points are 1 to 3 servers alone, then the same beside a neighbour of each depth --- */

enum { SERVERS_MAX = 3 };

static void cell2(uint32_t s, uint32_t p, struct figures_cell *c)
{
	(void)s;
	c->servers = 1 + p % SERVERS_MAX;
	c->variation = SOME_CHANCE;
	if (p >= SERVERS_MAX)
		pair(c, FIGURES_NULL, MOST_KIB, figures_depths[p / SERVERS_MAX - 1]);
}

static void series2(uint32_t s, char name[FIGURES_NAME_MAX])
{
	static const char *const names[FIGURES_PARTS] = { "CTime", "WTime", "PTime" };

	snprintf(name, FIGURES_NAME_MAX, "%s", names[s]);
}

static void point2(uint32_t p, char name[FIGURES_NAME_MAX])
{
	uint32_t servers = 1 + p % SERVERS_MAX;

	if (p < SERVERS_MAX)
		snprintf(name, FIGURES_NAME_MAX, "%u", servers);
	else
		snprintf(name, FIGURES_NAME_MAX, "%u + depth %u", servers,
			 figures_depths[p / SERVERS_MAX - 1]);
}

/* --- 3 --- */

static void by_ratio(uint32_t size, uint32_t depth, struct figures_cell *c)
{
	pair(c, FIGURES_NULL, figures_sizes[size], figures_depths[depth]);
	c->cap = 100 * OWN_KIB / figures_sizes[size];
}

static void cell3(uint32_t s, uint32_t p, struct figures_cell *c)
{
	(void)p;
	by_ratio(s, 0, c);
}

static void cell3_depths(uint32_t s, uint32_t p, struct figures_cell *c)
{
	if (s)
		by_ratio(p, s - 1, c);
}

static void point3(uint32_t p, char name[FIGURES_NAME_MAX])
{
	snprintf(name, FIGURES_NAME_MAX, "%u (%u KiB), cap %u", figures_sizes[p] / OWN_KIB,
		 figures_sizes[p], 100 * OWN_KIB / figures_sizes[p]);
}

static void series_depths(uint32_t s, char name[FIGURES_NAME_MAX])
{
	if (s)
		depth_name("BenchEx", s - 1, name);
	else
		snprintf(name, FIGURES_NAME_MAX, "base");
}

/* --- 4 --- */

static const uint32_t caps[] = { 100, 90, 80, 70, 60, 50, 40, 30, 25, 20, 15, 12, 9, 6, 3, 1 };

enum { CAPS = sizeof(caps) / sizeof(caps[0]), LAST_BENCHEX = FIGURES_DEPTHS };

static void cell4(uint32_t s, uint32_t p, struct figures_cell *c)
{
	if (!s)
		return;
	pair(c, FIGURES_NULL, MOST_KIB, figures_depths[(s - 1) % FIGURES_DEPTHS]);
	if (s > LAST_BENCHEX)
		c->neighbour = FIGURES_SENDER;
	c->cap = caps[p];
}

static void series4(uint32_t s, char name[FIGURES_NAME_MAX])
{
	if (s > LAST_BENCHEX)
		depth_name("sender", s - 1 - LAST_BENCHEX, name);
	else
		series_depths(s, name);
}

static void point4(uint32_t p, char name[FIGURES_NAME_MAX])
{
	snprintf(name, FIGURES_NAME_MAX, "%u", caps[p]);
}

/* --- 5, 7: base, without a policy, then a policy, by depth --- */

static void over_time(uint32_t policy, uint32_t s, struct figures_cell *c)
{
	if (s == 1)
		pair(c, FIGURES_NULL, MOST_KIB, 1);
	else if (s)
		pair(c, policy, MOST_KIB, figures_depths[s - 2]);
}

static void cell5(uint32_t s, uint32_t p, struct figures_cell *c)
{
	(void)p;
	over_time(FIGURES_FREEMARKET, s, c);
}

static void cell7(uint32_t s, uint32_t p, struct figures_cell *c)
{
	(void)p;
	over_time(FIGURES_IOSHARES, s, c);
}

static void series_time(const char *policy, uint32_t s, char name[FIGURES_NAME_MAX])
{
	if (s > 1)
		depth_name(policy, s - 2, name);
	else
		snprintf(name, FIGURES_NAME_MAX, "%s", s ? "interfered, depth 1" : "base");
}

static void series5(uint32_t s, char name[FIGURES_NAME_MAX])
{
	series_time("FreeMarket", s, name);
}

static void series7(uint32_t s, char name[FIGURES_NAME_MAX])
{
	series_time("IOShares", s, name);
}

/* --- 6: the server's balance beside a neighbour of depth 1, then neighbours' --- */

static void cell6(uint32_t s, uint32_t p, struct figures_cell *c)
{
	(void)p;
	pair(c, FIGURES_FREEMARKET, MOST_KIB, figures_depths[s ? s - 1 : 0]);
	c->duration_ms = RESOS_MS;
	c->step_ms = RESOS_STEP_MS;
}

static void series6(uint32_t s, char name[FIGURES_NAME_MAX])
{
	if (s)
		depth_name("2 MiB", s - 1, name);
	else
		snprintf(name, FIGURES_NAME_MAX, "64 KiB");
}

/* --- 8 and 9: series are policies, three for each depth --- */

static void policy_name(uint32_t s, char name[FIGURES_NAME_MAX])
{
	static const char *const names[] = { "no policy", "FreeMarket", "IOShares" };

	depth_name(names[s % FIGURES_POLICIES], s / FIGURES_POLICIES, name);
}

static const char *const points8[] = { "base", "64KB-64KB", "64KB-2MB-nointf", "varying base",
				       "varying 64KB-64KB" };

enum { POINTS8 = sizeof(points8) / sizeof(points8[0]) };

static void cell8(uint32_t s, uint32_t p, struct figures_cell *c)
{
	c->variation = p < 3 ? 0 : BY_CHANCE;
	if (p == 0 || p == 3)
		return;
	pair(c, s % FIGURES_POLICIES, p == 2 ? MOST_KIB : OWN_KIB,
	     figures_depths[s / FIGURES_POLICIES]);
	if (p != 2)
		return;
	c->neighbour = FIGURES_SENDER;
	c->rate = SLOW_RATE;
}

static void point8(uint32_t p, char name[FIGURES_NAME_MAX])
{
	snprintf(name, FIGURES_NAME_MAX, "%s", points8[p]);
}

static void cell9(uint32_t s, uint32_t p, struct figures_cell *c)
{
	if (s)
		pair(c, (s - 1) % FIGURES_POLICIES, figures_sizes[p],
		     figures_depths[(s - 1) / FIGURES_POLICIES]);
}

static void series9(uint32_t s, char name[FIGURES_NAME_MAX])
{
	if (s)
		policy_name(s - 1, name);
	else
		snprintf(name, FIGURES_NAME_MAX, "base");
}

/* --- all --- */

#define US	  "latency, us (simulated)"
#define LINK	  "The link is the paper's 1 GiB/s. "
#define BENCHEX	  "The neighbour is a BenchEx, too, with as many clients as its depth. "
#define COMPUTING "The CPU time of a request, so that the server alone takes 209 us. "
#define BY_DEPTH  "Depth is how many answers or messages of the neighbour are outstanding. "

const struct figures_def figures_defs[] = {
	{ 1, "figure1", "Latencies of a normal and of an interfered server", "us",
	  "requests, % (simulated)", FIGURES_HISTOGRAM, SERIES1, 0, cell1, series1, NULL,
	  "Normal latencies are highly stable at around 209 us; interfered ones are distributed "
	  "across the interval, and some are smaller than the normal ones (II). The text does not "
	  "say how large the messages of the load are.",
	  COMPUTING LINK "Computing varies by 0.5 % at most.",
	  BENCHEX BY_DEPTH
	  "How much slower the server becomes, and the spread: the neighbour's "
	  "answers leave gaps while it computes. The smaller they are, the more "
	  "requests wait for a part of one. With a depth of 2 or more there are no "
	  "gaps beside 2 MiB, and all requests wait alike." },
	{ 2, "figure2", "Parts of a server's latency by servers, alone and beside a 2 MiB BenchEx",
	  "servers, and the neighbour's depth", US, FIGURES_PARTS_BARS, FIGURES_PARTS,
	  SERVERS_MAX *(1 + FIGURES_DEPTHS), cell2, series2, point2,
	  "CTime remains fairly constant; WTime and PTime start increasing with load; between "
	  "servers alone the effects are much less noticeable (II).",
	  COMPUTING LINK "Computing varies by 10 %, so that equal servers meet by chance.",
	  "WTime. PTime does not grow in this model: one client waits for each answer, so no "
	  "request waits in the server's queue, and polling a completion costs no more when the "
	  "link is busy." },
	{ 3, "figure3", "Latencies beside neighbours with a cap of 100 / ratio, depth 1", "us",
	  "requests, % (simulated)", FIGURES_HISTOGRAM, FIGURES_SIZES, 0, cell3, point3, NULL,
	  "Latencies do not change between all the instances (V-B).", COMPUTING LINK,
	  BENCHEX "All else. A cap lets a neighbour send as before for a part of the time, so the "
		  "mean returns to base, and some requests still wait." },
	{ 3, "figure3-depths", "Mean latency beside neighbours with a cap of 100 / ratio",
	  "ratio, size and cap of the neighbour", US, FIGURES_BARS, 1 + FIGURES_DEPTHS,
	  FIGURES_SIZES, cell3_depths, series_depths, point3, NULL, NULL, NULL },
	{ 4, "figure4", "Mean latency as the cap of a 2 MiB neighbour is decreased",
	  "cap of the neighbour, %", US, FIGURES_LINES, 1 + 2 * FIGURES_DEPTHS, CAPS, cell4,
	  series4, point4,
	  "As the cap is changed steadily, latencies decrease; at the ratio's cap they are equal "
	  "to the base (V-B).",
	  COMPUTING LINK,
	  "All else. " BY_DEPTH "A sender computes nothing and only posts messages. What it posted "
	  "before it was parked is still sent: with a depth of 16 a cap does not slow "
	  "it." },
	{ 5, "figure5", "Latency over time under FreeMarket", "s", US, FIGURES_TIME,
	  2 + FIGURES_DEPTHS, 0, cell5, series5, NULL,
	  "Latency is lower than in the interfering case (VII-A).", COMPUTING LINK,
	  BENCHEX BY_DEPTH "All else: FreeMarket has the paper's parameters." },
	{ 6, "figure6", "Resos of both guests under FreeMarket", "s", "Resos (simulated)",
	  FIGURES_RESOS, 1 + FIGURES_DEPTHS, 0, cell6, series6, NULL,
	  "Resos are deducted until a minimum of 10 % is reached, then the cap is reduced; the 2 "
	  "MB "
	  "VM sees this (VII-A). 100,000 Resos are for a CPU, 1,048,576 are shared for the link "
	  "(VI-A).",
	  LINK, BENCHEX BY_DEPTH "All else." },
	{ 7, "figure7", "Latency over time under IOShares", "s", US, FIGURES_TIME,
	  2 + FIGURES_DEPTHS, 0, cell7, series7, NULL,
	  "Near base case latencies; 10 us of them are for reporting (VII-B).", COMPUTING LINK,
	  BENCHEX BY_DEPTH "All else. The 10 us for reporting are not simulated." },
	{ 8, "figure8", "Mean latency beside neighbours that do not interfere, depth 1",
	  "neighbour", US, FIGURES_BARS, FIGURES_POLICIES, POINTS8, cell8, policy_name, point8,
	  "Almost equal to the base values; no guest is penalized (VII-C).",
	  COMPUTING LINK "In the two cases on the right computing varies by 50 %.",
	  "All else. Servers that vary meet by chance: both are slower, and neither is capped. A "
	  "64 KB neighbour of a depth of 2 or more sends more than the server, and IOShares caps "
	  "it." },
	{ 8, "figure8-depths", "Mean latency beside neighbours that do not interfere", "neighbour",
	  US, FIGURES_BARS, FIGURES_POLICIES *FIGURES_DEPTHS, POINTS8, cell8, policy_name, point8,
	  NULL, NULL, NULL },
	{ 9, "figure9", "Mean latency by the neighbour's size, depth 1", "size of the neighbour",
	  US, FIGURES_BARS, 1 + FIGURES_POLICIES, FIGURES_SIZES, cell9, series9, size_name,
	  "IOShares maintains the average latency very close to the base value; FreeMarket does "
	  "not "
	  "limit the latency (VII-D).",
	  COMPUTING LINK, BENCHEX "All else: both policies have their defaults." },
	{ 9, "figure9-depths", "Mean latency by the neighbour's size", "size of the neighbour", US,
	  FIGURES_BARS, 1 + FIGURES_POLICIES *FIGURES_DEPTHS, FIGURES_SIZES, cell9, series9,
	  size_name, NULL, NULL, NULL },
};

const uint32_t figures_defs_n = sizeof(figures_defs) / sizeof(figures_defs[0]);

void figures_cell_of(const struct figures_def *d, uint32_t s, uint32_t p, uint32_t duration_ms,
		     struct figures_cell *c)
{
	uint32_t step = duration_ms / FIGURES_STEPS + 1;

	memset(c, 0, sizeof(*c));
	c->servers = 1;
	c->duration_ms = duration_ms;
	/* Steps of whole 10 ms, which is the shortest of a series. */
	c->step_ms = (step + 9) / 10 * 10;
	d->cell(s, p, c);
}
