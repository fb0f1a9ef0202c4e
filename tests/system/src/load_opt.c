// SPDX-License-Identifier: GPL-2.0-or-later
/* load_opt: the options of rdmaload, as one table. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/system/src/load.h"

static const char usage[] =
	"rdmaload - RDMA traffic over loopback that tells its truth at the end\n"
	"\n"
	"  -d, --device NAME       RDMA device (the first); --gid N its GID index\n"
	"  -q, --qps N             queue pairs that post (1)\n"
	"  -t, --types LIST        of rc,uc,ud; chosen at random per queue pair (rc)\n"
	"  -x, --mix LIST          send=2,send_imm,write,write_imm,read,fetch_add,cmp_swap;\n"
	"                          weights, or \"random\" (the default)\n"
	"  -s, --sizes A-B         bytes of a message (0-65536); A or B often, and MTU edges\n"
	"  -m, --mtu N             path MTU; 0: random per queue pair (0)\n"
	"  -D, --depth A-B         send queue depth, random per queue pair (1-64)\n"
	"  -u, --unsignalled PCT   of the work requests (0)\n"
	"  -i, --inline PCT        of those that fit; --max-inline BYTES (0)\n"
	"  -g, --sge N             pieces a message, at most (1)\n"
	"  -b, --batch N           work requests a post call, at most (1)\n"
	"      --wr-api PCT        of the post calls use ibv_wr_*(); --abort PCT of those\n"
	"      --refuse PCT        of the post calls at a full queue ask for more (ENOMEM)\n"
	"      --errors N          one in N work requests fails; then a new queue pair\n"
	"      --reset N           reset a queue pair about every N work requests;\n"
	"                          --reset-dirty: while some are waiting\n"
	"      --cycle N           destroy and create one about every N work requests\n"
	"      --resize MS         resize completion queues about this often\n"
	"  -p, --pace US           between post calls; -r, --rate N work requests a second\n"
	"  -n, --count A-B         work requests per stream (500-5000), or\n"
	"  -T, --seconds N         for so long\n"
	"      --burn-cpu PCT      spend CPU time as well\n"
	"      --fork              a child inherits the rings and sleeps\n"
	"      --wait              print READY, begin at \"go\" on stdin\n"
	"      --first             before READY, each queue pair does one work request\n"
	"      --hold S            after DONE, keep all open for S seconds or until \"end\"\n"
	"      --truth FILE        write the truth there too\n"
	"      --seed N            (from /dev/urandom)\n";

enum {
	O_GID = 256,
	O_MAX_INLINE,
	O_WR_API,
	O_ABORT,
	O_REFUSE,
	O_ERRORS,
	O_RESET,
	O_DIRTY,
	O_CYCLE,
	O_RESIZE,
	O_BURN,
	O_FORK,
	O_WAIT,
	O_FIRST,
	O_HOLD,
	O_TRUTH,
	O_SEED,
};

static const struct option longs[] = {
	{ "device", 1, NULL, 'd' },
	{ "gid", 1, NULL, O_GID },
	{ "qps", 1, NULL, 'q' },
	{ "types", 1, NULL, 't' },
	{ "mix", 1, NULL, 'x' },
	{ "sizes", 1, NULL, 's' },
	{ "mtu", 1, NULL, 'm' },
	{ "depth", 1, NULL, 'D' },
	{ "unsignalled", 1, NULL, 'u' },
	{ "inline", 1, NULL, 'i' },
	{ "sge", 1, NULL, 'g' },
	{ "batch", 1, NULL, 'b' },
	{ "pace", 1, NULL, 'p' },
	{ "rate", 1, NULL, 'r' },
	{ "count", 1, NULL, 'n' },
	{ "seconds", 1, NULL, 'T' },
	{ "help", 0, NULL, 'h' },
	/* long ones only */
	{ "max-inline", 1, NULL, O_MAX_INLINE },
	{ "wr-api", 1, NULL, O_WR_API },
	{ "abort", 1, NULL, O_ABORT },
	{ "refuse", 1, NULL, O_REFUSE },
	{ "errors", 1, NULL, O_ERRORS },
	{ "reset", 1, NULL, O_RESET },
	{ "reset-dirty", 0, NULL, O_DIRTY },
	{ "cycle", 1, NULL, O_CYCLE },
	{ "resize", 1, NULL, O_RESIZE },
	{ "burn-cpu", 1, NULL, O_BURN },
	{ "fork", 0, NULL, O_FORK },
	{ "wait", 0, NULL, O_WAIT },
	{ "first", 0, NULL, O_FIRST },
	{ "hold", 1, NULL, O_HOLD },
	{ "truth", 1, NULL, O_TRUTH },
	{ "seed", 1, NULL, O_SEED },
	{ NULL, 0, NULL, 0 },
};

