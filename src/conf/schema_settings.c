// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_settings: the schema of resexd.json: what each key does, and which objects are in which.
 * Types, ranges and defaults are those of the tables in settings.c and guest.c. See schema.h.
 */
#include <stdlib.h>

#include "src/conf/schema.h"
#include "src/conf/settings.h"

static const struct conf_says top_says[] = {
	{ "interval", "How often use is counted and caps are decided." },
	{ "epoch", "How often balances are issued: a whole number of intervals." },
	{ "policy", "The pricing policy: see resex-policies(7)." },
	{ "policy_file", "A file with the policy's parameters; empty: their defaults." },
	{ "policy_dir", "The directory with policy plug-ins: see resex-policy(7)." },
	{ "layout_dir", "The directory with layouts of rings: see libibmon(3); empty: none." },
	{ "socket", "Where resex asks resexd." },
	{ "socket_group", "Members of this group may ask, but change nothing; empty: root alone." },
	{ "state_dir", "Where caps are saved, and in a cluster this host's generation." },
	{ "lock_file", "Held while resexd runs, so that a second one does not." },
	{ "cluster_file", "The file of the cluster, see cluster.json(5); empty: a host alone." },
	{ "realtime_priority", "Of the thread that counts; 0: none." },
	{ "lock_memory", "Keep all of resexd in memory." },
	{ "links", "The ports of this host." },
	{ "guests", "Settings of guests by name or UUID; default is for all others." },
	{ "limits", "What one guest can make this host map." },
	{ "crosscheck", "The comparison of what guests claim with counters." },
	{ NULL, NULL },
};

static const struct conf_says link_says[] = {
	{ "name", "Its name, for link of guests." },
	{ "rate", "Its capacity after line coding." },
	{ "mtu", "In bytes: 256, 512, 1024, 2048 or 4096." },
	{ "profile", "scaled: 1,048,576 Resos a second at any rate; paper-2011: one Reso a MTU." },
	{ "counter",
	  "Compared with what all guests of the link claim: none, or port:DEVICE/PORT." },
	{ NULL, NULL },
};

static const struct conf_says guest_says[] = {
	{ "weight", "Its share of its link's pool relative to other guests." },
	{ "exempt", "Charge it, but never cap it." },
	{ "min_cap", "The lowest cap, of one CPU." },
	{ "max_cap", "The highest cap, of one CPU; 0: none." },
	{ "link", "The name of its link; without it the first one." },
	{ "counter", "Compared with what it claims: auto, none, vif, or vf:INTERFACE/NUMBER." },
	{ "sla", "What it was promised; base figures come together, or are learned." },
	{ "unreadable", "What it is charged while a queue that it publishes cannot be read." },
	{ NULL, NULL },
};

static const struct conf_says sla_says[] = {
	{ "tolerance", "How far latency may exceed its base; 0: as the policy says." },
	{ "base", "The whole latency of a request while nobody disturbs it." },
	{ "base_io", "The part of it that is spent waiting for I/O." },
	{ "base_deviation", "Its standard deviation." },
	{ NULL, NULL },
};

static const struct conf_says limit_says[] = {
	{ "rings", "Queues of a guest." },
	{ "pages", "Pages of 4 KiB of its queues." },
	{ NULL, NULL },
};

static const struct conf_says crosscheck_says[] = {
	{ "off", "Compare nothing." },
	{ "window", "Over which time the bytes are compared." },
	{ "tolerance", "How much more than the explained bytes may be sent, of these." },
	{ "floor", "Less than this unexplained is no divergence; 0: a twentieth of the link." },
	{ NULL, NULL },
};

/* Names of devices and numbers up to 65535, as counter_parse_link() and counter_parse_guest(). */
#define DEVICE(most)  "[0-9A-Za-z_][0-9A-Za-z_.-]{0," most "}"
#define NUMBER	      "([0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
#define LINK_COUNTER  "^(none|port:" DEVICE("62") "/" NUMBER ")$"
#define GUEST_COUNTER "^(auto|none|vif|vf:" DEVICE("14") "/" NUMBER ")$"

json_t *schema_links(void)
{
	const struct conf_table t = settings_table(SETTINGS_LINK, NULL);
	json_t *o = schema_object(&t, link_says);

	o = schema_narrow(o, "mtu",
			  json_pack("{s:[i,i,i,i,i]}", "enum", 256, 512, 1024, 2048, 4096));
	o = schema_narrow(o, "counter", json_pack("{s:s}", "pattern", LINK_COUNTER));
	return schema_list(&settings_links, o);
}

json_t *schema_guest(const struct conf_table *more, const struct conf_says *says)
{
	const struct conf_table sla = settings_sla_table(), rate = settings_unreadable_table();
	struct guest_conf defaults;
	struct conf_table t;
	json_t *o;

	settings_guest_default(&defaults);
	t = settings_guest_table(&defaults);
	o = schema_object(&t, guest_says);
	o = schema_narrow(o, "counter", json_pack("{s:s}", "pattern", GUEST_COUNTER));
	o = schema_put(o, "sla", schema_object(&sla, sla_says), guest_says);
	o = schema_put(
		o, "unreadable",
		schema_either(schema_words(settings_unreadable_words), schema_value(&rate.keys[0])),
		guest_says);
	return more ? schema_more(o, more, says) : o;
}

/* An object whose keys are names. */
static json_t *guests_schema(void)
{
	return json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
			 schema_guest(NULL, NULL));
}

static json_t *whole(const struct daemon_conf *c)
{
	const struct conf_table top = settings_table(SETTINGS_TOP, c);
	const struct conf_table limits = settings_table(SETTINGS_LIMITS, c);
	const struct conf_table crosscheck = settings_table(SETTINGS_CROSSCHECK, c);
	json_t *policy = schema_policy_name(), *o = schema_object(&top, top_says);

	json_object_set_new(policy, "default", json_string(c->policy));
	o = schema_put(o, "policy", policy, top_says);
	o = schema_must(o, settings_links.key, schema_links(), top_says);
	o = schema_put(o, "guests", guests_schema(), top_says);
	o = schema_put(o, "limits", schema_object(&limits, limit_says), top_says);
	o = schema_put(o, "crosscheck", schema_object(&crosscheck, crosscheck_says), top_says);
	return schema_top(o, "resexd.json(5): configuration of resexd");
}

json_t *schema_settings(void)
{
	struct daemon_conf *c = calloc(1, sizeof(*c));
	json_t *schema = NULL;

	if (!c)
		return NULL;
	settings_default(c);
	schema = whole(c);
	free(c);
	return schema;
}
