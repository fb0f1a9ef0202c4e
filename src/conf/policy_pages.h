/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy_pages: the memory of a plug-in's instance: struct policy_apart. Made by policy.c.
 *
 *	guard | params | guard | global | guard | guests | guard | input | guard | plan | guard
 *
 * Each part ends where a guard page begins: one byte beyond it is a fault.
 */
#ifndef RESEX_CONF_POLICY_PAGES_H
#define RESEX_CONF_POLICY_PAGES_H

#include "policies/policies.h"

/* Fill pi->params, global, guests and apart: all zero. 0 or -ENOMEM. */
int policy_pages_new(struct policy_inst *pi);
/* The parameters can be read alone from now on. */
void policy_pages_seal(struct policy_inst *pi);
/* All of it; pi itself stays. */
void policy_pages_free(struct policy_inst *pi);

#endif
