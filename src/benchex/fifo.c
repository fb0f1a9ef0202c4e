// SPDX-License-Identifier: GPL-2.0-or-later
/* fifo: the server's requests that wait, over all clients: a ring buffer that grows. See fifo.h. */
#include "src/benchex/fifo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Room is made when a client connects, by what its hello announced. So a push never
 * allocates, and a client that sends more than it announced is noticed.
 */
int bx_fifo_room(struct bx_fifo *f, size_t room)
{
	struct bx_waiting *at;

	if (room <= f->room)
		return 0;
	at = calloc(room, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++)
		at[i] = f->at[(f->first + i) % f->room];
	free(f->at);
	f->at = at;
	f->room = room;
	f->first = 0;
	return 0;
}

int bx_fifo_push(struct bx_fifo *f, const struct bx_waiting *w)
{
	if (f->n == f->room)
		return -ENOBUFS;
	f->at[(f->first + f->n++) % f->room] = *w;
	return 0;
}

static struct bx_waiting *nth(const struct bx_fifo *f, size_t i)
{
	return &f->at[(f->first + i) % f->room];
}

/* Those before the removed one move back by one place: the order of arrival is kept. */
bool bx_fifo_pop(struct bx_fifo *f, bool (*may)(const void *arg, const struct bx_waiting *w),
		 const void *arg, struct bx_waiting *w)
{
	size_t i = 0;

	while (i < f->n && !may(arg, nth(f, i)))
		i++;
	if (i == f->n)
		return false;
	*w = *nth(f, i);
	for (; i > 0; i--)
		*nth(f, i) = *nth(f, i - 1);
	f->first = (f->first + 1) % f->room;
	f->n--;
	return true;
}

/* In place: what is kept is written at or before the place where it was read. */
void bx_fifo_forget(struct bx_fifo *f, uint32_t conn, uint32_t gen)
{
	size_t all = f->n;

	f->n = 0;
	for (size_t i = 0; i < all; i++) {
		const struct bx_waiting w = *nth(f, i);

		if (w.conn != conn || w.gen != gen)
			*nth(f, f->n++) = w;
	}
}

void bx_fifo_free(struct bx_fifo *f)
{
	free(f->at);
	memset(f, 0, sizeof(*f));
}
