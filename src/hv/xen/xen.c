// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xen: the Xen backend's table, and the first step of its three handles: find
 * out whether this is dom0 of a Xen host that these libraries support.
 *
 * libxenctrl is made for one version of Xen. Another hypervisor answers
 * -EACCES to a sysctl or domctl. Both are tried once at open, to tell this
 * from missing rights, which open(2) of the device shows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xen/features.h>

#include "src/hv/backends.h"
#include "src/hv/xen/xen.h"

#define PRIVCMD "/dev/xen/privcmd"

__attribute__((format(printf, 5, 0))) static void drop_message(struct xentoollog_logger *logger,
							       xentoollog_level level, int errnoval,
							       const char *context,
							       const char *format, va_list al)
{
	(void)logger;
	(void)level;
	(void)errnoval;
	(void)context;
	(void)format;
	(void)al;
}

/*
 * Xen's libraries would print their own messages to stderr, besides the sentence that
 * resexd logs.
 */
static void drop_logger(struct xentoollog_logger *logger)
{
	(void)logger;
}

void hv_xen_quiet_init(struct hv_xen_quiet *q)
{
	memset(q, 0, sizeof(*q));
	q->logger.vmessage = drop_message;
	q->logger.destroy = drop_logger;
}

/* The first bytes of a small file as a string; its length, or -errno. */
static ssize_t read_text(const char *path, char *buf, size_t size)
{
	ssize_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	len = read(fd, buf, size - 1);
	if (len < 0)
		len = -errno;
	else
		buf[len] = '\0';
	close(fd);
	return len;
}

/* dom0 boots with Xen: its boot is the hypervisor's. */
static void xen_boot(char *id, size_t size)
{
	if (read_text("/proc/sys/kernel/random/boot_id", id, size) < 0)
		id[0] = '\0';
	id[strcspn(id, "\n")] = '\0';
}

const struct hv_backend hv_xen = {
	.name = "xen",
	.counters = HV_COUNTERS_KERNEL,
	.boot = xen_boot,
	.mem = &hv_xen_mem,
	.sched = &hv_xen_sched,
	.watch = &hv_xen_watch,
};

static bool on_xen(void)
{
	char type[16];

	if (read_text("/sys/hypervisor/type", type, sizeof(type)) > 0 && !strncmp(type, "xen", 3))
		return true;
	return !access("/proc/xen/capabilities", F_OK);
}

/*
 * sysfs has the features that Xen offered this kernel; xenfs, the older way,
 * need not be mounted.
 */
static bool is_dom0(void)
{
	char text[64];

	if (read_text("/sys/hypervisor/properties/features", text, sizeof(text)) > 0)
		return strtoull(text, NULL, 16) & (1ull << XENFEAT_dom0);
	if (read_text("/proc/xen/capabilities", text, sizeof(text)) > 0)
		return strstr(text, "control_d") != NULL;
	return false;
}

int hv_xen_host(void)
{
	int fd;

	if (!on_xen())
		return -ENOSYS;
	if (!is_dom0())
		return -ENXIO;
	fd = open(PRIVCMD, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENODEV;
	close(fd);
	return 0;
}

static int probe_error(void)
{
	if (errno == EACCES || errno == ENOSYS || errno == EOPNOTSUPP)
		return -EPROTONOSUPPORT;
	return errno == EPERM ? -EACCES : -errno;
}

/* One sysctl and one domctl, which carry versions of their own. */
static int probe_version(xc_interface *xc)
{
	xc_domaininfo_t info;
	xc_vcpuinfo_t vcpu;

	if (xc_domain_getinfolist(xc, 0, 1, &info) < 0 || xc_vcpu_getinfo(xc, 0, 0, &vcpu) < 0)
		return probe_error();
	return 0;
}

int hv_xen_open(xc_interface **xc, struct hv_xen_quiet *q)
{
	xc_interface *h;
	int ret = hv_xen_host();

	if (ret)
		return ret;
	h = xc_interface_open(&q->logger, &q->logger, 0);
	if (!h)
		return errno ? -errno : -ENODEV;
	ret = probe_version(h);
	if (ret) {
		xc_interface_close(h);
		return ret;
	}
	*xc = h;
	return 0;
}

/*
 * Xen answers with the first domain at or above the given id, and uses 16 bits
 * of it: check that the answer is about the domain that was meant.
 */
int hv_xen_dominfo(xc_interface *xc, uint32_t domid, xc_domaininfo_t *info)
{
	xc_domaininfo_t found;
	int n;

	if (domid >= DOMID_FIRST_RESERVED)
		return -ESRCH;
	n = xc_domain_getinfolist(xc, domid, 1, &found);
	if (n < 0)
		return -errno;
	if (n == 0 || found.domain != domid)
		return -ESRCH;
	*info = found;
	return 0;
}
