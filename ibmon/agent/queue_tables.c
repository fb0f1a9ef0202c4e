// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * queue_tables: tables of queues in processes -> published queues. agent.c calls it for datagrams,
 * and for a look every few milliseconds. See queue_tables.h.
 *
 * A table is copied, and only the copy is checked and used. What a process can make the agent do is
 * bounded: one table a process, its entries, their pages, and one read of it a look.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/procs.h"
#include "ibmon/agent/queue_tables.h"

/* Why a queue is not published. */
enum refused { NOT_REFUSED, NO_ROOM, NO_FRAMES };

struct queue {
	struct queue_entry entry; /* as it was read; kind 0: none */
	uint32_t id;		  /* the sink's; 0: not published */
	uint32_t pages;
	uint64_t frames;     /* sum over the numbers of its frames */
	struct mono created; /* when it was first published */
	enum refused refused;
};

struct table {
	pid_t pid;
	uint64_t address, nonce;
	int fd;		     /* of its memory */
	uint32_t generation; /* of the newest copy; odd: none yet */
	uint32_t unlisted;
	uint32_t pages; /* of published queues */
	bool warned;
	char comm[16];
	struct queue queue[QUEUE_TABLE_ENTRIES];
};

struct queue_tables {
	const struct queue_sink *sink;
	void *ctx;
	const struct queue_reader *reader;
	const struct log *log;
	struct procs procs;
	size_t n;
	struct table *table[QUEUE_TABLES_MAX];
	bool writing; /* the sink's begin() was called */
	bool room;
	bool warned_tables;
	/* scratch */
	struct queue_table copy;
	uint64_t frame[GUEST_RING_FRAMES_MAX];
};

int queue_tables_open(struct queue_tables **out, const struct queue_sink *sink, void *ctx,
		      const struct queue_reader *reader, const struct log *log)
{
	struct queue_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->sink = sink;
	t->ctx = ctx;
	t->reader = reader;
	t->log = log;
	*out = t;
	return 0;
}

static void table_free(struct queue_tables *t, struct table *tab)
{
	t->reader->close(tab->fd);
	free(tab);
}

void queue_tables_close(struct queue_tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		table_free(t, t->table[i]);
	procs_close(&t->procs);
	free(t);
}

size_t queue_tables_count(const struct queue_tables *t)
{
	return t->n;
}

void queue_tables_room(struct queue_tables *t)
{
	t->room = true;
}

/* --- queues ---------------------------------------------------------------------- */

/* Once before the first change of a look: readers of the book wait until the end. */
static void sink_begin(struct queue_tables *t)
{
	if (!t->writing)
		t->sink->begin(t->ctx);
	t->writing = true;
}

static bool sink_end(struct queue_tables *t)
{
	bool wrote = t->writing;

	if (wrote)
		t->sink->end(t->ctx);
	t->writing = false;
	return wrote;
}

static void withdraw(struct queue_tables *t, struct table *tab, struct queue *q)
{
	if (q->id) {
		sink_begin(t);
		t->sink->withdraw(t->ctx, q->id);
		tab->pages -= q->pages;
		t->room = true;
	}
	*q = (struct queue){ 0 };
}

/* A sum, so that the numbers need not be kept. Their order matters, too. */
static uint64_t sum_frames(const uint64_t *frame, uint32_t n, uint64_t db)
{
	uint64_t sum = db;

	for (uint32_t i = 0; i < n; i++)
		sum = (sum ^ frame[i]) * 0x100000001b3ull;
	return sum;
}

/* The frames of a queue and of its doorbell record, if any, into t->frame and g->db_frame. */
static int read_frames(struct queue_tables *t, const struct table *tab, struct guest_ring *g,
		       const struct queue_place *p)
{
	int rc = t->reader->frames(tab->pid, p->page, p->pages, t->frame);

	return rc || !g->db_bytes ? rc : t->reader->frames(tab->pid, p->db_page, 1, &g->db_frame);
}

/* Once for a process. why: NULL when it has exited. */
static void warn_refused(struct queue_tables *t, struct table *tab, const struct queue_entry *e,
			 const char *why)
{
	if (!tab->warned && why)
		log_msg(t->log, LOG_LVL_WARNING,
			"pid %d (%s): queue %u of %u bytes, and maybe later ones, cannot be "
			"published now: %s",
			(int)tab->pid, tab->comm, e->number, e->elem_size * e->entries, why);
	tab->warned |= why != NULL;
}

