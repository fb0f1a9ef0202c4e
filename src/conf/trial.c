// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trial: see trial.h. main.c's options have no configuration; configured.c then reads this one
 * as any other: it can be edited, and SIGHUP reads it again.
 */
#include "src/conf/trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In /tmp another user may have made it first, to read or change what is written there. */
static int make_own_dir(const char *dir, struct conf_error *e)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST) {
		int rc = -errno;

		conf_error_set(e, conf_exit(rc), "directory %s cannot be made: %s: give --config",
			       dir, strerror(-rc));
		return rc;
	}
	if (!lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & 022))
		return 0;
	conf_error_set(e, RESEX_PERMISSION,
		       "directory %s is not yours, or others may write to it: remove it, or give "
		       "--config",
		       dir);
	return -EPERM;
}

static json_t *make_config(const char *dir)
{
	/* Locked memory needs a right that users have not. */
	return json_pack("{s:[{s:s,s:s,s:i}],s:s,s:s+,s:s,s:s+,s:b}", "links", "name", "ib0",
			 "rate", "1GiB/s", "mtu", 1024, "policy", "ioshares", "socket", dir,
			 "/resexd.sock", "state_dir", dir, "lock_file", dir, "/resexd.lock",
			 "lock_memory", 0);
}

static int write_config(const char *dir, const char *file)
{
	json_t *conf = make_config(dir);
	FILE *f = conf ? fopen(file, "wxe") : NULL;
	int rc = f ? 0 : conf ? -errno : -ENOMEM;

	if (f && json_dumpf(conf, f, JSON_INDENT(1)))
		rc = -EIO;
	if (f && fclose(f) && !rc)
		rc = -errno;
	if (f && rc) /* else the next start would read a part of it */
		unlink(file);
	json_decref(conf);
	return rc == -EEXIST ? 0 : rc;
}

int trial_config(char file[static TRIAL_PATH_MAX], struct conf_error *e)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char dir[TRIAL_PATH_MAX - 16];
	int n, rc;

	if (run && run[0] == '/')
		n = snprintf(dir, sizeof(dir), "%s/resex", run);
	else
		n = snprintf(dir, sizeof(dir), "/tmp/resex-%u", (unsigned)geteuid());
	if (n >= (int)sizeof(dir)) {
		conf_error_set(e, RESEX_FAILURE, "XDG_RUNTIME_DIR is too long: give --config");
		return -ENAMETOOLONG;
	}
	rc = make_own_dir(dir, e);
	if (rc)
		return rc;
	snprintf(file, TRIAL_PATH_MAX, "%s/resexd.json", dir);
	rc = write_config(dir, file);
	if (rc)
		conf_error_set(e, conf_exit(rc), "%s cannot be written: %s: give --config", file,
			       strerror(-rc));
	return rc;
}
