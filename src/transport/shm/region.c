// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * region: the parts of a region as sealed memory files, ours and a peer's.
 *
 * The kernel enforces the rules of transport.h: no peer can map the table writable, no client
 * without the right to atomics the words, and no owner can shrink a file under its peers. A peer
 * still reads the contents of a process that was stopped, as an HCA reads without the peer's CPU. A
 * mapping also outlives its owner: exec.c refuses what a process that has died left there.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/transport/shm/shm.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { SEALS_SIZE = F_SEAL_SHRINK | F_SEAL_GROW };

/*
 * Map, then seal: F_SEAL_FUTURE_WRITE spares mappings that exist, so this one and the life's stay
 * the only ones that can write to the part. F_SEAL_SEAL: a peer has the descriptor too, and could
 * otherwise seal the words against all later callers.
 */
static int part_open(struct shm_region *r, enum transport_part part, size_t len)
{
	static const char *const names[TRANSPORT_PARTS] = { "resex-table", "resex-words",
							    "resex-load", "resex-versions" };
	int seals = SEALS_SIZE | F_SEAL_SEAL | (part == TRANSPORT_WORDS ? 0 : F_SEAL_FUTURE_WRITE);
	void *mem;
	int rc = 0;

	r->fd[part] = memfd_create(names[part], MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fd[part] < 0 || ftruncate(r->fd[part], (off_t)len))
		return -errno;
	/*
	 * A part that is not there is an empty file, or one with the life alone: the number of
	 * files is always the same.
	 */
	if (len) {
		mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd[part], 0);
		if (mem == MAP_FAILED)
			return -errno;
		r->mem[part] = mem;
		r->len[part] = len;
	}
	if (part == TRANSPORT_VERSIONS)
		rc = shm_life_begin(&r->life, r->fd[part], (off_t)(len - LIFE_BYTES));
	if (!rc && fcntl(r->fd[part], F_ADD_SEALS, seals))
		rc = -errno;
	return rc;
}

/* Another descriptor of the same memory, by which the kernel gives no writable mapping. Or -1. */
static int open_to_read(int fd)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The words cannot be sealed: members map them writable. So clients get this descriptor. */
static int open_words_again(struct shm_region *r)
{
	r->words_read = open_to_read(r->fd[TRANSPORT_WORDS]);
	return r->words_read < 0 ? -errno : 0;
}

void shm_region_files(const struct shm_region *r, bool atomics, int file[TRANSPORT_PARTS])
{
	memcpy(file, r->fd, sizeof(r->fd));
	if (!atomics)
		file[TRANSPORT_WORDS] = r->words_read;
}

/*
 * Memory that the owner gives. Peers get a descriptor that is open for reading alone: the kernel
 * then refuses them a writable mapping, as it does by the seals of the other parts, which would
 * keep others than us from writing.
 */
static int part_given(struct shm_region *r, const struct transport_conf *c,
		      enum transport_part part, char text[static 256])
{
	int rc = front_map_part(c, part, &r->mem[part], text);

	if (rc)
		return rc;
	r->len[part] = c->bytes[part];
	r->fd[part] = open_to_read(c->fd[part]);
	if (r->fd[part] >= 0)
		return 0;
	snprintf(text, 256, "descriptor %d of part %d cannot be opened again for reading: %s",
		 c->fd[part], part, strerror(errno));
	return -EBADF;
}

static size_t file_len(enum transport_part part, size_t bytes)
{
	if (part == TRANSPORT_TABLE)
		return bytes + SHM_EPOCHS_BYTES;
	return part == TRANSPORT_VERSIONS ? bytes + LIFE_BYTES : bytes;
}

