// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server: the loop of a server, and the total at its end. It calls server_conn.c,
 * server_serve.c and server_session.c. See server.h.
 */
#include "src/benchex/server.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"

/*
 * A client of 1024 connections makes them one after another, so a backlog of 256 is for
 * several clients. Idle, the loop looks at connections twice a second.
 */
enum { BACKLOG = 256, IDLE_NS = 500000000 };

/*
 * The total of all clients, as a result of peer "all". What still waits at the end was not
 * sent: it counts as dropped.
 */
static int print_total(struct server *s)
{
	struct resex_report_counts c = { 0 };
	struct bx_result *r = s->total;

	if (s->report) {
		resex_report_flush(s->report);
		resex_report_count(s->report, &c);
	}
	bx_net_result(&s->net, r);
	snprintf(r->peer, sizeof(r->peer), "all");
	r->reported = c.sent;
	r->report_dropped = c.dropped + c.waiting;
	return bx_result_print(stdout, r);
}

/* --- the loop ---------------------------------------------------------------- */

static void handle_events(struct server *s)
{
	struct rdma_cm_event *e;

	while (s->net.cm_ready && (e = bx_net_event(&s->net))) {
		server_event(s, e);
		s->net.cm_ready = true;
	}
}

/* Send latencies that waited SERVER_FLUSH_NS. Returns when to call again. */
static int64_t flush_reports(struct server *s, int64_t now)
{
	if (s->flush_at && now >= s->flush_at) {
		resex_report_flush(s->report);
		s->flush_at = 0;
	}
	return s->flush_at ? s->flush_at : INT64_MAX;
}

/*
 * Poll and answer one request in turn, so that arrivals keep their true times. Events of
 * the connection manager come after an answer: a request must not wait for a client that
 * connects.
 */
static void run_loop(struct server *s)
{
	for (;;) {
		int got = server_reap(s);
		int64_t now = bx_now(&s->net), until;
		bool served;

		bx_net_progress(&s->net, now, s->total->requests, s->total->bytes);
		if (s->conf->once && s->client_left)
			bx_net_stop(&s->net, "requests");
		if (bx_net_over(&s->net, now) || (s->net.ended && !s->answers))
			return;
		served = !s->net.ended && server_serve(s);
		handle_events(s);
		server_tidy(s, now);
		until = flush_reports(s, now);
		if (got || served || s->untidy)
			bx_net_look(&s->net, now);
		else
			bx_net_idle(&s->net, until < now + IDLE_NS ? until : now + IDLE_NS);
	}
}

/* --- from start to end ------------------------------------------------------- */

/*
 * Is it an address of this machine? librdmacm returns EADDRNOTAVAIL also for a port that
 * is in use.
 */
static bool is_own_address(const struct sockaddr_storage *at)
{
	struct sockaddr_storage any_port = *at;
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool own;

	if (at->ss_family == AF_INET6)
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	else
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	own = fd >= 0 && !bind(fd, (struct sockaddr *)&any_port, sizeof(any_port));
	if (fd >= 0)
		close(fd);
	return own;
}

/* Print why listening failed, with a remedy. */
static int say_no_listen(const struct bx_conf *conf, const struct sockaddr_storage *at, int err)
{
	const char *name = conf->bind ? conf->bind : "any address";

	if (err == EADDRINUSE || (err == EADDRNOTAVAIL && is_own_address(at)))
		bx_say("port %u at %s is taken: end the other server, or choose another --port",
		       conf->port, name);
	else if (err == ENODEV || err == EADDRNOTAVAIL)
		bx_say("%s belongs to no RDMA device (%s): see rdma link and ip address", name,
		       strerror(err));
	else
		bx_say("listening at %s port %u failed (%s): see rdma link, or choose another "
		       "--port",
		       name, conf->port, strerror(err));
	return -err;
}

static int listen_at(struct server *s)
{
	struct sockaddr_storage at;
	int ret = bx_address(s->conf->bind, s->conf->port, true, &at);

	if (ret)
		return ret;
	if (rdma_create_id(s->net.cm, &s->listener, NULL, RDMA_PS_TCP)) {
		s->listener = NULL;
		return say_no_listen(s->conf, &at, errno);
	}
	if (rdma_bind_addr(s->listener, (struct sockaddr *)&at) ||
	    rdma_listen(s->listener, BACKLOG))
		return say_no_listen(s->conf, &at, errno);
	return 0;
}

/* Listening is the last step: a client that is accepted finds all that it needs. */
static int open_all(struct server *s)
{
	int ret;

	s->total = bx_zeroed(1, sizeof(*s->total));
	if (!s->total)
		return -ENOMEM;
	ret = server_serve_open(s);
	if (!ret && s->conf->agent) {
		ret = resex_report_open(&s->report, s->conf->agent);
		if (ret)
			bx_say("--agent %s: times cannot be reported there (%s): give another "
			       "socket",
			       s->conf->agent, strerror(-ret));
	}
	return ret ? ret : listen_at(s);
}

static void close_all(struct server *s)
{
	if (s->listener)
		rdma_destroy_id(s->listener);
	server_serve_close(s);
	resex_report_close(s->report);
	bx_net_close(&s->net);
	if (s->total)
		free(s->total->qp);
	free(s->total);
}

int bx_server(const struct bx_conf *conf)
{
	struct server *s = bx_zeroed(1, sizeof(*s));
	int ret;

	if (!s)
		return RESEX_FAILURE;
	s->conf = conf;
	ret = bx_net_open(&s->net, conf);
	if (ret) {
		free(s);
		return ret == -EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	ret = open_all(s);
	if (!ret) {
		bx_say("listening at %s port %u", conf->bind ? conf->bind : "any address",
		       conf->port);
		bx_net_begin(&s->net);
		run_loop(s);
		server_drop_all(s);
		ret = print_total(s);
	}
	if (!ret && !bx_net_well(&s->net))
		ret = -EIO;
	close_all(s);
	free(s);
	return ret ? RESEX_FAILURE : RESEX_OK;
}
