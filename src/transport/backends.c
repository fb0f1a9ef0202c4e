// SPDX-License-Identifier: GPL-2.0-or-later
/* backends: the table of those that are built in. */
#include "config.h"

#include <string.h>

#include "src/transport/backend.h"

const struct transport_backend *const transport_backends[] = {
	&transport_shm,
#ifdef HAVE_VERBS
	&transport_verbs,
#endif
	&transport_tcp,
	NULL,
};

const struct transport_backend *transport_find(const char *name)
{
	for (size_t i = 0; transport_backends[i]; i++)
		if (!strcmp(transport_backends[i]->name, name))
			return transport_backends[i];
	return NULL;
}
