// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guesthook: runs hook_guest on a real Xen host, in dom0, as resexd would.
 *
 *	guesthook DOMID DEADLINE-MS ACTION NODE FROM TO
 *
 * Prints "done", or why it failed. Exit: 0 done, 1 failed, 2 it could not be begun.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/hv/backends.h"
#include "src/reconf/hook_guest.h"

enum { DOMS_MAX = 64 };

struct host {
	const struct hv_backend *hv;
	struct hv_sched *sched;
	uint32_t domid;
};

static struct mono now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (struct mono){ t.tv_sec * NS_PER_S + t.tv_nsec };
}

static int find(void *arg, const char *name, uint32_t *domid)
{
	const struct host *h = arg;
	struct hv_dom doms[DOMS_MAX];
	int n = h->hv->sched->list(h->sched, doms, DOMS_MAX);

	(void)name;
	*domid = h->domid;
	for (int i = 0; i < n; i++)
		if (doms[i].domid == h->domid)
			return doms[i].flags & HV_DOM_DYING ? -ENOENT : 0;
	return -ENOENT;
}

static int run(const struct hook_conf *c, const struct hook_want *w)
{
	const struct timespec look = { 0, 10 * NS_PER_MS };
	struct hook_seen s = { HOOK_RUNS, "" };
	struct hook *h;
	int more = 100; /* looks, in which what was wanted is taken back, if xenstored runs */

	if (hook_guest.open(&h, c) || hook_guest.want(h, w, now()))
		return 2;
	while (hook_guest.poll(h, now()) != INT64_MAX && more) {
		hook_guest.see(h, &s);
		more -= s.state != HOOK_RUNS;
		nanosleep(&look, NULL);
	}
	hook_guest.see(h, &s);
	hook_guest.close(h);
	puts(s.state == HOOK_DONE ? "done" : s.note);
	return s.state == HOOK_DONE ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct host host = { .hv = hv_backend_find("xen") };
	struct hook_guest_conf guest = { .name = "guest", .find = find, .arg = &host };
	struct hook_conf c = { .guest = &guest };
	int rc;

	if (argc != 7) {
		fputs("usage: guesthook DOMID DEADLINE-MS ACTION NODE FROM TO\n", stderr);
		return 2;
	}
	host.domid = (uint32_t)strtoul(argv[1], NULL, 10);
	c.deadline_ns = strtoll(argv[2], NULL, 10) * NS_PER_MS;
	guest.ops = host.hv->watch;
	rc = host.hv->sched->open(&host.sched, NULL);
	if (!rc)
		rc = host.hv->watch->open(&guest.watch, NULL);
	if (rc) {
		fprintf(stderr, "guesthook: %s\n", strerror(-rc));
		return 2;
	}
	rc = run(&c, &(struct hook_want){ argv[3], argv[4], argv[5], argv[6] });
	host.hv->watch->close(guest.watch);
	host.hv->sched->close(host.sched);
	return rc;
}
