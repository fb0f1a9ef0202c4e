// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_host: a table of domains behind the scheduling and watching ops of hv.h, with
 * failures that a test chooses. See fake_host.h.
 */
#include "tests/fakes/fake_host.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/core/caps.h"

void fake_host_open(struct fake_host *h)
{
	memset(h, 0, sizeof(*h));
	h->sched.host = h->watch.host = h;
	fake_dom_add(h, 0, 0)->dom.flags = HV_DOM_PRIVILEGED;
}

struct fake_dom *fake_dom(struct fake_host *h, uint32_t domid)
{
	for (uint32_t i = 0; i < h->doms; i++)
		if (h->dom[i].dom.domid == domid)
			return &h->dom[i];
	return NULL;
}

struct fake_dom *fake_dom_add(struct fake_host *h, uint32_t domid, uint8_t uuid)
{
	uint32_t at = 0;
	struct fake_dom *d;

	assert(h->doms < FAKE_DOMS_MAX && !fake_dom(h, domid));
	while (at < h->doms && h->dom[at].dom.domid < domid)
		at++;
	d = &h->dom[at];
	memmove(d + 1, d, (h->doms - at) * sizeof(*d));
	h->doms++;
	*d = (struct fake_dom){ .dom = { .domid = domid, .vcpus = 1 }, .params.weight = 256 };
	memset(d->dom.uuid, uuid, sizeof(d->dom.uuid));
	snprintf(d->name, sizeof(d->name), "guest-%u", domid);
	return d;
}

void fake_dom_remove(struct fake_host *h, uint32_t domid)
{
	struct fake_dom *d = fake_dom(h, domid);

	assert(d);
	memmove(d, d + 1, (size_t)(&h->dom[--h->doms] - d) * sizeof(*d));
}

void fake_host_event(struct fake_host *h, enum hv_event_type type, uint32_t domid)
{
	assert(h->events - h->events_taken < FAKE_EVENTS_MAX);
	h->event[h->events++ % FAKE_EVENTS_MAX] = (struct hv_event){ type, domid };
}

uint32_t fake_calls(const struct fake_host *h, uint32_t domid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->calls; i++)
		n += h->call[i].domid == domid;
	return n;
}

const struct fake_call *fake_last_call(const struct fake_host *h, uint32_t domid)
{
	for (uint32_t i = h->calls; i-- > 0;)
		if (h->call[i].domid == domid)
			return &h->call[i];
	return NULL;
}

/* --- scheduling --- */

static int sched_open(struct hv_sched **s, void *arg)
{
	*s = &((struct fake_host *)arg)->sched;
	return 0;
}

static void sched_close(struct hv_sched *s)
{
	(void)s;
}

static int sched_list(struct hv_sched *s, struct hv_dom *doms, size_t max)
{
	struct fake_host *h = s->host;
	size_t n = 0;

	h->lists++;
	if (h->list_rc)
		return h->list_rc;
	while (n < h->doms && n < max) {
		doms[n] = h->dom[n].dom;
		n++;
	}
	return (int)n;
}

static int sched_vcpu(struct hv_sched *s, uint32_t domid, uint32_t number, struct hv_vcpu *v)
{
	struct fake_dom *d = fake_dom(s->host, domid);

	if (!d || number >= d->dom.vcpus)
		return -ESRCH;
	assert(number < FAKE_VCPUS_MAX);
	d->looks++;
	*v = d->vcpu[number];
	return 0;
}

static int sched_get(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p)
{
	struct fake_dom *d = fake_dom(s->host, domid);

	if (!d)
		return -ESRCH;
	d->gets++;
	if (d->get_rc)
		return d->get_rc;
	*p = d->params;
	return 0;
}

static int sched_set_cap(struct hv_sched *s, uint32_t domid, struct cap was, struct cap cap,
			 struct hv_sched_params *found)
{
	struct fake_host *h = s->host;
	struct fake_dom *d = fake_dom(h, domid);
	int rc = !domid ? -EPERM : d ? d->set_rc : -ESRCH;

	assert(h->calls < FAKE_CALLS_MAX);
	if (!rc) {
		*found = d->params;
		if (cap_to_percent(d->params.cap) != cap_to_percent(was))
			rc = -ECANCELED;
	}
	h->call[h->calls++] = (struct fake_call){ domid, cap_to_percent(cap), rc };
	if (!rc)
		d->params.cap = cap_from_percent(cap_to_percent(cap));
	return rc;
}

