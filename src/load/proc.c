// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proc: user-level load, of the machine on which this runs (ULM of section 3.2 of the paper on load
 * awareness). The files of /proc are opened once, and read again at each sample.
 */
#ifdef HAVE_CONFIG_H
#include "config.h" /* pread */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/load/index.h"
#include "src/load/load.h"

enum { STAT, LOADAVG, PRESSURE, FILES };

static const char *const names[FILES] = { "stat", "loadavg", "pressure/cpu" };

struct load {
	int fd[FILES]; /* PRESSURE: -1: this kernel has none */
	uint64_t tick_ns;
	/* /proc/stat has a line of about 100 bytes for each CPU before the rest, which is cut. */
	char text[LOAD_CPUS_MAX * 128];
};

static void proc_close(struct load *l)
{
	for (int i = 0; l && i < FILES; i++)
		if (l->fd[i] >= 0)
			close(l->fd[i]);
	free(l);
}

static int proc_open(struct load **out, const void *arg, char text[static 128])
{
	const char *folder = arg;
	struct load *l = calloc(1, sizeof(*l));
	int rc = l ? 0 : -ENOMEM;

	for (int i = 0; l && i < FILES; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		l->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (l->fd[i] < 0 && i != PRESSURE && !rc) {
			rc = -errno;
			snprintf(text, 128, "%.80s: %s", path, strerror(errno));
		}
	}
	if (rc) {
		proc_close(l);
		return rc;
	}
	l->tick_ns = (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK));
	*out = l;
	return 0;
}

static ssize_t read_file(struct load *l, int i)
{
	ssize_t n = pread(l->fd[i], l->text, sizeof(l->text), 0);

	return n < 0 ? -errno : n;
}

static int proc_sample(struct load *l, struct load_record *r)
{
	ssize_t n = read_file(l, STAT);
	int rc = n < 0 ? (int)n : load_parse_stat(l->text, (size_t)n, l->tick_ns, r);

	if (!rc) {
		n = read_file(l, LOADAVG);
		rc = n < 0 ? (int)n : load_parse_loadavg(l->text, (size_t)n, r);
	}
	if (rc)
		return rc;
	r->running -= r->running > 0; /* the task that reads this */
	/* psi=0 on the kernel's command line: the file is there, and cannot be read. */
	n = l->fd[PRESSURE] < 0 ? -ENOENT : read_file(l, PRESSURE);
	if (n < 0 || load_parse_pressure(l->text, (size_t)n, r))
		r->flags |= LOAD_NO_WAIT;
	return 0;
}

const struct load_ops load_proc = {
	.source = LOAD_ULM,
	.open = proc_open,
	.close = proc_close,
	.sample = proc_sample,
};
