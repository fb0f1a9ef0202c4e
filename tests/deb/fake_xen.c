// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_xen: Xen's libraries for a resexd that is installed where no Xen is (./dev deb --test). A
 * shared object that is loaded before them. What Xen would keep, the caps of two guests, is in a
 * file, so that it outlives every resexd, as on a real host.
 *
 * Guest 1, "server", uses no CPU. Guest 2, "bulk", uses as much as 500 CPUs, so that freemarket
 * caps it in the first hundredth of each epoch. Neither has an agent. All is in the folder
 * /dev/xen: a sandboxed unit may write there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xenctrl.h>

#include <xencall.h>
#include <xenforeignmemory.h>
#include <xengnttab.h>
#include <xenstore.h>

#define GUESTS	  3u /* with dom0 */
#define BULK_CPUS 500u

static const char *const names[GUESTS] = { "Domain-0", "server", "bulk" };

struct kept {
	uint16_t cap[GUESTS];
	uint16_t weight[GUESTS];
};

static struct kept *kept(void)
{
	static struct kept *k;
	int fd;

	if (k)
		return k;
	fd = open("/dev/xen/caps", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		abort();
	k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (k == MAP_FAILED)
		abort();
	return k;
}

/* What the kernel of dom0 says in sysfs stands in files of the same last name. */
int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	char other[64];
	va_list al;
	mode_t mode;

