// SPDX-License-Identifier: GPL-2.0-or-later
/* place: from a page's key to a home and a word. See place.h. */
#include "src/cache/place.h"

#include "src/core/random.h"

static uint64_t mix(uint64_t x)
{
	return random_next(&x);
}

uint32_t place_word(uint64_t key, uint32_t words)
{
	return words < 2 ? 0 : 1 + (uint32_t)(mix(key) % (words - 1));
}

bool place_find(const struct hostset *usable, uint64_t key, bool all, uint32_t words,
		struct place *p)
{
	uint64_t most = 0;
	uint16_t home = 0;

	for (uint16_t h = hostset_next(usable, 0); h; h = hostset_next(usable, h)) {
		uint64_t drawn = mix(key ^ h);

		if (home && drawn <= most)
			continue;
		home = h;
		most = drawn;
	}
	if (!home)
		return false;
	p->home = home;
	p->word = all ? 0 : place_word(key, words);
	return true;
}
