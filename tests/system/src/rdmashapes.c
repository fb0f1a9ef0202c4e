// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmashapes: makes queues of random shapes and compares what resex-agent
 * says of them with the truth.
 *
 *	rdmashapes AGENT [SEED [COUNT]]
 *
 * For each seed a child makes completion queues, shared receive queues and
 * queue pairs in random order and size, destroys and resizes some, and
 * writes down what each of its mappings is. "AGENT --once" is asked twice:
 * while all rings are fresh, and after each queue pair has been used. A kind
 * that is wrong fails; "unknown" is counted.
 *
 * Truth: mmap is wrapped. A call that makes a completion queue or a shared
 * receive queue maps just that; one that makes a queue pair maps the receive
 * queue, if it has one, and then the send queue. That order is librxe's and is
 * checked: marked work requests must be found in the ring they belong to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum { THINGS = 24, RINGS = 128, MARK = 0x5eed0000 };

enum what { WHAT_NONE, WHAT_CQ, WHAT_SRQ, WHAT_QP };

struct ring {
	void *addr;
	size_t len;
	uint64_t pgoff;
	char kind; /* 's' send, 'c' completion, 'r' receive; 0: unmapped again */
};

/* What the child knows; the maker's thread notes mappings as they come. */
struct shapes {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq[THINGS];
	struct ibv_srq *srq[THINGS];
	struct ibv_qp *qp[THINGS];
	bool qp_own_rq[THINGS];
	int cqs, srqs, qps;
};

static struct {
	pthread_mutex_t lock;
	struct ring ring[RINGS];
	int rings;
} noted = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread enum what making; /* what this thread is about to make */
static __thread int mapped;	  /* mappings of it so far */
static __thread bool own_rq;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "rdmashapes: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return (uint32_t)(*rng >> 33) % n;
}

