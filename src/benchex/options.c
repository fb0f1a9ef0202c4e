// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * options: parse the command line into struct bx_conf.
 *
 * option_rows.c has the table of all options; this file parses their values and
 * refuses values and combinations that make no sense.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "resex/agent_socket.h"
#include "resex/exit.h"
#include "src/benchex/option_rows.h"
#include "src/util/cmdline.h"
#include "src/util/utf8.h"

enum { SECONDS_DEFAULT = 10, SHOWN = 128 };

static void print_usage(void)
{
	puts("Usage: benchex server [OPTION]...\n"
	     "       benchex client HOST [OPTION]...\n"
	     "       benchex bulk HOST [OPTION]...\n"
	     "       benchex merge [-j] [--parallel] FILE...\n"
	     "       benchex profiles [-j]\n"
	     "\n"
	     "  server     a trading exchange: prices options, answers by RDMA WRITE\n"
	     "  client     traders: time-stamped requests, and how long answers took\n"
	     "  bulk       a neighbour: data for its own sake, by any operation\n"
	     "  merge      add up results printed with --json\n"
	     "  profiles   attackers and victims for --profile\n"
	     "\n"
	     "  -h, --help      show this; benchex client --help shows the options of client\n"
	     "  -V, --version   show the version\n"
	     "\n"
	     "See benchex(1).");
}

/*
 * What bx_options() returns after printing; rc: 0 or -errno of printing. A full disk must
 * not look like success.
 */
static int printed(int rc)
{
	if (!rc)
		return -1;
	fprintf(stderr, "benchex: output: %s\n", strerror(-rc));
	return RESEX_FAILURE;
}

static int print_version(void)
{
	puts("benchex " PACKAGE_VERSION);
	return printed(bx_flush(stdout));
}

/* --- values --- */

struct parse {
	struct bx_conf *conf;
	struct cmdline line; /* of the role */
	bool given[ROWS];
};

/* Print "benchex: WORD: sentence". word comes from the command line and is escaped. */
__attribute__((format(printf, 2, 3))) static int usage_error(const char *word, const char *fmt, ...)
{
	char shown[SHOWN];
	va_list ap;

	utf8_escape(word, shown, sizeof(shown));
	fprintf(stderr, "benchex: %s: ", shown);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return RESEX_USAGE;
}

static struct bx_bounds bounds(const struct row *r)
{
	return (struct bx_bounds){ r->min, r->max };
}

/* The valid range of an option's value, in words. */
static void show_range(const struct row *r, char *buf, size_t size)
{
	char min[24], max[24];

	if (r->value == VALUE_SECONDS) {
		snprintf(buf, size, "a time from %gs to %gs", (double)r->min / 1e9,
			 (double)r->max / 1e9);
	} else if (r->value == VALUE_NS || r->value == VALUE_PER_KIB) {
		snprintf(buf, size, "a time from %" PRIu64 "ns to %gs", r->min,
			 (double)r->max / 1e9);
	} else if (r->value == VALUE_SIZE || r->value == VALUE_RANGE) {
		bx_size_show(r->min, min);
		bx_size_show(r->max, max);
		snprintf(buf, size, "bytes from %s to %s, as 64K%s", min, max,
			 r->value == VALUE_RANGE ? " or 4K-64K" : "");
	} else {
		snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, r->min, r->max);
	}
}

/* Print "benchex: --OPTION VALUE: remedy". */
static int refuse_value(const struct row *r, const char *arg, const char *remedy)
{
	char word[SHOWN];

	snprintf(word, sizeof(word), "--%s %s", r->name, arg);
	return usage_error(word, "%s", remedy);
}

static int wrong_value(const struct row *r, const char *arg)
{
	char range[96], remedy[104];

	show_range(r, range, sizeof(range));
	snprintf(remedy, sizeof(remedy), "give %s", range);
	return refuse_value(r, arg, remedy);
}

static int parse_range(const struct row *r, const char *arg, struct bx_range *out)
{
	const char *dash = strchr(arg, '-');
	size_t first = dash ? (size_t)(dash - arg) : strlen(arg);
	const char *second = dash ? dash + 1 : arg;
	uint64_t min, max;

	if (bx_size(arg, first, bounds(r), &min) ||
	    bx_size(second, strlen(second), bounds(r), &max) || min > max)
		return -EINVAL;
	*out = (struct bx_range){ (uint32_t)min, (uint32_t)max };
	return 0;
}

