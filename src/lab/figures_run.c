// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_run: run all cells, each by the whole daemon on a simulated host (run.h), in some
 * processes. Each process takes the next cell that no other has taken, and writes the result to
 * memory that all share: so results do not depend on the number of processes. figures_cmd.c calls
 * it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/lab/figures.h"
#include "src/lab/run.h"

/* What is shared. */
struct shared {
	_Atomic uint32_t next;
	struct figures_result result[FIGURES_CELLS_MAX];
};

static struct shared *shared_of(const struct figures_runs *r)
{
	return (struct shared *)((char *)r->result - offsetof(struct shared, result));
}

/* --- cells --- */

static int find(const struct figures_runs *r, const struct figures_cell *c)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (!memcmp(&r->cell[i], c, sizeof(*c)))
			return (int)i;
	return -1;
}

int figures_add(struct figures_runs *r, const struct figures_cell *c)
{
	int i = find(r, c);

	if (i >= 0)
		return i;
	if (r->n == FIGURES_CELLS_MAX)
		return -1;
	r->cell[r->n] = *c;
	return (int)r->n++;
}

const struct figures_result *figures_of(const struct figures_runs *r, const struct figures_cell *c)
{
	int i = find(r, c);

	return i < 0 ? NULL : &r->result[i];
}

/* --- one run --- */

/* text is freed; NULL: there was no memory for it. */
static int run_text(char *text, const struct figures_cell *c, struct figures_result *to)
{
	struct scenario *sc = calloc(1, sizeof(*sc));
	struct scenario_opts o = { .hv = hv_backend_find("sim") };
	struct conf_error e = { 0 };
	json_t *summary = NULL;
	struct log log;
	int rc = sc && text ? 0 : -ENOMEM;

	log_init(&log, "resex-lab", LOG_LVL_ERROR);
	o.log = &log;
	if (!rc)
		rc = scenario_parse(sc, "figure", text, strlen(text), &e);
	if (!rc) {
		rc = scenario_run(sc, &o, &summary, &e);
		scenario_free(sc);
	}
	/* A signal ended it: what is left out would be missing in the figure. */
	if (!rc && !json_is_true(json_object_get(summary, "complete")))
		rc = -EINTR;
	if (!rc)
		rc = figures_read(summary, c, to);
	if (rc && rc != -EINTR)
		fprintf(stderr, "resex-lab: a host cannot be simulated: %s\n",
			e.text[0] ? e.text : strerror(-rc));
	json_decref(summary);
	free(text);
	free(sc);
	return rc;
}

/* What the server is promised is what it has alone, in a run of its own. */
static int run_cell(const struct figures_runs *r, const struct figures_cell *c,
		    struct figures_result *to)
{
	struct figures_cell alone = { .policy = FIGURES_NULL,
				      .servers = 1,
				      .variation = c->variation,
				      .duration_ms = 1000,
				      .step_ms = 1000 };
	struct figures_result *base = malloc(sizeof(*base));
	int rc = base ? run_text(figures_scenario(&alone, r->seed, 209, 62), &alone, base)
		      : -ENOMEM;

	if (!rc)
		rc = run_text(
			figures_scenario(c, r->seed, base->mean,
					 base->part[FIGURES_WTIME] + base->part[FIGURES_PTIME]),
			c, to);
	free(base);
	return rc;
}

/* --- all runs --- */

/* A byte to fd after each run. */
static int work(const struct figures_runs *r, int fd)
{
	struct shared *s = shared_of(r);
	int rc = 0;

	for (uint32_t i; !rc && (i = atomic_fetch_add(&s->next, 1)) < r->n;) {
		rc = run_cell(r, &r->cell[i], &r->result[i]);
		if (!rc && write(fd, "", 1) != 1)
			rc = -errno;
	}
	return rc;
}

static uint32_t begin(const struct figures_runs *r, uint32_t jobs, const int fd[2])
{
	uint32_t n = 0;

	for (; n < jobs; n++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid)
			continue;
		close(fd[0]);
		_exit(work(r, fd[1]) ? RESEX_FAILURE : RESEX_OK);
	}
	return n;
}

/* Until the last process has ended. */
static void show_progress(const struct figures_runs *r, int fd)
{
	bool person = isatty(STDERR_FILENO);
	uint32_t done = 0;
	char byte;

	while (read(fd, &byte, 1) == 1)
		if (person)
			fprintf(stderr, "\r%u of %u runs ", ++done, r->n);
	if (person)
		fprintf(stderr, "\r%30s\r", "");
}

int figures_run(struct figures_runs *r, uint32_t jobs)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool whole = true;
	uint32_t n;
	int fd[2];

	if (s == MAP_FAILED || pipe(fd)) {
		perror("resex-lab: no memory or pipe for the processes that run hosts");
		return RESEX_FAILURE;
	}
	r->result = s->result;
	n = begin(r, jobs, fd);
	close(fd[1]);
	if (!n)
		perror("resex-lab: no process can be started to run hosts");
	show_progress(r, fd[0]);
	close(fd[0]);
	for (uint32_t i = 0; i < n; i++)
		wait(NULL);
	for (uint32_t i = 0; i < r->n; i++)
		whole = whole && r->result[i].done;
	if (whole)
		return RESEX_OK;
	fputs("resex-lab: not all hosts were run: no figure is written\n", stderr);
	return RESEX_FAILURE;
}

void figures_free(struct figures_runs *r)
{
	if (r->result)
		munmap(shared_of(r), sizeof(struct shared));
	r->result = NULL;
}
