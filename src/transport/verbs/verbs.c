// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verbs: the backend "verbs": reliable connections by libibverbs and librdmacm.
 *
 * The device executes the operations; the responder's CPU takes no part. (On soft-RoCE the kernel
 * of the responder does, but no process.) This file opens and closes a host: its device, its
 * region, its listener. From then on event.c drives the rest.
 */
#include "src/transport/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BACKLOG = 32 };

/* --- open ----------------------------------------------------------------------------- */

static int start_reaper(struct verbs *v, char text[static 256])
{
	int ret = reaper_open(&v->reaper, conn_destroy);

	if (ret)
		snprintf(text, 256, "a thread that destroys connections cannot be started: %s",
			 strerror(-ret));
	return ret;
}

static int open_channel(struct verbs *v, char text[static 256])
{
	v->channel = rdma_create_event_channel();
	if (v->channel)
		return 0;
	if (errno == EACCES || errno == EPERM) {
		snprintf(text, 256,
			 "/dev/infiniband/rdma_cm may not be opened: run as root, or give access "
			 "to it");
		return -EACCES;
	}
	snprintf(text, 256,
		 "there is no RDMA connection manager (%s): load the module rdma_ucm, and a driver "
		 "of an RDMA device",
		 strerror(errno));
	return -ENODEV;
}

static int listen_failed(const struct transport_conf *c, int err, char text[static 256])
{
	if (err == EADDRINUSE) {
		snprintf(text, 256,
			 "another process serves at %s port %u: end it, or choose another port",
			 c->address, c->port);
		return -EADDRINUSE;
	}
	if (err == EADDRNOTAVAIL || err == ENODEV) {
		snprintf(text, 256,
			 "no RDMA device of this host has the address %s: see rdma link and ip "
			 "addr, and give one of theirs",
			 c->address);
		return -ENODEV;
	}
	snprintf(text, 256, "serving at %s port %u failed: %s", c->address, c->port, strerror(err));
	return -err;
}

static int listen_at_own_address(struct verbs *v, char text[static 256])
{
	const struct transport_conf *c = &v->t.conf;
	if (rdma_create_id(v->channel, &v->listener, NULL, RDMA_PS_TCP))
		return listen_failed(c, errno, text);
	if (rdma_bind_addr(v->listener, (struct sockaddr *)&v->own))
		return listen_failed(c, errno, text);
	if (!v->listener->verbs) /* the address is not of one device */
		return listen_failed(c, ENODEV, text);
	/* A client only needs to know its device. */
	if (c->role == TRANSPORT_MEMBER && rdma_listen(v->listener, BACKLOG))
		return listen_failed(c, errno, text);
	return 0;
}

/* Of a client without an address: there must be one alone. */
static int open_only_device(struct verbs *v, char text[static 256])
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (list && n == 1)
		v->device = ibv_open_device(list[0]);
	if (list)
		ibv_free_device_list(list);
	if (n == 1)
		return 0;
	snprintf(text, 256,
		 n ? "there are %d RDMA devices: give this client the address of the one to use"
		   : "there are %d RDMA devices: load a driver, or use another machine",
		 n);
	return -ENODEV;
}

/*
 * Open the listener's device again: then its events are only of our own queue pairs. librdmacm
 * opens a device once in a process, for all handles (conn.c).
 */
static int open_device(struct verbs *v, char text[static 256])
{
	const char *name = "";

	if (v->listener) {
		v->device = ibv_open_device(v->listener->verbs->device);
		name = ibv_get_device_name(v->listener->verbs->device);
	} else {
		int ret = open_only_device(v, text);

		if (ret)
			return ret;
	}
	if (v->device)
		name = ibv_get_device_name(v->device->device);
	if (!v->device || ibv_query_device(v->device, &v->attr)) {
		int err = errno ? errno : EIO;

		snprintf(text, 256, "the RDMA device %s cannot be opened: %s", name, strerror(err));
		return err == EACCES || err == EPERM ? -EACCES : -ENODEV;
	}
	/*
	 * IBV_ATOMIC_HCA is enough: no CPU touches the words, and all hosts reach them by this one
	 * device.
	 */
	if (v->t.conf.role == TRANSPORT_MEMBER &&
	    (v->attr.atomic_cap == IBV_ATOMIC_NONE || !conn_depth(v->attr.max_qp_rd_atom) ||
	     !conn_depth(v->attr.max_qp_init_rd_atom))) {
		snprintf(text, 256,
			 "the RDMA device %s has no atomic operations: serve at the address of one "
			 "that has, or by the transport tcp",
			 name);
		return -EOPNOTSUPP;
	}
	v->comp = ibv_create_comp_channel(v->device);
	if (!v->comp || verbs_watch_descriptors(v)) {
		snprintf(text, 256, "events of the RDMA device %s cannot be waited for: %s", name,
			 strerror(errno));
		return -ENODEV;
	}
	if (conn_make_calls_queue(v)) {
		snprintf(text, 256, "the RDMA device %s has no room for a completion queue: %s",
			 name, strerror(errno));
		return -ENOMEM;
	}
	return 0;
}

