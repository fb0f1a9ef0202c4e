// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devices: uverbsN -> its RDMA device and driver, from sysfs and rdma netlink (nldev.c).
 * track asks when it finds a mapping of uverbsN. See devices.h.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "ibmon/agent/devices.h"

/* Bytes of a reason, with the path of a sysfs attribute in it. */
enum { REASON = 160 };

void devices_init(struct devices *d, const char *sysfs, const struct log *log)
{
	*d = (struct devices){ .sysfs = sysfs, .log = log };
}

/* A sysfs attribute without its newline. 0 or -errno. */
static int read_attribute(const struct devices *d, uint32_t uverbs, const char *name, char *buf,
			  size_t size)
{
	char path[256];
	ssize_t n;
	int fd, rc;

	buf[0] = '\0';
	snprintf(path, sizeof(path), "%s/uverbs%u/%s", d->sysfs, uverbs, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	/* errno is read before close() may change it. */
	rc = n < 0 ? -errno : -ENODATA;
	close(fd);
	if (n <= 0)
		return rc;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* Parse a decimal number. Its end, or NULL when text does not begin with one. */
static const char *parse_number(const char *text, uint32_t *value)
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

	text = parse_number(text, &major);
	if (!text || *text != ':' || !parse_number(text + 1, &minor))
		return false;
	*dev = makedev(major, minor);
	return true;
}

/*
 * Read from sysfs and rdma netlink what d is. False, with the reason, when one of them fails.
 * The order is node, name, driver: each step needs the one before it.
 */
static bool identify(struct devices *all, struct device *d, char reason[static REASON])
{
	char text[32], name[64];
	dev_t dev;
	uint32_t driver = RDMA_DRIVER_UNKNOWN;
	int rc = read_attribute(all, d->uverbs, "dev", text, sizeof(text));

	if (rc) {
		snprintf(reason, REASON, "%s/uverbs%u/dev: %s", all->sysfs, d->uverbs,
			 strerror(-rc));
		return false;
	}
	if (!parse_dev(text, &dev)) {
		snprintf(reason, REASON, "%s/uverbs%u/dev is not MAJOR:MINOR", all->sysfs,
			 d->uverbs);
		return false;
	}
	rc = read_attribute(all, d->uverbs, "ibdev", name, sizeof(name));
	if (rc) {
		snprintf(reason, REASON, "%s/uverbs%u/ibdev: %s", all->sysfs, d->uverbs,
			 strerror(-rc));
		return false;
	}
	/* One socket serves all devices and all later lists of objects. */
	rc = all->nl ? 0 : nldev_open(&all->nl);
	if (rc) {
		snprintf(reason, REASON, "rdma netlink: %s; is the module ib_core loaded?",
			 strerror(-rc));
		return false;
	}
	rc = nldev_device(all->nl, name, &d->index, &driver);
	if (rc) {
		snprintf(reason, REASON, "rdma netlink about %s: %s; compare \"rdma link\"", name,
			 strerror(-rc));
		return false;
	}
	/* Set only now: a device is known with all its fields or not at all. */
	d->dev = dev;
	d->rxe = driver == RDMA_DRIVER_RXE;
	d->known = true;
	return true;
}

/*
 * A device that cannot be identified keeps its entry: the next look tries again, and its
 * reason is logged once.
 */
const struct device *devices_find(struct devices *d, uint32_t uverbs)
{
	struct device *dev = d->dev;
	char reason[REASON];

	while (dev < d->dev + d->n && dev->uverbs != uverbs)
		dev++;
	if (dev == d->dev + d->n) {
		if (d->n == DEVICES_MAX) {
			if (!d->full_logged)
				log_msg(d->log, LOG_LVL_WARNING,
					"more than %d RDMA devices: rings on uverbs%u and later "
					"ones are not published",
					DEVICES_MAX, uverbs);
			d->full_logged = true;
			return NULL;
		}
		*dev = (struct device){ .uverbs = uverbs };
		d->n++;
	}
	if (dev->known || identify(d, dev, reason))
		return dev;
	if (!dev->logged)
		log_msg(d->log, LOG_LVL_WARNING,
			"uverbs%u cannot be identified, and its rings are not published: %s",
			uverbs, reason);
	dev->logged = true;
	return NULL;
}

/* No folder means that RDMA is not loaded: zero devices, not an error. */
uint32_t devices_look(struct devices *d)
{
	DIR *dir = opendir(d->sysfs);
	const struct dirent *e;
	uint32_t n, known = 0;

	while (dir && (e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, "uverbs", 6) == 0 && parse_number(e->d_name + 6, &n) &&
		    devices_find(d, n))
			known++;
	if (dir)
		closedir(dir);
	return known;
}

void devices_forget(struct devices *d)
{
	d->n = 0;
	d->full_logged = false;
}

void devices_close(struct devices *d)
{
	nldev_close(d->nl);
	d->nl = NULL;
}
