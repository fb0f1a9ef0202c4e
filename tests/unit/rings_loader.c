// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rings_loader: a program that is not linked with libibverbs, but loads an object that is
 * (rings_plugin), for itself alone, and unloads it. Run by test_rings.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/fakeverbs/fakeverbs.h"
#include "tests/unit/rings_app.h"

union found {
	void *object;
	struct ibv_qp *(*open)(struct app *a);
	bool (*close)(const struct app *a, struct ibv_qp *qp);
};

static int use(void)
{
	void *plugin = dlopen("tests/unit/rings_plugin.so", RTLD_NOW | RTLD_LOCAL);
	union found begin, end;
	struct ibv_qp *qp;
	struct app a;

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	begin.object = dlsym(plugin, "plugin_open");
	end.object = dlsym(plugin, "plugin_close");
	qp = begin.open(&a);
	if (!qp)
		return 2;
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF || !end.close(&a, qp))
		return 3;
	return dlclose(plugin) ? 4 : 0;
}

int main(void)
{
	static const struct fakeverbs_conf conf = { .provider = "mlx5", .cqe_version = 1 };
	int rc;

	if (fakeverbs_begin(&conf))
		return 5;
	rc = use();
	if (!rc)
		rc = use(); /* again, after it was unloaded */
	fakeverbs_end();
	return rc;
}
