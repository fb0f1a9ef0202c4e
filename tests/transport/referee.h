/* SPDX-License-Identifier: GPL-2.0-or-later */
/* referee: checks every event against the rules of the header for all events. */
#ifndef RESEX_TESTS_TRANSPORT_REFEREE_H
#define RESEX_TESTS_TRANSPORT_REFEREE_H

#include "tests/transport/rig.h"

/* This was taken by post, on this link. */
void referee_posted(struct referee *r, const struct transport_op *op, uint32_t link);
/* false: against the contract, and r->error says how. */
bool referee_event(struct referee *r, const struct transport_event *ev);
/* Once all events were taken: the host's own counts. false as above. */
bool referee_audit(struct referee *r, const struct transport_stats *s);

#endif
