// SPDX-License-Identifier: GPL-2.0-or-later
/* fake_sql: a database in memory. See fake_sql.h. */
#include "tests/fakes/fake_sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sql {
	struct fake_db *db;
	uint16_t self;
};

struct fake_db *fake_db;

void fake_db_open(struct fake_db *d)
{
	memset(d, 0, sizeof(*d));
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->moved, NULL);
	d->timeline = 77;
	d->transaction = 100;
	fake_db = d;
}

void fake_db_close(struct fake_db *d)
{
	pthread_cond_destroy(&d->moved);
	pthread_mutex_destroy(&d->lock);
	fake_db = NULL;
}

/* --- of a test --------------------------------------------------------------------- */

static void enter(struct fake_db *d)
{
	pthread_mutex_lock(&d->lock);
}

static void leave(struct fake_db *d)
{
	pthread_cond_broadcast(&d->moved);
	pthread_mutex_unlock(&d->lock);
}

void fake_hold(struct fake_db *d, uint16_t host, enum fake_call call, bool hold)
{
	enter(d);
	d->holds[host][call] = hold;
	leave(d);
}

void fake_down(struct fake_db *d, uint16_t host, bool down)
{
	enter(d);
	d->down[host] = down;
	leave(d);
}

void fake_lose(struct fake_db *d, uint16_t host, enum fake_loss loss)
{
	enter(d);
	d->loss[host] = loss;
	leave(d);
}

uint32_t fake_waits(struct fake_db *d, uint16_t host)
{
	uint32_t n;

	enter(d);
	n = d->waits[host];
	leave(d);
	return n;
}

uint32_t fake_called(struct fake_db *d, uint16_t host, enum fake_call call)
{
	uint32_t n;

	enter(d);
	n = d->calls[host][call];
	leave(d);
	return n;
}

uint32_t fake_handles(struct fake_db *d, uint16_t host)
{
	uint32_t n;

	enter(d);
	n = d->handles[host];
	leave(d);
	return n;
}

uint32_t fake_epoch(struct fake_db *d)
{
	uint32_t epoch;

	enter(d);
	epoch = d->epoch;
	leave(d);
	return epoch;
}

int64_t fake_place(struct fake_db *d, uint32_t place)
{
	int64_t v;

	enter(d);
	v = d->place[place];
	leave(d);
	return v;
}

struct fake_row fake_row(struct fake_db *d, uint16_t host)
{
	struct fake_row row;

	enter(d);
	row = d->row[host];
	leave(d);
	return row;
}

void fake_failover(struct fake_db *d)
{
	enter(d);
	d->timeline++;
	leave(d);
}

/* --- calls ------------------------------------------------------------------------- */

/* The lock is held when it returns. -ENOTCONN: there is no connection, and the lock is not held. */
static int begin(struct fake_db *d, uint16_t host, enum fake_call call, struct sql_error *e)
{
	pthread_mutex_lock(&d->lock);
	d->calls[host][call]++;
	d->waits[host]++;
	while (d->holds[host][call])
		pthread_cond_wait(&d->moved, &d->lock);
	d->waits[host]--;
	if (!d->down[host])
		return 0;
	pthread_mutex_unlock(&d->lock);
	snprintf(e->text, sizeof(e->text), "no connection to the fake database");
	return -ENOTCONN;
}

static int fake_open(struct sql **s, const struct sql_conf *c, struct sql_error *e)
{
	struct sql *new;
	int rc = begin(fake_db, c->self, FAKE_OPEN, e);

	if (rc)
		return rc;
	new = calloc(1, sizeof(*new));
	if (new) {
		new->db = fake_db;
		new->self = c->self;
		fake_db->handles[c->self]++;
		*s = new;
	}
	leave(fake_db);
	return new ? 0 : -ENOMEM;
}

static void fake_close(struct sql *s)
{
	if (!s)
		return;
	enter(s->db);
	s->db->handles[s->self]--;
	leave(s->db);
	free(s);
}

static int fake_check(struct sql *s, char problem[static SQL_PROBLEMS_MAX][256],
		      struct sql_error *e)
{
	(void)s;
	(void)problem;
	(void)e;
	return 0;
}

