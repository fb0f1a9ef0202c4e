// SPDX-License-Identifier: GPL-2.0-or-later
/* restore_file: caps.json read and written whole, and its former copy. See restore.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "src/core/caps.h"
#include "src/guests/journal.h"
#include "src/guests/restore_priv.h"
#include "src/util/file.h"

/* Xen's scheduler keeps cap and weight in 16 bits. */
enum { PERCENT_MAX = 65535 };

/* --- read ---------------------------------------------------------------------- */

struct entry_in {
	uint64_t domid, cap, weight, until;
	char uuid[37];
};

#define KEY(...) CONF_KEY(struct entry_in, __VA_ARGS__)
/* min: a guest that is gone may have no id. */
static const struct conf_key entry_keys[] = {
	{ KEY("domid", UINT, domid), .min = 1, .max = 65535, .required = 1 },
	{ KEY("uuid", STRING, uuid), .min = 36, .max = 36, .required = 1 },
	{ KEY("cap", UINT, cap), .max = PERCENT_MAX, .required = 1 },
	{ KEY("weight", UINT, weight), .max = 65535, .required = 1 },
	{ 0 },
};
static const struct conf_key gone_keys[] = {
	{ KEY("domid", UINT, domid), .max = 65535, .required = 1 },
	{ KEY("uuid", STRING, uuid), .min = 36, .max = 36, .required = 1 },
	{ KEY("cap", UINT, cap), .max = PERCENT_MAX, .required = 1 },
	{ KEY("weight", UINT, weight), .max = 65535, .required = 1 },
	{ KEY("until", UINT, until), .max = INT64_MAX, .required = 1 },
	{ 0 },
};
#undef KEY

/* [first, last], both percents; false: it is not that. */
static bool read_pair(const json_t *v, uint32_t *first, uint32_t *last)
{
	json_int_t a, b;

	if (!json_is_array(v) || json_array_size(v) != 2 ||
	    !json_is_integer(json_array_get(v, 0)) || !json_is_integer(json_array_get(v, 1)))
		return false;
	a = json_integer_value(json_array_get(v, 0));
	b = json_integer_value(json_array_get(v, 1));
	if (a < 0 || b < 0 || a > PERCENT_MAX || b > PERCENT_MAX)
		return false;
	*first = (uint32_t)a;
	*last = (uint32_t)b;
	return true;
}

static bool read_ranges(const json_t *arr, struct percents *p)
{
	uint32_t first, last;
	json_t *v;
	size_t i;

	if (arr && !json_is_array(arr))
		return false;
	json_array_foreach(arr, i, v) {
		if (!read_pair(v, &first, &last) || first > last || last >= WRITTEN_PERCENTS)
			return false;
		for (uint32_t k = first; k <= last; k++)
			p->bit[k / 64] |= 1ull << (k % 64);
	}
	return true;
}

static int read_caps_set(struct saved_cap *c, const struct conf_doc *d, const char *path,
			 const json_t *obj, struct conf_error *e)
{
	const json_t *last = json_object_get(obj, "last");

	if (!read_ranges(json_object_get(obj, "written"), &c->written))
		return conf_fail_key(d, path, "written", e,
				     "pairs of first and last percent, below %d, expected",
				     WRITTEN_PERCENTS);
	c->last.any = last != NULL;
	if (last && !read_pair(last, &c->last.from, &c->last.to))
		return conf_fail_key(d, path, "last", e, "two percents expected");
	return 0;
}

static int read_entry(struct saved_cap *c, const struct conf_doc *d, const char *path,
		      const json_t *obj, const struct conf_key *keys, struct conf_error *e)
{
	static const char *const also[] = { "written", "last", NULL };
	struct entry_in in = { 0 };
	char at[72];
	int rc = conf_bind(d, path, obj, keys, also, &in, e);

	if (rc)
		return rc;
	memset(c, 0, sizeof(*c));
	if (uuid_parse(in.uuid, c->uuid)) {
		snprintf(at, sizeof(at), "%s.uuid", path);
		return conf_fail(d, at, e,
				 "\"%s\" is not a UUID: write the guest's, as xl list -v shows it",
				 in.uuid);
	}
	c->domid = (uint32_t)in.domid;
	c->params.cap = cap_from_percent((uint32_t)in.cap);
	c->params.weight = (uint32_t)in.weight;
	c->until = (int64_t)in.until;
	return read_caps_set(c, d, path, obj, e);
}

