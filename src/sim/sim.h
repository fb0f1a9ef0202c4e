/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIMULATOR: a simulated Xen host. Nothing here measures real hardware. */
/*
 * sim: links, a scheduler like credit2 or credit, guests with senders and
 * servers, in one object.
 *
 * Event-driven on the time it is given. Guests write real ring bytes in the
 * rxe layout and a real registry (resex/guest_abi.h) into their own memory
 * (a memfd), which the hv backend "sim" maps read-only, so that IBMon reads
 * them as it would on Xen. Throughput follows from run time, depth and link;
 * nowhere is it a function of the cap.
 */
#ifndef RESEX_SIM_H
#define RESEX_SIM_H

#include <stddef.h>

#include "src/core/flow.h"
#include "src/core/window.h"

enum {
	SIM_GUESTS_MAX = FLOW_GUESTS_MAX,
	SIM_LINKS_MAX = FLOW_LINKS_MAX,
	SIM_APPS_MAX = 4,
	SIM_APP_QPS_MAX = 64,
	SIM_APP_CLIENTS_MAX = 64,
};

/* How times vary around their mean; see draw.c. */
enum sim_vary_how {
	SIM_VARY_PHASES,  /* exponential at 1000 permille */
	SIM_VARY_UNIFORM, /* at most 577 permille */
};

struct sim_vary {
	enum sim_vary_how how;
	uint32_t permille; /* coefficient of variation, up to 10000; phases: 0, or from 100 */
};

enum sim_app_kind {
	SIM_APP_IDLE,
	SIM_APP_SENDER, /* needs CPU to post and reap each message */
	SIM_APP_SERVER, /* per request: receive, compute, answer; reports its latency */
	SIM_APP_BURNER, /* CPU only */
};

struct sim_app {
	char name[FLOW_NAME_MAX]; /* for summaries; may be empty */
	enum sim_app_kind kind;
	enum sample_op op;  /* sender: OP_SEND, OP_WRITE, OP_READ; servers answer by SEND */
	uint32_t qps;	    /* sender: queue pairs, served in turn; 1 .. SIM_APP_QPS_MAX */
	uint32_t msg_bytes; /* 1 .. 16 MiB */
	uint32_t depth;	    /* outstanding messages a queue pair, 1 .. 1024; server: replies */
	uint32_t path_mtu;  /* 256 .. 4096 */
	/*
	 * sender, open loop: messages a second that come by themselves, over
	 * all queue pairs; those that find the depth used up wait, 2^20 at
	 * most. 0: closed loop, the next is posted when one has completed. Up
	 * to 10^7. server, open loop: requests a second, with exponential gaps.
	 */
	uint64_t rate;
	uint32_t burst;	      /* open loop: come at once, 1 .. 1024 */
	int64_t post_ns;      /* CPU to post and reap one message, 100 .. 1e9 */
	int64_t compute_ns;   /* server: CPU per request, 0 .. 1e9 */
	struct sim_vary vary; /* of compute_ns; 0 permille: uniform, by 0.5 % at most */
	uint32_t clients;     /* server: each sends its next request on its reply; 1 .. 64 */
	int64_t think_ns;     /* server: its clients do so after this time; 0 .. 1e12 */
	struct sim_vary think_vary;
	/*
	 * sender, server: new work comes for busy_ns, and none for quiet_ns, in turn from the
	 * start of the application. quiet_ns 0: always. 0 .. 1e12.
	 */
	int64_t busy_ns, quiet_ns;
	uint32_t report;	   /* server: permille of the true latency it reports; up to 10^6 */
	int64_t report_stop_ns;	   /* server: does not report from then on; 0: always */
	int64_t start_ns, stop_ns; /* from the host's start; stop 0: never */
};

struct sim_guest_conf {
	char name[FLOW_NAME_MAX];
	uint32_t vcpus;
	uint32_t weight;
	uint32_t cap; /* its operator's own, percent, up to 100 a VCPU; 0: none */
	uint32_t link;
	bool blind; /* an ablation: its rings are never published */
	bool later; /* not there at the start: sim_create makes it */
	uint32_t apps;
	struct sim_app app[SIM_APPS_MAX];
};

struct sim_link_conf {
	uint64_t bytes_s; /* each way: what READs bring in takes nothing from what is sent */
	uint32_t mtu;
};

