// SPDX-License-Identifier: GPL-2.0-or-later
/* restore: reads caps.json, changes it in memory, writes it whole. See restore.h. */
#include "src/guests/restore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "src/core/caps.h"
#include "src/util/file.h"

/* Xen's scheduler keeps cap and weight in 16 bits. */
enum { PERCENT_MAX = 65535 };

struct entry_in {
	uint64_t domid, cap, weight;
	char uuid[37];
};

#define KEY(...) CONF_KEY(struct entry_in, __VA_ARGS__)
static const struct conf_key entry_keys[] = {
	{ KEY("domid", UINT, domid), .min = 1, .max = 65535, .required = 1 },
	{ KEY("uuid", STRING, uuid), .min = 36, .max = 36, .required = 1 },
	{ KEY("cap", UINT, cap), .max = PERCENT_MAX, .required = 1 },
	{ KEY("weight", UINT, weight), .max = 65535, .required = 1 },
	{ 0 },
};
#undef KEY

static int read_entry(struct restore *r, const struct conf_doc *d, size_t i, const json_t *obj,
		      struct conf_error *e)
{
	struct saved_cap *c = &r->entry[r->entries];
	struct entry_in in = { 0 };
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "guests[%zu]", i);
	rc = conf_bind(d, path, obj, entry_keys, NULL, &in, e);
	if (rc)
		return rc;
	if (uuid_parse(in.uuid, c->uuid)) {
		snprintf(path, sizeof(path), "guests[%zu].uuid", i);
		return conf_fail(d, path, e,
				 "\"%s\" is not a UUID: write the guest's, as xl list -v shows it",
				 in.uuid);
	}
	c->domid = (uint32_t)in.domid;
	c->params.cap = cap_from_percent((uint32_t)in.cap);
	c->params.weight = (uint32_t)in.weight;
	r->entries++;
	return 0;
}

static int read_file(struct restore *r, const struct conf_doc *d, struct conf_error *e)
{
	static const char *const also[] = { "guests", NULL };
	const struct conf_key keys[] = {
		{ .name = "hv", .type = CONF_STRING, .min = 1, .max = sizeof(r->hv) - 1 },
		{ 0 },
	};
	json_t *arr = json_object_get(d->root, "guests"), *v;
	/* A file without the key is about Xen. */
	char hv[sizeof(r->hv)] = "xen";
	size_t i;
	int rc;

	rc = conf_bind(d, "", d->root, keys, also, hv, e);
	if (rc)
		return rc;

	if (!json_is_array(arr) || json_array_size(arr) > FLOW_GUESTS_MAX)
		return conf_fail(d, "", e,
				 "guests: at most %d saved caps expected; if the caps of all "
				 "guests are right, remove the file",
				 FLOW_GUESTS_MAX);
	json_array_foreach(arr, i, v) {
		rc = read_entry(r, d, i, v, e);
		if (rc)
			return rc;
	}
	if (strcmp(hv, r->hv) != 0)
		return conf_fail(d, "hv", e,
				 "these are saved caps of guests on %s, and this is %s: "
				 "give this resexd a state_dir of its own",
				 hv, r->hv);
	return 0;
}

int restore_load(struct restore *r, const char *state_dir, const char *hv, struct conf_error *e)
{
	struct conf_doc d;
	int rc;

	memset(r, 0, sizeof(*r));
	snprintf(r->file, sizeof(r->file), "%s/caps.json", state_dir);
	snprintf(r->hv, sizeof(r->hv), "%s", hv);
	rc = conf_load(&d, r->file, e);
	if (rc == -ENOENT)
		return 0;
	if (rc)
		return rc;
	rc = read_file(r, &d, e);
	if (rc)
		r->entries = 0; /* else a later save would write the good half over the file */
	conf_free(&d);
	return rc;
}

static char *caps_to_json(const struct restore *r)
{
	json_t *root, *arr = json_array();
	char *text;

	for (uint32_t i = 0; i < r->entries; i++) {
		const struct saved_cap *c = &r->entry[i];
		char uuid[37];

		uuid_unparse_lower(c->uuid, uuid);
		json_array_append_new(arr,
				      json_pack("{s:i,s:s,s:i,s:i}", "domid", (int)c->domid, "uuid",
						uuid, "cap", (int)cap_to_percent(c->params.cap),
						"weight", (int)c->params.weight));
	}
	root = json_pack("{s:s,s:o}", "hv", r->hv, "guests", arr);
	text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	return text;
}

/* Without entries there is no file: the next start has nothing to restore. */
int restore_save(const struct restore *r)
{
	char *text;
	int rc;

	if (!r->entries)
		return file_remove(r->file);
	text = caps_to_json(r);
	if (!text)
		return -ENOMEM;
	rc = file_save(r->file, text, strlen(text));
	free(text);
	return rc;
}

static uint32_t index_of(const struct restore *r, uint32_t domid, const uint8_t uuid[16])
{
	uint32_t i;

	for (i = 0; i < r->entries; i++)
		if (r->entry[i].domid == domid && !memcmp(r->entry[i].uuid, uuid, 16))
			break;
	return i;
}

const struct saved_cap *restore_find(const struct restore *r, uint32_t domid,
				     const uint8_t uuid[16])
{
	uint32_t i = index_of(r, domid, uuid);

	return i < r->entries ? &r->entry[i] : NULL;
}

int restore_add(struct restore *r, const struct saved_cap *c)
{
	uint32_t i = index_of(r, c->domid, c->uuid);

	if (i == FLOW_GUESTS_MAX)
		return -ENOSPC;
	if (i == r->entries)
		r->entries++;
	r->entry[i] = *c;
	return 0;
}

/*
 * The last entry fills the gap. So a loop that removes entries runs backward: it has seen
 * that one.
 */
static void remove_at(struct restore *r, uint32_t i)
{
	r->entry[i] = r->entry[--r->entries];
}

void restore_drop(struct restore *r, uint32_t domid, const uint8_t uuid[16])
{
	uint32_t i = index_of(r, domid, uuid);

	if (i < r->entries)
		remove_at(r, i);
}

static bool is_alive(const struct saved_cap *c, const struct hv_dom *dom, int n)
{
	for (int i = 0; i < n; i++)
		if (dom[i].domid == c->domid && !memcmp(dom[i].uuid, c->uuid, 16))
			return !(dom[i].flags & HV_DOM_DYING);
	return false;
}

int restore_all(struct restore *r, const struct hv_sched_ops *ops, struct hv_sched *s,
		uint32_t *restored)
{
	struct hv_dom *dom = calloc(2 * FLOW_GUESTS_MAX, sizeof(*dom));
	int n, rc, failed = 0;

	*restored = 0;
	if (!dom)
		return -ENOMEM;
	n = ops->list(s, dom, 2 * FLOW_GUESTS_MAX);
	if (n < 0) {
		free(dom);
		return n;
	}
	for (uint32_t i = r->entries; i-- > 0;) {
		const struct saved_cap *c = &r->entry[i];

		/*
		 * A domain that is gone needs no cap: its entry goes as if restored. Any
		 * other error keeps the entry, so that the next start or --restore-caps
		 * tries again.
		 */
		rc = is_alive(c, dom, n) ? hv_put_cap(ops, s, c->domid, c->params.cap) : -ESRCH;
		if (rc && rc != -ESRCH) {
			failed++;
			continue;
		}
		if (!rc)
			(*restored)++;
		remove_at(r, i);
	}
	free(dom);
	rc = restore_save(r);
	return rc ? rc : failed;
}
