// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queue_list: what preload.c knows of queues -> the table that the agent reads. See queue_list.h.
 *
 * The table is a memfd without a descriptor: a program that closes all descriptors does not close
 * it. A child does not have it. A child made by clone(2), for which no fork handler runs, is
 * recognized by its process id.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memfd_create */
#endif
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "ibmon/rings/queue_list.h"
#include "resex/guest_abi.h"

static struct queue_table *table_new(void)
{
	struct queue_table *t = NULL;
	uint64_t nonce;
	void *at;
	int fd = memfd_create(QUEUE_TABLE_NAME, MFD_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, sizeof(*t)) == 0 &&
	    getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) == sizeof(nonce)) {
		at = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED && madvise(at, sizeof(*t), MADV_DONTFORK))
			munmap(at, sizeof(*t));
		else if (at != MAP_FAILED)
			t = (struct queue_table *)at;
	}
	close(fd);
	if (!t)
		return NULL;
	t->nonce = nonce;
	t->version = QUEUE_TABLE_VERSION;
	__atomic_store_n(&t->magic, QUEUE_TABLE_MAGIC, __ATOMIC_RELEASE);
	return t;
}

/* A child's list is empty; its memory has no table at the parent's address. */
static void forget(struct queue_list *l)
{
	l->table = NULL;
	l->named = false;
	memset(l->object, 0, sizeof(l->object));
	memset(l->owner, 0, sizeof(l->owner));
	memset(l->unlisted, 0, sizeof(l->unlisted));
}

static void lock(struct queue_list *l)
{
	pthread_mutex_lock(&l->lock);
	if (l->table && l->pid != getpid())
		forget(l);
}

static void unlock(struct queue_list *l)
{
	pthread_mutex_unlock(&l->lock);
}

/* Readers see an odd generation before the first change, and an even one after the last. */
static void turn_generation(struct queue_table *t)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->generation, t->generation + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static int find(const void *const *of, int n, const void *object)
{
	int i = 0;

	while (i < n && of[i] != object)
		i++;
	return i;
}

/* Counted, so that the agent can say that queue pairs are not read. */
static void count_unlisted(struct queue_list *l)
{
	uint32_t n = 0;

	for (int i = 0; i < QUEUE_LIST_UNLISTED_MAX; i++)
		n += l->unlisted[i] != NULL;
	__atomic_store_n(&l->table->unlisted, n, __ATOMIC_RELAXED);
}

static bool list_unlisted(struct queue_list *l, const void *object, bool add)
{
	int i = find(l->unlisted, QUEUE_LIST_UNLISTED_MAX, object);

	if (add == (i < QUEUE_LIST_UNLISTED_MAX))
		return false;
	if (add)
		i = find(l->unlisted, QUEUE_LIST_UNLISTED_MAX, NULL);
	if (i == QUEUE_LIST_UNLISTED_MAX)
		return false;
	l->unlisted[i] = add ? object : NULL;
	turn_generation(l->table);
	count_unlisted(l);
	turn_generation(l->table);
	return true;
}

static void set_entry(struct queue_list *l, int i, const void *object, const void *owner,
		      const struct queue_entry *e)
{
	turn_generation(l->table);
	l->table->entry[i] = *e;
	turn_generation(l->table);
	l->object[i] = object;
	l->owner[i] = owner;
}

bool queue_list_put(struct queue_list *l, const void *object, const void *owner,
		    const struct queue_entry *e)
{
	struct queue_entry n = *e;
	bool changed = false;
	int i;

	lock(l);
	if (!l->table) {
		l->table = table_new();
		l->pid = getpid();
	}
	if (!l->table)
		goto out;
	i = find(l->object, QUEUE_TABLE_ENTRIES, object);
	if (i == QUEUE_TABLE_ENTRIES)
		i = find(l->object, QUEUE_TABLE_ENTRIES, NULL);
	if (i == QUEUE_TABLE_ENTRIES) {
		changed = e->kind == GUEST_RING_SQ && list_unlisted(l, object, true);
		goto out;
	}
	list_unlisted(l, object, false);
	n.serial = ++l->serial;
	set_entry(l, i, object, owner, &n);
	changed = true;
out:
	unlock(l);
	return changed;
}

bool queue_list_take(struct queue_list *l, const void *object, struct queue_entry *was)
{
	static const struct queue_entry none;
	bool found = false;
	int i;

	lock(l);
	i = l->table ? find(l->object, QUEUE_TABLE_ENTRIES, object) : QUEUE_TABLE_ENTRIES;
	if (i < QUEUE_TABLE_ENTRIES) {
		*was = l->table->entry[i];
		set_entry(l, i, NULL, NULL, &none);
		found = true;
	} else if (l->table) {
		list_unlisted(l, object, false);
	}
	unlock(l);
	return found;
}

bool queue_list_take_all(struct queue_list *l, const void *owner)
{
	static const struct queue_entry none;
	bool found = false;

	lock(l);
	for (int i = 0; l->table && i < QUEUE_TABLE_ENTRIES; i++) {
		if (!l->object[i] || l->owner[i] != owner)
			continue;
		set_entry(l, i, NULL, NULL, &none);
		found = true;
	}
	unlock(l);
	return found;
}

bool queue_list_has(struct queue_list *l, const void *object)
{
	bool has;

	lock(l);
	has = l->table && find(l->object, QUEUE_TABLE_ENTRIES, object) < QUEUE_TABLE_ENTRIES;
	unlock(l);
	return has;
}

bool queue_list_where(struct queue_list *l, uint64_t *address, uint64_t *nonce, bool *first)
{
	bool is;

	lock(l);
	is = l->table != NULL;
	if (is) {
		*address = (uint64_t)(uintptr_t)l->table;
		*nonce = l->table->nonce;
		*first = !l->named;
		l->named = true;
	}
	unlock(l);
	return is;
}

/* Not lock(): the parent's list is not looked at. */
void queue_list_fork(struct queue_list *l)
{
	pthread_mutex_lock(&l->lock);
}

void queue_list_parent(struct queue_list *l)
{
	pthread_mutex_unlock(&l->lock);
}

void queue_list_child(struct queue_list *l)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	l->lock = fresh;
	forget(l);
}
