// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/latency_socket: valid and malformed datagrams, by a real socket into latency pages. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "ibmon/agent/latency_socket.h"
#include "ibmon/latency.h"
#include "ibmon/scan.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

struct rig {
	struct tmpdir dir;
	struct pages *pages;
	struct book *book;
	struct latency_socket *sock;
	struct log log;
	char path[160], file[160];
	pid_t joined;
	int joins, refuse;
	pid_t about_queues; /* the sender of the newest datagram about queues */
	size_t bytes;
};

static int join(void *ctx, pid_t pid)
{
	struct rig *r = (struct rig *)ctx;

	r->joined = pid;
	r->joins++;
	return r->refuse;
}

static int rig_open(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	strcpy(r->path, tmp_at(&r->dir, "sock"));
	strcpy(r->file, tmp_at(&r->dir, "pages"));
	log_init(&r->log, "test", LOG_LVL_ERROR);
	assert_int_equal(pages_file.open(&r->pages, r->file), 0);
	assert_int_equal(book_open(&r->book, &pages_file, r->pages, 1), 0);
	assert_int_equal(latency_open(&r->sock, r->path, r->book, join, r, &r->log), 0);
	*state = r;
	return 0;
}

static int rig_close(void **state)
{
	struct rig *r = *state;

	latency_close(r->sock);
	book_close(r->book);
	pages_file.close(r->pages);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

static void send_bytes(const struct rig *r, const void *buf, size_t len)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	strcpy(to.sun_path, r->path);
	assert_int_equal(sendto(fd, buf, len, 0, (const struct sockaddr *)&to, sizeof(to)), len);
	close(fd);
}

#define HEAD sizeof(struct agent_latencies)

union datagram {
	struct agent_latencies h;
	uint8_t bytes[HEAD + AGENT_SOCKET_SAMPLES_MAX * sizeof(struct agent_latency)];
};

static union datagram datagram(uint16_t n)
{
	union datagram d = { .h = { AGENT_SOCKET_MAGIC, AGENT_SOCKET_VERSION, n, 0, 0 } };

	for (uint32_t i = 0; i < AGENT_SOCKET_SAMPLES_MAX; i++)
		d.h.sample[i] = (struct agent_latency){ i + 1, 100 + i, 200 + i };
	return d;
}

static size_t bytes(uint16_t n)
{
	return HEAD + n * sizeof(struct agent_latency);
}

/* The page as a reader finds it: the file holds the pages one after another. */
static void read_page(const struct rig *r, uint64_t index, void *page)
{
	FILE *f = fopen(r->file, "r");

	assert_non_null(f);
	assert_int_equal(fseek(f, (long)(index * GUEST_PAGE), SEEK_SET), 0);
	assert_int_equal(fread(page, GUEST_PAGE, 1, f), 1);
	fclose(f);
}

static uint32_t latencies(const struct rig *r, struct guest_latency *first)
{
	union {
		struct guest_registry reg;
		uint8_t bytes[GUEST_PAGE];
	} page;

	read_page(r, book_ref(r->book).ref, &page);
	if (page.reg.latencies)
		read_page(r, page.reg.latency[0].ref, first);
	return page.reg.latencies;
}

TEST_WITH(samples_sent__stand_in_the_senders_page, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram three = datagram(3), one = datagram(1);
	struct guest_latency l;

	send_bytes(r, &three, bytes(3));
	send_bytes(r, &one, bytes(1));
	latency_read(r->sock, 8, (struct mono){ 777 });
	assert_int_equal(latencies(r, &l), 1);
	assert_int_equal(l.pid, getpid());
	assert_int_equal(l.written, 4);
	assert_int_equal(l.time, 777);
	assert_int_equal(l.sample[2].ctime_ns, 3);
	assert_int_equal(l.sample[2].wtime_ns, 102);
	assert_int_equal(l.sample[2].ptime_ns, 202);
	assert_int_equal(l.sample[3].ctime_ns, 1);
	assert_int_equal(r->joined, getpid());
	assert_int_equal(r->joins, 1);
}

