/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format: the file that resex trace-start writes and resex-lab replay reads; its records as bytes.
 *
 *	sampler --records, src/tick/tape.h--> ring.h --> file.h --> FILE --> src/lab/replay.h
 *
 * An input is all that a decision depends on and that the sampler's own code does not compute:
 *
 *	CONF	interval, epoch, links, whether resexd only observes; by the control thread
 *	POLICY	the policy's name, parameters and global state; when a set brings another
 *	BLOCK	the policy's state of a guest, after POLICY; those of zeros are left out
 *	SET	guests, and their settings: whenever some join, leave or change
 *	START	period, ledger and mailboxes when the recording begins
 *	SLOT	all of a guest's slot, account, plan and seat, after START
 *	TICK	of each tick: its time; answers of the actor that count; caps to be sent again; CPU
 *		time and state of each guest's domain; what scans found in rings and in reports
 *
 * All but CONF is taken by the sampler, where it reads the input: control and guests change theirs
 * at any time, and only what the sampler read counts.
 *
 * An output is what the sampler made of them. A replay computes it, and compares:
 *
 *	ACCOUNTS each guest's account and plan: at the end of each epoch, and of the recording
 *	DECIDED	plans that changed, and caps that were sent; of a tick that has some
 *
 * Not recorded: what is only shown (events, snapshots, latencies as histograms, faults of rings),
 * and loads of nodes, which policies do not see.
 *
 * END is the last record: why the recording ended, and how many ticks it has.
 *
 * The file:
 *
 *	"RESEXTRC", version (4 bytes), CRC32C of these 12 bytes (4 bytes); then blocks:
 *	bytes of its records (4), number (4, from 0), CRC32C of the two and of the records (4),
 *	records
 *
 *	a record: kind (1), bytes of its payload (4), payload
 *
 * Numbers of a fixed size are little endian. All others are unsigned, seven bits a byte, the low
 * ones first; each byte but the last has bit 7 set. A signed difference d is written as 2 d, or as
 * -2 d - 1 when it is below 0. Records never span blocks. A list ends with 0 where an entry would
 * begin with its slot + 1.
 *
 *	TICK	time - that of the former tick; list of: slot + 1, answer, its time - this time;
 *		0, or 1 and 4 words of bits; errno of the list of domains; without an error, for
 *		each 8 guests of the set: a byte with a bit for each that has another word than in
 *		the former tick of this set, and these: 2 (CPU time - the former) + 1 if its state
 *		is another, then that state (enum tape_state); list of: slot + 1, 2 (a bit for each
 *		figure that is not 0) + 1 if something was found, these figures
 *	DECIDED	list of: slot + 1, cap, rate, reason, number and percent of the newest mail
 *
 * Other records are their structs field by field: src/tick/tape_state.c has the tables.
 *
 * A reader refuses: another magic or version; a block that is empty, longer than
 * TRACE_BLOCK_MAX, out of its order, or with a wrong checksum; a record with a kind that there is
 * not, that is too long, out of its place, or that has too few or too many bytes; a number above
 * its field's limit; and what src/lab/replay_load.c checks of each value. A file that ends without
 * END, also within a block, or whose next block begins with zeros alone, is one whose writer was
 * killed, or whose machine stopped: its whole blocks are replayed, and the reader says that it is
 * not whole.
 */
#ifndef RESEX_TRACE_FORMAT_H
#define RESEX_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRACE_MAGIC "RESEXTRC"

enum {
	TRACE_VERSION = 1,
	TRACE_HEAD = 16,	       /* bytes before the first block */
	TRACE_BLOCK_HEAD = 12,	       /* bytes before a block's records */
	TRACE_RECORD_HEAD = 5,	       /* bytes before a record's payload */
	TRACE_RECORD_MAX = 128 * 1024, /* with its head; the state of a policy takes 64 KiB */
	TRACE_BLOCK_MAX = 256 * 1024,
	TRACE_NUMBER_MAX = 10, /* bytes of a number */
};

enum trace_kind {
	TRACE_CONF = 1,
	TRACE_POLICY,
	TRACE_BLOCK,
	TRACE_SET,
	TRACE_START,
	TRACE_SLOT,
	TRACE_TICK,
	TRACE_DECIDED,
	TRACE_ACCOUNTS,
	TRACE_END,
	TRACE_KINDS
};

