// SPDX-License-Identifier: GPL-2.0-or-later
/* pool: work in some processes; figures_run.c and sweep_cmd.c call it. See pool.h. */
#include "src/lab/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/lab/run.h"

void *pool_memory(size_t size)
{
	void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (m != MAP_FAILED)
		return m;
	perror("resex-lab: no memory for the processes that run hosts");
	return NULL;
}

void pool_release(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}

int pool_scenario(const char *name, const char *text, json_t **summary)
{
	struct scenario *sc = calloc(1, sizeof(*sc));
	struct scenario_opts o = { .hv = hv_backend_find("sim") };
	struct conf_error e = { 0 };
	struct log log;
	int rc = sc && text ? 0 : -ENOMEM;

	*summary = NULL;
	log_init(&log, "resex-lab", LOG_LVL_ERROR);
	o.log = &log;
	if (!rc)
		rc = scenario_parse(sc, name, text, strlen(text), &e);
	if (!rc) {
		rc = scenario_run(sc, &o, summary, &e);
		scenario_free(sc);
	}
	/* A signal ended it: its figures are not those of the whole run. */
	if (!rc && !json_is_true(json_object_get(*summary, "complete")))
		rc = -EINTR;
	if (rc && rc != -EINTR)
		fprintf(stderr, "resex-lab: a host cannot be simulated: %s\n",
			e.text[0] ? e.text : strerror(-rc));
	if (rc) {
		json_decref(*summary);
		*summary = NULL;
	}
	free(sc);
	return rc;
}

/* A byte to fd after each piece. */
static int take_pieces(const struct pool *p, _Atomic uint32_t *next, int fd)
{
	int rc = 0;

	for (uint32_t i; !rc && (i = atomic_fetch_add(next, 1)) < p->pieces;) {
		rc = p->work(p->arg, i);
		if (!rc && write(fd, "", 1) != 1)
			rc = -errno;
	}
	return rc;
}

static uint32_t begin(const struct pool *p, uint32_t jobs, _Atomic uint32_t *next, const int fd[2])
{
	uint32_t n = 0;

	for (; n < jobs; n++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid)
			continue;
		close(fd[0]);
		_exit(take_pieces(p, next, fd[1]) ? RESEX_FAILURE : RESEX_OK);
	}
	return n;
}

/* Until the last process has ended. How many pieces were done. */
static uint32_t show_progress(const struct pool *p, int fd)
{
	bool person = isatty(STDERR_FILENO);
	uint32_t done = 0;
	char byte;

	while (read(fd, &byte, 1) == 1) {
		done++;
		if (person)
			fprintf(stderr, "\r%u of %u runs ", done, p->pieces);
	}
	if (person)
		fprintf(stderr, "\r%30s\r", "");
	return done;
}

int pool_run(const struct pool *p, uint32_t jobs)
{
	_Atomic uint32_t *next = pool_memory(sizeof(*next));
	uint32_t n, done;
	int fd[2];

	if (!next)
		return RESEX_FAILURE;
	if (pipe(fd)) {
		perror("resex-lab: no pipe for the processes that run hosts");
		pool_release(next, sizeof(*next));
		return RESEX_FAILURE;
	}
	n = begin(p, jobs, next, fd);
	close(fd[1]);
	if (!n)
		perror("resex-lab: no process can be started to run hosts");
	done = show_progress(p, fd[0]);
	close(fd[0]);
	for (uint32_t i = 0; i < n; i++)
		wait(NULL);
	pool_release(next, sizeof(*next));
	if (done == p->pieces)
		return RESEX_OK;
	fprintf(stderr, "resex-lab: only %u of %u hosts were run: nothing is written\n", done,
		p->pieces);
	return RESEX_FAILURE;
}
