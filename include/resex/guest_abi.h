/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_abi.h: the pages a guest shows to dom0 (man resex-guest-abi).
 *
 * The agent writes ONE node, data/resex under its own path in xenstore:
 *
 *	"2 grant REF"	or	"2 frame GFN"		(decimal; 2 = this ABI)
 *
 * It names the registry page. Everything else is found from there, so that
 * a change costs dom0 one cache line to see and xenstored nothing.
 *
 *	registry page -> directory pages (ring descriptors)
 *	              -> frame pages     (frames of all rings, one list)
 *	              -> latency pages   (newest latency samples)
 *	              -> load page       (what the guest carries)
 *
 * Writer: the agent alone. It makes generation odd, changes the registry,
 * directory and frame pages, and makes generation even again. Reader: dom0,
 * read-only; copies all, and takes the copy only if generation was even and
 * the same before and after. Nothing here is trusted: every figure is
 * bounded by the limits below. All fields are little-endian.
 */
#ifndef RESEX_GUEST_ABI_H
#define RESEX_GUEST_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "resex/load_abi.h"

#define GUEST_ABI_VERSION  2u
#define GUEST_ABI_NODE	   "data/resex"
#define GUEST_ABI_NODE_MAX 64u /* bytes of the node's value */

/*
 * Beside it, what dom0 wants of a program in the guest, and what the agent answers. Lines, each
 * ended by "\n":
 *
 *	data/resex-want		"1", number, deadline in ms, then the program's four arguments:
 *				action, node, from, to; or nothing at all: what was wanted no
 *				longer is
 *	data/resex-answer	"1", the number of what was wanted, 0: done, or 1: failed, and a
 *				sentence, which may be empty
 *
 * Numbers are decimal, and each want has another one than those before. The newest alone counts:
 * the agent ends what an earlier one began, and dom0 ignores answers to an earlier one. A want
 * that is there when the agent begins is answered by a failure.
 */
#define GUEST_ABI_WANT	     "data/resex-want"
#define GUEST_ABI_WANT_MAX   256u /* bytes of its value with a NUL */
#define GUEST_ABI_ANSWER     "data/resex-answer"
#define GUEST_ABI_ANSWER_MAX 384u /* the same */

#define GUEST_PAGE	      4096u
#define GUEST_REGISTRY_MAGIC  0x52585245u /* "ERXR" */
#define GUEST_DIRECTORY_MAGIC 0x44585245u /* "ERXD" */
#define GUEST_LATENCY_MAGIC   0x4c585245u /* "ERXL" */
#define GUEST_LOAD_MAGIC      0x55585245u /* "ERXU" */

enum {
	GUEST_DIRECTORIES_MAX = 16,
	GUEST_FRAME_PAGES_MAX = 64,
	GUEST_LATENCIES_MAX = 16,
	GUEST_RINGS_PER_DIRECTORY = 31,
	GUEST_FRAMES_PER_PAGE = 512,
	GUEST_RINGS_MAX = 256,	      /* valid descriptors over all directories */
	GUEST_RING_FRAMES_MAX = 4096, /* frames of one ring: 16 MiB */
	GUEST_RING_ELEM_MIN = 32,     /* bytes of a slot */
	GUEST_RING_ELEM_MAX = 4096,
	GUEST_LATENCY_SAMPLES = 336,
};

/* Of load_record.period_ns on a load page. */
#define GUEST_LOAD_PERIOD_MIN_NS 1000000ll
#define GUEST_LOAD_PERIOD_MAX_NS 10000000000ll

/* How a page of the agent's own is named. */
enum guest_ref_type {
	GUEST_REF_NONE = 0,
	GUEST_REF_GRANT = 1, /* a grant reference to dom0, read-only */
	GUEST_REF_FRAME = 2, /* a guest frame number (pagemap's) */
};

struct guest_ref {
	uint32_t type; /* enum guest_ref_type */
	uint32_t reserved;
	uint64_t ref;
};

struct guest_registry {
	uint32_t magic;	     /* GUEST_REGISTRY_MAGIC */
	uint32_t version;    /* GUEST_ABI_VERSION */
	uint32_t generation; /* odd while the agent writes */
	uint32_t agent_pid;
	uint64_t heartbeat;   /* one more at least every second while alive */
	uint32_t directories; /* used entries of directory[] */
	uint32_t frame_pages;
	uint32_t latencies;
	uint32_t frames; /* valid entries over all frame pages */
	/*
	 * The first two only grow while the agent runs. An agent of before they were defined
	 * leaves 0. sqs_published changes with the rings, between the odd and the even generation;
	 * the others may change at any time.
	 */
	uint64_t sqs_published;	  /* ids given to send queues */
	uint64_t qps_unseen;	  /* queue pairs that came and went and were never published */
	uint32_t qps_unpublished; /* queue pairs that live and have no room here */
	uint32_t reserved;
	struct guest_ref directory[GUEST_DIRECTORIES_MAX];
	struct guest_ref frame_page[GUEST_FRAME_PAGES_MAX];
	struct guest_ref latency[GUEST_LATENCIES_MAX];
	/* An agent of before it was defined leaves 0: none. An older reader does not read it. */
	struct guest_ref load;
};

enum guest_ring_kind {
	GUEST_RING_FREE = 0, /* unused descriptor */
	GUEST_RING_SQ = 1,
	GUEST_RING_CQ = 2,
};