	va_start(al, flags);
	mode = flags & O_CREAT ? va_arg(al, mode_t) : 0;
	va_end(al);
	if (!real)
		real = (int (*)(const char *, int, ...))(uintptr_t)dlsym(RTLD_NEXT, "open");
	if (!strncmp(path, "/sys/hypervisor/", 16)) {
		snprintf(other, sizeof(other), "/dev/xen/%s", strrchr(path, '/') + 1);
		path = other;
	}
	return real(path, flags, mode);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

xc_interface *xc_interface_open(xentoollog_logger *logger, xentoollog_logger *dombuild,
				unsigned flags)
{
	(void)logger;
	(void)dombuild;
	(void)flags;
	return (xc_interface *)kept();
}

int xc_interface_close(xc_interface *xc)
{
	(void)xc;
	return 0;
}

int xc_domain_getinfolist(xc_interface *xc, uint32_t first, unsigned int max, xc_domaininfo_t *info)
{
	int n = 0;

	(void)xc;
	for (uint32_t d = first; d < GUESTS && (unsigned int)n < max; d++, n++) {
		xc_domaininfo_t *i = &info[n];

		memset(i, 0, sizeof(*i));
		i->domain = (domid_t)d;
		/* dom0 serves the store: no socket is looked for. */
		i->flags = XEN_DOMINF_running | (d ? 0 : XEN_DOMINF_xs_domain);
		i->nr_online_vcpus = 1;
		i->cpu_time = d == 2 ? BULK_CPUS * now_ns() : 1;
		memset(i->handle, (int)(0xa0 + d), sizeof(i->handle));
	}
	return n;
}

int xc_vcpu_getinfo(xc_interface *xc, uint32_t domid, uint32_t vcpu, xc_vcpuinfo_t *info)
{
	(void)xc;
	if (domid >= GUESTS || vcpu) {
		errno = EINVAL;
		return -1;
	}
	*info = (xc_vcpuinfo_t){ .online = 1,
				 .running = 1,
				 .cpu_time = domid == 2 ? BULK_CPUS * now_ns() : 1 };
	return 0;
}

xc_cpupoolinfo_t *xc_cpupool_getinfo(xc_interface *xc, uint32_t id)
{
	xc_cpupoolinfo_t *info = calloc(1, sizeof(*info));

	(void)xc;
	if (info) {
		info->cpupool_id = id;
		info->sched_id = XEN_SCHEDULER_CREDIT2;
	}
	return info;
}

void xc_cpupool_infofree(xc_interface *xc, xc_cpupoolinfo_t *info)
{
	(void)xc;
	free(info);
}

int xc_sched_credit2_domain_get(xc_interface *xc, uint32_t domid,
				struct xen_domctl_sched_credit2 *p)
{
	(void)xc;
	if (domid >= GUESTS) {
		errno = ESRCH;
		return -1;
	}
	p->cap = kept()->cap[domid];
	p->weight = kept()->weight[domid];
	return 0;
}

xencall_handle *xencall_open(xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	return (xencall_handle *)kept();
}

int xencall_close(xencall_handle *h)
{
	(void)h;
	return 0;
}

int xencall_fd(xencall_handle *h)
{
	(void)h;
	return -1;
}

void *xencall_alloc_buffer(xencall_handle *h, size_t size)
{
	(void)h;
	return calloc(1, size);
}

void xencall_free_buffer(xencall_handle *h, void *p)
{
	(void)h;
	free(p);
}

/* Record each change of a cap for the test: the process, the domain, the cap. */
static void note(uint32_t domid, uint16_t cap)
{
	char line[64];
	int fd = open("/dev/xen/log", O_WRONLY | O_APPEND | O_CLOEXEC);
	int n = snprintf(line, sizeof(line), "%d %u %u\n", getpid(), domid, cap);

	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

/* The one hypercall that swap.c makes: a cap is read, and another one set. */
int xencall2(xencall_handle *h, unsigned int op, uint64_t arg, uint64_t count)
{
	multicall_entry_t *call = (multicall_entry_t *)(uintptr_t)arg;

	(void)h;
	if (op != __HYPERVISOR_multicall)
		abort();
	for (uint64_t i = 0; i < count; i++) {
		xen_domctl_t *ctl = (xen_domctl_t *)(uintptr_t)call[i].args[0];
		struct xen_domctl_sched_credit2 *p = &ctl->u.scheduler_op.u.credit2;

		if (ctl->domain >= GUESTS) {
			call[i].result = (xen_ulong_t)-ESRCH;
			continue;
		}
		call[i].result = 0;
		if (ctl->u.scheduler_op.cmd == XEN_DOMCTL_SCHEDOP_putinfo) {
			kept()->cap[ctl->domain] = p->cap;
			note(ctl->domain, p->cap);
		} else {
			p->cap = kept()->cap[ctl->domain];
			p->weight = kept()->weight[ctl->domain];
		}
	}
	return 0;
}

xenforeignmemory_handle *xenforeignmemory_open(xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	return (xenforeignmemory_handle *)kept();
}

int xenforeignmemory_close(xenforeignmemory_handle *h)
{
	(void)h;
	return 0;
}

xengnttab_handle *xengnttab_open(xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	errno = ENOENT;
	return NULL;
}

struct xs_handle *xs_open(unsigned long flags)
{
	(void)flags;
	return (struct xs_handle *)kept();
}

void xs_close(struct xs_handle *h)
{
	(void)h;
}

bool xs_watch(struct xs_handle *h, const char *path, const char *token)
{
	(void)h;
	(void)path;
	(void)token;
	return true;
}

bool xs_unwatch(struct xs_handle *h, const char *path, const char *token)
{
	return xs_watch(h, path, token);
}

int xs_fileno(struct xs_handle *h)
{
	static int fd = -1;

	(void)h;
	if (fd < 0)
		fd = eventfd(0, EFD_CLOEXEC);
	return fd;
}

char **xs_check_watch(struct xs_handle *h)
{
	(void)h;
	errno = EAGAIN;
	return NULL;
}

/* No guest has an agent: only names are there. */
void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path, unsigned int *len)
{
	unsigned int domid;
	char node[16];

	(void)h;
	(void)t;
	if (sscanf(path, "/local/domain/%u/%15s", &domid, node) != 2 || domid >= GUESTS ||
	    strcmp(node, "name") != 0) {
		errno = ENOENT;
		return NULL;
	}
	*len = (unsigned int)strlen(names[domid]);
	return strdup(names[domid]);
}

struct xs_permissions *xs_get_permissions(struct xs_handle *h, xs_transaction_t t, const char *path,
					  unsigned int *n)
{
	(void)h;
	(void)t;
	(void)path;
	*n = 0;
	errno = ENOENT;
	return NULL;
}
