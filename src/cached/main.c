// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex-cached: keeps cached pages coherent, on an application server or a proxy. main opens the
 * parts in their order, runs the loop until a signal, and closes them in the opposite order.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cached/api.h"
#include "src/cached/check.h"
#include "src/cached/options.h"
#include "src/util/file.h"
#include "src/util/notify.h"

struct daemon {
	struct cached_conf conf;
	struct log log;
	struct event_base *base;
	struct event *term, *interrupt, *second;
	struct events *kept;
	struct node *node;
	struct app *app; /* one of the two is NULL */
	struct proxy *proxy;
	struct api *api;
};

static int report(const struct log *log, const struct conf_error *e)
{
	log_msg(log, LOG_LVL_ERROR, "%s", e->text[0] ? e->text : "out of memory");
	return e->exit ? (int)e->exit : RESEX_FAILURE;
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	log_msg(&d->log, LOG_LVL_INFO, "%s: leaving the cache and stopping",
		sig == SIGTERM ? "SIGTERM" : "SIGINT");
	notify_systemd("STOPPING=1");
	event_base_loopbreak(d->base);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	notify_systemd("WATCHDOG=1");
}

/* Timers are precise to microseconds: updates read their acknowledgements that often. */
static int open_loop(struct daemon *d)
{
	struct event_config *c = event_config_new();
	const struct timeval second = { .tv_sec = 1 };

	if (c && !event_config_set_flag(c, EVENT_BASE_FLAG_PRECISE_TIMER))
		d->base = event_base_new_with_config(c);
	if (c)
		event_config_free(c);
	if (!d->base)
		return -ENOMEM;
	d->term = evsignal_new(d->base, SIGTERM, on_signal, d);
	d->interrupt = evsignal_new(d->base, SIGINT, on_signal, d);
	d->second = event_new(d->base, -1, EV_PERSIST, on_second, d);
	if (!d->term || !d->interrupt || !d->second || event_add(d->term, NULL) ||
	    event_add(d->interrupt, NULL))
		return -ENOMEM;
	return notify_watchdog_us() ? event_add(d->second, &second) : 0;
}

static int open_role(struct daemon *d, struct conf_error *e)
{
	int rc;

	if (d->conf.self->role == CLUSTER_PROXY)
		return proxy_open(&d->proxy, d->node, &d->conf, d->base, &d->log, e);
	rc = app_open(&d->app, d->node, &d->conf, d->base, &d->log, e);
	if (!rc)
		app_set_events(d->app, d->kept);
	return rc;
}

static int open_api(struct daemon *d, struct conf_error *e)
{
	const struct api_parts parts = { .app = d->app, .proxy = d->proxy, .events = d->kept };

	return api_open(&d->api, &d->conf, &parts, d->base, &d->log, e);
}

static int open_parts(struct daemon *d, struct conf_error *e)
{
	int rc = open_loop(d);

	d->kept = events_new();
	if (rc || !d->kept) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the loop");
		return -ENOMEM;
	}
	rc = node_open(&d->node, &d->conf, d->base, &d->log, e);
	if (rc)
		return rc;
	node_set_events(d->node, d->kept);
	rc = open_role(d, e);
	return rc ? rc : open_api(d, e);
}

static void close_parts(struct daemon *d)
{
	struct event *const events[] = { d->term, d->interrupt, d->second };

	app_close(d->app);
	proxy_close(d->proxy);
	api_close(d->api); /* behind app_close: no call is answered any more */
	node_close(d->node);
	events_free(d->kept);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i])
			event_free(events[i]);
	if (d->base)
		event_base_free(d->base);
}

static int run(struct daemon *d)
{
	struct conf_error e = { 0 };
	int rc = open_parts(d, &e);

	explicit_bzero(&d->conf.key, sizeof(d->conf.key)); /* the parts have what they need of it */
	if (rc) {
		rc = report(&d->log, &e);
	} else {
		log_msg(&d->log, LOG_LVL_INFO, "host %s (%u) of cluster %s: %s", d->conf.self->name,
			(unsigned)d->conf.self->number, d->conf.cluster.cluster,
			d->app ? "application server" : "proxy");
		notify_systemd("READY=1");
		rc = event_base_dispatch(d->base) < 0 ? RESEX_FAILURE : RESEX_OK;
	}
	close_parts(d);
	return rc;
}

static int print_schema(void)
{
	json_t *schema = cached_schema();

	if (!schema) {
		fputs("resex-cached: there is no memory\n", stderr);
		return RESEX_FAILURE;
	}
	json_dumpf(schema, stdout, JSON_INDENT(1)); /* check_output() sees what is wrong */
	putchar('\n');
	json_decref(schema);
	return RESEX_OK;
}

/* A failed write to stdout is a failure. */
static int check_output(int rc)
{
	if (rc || (!fflush(stdout) && !ferror(stdout)))
		return rc;
	perror("resex-cached: output");
	return RESEX_FAILURE;
}

int main(int argc, char **argv)
{
	struct daemon *d = calloc(1, sizeof(*d));
	struct conf_error e = { 0 };
	struct cached_options o;
	char hostname[256] = "";
	int rc;

	file_keep_standard();
	if (!d) {
		fputs("resex-cached: there is no memory\n", stderr);
		return RESEX_FAILURE;
	}
	rc = cached_options(&o, argc, argv);
	if (rc >= 0)
		goto out;
	if (o.schema) {
		rc = print_schema();
		goto out;
	}
	log_init(&d->log, "resex-cached", o.level);
	/* A client that hangs up while it is answered is an error of write(), not our end. */
	signal(SIGPIPE, SIG_IGN);
	gethostname(hostname, sizeof(hostname) - 1);
	if (cached_conf_load(&d->conf, o.config, o.host, hostname, &e))
		rc = report(&d->log, &e);
	else
		rc = o.check ? cached_check(&d->log, &d->conf, o.config) : run(d);
	explicit_bzero(&d->conf.key, sizeof(d->conf.key));
out:
	free(d);
	return check_output(rc);
}
