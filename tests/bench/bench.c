// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench: what a tick costs, beside a raw pass over the same lines of guest memory. See tick_host.h
 * for the yardstick and for what near, far and cold mean.
 *
 *	resex-bench [-gjr] [-o OTHER] [-s GUESTSxQUEUES[:LOAD]]
 *
 * -g: measure only the sizes that show growth. -j: one JSON object. -s: only this size and load.
 * -r: ticks are recorded (resex trace-start); without -o they take turns with ticks that are not.
 * -o: the resex-bench of another build takes turns with this one, so that both see the same
 * machine; for an older commit copy tests/bench into its tree and build there.
 *
 * Guests' CPU times come from memory: the hypercall is not in these figures, nor is waking up;
 * the loop that only sleeps shows that. Prints ratios; judges nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/tick_host.h"

enum { ROUNDS_MAX = 200, TURN = 10, LATE_SECONDS = 5, LOOP_TURNS = 2000 };
#define SELF "/proc/self/exe"

enum { SLOWEST_IN = 50 }; /* leave the slowest of so many samples out of the mean */

/* Where the ticks run: in this process, or in another program that reads requests. */
struct side {
	struct tick_host *h;
	FILE *to, *from;
};

struct figures {
	double mean_us, median_us, least_us;
};

struct result {
	struct figures tick, raw;
	uint64_t lines;
};

static const uint32_t guests_of[] = { 1, 4, 16, 64, 256 }, queues_of[] = { 0, 1, 4, 16, 64 };
enum { SIZES = sizeof(guests_of) / sizeof(guests_of[0]), OF_4_QUEUES = 2, OF_16_GUESTS = 2 };

/* Means of a row in us. */
struct row {
	double tick, raw;
};

struct output {
	bool json, any;
	bool growth;	   /* measure only the sizes that show growth */
	bool recorded;	   /* ticks of this program */
	const char *other; /* program; NULL: none */
	bool some;	   /* only this size */
	uint32_t guests, queues;
	char load[16]; /* "": all */
	/* Of the tick without guests, by regime: this build's, the other's. */
	struct figures empty[REGIMES], empty_other[REGIMES];
	double empty_raw[REGIMES];		      /* mean, us */
	struct row row[REGIMES][LOADS][SIZES][SIZES]; /* by guests, queues */
};

/* --- the other program --------------------------------------------------------- */

/* Answer the requests of a resex-bench: see side_open and side_run. */
static int serve(void)
{
	struct tick_host *h = NULL;
	struct size z;
	unsigned load, regime, n;
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		static struct round r[ROUNDS_MAX];

		if (sscanf(line, "open %u %u %u %u", &z.guests, &z.queues, &z.pages, &load) == 4) {
			z.load = (enum load)load;
			h = tick_host_open(&z);
			printf("opened\n");
		} else if (h && sscanf(line, "run %u %u", &regime, &n) == 2 && n <= ROUNDS_MAX) {
			tick_host_run(h, (enum regime)regime, r, (int)n);
			for (unsigned i = 0; i < n; i++)
				printf("%lld %lld %lld\n", (long long)r[i].raw_ns,
				       (long long)r[i].tick_ns[0], (long long)r[i].tick_ns[1]);
		} else if (h && !strcmp(line, "close\n")) {
			tick_host_close(h);
			h = NULL;
			printf("closed\n");
		} else {
			die("a request was not understood", -EPROTO);
		}
		fflush(stdout);
	}
	return 0;
}

static void expect(struct side *s, const char *answer)
{
	char line[128];

	if (!fgets(line, sizeof(line), s->from) || strcmp(line, answer) != 0)
		die("the other program failed, or is too old to take turns", -EPROTO);
}

static void side_start(struct side *s, const char *program)
{
	int to[2], from[2];
	pid_t pid;

	if (pipe(to) || pipe(from))
		die("pipe", -errno);
	pid = fork();
	if (pid < 0)
		die("fork", -errno);
	if (!pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execl(program, program, "--serve", (char *)NULL);
		die(program, -errno);
	}
	close(to[0]);
	close(from[1]);
	s->to = fdopen(to[1], "w");
	s->from = fdopen(from[0], "r");
	if (!s->to || !s->from)
		die("memory", -ENOMEM);
}

static void side_open(struct side *s, const struct size *z)
{
	if (!s->to) {
		s->h = tick_host_open(z);
		return;
	}
	fprintf(s->to, "open %u %u %u %u\n", z->guests, z->queues, z->pages, (unsigned)z->load);
	fflush(s->to);
	expect(s, "opened\n");
}

