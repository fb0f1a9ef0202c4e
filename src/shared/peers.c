// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peers: one reading of each host, made of jobs.
 *
 * A job is one READ: of a header, of a host record, or of several guests, services, nodes or loads.
 * A scan gives each host whose link is up, and whose last reading is over, the jobs that are known
 * in advance. A result may add more jobs, or repeat a job whose record was torn. When no job is
 * left, the reading is complete and replaces the one before; or it failed: then the old reading
 * stays, with the cause of the failure. Each host is read for itself: a slow one delays no other.
 *
 * src/cluster starts a scan every scan_ns and passes the transport's events on. region.c
 * says which bytes to READ and checks them; the checks of records are hostile-input checks, since
 * any host of the cluster may be faulty.
 */
#include "src/shared/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/shared/record.h"

enum {
	TRIES = 5,			     /* of a READ that is torn each time */
	JOBS_MAX = 2 + 7 * REGION_READS_MAX, /* guests, nodes and loads in two waves */
};

static_assert((int)JOBS_MAX <= 256, "a tag has 8 bits for a job");

enum job_kind { JOB_HEADER, JOB_HOST, JOB_GUESTS, JOB_SERVICES, JOB_NODES, JOB_LOADS };
enum job_state { JOB_DUE, JOB_POSTED, JOB_DONE };

struct job {
	enum job_kind kind;
	enum job_state state;
	uint32_t tries;
	struct region_read read;
};

/*
 * What each event needs comes first, and the large arrays last: a link that comes up then touches
 * one page.
 */
struct peer {
	uint16_t host;
	bool header_known;    /* of this generation */
	bool known;	      /* there is a complete reading */
	bool busy, new_whole; /* of the reading that is running */
	uint32_t link;
	uint64_t generation;
	uint64_t changes; /* of what peers_see shows */

	/* The newest complete reading. */
	struct mono read, moved;
	uint64_t beat; /* the newest heartbeat seen, and its generation */
	uint64_t beat_generation;
	uint32_t guests, services;
	uint64_t services_digest; /* of the host record before them; 0: they were not all read */
	struct node_seen *node;	  /* room of them */
	uint32_t nodes, room;
	int why;
	char note[128];

	/* The reading that is running. */
	int failed;
	uint32_t jobs;
	struct mono began;
	uint32_t asked, nodes_asked; /* guests 0 .. asked - 1 have jobs; nodes */
	uint32_t serial;	     /* of readings */

	struct region_host record, new_record; /* of the newest complete reading; of this one */
	struct region_peer header;
	struct job job[JOBS_MAX];
	struct region_guest guest[REGION_GUESTS_MAX];
	struct region_guest new_guest[REGION_GUESTS_MAX]; /* by place; head.seq 0: never read */
	struct region_service service[PEERS_SERVICES_MAX];
};

struct peers {
	struct transport *t;
	int64_t timeout_ns;
	uint32_t busy; /* hosts being read */
	struct peer peer[TRANSPORT_HOSTS_MAX];
};

