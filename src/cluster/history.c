// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * history: moves of nodes in memory and in a file; see history.h. The file is read as any input: a
 * line that is cut, foreign or too long is skipped.
 */
#include "src/cluster/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct history {
	char file[CONFIG_PATH_MAX + 32], older[CONFIG_PATH_MAX + 32];
	int fd;	    /* -1: it could not be opened */
	off_t size; /* of the file */
	bool cut;   /* the last line has no end: the disk was full, or the writer was killed */
	uint32_t bad;
	uint64_t id; /* the newest */
	uint32_t n;  /* added in all */
	struct cluster_move move[HISTORY_MOVES];
	char note[320];
};

/* --- the file ----------------------------------------------------------------------------- */

/* what: written, or replaced. */
static void failed(struct history *h, const char *file, const char *what, int error)
{
	snprintf(h->note, sizeof(h->note),
		 "%.160s is not %s: %s: make room, or move away what is there; until then moves "
		 "are in memory alone",
		 file, what, strerror(error));
}

static void unread(struct history *h, const char *file, int error)
{
	snprintf(h->note, sizeof(h->note),
		 "%.160s is not read: %s: move it away, if it is not resexd's", file,
		 strerror(error));
}

/*
 * Where the line belongs; NULL: nowhere. Ids may begin again when a file could not be read. A move
 * that is too old to be in memory may have a later line: that line does not add the move again.
 */
static struct cluster_move *place_of(struct history *h, const struct cluster_move *m)
{
	for (uint32_t i = 0; i < HISTORY_MOVES && i < h->n; i++)
		if (h->move[i].id == m->id && h->move[i].wall_ns == m->wall_ns)
			return &h->move[i];
	if (m->seen_wall_ns && h->n >= HISTORY_MOVES)
		return NULL;
	return &h->move[h->n++ % HISTORY_MOVES];
}

static void take_line(struct history *h, const char *line, size_t len)
{
	struct cluster_move m, *place;

	if (history_parse(line, len, &m)) {
		h->bad++;
		return;
	}
	place = place_of(h, &m);
	if (place)
		*place = m;
	if (m.id > h->id)
		h->id = m.id;
}

/* Opening a FIFO or a device must not wait for its other end. 0 or -errno. */
static int open_regular(const char *name, int flags, struct stat *st)
{
	int fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640), rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (!S_ISREG(st->st_mode))
		rc = S_ISDIR(st->st_mode) ? -EISDIR : -ENODEV;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

/* NULL: there is none, or it cannot be one of ours. */
static FILE *open_old(struct history *h, const char *name)
{
	struct stat st = { 0 };
	int fd = open_regular(name, O_RDONLY, &st);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd < 0 && fd != -ENOENT)
		unread(h, name, -fd);
	if (f && st.st_size > 2 * HISTORY_FILE_MAX) {
		unread(h, name, EFBIG);
		fclose(f);
		return NULL;
	}
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

static void read_file(struct history *h, const char *name)
{
	FILE *f = open_old(h, name);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (f && (n = getline(&line, &room, f)) > 0) {
		if (line[n - 1] == '\n')
			take_line(h, line, (size_t)n - 1);
		else
			h->bad++;
	}
	free(line);
	if (f)
		fclose(f);
}

static bool open_file(struct history *h)
{
	struct stat st = { 0 };
	char last;
	int fd = open_regular(h->file, O_RDWR | O_APPEND | O_CREAT, &st);

	h->fd = fd < 0 ? -1 : fd;
	if (fd < 0) {
		failed(h, h->file, "written", -fd);
		return false;
	}
	h->size = st.st_size;
	h->cut = pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
	return true;
}

static void close_file(struct history *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

/* Somebody has removed it, or put another one in its place. */
static bool is_replaced(const struct history *h)
{
	struct stat ours, there;

	return fstat(h->fd, &ours) || lstat(h->file, &there) || ours.st_ino != there.st_ino ||
	       ours.st_dev != there.st_dev;
}

/* What cannot be rotated does not grow further. */
static bool rotate(struct history *h)
{
	if (rename(h->file, h->older)) {
		failed(h, h->older, "replaced", errno);
		return false;
	}
	close_file(h);
	return open_file(h);
}

static bool has_file(struct history *h)
{
	if (h->fd >= 0 && is_replaced(h))
		close_file(h);
	if (h->fd < 0 && !open_file(h))
		return false;
	return h->size < HISTORY_FILE_MAX || rotate(h);
}

/* The line ends before it, too, if the one before was cut. */
static void write_line(struct history *h, const char *text)
{
	char line[HISTORY_LINE_MAX + 3];
	int n = snprintf(line, sizeof(line), "%s%s\n", h->cut ? "\n" : "", text);
	ssize_t done = write(h->fd, line, (size_t)n);

	if (done == n)
		h->note[0] = 0;
	else
		failed(h, h->file, "written", done < 0 ? errno : ENOSPC);
	h->cut = done < n && (done > 0 || h->cut);
	h->size += done > 0 ? done : 0;
}

void history_changed(struct history *h, const struct cluster_move *m)
{
	char *text = history_line(m);

	/* Names are short: the longest line has room. */
	if (!text || strlen(text) > HISTORY_LINE_MAX)
		failed(h, h->file, "written", text ? EMSGSIZE : ENOMEM);
	else if (has_file(h))
		write_line(h, text);
	free(text);
}

/* --- in memory ---------------------------------------------------------------------------- */

int history_open(struct history **out, const char *state_dir)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	*out = h;
	snprintf(h->file, sizeof(h->file), "%s/history.jsonl", state_dir);
	snprintf(h->older, sizeof(h->older), "%s/history.jsonl.1", state_dir);
	read_file(h, h->older);
	read_file(h, h->file);
	open_file(h);
	if (h->bad && !h->note[0])
		snprintf(h->note, sizeof(h->note),
			 "%.160s: %u line%s no move, and %s left out: remove the file if it is not "
			 "resexd's",
			 h->file, h->bad, h->bad == 1 ? " is" : "s are",
			 h->bad == 1 ? "is" : "are");
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	close_file(h);
	free(h);
}

struct cluster_move *history_add(struct history *h, const struct cluster_move *m)
{
	struct cluster_move *at = &h->move[h->n++ % HISTORY_MOVES];

	*at = *m;
	at->id = ++h->id;
	history_changed(h, at);
	return at;
}

const struct cluster_move *history_get(const struct history *h, uint32_t n)
{
	return n < h->n && n < HISTORY_MOVES ? &h->move[(h->n - 1 - n) % HISTORY_MOVES] : NULL;
}

const char *history_note(const struct history *h)
{
	return h->note;
}