static void publish(struct queue_tables *t, struct table *tab, struct queue *q, struct mono now)
{
	struct guest_ring g;
	struct queue_place p;
	int rc;

	if ((q->refused == NO_ROOM && !t->room) ||
	    queue_entry_parse(&q->entry, &g, &p) != QUEUE_MEMORY)
		return;
	q->refused = NO_ROOM;
	if (p.pages > QUEUE_TABLE_PAGES_MAX - tab->pages) {
		warn_refused(t, tab, &q->entry, "the queues of a process may have 32 MiB together");
		return;
	}
	rc = read_frames(t, tab, &g, &p);
	if (!rc) {
		g.pid = (uint32_t)tab->pid;
		if (!q->created.ns)
			q->created = now;
		g.created = (uint64_t)q->created.ns;
		memcpy(g.comm, tab->comm, sizeof(g.comm) - 1);
		sink_begin(t);
		rc = t->sink->publish(t->ctx, &g, t->frame, &q->id);
	}
	if (rc) {
		q->id = 0;
		q->refused = rc == -ENOSPC ? NO_ROOM : NO_FRAMES;
		warn_refused(t, tab, &q->entry,
			     rc == -ENOSPC  ? "the guest ABI has no room left"
			     : rc == -ESRCH ? NULL
					    : strerror(-rc));
		return;
	}
	q->refused = NOT_REFUSED;
	q->pages = p.pages;
	q->frames = sum_frames(t->frame, p.pages, g.db_frame);
	tab->pages += p.pages;
}

/* Send queues first: they alone are charged. */
static void publish_new(struct queue_tables *t, struct table *tab, struct mono now)
{
	static const uint32_t order[] = { GUEST_RING_SQ, GUEST_RING_CQ };

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (size_t i = 0; i < QUEUE_TABLE_ENTRIES; i++) {
			struct queue *q = &tab->queue[i];

			if (q->entry.kind == order[k] && !q->id)
				publish(t, tab, q, now);
		}
}

/* Are the frames of a published queue still the same? */
static bool frames_same(struct queue_tables *t, const struct table *tab, const struct queue *q)
{
	struct guest_ring g;
	struct queue_place p;

	return queue_entry_parse(&q->entry, &g, &p) == QUEUE_MEMORY &&
	       read_frames(t, tab, &g, &p) == 0 &&
	       sum_frames(t->frame, p.pages, g.db_frame) == q->frames;
}

static void check_frames(struct queue_tables *t, struct table *tab)
{
	for (size_t i = 0; i < QUEUE_TABLE_ENTRIES; i++) {
		struct queue *q = &tab->queue[i];
		const struct queue_entry e = q->entry;
		const struct mono created = q->created;

		if (!q->id || frames_same(t, tab, q))
			continue;
		withdraw(t, tab, q);
		q->entry = e;
		q->created = created; /* the host goes on counting */
	}
}

/* --- tables ------------------------------------------------------------------------ */

/* 0: the head is in t->copy, and it is that of this table; -errno. */
static int read_head(struct queue_tables *t, const struct table *tab)
{
	int rc = t->reader->read(tab->fd, &t->copy, QUEUE_HEAD);

	if (!rc)
		rc = queue_head_check(&t->copy);
	if (rc && rc != -EAGAIN)
		return rc;
	if (!t->reader->mapped(tab->pid, tab->address))
		return -ESRCH;
	return t->copy.nonce == tab->nonce ? rc : -ESTALE;
}

/* The generation is read before and after. */
static int read_table(struct queue_tables *t, const struct table *tab, uint32_t generation)
{
	struct queue_table again;
	int rc = t->reader->read(tab->fd, &t->copy, sizeof(t->copy));

	if (!rc)
		rc = t->reader->read(tab->fd, &again, QUEUE_HEAD);
	if (rc)
		return rc;
	return t->copy.generation == generation && again.generation == generation ? 0 : -EAGAIN;
}

/* A queue that is another one, or none any more, is withdrawn. */
static void take_copy(struct queue_tables *t, struct table *tab)
{
	struct guest_ring g;
	struct queue_place p;

	tab->generation = t->copy.generation;
	tab->unlisted = t->copy.unlisted;
	for (size_t i = 0; i < QUEUE_TABLE_ENTRIES; i++) {
		struct queue *q = &tab->queue[i];

		if (!memcmp(&q->entry, &t->copy.entry[i], sizeof(q->entry)))
			continue;
		withdraw(t, tab, q);
		q->entry = t->copy.entry[i];
		if (queue_entry_parse(&q->entry, &g, &p) == QUEUE_NOTE)
			t->sink->note(t->ctx, tab->pid, g.number);
	}
}

/* 0; -EAGAIN: being written; other -errno: it is not there any more. */
static int look_at(struct queue_tables *t, struct table *tab, struct mono now, bool full)
{
	int rc = read_head(t, tab);
	uint32_t generation = t->copy.generation;
	bool fresh = generation != tab->generation;

	if (rc)
		return rc;
	if (fresh) {
		rc = read_table(t, tab, generation);
		if (rc)
			return rc;
		take_copy(t, tab);
	}
	if (full)
		check_frames(t, tab);
	if (fresh || full)
		publish_new(t, tab, now);
	return 0;
}

static void table_remove(struct queue_tables *t, size_t i)
{
	struct table *tab = t->table[i];

	log_msg(t->log, LOG_LVL_DEBUG, "pid %d (%s): its table of queues is gone", (int)tab->pid,
		tab->comm);
	for (size_t k = 0; k < QUEUE_TABLE_ENTRIES; k++)
		withdraw(t, tab, &tab->queue[k]);
	table_free(t, tab);
	t->table[i] = t->table[--t->n];
}

