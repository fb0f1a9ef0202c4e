// SPDX-License-Identifier: GPL-2.0-or-later
/* frame: the head of a trace file and its blocks, with their checksums. See format.h. */
#include <errno.h>
#include <isa-l.h>

#include "src/trace/format.h"

enum { MAGIC = sizeof(TRACE_MAGIC) - 1, VERSION_AT = MAGIC, CRC_AT = 12 };

/* CRC32C inverts its first and its last value (RFC 3720); the function of isa-l does not. */
static uint32_t crc_add(uint32_t crc, const uint8_t *p, uint32_t n)
{
	return crc32_iscsi((unsigned char *)(uintptr_t)p, (int)n, crc);
}

void trace_head_fill(uint8_t head[TRACE_HEAD])
{
	memcpy(head, TRACE_MAGIC, MAGIC);
	trace_store32(head + VERSION_AT, TRACE_VERSION);
	trace_store32(head + CRC_AT, ~crc_add(UINT32_MAX, head, CRC_AT));
}

int trace_head_check(const uint8_t head[TRACE_HEAD], uint32_t *version)
{
	if (memcmp(head, TRACE_MAGIC, MAGIC) != 0)
		return -ENOMSG;
	if (trace_load32(head + CRC_AT) != ~crc_add(UINT32_MAX, head, CRC_AT))
		return -EBADMSG;
	*version = trace_load32(head + VERSION_AT);
	return *version == TRACE_VERSION ? 0 : -EPROTONOSUPPORT;
}

/* Of what stands before the checksum, and of the records. */
static uint32_t block_crc(const uint8_t *block, uint32_t n)
{
	return ~crc_add(crc_add(UINT32_MAX, block, 8), block + TRACE_BLOCK_HEAD, n);
}

void trace_block_fill(uint8_t *block, uint32_t n, uint32_t number)
{
	trace_store32(block, n);
	trace_store32(block + 4, number);
	trace_store32(block + 8, block_crc(block, n));
}

uint32_t trace_block_bytes(const uint8_t *block)
{
	uint32_t n = trace_load32(block);

	return n <= TRACE_BLOCK_MAX ? n : 0;
}

bool trace_block_is_blank(const uint8_t *block)
{
	static const uint8_t blank[TRACE_BLOCK_HEAD];

	return !memcmp(block, blank, sizeof(blank));
}

bool trace_block_good(const uint8_t *block, uint32_t number)
{
	return trace_load32(block + 4) == number &&
	       trace_load32(block + 8) == block_crc(block, trace_block_bytes(block));
}
