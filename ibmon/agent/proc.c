// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proc: /proc and process_vm_readv -> mappings, frames, memory and names of other
 * processes, for track. See proc.h.
 *
 * rxe maps its rings with vm_insert_page (VM_MIXEDMAP); process_vm_readv still reads them
 * like any memory, and pagemap has their frames. Both were seen to work on Linux 6.1.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ibmon/agent/pagemap.h"
#include "ibmon/agent/proc.h"
#include "resex/guest_abi.h"
#include "resex/queue_table.h"

enum { PROC_PATH_MAX = 96, PROC_READ_MAX = 16384 };

/* Open /proc/PID/NAME. A file that does not exist means that the process is gone. */
static int open_file(pid_t pid, const char *name)
{
	char path[PROC_PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* What is looked for in the lines of maps. */
struct lines {
	struct maps_ring *out;
	size_t max, n;
	uint64_t *table; /* instead: the first table; n is 1 when it was found */
};

static void parse_line(struct lines *l, const char *line, size_t len)
{
	if (l->n == l->max)
		return;
	if (l->table)
		l->n += maps_is_table(line, len, l->table);
	else
		l->n += maps_parse(line, len, &l->out[l->n]);
}

/*
 * Parse all whole lines of buf. Returns the number of bytes after the last one. The rest of
 * a line stays at the start of buf: the next read() completes it.
 */
static size_t parse_lines(char *buf, size_t len, struct lines *l)
{
	char *p = buf, *nl;

	while ((nl = memchr(p, '\n', len - (size_t)(p - buf))) != NULL) {
		parse_line(l, p, (size_t)(nl - p));
		p = nl + 1;
	}
	len -= (size_t)(p - buf);
	memmove(buf, p, len);
	return len;
}

static int read_maps(pid_t pid, struct lines *l)
{
	char buf[PROC_READ_MAX];
	size_t kept = 0;
	int fd = open_file(pid, "maps");
	ssize_t r;

	if (fd < 0)
		return fd;
	while ((r = read(fd, buf + kept, sizeof(buf) - kept)) > 0) {
		kept = parse_lines(buf, kept + (size_t)r, l);
		if (kept == sizeof(buf)) /* a line longer than any of a ring: skip it */
			kept = 0;
	}
	close(fd);
	return r < 0 ? -errno : (int)l->n;
}

int proc_rings(pid_t pid, struct maps_ring *out, size_t max)
{
	struct lines l = { .out = out, .max = max };

	return read_maps(pid, &l);
}

int proc_table(pid_t pid, uint64_t *addr)
{
	struct lines l = { .max = 1, .table = addr };
	int rc = read_maps(pid, &l);

	return rc < 0 ? rc : rc ? 0 : -ENOENT;
}

static int map_file(pid_t pid, uint64_t addr, char path[PROC_PATH_MAX])
{
	return snprintf(path, PROC_PATH_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			addr, addr + sizeof(struct queue_table));
}

bool proc_table_mapped(pid_t pid, uint64_t addr)
{
	char path[PROC_PATH_MAX];
	struct stat st;

	map_file(pid, addr, path);
	return lstat(path, &st) == 0;
}

/*
 * The number of the mount that an open file is on; -errno. The file system is not asked: that of
 * a hostile process may never answer.
 */
static int mount_of(int fd)
{
	static const char key[] = "mnt_id:";
	char path[PROC_PATH_MAX], text[256];
	const char *at;
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -errno;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	at = strstr(text, key);
	return at ? (int)strtol(at + strlen(key), NULL, 10) : -ENODATA;
}

/* All memfds are on one mount, which is the kernel's own. */
static int is_memfd(int fd)
{
	int own = memfd_create("resex-agent", MFD_CLOEXEC), mount, theirs;

	if (own < 0)
		return -errno;
	mount = mount_of(own);
	theirs = mount_of(fd);
	close(own);
	if (mount < 0 || theirs < 0)
		return mount < 0 ? mount : theirs;
	return mount == theirs ? 0 : -EPERM;
}

/* O_PATH opens nothing: only what is known to be a memfd is opened. */
int proc_table_open(pid_t pid, uint64_t addr)
{
	char path[PROC_PATH_MAX];
	int fd, rc, file;

	map_file(pid, addr, path);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = is_memfd(fd);
	if (rc) {
		close(fd);
		return rc;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	rc = file < 0 ? -errno : file;
	close(fd);
	return rc;
}

int proc_table_read(int fd, void *buf, size_t len)
{
	ssize_t n = pread(fd, buf, len, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

int proc_frames(pid_t pid, uint64_t addr, size_t n, uint64_t *frame)
{
	int fd = open_file(pid, "pagemap"), rc;
	struct pagemap p;

	if (fd < 0)
		return fd;
	pagemap_init(&p, fd);
	rc = pagemap_frames(&p, addr, n, frame);
	close(fd);
	return rc;
}

/*
 * One system call without an open file. Part of the memory is of no use: a ring may have
 * been unmapped meanwhile.
 */
int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)(uintptr_t)addr, len };
	ssize_t r = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (r < 0)
		return -errno;
	return (size_t)r == len ? 0 : -EFAULT;
}

/*
 * Not by the name in maps, which any process can choose. map_files leads to the mapped file
 * itself.
 */
int proc_mapped_device(pid_t pid, const struct maps_ring *m, dev_t *dev)
{
	char path[PROC_PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start,
		 m->end);
	if (stat(path, &st))
		return errno == ENOENT ? -ESRCH : -errno;
	if (!S_ISCHR(st.st_mode))
		return -ENODEV;
	*dev = st.st_rdev;
	return 0;
}

/* A small file of the process, NUL-terminated; its length or -errno. */
static ssize_t read_small(pid_t pid, const char *name, char *buf, size_t size)
{
	int fd = open_file(pid, name);
	ssize_t r;

	if (fd < 0)
		return fd;
	r = read(fd, buf, size - 1);
	close(fd);
	if (r < 0)
		return -errno;
	buf[r] = '\0';
	return r;
}

/*
 * A process chooses its own name: bytes that are not printable ASCII become "?", so that no
 * log or table is garbled by it.
 */
void proc_comm(pid_t pid, char comm[16])
{
	char buf[32];
	size_t i = 0;

	memset(comm, 0, 16);
	if (read_small(pid, "comm", buf, sizeof(buf)) <= 0) {
		comm[0] = '?';
		return;
	}
	for (; i < 15 && buf[i] && buf[i] != '\n'; i++)
		comm[i] = buf[i] >= ' ' && buf[i] <= '~' ? buf[i] : '?';
}

/* The number after name in /proc/PID/status, or -1. */
static long status_number(pid_t pid, const char *name)
{
	char buf[4096];
	const char *p;

	if (read_small(pid, "status", buf, sizeof(buf)) <= 0)
		return -1;
	p = strstr(buf, name);
	return p ? strtol(p + strlen(name), NULL, 10) : -1;
}

bool proc_one_thread(pid_t pid)
{
	return status_number(pid, "\nThreads:") == 1;
}

pid_t proc_tgid(pid_t tid)
{
	long n = status_number(tid, "\nTgid:");

	return n > 0 ? (pid_t)n : 0;
}

bool proc_has_uverbs(pid_t pid, uint32_t *files)
{
	char path[PROC_PATH_MAX];
	const struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)) != NULL) {
		char link[PROC_PATH_MAX];
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link));
		uint32_t uverbs;

		++*files;
		found = n > 0 && maps_is_uverbs(link, (size_t)n, &uverbs);
	}
	if (d)
		closedir(d);
	return found;
}

int proc_each(int (*fn)(void *ctx, pid_t pid), void *ctx)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return -errno;
	while (rc == 0 && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			rc = fn(ctx, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(d);
	return rc;
}
