// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring: connections of caches, the memory that each shares, and requests in it. See ring.h.
 *
 *	eventfd -> serve: take the bits of asked -> look at each slot -> asked() of the owner
 *	owner   -> cached_ring_answer -> the slot, and its futex
 *	owner   -> cached_ring_home, _evidence -> ring_view.c, and files to all clients
 *
 * While a client is served, header.sleeps is 0, and its requests cost it no system call.
 */
#define _GNU_SOURCE /* memfd_create, and seals */
#include "src/cached/ring.h"

#include <errno.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/cached/listen.h"
#include "src/cached/ring_view.h"
#include "src/util/clock.h"

enum {
	SLOT_BITS = 10,
	CLIENT_BITS = 6,
	ROUNDS = 16, /* in a row for one client: then the others and the loop have a turn */
	BITMAP = CACHE_RING_SLOTS_MAX / 64,
	FILES_MAX = 2, /* in one message */
};

_Static_assert(1 << SLOT_BITS >= CACHE_RING_SLOTS_MAX, "a slot's number has room in an id");
_Static_assert(1 << CLIENT_BITS >= CACHED_RING_CLIENTS_MAX, "a client's place, too");

struct client {
	struct cached_ring *r;
	uint32_t place;	 /* in cached_ring.client */
	uint64_t serial; /* of the connection */
	struct listen_peer peer;
	int fd;	  /* its end is the client's */
	int wake; /* an eventfd */
	struct event *ended, *woken, *again;
	struct cache_ring_header *header; /* shared: the client writes here, too; NULL: it left */
	struct cache_ring_slot *slot;
	uint64_t pending[BITMAP]; /* slots whose request is not answered */
	/* The link of each home's file that it got; [0]: it has the view. */
	uint32_t sent[REGION_HOSTS_MAX + 1];
	uint64_t asked, answered, left, bad;
};

struct cached_ring {
	struct cached_ring_conf conf; /* without its texts */
	char path[108];
	gid_t gid;
	struct event_base *base;
	struct log *log;
	cached_ring_asked *on_asked;
	void *owner;
	struct evconnlistener *listener;
	struct event *second;
	struct client *client[CACHED_RING_CLIENTS_MAX];
	struct ring_view view;
	uint64_t serials; /* connections so far */
	uint64_t refused;
	struct mono logged; /* when a refusal was last logged */
};

static size_t bytes_of(const struct cached_ring *r)
{
	return CACHE_RING_HEADER + (size_t)r->conf.slots * sizeof(struct cache_ring_slot);
}

/* --- answers ---------------------------------------------------------------------------- */

static bool swap(uint32_t *state, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void wake(uint32_t *futex)
{
	syscall(SYS_futex, futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool is_pending(const struct client *c, uint32_t slot)
{
	return c->pending[slot / 64] >> slot % 64 & 1;
}

static void answer(struct client *c, uint32_t slot, const struct cached_ring_answer *a)
{
	struct cache_ring_slot *s = &c->slot[slot];

	c->answered++;
	__atomic_store_n(&s->version, a->version, __ATOMIC_RELAXED);
	__atomic_store_n(&s->home, a->home, __ATOMIC_RELAXED);
	__atomic_store_n(&s->word, a->word, __ATOMIC_RELAXED);
	__atomic_store_n(&s->why, (uint32_t)a->why, __ATOMIC_RELAXED);
	if (swap(&s->state, CACHE_RING_ASKED, CACHE_RING_ANSWERED)) {
		wake(&s->state);
		return;
	}
	/* Any other state is rubbish: a slot that its client lost. */
	if (swap(&s->state, CACHE_RING_LEFT, CACHE_RING_FREE))
		c->left++;
}

static uint64_t id_of(const struct client *c, uint32_t slot)
{
	return (c->serial << CLIENT_BITS | c->place) << SLOT_BITS | slot;
}

static bool has_pending(const struct client *c)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < BITMAP; i++)
		any |= c->pending[i];
	return any;
}

/*
 * A client that left keeps its place until all that it asked is answered: so the requests that the
 * owner has at a time are bounded, also when clients come and go.
 */
static void forget(struct client *c)
{
	if (c->header || has_pending(c))
		return;
	c->r->client[c->place] = NULL;
	free(c);
}

void cached_ring_answer(struct cached_ring *r, uint64_t id, const struct cached_ring_answer *a)
{
	uint32_t slot = (uint32_t)(id & ((1u << SLOT_BITS) - 1));
	uint32_t place = (uint32_t)(id >> SLOT_BITS & ((1u << CLIENT_BITS) - 1));
	struct client *c = place < CACHED_RING_CLIENTS_MAX ? r->client[place] : NULL;

	if (!c || slot >= r->conf.slots || id_of(c, slot) != id || !is_pending(c, slot))
		return;
	c->pending[slot / 64] &= ~(1ull << slot % 64);
	if (c->header)
		answer(c, slot, a);
	else
		forget(c);
}

/* --- requests ----------------------------------------------------------------------------- */

/* The client set the bit of this slot. It may have done so for no reason. */
static void look_at(struct client *c, uint32_t slot)
{
	static const struct cached_ring_answer bad = { .why = CACHE_RING_BAD };
	struct cache_ring_slot *s = &c->slot[slot];
	struct cached_ring_request q = { .id = id_of(c, slot) };
	uint32_t state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE), flags;

	if (is_pending(c, slot)) /* its request is under way: there is one at a time */
		return;
	if (state == CACHE_RING_LEFT) { /* before it was looked at */
		c->left += swap(&s->state, CACHE_RING_LEFT, CACHE_RING_FREE);
		return;
	}
	if (state != CACHE_RING_ASKED) {
		c->bad++;
		return;
	}
	q.key = __atomic_load_n(&s->key, __ATOMIC_RELAXED);
	flags = __atomic_load_n(&s->flags, __ATOMIC_RELAXED);
	q.all = flags & CACHE_RING_ALL;
	c->asked++;
	if (flags & ~(uint32_t)CACHE_RING_ALL) {
		c->bad++;
		answer(c, slot, &bad);
		return;
	}
	c->pending[slot / 64] |= 1ull << slot % 64;
	c->r->on_asked(c->r->owner, &q);
}

