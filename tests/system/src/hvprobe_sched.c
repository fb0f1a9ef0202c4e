// SPDX-License-Identifier: GPL-2.0-or-later
/* hvprobe: listing domains, caps, cpupools, and watching. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xenctrl.h>
#include <xenstore.h>

#include "resex/guest_abi.h"
#include "src/core/caps.h"
#include "tests/system/src/hvprobe.h"

#define NO_SUCH_DOMAIN 4242u
/* By how much Xen's clocks of two CPUs may differ in an emulated machine: 1.5 ms was seen. */
#define CLOCKS_NS 20000000

void probe_list(struct probe *p, char **argv)
{
	static const uint8_t none[16];
	const struct hv_sched_ops *ops = p->hv->sched;
	struct hv_sched *s = probe_open_sched(p);
	struct hv_dom doms[64], d, later;
	struct hv_vcpu v = { 0 };
	bool sorted = true;
	uint64_t cpu_ns;
	int64_t start;
	int n;

	if (!s)
		return;
	n = ops->list(s, doms, 64);
	probe_check(p, n >= 2, "list finds %d domains, two at least", n);
	for (int i = 1; i < n; i++)
		sorted &= doms[i - 1].domid < doms[i].domid;
	probe_check(p, sorted, "ids ascend");
	probe_check(p, doms[0].domid == 0 && (doms[0].flags & HV_DOM_PRIVILEGED),
		    "dom0 is first and privileged");
	probe_equal(p, ops->list(s, doms, 1), 1, "a list of one holds one");
	probe_equal(p, ops->list(s, doms, 0), 0, "a list of none holds none");
	if (!probe_check(p, probe_find(p, s, p->domid, &d), "domain %u is listed", p->domid))
		goto out;
	probe_equal(p, d.flags & ~(uint32_t)(HV_DOM_RUNNING | HV_DOM_BLOCKED),
		    !strcmp(argv[0], "pv") ? HV_DOM_PV : 0, "its flags say %s besides", argv[0]);
	probe_equal(p, d.vcpus, 1, "one VCPU");
	probe_equal(p, ops->vcpu(s, p->domid, 0, &v), 0, "look at its VCPU");
	probe_check(p, v.online, "it is online");
	cpu_ns = v.cpu_ns;
	probe_equal(p, ops->vcpu(s, p->domid, 1, &v), -ESRCH, "there is no second one");
	probe_equal(p, ops->vcpu(s, NO_SUCH_DOMAIN, 0, &v), -ESRCH, "nor one of no domain");
	probe_check(p, memcmp(d.uuid, none, sizeof(none)) != 0, "it has a UUID");
	probe_sleep_ms(300);
	if (!probe_check(p, probe_find(p, s, p->domid, &later), "it is listed again"))
		goto out;
	/* Dom0 may have moved to another CPU between two calls. */
	probe_check(p, cpu_ns + CLOCKS_NS >= d.cpu_ns && cpu_ns <= later.cpu_ns + CLOCKS_NS,
		    "it has the CPU time of the domain: %+lld ns", (long long)(cpu_ns - d.cpu_ns));
	probe_check(p, later.cpu_ns > d.cpu_ns, "its CPU time moves: +%lld ns in 0.3 s",
		    (long long)(later.cpu_ns - d.cpu_ns));
	start = probe_now();
	for (unsigned int i = 0; i < 500; i++)
		ops->list(s, doms, 64);
	probe_cost("list", start, 500);
out:
	ops->close(s);
}

struct cap_case {
	struct cap set;
	int ret;
	uint32_t percent; /* what is then in force */
};

static const struct cap_case cap_cases[] = {
	{ { 1, 25000 }, 0, 25 },
	{ { 1, 100000 }, 0, 100 },
	{ { 1, 100001 }, 0, 100 },
	{ { 1, 101000 }, -EINVAL, 100 },
	{ { 1, 6553500 }, -EINVAL, 100 },
	{ { 1, 6553600 }, -EINVAL, 100 },
	{ { 1, UINT32_MAX }, -EINVAL, 100 },
	{ { 1, 0 }, -EINVAL, 100 },
	{ { 1, 1 }, 0, 1 },
	{ { 1, 1499 }, 0, 1 },
	{ { 1, 1500 }, 0, 2 },
	{ { 0, 0 }, 0, 0 },
	{ { 1, 3000 }, 0, 3 },
	{ { 0, 77000 }, 0, 0 },
};

