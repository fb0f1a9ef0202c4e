// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * life: this process lives, or is dead: told by the kernel. See life.h.
 *
 * A thread has one list of robust futexes, and the kernel finds the word of each entry at one
 * distance from it. So each life has two pages: its entry is in the first one, which is private,
 * and its word at the same place of the second one, which is shared.
 */
#include "config.h"

#include "src/transport/shm/life.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2 * PAGE };

struct life_list {
	struct robust_list_head head; /* the first member: the kernel knows it */
	void *old;		      /* the thread's list of before */
	size_t old_bytes;
};

static struct robust_list *entry_of(const struct shm_life *l)
{
	return l->pages;
}

static uint32_t *word_of(const struct shm_life *l)
{
	return (uint32_t *)(void *)((char *)l->pages + PAGE);
}

/* This thread's list, if it is one of lives. */
static struct life_list *list_here(void)
{
	struct robust_list_head *head = NULL;
	size_t bytes = 0;

	if (syscall(SYS_get_robust_list, 0, &head, &bytes) || !head || head->futex_offset != PAGE)
		return NULL;
	return (struct life_list *)head;
}

static int list_new(struct life_list **out)
{
	struct life_list *list = calloc(1, sizeof(*list));
	int rc = 0;

	if (!list)
		return -ENOMEM;
	list->head.list.next = &list->head.list;
	list->head.futex_offset = PAGE;
	if (syscall(SYS_get_robust_list, 0, &list->old, &list->old_bytes) ||
	    syscall(SYS_set_robust_list, &list->head, sizeof(list->head)))
		rc = -errno;
	if (rc)
		free(list);
	else
		*out = list;
	return rc;
}

static int enter(struct shm_life *l)
{
	struct robust_list *entry = entry_of(l);
	int rc = 0;

	l->list = list_here();
	if (!l->list)
		rc = list_new(&l->list);
	if (rc)
		return rc;
	entry->next = l->list->head.list.next;
	__atomic_store_n(&l->list->head.list.next, entry, __ATOMIC_SEQ_CST);
	return 0;
}

static void leave(struct shm_life *l)
{
	struct life_list *list = l->list;
	struct robust_list *at = &list->head.list;

	while (at->next != entry_of(l))
		at = at->next;
	__atomic_store_n(&at->next, at->next->next, __ATOMIC_SEQ_CST);
	if (list->head.list.next != &list->head.list || list_here() != list)
		return;
	syscall(SYS_set_robust_list, list->old, list->old_bytes);
	free(list);
}

int shm_life_begin(struct shm_life *l, int fd, off_t at)
{
	int rc;

	*l = (struct shm_life){ .process = getpid() };
	l->pages = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (l->pages == MAP_FAILED) {
		l->pages = NULL;
		return -errno;
	}
	rc = mmap(word_of(l), PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, at) ==
			     MAP_FAILED
		     ? -errno
		     : enter(l);
	if (rc) {
		munmap(l->pages, PAGES);
		l->pages = NULL;
		return rc;
	}
	/* In the list before: from here it is marked, whatever happens. */
	__atomic_store_n(word_of(l), (uint32_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	return 0;
}

void shm_life_end(struct shm_life *l)
{
	if (!l->pages)
		return;
	if (l->process == getpid()) {
		__atomic_store_n(word_of(l), 0, __ATOMIC_SEQ_CST);
		leave(l);
	}
	munmap(l->pages, PAGES);
	l->pages = NULL;
}