/* The host counts them as lost. */
TEST_WITH(samples_the_sender_dropped__are_told, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram d = datagram(2);
	struct guest_latency l;

	send_bytes(r, &d, bytes(2));
	d.h.dropped = 1000;
	send_bytes(r, &d, bytes(2));
	latency_read(r->sock, 8, (struct mono){ 1 });
	assert_int_equal(latencies(r, &l), 1);
	assert_int_equal(l.written, 4);
	assert_int_equal(l.dropped, 1000);
}

TEST_WITH(sender_is_known_by_the_kernel__a_child_has_its_own_page, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram d = datagram(1);
	struct guest_latency l;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		send_bytes(r, &d, bytes(1));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	latency_read(r->sock, 8, (struct mono){ 1 });
	assert_int_equal(latencies(r, &l), 1);
	assert_int_equal(l.pid, pid);
	send_bytes(r, &d, bytes(1));
	latency_read(r->sock, 8, (struct mono){ 2 });
	assert_int_equal(latencies(r, &l), 2);
}

TEST_WITH(process_gone__its_page_is_withdrawn, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram d = datagram(1);
	struct guest_latency l;

	send_bytes(r, &d, bytes(1));
	latency_read(r->sock, 8, (struct mono){ 1 });
	assert_int_equal(latencies(r, &l), 1);
	latency_gone(r->sock, getpid() + 1);
	assert_int_equal(latencies(r, &l), 1);
	latency_gone(r->sock, getpid());
	assert_int_equal(latencies(r, &l), 0);
}

TEST_WITH(process_that_cannot_be_watched__gets_no_page, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram d = datagram(1);
	struct guest_latency l;

	r->refuse = -ESRCH;
	send_bytes(r, &d, bytes(1));
	latency_read(r->sock, 8, (struct mono){ 1 });
	assert_int_equal(latencies(r, &l), 0);
}

static void send_as_a_child(struct rig *r)
{
	union datagram d = datagram(1);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		send_bytes(r, &d, bytes(1));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(latency_read(r->sock, 8, (struct mono){ 1 }), 1);
}

/* The host looks at the registry anew whenever its generation changes. */
TEST_WITH(no_page_left__the_registry_is_left_alone, rig_open, rig_close)
{
	struct rig *r = *state;
	union {
		struct guest_registry reg;
		uint8_t bytes[GUEST_PAGE];
	} before, after;

	for (int i = 0; i < GUEST_LATENCIES_MAX; i++)
		send_as_a_child(r);
	read_page(r, book_ref(r->book).ref, &before);
	assert_int_equal(before.reg.latencies, GUEST_LATENCIES_MAX);
	send_as_a_child(r);
	send_as_a_child(r);
	read_page(r, book_ref(r->book).ref, &after);
	assert_memory_equal(&after, &before, sizeof(before));
	assert_int_equal(r->joins, GUEST_LATENCIES_MAX);
	latency_gone(r->sock, r->joined);
	send_as_a_child(r);
	read_page(r, book_ref(r->book).ref, &after);
	assert_int_equal(after.reg.latencies, GUEST_LATENCIES_MAX);
	assert_int_equal(r->joins, GUEST_LATENCIES_MAX + 1);
}

TEST_WITH(malformed_datagrams__are_dropped, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram d = datagram(2), bad;
	struct agent_latency out[AGENT_SOCKET_SAMPLES_MAX];
	uint32_t dropped = 99;
	struct guest_latency l;

	assert_int_equal(latency_parse(&d, bytes(2), out, &dropped), 2);
	assert_int_equal(out[1].wtime_ns, 101);
	assert_int_equal(dropped, 0);
	assert_int_equal(latency_parse(&d, bytes(2) - 1, out, &dropped), -EBADMSG);
	assert_int_equal(latency_parse(&d, bytes(2) + 1, out, &dropped), -EBADMSG);
	assert_int_equal(latency_parse(&d, 0, out, &dropped), -EBADMSG);
	bad = d;
	bad.h.magic++;
	assert_int_equal(latency_parse(&bad, bytes(2), out, &dropped), -EBADMSG);
	bad = d;
	bad.h.version++;
	assert_int_equal(latency_parse(&bad, bytes(2), out, &dropped), -EBADMSG);
	bad = datagram(0);
	assert_int_equal(latency_parse(&bad, bytes(0), out, &dropped), -EBADMSG);
	bad = datagram(AGENT_SOCKET_SAMPLES_MAX + 1);
	assert_int_equal(latency_parse(&bad, bytes(AGENT_SOCKET_SAMPLES_MAX + 1), out, &dropped),
			 -EBADMSG);
	send_bytes(r, &bad, sizeof(bad));
	latency_read(r->sock, 8, (struct mono){ 1 });
	assert_int_equal(latencies(r, &l), 0);
}

