// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * option_rows: the table of all options. From it come getopt's lists, the help of each
 * role, the valid ranges, the roles of each option, and "conf" of a result.
 */
#include <stddef.h>
#include <string.h>

#include "resex/agent_socket.h"
#include "src/benchex/option_rows.h"
#include "src/util/utf8.h"

/* A year; and one request each 10 ns. */
enum { SECONDS_MAX = 366 * 24 * 3600, RATE_MAX = 100000000 };

/* More lines than a hundred a second would be the load that is measured. */
#define PROGRESS_MIN 10000000ull /* ns */
#define PROGRESS_MAX 86400000000000ull

#define AT(member) offsetof(struct bx_conf, member)

/*
 * An option is added here alone. Its member of struct bx_conf has the type that enum value
 * names: set_option() in options.c writes through the offset.
 */
const struct row bx_rows[] = {
	{ "bind", 'b', FOR_ANY, VALUE_TEXT, AT(bind), 0, 0, "ADDRESS",
	  "own address, which also chooses the device (any)" },
	{ "port", 'p', FOR_ANY, VALUE_U16, AT(port), 1, 65535, "N", "port of the server (18620)" },
	{ "events", 'e', FOR_ANY, VALUE_FLAG, AT(events), 0, 0, NULL,
	  "sleep until work completes, instead of polling" },
	{ "seconds", 'T', FOR_ANY, VALUE_U64, AT(seconds), 0, SECONDS_MAX, "N",
	  "end after N seconds; 0: at a signal (server 0, others 10 without -n)" },
	{ "requests", 'n', FOR_CLIENT | FOR_BULK, VALUE_U64, AT(requests), 1, 1ull << 62, "N",
	  "end after N requests of each client, messages of each queue pair" },
	{ "depth", 'D', FOR_ANY, VALUE_U32, AT(depth), 1, BX_DEPTH_MAX, "N",
	  "most answers, requests of a client, or messages of a queue pair under way (1)" },
	{ "size", 's', FOR_CLIENT | FOR_BULK, VALUE_RANGE, AT(size), 1, BX_SIZE_MAX, "SIZE[-SIZE]",
	  "bytes of an answer (64K), of a message (2M); any within a range" },
	{ "rate", 'r', FOR_CLIENT | FOR_BULK, VALUE_U64, AT(rate), 1, RATE_MAX, "N",
	  "a second: requests of each client, messages in all (unlimited)" },
	{ "once", '1', FOR_SERVER, VALUE_FLAG, AT(once), 0, 0, NULL,
	  "end when the first client has left" },
	{ "size-max", 'M', FOR_SERVER, VALUE_SIZE, AT(size_max), 1, BX_SIZE_MAX, "SIZE",
	  "largest answer that clients may request (2M)" },
	{ "options-max", 'O', FOR_SERVER, VALUE_U32, AT(options_max), 0, BX_OPTIONS_MAX, "N",
	  "most options that clients may request to be priced at once (16384)" },
	{ "report", 'R', FOR_SERVER, VALUE_REPORT, AT(agent), 0, 0, NULL,
	  "report times to resex-agent, at " AGENT_SOCKET },
	{ "agent", 'a', FOR_SERVER, VALUE_TEXT, AT(agent), 0, 0, "SOCKET",
	  "report times to resex-agent, at this socket" },
	{ "clients", 'c', FOR_CLIENT, VALUE_U32, AT(clients), 1, BX_QPS_MAX, "N",
	  "connections (1)" },
	{ "options", 'o', FOR_CLIENT, VALUE_U32, AT(options), 0, BX_OPTIONS_MAX, "N",
	  "options to price for each request (100)" },
	{ "think", 'K', FOR_CLIENT, VALUE_NS, AT(think_ns), 1, 10000000000, "TIME",
	  "from an answer to the client's next request, as 5ms (none)" },
	{ "trace", 't', FOR_CLIENT, VALUE_TEXT, AT(trace), 0, 0, "FILE",
	  "read times, sizes and work of requests from this file" },
	{ "qps", 'q', FOR_BULK, VALUE_U32, AT(qps), 1, BX_QPS_MAX, "N", "queue pairs (1)" },
	{ "mix", 'm', FOR_BULK, VALUE_MIX, AT(weight), 1, 1000000, "OP[=N],...",
	  "operations and how often each, as write=3,read (write)" },
	{ "burst", 'B', FOR_BULK, VALUE_U32, AT(burst), 1, BX_DEPTH_MAX, "N",
	  "with --rate: messages sent together, less often (1)" },
	{ "cq-entries", 'C', FOR_BULK, VALUE_U32, AT(cq_entries), 1, 1 << 20, "N",
	  "entries of the completion queue (as many as needed)" },
	{ "work", 'w', FOR_BULK, VALUE_PER_KIB, AT(work_ns_per_kib), 1, 1000000000, "TIME",
	  "compute before each message, TIME for each KiB of it, as 500ns" },
	{ "control", 'k', FOR_BULK, VALUE_U64, AT(control_per_s), 1, 1000000, "N",
	  "make and destroy a queue pair and a region N times a second" },
	{ "profile", 'P', FOR_CLIENT | FOR_BULK, VALUE_PROFILE, AT(profile), 0, 0, "NAME",
	  "settings of a victim or attacker; later options change them" },
	{ "seed", 'S', FOR_ANY, VALUE_U64, AT(seed), 0, INT64_MAX, "N",
	  "seed of random sizes, prices and operations (1)" },
	{ "json", 'j', FOR_ANY, VALUE_FLAG, AT(json), 0, 0, NULL,
	  "print the result as JSON, one object on one line" },
	{ "progress", 'i', FOR_ANY, VALUE_SECONDS, AT(progress_ns), PROGRESS_MIN, PROGRESS_MAX,
	  "SECONDS", "interval of progress lines on stderr, as 1, 0.5 or 100ms (none)" },
	{ "help", 'h', FOR_ANY, VALUE_HELP, 0, 0, 0, NULL, "show this" },
	{ "version", 'V', FOR_ANY, VALUE_VERSION, 0, 0, 0, NULL, "show the version" },
};

