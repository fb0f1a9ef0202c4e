// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_part: parts whose memory the owner gives by descriptor (transport_conf.fd).
 * Host 2 is the owner, since it is always on this machine.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resex/life_abi.h"
#include "tests/transport/suite.h"

enum { LOAD = 8192, LAST = LOAD - 8 };

static int memory_file(size_t bytes)
{
	int fd = memfd_create("resex-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

/* Another process maps the file, and writes a word. */
static void other_process_writes(int fd, uint32_t offset, uint64_t value)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		char *at = mmap(NULL, LOAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (at == MAP_FAILED)
			_exit(1);
		*(volatile uint64_t *)(at + offset) = value;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct host *owner(struct rig *r, enum transport_part part, int fd, struct host **reader)
{
	struct transport_conf one = rig_conf(r, 1), two = rig_conf(r, 2);
	struct host *h;

	two.bytes[part] = LOAD;
	two.fd[part] = fd;
	h = rig_open(r, &two);
	*reader = rig_open(r, &one);
	host_meet(h, *reader);
	UNTIL(r, both_up(h, *reader));
	return h;
}

static uint64_t read_word(struct host *reader, enum transport_part part, uint32_t offset)
{
	const struct transport_event *ev = &host_do(reader, op_read(2, part, offset, 8))->ev;
	uint64_t word;

	assert_int_equal(ev->outcome, TRANSPORT_DONE);
	memcpy(&word, ev->data, sizeof(word));
	return word;
}

static void given__any_process_writes_to_it__peers_and_the_owner_see_it(void **state)
{
	struct suite *s = *state;

	enum transport_part part = TRANSPORT_LOAD;
	int fd = memory_file(LOAD);
	struct host *a, *b;
	uint64_t word;

	other_process_writes(fd, 0, 5); /* contents that it has at open */
	b = owner(&s->rig, part, fd, &a);
	assert_int_equal(read_word(a, part, 0), 5);
	other_process_writes(fd, LAST, 6);
	assert_int_equal(read_word(a, part, LAST), 6);
	assert_int_equal(((uint64_t *)transport_part(b->t, part))[LAST / 8], 6);
	((volatile uint64_t *)transport_part(b->t, part))[1] = 7;
	assert_int_equal(read_word(a, part, 8), 7);
	assert_int_equal(pread(fd, &word, 8, 8), 8);
	assert_int_equal(word, 7);
	assert_int_equal(host_refuses(a, op_read(2, part, LOAD, 8)), -ERANGE);
	/* The descriptor is ours: the transport has a mapping, which outlives it. */
	other_process_writes(fd, 16, 8);
	close(fd);
	assert_int_equal(read_word(a, part, 16), 8);
}

/* A device has no size, and is opened again by shm. Each mapping of this one is of zeros. */
static void given__a_device__is_served(void **state)
{
	struct suite *s = *state;
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	struct host *a;

	assert_true(fd >= 0);
	owner(&s->rig, TRANSPORT_LOAD, fd, &a);
	close(fd);
	assert_int_equal(read_word(a, TRANSPORT_LOAD, LAST), 0);
}

/* --- what cannot be served ------------------------------------------------------------ */

static int closed(void)
{
	int fd = memory_file(LOAD);

	close(fd);
	return fd;
}

static int too_small(void)
{
	return memory_file(LOAD - 4096);
}

static int read_only(void)
{
	char path[64];
	int fd = memory_file(LOAD), again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	return again;
}

static int sealed_against_writes(void)
{
	int fd = memory_file(LOAD);

	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	return fd;
}

static int of_any_size(void)
{
	int fd = memfd_create("resex-test", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, LOAD), 0);
	return fd;
}

static int on_disk(void)
{
	char path[] = "/tmp/resex-part-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	assert_int_equal(ftruncate(fd, LOAD), 0);
	return fd;
}

static int folder(void)
{
	return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int a_pipe(void)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	return fd[1];
}

static int without_memory(void)
{
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static const struct {
	const char *name;
	int (*make)(void);
	const char *says;
} bad[] = {
	{ "closed", closed, "not open" },
	{ "too small", too_small, "4096 bytes" },
	{ "read-only", read_only, "reading and writing" },
	{ "sealed", sealed_against_writes, "sealed against writes" },
	{ "cannot be sealed", of_any_size, "MFD_ALLOW_SEALING" },
	{ "on disk", on_disk, "MFD_ALLOW_SEALING" },
	{ "a folder", folder, "neither a memory file" },
	{ "a pipe", a_pipe, "neither a memory file" },
	{ "a device without memory", without_memory, "cannot be mapped" },
};

static void given__memory_that_cannot_be_served__is_ebadf_with_a_sentence(void **state)
{
	struct suite *s = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct transport_conf c = rig_conf(&s->rig, 2);
		struct transport *t = NULL;
		char text[256] = "";
		int fd = bad[i].make();

		assert_true(fd > 0);
		c.bytes[TRANSPORT_LOAD] = LOAD;
		c.fd[TRANSPORT_LOAD] = fd;
		print_message("%s\n", bad[i].name);
		assert_int_equal(s->rig.backend->open(&t, &c, rig_now(&s->rig), text), -EBADF);
		assert_null(t);
		assert_non_null(strstr(text, bad[i].says));
		close(fd);
	}
}

static void given__for_a_part_that_may_not__is_einval(void **state)
{
	struct suite *s = *state;
	struct transport_conf good = rig_conf(&s->rig, 2), c[5];
	int fd = memory_file(LOAD);

	for (size_t i = 0; i < 5; i++)
		c[i] = good;
	c[0].fd[TRANSPORT_TABLE] = fd;
	c[1].fd[TRANSPORT_WORDS] = fd;
	c[2].fd[TRANSPORT_LOAD] = fd; /* no bytes */
	c[3].bytes[TRANSPORT_LOAD] = LOAD;
	c[3].fd[TRANSPORT_LOAD] = -1; /* of an open() that failed */
	c[4].bytes[TRANSPORT_VERSIONS] = LOAD;
	c[4].fd[TRANSPORT_VERSIONS] = fd;
	for (size_t i = 0; i < 5; i++) {
		struct transport *t = NULL;
		char text[256] = "";

		assert_int_equal(s->rig.backend->open(&t, &c[i], rig_now(&s->rig), text), -EINVAL);
		assert_true(strlen(text) > 10);
	}
	close(fd);
}

/* --- shared with another process ------------------------------------------------------- */

static void share__of_a_peer__only_shm_has_it_and_only_to_read(void **state)
{
	struct suite *s = *state;
	bool shm = !strcmp(s->rig.backend->name, "shm");
	int fd = -1, again = -1;
	struct host *a, *b;
	uint64_t word = 9;
	uint32_t life = 9;

	b = owner(&s->rig, TRANSPORT_VERSIONS, 0, &a);
	if (!shm || s->far_port) {
		assert_int_equal(transport_share(b->t, 2, &fd), -EOPNOTSUPP);
		return;
	}
	assert_int_equal(transport_share(a->t, 2, &fd), 0);
	assert_int_equal(transport_share(a->t, 2, &again), 0);
	assert_int_not_equal(fd, again);
	close(again);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	((volatile uint64_t *)transport_part(b->t, TRANSPORT_VERSIONS))[3] = 77;
	assert_int_equal(pread(fd, &word, 8, 24), 8);
	assert_int_equal(word, 77);
	assert_int_equal(lseek(fd, 0, SEEK_END), LOAD + LIFE_BYTES);
	assert_int_equal(pread(fd, &life, 4, LOAD), 4);
	assert_true(life_lives(life));
	assert_ptr_equal(mmap(NULL, LOAD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(transport_share(a->t, 1, &again), -ENOTCONN);
	assert_int_equal(transport_share(a->t, 0, &again), -ENOTCONN);
	assert_int_equal(transport_share(a->t, TRANSPORT_HOSTS_MAX + 1, &again), -ENOTCONN);
	host_close(b);
	UNTIL(&s->rig, !transport_link(a->t, 2));
	assert_int_equal(transport_share(a->t, 2, &again), -ENOTCONN);
	/* The memory outlives its owner. */
	assert_int_equal(pread(fd, &word, 8, 24), 8);
	assert_int_equal(word, 77);
	assert_int_equal(pread(fd, &life, 4, LOAD), 4);
	assert_false(life_lives(life));
	close(fd);
}

static void share__peer_without_the_part__is_erange(void **state)
{
	struct suite *s = *state;
	int given = memory_file(LOAD), fd = -1;
	struct host *a;

	owner(&s->rig, TRANSPORT_LOAD, given, &a);
	close(given);
	if (!s->far_port && !strcmp(s->rig.backend->name, "shm"))
		assert_int_equal(transport_share(a->t, 2, &fd), -ERANGE);
	assert_int_equal(fd, -1);
}

const struct entry part_tests[] = {
	ENTRY(share__of_a_peer__only_shm_has_it_and_only_to_read, ALL),
	ENTRY(share__peer_without_the_part__is_erange, ALL),
	ENTRY(given__any_process_writes_to_it__peers_and_the_owner_see_it, ALL),
	ENTRY(given__a_device__is_served, ALL),
	ENTRY(given__memory_that_cannot_be_served__is_ebadf_with_a_sentence, ALL),
	ENTRY(given__for_a_part_that_may_not__is_einval, ALL),
	{ NULL, NULL, ALL },
};