/* Parse one "op" or "op=weight" of a mix; each operation may appear once. */
static int parse_share(const struct row *r, const char *s, size_t len, uint32_t weight[BX_OPS])
{
	const char *eq = memchr(s, '=', len);
	size_t name = eq ? (size_t)(eq - s) : len;
	uint64_t w = 1;

	if (eq && bx_number(eq + 1, len - name - 1, bounds(r), &w))
		return -EINVAL;
	for (size_t i = 0; i < BX_OPS; i++)
		if (strlen(bx_op_name((enum bx_op)i)) == name &&
		    !memcmp(s, bx_op_name((enum bx_op)i), name) && !weight[i]) {
			weight[i] = (uint32_t)w;
			return 0;
		}
	return -EINVAL;
}

static int parse_mix(const struct row *r, const char *arg, uint32_t out[BX_OPS])
{
	uint32_t weight[BX_OPS] = { 0 };
	const char *s = arg, *comma;

	do {
		comma = strchr(s, ',');
		if (parse_share(r, s, comma ? (size_t)(comma - s) : strlen(s), weight))
			return refuse_value(r, arg,
					    "give operations, each once, as write or "
					    "write=3,read=1: send, send_imm, write, write_imm, "
					    "read, fetch_add, cmp_swap");
		s = comma ? comma + 1 : NULL;
	} while (s);
	memcpy(out, weight, sizeof(weight));
	return 0;
}

/*
 * A profile is applied at its place in the command line: options behind it change it,
 * options before it are overwritten.
 */
static int apply_profile(struct parse *p, const struct row *r, const char *arg)
{
	const struct bx_profile *profile = bx_profile_find(arg);

	if (!profile)
		return refuse_value(r, arg, "there is no such profile: see benchex profiles");
	if (p->conf->profile)
		return refuse_value(r, arg, "a profile was given before: leave out one of both");
	profile->apply(p->conf);
	p->conf->profile = profile->name;
	return 0;
}

static int parse_figure(const struct row *r, const char *arg, void *at)
{
	size_t len = strlen(arg);
	uint64_t v;
	int rc;

	switch (r->value) {
	case VALUE_SIZE:
		rc = bx_size(arg, len, bounds(r), &v);
		break;
	case VALUE_SECONDS:
		rc = bx_time(arg, len, 1000000000, bounds(r), &v);
		break;
	case VALUE_NS:
	case VALUE_PER_KIB:
		rc = bx_time(arg, len, 1, bounds(r), &v);
		break;
	default:
		rc = bx_number(arg, len, bounds(r), &v);
	}
	if (rc)
		return wrong_value(r, arg);
	if (r->value == VALUE_U16)
		*(uint16_t *)at = (uint16_t)v;
	else if (r->value == VALUE_U32 || r->value == VALUE_SIZE)
		*(uint32_t *)at = (uint32_t)v;
	else
		*(uint64_t *)at = v;
	return 0;
}

/* The socket that resex_report_open() uses by default. */
static const char *usual_socket(void)
{
	const char *path = getenv("RESEX_AGENT_SOCKET");

	return path && *path ? path : AGENT_SOCKET;
}

static int set_option(struct parse *p, const struct row *r, const char *arg)
{
	void *at = (char *)p->conf + r->offset;

	p->given[r - bx_rows] = true;
	switch (r->value) {
	case VALUE_FLAG:
		*(bool *)at = true;
		return 0;
	case VALUE_REPORT:
		*(const char **)at = usual_socket();
		return 0;
	case VALUE_TEXT:
		*(const char **)at = arg;
		return 0;
	case VALUE_RANGE:
		return parse_range(r, arg, at) ? wrong_value(r, arg) : 0;
	case VALUE_MIX:
		return parse_mix(r, arg, at);
	case VALUE_PROFILE:
		return apply_profile(p, r, arg);
	case VALUE_HELP:
		bx_help_role(p->conf->role);
		return printed(bx_flush(stdout));
	case VALUE_VERSION:
		return print_version();
	default:
		return parse_figure(r, arg, at);
	}
}

