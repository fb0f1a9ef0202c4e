// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_caps: any caps.json, caps.json.bak and caps.written through restore_open. A refusal names a
 * place in the file and leaves no entries; what is accepted is within its limits, and is saved and
 * read again without a change.
 *
 * Input: a byte for the boot that runs, the text of caps.json, a NUL, the text of caps.json.bak, a
 * NUL, then records of caps.written as record_take() reads them.
 */
#include <errno.h>

#include "src/core/caps.h"
#include "src/guests/journal.h"
#include "src/util/file.h"
#include "tests/fuzz/fuzz.h"

enum { NOW_S = 1000000, HEADER = 4096, PERCENT_MAX = 65535 };

#define WRITTEN_BYTES (HEADER + FLOW_GUESTS_MAX * sizeof(struct written))

/* The state directory. A file without data is missing. */
static struct file {
	const char *name;
	char *data;
	size_t len;
} files[] = { { .name = "/caps.json" }, { .name = "/caps.json.bak" }, { .name = "/caps.written" } };

enum { CAPS, BAK, WRITTEN, FILES };

static struct file *find(const char *path)
{
	const char *name = strrchr(path, '/');

	for (int i = 0; i < FILES; i++)
		if (name && !strcmp(name, files[i].name))
			return &files[i];
	abort();
}

static void put(struct file *f, const void *data, size_t len)
{
	free(f->data);
	f->data = malloc(len + 1);
	if (!f->data)
		abort();
	memcpy(f->data, data, len);
	f->len = len;
}

int file_load(const char *path, size_t max, char **data, size_t *len)
{
	const struct file *f = find(path);

	if (!f->data)
		return -ENOENT;
	if (f->len > max)
		return -EFBIG;
	*data = malloc(f->len + 1);
	if (!*data)
		abort();
	memcpy(*data, f->data, f->len);
	*len = f->len;
	return 0;
}

int file_save(const char *path, const char *text, size_t len)
{
	put(find(path), text, len);
	return 0;
}

int file_remove(const char *path)
{
	struct file *f = find(path);

	free(f->data);
	f->data = NULL;
	return 0;
}

/* The bytes up to the next NUL are the file; without any the file is missing. */
static void text_take(struct bytes *in, struct file *f)
{
	const uint8_t *end = in->left ? memchr(in->at, 0, in->left) : NULL;
	size_t n = end ? (size_t)(end - in->at) : in->left;

	if (n)
		put(f, in->at, n);
	n += end != NULL;
	in->at += n;
	in->left -= n;
}

static void record_take(struct bytes *in, char *to)
{
	struct written w = { .domid = take16(in) };

	memset(w.uuid, take8(in), sizeof(w.uuid));
	w.last = take64(in);
	for (int n = take8(in) % 8; n > 0; n--)
		w.set[take8(in) % (WRITTEN_PERCENTS / 64)] = take64(in);
	memcpy(to, &w, sizeof(w));
}

/* Any record in any slot of a file with the right header, which a first byte may spoil. */
static void journal_take(struct bytes *in, const char *boot)
{
	const uint32_t sizes[] = { 1, FLOW_GUESTS_MAX, sizeof(struct written) };
	static char data[WRITTEN_BYTES];
	uint8_t spoil;

	if (!in->left)
		return;
	memset(data, 0, sizeof(data));
	memcpy(data, "RESEXCW", 8);
	memcpy(data + 8, sizes, sizeof(sizes));
	memcpy(data + 24, boot, strlen(boot));
	spoil = take8(in);
	data[spoil % 32] ^= spoil / 32;
	while (in->left) {
		size_t slot = take8(in) % FLOW_GUESTS_MAX;

		record_take(in, data + HEADER + slot * sizeof(struct written));
	}
	put(&files[WRITTEN], data, sizeof(data));
}

static void check_error(const struct conf_error *e)
{
	FUZZ_REQUIRE(memchr(e->text, '\0', sizeof(e->text)));
	FUZZ_REQUIRE(!strncmp(e->text, "/x/caps.json:", 13) && !strchr(e->text, '\n'));
	FUZZ_REQUIRE(e->line >= 0 && (size_t)e->line <= files[CAPS].len + 1);
	FUZZ_REQUIRE(e->column >= 0 && (size_t)e->column <= files[CAPS].len + 1);
}

static void check_entry(const struct saved_cap *c)
{
	FUZZ_REQUIRE(c->domid <= UINT16_MAX && c->params.weight <= UINT16_MAX);
	FUZZ_REQUIRE(cap_to_percent(c->params.cap) <= PERCENT_MAX);
	FUZZ_REQUIRE(c->last.from <= PERCENT_MAX && c->last.to <= PERCENT_MAX);
}

static void check_entries(struct restore *r)
{
	FUZZ_REQUIRE(r->entries <= FLOW_GUESTS_MAX && r->gones <= RESTORE_GONE_MAX);
	for (uint32_t i = 0; i < r->entries; i++) {
		const struct saved_cap *c = &r->entry[i];

		check_entry(c);
		FUZZ_REQUIRE(c->domid && !c->until && restore_find(r, c->domid, c->uuid));
		FUZZ_REQUIRE(own_judge(c, true, cap_to_percent(c->params.cap), 0) == OWN_IN_FORCE);
	}
	for (uint32_t i = 0; i < r->gones; i++) {
		check_entry(&r->gone[i]);
		FUZZ_REQUIRE(r->gone[i].until > r->now_s);
	}
}

/* The journal's notes are in the saved file, and then the file is all that counts. */
static void check_saved(struct restore *r, const char *boot)
{
	struct conf_error e = { 0 };
	struct file first;

	FUZZ_REQUIRE(restore_save(r) == 0);
	FUZZ_REQUIRE(!files[CAPS].data == (!r->entries && !r->gones));
	file_remove("/caps.written");
	first = files[CAPS];
	if (!first.data)
		return;
	files[CAPS].data = NULL;
	put(&files[CAPS], first.data, first.len);
	FUZZ_REQUIRE(restore_open(r, "/x", "xen", boot, NOW_S, &e) == 0);
	check_entries(r);
	FUZZ_REQUIRE(restore_save(r) == 0);
	FUZZ_REQUIRE(files[CAPS].len == first.len &&
		     !memcmp(files[CAPS].data, first.data, first.len));
	free(first.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const boots[] = { "", "boot-1", "boot-2" };
	struct restore *r = malloc(sizeof(*r)); /* of its own: writing on is seen */
	struct bytes in = { data, size };
	const char *boot = boots[take8(&in) % 3];
	struct conf_error e;
	int rc;

	if (!r)
		abort();
	memset(&e, 0x5a, sizeof(e));
	text_take(&in, &files[CAPS]);
	text_take(&in, &files[BAK]);
	journal_take(&in, "boot-1");
	rc = restore_open(r, "/x", "xen", boot, NOW_S, &e);
	FUZZ_REQUIRE(rc == 0 || rc == 1 || rc == -EINVAL || rc == -EFBIG);
	if (rc)
		check_error(&e);
	if (rc < 0)
		FUZZ_REQUIRE(!r->entries && !r->gones);
	else
		check_entries(r);
	if (rc >= 0)
		check_saved(r, boot);
	free(r);
	for (int i = 0; i < FILES; i++) {
		free(files[i].data);
		files[i].data = NULL;
	}
	return 0;
}
