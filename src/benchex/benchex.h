/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * benchex: the paper's RDMA benchmark of a trading exchange (section IV).
 *
 *	options -> conf -> role (server, client, bulk) -> result -> text, JSON
 *
 * A client sends requests by SEND, each with its time stamp; the server takes
 * them from the completion queue into a queue, serves the oldest first, prices
 * options (CTime), and answers by RDMA WRITE with immediate data into the
 * client's memory. Bulk moves data for its own sake, by any operation. All
 * verbs are in conn*.c and the roles; what this header names knows none.
 *
 * A request's time at the server, which is what is reported to resex-agent:
 *
 *	arrived      begun       priced     posted       completed
 *	   |   PTime   |   CTime   |  PTime   |   WTime    |
 *
 * arrived: the poll that found it returned. PTime is what polling and its
 * consequences take: waiting behind others in the queue, for a place among the
 * `depth` answers on their way. WTime: the adapter's work, from the beginning of
 * the post to the poll that found the answer completed.
 */
#ifndef RESEX_BENCHEX_H
#define RESEX_BENCHEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/util/hist.h"

enum {
	BX_PORT = 18620,
	BX_SIZE_MAX = 16 << 20, /* bytes of an answer or a message */
	BX_DEPTH_MAX = 1024,
	BX_QPS_MAX = 1024,
	BX_OPTIONS_MAX = 1 << 20, /* priced for one request, whoever allows it */
};

enum bx_role { BX_SERVER, BX_CLIENT, BX_BULK, BX_ROLES };

enum bx_op {
	BX_SEND,
	BX_SEND_IMM,
	BX_WRITE,
	BX_WRITE_IMM,
	BX_READ,
	BX_FETCH_ADD,
	BX_CMP_SWAP,
	BX_OPS
};

/* "send", "send_imm", ... as in options and results. */
const char *bx_op_name(enum bx_op op);

/* --- what is asked for (options.c) --- */

struct bx_range {
	uint32_t min, max; /* bytes; each message any of these */
};

struct bx_conf {
	enum bx_role role;
	const char *host; /* client, bulk: the server's address or name */
	const char *bind; /* NULL: any; the address also chooses the device */
	uint16_t port;
	bool events;	      /* sleep for completions; otherwise poll */
	bool json;	      /* results as JSON, one object a line */
	uint64_t seconds;     /* 0: until requests are done or a signal comes */
	uint64_t requests;    /* of each client or queue pair; 0: no limit */
	uint64_t progress_ns; /* a line on stderr each so often; 0: none */
	uint64_t seed;	      /* of sizes, prices, mixes; shown in the result */
	uint32_t depth;	      /* server: answers on their way; client: requests; bulk: messages */
	struct bx_range size; /* client: of answers; bulk: of messages */
	uint64_t rate; /* a second, of each client or of all queue pairs; 0: as fast as it goes */

	/* server */
	bool once;	      /* end when the first client has left */
	const char *agent;    /* socket of resex-agent; NULL: do not report */
	uint32_t size_max;    /* the largest answer that may be asked for */
	uint32_t options_max; /* priced for one request, at most: others wait meanwhile */

	/* client */
	uint32_t clients;  /* connections */
	uint32_t options;  /* to be priced for a request */
	uint64_t think_ns; /* closed loop: from an answer to the client's next request */
	const char *trace;

	/* bulk */
	uint32_t qps;
	uint32_t burst;		  /* messages posted together when their time comes */
	uint32_t weight[BX_OPS];  /* each message's operation, by chance; all 0: WRITE */
	uint32_t cq_entries;	  /* 0: as many as are needed */
	uint64_t work_ns_per_kib; /* computing before each post, by its size */
	uint64_t control_per_s;	  /* control verbs: so many rounds of create and destroy */
	const char *profile;	  /* name, for the result; NULL: none */
};

/*
 * Fill conf from main's command line. 0; > 0: the exit code of resex/exit.h, what
 * was wrong was said on stderr; -1: done, exit 0: help, the version or profiles
 * were printed, or merge did its work. Strings point into argv.
 */
int bx_options(struct bx_conf *conf, int argc, char **argv);

