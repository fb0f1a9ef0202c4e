// SPDX-License-Identifier: GPL-2.0-or-later
/* app_util: what the files of an application server (app_priv.h) share. */
#include "src/cached/app_priv.h"

#include <stdarg.h>
#include <stdio.h>

void app_say(struct app *a, enum log_level level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_msg(a->log, level, "%s", text);
	events_add(a->events, "%s", text);
}

void app_set_events(struct app *a, struct events *e)
{
	a->events = e;
}

const char *app_host_name(const struct app *a, uint16_t host)
{
	const struct cluster_cached *h = cluster_cached_at(&a->conf->cluster, host);

	return h ? h->name : "?";
}

void app_refuse(app_done *done, void *arg, enum app_end end, const char *why, const char *text)
{
	const struct app_result r = { .end = end, .why = why, .text = text, .sqlstate = "" };

	done(arg, &r);
}

const char *app_hash_tags(const struct app *a, uint32_t tags, const char *const *tag, uint32_t max,
			  uint64_t *hash)
{
	if (tags > max)
		return "there are too many tags: give at most 64";
	for (uint32_t i = 0; i < tags; i++) {
		if (!tag_good(tag[i]))
			return "a tag is none: give 1 to 255 bytes of UTF-8 without control "
			       "characters";
		hash[i] = tag_hash(&a->tags, tag[i]);
	}
	return NULL;
}

const char *app_trouble(const struct app *a)
{
	const struct app_member *m = &a->member;

	if (m->look_trouble.text[0])
		return m->look_trouble.text;
	return m->join_trouble.text[0] ? m->join_trouble.text : "ask again";
}
