// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What only the backend "shm" has: files that are sealed and handed over after
 * the proof, sockets of dead processes, owners that are stopped or killed, and a
 * network whose faults follow the user's time. The rest is in tests/transport.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "src/transport/shm.h"
#include "tests/unit/tmpdir.h"

enum { HOSTS = 3, LOG = 512, BYTES = 4096 };

static const uint8_t key[] = "0123456789abcdef0123456789abcdef";

struct host {
	struct transport *t;
	struct transport_event log[LOG];
	size_t n;
};

struct rig {
	struct tmpdir dir;
	struct mono now;
	struct host host[HOSTS + 1]; /* from 1 */
};

static struct rig *rig_new(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	r->now.ns = 1000 * NS_PER_S;
	return r;
}

static void rig_free(struct rig *r)
{
	for (int i = 1; i <= HOSTS; i++)
		transport_close(r->host[i].t);
	tmp_close(&r->dir);
	free(r);
}

static int try_open(struct rig *r, uint16_t host, uint64_t generation)
{
	struct transport_conf c = { .host = host,
				    .generation = generation,
				    .cluster = "test",
				    .key = key,
				    .key_len = sizeof(key),
				    .bytes = { BYTES, BYTES },
				    .seed = host };
	uint64_t words[BYTES / 8] = { 40, 41, 42 };
	char text[256] = "";

	snprintf(c.address, sizeof(c.address), "%s", r->dir.path);
	c.words = words;
	return transport_shm.open(&r->host[host].t, &c, r->now, text);
}

static void add(struct rig *r, uint16_t at, uint16_t host)
{
	struct transport_peer p = { .host = host };

	snprintf(p.name, sizeof(p.name), "h%u", host);
	snprintf(p.address, sizeof(p.address), "%s", r->dir.path);
	assert_int_equal(transport_add(r->host[at].t, &p, r->now), 0);
}

static void turn(struct rig *r)
{
	for (int i = 1; i <= HOSTS; i++) {
		struct host *h = &r->host[i];

		if (h->t)
			h->n += transport_poll(h->t, r->now, h->log + h->n, LOG - h->n);
		assert_true(h->n < LOG);
	}
}

/* Let simulated time pass, a millisecond a turn. */
static void pass(struct rig *r, int64_t ns)
{
	int64_t end = r->now.ns + ns;

	for (; r->now.ns < end; r->now.ns += NS_PER_MS)
		turn(r);
	r->now.ns = end;
	turn(r);
}

/* Where in the log of `at` is this event of `host`? From `from`; -1: nowhere. */
static int find(struct rig *r, uint16_t at, enum transport_event_type type, uint16_t host,
		size_t from)
{
	for (size_t i = from; i < r->host[at].n; i++)
		if (r->host[at].log[i].type == type && r->host[at].log[i].host == host)
			return (int)i;
	return -1;
}

/* Hosts 1 and 2 with links to each other, no faults. */
static struct rig *rig_pair(void)
{
	struct rig *r = rig_new();

	assert_int_equal(try_open(r, 1, 1), 0);
	assert_int_equal(try_open(r, 2, 1), 0);
	add(r, 1, 2);
	add(r, 2, 1);
	pass(r, 20 * NS_PER_MS);
	assert_int_equal(transport_link(r->host[1].t, 2), 1);
	assert_int_equal(transport_link(r->host[2].t, 1), 1);
	return r;
}

static void post(struct rig *r, uint16_t at, struct transport_op op)
{
	int why = 0;

	if (!op.deadline.ns)
		op.deadline = mono_add(r->now, 100 * NS_PER_MS);
	if (transport_post(r->host[at].t, &op, 1, r->now, &why) != 1)
		fail_msg("post: %s", strerror(-why));
}

static struct transport_op op_faa(uint16_t host, uint32_t word, uint64_t value, uint64_t tag)
{
	return (struct transport_op){ .kind = TRANSPORT_FAA64,
				      .host = host,
				      .part = TRANSPORT_WORDS,
				      .offset = 8 * word,
				      .value = value,
				      .tag = tag };
}

static struct transport_op op_read(uint16_t host, enum transport_part part, uint32_t words,
				   uint64_t tag)
{
	return (struct transport_op){
		.kind = TRANSPORT_READ, .host = host, .part = part, .len = 8 * words, .tag = tag
	};
}