enum trace_end {
	TRACE_STOPPED = 1, /* by trace-stop */
	TRACE_CLOSED,	   /* resexd stopped */
	TRACE_BEHIND,	   /* the writer was behind, and the ring was full */
	TRACE_LARGE,	   /* the file has its largest size */
	TRACE_ENDS
};

/* --- write --------------------------------------------------------------- */

/* What finds no room is left out, and full is set: the record is of no use then. */
struct trace_out {
	uint8_t *at, *end;
	bool full;
};

static inline void trace_put_byte(struct trace_out *o, uint8_t v)
{
	if (o->at == o->end)
		o->full = true;
	else
		*o->at++ = v;
}

static inline void trace_put(struct trace_out *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		trace_put_byte(o, (uint8_t)(v | 0x80));
	trace_put_byte(o, (uint8_t)v);
}

static inline uint64_t trace_of_difference(uint64_t is, uint64_t was)
{
	uint64_t d = is - was;

	return d << 1 ^ (d >> 63 ? UINT64_MAX : 0);
}

static inline void trace_put_difference(struct trace_out *o, uint64_t is, uint64_t was)
{
	trace_put(o, trace_of_difference(is, was));
}

static inline void trace_put_bytes(struct trace_out *o, const void *p, size_t n)
{
	if ((size_t)(o->end - o->at) < n) {
		o->full = true;
		return;
	}
	memcpy(o->at, p, n);
	o->at += n;
}

static inline void trace_store32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static inline uint32_t trace_load32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* --- read ---------------------------------------------------------------- */

/* What is missing or too large reads as 0, and bad is set: the record is refused then. */
struct trace_in {
	const uint8_t *at, *end;
	bool bad;
};

/* A number of at most this value. */
uint64_t trace_get(struct trace_in *in, uint64_t most);
/* was and a difference, as it is written: any number. */
static inline uint64_t trace_add_difference(uint64_t was, uint64_t d)
{
	return was + (d >> 1 ^ (d & 1 ? UINT64_MAX : 0));
}
uint64_t trace_get_difference(struct trace_in *in, uint64_t was);
void trace_get_bytes(struct trace_in *in, void *p, size_t n);
/* Nothing was wrong, and nothing is left. */
bool trace_in_ended(const struct trace_in *in);

/*
 * The next record of a block: *kind, and its payload in *payload. 1; 0: none is left; -EBADMSG: it
 * is no record.
 */
int trace_next(struct trace_in *block, enum trace_kind *kind, struct trace_in *payload);

/* --- fields of a struct ----------------------------------------------------- */

/*
 * Structs are written field by field, each as a number, by a table that both directions use. A
 * field that is signed is written as if it were not: it may be any.
 */
struct trace_field {
	uint32_t offset;
	uint8_t size; /* 1, 2, 4 or 8 */
	bool is_bool; /* 0 or 1 */
};

/* clang-format off */
#define TRACE_FIELD(type, member) \
	{ offsetof(struct type, member), sizeof(((struct type *)0)->member), \
	  _Generic(((struct type *)0)->member, bool: true, default: false) }
/* clang-format on */

uint64_t trace_load_field(const void *s, const struct trace_field *f);
/* there: it was written; else it is 0. */
void trace_get_field(struct trace_in *in, void *s, const struct trace_field *f, bool there);
void trace_put_fields(struct trace_out *o, const void *s, const struct trace_field *f, size_t n);
void trace_get_fields(struct trace_in *in, void *s, const struct trace_field *f, size_t n);

/* --- blocks: frame.c ----------------------------------------------------------- */

void trace_head_fill(uint8_t head[TRACE_HEAD]);
/* 0; -ENOMSG: it is no trace; -EBADMSG: its checksum is wrong; -EPROTONOSUPPORT: *version. */
int trace_head_check(const uint8_t head[TRACE_HEAD], uint32_t *version);

/* Fill the head of a block whose n bytes of records follow it. */
void trace_block_fill(uint8_t *block, uint32_t n, uint32_t number);
/* The length of the records by the head of a block: 1 to TRACE_BLOCK_MAX. 0: it is none. */
uint32_t trace_block_bytes(const uint8_t *block);
/* Was nothing written where the head of a block would be? */
bool trace_block_is_blank(const uint8_t *block);
/* Is the whole block, of as many bytes, the one of this number? */
bool trace_block_good(const uint8_t *block, uint32_t number);

#endif
