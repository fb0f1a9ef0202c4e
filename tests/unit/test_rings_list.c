// SPDX-License-Identifier: GPL-2.0-or-later
/* rings/queue_list: what the library lists, as a reader of the table finds it. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "ibmon/agent/proc.h"
#include "ibmon/rings/queue_list.h"
#include "resex/guest_abi.h"
#include "tests/unit/prop.h"

/* Objects and owners are addresses only. */
static char object[2000], owner[2];

static struct queue_list *list;

static int setup(void **state)
{
	if (geteuid() != 0)
		skip(); /* /proc/PID/map_files is root's */
	list = calloc(1, sizeof(*list));
	assert_non_null(list);
	pthread_mutex_init(&list->lock, NULL);
	*state = list;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (list->table)
		munmap(list->table, sizeof(*list->table));
	free(list);
	return 0;
}

static struct queue_entry entry(uint32_t number)
{
	return (struct queue_entry){ .kind = GUEST_RING_SQ, .number = number, .address = 64 };
}

static bool put(uint32_t i)
{
	const struct queue_entry e = entry(i + 1);

	return queue_list_put(list, &object[i], &owner[i % 2], &e);
}

static bool take(uint32_t i)
{
	struct queue_entry was;

	return queue_list_take(list, &object[i], &was);
}

/* The numbers listed, as a sum, and how many. Outside a call, generation is even. */
static uint32_t listed(uint32_t *sum)
{
	uint32_t n = 0;

	*sum = 0;
	assert_int_equal(list->table->generation % 2, 0);
	for (int i = 0; i < QUEUE_TABLE_ENTRIES; i++) {
		n += list->table->entry[i].kind != 0;
		*sum += list->table->entry[i].number;
	}
	return n;
}

RIG_TEST(list__nothing_listed__there_is_no_table)
{
	uint64_t address, nonce;
	struct queue_entry was;
	bool first;

	(void)state;
	assert_false(queue_list_where(list, &address, &nonce, &first));
	assert_false(queue_list_take(list, &object[0], &was));
	assert_false(queue_list_take_all(list, &owner[0]));
	assert_false(queue_list_has(list, &object[0]));
	assert_null(list->table);
}

RIG_TEST(list__listed__is_found_by_the_agent)
{
	uint64_t address, nonce, found;
	struct queue_table copy;
	bool first;
	int fd;

	(void)state;
	assert_true(put(0));
	assert_true(queue_list_where(list, &address, &nonce, &first));
	assert_true(first);
	assert_int_equal(proc_table(getpid(), &found), 0);
	assert_int_equal(found, address);
	fd = proc_table_open(getpid(), address);
	assert_true(fd >= 0);
	assert_int_equal(proc_table_read(fd, &copy, sizeof(copy)), 0);
	close(fd);
	assert_true(proc_table_mapped(getpid(), address));
	assert_false(proc_table_mapped(getpid(), address + GUEST_PAGE));
	assert_int_equal(proc_table_open(getpid(), address + GUEST_PAGE), -ENOENT);
	assert_int_equal(copy.magic, QUEUE_TABLE_MAGIC);
	assert_int_equal(copy.version, QUEUE_TABLE_VERSION);
	assert_int_equal(copy.nonce, nonce);
	assert_int_equal(copy.entry[0].number, 1);
	assert_true(queue_list_where(list, &address, &nonce, &first));
	assert_false(first);
}

