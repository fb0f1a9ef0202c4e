// SPDX-License-Identifier: GPL-2.0-or-later
/* guests: what it says in the log when something goes on failing. */
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

/* How many lines the log gets in a while. */
static uint32_t lines_logged(struct guests_rig *g)
{
	char path[256], buf[65536];
	uint32_t lines = 0;
	ssize_t n;
	int old = g->log.fd;

	snprintf(path, sizeof(path), "%s", tmp_at(&g->dir, "log"));
	g->log.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(g->log.fd >= 0);
	for (int i = 0; i < 5; i++) {
		rig_second(g);
		rig_settle(g);
	}
	n = pread(g->log.fd, buf, sizeof(buf), 0);
	for (ssize_t i = 0; i < n; i++)
		lines += buf[i] == '\n';
	close(g->log.fd);
	g->log.fd = old;
	unlink(path);
	return lines;
}

WITH_RIG(own_caps_cannot_be_written__is_logged_once_for_each_cause)
{
	struct guests_rig *g = *state;

	assert_int_equal(mkdir(tmp_at(&g->dir, "caps.json.new"), 0700), 0);
	assert_int_equal(lines_logged(g), 0);
	rig_create(g, 4, 4);
	assert_in_range(lines_logged(g), 1, 3); /* the guest comes, its reason, the file's */
	assert_int_equal(lines_logged(g), 0);
	assert_int_equal(rmdir(tmp_at(&g->dir, "caps.json.new")), 0);
	assert_int_equal(symlink("x", tmp_at(&g->dir, "caps.json.new")), 0);
	assert_int_equal(lines_logged(g), 2);
	assert_int_equal(lines_logged(g), 0);
}

WITH_RIG(what_fails_again_and_again__is_logged_once)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->get_rc = -EIO;
	rig_settle(g);
	assert_int_equal(lines_logged(g), 0); /* said when it was new */
	fake_dom(&g->host, 4)->get_rc = -EPERM;
	assert_int_equal(lines_logged(g), 1);
	g->host.list_rc = -EIO;
	assert_int_equal(lines_logged(g), 1);
	g->host.list_rc = 0;
	fake_dom(&g->host, 4)->get_rc = 0;
	rig_settle(g);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		fake_dom_add(&g->host, i + 5, (uint8_t)i);
	rig_second(g);
	assert_int_equal(lines_logged(g), 0);
}