enum guest_ring_provider {
	GUEST_PROVIDER_RXE = 1,
	GUEST_PROVIDER_MLX5 = 2,
	GUEST_PROVIDER_MLX4 = 3,
	/* 64 to 65535: those of layouts that the host loads (resex/ibmon.h) */
};

/* What a queue pair is: on mlx5 it says where the data are in a work request. */
enum guest_qp_type {
	GUEST_QP_UNKNOWN = 0,
	GUEST_QP_RC = 1,
	GUEST_QP_UC = 2,
	GUEST_QP_UD = 3,
	GUEST_QP_XRC = 4,
	GUEST_QP_DC = 5, /* initiator */
	GUEST_QP_RAW = 6,
};

struct guest_ring {
	uint32_t id;	      /* never reused while the agent runs; > 0 */
	uint16_t kind;	      /* enum guest_ring_kind */
	uint16_t provider;    /* enum guest_ring_provider */
	uint32_t number;      /* QPN or CQN; 0: not known */
	uint32_t pid;	      /* owner, for people */
	uint32_t elem_size;   /* bytes, a power of two, 32 .. 4096 */
	uint32_t entries;     /* slots, a power of two, 2 .. 2^20 */
	uint32_t path_mtu;    /* 256 .. 4096; 0: not known */
	uint32_t offset;      /* of the ring in its first frame, 0 .. 4095 */
	uint32_t first_frame; /* index into the list of all frames */
	uint32_t frames;      /* 1 .. GUEST_RING_FRAMES_MAX */
	uint64_t db_frame;    /* doorbell record (mlx5; mlx4: of a CQ); 0: none */
	uint32_t db_offset;
	uint32_t db_bytes;
	uint64_t created; /* agent's CLOCK_BOOTTIME ns; for people */
	char comm[16];	  /* owner's name, for people; not trusted */
	/* Of a send queue; enum guest_qp_type. An agent of before it was defined leaves 0. */
	uint32_t qp_type;
	uint8_t reserved[44];
};

struct guest_directory {
	uint32_t magic; /* GUEST_DIRECTORY_MAGIC */
	uint32_t rings; /* entries of ring[] that may be in use */
	uint8_t reserved[120];
	struct guest_ring ring[GUEST_RINGS_PER_DIRECTORY];
};

struct guest_frames {
	uint64_t frame[GUEST_FRAMES_PER_PAGE];
};

struct guest_latency_sample {
	uint32_t ctime_ns; /* computing (paper IV) */
	uint32_t wtime_ns; /* waiting for I/O */
	uint32_t ptime_ns; /* polling */
};

/*
 * Sample k, from 1, is entry (k - 1) modulo GUEST_LATENCY_SAMPLES. To write the samples up to k:
 * writing = k, barrier, the entries, barrier, written = k. What is on the page is intact down to
 * number writing - GUEST_LATENCY_SAMPLES + 1.
 */

struct guest_latency {
	uint32_t magic; /* GUEST_LATENCY_MAGIC */
	uint32_t pid;
	uint64_t written; /* number of the newest sample, 0: none */
	uint64_t writing; /* number of the newest sample that is or was begun */
	uint64_t dropped; /* samples that the application reported and the page never had */
	char comm[16];
	uint64_t time; /* of the newest, guest's CLOCK_BOOTTIME ns; for people */
	uint8_t reserved[8];
	struct guest_latency_sample sample[GUEST_LATENCY_SAMPLES];
};

/*
 * What the guest carries: one record, which the agent replaces once a period, by the rule of
 * struct region_record: a reader accepts a copy only if its checksum is right. The record's node is
 * 0, and its sampled_ns the guest's CLOCK_BOOTTIME.
 */
struct guest_load_page {
	uint32_t magic; /* GUEST_LOAD_MAGIC */
	uint8_t reserved[60];
	struct load_record record; /* of kind REGION_LOAD */
};

static_assert(sizeof(struct guest_ref) == 16, "ABI");
static_assert(offsetof(struct guest_registry, sqs_published) == 40, "ABI");
static_assert(offsetof(struct guest_registry, qps_unseen) == 48, "ABI");
static_assert(offsetof(struct guest_registry, qps_unpublished) == 56, "ABI");
static_assert(offsetof(struct guest_registry, directory) == 64, "ABI");
static_assert(offsetof(struct guest_registry, frame_page) == 320, "ABI");
static_assert(offsetof(struct guest_registry, latency) == 1344, "ABI");
static_assert(offsetof(struct guest_registry, load) == 1600, "ABI");
static_assert(sizeof(struct guest_registry) == 1616, "ABI");
static_assert(sizeof(struct guest_ring) == 128, "ABI");
static_assert(offsetof(struct guest_ring, db_frame) == 40, "ABI");
static_assert(offsetof(struct guest_ring, comm) == 64, "ABI");
static_assert(offsetof(struct guest_ring, qp_type) == 80, "ABI");
static_assert(sizeof(struct guest_directory) == GUEST_PAGE, "ABI");
static_assert(sizeof(struct guest_frames) == GUEST_PAGE, "ABI");
static_assert(sizeof(struct guest_latency_sample) == 12, "ABI");
static_assert(offsetof(struct guest_latency, sample) == 64, "ABI");
static_assert(sizeof(struct guest_latency) == GUEST_PAGE, "ABI");
static_assert(offsetof(struct guest_load_page, record) == 64, "ABI");
static_assert(sizeof(struct guest_load_page) == 320, "ABI");

#endif