static int read_list(struct saved_cap *to, uint32_t *n, uint32_t max, const char *key,
		     const struct conf_key *keys, const struct conf_doc *d, struct conf_error *e)
{
	json_t *arr = json_object_get(d->root, key), *v;
	char path[64];
	size_t i;
	int rc;

	if (!json_is_array(arr) || json_array_size(arr) > max)
		return conf_fail(d, "", e,
				 "%s: at most %u saved caps expected; if the caps of all "
				 "guests are right, remove the file",
				 key, max);
	json_array_foreach(arr, i, v) {
		snprintf(path, sizeof(path), "%s[%zu]", key, i);
		rc = read_entry(&to[*n], d, path, v, keys, e);
		if (rc)
			return rc;
		++*n;
	}
	return 0;
}

static int read_file(struct restore *r, const struct conf_doc *d, struct conf_error *e)
{
	static const char *const also[] = { "guests", "gone", NULL };
	struct {
		char hv[sizeof(r->hv)], boot[RESTORE_BOOT_MAX];
	} in = { .hv = "xen" }; /* a file without the key is about Xen */
	const struct conf_key keys[] = {
		{ .name = "hv", .type = CONF_STRING, .min = 1, .max = sizeof(in.hv) - 1 },
		{ .name = "boot",
		  .type = CONF_STRING,
		  .offset = sizeof(in.hv),
		  .max = sizeof(in.boot) - 1 },
		{ 0 },
	};
	int rc = conf_bind(d, "", d->root, keys, also, &in, e);

	if (rc)
		return rc;
	r->foreign = strcmp(in.hv, r->hv) != 0;
	if (r->foreign)
		return conf_fail(d, "hv", e,
				 "these are saved caps of guests on %s, and this is %s: "
				 "give this resexd a state_dir of its own",
				 in.hv, r->hv);
	rc = read_list(r->entry, &r->entries, FLOW_GUESTS_MAX, "guests", entry_keys, d, e);
	if (!rc && json_object_get(d->root, "gone"))
		rc = read_list(r->gone, &r->gones, RESTORE_GONE_MAX, "gone", gone_keys, d, e);
	memcpy(r->boot, in.boot, sizeof(r->boot));
	return rc;
}

static int load(struct restore *r, const char *suffix, struct conf_error *e)
{
	char file[sizeof(r->file) + 8];
	struct conf_doc d;
	int rc;

	snprintf(file, sizeof(file), "%s%s", r->file, suffix);
	r->entries = r->gones = 0;
	rc = conf_load(&d, file, e);
	if (rc)
		return rc;
	rc = read_file(r, &d, e);
	if (rc) /* else a later save would write the good half over the file */
		r->entries = r->gones = 0;
	conf_free(&d);
	return rc;
}

int restore_load(struct restore *r, const char *state_dir, const char *hv, struct conf_error *e)
{
	int rc;

	memset(r, 0, sizeof(*r));
	snprintf(r->dir, sizeof(r->dir), "%s", state_dir);
	snprintf(r->file, sizeof(r->file), "%s/caps.json", state_dir);
	snprintf(r->hv, sizeof(r->hv), "%s", hv);
	rc = load(r, "", e);
	r->absent = rc == -ENOENT;
	return r->absent ? 0 : rc;
}

/* Without a file, an operator removed it, or there was nothing to keep: a copy does not count. */
int restore_open(struct restore *r, const char *state_dir, const char *hv, const char *boot,
		 int64_t now_s, struct conf_error *e)
{
	struct conf_error other = { 0 };
	int rc = restore_load(r, state_dir, hv, e);

	if ((rc == -EINVAL || rc == -EFBIG) && !r->foreign)
		rc = load(r, ".bak", &other) ? rc : 1;
	if (rc < 0)
		return rc;
	if (!rc)
		*e = (struct conf_error){ 0 }; /* a missing file is not an error here */
	r->now_s = now_s;
	if (r->absent)
		snprintf(r->boot, sizeof(r->boot), "%s", boot);
	journal_read(r);
	if (r->boot[0] && boot[0] && strcmp(r->boot, boot) != 0)
		restore_other_boot(r);
	snprintf(r->boot, sizeof(r->boot), "%s", boot);
	restore_expire(r);
	return rc;
}