static void side_run(struct side *s, enum regime regime, struct round *r, int n)
{
	if (!s->to) {
		tick_host_run(s->h, regime, r, n);
		return;
	}
	fprintf(s->to, "run %u %d\n", (unsigned)regime, n);
	fflush(s->to);
	for (int i = 0; i < n; i++) {
		long long raw, tick0, tick1;
		char line[128];

		if (!fgets(line, sizeof(line), s->from) ||
		    sscanf(line, "%lld %lld %lld", &raw, &tick0, &tick1) != 3)
			die("the other program failed", -EPROTO);
		r[i] = (struct round){ raw, { tick0, tick1 } };
	}
}

static void side_close(struct side *s)
{
	if (!s->to) {
		tick_host_close(s->h);
		return;
	}
	fprintf(s->to, "close\n");
	fflush(s->to);
	expect(s, "closed\n");
}

/* --- figures --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct figures figures_of(int64_t *v, int n)
{
	int kept = n - (n + SLOWEST_IN - 1) / SLOWEST_IN;
	double sum = 0;

	qsort(v, (size_t)n, sizeof(*v), by_value);
	for (int i = 0; i < kept; i++)
		sum += (double)v[i];
	return (struct figures){ sum / kept / 1e3, (double)v[n / 2] / 1e3, (double)v[0] / 1e3 };
}

static struct result result_of(const struct round *r, int n)
{
	static int64_t ticks[ROUNDS_MAX * ROUND_TICKS], raw[ROUNDS_MAX];

	for (int i = 0; i < n; i++) {
		raw[i] = r[i].raw_ns;
		for (int k = 0; k < ROUND_TICKS; k++)
			ticks[i * ROUND_TICKS + k] = r[i].tick_ns[k];
	}
	return (struct result){ .tick = figures_of(ticks, n * ROUND_TICKS),
				.raw = figures_of(raw, n) };
}

static int rounds_of(const struct size *z, enum regime regime)
{
	uint32_t rings = z->guests * z->queues;

	if (regime == COLD)
		return rings > 200 ? 20 : 40;
	return rings > 2000 ? 30 : rings > 200 ? 100 : ROUNDS_MAX;
}

static double above(const struct figures *f, const struct figures *empty)
{
	return f->mean_us > empty->mean_us ? f->mean_us - empty->mean_us : 0;
}

static double ratio_of(const struct result *r, const struct figures *empty)
{
	return r->raw.mean_us > 0 ? above(&r->tick, empty) / r->raw.mean_us : 0;
}

static void print_json(struct output *o, const struct size *z, enum regime regime,
		       const struct result *r, const struct result *other)
{
	printf("%s\n  {\"guests\": %u, \"queues\": %u, \"pages\": %u, \"load\": \"%s\", "
	       "\"regime\": \"%s\", \"lines\": %llu, \"tick_us\": %.3f, \"tick_median_us\": %.3f, "
	       "\"tick_least_us\": %.3f, \"raw_us\": %.3f, \"raw_median_us\": %.3f, "
	       "\"ratio\": %.3f, \"core_percent\": %.4f",
	       o->any ? "," : "", z->guests, z->queues, z->pages, load_name[z->load],
	       regime_name[regime], (unsigned long long)r->lines, r->tick.mean_us,
	       r->tick.median_us, r->tick.least_us, r->raw.mean_us, r->raw.median_us,
	       ratio_of(r, &o->empty[regime]), above(&r->tick, &o->empty[regime]) / 10);
	if (other)
		printf(", \"other_tick_us\": %.3f, \"other_tick_median_us\": %.3f, "
		       "\"other_raw_us\": %.3f, \"other_ratio\": %.3f",
		       other->tick.mean_us, other->tick.median_us, other->raw.mean_us,
		       ratio_of(other, &o->empty_other[regime]));
	printf("}");
}

static void print_row(const struct output *o, const struct size *z, enum regime regime,
		      const struct result *r, const struct result *other)
{
	printf("%6u %6u %-6s %-4s %8llu %9.2f %9.2f %9.2f %9.2f %7.2f %8.3f", z->guests,
	       z->pages ? z->pages : z->queues, load_name[z->load], regime_name[regime],
	       (unsigned long long)r->lines, r->tick.mean_us, r->tick.median_us, r->raw.mean_us,
	       r->raw.median_us, ratio_of(r, &o->empty[regime]),
	       above(&r->tick, &o->empty[regime]) / 10);
	if (other)
		printf(" %9.2f %9.2f %7.2f %7.2f", other->tick.mean_us, other->tick.median_us,
		       ratio_of(other, &o->empty_other[regime]),
		       other->tick.mean_us / r->tick.mean_us);
	printf("\n");
}

static void keep_row(struct output *o, const struct size *z, enum regime regime,
		     const struct result *r)
{
	for (int g = 0; g < SIZES && !z->pages; g++)
		for (int q = 0; q < SIZES; q++)
			if (guests_of[g] == z->guests && queues_of[q] == z->queues)
				o->row[regime][z->load][g][q] = (struct row){ r->tick.mean_us,
									      r->raw.mean_us };
}

/* A row in a regime. Sides take turns of TURN rounds. */
static void measure(struct output *o, struct side *side, int sides, const struct size *z,
		    enum regime regime)
{
	static struct round round[2][ROUNDS_MAX];
	struct result r[2];
	int n = rounds_of(z, regime);

