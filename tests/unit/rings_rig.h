/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings_rig: an application over the fake device with libresex-rings.so preloaded; the agent, in a
 * process of its own; and the host, which reads the agent's pages, and queues by frame number.
 */
#ifndef RESEX_TESTS_RINGS_RIG_H
#define RESEX_TESTS_RINGS_RIG_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "ibmon/agent/agent.h"
#include "ibmon/agent/proc.h"
#include "ibmon/registry.h"
#include "tests/unit/tmpdir.h"

void rig_fake_begin(void);
#define MLX_RIG_BEGIN rig_fake_begin
#ifdef RINGS_MLX4
#include "tests/unit/mlx4_rig.h"
#else
#include "tests/unit/mlx5_rig.h"
#endif
#include "tests/unit/rings_app.h"

enum { WAIT_MS = 60000 };

#define WAIT(cond)                                                                                 \
	do {                                                                                       \
		for (int ms_ = 0; !(cond) && ms_ < WAIT_MS; ms_++)                                 \
			usleep(1000);                                                              \
		assert_true(cond);                                                                 \
	} while (0)

struct rig {
	struct tmpdir dir;
	char sock[160], pages[160], node[176];
	struct log log;
	pid_t agent;
	struct registry reg;
};

/* --- the agent ------------------------------------------------------------------------ */

static inline void agent_start(struct rig *r)
{
	const struct options o = { .scan_ms = 5, .file = r->pages, .socket = r->sock };
	struct agent *a;

	unlink(r->node);
	r->agent = fork();
	assert_true(r->agent >= 0);
	if (r->agent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (agent_open(&a, &o, &r->log))
			_exit(1);
		_exit(agent_run(a));
	}
	WAIT(!access(r->node, F_OK));
}

static inline void agent_kill(struct rig *r)
{
	int status;

	kill(r->agent, SIGKILL);
	assert_int_equal(waitpid(r->agent, &status, 0), r->agent);
	assert_true(WIFSIGNALED(status)); /* and did not end before */
}

/* --- the host --------------------------------------------------------------------------- */

static inline int host_page(void *ctx, const struct guest_ref *ref, const volatile void **page)
{
	static _Alignas(GUEST_PAGE) uint8_t copy[GUEST_PAGE];
	const struct rig *r = ctx;
	int fd = open(r->pages, O_RDONLY);
	ssize_t n = pread(fd, copy, GUEST_PAGE, (off_t)(ref->ref * GUEST_PAGE));

	close(fd);
	*page = copy;
	return n == GUEST_PAGE ? 0 : -EIO;
}

/* As the agent published it; false: not now. Nothing that it publishes is refused. */
static inline bool host_look(struct rig *r)
{
	static const struct registry_limits lim = { .rings = GUEST_RINGS_MAX, .pages = 1 << 20 };
	static uint8_t first[GUEST_PAGE];
	const volatile void *page;
	struct guest_ref ref;
	char value[GUEST_ABI_NODE_MAX + 1];

	tmp_read(&r->dir, "pages.node", value, sizeof(value));
	value[strcspn(value, "\n")] = 0;
	if (registry_node_parse(value, &ref) || host_page(r, &ref, &page))
		return false;
	memcpy(first, (const void *)page, GUEST_PAGE);
	if (registry_walk(first, &lim, host_page, r, &r->reg))
		return false;
	/* The generation in the copy cannot change: the page is compared again. */
	if (host_page(r, &ref, &page) || registry_changed(page, r->reg.generation))
		return false;
	assert_int_equal(r->reg.faults, 0);
	return true;
}

/* number 0: any. NULL: there is none, or the registry changes at present. */
static inline const struct ring_desc *host_ring(struct rig *r, enum ring_kind kind, pid_t pid,
						uint32_t number)
{
	if (!host_look(r))
		return NULL;
	for (uint32_t i = 0; i < r->reg.rings; i++) {
		const struct ring_desc *d = &r->reg.ring[i];

		if (d->kind == kind && d->pid == (uint32_t)pid && (!number || d->number == number))
			return d;
	}
	return NULL;
}

static inline bool host_has_none(struct rig *r, pid_t pid)
{
	if (!host_look(r))
		return false;
	for (uint32_t i = 0; i < r->reg.rings; i++)
		if (r->reg.ring[i].pid == (uint32_t)pid)
			return false;
	return true;
}

/* A queue of this process, as the host maps it: by its frames alone. */
struct mapped {
	struct ring_desc desc;
	const uint8_t *page[64];
	uint8_t *mem;
	struct ring *r;
	struct sample s;
};

/* Where this process has a frame: in its writable private memory. */
static inline const uint8_t *find_frame(uint64_t frame)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	const uint8_t *found = NULL;
	char line[512], perm[5];

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &from, &to, perm) != 3 || strcmp(perm, "rw-p") != 0)
			continue;
		if (to - from > 1ul << 28) /* a sanitizer's */
			continue;
		for (uint64_t at = from; !found && at < to; at += GUEST_PAGE) {
			uint64_t f;

			if (proc_frames(getpid(), at, 1, &f) == 0 && f == frame)
				found = (const uint8_t *)(uintptr_t)at;
		}
	}
	fclose(maps);
	return found;
}

