// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What only the backend "shm" has: sealed files that are sent after the proof, sockets of dead
 * processes. Owners that are stopped or killed are in test_shm_owner.c, its faults in
 * test_transport_shm_faults.c, the rest in tests/transport.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/unit/shm_rig.h"
#include "tests/unit/unit.h"

/* --- without faults ---------------------------------------------------------- */

TEST(no_faults__post__executes_at_once)
{
	struct rig *r = rig_pair();

	post(r, 1, op_faa(2, 1, 9, 7));
	assert_int_equal(word_of(r, 2, 1), 50);
	assert_null(result(r, 1, 7));
	turn(r);
	assert_non_null(result(r, 1, 7));
	assert_int_equal(result(r, 1, 7)->outcome, TRANSPORT_DONE);
	assert_int_equal(result(r, 1, 7)->old, 41);
	rig_free(r);
}

TEST(read__table__shows_what_its_owner_wrote)
{
	struct rig *r = rig_pair();
	uint64_t *table = transport_table(r->host[2].t);

	table[3] = 77;
	post(r, 1, op_read(2, TRANSPORT_TABLE, 8, 1));
	turn(r);
	assert_int_equal(((const uint64_t *)result(r, 1, 1)->data)[3], 77);
	rig_free(r);
}

TEST(loopback__cas__is_a_link_like_any_other)
{
	struct rig *r = rig_new();
	struct transport_op op = { .kind = TRANSPORT_CAS64,
				   .host = 1,
				   .part = TRANSPORT_WORDS,
				   .compare = 40,
				   .value = 99 };

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

TEST(send__arrives_and_is_all_that_the_peer_serves)
{
	struct rig *r = rig_pair();
	struct transport_op op = { .kind = TRANSPORT_SEND, .host = 2, .data = "hello", .len = 5 };
	struct transport_stats s;
	int at;

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

TEST(send__peer_never_polls__ends_by_its_deadline)
{
	struct rig *r = rig_pair();
	struct transport *sleeper = r->host[2].t;
	uint8_t data[TRANSPORT_MESSAGE_MAX] = { 0 };
	struct transport_op op = {
		.kind = TRANSPORT_SEND, .host = 2, .data = data, .len = sizeof(data)
	};
	int sent = 0, why = 0;

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

TEST(send__peer_polls_again__all_arrive_in_order)
{
	struct rig *r = rig_pair();
	struct transport *sleeper = r->host[2].t;
	uint64_t data[64] = { 0 }, got = 0;
	struct transport_op op = {
		.kind = TRANSPORT_SEND, .host = 2, .data = data, .len = sizeof(data)
	};
	uint64_t sent = 0;

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

/* Sends n messages of 8 bytes that count on from *count. */
static void send_n(struct rig *r, int n, uint64_t *count)
{
	struct transport_op op = { .kind = TRANSPORT_SEND, .host = 2, .data = count, .len = 8 };

	for (int i = 0; i < n; i++, (*count)++) {
		post(r, 1, op);
		transport_poll(r->host[1].t, r->now, r->host[1].log, LOG);
	}
}

TEST(send__then_a_new_link__all_arrive_in_order)
{
	struct rig *r = rig_pair();
	struct transport *sleeper = r->host[2].t;
	uint64_t count = 0, got = 0;

	r->host[2].t = NULL;
	send_n(r, 100, &count);
	faults(r, 1, (struct shm_faults){ .drop_permille = 1000 });
	post(r, 1, op_faa(2, 0, 1, 1));
	r->now.ns += NS_PER_S;
	faults(r, 1, (struct shm_faults){ 0 });
	for (int k = 0; k < 100; k++) { /* its deadline has passed: it calls again */
		turn(r);
		r->now.ns += NS_PER_MS;
	}
	r->host[2].t = sleeper;
	r->host[1].n = r->host[2].n = 0;
	for (int k = 0; k < 200; k++) {
		r->now.ns += NS_PER_MS;
		turn(r);
		if (transport_link(r->host[1].t, 2) == 2 && count == 100)
			send_n(r, 5, &count);
		for (size_t i = 0; i < r->host[2].n; i++)
			if (r->host[2].log[i].type == TRANSPORT_MESSAGE)
				assert_int_equal(*(const uint64_t *)r->host[2].log[i].data, got++);
		r->host[2].n = 0;
	}
	assert_int_equal(count, 105);
	assert_int_equal(got, 105);
	rig_free(r);
}

TEST(send__receiver_takes_one_a_poll__none_is_dropped)
{
	struct rig *r = rig_pair();
	struct transport_event ev;
	uint64_t count = 0, got = 0;

	send_n(r, 150, &count);
	for (int k = 0; k < 300; k++) {
		if (!transport_poll(r->host[2].t, r->now, &ev, 1))
			continue;
		assert_int_equal(ev.type, TRANSPORT_MESSAGE);
		assert_int_equal(*(const uint64_t *)ev.data, got++);
	}
	assert_int_equal(got, 150);
	rig_free(r);
}

TEST(remove__at_the_responder__nothing_is_executed_any_more)
{
	struct rig *r = rig_pair();
	struct transport_op op = op_faa(2, 0, 1, 5);

	assert_int_equal(transport_remove(r->host[2].t, 1, r->now), 0);
	op.deadline = mono_add(r->now, NS_PER_S);
	/* Host 1 does not know yet. */
	assert_int_equal(transport_post(r->host[1].t, &op, 1, r->now, NULL), 1);
	assert_int_equal(word_of(r, 2, 0), 40);
	turn(r);
	assert_int_equal(result(r, 1, 5)->outcome, TRANSPORT_LOST);
	assert_true(find(r, 1, TRANSPORT_DOWN, 2, 0) > 0);
	pass(r, NS_PER_S);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	rig_free(r);
}

/* --- which callers may connect ----------------------------------------------------------- */

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

static struct caller *caller_begin_as(struct rig *r, const uint8_t *with, enum transport_role role)
{
	struct caller *c = calloc(1, sizeof(*c));
	uint8_t nonce[HELLO_NONCE] = { 1, 2, 3 };
	char path[128];

	assert_non_null(c);
	c->conf = (struct transport_conf){ .host = 1,
					   .generation = 9,
					   .start = 11,
					   .cluster = "test",
					   .key = with,
					   .key_len = sizeof(key),
					   .role = role };
	assert_int_equal(shm_address(path, sizeof(path), r->dir.path, 2), 0);
	assert_int_equal(shm_connect(path, &c->fd), 0);
	hello_begin(&c->hello, HELLO_CALLER, &c->conf, 2, nonce);
	caller_send(r, c, hello_write_call(&c->hello, c->msg));
	return c;
}

static struct caller *caller_begin(struct rig *r, const uint8_t *with)
{
	return caller_begin_as(r, with, TRANSPORT_MEMBER);
}

/* The rest of the hello; `flip`: with a wrong proof. */
static int caller_prove(struct rig *r, struct caller *c, bool flip)
{
	uint8_t out[HELLO_MAX];
	size_t len = 0;
	int rc = hello_receive(&c->hello, c->msg, (size_t)c->last, out, &len);

	if (rc < 0)
		return rc;
	memcpy(c->msg, out, len);
	c->msg[len - 1] ^= flip;
	caller_send(r, c, len);
	return c->last < 0 ? (int)c->last
			   : hello_receive(&c->hello, c->msg, (size_t)c->last, out, &len);
}

static void caller_end(struct caller *c)
{
	shm_close(&c->file[0]);
	shm_close(&c->file[1]);
	shm_close(&c->fd);
	free(c);
}

/* load: the descriptor of its part of that name; 0: none */
static struct rig *rig_responder(int load)
{
	struct rig *r = rig_new();

	r->load = load;
	assert_int_equal(try_open(r, 2, 1), 0);
	add(r, 2, 1);
	turn(r);
	return r;
}

/* Host 2, to which host 1 is a client that may read. */
static struct rig *rig_with_client(void)
{
	struct transport_peer p = { .host = 1, .role = TRANSPORT_CLIENT };
	struct rig *r = rig_new();

	assert_int_equal(try_open(r, 2, 1), 0);
	assert_int_equal(transport_add(r->host[2].t, &p, r->now), 0);
	turn(r);
	return r;
}

TEST(client__without_the_right__gets_words_that_it_cannot_map_writable)
{
	struct rig *r = rig_with_client();
	struct caller *c = caller_begin_as(r, key, TRANSPORT_CLIENT);
	int words;
	void *mem;

	assert_int_equal(caller_prove(r, c, false), HELLO_READY);
	words = c->file[TRANSPORT_WORDS];
	assert_ptr_equal(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, words, 0),
			 MAP_FAILED);
	assert_int_equal(errno, EACCES);
	assert_int_equal(pwrite(words, "x", 1, 0), -1);
	mem = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, words, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_int_equal(mprotect(mem, BYTES, PROT_READ | PROT_WRITE), -1);
	munmap(mem, BYTES);
	caller_end(c);
	rig_free(r);
}

TEST(client__sends_a_message__its_link_is_ended)
{
	struct rig *r = rig_with_client();
	struct caller *c = caller_begin_as(r, key, TRANSPORT_CLIENT);

	assert_int_equal(caller_prove(r, c, false), HELLO_READY);
	assert_int_equal(shm_send(c->fd, "x", 1, NULL), 0);
	turn(r);
	assert_int_equal(shm_recv(c->fd, c->msg, sizeof(c->msg), NULL), -ECONNRESET);
	assert_true(find(r, 2, TRANSPORT_ALARM, 1, 0) >= 0);
	assert_int_equal(find(r, 2, TRANSPORT_MESSAGE, 1, 0), -1);
	caller_end(c);
	rig_free(r);
}

/* refused: by the seal of its own file, or by how the given one was opened. */
static void read_only_parts(struct rig *r, int refused)
{
	struct caller *c = caller_begin(r, key);
	static const enum transport_part read_only[] = { TRANSPORT_TABLE, TRANSPORT_LOAD };
	int words;
	void *mem;

	assert_int_equal(caller_prove(r, c, false), HELLO_READY);
	words = c->file[TRANSPORT_WORDS];
	assert_true(words >= 0);
	for (int i = 0; i < 2; i++) {
		int file = c->file[read_only[i]];

		assert_true(file >= 0);
		assert_ptr_equal(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
				 MAP_FAILED);
		assert_int_equal(errno, i ? refused : EPERM);
		mem = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
		assert_ptr_not_equal(mem, MAP_FAILED);
		assert_int_equal(mprotect(mem, BYTES, PROT_READ | PROT_WRITE), -1);
		assert_int_equal(pwrite(file, "x", 1, 0), -1);
		assert_int_equal(ftruncate(file, 0), -1);
		munmap(mem, BYTES);
	}
	assert_int_equal(ftruncate(words, 0), -1);
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, words, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	munmap(mem, BYTES);
	caller_end(c);
	/* The owner itself still writes. */
	*(uint64_t *)transport_table(r->host[2].t) = 1;
	*(uint64_t *)transport_part(r->host[2].t, TRANSPORT_LOAD) = 1;
	rig_free(r);
}

TEST(proven__read_only_parts__cannot_be_mapped_writable)
{
	read_only_parts(rig_responder(0), EPERM);
}

TEST(proven__a_part_that_the_owner_gives__cannot_be_mapped_writable_through_its_descriptor)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, BYTES), 0);
	read_only_parts(rig_responder(fd), EACCES);
	shm_close(&fd);
}

