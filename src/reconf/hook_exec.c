// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hook_exec: see hook_exec.h. The program is begun by posix_spawn(): the daemon has threads, and
 * memory that is locked and pinned, which a fork() would copy.
 *
 * Its process id is signalled only until the process is reaped, which is done here alone: before,
 * nobody else can get the number.
 */
#define _GNU_SOURCE
#include "src/reconf/hook_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/utf8.h"

enum {
	TAIL_MAX = 120, /* bytes kept of what the program writes */
	SHOWN_MAX = 80, /* bytes of the path in a note */
	READ_MAX = 16384,
	READS_MAX = 4, /* in one poll() */
	CLOSE_TERM_MS = 50,
	CLOSE_KILL_MS = 1000,
};

static const int64_t look_ns = 20 * NS_PER_MS; /* between two looks at a program that runs */
static const int64_t more_ns = NS_PER_MS;      /* there is more to read */
static const int64_t term_ns = 2 * NS_PER_S;   /* from SIGTERM to SIGKILL */
static const int64_t kill_ns = NS_PER_S;       /* from SIGKILL until it is given up */

enum phase {
	PHASE_NONE, /* no process */
	PHASE_RUNS,
	PHASE_TERM, /* SIGTERM was sent */
	PHASE_KILL, /* SIGKILL was sent */
	PHASE_LOST, /* SIGKILL was no use: its process is still there */
};

struct hook {
	struct hook_conf conf;
	enum hook_state state;
	enum phase phase;
	pid_t pid;	  /* unless PHASE_NONE: of the process and of its group */
	int out;	  /* what it writes; -1: closed */
	struct mono next; /* when the next phase begins */
	size_t kept;
	char tail[TAIL_MAX];
	char note[HOOK_NOTE_MAX];
};

/* --- what is wrong ------------------------------------------------------------------------- */

/* The end of the path, if it is long. */
static const char *shown(const char *path)
{
	size_t n = strlen(path);

	return path + (n > SHOWN_MAX ? n - SHOWN_MAX : 0);
}

__attribute__((format(printf, 2, 3))) static void fail(struct hook *h, const char *fmt, ...)
{
	va_list ap;

	h->state = HOOK_FAILED;
	va_start(ap, fmt);
	vsnprintf(h->note, sizeof(h->note), fmt, ap);
	va_end(ap);
	utf8_mend(h->note); /* a character may be cut in two, and a program writes anything */
	utf8_tame(h->note);
}

/* What was kept, on one line; fail() makes it harmless. */
static void quote(const struct hook *h, char said[TAIL_MAX + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < h->kept; i++) {
		char c = h->tail[i];

		if (c == '\n' || c == '\t' || c == '\r')
			c = ' ';
		if (n || c != ' ')
			said[n++] = c ? c : '?';
	}
	while (n && said[n - 1] == ' ')
		n--;
	said[n] = '\0';
}

/* The sentence's end, after what happened. */
static void fail_by(struct hook *h, const char *what, int n)
{
	char said[TAIL_MAX + 1];

	quote(h, said);
	if (*said)
		fail(h, "%s ended by %s %d: \"%s\": correct what it says, or the program",
		     shown(h->conf.path), what, n, said);
	else
		fail(h, "%s ended by %s %d, and wrote nothing: run it by hand, and correct it",
		     shown(h->conf.path), what, n);
}

static void fail_late(struct hook *h, bool gone)
{
	char said[TAIL_MAX + 1];

	quote(h, said);
	fail(h, "%s did not end within %" PRId64 " ms%s%s%s%s: %s", shown(h->conf.path),
	     h->conf.deadline_ns / (int64_t)NS_PER_MS, gone ? ", and was killed" : "",
	     *said ? ": \"" : "", said, *said ? "\"" : "",
	     gone ? "make it faster, or raise its deadline"
		  : "not even SIGKILL ends it: see which device or file system hangs");
}

/* --- whether it may be run ----------------------------------------------------------------- */

/* False: another user than root and this one can change the file, or what the directory has. */
static bool is_ours(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return false;
	/* In a directory with the sticky bit each user changes only what is his. */
	return !(st->st_mode & (S_IWGRP | S_IWOTH)) ||
	       (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX));
}

/* All directories above path, and path itself. False: h->note says what is wrong. */
static bool check_owners(struct hook *h, const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	size_t n = 0;

	do {
		n += 1 + strcspn(path + n + 1, "/");
		memcpy(part, path, n);
		part[n] = '\0';
		if (stat(part, &st)) {
			fail(h, "cannot run %s: %s: correct its path", shown(h->conf.path),
			     strerror(errno));
			return false;
		}
		if (!is_ours(&st)) {
			fail(h,
			     "%s is refused: other users can change %s: chown root and chmod go-w "
			     "there",
			     shown(h->conf.path), shown(part));
			return false;
		}
	} while (path[n]);
	return true;
}