static void check_caps(struct probe *p, struct hv_sched *s, uint32_t weight)
{
	const struct hv_sched_ops *ops = p->hv->sched;

	for (size_t i = 0; i < sizeof(cap_cases) / sizeof(cap_cases[0]); i++) {
		const struct cap_case *c = &cap_cases[i];
		struct hv_sched_params got = { 0 };

		probe_equal(p, hv_put_cap(ops, s, p->domid, c->set), c->ret, "set cap {%u, %u}",
			    c->set.limited, c->set.mpct);
		probe_equal(p, ops->get(s, p->domid, &got), 0, "get");
		probe_check(p,
			    got.weight == weight && got.cap.limited == (c->percent != 0) &&
				    got.cap.mpct == c->percent * 1000,
			    "then the cap is {%u, %u}, the weight %u", got.cap.limited,
			    got.cap.mpct, got.weight);
	}
}

/* A cap of another program is not overwritten, and is named. */
static void check_compare(struct probe *p, struct hv_sched *s, uint32_t weight)
{
	const struct hv_sched_ops *ops = p->hv->sched;
	struct hv_sched_params found = { 0 }, got = { 0 };

	probe_equal(p, hv_put_cap(ops, s, p->domid, CAP_PERCENT(40)), 0, "another program sets 40");
	probe_equal(p, ops->set_cap(s, p->domid, CAP_PERCENT(30), CAP_PERCENT(20), &found),
		    -ECANCELED, "set 20 over 30");
	probe_check(p, cap_equal(found.cap, CAP_PERCENT(40)) && found.weight == weight,
		    "it found cap %u, weight %u", found.cap.mpct, found.weight);
	probe_equal(p, ops->set_cap(s, p->domid, CAP_NONE, CAP_PERCENT(20), &found), -ECANCELED,
		    "set 20 over none");
	probe_equal(p, ops->get(s, p->domid, &got), 0, "get");
	probe_check(p, cap_equal(got.cap, CAP_PERCENT(40)), "the 40 is still in force");
	probe_equal(p, ops->set_cap(s, p->domid, CAP_PERCENT(40), CAP_PERCENT(20), &found), 0,
		    "set 20 over 40");
	probe_equal(p, ops->set_cap(s, p->domid, CAP_PERCENT(20), CAP_NONE, &found), 0,
		    "set none over 20");
	probe_equal(p, ops->set_cap(s, p->domid, CAP_PERCENT(20), CAP_PERCENT(30), &found),
		    -ECANCELED, "set 30 over 20");
	probe_check(p, !found.cap.limited, "it found no cap");
}

void probe_caps(struct probe *p, char **argv)
{
	const struct hv_sched_ops *ops = p->hv->sched;
	struct hv_sched *s = probe_open_sched(p);
	struct hv_sched_params got;
	int64_t start;

	if (!s)
		return;
	probe_check(p, !strcmp(ops->name(s, p->domid), argv[0]), "the scheduler is %s", argv[0]);
	check_caps(p, s, (uint32_t)strtoul(argv[1], NULL, 10));
	check_compare(p, s, (uint32_t)strtoul(argv[1], NULL, 10));
	probe_equal(p, hv_put_cap(ops, s, 0, CAP_PERCENT(50)), -EPERM, "dom0 is never capped");
	probe_equal(p, hv_put_cap(ops, s, NO_SUCH_DOMAIN, CAP_PERCENT(50)), -ESRCH,
		    "set: no domain");
	probe_equal(p, ops->get(s, NO_SUCH_DOMAIN, &got), -ESRCH, "get: no domain");
	probe_equal(p, hv_put_cap(ops, s, p->domid + 65536, CAP_PERCENT(50)), -ESRCH,
		    "an id above 16 bits names no domain");
	start = probe_now();
	for (unsigned int i = 0; i < 200; i++)
		hv_put_cap(ops, s, p->domid, CAP_PERCENT(20 + i % 50));
	probe_cost("get and set_cap", start, 200);
	start = probe_now();
	for (unsigned int i = 0; i < 200; i++)
		ops->get(s, p->domid, &got);
	probe_cost("get", start, 200);
	hv_put_cap(ops, s, p->domid, CAP_NONE);
	ops->close(s);
}

/* --- an operator sets caps while ours move ------------------------------------------------ */

/*
 * Caps of the operator are above ours. Measured on one emulated CPU: 1 to 3 of 300 are lost, and
 * about 80 when a cap is read by one hypercall and set by another.
 */