/* --- combinations --- */

/* A value that equals the default was still given: only this tells. */
static bool is_given(const struct parse *p, const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(bx_rows[i].name, name))
			return p->given[i];
	return false;
}

static bool only_atomics(const struct bx_conf *c)
{
	uint32_t others = 0;

	for (int op = 0; op < BX_OPS; op++)
		if (op != BX_FETCH_ADD && op != BX_CMP_SWAP)
			others |= c->weight[op];
	return !others && (c->weight[BX_FETCH_ADD] || c->weight[BX_CMP_SWAP]);
}

/*
 * Options that would have no effect are refused, so that a run measures what its command
 * line says.
 */
static int check_client(const struct parse *p)
{
	static const char *const in_trace[] = { "--rate", "--size", "--options", "--think",
						"--profile" };

	if (p->conf->control_per_s)
		return usage_error("--profile control",
				   "it makes no requests: use it with benchex bulk");
	for (size_t i = 0; p->conf->trace && i < sizeof(in_trace) / sizeof(in_trace[0]); i++)
		if (is_given(p, in_trace[i] + 2))
			return usage_error(in_trace[i],
					   "the trace says it: leave out this or --trace");
	if (p->conf->think_ns && p->conf->rate)
		return usage_error("--think",
				   "with --rate requests do not wait for answers: leave out "
				   "one of both");
	return 0;
}

static int check_bulk(const struct parse *p)
{
	const struct bx_conf *c = p->conf;
	uint64_t posted = (uint64_t)c->depth * c->qps;

	if (is_given(p, "burst") && !c->rate)
		return usage_error("--burst",
				   "without --rate no message waits for its time: give --rate");
	if (c->burst > posted)
		return usage_error("--burst",
				   "%" PRIu32 " messages together, but only %" PRIu64
				   " may be under way: give a larger --depth or --qps",
				   c->burst, posted);
	if (is_given(p, "size") && only_atomics(c) && (c->size.min != 8 || c->size.max != 8))
		return usage_error("--size", "atomics move 8 bytes each: leave out --size");
	return 0;
}

/* Defaults that depend on other options are set here, when all options are known. */
static int check_conf(struct parse *p)
{
	struct bx_conf *c = p->conf;

	if (is_given(p, "report") && is_given(p, "agent"))
		return usage_error("--report", "--agent says this, too: leave out --report");
	if (c->role != BX_SERVER && !is_given(p, "seconds") && !is_given(p, "requests"))
		c->seconds = SECONDS_DEFAULT;
	if (only_atomics(c) && !is_given(p, "size"))
		c->size = (struct bx_range){ 8, 8 };
	if (c->role == BX_CLIENT)
		return check_client(p);
	return c->role == BX_BULK ? check_bulk(p) : 0;
}

/* --- the command line --- */

static int unexpected_word(const struct parse *p, const char *word)
{
	char error[256];

	cmdline_unexpected(&p->line, word, error, sizeof(error));
	fprintf(stderr, "benchex: %s\n", error);
	return RESEX_USAGE;
}

static int parse_host(const struct parse *p, int argc, char **argv)
{
	struct bx_conf *c = p->conf;
	const char *role = bx_role_names[c->role];

	if (c->role == BX_SERVER)
		return optind < argc ? unexpected_word(p, argv[optind]) : 0;
	if (optind == argc || !*argv[optind])
		return usage_error(role, "the server is missing: give benchex %s HOST", role);
	if (optind + 1 < argc)
		return unexpected_word(p, argv[optind + 1]);
	c->host = argv[optind];
	return 0;
}

static const struct row *row_of(int letter)
{
	for (size_t i = 0; i < ROWS; i++)
		if (bx_rows[i].letter == letter)
			return &bx_rows[i];
	return NULL;
}

/* The roles that have an option, in words. */
static const char *roles_of(const struct row *r)
{
	return r->roles == FOR_SERVER		     ? "server"
	       : r->roles == FOR_CLIENT		     ? "client"
	       : r->roles == FOR_BULK		     ? "bulk"
	       : r->roles == (FOR_CLIENT | FOR_BULK) ? "client and bulk"
						     : "all";
}