static int fake_look(struct sql *s, struct sql_look *l, struct sql_error *e)
{
	struct fake_db *d = s->db;
	int rc = begin(d, s->self, FAKE_LOOK, e);

	if (rc)
		return rc;
	memset(l, 0, sizeof(*l));
	l->timeline = d->timeline;
	l->epoch = d->epoch;
	for (uint16_t h = 1; h < UPDATE_HOSTS; h++) {
		hostset_set(&l->rows, h, d->row[h].there);
		hostset_set(&l->members, h, d->row[h].in);
		l->generation[h] = d->row[h].generation;
		l->fence[h] = d->row[h].fence;
		l->raised[h] = d->row[h].raised;
	}
	leave(d);
	return 0;
}

static uint32_t above(uint32_t a, uint32_t floor)
{
	return (a > floor ? a : floor) + 1;
}

static int fake_join(struct sql *s, uint32_t generation_floor, uint32_t fence_floor,
		     struct sql_joined *j, struct sql_error *e)
{
	struct fake_db *d = s->db;
	struct fake_row *row = &d->row[s->self];
	int rc = begin(d, s->self, FAKE_JOIN, e);

	if (rc)
		return rc;
	d->epoch++;
	row->there = row->in = true;
	row->generation = above(row->generation, generation_floor);
	row->fence = above(row->fence, fence_floor);
	row->raised = ++d->transaction;
	*j = (struct sql_joined){ .timeline = d->timeline,
				  .epoch = d->epoch,
				  .generation = row->generation,
				  .fence = row->fence,
				  .transaction = row->raised };
	leave(d);
	return 0;
}

static int fake_remove(struct sql *s, uint16_t host, uint32_t generation, struct sql_error *e)
{
	struct fake_db *d = s->db;
	struct fake_row *row = &d->row[host];
	int rc = begin(d, s->self, FAKE_REMOVE, e);

	if (rc)
		return rc;
	if (generation && row->generation != generation) {
		rc = -ESTALE;
	} else if (row->in) {
		row->in = false;
		row->fence++;
		row->raised = ++d->transaction;
	}
	leave(d);
	return rc;
}

static int fake_resolve(struct sql *s, uint16_t slot, uint64_t name, uint64_t *transaction,
			struct sql_error *e)
{
	struct fake_db *d = s->db;
	int rc = begin(d, s->self, FAKE_RESOLVE, e);

	if (rc)
		return rc;
	d->row[s->self].fence++;
	d->row[s->self].raised = ++d->transaction;
	*transaction = d->name[s->self][slot] == name ? d->committed[s->self][slot] : 0;
	leave(d);
	return 0;
}

static bool is_refused(const struct sql_update *u)
{
	for (uint32_t i = 0; i < u->statements; i++)
		if (!strcmp(u->statement[i].text, "refuse"))
			return true;
	return false;
}

static void execute(struct fake_db *d, const struct sql_update *u, uint64_t *rows)
{
	unsigned place;
	long long v;

	for (uint32_t i = 0; i < u->statements; i++) {
		rows[i] = sscanf(u->statement[i].text, "set %u %lld", &place, &v) == 2 &&
			  place < FAKE_PLACES;
		if (rows[i])
			d->place[place] = v;
	}
}

static bool is_as_told(const struct fake_db *d, uint16_t host, const struct sql_update *u)
{
	return d->epoch == u->epoch && d->row[host].in &&
	       d->row[host].fence == cache_update_fence(u->name);
}

static enum sql_end fake_update(struct sql *s, const struct sql_update *u, uint64_t *transaction,
				uint64_t *rows, struct sql_error *e)
{
	struct fake_db *d = s->db;
	enum fake_loss loss;
	enum sql_end end = SQL_COMMITTED;

	if (begin(d, s->self, FAKE_UPDATE, e))
		return SQL_UNKNOWN;
	loss = d->loss[s->self];
	if (!is_as_told(d, s->self, u)) {
		leave(d);
		return SQL_CHANGED;
	}
	d->loss[s->self] = FAKE_NO_LOSS;
	if (loss == FAKE_LOST_UNDONE) {
		end = SQL_UNKNOWN;
	} else if (is_refused(u)) {
		snprintf(e->text, sizeof(e->text), "a statement was refused");
		snprintf(e->state, sizeof(e->state), "23505");
		end = SQL_FAILED;
	} else {
		execute(d, u, rows);
		*transaction = ++d->transaction;
		d->name[s->self][u->slot] = u->name;
		d->committed[s->self][u->slot] = *transaction;
		end = loss == FAKE_LOST_DONE ? SQL_UNKNOWN : SQL_COMMITTED;
	}
	leave(d);
	return end;
}

const struct sql_ops fake_sql = {
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.check = fake_check,
	.look = fake_look,
	.join = fake_join,
	.remove = fake_remove,
	.resolve = fake_resolve,
	.update = fake_update,
};
