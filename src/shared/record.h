/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: a record that says itself whether it was read whole (region_abi.h).
 *
 * One CPU writes it in place, others read it by RDMA READ at any moment and in
 * any order of its bytes. No lock, no order of theirs: the checksum over sequence
 * and payload tells. Of mixtures of several versions one in 2^32 passes.
 */
#ifndef RESEX_SHARED_RECORD_H
#define RESEX_SHARED_RECORD_H

#include "resex/region_abi.h"

/*
 * Write the record *from, size bytes with its head, to the table at *to, of
 * which this is the only writer. Both are multiples of 8, as size is (from 24 on). The
 * head of *from is filled in here: *from ends as what *to then is.
 */
void record_write(void *to, struct region_record *from, enum region_kind kind, uint32_t size);

/*
 * Is a copy that nobody writes any more a whole record of this kind, and size
 * bytes with its head? 0; -EAGAIN: torn, read it again; -ENOMSG: it was never
 * written; -EPROTO: it is another kind, or another size.
 */
int record_check(const void *copy, enum region_kind kind, uint32_t size);

/* What its crc should be, whatever it is; size as above. */
uint32_t record_crc(const void *record, uint32_t size);

#endif
