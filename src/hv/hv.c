// SPDX-License-Identifier: GPL-2.0-or-later
/* hv: the table of backends. The backends are in xen/ and sim.c. See hv.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>

#include "src/hv/hv.h"
#include "src/hv/backends.h"

const struct hv_backend *const hv_backends[] = {
#ifdef HAVE_XEN
	&hv_xen,
#endif
	&hv_sim,
	NULL,
};

/* By the name that an operator gave. Code that needs a property of a backend reads its fields. */
const struct hv_backend *hv_backend_find(const char *name)
{
	for (size_t i = 0; hv_backends[i]; i++)
		if (!strcmp(hv_backends[i]->name, name))
			return hv_backends[i];
	return NULL;
}
