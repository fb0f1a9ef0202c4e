// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest: settings of one guest. See settings.h.
 *
 * resexd.json, scenarios and the command guest-set have the same keys; they are checked here
 * for all three. guest-set gives an object with a few keys, and the others are unchanged.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/conf/settings.h"

enum {
	CAP_PERCENT_MAX = 51200, /* 512 VCPUs, the most that Xen allows */
	TOLERANCE_MAX = 10000,	 /* permille */
};
/* Far above any latency over RDMA: a larger figure was meant in another unit. */
#define LATENCY_MAX_NS (10 * NS_PER_S)

#define KEY(...) CONF_KEY(struct guest_conf, __VA_ARGS__)
static const struct conf_key guest_keys[] = {
	{ KEY("weight", UINT, weight), .min = 1, .max = 65535 },
	{ KEY("exempt", BOOL, exempt) },
	{ KEY("min_cap", PERCENT, min_cap), .min = 1, .max = 100 },
	{ KEY("max_cap", PERCENT, max_cap), .max = CAP_PERCENT_MAX },
	{ KEY("link", STRING, link_name), .min = 1, .max = FLOW_NAME_MAX - 1 },
	{ KEY("counter", STRING, counter.text), .min = 1, .max = COUNTER_TEXT_MAX },
	{ 0 },
};
#undef KEY

struct sla_in {
	uint64_t tolerance;
	int64_t base, base_io, base_deviation;
};

#define KEY(...) CONF_KEY(struct sla_in, __VA_ARGS__)
static const struct conf_key sla_keys[] = {
	{ KEY("tolerance", PERMILLE, tolerance), .max = TOLERANCE_MAX },
	{ KEY("base", DURATION, base), .max = LATENCY_MAX_NS },
	{ KEY("base_io", DURATION, base_io), .max = LATENCY_MAX_NS },
	{ KEY("base_deviation", DURATION, base_deviation), .max = LATENCY_MAX_NS },
	{ 0 },
};
#undef KEY

/*
 * The three figures of a base come together, or not at all: one that was given and two that were
 * learned, perhaps under load, would be compared with each other.
 */
static int check_base(const struct conf_doc *d, const char *path, const json_t *obj,
		      const struct sla_in *in, struct conf_error *e)
{
	bool base = json_object_get(obj, "base"), io = json_object_get(obj, "base_io"),
	     deviation = json_object_get(obj, "base_deviation");

	if (base != io || base != deviation)
		return conf_fail(d, path, e,
				 "key \"%s\" is missing here: give base, base_io and "
				 "base_deviation, or none of them and they are learned",
				 !base ? "base"
				 : !io ? "base_io"
				       : "base_deviation");
	/* base is the whole latency, CTime included; base_io only WTime and PTime. */
	if (in->base_io <= in->base)
		return 0;
	return conf_fail_key(d, path, "base_io", e,
			     "base_io is %lld ns, more than the whole latency: make it at most "
			     "base, %lld ns",
			     (long long)in->base_io, (long long)in->base);
}

static int bind_sla(const struct conf_doc *d, const char *path, const json_t *obj, struct sla *sla,
		    struct conf_error *e)
{
	struct sla_in in = {
		.tolerance = sla->tolerance,
		.base = (int64_t)sla->base_ns,
		.base_io = (int64_t)sla->base_io_ns,
		.base_deviation = (int64_t)sla->base_dev_ns,
	};
	int rc = conf_bind(d, path, obj, sla_keys, NULL, &in, e);

	if (!rc)
		rc = check_base(d, path, obj, &in, e);
	if (rc)
		return rc;
	*sla = (struct sla){
		.base_ns = (uint64_t)in.base,
		.base_io_ns = (uint64_t)in.base_io,
		.base_dev_ns = (uint64_t)in.base_deviation,
		.tolerance = (uint32_t)in.tolerance,
	};
	return 0;
}

static int check_caps(const struct conf_doc *d, const char *path, const struct guest_conf *g,
		      struct conf_error *e)
{
	/* Checked on what is in force afterwards: guest-set may change only one of the two. */
	if (!g->max_cap || g->max_cap >= g->min_cap)
		return 0;
	return conf_fail_key(d, path, "max_cap", e,
			     "max_cap is %llu and min_cap %llu: make max_cap at least min_cap, "
			     "or 0 for none",
			     (unsigned long long)g->max_cap, (unsigned long long)g->min_cap);
}

