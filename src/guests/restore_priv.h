/* SPDX-License-Identifier: GPL-2.0-or-later */
/* restore_priv: what restore.c and restore_file.c share. For callers: restore.h. */
#ifndef RESEX_GUESTS_RESTORE_PRIV_H
#define RESEX_GUESTS_RESTORE_PRIV_H

#include "src/guests/restore.h"

/* All entries become those of domains that are gone; their ids mean nothing any more. */
void restore_other_boot(struct restore *r);
/* Forget the guests whose time is over. */
void restore_expire(struct restore *r);
/* Forget the n oldest. */
void restore_drop_gone(struct restore *r, uint32_t n);

#endif
