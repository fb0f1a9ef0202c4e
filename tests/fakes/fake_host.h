/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_host: domains, their caps, names and nodes, as a test scripts them.
 *
 * Scheduling and watching of hv.h over a table; memory is fake_guest's. Each
 * call can be made to fail, and those that set a cap are noted. For one
 * thread, and for cases the simulated host cannot produce.
 */
#ifndef RESEX_TESTS_FAKE_HOST_H
#define RESEX_TESTS_FAKE_HOST_H

#include "src/core/flow.h"
#include "src/hv/hv.h"

enum { FAKE_VCPUS_MAX = 4 };
enum { FAKE_DOMS_MAX = 2 * FLOW_GUESTS_MAX, FAKE_EVENTS_MAX = 1024, FAKE_CALLS_MAX = 4096 };
/* A caller that asks a domain so often without an answer does nothing else: it waits. */
enum { FAKE_ASKED_MAX = 1000 };

enum fake_ask { FAKE_ASK_NAME, FAKE_ASK_WATCH, FAKE_ASK_READ, FAKE_ASKS };

struct fake_dom {
	struct hv_dom dom;
	struct hv_sched_params params;
	const char *scheduler; /* of its cpupool; NULL: "fake" */
	char name[FLOW_NAME_MAX];
	char node[96]; /* "": none */
	int get_rc, set_rc, read_rc, name_rc, watch_rc;
	uint32_t gets, reads;
	struct hv_vcpu vcpu[FAKE_VCPUS_MAX]; /* dom.vcpus of them */
	uint32_t looks;			     /* at VCPUs */
	bool watched;
	bool asked[FAKE_ASKS], answered[FAKE_ASKS];   /* with store_later */
	uint32_t asked_again;			      /* without an answer in between */
	char name_then[FLOW_NAME_MAX], node_then[96]; /* when it was answered */
};

/* One call of set_cap. */
struct fake_call {
	uint32_t domid, percent;
	int rc;
};

struct hv_sched {
	struct fake_host *host;
};

struct hv_watch {
	struct fake_host *host;
};

struct fake_host {
	struct hv_sched sched;
	struct hv_watch watch;
	uint32_t doms;
	struct fake_dom dom[FAKE_DOMS_MAX]; /* ascending id; dom0 is the first */
	int list_rc;			    /* when not 0, what list() returns */
	uint64_t lists;
	bool store_later;     /* watch, read and name are answered by fake_store_answer() */
	uint32_t store_calls; /* of watch, unwatch, read and name */
	uint32_t calls;	      /* entries of call[] */
	struct fake_call call[FAKE_CALLS_MAX];
	uint32_t events, events_taken;
	struct hv_event event[FAKE_EVENTS_MAX];
};

extern const struct hv_sched_ops fake_sched_ops;
extern const struct hv_watch_ops fake_watch_ops;

/* A host with nothing but dom0. */
void fake_host_open(struct fake_host *h);

/*
 * A domain of one VCPU and weight 256, without cap and node, named "guest-ID"; its UUID is
 * filled with the byte given. Valid until a domain is added or removed.
 */
struct fake_dom *fake_dom_add(struct fake_host *h, uint32_t domid, uint8_t uuid);
void fake_dom_remove(struct fake_host *h, uint32_t domid);
struct fake_dom *fake_dom(struct fake_host *h, uint32_t domid); /* NULL: not there */

void fake_host_event(struct fake_host *h, enum hv_event_type type, uint32_t domid);

/* With store_later: answer all that is asked, with names and nodes as they are now. */
void fake_store_answer(struct fake_host *h);

/* How often set_cap was called for a domain, whatever came of it; and the newest such call. */
uint32_t fake_calls(const struct fake_host *h, uint32_t domid);
const struct fake_call *fake_last_call(const struct fake_host *h, uint32_t domid);

#endif
