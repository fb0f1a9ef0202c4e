/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: which home has the version word of a page, and which of its words that is. A proxy's rule.
 *
 * Rendezvous hashing: each home draws a number from the page's key and its own number, and the
 * highest wins. So a home that is lost or comes back moves its own pages, and no others. Two
 * proxies may choose different homes for a page: each copy is verified by the word under which it
 * was stored.
 */
#ifndef RESEX_CACHE_PLACE_H
#define RESEX_CACHE_PLACE_H

#include "src/core/hostset.h"

struct place {
	uint16_t home;
	uint32_t word;
};

/*
 * usable: the homes that could verify a hit now. all: a page without a list, which has word 0.
 * words: version words of each home, >= 1. If a home has one word only, it is that of all pages:
 * each update touches it, so it is right for any page. false: no home is usable.
 */
bool place_find(const struct hostset *usable, uint64_t key, bool all, uint32_t words,
		struct place *p);
/* The same word, of a page with a list: it does not depend on the home. */
uint32_t place_word(uint64_t key, uint32_t words);

#endif
