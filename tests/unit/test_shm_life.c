// SPDX-License-Identifier: GPL-2.0-or-later
/* life: the word says that a process lives until it ends, in whatever way. */
#include "config.h"

#include "src/transport/shm/life.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum { AT = 8192, FILE_BYTES = AT + LIFE_BYTES };

/* A file of three pages, and how a peer sees the last one. */
struct file {
	int fd;
	const uint32_t *word;
};

static struct file file_new(void)
{
	struct file f = { .fd = memfd_create("resex-test", MFD_CLOEXEC) };
	void *at;

	assert_true(f.fd >= 0);
	assert_int_equal(ftruncate(f.fd, FILE_BYTES), 0);
	at = mmap(NULL, LIFE_BYTES, PROT_READ, MAP_SHARED, f.fd, AT);
	assert_true(at != MAP_FAILED);
	f.word = at;
	return f;
}

static void file_end(struct file *f)
{
	munmap((void *)(uintptr_t)f->word, LIFE_BYTES);
	close(f->fd);
}

static int begin(struct shm_life *l, const struct file *f)
{
	return shm_life_begin(l, f->fd, AT);
}

static bool lives(const struct file *f)
{
	return life_lives(__atomic_load_n(f->word, __ATOMIC_SEQ_CST));
}

static void *list_of_thread(void)
{
	void *list = NULL;
	size_t bytes;

	assert_int_equal(syscall(SYS_get_robust_list, 0, &list, &bytes), 0);
	return list;
}

TEST(life__begin_and_end__are_seen)
{
	struct file f = file_new();
	struct shm_life l = { 0 };

	shm_life_end(&l); /* it has not begun */
	assert_false(lives(&f));
	assert_int_equal(begin(&l, &f), 0);
	assert_true(lives(&f));
	shm_life_end(&l);
	assert_int_equal(*f.word, 0);
	shm_life_end(&l);
	file_end(&f);
}

/* Only the word is in the file: no address of this process. */
TEST(life__the_rest_of_its_page__is_zero)
{
	struct file f = file_new();
	struct shm_life l;

	assert_int_equal(begin(&l, &f), 0);
	for (uint32_t i = 1; i < LIFE_BYTES / sizeof(*f.word); i++)
		assert_int_equal(f.word[i], 0);
	shm_life_end(&l);
	file_end(&f);
}

TEST(life__end__gives_the_thread_its_list_back)
{
	void *before = list_of_thread();
	struct file f = file_new();
	struct shm_life l;

	assert_int_equal(begin(&l, &f), 0);
	assert_ptr_not_equal(list_of_thread(), before);
	shm_life_end(&l);
	assert_ptr_equal(list_of_thread(), before);
	file_end(&f);
}

/* In each order of their ends. */
TEST(lives__of_one_thread__end_one_by_one)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 }, { 1, 2, 0 } };
	void *before = list_of_thread();

	for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
		struct file f[3];
		struct shm_life l[3];

		for (int i = 0; i < 3; i++) {
			f[i] = file_new();
			assert_int_equal(begin(&l[i], &f[i]), 0);
		}
		for (int k = 0; k < 3; k++) {
			shm_life_end(&l[orders[o][k]]);
			for (int i = 0; i < 3; i++) {
				bool ended = false;

				for (int m = 0; m <= k; m++)
					ended |= orders[o][m] == i;
				assert_int_equal(lives(&f[i]), !ended);
			}
		}
		assert_ptr_equal(list_of_thread(), before);
		for (int i = 0; i < 3; i++)
			file_end(&f[i]);
	}
}

TEST(life__no_file__is_refused)
{
	void *before = list_of_thread();
	struct shm_life l;

	assert_int_equal(shm_life_begin(&l, -1, 0), -EBADF);
	assert_null(l.pages);
	shm_life_end(&l);
	assert_ptr_equal(list_of_thread(), before);
}

/* A child of fork that closes what it inherited does not end the life of its parent. */
TEST(life__end_in_a_child__the_parent_lives)
{
	struct file f = file_new();
	struct shm_life l;
	int status;
	pid_t child;

	assert_int_equal(begin(&l, &f), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		shm_life_end(&l);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(lives(&f));
	shm_life_end(&l);
	file_end(&f);
}

/* --- how a process may end --- */

static void *waits(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void is_killed(void)
{
	raise(SIGKILL);
}

/* As resex-cached, which has threads for SQL. */
static void is_killed_with_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, waits, NULL);
	raise(SIGKILL);
}

static void crashes(void)
{
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void exits(void)
{
	_exit(0);
}

static void becomes_another_program(void)
{
	execl("/bin/sleep", "sleep", "0", NULL);
}

static const struct row {
	const char *name;
	void (*ends)(void);
} rows[] = {
	{ "life__process_is_killed__is_dead", is_killed },
	{ "life__process_with_threads_is_killed__is_dead", is_killed_with_threads },
	{ "life__process_crashes__is_dead", crashes },
	{ "life__process_exits__is_dead", exits },
	{ "life__process_becomes_another_program__is_dead", becomes_another_program },
};

/* The end of the socket is seen behind that of the life: so is all that needs the process gone. */
static void run_row(void **state)
{
	const struct row *row = *state;
	struct file f = file_new(), other = file_new();
	int s[2];
	pid_t child;
	char c;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct shm_life l[2];

		if (begin(&l[0], &f) || begin(&l[1], &other) || send(s[1], "b", 1, 0) != 1 ||
		    recv(s[1], &c, 1, 0) != 1)
			_exit(9);
		row->ends();
		_exit(8);
	}
	close(s[1]);
	assert_int_equal(recv(s[0], &c, 1, 0), 1);
	assert_true(lives(&f) && lives(&other));
	assert_int_equal(send(s[0], "e", 1, 0), 1);
	while (recv(s[0], &c, 1, 0) > 0)
		;
	assert_false(lives(&f) || lives(&other));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(*f.word && *other.word);
	file_end(&f);
	file_end(&other);
	close(s[0]);
}

TEST_ROWS(rows, run_row)

/* A stopped one lives: its memory is what a READ would give. Its evidence ends. */
TEST(life__process_is_stopped__lives)
{
	struct file f = file_new();
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct shm_life l;

		if (begin(&l, &f))
			_exit(9);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	assert_true(lives(&f));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(lives(&f));
	file_end(&f);
}