/* False: h->note says why the program is not run. */
static bool check_file(struct hook *h)
{
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(h->conf.path, real) || stat(real, &st)) {
		fail(h, "cannot run %s: %s: install it, or correct its path", shown(h->conf.path),
		     strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		fail(h, "%s is no file, but a %s: correct its path", shown(h->conf.path),
		     S_ISDIR(st.st_mode) ? "directory" : "device, pipe or socket");
		return false;
	}
	if (!(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH))) {
		fail(h, "%s is not executable: chmod +x it", shown(h->conf.path));
		return false;
	}
	return check_owners(h, h->conf.path) && check_owners(h, real);
}

static void fail_spawn(struct hook *h, int error)
{
	const char *remedy = "see the limits of resexd";

	if (error == ENOEXEC)
		remedy = "let it begin with #! and its interpreter";
	else if (error == ENOENT)
		remedy = "install the interpreter that its first line names";
	else if (error == EACCES || error == EPERM)
		remedy = "is its file system mounted noexec, or its interpreter not executable?";
	else if (error == ETXTBSY)
		remedy = "another program still writes it";
	fail(h, "cannot run %s: %s: %s", shown(h->conf.path), strerror(error), remedy);
}

/* --- its process --------------------------------------------------------------------------- */

static int set_files(posix_spawn_file_actions_t *f, int out)
{
	int rc = posix_spawn_file_actions_adddup2(f, out, 1);

	if (!rc)
		rc = posix_spawn_file_actions_adddup2(f, 1, 2);
	if (!rc)
		rc = posix_spawn_file_actions_addopen(f, 0, "/dev/null", O_RDONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(f, 3);
	return rc ? rc : posix_spawn_file_actions_addchdir_np(f, "/");
}

static void set_attributes(posix_spawnattr_t *a)
{
	const struct sched_param none = { 0 };
	sigset_t all, no;

	sigfillset(&all);
	sigemptyset(&no);
	posix_spawnattr_setpgroup(a, 0);
	posix_spawnattr_setsigdefault(a, &all);
	posix_spawnattr_setsigmask(a, &no);
	posix_spawnattr_setschedpolicy(a, SCHED_OTHER);
	posix_spawnattr_setschedparam(a, &none);
	posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
					    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSCHEDULER);
}