/* A process may map any file: the agent must not open it. */
RIG_TEST(list__another_file_of_its_size__is_not_opened)
{
	char name[] = "/tmp/memfd:resex-rings.XXXXXX";
	int fd = mkstemp(name);
	void *at;

	(void)state;
	unlink(name);
	assert_int_equal(ftruncate(fd, sizeof(struct queue_table)), 0);
	at = mmap(NULL, sizeof(struct queue_table), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	assert_true(proc_table_mapped(getpid(), (uintptr_t)at));
	assert_int_equal(proc_table_open(getpid(), (uintptr_t)at), -EPERM);
	munmap(at, sizeof(struct queue_table));
}

RIG_TEST(list__each_change__turns_the_generation_twice)
{
	struct queue_entry was;
	uint32_t g;

	(void)state;
	put(0);
	g = list->table->generation;
	put(1);
	assert_int_equal(list->table->generation, g + 2);
	assert_true(queue_list_take(list, &object[1], &was));
	assert_int_equal(was.number, 2);
	assert_int_equal(list->table->generation, g + 4);
	assert_false(take(1));
	assert_int_equal(list->table->generation, g + 4);
}

/* The agent tells by the serial that it is another queue. */
RIG_TEST(list__same_queue_again__has_another_serial)
{
	uint64_t serial;
	uint32_t sum;

	(void)state;
	put(0);
	serial = list->table->entry[0].serial;
	put(0);
	assert_int_equal(listed(&sum), 1);
	assert_true(list->table->entry[0].serial > serial);
	take(0);
	put(7);
	assert_true(list->table->entry[0].serial > serial + 1);
}

RIG_TEST(list__owner_gone__its_objects_go)
{
	uint32_t sum;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		put(i);
	assert_true(queue_list_take_all(list, &owner[1]));
	assert_int_equal(listed(&sum), 5);
	assert_int_equal(sum, 1 + 3 + 5 + 7 + 9);
	assert_false(queue_list_take_all(list, &owner[1]));
	assert_true(queue_list_has(list, &object[0]));
	assert_false(queue_list_has(list, &object[1]));
}

RIG_TEST(list__no_room__is_counted_once_until_it_goes)
{
	const struct queue_entry cq = { .kind = GUEST_RING_CQ, .number = 1 };
	uint32_t sum;

	(void)state;
	for (uint32_t i = 0; i < QUEUE_TABLE_ENTRIES; i++)
		assert_true(put(i));
	assert_int_equal(list->table->unlisted, 0);
	assert_true(put(300));
	assert_false(put(300));
	assert_true(put(301));
	assert_int_equal(list->table->unlisted, 2);
	assert_false(queue_list_put(list, &object[302], &owner[0], &cq)); /* nothing is charged */
	assert_int_equal(list->table->unlisted, 2);
	assert_false(take(300));
	assert_int_equal(list->table->unlisted, 1);
	take(0);
	assert_true(put(301)); /* made ready again */
	assert_int_equal(list->table->unlisted, 0);
	assert_int_equal(listed(&sum), QUEUE_TABLE_ENTRIES);
	for (uint32_t i = 400; i < 400 + QUEUE_LIST_UNLISTED_MAX + 5; i++)
		put(i);
	assert_int_equal(list->table->unlisted, QUEUE_LIST_UNLISTED_MAX);
}

/* What the child sees: whether it begins anew, as the exit status. */
static int in_child(struct queue_table *parents, uint64_t nonce)
{
	unsigned char there;
	bool gone = mincore(parents, sizeof(*parents), &there) && errno == ENOMEM;
	uint32_t sum;

	if (!gone || queue_list_has(list, &object[0]) || take(0))
		return 1;
	if (!put(5) || list->table->nonce == nonce || listed(&sum) != 1 || sum != 6)
		return 2;
	return 0;
}

static void child_begins_anew(bool handlers)
{
	struct queue_table *parents;
	uint64_t nonce;
	uint32_t sum;
	int status;
	pid_t pid;

	put(0);
	parents = list->table;
	nonce = parents->nonce;
	if (handlers)
		queue_list_fork(list);
	pid = handlers ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		if (handlers)
			queue_list_child(list);
		_exit(in_child(parents, nonce));
	}
	if (handlers)
		queue_list_parent(list);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(listed(&sum), 1);
	assert_int_equal(sum, 1);
}

RIG_TEST(list__forked_child__begins_anew)
{
	(void)state;
	child_begins_anew(true);
}

RIG_TEST(list__child_of_clone__begins_anew)
{
	(void)state;
	child_begins_anew(false);
}

/* Its parent may have been within a call of another thread. */
RIG_TEST(list__forked_while_locked__the_child_is_not)
{
	int status;
	pid_t pid;

	(void)state;
	put(0);
	queue_list_fork(list);
	pid = fork();
	if (pid == 0) {
		alarm(60);
		queue_list_child(list);
		_exit(!put(1));
	}
	queue_list_parent(list);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(put(2));
}
