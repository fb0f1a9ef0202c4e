// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmaload: RDMA traffic over loopback that tells the truth at the end.
 *
 * Says READY with its pid and queue pair numbers, makes traffic whose counts
 * nobody outside can know, says DONE, holds its rings for a last look, and
 * only then prints what it did, as one line of JSON that begins with TRUTH.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/src/load.h"

#define STALL_NS 30000000000LL

enum wish {
	WISH_NONE,
	WISH_RESET,
	WISH_CYCLE,
};

struct stream {
	struct load_qp qp;
	uint64_t target; /* work requests to post; UINT64_MAX: by time */
	uint64_t posted; /* over all queue pairs of this stream */
	uint64_t next_wish;
	enum wish wish;
	int64_t next_resize;
	bool finished;
};

struct run {
	struct load_ctx ctx;
	struct load_opts opts;
	struct stream *stream;
	struct load_truth *truth;
	uint32_t truths;
	int64_t start, end, progress;
	int64_t next_post; /* when pacing allows the next */
	bool stalled;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	struct timespec t = { ns / 1000000000LL, ns % 1000000000LL };

	nanosleep(&t, NULL);
}

static int renew(struct run *r, struct stream *s)
{
	if (r->truths == LOAD_TRUTHS_MAX) {
		fputs("rdmaload: too many queue pairs; use a larger --cycle or --errors\n", stderr);
		return -E2BIG;
	}
	load_destroy(&s->qp);
	return load_create(&s->qp, &r->ctx, &r->truth[r->truths++]);
}

static uint64_t about(struct run *r, uint32_t n)
{
	return n ? n / 2 + load_below(&r->ctx, n) + 1 : UINT64_MAX;
}

/* Choose what will happen to the queue pair next, and when. */
static void make_wish(struct run *r, struct stream *s)
{
	uint64_t reset = about(r, r->opts.reset), cycle = about(r, r->opts.cycle);
	uint64_t in = reset < cycle ? reset : cycle;

	s->wish = in == UINT64_MAX ? WISH_NONE : reset < cycle ? WISH_RESET : WISH_CYCLE;
	s->next_wish = s->wish == WISH_NONE ? UINT64_MAX : s->posted + in;
}

static int fulfil(struct run *r, struct stream *s)
{
	int ret = s->wish == WISH_RESET ? load_reset(&s->qp) : renew(r, s);

	make_wish(r, s);
	return ret;
}

static int resize(struct run *r, struct stream *s, int64_t now)
{
	struct load_qp *q = &s->qp;

	if (!r->opts.resize_ms || now < s->next_resize)
		return 0;
	s->next_resize = now + (int64_t)about(r, r->opts.resize_ms) * 1000000;
	return load_resize(q, q->slots + 1 + load_below(&r->ctx, 3 * q->slots));
}

/* Post, if pacing allows; what was posted pushes the next moment on. */
static int post(struct run *r, struct stream *s, uint64_t left, bool drain, int64_t now)
{
	const struct load_opts *o = &r->opts;
	int n;

	if (now < r->next_post && !drain)
		return 0;
	n = load_post(&s->qp, left > UINT32_MAX ? UINT32_MAX : (uint32_t)left, drain);
	if (n <= 0)
		return n;
	s->posted += (uint64_t)n;
	if (o->pace_us)
		r->next_post = now + (int64_t)o->pace_us * 1000;
	if (o->rate)
		r->next_post += n * 1000000000LL / o->rate;
	if (o->rate && r->next_post < now - 100000000)
		r->next_post = now - 100000000; /* make up for at most a tenth of a second */
	return n;
}

static int settle(struct run *r, struct stream *s, bool last)
{
	struct load_qp *q = &s->qp;

	if (load_outstanding(q) && !q->broken && !q->last_signalled)
		return post(r, s, 1, true, now_ns());
	if (load_outstanding(q))
		return 0;
	if (last) {
		s->finished = true;
		return 0;
	}
	if (q->broken)
		return renew(r, s);
	return fulfil(r, s);
}

/* One step of one stream: completions first, then what is due. Progress made, or -errno. */
static int step(struct run *r, struct stream *s, int64_t now)
{
	struct load_qp *q = &s->qp;
	bool last = s->posted >= s->target || now >= r->end;
	int got = load_reap(q), ret;

	if (got < 0)
		return got;
	if (s->posted >= s->next_wish && s->wish == WISH_RESET && r->opts.reset_dirty && !last &&
	    !q->broken) {
		ret = fulfil(r, s);
	} else if (last || q->broken || s->posted >= s->next_wish) {
		ret = settle(r, s, last);
	} else {
		ret = resize(r, s, now);
		ret = ret ? ret : post(r, s, s->target - s->posted, false, now);
	}
	return ret < 0 ? ret : got + ret;
}

static int pass(struct run *r, bool *busy)
{
	int64_t now = now_ns();

	*busy = false;
	for (uint32_t i = 0; i < r->opts.qps; i++) {
		struct stream *s = &r->stream[i];
		int n;

		if (s->finished)
			continue;
		*busy = true;
		n = step(r, s, now);
		if (n < 0)
			return n;
		if (n > 0)
			r->progress = now;
	}
	if (now - r->progress > STALL_NS && now > r->next_post + STALL_NS) {
		fputs("rdmaload: no completion for 30 s, giving up\n", stderr);
		r->stalled = true;
		return -ETIMEDOUT;
	}
	return 0;
}

