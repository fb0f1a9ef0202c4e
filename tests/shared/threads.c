// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads: hosts as threads acquire one lock, for the thread sanitizer.
 *
 *	threads [SECONDS]	default 2
 *
 * They use the transport "shm" with faults, in real time. One holder hangs once for longer than its
 * lease. A holder must be alone. Four things show it: a word that each holder swaps, a sum that
 * must lose nothing, the fences, and the history of the holders that may act.
 */
#include "config.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/reconf/lock.h"
#include "src/shared/region.h"
#include "src/reconf/runner.h"
#include "src/transport/shm/faults.h"
#include "src/util/clock.h"
#include "tests/shared/history.h"
#include "tests/unit/tmpdir.h"

enum { HOSTS = 4, SERVICE = 1, PREFIX = 0x7ead, HANGS = 3 };
#define HOLD_NS	    (400 * NS_PER_MS)
#define DEADLINE_NS (60 * NS_PER_MS)
#define HANG_NS	    (1100 * NS_PER_MS)
#define PATIENCE_NS (60 * NS_PER_S)

struct all;

struct host {
	struct all *all;
	uint16_t number;
	struct transport *t;
	struct runner *r;
	struct lock lock;
	struct clock clock;
	uint64_t held, hangs;
	int64_t rests; /* until then it does not ask for the lock, so that others get it */
};

struct all {
	struct tmpdir dir;
	struct host host[HOSTS + 1];
	int64_t began, until;
	bool careless; /* a host that hung acts without checking its lease: the test must find it */
	atomic_uint ready, done, hung;
	atomic_uint inside;
	atomic_ullong sum, fence; /* read and written one after the other, never added to */
	pthread_mutex_t mutex;	  /* only for the history */
	struct history history;
};

static const uint8_t key[] = "0123456789abcdef0123456789abcdef";

static struct mono now_of(struct host *h)
{
	return h->clock.now(&h->clock);
}

static void tell_may(struct host *h, bool may)
{
	struct history_record r = { .t = now_of(h).ns,
				    .type = HISTORY_MAY,
				    .host = h->number,
				    .service = SERVICE,
				    .value = may };

	pthread_mutex_lock(&h->all->mutex);
	history_add(&h->all->history, &r);
	pthread_mutex_unlock(&h->all->mutex);
}

static void wrong(struct host *h, const char *what)
{
	pthread_mutex_lock(&h->all->mutex);
	history_fail(&h->all->history, HISTORY_LEASE, "host %u: %s", h->number, what);
	pthread_mutex_unlock(&h->all->mutex);
}

/* Only one host may do this at a time. */
static void act(struct host *h)
{
	struct all *a = h->all;
	unsigned long long fence = lock_fence(&h->lock), sum;

	tell_may(h, true);
	if (atomic_exchange_explicit(&a->inside, h->number, memory_order_relaxed))
		wrong(h, "somebody else is inside");
	if (fence <= atomic_load_explicit(&a->fence, memory_order_relaxed))
		wrong(h, "the fence went back");
	atomic_store_explicit(&a->fence, fence, memory_order_relaxed);
	sum = atomic_load_explicit(&a->sum, memory_order_relaxed);
	sched_yield();
	atomic_store_explicit(&a->sum, sum + 1, memory_order_relaxed);
	if (atomic_exchange_explicit(&a->inside, 0, memory_order_relaxed) != h->number)
		wrong(h, "somebody else came inside");
	tell_may(h, false);
	h->held++;
}

static void events(struct host *h, int64_t wait_ns)
{
	struct transport_event ev[32];
	struct mono now = now_of(h), due = mono_add(now, wait_ns);
	struct pollfd p = { .fd = transport_fd(h->t), .events = POLLIN };

	if (runner_due_at(h->r).ns < due.ns)
		due = runner_due_at(h->r);
	if (!transport_arm(h->t, now, &due) && mono_sub(due, now) > 0) {
		struct timespec ts = { 0, (long)mono_sub(due, now) };

		ppoll(&p, 1, &ts, NULL);
	}
	now = now_of(h);
	for (size_t n = transport_poll(h->t, now, ev, 32), i = 0; i < n; i++)
		runner_event(h->r, &ev[i], now);
	runner_tick(h->r, now);
}

