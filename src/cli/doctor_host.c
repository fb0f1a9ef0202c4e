// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor_host: files of sysfs and /proc, and the state of the kernel's clock. Each check that needs
 * one of them says so when it is not there: nothing here fails. See doctor_host.h.
 */
#include "src/cli/doctor_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "src/util/file.h"

enum {
	PATH_MAX_HERE = 512,
	LINE_MAX_HERE = 128,
	STATUS_MAX = 8192, /* of /proc/PID/status */
	XENFEAT_DOM0 = 11, /* of Xen's public/features.h */
};

/* The first size - 1 bytes of a file, without the newline at their end. False: it is not there. */
__attribute__((format(printf, 3, 4))) static bool read_text(char *out, size_t size, const char *fmt,
							    ...)
{
	char path[PATH_MAX_HERE];
	ssize_t len = -1;
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = file_read(fd, out, size - 1);
		close(fd);
	}
	out[len > 0 ? len : 0] = 0;
	if (len > 0 && out[len - 1] == '\n')
		out[len - 1] = 0;
	return len >= 0;
}

/* --- the hypervisor -------------------------------------------------------------- */

/* As src/hv/xen does: sysfs has the features that Xen offered; xenfs need not be mounted. */
static void read_xen(struct doctor_facts *f, const char *sys)
{
	char text[LINE_MAX_HERE], major[16], minor[16], extra[16];
	bool dom0;

	f->xen = DOCTOR_NO_XEN;
	if (!read_text(text, sizeof(text), "%s/hypervisor/type", sys) || strcmp(text, "xen") != 0)
		return;
	if (read_text(text, sizeof(text), "%s/hypervisor/properties/features", sys))
		dom0 = strtoull(text, NULL, 16) >> XENFEAT_DOM0 & 1;
	else
		dom0 = read_text(text, sizeof(text), "/proc/xen/capabilities") &&
		       strstr(text, "control_d");
	f->xen = dom0 ? DOCTOR_XEN_DOM0 : DOCTOR_XEN_GUEST;
	if (read_text(major, sizeof(major), "%s/hypervisor/version/major", sys) &&
	    read_text(minor, sizeof(minor), "%s/hypervisor/version/minor", sys) &&
	    read_text(extra, sizeof(extra), "%s/hypervisor/version/extra", sys))
		snprintf(f->xen_version, sizeof(f->xen_version), "%.8s.%.8s%.12s", major, minor,
			 extra);
}

/* --- ports ------------------------------------------------------------------------- */

/* The name of its driver; "": it has none. */
static void read_driver(char *out, size_t size, const char *sys, const char *device)
{
	char path[PATH_MAX_HERE], target[PATH_MAX_HERE];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/driver", sys, device);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = 0;
	slash = strrchr(target, '/');
	snprintf(out, size, "%.64s", slash ? slash + 1 : target);
}

static void add_port(json_t *ports, const char *sys, const char *device, const char *port)
{
	char rate[LINE_MAX_HERE], layer[LINE_MAX_HERE], state[LINE_MAX_HERE], parent[LINE_MAX_HERE];
	char driver[LINE_MAX_HERE];
	bool soft;

	read_text(rate, sizeof(rate), "%s/class/infiniband/%s/ports/%s/rate", sys, device, port);
	read_text(layer, sizeof(layer), "%s/class/infiniband/%s/ports/%s/link_layer", sys, device,
		  port);
	read_text(state, sizeof(state), "%s/class/infiniband/%s/ports/%s/state", sys, device, port);
	/* Only soft-RoCE (rxe) has it: the interface that it sends by. */
	soft = read_text(parent, sizeof(parent), "%s/class/infiniband/%s/parent", sys, device);
	read_driver(driver, sizeof(driver), sys, device);
	json_array_append_new(ports,
			      json_pack("{s:s,s:s,s:i,s:f,s:s,s:b,s:b,s:s}", "device", device,
					"driver", driver, "port", (int)strtol(port, NULL, 10),
					"rate_gbit", strtod(rate, NULL), "rate", rate, "ethernet",
					!strcmp(layer, "Ethernet"), "soft", soft, "state", state));
}

/* The next name in d that does not begin with a dot. NULL: there are no more. */
static const char *next_name(DIR *d)
{
	struct dirent *e = NULL;

	while (d && (e = readdir(d)) != NULL && e->d_name[0] == '.')
		;
	return e ? e->d_name : NULL;
}

static void add_device(json_t *ports, const char *sys, const char *device)
{
	char path[PATH_MAX_HERE];
	const char *port;
	DIR *d;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports", sys, device);
	d = opendir(path);
	while ((port = next_name(d)) != NULL)
		add_port(ports, sys, device, port);
	if (d)
		closedir(d);
}

static void read_ports(struct doctor_facts *f, const char *sys)
{
	char path[PATH_MAX_HERE];
	const char *device;
	DIR *d;

	f->ports = json_array();
	snprintf(path, sizeof(path), "%s/class/infiniband", sys);
	d = opendir(path);
	while ((device = next_name(d)) != NULL)
		add_device(f->ports, sys, device);
	if (d)
		closedir(d);
}

/* --- the clock ----------------------------------------------------------------------- */

/* The kernel knows it of whatever sets its clock: chrony, ntpd, systemd-timesyncd, PTP. */
static enum doctor_clock read_clock(void)
{
	struct timex t = { .modes = 0 };

	if (adjtimex(&t) < 0)
		return DOCTOR_CLOCK_UNKNOWN;
	return t.status & STA_UNSYNC ? DOCTOR_CLOCK_FREE : DOCTOR_CLOCK_SYNCHRONIZED;
}

void doctor_host_read(struct doctor_facts *f, const char *sys)
{
	read_xen(f, sys);
	read_ports(f, sys);
	f->clock = read_clock();
}

/* --- the daemon's process ---------------------------------------------------------------- */

/* The number behind "KEY:" in /proc/PID/status. */
static uint64_t status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Of /proc/PID/task/TID/stat, field n from 3 on; what is before may hold any character. */
static uint64_t stat_field(const char *stat, int n)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < n; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

static uint32_t highest_priority(uint32_t pid)
{
	enum { RT_PRIORITY = 40, STAT_MAX = 1024 }; /* proc(5) */
	char path[PATH_MAX_HERE], stat[STAT_MAX];
	uint32_t highest = 0, priority;
	const char *tid;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	while ((tid = next_name(d)) != NULL) {
		if (!read_text(stat, sizeof(stat), "/proc/%u/task/%s/stat", pid, tid))
			continue;
		priority = (uint32_t)stat_field(stat, RT_PRIORITY);
		highest = priority > highest ? priority : highest;
	}
	if (d)
		closedir(d);
	return highest;
}

void doctor_process_read(struct doctor_process *p, uint32_t pid)
{
	char status[STATUS_MAX];
	const char *state;

	*p = (struct doctor_process){ .pid = pid };
	/* 0, which is no process: the other end of the socket is in another pid namespace. */
	if (!read_text(status, sizeof(status), "/proc/%u/status", pid))
		return;
	state = strstr(status, "\nState:\t");
	p->state = state ? state[strlen("\nState:\t")] : '?';
	p->uid = (uint32_t)status_number(status, "\nUid:");
	p->locked_kib = status_number(status, "\nVmLck:");
	p->priority = highest_priority(pid);
	p->known = true;
}