enum { RACE_CAPS = 300, RACE_OURS = 50, RACE_LOST = 9 };

struct race {
	_Atomic uint32_t found; /* by us: the operator's newest cap */
	_Atomic bool end;
};

/* As xl does, without looking; and never the cap that is in force. */
static int operator_sets(xc_interface *xc, const char *scheduler, uint32_t domid, uint16_t cap)
{
	struct xen_domctl_sched_credit credit = { .cap = cap };
	struct xen_domctl_sched_credit2 credit2 = { .cap = cap };

	return strcmp(scheduler, "credit") ? xc_sched_credit2_domain_set(xc, domid, &credit2)
					   : xc_sched_credit_domain_set(xc, domid, &credit);
}

/* Each cap must be found before the next is set. Exits with the number that were not. */
static void operate(struct race *r, const char *scheduler, uint32_t domid)
{
	xc_interface *xc = xc_interface_open(NULL, NULL, 0);
	unsigned int lost = 0;

	if (!xc)
		_exit(255);
	srandom((unsigned int)probe_now());
	for (unsigned int i = 0; i < RACE_CAPS; i++) {
		uint16_t cap = (uint16_t)(RACE_OURS + 1 + i % 49);
		int64_t end;

		usleep((useconds_t)random() % 2000);
		if (operator_sets(xc, scheduler, domid, cap))
			_exit(255);
		end = probe_now() + NS_PER_S;
		while (atomic_load(&r->found) != cap && probe_now() < end)
			usleep(200);
		lost += atomic_load(&r->found) != cap;
	}
	atomic_store(&r->end, true);
	xc_interface_close(xc);
	_exit(lost < 254 ? (int)lost : 254);
}

/* As the actor does, as fast as it goes: the window is as often open as can be. */
void probe_race(struct probe *p, char **argv)
{
	const struct hv_sched_ops *ops = p->hv->sched;
	struct hv_sched *s = probe_open_sched(p);
	struct race *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	struct hv_sched_params found;
	int rc = 0, status = -1;
	uint32_t sets = 0;
	int64_t start;
	pid_t pid;

	if (!s || r == MAP_FAILED)
		return;
	probe_equal(p, hv_put_cap(ops, s, p->domid, CAP_NONE), 0, "no cap is set");
	found.cap = CAP_NONE;
	pid = fork();
	if (!pid)
		operate(r, argv[0], p->domid);
	start = probe_now();
	while (!atomic_load(&r->end) && (!rc || rc == -ECANCELED) &&
	       waitpid(pid, &status, WNOHANG) == 0) {
		struct cap next = CAP_PERCENT(1 + sets++ % RACE_OURS);

		rc = ops->set_cap(s, p->domid, found.cap, next, &found);
		if (rc)
			atomic_store(&r->found, cap_to_percent(found.cap));
		else
			found.cap = next;
	}
	probe_cost("set_cap against an operator", start, sets);
	if (status == -1)
		waitpid(pid, &status, 0);
	probe_check(p, !rc || rc == -ECANCELED, "set_cap has no other error: %d", rc);
	probe_check(p, WIFEXITED(status) && WEXITSTATUS(status) <= RACE_LOST,
		    "%d caps of an operator: %d lost", RACE_CAPS, WEXITSTATUS(status));
	ops->set_cap(s, p->domid, found.cap, CAP_NONE, &found);
	munmap(r, sizeof(*r));
	ops->close(s);
}

/* A scheduler without caps says so. */
void probe_nocaps(struct probe *p, char **argv)
{
	const struct hv_sched_ops *ops = p->hv->sched;
	struct hv_sched *s = probe_open_sched(p);
	struct hv_sched_params got;

	if (!s)
		return;
	probe_check(p, !strcmp(ops->name(s, p->domid), argv[0]), "the scheduler is %s", argv[0]);
	probe_equal(p, hv_put_cap(ops, s, p->domid, CAP_PERCENT(50)), -EOPNOTSUPP, "set");
	probe_equal(p, hv_put_cap(ops, s, p->domid, CAP_NONE), -EOPNOTSUPP, "set none");
	probe_equal(p, ops->get(s, p->domid, &got), -EOPNOTSUPP, "get");
	ops->close(s);
}

