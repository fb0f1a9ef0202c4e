/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIMULATOR: the model's parts, private to src/sim. */
/*
 * Times are nanoseconds of the simulated clock. Everything below is guarded
 * by host->lock; guest memory is written by sim_advance() alone (and by a
 * guest's boot, before any page of it can be mapped).
 *
 *	timer	what happens next		timer.c
 *	mem	a guest's memory, a memfd	mem.c
 *	ring	the send queue's bytes		ring.c
 *	link	packets of queue pairs in turn	link.c
 *	cpu	run, parked, idle		cpu.c
 *	sched	when caps park			credit2.c, credit.c
 *	task	one application			life.c, task.c, sender.c, server.c, client.c
 *	draw	random times, idle spells	draw.c
 *	dom	a guest for as long as it lives	dom.c, agent.c
 *	host	all of it			host.c, hyp.c, watch.c
 */
#ifndef RESEX_SIM_MODEL_H
#define RESEX_SIM_MODEL_H

#include <pthread.h>

#include "resex/guest_abi.h"
#include "src/sim/sim.h"

enum {
	/* a task has 3, a cpu 1, a dom 3, a link 1 each way */
	SIM_TIMERS_MAX = SIM_GUESTS_MAX * (SIM_APPS_MAX * 4 + 3) + SIM_LINKS_MAX * 2,
	/* open loop: so many messages wait; more are dropped */
	SIM_WAITING_MAX = 1 << 20,
	SIM_REQUESTS_MAX = 4096, /* the same for a server */
	/* a nanosecond that 1 .. SIM_APPS_MAX tasks share is divided without a rest */
	SIM_CPU_PARTS = 12,
};

/* --- what happens next --- */

struct sim_timer {
	int64_t when;
	uint64_t order; /* of two at the same time the one armed first fires first */
	uint32_t pos;	/* in the heap, from 1; 0: not armed */
	void (*fire)(void *arg, int64_t now);
	void *arg;
};

struct sim_timers {
	uint64_t order;
	uint32_t n;
	struct sim_timer *heap[SIM_TIMERS_MAX + 1]; /* [0] is not used */
};

void sim_timer_arm(struct sim_timers *ts, struct sim_timer *t, int64_t when);
void sim_timer_disarm(struct sim_timers *ts, struct sim_timer *t);

/* The next one due at or before limit, disarmed; NULL when there is none. */
struct sim_timer *sim_timer_due(struct sim_timers *ts, int64_t limit);

/* --- random figures, the same for the same seed --- */

struct sim_rand {
	uint64_t state;
};

uint64_t sim_rand(struct sim_rand *r);
uint64_t sim_rand_below(struct sim_rand *r, uint64_t n);

/* A time of this mean, at most 2^40 ns. */
int64_t sim_draw(struct sim_rand *r, const struct sim_vary *v, int64_t mean);

/*
 * The spells of an application, by the time since it started: how much of that was busy; when
 * so much busy time will be over; the first moment from then on that is busy.
 */
int64_t sim_busy_time(const struct sim_app *a, int64_t since);
int64_t sim_time_of_busy(const struct sim_app *a, int64_t busy);
int64_t sim_next_busy(const struct sim_app *a, int64_t since);

/* --- guest memory --- */

struct sim_mem {
	int fd;
	uint32_t pages;
	uint32_t used;	 /* entries of order[] handed out */
	uint32_t *order; /* frames in the (shuffled) order they are handed out */
	uint8_t *base;	 /* all of it, writable */
	uint64_t mapped; /* pages now mapped through src/hv/sim.c */
};

int sim_mem_open(struct sim_mem *m, uint32_t pages, struct sim_rand *r);
void sim_mem_close(struct sim_mem *m);
const uint32_t *sim_mem_take(struct sim_mem *m, uint32_t n); /* frames, not in a row */
void *sim_mem_page(const struct sim_mem *m, uint32_t frame);

/* --- the send queue in the rxe layout --- */

struct sim_ring {
	const struct sim_mem *mem;
	const uint32_t *frame;
	uint32_t frames, slots;
	uint32_t psn; /* of the next message that the HCA begins */
};

