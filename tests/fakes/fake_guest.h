/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_guest: a guest's memory, its registry in it, and hv_mem ops over it.
 *
 * The memory is a memfd, so that a page mapped twice is one page, mappings
 * are read-only, and touching one after its unmap ends the test. The ops
 * count, check each unmap, and fail for the frames the test chooses.
 */
#ifndef RESEX_TESTS_FAKE_GUEST_H
#define RESEX_TESTS_FAKE_GUEST_H

#include "ibmon/registry.h"
#include "resex/guest_abi.h"
#include "src/hv/hv.h"

/* Where the agent's pages lie; the rings' frames come after. */
enum {
	FAKE_DOMID = 7,
	FAKE_FRAME_REGISTRY = 1,
	FAKE_FRAME_DIRECTORY = 2,
	FAKE_FRAME_LIST = FAKE_FRAME_DIRECTORY + GUEST_DIRECTORIES_MAX,
	FAKE_FRAME_LATENCY = FAKE_FRAME_LIST + GUEST_FRAME_PAGES_MAX,
	FAKE_FRAME_RINGS = FAKE_FRAME_LATENCY + GUEST_LATENCIES_MAX,
	FAKE_FRAMES = 4096,
};

struct fake_mapping {
	const volatile void *addr;
	size_t n;
};

struct hv_mem { /* the fake's own */
	int fd;
	uint8_t *all; /* the guest's view: writable */
	uint64_t calls, pages, most;
	uint64_t denied; /* frames from here on are refused with err; 0: none */
	int err;
	uint64_t moved; /* this frame no longer lies where it was; 0: none */
	uint32_t mappings;
	struct fake_mapping mapping[1024];
};

struct fake_guest {
	struct hv_mem m;
	uint32_t rings;	 /* descriptors added */
	uint32_t frames; /* entries of the frame list used */
	uint64_t next;	 /* next free frame for rings */
};

extern const struct hv_mem_ops fake_mem_ops;

/* An attached, empty registry: one directory, one frame page, generation 2. */
void fake_guest_open(struct fake_guest *g);
/* Fails the test when something is still mapped. */
void fake_guest_close(struct fake_guest *g);

void *fake_page(struct fake_guest *g, uint64_t frame);
struct guest_registry *fake_registry(struct fake_guest *g);
struct guest_ring *fake_ring_at(struct fake_guest *g, uint32_t i);
uint64_t *fake_frame_at(struct fake_guest *g, uint32_t i);
struct guest_ref fake_guest_ref(void);

/* Make generation odd, and even again. */
void fake_write_begin(struct fake_guest *g);
void fake_write_end(struct fake_guest *g);

/*
 * Append a valid descriptor of a send queue with an empty ring behind it,
 * within begin and end; returns its index. Directories and frame pages are
 * added as needed.
 */
uint32_t fake_add_sq(struct fake_guest *g, uint32_t id, uint32_t slots);
/* The ring's header in guest memory. */
uint8_t *fake_ring_mem(struct fake_guest *g, uint32_t i);

#endif
