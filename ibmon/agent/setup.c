// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * setup: checks rights, then opens the pages and the node that the options choose. agent.c
 * calls it once, before all other parts. See setup.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ibmon/agent/proc.h"
#include "ibmon/agent/setup.h"

int setup_fail(const struct log *log, const char *what, int rc, const char *remedy)
{
	if (rc == -EPERM || rc == -EACCES) {
		log_msg(log, LOG_LVL_ERROR, "%s: %s; run resex-agent as root", what, strerror(-rc));
		return RESEX_PERMISSION;
	}
	if (rc == -EADDRINUSE) {
		log_msg(log, LOG_LVL_ERROR, "%s: another resex-agent is running; stop it first",
			what);
		return RESEX_FAILURE;
	}
	log_msg(log, LOG_LVL_ERROR, "%s: %s; %s", what, strerror(-rc), remedy);
	return RESEX_FAILURE;
}

int setup_may_look(const struct log *log)
{
	uint64_t frame;
	int here = 0, rc;

	/* a page of our own: the kernel shows frame number 0 without CAP_SYS_ADMIN */
	rc = proc_frames(getpid(), (uint64_t)(uintptr_t)&here & ~(uint64_t)(GUEST_PAGE - 1), 1,
			 &frame);
	if (rc == 0 && geteuid() == 0)
		return 0;
	return setup_fail(log, "frames and memory of other processes", rc ? rc : -EPERM,
			  "check that /proc is mounted and has /proc/self/pagemap");
}

#ifdef HAVE_XEN
/* Is this a Xen guest (or domain 0)? The file is there in PV, PVH and HVM guests. */
static bool in_xen(void)
{
	char type[8] = "";
	int fd = open("/sys/hypervisor/type", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, type, sizeof(type) - 1);
	close(fd);
	return n >= 3 && !strncmp(type, "xen", 3);
}

/* Pages by grants if the kernel has them, else by frame numbers. */
static int pages_open(struct setup *s, const struct options *o, const struct log *log)
{
	int rc = -ENODEV;

	s->pages_ops = &pages_grant;
	if (!o->no_grant)
		rc = pages_grant.open(&s->pages, NULL);
	if (rc == 0)
		return 0;
	if (!o->no_grant)
		log_msg(log, LOG_LVL_WARNING,
			"/dev/xen/gntalloc: %s; own pages are shared by frame number (for grants: "
			"modprobe xen-gntalloc)",
			strerror(-rc));
	s->pages_ops = &pages_frame;
	rc = pages_frame.open(&s->pages, NULL);
	return rc ? setup_fail(log, "locked memory", rc, SETUP_FREE_MEMORY) : 0;
}

/* xenstore first: without it no reader finds the pages. */
static int open_xen(struct setup *s, const struct options *o, const struct log *log)
{
	int rc;

	if (!in_xen()) {
		log_msg(log, LOG_LVL_ERROR,
			"this is not a Xen guest (/sys/hypervisor/type); run it in one, or use "
			"--no-xen FILE");
		return RESEX_NO_XEN;
	}
	rc = node_xen.open(&s->node, NULL);
	if (rc == -EACCES || rc == -EPERM)
		return setup_fail(log, "xenstore", rc, "");
	if (rc) {
		log_msg(log, LOG_LVL_ERROR,
			"xenstore does not answer: %s; mount xenfs on /proc/xen or load "
			"xen-xenbus-frontend",
			strerror(-rc));
		return RESEX_NO_XENSTORE;
	}
	s->node_ops = &node_xen;
	return pages_open(s, o, log);
}
#else
static int open_xen(struct setup *s, const struct options *o, const struct log *log)
{
	(void)s;
	(void)o;
	log_msg(log, LOG_LVL_ERROR, "built without Xen: only --no-xen FILE and --once work");
	return RESEX_NO_XEN;
}
#endif

/*
 * The same pages and node as in a guest, but in files: tests and developers read them
 * without Xen.
 */
static int open_file(struct setup *s, const struct options *o, const struct log *log)
{
	int rc;

	snprintf(s->node_file, sizeof(s->node_file), "%s.node", o->file);
	s->pages_ops = &pages_file;
	s->node_ops = &node_file;
	rc = pages_file.open(&s->pages, o->file);
	if (rc == 0)
		rc = node_file.open(&s->node, s->node_file);
	return rc ? setup_fail(log, o->file, rc,
			       "give --no-xen a file in a folder that exists and has space")
		  : 0;
}

/* Rights first: without them the agent would publish an empty registry and look healthy. */
int setup_open(struct setup *s, const struct options *o, const struct log *log)
{
	int rc = setup_may_look(log);

	if (rc)
		return rc;
	return o->file ? open_file(s, o, log) : open_xen(s, o, log);
}

void setup_close(struct setup *s)
{
	if (s->node)
		s->node_ops->close(s->node);
	if (s->pages)
		s->pages_ops->close(s->pages);
}
