// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * two_hosts: one host of two, each on its own machine, that use each other's memory.
 *
 *	two_hosts BACKEND NUMBER ADDRESS PEER PEER-ADDRESS GENERATION
 *
 * It adds 1 to a word of the peer as often as it can, reads the peer's table while the peer changes
 * it, and sends numbered messages. It continues whatever happens to the link.
 *
 * First SIGTERM: post no more; print a line when all operations have their results. Second: read
 * the word on a link that is up (none within 10 s: null), print the counts as one JSON object.
 * Third: end. SIGUSR1: print the counts so far. sc_transport.py runs both hosts and compares their
 * counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/transport/transport.h"
#include "src/util/clock.h"

enum {
	PORT = 7800, /* + number */
	TABLE = 8192,
	WORDS = 4096,
	LATE_MS = 1500, /* deadline of an operation */
	ADDS = 4,	/* outstanding */
	END_S = 10,
	SLEEP_MS = 500,
};

enum tag { TAG_ADD, TAG_READ, TAG_SEND, TAG_LAST, TAG_OWN };

struct counts {
	uint64_t done, unknown, lost, refused;
};

struct me {
	struct transport *t;
	struct transport_conf conf;
	struct clock clock;
	uint16_t peer;
	bool up, self_up;
	uint64_t generation; /* of the peer */
	uint32_t out[5];     /* outstanding, by tag */
	struct counts adds;  /* since this generation of the peer */
	uint64_t reads, torn, sent, messages, gaps, next;
	uint64_t ups, downs, alarms;
	uint64_t word, own;
	bool got_word, got_own;
	int64_t began_ns, poll_max_ns, down_at_ns, dark_max_ns;
	char alarm[128], down[128];
};

static volatile sig_atomic_t stops, counts_requested;

static void stop(int signal)
{
	(void)signal;
	stops = stops + 1;
}

static void request_counts(int signal)
{
	(void)signal;
	counts_requested = 1;
}

static struct mono now(struct me *m)
{
	return m->clock.now(&m->clock);
}

/* All words of the table are one number, which counts up: a torn READ has two numbers. */
static void change_table(struct me *m)
{
	uint64_t *table = transport_table(m->t), n = table[0] + 1;

	for (size_t i = 0; i < TABLE / 8; i++)
		__atomic_store_n(&table[i], n, __ATOMIC_RELAXED);
}

static bool post(struct me *m, enum tag tag, struct transport_op op)
{
	op.tag = tag;
	op.deadline = mono_add(now(m), LATE_MS * NS_PER_MS);
	if (!transport_post(m->t, &op, 1, now(m), NULL))
		return false;
	m->out[tag]++;
	return true;
}

static void post_operations(struct me *m)
{
	struct transport_op add = { .kind = TRANSPORT_FAA64,
				    .host = m->peer,
				    .part = TRANSPORT_WORDS,
				    .offset = 8u * m->conf.host,
				    .value = 1 };
	struct transport_op read = {
		.kind = TRANSPORT_READ, .host = m->peer, .part = TRANSPORT_TABLE, .len = TABLE
	};
	struct transport_op send = {
		.kind = TRANSPORT_SEND, .host = m->peer, .data = &m->sent, .len = sizeof(m->sent)
	};

	while (m->up && m->out[TAG_ADD] < ADDS && post(m, TAG_ADD, add)) {
	}
	if (m->up && !m->out[TAG_READ])
		post(m, TAG_READ, read);
	if (m->up && !m->out[TAG_SEND] && post(m, TAG_SEND, send))
		m->sent++;
}

static void handle_table(struct me *m, const struct transport_event *ev)
{
	const uint64_t *table = ev->data;

	m->reads++;
	for (size_t i = 1; i < TABLE / 8; i++) {
		if (table[i] == table[0])
			continue;
		/* Half of it old is what READ may give; anything else is not. */
		m->torn++;
		break;
	}
}