/* The event of the operation with this tag; NULL: not yet. */
static const struct transport_event *result(struct rig *r, uint16_t at, uint64_t tag)
{
	for (size_t i = 0; i < r->host[at].n; i++)
		if (r->host[at].log[i].type == TRANSPORT_RESULT && r->host[at].log[i].tag == tag)
			return &r->host[at].log[i];
	return NULL;
}

/* The words of a host, as its memory has them now: what no transport can show. */
static uint64_t word_of(struct rig *r, uint16_t host, uint32_t word)
{
	return ((volatile uint64_t *)shm_of(r->host[host].t)->region.mem[TRANSPORT_WORDS])[word];
}

static void faults(struct rig *r, uint16_t at, struct shm_faults f)
{
	assert_int_equal(transport_shm_faults(r->host[at].t, &f), 0);
}

/* --- without faults ---------------------------------------------------------- */

static void no_faults__post__executes_at_once(void **state)
{
	struct rig *r = rig_pair();

	(void)state;
	post(r, 1, op_faa(2, 1, 9, 7));
	assert_int_equal(word_of(r, 2, 1), 50);
	assert_null(result(r, 1, 7));
	turn(r);
	assert_non_null(result(r, 1, 7));
	assert_int_equal(result(r, 1, 7)->outcome, TRANSPORT_DONE);
	assert_int_equal(result(r, 1, 7)->old, 41);
	rig_free(r);
}

static void read__table__shows_what_its_owner_wrote(void **state)
{
	struct rig *r = rig_pair();
	uint64_t *table = transport_table(r->host[2].t);

	(void)state;
	table[3] = 77;
	post(r, 1, op_read(2, TRANSPORT_TABLE, 8, 1));
	turn(r);
	assert_int_equal(((const uint64_t *)result(r, 1, 1)->data)[3], 77);
	rig_free(r);
}

static void loopback__cas__is_a_link_like_any_other(void **state)
{
	struct rig *r = rig_new();
	struct transport_op op = { .kind = TRANSPORT_CAS64,
				   .host = 1,
				   .part = TRANSPORT_WORDS,
				   .compare = 40,
				   .value = 99 };

	(void)state;
	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 1);
	pass(r, 20 * NS_PER_MS);
	post(r, 1, op);
	assert_int_equal(word_of(r, 1, 0), 99);
	op.tag = 1;
	post(r, 1, op); /* 40 is no longer there */
	turn(r);
	assert_int_equal(result(r, 1, 0)->old, 40);
	assert_int_equal(result(r, 1, 1)->old, 99);
	assert_int_equal(word_of(r, 1, 0), 99);
	rig_free(r);
}

static void send__arrives_and_is_all_that_the_peer_serves(void **state)
{
	struct rig *r = rig_pair();
	struct transport_op op = { .kind = TRANSPORT_SEND, .host = 2, .data = "hello", .len = 5 };
	struct transport_stats s;
	int at;

	(void)state;
	post(r, 1, op_faa(2, 0, 1, 1));
	post(r, 1, op);
	turn(r);
	at = find(r, 2, TRANSPORT_MESSAGE, 1, 0);
	assert_true(at >= 0);
	assert_int_equal(r->host[2].log[at].len, 5);
	assert_memory_equal(r->host[2].log[at].data, "hello", 5);
	transport_stats(r->host[2].t, &s);
	assert_int_equal(s.served, 0);
	rig_free(r);
}

static void send__peer_never_polls__ends_by_its_deadline(void **state)
{
	struct rig *r = rig_pair();
	struct transport *sleeper = r->host[2].t;
	uint8_t data[TRANSPORT_MESSAGE_MAX] = { 0 };
	struct transport_op op = {
		.kind = TRANSPORT_SEND, .host = 2, .data = data, .len = sizeof(data)
	};
	int sent = 0, why = 0;

	(void)state;
	r->host[2].t = NULL;
	op.deadline = mono_add(r->now, NS_PER_S);
	for (; sent < 4096 && transport_post(r->host[1].t, &op, 1, r->now, &why) == 1; sent++) {
		turn(r);
		r->host[1].n = 0;
	}
	assert_int_equal(why, -EAGAIN);
	r->now = op.deadline;
	turn(r);
	assert_true(find(r, 1, TRANSPORT_DOWN, 2, 0) == TRANSPORT_DEPTH);
	assert_int_equal(r->host[1].log[0].outcome, TRANSPORT_UNKNOWN);
	r->host[2].t = sleeper;
	rig_free(r);
}

