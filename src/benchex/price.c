// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * price: option prices, the computation of an exchange for each request (paper IV).
 *
 * The closed form of Black and Scholes (1973) for European options without dividend,
 * with N the cumulative normal distribution:
 *
 *	call = S N(d1) - K e^(-rT) N(d2)	d1 = (ln(S/K) + rT) / (v sqrt T) + v sqrt T / 2
 *	put  = K e^(-rT) N(-d2) - S N(-d1)	d2 = d1 - v sqrt T
 *
 * The prices are finite as long as S and K e^(-rT) are. Where v sqrt T vanishes, the
 * price is that of an option without risk.
 */
#include <math.h>

#include "src/benchex/benchex.h"
#include "src/core/random.h"

struct parts {
	double strike_now; /* K e^(-rT) */
	double d1, d2;
};

/*
 * N(x), exact to the last digits in both tails. 1 - erf(x) would lose all digits where N(x)
 * is small.
 */
static double normal_cdf(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

static struct parts parts_of(const struct bx_terms *t)
{
	double spread = t->volatility * sqrt(t->years);
	double over = (log(t->spot / t->strike) + t->rate * t->years) / spread;
	struct parts p = { .strike_now = t->strike * exp(-t->rate * t->years) };

	p.d1 = over + spread / 2;
	p.d2 = over - spread / 2;
	return p;
}

/* Rounding may give a price just below 0, and 0 / 0 (at the money, no risk) gives NaN. */
static double at_least_0(double price)
{
	return price > 0 ? price : 0;
}

double bx_price_call(const struct bx_terms *t)
{
	struct parts p = parts_of(t);
	double price = t->spot * normal_cdf(p.d1) - p.strike_now * normal_cdf(p.d2);

	return at_least_0(price);
}

double bx_price_put(const struct bx_terms *t)
{
	struct parts p = parts_of(t);
	double price = p.strike_now * normal_cdf(-p.d2) - t->spot * normal_cdf(-p.d1);

	return at_least_0(price);
}

/* A random number, 0 <= x < 1. */
static double random_fraction(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* The terms are random: no price can be kept from an earlier request. */
double bx_price_many(uint64_t seed, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct bx_terms t;

		t.spot = 20 + 180 * random_fraction(&seed);
		t.strike = t.spot * (0.5 + random_fraction(&seed));
		t.rate = 0.1 * random_fraction(&seed);
		t.volatility = 0.05 + 0.55 * random_fraction(&seed);
		t.years = 0.02 + 2 * random_fraction(&seed);
		sum += bx_price_call(&t) + bx_price_put(&t);
	}
	return sum;
}
