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
	char note[256];
};

/* --- the file ----------------------------------------------------------------------------- */

static struct cluster_move *place_of(struct history *h, uint64_t id)
{
	for (uint32_t i = 0; i < HISTORY_MOVES && i < h->n; i++)
		if (h->move[i].id == id)
			return &h->move[i];
	return &h->move[h->n++ % HISTORY_MOVES];
}

static void take_line(struct history *h, const char *line, size_t len)
{
	struct cluster_move m;

	if (history_parse(line, len, &m)) {
		h->bad++;
		return;
	}
	*place_of(h, m.id) = m;
	if (m.id > h->id)
		h->id = m.id;
}

/* NULL: there is none, or it cannot be one of ours. */
static FILE *open_regular(struct history *h, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct stat st;

	if (f && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= 2 * HISTORY_FILE_MAX)
		return f;
	h->bad += fd >= 0;
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return NULL;
}

static void read_file(struct history *h, const char *name)
{
	FILE *f = open_regular(h, name);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	h->cut = false;
	while (f && (n = getline(&line, &room, f)) > 0) {
		h->cut = line[n - 1] != '\n';
		if (h->cut)
			h->bad++;
		else
			take_line(h, line, (size_t)n - 1);
	}
	free(line);
	if (f)
		fclose(f);
}

static void failed(struct history *h, int error)
{
	snprintf(h->note, sizeof(h->note), "%.160s is not written: %s", h->file, strerror(error));
}

static void open_file(struct history *h)
{
	struct stat st;

	h->fd = open(h->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (h->fd < 0 || fstat(h->fd, &st))
		failed(h, errno);
	else
		h->size = st.st_size;
}

static void rotate(struct history *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	if (rename(h->file, h->older))
		failed(h, errno);
	else
		open_file(h);
}

/* The line ends before it, too, if the one before was cut. */
static void write_line(struct history *h, const char *text)
{
	char line[HISTORY_LINE_MAX + 3];
	int n = snprintf(line, sizeof(line), "%s%s\n", h->cut ? "\n" : "", text);
	ssize_t done;

	if (h->fd < 0)
		open_file(h);
	if (h->fd < 0)
		return;
	done = write(h->fd, line, (size_t)n);
	if (done == n)
		h->note[0] = 0;
	else
		failed(h, done < 0 ? errno : ENOSPC);
	h->cut = done < n && (done > 0 || h->cut);
	h->size += done > 0 ? done : 0;
}

void history_changed(struct history *h, const struct cluster_move *m)
{
	char *text = history_line(m);

	if (h->size >= HISTORY_FILE_MAX)
		rotate(h);
	/* Names are short: the longest line has room. */
	if (text && strlen(text) <= HISTORY_LINE_MAX)
		write_line(h, text);
	else
		failed(h, text ? EMSGSIZE : ENOMEM);
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
	if (h->fd >= 0)
		close(h->fd);
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