uint32_t sim_ring_slots(uint32_t depth);
uint32_t sim_ring_frames(uint32_t slots);
void sim_ring_init(struct sim_ring *r);

enum sim_opcode { SIM_RDMA_WRITE = 0, SIM_RDMA_SEND = 2, SIM_RDMA_READ = 4 }; /* of verbs */

struct sim_ring_wr {
	enum sim_opcode opcode;
	uint32_t bytes;
};

/*
 * n counts the queue's work requests from 0: posted, begun, completed. For
 * a READ, packets are those of its response, and what is left is still to come.
 */
void sim_ring_post(struct sim_ring *r, uint64_t n, const struct sim_ring_wr *wr);
void sim_ring_begin(struct sim_ring *r, uint64_t n, const struct sim_ring_wr *wr, uint32_t packets);
void sim_ring_left(struct sim_ring *r, uint64_t n, uint32_t bytes);
void sim_ring_complete(struct sim_ring *r, uint64_t n);

/* --- queue pairs and links --- */

struct sim_task;

struct sim_qp {
	struct sim_ring ring;
	struct sim_task *task;
	struct sim_qp *next;	/* in turn; the last one's is the first */
	uint32_t number, index; /* of the task's */
	struct sim_ring_wr wr;	/* the same for all its messages */
	uint32_t mtu;
	uint32_t left; /* bytes of message `completed` that were not sent yet */
	uint64_t posted, completed;
	/* Called by the link when it has sent a message. */
	void (*done)(struct sim_qp *qp, int64_t now);
};

/* One way of a link. */
struct sim_link {
	struct sim_timers *timers;
	uint64_t bytes_s;
	uint64_t sent;	    /* bytes in [busy_since, now] */
	int64_t busy_since; /* moved on by whole seconds of sent bytes */
	uint32_t n;
	struct sim_qp *last;   /* its next is served now; NULL: nothing to send */
	struct sim_timer done; /* the next message's end */
};

enum { SIM_OUT, SIM_IN, SIM_WAYS };

void sim_link_init(struct sim_link *l, struct sim_timers *ts, uint64_t bytes_s);
void sim_link_post(struct sim_link *l, struct sim_qp *qp, int64_t now);
void sim_link_remove(struct sim_link *l, struct sim_qp *qp, int64_t now);

/* Send what can be sent by now and show it in the rings. */
void sim_link_show(struct sim_link *l, int64_t now);

/* --- VCPUs: each has a physical CPU of its own, as in the paper --- */

struct sim_dom;

enum sim_cpu_state {
	SIM_CPU_IDLE, /* no task wants it */
	SIM_CPU_RUN,
	SIM_CPU_PARKED, /* its domain is over its cap */
};

struct sim_cpu {
	struct sim_dom *dom;
	enum sim_cpu_state state;
	uint32_t tasks; /* that share it */
	int64_t since;	/* times and budget are settled up to here */
	uint64_t run_ns;
	uint64_t wait_ns; /* parked */
	int64_t budget;	  /* while the domain is metered; negative: overrun */
	bool active;	  /* credit: earns */
	bool barred;	  /* credit: may not run */
	struct sim_timer slice;
};

void sim_cpu_join(struct sim_task *t, int64_t now);
void sim_cpu_leave(struct sim_task *t, int64_t now);
void sim_cpu_settle(struct sim_cpu *c, int64_t now);

struct sim_hyp_vcpu;

void sim_cpu_see(const struct sim_cpu *c, int64_t now, struct sim_hyp_vcpu *out);

/* For schedulers. Run if it may, else be parked; arg: cpu, which has a task. */
void sim_cpu_start(void *arg, int64_t now);
void sim_cpu_park(struct sim_cpu *c, int64_t now);
void sim_cpu_unpark(struct sim_dom *d, int64_t now); /* those of its VCPUs that may run */

struct sim_sched {
	bool (*may_run)(struct sim_cpu *c, int64_t now); /* begins its turn, too */
	void (*idle)(struct sim_cpu *c, int64_t now);	 /* no task wants it any more */
	void (*capped)(struct sim_dom *d, uint32_t old, int64_t now); /* d->cap has changed */
	void (*tick)(void *arg, int64_t now);			      /* of d->tick; arg: dom */
};

