// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring_rxe against recordings of the real provider: every file of
 * tests/golden/rxe is replayed record by record, with the path MTU known and
 * not known, and with records left out at random, as a late sampler would.
 */
#include "tests/unit/prop.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "tests/fakes/golden.h"

enum { FILES_MAX = 128, REPLAYS = 40 };

struct replay {
	struct golden g;
	struct ring *sq, *cq;
	struct ring_totals t, c;
	struct sample s;
	bool all; /* no record is left out */
};

static bool is_case(const char *path, const char *part)
{
	const char *file = strrchr(path, '/');

	return strstr(file ? file : path, part) != NULL;
}

static void begin(struct replay *x, const char *path, bool mtu_known)
{
	memset(x, 0, sizeof(*x));
	assert_int_equal(golden_open(&x->g, path), 0);
	if (!mtu_known)
		x->g.sq->desc.path_mtu = 0;
	assert_int_equal(golden_next(&x->g), 1);
	assert_int_equal(ring_open(&x->sq, &x->g.sq->desc, x->g.sq->mem, x->g.sq->len), 0);
	assert_int_equal(ring_open(&x->cq, &x->g.ring[0].desc, x->g.ring[0].mem, x->g.ring[0].len),
			 0);
}

static void end(struct replay *x)
{
	ring_close(x->sq);
	ring_close(x->cq);
	golden_close(&x->g);
}

static void take(struct replay *x, int64_t elapsed)
{
	assert_int_equal(ring_sample(x->sq, elapsed, &x->s), 0);
	assert_int_equal(x->s.wrs, x->s.seen + x->s.lost);
	assert_int_equal(ring_sample(x->cq, elapsed, &x->s), 0);
	ring_totals(x->sq, &x->t);
	ring_totals(x->cq, &x->c);
}

/* Between what was known to be complete and what was posted. */
static void check_now(const struct replay *x)
{
	assert_true(x->t.wrs >= x->g.done);
	if (!(x->t.flags & SAMPLE_WRS_BOUNDED))
		assert_true(x->t.wrs <= x->g.posted);
}

static void check_exact(const struct replay *x)
{
	const struct golden *g = &x->g;

	assert_int_equal(x->t.flags & SAMPLE_MTUS_ESTIMATED, 0);
	assert_int_equal(x->t.errors, g->errors);
	assert_int_equal(x->t.bytes_sent, g->bytes_sent);
	assert_int_equal(x->t.bytes_recv, g->bytes_recv);
	assert_int_equal(x->t.bytes_bound, 0);
	for (int i = 0; i < OP_KINDS; i++)
		assert_int_equal(x->t.ops[i], g->ops[i]);
}

static void check_end(const struct replay *x)
{
	const struct golden *g = &x->g;
	bool bounded = x->t.flags & SAMPLE_WRS_BOUNDED;

	assert_true(x->t.wrs >= g->wrs);
	if (!bounded)
		assert_true(x->t.wrs <= g->wrs + g->unknown);
	assert_true(x->c.completions <= g->signalled); /* a CQ has no free-running count */
	if (x->all && !is_case(g->name, "lapped"))
		assert_int_equal(x->c.completions, g->signalled);
	if (x->c.completions)
		assert_int_equal(x->c.qpn, g->sq->desc.number);
	if (g->unknown) {
		assert_true(x->t.mtus_sent >= g->mtus_sent);
		assert_true(x->t.mtus_sent <= g->mtus_sent + g->unknown_mtus || bounded);
		return;
	}
	if (!(x->t.flags & SAMPLE_MTUS_GUESSED))
		assert_int_equal(x->t.mtus_sent + x->t.mtus_recv, g->mtus_sent + g->mtus_recv);
	if (!(x->t.flags & SAMPLE_MTUS_ESTIMATED)) {
		assert_int_equal(x->t.mtus_sent, g->mtus_sent);
		assert_int_equal(x->t.mtus_recv, g->mtus_recv);
	}
	if (x->t.lost == 0)
		check_exact(x);
	assert_true(x->t.bytes_sent <= g->bytes_sent && x->t.bytes_recv <= g->bytes_recv);
	assert_true(x->t.bytes_sent + x->t.bytes_recv + x->t.bytes_bound >=
		    g->bytes_sent + g->bytes_recv);
}

/* Leave out each record with a chance of skip in ten; the first and last are always taken. */
static void replay(const char *path, struct prop *p, uint32_t skip, bool mtu_known,
		   struct ring_totals *out)
{
	int64_t elapsed;
	struct replay x;

	begin(&x, path, mtu_known);
	x.all = skip == 0;
	elapsed = x.g.elapsed_ns;
	for (;;) {
		if (x.g.snap == 1 || x.g.snap == x.g.snaps || prop_range(p, 0, 9) >= skip) {
			take(&x, elapsed);
			check_now(&x);
			elapsed = 0;
		}
		if (x.g.snap == x.g.snaps)
			break;
		assert_int_equal(golden_next(&x.g), 1);
		elapsed += x.g.elapsed_ns;
	}
	assert_int_equal(golden_next(&x.g), 0);
	check_end(&x);
	*out = x.t;
	end(&x);
}

static void golden__every_record_taken__tells_the_truth(void **state)
{
	const char *path = *state;
	struct ring_totals t;
	struct prop p;

	prop_start(&p);
	for (int known = 0; known <= 1; known++) {
		replay(path, &p, 0, known, &t);
		if (is_case(path, "lapped"))
			assert_true(t.lost > 0); /* or the recording is not what it says */
		else if (!is_case(path, "refused") && !is_case(path, "reset-waiting"))
			/* refused posts overwrite the newest entry, resets what waits */
			assert_int_equal(t.lost, 0);
	}
}