static int bad(const char *what, const char *value)
{
	fprintf(stderr, "rdmaload: %s is not %s; see --help\n", value, what);
	return -EINVAL;
}

static int number(const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || v < min || v > max) {
		fprintf(stderr, "rdmaload: %s is not a number from %u to %u\n", s, min, max);
		return -EINVAL;
	}
	*out = (uint32_t)v;
	return 0;
}

static int range(const char *s, uint32_t min, uint32_t max, struct load_range *out)
{
	char first[16];
	const char *dash = strchr(s, '-');
	struct load_range r;
	int ret;

	if (!dash) {
		ret = number(s, min, max, &r.min);
		r.max = r.min;
	} else {
		if ((size_t)(dash - s) >= sizeof(first))
			return bad("a range A-B", s);
		memcpy(first, s, (size_t)(dash - s));
		first[dash - s] = '\0';
		ret = number(first, min, max, &r.min);
		ret = ret ? ret : number(dash + 1, r.min, max, &r.max);
	}
	if (!ret)
		*out = r;
	return ret;
}

static int mix_item(char *item, struct load_opts *o)
{
	static const char *const names[LOAD_OPS] = { "send", "send_imm",  "write",   "write_imm",
						     "read", "fetch_add", "cmp_swap" };
	char *value = strchr(item, '=');

	if (value)
		*value++ = '\0';
	for (int i = 0; i < LOAD_OPS; i++)
		if (!strcmp(item, names[i]))
			return value ? number(value, 0, 1000, &o->mix[i]) : (o->mix[i] = 1, 0);
	return bad("a kind of work request", item);
}

static int type_item(char *item, struct load_opts *o)
{
	static const char *const names[LOAD_TYPES] = { "rc", "uc", "ud" };

	for (int i = 0; i < LOAD_TYPES; i++)
		if (!strcmp(item, names[i])) {
			o->types |= 1u << i;
			return 0;
		}
	return bad("one of rc, uc, ud", item);
}

static int list(char *s, struct load_opts *o, int (*item)(char *, struct load_opts *))
{
	char *save = NULL;
	int ret = 0;

	for (char *p = strtok_r(s, ",", &save); p && !ret; p = strtok_r(NULL, ",", &save))
		ret = item(p, o);
	return ret;
}

static int mix(char *s, struct load_opts *o)
{
	o->mix_random = !strcmp(s, "random");
	return o->mix_random ? 0 : list(s, o, mix_item);
}

static int mtu(const char *s, struct load_opts *o)
{
	uint32_t v;

	if (number(s, 0, 4096, &v))
		return -EINVAL;
	if (v != 0 && (v < 256 || (v & (v - 1))))
		return bad("0, 256, 512, 1024, 2048 or 4096", s);
	o->mtu = v;
	return 0;
}

