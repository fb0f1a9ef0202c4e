/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tag: from the texts that applications give to the hashes that the protocol carries. The hash is
 * HMAC-SHA256 with the cluster's key, cut to 64 bits: without the key nobody finds two tags of one
 * hash, by which updates of the one would move pages of the other. All hosts have the same.
 */
#ifndef RESEX_CACHED_TAG_H
#define RESEX_CACHED_TAG_H

#include <nettle/hmac.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAG_BYTES_MAX = 255 };

struct tag_key {
	struct hmac_sha256_ctx hmac;
};

/* key: copied. Wipe t after use (explicit_bzero). */
void tag_key_init(struct tag_key *t, const uint8_t *key, size_t len);
/* Is it 1 .. TAG_BYTES_MAX bytes of UTF-8 without control characters? */
bool tag_good(const char *text);
/* Never CACHE_TAG_ALL, nor a cache_tag_word (cache.h). */
uint64_t tag_hash(const struct tag_key *t, const char *text);

#endif