static int wrong_role(const struct parse *p, const struct row *r)
{
	fprintf(stderr, "benchex: --%s is for %s, not for %s: see %s\n", r->name, roles_of(r),
		bx_role_names[p->conf->role], p->line.help);
	return RESEX_USAGE;
}

static int parse_options(struct parse *p, int argc, char **argv)
{
	struct option longs[ROWS + 1] = { 0 };
	char error[256];
	int letter, rc;

	for (size_t i = 0; i < ROWS; i++)
		longs[i] = (struct option){ bx_rows[i].name, bx_rows[i].arg != NULL, NULL,
					    bx_rows[i].letter };
	p->line.argc = argc;
	p->line.argv = argv;
	p->line.longs = longs;
	cmdline_begin(&p->line);
	while ((letter = cmdline_next(&p->line, error, sizeof(error))) >= 0) {
		const struct row *r = row_of(letter);

		if (!(r->roles & (1u << p->conf->role)))
			return wrong_role(p, r);
		rc = set_option(p, r, optarg);
		if (rc)
			return rc;
	}
	p->line.longs = NULL;
	if (letter == CMDLINE_END)
		return 0;
	fprintf(stderr, "benchex: %s\n", error);
	return RESEX_USAGE;
}

static int profiles_command(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct cmdline line = {
		.argc = argc, .argv = argv, .longs = longs, .help = "benchex profiles --help"
	};
	bool json = false;
	char error[256];
	int letter;

	cmdline_begin(&line);
	while ((letter = cmdline_next(&line, error, sizeof(error))) >= 0) {
		if (letter == 'h') {
			puts("Usage: benchex profiles [-j]\n"
			     "Lists the profiles of attackers and victims. See benchex(1).");
			return printed(bx_flush(stdout));
		}
		json = true;
	}
	if (letter == CMDLINE_END && optind == argc)
		return printed(bx_profiles_print(stdout, json));
	if (letter == CMDLINE_END)
		cmdline_unexpected(&line, argv[optind], error, sizeof(error));
	fprintf(stderr, "benchex: %s\n", error);
	return RESEX_USAGE;
}

/* *conf is written only when all is valid. */
static int role_options(enum bx_role role, struct bx_conf *conf, int argc, char **argv)
{
	struct bx_conf c = {
		.role = role,
		.port = BX_PORT,
		.seed = 1,
		.depth = 1,
		.size_max = 2 << 20,
		.options_max = 16384,
		.clients = 1,
		.options = 100,
		.qps = 1,
		.burst = 1,
	};
	struct parse p = { .conf = &c };
	char help_command[32];
	uint32_t size = role == BX_BULK ? 2 << 20 : 64 << 10;
	int rc;

	c.size = (struct bx_range){ size, size };
	snprintf(help_command, sizeof(help_command), "benchex %s --help", bx_role_names[role]);
	p.line.help = help_command;
	rc = parse_options(&p, argc, argv);
	if (!rc)
		rc = parse_host(&p, argc, argv);
	if (!rc)
		rc = check_conf(&p);
	if (!rc)
		*conf = c;
	return rc;
}

static int wrong_first_word(const char *word)
{
	char shown[SHOWN];

	utf8_escape(word, shown, sizeof(shown));
	if (*word)
		fprintf(stderr, "benchex: unknown command \"%s\"", shown);
	else
		fputs("benchex: a command is missing", stderr);
	fputs(": give server, client HOST, bulk HOST, merge FILE or profiles: see benchex --help\n",
	      stderr);
	return RESEX_USAGE;
}

int bx_options(struct bx_conf *conf, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	int rc;

	for (int role = 0; role < BX_ROLES; role++)
		if (!strcmp(word, bx_role_names[role]))
			return role_options((enum bx_role)role, conf, argc - 1, argv + 1);
	if (!strcmp(word, "profiles"))
		return profiles_command(argc - 1, argv + 1);
	if (!strcmp(word, "merge")) {
		rc = bx_merge(argc - 1, argv + 1);
		return rc ? rc : -1;
	}
	if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
		print_usage();
		return printed(bx_flush(stdout));
	}
	if (!strcmp(word, "-V") || !strcmp(word, "--version"))
		return print_version();
	return wrong_first_word(word);
}