enum sim_sched_kind {
	SIM_CREDIT2, /* budgets refilled each cap period, 500 us at a time, debt */
	SIM_CREDIT,  /* accounting each 30 ms, a guest over its cap is parked */
};

struct sim_conf {
	uint32_t guests, links;
	struct sim_guest_conf guest[SIM_GUESTS_MAX];
	struct sim_link_conf link[SIM_LINKS_MAX];
	enum sim_sched_kind sched;
	int64_t cap_period_ns; /* credit2: 10 ms */
	/*
	 * An ablation: what the memory of swapped[0] holds is seen as that of
	 * swapped[1] and the other way round, while scheduling is not swapped.
	 */
	bool swap;
	uint32_t swapped[2];
	bool ignore_caps; /* an ablation: caps are set and shown, and limit nothing */
	uint64_t seed;
};

struct sim_host;

/* The built-in host of `./dev demo`: a 64 KB server beside a 2 MB sender, 1 GiB/s. */
void sim_conf_demo(struct sim_conf *c);

struct sim_conf_error {
	int guest, app, link; /* index; -1: it is not in one */
	char field[24];	      /* the field's name above */
	char range[72];	      /* what it may be, for people: "1 .. 64" */
};

/*
 * 0; -EINVAL: a figure is out of range, and *e, when not NULL, says which one.
 * Figures that mean nothing to their kind of application are not looked at.
 */
int sim_conf_check(const struct sim_conf *c, struct sim_conf_error *e);

/*
 * Guests boot at start, unless they come later; sim_close comes after all hv
 * handles are closed. 0; as sim_conf_check; -ENOMEM, or memfd's errno.
 */
int sim_open(struct sim_host **h, const struct sim_conf *c, struct mono start);
void sim_close(struct sim_host *h);

/* Let time pass up to now. Called by list() of src/hv/sim.c; takes the host's lock. */
void sim_advance(struct sim_host *h, struct mono now);

/* The clock of src/hv/sim.c: list() advances the host to its time. */
void sim_set_clock(struct sim_host *h, struct mono (*now)(void *arg), void *arg);

/*
 * What really happened: never read by the daemon. Messages count when the
 * HCA has sent (READ: received) all of them, requests when their replies have
 * left. A reboot sets all to 0; after destruction they keep their values.
 */
struct sim_truth {
	uint64_t wrs, bytes, mtus, cpu_ns;
	uint64_t wait_ns;		/* its VCPUs wanted a CPU and had none */
	uint64_t bytes_recv, mtus_recv; /* of these, what READs brought in */
	uint64_t requests;		/* servers: answered */
	uint64_t latency_sum_ns;	/* servers: over all requests */
};

struct sim_app_truth {
	uint64_t wrs, bytes, mtus;
	uint64_t cpu_ns;	   /* its share of its VCPU's time */
	uint64_t waiting, dropped; /* open loop: came, not posted yet (senders); had no room */
	uint64_t ctime_ns, wtime_ns, ptime_ns; /* server: sums over all requests */
	double ctime_sq, wtime_sq, ptime_sq;   /* and of the squares, ns^2 */
	uint64_t latency_last_ns;
	struct window latency; /* server: of all requests */
};

/* 0; -ENOENT: no such guest, or application. */
int sim_truth(struct sim_host *h, uint32_t guest, struct sim_truth *t);
int sim_app_truth(struct sim_host *h, uint32_t guest, uint32_t app, struct sim_app_truth *t);
uint32_t sim_domid(const struct sim_host *h, uint32_t guest); /* 1, 2, ...; 0: not yet created */

/*
 * Call seen() for each request of each server when it is answered, with the
 * server and the true latency. Called by the thread that advances time (the
 * daemon's sampler), with the host locked: seen() must not call back.
 */
typedef void (*sim_request_fn)(void *arg, uint32_t guest, uint32_t app, uint64_t latency_ns);
void sim_set_observer(struct sim_host *h, sim_request_fn seen, void *arg);

/*
 * Events for tests: a guest is created, destroyed, or created anew (new UUID
 * and domid; destroyed first if it lives). 0; -ENOENT: no such guest, or
 * destroyed already; -EEXIST: it lives; or as sim_open.
 */
int sim_create(struct sim_host *h, uint32_t guest);
int sim_destroy(struct sim_host *h, uint32_t guest);
int sim_reboot(struct sim_host *h, uint32_t guest);

#endif