/* false: nothing was asked. */
static bool take(struct client *c)
{
	bool any = false;

	for (uint32_t i = 0; i < c->r->conf.slots / 64; i++) {
		uint64_t *word = &c->header->asked[i], bits;

		if (!__atomic_load_n(word, __ATOMIC_RELAXED))
			continue;
		any = true;
		for (bits = __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST); bits; bits &= bits - 1)
			look_at(c, i * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	return any;
}

static bool is_asked(const struct client *c)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < c->r->conf.slots / 64; i++)
		any |= __atomic_load_n(&c->header->asked[i], __ATOMIC_SEQ_CST);
	return any;
}

static void set_sleeps(struct client *c, uint32_t sleeps)
{
	__atomic_store_n(&c->header->sleeps, sleeps, __ATOMIC_SEQ_CST);
}

/*
 * Until nothing is asked. A client sets its bit, then looks at sleeps. Here sleeps is set first,
 * then the bits are looked at: one of the two sees the other's.
 */
static void serve(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = { 0 };
	struct client *c = arg;

	(void)fd;
	(void)what;
	set_sleeps(c, 0);
	for (int i = 0; i < ROUNDS; i++) {
		if (take(c))
			continue;
		set_sleeps(c, 1);
		if (!is_asked(c))
			return;
		set_sleeps(c, 0);
	}
	event_add(c->again, &soon);
}

/* --- clients ------------------------------------------------------------------------------ */

static void drop(struct client *c)
{
	struct event *events[] = { c->ended, c->woken, c->again };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i])
			event_free(events[i]);
	if (c->header)
		munmap(c->header, bytes_of(c->r));
	if (c->wake >= 0)
		close(c->wake);
	close(c->fd);
	c->header = NULL;
	c->slot = NULL;
	forget(c);
}

/* Its end; or it said something, which no client does. */
static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;

	(void)fd;
	(void)what;
	log_msg(c->r->log, LOG_LVL_DEBUG, "ring: process %d of user %u has left", (int)c->peer.pid,
		c->peer.uid);
	drop(c);
}

/* The size never changes: else a client could let this process read behind the end. */
static int make_memory(struct client *c)
{
	size_t bytes = bytes_of(c->r);
	int fd = memfd_create("resex-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *at = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (at == MAP_FAILED) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	c->header = at;
	c->slot = (struct cache_ring_slot *)(void *)((char *)at + CACHE_RING_HEADER);
	c->header->magic = CACHE_RING_MAGIC;
	c->header->version = CACHE_RING_VERSION;
	c->header->slots = c->r->conf.slots;
	c->header->sleeps = 1;
	return fd;
}

/* Send n descriptors, 1 .. FILES_MAX. It does not wait: a full socket is -EIO, too. */
static int send_files(const struct client *c, void *message, size_t len, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FILES_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = message, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&m);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(cm), fds, n * sizeof(int));
	return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -EIO;
}

/* One message fits the empty buffer of a new socket. */
static int send_hello(const struct client *c, int memory)
{
	struct cache_ring_hello hello = { .magic = CACHE_RING_MAGIC,
					  .version = CACHE_RING_VERSION,
					  .bytes = (uint32_t)bytes_of(c->r) };
	const int fds[FILES_MAX] = { memory, c->wake };

	return send_files(c, &hello, sizeof(hello), fds, FILES_MAX);
}

