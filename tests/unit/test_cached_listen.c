// SPDX-License-Identifier: GPL-2.0-or-later
/* listen: a UNIX socket's file, and who is at the other end. Some need root, to be another user. */
#include "src/cached/listen.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/unit/tmpdir.h"

enum { NOBODY = 65534, GROUP = 54321 };

struct rig {
	struct tmpdir dir;
	char path[160];
	struct conf_error e;
	gid_t gid;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	strcpy(r->path, tmp_at(&r->dir, "sock"));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	tmp_close(&r->dir);
	free(r);
	return 0;
}

static int open_with(struct rig *r, const char *group, int type)
{
	const struct listen_conf c = { .setting = "ring",
				       .path = r->path,
				       .group_setting = "ring_group",
				       .group = group,
				       .type = type };

	return listen_unix(&c, &r->gid, &r->e);
}

static int open_it(struct rig *r)
{
	int fd = open_with(r, "", SOCK_SEQPACKET);

	if (fd < 0)
		fail_msg("%s", r->e.text);
	return fd;
}

static int dial(const struct rig *r, int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, r->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

RIG_TEST(listen__new__is_of_its_user_alone)
{
	struct rig *r = *state;
	struct stat st;
	int fd = open_it(r), client;

	assert_int_equal(lstat(r->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(r->gid == LISTEN_NO_GROUP);
	client = dial(r, SOCK_SEQPACKET);
	close(client);
	close(fd);
}

RIG_TEST(listen__file_of_a_process_that_ended__is_replaced)
{
	struct rig *r = *state;
	int fd = open_it(r);

	close(fd);
	fd = open_it(r);
	close(fd);
}

RIG_TEST(listen__another_process_listens__is_refused)
{
	struct rig *r = *state;
	int fd = open_it(r);

	assert_int_equal(open_with(r, "", SOCK_SEQPACKET), -EADDRINUSE);
	assert_int_equal(r->e.exit, RESEX_RUNNING);
	assert_non_null(strstr(r->e.text, "ring "));
	assert_non_null(strstr(r->e.text, "another process listens there"));
	assert_int_equal(open_with(r, "", SOCK_STREAM), -EADDRINUSE);
	assert_true(tmp_exists(&r->dir, "sock"));
	close(fd);
}

RIG_TEST(listen__a_file_is_there__is_refused_and_kept)
{
	struct rig *r = *state;

	tmp_write(&r->dir, "sock", "x");
	assert_int_equal(open_with(r, "", SOCK_STREAM), -EINVAL);
	assert_non_null(strstr(r->e.text, "there is a file of that name: remove it"));
	assert_true(tmp_exists(&r->dir, "sock"));
}

RIG_TEST(listen__no_such_group__is_refused)
{
	struct rig *r = *state;

	assert_int_equal(open_with(r, "no-such-group", SOCK_STREAM), -EINVAL);
	assert_non_null(strstr(r->e.text, "ring_group \"no-such-group\" is not a group"));
	assert_false(tmp_exists(&r->dir, "sock"));
}

RIG_TEST(listen__no_such_folder__says_so)
{
	struct rig *r = *state;

	strcpy(r->path, "/no/such/folder/sock");
	assert_int_equal(open_with(r, "", SOCK_STREAM), -ENOENT);
	assert_non_null(strstr(r->e.text, "/no/such/folder/sock"));
	memset(r->path, 'x', 120);
	r->path[120] = 0;
	assert_int_equal(open_with(r, "", SOCK_STREAM), -ENAMETOOLONG);
	assert_non_null(strstr(r->e.text, "over 107 bytes"));
}

RIG_TEST(listen__group__may_connect)
{
	struct rig *r = *state;
	/* root may give it to a group that the file has not by itself */
	const struct group *g = getgrgid(getuid() ? getegid() : 1);
	struct stat st;
	int fd;

	if (!g)
		skip();
	fd = open_with(r, g->gr_name, SOCK_STREAM);
	assert_true(fd >= 0);
	assert_true(r->gid == g->gr_gid);
	assert_int_equal(lstat(r->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_true(st.st_gid == g->gr_gid);
	close(fd);
}

RIG_TEST(peer__this_process__is_its_own_user)
{
	struct rig *r = *state;
	int fd = open_it(r), client = dial(r, SOCK_SEQPACKET), peer = accept(fd, NULL, NULL);
	struct listen_peer p;

	assert_int_equal(listen_peer(peer, LISTEN_NO_GROUP, &p), 0);
	assert_true(p.own);
	assert_int_equal(p.root, getuid() == 0);
	assert_int_equal(p.uid, getuid());
	assert_int_equal(p.pid, getpid());
	assert_false(p.member);
	assert_int_equal(listen_peer(peer, getegid(), &p), 0);
	assert_true(p.member);
	close(client);
	close(peer);
	close(fd);
	assert_int_equal(listen_peer(-1, 0, &p), -EBADF);
}

/* Connects as another user, and asks who that is. */
static struct listen_peer peer_as(struct rig *r, gid_t gid, size_t n, const gid_t *more)
{
	int fd = open_it(r), peer, status;
	struct listen_peer p;
	pid_t child;

	assert_int_equal(chmod(r->dir.path, 0755), 0);
	assert_int_equal(chmod(r->path, 0666), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct sockaddr_un a = { .sun_family = AF_UNIX };
		int c = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		strcpy(a.sun_path, r->path);
		if (setgroups(n, more) || setgid(gid) || setuid(NOBODY) ||
		    connect(c, (struct sockaddr *)&a, sizeof(a)))
			_exit(1);
		_exit(0);
	}
	assert_true(waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
	peer = accept(fd, NULL, NULL);
	assert_true(peer >= 0);
	assert_int_equal(listen_peer(peer, GROUP, &p), 0);
	close(peer);
	close(fd);
	return p;
}

RIG_TEST(peer__another_user__is_neither_root_nor_member)
{
	struct listen_peer p;

	if (getuid())
		skip();
	p = peer_as(*state, NOBODY, 0, NULL);
	assert_int_equal(p.uid, NOBODY);
	assert_false(p.root || p.own || p.member);
}

RIG_TEST(peer__its_first_group__is_that_of_the_socket)
{
	struct listen_peer p;

	if (getuid())
		skip();
	p = peer_as(*state, GROUP, 0, NULL);
	assert_true(p.member);
	assert_false(p.root || p.own);
}

RIG_TEST(peer__one_of_many_further_groups__is_that_of_the_socket)
{
	struct listen_peer p;
	gid_t many[300];

	if (getuid())
		skip();
	for (uint32_t i = 0; i < 300; i++)
		many[i] = 60000 + i;
	p = peer_as(*state, NOBODY, 300, many);
	assert_false(p.member);
	many[299] = GROUP;
	p = peer_as(*state, NOBODY, 300, many);
	assert_true(p.member);
}
