// SPDX-License-Identifier: GPL-2.0-or-later
/* actor: wanted caps in mailboxes -> the hypervisor's scheduler. See actor.h. */
#include "src/tick/actor.h"

#include <errno.h>
#include <unistd.h>

/*
 * The domain is the one in the mail: the slot may have another guest since it was written.
 * The time is stored before the answer, because the sampler reads both once it sees the
 * answer's serial.
 */
static void carry_out(struct actor *a, struct mailbox *m)
{
	uint64_t w = atomic_load_explicit(&m->want, memory_order_acquire);
	int rc = a->ops->set_cap(a->hv, mail_domid(w), cap_from_percent(mail_percent(w)));

	atomic_store(&m->answered, a->clock.now(&a->clock).ns);
	atomic_store_explicit(
		&m->answer,
		mail_pack(mail_serial(w), (uint16_t)(rc < 0 ? -rc : 0), mail_percent(w)),
		memory_order_release);
}

void actor_once(struct actor *a)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++) {
		/*
		 * Clear the bits first: mail written while this turn reads is marked again.
		 * At worst the same mail is carried out twice.
		 */
		uint64_t bits = atomic_exchange_explicit(&a->ho->dirty[i], 0, memory_order_acq_rel);

		while (bits) {
			uint32_t b = (uint32_t)__builtin_ctzll(bits);

			bits &= bits - 1;
			carry_out(a, &a->ho->mail[i * 64 + b]);
		}
	}
}

void actor_run(struct actor *a)
{
	while (!atomic_load_explicit(&a->ho->stop, memory_order_acquire)) {
		uint64_t n;

		/* An eventfd adds up: one read ends all wake-ups since the last. */
		if (read(a->ho->actor_fd, &n, sizeof(n)) < 0 && errno != EINTR)
			break;
		actor_once(a);
	}
	/* Mail that was sent between the last turn and stop. */
	actor_once(a);
}