int shm_region_open(struct shm_region *r, const struct transport_conf *c, char text[static 256])
{
	int rc = 0;

	/* Those first: a descriptor of conf.fd that is closed must not be one that we open. */
	for (int i = 0; !rc && i < TRANSPORT_PARTS; i++)
		if (c->fd[i])
			rc = part_given(r, c, (enum transport_part)i, text);
	if (rc)
		return rc;
	for (int i = 0; !rc && i < TRANSPORT_PARTS; i++)
		if (!c->fd[i])
			rc = part_open(r, (enum transport_part)i,
				       file_len((enum transport_part)i, c->bytes[i]));
	if (!rc)
		rc = open_words_again(r);
	if (rc) {
		snprintf(text, 256, "the region's memory could not be made: %s", strerror(-rc));
		return rc;
	}
	/* Behind the table, in the same file: callers can read the epochs, but not write them. */
	r->epochs = (uint64_t *)r->mem[TRANSPORT_TABLE] + c->bytes[TRANSPORT_TABLE] / 8;
	if (c->words)
		memcpy(r->mem[TRANSPORT_WORDS], c->words, c->bytes[TRANSPORT_WORDS]);
	return 0;
}

void shm_region_close(struct shm_region *r)
{
	shm_life_end(&r->life);
	for (int i = 0; i < TRANSPORT_PARTS; i++) {
		/* Peers keep their own mappings: they read on until their links end. */
		if (r->mem[i])
			munmap(r->mem[i], r->len[i]);
		r->mem[i] = NULL;
		shm_close(&r->fd[i]);
	}
	shm_close(&r->words_read);
}

/*
 * If its owner could shrink the file, a read could kill us (SIGBUS). If it were smaller than it
 * claims, too: so the size is compared. A device has neither seals nor size.
 */
static bool is_file_safe(int fd, const struct stat *st, size_t len)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & SEALS_SIZE) == SEALS_SIZE && (size_t)st->st_size >= len;
}

static int part_map(struct shm_map *m, enum transport_part part, int fd, size_t len, int prot)
{
	struct stat st;
	bool device;
	void *mem;

	if (fstat(fd, &st))
		return -EPROTO;
	device = S_ISCHR(st.st_mode) && front_part_given(part);
	if (!device && !is_file_safe(fd, &st, len))
		return -EPROTO;
	mem = mmap(NULL, len, prot, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	m->mem[part] = mem;
	m->len[part] = len;
	return device && front_populate(mem, len) ? -EPROTO : 0;
}

/* 0: there is none. */
static int dup_above(int fd)
{
	int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	return other < 0 ? 0 : other;
}

int shm_map(struct shm_map *m, const int fd[TRANSPORT_PARTS], const struct shm_keys *k,
	    bool atomics)
{
	int rc = 0;

	for (int i = 0; i < TRANSPORT_PARTS; i++)
		if (fd[i] < 0 || !front_part_fits((enum transport_part)i, k->bytes[i]))
			return -EPROTO;
	for (int i = 0; !rc && i < TRANSPORT_PARTS; i++) {
		size_t len = file_len((enum transport_part)i, k->bytes[i]);

		if (len)
			rc = part_map(m, (enum transport_part)i, fd[i], len,
				      i == TRANSPORT_WORDS && atomics ? PROT_READ | PROT_WRITE
								      : PROT_READ);
	}
	if (rc) {
		shm_unmap(m);
		return rc;
	}
	m->epochs = (const uint64_t *)m->mem[TRANSPORT_TABLE] + k->bytes[TRANSPORT_TABLE] / 8;
	m->epoch = k->epoch;
	m->life = (const uint32_t *)m->mem[TRANSPORT_VERSIONS] + k->bytes[TRANSPORT_VERSIONS] / 4;
	/* Without it, others READ by us. */
	if (k->bytes[TRANSPORT_VERSIONS])
		m->versions = dup_above(fd[TRANSPORT_VERSIONS]);
	return 0;
}

void shm_unmap(struct shm_map *m)
{
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		if (m->mem[i])
			munmap(m->mem[i], m->len[i]);
	if (m->versions)
		close(m->versions);
	memset(m, 0, sizeof(*m));
}

int shm_share(const struct transport *t, const struct transport_out *o, int *fd)
{
	const struct shm_map *m = &((const struct shm *)t)->out[o - t->out].map;
	int other = m->versions ? fcntl(m->versions, F_DUPFD_CLOEXEC, 0) : -1;

	if (other < 0)
		return m->versions ? -errno : -EMFILE;
	*fd = other;
	return 0;
}
