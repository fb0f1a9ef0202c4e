// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * track_users: find the processes that use RDMA, and notice whether one may have
 * changed since its last full scan.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ibmon/agent/proc.h"
#include "ibmon/agent/track_priv.h"

enum {
	AGAIN_FILES = 512,  /* read of processes that are looked at again, a list */
	FRAMES_LOOKED = 16, /* rings of a user whose first frame a quick scan compares */
};

size_t track_users(const struct track *t)
{
	return t->users;
}

static bool is_user(const struct track *t, pid_t pid)
{
	for (size_t i = 0; i < t->users; i++)
		if (t->user[i].pid == pid)
			return true;
	return false;
}

static int open_proc_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Add a user; its exit is watched first, so that it cannot be missed. statm stays open: a
 * quick scan reads it many times a second.
 */
static int user_add(struct track *t, pid_t pid)
{
	struct track_user *u = &t->user[t->users];
	int rc;

	if (t->users == TRACK_USERS_MAX) {
		if (!t->warned_users)
			log_msg(t->log, LOG_LVL_WARNING,
				"more than %d processes use RDMA: pid %d and later ones are not "
				"watched",
				TRACK_USERS_MAX, (int)pid);
		t->warned_users = true;
		return -ENOSPC;
	}
	rc = t->sink->join(t->ctx, pid);
	if (rc)
		return rc;
	*u = (struct track_user){ .pid = pid,
				  .statm = open_proc_file(pid, "statm"),
				  .pagemap = -1 };
	t->users++;
	return 0;
}

static void user_close(struct track_user *u)
{
	if (u->statm >= 0)
		close(u->statm);
	if (u->pagemap >= 0)
		close(u->pagemap);
}

void track_user_remove(struct track *t, pid_t pid)
{
	for (size_t i = 0; i < t->users; i++) {
		if (t->user[i].pid != pid)
			continue;
		user_close(&t->user[i]);
		t->user[i] = t->user[--t->users];
		return;
	}
}

void track_users_close(struct track *t)
{
	while (t->users)
		user_close(&t->user[--t->users]);
	procs_close(&t->procs);
}

