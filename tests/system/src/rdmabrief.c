// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmabrief: queue pairs that live briefly, one pair after another, and their truth at the end.
 *
 * Each pair is an RC or UC queue pair that posts 1 to 8 WRITEs, and one that answers. Both have
 * completion queues of their own. Some first pairs and a last one live until the end: they show
 * which numbers were given between.
 *
 *	rdmabrief [-n PAIRS] [-l LIFE_US] [-g GAP_US] [-s BYTES_MAX] [-S SEED]
 *
 * "READY pid=P qpns=N" when each first pair did a work request; then it waits for the line
 * "go" on stdin, prints "DONE" after the last pair, waits for "end", and prints "TRUTH {...}".
 * LIFE_US is from the creation of a pair until its end. A pair lives longer where creating it,
 * connecting it and its work take longer: LIFE says how long they lived. GAP_US is the longest time
 * between two pairs.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/src/load.h"

enum { FIRST_PAIRS = 4, WRS_MAX = 8, PAIRS_MAX = 20000, STALL_S = 30, PSN = 0x1234 };

struct pair {
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2]; /* the one that posts; the one that answers */
	struct load_truth *truth;
	int64_t born;
};

struct brief {
	struct ibv_context *ibv;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *buf;
	union ibv_gid gid;
	uint32_t pairs, life_us, gap_us, bytes_max;
	uint64_t seed, random;
	struct load_truth *truth;
	uint32_t truths;
	int64_t *life; /* ns, of the pairs that ended */
	uint32_t lives;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* xorshift64*: 0 to n - 1. */
static uint32_t below(struct brief *b, uint32_t n)
{
	b->random ^= b->random >> 12;
	b->random ^= b->random << 25;
	b->random ^= b->random >> 27;
	return n ? (uint32_t)((b->random * 0x2545f4914f6cdd1du) >> 32) % n : 0;
}

static int failed(const char *what, int err)
{
	fprintf(stderr, "rdmabrief: %s failed: %s\n", what, strerror(err ? err : EIO));
	return -(err ? err : EIO);
}

static int brief_open(struct brief *b)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	b->ibv = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (list)
		ibv_free_device_list(list);
	if (!b->ibv)
		return failed("opening an RDMA device", ENODEV);
	if (ibv_query_gid(b->ibv, 1, 1, &b->gid))
		return failed("ibv_query_gid", errno);
	b->pd = ibv_alloc_pd(b->ibv);
	b->buf = aligned_alloc(4096, 1 << 20);
	b->truth = calloc(b->pairs + FIRST_PAIRS + 1, sizeof(*b->truth));
	b->life = calloc(b->pairs + 1u, sizeof(*b->life));
	if (!b->pd || !b->buf || !b->truth || !b->life)
		return failed("memory", ENOMEM);
	b->mr = ibv_reg_mr(b->pd, b->buf, 1 << 20,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return b->mr ? 0 : failed("ibv_reg_mr", errno);
}

static int connect_qp(const struct brief *b, const struct pair *p, int side)
{
	bool rc = p->truth->type == LOAD_RC;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int ret;

	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	ret = ibv_modify_qp(p->qp[side], &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = p->qp[!side]->qp_num,
		.rq_psn = PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = b->gid, .hop_limit = 1, .sgid_index = 1 } }
	};
	ret = ibv_modify_qp(p->qp[side], &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN |
				    (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	if (ret)
		return ret;
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				  .sq_psn = PSN,
				  .timeout = 16,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .max_rd_atomic = 1 };
	return ibv_modify_qp(p->qp[side], &a,
			     IBV_QP_STATE | IBV_QP_SQ_PSN |
				     (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						      IBV_QP_MAX_QP_RD_ATOMIC
					 : 0));
}

static int pair_make(struct brief *b, struct pair *p)
{
	struct load_truth *t = &b->truth[b->truths];
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 2 * WRS_MAX,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	int ret = 0;

	memset(p, 0, sizeof(*p));
	p->born = now_ns();
	p->truth = t;
	t->type = below(b, 2) ? LOAD_RC : LOAD_UC;
	t->mtu = 1024;
	attr.qp_type = t->type == LOAD_RC ? IBV_QPT_RC : IBV_QPT_UC;
	for (int i = 0; i < 2; i++) {
		p->cq[i] = ibv_create_cq(b->ibv, 2 * WRS_MAX, NULL, NULL, 0);
		attr.send_cq = attr.recv_cq = p->cq[i];
		p->qp[i] = p->cq[i] ? ibv_create_qp(b->pd, &attr) : NULL;
		if (!p->qp[i])
			return failed("ibv_create_qp", errno);
	}
	b->truths++;
	t->qpn = p->qp[0]->qp_num;
	t->peer = p->qp[1]->qp_num;
	t->slots = attr.cap.max_send_wr;
	for (int i = 0; i < 2 && !ret; i++)
		ret = connect_qp(b, p, i);
	return ret ? failed("ibv_modify_qp", ret) : 0;
}