/* What the client does not have yet of a home; 0: of the view. Without room, later. */
static void send_home(struct client *c, uint16_t host)
{
	const struct ring_view *v = &c->r->view;
	struct cache_ring_file f;
	int fd = v->mem && c->header ? ring_view_file(v, host, &f) : -1;
	uint32_t link = host && fd >= 0 ? f.link : 1;

	if (fd < 0 || c->sent[host] == link)
		return;
	/* The view first: without it, nothing else is of use. */
	if ((!host || c->sent[0]) && !send_files(c, &f, sizeof(f), &fd, 1))
		c->sent[host] = link;
}

static void send_homes(struct client *c)
{
	send_home(c, 0);
	for (uint16_t h = hostset_next(&c->r->conf.homes, 0); h;
	     h = hostset_next(&c->r->conf.homes, h))
		send_home(c, h);
}

/* Edge-triggered: the count of the eventfd is never read. */
static int watch(struct client *c)
{
	struct event_base *base = c->r->base;

	c->ended = event_new(base, c->fd, EV_READ | EV_PERSIST, on_ended, c);
	c->woken = event_new(base, c->wake, EV_READ | EV_ET | EV_PERSIST, serve, c);
	c->again = evtimer_new(base, serve, c);
	return c->ended && c->woken && c->again && !event_add(c->ended, NULL) &&
			       !event_add(c->woken, NULL)
		       ? 0
		       : -ENOMEM;
}

static int begin(struct client *c)
{
	int memory, rc;

	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake < 0)
		return -errno;
	memory = make_memory(c);
	if (memory < 0)
		return memory;
	rc = watch(c);
	if (!rc)
		rc = send_hello(c, memory);
	close(memory);
	return rc;
}

/* Clients can cause refusals at any rate: log one a minute. */
static void refuse(struct cached_ring *r, const struct listen_peer *p, const char *why)
{
	struct clock clock;
	struct mono now;

	clock_real(&clock);
	now = clock.now(&clock);
	r->refused++;
	if (r->logged.ns && mono_sub(now, r->logged) < 60 * NS_PER_S)
		return;
	r->logged = now;
	log_msg(r->log, LOG_LVL_WARNING, "ring: process %d of user %u: %s", (int)p->pid, p->uid,
		why);
}

static uint32_t free_place(const struct cached_ring *r)
{
	uint32_t i = 0;

	while (i < r->conf.clients && r->client[i])
		i++;
	return i;
}

/* Owns fd. */
static void accept_client(struct cached_ring *r, int fd, const struct listen_peer *p)
{
	uint32_t place = free_place(r);
	struct client *c;
	int rc;

	if (place == r->conf.clients) {
		refuse(r, p, "as many as \"ring_clients\" are connected: end one, or raise it");
		close(fd);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		refuse(r, p, "no memory for its ring");
		close(fd);
		return;
	}
	*c = (struct client){
		.r = r, .place = place, .serial = ++r->serials, .peer = *p, .fd = fd, .wake = -1
	};
	r->client[place] = c;
	rc = begin(c);
	if (rc) {
		refuse(r, p, strerror(-rc));
		drop(c);
		return;
	}
	send_homes(c);
	log_msg(r->log, LOG_LVL_DEBUG, "ring: process %d of user %u has come", (int)p->pid, p->uid);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a, int len,
		      void *arg)
{
	struct cached_ring *r = arg;
	struct listen_peer p = { 0 };

	(void)l;
	(void)a;
	(void)len;
	if (listen_peer(fd, r->gid, &p)) {
		close(fd);
	} else if (!p.root && !p.own && !p.member) {
		refuse(r, &p, "it is neither root nor in \"ring_group\"");
		close(fd);
	} else {
		accept_client(r, fd, &p);
	}
}

/* Such as no descriptors: the listener would call again and again. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	const struct timeval second = { .tv_sec = 1 };
	struct cached_ring *r = arg;

	evconnlistener_disable(l);
	event_add(r->second, &second);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct cached_ring *r = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(r->listener);
}

/* --- the whole ------------------------------------------------------------------------------ */

static int start_view(struct cached_ring *r)
{
	r->view.fd = -1;
	return r->conf.words ? ring_view_open(&r->view, &r->conf.homes, r->conf.words) : 0;
}

static int start(struct cached_ring *r, int fd)
{
	r->second = evtimer_new(r->base, on_second, r);
	if (r->second)
		r->listener = evconnlistener_new(r->base, on_accept, r,
						 LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0,
						 fd);
	if (!r->listener)
		return -ENOMEM;
	evconnlistener_set_error_cb(r->listener, on_accept_error);
	return 0;
}