static const char *sched_name(struct hv_sched *s, uint32_t domid)
{
	const struct fake_dom *d = fake_dom(s->host, domid);

	return d && d->scheduler ? d->scheduler : "fake";
}

const struct hv_sched_ops fake_sched_ops = {
	.open = sched_open,
	.close = sched_close,
	.list = sched_list,
	.vcpu = sched_vcpu,
	.get = sched_get,
	.set_cap = sched_set_cap,
	.name = sched_name,
};

/* --- watching --- */

static int watch_open(struct hv_watch **w, void *arg)
{
	*w = &((struct fake_host *)arg)->watch;
	return 0;
}

static void watch_close(struct hv_watch *w)
{
	(void)w;
}

static int watch_fd(struct hv_watch *w)
{
	(void)w;
	return -1;
}

static int watch_next(struct hv_watch *w, struct hv_event *ev)
{
	struct fake_host *h = w->host;

	if (h->events == h->events_taken)
		return 0;
	*ev = h->event[h->events_taken++ % FAKE_EVENTS_MAX];
	return 1;
}

void fake_store_answer(struct fake_host *h)
{
	for (uint32_t i = 0; i < h->doms; i++) {
		struct fake_dom *d = &h->dom[i];
		bool any = false;

		for (int k = 0; k < FAKE_ASKS; k++) {
			any |= d->asked[k];
			d->answered[k] |= d->asked[k];
			d->asked[k] = false;
		}
		if (!any)
			continue;
		memcpy(d->name_then, d->name, sizeof(d->name));
		memcpy(d->node_then, d->node, sizeof(d->node));
		fake_host_event(h, HV_EVENT_ANSWER, d->dom.domid);
	}
}

/* Notes what is asked. True: the answer comes later, by fake_store_answer(). */
static bool must_wait(struct fake_host *h, struct fake_dom *d, enum fake_ask kind)
{
	h->store_calls++;
	if (!h->store_later || !d)
		return false;
	d->asked_again = d->asked[kind] ? d->asked_again + 1 : 0;
	assert(d->asked_again < FAKE_ASKED_MAX);
	d->asked[kind] = !d->answered[kind];
	d->answered[kind] = false;
	return d->asked[kind];
}

static int watch_watch(struct hv_watch *w, uint32_t domid)
{
	struct fake_dom *d = fake_dom(w->host, domid);

	if (must_wait(w->host, d, FAKE_ASK_WATCH))
		return -EAGAIN;
	if (!d)
		return -ESRCH;
	if (d->watch_rc)
		return d->watch_rc;
	assert(!d->watched);
	d->watched = true;
	return 0;
}

static void watch_unwatch(struct hv_watch *w, uint32_t domid)
{
	struct fake_dom *d = fake_dom(w->host, domid);

	w->host->store_calls++;
	if (!d)
		return;
	d->watched = false;
	memset(d->asked, 0, sizeof(d->asked));
	memset(d->answered, 0, sizeof(d->answered));
}

static int copy_out(const char *text, char *buf, size_t size)
{
	size_t n = strlen(text);

	if (n >= size)
		return -EMSGSIZE;
	memcpy(buf, text, n + 1);
	return (int)n;
}

static int watch_read(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	struct fake_dom *d = fake_dom(w->host, domid);

	const char *node;

	if (must_wait(w->host, d, FAKE_ASK_READ))
		return -EAGAIN;
	if (!d)
		return -ENOENT;
	d->reads++;
	if (d->read_rc)
		return d->read_rc;
	node = w->host->store_later ? d->node_then : d->node;
	return node[0] ? copy_out(node, buf, size) : -ENOENT;
}

static int watch_name(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	struct fake_dom *d = fake_dom(w->host, domid);

	if (must_wait(w->host, d, FAKE_ASK_NAME))
		return -EAGAIN;
	if (!d)
		return -ENOENT;
	if (d->name_rc)
		return d->name_rc;
	return copy_out(w->host->store_later ? d->name_then : d->name, buf, size);
}

const struct hv_watch_ops fake_watch_ops = {
	.open = watch_open,
	.close = watch_close,
	.fd = watch_fd,
	.next = watch_next,
	.watch = watch_watch,
	.unwatch = watch_unwatch,
	.read = watch_read,
	.name = watch_name,
};