/* Post one WRITE and await its completion. */
static int write_one(struct brief *b, struct pair *p)
{
	struct ibv_sge sge = { (uintptr_t)b->buf, 1 + below(b, b->bytes_max), b->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)b->buf + (1 << 19), b->mr->rkey } };
	const struct load_wr done = { .op = LOAD_WRITE, .bytes = sge.length };
	int64_t until = now_ns() + STALL_S * 1000000000LL;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n = ibv_post_send(p->qp[0], &wr, &bad);

	if (n)
		return failed("ibv_post_send", n);
	while ((n = ibv_poll_cq(p->cq[0], 1, &wc)) == 0) {
		if (now_ns() > until)
			return failed("a completion", ETIMEDOUT);
		sleep_until(now_ns() + 50000);
	}
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		return failed("a WRITE", EIO);
	load_account(p->truth, &done, false);
	p->truth->signalled++;
	return 0;
}

static void pair_end(struct brief *b, struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->qp[i])
			ibv_destroy_qp(p->qp[i]);
		if (p->cq[i])
			ibv_destroy_cq(p->cq[i]);
	}
	b->life[b->lives++] = now_ns() - p->born;
}

/* Its work is done at a random moment of the first half of its life. */
static int one_life(struct brief *b)
{
	struct pair p;
	int ret = pair_make(b, &p);
	uint32_t wrs = 1 + below(b, WRS_MAX);

	sleep_until(p.born + below(b, b->life_us / 2) * 1000LL);
	for (uint32_t i = 0; i < wrs && !ret; i++)
		ret = write_one(b, &p);
	sleep_until(p.born + b->life_us * 1000LL);
	pair_end(b, &p);
	sleep_until(now_ns() + below(b, b->gap_us) * 1000LL);
	return ret;
}

static void await(const char *line)
{
	char buf[64];

	while (fgets(buf, sizeof(buf), stdin))
		if (!strncmp(buf, line, strlen(line)))
			return;
}

static int by_length(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void tell(const struct brief *b, double seconds)
{
	struct load_opts o = { .seed = b->seed };

	qsort(b->life, b->lives, sizeof(b->life[0]), by_length);
	printf("LIFE {\"pairs\":%" PRIu32 ",\"wanted_us\":%" PRIu32 ",\"median_us\":%" PRId64
	       ",\"max_us\":%" PRId64 "}\n",
	       b->lives, b->life_us, b->lives ? b->life[b->lives / 2] / 1000 : 0,
	       b->lives ? b->life[b->lives - 1] / 1000 : 0);
	fputs("TRUTH ", stdout);
	load_print(stdout, b->truth, b->truths, &o, seconds, false);
}

static int first_pairs(struct brief *b)
{
	for (int i = 0; i < FIRST_PAIRS; i++) {
		struct pair p;
		int ret = pair_make(b, &p);

		ret = ret ? ret : write_one(b, &p);
		if (ret)
			return ret;
	}
	printf("READY pid=%d qpns=", (int)getpid());
	for (uint32_t i = 0; i < b->truths; i++)
		printf("%s%u", i ? "," : "", b->truth[i].qpn);
	puts("");
	fflush(stdout);
	return 0;
}

static int run(struct brief *b)
{
	struct pair last;
	int64_t start;
	int ret = first_pairs(b);

	if (ret)
		return ret;
	await("go");
	start = now_ns();
	for (uint32_t i = 0; i < b->pairs && !ret; i++)
		ret = one_life(b);
	ret = ret ? ret : pair_make(b, &last);
	ret = ret ? ret : write_one(b, &last);
	if (ret)
		return ret;
	puts("DONE");
	fflush(stdout);
	await("end");
	tell(b, (double)(now_ns() - start) / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	struct brief b = { .pairs = 50, .life_us = 20000, .gap_us = 5000, .bytes_max = 4096 };
	int c;

	b.seed = (uint64_t)now_ns();
	while ((c = getopt(argc, argv, "n:l:g:s:S:")) != -1) {
		uint64_t v = c == '?' ? 0 : strtoull(optarg, NULL, 10);

		if (c == 'n' && v <= PAIRS_MAX)
			b.pairs = (uint32_t)v;
		else if (c == 'l' && v && v <= 10000000)
			b.life_us = (uint32_t)v;
		else if (c == 'g' && v <= 10000000)
			b.gap_us = (uint32_t)v;
		else if (c == 's' && v && v <= 1 << 19)
			b.bytes_max = (uint32_t)v;
		else if (c == 'S' && v)
			b.seed = v;
		else
			return 2;
	}
	b.random = b.seed * 0x9e3779b97f4a7c15u + 1;
	c = brief_open(&b);
	if (!c)
		c = run(&b);
	return c ? 1 : 0; /* the kernel ends what is left */
}
