// SPDX-License-Identifier: GPL-2.0-or-later
/* record: a reader accepts what was written, and nothing else, also during a write. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "src/shared/record.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { WORDS = 20 };

/* A record of this test: each word follows from the value. */
union sample {
	struct region_record head;
	uint64_t word[WORDS];
};

static void sample_fill(union sample *s, uint64_t value)
{
	for (uint64_t i = 2; i < WORDS; i++)
		s->word[i] = value * (2 * i + 1);
}

static bool sample_is(const union sample *s, uint64_t value)
{
	union sample want;

	sample_fill(&want, value);
	return !memcmp(&s->word[2], &want.word[2], sizeof(*s) - sizeof(s->head));
}

static void sample_write(union sample *to, uint64_t value)
{
	union sample s;

	sample_fill(&s, value);
	record_write(to, &s.head, REGION_HOST, sizeof(s));
}

static int sample_check(const union sample *s)
{
	return record_check(s, REGION_HOST, sizeof(*s));
}

/* --- the checksum ----------------------------------------------------------- */

/* A record's crc is over a head of 16 bytes with the crc's own four taken as zero. */
static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = UINT32_MAX;

	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

TEST(crc__vectors_of_rfc_3720__bit_by_bit_agrees)
{
	uint8_t v[32];

	memset(v, 0, sizeof(v));
	assert_int_equal(crc32c(v, sizeof(v)), 0x8a9136aau);
	memset(v, 0xff, sizeof(v));
	assert_int_equal(crc32c(v, sizeof(v)), 0x62a8ab43u);
	for (uint8_t i = 0; i < sizeof(v); i++)
		v[i] = i;
	assert_int_equal(crc32c(v, sizeof(v)), 0x46dd794eu);
	for (uint8_t i = 0; i < sizeof(v); i++)
		v[i] = (uint8_t)(31 - i);
	assert_int_equal(crc32c(v, sizeof(v)), 0x113fdb5cu);
}

/* The two vectors that hold zeros where a record has its crc, straight. */
TEST(crc__zeros_of_rfc_3720__is_that_of_a_record)
{
	uint8_t zeros[32] = { 0 };
	uint8_t pdu[48] = {
		0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, 0x28, [40] = 0x02
	};

	assert_int_equal(record_crc(zeros, sizeof(zeros)), 0x8a9136aau);
	assert_int_equal(record_crc(pdu, sizeof(pdu)), 0xd9963a56u);
}

TEST(crc__random_records__agrees_with_bit_by_bit)
{
	uint8_t bytes[520] = { 0 }, zeroed[520];
	struct prop p;

	prop_start(&p);
	for (uint64_t step = 0; step < 2000; step++) {
		uint32_t n = 8 * (uint32_t)prop_range(&p, 3, sizeof(bytes) / 8);

		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)prop_u64(&p);
		memcpy(zeroed, bytes, n);
		memset(zeroed + offsetof(struct region_record, crc), 0, 4);
		prop_assert(&p, step, record_crc(bytes, n) == crc32c(zeroed, n));
	}
}

/* --- write, check ------------------------------------------------------------ */

TEST(write__once__is_whole_and_says_what_it_is)
{
	union sample to = { .word = { 0 } };

	sample_write(&to, 7);
	assert_int_equal(sample_check(&to), 0);
	assert_true(sample_is(&to, 7));
	assert_int_equal(to.head.seq, 1);
	assert_int_equal(to.head.kind, REGION_HOST);
	assert_int_equal(to.head.bytes, sizeof(to) - 16);
}

TEST(write__again__counts_and_passes_over_zero)
{
	union sample to = { .word = { 0 } };

	sample_write(&to, 7);
	sample_write(&to, 7);
	assert_int_equal(to.head.seq, 2);
	to.head.seq = UINT32_MAX;
	sample_write(&to, 8);
	assert_int_equal(to.head.seq, 1);
	assert_int_equal(sample_check(&to), 0);
}

TEST(write__from__ends_as_what_was_written)
{
	union sample to = { .word = { 0 } }, from;

	sample_fill(&from, 5);
	memset(&from.head, 0xa5, sizeof(from.head));
	record_write(&to, &from.head, REGION_HOST, sizeof(from));
	assert_memory_equal(&to, &from, sizeof(to));
}

TEST(check__never_written__says_so)
{
	union sample to = { .word = { 0 } };

	assert_int_equal(sample_check(&to), -ENOMSG);
}

TEST(unchanged__only_with_a_head_that_was_written_and_is_the_same)
{
	struct region_record none = { 0 }, head = { 2, 8, REGION_NODE, 77 }, other;

	assert_true(record_unchanged(&head, &head));
	assert_false(record_unchanged(&none, &none));
	other = head;
	other.seq++;
	assert_false(record_unchanged(&other, &head));
	other = head;
	other.crc++;
	assert_false(record_unchanged(&other, &head));
}

