// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * log: what happened in a run, one JSON object a line, in the order in which the checker learned of
 * it. For resex-cacheload --check, and for a checker in another language. The format is in
 * resex-cacheload(1). Names and states have been read before, and hold no character that JSON would
 * escape.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "src/cacheload/load.h"

enum { BUFFER = 1 << 20 };

struct load_log {
	FILE *f;
};

int load_log_open(struct load_log **out, const char *file)
{
	struct load_log *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->f = fopen(file, "we");
	if (!l->f) {
		int rc = -errno;

		free(l);
		return rc;
	}
	(void)setvbuf(l->f, NULL, _IOFBF, BUFFER); /* without it, writing is only slower */
	*out = l;
	return 0;
}

int load_log_close(struct load_log *l)
{
	int rc = 0;

	if (!l)
		return 0;
	if (fflush(l->f) || ferror(l->f))
		rc = errno ? -errno : -EIO;
	if (fclose(l->f) && !rc)
		rc = -errno;
	free(l);
	return rc;
}

void load_log_base(struct load_log *l, int64_t now, const char *states, size_t len)
{
	if (l)
		fprintf(l->f, "{\"e\":\"base\",\"t\":%" PRId64 ",\"states\":\"%.*s\"}\n", now,
			(int)len, states);
}

void load_log_begin(struct load_log *l, int64_t now, uint32_t update,
		    const char (*thing)[HISTORY_NAME_MAX + 1], size_t things)
{
	if (!l)
		return;
	fprintf(l->f, "{\"e\":\"begin\",\"t\":%" PRId64 ",\"u\":%" PRIu32 ",\"things\":[", now,
		update);
	for (size_t i = 0; i < things; i++)
		fprintf(l->f, "%s\"%s\"", i ? "," : "", thing[i]);
	fputs("]}\n", l->f);
}

const char *load_end_name(enum history_end how)
{
	return how == HISTORY_DONE ? "done" : how == HISTORY_NOT_DONE ? "undone" : "unknown";
}

void load_log_end(struct load_log *l, int64_t now, uint32_t update, enum history_end how)
{
	if (l)
		fprintf(l->f,
			"{\"e\":\"end\",\"t\":%" PRId64 ",\"u\":%" PRIu32 ",\"how\":\"%s\"}\n", now,
			update, load_end_name(how));
}

void load_log_reply(struct load_log *l, int64_t begin, int64_t end, const char *asked, bool hit,
		    uint32_t from, const char *states, size_t len)
{
	if (!l)
		return;
	fprintf(l->f,
		"{\"e\":\"reply\",\"b\":%" PRId64 ",\"t\":%" PRId64
		",\"asked\":\"%s\",\"hit\":%s,\"from\":%" PRIu32 ",\"states\":",
		begin, end, asked, hit ? "true" : "false", from);
	if (states)
		fprintf(l->f, "\"%.*s\"}\n", (int)len, states);
	else
		fputs("null}\n", l->f);
}
