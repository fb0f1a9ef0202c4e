// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_home_growth: a home whose lists are full, and makes room again and again. Nothing grows: no
 * listing is lost, and the process needs no more memory. RESEX_EVICTIONS=10000000 is the long form.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/cache/home.h"
#include "tests/unit/unit.h"

enum { WORDS = 64, LISTINGS = 128, TAGS = 8, SHORT = 100000, PAGES_MORE = 64 };

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &all, &resident), 2);
	fclose(f);
	return resident;
}

static uint64_t evictions(void)
{
	const char *text = getenv("RESEX_EVICTIONS");

	return text ? strtoull(text, NULL, 10) : SHORT;
}

static uint32_t listed(const struct home *h)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < WORDS; w++)
		for (uint32_t i = h->list[w]; i; i = h->listing[i - 1].more)
			n++;
	return n;
}

/* The list of this word, with 1 to TAGS tags, that no page before had. */
static enum home_refusal fill(struct home *h, uint64_t log, uint32_t word, uint64_t turn)
{
	uint64_t tag[TAGS];
	struct home_fill f = {
		.word = word, .log = log, .tags = 1 + (uint32_t)(turn % TAGS), .tag = tag
	};

	f.version = h->conf.word[word];
	for (uint32_t i = 0; i < f.tags; i++)
		tag[i] = (turn * TAGS + i + 1) << 16;
	return home_register(h, &f);
}

TEST(lists__evicted_again_and_again__need_no_more_memory)
{
	uint64_t word[WORDS] = { 0 }, log_word = 0, wanted = evictions(), evicted = 0, turn = 0;
	const struct home_conf c = { .self = 1,
				     .members = 1,
				     .slots = 1,
				     .words = WORDS,
				     .listings = LISTINGS,
				     .log = 4,
				     .acks = 64,
				     .stride = 64,
				     .tag = 1,
				     .check_ns = 1000000,
				     .word = word,
				     .log_word = &log_word };
	struct home h;
	void *block = malloc(home_bytes(&c));
	long before = 0;

	assert_true(block && home_init(&h, &c, block));
	home_join(&h);
	assert_true(home_open(&h, 5, 0, 100));
	for (uint32_t hand = 1; evicted < wanted; turn++) {
		uint32_t at = 1 + (uint32_t)(turn % (WORDS - 1));

		while (fill(&h, log_word, at, turn) == HOME_FULL) { /* as app.c makes room */
			home_evict(&h, hand);
			hand = 1 + hand % (WORDS - 1);
			evicted++;
		}
		if (evicted >= 1000 && !before)
			before = resident_pages();
	}
	print_message("%llu evictions, %llu fills: %ld pages are resident, %ld after 1000\n",
		      (unsigned long long)evicted, (unsigned long long)turn, resident_pages(),
		      before);
	assert_int_equal(listed(&h) + h.frees, LISTINGS);
	assert_true(resident_pages() <= before + PAGES_MORE);
	free(block);
}
