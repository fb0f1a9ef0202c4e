// SPDX-License-Identifier: GPL-2.0-or-later
/* fakeverbs: commands of libibverbs are answered in this process. See fakeverbs.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "tests/fakeverbs/fakeverbs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/fakeverbs/fakeverbs_priv.h"

#define DEVICE "/dev/infiniband/uverbs0"

enum { MAJOR = 231, MINOR = 192, CQS = 64, QPS = 64, FDS = 8, FIRST_QPN = 0x1a0 };

/* The interposed functions of libc have no argument for it. */
static struct {
	struct fakeverbs_conf conf;
	const struct fakeverbs_adapter *adapter; /* NULL: nothing is faked */
	char root[64];				 /* of the fake sysfs */
	int fd[FDS];				 /* of the device, opened */
	uint32_t fds;
	uint32_t handle;
	struct fakeverbs_cq cq[CQS];
	struct fakeverbs_qp qp[QPS];
} fake;

/* --- the fake sysfs ----------------------------------------------------------- */

static const char *const dirs[] = {
	"",
	"/class",
	"/class/infiniband_verbs",
	"/class/infiniband_verbs/uverbs0",
	"/class/infiniband",
	"/class/infiniband/fake0",
	"/class/infiniband/fake0/device",
};

static int put_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", fake.root, name);
	f = fopen(path, "w");
	if (!f)
		return -errno;
	fprintf(f, "%s\n", text);
	return fclose(f) ? -errno : 0;
}

static int make_sysfs(void)
{
	const struct {
		const char *name, *text;
	} files[] = {
		{ "/class/infiniband_verbs/abi_version", "6" },
		{ "/class/infiniband_verbs/uverbs0/ibdev", "fake0" },
		{ "/class/infiniband_verbs/uverbs0/dev", "231:192" },
		{ "/class/infiniband_verbs/uverbs0/abi_version", fake.adapter->abi_version },
		{ "/class/infiniband/fake0/node_type", "1: CA" },
		{ "/class/infiniband/fake0/node_guid", "0000:0000:0000:0001" },
		{ "/class/infiniband/fake0/device/modalias", fake.adapter->modalias },
	};
	int rc = 0;

	strcpy(fake.root, "/tmp/fakeverbs.XXXXXX");
	if (!mkdtemp(fake.root))
		return -errno;
	for (size_t i = 1; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s%s", fake.root, dirs[i]);
		if (mkdir(path, 0755))
			return -errno;
	}
	for (size_t i = 0; !rc && i < sizeof(files) / sizeof(files[0]); i++)
		rc = put_file(files[i].name, files[i].text);
	if (!rc && setenv("SYSFS_PATH", fake.root, 1))
		rc = -errno;
	return rc;
}

static void remove_sysfs(void)
{
	static const char *const files[] = {
		"/class/infiniband_verbs/abi_version",
		"/class/infiniband_verbs/uverbs0/ibdev",
		"/class/infiniband_verbs/uverbs0/dev",
		"/class/infiniband_verbs/uverbs0/abi_version",
		"/class/infiniband/fake0/node_type",
		"/class/infiniband/fake0/node_guid",
		"/class/infiniband/fake0/device/modalias",
	};
	char path[256];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", fake.root, files[i]);
		unlink(path);
	}
	for (size_t i = sizeof(dirs) / sizeof(dirs[0]); i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", fake.root, dirs[i]);
		rmdir(path);
	}
}

int fakeverbs_begin(const struct fakeverbs_conf *conf)
{
	static const struct fakeverbs_adapter *const adapters[] = { &fakeverbs_mlx5,
								    &fakeverbs_mlx4 };

	for (size_t i = 0; i < sizeof(adapters) / sizeof(adapters[0]); i++)
		if (!strcmp(adapters[i]->provider, conf->provider))
			fake.adapter = adapters[i];
	if (!fake.adapter)
		return -EINVAL;
	fake.conf = *conf;
	return make_sysfs();
}

void fakeverbs_end(void)
{
	remove_sysfs();
	memset(&fake, 0, sizeof(fake));
}

void fakeverbs_set_cqe_version(uint32_t version)
{
	fake.conf.cqe_version = version;
}

void fakeverbs_set_cqe_bytes(uint32_t bytes)
{
	fake.conf.cqe_bytes = bytes;
}

/* --- objects ------------------------------------------------------------------ */

struct fakeverbs_qp *fakeverbs_qp(uint32_t number)
{
	for (int i = 0; i < QPS; i++)
		if (fake.qp[i].number == number)
			return &fake.qp[i];
	return NULL;
}

