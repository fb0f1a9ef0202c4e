// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * simple: the send queue of soft-RoCE, read in the simplest way. An example of a layout that is
 * built outside of ResEx, against the installed header alone: libibmon(3) explains it.
 *
 *	header: size of a slot, mask; producer, consumer      slots: 256 bytes or more each
 *
 * The layout that is built in also finds entries that were overwritten before they were read. This
 * one reads at most one lap of the ring in a sample, and so has to be sampled often.
 */
#include <errno.h>
#include <resex/ibmon.h>

enum {
	HEADER = 0x180, /* its bytes; offsets in it */
	AT_MASK = 4,
	AT_CONSUMER = 0x100,
	SLOT_MIN = 256, /* bytes of a slot; offsets in it */
	AT_OPCODE = 12,
	AT_STATUS = 144,
	AT_LENGTH = 184,
	MTU_USUAL = 1024,
};

struct state {
	uint32_t consumer; /* slots before this one are counted */
	uint32_t begun;
};

/* By the kernel's opcodes. */
static const uint8_t op_of[] = {
	IBMON_OP_WRITE,	   IBMON_OP_WRITE,     IBMON_OP_SEND,  IBMON_OP_SEND,  IBMON_OP_READ,
	IBMON_OP_CMP_SWAP, IBMON_OP_FETCH_ADD, IBMON_OP_LOCAL, IBMON_OP_LOCAL, IBMON_OP_SEND,
};

static const volatile uint8_t *at(const struct ibmon_mem *m, size_t offset)
{
	return (const volatile uint8_t *)m->ring + offset;
}

static size_t state_size(const struct ibmon_desc *d)
{
	(void)d;
	return sizeof(struct state);
}

static bool header_same(const struct ibmon_desc *d, const struct ibmon_mem *m)
{
	uint32_t log2_size = ibmon_read32(at(m, 0));

	return log2_size < 16 && 1u << log2_size == d->elem_size &&
	       ibmon_read32(at(m, AT_MASK)) == d->entries - 1;
}

static int open_ring(const struct ibmon_desc *d, const struct ibmon_mem *m, void *state)
{
	(void)state;
	if (d->elem_size < SLOT_MIN)
		return -EPROTONOSUPPORT;
	if (HEADER + (uint64_t)d->entries * d->elem_size > m->ring_len || !header_same(d, m))
		return -EBADMSG;
	return 0;
}

static void count(const struct ibmon_desc *d, uint32_t op, uint32_t bytes, struct ibmon_counts *out)
{
	uint32_t mtu = d->path_mtu ? d->path_mtu : MTU_USUAL;
	uint64_t mtus = bytes ? ((uint64_t)bytes + mtu - 1) / mtu : 1;

	if (op == IBMON_OP_READ) {
		out->mtus_recv += mtus;
		out->bytes_recv += bytes;
	} else if (op != IBMON_OP_LOCAL) {
		out->mtus_sent += mtus;
		out->bytes_sent += bytes;
	}
	if (bytes > out->msg_bytes)
		out->msg_bytes = bytes;
}

/* Each word is copied once, and the copies are checked. False: no work request is like this. */
static bool read_slot(const struct ibmon_desc *d, const struct ibmon_mem *m, uint32_t slot,
		      struct ibmon_counts *out)
{
	size_t begin = HEADER + (size_t)(slot & (d->entries - 1)) * d->elem_size;
	uint32_t opcode = ibmon_read32(at(m, begin + AT_OPCODE));
	uint32_t status = ibmon_read32(at(m, begin + AT_STATUS));
	uint32_t bytes = ibmon_read32(at(m, begin + AT_LENGTH));

	ibmon_read_fence();
	if (opcode >= sizeof(op_of) || bytes > 1u << 31)
		return false;
	out->seen++;
	out->ops[op_of[opcode]]++;
	if (status)
		out->errors++;
	else
		count(d, op_of[opcode], bytes, out);
	return true;
}

static int sample(const struct ibmon_desc *d, const struct ibmon_mem *m, void *state,
		  const struct ibmon_told *told, int64_t elapsed_ns, struct ibmon_counts *out,
		  enum ibmon_fault *fault)
{
	uint32_t consumer = ibmon_read32(at(m, AT_CONSUMER)), n;
	struct state *s = state;

	(void)told;
	(void)elapsed_ns;
	ibmon_read_fence();
	*fault = IBMON_FAULT_HEADER;
	if (!header_same(d, m))
		return -EBADMSG;
	*fault = IBMON_FAULT_INDEX;
	if (consumer >= d->entries)
		return -EBADMSG;
	n = (consumer - s->consumer) & (d->entries - 1);
	if (n > IBMON_WALK_MAX) {
		out->lost = n - IBMON_WALK_MAX;
		out->flags = IBMON_LAPPED | IBMON_MTUS_ESTIMATED | IBMON_MTUS_GUESSED;
		out->mtus_sent = out->lost; /* at least */
		out->bytes_bound = out->lost << 31;
		n = IBMON_WALK_MAX;
	}
	*fault = IBMON_FAULT_ENTRY;
	for (uint32_t i = n; i > 0; i--)
		if (!read_slot(d, m, consumer - i, out))
			return -EBADMSG;
	out->wrs = out->seen + out->lost;
	if (!s->begun)
		out->flags |= IBMON_HISTORY;
	s->begun = 1;
	s->consumer = consumer;
	return 0;
}

static void quiet(const struct ibmon_desc *d, const struct ibmon_mem *m, const void *state,
		  struct ibmon_quiet *q)
{
	const struct state *s = state;

	(void)d;
	q->at[0] = q->at[1] = (const volatile uint32_t *)(const volatile void *)at(m, AT_CONSUMER);
	q->value[0] = q->value[1] = s->consumer;
}

const struct ibmon_layout ibmon_layout_v1 = {
	.abi = IBMON_ABI,
	.size = sizeof(struct ibmon_layout),
	.provider = IBMON_PROVIDER_OTHERS,
	.kind = IBMON_SQ,
	.name = "simple send queue",
	.state_size = state_size,
	.open = open_ring,
	.sample = sample,
	.header_same = header_same,
	.quiet = quiet,
};