static bool linked(const struct host *h)
{
	for (uint16_t n = 1; n <= HOSTS; n++)
		if (!transport_link(h->t, n))
			return false;
	return true;
}

/* Holds the lock and does nothing at all, as a host that is stopped. */
static void hang(struct host *h)
{
	struct timespec ts = { HANG_NS / NS_PER_S, HANG_NS % NS_PER_S };

	h->hangs++;
	nanosleep(&ts, NULL);
	atomic_fetch_add(&h->all->hung, 1);
}

static void faults(struct host *h)
{
	const struct shm_faults f = { .seed = h->number,
				      .out_max_ns = 100 * NS_PER_US,
				      .back_max_ns = 100 * NS_PER_US,
				      .drop_permille = 2,
				      .drop_back_permille = 2,
				      .late_permille = 2,
				      .late_max_ns = 100 * NS_PER_MS };

	if (transport_shm_faults(h->t, &f))
		wrong(h, "shm refuses its faults");
}

/* For the time that was asked for; longer if the machine is so slow that no holder has hung yet. */
static bool goes_on(struct host *h)
{
	int64_t now = now_of(h).ns;

	return now < h->all->until ||
	       (!atomic_load(&h->all->hung) && now < h->all->until + PATIENCE_NS);
}

static void *run(void *arg)
{
	struct host *h = arg;
	struct all *a = h->all;

	while (!linked(h))
		events(h, NS_PER_MS);
	atomic_fetch_add(&a->ready, 1);
	while (atomic_load(&a->ready) < HOSTS)
		events(h, NS_PER_MS);
	faults(h);
	runner_view(h->r, 0, hostset_first(HOSTS), true, now_of(h));
	runner_ask(h->r, &h->lock, LOCK_ACQUIRE, NULL, now_of(h));
	while (goes_on(h)) {
		events(h, NS_PER_MS);
		if (lock_state(&h->lock) == LOCK_IDLE && now_of(h).ns >= h->rests)
			runner_ask(h->r, &h->lock, LOCK_ACQUIRE, NULL, now_of(h));
		if (lock_state(&h->lock) != LOCK_HELD)
			continue;
		if (lock_may_act(&h->lock, now_of(h), HOLD_NS / 2))
			act(h);
		if (h->number == HANGS && !h->hangs && h->held > 2) {
			hang(h);
			if (a->careless)
				act(h);
		}
		runner_ask(h->r, &h->lock, LOCK_RELEASE, NULL, now_of(h));
		h->rests = now_of(h).ns + 4 * NS_PER_MS;
	}
	runner_ask(h->r, &h->lock, LOCK_RELEASE, NULL, now_of(h));
	atomic_fetch_add(&a->done, 1);
	/* Other hosts may still read our memory, and an outcome of ours may still be open. */
	while (atomic_load(&a->done) < HOSTS)
		events(h, NS_PER_MS);
	return NULL;
}

