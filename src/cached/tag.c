// SPDX-License-Identifier: GPL-2.0-or-later
/* tag: checks and hashes tags. app.c does it for fills and for updates. */
#include "src/cached/tag.h"

#include <string.h>

#include "src/cache/cache.h"
#include "src/util/bytes.h"
#include "src/util/utf8.h"

/* The transport proves with the same key: what it hashes begins otherwise (front/hello.c). */
static const char purpose[] = "resex cached tag";

void tag_key_init(struct tag_key *t, const uint8_t *key, size_t len)
{
	hmac_sha256_set_key(&t->hmac, len, key);
}

bool tag_good(const char *text)
{
	size_t len = strnlen(text, TAG_BYTES_MAX + 1);

	if (len < 1 || len > TAG_BYTES_MAX || !utf8_good(text))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i], next = (unsigned char)text[i + 1];

		if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			return false;
	}
	return true;
}

uint64_t tag_hash(const struct tag_key *t, const char *text)
{
	struct hmac_sha256_ctx hmac = t->hmac;
	uint8_t digest[8];
	uint64_t hash;

	hmac_sha256_update(&hmac, sizeof(purpose), (const uint8_t *)purpose);
	hmac_sha256_update(&hmac, strlen(text), (const uint8_t *)text);
	hmac_sha256_digest(&hmac, sizeof(digest), digest);
	hash = bytes_get_le(digest, sizeof(digest));
	if (cache_tag_is_word(hash))
		hash ^= CACHE_TAG_WORD;
	return hash == CACHE_TAG_ALL ? 1 : hash;
}
