// SPDX-License-Identifier: GPL-2.0-or-later
/* devices: see devices.h. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "ibmon/agent/devices.h"

#define CLASS_DIR "/sys/class/infiniband_verbs"

/* A sysfs attribute without its newline; false where there is none. */
static bool attribute(uint32_t uverbs, const char *name, char *buf, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), CLASS_DIR "/uverbs%u/%s", uverbs, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

static bool ask(struct devices *all, struct device *d)
{
	char text[32], name[64];
	unsigned int major, minor;
	uint32_t driver = RDMA_DRIVER_UNKNOWN;

	if (!attribute(d->uverbs, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	if (!attribute(d->uverbs, "ibdev", name, sizeof(name)))
		return false;
	if (!all->nl && nldev_open(&all->nl))
		return false;
	if (nldev_device(all->nl, name, &d->index, &driver))
		return false;
	d->dev = makedev(major, minor);
	d->rxe = driver == RDMA_DRIVER_RXE;
	d->known = true;
	return true;
}

const struct device *devices_find(struct devices *d, uint32_t uverbs)
{
	struct device *dev = d->dev;

	while (dev < d->dev + d->n && dev->uverbs != uverbs)
		dev++;
	if (dev == d->dev + d->n) {
		if (d->n == DEVICES_MAX)
			return NULL;
		*dev = (struct device){ .uverbs = uverbs };
		d->n++;
	}
	if (!dev->known && !ask(d, dev))
		return NULL;
	return dev;
}

uint32_t devices_look(struct devices *d)
{
	DIR *dir = opendir(CLASS_DIR);
	const struct dirent *e;
	uint32_t n, known = 0;

	while (dir && (e = readdir(dir)) != NULL)
		if (sscanf(e->d_name, "uverbs%u", &n) == 1 && devices_find(d, n))
			known++;
	if (dir)
		closedir(dir);
	return known;
}

void devices_forget(struct devices *d)
{
	d->n = 0;
}

void devices_close(struct devices *d)
{
	nldev_close(d->nl);
	d->nl = NULL;
}
