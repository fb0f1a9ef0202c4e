// SPDX-License-Identifier: GPL-2.0-or-later
/* scenario_find: looks a guest up by its name. See scenario.h. */
#include <string.h>

#include "src/lab/scenario.h"

int scenario_find(const struct scenario *sc, const char *name)
{
	for (uint32_t i = 0; i < sc->sim.guests; i++)
		if (!strcmp(sc->sim.guest[i].name, name))
			return (int)i;
	return -1;
}
