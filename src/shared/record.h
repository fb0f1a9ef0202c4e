/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: a record whose checksum shows whether it was read whole (region_abi.h).
 *
 * One CPU writes it in place. Others read it by RDMA READ at any time; the order in which
 * its bytes are read is not defined. There is no lock: the checksum over sequence and
 * payload decides. A mixture of several versions passes with a probability of 1 in 2^32.
 */
#ifndef RESEX_SHARED_RECORD_H
#define RESEX_SHARED_RECORD_H

#include <stdbool.h>

#include "resex/region_abi.h"

/*
 * Write the record *from, size bytes with its head, to *to in the table. The caller is the
 * only writer. Both addresses and size are multiples of 8; size is at least 24. This fills
 * in the head of *from: afterwards *from equals *to.
 */
void record_write(void *to, struct region_record *from, enum region_kind kind, uint32_t size);

/*
 * Is copy, which must not change any more, a whole record of this kind, of size bytes with
 * its head? 0; -EAGAIN: torn, read it again; -ENOMSG: it was never written; -EPROTO: it is
 * of another kind or size.
 */
int record_check(const void *copy, enum region_kind kind, uint32_t size);

/*
 * Does copy begin with this head, of a record that was read whole before? Then its content was the
 * same when the head was read: another seq or content has another crc. The rest of copy need not be
 * looked at, and may be torn: the writer may have begun after that. false if head->seq is 0.
 */
bool record_unchanged(const void *copy, const struct region_record *head);

/* The right crc of this record, whatever crc it has. size as above. */
uint32_t record_crc(const void *record, uint32_t size);

#endif