static void send__peer_polls_again__all_arrive_in_order(void **state)
{
	struct rig *r = rig_pair();
	struct transport *sleeper = r->host[2].t;
	uint64_t data[64] = { 0 }, got = 0;
	struct transport_op op = {
		.kind = TRANSPORT_SEND, .host = 2, .data = data, .len = sizeof(data)
	};
	uint64_t sent = 0;

	(void)state;
	r->host[2].t = NULL;
	op.deadline = mono_add(r->now, 100 * NS_PER_S);
	for (; sent < 4096 && transport_post(r->host[1].t, &op, 1, r->now, NULL) == 1; sent++) {
		data[0]++;
		turn(r);
		r->host[1].n = 0;
	}
	r->host[2].t = sleeper;
	for (int k = 0; k < 4096 && got < sent; k++) {
		r->host[1].n = r->host[2].n = 0;
		turn(r);
		for (size_t i = 0; i < r->host[2].n; i++, got++)
			assert_int_equal(*(const uint64_t *)r->host[2].log[i].data, got);
	}
	assert_int_equal(got, sent);
	rig_free(r);
}

static void remove__at_the_responder__nothing_is_executed_any_more(void **state)
{
	struct rig *r = rig_pair();
	struct transport_op op = op_faa(2, 0, 1, 5);

	(void)state;
	assert_int_equal(transport_remove(r->host[2].t, 1, r->now), 0);
	op.deadline = mono_add(r->now, NS_PER_S);
	/* Host 1 has not been told yet. */
	assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 1);
	assert_int_equal(word_of(r, 2, 0), 40);
	turn(r);
	assert_int_equal(result(r, 1, 5)->outcome, TRANSPORT_LOST);
	assert_true(find(r, 1, TRANSPORT_DOWN, 2, 0) > 0);
	pass(r, NS_PER_S);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	rig_free(r);
}

/* --- who may come in ----------------------------------------------------------- */

/* A caller that is not of the transport: host 1's number, the hello by hand. */
struct caller {
	int fd;
	struct hello hello;
	struct transport_conf conf;
	int file[TRANSPORT_PARTS];
	ssize_t last; /* of shm_recv */
	uint8_t msg[HELLO_MAX];
};

static void caller_send(struct rig *r, struct caller *c, size_t len)
{
	assert_int_equal(shm_send(c->fd, c->msg, len, NULL), 0);
	turn(r); /* accepts, the first time */
	turn(r);
	c->last = shm_recv(c->fd, c->msg, sizeof(c->msg), c->file);
}

static struct caller *caller_begin(struct rig *r, const uint8_t *with)
{
	struct caller *c = calloc(1, sizeof(*c));
	uint8_t nonce[HELLO_NONCE] = { 1, 2, 3 };
	char path[128];

	assert_non_null(c);
	c->conf = (struct transport_conf){
		.host = 1, .generation = 9, .cluster = "test", .key = with, .key_len = sizeof(key)
	};
	assert_int_equal(shm_address(path, sizeof(path), r->dir.path, 2), 0);
	assert_int_equal(shm_connect(path, &c->fd), 0);
	hello_begin(&c->hello, HELLO_CALLER, &c->conf, 2, nonce);
	caller_send(r, c, hello_call(&c->hello, c->msg));
	return c;
}

/* The rest of the hello; `flip`: with a wrong proof. */
static int caller_prove(struct rig *r, struct caller *c, bool flip)
{
	uint8_t out[HELLO_MAX];
	size_t len = 0;
	int rc = hello_take(&c->hello, c->msg, (size_t)c->last, out, &len);

	if (rc < 0)
		return rc;
	memcpy(c->msg, out, len);
	c->msg[len - 1] ^= flip;
	caller_send(r, c, len);
	return c->last < 0 ? (int)c->last
			   : hello_take(&c->hello, c->msg, (size_t)c->last, out, &len);
}

static void caller_end(struct caller *c)
{
	shm_close(&c->file[0]);
	shm_close(&c->file[1]);
	shm_close(&c->fd);
	free(c);
}

static struct rig *rig_responder(void)
{
	struct rig *r = rig_new();

	assert_int_equal(try_open(r, 2, 1), 0);
	add(r, 2, 1);
	turn(r);
	return r;
}

