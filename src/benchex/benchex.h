/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * benchex: the paper's RDMA benchmark of a trading exchange (section IV).
 *
 *	options -> conf -> role (server, client, bulk) -> result -> text, JSON
 *
 * A client sends requests by SEND, each with a time stamp. The server queues them as
 * they complete, serves the oldest first, prices options (CTime), and answers by RDMA
 * WRITE with immediate data into the client's memory. Bulk is the neighbour that
 * disturbs it: it moves data by any operation, and nothing uses the data. Only
 * conn.c, net.c and the roles call verbs.
 *
 * A request's time at the server, which the server reports to resex-agent:
 *
 *	arrived      begun       priced     posted       completed
 *	   |   PTime   |   CTime   |  PTime   |   WTime    |
 *
 * arrived: the poll that found the request returned. PTime: the cost of polling, which
 * is the wait behind other requests in the queue and for a free place among the `depth`
 * answers under way. WTime: the adapter's work, from the start of the post to the poll
 * that found the answer completed.
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
	BX_OPTIONS_MAX = 1 << 20, /* priced for one request */
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

/* --- the command line (options.c) --- */

struct bx_range {
	uint32_t min, max; /* bytes; each message has a random size within */
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
	uint64_t progress_ns; /* interval of progress lines on stderr; 0: none */
	uint64_t seed;	      /* of sizes, prices, mixes; shown in the result */
	uint32_t depth; /* under way at most: answers, requests of a client, messages of a QP */
	struct bx_range size; /* client: of answers; bulk: of messages */
	uint64_t rate;	      /* a second, of each client or of all queue pairs; 0: unlimited */

	/* server */
	bool once;	      /* end when the first client has left */
	const char *agent;    /* socket of resex-agent; NULL: do not report */
	uint32_t size_max;    /* largest answer that a client may request */
	uint32_t options_max; /* most options to price for one request: other requests wait */

	/* client */
	uint32_t clients;  /* connections */
	uint32_t options;  /* to be priced for a request */
	uint64_t think_ns; /* closed loop: from an answer to the client's next request */
	const char *trace;

	/* bulk */
	uint32_t qps;
	uint32_t burst;		  /* messages posted together when due */
	uint32_t weight[BX_OPS];  /* of operations, drawn at random; all 0: WRITE */
	uint32_t cq_entries;	  /* 0: as many as needed */
	uint64_t work_ns_per_kib; /* computing before each post, for each KiB of it */
	uint64_t control_per_s;	  /* rounds of create and destroy (control verbs) a second */
	const char *profile;	  /* name, for the result; NULL: none */
};

/*
 * Fill conf from main's command line. 0; > 0: an exit code of resex/exit.h, after a
 * sentence on stderr; -1: all is done, exit with 0: help, version or profiles were
 * printed, or results were merged. Strings point into argv.
 */
int bx_options(struct bx_conf *conf, int argc, char **argv);

/* --- attackers and victims (profile.c), after the classes of the Husky suite --- */

struct bx_profile {
	const char *name; /* "bandwidth", "small", "many-qp", "control" */
	const char *text; /* one line for people */
	void (*apply)(struct bx_conf *conf);
};

const struct bx_profile *bx_profile_find(const char *name); /* NULL: none such */
const struct bx_profile *bx_profile_at(size_t i);	    /* NULL: past the last */

/* --- requests (trace.c) --- */

enum bx_kind { BX_TRADE, BX_FEED, BX_KINDS }; /* a feed is only data: nothing is priced */

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
 * Read a trace file (man benchex). 0; -EINVAL: text has "FILE:LINE: what is wrong and
 * what would be right"; -errno of reading the file, with a sentence in text, too.
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
 * Price n options, call and put, with random terms from seed: the work of a request.
 * Returns the sum of the prices for the answer, so that no compiler drops the work.
 */
double bx_price_many(uint64_t seed, uint32_t n);

/* --- results --- */

struct bx_latency {
	struct hist ctime, wtime, ptime; /* server only */
	struct hist total; /* server: the three; client: from its time stamp to the answer */
};

/* What one queue pair really sent and received, to compare with the counts of dom0. */
struct bx_qp {
	uint32_t qpn, peer_qpn, path_mtu;
	uint32_t cq_entries;		 /* of the queue its completions go to */
	uint64_t completed[BX_OPS];	 /* work requests that succeeded */
	uint64_t errors;		 /* work requests that failed */
	uint64_t outstanding;		 /* posted and not yet completed */
	uint64_t bytes_sent, bytes_recv; /* of those that succeeded; received: by READ */
	uint64_t mtus_sent, mtus_recv;	 /* the same in packets of path_mtu */
};

struct bx_result {
	const struct bx_conf *conf;
	char peer[64];			   /* address of the other side */
	uint64_t elapsed_ns;		   /* from the first post to the last completion */
	uint64_t cpu_ns;		   /* of this process in that time */
	uint64_t requests;		   /* server, client: answered; bulk: messages */
	uint64_t bytes;			   /* of answers or messages */
	uint64_t late;			   /* requests sent more than 1 ms after they were due */
	uint64_t lost;			   /* client: requests sent and never answered */
	uint64_t control_rounds;	   /* bulk: queue pairs and regions created and destroyed */
	uint64_t reported, report_dropped; /* latencies, to resex-agent */
	const char *ended;		   /* "time", "requests", "signal", "peer", "error" */
	struct bx_latency lat;
	size_t qps;
	struct bx_qp *qp; /* borrowed */
};

/*
 * Print a result as text for people, or as one line of JSON with conf->json. 0 or
 * -errno of writing.
 */
int bx_result_print(FILE *stream, const struct bx_result *r);

/*
 * benchex merge FILE...: add up the results of several runs and print the sum. argv[0]
 * is "merge". Returns an exit code.
 */
int bx_merge(int argc, char **argv);

/* --- roles (server.c, client.c, bulk.c): run, print the result, return an exit code --- */

int bx_server(const struct bx_conf *conf);
int bx_client(const struct bx_conf *conf);
int bx_bulk(const struct bx_conf *conf);

#endif