static void golden__records_left_out__tells_the_truth_or_says_not(void **state)
{
	const char *path = *state;
	struct ring_totals t;
	struct prop p;

	prop_start(&p);
	for (uint32_t i = 0; i < REPLAYS; i++)
		replay(path, &p, 1 + i % 9, i & 1, &t);
}

/*
 * A reset wipes entries nobody has read. Their count is a bound, for those that
 * were dropped count as well, and is told when a later entry names its ssn.
 */
static void golden__reset_with_records_left_out__keeps_the_count(void **state)
{
	const char *path = *state;
	struct prop p;

	prop_start(&p);
	for (uint32_t i = 0; i < REPLAYS; i++) {
		struct replay x;

		begin(&x, path, true);
		take(&x, x.g.elapsed_ns);
		while (golden_next(&x.g) == 1)
			if (x.g.snap == x.g.snaps || prop_range(&p, 0, 9) >= 1 + i % 9)
				take(&x, 1000000000);
		assert_true(x.t.wrs >= x.g.wrs && x.t.wrs <= x.g.wrs + x.g.unknown);
		assert_true(x.t.lost == 0 || x.t.flags & SAMPLE_MTUS_ESTIMATED);
		if (x.g.unknown == 0)
			assert_true(x.t.bytes_sent <= x.g.bytes_sent);
		end(&x);
	}
}

/* After the owner's exit nothing more is counted, and the header is found out. */
static void golden__owner_gone__is_a_fault_and_no_traffic(void **state)
{
	const char *path = *state;
	struct replay x;
	int ret = 0;

	begin(&x, path, true);
	do {
		ret = ring_sample(x.sq, x.g.elapsed_ns, &x.s);
		ring_totals(x.sq, &x.t);
		assert_true(x.t.wrs <= x.g.wrs);
		if (x.g.snap < x.g.dead_from)
			assert_int_equal(ret, 0);
	} while (golden_next(&x.g) == 1);
	assert_true(x.g.dead_from > 0);
	assert_int_equal(ret, -EBADMSG);
	assert_int_equal(ring_fault(x.sq), RING_FAULT_HEADER);
	assert_int_equal(x.t.wrs, x.g.wrs);
	assert_int_equal(x.t.mtus_sent, x.g.mtus_sent);
	assert_int_equal(x.t.mtus_recv, x.g.mtus_recv);
	assert_int_equal(x.t.bytes_sent, x.g.bytes_sent);
	end(&x);
}

static void golden__pages_of_somebody_else__do_not_open_as_a_ring(void **state)
{
	struct golden g;
	uint32_t refused = 0;

	assert_int_equal(golden_open(&g, *state), 0);
	while (golden_next(&g) == 1)
		for (uint32_t i = 0; g.snap > g.dead_from + 2 && i < g.rings; i++) {
			struct golden_ring *r = &g.ring[i];
			struct ring *out;

			assert_int_equal(ring_open(&out, &r->desc, r->mem, r->len), -EBADMSG);
			refused++;
		}
	assert_true(refused > 10);
	golden_close(&g);
}

/* The check itself must be able to fail: a recording whose truth is one off is caught. */
static void golden__truth_altered__does_not_match(void **state)
{
	struct replay x;

	begin(&x, *state, true);
	take(&x, 1000000);
	while (golden_next(&x.g) == 1)
		take(&x, x.g.elapsed_ns);
	assert_int_equal(x.t.wrs, x.g.wrs);
	assert_int_not_equal(x.t.wrs, x.g.wrs + 1);
	assert_true(x.t.bytes_sent > 0 && x.t.mtus_sent > 0);
	end(&x);
}

/* --- one test a file --- */

static int is_ring(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".ring");
}

struct suite {
	struct CMUnitTest tests[3 * FILES_MAX];
	char names[3 * FILES_MAX][128];
	char paths[FILES_MAX][512];
	uint32_t n;
};

static void add(struct suite *s, const char *name, CMUnitTestFunction f, char *path)
{
	const char *file = strrchr(path, '/') + 1;

	snprintf(s->names[s->n], sizeof(s->names[0]), "%.70s(%.40s)", name, file);
	s->tests[s->n] = (struct CMUnitTest){ s->names[s->n], f, NULL, NULL, path };
	s->n++;
}

#define ADD(f) add(s, #f, f, path)

static void add_file(struct suite *s, char *path)
{
	if (is_case(path, "dead")) {
		ADD(golden__owner_gone__is_a_fault_and_no_traffic);
		ADD(golden__pages_of_somebody_else__do_not_open_as_a_ring);
		return;
	}
	ADD(golden__every_record_taken__tells_the_truth);
	if (is_case(path, "reset"))
		ADD(golden__reset_with_records_left_out__keeps_the_count);
	else
		ADD(golden__records_left_out__tells_the_truth_or_says_not);
	if (is_case(path, "mixed"))
		ADD(golden__truth_altered__does_not_match);
}

int main(void)
{
	static struct suite s;
	struct dirent **files = NULL;
	int found = scandir(GOLDEN_DIR "/rxe", &files, is_ring, alphasort);

	if (found < 30 || found > FILES_MAX) {
		fprintf(stderr, "%d recordings in %s/rxe, expected 30 and more\n", found,
			GOLDEN_DIR);
		return 1;
	}
	for (int i = 0; i < found; i++) {
		snprintf(s.paths[i], sizeof(s.paths[i]), "%s/rxe/%s", GOLDEN_DIR, files[i]->d_name);
		add_file(&s, s.paths[i]);
		free(files[i]);
	}
	free(files);
	return _cmocka_run_group_tests("golden_rxe", s.tests, s.n, NULL, NULL);
}