static struct fakeverbs_qp *qp_of(uint32_t handle)
{
	for (int i = 0; i < QPS; i++)
		if (fake.qp[i].handle == handle)
			return &fake.qp[i];
	return NULL;
}

static struct fakeverbs_cq *cq_of(uint32_t handle)
{
	for (int i = 0; i < CQS; i++)
		if (fake.cq[i].handle == handle)
			return &fake.cq[i];
	return NULL;
}

/* --- the adapter ----------------------------------------------------------------- */

/* The doorbell record's first word counts, in both layouts, the completions that were polled. */
bool fakeverbs_is_full(const struct fakeverbs_cq *c)
{
	return ((c->produced - be32toh(c->db[0])) & 0xffffff) >= c->entries;
}

/* Execute one request; fails: with an error. False: there is none, or no room to report it. */
static bool execute(struct fakeverbs_qp *qp, bool fails)
{
	struct fakeverbs_request q;

	if (!fake.adapter->next(qp, &q))
		return false;
	if (fails || q.signalled) {
		if (fakeverbs_is_full(qp->send_cq))
			return false;
		(fails ? fake.adapter->failed : fake.adapter->done)(qp, &q);
	}
	qp->executed = (uint16_t)(qp->executed + q.blocks);
	return true;
}

uint32_t fakeverbs_complete(struct fakeverbs_qp *qp, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && execute(qp, qp->failed))
		i++;
	return i;
}

bool fakeverbs_fail(struct fakeverbs_qp *qp)
{
	if (!execute(qp, true))
		return false;
	qp->failed = true;
	return true;
}

bool fakeverbs_receive(struct fakeverbs_qp *qp, uint32_t bytes, const void *scatter)
{
	return fake.adapter->receive(qp, bytes, scatter);
}

/* --- commands ----------------------------------------------------------------- */

/*
 * A command is a header, the kernel's part, and the provider's; so is a response. All begin with
 * the address of the response, but those that have none.
 */
struct command {
	const struct ib_uverbs_cmd_hdr *hdr;
	const void *body;
	size_t bytes; /* of the body */
	uint8_t *resp;
	size_t resp_bytes;
};

static void *response(const struct command *c, size_t bytes)
{
	if (c->resp_bytes < bytes)
		abort();
	memset(c->resp, 0, bytes);
	return c->resp;
}

static const void *body(const struct command *c, size_t bytes)
{
	if (c->bytes < bytes)
		abort();
	return c->body;
}

static int get_context(const struct command *c)
{
	const struct ib_uverbs_get_context *q = body(c, sizeof(*q));
	struct ib_uverbs_get_context_resp *r = response(c, sizeof(*r) + fake.adapter->context_resp);

	r->async_fd = (uint32_t)open("/dev/null", O_RDWR | O_CLOEXEC);
	r->num_comp_vectors = 1;
	fake.adapter->context(&fake.conf, q + 1, r + 1);
	return 0;
}

static int query_device(const struct command *c)
{
	struct ib_uverbs_query_device_resp *r = response(c, sizeof(*r));

	r->max_mr_size = UINT64_MAX;
	r->max_qp = QPS;
	r->max_qp_wr = 32768;
	r->max_sge = 30;
	r->max_cq = CQS;
	r->max_cqe = 1 << 20;
	r->max_mr = 1024;
	r->max_pd = 1024;
	r->max_qp_rd_atom = 16;
	r->atomic_cap = 1;
	r->phys_port_cnt = 1;
	r->max_pkeys = 1;
	return 0;
}

static int query_port(const struct command *c)
{
	struct ib_uverbs_query_port_resp *r = response(c, sizeof(*r));

	r->max_msg_sz = 1u << 30;
	r->gid_tbl_len = 1;
	r->pkey_tbl_len = 1;
	r->lid = 1;
	r->state = 4; /* active */
	r->max_mtu = r->active_mtu = 5;
	r->active_width = 2;
	r->active_speed = 32;
	r->phys_state = 5;
	r->link_layer = 1; /* InfiniBand: addresses need no other kernel interface */
	return 0;
}

static int alloc_pd(const struct command *c)
{
	struct ib_uverbs_alloc_pd_resp *r = response(c, sizeof(*r) + fake.adapter->pd_resp);

	r->pd_handle = ++fake.handle;
	fake.adapter->pd(r->pd_handle, r + 1);
	return 0;
}