static void proven__table__cannot_be_mapped_writable(void **state)
{
	struct rig *r = rig_responder();
	struct caller *c = caller_begin(r, key);
	int table, words;
	void *mem;

	(void)state;
	assert_int_equal(caller_prove(r, c, false), HELLO_READY);
	table = c->file[TRANSPORT_TABLE];
	words = c->file[TRANSPORT_WORDS];
	assert_true(table >= 0 && words >= 0);
	assert_ptr_equal(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0),
			 MAP_FAILED);
	assert_int_equal(errno, EPERM);
	mem = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, table, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_int_equal(mprotect(mem, BYTES, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(pwrite(table, "x", 1, 0), -1);
	assert_int_equal(ftruncate(table, 0), -1);
	assert_int_equal(ftruncate(words, 0), -1);
	munmap(mem, BYTES);
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, words, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	munmap(mem, BYTES);
	caller_end(c);
	/* The owner itself still writes. */
	*(uint64_t *)transport_table(r->host[2].t) = 1;
	rig_free(r);
}

static void wrong_proof__alarm_and_no_file(void **state)
{
	struct rig *r = rig_responder();
	struct caller *c = caller_begin(r, key);
	struct transport_stats s;

	(void)state;
	assert_int_equal(caller_prove(r, c, true), -ECONNRESET);
	assert_int_equal(c->file[0], -1);
	assert_int_equal(c->file[1], -1);
	assert_true(find(r, 2, TRANSPORT_ALARM, 1, 0) >= 0);
	transport_stats(r->host[2].t, &s);
	assert_int_equal(s.refused_callers, 1);
	caller_end(c);
	rig_free(r);
}

static void wrong_key__the_caller_finds_out_first(void **state)
{
	static const uint8_t other[sizeof(key)] = "0123456789abcdef0123456789abcdeX";
	struct rig *r = rig_responder();
	struct caller *c = caller_begin(r, other);

	(void)state;
	assert_int_equal(caller_prove(r, c, false), -EACCES);
	assert_int_equal(c->file[0], -1);
	caller_end(c);
	turn(r);
	assert_int_equal(shm_of(r->host[2].t)->t.hellos, 0);
	rig_free(r);
}

static void rubbish__is_hung_up_on(void **state)
{
	struct rig *r = rig_responder();
	struct caller c = { .fd = -1 };
	char path[128];
	uint8_t big[2000] = { 0 };

	(void)state;
	assert_int_equal(shm_address(path, sizeof(path), r->dir.path, 2), 0);
	assert_int_equal(shm_connect(path, &c.fd), 0);
	assert_int_equal(shm_send(c.fd, big, sizeof(big), NULL), 0);
	turn(r);
	turn(r);
	assert_int_equal(shm_recv(c.fd, c.msg, sizeof(c.msg), NULL), -ECONNRESET);
	assert_true(find(r, 2, TRANSPORT_ALARM, 0, 0) >= 0);
	shm_close(&c.fd);
	rig_free(r);
}

static void silent_caller__is_hung_up_on_in_time(void **state)
{
	struct rig *r = rig_responder();
	struct mono due = { INT64_MAX };
	char path[128];
	int fd;

	(void)state;
	assert_int_equal(shm_address(path, sizeof(path), r->dir.path, 2), 0);
	assert_int_equal(shm_connect(path, &fd), 0);
	turn(r);
	transport_arm(r->host[2].t, r->now, &due);
	assert_true(due.ns <= r->now.ns + HELLO_NS);
	r->now.ns += HELLO_NS;
	turn(r);
	assert_int_equal(shm_recv(fd, path, sizeof(path), NULL), -ECONNRESET);
	assert_true(find(r, 2, TRANSPORT_ALARM, 0, 0) >= 0);
	shm_close(&fd);
	rig_free(r);
}

static void too_many_unproven__are_hung_up_on(void **state)
{
	struct rig *r = rig_responder();
	int fd[12], refused = 0;
	char path[128], byte;

	(void)state;
	assert_int_equal(shm_address(path, sizeof(path), r->dir.path, 2), 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(shm_connect(path, &fd[i]), 0);
	turn(r);
	for (int i = 0; i < 12; i++)
		refused += shm_recv(fd[i], &byte, 1, NULL) == -ECONNRESET;
	assert_int_equal(refused, 4);
	for (int i = 0; i < 12; i++)
		shm_close(&fd[i]);
	turn(r);
	assert_int_equal(shm_of(r->host[2].t)->t.hellos, 0);
	rig_free(r);
}

static void lower_generation__is_refused(void **state)
{
	struct rig *r = rig_new();

	(void)state;
	assert_int_equal(try_open(r, 1, 1), 0);
	assert_int_equal(try_open(r, 2, 5), 0);
	add(r, 1, 2);
	add(r, 2, 1);
	pass(r, 20 * NS_PER_MS);
	transport_close(r->host[2].t);
	assert_int_equal(try_open(r, 2, 4), 0);
	add(r, 2, 1);
	pass(r, NS_PER_S);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	assert_int_equal(transport_link(r->host[2].t, 1), 0);
	assert_true(find(r, 1, TRANSPORT_ALARM, 2, 0) >= 0);
	transport_close(r->host[2].t);
	assert_int_equal(try_open(r, 2, 6), 0);
	add(r, 2, 1);
	pass(r, 5 * NS_PER_S);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	rig_free(r);
}

static void live_socket__address_in_use(void **state)
{
	struct rig *r = rig_pair();
	struct transport *mine = r->host[2].t;

	(void)state;
	assert_int_equal(try_open(r, 2, 2), -EADDRINUSE);
	r->host[2].t = mine;
	pass(r, 20 * NS_PER_MS);
	assert_int_equal(transport_link(r->host[1].t, 2), 1);
	rig_free(r);
}

static void no_folder__says_so(void **state)
{
	struct rig *r = rig_new();
	char keep[64];

	(void)state;
	memcpy(keep, r->dir.path, sizeof(keep));
	strcpy(r->dir.path, "/nonexistent/resex");
	assert_int_equal(try_open(r, 1, 1), -ENOENT);
	memcpy(r->dir.path, keep, sizeof(keep));
	rig_free(r);
}

/* --- faults ------------------------------------------------------------------------ */

static void delay__executes_and_answers_when_due(void **state)
{
	struct rig *r = rig_pair();
	struct mono due;

	(void)state;
	faults(r, 1,
	       (struct shm_faults){ .out_min_ns = 3 * NS_PER_MS,
				    .out_max_ns = 3 * NS_PER_MS,
				    .back_min_ns = 2 * NS_PER_MS,
				    .back_max_ns = 2 * NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	turn(r);
	assert_int_equal(word_of(r, 2, 0), 40);
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_int_equal(due.ns, r->now.ns + 3 * NS_PER_MS);
	r->now = due;
	turn(r);
	assert_int_equal(word_of(r, 2, 0), 41);
	assert_null(result(r, 1, 1));
	assert_int_equal(transport_arm(r->host[1].t, r->now, &due), 0);
	assert_int_equal(due.ns, r->now.ns + 2 * NS_PER_MS);
	r->now = due;
	turn(r);
	assert_int_equal(result(r, 1, 1)->old, 40);
	rig_free(r);
}

static void drop__not_executed_and_unknown(void **state)
{
	struct rig *r = rig_pair();
	int down;

	(void)state;
	faults(r, 1, (struct shm_faults){ .drop_permille = 1000 });
	post(r, 1, op_faa(2, 0, 1, 1));
	post(r, 1, op_read(2, TRANSPORT_WORDS, 1, 2));
	faults(r, 1, (struct shm_faults){ 0 });
	post(r, 1, op_faa(2, 0, 1, 3)); /* behind one that was lost */
	pass(r, 110 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(result(r, 1, 1)->why, -ETIME);
	assert_int_equal(result(r, 1, 2)->outcome, TRANSPORT_LOST);
	assert_int_equal(result(r, 1, 3)->outcome, TRANSPORT_UNKNOWN);
	down = find(r, 1, TRANSPORT_DOWN, 2, 0);
	assert_true(&r->host[1].log[down] > result(r, 1, 3));
	pass(r, 100 * NS_PER_MS);
	assert_int_equal(word_of(r, 2, 0), 40);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	rig_free(r);
}

static void drop_back__executed_and_unknown(void **state)
{
	struct rig *r = rig_pair();

	(void)state;
	faults(r, 1, (struct shm_faults){ .drop_back_permille = 1000 });
	post(r, 1, op_faa(2, 0, 1, 1));
	pass(r, 110 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

static void late__executed_after_the_link_ended(void **state)
{
	struct rig *r = rig_pair();

	(void)state;
	faults(r, 1, (struct shm_faults){ .late_permille = 1000, .late_max_ns = NS_PER_MS });
	post(r, 1, op_faa(2, 0, 1, 1));
	pass(r, 100 * NS_PER_MS);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	/* The responder is not asked for a new link before the back-off: 20 ms. */
	pass(r, 2 * NS_PER_MS);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

static void late__not_after_a_newer_link(void **state)
{
	struct rig *r = rig_pair();
	struct transport_op op = op_faa(2, 0, 1, 1);

	(void)state;
	faults(r, 1, (struct shm_faults){ .out_min_ns = 5 * NS_PER_S, .out_max_ns = 5 * NS_PER_S });
	post(r, 1, op);
	faults(r, 1, (struct shm_faults){ 0 });
	pass(r, NS_PER_S);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	pass(r, 6 * NS_PER_S);
	assert_int_equal(word_of(r, 2, 0), 40);
	rig_free(r);
}

static void late__newer_link_is_cut_off__executed(void **state)
{
	struct rig *r = rig_pair();

	(void)state;
	faults(r, 1, (struct shm_faults){ .out_min_ns = 5 * NS_PER_S, .out_max_ns = 5 * NS_PER_S });
	post(r, 1, op_faa(2, 0, 1, 1));
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, true), 0);
	pass(r, 4 * NS_PER_S);
	assert_int_equal(word_of(r, 2, 0), 40);
	pass(r, 2 * NS_PER_S);
	assert_int_equal(word_of(r, 2, 0), 41);
	rig_free(r);
}

static void late__responder_removed_us__not_executed(void **state)
{
	struct rig *r = rig_pair();

	(void)state;
	faults(r, 1, (struct shm_faults){ .out_min_ns = 5 * NS_PER_S, .out_max_ns = 5 * NS_PER_S });
	post(r, 1, op_faa(2, 0, 1, 1));
	assert_int_equal(transport_remove(r->host[2].t, 1, r->now), 0);
	pass(r, 6 * NS_PER_S);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(word_of(r, 2, 0), 40);
	rig_free(r);
}

static void cut__loses_all_until_healed(void **state)
{
	struct rig *r = rig_pair();
	struct transport_op op = op_faa(2, 0, 1, 1);

	(void)state;
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, true), 0);
	post(r, 1, op);
	pass(r, 3 * NS_PER_S);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 0);
	assert_int_equal(transport_shm_cut(r->host[1].t, 2, false), 0);
	pass(r, 4 * NS_PER_S + 100 * NS_PER_MS);
	assert_int_equal(transport_link(r->host[1].t, 2), 2);
	assert_int_equal(word_of(r, 2, 0), 40);
	rig_free(r);
}

static void tear__halves_of_two_times(void **state)
{
	struct rig *r = rig_pair();
	uint64_t *table = transport_table(r->host[2].t);
	const uint64_t *data;

	(void)state;
	faults(r, 1,
	       (struct shm_faults){ .tear_permille = 1000,
				    .back_min_ns = 5 * NS_PER_MS,
				    .back_max_ns = 5 * NS_PER_MS });
	for (int i = 0; i < 8; i++)
		table[i] = 1;
	post(r, 1, op_read(2, TRANSPORT_TABLE, 8, 1));
	for (int i = 0; i < 8; i++)
		table[i] = 2;
	while (!result(r, 1, 1)) {
		r->now.ns += NS_PER_MS;
		turn(r);
	}
	data = result(r, 1, 1)->data;
	for (int i = 0; i < 8; i++)
		assert_int_equal(data[i], i < 4 ? 1 : 2);
	rig_free(r);
}

/* Random faults; what was done, in order, and what it left in the word. */
static uint64_t fate(uint64_t seed, char *told, size_t size)
{
	struct rig *r = rig_pair();
	struct prop p = { .state = seed };
	uint64_t word, done = 0, unknown = 0, last = 0;
	size_t len = 0, from = r->host[1].n;

	faults(r, 1,
	       (struct shm_faults){ .seed = seed,
				    .out_min_ns = 0,
				    .out_max_ns = 4 * NS_PER_MS,
				    .back_max_ns = 4 * NS_PER_MS,
				    .drop_permille = 30,
				    .drop_back_permille = 30,
				    .late_permille = 30,
				    .late_max_ns = 200 * NS_PER_MS });
	told[0] = 0;
	for (uint64_t tag = 1; tag <= 60; tag++) {
		struct transport_op op = op_faa(2, 0, 1, tag);

		op.deadline = mono_add(r->now, 20 * NS_PER_MS);
		transport_post(r->host[1].t, &op, 1, r->now, NULL);
		pass(r, (int64_t)prop_range(&p, 0, 8) * NS_PER_MS);
	}
	pass(r, NS_PER_S);
	for (size_t i = from; i < r->host[1].n; i++) {
		const struct transport_event *ev = &r->host[1].log[i];

		if (ev->type != TRANSPORT_RESULT)
			continue;
		prop_assert(&p, i, ev->tag > last); /* of one link: in order */
		last = ev->tag;
		done += ev->outcome == TRANSPORT_DONE;
		unknown += ev->outcome == TRANSPORT_UNKNOWN;
		len += (size_t)snprintf(told + len, size - len, "%llu:%d ",
					(unsigned long long)ev->tag, ev->outcome);
	}
	word = word_of(r, 2, 0) - 40;
	assert_true(word >= done && word <= done + unknown);
	rig_free(r);
	return word;
}

static void faults__same_seed__same_fate(void **state)
{
	static char a[4096], b[4096];
	struct prop p;

	(void)state;
	prop_start(&p);
	for (int i = 0; i < 5; i++) {
		uint64_t seed = prop_u64(&p), word = fate(seed, a, sizeof(a));

		assert_int_equal(fate(seed, b, sizeof(b)), word);
		assert_string_equal(a, b);
		assert_true(strchr(a, ':') != NULL);
	}
}

static void faults__out_of_range__refused(void **state)
{
	struct rig *r = rig_pair();

	(void)state;
	assert_int_equal(
		transport_shm_faults(r->host[1].t, &(struct shm_faults){ .out_min_ns = 1 }),
		-EINVAL);
	assert_int_equal(
		transport_shm_faults(r->host[1].t, &(struct shm_faults){ .drop_permille = 1001 }),
		-EINVAL);
	assert_int_equal(transport_shm_cut(r->host[1].t, 0, true), -EINVAL);
	assert_int_equal(transport_shm_cut(r->host[1].t, 65, true), -EINVAL);
	rig_free(r);
}

/* --- owners that are processes ------------------------------------------------------- */

/* Host 2 as a process of its own; it polls until it is killed. */
static pid_t owner(struct rig *r, uint64_t generation)
{
	struct transport_event ev[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (try_open(r, 2, generation))
		_exit(1);
	add(r, 2, 1);
	for (;;) {
		struct pollfd p = { .fd = transport_fd(r->host[2].t), .events = POLLIN };

		r->now.ns += NS_PER_MS;
		transport_poll(r->host[2].t, r->now, ev, 16);
		poll(&p, 1, 1);
	}
}

/* Until host 1 has logged this of host 2; real waiting, simulated time. */
static int await(struct rig *r, enum transport_event_type type, size_t from)
{
	struct pollfd p = { .fd = transport_fd(r->host[1].t), .events = POLLIN };

	for (int k = 0; k < 20000 && find(r, 1, type, 2, from) < 0; k++) {
		r->now.ns += NS_PER_MS;
		turn(r);
		if (find(r, 1, type, 2, from) < 0)
			poll(&p, 1, 1);
	}
	return find(r, 1, type, 2, from);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void owner_stopped__still_answers(void **state)
{
	struct rig *r = rig_new();
	pid_t pid = owner(r, 1);
	int status;

	(void)state;
	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 2);
	assert_true(await(r, TRANSPORT_UP, 0) >= 0);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	post(r, 1, op_faa(2, 2, 5, 1));
	post(r, 1, op_read(2, TRANSPORT_WORDS, 3, 2));
	turn(r);
	assert_int_equal(result(r, 1, 1)->old, 42);
	assert_int_equal(((const uint64_t *)result(r, 1, 2)->data)[2], 47);
	end(pid);
	rig_free(r);
}

static void owner_killed__down__and_up_when_it_is_back(void **state)
{
	struct rig *r = rig_new();
	pid_t pid = owner(r, 1);
	int down, up;

	(void)state;
	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 2);
	assert_true(await(r, TRANSPORT_UP, 0) >= 0);
	post(r, 1, op_faa(2, 0, 1, 1));
	end(pid);
	down = await(r, TRANSPORT_DOWN, 0);
	assert_true(down >= 0);
	pid = owner(r, 2); /* over the dead one's socket */
	up = await(r, TRANSPORT_UP, (size_t)down);
	assert_true(up > down);
	assert_int_equal(r->host[1].log[up].link, 2);
	assert_int_equal(r->host[1].log[up].generation, 2);
	post(r, 1, op_faa(2, 0, 1, 2));
	turn(r);
	assert_int_equal(result(r, 1, 2)->old, 40); /* a new region */
	end(pid);
	rig_free(r);
}

/* What host 3 does in its process: add 1 to word 0 of host 2, again and again. */
static void add_often(struct rig *r, uint16_t self, int times)
{
	struct transport *t;
	struct transport_event ev[16];

	if (try_open(r, self, 1))
		_exit(1);
	add(r, self, 2);
	t = r->host[self].t;
	for (int k = 0; !transport_link(t, 2); k++) {
		struct pollfd p = { .fd = transport_fd(t), .events = POLLIN };

		if (k == 20000)
			_exit(2);
		r->now.ns += NS_PER_MS;
		transport_poll(t, r->now, ev, 16);
		poll(&p, 1, 1);
	}
	for (int k = 0; k < times; k++) {
		post(r, self, op_faa(2, 0, 1, 0));
		transport_poll(t, r->now, ev, 16);
	}
}

static void two_callers__every_addition_counts(void **state)
{
	enum { TIMES = 20000 };
	struct rig *r = rig_new();
	int status;
	pid_t other = fork();

	(void)state;
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		add_often(r, 3, TIMES);
		_exit(0);
	}
	assert_int_equal(try_open(r, 2, 1), 0);
	add(r, 2, 2);
	add(r, 2, 3);
	while (!transport_link(r->host[2].t, 2))
		pass(r, NS_PER_MS);
	/* The owner adds through its own transport, while the other does through its. */
	for (int k = 0; k < TIMES || !waitpid(other, &status, WNOHANG); k++) {
		if (k < TIMES)
			post(r, 2, op_faa(2, 0, 1, 0));
		turn(r);
		r->host[2].n = 0;
	}
	assert_int_equal(status, 0);
	assert_int_equal(word_of(r, 2, 0), 40 + 2 * TIMES);
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_faults__post__executes_at_once),
		cmocka_unit_test(read__table__shows_what_its_owner_wrote),
		cmocka_unit_test(loopback__cas__is_a_link_like_any_other),
		cmocka_unit_test(send__arrives_and_is_all_that_the_peer_serves),
		cmocka_unit_test(send__peer_never_polls__ends_by_its_deadline),
		cmocka_unit_test(send__peer_polls_again__all_arrive_in_order),
		cmocka_unit_test(remove__at_the_responder__nothing_is_executed_any_more),
		cmocka_unit_test(proven__table__cannot_be_mapped_writable),
		cmocka_unit_test(wrong_proof__alarm_and_no_file),
		cmocka_unit_test(wrong_key__the_caller_finds_out_first),
		cmocka_unit_test(rubbish__is_hung_up_on),
		cmocka_unit_test(silent_caller__is_hung_up_on_in_time),
		cmocka_unit_test(too_many_unproven__are_hung_up_on),
		cmocka_unit_test(lower_generation__is_refused),
		cmocka_unit_test(live_socket__address_in_use),
		cmocka_unit_test(no_folder__says_so),
		cmocka_unit_test(delay__executes_and_answers_when_due),
		cmocka_unit_test(drop__not_executed_and_unknown),
		cmocka_unit_test(drop_back__executed_and_unknown),
		cmocka_unit_test(late__executed_after_the_link_ended),
		cmocka_unit_test(late__not_after_a_newer_link),
		cmocka_unit_test(late__newer_link_is_cut_off__executed),
		cmocka_unit_test(late__responder_removed_us__not_executed),
		cmocka_unit_test(cut__loses_all_until_healed),
		cmocka_unit_test(tear__halves_of_two_times),
		cmocka_unit_test(faults__same_seed__same_fate),
		cmocka_unit_test(faults__out_of_range__refused),
		cmocka_unit_test(owner_stopped__still_answers),
		cmocka_unit_test(owner_killed__down__and_up_when_it_is_back),
		cmocka_unit_test(two_callers__every_addition_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