	for (int i = 0; i < n; i += TURN)
		for (int k = 0; k < sides; k++)
			side_run(&side[k], regime, &round[k][i], n - i < TURN ? n - i : TURN);
	for (int k = 0; k < sides; k++)
		r[k] = result_of(round[k], n);
	r[0].lines = tick_host_lines(side[0].h);
	if (!z->guests) {
		o->empty[regime] = r[0].tick;
		o->empty_raw[regime] = r[0].raw.mean_us;
		o->empty_other[regime] = r[sides - 1].tick;
	}
	keep_row(o, z, regime, &r[0]);
	if (o->json)
		print_json(o, z, regime, &r[0], sides > 1 ? &r[1] : NULL);
	else
		print_row(o, z, regime, &r[0], sides > 1 ? &r[1] : NULL);
	o->any = true;
	fflush(stdout);
}

static void one(struct output *o, struct side *side, const struct size *z)
{
	struct size own = *z;
	int sides = o->other ? 2 : 1;

	own.recorded = o->recorded;
	side_open(&side[0], &own);
	for (int k = 1; k < sides; k++)
		side_open(&side[k], z);
	for (enum regime regime = NEAR; regime < REGIMES; regime++)
		if (regime_possible(regime))
			measure(o, side, sides, z, regime);
	for (int k = 0; k < sides; k++)
		side_close(&side[k]);
}

static void heading(const struct output *o, const char *what)
{
	if (o->json)
		return;
	printf("%6s %6s %-6s %-4s %8s %9s %9s %9s %9s %7s %8s", "guests", what, "", "", "lines",
	       "tick", "median", "raw", "median", "x raw", "% a core");
	if (o->other)
		printf(" %9s %9s %7s %7s", "other", "median", "x raw", "x tick");
	printf("\n");
}

/* By option -s, which names all numbers of pages. */
static bool is_named(const struct output *o, const struct size *z)
{
	return z->guests == o->guests && z->queues == o->queues &&
	       (!o->load[0] || !strcmp(o->load, load_name[z->load]));
}

static bool is_wanted(const struct output *o, const struct size *z)
{
	if (z->load > LOAD_IDLE && !z->queues)
		return false;
	if (o->some)
		return is_named(o, z);
	if (o->growth && (z->load > LOAD_BUSY || (z->guests != 16 && z->queues != 4)))
		return false;
	return z->load <= LOAD_BUSY || (z->queues == 4 && z->guests != 4 && z->guests != 64);
}

static void costs(struct output *o)
{
	static const struct size none = { 0, 0, 0, LOAD_IDLE, false };
	static const uint32_t reporters[] = { 1, 16, 256 }, pages[] = { 1, 4, 16 };
	struct side side[2] = { { 0 } };

	if (o->other)
		side_start(&side[1], o->other);
	heading(o, "queues");
	one(o, side, &none);
	for (int g = 0; g < SIZES; g++)
		for (int q = 0; q < SIZES; q++)
			for (enum load l = LOAD_IDLE; l < LOADS; l++) {
				const struct size z = { guests_of[g], queues_of[q], 0, l, false };

				if (is_wanted(o, &z))
					one(o, side, &z);
			}
	if (!o->json && !o->some && !o->growth)
		printf("\nLatency pages of guests without queue pairs, one sample a page and tick "
		       "when busy.\n\n");
	if (!o->some && !o->growth)
		heading(o, "pages");
	for (size_t g = 0; !o->growth && g < sizeof(reporters) / sizeof(reporters[0]); g++)
		for (size_t p = 0; p < sizeof(pages) / sizeof(pages[0]); p++)
			for (enum load l = LOAD_IDLE; l <= LOAD_BUSY; l += LOAD_BUSY) {
				const struct size z = { reporters[g], 0, pages[p], l, false };

				if (!o->some || is_named(o, &z))
					one(o, side, &z);
			}
	if (o->other) {
		fclose(side[1].to); /* it ends */
		fclose(side[1].from);
		wait(NULL);
	}
}

