// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/pagemap: frame numbers from entries, which are read 2 MiB of address space at a time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "ibmon/agent/pagemap.h"
#include "resex/guest_abi.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { PAGES = 1000 }; /* the second window is not whole */

#define PRESENT (1ull << 63)

struct rig {
	struct tmpdir dir;
	int fd;
	struct pagemap p;
};

/* Page i has the frame 5000 + i. */
static void set_entry(struct rig *r, uint64_t page, uint64_t entry)
{
	assert_int_equal(pwrite(r->fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry))),
			 sizeof(entry));
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	r->fd = open(tmp_at(&r->dir, "pagemap"), O_RDWR | O_CREAT, 0600);
	assert_true(r->fd >= 0);
	for (uint64_t i = 0; i < PAGES; i++)
		set_entry(r, i, PRESENT | 1ull << 55 | (5000 + i)); /* bit 55: soft-dirty */
	pagemap_init(&r->p, r->fd);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	close(r->fd);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

RIG_TEST(pages_of_two_windows__all_frames_are_read)
{
	struct rig *r = *state;
	uint64_t frame[4];

	assert_int_equal(pagemap_frames(&r->p, 510ull * GUEST_PAGE, 4, frame), 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(frame[i], 5510 + i);
}

RIG_TEST(window__is_read_once_until_it_is_begun_anew)
{
	struct rig *r = *state;
	uint64_t frame;

	assert_int_equal(pagemap_frames(&r->p, 500ull * GUEST_PAGE, 1, &frame), 0);
	set_entry(r, 7, PRESENT | 9);
	assert_int_equal(pagemap_frames(&r->p, 7ull * GUEST_PAGE, 1, &frame), 0);
	assert_int_equal(frame, 5007);
	pagemap_init(&r->p, r->fd);
	assert_int_equal(pagemap_frames(&r->p, 7ull * GUEST_PAGE, 1, &frame), 0);
	assert_int_equal(frame, 9);
}

RIG_TEST(page_that_is_absent_or_hidden_or_past_the_end__is_an_error)
{
	struct rig *r = *state;
	uint64_t frame[2];

	set_entry(r, 3, 5003);
	set_entry(r, 4, PRESENT);
	assert_int_equal(pagemap_frames(&r->p, 2ull * GUEST_PAGE, 2, frame), -EFAULT);
	assert_int_equal(pagemap_frames(&r->p, 4ull * GUEST_PAGE, 1, frame), -EPERM);
	assert_int_equal(pagemap_frames(&r->p, (PAGES - 1ull) * GUEST_PAGE, 1, frame), 0);
	assert_int_equal(pagemap_frames(&r->p, (PAGES - 1ull) * GUEST_PAGE, 2, frame), -EFAULT);
	assert_int_equal(pagemap_frames(&r->p, 1ull << 40, 1, frame), -EFAULT);
	assert_int_equal(pagemap_frames(&r->p, 0, 1, frame), 0);
}

RIG_TEST(file_that_cannot_be_read__is_its_error)
{
	struct rig *r = *state;
	uint64_t frame;

	pagemap_init(&r->p, -1);
	assert_int_equal(pagemap_frames(&r->p, 0, 1, &frame), -EBADF);
}