bool queue_tables_look(struct queue_tables *t, struct mono now, bool full)
{
	bool had_room = t->room;

	for (size_t i = t->n; i-- > 0;) {
		int rc = look_at(t, t->table[i], now, full);

		if (rc && rc != -EAGAIN)
			table_remove(t, i);
	}
	if (full && had_room)
		t->room = false;
	return sink_end(t);
}

void queue_tables_gone(struct queue_tables *t, pid_t pid)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->table[i]->pid == pid)
			table_remove(t, i);
	sink_end(t);
}

/* The head is read first: a process that has no table costs nothing that lasts. */
static int check_table(struct queue_tables *t, int fd, const uint64_t *nonce)
{
	int rc = t->reader->read(fd, &t->copy, QUEUE_HEAD);

	if (!rc)
		rc = queue_head_check(&t->copy);
	if (rc && rc != -EAGAIN)
		return rc;
	return nonce && t->copy.nonce != *nonce ? -ESTALE : 0;
}

static int table_new(struct queue_tables *t, pid_t pid, uint64_t address, int fd)
{
	struct table *tab;
	int rc;

	if (t->n == QUEUE_TABLES_MAX) {
		if (!t->warned_tables)
			log_msg(t->log, LOG_LVL_WARNING,
				"more than %d processes have tables of queues: those of pid %d and "
				"later ones are not read",
				QUEUE_TABLES_MAX, (int)pid);
		t->warned_tables = true;
		return -ENOSPC;
	}
	tab = calloc(1, sizeof(*tab));
	if (!tab)
		return -ENOMEM;
	rc = t->sink->join(t->ctx, pid);
	if (rc) {
		free(tab);
		return rc;
	}
	tab->pid = pid;
	tab->address = address;
	tab->fd = fd;
	tab->nonce = t->copy.nonce;
	tab->generation = 1;
	t->reader->comm(pid, tab->comm);
	t->table[t->n++] = tab;
	log_msg(t->log, LOG_LVL_DEBUG, "pid %d (%s): a table of queues", (int)pid, tab->comm);
	return 0;
}

/* nonce: what the datagram says; NULL: not known. A process has one table: the newest. */
static int table_add(struct queue_tables *t, pid_t pid, uint64_t address, const uint64_t *nonce)
{
	int fd = t->reader->open(pid, address), rc;

	if (fd < 0)
		return fd;
	rc = check_table(t, fd, nonce);
	if (!rc) {
		queue_tables_gone(t, pid);
		rc = table_new(t, pid, address, fd);
	}
	if (rc)
		t->reader->close(fd);
	return rc;
}

static const struct table *table_of(const struct queue_tables *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->table[i]->pid == pid)
			return t->table[i];
	return NULL;
}

int queue_tables_datagram(struct queue_tables *t, pid_t pid, const void *buf, size_t len)
{
	struct agent_queues q;
	const struct table *tab;
	int rc = pid > 0 ? queue_datagram_parse(buf, len, &q) : -EBADMSG;

	if (rc)
		return rc;
	tab = table_of(t, pid);
	if (tab && tab->address == q.address && tab->nonce == q.nonce)
		return 0;
	return table_add(t, pid, q.address, &q.nonce);
}

static int list_one(void *ctx, pid_t pid)
{
	return procs_add((struct procs *)ctx, pid);
}

int queue_tables_list(struct queue_tables *t)
{
	int rc;

	procs_begin(&t->procs);
	rc = t->reader->each(list_one, &t->procs);
	if (!rc)
		procs_end(&t->procs);
	return rc;
}

size_t queue_tables_find(struct queue_tables *t, size_t processes, bool *left)
{
	uint64_t address;
	size_t found = 0;
	pid_t pid;

	while (processes-- > 0 && procs_new(&t->procs, &pid))
		if (!table_of(t, pid) && t->reader->table(pid, &address) == 0)
			found += table_add(t, pid, address, NULL) == 0;
	*left = procs_may_new(&t->procs);
	return found;
}

uint32_t queue_tables_unpublished(const struct queue_tables *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct table *tab = t->table[i];

		/* A process cannot say that it has more than the ABI could count. */
		n += tab->unlisted < UINT16_MAX ? tab->unlisted : UINT16_MAX;
		for (size_t k = 0; k < QUEUE_TABLE_ENTRIES; k++)
			n += tab->queue[k].refused != NOT_REFUSED &&
			     tab->queue[k].entry.kind == GUEST_RING_SQ;
	}
	return n;
}

bool queue_tables_rxe(const struct queue_tables *t, pid_t pid, uint32_t qpn, uint32_t *mtu,
		      uint32_t *type)
{
	const struct table *tab = table_of(t, pid);
	struct queue_place p;
	struct guest_ring g;

	for (size_t i = 0; tab && i < QUEUE_TABLE_ENTRIES; i++) {
		const struct queue_entry *e = &tab->queue[i].entry;

		if (e->number != qpn || queue_entry_parse(e, &g, &p) != QUEUE_NOTE)
			continue;
		*mtu = g.path_mtu;
		*type = g.qp_type;
		return true;
	}
	return false;
}
