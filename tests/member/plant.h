/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plant: included before all else of watch-planted: its protocols go on without quorum. */
#define SHARED_BROKEN(rule) (BROKEN_##rule == BROKEN_MINORITY_DECIDES)
