/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconf_forecast: how good predictions of loads are, on SIMULATED clusters (reconf.h) that are
 * drawn: sites, nodes, their CPUs, and clients that stay as they are. Each cluster is run twice
 * with the same requests: in mode observe, which predicts what its first move would bring, and in
 * mode act, which makes it. Nothing else is moved.
 */
#ifndef RESEX_LAB_RECONF_FORECAST_H
#define RESEX_LAB_RECONF_FORECAST_H

#include "src/lab/reconf.h"

/* Of one cluster. In 1/1000: loads; errors: of the load that was seen after the move. */
struct reconf_forecast {
	struct reconf_foreseen observe, act;
	uint32_t taker_error, donor_error;
};

/*
 * Draw clusters until in so many as most both modes decided the same move, *n of *drawn; or until
 * twice as many were drawn. Their seeds are those from p->web.seed on. As reconf_run().
 */
int reconf_forecasts(const struct reconf_plan *p, uint32_t most, struct reconf_forecast *f,
		     uint32_t *n, uint32_t *drawn);

enum { RECONF_NEAR = 200 }; /* an error that is not large */

/* All in 1/1000. above: of the forecasts that are not near, those that predicted too much. */
struct reconf_errors {
	uint32_t near, half, nine_tenths, most;
	uint32_t above;
};

struct reconf_forecasts {
	uint32_t n, drawn;
	struct reconf_errors taker, donor;
};

/* The distribution of at most so many errors; zeros: there were none. As reconf_forecasts(). */
int reconf_forecast_all(const struct reconf_plan *p, uint32_t most, struct reconf_forecasts *all);

#endif