static int run_streams(struct run *r)
{
	bool busy = true;
	int ret = 0;

	r->start = r->progress = r->next_post = now_ns();
	r->end = r->opts.seconds ? r->start + r->opts.seconds * 1000000000LL : INT64_MAX;
	while (busy && !ret) {
		int64_t idle;

		ret = pass(r, &busy);
		idle = r->next_post - now_ns();
		if (idle > 100000)
			sleep_ns(idle > 2000000 ? 1000000 : idle / 2);
	}
	r->end = now_ns();
	return ret;
}

static void *burn(void *arg)
{
	uint32_t percent = *(const uint32_t *)arg;

	for (;;) {
		int64_t until = now_ns() + percent * 100000LL;

		while (now_ns() < until)
			;
		if (percent < 100)
			sleep_ns((100 - percent) * 100000LL);
	}
	return NULL;
}

/* Is this line on stdin before the time is over? At its end: only after the time. */
static void await(const char *line, int seconds)
{
	int64_t until = now_ns() + seconds * 1000000000LL;
	struct pollfd p = { .fd = 0, .events = POLLIN };
	char buf[64];
	size_t n = 0;

	for (;;) {
		int64_t left = (until - now_ns()) / 1000000;
		char c;

		if (seconds >= 0 && left <= 0)
			return;
		if (poll(&p, 1, seconds < 0 ? -1 : (int)left) <= 0)
			continue;
		if (read(0, &c, 1) != 1) {
			if (seconds >= 0)
				sleep_ns(left * 1000000);
			return;
		}
		if (c != '\n' && c != '\r') {
			n += n + 1 < sizeof(buf);
			buf[n - 1] = c;
			continue;
		}
		buf[n] = '\0';
		if (!strcmp(buf, line))
			return;
		n = 0;
	}
}

/* One work request, done: who reads the ring knows a packet number of it from then on. */
static int do_first(struct run *r, struct stream *s)
{
	int64_t until = now_ns() + STALL_NS;
	int ret = load_reap(&s->qp);

	if (ret >= 0)
		ret = post(r, s, 1, true, now_ns());
	while (ret >= 0 && load_outstanding(&s->qp)) {
		if (now_ns() > until)
			return -ETIMEDOUT;
		ret = load_reap(&s->qp);
	}
	return ret < 0 ? ret : 0;
}

static int start(struct run *r)
{
	r->stream = calloc(r->opts.qps, sizeof(*r->stream));
	r->truth = calloc(LOAD_TRUTHS_MAX, sizeof(*r->truth));
	if (!r->stream || !r->truth)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->opts.qps; i++) {
		struct stream *s = &r->stream[i];
		int ret = renew(r, s);

		if (ret)
			return ret;
		s->target = r->opts.count.max ? load_between(&r->ctx, r->opts.count) : UINT64_MAX;
		make_wish(r, s);
		ret = r->opts.first ? do_first(r, s) : 0;
		if (ret)
			return ret;
	}
	printf("READY pid=%d qpns=", (int)getpid());
	for (uint32_t i = 0; i < r->truths; i++)
		printf("%s%u", i ? "," : "", r->truth[i].qpn);
	puts("");
	fflush(stdout);
	return 0;
}

static pid_t inherit(const struct run *r)
{
	pid_t pid = r->opts.fork ? fork() : -1;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void tell(const struct run *r)
{
	double seconds = (double)(r->end - r->start) / 1e9;
	FILE *f = r->opts.truth ? fopen(r->opts.truth, "w") : NULL;

	if (r->opts.truth && !f)
		fprintf(stderr, "rdmaload: %s cannot be written: %s\n", r->opts.truth,
			strerror(errno));
	if (f) {
		load_print(f, r->truth, r->truths, &r->opts, seconds, r->stalled);
		fclose(f);
	}
	fputs("TRUTH ", stdout);
	load_print(stdout, r->truth, r->truths, &r->opts, seconds, r->stalled);
}

static int run(struct run *r)
{
	pthread_t burner;
	pid_t child;
	int ret;

	ret = start(r);
	if (ret)
		return ret;
	if (r->opts.wait)
		await("go", -1);
	child = inherit(r);
	if (r->opts.burn_cpu && pthread_create(&burner, NULL, burn, &r->opts.burn_cpu))
		return -EAGAIN;
	ret = run_streams(r);
	puts("DONE");
	fflush(stdout);
	if (r->opts.hold_s)
		await("end", (int)r->opts.hold_s);
	tell(r);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct run r = { 0 };
	int ret = load_options(argc, argv, &r.opts);

	if (ret)
		return 2;
	ret = load_open(&r.ctx, &r.opts);
	if (!ret)
		ret = run(&r);
	for (uint32_t i = 0; r.stream && i < r.opts.qps; i++)
		load_destroy(&r.stream[i].qp);
	free(r.stream);
	free(r.truth);
	load_close(&r.ctx);
	if (ret)
		fprintf(stderr, "rdmaload: ended early: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}
