// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plugin_seal: a loaded plug-in cannot write its own variables.
 *
 * A plug-in has no static variables (resex/policy.h, resex/ibmon.h): two instances would share
 * them, and its table and texts, which other threads read, are among them. After it is sealed a
 * write is a fault, which ends a policy's decide() (guard.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/util/plugin_file.h"

struct seal {
	const struct link_map *of;
	int protection;
	int rc;
};

static int protect(const struct seal *s, const Elf64_Phdr *h)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t begin = (s->of->l_addr + h->p_vaddr) / page * page;
	const uint64_t end = s->of->l_addr + h->p_vaddr + h->p_memsz;

	return mprotect((void *)(uintptr_t)begin, end - begin, s->protection) ? -errno
									      : 0; // NOLINT
}

/* For each object of the process; the one that is asked for ends the walk. */
static int protect_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct seal *s = arg;

	(void)size;
	if (info->dlpi_addr != s->of->l_addr)
		return 0;
	s->rc = 0;
	for (int i = 0; !s->rc && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W)
			s->rc = protect(s, &info->dlpi_phdr[i]);
	return 1;
}

int plugin_seal(void *dl, bool sealed)
{
	struct seal s = { .protection = sealed ? PROT_READ : PROT_READ | PROT_WRITE,
			  .rc = -ENOENT };
	struct link_map *of;

	if (dlinfo(dl, RTLD_DI_LINKMAP, &of))
		return -EINVAL;
	s.of = of;
	dl_iterate_phdr(protect_object, &s);
	return s.rc;
}
