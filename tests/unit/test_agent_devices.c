// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/devices: a device that cannot be identified is logged once, with the reason. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibmon/agent/devices.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

struct rig {
	struct tmpdir dir;
	struct log log;
	struct devices devices;
	char said[8192];
	int pipe[2];
};

static int setup(void **state)
{
	static struct rig r;

	memset(&r, 0, sizeof(r));
	tmp_open(&r.dir);
	assert_int_equal(pipe(r.pipe), 0);
	assert_int_equal(fcntl(r.pipe[0], F_SETFL, O_NONBLOCK), 0);
	log_init(&r.log, "test", LOG_LVL_WARNING);
	r.log.fd = r.pipe[1];
	devices_init(&r.devices, r.dir.path, &r.log);
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	devices_close(&r->devices);
	close(r->pipe[0]);
	close(r->pipe[1]);
	tmp_close(&r->dir);
	return 0;
}

/* What was logged since the last call. */
static const char *said(struct rig *r)
{
	ssize_t n = read(r->pipe[0], r->said, sizeof(r->said) - 1);

	r->said[n > 0 ? n : 0] = '\0';
	return r->said;
}

/* Make the folder of uverbsN, and in it the attributes that are not NULL. */
static void put_device(struct rig *r, uint32_t n, const char *dev, const char *ibdev)
{
	char name[32];

	snprintf(name, sizeof(name), "uverbs%u", n);
	assert_int_equal(mkdir(tmp_at(&r->dir, name), 0755), 0);
	snprintf(name, sizeof(name), "uverbs%u/dev", n);
	if (dev)
		tmp_write(&r->dir, name, dev);
	snprintf(name, sizeof(name), "uverbs%u/ibdev", n);
	if (ibdev)
		tmp_write(&r->dir, name, ibdev);
}

RIG_TEST(device__unknown__is_logged_with_the_reason)
{
	static const struct {
		const char *dev, *ibdev, *says;
	} bad[] = {
		{ NULL, "rxe0\n", "dev: No such file or directory" },
		{ "", "rxe0\n", "dev: No data available" },
		{ "231\n", "rxe0\n", "dev is not MAJOR:MINOR" },
		{ "x:1\n", "rxe0\n", "dev is not MAJOR:MINOR" },
		{ "231:192\n", NULL, "ibdev: No such file or directory" },
		{ "231:192\n", "no-such-device\n", "rdma netlink" },
	};
	struct rig *r = *state;

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char name[64];

		put_device(r, i, bad[i].dev, bad[i].ibdev);
		assert_null(devices_find(&r->devices, i));
		said(r);
		snprintf(name, sizeof(name), "uverbs%u cannot be identified", i);
		if (!strstr(r->said, name) || !strstr(r->said, bad[i].says))
			fail_msg("row %u: logged \"%s\"", i, r->said);
	}
}

RIG_TEST(device__unknown__is_logged_once_until_nodes_change)
{
	struct rig *r = *state;

	assert_null(devices_find(&r->devices, 7));
	assert_non_null(strstr(said(r), "uverbs7/dev: No such file"));
	put_device(r, 3, NULL, NULL);
	assert_int_equal(devices_look(&r->devices), 0);
	assert_non_null(strstr(said(r), "uverbs3 cannot be identified"));
	assert_null(devices_find(&r->devices, 7));
	assert_int_equal(devices_look(&r->devices), 0);
	assert_string_equal(said(r), "");
	devices_forget(&r->devices);
	assert_null(devices_find(&r->devices, 7));
	assert_non_null(strstr(said(r), "uverbs7 cannot be identified"));
}

RIG_TEST(devices__more_than_fit__are_logged_once)
{
	struct rig *r = *state;

	for (uint32_t i = 0; i < DEVICES_MAX; i++)
		assert_null(devices_find(&r->devices, i));
	said(r);
	assert_null(devices_find(&r->devices, DEVICES_MAX));
	assert_non_null(strstr(said(r), "more than 32 RDMA devices: rings on uverbs32"));
	assert_null(devices_find(&r->devices, DEVICES_MAX));
	assert_string_equal(said(r), "");
}