/* With that of its doorbell record, if it has one. */
static inline uint32_t mapped_pages(const struct mapped *m)
{
	return m->desc.frames + (m->desc.db_frame != 0);
}

static inline void mapped_copy(struct mapped *m)
{
	for (uint32_t i = 0; i < mapped_pages(m); i++)
		memcpy(m->mem + (size_t)i * GUEST_PAGE, m->page[i], GUEST_PAGE);
}

static inline void mapped_open(struct rig *r, struct mapped *m, const struct ring_desc *d)
{
	size_t len;

	assert_true(d->frames < sizeof(m->page) / sizeof(m->page[0]));
	m->desc = *d;
	len = (size_t)mapped_pages(m) * GUEST_PAGE;
	for (uint32_t i = 0; i < mapped_pages(m); i++) {
		m->page[i] = find_frame(i < d->frames ? r->reg.frame[d->first_frame + i]
						      : d->db_frame);
		assert_non_null(m->page[i]);
	}
	m->mem = aligned_alloc(GUEST_PAGE, len);
	assert_non_null(m->mem);
	mapped_copy(m);
	assert_int_equal(ring_open(&m->r, &m->desc, m->mem, len), 0);
}

static inline void mapped_sample(struct mapped *m, const struct ring_peers *peers)
{
	mapped_copy(m);
	assert_int_equal(ring_sample_among(m->r, peers, 1000000, &m->s), 0);
}

static inline void mapped_close(struct mapped *m)
{
	ring_close(m->r);
	free(m->mem);
}

/* --- programs ------------------------------------------------------------------------------ */

struct program {
	pid_t pid;
	int in;	 /* closed: it ends */
	int out; /* what it writes, also to stderr */
};

/* Until it has said so: its queue pair is ready. rings: RESEX_RINGS; NULL: unset. */
static inline struct program program_start(const char *path, const char *rings, const char *sock)
{
	struct program p;
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	p = (struct program){ .pid = fork(), .in = in[1], .out = out[0] };
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		setenv("RINGS_APP", "1", 1);
		if (rings)
			setenv("RESEX_RINGS", rings, 1);
		else
			unsetenv("RESEX_RINGS");
		setenv("RESEX_AGENT_SOCKET", sock, 1);
		execl(path, path, NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	return p;
}

/* Read until the text was said. False: it ended, or said more than fits. */
static inline bool program_says(const struct program *p, const char *text, char *said, size_t size)
{
	size_t n = 0;
	ssize_t r = 1;

	said[0] = 0;
	while (!strstr(said, text) && r > 0 && n + 1 < size) {
		r = read(p->out, said + n, 1);
		n += r > 0;
		said[n] = 0;
	}
	return strstr(said, text);
}

/* It must end by itself. */
static inline void program_end(const struct program *p)
{
	int status;

	close(p->in);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(p->out);
}

/* --- fixture -------------------------------------------------------------------------------- */

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	strcpy(r->sock, getenv("RESEX_AGENT_SOCKET"));
	strcpy(r->pages, tmp_at(&r->dir, "pages"));
	strcpy(r->node, tmp_at(&r->dir, "pages.node"));
	log_init(&r->log, "agent", LOG_LVL_WARNING);
	agent_start(r);
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *r = *state;

	agent_kill(r);
	unlink(r->sock);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

/*
 * The program runs itself again with the library preloaded. A test that needs frame numbers is
 * skipped where they are hidden.
 */
void unit_begin(void)
{
	static char args[4096], sock[96], *argv[8];
	const char *asan = getenv("ASAN_OPTIONS");
	int fd = open("/proc/self/cmdline", O_RDONLY), here = 0, n = 0;
	uint64_t frame;
	ssize_t len = read(fd, args, sizeof(args) - 1);

	close(fd);
	if (proc_frames(getpid(), (uintptr_t)&here & ~(uintptr_t)(GUEST_PAGE - 1), 1, &frame) ||
	    geteuid() != 0 || access("libresex-rings.so", F_OK))
		exit(77);
	if (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "libresex-rings.so")) {
		rig_fake_begin();
		if (getenv("RINGS_APP"))
			exit(app_run());
		return;
	}
	for (char *p = args; p < args + len && n < 7; p += strlen(p) + 1)
		argv[n++] = p;
	snprintf(sock, sizeof(sock), "/tmp/resex-rings-%d.sock", (int)getpid());
	setenv("RESEX_AGENT_SOCKET", sock, 1);
	setenv("RESEX_RINGS", "mlx5,mlx4,rxe", 1);
	setenv("LD_PRELOAD", realpath("libresex-rings.so", NULL), 1);
	snprintf(args + len, sizeof(args) - (size_t)len, "%s:verify_asan_link_order=0",
		 asan ? asan : "");
	setenv("ASAN_OPTIONS", args + len, 1);
	execv("/proc/self/exe", argv);
	exit(1);
}

#endif
