// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * price: what an exchange computes for a request (paper IV): option prices.
 *
 * The closed form of Black and Scholes (1973) for European options on what
 * pays no dividend, with N the cumulative normal distribution:
 *
 *	call = S N(d1) - K e^(-rT) N(d2)	d1 = (ln(S/K) + rT) / (v sqrt T) + v sqrt T / 2
 *	put  = K e^(-rT) N(-d2) - S N(-d1)	d2 = d1 - v sqrt T
 *
 * As long as S and K e^(-rT) are finite, so are the prices: where v sqrt T
 * vanishes, the option is worth what it would be without any chance.
 */
#include <math.h>

#include "src/benchex/benchex.h"
#include "src/core/random.h"

struct parts {
	double strike_now; /* K e^(-rT) */
	double d1, d2;
};

/* N(x); exact to the last digits for both tails. */
static double normal(double x)
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

/* A last digit may be below 0; at the money and without any chance, 0 / 0 is no number. */
static double worth(double price)
{
	return price > 0 ? price : 0;
}

double bx_price_call(const struct bx_terms *t)
{
	struct parts p = parts_of(t);
	double price = t->spot * normal(p.d1) - p.strike_now * normal(p.d2);

	return worth(price);
}

double bx_price_put(const struct bx_terms *t)
{
	struct parts p = parts_of(t);
	double price = p.strike_now * normal(-p.d2) - t->spot * normal(-p.d1);

	return worth(price);
}

/* A number within 0 .. 1. */
static double chance(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

double bx_price_many(uint64_t seed, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct bx_terms t;

		t.spot = 20 + 180 * chance(&seed);
		t.strike = t.spot * (0.5 + chance(&seed));
		t.rate = 0.1 * chance(&seed);
		t.volatility = 0.05 + 0.55 * chance(&seed);
		t.years = 0.02 + 2 * chance(&seed);
		sum += bx_price_call(&t) + bx_price_put(&t);
	}
	return sum;
}