/* The library's calls come here. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *p = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);

	if (p == MAP_FAILED || making == WHAT_NONE || !(flags & MAP_SHARED) || off < 0x1000)
		return p;
	pthread_mutex_lock(&noted.lock);
	if (noted.rings < RINGS) {
		char kind = making == WHAT_CQ ? 'c' : making == WHAT_SRQ ? 'r' : 's';

		if (making == WHAT_QP && own_rq && mapped == 0)
			kind = 'r';
		noted.ring[noted.rings++] = (struct ring){ p, len, (uint64_t)off, kind };
	}
	mapped++;
	pthread_mutex_unlock(&noted.lock);
	return p;
}

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
	__attribute__((alias("mmap")));

int munmap(void *addr, size_t len)
{
	pthread_mutex_lock(&noted.lock);
	for (int i = 0; i < noted.rings; i++)
		if (noted.ring[i].addr == addr)
			noted.ring[i].kind = 0;
	pthread_mutex_unlock(&noted.lock);
	return (int)syscall(SYS_munmap, addr, len);
}

static void make(enum what w, bool rq)
{
	making = w;
	mapped = 0;
	own_rq = rq;
}

static void make_cq(struct shapes *s, uint64_t *rng)
{
	make(WHAT_CQ, false);
	s->cq[s->cqs] = ibv_create_cq(s->ctx, 1 + (int)below(rng, below(rng, 2) ? 300 : 12), NULL,
				      NULL, 0);
	if (!s->cq[s->cqs++])
		die("ibv_create_cq");
	making = WHAT_NONE;
}

static void make_srq(struct shapes *s, uint64_t *rng)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 1 + below(rng, 200),
						 .max_sge = 1 + below(rng, 27) } };

	make(WHAT_SRQ, false);
	s->srq[s->srqs] = ibv_create_srq(s->pd, &a);
	if (!s->srq[s->srqs++])
		die("ibv_create_srq");
	making = WHAT_NONE;
}

static void make_qp(struct shapes *s, uint64_t *rng)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_cq *cq = s->cq[below(rng, (uint32_t)s->cqs)];
	struct ibv_srq *srq = s->srqs && below(rng, 3) == 0 ? s->srq[below(rng, (uint32_t)s->srqs)]
							    : NULL;
	struct ibv_qp_init_attr a = {
		.send_cq = cq,
		.recv_cq = s->cq[below(rng, (uint32_t)s->cqs)],
		.srq = srq,
		.qp_type = types[below(rng, 3)],
		.cap = { .max_send_wr = 1 + below(rng, below(rng, 2) ? 200 : 8),
			 .max_recv_wr = 1 + below(rng, below(rng, 2) ? 200 : 8),
			 .max_send_sge = 1 + below(rng, below(rng, 2) ? 32 : 3),
			 .max_recv_sge = 1 + below(rng, below(rng, 2) ? 32 : 6),
			 .max_inline_data = below(rng, 2) ? below(rng, 500) : 0 },
	};

	make(WHAT_QP, !srq);
	s->qp_own_rq[s->qps] = !srq;
	s->qp[s->qps] = ibv_create_qp(s->pd, &a);
	if (!s->qp[s->qps++])
		die("ibv_create_qp");
	making = WHAT_NONE;
}

static void destroy_qp(struct shapes *s, uint64_t *rng)
{
	int i = (int)below(rng, (uint32_t)s->qps);

	if (ibv_destroy_qp(s->qp[i]))
		die("ibv_destroy_qp");
	s->qp[i] = s->qp[--s->qps];
	s->qp_own_rq[i] = s->qp_own_rq[s->qps];
}

static void resize_cq(struct shapes *s, uint64_t *rng)
{
	make(WHAT_CQ, false);
	if (ibv_resize_cq(s->cq[below(rng, (uint32_t)s->cqs)], 1 + (int)below(rng, 400)))
		die("ibv_resize_cq");
	making = WHAT_NONE;
}

static void make_all(struct shapes *s, uint64_t *rng)
{
	uint32_t steps = 1 + below(rng, 14);

	make_cq(s, rng);
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t k = below(rng, 20);

		if (k < 4)
			make_cq(s, rng);
		else if (k < 7)
			make_srq(s, rng);
		else if (k < 17 || !s->qps)
			make_qp(s, rng);
		else if (k < 19)
			destroy_qp(s, rng);
		else
			resize_cq(s, rng);
	}
}

static void *make_qps(void *arg)
{
	struct shapes *s = (struct shapes *)arg;
	uint64_t rng = 88172645463325252ull ^ (uint64_t)(uintptr_t)s;

	for (int i = 0; i < 4; i++)
		make_qp(s, &rng);
	return NULL;
}

/* Two threads make queue pairs at the same time; each has its own list. */
static void make_threaded(struct shapes *s, uint64_t *rng)
{
	static struct shapes second;
	pthread_t a, b;

	make_cq(s, rng);
	second = *s;
	if (pthread_create(&a, NULL, make_qps, s) || pthread_create(&b, NULL, make_qps, &second))
		die("pthread_create");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	for (int i = 0; i < second.qps; i++) {
		s->qp[s->qps] = second.qp[i];
		s->qp_own_rq[s->qps++] = second.qp_own_rq[i];
	}
}

/* Is there an element of this ring that starts with id? */
static bool holds(const struct ring *r, uint64_t id)
{
	uint32_t log2, mask;

	memcpy(&log2, r->addr, 4);
	memcpy(&mask, (char *)r->addr + 4, 4);
	for (uint32_t i = 0; i <= mask; i++) {
		uint64_t v;

		memcpy(&v, (char *)r->addr + 384 + ((size_t)i << log2), 8);
		if (v == id)
			return true;
	}
	return false;
}

static void must_hold(uint64_t id, char kind)
{
	for (int i = 0; i < noted.rings; i++)
		if (noted.ring[i].kind == kind && holds(&noted.ring[i], id))
			return;
	fprintf(stderr, "rdmashapes: request %llx is in no ring of kind %c: the truth is wrong\n",
		(unsigned long long)id, kind);
	exit(2);
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	int ud = qp->qp_type == IBV_QPT_UD, rc = qp->qp_type == IBV_QPT_RC;
	union ibv_gid gid;

	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)))
		die("INIT");
	if (ibv_query_gid(qp->context, 1, 1, &gid))
		die("gid");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = 1, .hop_limit = 1 } }
	};
	if (ibv_modify_qp(
		    qp, &a,
		    IBV_QP_STATE |
			    (ud ? 0
				: IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
			    (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)))
		die("RTR");
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .max_rd_atomic = 1 };
	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_SQ_PSN |
				  (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						   IBV_QP_MAX_QP_RD_ATOMIC
				      : 0)))
		die("RTS");
}

