// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_beside: our numbers beside those that the paper's text states, with the section that
 * does. figures_cmd.c calls it. Cells are those of figures_table.c. Pure.
 */
#include <math.h>

#include "src/lab/figures.h"

struct beside {
	const struct figures_runs *r;
	uint32_t figure, duration_ms;
	figures_row_fn row;
	void *arg;
	int rc;
};

/* skip: so many definitions of this figure are left out. */
static const struct figures_result *at(const struct beside *b, uint32_t skip, uint32_t s,
				       uint32_t p)
{
	const struct figures_def *d = figures_defs;
	struct figures_cell c;

	while (d->figure != b->figure)
		d++;
	figures_cell_of(d + skip, s, p, b->duration_ms, &c);
	return figures_of(b->r, &c);
}

static double over(double mean, double base)
{
	return (mean / base - 1) * 100;
}

static void add(struct beside *b, const char *what, double here, const char *paper,
		const char *where)
{
	if (!b->rc)
		b->rc = b->row(b->arg, b->figure, what, here, paper, where);
}

static void beside1(struct beside *b)
{
	const struct figures_result *normal = at(b, 0, 0, 0), *with = at(b, 0, 1, 0);

	add(b, "normal server, us", normal->mean, "209", "II");
	add(b, "its deviation, us", normal->deviation, "\"highly stable\"", "II");
	add(b, "its deviation beside 2 MiB, depth 1, us", with->deviation,
	    "\"distributed across the interval\"", "II");
	add(b, "its deviation beside 256 KiB, depth 1, us",
	    at(b, 0, FIGURES_DEPTHS + 2, 0)->deviation, "\"distributed across the interval\"",
	    "II");
	add(b, "smallest when interfered, us less than normal", normal->mean - with->least,
	    "\"smaller than Normal\"", "II");
	add(b, "slower when interfered, depth 1, %", over(with->mean, normal->mean), "-", "II");
}

static void beside2(struct beside *b)
{
	const struct figures_result *one = at(b, 0, 0, 0), *three = at(b, 0, 0, 2),
				    *with = at(b, 0, 0, 5);

	add(b, "CTime of 3 servers, neighbour over none, %",
	    over(with->part[FIGURES_CTIME], three->part[FIGURES_CTIME]), "\"fairly constant\"",
	    "II");
	add(b, "WTime of 3 servers, neighbour over none, %",
	    over(with->part[FIGURES_WTIME], three->part[FIGURES_WTIME]), "\"start increasing\"",
	    "II");
	add(b, "PTime of 3 servers, neighbour over none, %",
	    over(with->part[FIGURES_PTIME], three->part[FIGURES_PTIME]), "\"start increasing\"",
	    "II");
	add(b, "3 servers over 1, no neighbour, %", over(three->mean, one->mean),
	    "\"much less noticeable\"", "II");
	add(b, "3 servers and a neighbour over 1 alone, %", over(with->mean, one->mean), "-", "II");
}

static void beside3(struct beside *b)
{
	double base = at(b, 1, 0, 0)->mean, least = HUGE_VAL, most = 0;

	for (uint32_t s = 0; s < FIGURES_SIZES; s++) {
		least = fmin(least, at(b, 0, s, 0)->mean);
		most = fmax(most, at(b, 0, s, 0)->mean);
	}
	add(b, "slowest ratio over the fastest, depth 1, %", over(most, least), "\"do not change\"",
	    "V-B");
	add(b, "slowest ratio over base, depth 1, %", over(most, base), "-", "V-B");
}

static void beside4(struct beside *b)
{
	enum { CAP_3 = 14, SENDER_16 = 2 * FIGURES_DEPTHS };
	double base = at(b, 0, 0, 0)->mean;

	add(b, "cap 100 over base, depth 1, %", over(at(b, 0, 1, 0)->mean, base), "-", "V-B");
	add(b, "cap 3 over base, depth 1, %", over(at(b, 0, 1, CAP_3)->mean, base),
	    "0: \"equal to the base\"", "V-B");
	add(b, "cap 3 over base, depth 16, %", over(at(b, 0, FIGURES_DEPTHS, CAP_3)->mean, base),
	    "-", "V-B");
	add(b, "cap 3 over base, sender of depth 16, %",
	    over(at(b, 0, SENDER_16, CAP_3)->mean, base), "-", "V-B");
}