TEST(check__another_kind_or_size__is_refused)
{
	union sample to = { .word = { 0 } };

	sample_write(&to, 7);
	assert_int_equal(record_check(&to, REGION_GUEST, sizeof(to)), -EPROTO);
	assert_int_equal(record_check(&to, REGION_HOST, sizeof(to) - 8), -EPROTO);
}

TEST(check__half_of_the_first_write__is_torn)
{
	union sample to = { .word = { 0 } };

	sample_write(&to, 7);
	to.word[1] = 0; /* kind and crc were read before they came */
	assert_int_equal(sample_check(&to), -EAGAIN);
	sample_write(&to, 7);
	to.head.bytes = 0;
	assert_int_equal(sample_check(&to), -EAGAIN);
}

TEST(check__any_bit_turned__is_no_whole_record)
{
	union sample to = { .word = { 0 } };

	sample_write(&to, 7);
	for (uint32_t bit = 0; bit < 8 * sizeof(to); bit++) {
		to.word[bit / 64] ^= 1ull << bit % 64;
		assert_int_not_equal(sample_check(&to), 0);
		to.word[bit / 64] ^= 1ull << bit % 64;
	}
	assert_int_equal(sample_check(&to), 0);
}

/* A reader gets each word of some version; all versions it can meet, in any mixture. */
TEST(check__words_of_several_versions__is_torn)
{
	union sample version[4] = { 0 };
	struct prop p;

	prop_start(&p);
	for (uint64_t step = 0; step < 100000; step++) {
		union sample mix, to = { .word = { 0 } };
		uint64_t value = prop_one_in(&p, 2) ? prop_u64(&p) : prop_range(&p, 0, 9);
		uint64_t odd = prop_range(&p, 1, 3), first = prop_range(&p, 0, 3);
		bool same = true;

		for (uint64_t v = 0; v < 4; v++) { /* as a heartbeat: little changes */
			sample_write(&to, prop_one_in(&p, 2) ? value : value + v);
			version[v] = to;
		}
		mix = version[first];
		for (uint64_t i = 0; i < WORDS; i++)
			if (prop_one_in(&p, odd + 1))
				mix.word[i] = version[prop_range(&p, 0, 3)].word[i];
		for (uint64_t v = 0; v < 4; v++)
			if (!memcmp(&mix, &version[v], sizeof(mix)))
				same = false;
		if (same)
			prop_assert(&p, step, sample_check(&mix) == -EAGAIN);
		else
			prop_assert(&p, step, sample_check(&mix) == 0);
	}
}

/* --- reads during a write ---------------------------------------------------- */

struct race {
	union sample shared;
	uint64_t written; /* values 1 .. written are written, the last perhaps not whole yet */
	uint32_t stop;
};

static void *race_write(void *arg)
{
	struct race *r = arg;

	for (uint64_t v = 1; !__atomic_load_n(&r->stop, __ATOMIC_RELAXED); v++) {
		__atomic_store_n(&r->written, v, __ATOMIC_SEQ_CST);
		sample_write(&r->shared, v);
		if (v % 64 == 0)
			sched_yield();
	}
	return NULL;
}

/* Word by word, as an HCA would: from anywhere, in either direction, with pauses. */
static void race_copy(struct race *r, struct prop *p, union sample *copy)
{
	uint64_t begin = prop_range(p, 0, WORDS - 1), pause = prop_range(p, 0, 4 * WORDS);
	bool up = prop_one_in(p, 2);

	for (uint64_t k = 0; k < WORDS; k++) {
		uint64_t i = (begin + (up ? k : WORDS - k)) % WORDS;

		copy->word[i] = __atomic_load_n(&r->shared.word[i], __ATOMIC_RELAXED);
		if (k == pause)
			sched_yield();
	}
}

/* Is it a version that was written, whole, and not older than the last? */
static bool race_whole(struct race *r, const union sample *copy, uint64_t *newest)
{
	uint64_t value = copy->head.seq;

	if (!sample_is(copy, value) || value > __atomic_load_n(&r->written, __ATOMIC_SEQ_CST))
		return false;
	if (value < *newest)
		return false;
	*newest = value;
	return true;
}

TEST(check__writer_goes_on_meanwhile__no_mixture_is_accepted)
{
	uint64_t torn = 0, whole = 0, newest = 0, step = 0;
	struct race r = { .stop = 0 };
	struct prop p;
	pthread_t writer;

	prop_start(&p);
	assert_int_equal(pthread_create(&writer, NULL, race_write, &r), 0);
	while (step < 20000 || ((torn < 100 || whole < 100) && step < 5000000)) {
		union sample copy;
		int rc;

		race_copy(&r, &p, &copy);
		rc = sample_check(&copy);
		if (rc == 0)
			prop_assert(&p, step, race_whole(&r, &copy, &newest));
		else if (newest)
			prop_assert(&p, step, rc == -EAGAIN);
		whole += rc == 0;
		torn += rc == -EAGAIN;
		step++;
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	print_message("%llu copies: %llu whole, %llu torn\n", (unsigned long long)step,
		      (unsigned long long)whole, (unsigned long long)torn);
	assert_true(torn > 0); /* otherwise this test has seen nothing */
	assert_true(whole > 0);
}
