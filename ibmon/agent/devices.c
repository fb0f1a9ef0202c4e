// SPDX-License-Identifier: GPL-2.0-or-later
/* devices: see devices.h. */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A decimal number; where it ends, NULL when there is none. */
static const char *number(const char *text, uint32_t *value)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || v > UINT32_MAX)
		return NULL;
	*value = (uint32_t)v;
	return end;
}

/* "MAJOR:MINOR" */
static bool parse_dev(const char *text, dev_t *dev)
{
	uint32_t major, minor;

	text = number(text, &major);
	if (!text || *text != ':' || !number(text + 1, &minor))
		return false;
	*dev = makedev(major, minor);
	return true;
}

static bool ask(struct devices *all, struct device *d)
{
	char text[32], name[64];
	dev_t dev;
	uint32_t driver = RDMA_DRIVER_UNKNOWN;

	if (!attribute(d->uverbs, "dev", text, sizeof(text)) || !parse_dev(text, &dev))
		return false;
	if (!attribute(d->uverbs, "ibdev", name, sizeof(name)))
		return false;
	if (!all->nl && nldev_open(&all->nl))
		return false;
	if (nldev_device(all->nl, name, &d->index, &driver))
		return false;
	d->dev = dev;
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
		if (strncmp(e->d_name, "uverbs", 6) == 0 && number(e->d_name + 6, &n) &&
		    devices_find(d, n))
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