/* --- attackers and victims (profile.c), after the classes of the Husky suite --- */

struct bx_profile {
	const char *name; /* "bandwidth", "small", "many-qp", "control" */
	const char *text; /* one line for people */
	void (*apply)(struct bx_conf *conf);
};

const struct bx_profile *bx_profile_find(const char *name); /* NULL: none such */
const struct bx_profile *bx_profile_at(size_t i);	    /* NULL: no more */

/* --- requests (trace.c) --- */

enum bx_kind { BX_TRADE, BX_FEED, BX_KINDS }; /* a feed is data alone: nothing is priced */

struct bx_request {
	uint64_t gap_ns; /* after the request before it; 0: at once */
	uint32_t kind;	 /* enum bx_kind */
	uint32_t options;
	uint32_t answer_bytes;
};

struct bx_trace {
	size_t n; /* >= 1 */
	struct bx_request *at;
};

/*
 * Read a trace file (man benchex). 0; -EINVAL: text holds "FILE:LINE: what is
 * wrong and what would be right"; -errno of the file, text filled too.
 */
int bx_trace_load(struct bx_trace *t, const char *file, char text[static 256]);
int bx_trace_parse(struct bx_trace *t, const char *name, const char *data, size_t len,
		   char text[static 256]);
void bx_trace_free(struct bx_trace *t);

/* --- option prices (price.c): Black and Scholes (1973), European, no dividend --- */

struct bx_terms {
	double spot, strike; /* > 0 */
	double rate;	     /* a year, continuous */
	double volatility;   /* of a year, > 0 */
	double years;	     /* > 0 */
};

double bx_price_call(const struct bx_terms *t);
double bx_price_put(const struct bx_terms *t);

/*
 * Price n options, call and put, of terms made from seed: a request's work. The
 * sum of their prices, for the answer: a compiler cannot leave the work out.
 */
double bx_price_many(uint64_t seed, uint32_t n);

/* --- what came out --- */

struct bx_latency {
	struct hist ctime, wtime, ptime; /* server only */
	struct hist total; /* server: the three; client: from its time stamp to the answer */
};

/* One queue pair's own truth, to be held against what dom0 counts. */
struct bx_qp {
	uint32_t qpn, peer_qpn, path_mtu;
	uint32_t cq_entries;		 /* of the queue its completions go to */
	uint64_t completed[BX_OPS];	 /* work requests that ended well */
	uint64_t errors;		 /* and those that did not */
	uint64_t outstanding;		 /* posted, and not known to have ended */
	uint64_t bytes_sent, bytes_recv; /* by them; received: by READ */
	uint64_t mtus_sent, mtus_recv;	 /* the same in packets of path_mtu */
};

struct bx_result {
	const struct bx_conf *conf;
	char peer[64];		 /* address of the other side */
	uint64_t elapsed_ns;	 /* from the first post to the last completion */
	uint64_t cpu_ns;	 /* of this process in that time */
	uint64_t requests;	 /* server, client: answered; bulk: messages */
	uint64_t bytes;		 /* of answers or messages */
	uint64_t late;		 /* requests not sent when due: the rate was not reached */
	uint64_t lost;		 /* client: requests sent and, when all was over, not answered */
	uint64_t control_rounds; /* bulk: queue pairs and regions created and destroyed */
	uint64_t reported, report_dropped; /* latencies told to resex-agent */
	const char *ended;		   /* "time", "requests", "signal", "peer", "error" */
	struct bx_latency lat;
	size_t qps;
	struct bx_qp *qp; /* borrowed */
};

/*
 * One result: text for people or one line of JSON, as conf->json says. 0 or
 * -errno of writing.
 */
int bx_result_print(FILE *stream, const struct bx_result *r);

/*
 * benchex merge FILE...: results of runs added up as if they were one; argv[0]
 * is "merge". An exit code.
 */
int bx_merge(int argc, char **argv);

/* --- roles (server.c, client.c, bulk.c): run to the end, print the result; an exit code --- */

int bx_server(const struct bx_conf *conf);
int bx_client(const struct bx_conf *conf);
int bx_bulk(const struct bx_conf *conf);

#endif