static int reg_mr(const struct command *c)
{
	struct ib_uverbs_reg_mr_resp *r = response(c, sizeof(*r));

	r->mr_handle = ++fake.handle;
	r->lkey = r->rkey = r->mr_handle << 8;
	return 0;
}

static int alloc_mw(const struct command *c)
{
	struct ib_uverbs_alloc_mw_resp *r = response(c, sizeof(*r));

	r->mw_handle = ++fake.handle;
	r->rkey = r->mw_handle << 8;
	return 0;
}

static int create_cq(const struct command *c)
{
	const struct ib_uverbs_create_cq *q = body(c, sizeof(*q) + fake.adapter->cq_cmd);
	struct ib_uverbs_create_cq_resp *r = response(c, sizeof(*r) + fake.adapter->cq_resp);
	struct fakeverbs_cq *cq = cq_of(0);

	if (!cq)
		return -ENOMEM;
	memset(cq, 0, sizeof(*cq));
	cq->handle = cq->number = ++fake.handle;
	cq->entries = q->cqe + 1;
	fake.adapter->cq(cq, &fake.conf, q + 1, r + 1);
	r->cq_handle = cq->handle;
	r->cqe = q->cqe;
	return 0;
}

static int resize_cq(const struct command *c)
{
	const struct ib_uverbs_resize_cq *q = body(c, sizeof(*q) + fake.adapter->resize_cmd);
	struct ib_uverbs_resize_cq_resp *r = response(c, sizeof(*r));
	struct fakeverbs_cq *cq = cq_of(q->cq_handle);

	if (!cq)
		return -EINVAL;
	fake.adapter->resize(cq, q->cqe + 1, q + 1);
	r->cqe = q->cqe;
	return 0;
}

static int destroy_cq(const struct command *c)
{
	const struct ib_uverbs_destroy_cq *q = body(c, sizeof(*q));
	struct fakeverbs_cq *cq = cq_of(q->cq_handle);

	for (int i = 0; cq && i < QPS; i++)
		if (fake.qp[i].handle && (fake.qp[i].send_cq == cq || fake.qp[i].recv_cq == cq))
			return -EBUSY;
	response(c, sizeof(struct ib_uverbs_destroy_cq_resp));
	if (cq)
		memset(cq, 0, sizeof(*cq));
	return 0;
}

static int create_qp(const struct command *c)
{
	const struct ib_uverbs_create_qp *q = body(c, sizeof(*q) + fake.adapter->qp_cmd);
	struct ib_uverbs_create_qp_resp *r = response(c, sizeof(*r) + fake.adapter->qp_resp);
	struct fakeverbs_qp *qp = qp_of(0);

	if (!qp)
		return -ENOMEM;
	memset(qp, 0, sizeof(*qp));
	qp->handle = ++fake.handle;
	qp->number = FIRST_QPN + qp->handle;
	qp->type = q->qp_type;
	qp->send_cq = cq_of(q->send_cq_handle);
	qp->recv_cq = cq_of(q->recv_cq_handle);
	fake.adapter->qp(qp, q, q + 1, r + 1);
	r->qp_handle = qp->handle;
	r->qpn = qp->number;
	r->max_send_wr = q->max_send_wr;
	r->max_recv_wr = q->max_recv_wr;
	r->max_send_sge = q->max_send_sge;
	r->max_recv_sge = q->max_recv_sge;
	r->max_inline_data = q->max_inline_data;
	return 0;
}

static int modify_qp(const struct command *c)
{
	enum { ATTR_STATE = 1 << 0, ATTR_PATH_MTU = 1 << 8, RESET = 0 };
	const struct ib_uverbs_modify_qp *q = body(c, sizeof(*q));
	struct fakeverbs_qp *qp = qp_of(q->qp_handle);

	if (!qp)
		return -EINVAL;
	if (q->attr_mask & ATTR_PATH_MTU)
		qp->path_mtu = 128u << q->path_mtu;
	if ((q->attr_mask & ATTR_STATE) && q->qp_state == RESET) {
		qp->executed = qp->received = 0;
		qp->failed = false;
	}
	return 0;
}

static int destroy_qp(const struct command *c)
{
	const struct ib_uverbs_destroy_qp *q = body(c, sizeof(*q));
	struct fakeverbs_qp *qp = qp_of(q->qp_handle);

	response(c, sizeof(struct ib_uverbs_destroy_qp_resp));
	if (qp)
		memset(qp, 0, sizeof(*qp));
	return 0;
}

static int nothing(const struct command *c)
{
	(void)c;
	return 0;
}

