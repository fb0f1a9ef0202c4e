// SPDX-License-Identifier: GPL-2.0-or-later
/* totals: add up what was counted on several rings. See ring.h. */
#include "ibmon/ring/ring.h"

void ring_totals_add(struct ring_totals *to, const struct ring_totals *t)
{
	to->wrs += t->wrs;
	to->seen += t->seen;
	to->lost += t->lost;
	to->errors += t->errors;
	to->mtus_sent += t->mtus_sent;
	to->mtus_recv += t->mtus_recv;
	to->bytes_sent += t->bytes_sent;
	to->bytes_recv += t->bytes_recv;
	to->bytes_bound += t->bytes_bound;
	to->completions += t->completions;
	for (int i = 0; i < OP_KINDS; i++)
		to->ops[i] += t->ops[i];
	to->flags |= t->flags;
}
