// SPDX-License-Identifier: GPL-2.0-or-later
/* kmod: the device of the module resex_loadmon, and what it must know of the kernel. See kmod.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/load/btf.h"
#include "src/load/kmod.h"
#include "src/util/file.h"

enum { BTF_BYTES_MAX = 64 << 20 }; /* a kernel of Debian has 5 MB */

static int kmod_begin(const struct loadmon_fill *f)
{
	int fd = open(LOADMON_PATH, O_RDWR | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, LOADMON_FILL, f))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static void kmod_end(int handle)
{
	close(handle);
}

const struct load_filler load_kmod = { .begin = kmod_begin, .end = kmod_end };

uint32_t load_running_offset(const char *file)
{
	uint32_t offset = LOADMON_NO_OFFSET;
	char *data = NULL;
	size_t len;

	if (file_load(file, BTF_BYTES_MAX, &data, &len))
		return offset;
	if (load_btf_offset(data, len, "rq", "nr_running", &offset) || offset >= LOADMON_OFFSET_MAX)
		offset = LOADMON_NO_OFFSET;
	free(data);
	return offset;
}