static int map_own_region(struct verbs *v, const struct transport_conf *c, char text[static 256])
{
	for (int i = 0; i < TRANSPORT_PARTS; i++) {
		int ret = 0;

		if (!c->bytes[i])
			continue;
		if (c->fd[i])
			ret = front_map_part(c, (enum transport_part)i, &v->region[i], text);
		else
			v->region[i] = conn_map(c->bytes[i]);
		if (ret)
			return ret;
		if (!v->region[i]) {
			snprintf(text, 256,
				 "%zu bytes of memory for the region cannot be allocated: %s",
				 c->bytes[i], strerror(errno));
			return -ENOMEM;
		}
		v->t.part[i] = i == TRANSPORT_WORDS ? NULL : v->region[i];
	}
	/* The only time that a CPU writes the words: no queue pair can reach them yet. */
	if (c->words)
		memcpy(v->region[TRANSPORT_WORDS], c->words, c->bytes[TRANSPORT_WORDS]);
	return 0;
}

/* --- close ------------------------------------------------------------------------------- */

static void free_memory(struct verbs *v)
{
	for (int i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		if (v->landing[i])
			munmap(v->landing[i], VERBS_CALLER_BYTES);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		if (v->region[i])
			munmap(v->region[i], v->t.conf.bytes[i]);
}

static void verbs_close(struct transport *t)
{
	struct verbs *v = verbs_of(t);

	/*
	 * Connections first: their queue pairs and regions are on the device, which can be closed
	 * only when it has none left. The reaper ends when it has destroyed them all.
	 */
	for (struct conn *c = v->conns; c; c = c->next)
		conn_end(c);
	reaper_close(v->reaper);
	while (v->conns) {
		struct conn *c = v->conns;

		v->conns = c->next;
		free(c);
	}
	if (v->listener)
		rdma_destroy_id(v->listener);
	if (v->epoll >= 0)
		close(v->epoll);
	if (v->cq)
		ibv_destroy_cq(v->cq);
	if (v->comp)
		ibv_destroy_comp_channel(v->comp);
	if (v->device)
		ibv_close_device(v->device);
	if (v->channel)
		rdma_destroy_event_channel(v->channel);
	free_memory(v);
	front_fini(t);
	free(v);
}

static const struct transport_ops verbs_ops = {
	.close = verbs_close,
	.check = front_address_check,
	.call = verbs_call,
	.hang_up = verbs_hang_up,
	.evict = verbs_evict,
	.serves = verbs_serves,
	.submit = verbs_submit,
	.flush = verbs_flush,
	.progress = verbs_progress,
	.fd = verbs_fd,
	.arm = verbs_arm,
};

static int verbs_open(struct transport **t, const struct transport_conf *c, struct mono now,
		      char text[static 256])
{
	struct verbs *v = calloc(1, sizeof(*v));
	socklen_t len;
	bool client = c->role == TRANSPORT_CLIENT;
	int ret;

	if (!v) {
		snprintf(text, 256, "no memory for the transport");
		return -ENOMEM;
	}
	/* 0 would be a descriptor, which verbs_close would close. */
	v->epoll = -1;
	ret = front_init(&v->t, &verbs_ops, c, now, text);
	if (ret) {
		free(v);
		return ret;
	}
	if (!client || c->address[0])
		ret = front_address(c->address, client ? 1 : c->port, &v->own, &len);
	if (!ret && client && c->address[0])
		front_any_port(&v->own);
	if (ret)
		snprintf(text, 256,
			 "\"%s\" port %u is not an address to serve at: give an IP address of an "
			 "RDMA "
			 "device of this host, and a port from 1",
			 c->address, c->port);
	/* First: a descriptor of conf.fd that is closed must not be one that we open. */
	if (!ret)
		ret = map_own_region(v, c, text);
	if (!ret)
		ret = start_reaper(v, text);
	if (!ret)
		ret = open_channel(v, text);
	if (!ret)
		if (!ret && v->own.ss_family != AF_UNSPEC)
			ret = listen_at_own_address(v, text);
	if (!ret)
		ret = open_device(v, text);
	if (ret) {
		verbs_close(&v->t);
		return ret;
	}
	*t = &v->t;
	return 0;
}

const struct transport_backend transport_verbs = {
	.name = "verbs", .has_ports = true, .check = front_address_check, .open = verbs_open
};
