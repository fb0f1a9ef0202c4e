// SPDX-License-Identifier: GPL-2.0-or-later
/* policies: the table of the built-in policies. A new policy is a row here. */
#include "policies/policies.h"

#include <string.h>

const struct policy_ops *const policies_builtin[] = {
	&policy_null, &policy_freemarket, &policy_ratio, &policy_ioshares, &policy_slo, NULL,
};

const struct policy_ops *policy_find(const char *name)
{
	for (size_t i = 0; policies_builtin[i]; i++)
		if (!strcmp(policies_builtin[i]->name, name))
			return policies_builtin[i];
	return NULL;
}
