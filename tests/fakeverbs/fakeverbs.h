/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fakeverbs: a uverbs device that is not there, for the real providers.
 *
 * A program is linked with it and with libibverbs. Its own open, write, ioctl, mmap and so on come
 * before those of libc (the program is linked with --export-dynamic), and answer for
 * /dev/infiniband/uverbs0. The unmodified libibverbs and provider of the distribution then create
 * queue pairs in the program's own memory and write real work requests and doorbell records.
 *
 * No ioctl of verbs is answered (ENOTTY, as by a kernel of before 4.20), so that the library uses
 * write(2) for all commands. What exists only as an ioctl does not work: DEVX, device memory,
 * dynamic UARs, import of a device. Nothing is sent: fakeverbs_complete() and the calls after it
 * write the completions that an adapter would write. These completions are golden only as far as
 * the provider's own ibv_poll_cq() returns from them what was expected.
 */
#ifndef RESEX_TESTS_FAKEVERBS_H
#define RESEX_TESTS_FAKEVERBS_H

#include <stdbool.h>
#include <stdint.h>

struct fakeverbs_conf {
	const char *provider; /* "mlx5", "mlx4" */
	/* mlx5: 0, or 1: completions name a queue pair by an index of the library's, too. */
	uint32_t cqe_version;
	uint32_t cqe_bytes; /* mlx4: of an entry of a completion queue, 32 or 64 */
};

/* As the provider's commands named it. Addresses are of this process. */
struct fakeverbs_cq {
	uint32_t handle, number; /* 0: unused */
	uint8_t *buf;
	const volatile uint32_t *db; /* doorbell record; big-endian */
	uint32_t entry_bytes, entries;
	uint32_t produced; /* completions written, never masked */
};

struct fakeverbs_qp {
	uint32_t handle, number; /* 0: unused */
	uint32_t type;		 /* enum ibv_qp_type */
	uint8_t *sq;
	uint32_t block_bytes, blocks; /* of the send queue */
	const volatile uint32_t *db;  /* doorbell record; NULL on mlx4 */
	uint32_t path_mtu;	      /* bytes; 0 until RTR */
	uint32_t index;		      /* the library's own, of completions of version 1 */
	struct fakeverbs_cq *send_cq, *recv_cq;
	uint16_t executed; /* blocks of requests that the adapter has executed, modulo 2^16 */
	uint16_t received; /* receives completed */
	bool failed;	   /* all later requests are flushed, until the queue pair is RESET */
};

/* 0 or -errno. Before the first call of libibverbs. */
int fakeverbs_begin(const struct fakeverbs_conf *conf);
void fakeverbs_end(void);

/* Of devices that are opened from now on. */
void fakeverbs_set_cqe_version(uint32_t version);
void fakeverbs_set_cqe_bytes(uint32_t bytes);

struct fakeverbs_qp *fakeverbs_qp(uint32_t number); /* NULL: there is none */

/*
 * The adapter executes up to n requests of those posted, and writes the completions that they ask
 * for. How many it executed: fewer, too, when the completion queue is full.
 */
uint32_t fakeverbs_complete(struct fakeverbs_qp *qp, uint32_t n);

/* The oldest request that was not executed fails, and later ones are flushed. False: none, full. */
bool fakeverbs_fail(struct fakeverbs_qp *qp);

/* Complete a receive of a SEND with so many bytes; scatter: into the completion. False: full. */
bool fakeverbs_receive(struct fakeverbs_qp *qp, uint32_t bytes, const void *scatter);

#endif
