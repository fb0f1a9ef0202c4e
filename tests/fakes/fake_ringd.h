/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_ringd: the server's half of include/resex/cache_ring.h, on a thread of its own: what
 * resex-cached is for a proxy. It can hold its answers, answer with rubbish, send a hello that is
 * none, and end in each way.
 */
#ifndef RESEX_TESTS_FAKE_RINGD_H
#define RESEX_TESTS_FAKE_RINGD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resex/cache_ring.h"

struct fake_ringd;

/* Fills in the answer, in a slot of its own, which also has key and flags. */
typedef void fake_ringd_answer(void *arg, struct cache_ring_slot *s);

struct fake_ringd_conf {
	const char *path;
	uint32_t slots;
	fake_ringd_answer *answer;
	void *arg;
	/* A hello and memory that are none; NULL: good ones. They have been filled in before. */
	void (*spoil)(struct cache_ring_hello *hello, struct cache_ring_header *header);
	uint32_t lacks;	      /* bytes that the memory is too small */
	uint32_t short_hello; /* bytes that the hello is too short */
	int files;	      /* sent with it, 0 .. 3; 2 is right */
	uint32_t state;	      /* instead of ANSWERED; 0: ANSWERED */
	/* After the hello, on its thread: it may send more (fake_ringd_send). NULL: nothing. */
	void (*more)(void *arg, int sock);
};

/* A message with a file; fd -1: without. */
void fake_ringd_send(int sock, const void *message, size_t len, int fd);

/* The path is ready when it returns. Errors end the test program. */
struct fake_ringd *fake_ringd_start(const struct fake_ringd_conf *c);
/* ended: it says so in the headers before. Else all just stops, as a killed process does. */
void fake_ringd_stop(struct fake_ringd *f, bool ended);
/* ended in all headers; the connections stay. */
void fake_ringd_say_ended(struct fake_ringd *f);
/* While it holds it looks at no request. Returns when the thread knows. */
void fake_ringd_hold(struct fake_ringd *f, bool hold);
/* Connections accepted, and those there now; wake-ups; requests answered, or found LEFT. */
uint32_t fake_ringd_accepted(const struct fake_ringd *f);
uint32_t fake_ringd_alive(const struct fake_ringd *f);
uint32_t fake_ringd_woken(const struct fake_ringd *f);
uint64_t fake_ringd_answered(const struct fake_ringd *f);
uint64_t fake_ringd_left(const struct fake_ringd *f);
/* Of the newest connection; its memory stays. NULL: it has ended. */
struct cache_ring_header *fake_ringd_header(struct fake_ringd *f);
/* Slots of that connection in this state. */
uint32_t fake_ringd_slots(struct fake_ringd *f, uint32_t state);
uint32_t fake_ringd_slots_of(const struct fake_ringd *f, const struct cache_ring_header *h,
			     uint32_t state);

#endif
