// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record: the order in which a record is written, and the checks of a reader.
 *
 * The first store makes the crc wrong for the old record, the new record and all mixtures.
 * The last store makes it right for the new record. See record.h.
 */
#include "src/shared/record.h"

#include <errno.h>
#include <isa-l.h>
#include <string.h>

/* The head as it is stored: two words. */
struct head_words {
	uint64_t seq_bytes, kind_crc;
};

static_assert(sizeof(struct head_words) == sizeof(struct region_record), "two words");

/* CRC32C inverts its first and its last value (RFC 3720); the function of isa-l does not. */
static uint32_t crc_add(uint32_t crc, const void *p, uint32_t n)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)p, (int)n, crc);
}

uint32_t record_crc(const void *record, uint32_t size)
{
	struct region_record head;
	uint32_t crc = UINT32_MAX;

	memcpy(&head, record, sizeof(head));
	head.crc = 0;
	crc = crc_add(crc, &head, sizeof(head));
	return ~crc_add(crc, (const uint8_t *)record + sizeof(head), size - (uint32_t)sizeof(head));
}

/*
 * Release: a store becomes visible after those before it. x86 keeps the order of stores anyway, and
 * the device reads coherently; the compiler must keep it, too.
 */
static void store(uint64_t *to, uint64_t v)
{
	__atomic_store_n(to, v, __ATOMIC_RELEASE);
}

static uint64_t kind_crc(const struct region_record *head, uint32_t crc)
{
	struct region_record h = { .kind = head->kind, .crc = crc };
	struct head_words w;

	memcpy(&w, &h, sizeof(w));
	return w.kind_crc;
}

void record_write(void *to, struct region_record *from, enum region_kind kind, uint32_t size)
{
	uint64_t *word = (uint64_t *)to;
	struct region_record old;
	struct head_words new;
	uint32_t wrong;

	memcpy(&old, to, sizeof(old));
	/* Never 0, which says "not written yet". */
	from->seq = old.seq == UINT32_MAX ? 1 : old.seq + 1;
	from->bytes = size - (uint32_t)sizeof(*from);
	from->kind = kind;
	from->crc = record_crc(from, size);

	wrong = ~from->crc;
	/*
	 * Wrong for the old record as well: otherwise a reader could take the old one, half
	 * overwritten, for whole.
	 */
	if (wrong == old.crc)
		wrong ^= 1;
	store(&word[1], kind_crc(from, wrong));
	for (uint32_t i = 2; i < size / 8; i++) {
		uint64_t v;

		memcpy(&v, (const uint8_t *)from + 8 * i, sizeof(v));
		store(&word[i], v);
	}
	memcpy(&new, from, sizeof(new));
	store(&word[0], new.seq_bytes);
	store(&word[1], new.kind_crc);
}

bool record_unchanged(const void *copy, const struct region_record *head)
{
	return head->seq && !memcmp(copy, head, sizeof(*head));
}

int record_check(const void *copy, enum region_kind kind, uint32_t size)
{
	struct region_record head;

	memcpy(&head, copy, sizeof(head));
	if (head.seq == 0)
		return -ENOMSG;
	/* These are 0 while the first version is being written. */
	if ((head.kind && head.kind != kind) ||
	    (head.bytes && head.bytes != size - (uint32_t)sizeof(head)))
		return -EPROTO;
	return head.crc == record_crc(copy, size) ? 0 : -EAGAIN;
}
