// SPDX-License-Identifier: GPL-2.0-or-later
/* log: what reaches the file descriptor, line by line. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/util/log.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

struct catcher {
	int fd[2];
	struct log log;
};

static int setup(void **state)
{
	static struct catcher c;

	if (pipe(c.fd))
		return -1;
	log_init(&c.log, "resexd", LOG_LVL_INFO);
	c.log.fd = c.fd[1];
	c.log.journal = NULL;
	*state = &c;
	return 0;
}

static int teardown(void **state)
{
	struct catcher *c = *state;

	close(c->fd[0]);
	if (c->fd[1] >= 0)
		close(c->fd[1]);
	return 0;
}

/* Closes the writing end and returns all that was written. */
static const char *caught(struct catcher *c)
{
	static char text[65536];
	size_t n = 0;
	ssize_t r;

	close(c->fd[1]);
	c->fd[1] = -1;
	while (n < sizeof(text) - 1 && (r = read(c->fd[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	text[n] = '\0';
	return text;
}

TEST(init__takes_stderr_and_the_level)
{
	struct log l;

	memset(&l, 0xff, sizeof(l));
	log_init(&l, "x", LOG_LVL_WARNING);
	assert_int_equal(l.fd, 2);
	assert_int_equal(l.level, LOG_LVL_WARNING);
	assert_string_equal(l.program, "x");
}

RIG_TEST(msg__is_one_line_with_the_program)
{
	struct catcher *c = *state;
	const char *text;

	log_msg(&c->log, LOG_LVL_INFO, "guest %d is %s", 7, "gone");
	text = caught(c);
	assert_non_null(strstr(text, "guest 7 is gone\n"));
	assert_non_null(strstr(text, "resexd"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_not_equal(text[0], '<');
}

RIG_TEST(msg__above_the_level__is_dropped)
{
	struct catcher *c = *state;

	log_msg(&c->log, LOG_LVL_DEBUG, "quiet");
	c->log.level = LOG_LVL_ERROR;
	log_msg(&c->log, LOG_LVL_INFO, "quiet");
	log_msg(&c->log, LOG_LVL_WARNING, "quiet");
	log_msg(&c->log, LOG_LVL_ERROR, "loud");
	c->log.level = LOG_LVL_DEBUG;
	log_msg(&c->log, LOG_LVL_DEBUG, "loud");
	{
		const char *text = caught(c);

		assert_null(strstr(text, "quiet"));
		assert_non_null(strstr(text, "loud"));
		assert_non_null(strstr(strchr(text, '\n'), "loud"));
	}
}

RIG_TEST(msg__to_the_journal__has_a_priority_and_no_program)
{
	struct catcher *c = *state;
	const char *text;

	c->log.journal = "/nonexistent";
	c->log.level = LOG_LVL_DEBUG;
	log_msg(&c->log, LOG_LVL_ERROR, "a");
	log_msg(&c->log, LOG_LVL_WARNING, "b");
	log_msg(&c->log, LOG_LVL_INFO, "c");
	log_msg(&c->log, LOG_LVL_DEBUG, "d");
	text = caught(c);
	assert_string_equal(text, "<3>a\n<4>b\n<6>c\n<7>d\n");
}

/* systemd.exec(5): stderr is the journal's if its device and inode are those of the variable. */
TEST(init__the_journal_is_where_the_variable_says_and_nowhere_else)
{
	char own[64];
	struct stat st;
	struct log l;

	assert_int_equal(fstat(2, &st), 0);
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", own, 1);
	log_init(&l, "x", LOG_LVL_INFO);
	assert_non_null(l.journal);
	setenv("JOURNAL_STREAM", "8:1", 1);
	log_init(&l, "x", LOG_LVL_INFO);
	assert_null(l.journal);
	unsetenv("JOURNAL_STREAM");
	log_init(&l, "x", LOG_LVL_INFO);
	assert_null(l.journal);
}

static const struct log_fields fields = { "cap", "bulk\nGUEST=dom0", "5a" };

RIG_TEST(event__without_the_journal__is_a_line)
{
	struct catcher *c = *state;

	log_event(&c->log, LOG_LVL_DEBUG, &fields, "dropped");
	log_event(&c->log, LOG_LVL_INFO, &fields, "capped at 5 %");
	log_event(&c->log, LOG_LVL_INFO, &(struct log_fields){ .event = "late" }, "1 us");
	c->log.journal = "/nonexistent";
	log_event(&c->log, LOG_LVL_INFO, &(struct log_fields){ .event = "late" }, "2 us");
	assert_string_equal(caught(c), "resexd: cap bulk\\x0aGUEST=dom0: capped at 5 %\n"
				       "resexd: late: 1 us\n<6>late: 2 us\n");
}

/* A guest's name cannot forge a field. */
RIG_TEST(event__to_the_journal__has_fields)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct catcher *c = *state;
	char path[108], text[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "/tmp/test-log-%d", getpid());
	memcpy(a.sun_path, path, sizeof(path));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	c->log.journal = path;
	log_event(&c->log, LOG_LVL_WARNING, &fields, "capped\x1b");
	n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = 0;
	assert_string_equal(text, "MESSAGE=cap bulk\\x0aGUEST=dom0: capped\\x1b\nPRIORITY=4\n"
				  "SYSLOG_IDENTIFIER=resexd\nEVENT=cap\n"
				  "GUEST=bulk\\x0aGUEST=dom0\nMESSAGE_ID=5a\n");
	assert_string_equal(caught(c), "");
	close(fd);
	unlink(path);
}

RIG_TEST(msg__too_long__is_cut_and_still_one_line)
{
	struct catcher *c = *state;
	static char big[20000];
	const char *text;

	memset(big, 'x', sizeof(big) - 1);
	log_msg(&c->log, LOG_LVL_INFO, "%s", big);
	log_msg(&c->log, LOG_LVL_INFO, "after");
	text = caught(c);
	assert_true(strlen(text) > 100);
	assert_non_null(strchr(text, '\n'));
	assert_non_null(strstr(strchr(text, '\n') + 1, "after\n"));
}

RIG_TEST(msg__holding_a_line_end__is_still_one_line)
{
	struct catcher *c = *state;
	const char *text;

	log_msg(&c->log, LOG_LVL_INFO, "name '%s' is odd", "a\n<0>forged\r\n");
	text = caught(c);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_non_null(strstr(text, "'a\\x0a<0>forged\\x0d\\x0a' is odd\n"));
}

RIG_TEST(msg__holding_control_characters__shows_them)
{
	struct catcher *c = *state;
	const char *text;

	log_msg(&c->log, LOG_LVL_INFO, "%s", "\x1b[31m \x7f \\ \xc3\xa9 \xc2\x9b \x9b");
	text = caught(c);
	assert_non_null(strstr(text, "\\x1b[31m \\x7f \\\\ \xc3\xa9 "));
	assert_null(memchr(text, 0x9b, strlen(text))); /* ESC [ in one byte, or as UTF-8 */
}

RIG_TEST(msg__that_cannot_be_written__keeps_errno)
{
	struct catcher *c = *state;

	c->log.fd = -1;
	errno = ENOENT;
	log_msg(&c->log, LOG_LVL_INFO, "to nowhere");
	assert_int_equal(errno, ENOENT);
}

static void *chatter(void *arg)
{
	const struct log *l = arg;

	for (int i = 0; i < 200; i++)
		log_msg(l, LOG_LVL_INFO, "abcdefghijklmnopqrstuvwxyz %04d", i);
	return NULL;
}

RIG_TEST(msg__from_two_threads__lines_stay_whole)
{
	struct catcher *c = *state;
	pthread_t t[2];
	const char *at;
	int lines = 0;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, chatter, &c->log), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (at = caught(c); *at; at = strchr(at, '\n') + 1) {
		const char *word = strstr(at, "abcdefghijklmnopqrstuvwxyz ");

		assert_non_null(strchr(at, '\n'));
		assert_non_null(word);
		assert_ptr_equal(word + 31, strchr(at, '\n'));
		lines++;
	}
	assert_int_equal(lines, 400);
}
