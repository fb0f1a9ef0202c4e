/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal: STATE/caps.written, the memory in which the actor notes the caps it sets (written.h).
 *
 * The file is allocated whole when it is made: a full disk is an error then, and never SIGBUS.
 * What the actor noted outlives its process, not a crash of the host: after one, no cap that
 * resexd set is in force.
 */
#ifndef RESEX_GUESTS_JOURNAL_H
#define RESEX_GUESTS_JOURNAL_H

#include "src/guests/restore.h"

/*
 * Add what an earlier run noted to the entries of r, which are of boot r->boot. 0; -ENOENT: the
 * file is missing; -EBADMSG: the file is damaged; other -errno. After an error the caps that were
 * set last are not known.
 */
int journal_read(struct restore *r);

/* A new, empty file in place of the former one; *w: a record for each slot. 0 or -errno. */
int journal_open(struct written **w, struct restore *r);
/* Is it still there, as it was made? True, too, if none was. */
bool journal_is_kept(const struct restore *r);
void journal_close(struct written *w);
int journal_remove(const struct restore *r);

/* The guest of a slot, before its first cap is set. */
void journal_begin(struct written *w, const struct saved_cap *c);
/* What was noted for this domain, if the record is its. */
void journal_note(const struct written *w, struct saved_cap *c);
/* This percent is not ours any more: the operator had set it. */
void journal_drop(struct written *w, uint32_t percent);

#endif