static void beside_time(struct beside *b, const char *what, const char *paper, const char *where)
{
	double base = at(b, 0, 0, 0)->mean;

	add(b, "interfered over base, %", over(at(b, 0, 1, 0)->mean, base), "-", where);
	add(b, what, over(at(b, 0, 2, 0)->mean, base), paper, where);
}

static void beside5(struct beside *b)
{
	beside_time(b, "FreeMarket over base, depth 1, %", "\"lower than the interfering case\"",
		    "VII-A");
}

static void beside6(struct beside *b)
{
	const struct figures_result *r = at(b, 0, 1, 0);
	double most = 0, cut = NAN;

	for (uint32_t i = 0; i < r->steps; i++)
		most = fmax(most, r->balance[i]);
	for (uint32_t i = r->steps; i--;)
		if (r->cap[i] < 100)
			cut = r->balance[i];
	add(b, "highest balance of the 2 MiB guest, Resos", most, "100000 + 1048576 / 2", "VI-A");
	add(b, "its balance after the 10 ms of its first cut, % of all", cut / 624288 * 100, "10",
	    "VI-B");
	add(b, "its lowest cap, %", r->lowest, "-", "VI-B");
}

static void beside7(struct beside *b)
{
	double null = at(b, 0, 1, 0)->mean, ios = at(b, 0, 2, 0)->mean;

	beside_time(b, "IOShares over base, depth 1, %", "\"near base case\"", "VII-B");
	add(b, "interference that IOShares takes away, % of base",
	    (null - ios) / at(b, 0, 0, 0)->mean * 100, "as much as 30", "Abstract");
}

static void beside8(struct beside *b)
{
	double base = at(b, 0, 0, 0)->mean, varying = at(b, 0, 0, 3)->mean;
	uint32_t changes = 0;

	for (uint32_t s = 0; s < FIGURES_POLICIES; s++)
		for (uint32_t p = 0; p < 5; p++)
			changes += at(b, 0, s, p)->changes;
	add(b, "64KB-64KB, FreeMarket over base, %", over(at(b, 0, 1, 1)->mean, base),
	    "\"almost equal\"", "VII-C");
	add(b, "64KB-64KB, IOShares over base, %", over(at(b, 0, 2, 1)->mean, base),
	    "\"almost equal\"", "VII-C");
	add(b, "64KB-2MB-nointf, FreeMarket over base, %", over(at(b, 0, 1, 2)->mean, base),
	    "\"almost equal\"", "VII-C");
	add(b, "64KB-2MB-nointf, IOShares over base, %", over(at(b, 0, 2, 2)->mean, base),
	    "\"almost equal\"", "VII-C");
	add(b, "varying 64KB-64KB, IOShares over its base, %", over(at(b, 0, 2, 4)->mean, varying),
	    "-", "VII-C");
	add(b, "caps set in all of them", changes, "0: \"not penalize\"", "VII-C");
}

static void beside9(struct beside *b)
{
	double base = at(b, 0, 0, 0)->mean, ios = 0, least = HUGE_VAL, most = 0;

	/* From 128 KiB on: a neighbour of 64 KiB does not interfere, as in figure 8. */
	for (uint32_t p = 1; p < FIGURES_SIZES; p++) {
		least = fmin(least, at(b, 0, 2, p)->mean);
		most = fmax(most, at(b, 0, 2, p)->mean);
		ios = fmax(ios, at(b, 0, 3, p)->mean);
	}
	add(b, "IOShares over base at worst, %", over(ios, base), "\"very close\"", "VII-D");
	add(b, "FreeMarket over base at best, %", over(least, base), "\"does not limit\"", "VII-D");
	add(b, "FreeMarket over base at worst, %", over(most, base), "\"does not limit\"", "VII-D");
}

int figures_beside(const struct figures_runs *r, uint32_t figure, uint32_t duration_ms,
		   figures_row_fn row, void *arg)
{
	static void (*const of[])(struct beside * b) = { beside1, beside2, beside3,
							 beside4, beside5, beside6,
							 beside7, beside8, beside9 };
	struct beside b = { r, figure, duration_ms, row, arg, 0 };

	of[figure - 1](&b);
	return b.rc;
}
