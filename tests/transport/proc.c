// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proc: the parent's side of hosts in processes of their own: start, order, stop, kill, reap. The
 * loop of such a process is child.c.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transport/far.h"

extern char **environ;

uint64_t bit(uint16_t number)
{
	return UINT64_C(1) << (number - 1);
}

bool proc_ended(const struct proc *p, int *status)
{
	siginfo_t info = { 0 };

	/* WNOWAIT: proc_reap reads the status later. */
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT))
		broken("waitid: %s", strerror(errno));
	*status = info.si_status;
	return info.si_pid == p->pid;
}

/* Called while the test waits: fail if a process has found something wrong, or has ended. */
static void watch_processes(void *arg)
{
	struct procs *ps = arg;
	int64_t now = ps->rig->clock.now(&ps->rig->clock).ns;

	for (uint32_t i = 0; i < ps->n; i++) {
		struct proc *p = &ps->proc[i];
		int status;
		bool ended;

		if (!p->pid)
			continue;
		if (p->far && now - p->pulled_ns < 5 * NS_PER_MS)
			continue;
		p->pulled_ns = now;
		ended = p->far ? far_pull(p, &status) : proc_ended(p, &status);
		if (atomic_load(&p->o->wrong))
			broken("in the process of host %u: %s", p->o->conf.host, p->o->error);
		if (ended && !atomic_load(&p->o->closed))
			broken("the process of host %u ended, with %d", p->o->conf.host, status);
	}
}

void procs_init(struct procs *ps, struct rig *r)
{
	memset(ps, 0, sizeof(*ps));
	ps->rig = r;
	ps->fd = memfd_create("arena", MFD_CLOEXEC);
	if (ps->fd < 0 || ftruncate(ps->fd, sizeof(struct arena)))
		broken("memfd_create: %s", strerror(errno));
	ps->arena = mmap(NULL, sizeof(struct arena), PROT_READ | PROT_WRITE, MAP_SHARED, ps->fd, 0);
	if (ps->arena == MAP_FAILED)
		broken("mmap: %s", strerror(errno));
	r->watch = watch_processes;
	r->watch_arg = ps;
}

void procs_fini(struct procs *ps)
{
	for (uint32_t i = 0; i < ps->n; i++)
		proc_kill(&ps->proc[i]);
	if (ps->arena && ps->arena != MAP_FAILED)
		munmap(ps->arena, sizeof(struct arena));
	close(ps->fd);
}

struct proc *proc_new(struct procs *ps, uint16_t number)
{
	struct proc *p = &ps->proc[ps->n];

	if (ps->n == PROCS)
		broken("there is room for %d processes", PROCS);
	p->index = ps->n++;
	p->o = &ps->arena->orders[p->index];
	p->o->conf = rig_conf(ps->rig, number);
	memcpy(p->o->key, p->o->conf.key, p->o->conf.key_len);
	return p;
}

static void forget_last_run(struct orders *o)
{
	atomic_store(&o->quit, 0);
	atomic_store(&o->opened, 0);
	atomic_store(&o->closed, 0);
	atomic_store(&o->go, 0);
	atomic_store(&o->over, 0);
	atomic_store(&o->up, 0);
}

void proc_spawn(struct procs *ps, struct proc *p)
{
	char index[16], port[16], self[] = "/proc/self/exe", flag[] = "--child";
	char *argv[] = { self, flag,	       index,	       (char *)(uintptr_t)ps->rig->is->name,
			 port, ps->address[0], ps->address[1], NULL };
	posix_spawn_file_actions_t a;
	int pipe_fd[2], rc;

	forget_last_run(p->o);
	snprintf(index, sizeof(index), "%u", p->index);
	snprintf(port, sizeof(port), "%u", ps->rig->port);
	for (int i = 0; i < 2; i++)
		snprintf(ps->address[i], sizeof(ps->address[i]), "%s", ps->rig->address[i]);
	if (pipe2(pipe_fd, O_CLOEXEC))
		broken("pipe2: %s", strerror(errno));
	posix_spawn_file_actions_init(&a);
	/* Above what is in use: the ends must not be overwritten before they are moved. */
	posix_spawn_file_actions_adddup2(&a, ps->fd, 1000);
	posix_spawn_file_actions_adddup2(&a, pipe_fd[0], 1001);
	rc = posix_spawn(&p->pid, self, &a, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&a);
	close(pipe_fd[0]);
	if (rc)
		broken("posix_spawn: %s", strerror(rc));
	p->nudge = pipe_fd[1];
}

void proc_start_rc(struct procs *ps, struct proc *p, int *rc)
{
	p->far = far_is(p->o->conf.address);
	if (p->far) {
		forget_last_run(p->o);
		p->pid = far_spawn(p);
	} else {
		proc_spawn(ps, p);
	}
	UNTIL(ps->rig, atomic_load(&p->o->opened));
	*rc = atomic_load(&p->o->open_rc);
}

void proc_start(struct procs *ps, struct proc *p)
{
	int rc;

	proc_start_rc(ps, p, &rc);
	if (rc)
		broken("host %u was not opened in its process: %s", p->o->conf.host, strerror(-rc));
}

void proc_nudge(struct proc *p)
{
	if (p->far)
		far_nudge(p);
	else if (write(p->nudge, "", 1) != 1)
		broken("nudge: %s", strerror(errno));
}

void proc_go(struct proc *p)
{
	atomic_fetch_add(&p->o->go, 1);
	proc_nudge(p);
}

bool proc_over(const struct proc *p)
{
	return atomic_load(&p->o->over) == atomic_load(&p->o->go);
}

uint64_t procs_plain(const struct procs *ps)
{
	return ps->arena->plain + far_plain();
}

static void gone(struct proc *p)
{
	p->pid = 0;
	if (!p->far)
		close(p->nudge);
}

int proc_reap(struct proc *p)
{
	int status = -1;

	if (p->far)
		status = far_reap(p);
	else if (waitpid(p->pid, &status, 0) != p->pid)
		broken("waitpid: %s", strerror(errno));
	gone(p);
	return status;
}

void proc_quit(struct procs *ps, struct proc *p)
{
	int status;

	atomic_store(&p->o->quit, 1);
	proc_nudge(p);
	UNTIL(ps->rig, atomic_load(&p->o->closed));
	status = proc_reap(p);
	if (status)
		broken("the process of host %u ended with status %#x", p->o->conf.host,
		       (unsigned)status);
}

/* And wait until the signal has taken effect. */
void proc_signal(struct proc *p, int signal)
{
	int status;

	kill(p->pid, signal);
	if (signal == SIGSTOP &&
	    (waitpid(p->pid, &status, WUNTRACED) != p->pid || !WIFSTOPPED(status)))
		broken("host %u could not be stopped", p->o->conf.host);
	if (signal == SIGKILL) {
		waitpid(p->pid, NULL, 0);
		gone(p);
	}
}

void proc_kill(struct proc *p)
{
	if (!p->pid)
		return;
	if (p->far) {
		far_signal(p, FAR_KILL);
		gone(p);
	} else {
		proc_signal(p, SIGKILL);
	}
}

void proc_freeze(struct proc *p)
{
	if (p->far)
		far_signal(p, FAR_FREEZE);
	else
		proc_signal(p, SIGSTOP);
}

void proc_thaw(struct proc *p)
{
	if (p->far)
		far_signal(p, FAR_THAW);
	else
		proc_signal(p, SIGCONT);
}
