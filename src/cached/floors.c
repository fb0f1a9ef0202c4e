// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * floors: what this host remembers of its row in the database, on disk: the next generation and
 * fence are above them, also if a failover took the row back (R3 b of cache.h). app.c reads them at
 * the start, and saves new ones before it uses them. See conf.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cached/conf.h"
#include "src/util/file.h"

struct bound {
	uint64_t generation, fence;
};

#define KEY(...) CONF_KEY(struct bound, __VA_ARGS__)
static const struct conf_key keys[] = {
	{ KEY("generation", UINT, generation), .max = REGION_EPOCH_MAX, .required = 1 },
	{ KEY("fence", UINT, fence), .max = REGION_EPOCH_MAX, .required = 1 },
	{ 0 },
};
#undef KEY

enum { FILE_MAX = CONFIG_PATH_MAX + 16 };

static const char *file_of(const char *state_dir, char file[static FILE_MAX])
{
	snprintf(file, FILE_MAX, "%s/floors", state_dir);
	return file;
}

int cached_floors_load(struct cached_floors *f, const char *state_dir, struct conf_error *e)
{
	struct bound b = { 0 };
	char file[FILE_MAX];
	struct conf_doc d;
	int rc = conf_load(&d, file_of(state_dir, file), e);

	if (!rc)
		rc = conf_bind(&d, "", d.root, keys, NULL, &b, e);
	conf_free(&d);
	if (rc == -EINVAL)
		conf_error_set(
			e, RESEX_BAD_CONFIG,
			"%s: the file is damaged: write {\"generation\": G, \"fence\": F} with "
			"the highest of each that this host's row in resex.member ever had; or "
			"remove it, if the database never lost a commit",
			file);
	if (rc && rc != -ENOENT)
		return rc;
	f->generation = (uint32_t)b.generation;
	f->fence = (uint32_t)b.fence;
	return 0;
}

int cached_floors_save(const struct cached_floors *f, const char *state_dir, struct conf_error *e)
{
	char file[FILE_MAX], text[64];
	int n = snprintf(text, sizeof(text), "{\"generation\": %u, \"fence\": %u}\n", f->generation,
			 f->fence);
	int rc = file_save(file_of(state_dir, file), text, (size_t)n);

	if (rc)
		conf_error_set(e, conf_exit(rc),
			       "%s: this host's generation could not be saved (%s): make room in "
			       "the folder, and let resex-cached write there",
			       file, strerror(-rc));
	return rc;
}
