// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * procs: lists of processes -> the next to look at. See procs.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/procs.h"

void procs_close(struct procs *p)
{
	free(p->one);
	free(p->next);
	memset(p, 0, sizeof(*p));
}

void procs_begin(struct procs *p)
{
	p->next_n = 0;
}

int procs_add(struct procs *p, pid_t pid)
{
	if (p->next_n == p->next_room) {
		size_t room = p->next_room ? 2 * p->next_room : 256;
		struct procs_one *next = reallocarray(p->next, room, sizeof(*next));

		if (!next)
			return -ENOMEM;
		p->next = next;
		p->next_room = room;
	}
	p->next[p->next_n++] = (struct procs_one){ .pid = pid };
	return 0;
}

/* Both lists are sorted: merge what is known of the processes in both. */
void procs_end(struct procs *p)
{
	struct procs_one *was = p->one;
	size_t k = 0;

	for (size_t i = 0; i < p->next_n; i++) {
		while (k < p->n && was[k].pid < p->next[i].pid)
			k++;
		p->next[i].looked = k < p->n && was[k].pid == p->next[i].pid && was[k].looked;
	}
	p->one = p->next;
	p->n = p->above = p->next_n;
	p->next = NULL;
	p->next_n = p->next_room = 0;
	p->due = (p->n + PROCS_AGAIN - 1) / PROCS_AGAIN;
	free(was);
}

void procs_repeat(struct procs *p)
{
	p->repeat = true;
}

/* One that was not looked at yet, from the highest pid down. */
static bool next_new(struct procs *p, pid_t *pid)
{
	while (p->above) {
		struct procs_one *one = &p->one[--p->above];

		if (one->looked)
			continue;
		one->looked = true;
		*pid = one->pid;
		return true;
	}
	return false;
}

bool procs_new(struct procs *p, pid_t *pid)
{
	if (next_new(p, pid))
		return true;
	if (!p->repeat)
		return false;
	p->repeat = false;
	for (size_t i = 0; i < p->n; i++)
		p->one[i].looked = false;
	p->above = p->n;
	return next_new(p, pid);
}

/* The one above the last one, or the first. */
bool procs_again(struct procs *p, pid_t *pid)
{
	size_t lo = 0, hi = p->n;

	if (!p->due || !p->n)
		return false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->one[mid].pid <= p->again)
			lo = mid + 1;
		else
			hi = mid;
	}
	p->due--;
	p->again = *pid = p->one[lo == p->n ? 0 : lo].pid;
	return true;
}

bool procs_may_new(const struct procs *p)
{
	return p->n && (p->above || p->repeat);
}

bool procs_may_again(const struct procs *p)
{
	return p->n && p->due;
}