extern const struct sim_sched sim_credit2, sim_credit;

void sim_sched_apply(void *arg, int64_t now); /* arg: dom */
int sim_sched_set_cap(struct sim_dom *d, uint32_t percent, int64_t now);
uint64_t sim_sched_cpu_ns(const struct sim_dom *d, int64_t now);
uint64_t sim_sched_wait_ns(const struct sim_dom *d, int64_t now); /* of VCPUs that were parked */
bool sim_sched_any(const struct sim_dom *d, enum sim_cpu_state state); /* is one of its VCPUs so? */

/* --- applications --- */

enum sim_task_state {
	SIM_TASK_OFF,
	SIM_TASK_POLL,	  /* burns CPU until there is something to do */
	SIM_TASK_COMPUTE, /* until `step` */
	SIM_TASK_POST,	  /* until `step` */
};

/* A server's request, from its coming to the moment its reply has left. */
struct sim_request {
	int64_t arrived, noticed, computed, posted, sent;
};

struct sim_sender {
	uint64_t room; /* bit i: queue pair i has less than depth outstanding */
	uint32_t turn; /* where to look for room first */
	/* open loop */
	int64_t first;	 /* when the first burst came, by busy time */
	uint64_t bursts; /* that have come by the last look; how many wait is in the truth */
};

struct sim_server {
	uint32_t waiting, first; /* in arrived[], a ring */
	int64_t arrived[SIM_REQUESTS_MAX];
	uint32_t thinking;		   /* clients */
	int64_t come[SIM_APP_CLIENTS_MAX]; /* when their requests come */
	int64_t busy;			   /* open loop: when the next one comes, by busy time */
	struct sim_request work;	   /* the one being served */
	struct sim_request reply[SIM_APP_CLIENTS_MAX]; /* by number of the reply, a ring */
	uint64_t reaped;			       /* replies seen to have left */
	struct guest_latency *latency;
	uint32_t latency_frame;
};

/* What a kind of application does. */
struct sim_app_ops {
	void (*begin)(struct sim_task *t, int64_t now);
	void (*poll)(struct sim_task *t, int64_t now); /* look for something to do; the cpu runs */
	void (*post)(struct sim_task *t, int64_t now);
	void (*completed)(struct sim_task *t, const struct sim_qp *qp, int64_t now);
	void (*come)(struct sim_task *t, int64_t now); /* of sim_task.come */
	void (*end)(struct sim_task *t, int64_t now);
};

extern const struct sim_app_ops sim_sender_ops, sim_server_ops;

struct sim_task {
	struct sim_dom *dom;
	struct sim_cpu *cpu;
	const struct sim_app *conf;
	const struct sim_app_ops *ops; /* NULL: it only burns CPU, or idles */
	struct sim_app_truth *truth;
	enum sim_task_state state;
	bool shown;  /* in the registry */
	bool on_cpu; /* shares it with others that are */
	uint32_t pid;
	uint32_t qps;
	uint32_t outstanding; /* over all of them */
	struct sim_qp *qp;
	uint64_t ran;  /* its part of the cpu's run_ns, in 1 / SIM_CPU_PARTS ns */
	int64_t left;  /* of the step, while the cpu does not run: ns of its run time */
	int64_t start; /* when the process came to be */
	struct sim_sender sender;
	struct sim_server server;
	struct sim_timer step, life;
	struct sim_timer come; /* new work, while it is waited for */
};

void sim_task_begin(void *arg, int64_t now); /* arg: task */
void sim_task_end(void *arg, int64_t now);
void sim_task_step(void *arg, int64_t now);
void sim_task_come(void *arg, int64_t now);
void sim_task_completed(struct sim_qp *qp, int64_t now);
void sim_task_resume(struct sim_task *t, int64_t now);
void sim_task_suspend(struct sim_task *t, int64_t now);
uint32_t sim_task_qps(const struct sim_app *a);		 /* 0: it has no ring */
struct sim_link *sim_task_link(const struct sim_qp *qp); /* the way its data goes */

