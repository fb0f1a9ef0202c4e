// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watch: which domains were created or destroyed, and what a guest writes about itself.
 *
 * The control thread's loop calls these operations. None waits for xenstored: they make requests
 * to the thread of src/hv/store.c, which makes the calls of xenstore.c. tests/check-layers.sh
 * refuses libxenstore here.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/hv/store.h"
#include "src/hv/xen/xen.h"

enum {
	OPEN_MS = 5000, /* xenstored answers within milliseconds unless something is wrong */
	CLOSE_MS = 500, /* an end must not wait for xenstored */
};

struct hv_watch {
	struct store *store;
};

static int xen_watch_open(struct hv_watch **w, void *arg)
{
	const struct store_conf c = { .calls = &hv_xen_store_calls,
				      .open_ms = OPEN_MS,
				      .close_ms = CLOSE_MS };
	struct hv_watch *h;
	int ret = hv_xen_host();

	(void)arg;
	if (ret)
		return ret;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	ret = store_open(&h->store, &c);
	if (ret)
		free(h);
	else
		*w = h;
	return ret;
}

static void xen_watch_close(struct hv_watch *w)
{
	if (!w)
		return;
	store_close(w->store);
	free(w);
}

static int xen_watch_fd(struct hv_watch *w)
{
	return store_fd(w->store);
}

static int xen_watch_next(struct hv_watch *w, struct hv_event *ev)
{
	return store_next(w->store, ev);
}

static int xen_watch_add(struct hv_watch *w, uint32_t domid)
{
	return store_watch(w->store, domid);
}

static void xen_watch_remove(struct hv_watch *w, uint32_t domid)
{
	store_unwatch(w->store, domid);
}

static int xen_watch_read(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	return store_read(w->store, domid, buf, size);
}

static int xen_watch_name(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	return store_name(w->store, domid, buf, size);
}

static int xen_watch_want(struct hv_watch *w, uint32_t domid, const char *value)
{
	return store_want(w->store, domid, value);
}

static int xen_watch_answer(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	return store_answer(w->store, domid, buf, size);
}

const struct hv_watch_ops hv_xen_watch = {
	.open = xen_watch_open,
	.close = xen_watch_close,
	.fd = xen_watch_fd,
	.next = xen_watch_next,
	.watch = xen_watch_add,
	.unwatch = xen_watch_remove,
	.read = xen_watch_read,
	.name = xen_watch_name,
	.want = xen_watch_want,
	.answer = xen_watch_answer,
};
