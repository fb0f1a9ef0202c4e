// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario_schema: the schema of a scenario: what each key does, and which objects are in which.
 * Types, ranges and defaults are those of the tables in scenario*.c; links, policies and settings
 * of guests are those of resexd.json (src/conf/schema.h). See scenario.h.
 */
#include "src/conf/schema.h"
#include "src/lab/scenario.h"

static const struct conf_says top_says[] = {
	{ "name", "Its name, for the summary." },
	{ "duration", "How long it runs." },
	{ "series",
	  "The summary has figures of each piece of this length, too; without it, none." },
	{ "clock", "simulated: as fast as possible; real: resex can ask while it runs." },
	{ "seed", "Of all that is drawn at random." },
	{ "histogram", "The summary has the histogram of latencies, too." },
	{ "host", "The simulated host." },
	{ "hosts", "A list of one host, instead of host." },
	{ "links", "The ports of the host; without it, the paper's link." },
	{ "policy", "The pricing policy: its name, or as in a policy file." },
	{ "guests", "The guests, and what runs in them." },
	{ "events", "What an operator or a guest does, and when." },
	{ "swap", "Two guests whose memory is read as the other's." },
	{ NULL, NULL },
};

static const struct conf_says host_says[] = {
	{ "scheduler", "Xen's scheduler." },
	{ "cap_period", "After which a cap is refilled." },
	{ "ignore_caps", "True: caps are set and shown, and limit nothing." },
	{ "interval", "How often use is counted and caps are decided." },
	{ "epoch", "How often balances are issued: a whole number of intervals." },
	{ NULL, NULL },
};

static const struct conf_says guest_says[] = {
	{ "name", "Letters, digits and . _ + - only." },
	{ "vcpus", "Its virtual CPUs." },
	{ "cap", "The cap that its operator set before the run, of one CPU; 0: none." },
	{ "blind", "Its memory is not read, and its use is unknown." },
	{ "later", "It is not there until an event creates it." },
	{ "apps", "What runs in it." },
	{ NULL, NULL },
};

static const struct conf_says app_says[] = {
	{ "name", "Its name; without it, its kind." },
	{ "kind", "What it does." },
	{ "op", "Of a sender: how it sends." },
	{ "size", "Of a message." },
	{ "depth", "Messages that are posted before the first is done." },
	{ "queue_pairs", "Of a sender: its queue pairs." },
	{ "mtu", "In bytes: 256, 512, 1024, 2048 or 4096; without it, the link's." },
	{ "rate", "Messages or requests a second; without it, as many as possible." },
	{ "burst", "Of a sender: messages that come at once." },
	{ "post", "CPU time to post a message." },
	{ "compute", "Of a server: mean CPU time of a request." },
	{ "variation", "Of compute: deviation divided by mean." },
	{ "distribution", "Of compute: how it varies." },
	{ "think", "Of a server's clients: from a reply to the next request." },
	{ "think_variation", "Of think: deviation divided by mean." },
	{ "think_distribution", "Of think: how it varies." },
	{ "busy", "It works for so long, and is quiet then." },
	{ "quiet", "It does nothing for so long." },
	{ "clients", "Of a server: how many wait for a reply at a time." },
	{ "report", "Of a server: the latency that it reports, of the true one." },
	{ "report_stop", "Of a server: it reports nothing from then on." },
	{ "start", "When it starts." },
	{ "stop", "When it stops; without it, at the end." },
	{ NULL, NULL },
};

static const struct conf_says event_says[] = {
	{ "at", "When it happens." },
	{ "do", "What happens." },
	{ "guest", "To which guest." },
	{ "cap", "Of cap: the cap that an operator sets, of one CPU; 0: none." },
	{ "policy", "Of policy: the one that is put in force." },
	{ "set", "Of guest-set: the settings that change." },
	{ NULL, NULL },
};

static json_t *guests_schema(void)
{
	const struct conf_table guest = scenario_table(SCENARIO_GUEST);
	const struct conf_table app = scenario_table(SCENARIO_APP);
	/* No counter of real hardware is read for a simulated guest. */
	json_t *o = schema_drop(schema_guest(&guest, guest_says), "counter");

	o = schema_put(o, scenario_app_list.key,
		       schema_list(&scenario_app_list, schema_object(&app, app_says)), guest_says);
	return schema_list(&scenario_guest_list, o);
}

static json_t *events_schema(void)
{
	const struct conf_table t = scenario_table(SCENARIO_EVENT);
	json_t *o = schema_object(&t, event_says);

	o = schema_put(o, "policy", schema_policy(), event_says);
	/* A simulated guest stays on its link. */
	o = schema_put(o, "set", schema_drop(schema_guest(NULL, NULL), "link"), event_says);
	return schema_list(&scenario_event_list, o);
}

static json_t *host_schema(void)
{
	const struct conf_table t = scenario_table(SCENARIO_HOST);

	return schema_object(&t, host_says);
}

/* As for guests. */
static json_t *links_schema(void)
{
	json_t *links = schema_links();

	schema_drop(json_object_get(links, "items"), "counter");
	return links;
}

/* A list of exactly n. */
static json_t *list_of(int n, json_t *element)
{
	return json_pack("{s:s, s:o, s:i, s:i}", "type", "array", "items", element, "minItems", n,
			 "maxItems", n);
}

json_t *scenario_schema(void)
{
	const struct conf_table top = scenario_table(SCENARIO_TOP);
	json_t *o = schema_object(&top, top_says);

	o = schema_put(o, "host", host_schema(), top_says);
	o = schema_put(o, "hosts", list_of(1, host_schema()), top_says);
	o = schema_put(o, "links", links_schema(), top_says);
	o = schema_put(o, "policy", schema_policy(), top_says);
	o = schema_must(o, scenario_guest_list.key, guests_schema(), top_says);
	o = schema_put(o, scenario_event_list.key, events_schema(), top_says);
	o = schema_put(o, "swap", list_of(2, schema_string(NULL)), top_says);
	return schema_top(o, "resex-scenario(5): guests on a simulated host");
}
