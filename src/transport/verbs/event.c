// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event: events of the descriptors: connections, completions, alarms.
 *
 * One epoll descriptor watches the connection manager's channel, the channel of all
 * completion queues, the device's asynchronous events, and the reaper. All are non-blocking. Each
 * event is acknowledged before it is handled: destroying an object with unacknowledged events
 * waits for them. From then on the reaper may free the object that the event is about: only our
 * connection, which this thread frees, may be used.
 */
#include "src/transport/verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
	EVENTS_MAX = 32,      /* of each kind in one progress */
	COMPLETIONS_MAX = 64, /* of one responder in one progress */
	CALLS_MAX = 1024,     /* of all our links in one progress */
	COMPLETIONS_ONCE = 16,
	DESCRIPTORS = 4,
	/*
	 * A user that polls all the time waits for its own operations: it needs no events of
	 * completions. It gets events of connections, which are a system call, and messages, which
	 * are a queue for each peer, only so often.
	 */
	LOOK_EACH_NS = 500000,
};

enum { OF_CM, OF_COMPLETIONS, OF_DEVICE, OF_REAPER };

static int watch_fd(struct verbs *v, int fd, uint32_t what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = what };
	int flags = fcntl(fd, F_GETFL);

	/* The libraries open these descriptors blocking, and their functions would wait. */
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    epoll_ctl(v->epoll, EPOLL_CTL_ADD, fd, &e))
		return -errno;
	return 0;
}

int verbs_watch_descriptors(struct verbs *v)
{
	int ret;

	v->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (v->epoll < 0)
		return -errno;
	ret = watch_fd(v, v->channel->fd, OF_CM);
	if (!ret)
		ret = watch_fd(v, v->comp->fd, OF_COMPLETIONS);
	if (!ret)
		ret = watch_fd(v, v->device->async_fd, OF_DEVICE);
	if (!ret)
		ret = watch_fd(v, reaper_fd(v->reaper), OF_REAPER);
	return ret;
}

int verbs_fd(struct transport *t)
{
	return verbs_of(t)->epoll;
}

/* --- the connection manager ------------------------------------------------------- */

/* c: of e->id, if it is one of a connection. */
static void cm_event(struct verbs *v, const struct rdma_cm_event *e, struct conn *c,
		     struct mono now)
{
	/* First: a request comes with an id that has the listener's context, not a conn. */
	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		serve_caller(v, e, now);
	else if (e->id == v->listener)
		front_alarm(&v->t, 0, "no host can call this host any more: %s",
			    rdma_event_str(e->event));
	else if (c->state == CONN_OVER)
		return; /* the reaper has its id */
	else if (c->out)
		call_event(c, e, now);
	else
		serve_event(c, e, now);
}

static void handle_cm_events(struct verbs *v, struct mono now)
{
	struct rdma_cm_event *e, copy;

	for (int i = 0; i < EVENTS_MAX && !rdma_get_cm_event(v->channel, &e); i++) {
		struct conn *c = e->id->context;

		copy = *e; /* without its private data, which we do not use */
		rdma_ack_cm_event(e);
		cm_event(v, &copy, c, now);
	}
}

/* --- the device --------------------------------------------------------------------- */