static int check_counter(const struct conf_doc *d, const char *path, struct counter_setting *c,
			 struct conf_error *e)
{
	/* The text is kept beside the result: resex shows what the operator wrote. */
	if (!c->text[0] || !counter_parse_guest(c->text, &c->name))
		return 0;
	return conf_fail_key(d, path, "counter", e,
			     "counter is \"%s\": write \"auto\", \"none\", \"vif\", or a virtual "
			     "function such as \"vf:ens1f0/3\"",
			     c->text);
}

#define KEY(...) CONF_KEY(struct unreadable_conf, __VA_ARGS__)
static const struct conf_key unreadable_keys[] = {
	{ KEY("unreadable", RATE, bytes_s), .min = 1, .max = 1ull << 40 },
	{ 0 },
};
#undef KEY

const char *const settings_unreadable_words[] = { "last-rate", "nothing", NULL };

struct conf_table settings_guest_table(const struct guest_conf *g)
{
	return (struct conf_table){ guest_keys, g };
}

struct conf_table settings_sla_table(void)
{
	return (struct conf_table){ sla_keys, NULL };
}

struct conf_table settings_unreadable_table(void)
{
	return (struct conf_table){ unreadable_keys, NULL };
}

/* A word or a rate. A rate is bound as any other, in an object of its own. */
static int bind_unreadable(const struct conf_doc *d, const char *path, const json_t *v,
			   struct unreadable_conf *u, struct conf_error *e)
{
	const char *word = json_string_value(v);
	json_t *obj;
	int rc;

	if (word && (!strcmp(word, "last-rate") || !strcmp(word, "nothing"))) {
		*u = (struct unreadable_conf){ .mode = *word == 'l' ? UNREADABLE_LAST_RATE
								    : UNREADABLE_NOTHING };
		return 0;
	}
	obj = json_pack("{s:O}", "unreadable", v);
	if (!obj)
		return conf_fail_key(d, path, "unreadable", e, "no memory for it");
	rc = conf_bind(d, path, obj, unreadable_keys, NULL, u, e);
	json_decref(obj);
	if (rc)
		return conf_fail_key(d, path, "unreadable", e,
				     "unreadable is %s%s%s: write \"last-rate\", \"nothing\", or a "
				     "rate such as \"100MB/s\", up to 1TiB/s",
				     word ? "\"" : "", word ? word : "not a rate",
				     word ? "\"" : "");
	u->mode = UNREADABLE_RATE;
	return 0;
}

/* The keys that are not in guest_keys: objects, and the caller's. */
static int other_keys(const char *const *also, const char **all)
{
	uint32_t n = 0;

	all[n++] = "sla";
	all[n++] = "unreadable";
	for (; also && *also; also++) {
		if (n > SETTINGS_ALSO_MAX + 1)
			return -EINVAL;
		all[n++] = *also;
	}
	all[n] = NULL;
	return 0;
}

int settings_bind_guest(const struct conf_doc *d, const char *path, const json_t *obj,
			const char *const *also, struct guest_conf *g, struct conf_error *e)
{
	const char *all[SETTINGS_ALSO_MAX + 3];
	/* A copy: after an error in the last key the first ones must not be in force. */
	struct guest_conf in = *g;
	const json_t *sla, *unreadable;
	char at[192];
	int rc;

	if (other_keys(also, all))
		return conf_fail(d, path, e, "more than %d further keys", SETTINGS_ALSO_MAX);
	rc = conf_bind(d, path, obj, guest_keys, all, &in, e);
	if (rc)
		return rc;
	sla = json_object_get(obj, "sla");
	if (sla) {
		snprintf(at, sizeof(at), "%s%ssla", path, *path ? "." : "");
		rc = bind_sla(d, at, sla, &in.sla, e);
	}
	unreadable = json_object_get(obj, "unreadable");
	if (!rc && unreadable)
		rc = bind_unreadable(d, path, unreadable, &in.unreadable, e);
	if (!rc)
		rc = check_caps(d, path, &in, e);
	if (!rc)
		rc = check_counter(d, path, &in.counter, e);
	if (!rc)
		*g = in;
	return rc;
}

void settings_guest_default(struct guest_conf *g)
{
	*g = (struct guest_conf){
		.weight = 256, /* Xen's default */
		.min_cap = 1,
	};
}
