// SPDX-License-Identifier: GPL-2.0-or-later
/* rings_plugin: an object that uses libibverbs, for a program that does not (rings_loader). */
#include "tests/unit/rings_app.h"

struct ibv_qp *plugin_open(struct app *a);
bool plugin_close(const struct app *a, struct ibv_qp *qp);

struct ibv_qp *plugin_open(struct app *a)
{
	return app_open(a) ? app_ready(a, IBV_QPT_RC, IBV_MTU_1024) : NULL;
}

bool plugin_close(const struct app *a, struct ibv_qp *qp)
{
	return !ibv_destroy_qp(qp) && app_close(a);
}
