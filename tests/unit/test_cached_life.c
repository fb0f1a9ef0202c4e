// SPDX-License-Identifier: GPL-2.0-or-later
/* life: the word says that a process lives until it ends, in whatever way. */
#include "src/cached/life.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resex/cache_ring.h"
#include "tests/unit/unit.h"

static uint64_t *shared_word(void)
{
	uint64_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			      0);

	assert_true(word != MAP_FAILED);
	return word;
}

static bool lives(const uint64_t *word)
{
	return cache_ring_lives(__atomic_load_n(word, __ATOMIC_SEQ_CST));
}

TEST(life__begin_and_end__are_seen)
{
	uint64_t *word = shared_word();
	struct life l = { 0 };

	life_end(&l); /* it has not begun */
	assert_false(lives(word));
	assert_int_equal(life_begin(&l, word), 0);
	assert_true(lives(word));
	assert_int_equal(*word >> 32, 0);
	life_end(&l);
	assert_int_equal(*word, 0);
	life_end(&l);
	munmap(word, 4096);
}

TEST(life__end__gives_the_thread_its_list_back)
{
	uint64_t *word = shared_word();
	void *before = NULL, *within = NULL, *after = NULL;
	size_t bytes[3] = { 0 };
	struct life l;

	syscall(SYS_get_robust_list, 0, &before, &bytes[0]);
	assert_int_equal(life_begin(&l, word), 0);
	syscall(SYS_get_robust_list, 0, &within, &bytes[1]);
	life_end(&l);
	syscall(SYS_get_robust_list, 0, &after, &bytes[2]);
	assert_ptr_not_equal(before, within);
	assert_ptr_equal(before, after);
	assert_int_equal(bytes[0], bytes[2]);
	munmap(word, 4096);
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
	uint64_t *word = shared_word();
	int s[2];
	pid_t child;
	char c;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct life l;

		if (life_begin(&l, word) || send(s[1], "b", 1, 0) != 1 || recv(s[1], &c, 1, 0) != 1)
			_exit(9);
		row->ends();
		_exit(8);
	}
	close(s[1]);
	assert_int_equal(recv(s[0], &c, 1, 0), 1);
	assert_true(lives(word));
	assert_int_equal(send(s[0], "e", 1, 0), 1);
	while (recv(s[0], &c, 1, 0) > 0)
		;
	assert_false(lives(word));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(*word != 0);
	munmap(word, 4096);
	close(s[0]);
}

TEST_ROWS(rows, run_row)

/* A stopped one lives: its memory is what a READ would give. Its evidence ends. */
TEST(life__process_is_stopped__lives)
{
	uint64_t *word = shared_word();
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct life l;

		if (life_begin(&l, word))
			_exit(9);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	assert_true(lives(word));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(lives(word));
	munmap(word, 4096);
}
