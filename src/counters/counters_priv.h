/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counters_priv: the sources themselves, and what they share. For callers: counters.h. */
#ifndef RESEX_COUNTERS_PRIV_H
#define RESEX_COUNTERS_PRIV_H

#include "src/counters/counters.h"

extern const struct counter_ops counter_vif, counter_vf, counter_port, counter_sim;

/* What a file below c->sys holds: one number, in decimal. 0, -EBADMSG, -errno. */
int counter_file(const struct counters *c, uint64_t *out, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * What the answer to RTM_GETLINK says of one virtual function: a whole message
 * of len bytes. 0; -ENOENT: it is not there; -EOPNOTSUPP: it has no counters;
 * -EBADMSG; or the error that the answer is.
 */
int counter_vf_parse(const uint8_t *msg, size_t len, uint32_t number, struct counter_value *v);

/* For tests: another answer in place of the one that is kept of this round. */
void counter_vf_keep(struct counters *c, const uint8_t *msg, size_t len);

#endif
