// SPDX-License-Identifier: GPL-2.0-or-later
/* counters: names of counters, the tables of sources, numbers in files of sysfs. See counters.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/counters/counters_priv.h"

/* IFNAMSIZ - 1; and as many virtual functions as PCI can number. */
enum { IFACE_MAX = 15, NUMBER_MAX = 65535 };

const struct counter_ops *const counters_host[] = { &counter_vif, &counter_vf, &counter_port,
						    NULL };

void counters_close(struct counters *c)
{
	free(c->cache);
	c->cache = NULL;
}

/* "auto" is the first source of the table: the one that needs no name. */
const struct counter_ops *counter_find(const struct counters *c, const struct counter_name *n)
{
	if (!c->ops || n->kind == COUNTER_NONE)
		return NULL;
	for (size_t i = 0; c->ops[i]; i++)
		if (n->kind == COUNTER_AUTO || n->kind == c->ops[i]->kind)
			return c->ops[i];
	return NULL;
}

/* A device's name becomes a part of a path: no slash, and not one of dots. */
static bool is_device(const char *s, size_t len)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_.-";

	return len && s[0] != '.' && s[0] != '-' && strspn(s, good) >= len;
}

/* "DEVICE/NUMBER" */
static int parse_place(const char *text, enum counter_kind kind, size_t longest,
		       struct counter_name *n)
{
	const char *slash = strchr(text, '/'), *digits;
	size_t len = slash ? (size_t)(slash - text) : 0;
	unsigned long number;
	char *end;

	if (!slash || len > longest || !is_device(text, len))
		return -EINVAL;
	digits = slash + 1;
	if (*digits < '0' || *digits > '9' || strlen(digits) > 5)
		return -EINVAL;
	number = strtoul(digits, &end, 10);
	if (*end || number > NUMBER_MAX)
		return -EINVAL;
	*n = (struct counter_name){ .kind = kind, .number = (uint32_t)number };
	memcpy(n->dev, text, len);
	return 0;
}

int counter_parse_guest(const char *text, struct counter_name *n)
{
	static const struct {
		const char *text;
		enum counter_kind kind;
	} words[] = { { "auto", COUNTER_AUTO }, { "none", COUNTER_NONE }, { "vif", COUNTER_VIF } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i].text)) {
			*n = (struct counter_name){ .kind = words[i].kind };
			return 0;
		}
	if (strncmp(text, "vf:", 3) != 0)
		return -EINVAL;
	return parse_place(text + 3, COUNTER_VF, IFACE_MAX, n);
}

int counter_parse_link(const char *text, struct counter_name *n)
{
	if (!strcmp(text, "none")) {
		*n = (struct counter_name){ .kind = COUNTER_NONE };
		return 0;
	}
	if (strncmp(text, "port:", 5) != 0)
		return -EINVAL;
	return parse_place(text + 5, COUNTER_PORT, COUNTER_DEV_MAX - 1, n);
}

bool counter_same(const struct counter_name *a, const struct counter_name *b)
{
	return a->kind == b->kind && a->number == b->number && !strcmp(a->dev, b->dev);
}

const char *counter_why(enum counter_kind kind, int rc)
{
	if (rc == -ENOENT)
		return kind == COUNTER_VIF  ? "it has no interface in dom0"
		       : kind == COUNTER_VF ? "there is no such interface, or no such virtual "
					      "function of it: see ip link show"
					    : "there is no such device, or no such port: see rdma "
					      "link show";
	if (rc == -EOPNOTSUPP)
		return "the device counts no bytes there";
	return strerror(-rc);
}

int counter_file(const struct counters *c, uint64_t *out, const char *fmt, ...)
{
	char path[512], buf[32];
	int n = snprintf(path, sizeof(path), "%s/", c->sys), fd;
	unsigned long long value;
	ssize_t len;
	va_list ap;
	char *end;

	va_start(ap, fmt);
	n += vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	len = read(fd, buf, sizeof(buf) - 1);
	n = len < 0 ? -errno : 0;
	close(fd);
	if (n)
		return n;
	buf[len] = 0;
	/* strtoull() would accept a sign and make a huge number of it. */
	if (buf[0] < '0' || buf[0] > '9') /* "N/A", "-1" */
		return -EBADMSG;
	errno = 0;
	value = strtoull(buf, &end, 10);
	if (errno || (*end && strcmp(end, "\n") != 0))
		return -EBADMSG;
	*out = value;
	return 0;
}