static bool start(struct all *a, uint16_t number)
{
	static const struct lock_conf conf = { .service = SERVICE,
					       .hold_ns = HOLD_NS,
					       .deadline_ns = DEADLINE_NS,
					       .drift_ppm = 1000,
					       .check_ns = 2 * NS_PER_MS };
	struct transport_conf c = { .host = number,
				    .generation = 1,
				    .cluster = "threads",
				    .key = key,
				    .key_len = sizeof(key),
				    .connect_ns = NS_PER_S,
				    .backoff_min_ns = 5 * NS_PER_MS,
				    .backoff_max_ns = 50 * NS_PER_MS,
				    .seed = number,
				    .bytes = { REGION_TABLE_BYTES, REGION_WORDS_BYTES } };
	uint64_t *words = calloc(1, REGION_WORDS_BYTES);
	struct host *h = &a->host[number];
	struct runner_user user;
	char text[256] = "no memory";

	h->all = a;
	h->number = number;
	clock_real(&h->clock);
	lock_init(&h->lock, &conf);
	h->lock.conf.self = number;
	user = runner_lock(&h->lock);
	c.words = words;
	snprintf(c.address, sizeof(c.address), "%s", a->dir.path);
	if (!words || region_words(words, 1, NULL) ||
	    transport_find("shm")->open(&h->t, &c, now_of(h), text)) {
		fprintf(stderr, "threads: host %u: %s\n", number, text);
		free(words);
		return false;
	}
	free(words);
	for (uint16_t n = 1; n <= HOSTS; n++) {
		struct transport_peer p = { .host = n };

		snprintf(p.address, sizeof(p.address), "%s", a->dir.path);
		if (transport_add(h->t, &p, now_of(h)))
			return false;
	}
	return !runner_open(&h->r, h->t, DEADLINE_NS, PREFIX) && !runner_add(h->r, &user);
}

static int judge(const struct all *a)
{
	uint64_t held = 0;
	int holders = 0;

	for (uint16_t n = 1; n <= HOSTS; n++) {
		held += a->host[n].held;
		holders += a->host[n].held > 0;
	}
	printf("threads: %llu times held by %d of %d hosts; one hung; %s %s\n",
	       (unsigned long long)held, holders, HOSTS, history_name(a->history.violation),
	       a->history.text);
	if (a->careless)
		return !a->history.violation;
	if (a->history.violation) {
		history_dump(stderr, &a->history);
		return 1;
	}
	if (atomic_load(&a->sum) != held || holders < 2 || !a->host[HANGS].hangs) {
		fprintf(stderr, "threads: the sum is %llu, held %llu times by %d hosts\n",
			(unsigned long long)atomic_load(&a->sum), (unsigned long long)held,
			holders);
		return 1;
	}
	return 0;
}

static int run_all(struct all *a, int64_t ns)
{
	pthread_t thread[HOSTS + 1];
	uint16_t started = 0;

	a->began = now_of(&a->host[1]).ns;
	a->until = a->began + ns;
	for (uint16_t n = 1; n <= HOSTS; n++)
		history_add(&a->history, &(struct history_record){
						 .t = a->began, .type = HISTORY_BOOT, .host = n });
	while (started < HOSTS &&
	       !pthread_create(&thread[started + 1], NULL, run, &a->host[started + 1]))
		started++;
	if (started < HOSTS) {
		fprintf(stderr, "threads: only %u of %d threads could be made\n", started, HOSTS);
		exit(1);
	}
	for (uint16_t n = 1; n <= HOSTS; n++)
		pthread_join(thread[n], NULL);
	return judge(a);
}

static int run_once(double seconds, bool careless)
{
	struct all *a = calloc(1, sizeof(*a));
	const struct history_conf c = { .hosts = HOSTS, .services = SERVICE };
	bool good = true;
	int rc = 1;

	if (!a)
		return 1;
	a->careless = careless;
	history_init(&a->history, &c);
	pthread_mutex_init(&a->mutex, NULL);
	tmp_open(&a->dir);
	for (uint16_t n = 1; n <= HOSTS && good; n++)
		good = start(a, n);
	if (good)
		rc = run_all(a, (int64_t)(seconds * (double)NS_PER_S));
	for (uint16_t n = 1; n <= HOSTS; n++) {
		runner_close(a->host[n].r);
		transport_close(a->host[n].t);
	}
	tmp_close(&a->dir);
	pthread_mutex_destroy(&a->mutex);
	free(a);
	return rc;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;

	return run_once(seconds, false) || run_once(2, true);
}
