// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: random times with a mean and a coefficient of variation, and idle spells.
/*
 * Uniform: as wide as the coefficient asks for. Phases: sums or choices of exponential times, the
 * usual fit of two moments (Tijms, Stochastic Models, 1994, appendix B):
 *	coefficient below 1	k - 1 or k exponential phases of one mean, an Erlang mixture
 *	1			one exponential time
 *	above 1			one of two exponential times, with balanced means
 * Integers only, so that all compilers draw the same figures.
 */
#include "src/core/stats.h"
#include "src/sim/model.h"

#define ONE  (UINT64_C(1) << 32) /* a fraction of 1 */
#define MILL UINT64_C(1000000)

enum { LOG_BITS = 32 };

/* -ln of a random figure in (0, 1), in parts of ONE: an exponential time of mean 1. */
static uint64_t draw_exponential(struct sim_rand *r)
{
	const uint64_t ln2 = UINT64_C(2977044472); /* in parts of ONE */
	uint64_t x = sim_rand(r) | 1, log2;
	int shift = __builtin_clzll(x);

	/* log2 of x / 2^64, bit by bit: squaring a figure in [1, 2) doubles its logarithm. */
	log2 = (uint64_t)(63 - shift) << LOG_BITS;
	x <<= shift;
	for (int i = LOG_BITS - 1; i >= 0; i--) {
		unsigned __int128 sq = (unsigned __int128)x * x;

		if (sq >> 127) {
			log2 |= UINT64_C(1) << i;
			x = (uint64_t)(sq >> 64);
		} else {
			x = (uint64_t)(sq >> 63);
		}
	}
	return (uint64_t)((unsigned __int128)((UINT64_C(64) << LOG_BITS) - log2) * ln2 >> LOG_BITS);
}

static bool happens(struct sim_rand *r, uint64_t millionths)
{
	return sim_rand_below(r, MILL) < millionths;
}

/* c2: the coefficient's square, below MILL. The mean of a phase is MILL / (k MILL - p). */
static uint64_t draw_erlang(struct sim_rand *r, uint64_t c2)
{
	uint64_t k = (MILL + c2 - 1) / c2, sum = 0, p;

	p = (k * c2 - isqrt64((k * (MILL + c2) - k * k * c2) * MILL)) * MILL / (MILL + c2);
	for (uint64_t i = happens(r, p); i < k; i++)
		sum += draw_exponential(r);
	return (uint64_t)((unsigned __int128)sum * MILL / (k * MILL - p));
}

/* c2: above MILL. A time of mean 1 / (2 p) with probability p, for each of the two. */
static uint64_t draw_hyper(struct sim_rand *r, uint64_t c2)
{
	uint64_t p = (MILL + isqrt64((c2 - MILL) * MILL / (c2 + MILL) * MILL)) / 2;

	if (!happens(r, p))
		p = MILL - p;
	return (uint64_t)((unsigned __int128)draw_exponential(r) * MILL / (2 * p));
}

static uint64_t draw_uniform(struct sim_rand *r, uint64_t permille)
{
	/* The deviation of a uniform figure is its half width over the root of 3. */
	uint64_t half = ONE * permille / 1000 * 1732051 / MILL;

	return ONE - half + sim_rand_below(r, 2 * half + 1);
}

int64_t sim_draw(struct sim_rand *r, const struct sim_vary *v, int64_t mean)
{
	uint64_t c2 = (uint64_t)v->permille * v->permille, x = ONE;

	if (!v->permille)
		return mean;
	if (v->how == SIM_VARY_UNIFORM)
		x = draw_uniform(r, v->permille);
	else if (c2 == MILL)
		x = draw_exponential(r);
	else
		x = c2 < MILL ? draw_erlang(r, c2) : draw_hyper(r, c2);
	return (int64_t)((unsigned __int128)(uint64_t)mean * x >> 32);
}

/* --- spells ----------------------------------------------------------------------- */

int64_t sim_busy_time(const struct sim_app *a, int64_t since)
{
	int64_t cycle = a->busy_ns + a->quiet_ns, rest;

	if (!a->quiet_ns)
		return since;
	rest = since % cycle;
	return since / cycle * a->busy_ns + (rest < a->busy_ns ? rest : a->busy_ns);
}

int64_t sim_time_of_busy(const struct sim_app *a, int64_t busy)
{
	return a->quiet_ns ? busy + busy / a->busy_ns * a->quiet_ns : busy;
}

int64_t sim_next_busy(const struct sim_app *a, int64_t since)
{
	int64_t cycle = a->busy_ns + a->quiet_ns;

	if (!a->quiet_ns || since % cycle < a->busy_ns)
		return since;
	return (since / cycle + 1) * cycle;
}
