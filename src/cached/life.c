// SPDX-License-Identifier: GPL-2.0-or-later
/* life: this process lives, or is dead: told by the kernel. See life.h. */
#define _GNU_SOURCE /* gettid */
#include "src/cached/life.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int life_begin(struct life *l, uint64_t *word)
{
	uint32_t *futex = (uint32_t *)word; /* little-endian: its low half */

	*l = (struct life){ 0 };
	if (syscall(SYS_get_robust_list, 0, &l->old, &l->old_bytes))
		return -errno;
	l->head.list.next = &l->entry;
	l->entry.next = &l->head.list;
	l->head.futex_offset = (long)((intptr_t)futex - (intptr_t)&l->entry);
	if (syscall(SYS_set_robust_list, &l->head, sizeof(l->head)))
		return -errno;
	l->futex = futex;
	__atomic_store_n(futex, (uint32_t)gettid(), __ATOMIC_SEQ_CST);
	return 0;
}

void life_end(struct life *l)
{
	if (!l->futex)
		return;
	__atomic_store_n(l->futex, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_set_robust_list, l->old, l->old_bytes);
	l->futex = NULL;
}
