/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_backends: what db.c lists. */
#ifndef RESEX_AUCTION_DB_BACKENDS_H
#define RESEX_AUCTION_DB_BACKENDS_H

#include "src/auction/db.h"

extern const struct db_ops db_pgsql, db_sqlite;

#endif
