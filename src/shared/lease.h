/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease: what every host must know about the locks of services, also a host that acquires
 * none: how long to wait for an unchanged word, and the word of a lock that was broken by
 * force. The protocol itself is in src/reconf/lock.h.
 */
#ifndef RESEX_SHARED_LEASE_H
#define RESEX_SHARED_LEASE_H

#include <stdint.h>

#include "resex/region_abi.h"

/*
 * How long a waiter waits for an unchanged word before it breaks the lock: the
 * holder's hold and the deadline of its last operation, stretched by the drift of
 * both clocks. All in ns; drift in parts per million, below 1,000,000.
 */
int64_t lease_break_ns(int64_t hold_ns, int64_t deadline_ns, uint32_t drift_ppm);

/*
 * The word that an operator's CAS writes over word to take the lock from its holder. The others
 * wait for it for lease_break_ns(), as for each word that is new to them.
 */
uint64_t lease_broken_word(uint64_t word);

#endif