const char *const bx_role_names[BX_ROLES] = { "server", "client", "bulk" };

static const char *const op_names[BX_OPS] = {
	"send", "send_imm", "write", "write_imm", "read", "fetch_add", "cmp_swap",
};

const char *bx_op_name(enum bx_op op)
{
	return op < BX_OPS ? op_names[op] : "?";
}

/* --- help --- */

static void print_row(const struct row *r)
{
	char left[64];

	snprintf(left, sizeof(left), "-%c, --%s%s%s", r->letter, r->name, r->arg ? " " : "",
		 r->arg ? r->arg : "");
	printf("  %-22s %s\n", left, r->text);
}

void bx_help_role(enum bx_role role)
{
	static const char *const does[BX_ROLES] = {
		"Answers clients, first come, first served, until a signal.",
		"Sends requests to a server and measures how long their answers take.",
		"Moves data to or from a server, by any operation, to disturb others.",
	};

	printf("Usage: benchex %s%s [OPTION]...\n%s\n\n", bx_role_names[role],
	       role == BX_SERVER ? "" : " HOST", does[role]);
	for (size_t i = 0; i < ROWS; i++)
		if (bx_rows[i].roles & (1u << role))
			print_row(&bx_rows[i]);
	puts("\nK and M after a size are 1024 and 1048576. Defaults are in brackets. See "
	     "benchex(1).");
}

/* --- as JSON --- */

json_t *bx_text_json(const char *s)
{
	char shown[4096];

	if (utf8_good(s))
		return json_string(s);
	utf8_escape(s, shown, sizeof(shown));
	return json_string(shown);
}

static json_t *mix_json(const uint32_t weight[BX_OPS])
{
	json_t *o = json_object();
	uint32_t any = 0;

	for (int op = 0; op < BX_OPS; op++)
		any |= weight[op];
	for (int op = 0; o && op < BX_OPS; op++)
		if (weight[op] || (!any && op == BX_WRITE))
			json_object_set_new(o, op_names[op], json_integer(any ? weight[op] : 1));
	return o;
}

static json_t *value_json(const struct row *r, const struct bx_conf *c)
{
	const void *at = (const char *)c + r->offset;
	const struct bx_range *range = at;
	const char *s;

	switch (r->value) {
	case VALUE_FLAG:
		return json_boolean(*(const bool *)at);
	case VALUE_TEXT:
	case VALUE_PROFILE:
		s = *(const char *const *)at;
		return s ? bx_text_json(s) : json_null();
	case VALUE_U16:
		return json_integer(*(const uint16_t *)at);
	case VALUE_U32:
	case VALUE_SIZE:
		return json_integer(*(const uint32_t *)at);
	case VALUE_RANGE:
		return json_pack("[I, I]", (json_int_t)range->min, (json_int_t)range->max);
	case VALUE_MIX:
		return mix_json(at);
	default:
		return json_integer((json_int_t) * (const uint64_t *)at);
	}
}

/*
 * "conf" is compared by merge: what does not change the load is left out, and the seed has
 * a key of its own.
 */
static bool in_json(const struct row *r, enum bx_role role)
{
	return (r->roles & (1u << role)) && r->value != VALUE_REPORT && r->value != VALUE_HELP &&
	       r->value != VALUE_VERSION && r->offset != AT(json) && r->offset != AT(seed);
}

json_t *bx_conf_json(const struct bx_conf *c)
{
	json_t *o = json_object();
	char key[32];
	int rc = o ? 0 : -1;

	if (!rc && c->role != BX_SERVER && c->host)
		rc = json_object_set_new(o, "host", bx_text_json(c->host));
	for (size_t i = 0; !rc && i < ROWS; i++) {
		const struct row *r = &bx_rows[i];
		bool ns = r->value == VALUE_SECONDS || r->value == VALUE_NS;

		if (!in_json(r, c->role))
			continue;
		snprintf(key, sizeof(key), "%s%s", r->name,
			 ns			     ? "_ns"
			 : r->value == VALUE_PER_KIB ? "_ns_per_kib"
						     : "");
		for (char *p = key; *p; p++)
			*p = *p == '-' ? '_' : *p;
		rc = json_object_set_new(o, key, value_json(r, c));
	}
	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}