/* --- growth ---------------------------------------------------------------------- */

/*
 * Cost as a line over the number of guests, or of queue pairs: a fixed part, which is not below 0,
 * and one for each. The clock reads 10 ns: means, not medians.
 */
struct line {
	double first, each;
	double of[SIZES]; /* measured, as a part of what the line says */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/*
 * The line whose relative deviations have the least sum of squares. Each cost is a difference of
 * two ticks: one below a quarter of what was taken off weighs no more than that.
 */
static struct line line_of(const double *n, const double *cost, double base, int sizes)
{
	double w = 0, wn = 0, wnn = 0, c = 0, cn = 0;
	struct line l;

	for (int i = 0; i < sizes; i++) {
		double root = 1 / larger(cost[i], base / 4), weight = root * root;

		w += weight;
		wn += weight * n[i];
		wnn += weight * n[i] * n[i];
		c += weight * cost[i];
		cn += weight * cost[i] * n[i];
	}
	l.first = larger((c * wnn - cn * wn) / (w * wnn - wn * wn), 0);
	l.each = (cn - l.first * wn) / wnn;
	for (int i = 0; i < sizes; i++)
		l.of[i] = cost[i] / (l.first + l.each * n[i]);
	return l;
}

static void print_line(const struct output *o, const char *what, const struct line *l, int sizes)
{
	if (o->json)
		printf(", \"%s\": {\"fixed_us\": %.4f, \"each_us\": %.4f, \"of_line\": [", what,
		       l->first, l->each);
	else
		printf(" %8.3f %8.4f ", l->first, l->each);
	for (int i = 0; i < sizes; i++)
		printf(o->json ? "%s%.3f" : "%s%6.2f", i && o->json ? ", " : "", l->of[i]);
	printf(o->json ? "]}" : sizes < SIZES ? "       |" : " |");
}

/*
 * Guests with 4 queue pairs each, over the empty tick; or the queue pairs of 16 guests, over these
 * guests with none.
 */
static void print_growth(struct output *o, bool queues, enum load load, enum regime regime)
{
	const struct row none = { o->row[regime][LOAD_IDLE][OF_16_GUESTS][0].tick,
				  o->row[regime][LOAD_IDLE][OF_16_GUESTS][0].raw };
	const struct row base =
		queues ? none : (struct row){ o->empty[regime].mean_us, o->empty_raw[regime] };
	double n[SIZES], tick[SIZES], raw[SIZES];
	struct line of_tick, of_raw;
	int sizes = 0;

	for (int i = queues; i < SIZES; i++, sizes++) { /* queues begin at 1 */
		const struct row *r = queues ? &o->row[regime][load][OF_16_GUESTS][i]
					     : &o->row[regime][load][i][OF_4_QUEUES];

		n[sizes] = queues ? 16 * queues_of[i] : guests_of[i];
		tick[sizes] = r->tick - base.tick;
		raw[sizes] = r->raw - base.raw;
	}
	of_tick = line_of(n, tick, base.tick, sizes);
	of_raw = line_of(n, raw, base.raw, sizes);
	if (o->json)
		printf("%s\n  {\"of\": \"%s\", \"load\": \"%s\", \"regime\": \"%s\"",
		       o->any ? "," : "", queues ? "queues" : "guests", load_name[load],
		       regime_name[regime]);
	else
		printf("%-6s %-6s %-4s", queues ? "queue" : "guest", load_name[load],
		       regime_name[regime]);
	print_line(o, "tick", &of_tick, sizes);
	print_line(o, "raw", &of_raw, sizes);
	printf(o->json ? "}" : "\n");
	o->any = true;
}

static void growth(struct output *o)
{
	if (!o->json)
		printf("\nGrowth: the cost of 1, 4, 16, 64, 256 guests with 4 queue pairs each, "
		       "over "
		       "the empty tick, and of 1, 4,\n16, 64 queue pairs of each of 16 guests, "
		       "over "
		       "guests without any. us: the fixed part and that of each,\nof the line that "
		       "fits best; then each size's cost as a part of what this line says: it "
		       "grows "
		       "linearly\nwhere these are near 1. After |: the same of the raw pass: what "
		       "the "
		       "machine's memory does. The fixed part\nis mostly the wait for the first "
		       "lines; those after them come meanwhile. Means.\n\n");
	o->any = false;
	for (int queues = 0; queues < 2; queues++)
		for (enum load load = LOAD_IDLE; load <= LOAD_BUSY; load++)
			for (enum regime regime = NEAR; regime < REGIMES; regime++)
				if (regime_possible(regime))
					print_growth(o, queues, load, regime);
}

/* --- beside it -------------------------------------------------------------------- */

/* CPU time a turn, in us, of a loop that sleeps until the next millisecond and does nothing. */
static double empty_loop(void)
{
	struct timespec t, a, b;

	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (int i = 0; i < LOOP_TURNS; i++) {
		t.tv_nsec += 1000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_nsec -= 1000000000;
			t.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 /
	       LOOP_TURNS;
}

static void lateness_of(const char *what, int burners)
{
	static const struct size size = { 16, 4, 0, LOAD_IDLE, false };
	struct lateness l;
	pid_t pid[2] = { 0 };

	for (int i = 0; i < burners; i++) {
		pid[i] = fork();
		if (!pid[i])
			for (;;)
				(void)getppid();
	}
	tick_host_lateness(&size, LATE_SECONDS, &l);
	for (int i = 0; i < burners; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	printf("%-28s %8llu %10.1f %10.1f %10.1f %10llu\n", what, (unsigned long long)l.ticks,
	       (double)l.median_ns / 1e3, (double)l.p99_ns / 1e3, (double)l.max_ns / 1e3,
	       (unsigned long long)l.late_ticks);
	fflush(stdout);
}

static void text(struct output *o)
{
	printf("Cost of a tick beside a raw pass over the lines of guest memory that it reads, in "
	       "us: means (without\nthe slowest of %d) and medians. near: the lines are in this "
	       "CPU's caches; far: in memory; cold:\nso are the daemon's own. x raw: (tick - "
	       "empty tick) / raw. %% a core: (tick - empty tick) / 1 ms.\nrested: idle for long; "
	       "busy: 4 messages a "
	       "queue "
	       "pair and tick; flight: 3 more in flight; mixed: of different operations\nand "
	       "sizes; many: 32; mlx5: busy, of mlx5, with completion queues; mlx4: the "
	       "same, of mlx4.%s\n\n",
	       SLOWEST_IN,
	       o->recorded && !strcmp(o->other, SELF)
		       ? " These ticks are recorded; other: the same, not recorded, in turns."
	       : o->other ? " other: of the other program, in turns with this one."
			  : "");
	costs(o);
	if (!o->some)
		growth(o);
	printf("\nA loop that only sleeps 1 ms at a time takes %.1f us of CPU time a turn.\n",
	       empty_loop());
	if (o->other || o->some || o->growth)
		return;
	printf("\nLateness of ticks over %d s, 16 guests x 4 idle queue pairs (us).\n\n",
	       LATE_SECONDS);
	printf("%-28s %8s %10s %10s %10s %10s\n", "load", "ticks", "50 %", "99 %", "max",
	       "late ticks");
	lateness_of("none", 0);
	lateness_of("one core busy", 1);
	lateness_of("two cores busy", 2);
}

int main(int argc, char **argv)
{
	struct output o = { 0 };
	int c;

	if (argc == 2 && !strcmp(argv[1], "--serve"))
		return serve();
	while ((c = getopt(argc, argv, "gjo:rs:")) != -1) {
		if (c == 's')
			o.some = sscanf(optarg, "%ux%u:%15s", &o.guests, &o.queues, o.load) >= 2;
		if (c == '?' || (c == 's' && !o.some)) {
			fprintf(stderr, "usage: resex-bench [-gjr] [-o PROGRAM] [-s "
					"GUESTSxQUEUES[:LOAD]]\n");
			return 2;
		}
		if (c == 'g')
			o.growth = true;
		else if (c == 'j')
			o.json = true;
		else if (c == 'o')
			o.other = optarg;
		else if (c == 'r')
			o.recorded = true;
	}
	if (o.recorded && !o.other)
		o.other = SELF;
	if (!o.json) {
		text(&o);
		return 0;
	}
	printf("{\"sizes\": [");
	costs(&o);
	if (!o.some) {
		printf("\n], \"growth\": [");
		growth(&o);
	}
	printf("\n], \"empty_loop_us\": %.3f}\n", empty_loop());
	return 0;
}