/* For the kinds of tasks: a step of work, whose cpu runs; a message to the HCA. */
void sim_task_work(struct sim_task *t, enum sim_task_state state, int64_t work, int64_t now);
void sim_task_post(struct sim_task *t, struct sim_qp *qp, int64_t now);

/* One look for something to do. The cpu runs. */
void sim_task_poll(struct sim_task *t, int64_t now);

/* A sender. */
void sim_sender_look(struct sim_task *t, int64_t now); /* settles what has come */

/* The clients of a server: at its start; after a reply; what comes; at its end. */
void sim_client_begin(struct sim_task *t, int64_t now);
void sim_client_think(struct sim_task *t, int64_t now);
void sim_client_come(struct sim_task *t, int64_t now);
void sim_client_end(struct sim_task *t);

/* --- guests --- */

struct sim_dom {
	struct sim_host *host;
	struct sim_dom *next; /* in ascending domid */
	const struct sim_guest_conf *conf;
	uint32_t guest, domid;
	uint8_t uuid[16];
	bool dying;
	int64_t boot;
	struct sim_mem mem;
	struct sim_rand rand;
	/* scheduler */
	const struct sim_sched *sched;
	bool metered;	 /* what its VCPUs run is taken from their budgets */
	uint32_t cap;	 /* percent; 0: none */
	uint32_t wanted; /* becomes cap when time goes on: set_cap has no time of its own */
	struct sim_timer apply;
	int64_t tot_budget, budget; /* credit2 */
	struct sim_timer tick;
	uint32_t cpus; /* that have a task */
	struct sim_cpu cpu[SIM_APPS_MAX];
	struct sim_task task[SIM_APPS_MAX];
	uint32_t qps; /* of all tasks, in their order */
	struct sim_qp *qp;
	/* agent */
	uint32_t registry_frame;
	struct guest_registry *registry;
	struct guest_directory *directory[GUEST_DIRECTORIES_MAX];
	struct sim_timer heartbeat;
	char answer[GUEST_ABI_ANSWER_MAX]; /* "": none */
};

int sim_dom_boot(struct sim_host *h, uint32_t guest, int64_t now);
void sim_dom_kill(struct sim_dom *d, int64_t now);
void sim_dom_free(struct sim_dom *d);
struct sim_dom *sim_dom_find(struct sim_host *h, uint32_t domid);

/* Free dying guests of which no page is mapped; notify watchers. */
void sim_dom_bury(struct sim_host *h);

uint32_t sim_agent_frames(const struct sim_guest_conf *g); /* of all its rings */
uint32_t sim_agent_pages(const struct sim_guest_conf *g);
void sim_agent_boot(struct sim_dom *d);
void sim_agent_want(struct sim_dom *d, const char *value); /* of GUEST_ABI_WANT */
void sim_agent_publish(struct sim_dom *d);		   /* after a ring came or went */
void sim_agent_heartbeat(void *arg, int64_t now);	   /* arg: dom */
void sim_agent_latency(struct sim_task *t, const struct sim_request *r);

/* --- the host --- */

struct sim_watcher;

struct sim_guest {
	struct sim_dom *dom;	  /* NULL once it is destroyed */
	uint32_t domid;		  /* of its newest life */
	uint8_t uuid[16];	  /* of all its lives; 0: it had none */
	uint64_t cpu_ns, wait_ns; /* of the life that ended last */
	struct sim_app_truth app[SIM_APPS_MAX];
};

struct sim_host {
	pthread_mutex_t lock;
	struct sim_conf conf;
	int64_t start, now;
	uint32_t next_domid;
	struct mono (*now_fn)(void *arg);
	void *now_arg;
	sim_request_fn seen_fn;
	void *seen_arg;
	struct sim_timers timers;
	struct sim_link link[SIM_LINKS_MAX][SIM_WAYS];
	struct sim_guest guest[SIM_GUESTS_MAX];
	struct sim_dom *doms;
	struct sim_watcher *watchers;
};

void sim_wake_watchers(struct sim_host *h);

/* Let everything happen up to now. */
void sim_host_run(struct sim_host *h, int64_t now);

#endif