/* argv[] of posix_spawn() is not const, but not changed either. */
static char *arg(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* Its process, which writes to out. 0 or an errno. */
static int spawn(struct hook *h, const struct hook_want *w, int out)
{
	char *argv[] = {
		h->conf.path, arg(w->action), arg(w->node), arg(w->from), arg(w->to), NULL
	};
	char *envp[] = { arg("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
			 NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int rc = posix_spawn_file_actions_init(&files);

	if (rc)
		return rc;
	rc = posix_spawnattr_init(&attributes);
	if (!rc) {
		rc = set_files(&files, out);
		set_attributes(&attributes);
		if (!rc)
			rc = posix_spawn(&h->pid, h->conf.path, &files, &attributes, argv, envp);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

static int exec_want(struct hook *h, const struct hook_want *w, struct mono now)
{
	int out[2], rc;

	if (h->phase != PHASE_NONE)
		return -EBUSY;
	h->kept = 0;
	h->note[0] = '\0';
	if (!check_file(h))
		return 0;
	if (pipe2(out, O_CLOEXEC)) {
		fail_spawn(h, errno);
		return 0;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	rc = spawn(h, w, out[1]);
	close(out[1]);
	if (rc) {
		close(out[0]);
		fail_spawn(h, rc);
		return 0;
	}
	/* What serves requests should not go first because this process does. */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PGRP, (id_t)h->pid, 0);
	h->out = out[0];
	h->phase = PHASE_RUNS;
	h->state = HOOK_RUNS;
	h->next = mono_add(now, h->conf.deadline_ns);
	return 0;
}

/* The newest TAIL_MAX bytes. */
static void keep(struct hook *h, const char *data, size_t len)
{
	size_t old = h->kept;

	if (len > TAIL_MAX) {
		data += len - TAIL_MAX;
		len = TAIL_MAX;
	}
	if (old > TAIL_MAX - len) {
		memmove(h->tail, h->tail + old - (TAIL_MAX - len), TAIL_MAX - len);
		old = TAIL_MAX - len;
	}
	memcpy(h->tail + old, data, len);
	h->kept = old + len;
}

static void close_out(struct hook *h)
{
	if (h->out >= 0)
		close(h->out);
	h->out = -1;
}

/* True: there may be more. */
static bool read_out(struct hook *h)
{
	char data[READ_MAX];

	for (int i = 0; h->out >= 0 && i < READS_MAX; i++) {
		ssize_t n = read(h->out, data, sizeof(data));

		if (n > 0)
			keep(h, data, (size_t)n);
		else if (n == 0)
			close_out(h);
		else if (errno != EINTR)
			return false;
	}
	return h->out >= 0;
}

/*
 * Has it ended? Its number stays its own until reap(). info->si_pid 0: it has, but how is not
 * known, and the number may be another's.
 */
static bool has_ended(const struct hook *h, siginfo_t *info)
{
	*info = (siginfo_t){ 0 };
	if (waitid(P_PID, (id_t)h->pid, info, WEXITED | WNOHANG | WNOWAIT))
		return errno == ECHILD;
	return info->si_pid == h->pid;
}

static void reap(struct hook *h)
{
	siginfo_t info;

	waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG);
	close_out(h);
	h->phase = PHASE_NONE;
}

/* What it wrote, and how it ended. */
static void end(struct hook *h, const siginfo_t *info)
{
	bool killed = h->phase != PHASE_RUNS;

	/* All that it wrote is in the pipe: no more than this reads. */
	read_out(h);
	/* Those of its group that SIGTERM did not end. */
	if (killed && info->si_pid)
		kill(-h->pid, SIGKILL);
	reap(h);
	if (killed)
		fail_late(h, true);
	else if (!info->si_pid)
		fail(h, "how %s ended is not known: SIGCHLD is ignored: begin resexd without that",
		     shown(h->conf.path));
	else if (info->si_code != CLD_EXITED)
		fail_by(h, "signal", info->si_status);
	else if (info->si_status)
		fail_by(h, "exit status", info->si_status);
	else
		h->state = HOOK_DONE;
}

/* The time of a phase is over. */
static void next_phase(struct hook *h, struct mono now)
{
	switch (h->phase) {
	case PHASE_RUNS:
		kill(-h->pid, SIGTERM);
		h->phase = PHASE_TERM;
		h->next = mono_add(now, term_ns);
		break;
	case PHASE_TERM:
		kill(-h->pid, SIGKILL);
		h->phase = PHASE_KILL;
		h->next = mono_add(now, kill_ns);
		break;
	case PHASE_KILL:
		fail_late(h, false);
		h->phase = PHASE_LOST;
		break;
	default:
		break;
	}
}

static int64_t exec_poll(struct hook *h, struct mono now)
{
	siginfo_t info;
	int64_t left;

	if (h->phase == PHASE_NONE)
		return INT64_MAX;
	if (has_ended(h, &info)) {
		end(h, &info);
		return INT64_MAX;
	}
	if (h->phase != PHASE_LOST && mono_sub(h->next, now) <= 0)
		next_phase(h, now);
	if (read_out(h))
		return more_ns;
	left = mono_sub(h->next, now);
	return h->phase != PHASE_LOST && left < look_ns ? left : look_ns;
}

/* --- the interface ------------------------------------------------------------------------- */

static int exec_open(struct hook **out, const struct hook_conf *c)
{
	struct hook *h;

	if (c->path[0] != '/' || !memchr(c->path, '\0', sizeof(c->path)) || c->deadline_ns <= 0)
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->conf = *c;
	h->out = -1;
	*out = h;
	return 0;
}

/* Until it has ended, but at most ms. */
static void await_end(const struct hook *h, int ms)
{
	struct pollfd p = { .fd = pidfd_open(h->pid, 0), .events = POLLIN };

	if (p.fd < 0)
		return;
	poll(&p, 1, ms);
	close(p.fd);
}

static void exec_close(struct hook *h)
{
	siginfo_t info;

	if (!h)
		return;
	if (h->phase != PHASE_NONE && !has_ended(h, &info)) {
		kill(-h->pid, SIGTERM);
		await_end(h, CLOSE_TERM_MS);
		kill(-h->pid, SIGKILL);
		await_end(h, CLOSE_KILL_MS);
	}
	if (h->phase != PHASE_NONE)
		reap(h);
	free(h);
}

static void exec_see(const struct hook *h, struct hook_seen *s)
{
	s->state = h->state;
	memcpy(s->note, h->note, sizeof(s->note));
}

const struct hook_ops hook_exec = {
	.open = exec_open,
	.close = exec_close,
	.want = exec_want,
	.poll = exec_poll,
	.see = exec_see,
};