/* --- written -------------------------------------------------------------------- */

static json_t *ranges_of(const struct percents *p)
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < WRITTEN_PERCENTS; i++) {
		uint32_t first = i;

		if (!percents_has(p, i))
			continue;
		while (i + 1 < WRITTEN_PERCENTS && percents_has(p, i + 1))
			i++;
		json_array_append_new(arr, json_pack("[i,i]", (int)first, (int)i));
	}
	return arr;
}

static json_t *entry_of(const struct saved_cap *c)
{
	char uuid[37];
	json_t *v;

	uuid_unparse_lower(c->uuid, uuid);
	v = json_pack("{s:i,s:s,s:i,s:i,s:o}", "domid", (int)c->domid, "uuid", uuid, "cap",
		      (int)cap_to_percent(c->params.cap), "weight", (int)c->params.weight,
		      "written", ranges_of(&c->written));
	if (c->last.any)
		json_object_set_new(v, "last",
				    json_pack("[i,i]", (int)c->last.from, (int)c->last.to));
	if (c->until)
		json_object_set_new(v, "until", json_integer(c->until));
	return v;
}

static char *caps_to_json(const struct restore *r, size_t format)
{
	json_t *root, *arr = json_array(), *gone = json_array();
	char *text;

	for (uint32_t i = 0; i < r->entries; i++)
		json_array_append_new(arr, entry_of(&r->entry[i]));
	for (uint32_t i = 0; i < r->gones; i++)
		json_array_append_new(gone, entry_of(&r->gone[i]));
	root = json_pack("{s:s,s:s,s:o,s:o}", "hv", r->hv, "boot", r->boot, "guests", arr, "gone",
			 gone);
	text = root ? json_dumps(root, format) : NULL;
	json_decref(root);
	return text;
}

/*
 * A file that is too long could not be read again. The sets of percents may be that long: then
 * there are no spaces, and then the guests that have been gone longest are dropped.
 */
static int caps_that_fit(struct restore *r, char **out)
{
	char *text = caps_to_json(r, JSON_INDENT(1));

	while (text && strlen(text) > CONF_BYTES_MAX) {
		free(text);
		text = caps_to_json(r, JSON_COMPACT);
		if (!text || strlen(text) <= CONF_BYTES_MAX)
			break;
		if (!r->gones) {
			free(text);
			return -EFBIG;
		}
		restore_drop_gone(r, r->gones / 8 + 1);
	}
	*out = text;
	return text ? 0 : -ENOMEM;
}

/* The file is there all the time: the copy is another name of it until it is replaced. */
static void keep_copy(const struct restore *r)
{
	char copy[sizeof(r->file) + 8], fresh[sizeof(copy) + 8];

	snprintf(copy, sizeof(copy), "%s.bak", r->file);
	snprintf(fresh, sizeof(fresh), "%s.new", copy);
	unlink(fresh);
	if (link(r->file, fresh) || rename(fresh, copy))
		return; /* the copy is of an older state */
	unlink(fresh);	/* rename() leaves it when both names are of one file */
}

int restore_put_aside(const struct restore *r)
{
	char bad[sizeof(r->file) + 8];

	snprintf(bad, sizeof(bad), "%s.bad", r->file);
	return rename(r->file, bad) ? -errno : 0;
}

/* The file is removed when no entry is left: the next start has nothing to restore. */
int restore_save(struct restore *r)
{
	char copy[sizeof(r->file) + 8], *text;
	int rc;

	restore_expire(r);
	if (!r->entries && !r->gones) {
		snprintf(copy, sizeof(copy), "%s.bak", r->file);
		unlink(copy);
		r->file_kept.any = false;
		return file_remove(r->file);
	}
	rc = caps_that_fit(r, &text);
	if (rc)
		return rc;
	keep_copy(r);
	rc = file_save(r->file, text, strlen(text));
	free(text);
	if (!rc)
		kept_file_note(&r->file_kept, r->file);
	return rc;
}
