// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shm: the backend "shm": hosts are processes of one machine, or handles of one process, and access
 * each other's memory (shm.h).
 *
 * This file opens and closes a host, passes each ready descriptor to call.c or serve.c, and sets
 * the faults that exec.c injects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/transport/shm/shm.h"

enum { EVENTS = 64 };

static void shm_free(struct transport *t)
{
	struct shm *s = shm_of(t);

	/* With the life: before another process can listen in our place. */
	shm_region_close(&s->region);
	for (int i = 0; i < TRANSPORT_HOSTS_MAX; i++) {
		struct shm_out *o = &s->out[i];

		shm_close(&s->in[i]);
		shm_close(&s->old[i]);
		shm_close(&o->fd);
		shm_unmap(&o->map);
		shm_unmap(&o->late_map);
		hello_wipe(&o->hello);
		free(o->data);
	}
	for (uint32_t i = 0; s->hello && i < s->hellos_max; i++) {
		shm_close(&s->hello[i].fd);
		hello_wipe(&s->hello[i].hello);
	}
	free(s->hello);
	/* Only if we listen: otherwise the path may be another process's. */
	if (s->listener >= 0)
		unlink(s->path);
	shm_close(&s->listener);
	shm_close(&s->epoll);
	front_fini(t);
	free(s);
}

static void dispatch(struct shm *s, const struct epoll_event *ev, struct mono now)
{
	/*
	 * A number, not a pointer: an earlier event of the same wait may have ended this link, and
	 * the number then finds a closed descriptor instead of freed memory.
	 */
	uint32_t id = ev->data.u32;

	if (id >= SHM_ID_HELLO)
		shm_hello_event(s, id - SHM_ID_HELLO, now);
	else if (id >= SHM_ID_IN)
		shm_in_event(s, id - SHM_ID_IN);
	else if (id >= SHM_ID_OUT)
		shm_out_event(s, id - SHM_ID_OUT, ev->events, now);
	else
		shm_accept(s, now);
}

static void shm_progress(struct transport *t, struct mono now)
{
	struct shm *s = shm_of(t);
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(s->epoll, ev, EVENTS, 0);

	for (int i = 0; i < n; i++)
		dispatch(s, &ev[i], now);
	/* After the events: a proof that has arrived in time counts. */
	shm_hellos_timers(s, now);
	for (uint16_t h = hostset_next(&s->busy, 0); h; h = hostset_next(&s->busy, h))
		shm_run(s, h - 1u, now);
}

static int shm_fd(struct transport *t)
{
	return shm_of(t)->epoll;
}

static int shm_arm(struct transport *t, struct mono now, struct mono *due)
{
	(void)now;
	/* Never 1: epoll is level-triggered, so the descriptor is readable while anything waits. */
	shm_run_due(shm_of(t), due);
	shm_hellos_due(shm_of(t), due);
	return 0;
}

static const struct transport_ops ops = {
	.close = shm_free,
	.check = shm_check,
	.call = shm_call,
	.hang_up = shm_hang_up,
	.evict = shm_evict,
	.serves = shm_serves,
	.submit = shm_submit,
	.share = shm_share,
	.progress = shm_progress,
	.fd = shm_fd,
	.arm = shm_arm,
};

/* --- open ---------------------------------------------------------------------- */

static int open_and_listen(struct shm *s, char text[static 256])
{
	const struct transport_conf *c = &s->t.conf;
	int rc = shm_region_open(&s->region, c, text);

	if (rc)
		return rc;
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		s->t.part[i] = i == TRANSPORT_WORDS || !c->bytes[i] ? NULL : s->region.mem[i];
	rc = shm_address(s->path, sizeof(s->path), c->address, c->host);
	if (rc) {
		snprintf(text, 256, "the folder's name \"%s\" is too long for a socket in it",
			 c->address);
		return -EINVAL;
	}
	rc = shm_listen(c->address, s->path, &s->listener);
	if (rc == -EADDRINUSE)
		snprintf(text, 256, "%s: another process serves as host %u there", s->path,
			 c->host);
	else if (rc)
		snprintf(text, 256, "%s: %s; the folder must be there and writable", s->path,
			 strerror(-rc));
	return rc;
}

static int watch_listener(struct shm *s, char text[static 256])
{
	int rc = 0;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		rc = -errno;
	else if (s->listener >= 0) /* a client has none */
		rc = shm_watch(s->epoll, EPOLL_CTL_ADD, s->listener, EPOLLIN, SHM_ID_LISTENER);
	if (rc)
		snprintf(text, 256, "the sockets cannot be watched: %s", strerror(-rc));
	return rc;
}

static int make_hellos(struct shm *s, char text[static 256])
{
	uint32_t n = s->t.conf.hellos_max;

	s->hellos_max = n < SHM_HELLOS_MAX ? n : SHM_HELLOS_MAX;
	s->hello = calloc(s->hellos_max, sizeof(*s->hello));
	if (!s->hello) {
		snprintf(text, 256, "there is no memory for %u callers", s->hellos_max);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->hellos_max; i++)
		s->hello[i].fd = -1;
	return 0;
}

static struct shm *shm_new(void)
{
	struct shm *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->epoll = s->listener = s->region.words_read = -1;
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		s->region.fd[i] = -1;
	for (int i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		s->in[i] = s->old[i] = s->out[i].fd = -1;
	/* Not 0: xorshift would return only zeros. */
	s->rng = 1;
	return s;
}

static int shm_open_host(struct transport **t, const struct transport_conf *c, struct mono now,
			 char text[static 256])
{
	struct shm *s = shm_new();
	int rc;

	if (!s) {
		snprintf(text, 256, "there is no memory for the transport");
		return -ENOMEM;
	}
	rc = front_init(&s->t, &ops, c, now, text);
	if (rc) {
		free(s);
		return rc;
	}
	/* The listener comes before epoll: callers meanwhile wait in its backlog. */
	rc = make_hellos(s, text);
	if (!rc && c->role == TRANSPORT_MEMBER)
		rc = open_and_listen(s, text);
	if (!rc)
		rc = watch_listener(s, text);
	s->t.conf.words = NULL; /* the user may free it */
	if (rc) {
		shm_free(&s->t);
		return rc;
	}
	*t = &s->t;
	return 0;
}

const struct transport_backend transport_shm = { .name = "shm",
						 .check = shm_check,
						 .open = shm_open_host };

/* --- faults ----------------------------------------------------------------------- */

static bool delay_fits(int64_t min, int64_t max)
{
	return min >= 0 && min <= max;
}

int transport_shm_faults(struct transport *t, const struct shm_faults *f)
{
	struct shm *s = shm_of(t);

	if (t->ops != &ops || !delay_fits(f->out_min_ns, f->out_max_ns) ||
	    !delay_fits(f->back_min_ns, f->back_max_ns) || f->late_max_ns < 0 ||
	    f->late_max_ns == INT64_MAX)
		return -EINVAL;
	if (f->drop_permille > 1000 || f->drop_back_permille > 1000 || f->late_permille > 1000 ||
	    f->tear_permille > 1000)
		return -EINVAL;
	s->faults = *f;
	/* Never 0: xorshift would return only zeros. The factor spreads similar seeds. */
	s->rng = (f->seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	return 0;
}

int transport_shm_cut(struct transport *t, uint16_t host, bool cut)
{
	if (t->ops != &ops || !host || host > TRANSPORT_HOSTS_MAX)
		return -EINVAL;
	shm_of(t)->out[host - 1].cut = cut;
	return 0;
}
