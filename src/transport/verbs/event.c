// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event: what the descriptors tell: connections, completions, alarms.
 *
 * One epoll descriptor holds the connection manager's channel, the channel of
 * all completion queues, and the device's asynchronous events; all are
 * non-blocking. Each event is acknowledged where it was taken, before anything is
 * done about it: destroying what has unacknowledged events waits for them, for ever.
 */
#include "src/transport/verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
	EVENTS_MAX = 32,      /* taken of each kind in one progress */
	COMPLETIONS_MAX = 64, /* of one connection: others come too */
	COMPLETIONS_ONCE = 16,
};

enum { OF_CM, OF_COMPLETIONS, OF_DEVICE };

static int watch(struct verbs *v, int fd, uint32_t what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = what };
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    epoll_ctl(v->epoll, EPOLL_CTL_ADD, fd, &e))
		return -errno;
	return 0;
}

int verbs_wait_for(struct verbs *v)
{
	int ret;

	v->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (v->epoll < 0)
		return -errno;
	ret = watch(v, v->channel->fd, OF_CM);
	if (!ret)
		ret = watch(v, v->comp->fd, OF_COMPLETIONS);
	if (!ret)
		ret = watch(v, v->device->async_fd, OF_DEVICE);
	return ret;
}

int verbs_fd(struct transport *t)
{
	return verbs_of(t)->epoll;
}

/* --- the connection manager ------------------------------------------------------- */

static void cm_event(struct verbs *v, const struct rdma_cm_event *e, struct mono now)
{
	struct conn *c = e->id->context;

	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		serve_caller(v, e, now);
	else if (e->id == v->listener)
		front_alarm(&v->t, 0, "nobody can call us any more: %s", rdma_event_str(e->event));
	else if (c->out)
		call_event(c, e, now);
	else
		serve_event(c, e, now);
}

static void take_cm_events(struct verbs *v, struct mono now)
{
	struct rdma_cm_event *e, copy;

	for (int i = 0; i < EVENTS_MAX && !rdma_get_cm_event(v->channel, &e); i++) {
		copy = *e; /* its private data is not looked at: there is none of ours */
		rdma_ack_cm_event(e);
		cm_event(v, &copy, now);
	}
}

/* --- the device --------------------------------------------------------------------- */

/* The device refused what the other end of this queue pair asked for. */
static void violated(struct conn *c, enum ibv_event_type type, struct mono now)
{
	if (c->out)
		call_violated(c, "asked for something", now);
	else
		serve_violated(c, ibv_event_type_str(type));
}

static bool of_queue_pair(enum ibv_event_type type)
{
	return type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_FATAL;
}

static bool of_device(enum ibv_event_type type)
{
	return type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_DEVICE_FATAL ||
	       type == IBV_EVENT_PORT_ERR;
}

static void take_device_events(struct verbs *v, struct mono now)
{
	struct ibv_async_event e;

	for (int i = 0; i < EVENTS_MAX && !ibv_get_async_event(v->device, &e); i++) {
		/* What was destroyed has no events left to be taken. */
		struct conn *c = of_queue_pair(e.event_type) ? e.element.qp->qp_context : NULL;

		ibv_ack_async_event(&e);
		if (c)
			violated(c, e.event_type, now);
		else if (of_device(e.event_type))
			front_alarm(&v->t, 0, "our RDMA device %s has an error: %s",
				    ibv_get_device_name(v->device->device),
				    ibv_event_type_str(e.event_type));
	}
}

/* --- completions --------------------------------------------------------------------- */

static void take_completion_events(struct verbs *v)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(v->comp, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		((struct conn *)context)->armed = false;
	}
}

static void completed(struct conn *c, const struct ibv_wc *wc, struct mono now)
{
	if (c->out)
		call_completed(c, wc, now);
	else
		serve_completed(c, wc, now);
}

/*
 * How many completions may be taken at once. A message, DONE for who sent it, is
 * not taken until the user's queue has room for it; when all receives lie here
 * unread, the device holds the sender.
 */
static int room(struct conn *c)
{
	if (c->out || c->state != CONN_UP)
		return COMPLETIONS_ONCE;
	c->held = !front_message_fits(&c->v->t, c->host);
	return c->held ? 0 : 1;
}

static void poll_conn(struct conn *c, struct mono now)
{
	struct ibv_wc wc[COMPLETIONS_ONCE];
	int n = 1, most = 1;

	for (int all = 0; all < COMPLETIONS_MAX && n == most; all += n) {
		if (c->state == CONN_OVER || !c->cq)
			return;
		most = room(c);
		if (!most)
			return;
		n = ibv_poll_cq(c->cq, most, wc);
		for (int i = 0; i < n && c->state != CONN_OVER; i++)
			completed(c, &wc[i], now);
	}
	if (n < 0)
		c->broke = -EIO;
	/* Successes may stand behind a failure: it ends when nothing is left. */
	if (!c->broke || n == most || c->state == CONN_OVER)
		return;
	if (c->out)
		call_broke(c, now);
	else
		serve_broke(c, now);
}

/* --- for the front ---------------------------------------------------------------------- */

/* Connections that ended: nothing on the way here names them any more. */
static void sweep(struct verbs *v)
{
	struct conn **at = &v->conns;

	while (*at) {
		struct conn *c = *at;

		if (c->state != CONN_OVER) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

void verbs_progress(struct transport *t, struct mono now)
{
	struct verbs *v = verbs_of(t);
	struct epoll_event e[3];
	int n = epoll_wait(v->epoll, e, 3, 0);

	for (int i = 0; i < n; i++)
		if (e[i].data.u32 == OF_COMPLETIONS)
			take_completion_events(v);
	/* What completed came before the end of its connection: it is taken first. */
	for (struct conn *c = v->conns; c; c = c->next) {
		poll_conn(c, now);
		if (!c->out)
			serve_due(c, now);
	}
	for (int i = 0; i < n; i++) {
		if (e[i].data.u32 == OF_DEVICE)
			take_device_events(v, now);
		else if (e[i].data.u32 == OF_CM)
			take_cm_events(v, now);
	}
	sweep(v);
}

int verbs_arm(struct transport *t, struct mono now, struct mono *due)
{
	struct verbs *v = verbs_of(t);
	int again = 0;

	(void)now;
	for (struct conn *c = v->conns; c; c = c->next) {
		if (c->state == CONN_OVER || !c->cq)
			continue;
		if (!c->out && c->state == CONN_HELLO && c->due.ns < due->ns)
			*due = c->due;
		again |= c->held;
		if (c->armed)
			continue;
		/* What came before makes no event: the next progress looks once more. */
		if (ibv_req_notify_cq(c->cq, 0))
			c->broke = -EIO;
		c->armed = true;
		again = 1;
	}
	return again;
}