/* Pages of address space; 0: unknown. The first number of statm, in pages. */
static uint64_t address_space_pages(const struct track_user *u)
{
	char buf[64];
	ssize_t n = u->statm < 0 ? -1 : pread(u->statm, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return 0;
	buf[n] = '\0';
	return strtoull(buf, NULL, 10);
}

void track_user_look(struct track_user *u)
{
	if (u->pagemap >= 0)
		close(u->pagemap); /* after exec an old descriptor still shows the old program */
	u->pagemap = open_proc_file(u->pid, "pagemap");
	u->size = address_space_pages(u);
}

/*
 * Is it still the same memory? A recreated device starts again at page offset 0x1000. One
 * frame is enough: the kernel allocates all of a ring at once.
 */
bool track_same_frame(struct track *t, const struct track_ring *r, uint64_t addr)
{
	uint64_t frame;

	return pagemap_frames(&t->pagemap, addr, 1, &frame) == 0 && frame == r->frame[0];
}

/* Do its rings still have the same frames? Compares a few rings each time, in turn. */
static bool frames_unchanged(struct track *t, struct track_user *u)
{
	size_t looked = 0;

	pagemap_init(&t->pagemap, u->pagemap);
	for (size_t k = 0; k < t->rings && looked < FRAMES_LOOKED; k++) {
		const struct track_ring *r = t->ring[(u->next + k) % t->rings];

		if (r->pid != u->pid)
			continue;
		if (!track_same_frame(t, r, r->addr))
			return false;
		looked++;
	}
	u->next = t->rings ? (u->next + FRAMES_LOOKED) % t->rings : 0;
	return true;
}

static const struct maps_ring *mapping_at(const struct maps_ring *found, size_t n, uint64_t addr)
{
	size_t lo = 0;

	while (lo < n) { /* maps are in the order of addresses */
		size_t mid = lo + (n - lo) / 2;

		if (found[mid].start == addr)
			return &found[mid];
		if (found[mid].start < addr)
			lo = mid + 1;
		else
			n = mid;
	}
	return NULL;
}

bool track_user_same(struct track *t, struct track_user *u)
{
	int n = -1;

	for (size_t i = 0; i < t->rings; i++) {
		const struct track_ring *r = t->ring[i];
		const struct maps_ring *m;

		if (r->pid != u->pid)
			continue;
		if (n < 0)
			n = proc_rings(u->pid, t->found, TRACK_USER_RINGS_MAX);
		m = n > 0 ? mapping_at(t->found, (size_t)n, r->addr) : NULL;
		if (m && m->pgoff == r->what.pgoff && m->uverbs == r->uverbs)
			continue;
		u->size = 0; /* the next scan reads all maps */
		return false;
	}
	return true;
}

/*
 * A ring that is mapped or unmapped changes the size of the address space. The size alone
 * would miss a ring that is unmapped while another of its size is mapped: the frames show
 * that, a few rings each time.
 */
bool track_users_quiet(struct track *t)
{
	for (size_t i = 0; i < t->users; i++) {
		struct track_user *u = &t->user[i];

		if (!u->size || address_space_pages(u) != u->size || !frames_unchanged(t, u))
			return false;
	}
	return true;
}

/* Is it a user, by its open files or its mappings? Adds how many files were read. */
static bool looks_like_user(pid_t pid, uint32_t *files)
{
	struct maps_ring one;

	return proc_has_uverbs(pid, files) || proc_rings(pid, &one, 1) > 0;
}

/* Processes that hold a context, from the kernel. Cheap, but misses children after fork. */
static int walk_contexts(struct track *t)
{
	int found = 0;

	for (uint32_t i = 0; i < t->devices.n; i++) {
		const struct device *d = &t->devices.dev[i];
		int rc;

		if (!d->known || !d->rxe)
			continue;
		rc = nldev_contexts(t->devices.nl, d->index, &t->objects);
		if (rc)
			return rc;
		for (uint32_t k = 0; k < t->objects.ctxs; k++) {
			pid_t pid = proc_tgid((pid_t)t->objects.ctx_tid[k]);

			if (pid > 0 && !is_user(t, pid) && user_add(t, pid) == 0)
				found++;
		}
	}
	return found;
}

/* The number of new users: 0 or 1. */
static int look_at(struct track *t, pid_t pid, uint32_t *files)
{
	if (pid == getpid() || is_user(t, pid))
		return 0;
	*files += TRACK_PROCESS_FILES;
	return looks_like_user(pid, files) && user_add(t, pid) == 0;
}

static int list_one(void *ctx, pid_t pid)
{
	return procs_add((struct procs *)ctx, pid);
}

int track_list(struct track *t)
{
	int rc;

	if (!devices_look(&t->devices))
		return 0;
	t->again_files = 0;
	procs_begin(&t->procs);
	rc = proc_each(list_one, &t->procs);
	if (!rc)
		procs_end(&t->procs);
	return rc;
}

int track_opened(struct track *t)
{
	int rc;

	if (!devices_look(&t->devices))
		return 0;
	rc = walk_contexts(t);
	if (rc < 0) /* an old kernel cannot tell */
		procs_repeat(&t->procs);
	return rc;
}

int track_look(struct track *t, uint32_t files)
{
	uint32_t read = 0, before;
	int found = 0;
	pid_t pid;

	while (read < files && procs_new(&t->procs, &pid))
		found += look_at(t, pid, &read);
	while (read < files && t->again_files < AGAIN_FILES && procs_again(&t->procs, &pid)) {
		before = read;
		found += look_at(t, pid, &read);
		t->again_files += read - before;
	}
	return found;
}

bool track_looks(const struct track *t)
{
	return procs_may_new(&t->procs) ||
	       (t->again_files < AGAIN_FILES && procs_may_again(&t->procs));
}

/*
 * A process may close its devices and go on running: it is not a user then. Reading its
 * maps in each scan would cost time for nothing.
 */
void track_tidy(struct track *t)
{
	for (size_t i = t->users; i-- > 0;) {
		pid_t pid = t->user[i].pid;
		uint32_t files = 0;

		if (!looks_like_user(pid, &files))
			track_user_remove(t, pid);
	}
}
