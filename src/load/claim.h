/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * claim: what a guest says that it carries, on its agent's load page (resex/guest_abi.h). Pure.
 *
 *	load page -> copy (ibmon/scan.h) -> load_claim_take() -> load/agree.h -> the part "load"
 *
 * Hostile input: only the copy is looked at, and a value is used only within its range.
 */
#ifndef RESEX_LOAD_CLAIM_H
#define RESEX_LOAD_CLAIM_H

#include <stdbool.h>

#include "resex/guest_abi.h"
#include "src/core/units.h"

/* Higher times are refused: sums and differences of those below do not overflow. */
#define LOAD_CLAIM_TIME_MAX (1ull << 60)

/* Of one guest. Zeros: nothing was taken yet. */
struct load_claim {
	/*
	 * The newest that was accepted; beat 0: none. The guest says what is in it, but for head
	 * and node, which are 0, and sampled_ns: that is the time of the copy.
	 */
	struct load_record record;
	int64_t late_ns;    /* it was sampled so long before the copy, at most; -1: unknown */
	struct mono looked; /* the newest copy; 0: none */
	struct region_record head;
	int64_t guest_ns; /* sampled_ns as the guest has it */
};

/*
 * Take a copy of the page, made at now, of a guest that has so many VCPUs. 1: c->record is new;
 * 0: it is the same as before; -EAGAIN: the writer was half-way, c->record stays; -ENOMSG: nothing
 * was written yet. What an honest agent never does: -EPROTO: this is not a load page of this form;
 * -ERANGE: a value is out of its range; -ESTALE: a time, or the guest's clock, went back.
 * After each of the last four, c->record is none.
 */
int load_claim_take(struct load_claim *c, const struct guest_load_page *copy, uint32_t vcpus,
		    struct mono now);
/* There is no page any more. */
void load_claim_forget(struct load_claim *c);

/* What an error of load_claim_take() means: "..., of its agent's load page". */
const char *load_claim_text(int rc);

#endif