static int on_queues(void *ctx, pid_t pid, const void *buf, size_t len)
{
	struct rig *r = (struct rig *)ctx;

	(void)buf;
	r->about_queues = pid;
	r->bytes = len;
	return 0;
}

TEST_WITH(datagram_about_queues__is_passed_on_with_its_sender, rig_open, rig_close)
{
	struct rig *r = *state;
	const struct agent_queues q = { .magic = AGENT_QUEUES_MAGIC };
	union datagram d = datagram(1);
	struct guest_latency l;

	send_bytes(r, &q, sizeof(q));
	assert_int_equal(latency_read(r->sock, 8, (struct mono){ 1 }), 1); /* nobody takes it */
	latency_queues(r->sock, on_queues);
	send_bytes(r, &q, 5);
	send_bytes(r, &d, bytes(1));
	latency_read(r->sock, 8, (struct mono){ 1 });
	assert_int_equal(r->about_queues, getpid());
	assert_int_equal(r->bytes, 5);
	assert_int_equal(latencies(r, &l), 1);
	assert_int_equal(l.written, 1);
}

/* The host reads all of it, as it would each millisecond. */
TEST_WITH(longest_datagram__fits_and_is_read, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram one = datagram(1), d = datagram(AGENT_SOCKET_SAMPLES_MAX);
	struct report sum = { 0 };
	struct guest_latency l = { 0 };
	struct latency_page host;

	latency_page_open(&host, &l);
	for (uint64_t i = 0; i < 3; i++) {
		const union datagram *next = i ? &d : &one;

		send_bytes(r, next, bytes(next->h.samples));
		latency_read(r->sock, 8, (struct mono){ 1 });
		assert_int_equal(latencies(r, &l), 1);
		assert_int_equal(latency_page_read(&host, SCAN_LATENCIES_MAX, &sum, NULL), 0);
		assert_int_equal(sum.n, i * AGENT_SOCKET_SAMPLES_MAX);
	}
}

/* Made to wait after so many: no sender may keep the agent from its other work. */
TEST_WITH(flood__is_taken_in_bounded_portions, rig_open, rig_close)
{
	struct rig *r = *state;
	union datagram d = datagram(1);
	struct guest_latency l;

	for (int i = 0; i < 8 + 1; i++)
		send_bytes(r, &d, bytes(1));
	assert_int_equal(latency_read(r->sock, 8, (struct mono){ 1 }), 8);
	assert_int_equal(latencies(r, &l), 1);
	assert_int_equal(l.written, 8);
	assert_int_equal(latency_read(r->sock, 8, (struct mono){ 1 }), 1);
	assert_int_equal(latencies(r, &l), 1);
	assert_int_equal(l.written, 8 + 1);
}

TEST_WITH(second_agent__is_refused_while_the_first_listens, rig_open, rig_close)
{
	struct rig *r = *state;
	struct latency_socket *second = NULL;

	assert_int_equal(latency_open(&second, r->path, r->book, join, r, &r->log), -EADDRINUSE);
	assert_null(second);
}

TEST_WITH(socket_left_by_a_dead_agent__is_taken_over, rig_open, rig_close)
{
	struct rig *r = *state;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct latency_socket *s;
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	strcpy(at.sun_path, tmp_at(&r->dir, "dead"));
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
	assert_int_equal(latency_open(&s, at.sun_path, r->book, join, r, &r->log), 0);
	assert_int_equal(stat(at.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	latency_close(s);
	assert_false(tmp_exists(&r->dir, "dead"));
}
