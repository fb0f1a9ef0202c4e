// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_file: the cluster's key, and this host's generation, on disk. See cluster.h.
 *
 * src/cluster/cluster.c reads both when it opens this host's part of the cluster. The key
 * proves to other hosts that this one belongs to the cluster; the generation tells them that
 * its memory is not the one that they knew before a restart.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/conf/cluster.h"
#include "src/util/file.h"

/*
 * Least number of different bytes in a key: one with fewer was not drawn at random. Of random
 * keys of 16 hex digits fewer than one in 10^6 has so few.
 */
enum { KEY_BYTES_MIN = 5 };

static int fail_file(struct conf_error *e, int rc, const char *file, const char *what)
{
	conf_error_set(e, conf_exit(rc), "%s: %s", file, what);
	return rc;
}

static int check_key_file(int fd, const char *file, struct conf_error *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail_file(e, -errno, file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail_file(e, -EINVAL, file, "the key must be a regular file");
	/*
	 * Any other owner could change the mode at any time, so a right mode would prove nothing.
	 */
	if (st.st_uid != geteuid())
		return fail_file(
			e, -EINVAL, file,
			"another user owns the key: run this as that user, or chown the key");
	if (st.st_mode & 077)
		return fail_file(e, -EINVAL, file, "other users may read the key: chmod 600 it");
	return 0;
}

/* The number of different bytes. */
static uint32_t count_different(const char *s, size_t n)
{
	bool seen[256] = { false };
	uint32_t many = 0;

	for (size_t i = 0; i < n; i++) {
		many += !seen[(uint8_t)s[i]];
		seen[(uint8_t)s[i]] = true;
	}
	return many;
}

static int read_key(struct cluster_key *k, int fd, const char *file, struct conf_error *e)
{
	/* Wiped below: a copy on the stack could end in a core dump. */
	char buf[TRANSPORT_KEY_MAX + 2]; /* room for a byte too many, and for a newline */
	ssize_t n = file_read(fd, buf, sizeof(buf));
	int rc = 0;

	if (n < 0)
		return fail_file(e, (int)n, file, strerror((int)-n));
	/*
	 * openssl, echo and editors end a file with a newline; the key must be the same either
	 * way.
	 */
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	/* Neither message has any of the key: more people can read the log than the key. */
	if (n < TRANSPORT_KEY_MIN || n > TRANSPORT_KEY_MAX) {
		rc = fail_file(e, -EINVAL, file,
			       "a key has 16 to 256 bytes: make one with \"openssl rand -hex 32\"");
	} else if (count_different(buf, (size_t)n) < KEY_BYTES_MIN) {
		rc = fail_file(e, -EINVAL, file,
			       "the key repeats a few bytes and is easy to guess: make one "
			       "with \"openssl rand -hex 32\"");
	} else {
		memcpy(k->bytes, buf, (size_t)n);
		k->len = (size_t)n;
	}
	explicit_bzero(buf, sizeof(buf));
	return rc;
}

int cluster_key_load(struct cluster_key *k, const char *file, struct conf_error *e)
{
	/* All checks are of the open file: the name may mean another file a moment later. */
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0) {
		rc = -errno;
		return fail_file(e, rc, file,
				 rc == -ENOENT
					 ? "the key is missing: make one with \"openssl rand -hex "
					   "32\", mode 600, the same on every host"
					 : strerror(-rc));
	}
	rc = check_key_file(fd, file, e);
	if (!rc)
		rc = read_key(k, fd, file, e);
	close(fd);
	return rc;
}

int cluster_conf_check(struct cluster_conf *c, const char *file, const char *hostname,
		       struct conf_error *e)
{
	struct cluster_key key;
	int rc = cluster_conf_load(c, file, hostname, e);

	if (rc)
		return rc;
	/* --check reads the key to report what is wrong with it, and has no use for it. */
	rc = cluster_key_load(&key, c->key_file, e);
	explicit_bzero(&key, sizeof(key));
	return rc;
}

/*
 * At most ten digits, then nothing but newlines. A number that was only partly read could be one
 * that an earlier start has used: other hosts would refuse this host.
 */
static bool parse_generation(const char *buf, size_t n, uint64_t *v)
{
	size_t i = 0;

	for (*v = 0; i < n && i < 10 && buf[i] >= '0' && buf[i] <= '9'; i++)
		*v = *v * 10 + (uint64_t)(buf[i] - '0');
	if (!i || *v > REGION_EPOCH_MAX)
		return false;
	while (i < n && buf[i] == '\n')
		i++;
	return i == n;
}

/* 0 if there is no file: this host never started in a cluster. */
static int read_generation(const char *file, uint64_t *generation, struct conf_error *e)
{
	char buf[32];
	uint64_t v = 0;
	ssize_t n;
	int fd;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		*generation = 0;
		return 0;
	}
	if (fd < 0)
		return fail_file(e, -errno, file, strerror(errno));
	n = file_read(fd, buf, sizeof(buf));
	close(fd);
	if (n < 0)
		return fail_file(e, (int)n, file, strerror((int)-n));
	if (!parse_generation(buf, (size_t)n, &v))
		return fail_file(
			e, -EINVAL, file,
			"the generation must be a number from 0 to 1073741822: write one that is "
			"at least the one that the other hosts show for this host");
	if (v == REGION_EPOCH_MAX)
		return fail_file(
			e, -EINVAL, file,
			"this host's generations are used up: stop resexd on all hosts of the "
			"cluster, remove this file, and start them again");
	*generation = v;
	return 0;
}

/* Fatal: with the number not on disk the next start would use the same one. */
static int fail_save(struct conf_error *e, int rc, const char *file)
{
	char what[160];

	snprintf(what, sizeof(what),
		 "this start could not be counted (%s): make room in the folder, and let "
		 "resexd write there",
		 strerror(-rc));
	return fail_file(e, rc, file, what);
}

int cluster_generation_next(const char *state_dir, uint64_t *generation, struct conf_error *e)
{
	char file[CONFIG_PATH_MAX + 16];
	uint64_t v = 0;
	int rc;

	snprintf(file, sizeof(file), "%s/generation", state_dir);
	rc = read_generation(file, &v, e);
	if (!rc)
		*generation = v + 1;
	return rc;
}

int cluster_generation_count(const char *state_dir, uint64_t generation, struct conf_error *e)
{
	char file[CONFIG_PATH_MAX + 16], text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", generation), rc;

	snprintf(file, sizeof(file), "%s/generation", state_dir);
	rc = file_save(file, text, (size_t)n);
	return rc ? fail_save(e, rc, file) : 0;
}
