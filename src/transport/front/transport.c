// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * transport: the front of all backends: the user's functions, the checks of an
 * operation, and its way through the slots (slot.c).
 *
 * post checks an operation, puts it into a slot and submits it to the backend. The backend
 * reports front_done, or the link ends (link.c). poll returns the result (events.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "src/transport/front/front.h"

enum { KEY_ROOM = 4096 };

void transport_close(struct transport *t)
{
	if (t)
		t->ops->close(t);
}

void *transport_table(struct transport *t)
{
	return transport_part(t, TRANSPORT_TABLE);
}

void *transport_part(struct transport *t, enum transport_part part)
{
	return t->part[part];
}

uint32_t transport_link(const struct transport *t, uint16_t host)
{
	if (!host || host > TRANSPORT_HOSTS_MAX || t->out[host - 1].state != LINK_UP)
		return 0;
	return t->out[host - 1].link;
}

int transport_share(const struct transport *t, uint16_t host, int *fd)
{
	if (!t->ops->share)
		return -EOPNOTSUPP;
	if (!transport_link(t, host))
		return -ENOTCONN;
	if (!t->out[host - 1].bytes[TRANSPORT_VERSIONS])
		return -ERANGE;
	return t->ops->share(t, &t->out[host - 1], fd);
}

void transport_stats(const struct transport *t, struct transport_stats *s)
{
	*s = t->stats;
	s->rounds = t->round;
}

/* --- post ------------------------------------------------------------------------ */

/* The checks that do not depend on the peer. */
static bool op_valid(const struct transport_op *op)
{
	if (!op->host || op->host > TRANSPORT_HOSTS_MAX)
		return false;
	if (op->kind == TRANSPORT_SEND)
		return op->data && op->len && op->len <= TRANSPORT_MESSAGE_MAX;
	if (op->offset % 8)
		return false;
	if (op->kind == TRANSPORT_READ)
		return (unsigned int)op->part < TRANSPORT_PARTS && op->len && op->len % 8 == 0 &&
		       op->len <= TRANSPORT_READ_MAX;
	return (op->kind == TRANSPORT_CAS64 || op->kind == TRANSPORT_FAA64) &&
	       op->part == TRANSPORT_WORDS && (op->len == 0 || op->len == 8);
}

static uint32_t op_len(const struct transport_op *op)
{
	return op->kind == TRANSPORT_READ || op->kind == TRANSPORT_SEND ? op->len : 8;
}

/* Without a CPU's instruction for it, __builtin_popcount is a call; most masks have few bits. */
static int bits(uint32_t mask)
{
	int n;

	for (n = 0; mask; n++)
		mask &= mask - 1;
	return n;
}

static int op_check(const struct transport *t, const struct transport_op *op, struct mono now)
{
	const struct transport_out *o;

	if (!op_valid(op))
		return -EINVAL;
	o = &t->out[op->host - 1];
	/* Before the range: o->bytes is of the newest link. */
	if (o->state != LINK_UP)
		return -ENOTCONN;
	/* In 64 bits: offset + len may not fit into 32. */
	if (op->kind != TRANSPORT_SEND && (uint64_t)op->offset + op_len(op) > o->bytes[op->part])
		return -ERANGE;
	if (op->deadline.ns <= now.ns)
		return -ETIME;
	/*
	 * RETURNED slots do not count: only their buffers are in use, and there are twice as many
	 * slots as operations may be outstanding.
	 */
	if (bits(o->waits | o->sent | o->late | o->over) >= TRANSPORT_DEPTH)
		return -EAGAIN;
	return 0;
}

/* Submit the waiting slots of a link, in order, while the backend has room. */
static void submit_slots(struct transport *t, struct transport_out *o, struct mono now)
{
	struct transport_slot *s;
	int rc;

	while (o->state == LINK_UP && (s = slot_first(o, o->waits))) {
		/*
		 * SENT before the call: the backend may report the result from within submit. It
		 * may also end the link from there, and then the slot is not ours to move any more.
		 */
		slot_move(o, s, SLOT_SENT);
		rc = t->ops->submit(t, o, s, now);
		if (!rc)
			continue;
		if (s->state == SLOT_SENT)
			slot_move(o, s, SLOT_WAITS);
		if (rc == -EAGAIN) {
			hostset_set(&t->waits, out_host(t, o), true);
			return;
		}
		front_down(t, o, rc, strerror(-rc), now);
	}
}

static void submit_waiting(struct transport *t, struct transport_out *o, struct mono now)
{
	int rc = 0;

	submit_slots(t, o, now);
	if (t->ops->flush && o->state == LINK_UP)
		rc = t->ops->flush(t, o);
	if (rc)
		front_down(t, o, rc, strerror(-rc), now);
}

/* The links that the backend had no room for. Those that have none again are in the set again. */
static void submit_again(struct transport *t, struct mono now)
{
	const struct hostset waits = t->waits;

	t->waits = (struct hostset){ { 0 } };
	for (uint16_t h = hostset_next(&waits, 0); h; h = hostset_next(&waits, h))
		submit_waiting(t, &t->out[h - 1], now);
}

static void start_operation(struct transport *t, const struct transport_op *op)
{
	struct transport_out *o = &t->out[op->host - 1];
	/* There is a free one: at most DEPTH are outstanding, and at most DEPTH are RETURNED. */
	uint32_t i = (uint32_t)__builtin_ctz(o->free);
	struct transport_slot *s = &o->slot[i];

	s->state = SLOT_FREE; /* it may be new memory */
	s->index = i;
	s->op = *op;
	s->op.len = op_len(op);
	if (op->kind == TRANSPORT_SEND) {
		memcpy(s->message, op->data, op->len);
		s->op.data = s->message;
	}
	/*
	 * t->round: the longest chain of which the user has seen the last result. The user may have
	 * used that result to choose this operation.
	 */
	s->round = t->round + 1;
	s->order = o->newest = ++t->order;
	slot_move(o, s, SLOT_WAITS);
	t->stats.ops[op->kind]++;
	/*
	 * The responder refuses it, too; but on verbs that would end the link, with all that is
	 * outstanding on it.
	 */
	if (!front_may(t->conf.role, t->conf.rights, op->kind))
		events_result(t, o, s, TRANSPORT_REFUSED, -EPERM);
	else
		front_due(t, op->deadline);
}

size_t transport_post(struct transport *t, const struct transport_op *op, size_t n, struct mono now,
		      int *why)
{
	const uint64_t before = t->order;
	size_t i;

	t->now = now;
	for (i = 0; i < n; i++) {
		int rc = op_check(t, &op[i], now);

		if (rc && why)
			*why = rc;
		if (rc)
			break;
		start_operation(t, &op[i]);
	}
	/* Once a link, at its last one: the operations of a link may cost a device one request. */
	for (size_t k = 0; k < i; k++) {
		struct transport_out *o = &t->out[op[k].host - 1];

		if (o->newest == before + k + 1)
			submit_waiting(t, o, now);
	}
	return i;
}

void front_done(struct transport *t, struct transport_out *o, struct transport_slot *s,
		enum transport_outcome outcome, uint64_t old, const void *data, int why)
{
	struct transport_event *ev;

	/* One operation has one result: the link has ended, or the deadline passed. */
	if (s->state == SLOT_LATE)
		events_late_over(o, s);
	if (s->state != SLOT_SENT)
		return;
	ev = events_result(t, o, s, outcome, outcome == TRANSPORT_DONE ? 0 : why);
	if (outcome != TRANSPORT_DONE)
		return;
	/* Only now the new link has proven to work: the next call needs no back-off. */
	o->failures = 0;
	if (s->op.kind == TRANSPORT_READ) {
		ev->data = data;
		ev->len = s->op.len;
	} else if (s->op.kind != TRANSPORT_SEND) {
		ev->old = old;
	}
}

/* --- poll ------------------------------------------------------------------------- */

size_t transport_poll(struct transport *t, struct mono now, struct transport_event *ev, size_t max)
{
	t->now = now;
	events_return(t);
	/*
	 * Progress comes before the timers: a result that arrived in time counts, also when this
	 * poll is later than the deadline. Waiting operations come last: progress has made room.
	 */
	t->ops->progress(t, now);
	links_timers(t, now);
	if (!hostset_empty(&t->waits))
		submit_again(t, now);
	return events_take(t, ev, max);
}

int transport_fd(struct transport *t)
{
	return t->ops->fd(t);
}

int transport_arm(struct transport *t, struct mono now, struct mono *due)
{
	t->now = now;
	*due = t->due;
	if (events_any(t) || t->ops->arm(t, now, due))
		return 1;
	return due->ns <= now.ns;
}

/* --- for a backend's open and close ------------------------------------------------ */

static int conf_wrong(char text[static 256], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int conf_wrong(char text[static 256], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, 256, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int part_check(const struct transport_conf *c, enum transport_part part,
		      char text[static 256])
{
	if (!front_part_fits(part, c->bytes[part]))
		return conf_wrong(text,
				  "part %d of the region has %zu bytes; it must be a multiple of "
				  "4096 of at most %u",
				  part, c->bytes[part], front_part_max(part));
	if (c->fd[part] < 0)
		return conf_wrong(text, "the descriptor of part %d is %d; give 0 for none", part,
				  c->fd[part]);
	if (c->fd[part] && !front_part_given(part))
		return conf_wrong(text, "part %d has a descriptor; only part %d may", part,
				  TRANSPORT_LOAD);
	if (c->fd[part] && !c->bytes[part])
		return conf_wrong(text, "part %d has a descriptor, but 0 bytes", part);
	return 0;
}

/* What a member needs to serve, and a client does not. */
static int serve_check(const struct transport_conf *c, char text[static 256])
{
	int rc = 0;

	if (c->role != TRANSPORT_MEMBER || c->rights)
		return conf_wrong(text, "the host's role or rights are not known: a member has "
					"all rights");
	if (c->generation_max && c->generation > c->generation_max)
		return conf_wrong(
			text, "the host's generation is %" PRIu64 "; it must be at most %" PRIu64,
			c->generation, c->generation_max);
	if (!front_text_fits(c->address, sizeof(c->address)))
		return conf_wrong(text, "the address to listen at is empty or over %d characters",
				  TRANSPORT_ADDRESS_MAX - 1);
	for (int i = 0; !rc && i < TRANSPORT_PARTS; i++)
		rc = part_check(c, (enum transport_part)i, text);
	return rc;
}

static int client_check(const struct transport_conf *c, char text[static 256])
{
	if (c->rights & ~(uint32_t)TRANSPORT_RIGHTS)
		return conf_wrong(text, "the rights %#x are not known", c->rights);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		if (c->bytes[i] || c->fd[i] || c->words)
			return conf_wrong(text, "a client serves no region: all parts have 0 bytes "
						"and no descriptor");
	if (c->port || strnlen(c->address, sizeof(c->address)) == sizeof(c->address))
		return conf_wrong(text, "a client listens nowhere: its port is 0, and its address "
					"one that it calls from, or none");
	return 0;
}

static int conf_check(const struct transport_conf *c, char text[static 256])
{
	if (!c->host || c->host > TRANSPORT_HOSTS_MAX)
		return conf_wrong(text, "the host's number is %u; it must be 1 to %d", c->host,
				  TRANSPORT_HOSTS_MAX);
	if (!c->generation)
		return conf_wrong(text, "the host's generation is 0; it must be higher at each "
					"start, from 1");
	if (!front_text_fits(c->cluster, sizeof(c->cluster)))
		return conf_wrong(text, "the cluster's name is empty or over %d characters",
				  TRANSPORT_NAME_MAX - 1);
	if (!c->key || c->key_len < TRANSPORT_KEY_MIN || c->key_len > TRANSPORT_KEY_MAX)
		return conf_wrong(text, "the pre-shared key has %zu bytes; it must have %d to %d",
				  c->key ? c->key_len : 0, TRANSPORT_KEY_MIN, TRANSPORT_KEY_MAX);
	if (c->connect_ns < 0 || c->backoff_min_ns < 0 || c->backoff_max_ns < 0)
		return conf_wrong(text, "a time is negative; give 0 for the default");
	if (c->backoff_min_ns > c->backoff_max_ns)
		return conf_wrong(text,
				  "the shortest back-off, %lld ns, is over the longest, "
				  "%lld ns",
				  (long long)c->backoff_min_ns, (long long)c->backoff_max_ns);
	return c->role == TRANSPORT_CLIENT ? client_check(c, text) : serve_check(c, text);
}

static int conf_defaults(struct transport_conf *c)
{
	int rc = 0;

	if (!c->connect_ns)
		c->connect_ns = 5 * NS_PER_S;
	if (!c->backoff_min_ns)
		c->backoff_min_ns = 20 * NS_PER_MS;
	if (!c->backoff_max_ns)
		c->backoff_max_ns = 2 * NS_PER_S;
	if (!c->hellos_max)
		c->hellos_max = 8;
	if (!c->hellos_second)
		c->hellos_second = 64;
	/* 0 means "none": in the unlikely case draw again. */
	while (!rc && !c->start)
		rc = front_random(&c->start, sizeof(c->start));
	return rc;
}

/*
 * The key has a page of its own: madvise works on whole pages. Cores travel further than keys
 * should. If madvise fails, the key is less hidden, but the transport works: its errors are
 * ignored.
 */
static int keep_key(struct transport *t, const struct transport_conf *c)
{
	void *at = mmap(NULL, KEY_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	madvise(at, KEY_ROOM, MADV_DONTDUMP);
	madvise(at, KEY_ROOM, MADV_DONTFORK);
	memcpy(at, c->key, c->key_len);
	t->key = at;
	return 0;
}

int front_init(struct transport *t, const struct transport_ops *ops, const struct transport_conf *c,
	       struct mono now, char text[static 256])
{
	struct transport_conf conf = *c;
	int rc;

	rc = conf_defaults(&conf);
	if (rc) {
		snprintf(text, 256, "the system gives no random numbers: %s", strerror(-rc));
		return rc;
	}
	rc = conf_check(&conf, text);
	if (rc)
		return rc;
	rc = events_init(t);
	if (!rc)
		rc = keep_key(t, c);
	if (rc) {
		events_fini(t);
		snprintf(text, 256, "there is no memory for the transport's events");
		return rc;
	}
	t->ops = ops;
	t->conf = conf;
	t->conf.key = t->key;
	t->now = now;
	/* No timer yet: transport_add sets the first. */
	t->due.ns = INT64_MAX;
	t->hellos_since = now;
	/* Not 0: xorshift would then return only zeros. */
	t->rng = (uint32_t)((c->seed ^ c->seed >> 32) * 0x9e3779b9u) | 1;
	return 0;
}

void front_fini(struct transport *t)
{
	if (t->key) {
		/* munmap alone may leave the key in a free page. */
		explicit_bzero(t->key, KEY_ROOM);
		munmap(t->key, KEY_ROOM);
	}
	t->key = NULL;
	t->conf.key = NULL;
	t->conf.key_len = 0;
	for (size_t i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		free(t->out[i].slot);
	events_fini(t);
}

int front_random(void *buf, size_t len)
{
	uint8_t *at = buf;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}