static void handle_result(struct me *m, const struct transport_event *ev)
{
	bool done = ev->outcome == TRANSPORT_DONE;

	m->out[ev->tag]--;
	if (ev->tag == TAG_ADD) {
		m->adds.done += done;
		m->adds.unknown += ev->outcome == TRANSPORT_UNKNOWN;
		m->adds.lost += ev->outcome == TRANSPORT_LOST;
		m->adds.refused += ev->outcome == TRANSPORT_REFUSED;
	} else if (ev->tag == TAG_READ && done) {
		handle_table(m, ev);
	} else if (ev->tag == TAG_LAST && done) {
		memcpy(&m->word, ev->data, 8);
		m->got_word = true;
	} else if (ev->tag == TAG_OWN && done) {
		memcpy(&m->own, ev->data, 8);
		m->got_own = true;
	}
}

static void handle_up(struct me *m, const struct transport_event *ev)
{
	if (ev->host != m->peer) {
		m->self_up = true;
		return;
	}
	m->up = true;
	m->ups++;
	if (m->down_at_ns && now(m).ns - m->down_at_ns > m->dark_max_ns)
		m->dark_max_ns = now(m).ns - m->down_at_ns;
	if (ev->generation != m->generation)
		m->adds = (struct counts){ 0 }; /* its words began anew */
	m->generation = ev->generation;
}

/* On stderr, for finding the cause of a failure. */
static void print_event(struct me *m, const struct transport_event *ev)
{
	static const char *const what[] = { "result", "up", "down", "message", "alarm" };

	fprintf(stderr, "%.3f %s: host %u, link %u: %s\n", (double)(now(m).ns - m->began_ns) / 1e9,
		what[ev->type], ev->host, ev->link, ev->text);
}

static void handle_event(struct me *m, const struct transport_event *ev)
{
	uint64_t n;

	if (ev->type != TRANSPORT_RESULT && ev->type != TRANSPORT_MESSAGE)
		print_event(m, ev);

	switch (ev->type) {
	case TRANSPORT_RESULT:
		handle_result(m, ev);
		break;
	case TRANSPORT_UP:
		handle_up(m, ev);
		break;
	case TRANSPORT_DOWN:
		if (ev->host != m->peer) {
			m->self_up = false;
			break;
		}
		m->up = false;
		m->downs++;
		m->down_at_ns = now(m).ns;
		memcpy(m->down, ev->text, sizeof(m->down));
		break;
	case TRANSPORT_MESSAGE:
		memcpy(&n, ev->data, sizeof(n));
		m->gaps += n != m->next;
		m->next = n + 1;
		m->messages++;
		break;
	case TRANSPORT_ALARM:
		m->alarms++;
		memcpy(m->alarm, ev->text, sizeof(m->alarm));
		break;
	}
}

/* One turn. It sleeps when there is nothing to do, in the way that transport.h describes. */
static void turn(struct me *m)
{
	struct transport_event ev[16];
	struct pollfd p = { .fd = transport_fd(m->t), .events = POLLIN };
	struct mono began = now(m), due;
	size_t n = transport_poll(m->t, began, ev, 16);
	int64_t took = now(m).ns - began.ns;

	if (took > m->poll_max_ns)
		m->poll_max_ns = took;
	for (size_t i = 0; i < n; i++)
		handle_event(m, &ev[i]);
	if (n || transport_arm(m->t, now(m), &due))
		return;
	took = due.ns - now(m).ns;
	if (took > SLEEP_MS * NS_PER_MS)
		took = SLEEP_MS * NS_PER_MS; /* a signal may come just before */
	poll(&p, 1, took < 0 ? 0 : (int)(took / NS_PER_MS) + 1);
}

static bool busy(const struct me *m)
{
	for (int i = 0; i < 5; i++)
		if (m->out[i])
			return true;
	return false;
}

/* Read the last values of both words: the peer's by a link that is up, ours by our own link. */
static void read_last_words(struct me *m)
{
	struct transport_op word = { .kind = TRANSPORT_READ,
				     .host = m->peer,
				     .part = TRANSPORT_WORDS,
				     .offset = 8u * m->conf.host,
				     .len = 8 };
	struct transport_op own = { .kind = TRANSPORT_READ,
				    .host = m->conf.host,
				    .part = TRANSPORT_WORDS,
				    .offset = 8u * m->peer,
				    .len = 8 };
	int64_t end_ns = now(m).ns + END_S * NS_PER_S;

	while (!(m->got_word && m->got_own) && now(m).ns < end_ns) {
		if (m->up && !m->got_word && !m->out[TAG_LAST])
			post(m, TAG_LAST, word);
		if (m->self_up && !m->got_own && !m->out[TAG_OWN])
			post(m, TAG_OWN, own);
		turn(m);
	}
}

