// SPDX-License-Identifier: GPL-2.0-or-later
/* load: files of any length and kind; those that are none. */
#include <errno.h>
#include <fcntl.h>

#include "src/util/load.h"
#include "tests/unit/tmpdir.h"

enum { MAX = 300000 };

struct loaded {
	char *data;
	size_t len;
};

static int load(const char *file, int flags, size_t max, struct loaded *l)
{
	int fd = open(file, flags | O_NONBLOCK | O_CLOEXEC), rc;

	assert_true(fd >= 0);
	*l = (struct loaded){ 0 };
	rc = file_load(fd, max, &l->data, &l->len);
	close(fd);
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

static void file__of_any_length__is_loaded_whole(void **state)
{
	static const size_t lens[] = { 0,      1,      65535,  65536,	65537, 131071,
				       131072, 131073, 262144, MAX - 1, MAX };
	uint8_t *bytes = malloc(MAX);
	struct tmpdir dir;
	struct prop p;

	(void)state;
	assert_non_null(bytes);
	prop_start(&p);
	tmp_open(&dir);
	for (size_t i = 0; i < MAX; i++)
		bytes[i] = (uint8_t)prop_u64(&p);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct loaded l;

		put(tmp_at(&dir, "f"), bytes, lens[i]);
		assert_int_equal(load(tmp_at(&dir, "f"), O_RDONLY, MAX, &l), 0);
		assert_int_equal(l.len, lens[i]);
		assert_non_null(l.data);
		assert_memory_equal(l.data, bytes, l.len);
		free(l.data);
	}
	free(bytes);
	tmp_close(&dir);
}

static void file__longer_than_allowed__is_refused(void **state)
{
	static const size_t most[] = { 0, 1, 65535, 65536, 65537, MAX };
	struct tmpdir dir;
	struct loaded l;

	(void)state;
	tmp_open(&dir);
	tmp_write(&dir, "f", "");
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		assert_int_equal(truncate(tmp_at(&dir, "f"), (off_t)most[i] + 1), 0);
		assert_int_equal(load(tmp_at(&dir, "f"), O_RDONLY, most[i], &l), -EFBIG);
		assert_int_equal(load(tmp_at(&dir, "f"), O_RDONLY, most[i] + 1, &l), 0);
		assert_int_equal(l.len, most[i] + 1);
		free(l.data);
	}
	assert_int_equal(truncate(tmp_at(&dir, "f"), (off_t)1 << 40), 0); /* holes alone */
	assert_int_equal(load(tmp_at(&dir, "f"), O_RDONLY, MAX, &l), -EFBIG);
	tmp_close(&dir);
}

static void what_is_no_file__is_refused_at_once(void **state)
{
	struct tmpdir dir;
	struct loaded l;

	(void)state;
	tmp_open(&dir);
	assert_int_equal(mkfifo(tmp_at(&dir, "fifo"), 0600), 0);
	assert_int_equal(load(tmp_at(&dir, "fifo"), O_RDONLY, MAX, &l), -EINVAL);
	assert_int_equal(load(dir.path, O_RDONLY, MAX, &l), -EINVAL);
	assert_int_equal(load("/dev/zero", O_RDONLY, MAX, &l), -EINVAL);
	assert_int_equal(file_load(-1, MAX, &l.data, &l.len), -EBADF);
	tmp_write(&dir, "f", "text");
	assert_int_equal(load(tmp_at(&dir, "f"), O_WRONLY, MAX, &l), -EBADF); /* cannot be read */
	tmp_close(&dir);
}

/* Of /proc: its size is 0, and it holds something. */
static void file__that_says_it_is_empty__is_read(void **state)
{
	struct loaded l;

	(void)state;
	assert_int_equal(load("/proc/self/status", O_RDONLY, MAX, &l), 0);
	assert_true(l.len > 5);
	assert_memory_equal(l.data, "Name:", 5);
	free(l.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file__of_any_length__is_loaded_whole),
		cmocka_unit_test(file__longer_than_allowed__is_refused),
		cmocka_unit_test(what_is_no_file__is_refused_at_once),
		cmocka_unit_test(file__that_says_it_is_empty__is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
