// SPDX-License-Identifier: GPL-2.0-or-later
/* journal: the actor's notes in a mapped file, and what the next run reads of it. See journal.h. */
#include "src/guests/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/util/file.h"

enum { VERSION = 1, HEADER_SIZE = 4096 };

static const char magic[8] = "RESEXCW";

struct header {
	char magic[8];
	uint32_t version, slots, slot_size, reserved;
	char boot[RESTORE_BOOT_MAX];
};

#define FILE_SIZE (HEADER_SIZE + FLOW_GUESTS_MAX * sizeof(struct written))

static void file_of(const struct restore *r, char path[static 128])
{
	snprintf(path, 128, "%s/caps.written", r->dir);
}

static bool is_whole(const char *data, size_t len)
{
	struct header h;

	if (len != FILE_SIZE)
		return false;
	memcpy(&h, data, sizeof(h));
	return !memcmp(h.magic, magic, sizeof(magic)) && h.version == VERSION &&
	       h.slots == FLOW_GUESTS_MAX && h.slot_size == sizeof(struct written);
}

static bool same_boot(const char *data, const char *boot)
{
	struct header h;

	memcpy(&h, data, sizeof(h));
	return !strncmp(h.boot, boot, sizeof(h.boot));
}

/* A domain is found by its id only in the boot that the file is of. */
static void read_record(struct restore *r, const struct written *w, bool same)
{
	struct saved_cap *c = same ? restore_find(r, w->domid, w->uuid) : NULL;

	if (!w->domid)
		return;
	if (!c)
		c = restore_before(r, UINT32_MAX, w->uuid);
	if (c)
		journal_note(w, c);
}

int journal_read(struct restore *r)
{
	char path[128], *data = NULL;
	size_t len = 0;
	bool same;
	int rc;

	file_of(r, path);
	rc = file_load(path, FILE_SIZE, &data, &len);
	if (rc == -EINVAL || rc == -EFBIG || (!rc && !is_whole(data, len)))
		rc = -EBADMSG;
	if (rc) {
		free(data);
		return rc;
	}
	same = same_boot(data, r->boot);
	r->removed = false;
	for (uint32_t i = 0; same && i < r->entries; i++)
		r->entry[i].last.known = true;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct written w;

		memcpy(&w, data + HEADER_SIZE + i * sizeof(w), sizeof(w));
		read_record(r, &w, same);
		r->removed |= same && r->absent && w.domid && w.last & WRITTEN_ANY;
	}
	free(data);
	return 0;
}

static int map_new(int fd, const char *boot, void **out)
{
	struct header h = { .version = VERSION,
			    .slots = FLOW_GUESTS_MAX,
			    .slot_size = sizeof(struct written) };
	void *p;
	int rc = posix_fallocate(fd, 0, FILE_SIZE);

	if (rc)
		return -rc;
	p = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	memcpy(h.magic, magic, sizeof(magic));
	snprintf(h.boot, sizeof(h.boot), "%s", boot);
	memcpy(p, &h, sizeof(h));
	*out = p;
	return 0;
}

/* The former file counts until the new one is whole. */
int journal_open(struct written **w, struct restore *r)
{
	char path[128], fresh[136];
	void *p = NULL;
	int fd, rc;

	file_of(r, path);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = map_new(fd, r->boot, &p);
	close(fd);
	if (!rc && rename(fresh, path))
		rc = -errno;
	if (rc) {
		unlink(fresh);
		if (p)
			munmap(p, FILE_SIZE);
		return rc;
	}
	kept_file_note(&r->journal_kept, path);
	*w = (struct written *)((char *)p + HEADER_SIZE);
	return 0;
}

bool journal_is_kept(const struct restore *r)
{
	char path[128];

	file_of(r, path);
	return kept_file_is_there(&r->journal_kept, path);
}

void journal_close(struct written *w)
{
	if (w)
		munmap((char *)w - HEADER_SIZE, FILE_SIZE);
}

int journal_remove(const struct restore *r)
{
	char path[128];

	file_of(r, path);
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/* No mail is under way: the guest before has left, and this one is not cappable yet. */
void journal_begin(struct written *w, const struct saved_cap *c)
{
	atomic_store(&w->domid, 0);
	memcpy(w->uuid, c->uuid, sizeof(w->uuid));
	for (uint32_t i = 0; i < WRITTEN_PERCENTS / 64; i++)
		atomic_store_explicit(&w->set[i], c->written.bit[i], memory_order_relaxed);
	atomic_store(&w->last,
		     c->last.any ? WRITTEN_ANY | (uint64_t)c->last.from << 16 | c->last.to : 0);
	atomic_store(&w->domid, c->domid);
}

void journal_note(const struct written *w, struct saved_cap *c)
{
	uint64_t last = atomic_load(&w->last);

	if (memcmp(w->uuid, c->uuid, sizeof(c->uuid)) != 0)
		return;
	for (uint32_t i = 0; i < WRITTEN_PERCENTS / 64; i++)
		c->written.bit[i] |= atomic_load_explicit(&w->set[i], memory_order_relaxed);
	if (atomic_load(&w->domid) != c->domid)
		return;
	c->last = (struct written_last){ .known = true,
					 .any = (last & WRITTEN_ANY) != 0,
					 .from = last >> 16 & 0xffff,
					 .to = last & 0xffff };
}

void journal_drop(struct written *w, uint32_t percent)
{
	const uint32_t bit = written_bit(percent);

	atomic_fetch_and(&w->set[bit / 64], ~(1ull << (bit % 64)));
}