/* What a peer sends that is not a host. */
TEST(region_that_could_shrink__not_mapped)
{
	const struct shm_keys keys = { .bytes = { BYTES, BYTES } };
	struct shm_map m = { 0 };
	int fd[TRANSPORT_PARTS];

	for (int i = 0; i < TRANSPORT_PARTS; i++) {
		fd[i] = memfd_create("test", MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(fd[i], i ? BYTES : BYTES + SHM_EPOCHS_BYTES), 0);
	}
	assert_int_equal(shm_map(&m, fd, &keys, true), -EPROTO);
	fcntl(fd[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(shm_map(&m, fd, &keys, true), -EPROTO);
	assert_null(m.mem[0]);
	fcntl(fd[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(shm_map(&m, fd, &keys, true), -EPROTO); /* the page of the life */
	fcntl(fd[TRANSPORT_VERSIONS], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(shm_map(&m, fd, &keys, true), 0);
	shm_unmap(&m);
	assert_int_equal(shm_map(&m, fd, &(struct shm_keys){ .bytes = { BYTES, 2 * BYTES } }, true),
			 -EPROTO);
	assert_int_equal(shm_map(&m, fd, &(struct shm_keys){ .bytes = { BYTES, 0 } }, true),
			 -EPROTO);
	shm_close(&fd[0]);
	assert_int_equal(shm_map(&m, fd, &keys, true), -EPROTO);
	for (int i = 1; i < TRANSPORT_PARTS; i++)
		shm_close(&fd[i]);
}

static uint32_t open_files(void)
{
	uint32_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Send len bytes with files instead of an answer. Returns how many files the caller keeps open. */
static uint32_t files_kept(size_t len)
{
	struct rig *r = rig_new();
	struct transport_conf conf = { .bytes = { BYTES, BYTES } };
	struct shm_region region = { .fd = { -1, -1 }, .words_read = -1 };
	uint8_t big[2000] = { 0 };
	int listener, fd;
	char path[128], text[256];
	uint32_t before, after;

	assert_int_equal(shm_region_open(&region, &conf, text), 0);
	assert_int_equal(shm_address(path, sizeof(path), r->dir.path, 2), 0);
	assert_int_equal(shm_listen(r->dir.path, path, &listener), 0);
	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 2);
	turn(r);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	before = open_files();
	assert_int_equal(shm_send(fd, big, len, region.fd), 0);
	turn(r);
	after = open_files();
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	shm_close(&fd);
	shm_close(&listener);
	shm_region_close(&region);
	rig_free(r);
	return after + 1 - before; /* its own end of the socket is closed */
}

TEST(files__with_a_message_that_is_none__are_closed)
{
	static const size_t len[] = { 0, 1, HELLO_MAX, HELLO_MAX + 2, 2000 };

	for (size_t i = 0; i < sizeof(len) / sizeof(len[0]); i++)
		assert_int_equal(files_kept(len[i]), 0);
}

TEST(wrong_proof__alarm_and_no_file)
{
	struct rig *r = rig_responder(0);
	struct caller *c = caller_begin(r, key);
	struct transport_stats s;

	assert_int_equal(caller_prove(r, c, true), -ECONNRESET);
	assert_int_equal(c->file[0], -1);
	assert_int_equal(c->file[1], -1);
	assert_true(find(r, 2, TRANSPORT_ALARM, 0, 0) >= 0);
	transport_stats(r->host[2].t, &s);
	assert_int_equal(s.refused_callers, 1);
	caller_end(c);
	rig_free(r);
}

TEST(wrong_key__the_caller_finds_out_first)
{
	static const uint8_t other[sizeof(key)] = "0123456789abcdef0123456789abcdeX";
	struct rig *r = rig_responder(0);
	struct caller *c = caller_begin(r, other);

	assert_int_equal(caller_prove(r, c, false), -EACCES);
	assert_int_equal(c->file[0], -1);
	caller_end(c);
	turn(r);
	assert_int_equal(shm_of(r->host[2].t)->t.hellos, 0);
	rig_free(r);
}

TEST(rubbish__is_hung_up_on)
{
	struct rig *r = rig_responder(0);
	struct caller c = { .fd = -1 };
	char path[128];
	uint8_t big[2000] = { 0 };

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

TEST(silent_caller__is_hung_up_on_in_time)
{
	struct rig *r = rig_responder(0);
	struct mono due = { INT64_MAX };
	char path[128];
	int fd;

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

TEST(too_many_unproven__are_hung_up_on)
{
	struct rig *r = rig_responder(0);
	int fd[12], refused = 0;
	char path[128], byte;

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

TEST(lower_generation__is_refused)
{
	struct rig *r = rig_new();

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

TEST(live_socket__address_in_use)
{
	struct rig *r = rig_pair();
	struct transport *mine = r->host[2].t;

	assert_int_equal(try_open(r, 2, 2), -EADDRINUSE);
	r->host[2].t = mine;
	pass(r, 20 * NS_PER_MS);
	assert_int_equal(transport_link(r->host[1].t, 2), 1);
	rig_free(r);
}

TEST(folder_of_too_long_a_name__refused)
{
	struct rig *r = rig_responder(0);
	struct transport_peer p = { .host = 3 };

	memset(p.address, 'x', sizeof(p.address) - 1);
	assert_int_equal(transport_add(r->host[2].t, &p, r->now), -EINVAL);
	rig_free(r);
}

TEST(no_folder__says_so)
{
	struct rig *r = rig_new();
	char keep[64];

	memcpy(keep, r->dir.path, sizeof(keep));
	strcpy(r->dir.path, "/nonexistent/resex");
	assert_int_equal(try_open(r, 1, 1), -ENOENT);
	memcpy(r->dir.path, keep, sizeof(keep));
	rig_free(r);
}
