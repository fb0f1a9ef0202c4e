// SPDX-License-Identifier: GPL-2.0-or-later
/* policy_pages: guarded memory of plug-ins. See policy_pages.h. */
#include "src/conf/policy_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PARAMS, GLOBAL, GUESTS, INPUT, PLAN, PARTS };

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* In whole pages, one at least: also a policy without state gets an address of its own. */
static size_t pages_of(size_t size)
{
	const size_t page = page_size();

	return size ? (size + page - 1) / page * page : page;
}

static void sizes_of(const struct policy_ops *ops, size_t size[PARTS])
{
	size[PARAMS] = ops->params_size;
	size[GLOBAL] = ops->global_size;
	size[GUESTS] = ops->guest_size * FLOW_GUESTS_MAX;
	size[INPUT] = sizeof(struct policy_in);
	size[PLAN] = sizeof(struct plan);
}

int policy_pages_new(struct policy_inst *pi)
{
	struct policy_apart *a = calloc(1, sizeof(*a));
	const size_t page = page_size();
	size_t size[PARTS], at = page;
	void *part[PARTS];

	if (!a)
		return -ENOMEM;
	sizes_of(pi->ops, size);
	a->length = page;
	for (int i = 0; i < PARTS; i++)
		a->length += pages_of(size[i]) + page;
	a->pages = mmap(NULL, a->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->pages == MAP_FAILED) {
		free(a);
		return -ENOMEM;
	}
	pi->apart = a;
	for (int i = 0; i < PARTS; i++) {
		uint8_t *first = (uint8_t *)a->pages + at;

		if (mprotect(first, pages_of(size[i]), PROT_READ | PROT_WRITE))
			return -ENOMEM; /* policy_pages_free() frees the rest */
		part[i] = first + pages_of(size[i]) - size[i];
		at += pages_of(size[i]) + page;
	}
	pi->params = part[PARAMS];
	pi->global = part[GLOBAL];
	pi->guests = part[GUESTS];
	a->in = part[INPUT];
	a->plan = part[PLAN];
	return 0;
}

void policy_pages_seal(struct policy_inst *pi)
{
	/* They are the first part. A failure leaves them as they are: they are the policy's own. */
	(void)mprotect((uint8_t *)pi->apart->pages + page_size(), pages_of(pi->ops->params_size),
		       PROT_READ);
}

void policy_pages_free(struct policy_inst *pi)
{
	munmap(pi->apart->pages, pi->apart->length);
	free(pi->apart);
	pi->apart = NULL;
}