/* The pool of the domain is made anew with another scheduler meanwhile. */
void probe_pools(struct probe *p, char **argv)
{
	const struct hv_sched_ops *ops = p->hv->sched;
	struct hv_sched *s = probe_open_sched(p);
	struct hv_sched_params got = { 0 };

	if (!s)
		return;
	probe_equal(p, hv_put_cap(ops, s, p->domid, CAP_PERCENT(40)), 0, "set in the first pool");
	probe_run(p, argv[0]);
	probe_equal(p, hv_put_cap(ops, s, p->domid, CAP_PERCENT(30)), 0, "set in the second pool");
	probe_equal(p, ops->get(s, p->domid, &got), 0, "get in the second pool");
	probe_check(p, cap_equal(got.cap, CAP_PERCENT(30)), "the cap is in force");
	probe_check(p, !strcmp(ops->name(s, p->domid), argv[1]), "the scheduler is now %s",
		    argv[1]);
	ops->close(s);
}

/* The next event within a time, or none. */
static int next_event(struct probe *p, struct hv_watch *w, struct hv_event *ev, int ms)
{
	struct pollfd fd = { .fd = p->hv->watch->fd(w), .events = POLLIN };
	int ret = p->hv->watch->next(w, ev);

	if (ret || poll(&fd, 1, ms) <= 0)
		return ret;
	return p->hv->watch->next(w, ev);
}

static bool await(struct probe *p, struct hv_watch *w, enum hv_event_type type, int ms)
{
	struct hv_event ev;

	while (next_event(p, w, &ev, ms) > 0)
		if (ev.type == type && (type == HV_EVENT_DOMAINS || ev.domid == p->domid))
			return true;
	return false;
}

static void drain(struct probe *p, struct hv_watch *w)
{
	struct hv_event ev;

	while (next_event(p, w, &ev, 200) > 0)
		;
}

/* Calls of the store are requests: the answer is there after an event. */
static void await_answer(struct probe *p, struct hv_watch *w)
{
	probe_check(p, await(p, w, HV_EVENT_ANSWER, 5000), "an answer came");
}

/* A watch that is set has both, in any order. */
static bool await_watch(struct probe *p, struct hv_watch *w)
{
	bool answer = false, node = false;
	struct hv_event ev;

	while (!(answer && node) && next_event(p, w, &ev, 2000) > 0) {
		answer |= ev.type == HV_EVENT_ANSWER && ev.domid == p->domid;
		node |= ev.type == HV_EVENT_NODE && ev.domid == p->domid;
	}
	return answer && node;
}

static int read_now(struct probe *p, struct hv_watch *w, char *buf, size_t size)
{
	int rc = p->hv->watch->read(w, p->domid, buf, size);

	if (rc != -EAGAIN)
		return rc;
	await_answer(p, w);
	return p->hv->watch->read(w, p->domid, buf, size);
}

static int name_now(struct probe *p, struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	struct probe of = *p;
	int rc = p->hv->watch->name(w, domid, buf, size);

	if (rc != -EAGAIN)
		return rc;
	of.domid = domid;
	probe_check(p, await(&of, w, HV_EVENT_ANSWER, 5000), "an answer came");
	return p->hv->watch->name(w, domid, buf, size);
}

static void check_read(struct probe *p, struct hv_watch *w, int want, const char *why)
{
	char buf[GUEST_ABI_NODE_MAX];

	probe_equal(p, read_now(p, w, buf, sizeof(buf)), want, "read: %s", why);
}

struct perm_case {
	struct xs_permissions perms[3];
	unsigned int n;
	bool ok;
	const char *why;
};