/* The device refused a request of the peer of this queue pair. */
static void peer_violated(struct conn *c, enum ibv_event_type type, struct mono now)
{
	if (c->out)
		call_violated(c, "requested something", now);
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

static void handle_device_events(struct verbs *v, struct mono now)
{
	struct ibv_async_event e;

	for (int i = 0; i < EVENTS_MAX && !ibv_get_async_event(v->device, &e); i++) {
		struct conn *c = of_queue_pair(e.event_type) ? e.element.qp->qp_context : NULL;

		ibv_ack_async_event(&e);
		if (c && c->state != CONN_OVER)
			peer_violated(c, e.event_type, now);
		else if (of_device(e.event_type))
			front_alarm(&v->t, 0, "our RDMA device %s has an error: %s",
				    ibv_get_device_name(v->device->device),
				    ibv_event_type_str(e.event_type));
	}
}

/* --- completions --------------------------------------------------------------------- */

static void handle_completion_events(struct verbs *v)
{
	struct ibv_cq *cq;
	void *armed;

	/* An event only wakes us: all queues are polled anyway. Its own must be armed again. */
	while (!ibv_get_cq_event(v->comp, &cq, &armed)) {
		ibv_ack_cq_events(cq, 1);
		*(bool *)armed = false;
	}
}

/* The device's queue of our links does not work: none of them does. */
static void calls_broke(struct verbs *v)
{
	for (struct conn *c = v->conns; c; c = c->next)
		if (c->out)
			c->broke = -EIO;
	v->any_broke = true;
}

static void poll_calls(struct verbs *v, struct mono now)
{
	struct ibv_wc wc[COMPLETIONS_ONCE];
	int n = COMPLETIONS_ONCE;

	for (int all = 0; all < CALLS_MAX && n == COMPLETIONS_ONCE; all += n) {
		n = ibv_poll_cq(v->cq, COMPLETIONS_ONCE, wc);
		for (int i = 0; i < n; i++) {
			struct conn *c = conn_wr_call(v, wc[i].wr_id);

			if (c && c->state != CONN_OVER)
				call_completed(c, &wc[i], now);
		}
	}
	if (n < 0)
		calls_broke(v);
	/* Successes may follow a failure: a link ends when no completion is left. */
	if (n == COMPLETIONS_ONCE || !v->any_broke)
		return;
	v->any_broke = false;
	for (struct conn *c = v->conns; c; c = c->next)
		if (c->out && c->broke && c->state != CONN_OVER)
			call_broke(c, now);
}

/*
 * How many completions may be polled at once. A message is DONE for its sender already: it stays in
 * the completion queue until the user's queue has room. When all receive buffers are full, the
 * device stops the sender.
 */
static int completions_allowed(struct conn *c)
{
	if (c->state != CONN_UP)
		return COMPLETIONS_ONCE;
	c->held = !front_message_fits(&c->v->t, c->host);
	return c->held ? 0 : 1;
}

static void poll_served(struct conn *c, struct mono now)
{
	struct ibv_wc wc[COMPLETIONS_ONCE];
	int n = 1, most = 1;

	for (int all = 0; all < COMPLETIONS_MAX && n == most; all += n) {
		if (c->state == CONN_OVER || !c->cq)
			return;
		most = completions_allowed(c);
		if (!most)
			return;
		/*
		 * One by one while messages need room: a completion that was polled cannot be put
		 * back.
		 */
		n = ibv_poll_cq(c->cq, most, wc);
		for (int i = 0; i < n && c->state != CONN_OVER; i++)
			serve_completed(c, &wc[i], now);
	}
	if (n < 0)
		c->broke = -EIO;
	if (c->broke && n != most && c->state != CONN_OVER)
		serve_broke(c, now);
}

/* --- the reaper ------------------------------------------------------------------------- */

/* Links were destroyed: those that waited for it go on. */
static void handle_destroyed(struct verbs *v, struct mono now)
{
	struct reap *item;

	while ((item = reaper_take(v->reaper))) {
		struct conn *c = (struct conn *)((char *)item - offsetof(struct conn, reap));

		c->destroyed = true;
		serve_destroyed(c);
	}
	for (struct conn *c = v->conns; c; c = c->next) {
		if (c->state == CONN_WAITS)
			call_resume(c, now);
		else if (c->state == CONN_PROVEN)
			serve_resume(c, now);
	}
}

/* --- for the front ---------------------------------------------------------------------- */

/* Free the connections that were destroyed: no pointer to them is left. */
static void free_ended(struct verbs *v)
{
	struct conn **at = &v->conns;

	while (*at) {
		struct conn *c = *at;

		if (!c->destroyed) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

/* Time is an argument, and may go back. */
static bool is_look_due(const struct verbs *v, struct mono now)
{
	int64_t since = mono_sub(now, v->looked);

	return v->slept || since < 0 || since >= LOOK_EACH_NS;
}

void verbs_progress(struct transport *t, struct mono now)
{
	struct verbs *v = verbs_of(t);
	struct epoll_event e[DESCRIPTORS];
	int n;

	if (!is_look_due(v, now)) {
		poll_calls(v, now);
		return;
	}
	n = epoll_wait(v->epoll, e, DESCRIPTORS, 0);
	v->slept = false;
	v->looked = now;
	for (int i = 0; i < n; i++)
		if (e[i].data.u32 == OF_COMPLETIONS)
			handle_completion_events(v);
	/* Completions came before the end of their connection: handle them first. */
	poll_calls(v, now);
	for (struct conn *c = v->conns; c; c = c->next) {
		if (c->out)
			continue;
		poll_served(c, now);
		serve_due(c, now);
	}
	for (int i = 0; i < n; i++) {
		if (e[i].data.u32 == OF_DEVICE)
			handle_device_events(v, now);
		else if (e[i].data.u32 == OF_CM)
			handle_cm_events(v, now);
		else if (e[i].data.u32 == OF_REAPER)
			handle_destroyed(v, now);
	}
	/* No handler is on the stack any more, and all acknowledged events are handled. */
	free_ended(v);
}

int verbs_arm(struct transport *t, struct mono now, struct mono *due)
{
	struct verbs *v = verbs_of(t);
	int again = 0;

	(void)now;
	v->slept = true;
	if (!v->armed) {
		if (ibv_req_notify_cq(v->cq, 0))
			calls_broke(v);
		v->armed = true;
		again = 1;
	}
	for (struct conn *c = v->conns; c; c = c->next) {
		if (c->state == CONN_OVER || !c->cq)
			continue;
		if (c->counted && c->due.ns < due->ns)
			*due = c->due;
		again |= c->held;
		if (c->armed)
			continue;
		/* Earlier completions make no event: the next progress must poll once more. */
		if (ibv_req_notify_cq(c->cq, 0))
			c->broke = -EIO;
		c->armed = true;
		again = 1;
	}
	return again;
}
