/* SPDX-License-Identifier: GPL-2.0-or-later */
/* referee: checks every event against the rules of the header for all events. */
#ifndef RESEX_TESTS_TRANSPORT_REFEREE_H
#define RESEX_TESTS_TRANSPORT_REFEREE_H

#include "tests/transport/rig.h"

/* post accepted this operation, on this link. */
void referee_posted(struct referee *r, const struct transport_op *op, uint32_t link);
/* false: it breaks the contract; r->error has the sentence. */
bool referee_event(struct referee *r, const struct transport_event *ev);
/* When all events were given: compare with the host's own counts. false as above. */
bool referee_audit(struct referee *r, const struct transport_stats *s);

#endif