static const struct {
	uint32_t command;
	bool responds;
	int (*run)(const struct command *c);
} commands[] = {
	{ IB_USER_VERBS_CMD_GET_CONTEXT, true, get_context },
	{ IB_USER_VERBS_CMD_QUERY_DEVICE, true, query_device },
	{ IB_USER_VERBS_CMD_QUERY_PORT, true, query_port },
	{ IB_USER_VERBS_CMD_ALLOC_PD, true, alloc_pd },
	{ IB_USER_VERBS_CMD_DEALLOC_PD, false, nothing },
	{ IB_USER_VERBS_CMD_REG_MR, true, reg_mr },
	{ IB_USER_VERBS_CMD_DEREG_MR, false, nothing },
	{ IB_USER_VERBS_CMD_ALLOC_MW, true, alloc_mw },
	{ IB_USER_VERBS_CMD_DEALLOC_MW, false, nothing },
	{ IB_USER_VERBS_CMD_CREATE_CQ, true, create_cq },
	{ IB_USER_VERBS_CMD_RESIZE_CQ, true, resize_cq },
	{ IB_USER_VERBS_CMD_DESTROY_CQ, true, destroy_cq },
	{ IB_USER_VERBS_CMD_CREATE_QP, true, create_qp },
	{ IB_USER_VERBS_CMD_MODIFY_QP, false, modify_qp },
	{ IB_USER_VERBS_CMD_DESTROY_QP, true, destroy_qp },
};

/* Extended commands and unknown ones are refused, as by an older kernel: the library goes on. */
static int run_command(const void *buf, size_t bytes)
{
	struct command c = { .hdr = buf, .bytes = bytes - sizeof(*c.hdr) };

	if (bytes < sizeof(*c.hdr))
		return -EINVAL;
	c.body = c.hdr + 1;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].command != c.hdr->command)
			continue;
		if (commands[i].responds) {
			uint64_t at;

			memcpy(&at, body(&c, sizeof(at)), sizeof(at));
			c.resp = (uint8_t *)(uintptr_t)at;
			c.resp_bytes = c.hdr->out_words * 4u;
		}
		return commands[i].run(&c);
	}
	return -EOPNOTSUPP;
}

/* --- libc's functions --------------------------------------------------------- */

static bool is_device(const char *path)
{
	return fake.adapter && !strcmp(path, DEVICE);
}

static uint32_t fd_index(int fd)
{
	uint32_t i = 0;

	while (i < fake.fds && fake.fd[i] != fd)
		i++;
	return i;
}

static bool is_device_fd(int fd)
{
	return fake.adapter && fd_index(fd) < fake.fds;
}

static int answer(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;
	int fd;

	va_start(ap, flags);
	if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (!is_device(path))
		return openat(AT_FDCWD, path, flags, mode);
	fd = openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fake.fds < FDS)
		fake.fd[fake.fds++] = fd;
	return fd;
}

int close(int fd)
{
	if (is_device_fd(fd))
		fake.fd[fd_index(fd)] = fake.fd[--fake.fds];
	return (int)syscall(SYS_close, fd);
}

static void device_stat(struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(MAJOR, MINOR);
}

int stat(const char *path, struct stat *st)
{
	if (!is_device(path))
		return fstatat(AT_FDCWD, path, st, 0);
	device_stat(st);
	return 0;
}

int fstat(int fd, struct stat *st)
{
	if (!is_device_fd(fd))
		return fstatat(fd, "", st, AT_EMPTY_PATH);
	device_stat(st);
	return 0;
}

ssize_t write(int fd, const void *buf, size_t bytes)
{
	int rc;

	if (!is_device_fd(fd))
		return syscall(SYS_write, fd, buf, bytes);
	rc = run_command(buf, bytes);
	return rc ? answer(rc) : (ssize_t)bytes;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return is_device_fd(fd) ? answer(-ENOTTY) : (int)syscall(SYS_ioctl, fd, request, arg);
}

/* A page of registers, which nobody reads: the adapter looks at doorbell records. */
void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	if (is_device_fd(fd)) {
		flags = MAP_PRIVATE | MAP_ANONYMOUS;
		fd = -1;
		offset = 0;
	}
	return (void *)syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset); // NOLINT
}

/* The devices that this machine really has are not to be found. */
int socket(int domain, int type, int protocol)
{
	enum { NETLINK_OF_RDMA = 20 };

	if (fake.adapter && domain == AF_NETLINK && protocol == NETLINK_OF_RDMA)
		return answer(-EPROTONOSUPPORT);
	return (int)syscall(SYS_socket, domain, type, protocol);
}