int peers_open(struct peers **out, struct transport *t, int64_t timeout_ns)
{
	struct peers *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->t = t;
	p->timeout_ns = timeout_ns;
	for (int i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		p->peer[i].host = (uint16_t)(i + 1);
	*out = p;
	return 0;
}

void peers_close(struct peers *p)
{
	for (int i = 0; p && i < TRANSPORT_HOSTS_MAX; i++)
		free(p->peer[i].node);
	free(p);
}

/* --- jobs ---------------------------------------------------------------------- */

static void add_job(struct peer *h, enum job_kind kind, struct region_read read)
{
	if (h->jobs < JOBS_MAX)
		h->job[h->jobs++] = (struct job){ .kind = kind, .read = read };
}

static void add_header(struct peer *h)
{
	struct region_read r = { .offset = 0, .len = sizeof(struct region_header), .n = 1 };

	add_job(h, JOB_HEADER, r);
}

static void add_host(struct peer *h)
{
	struct region_read r[REGION_READS_MAX];

	if (region_reads(&h->header, REGION_T_HOST, 0, 1, r))
		add_job(h, JOB_HOST, r[0]);
}

/* Jobs for the guests below n that have none yet. */
static void add_guests(struct peer *h, uint32_t n)
{
	struct region_read r[REGION_READS_MAX];
	uint32_t reads;

	/*
	 * The host record may count more guests than it did last time, which is the number that was
	 * asked for together with it. Only the difference costs another round trip.
	 */
	if (n <= h->asked)
		return;
	reads = region_reads(&h->header, REGION_T_GUESTS, h->asked, n - h->asked, r);
	for (uint32_t i = 0; i < reads; i++)
		add_job(h, JOB_GUESTS, r[i]);
	h->asked = n;
}

/*
 * The services of a host whose record has another digest of them than last time. After that record:
 * its owner publishes services before their digest. They replace those of last time at once;
 * readers compare their digest with the record's.
 */
static void add_services(struct peer *h, const struct region_host *r)
{
	struct region_read rd[REGION_READS_MAX];
	uint32_t reads;

	if (r->services_digest == h->services_digest)
		return;
	h->services_digest = 0;
	h->services = r->services <= PEERS_SERVICES_MAX ? r->services : 0;
	reads = region_reads(&h->header, REGION_T_SERVICES, 0, h->services, rd);
	for (uint32_t i = 0; i < reads; i++)
		add_job(h, JOB_SERVICES, rd[i]);
}

/* As add_guests, for the nodes below n and their loads. */
static void add_nodes(struct peer *h, uint32_t n)
{
	struct region_read r[REGION_READS_MAX];
	uint32_t from = h->nodes_asked, reads;

	if (n <= from)
		return;
	reads = region_reads(&h->header, REGION_T_NODES, from, n - from, r);
	for (uint32_t i = 0; i < reads; i++)
		add_job(h, JOB_NODES, r[i]);
	h->nodes_asked = n;
	/* None of a host that publishes no loads. */
	reads = region_reads(&h->header, REGION_T_LOADS, from, n - from, r);
	for (uint32_t i = 0; i < reads; i++)
		add_job(h, JOB_LOADS, r[i]);
}

/* Have room for n nodes. 0 or -ENOMEM. */
static int make_room(struct peer *h, uint32_t n)
{
	struct node_seen *node;

	if (n <= h->room)
		return 0;
	node = realloc(h->node, n * sizeof(*node));
	if (!node)
		return -ENOMEM;
	memset(node + h->room, 0, (n - h->room) * sizeof(*node));
	h->node = node;
	h->room = n;
	return 0;
}

static bool any_job(const struct peer *h, enum job_state state)
{
	for (uint32_t i = 0; i < h->jobs; i++)
		if (h->job[i].state == state)
			return true;
	return false;
}

/* The reading failed: drop the jobs not posted yet. note: follows "its region ". */
static void fail_reading(struct peer *h, int rc, const char *note)
{
	for (uint32_t i = 0; i < h->jobs; i++)
		if (h->job[i].state == JOB_DUE)
			h->job[i].state = JOB_DONE;
	if (h->failed)
		return;
	/* The first cause counts: later failures of the same reading follow from it. */
	h->failed = rc;
	h->changes++;
	snprintf(h->note, sizeof(h->note), "its region %s", note);
}

static void fail_parse(struct peer *h, int rc)
{
	fail_reading(h, rc, region_why(rc));
}

static void fail_post(struct peer *h, int rc)
{
	switch (rc) {
	case -ENOTCONN:
		fail_reading(h, rc, "cannot be read: there is no link");
		break;
	case -ERANGE:
		fail_parse(h, rc);
		break;
	default:
		fail_reading(h, rc, "could not be read in time: the link was busy");
	}
}

/* Post the jobs that are due, while the link has room. How many. */
static uint32_t post_jobs(struct peers *p, struct peer *h, struct mono now)
{
	struct transport_op op[JOBS_MAX];
	uint32_t index[JOBS_MAX], n = 0;
	size_t taken;
	int why = 0;

	for (uint32_t i = 0; i < h->jobs; i++) {
		const struct job *j = &h->job[i];

		if (j->state != JOB_DUE)
			continue;
		index[n] = i;
		op[n++] = (struct transport_op){
			.kind = TRANSPORT_READ,
			.host = h->host,
			.part = j->read.part, /* the directory has the transport's numbers */
			.offset = j->read.offset,
			.len = j->read.len,
			/*
			 * The reading, the host, the job: the result of an earlier reading is
			 * recognized, and ignored.
			 */
			.tag = (uint64_t)h->serial << 16 | (uint64_t)(h->host - 1) << 8 | i,
			.deadline = mono_add(now, p->timeout_ns),
		};
	}
	if (!n)
		return 0;
	taken = transport_post(p->t, op, n, now, &why);
	for (size_t i = 0; i < taken && i < n; i++)
		h->job[index[i]].state = JOB_POSTED;
	/*
	 * -EAGAIN: the link is full. The rest is posted when a result makes room, or at the next
	 * scan.
	 */
	if (taken < n && why != -EAGAIN)
		fail_post(h, why);
	return (uint32_t)taken;
}

/* --- results -------------------------------------------------------------- */

/*
 * Replace the last complete reading. A guest's record may have been emptied since the host counted
 * it.
 */
static void publish_reading(struct peer *h)
{
	h->known = true;
	h->read = h->began;
	h->record = h->new_record;
	h->services_digest = h->record.services_digest;
	h->guests = 0;
	for (uint32_t i = 0; i < h->new_record.guests; i++)
		if (h->new_guest[i].name[0])
			h->guest[h->guests++] = h->new_guest[i];
	h->why = 0;
	h->note[0] = '\0';
	h->changes++;
}

/* If no job is left: publish the reading, or the cause of its failure. */
static void end_if_done(struct peers *p, struct peer *h)
{
	if (!h->busy || any_job(h, JOB_POSTED) || any_job(h, JOB_DUE))
		return;
	h->busy = false;
	p->busy--;
	if (!h->failed) {
		publish_reading(h);
		return;
	}
	h->why = h->failed;
	h->changes++;
}

static int parse_header(struct peer *h, const void *data)
{
	int rc = region_parse_header(data, h->host, h->generation, &h->header);

	if (rc)
		return rc;
	h->header_known = true;
	/* Nodes and loads of an earlier start. */
	if (h->node)
		memset(h->node, 0, h->room * sizeof(*h->node));
	add_host(h);
	return 0;
}

static int parse_host(struct peer *h, const void *data)
{
	struct region_host *r = &h->new_record;
	int rc = region_parse_host(&h->header, data, r);

	if (rc)
		return rc;
	/*
	 * A heartbeat shows life by its change. It counts also when the guests' records turn out
	 * torn: such a host is alive. A lower number is new, too, if the generation is another.
	 */
	if (r->beat != h->beat || r->generation != h->beat_generation) {
		h->moved = h->began;
		h->changes++;
	}
	h->beat = r->beat;
	h->beat_generation = r->generation;
	h->new_whole = true;
	rc = make_room(h, r->nodes);
	if (rc)
		return rc;
	h->nodes = r->nodes;
	add_guests(h, r->guests);
	add_nodes(h, r->nodes);
	add_services(h, r);
	return 0;
}

static int parse_services(struct peer *h, const struct job *j, const void *data)
{
	int rc = 0;

	for (uint32_t i = j->read.first; !rc && i < j->read.first + j->read.n; i++)
		rc = region_parse_service(
			region_in(&h->header, REGION_T_SERVICES, &j->read, data, i),
			&h->service[i]);
	return rc;
}

static int parse_guests(struct peer *h, const struct job *j, const void *data)
{
	for (uint32_t i = j->read.first; i < j->read.first + j->read.n; i++) {
		const void *copy = region_in(&h->header, REGION_T_GUESTS, &j->read, data, i);
		int rc;

		/* Read in advance, by the count of last time: the host has fewer guests now. */
		if (h->new_whole && i >= h->new_record.guests)
			break;
		/* Also of an earlier start of the host: another content has another crc. */
		if (record_unchanged(copy, &h->new_guest[i].head))
			continue;
		rc = region_parse_guest(copy, &h->new_guest[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_nodes(struct peer *h, const struct job *j, const void *data)
{
	int rc = 0;

	for (uint32_t i = j->read.first; !rc && i < j->read.first + j->read.n; i++) {
		const void *copy = region_in(&h->header, REGION_T_NODES, &j->read, data, i);
		struct region_node *r = &h->node[i].record;

		if (record_unchanged(copy, &r->head))
			continue;
		rc = region_parse_node(copy, r);
		if (!rc && r->name[0] && r->node != i)
			rc = -ERANGE;
	}
	return rc;
}

static int parse_load(struct peer *h, uint32_t i, const void *copy)
{
	struct node_seen *n = &h->node[i];
	uint64_t beat = n->load.beat;
	int rc;

	if (record_unchanged(copy, &n->load.head))
		return 0;
	rc = region_parse_load(copy, i, &n->load);
	if (rc == -ENOMSG) /* there is no such node, or it was not sampled yet */
		return 0;
	if (!rc && n->load.beat != beat)
		n->moved = h->began;
	return rc;
}

static int parse_loads(struct peer *h, const struct job *j, const void *data)
{
	int rc = 0;

	for (uint32_t i = j->read.first; !rc && i < j->read.first + j->read.n; i++)
		rc = parse_load(h, i, region_in(&h->header, REGION_T_LOADS, &j->read, data, i));
	return rc;
}

static int parse_job(struct peer *h, struct job *j, const void *data)
{
	switch (j->kind) {
	case JOB_HEADER:
		return parse_header(h, data);
	case JOB_HOST:
		return parse_host(h, data);
	case JOB_SERVICES:
		return parse_services(h, j, data);
	case JOB_NODES:
		return parse_nodes(h, j, data);
	case JOB_LOADS:
		return parse_loads(h, j, data);
	default:
		return parse_guests(h, j, data);
	}
}

static void on_read(struct peer *h, struct job *j, const void *data)
{
	int rc;

	j->state = JOB_DONE;
	if (h->failed)
		return;
	rc = parse_job(h, j, data);
	/*
	 * Torn: the owner was writing. A record is written in far less than a round trip, so the
	 * next READ mostly finds it whole.
	 */
	if (rc == -EAGAIN && ++j->tries < TRIES)
		j->state = JOB_DUE;
	else if (rc)
		fail_parse(h, rc);
}

static void on_result(struct peer *h, const struct transport_event *ev)
{
	struct job *j = &h->job[ev->tag & 0xff];

	/* A result of an older reading has no job any more: the reading was given up. */
	if (ev->tag >> 16 != h->serial || (ev->tag & 0xff) >= h->jobs || j->state != JOB_POSTED)
		return;
	if (ev->outcome == TRANSPORT_DONE && ev->len == j->read.len) {
		on_read(h, j, ev->data);
		return;
	}
	j->state = JOB_DONE;
	if (ev->outcome == TRANSPORT_REFUSED)
		fail_reading(h, ev->why ? ev->why : -EACCES, "refused to be read; see its log");
	else
		fail_reading(h, ev->why ? ev->why : -EIO, "did not answer a READ");
}

static void on_up(struct peer *h, const struct transport_event *ev)
{
	h->link = ev->link;
	/* Only then: a link that broke and came back finds the same header, and saves its READ. */
	if (h->generation != ev->generation)
		h->header_known = false;
	h->generation = ev->generation;
	h->changes++;
}

static void on_down(struct peer *h, const struct transport_event *ev)
{
	h->link = 0;
	h->why = ev->why ? ev->why : -ENOTCONN;
	if (h->busy)
		fail_reading(h, h->why, "");
	snprintf(h->note, sizeof(h->note), "%s", ev->text);
	h->changes++;
}

void peers_event(struct peers *p, const struct transport_event *ev, struct mono now)
{
	struct peer *h;

	if (ev->host < 1 || ev->host > TRANSPORT_HOSTS_MAX)
		return;
	h = &p->peer[ev->host - 1];
	switch (ev->type) {
	case TRANSPORT_UP:
		on_up(h, ev);
		break;
	case TRANSPORT_DOWN:
		on_down(h, ev);
		break;
	case TRANSPORT_RESULT:
		on_result(h, ev);
		break;
	default:
		return;
	}
	post_jobs(p, h, now);
	end_if_done(p, h);
}

/* --- scans ----------------------------------------------------------------------- */

static uint32_t begin_reading(struct peers *p, struct peer *h, struct mono now)
{
	uint32_t n;

	h->busy = true;
	p->busy++;
	h->serial++;
	h->failed = 0;
	h->began = now;
	h->jobs = 0;
	h->asked = h->nodes_asked = 0;
	h->new_whole = false;
	if (h->header_known) {
		add_host(h);
		if (h->known && h->record.generation == h->generation) {
			add_guests(h, h->record.guests);
			add_nodes(h, h->nodes);
		}
	} else {
		add_header(h);
	}
	n = post_jobs(p, h, now);
	end_if_done(p, h);
	return n;
}

/* The link was full: post the jobs that are left, until the timeout. */
static uint32_t continue_reading(struct peers *p, struct peer *h, struct mono now)
{
	uint32_t n = post_jobs(p, h, now);

	/* Otherwise a link that stays full would keep its host from being read anew. */
	if (any_job(h, JOB_DUE) && mono_sub(now, h->began) > p->timeout_ns)
		fail_post(h, -ETIME);
	end_if_done(p, h);
	return n;
}

uint32_t peers_scan(struct peers *p, struct mono now)
{
	uint32_t n = 0;

	for (int i = 0; i < TRANSPORT_HOSTS_MAX; i++) {
		struct peer *h = &p->peer[i];

		if (h->busy)
			n += continue_reading(p, h, now);
		if (!h->busy && h->link)
			n += begin_reading(p, h, now);
	}
	return n;
}

bool peers_scanning(const struct peers *p)
{
	return p->busy > 0;
}

void peers_forget(struct peers *p, uint16_t host)
{
	struct peer *h;
	uint64_t changes;
	uint32_t serial;

	if (host < 1 || host > TRANSPORT_HOSTS_MAX)
		return;
	h = &p->peer[host - 1];
	p->busy -= h->busy;
	serial = h->serial;
	changes = h->changes;
	free(h->node);
	memset(h, 0, sizeof(*h));
	h->host = host;
	/* They go on: no late result is taken for one of a newer reading. */
	h->serial = serial;
	h->changes = changes + 1;
}

void peers_see(const struct peers *p, uint16_t host, struct peer_seen *s)
{
	const struct peer *h;

	memset(s, 0, sizeof(*s));
	if (host < 1 || host > TRANSPORT_HOSTS_MAX)
		return;
	h = &p->peer[host - 1];
	s->link = h->link;
	s->generation = h->generation;
	s->known = h->known;
	s->read = h->read;
	s->moved = h->moved;
	s->host = &h->record;
	s->guest = h->guest;
	s->guests = h->guests;
	s->service = h->service;
	s->services = h->services;
	s->node = h->node;
	s->nodes = h->nodes;
	s->why = h->why;
	snprintf(s->note, sizeof(s->note), "%s", h->note);
	s->changes = h->changes;
}

uint64_t peers_changes(const struct peers *p, uint16_t host)
{
	return host < 1 || host > TRANSPORT_HOSTS_MAX ? 0 : p->peer[host - 1].changes;
}
