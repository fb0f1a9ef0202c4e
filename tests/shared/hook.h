/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook: included before each file of src/shared in tests that break one rule at a
 * time (broken.h). Which is broken is chosen while the test runs.
 */
#ifndef RESEX_TESTS_HOOK_H
#define RESEX_TESTS_HOOK_H

#define SHARED_BROKEN(rule) (shared_broken == BROKEN_##rule)

#include "src/reconf/broken.h"

extern enum shared_rule shared_broken;

#endif