static struct ibv_ah *ah_of(struct shapes *s)
{
	struct ibv_ah_attr a = { .is_global = 1,
				 .port_num = 1,
				 .grh = { .sgid_index = 1, .hop_limit = 1 } };
	struct ibv_ah *ah;

	if (ibv_query_gid(s->ctx, 1, 1, &a.grh.dgid) || !(ah = ibv_create_ah(s->pd, &a)))
		die("ibv_create_ah");
	return ah;
}

static uint32_t get32_at(const void *p, size_t at)
{
	uint32_t v;

	memcpy(&v, (const char *)p + at, 4);
	return v;
}

/* Post a marked receive and a marked send on every queue pair: to itself. */
static void use_all(struct shapes *s)
{
	static char buf[65536];
	struct ibv_mr *mr = ibv_reg_mr(s->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_ah *ah = ah_of(s);

	if (!mr)
		die("ibv_reg_mr");
	for (int i = 0; i < s->srqs; i++) {
		struct ibv_sge sge = { (uintptr_t)buf, 2048, mr->lkey };
		struct ibv_recv_wr r = { .wr_id = MARK + 1000 + (unsigned)i,
					 .sg_list = &sge,
					 .num_sge = 1 },
				   *bad;

		if (ibv_post_srq_recv(s->srq[i], &r, &bad))
			die("ibv_post_srq_recv");
		must_hold(r.wr_id, 'r');
	}
	for (int i = 0; i < s->qps; i++) {
		struct ibv_sge sge = { (uintptr_t)buf, 2048, mr->lkey };
		struct ibv_recv_wr r = { .wr_id = MARK + 2000 + (unsigned)i,
					 .sg_list = &sge,
					 .num_sge = 1 },
				   *bad_r;
		struct ibv_send_wr w = { .wr_id = MARK + (unsigned)i,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED },
				   *bad;

		to_rts(s->qp[i]);
		if (s->qp_own_rq[i]) {
			if (ibv_post_recv(s->qp[i], &r, &bad_r))
				die("ibv_post_recv");
			must_hold(r.wr_id, 'r');
		}
		sge.length = 64;
		if (s->qp[i]->qp_type == IBV_QPT_UD) {
			w.wr.ud.ah = ah;
			w.wr.ud.remote_qpn = s->qp[i]->qp_num;
			w.wr.ud.remote_qkey = 1;
		}
		if (ibv_post_send(s->qp[i], &w, &bad))
			die("ibv_post_send");
		must_hold(w.wr_id, 's');
	}
	usleep(20000);
}

static void tell_rings(FILE *out)
{
	for (int i = 0; i < noted.rings; i++)
		if (noted.ring[i].kind)
			fprintf(out, "%llx %c %u %u\n", (unsigned long long)noted.ring[i].pgoff,
				noted.ring[i].kind, 1u << get32_at(noted.ring[i].addr, 0),
				get32_at(noted.ring[i].addr, 4) + 1);
	fputs("end\n", out);
	fflush(out);
}

static int child(uint64_t seed, FILE *in, FILE *out)
{
	static struct shapes s;
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull + 1;
	struct ibv_device **list = ibv_get_device_list(NULL);
	char line[16];

	if (!list || !list[0] || !(s.ctx = ibv_open_device(list[0])))
		die("no RDMA device");
	s.pd = ibv_alloc_pd(s.ctx);
	if (!s.pd)
		die("ibv_alloc_pd");
	for (int i = 0; i < 8; i++)
		below(&rng, 2);
	if (seed % 5 == 4)
		make_threaded(&s, &rng);
	else
		make_all(&s, &rng);
	tell_rings(out);
	if (!fgets(line, sizeof(line), in))
		return 0;
	use_all(&s);
	tell_rings(out);
	(void)!fgets(line, sizeof(line), in);
	return 0;
}

struct tally {
	unsigned int right, unknown, wrong, missing, numbered;
};

/* Compare the agent's lines with what the child told. */
static void compare(const char *agent, pid_t pid, FILE *truth, struct tally *t, uint64_t seed)
{
	struct {
		uint64_t pgoff;
		char kind;
		bool seen;
		unsigned int elem, slots;
	} want[RINGS];
	char cmd[256], line[256];
	int n = 0;
	FILE *f;

	while (fgets(line, sizeof(line), truth) && strcmp(line, "end\n") && n < RINGS) {
		unsigned long long off;

		if (sscanf(line, "%llx %c %u %u", &off, &want[n].kind, &want[n].elem,
			   &want[n].slots) != 4)
			die("truth");
		want[n].pgoff = off;
		want[n++].seen = false;
	}
	snprintf(cmd, sizeof(cmd), "%s --once", agent);
	f = popen(cmd, "r");
	if (!f)
		die("popen");
	while (fgets(line, sizeof(line), f)) {
		unsigned int number, elem, slots, pages;
		unsigned long long off;
		char comm[32], dev[32], kind[16], proof[16];
		int p, i = 0;

		if (sscanf(line, "%d %31s %31s %15s %u %u %u %u 0x%llx %15s", &p, comm, dev, kind,
			   &number, &elem, &slots, &pages, &off, proof) != 10 ||
		    p != pid)
			continue;
		while (i < n && want[i].pgoff != off)
			i++;
		if (i == n) {
			printf("seed %llu: a ring that is not there: %s", (unsigned long long)seed,
			       line);
			t->wrong++;
			continue;
		}
		want[i].seen = true;
		if (!strcmp(kind, "unknown")) {
			t->unknown++;
			if (getenv("RESEX_VERBOSE"))
				printf("seed %llu: unknown, truly %c: %s", (unsigned long long)seed,
				       want[i].kind, line);
		} else if (kind[0] != want[i].kind || elem != want[i].elem ||
			   slots != want[i].slots) {
			printf("seed %llu: WRONG, truly %c %u %u: %s", (unsigned long long)seed,
			       want[i].kind, want[i].elem, want[i].slots, line);
			t->wrong++;
		} else {
			t->right++;
			t->numbered += number != 0;
		}
	}
	pclose(f);
	for (int i = 0; i < n; i++) {
		if (want[i].seen)
			continue;
		printf("seed %llu: not found: offset %llx kind %c elem %u slots %u\n",
		       (unsigned long long)seed, (unsigned long long)want[i].pgoff, want[i].kind,
		       want[i].elem, want[i].slots);
		t->missing++;
	}
}

static void one_seed(const char *agent, uint64_t seed, struct tally *fresh, struct tally *used)
{
	int to[2], from[2], status;
	FILE *in, *out;
	pid_t pid;

	if (pipe(to) || pipe(from))
		die("pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		exit(child(seed, fdopen(to[0], "r"), fdopen(from[1], "w")));
	}
	close(to[0]);
	close(from[1]);
	out = fdopen(to[1], "w");
	in = fdopen(from[0], "r");
	compare(agent, pid, in, fresh, seed);
	fputs("use\n", out);
	fflush(out);
	compare(agent, pid, in, used, seed);
	fclose(out);
	fclose(in);
	if (waitpid(pid, &status, 0) != pid || status) {
		printf("seed %llu: child ended with %x\n", (unsigned long long)seed, status);
		used->wrong++;
	}
}

static void print_tally(const char *name, const struct tally *t)
{
	printf("%s: right %u (with number %u) unknown %u wrong %u missing %u\n", name, t->right,
	       t->numbered, t->unknown, t->wrong, t->missing);
}

int main(int argc, char **argv)
{
	struct tally fresh = { 0 }, used = { 0 };
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 0) : 20;

	if (argc < 2) {
		fputs("usage: rdmashapes AGENT [SEED [COUNT]]\n", stderr);
		return 2;
	}
	for (uint64_t i = 0; i < count; i++)
		one_seed(argv[1], seed + i, &fresh, &used);
	print_tally("fresh", &fresh);
	print_tally("used", &used);
	return fresh.wrong + fresh.missing + used.wrong + used.missing ? 1 : 0;
}