int cached_ring_open(struct cached_ring **out, const struct cached_ring_conf *c,
		     struct event_base *base, struct log *log, cached_ring_asked *asked,
		     void *owner, struct conf_error *e)
{
	const struct listen_conf to = { .setting = "ring",
					.path = c->path,
					.group_setting = "ring_group",
					.group = c->group,
					.type = SOCK_SEQPACKET };
	struct cached_ring *r = calloc(1, sizeof(*r));
	int fd;

	if (!r) {
		conf_error_set(e, RESEX_FAILURE, "no memory for rings");
		return -ENOMEM;
	}
	r->conf = *c;
	r->conf.path = r->conf.group = NULL;
	r->base = base;
	r->log = log;
	r->on_asked = asked;
	r->owner = owner;
	fd = listen_unix(&to, &r->gid, e);
	if (fd < 0) {
		free(r);
		return fd;
	}
	strcpy(r->path, c->path); /* listen_unix has checked its length */
	if (start_view(r) || start(r, fd)) {
		close(fd);
		conf_error_set(e, RESEX_FAILURE, "no memory for rings");
		cached_ring_close(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

/* All that wait get an answer, and those that will ask see that there is none. */
static void end(struct client *c)
{
	static const struct cached_ring_answer lost = { .why = CACHE_RING_LOST };

	if (!c->header) {
		memset(c->pending, 0, sizeof(c->pending));
		forget(c);
		return;
	}
	__atomic_store_n(&c->header->ended, 1, __ATOMIC_SEQ_CST);
	for (uint32_t slot = 0; slot < c->r->conf.slots; slot++)
		if (is_pending(c, slot))
			answer(c, slot, &lost);
	memset(c->pending, 0, sizeof(c->pending));
	drop(c);
}

void cached_ring_close(struct cached_ring *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < CACHED_RING_CLIENTS_MAX; i++)
		if (r->client[i])
			end(r->client[i]);
	if (r->listener)
		evconnlistener_free(r->listener);
	if (r->second)
		event_free(r->second);
	unlink(r->path);
	if (r->view.mem)
		ring_view_close(&r->view);
	free(r);
}

/* --- homes that clients READ themselves ----------------------------------------------------- */

static void tell(struct cached_ring *r, uint16_t host)
{
	for (uint32_t i = 0; i < CACHED_RING_CLIENTS_MAX; i++) {
		if (!r->client[i])
			continue;
		send_home(r->client[i], 0);
		send_home(r->client[i], host);
	}
}

void cached_ring_home(struct cached_ring *r, uint16_t host, uint32_t link, int fd)
{
	if (!r->view.mem || !hostset_has(&r->conf.homes, host)) {
		close(fd);
		return;
	}
	ring_view_home(&r->view, host, link, fd);
	tell(r, host);
}

void cached_ring_evidence(struct cached_ring *r, uint16_t host, uint32_t link, struct mono until)
{
	if (!r->view.mem || !hostset_has(&r->conf.homes, host))
		return;
	ring_view_put(&r->view, host, link, until);
	tell(r, host);
}

uint32_t cached_ring_clients(const struct cached_ring *r,
			     struct cached_ring_seen seen[static CACHED_RING_CLIENTS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CACHED_RING_CLIENTS_MAX; i++) {
		const struct client *c = r->client[i];
		struct cached_ring_seen *s = &seen[n];

		if (!c || !c->header)
			continue;
		n++;
		*s = (struct cached_ring_seen){ .pid = c->peer.pid,
						.uid = c->peer.uid,
						.asked = c->asked,
						.answered = c->answered,
						.left = c->left,
						.bad = c->bad };
		for (uint32_t k = 0; k < BITMAP; k++)
			s->waiting += (uint32_t)__builtin_popcountll(c->pending[k]);
		s->hits = __atomic_load_n(&c->header->hits, __ATOMIC_RELAXED);
		s->misses = __atomic_load_n(&c->header->misses, __ATOMIC_RELAXED);
		s->passes = __atomic_load_n(&c->header->passes, __ATOMIC_RELAXED);
		s->stored = __atomic_load_n(&c->header->stored, __ATOMIC_RELAXED);
		s->refused = __atomic_load_n(&c->header->refused, __ATOMIC_RELAXED);
		s->direct = __atomic_load_n(&c->header->direct, __ATOMIC_RELAXED);
		s->unoffered = __atomic_load_n(&c->header->unoffered, __ATOMIC_RELAXED);
	}
	return n;
}

uint64_t cached_ring_refused(const struct cached_ring *r)
{
	return r->refused;
}
