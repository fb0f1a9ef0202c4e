// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockfiles: directories and locks of one resexd, acquired before anything else. See
 * lockfiles.h.
 *
 * flock(): the kernel releases the locks when the process ends, however it ends, so that a
 * file left by a crash never keeps the next resexd from starting.
 */
#include "src/daemon/lockfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resex/exit.h"

/* One for a Xen host: its path is not configurable. */
#define HOST_LOCK RESEX_RUNDIR "/xen.lock"

/* The exit code for errno value err at a directory that cannot be used. */
static int report_dir(const struct log *log, const char *path, int err)
{
	log_msg(log, LOG_LVL_ERROR, "directory %s cannot be used: %s: %s", path, strerror(err),
		err == EACCES	? "run as root, or name others in the configuration"
		: err == ENOENT ? "make it, or correct the configuration"
				: "correct the configuration");
	if (err == EACCES)
		return RESEX_PERMISSION;
	return err == ENOENT || err == ENOTDIR ? RESEX_BAD_CONFIG : RESEX_FAILURE;
}

static int make_standard_dir(const struct log *log, const char *path)
{
	char part[CONFIG_PATH_MAX + 1];
	int err = 0;

	/* As mkdir -p: errors on the way are not final, since a directory may exist already. */
	snprintf(part, sizeof(part), "%s", path);
	for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(part, 0755) && errno == EACCES) /* the last one fails, too */
			err = EACCES;
		*p = '/';
	}
	if (!mkdir(path, 0755) || errno == EEXIST)
		return RESEX_OK;
	return report_dir(log, path, err ? err : errno);
}

static bool is_standard(const char *path)
{
	static const char *const dirs[] = { RESEX_RUNDIR, RESEX_STATEDIR };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (!strcmp(path, dirs[i]))
			return true;
	return false;
}

/*
 * Only the standard directories are made. Another one that is not there is a typing error, or
 * a file system that is not mounted: caps saved there would not be found at the next start.
 */
static int have_dir(const struct log *log, const char *path, bool make)
{
	struct stat st;

	if (is_standard(path)) {
		int rc = make ? make_standard_dir(log, path) : RESEX_OK;

		if (rc || !make)
			return rc;
	}
	if (stat(path, &st))
		return report_dir(log, path, errno);
	return S_ISDIR(st.st_mode) ? RESEX_OK : report_dir(log, path, ENOTDIR);
}

/* The same of the directory of a file. */
static int have_parent(const struct log *log, const char *file, bool make)
{
	char dir[CONFIG_PATH_MAX + 1];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return RESEX_OK;
	*slash = 0;
	return have_dir(log, dir, make);
}

static int have_dirs(const struct log *log, const struct daemon_conf *conf, bool make)
{
	int rc = have_parent(log, conf->lock_file, make);

	if (!rc)
		rc = have_parent(log, conf->socket, make);
	return rc ? rc : have_dir(log, conf->state_dir, make);
}

int lockfiles_check(const struct log *log, const struct daemon_conf *conf)
{
	return have_dirs(log, conf, false);
}

/* Lock a file and write our process id into it, for the message of a second resexd. */
static int lock_file(const struct log *log, const char *file, int *fd)
{
	char pid[32] = "";
	ssize_t n;

	/*
	 * A link at this place, of a user that may write to the directory, must not make root
	 * write elsewhere.
	 */
	*fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (*fd < 0) {
		log_msg(log, LOG_LVL_ERROR, "lock file %s: %s", file, strerror(errno));
		return errno == EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	if (flock(*fd, LOCK_EX | LOCK_NB)) {
		/* Written by the holder, perhaps not yet: then the message names no process. */
		n = pread(*fd, pid, sizeof(pid) - 1, 0);
		if (n > 0)
			pid[strcspn(pid, "\n")] = 0;
		log_msg(log, LOG_LVL_ERROR, "another resexd runs (%s%s holds %s): stop it first",
			*pid ? "process " : "", *pid ? pid : "it", file);
		return RESEX_RUNNING;
	}
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(*fd, 0) || pwrite(*fd, pid, strlen(pid), 0) < 0)
		log_msg(log, LOG_LVL_WARNING, "lock file %s: %s", file, strerror(errno));
	return RESEX_OK;
}

/*
 * Two resexds with different lock files would still share caps.json, and each would take the
 * other's caps for the guests' own.
 */
static int lock_dir(const struct log *log, const char *dir, int *fd)
{
	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0) {
		log_msg(log, LOG_LVL_ERROR, "state_dir %s: %s: run resexd as root", dir,
			strerror(errno));
		return errno == EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	if (!flock(*fd, LOCK_EX | LOCK_NB))
		return RESEX_OK;
	log_msg(log, LOG_LVL_ERROR,
		"another resexd keeps its caps in %s: stop it first, or name another state_dir",
		dir);
	return RESEX_RUNNING;
}

int lockfiles_acquire(const struct log *log, const struct daemon_conf *conf,
		      const struct hv_backend *hv, struct lockfiles *l)
{
	int rc;

	*l = (struct lockfiles){ { -1, -1, -1 } };
	rc = have_dirs(log, conf, true);
	if (!rc)
		rc = lock_file(log, conf->lock_file, &l->fd[0]);
	if (!rc)
		rc = lock_dir(log, conf->state_dir, &l->fd[1]);
	/* A simulated host is each process's own: many may run on a machine. */
	if (rc || hv->simulated)
		return rc;
	rc = have_parent(log, HOST_LOCK, true);
	return rc ? rc : lock_file(log, HOST_LOCK, &l->fd[2]);
}

void lockfiles_release(struct lockfiles *l)
{
	for (size_t i = 0; i < sizeof(l->fd) / sizeof(l->fd[0]); i++)
		if (l->fd[i] >= 0)
			close(l->fd[i]);
}