static void check_permissions(struct probe *p, struct hv_watch *w, struct xs_handle *xs,
			      const char *path, int len)
{
	const unsigned int d = p->domid;
	struct perm_case cases[] = {
		{ { { d, XS_PERM_NONE }, { 0, XS_PERM_WRITE } }, 2, true, "dom0 may write" },
		{ { { d, XS_PERM_READ } }, 1, true, "others may read" },
		{ { { d, XS_PERM_NONE }, { 77, XS_PERM_READ } }, 2, true, "domain 77 may read" },
		{ { { d, XS_PERM_NONE }, { 77, XS_PERM_WRITE } }, 2, false, "77 may write" },
		{ { { d, XS_PERM_NONE }, { 78, XS_PERM_READ }, { 77, XS_PERM_WRITE } },
		  3,
		  false,
		  "77 may write, named last" },
		{ { { d, XS_PERM_WRITE } }, 1, false, "all may write" },
		{ { { 0, XS_PERM_NONE } }, 1, false, "dom0 owns it" },
		{ { { d, XS_PERM_NONE } }, 1, true, "only the guest may" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		probe_check(p, xs_set_permissions(xs, XBT_NULL, path, cases[i].perms, cases[i].n),
			    "set permissions: %s", cases[i].why);
		check_read(p, w, cases[i].ok ? len : -EPERM, cases[i].why);
	}
}

static void put(struct probe *p, struct xs_handle *xs, const char *path, const char *value,
		unsigned int len)
{
	probe_check(p, xs_write(xs, XBT_NULL, path, value, len), "write %u bytes", len);
}

static void check_values(struct probe *p, struct hv_watch *w, struct xs_handle *xs,
			 const char *path)
{
	char longest[GUEST_ABI_NODE_MAX];

	memset(longest, 'x', sizeof(longest));
	put(p, xs, path, longest, GUEST_ABI_NODE_MAX - 1);
	check_read(p, w, GUEST_ABI_NODE_MAX - 1, "as long as the buffer allows");
	put(p, xs, path, longest, GUEST_ABI_NODE_MAX);
	check_read(p, w, -EMSGSIZE, "one byte more");
	put(p, xs, path, "2 grant\0 3", 10);
	check_read(p, w, -EBADMSG, "a NUL within");
	put(p, xs, path, "2 grant 3\0", 10);
	check_read(p, w, -EBADMSG, "a NUL at the end");
	put(p, xs, path, "", 0);
	check_read(p, w, 0, "nothing in it");
	probe_check(p, xs_rm(xs, XBT_NULL, path), "remove the node");
	check_read(p, w, -ENOENT, "no node");
}

static void check_first(struct probe *p, struct hv_watch *w, const char *name, const char *ref)
{
	char buf[64] = "", want[64];

	snprintf(want, sizeof(want), "2 grant %s", ref);
	probe_equal(p, read_now(p, w, buf, sizeof(buf)), (int)strlen(want),
		    "read gives the length");
	probe_check(p, !strcmp(buf, want), "the guest wrote \"%s\"", buf);
	probe_equal(p, name_now(p, w, p->domid, buf, sizeof(buf)), (int)strlen(name),
		    "name gives the length");
	probe_check(p, !strcmp(buf, name), "the name is %s", buf);
	probe_equal(p, name_now(p, w, NO_SUCH_DOMAIN, buf, sizeof(buf)), -ENOENT,
		    "no domain has no name");
}

void probe_watch(struct probe *p, char **argv)
{
	const struct hv_watch_ops *ops = p->hv->watch;
	struct hv_watch *w = probe_open_watch(p);
	struct xs_handle *xs = xs_open(0);
	struct hv_event ev;
	char path[80];

	if (!w || !xs)
		return;
	snprintf(path, sizeof(path), "/local/domain/%u/" GUEST_ABI_NODE, p->domid);
	probe_check(p, await(p, w, HV_EVENT_DOMAINS, 2000), "a first event about domains");
	drain(p, w);
	probe_equal(p, ops->next(w, &ev), 0, "then none");
	probe_equal(p, ops->watch(w, p->domid), -EAGAIN, "request to watch the guest's node");
	probe_check(p, await_watch(p, w), "an answer, and a first event about the node");
	probe_equal(p, ops->watch(w, p->domid), 0, "watch the guest's node");
	probe_equal(p, ops->watch(w, p->domid), 0, "watch it twice");
	drain(p, w);
	check_first(p, w, argv[0], argv[1]);
	check_permissions(p, w, xs, path, (int)strlen(argv[1]) + 8);
	check_values(p, w, xs, path);
	drain(p, w);
	put(p, xs, path, "2 frame 3", 9);
	probe_check(p, await(p, w, HV_EVENT_NODE, 2000), "a write is an event");
	check_read(p, w, 9, "made anew by dom0, it has the owner of the node above it");
	drain(p, w);
	ops->unwatch(w, p->domid);
	put(p, xs, path, "2 frame 4", 9);
	probe_check(p, !await(p, w, HV_EVENT_NODE, 500), "no event after unwatch");
	xs_close(xs);
	ops->close(w);
}

void probe_events(struct probe *p, char **argv)
{
	struct hv_watch *w = probe_open_watch(p);

	if (!w)
		return;
	drain(p, w);
	probe_run(p, argv[0]);
	probe_check(p, await(p, w, HV_EVENT_DOMAINS, 5000), "an event about domains came");
	p->hv->watch->close(w);
}