static int option_long(int c, char *arg, struct load_opts *o)
{
	uint32_t v = 0;
	int ret = 0;

	switch (c) {
	case O_GID:
		ret = number(arg, 0, 255, &v);
		o->gid = (int)v;
		return ret;
	case O_MAX_INLINE:
		return number(arg, 0, 512, &o->max_inline);
	case O_WR_API:
		return number(arg, 0, 100, &o->wr_api);
	case O_ABORT:
		return number(arg, 0, 90, &o->abort);
	case O_REFUSE:
		return number(arg, 0, 100, &o->refuse);
	case O_ERRORS:
		return number(arg, 0, UINT32_MAX, &o->errors);
	case O_RESET:
		return number(arg, 0, UINT32_MAX, &o->reset);
	case O_CYCLE:
		return number(arg, 0, UINT32_MAX, &o->cycle);
	case O_RESIZE:
		return number(arg, 0, UINT32_MAX, &o->resize_ms);
	case O_BURN:
		return number(arg, 0, 100, &o->burn_cpu);
	case O_HOLD:
		return number(arg, 0, 3600, &o->hold_s);
	case O_SEED:
		o->seed = strtoull(arg, NULL, 0);
		return 0;
	case O_TRUTH:
		o->truth = arg;
		return 0;
	case O_DIRTY:
		o->reset_dirty = true;
		return 0;
	case O_FORK:
		o->fork = true;
		return 0;
	case O_WAIT:
		o->wait = true;
		return 0;
	case O_FIRST:
		o->first = true;
		return 0;
	default:
		fputs("rdmaload: see --help\n", stderr);
		return -EINVAL;
	}
}

static int option(int c, char *arg, struct load_opts *o)
{
	switch (c) {
	case 'd':
		o->device = arg;
		return 0;
	case 'q':
		return number(arg, 1, LOAD_QPS_MAX, &o->qps);
	case 't':
		o->types = 0;
		return list(arg, o, type_item);
	case 'x':
		return mix(arg, o);
	case 's':
		return range(arg, 0, 64u << 20, &o->sizes);
	case 'm':
		return mtu(arg, o);
	case 'D':
		return range(arg, 1, LOAD_DEPTH_MAX, &o->depth);
	case 'u':
		return number(arg, 0, 100, &o->unsignalled);
	case 'i':
		return number(arg, 0, 100, &o->inlined);
	case 'g':
		return number(arg, 1, LOAD_SGE_MAX, &o->sge);
	case 'b':
		return number(arg, 1, 256, &o->batch);
	case 'p':
		return number(arg, 0, 10000000, &o->pace_us);
	case 'r':
		return number(arg, 0, 100000000, &o->rate);
	case 'n':
		return range(arg, 1, UINT32_MAX - 1, &o->count);
	case 'T':
		return number(arg, 1, 86400, &o->seconds);
	default:
		return option_long(c, arg, o);
	}
}

static int random_seed(uint64_t *seed)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read(fd, seed, sizeof(*seed)) == (ssize_t)sizeof(*seed);

	if (fd >= 0)
		close(fd);
	if (!ok)
		fputs("rdmaload: no seed from /dev/urandom; give --seed\n", stderr);
	return ok ? 0 : -EIO;
}

int load_options(int argc, char **argv, struct load_opts *o)
{
	int c, ret = 0;

	*o = (struct load_opts){ .gid = -1,
				 .qps = 1,
				 .types = 1u << LOAD_RC,
				 .mix_random = true,
				 .sizes = { 0, 65536 },
				 .depth = { 1, 64 },
				 .sge = 1,
				 .batch = 1 };
	while (!ret && (c = getopt_long(argc, argv, "d:q:t:x:s:m:D:u:i:g:b:p:r:n:T:h", longs,
					NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		ret = option(c, optarg, o);
	}
	if (!ret && optind < argc)
		ret = bad("an option", argv[optind]);
	if (!ret && !o->seed)
		ret = random_seed(&o->seed);
	if (!o->seconds && !o->count.max)
		o->count = (struct load_range){ 500, 5000 };
	return ret;
}
