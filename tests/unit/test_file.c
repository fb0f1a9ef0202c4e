// SPDX-License-Identifier: GPL-2.0-or-later
/* file: files of any length and kind are loaded whole or refused; saved ones replace the old. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/file.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { MAX = 300000 };

struct loaded {
	char *data;
	size_t len;
};

static int load(const char *file, size_t max, struct loaded *l)
{
	int rc;

	*l = (struct loaded){ 0 };
	rc = file_load(file, max, &l->data, &l->len);
	if (rc)
		assert_null(l->data); /* nothing that the caller must free */
	return rc;
}

static void put(const char *file, const uint8_t *bytes, size_t n)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

TEST(file__of_any_length__is_loaded_whole)
{
	static const size_t lens[] = { 0,      1,      65535,  65536,	65537, 131071,
				       131072, 131073, 262144, MAX - 1, MAX };
	uint8_t *bytes = malloc(MAX);
	struct tmpdir dir;
	struct prop p;

	assert_non_null(bytes);
	prop_start(&p);
	tmp_open(&dir);
	for (size_t i = 0; i < MAX; i++)
		bytes[i] = (uint8_t)prop_u64(&p);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct loaded l;

		put(tmp_at(&dir, "f"), bytes, lens[i]);
		assert_int_equal(load(tmp_at(&dir, "f"), MAX, &l), 0);
		assert_int_equal(l.len, lens[i]);
		assert_non_null(l.data);
		assert_memory_equal(l.data, bytes, l.len);
		free(l.data);
	}
	free(bytes);
	tmp_close(&dir);
}

TEST(file__longer_than_allowed__is_refused)
{
	static const size_t most[] = { 0, 1, 65535, 65536, 65537, MAX };
	struct tmpdir dir;
	struct loaded l;

	tmp_open(&dir);
	tmp_write(&dir, "f", "");
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		assert_int_equal(truncate(tmp_at(&dir, "f"), (off_t)most[i] + 1), 0);
		assert_int_equal(load(tmp_at(&dir, "f"), most[i], &l), -EFBIG);
		assert_int_equal(load(tmp_at(&dir, "f"), most[i] + 1, &l), 0);
		assert_int_equal(l.len, most[i] + 1);
		free(l.data);
	}
	assert_int_equal(truncate(tmp_at(&dir, "f"), (off_t)1 << 40), 0); /* holes alone */
	assert_int_equal(load(tmp_at(&dir, "f"), MAX, &l), -EFBIG);
	tmp_close(&dir);
}

TEST(what_is_no_file__is_refused_at_once)
{
	struct tmpdir dir;
	struct loaded l;

	tmp_open(&dir);
	assert_int_equal(mkfifo(tmp_at(&dir, "fifo"), 0600), 0);
	assert_int_equal(load(tmp_at(&dir, "fifo"), MAX, &l), -EINVAL);
	assert_int_equal(load(dir.path, MAX, &l), -EINVAL);
	assert_int_equal(load("/dev/zero", MAX, &l), -EINVAL);
	assert_int_equal(load(tmp_at(&dir, "none"), MAX, &l), -ENOENT);
	assert_int_equal(load("/proc/self/mem", MAX, &l), -EIO); /* opens, and cannot be read */
	tmp_close(&dir);
}

/* A file of /proc: its size is 0, yet it has content. */
TEST(file__that_says_it_is_empty__is_read)
{
	struct loaded l;

	assert_int_equal(load("/proc/self/status", MAX, &l), 0);
	assert_true(l.len > 5);
	assert_memory_equal(l.data, "Name:", 5);
	free(l.data);
}

TEST(file__saved__replaces_the_old_one)
{
	struct tmpdir dir;
	struct stat st;
	char text[16];

	tmp_open(&dir);
	tmp_write(&dir, "f", "longer than new");
	assert_int_equal(file_save(tmp_at(&dir, "f"), "new", 3), 0);
	assert_string_equal(tmp_read(&dir, "f", text, sizeof(text)), "new");
	assert_int_equal(stat(tmp_at(&dir, "f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_false(tmp_exists(&dir, "f.new"));
	tmp_close(&dir);
}

TEST(file__that_cannot_be_replaced__is_unchanged)
{
	struct tmpdir dir;

	tmp_open(&dir);
	assert_int_equal(mkdir(tmp_at(&dir, "d"), 0700), 0);
	assert_int_equal(file_save(tmp_at(&dir, "d"), "new", 3), -EISDIR);
	assert_true(tmp_exists(&dir, "d"));
	assert_false(tmp_exists(&dir, "d.new"));
	assert_int_equal(file_save(tmp_at(&dir, "none/f"), "new", 3), -ENOENT);
	tmp_close(&dir);
}

TEST(file__removed_twice__is_removed)
{
	struct tmpdir dir;

	tmp_open(&dir);
	tmp_write(&dir, "f", "text");
	assert_int_equal(file_remove(tmp_at(&dir, "f")), 0);
	assert_false(tmp_exists(&dir, "f"));
	assert_int_equal(file_remove(tmp_at(&dir, "f")), 0);
	assert_int_equal(file_remove(tmp_at(&dir, "f/x")), -ENOENT);
	tmp_close(&dir);
}

/* In a process without fd: is the next file another one, and can fd not be used by mistake? */
static void without(int fd)
{
	pid_t pid = fork();
	char byte = 0;
	int status;

	if (!pid) {
		close(fd);
		file_keep_standard();
		_exit(open("/dev/null", O_RDWR) > STDERR_FILENO &&
				      (fd ? write(fd, &byte, 1) : read(fd, &byte, 1)) < 0 &&
				      errno == EBADF
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(file__started_without_standard_output__no_file_takes_its_place)
{
	without(STDIN_FILENO);
	without(STDOUT_FILENO);
	without(STDERR_FILENO);
}