static void print_counts(struct me *m)
{
	struct transport_stats s;

	transport_stats(m->t, &s);
	printf("{\"done\": %" PRIu64 ", \"unknown\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"refused\": %" PRIu64 ", \"word\": ",
	       m->adds.done, m->adds.unknown, m->adds.lost, m->adds.refused);
	printf(m->got_word ? "%" PRIu64 : "null", m->word);
	printf(", \"own\": ");
	printf(m->got_own ? "%" PRIu64 : "null", m->own);
	printf(", \"reads\": %" PRIu64 ", \"torn\": %" PRIu64 ", \"sent\": %" PRIu64
	       ", \"messages\": %" PRIu64 ", \"gaps\": %" PRIu64,
	       m->reads, m->torn, m->sent, m->messages, m->gaps);
	printf(", \"ups\": %" PRIu64 ", \"downs\": %" PRIu64 ", \"alarms\": %" PRIu64
	       ", \"served\": %" PRIu64 ", \"generation\": %" PRIu64,
	       m->ups, m->downs, m->alarms, s.served, m->generation);
	printf(", \"poll_max_ms\": %.1f, \"dark_max_ms\": %.1f, \"alarm\": \"%s\", \"down\": "
	       "\"%s\"}\n",
	       (double)m->poll_max_ns / 1e6, (double)m->dark_max_ns / 1e6, m->alarm, m->down);
	fflush(stdout);
}

static int add_peer(struct me *m, uint16_t host, const char *address)
{
	struct transport_peer p = { .host = host, .port = (uint16_t)(PORT + host) };

	snprintf(p.name, sizeof(p.name), "host%u", host);
	snprintf(p.address, sizeof(p.address), "%s", address);
	return transport_add(m->t, &p, now(m));
}

static int start(struct me *m, char **arg)
{
	static const uint8_t key[32] = "thirty-two bytes of a shared key";
	const struct transport_backend *b = transport_find(arg[1]);
	char text[256] = "there is no such backend";
	int rc = -ENOENT;

	clock_real(&m->clock);
	m->began_ns = now(m).ns;
	m->peer = (uint16_t)atoi(arg[4]);
	m->conf = (struct transport_conf){
		.host = (uint16_t)atoi(arg[2]),
		.generation = strtoull(arg[6], NULL, 10),
		.cluster = "two hosts",
		.key = key,
		.key_len = sizeof(key),
		.bytes = { TABLE, WORDS },
	};
	m->conf.port = (uint16_t)(PORT + m->conf.host);
	snprintf(m->conf.address, sizeof(m->conf.address), "%s", arg[3]);
	if (b)
		rc = b->open(&m->t, &m->conf, now(m), text);
	if (rc) {
		fprintf(stderr, "two_hosts: %s\n", text);
		return rc;
	}
	rc = add_peer(m, m->conf.host, arg[3]);
	return rc ? rc : add_peer(m, m->peer, arg[5]);
}

int main(int argc, char **argv)
{
	static struct me m;
	if (argc != 7) {
		fprintf(stderr,
			"usage: two_hosts BACKEND NUMBER ADDRESS PEER PEER-ADDRESS GENERATION\n");
		return 2;
	}
	signal(SIGTERM, stop);
	signal(SIGUSR1, request_counts);
	if (start(&m, argv))
		return 1;
	fprintf(stderr, "two_hosts: open\n");
	while (!stops) {
		if (counts_requested) {
			counts_requested = 0;
			print_counts(&m);
		}
		change_table(&m);
		post_operations(&m);
		turn(&m);
	}
	while (busy(&m))
		turn(&m);
	fprintf(stderr, "two_hosts: idle\n");
	while (stops < 2)
		turn(&m);
	read_last_words(&m);
	print_counts(&m);
	while (stops < 3)
		turn(&m);
	transport_close(m.t);
	return 0;
}
