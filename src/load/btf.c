// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * btf: reads BTF (Documentation/bpf/btf.rst of the kernel): a header, types one after another, then
 * strings. A type has a head of 12 bytes and more by its kind; its number is its place in the list,
 * from 1. Every length and number is checked: the file is the kernel's, but may be of a kernel that
 * is newer than this.
 */
#include "src/load/btf.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { BTF_MAGIC = 0xeb9f, BTF_VERSION = 1 };
enum { KIND_INT = 1, KIND_STRUCT = 4, KIND_TYPEDEF = 8, KINDS = 20 };
enum {
	TYPEDEFS_MAX = 8, /* one after another: they could be a circle */
	SAME_MAX = 16,	  /* structs of one name that have the member; each takes a walk */
};

struct header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t length;
	uint32_t types, types_length, strings, strings_length; /* from the header's end */
};

struct type {
	uint32_t name;
	uint32_t info; /* members 16 bits, kind 5 bits from bit 24, bit-fields bit 31 */
	uint32_t size; /* or the number of another type */
};

struct member {
	uint32_t name, type;
	uint32_t offset; /* in bits; with bit-fields 24 bits, then the field's width */
};

static_assert(sizeof(struct header) == 24, "header");
static_assert(sizeof(struct type) == 12 && sizeof(struct member) == 12, "types");

/* What follows the head: of each type, and of each of its members. 0 and 0: nothing does. */
static const struct {
	uint8_t fixed, each;
} more[KINDS] = {
	[1] = { 4, 0 },	  /* int */
	[3] = { 12, 0 },  /* array */
	[4] = { 0, 12 },  /* struct */
	[5] = { 0, 12 },  /* union */
	[6] = { 0, 8 },	  /* enum */
	[13] = { 0, 8 },  /* function prototype */
	[14] = { 4, 0 },  /* variable */
	[15] = { 0, 12 }, /* section */
	[17] = { 4, 0 },  /* tag of a declaration */
	[19] = { 0, 12 }, /* enum of 64 bits */
};

struct btf {
	const uint8_t *types, *strings;
	size_t types_length, strings_length;
};

static uint32_t kind_of(const struct type *t)
{
	return t->info >> 24 & 31;
}

static uint32_t members_of(const struct type *t)
{
	return t->info & 0xffff;
}

static int open_btf(struct btf *b, const uint8_t *data, size_t len)
{
	struct header h;

	if (len < sizeof(h))
		return -EPROTO;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.length < sizeof(h) ||
	    h.length > len)
		return -EPROTO;
	len -= h.length;
	if (h.types > len || h.types_length > len - h.types || h.strings > len ||
	    h.strings_length > len - h.strings)
		return -EPROTO;
	*b = (struct btf){ data + h.length + h.types, data + h.length + h.strings, h.types_length,
			   h.strings_length };
	return 0;
}

static bool is_named(const struct btf *b, uint32_t name, const char *wanted)
{
	size_t n = strlen(wanted) + 1;

	return name < b->strings_length && b->strings_length - name >= n &&
	       !memcmp(b->strings + name, wanted, n);
}

/* The type at *at, which moves behind it. 0; -ENOENT: there are no more. */
static int next_type(const struct btf *b, size_t *at, struct type *t)
{
	size_t left = b->types_length - *at, length = sizeof(*t);

	if (!left)
		return -ENOENT;
	if (left < length)
		return -EPROTO;
	memcpy(t, b->types + *at, sizeof(*t));
	if (!kind_of(t) || kind_of(t) >= KINDS)
		return -EPROTO;
	length += more[kind_of(t)].fixed + (size_t)more[kind_of(t)].each * members_of(t);
	if (left < length)
		return -EPROTO;
	*at += length;
	return 0;
}

static int find_type(const struct btf *b, uint32_t number, struct type *t)
{
	size_t at = 0;
	int rc = number ? 0 : -ENOENT; /* 0 is void */

	for (uint32_t i = 0; i < number && !rc; i++)
		rc = next_type(b, &at, t);
	return rc;
}

static bool is_word(const struct btf *b, uint32_t number)
{
	struct type t;
	int rc = find_type(b, number, &t);

	for (int i = 0; i < TYPEDEFS_MAX && !rc && kind_of(&t) == KIND_TYPEDEF; i++)
		rc = find_type(b, t.size, &t);
	return !rc && kind_of(&t) == KIND_INT && t.size == 4;
}

/* In the struct whose members end at end. */
static int find_member(const struct btf *b, const struct type *t, size_t end, const char *member,
		       uint32_t *offset)
{
	struct member m;

	for (size_t at = end - members_of(t) * sizeof(m); at < end; at += sizeof(m)) {
		memcpy(&m, b->types + at, sizeof(m));
		if (!is_named(b, m.name, member))
			continue;
		/* With bit-fields in the struct, those that are none have a width of 0. */
		if (t->info >> 31 && m.offset >> 24)
			return -ENOENT;
		if (m.offset % 32 || t->size < 4 || m.offset / 8 > t->size - 4 ||
		    !is_word(b, m.type))
			return -ENOENT;
		*offset = m.offset / 8;
		return 0;
	}
	return -ENOENT;
}

int load_btf_offset(const void *data, size_t len, const char *type, const char *member,
		    uint32_t *offset)
{
	uint32_t here, found = 0, n = 0;
	struct btf b;
	struct type t;
	size_t at = 0;
	int rc = open_btf(&b, data, len);

	while (!rc && !(rc = next_type(&b, &at, &t))) {
		if (kind_of(&t) != KIND_STRUCT || !is_named(&b, t.name, type) ||
		    find_member(&b, &t, at, member, &here))
			continue;
		if (n++ && (here != found || n > SAME_MAX))
			return -EEXIST;
		found = here;
	}
	if (rc != -ENOENT || !n)
		return rc;
	*offset = found;
	return 0;
}
