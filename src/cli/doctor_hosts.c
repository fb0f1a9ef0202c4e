// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor_hosts: the checks of what connects hosts: links, the cluster, clocks. See doctor.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/doctor_priv.h"

/* Of the device's rate: above, guests are promised what is not there; below, some is not used. */
#define RATE_MOST  1.02
#define RATE_LEAST 0.90
/* Figures of another host are read some time after it wrote them. */
#define SKEW_MOST_S 2.0

/* --- adapters --------------------------------------------------------------------- */

/* The provider of a driver; "": none whose queues ResEx knows. */
static const char *provider_of(const json_t *port)
{
	const char *driver = doctor_s(port, "driver");

	if (doctor_b(port, "soft"))
		return "rxe";
	return !strcmp(driver, "mlx5_core") ? "mlx5" : !strcmp(driver, "mlx4_core") ? "mlx4" : "";
}

/* Does resexd read its queues? */
static bool is_read(const json_t *info, const char *provider)
{
	const json_t *all = json_object_get(info, "queues_read");

	for (size_t i = 0; i < json_array_size(all); i++)
		if (json_is_string(json_array_get(all, i)) &&
		    !strcmp(json_string_value(json_array_get(all, i)), provider))
			return true;
	return false;
}

static void check_adapter(const json_t *info, const json_t *port, const struct doctor_report *r)
{
	const char *device = doctor_s(port, "device"), *provider = provider_of(port);

	if (!is_read(info, provider))
		doctor_say(r, DOCTOR_WARNING,
			   "use an adapter of mlx5 or mlx4, or give the guests counters in "
			   "resexd.json(5)",
			   "%s has the driver %s, whose queues are not read: guests that use it "
			   "are charged for CPU only",
			   device,
			   *doctor_s(port, "driver") ? doctor_s(port, "driver") : "unknown");
	else if (doctor_b(port, "soft"))
		doctor_say(r, DOCTOR_OK, "", "%s is soft-RoCE (rxe), whose queues are read",
			   device);
	else
		doctor_say(r, DOCTOR_UNKNOWN,
			   "compare with the counters of ports and virtual functions: see "
			   "crosscheck in resexd.json(5)",
			   "%s is an adapter of %s: its queues are read, of applications that are "
			   "started with libresex-rings(7); %s",
			   device, provider, doctor_s(info, "queues_note"));
}

void doctor_adapters(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *info = f->reply[DOCTOR_INFO], *port, *before = NULL;

	if (doctor_b(info, "simulated")) {
		doctor_say(r, DOCTOR_UNKNOWN, "", "the host is simulated: it has no adapter");
		return;
	}
	if (!json_array_size(f->ports))
		doctor_say(r, DOCTOR_UNKNOWN, "see ls /sys/class/infiniband, and lsmod",
			   "this host shows no adapter of InfiniBand or RoCE");
	for (size_t i = 0; i < json_array_size(f->ports); i++, before = port) {
		port = json_array_get(f->ports, i); /* those of a device follow one another */
		if (!before || strcmp(doctor_s(before, "device"), doctor_s(port, "device")) != 0)
			check_adapter(info, port, r);
	}
}

/* --- links ------------------------------------------------------------------------ */

/* Bytes a second after line coding: 8 bits of 10 up to QDR, then 64 of 66; Ethernet shows those. */
static double port_bytes_s(const json_t *port)
{
	const double gbit = doctor_f(port, "rate_gbit");
	const char *words = doctor_s(port, "rate");
	double coding = 64.0 / 66.0;

	if (doctor_b(port, "ethernet"))
		coding = 1;
	else if (strstr(words, "SDR") || strstr(words, "DDR") || strstr(words, "QDR"))
		coding = 0.8;
	return gbit * 1e9 / 8 * coding;
}

static const json_t *find_port(const struct doctor_facts *f, const char *device, json_int_t number)
{
	const json_t *p;

	for (size_t i = 0; i < json_array_size(f->ports); i++) {
		p = json_array_get(f->ports, i);
		if (!strcmp(doctor_s(p, "device"), device) && doctor_u(p, "port") == number)
			return p;
	}
	return NULL;
}

/* By the port that is configured, "port:mlx5_0/1"; else port 1 of a device of the link's name. */
static const json_t *port_of(const struct doctor_facts *f, const json_t *link)
{
	static const char kind[] = "port:";
	const char *port = doctor_s(link, "port"), *slash = strchr(port, '/');
	char device[64];

	if (!slash || strncmp(port, kind, strlen(kind)) != 0)
		return find_port(f, doctor_s(link, "name"), 1);
	port += strlen(kind);
	snprintf(device, sizeof(device), "%.*s", (int)(slash - port), port);
	return find_port(f, device, strtol(slash + 1, NULL, 10));
}

/* Is its rate that of its device? */
static void compare_rate(const json_t *link, const json_t *port, const struct doctor_report *r)
{
	const double configured = doctor_f(link, "bytes_s"), real = port_bytes_s(port);
	const char *name = doctor_s(link, "name"), *device = doctor_s(port, "device");

	if (configured > RATE_MOST * real)
		doctor_say(r, DOCTOR_FAULT,
			   "correct its rate in resexd.json(5), and restart resexd",
			   "link %s has a rate of %.3f GB/s, but %s carries %.3f GB/s: guests may "
			   "spend more than there is",
			   name, configured / 1e9, device, real / 1e9);
	else if (configured < RATE_LEAST * real)
		doctor_say(r, DOCTOR_WARNING,
			   "correct its rate in resexd.json(5), and restart resexd; leave it if "
			   "guests shall not use all",
			   "link %s has a rate of %.3f GB/s, but %s carries %.3f GB/s", name,
			   configured / 1e9, device, real / 1e9);
	else
		doctor_say(r, DOCTOR_OK, "", "link %s has the rate of %s: %.3f GB/s", name, device,
			   configured / 1e9);
}

static void check_link(const struct doctor_facts *f, const json_t *link,
		       const struct doctor_report *r)
{
	const char *name = doctor_s(link, "name"), *wanted = doctor_s(link, "port");
	const json_t *port = port_of(f, link);
	const bool named = strcmp(wanted, "none") != 0 && *wanted;

	if (!port && named)
		doctor_say(r, DOCTOR_FAULT,
			   "correct counter of the link in resexd.json(5): ls "
			   "/sys/class/infiniband shows the devices",
			   "link %s has the %s, which is not here", name, wanted);
	else if (!port)
		doctor_say(r, DOCTOR_UNKNOWN,
			   "name its port in resexd.json(5): \"counter\": \"port:DEVICE/PORT\"",
			   "the device of link %s is not known: its rate is not compared", name);
	else if (!strstr(doctor_s(port, "state"), "ACTIVE"))
		doctor_say(r, DOCTOR_FAULT, "see the cable, the switch, and the subnet manager",
			   "port %lld of %s, which carries link %s, is not active: %s",
			   (long long)doctor_u(port, "port"), doctor_s(port, "device"), name,
			   doctor_s(port, "state"));
	else if (doctor_b(port, "soft") || doctor_f(port, "rate_gbit") <= 0)
		doctor_say(r, DOCTOR_UNKNOWN, "measure it: ib_write_bw, between two hosts",
			   "%s, which carries link %s, tells no true rate: it is not compared",
			   doctor_s(port, "device"), name);
	else
		compare_rate(link, port, r);
}

void doctor_links(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *links = json_object_get(f->reply[DOCTOR_INFO], "links");

	if (doctor_b(f->reply[DOCTOR_INFO], "simulated")) {
		doctor_say(r, DOCTOR_UNKNOWN, "",
			   "the links are simulated: there is no device to compare with");
		return;
	}
	for (size_t i = 0; i < json_array_size(links); i++)
		check_link(f, json_array_get(links, i), r);
}

/* --- the cluster --------------------------------------------------------------------- */

struct cluster_faults {
	struct doctor_names away, differs, versions;
	const char *away_note, *differs_note;
};

static void look_at_hosts(const struct doctor_facts *f, struct cluster_faults *k)
{
	const json_t *hosts = json_object_get(f->reply[DOCTOR_HOSTS], "hosts"), *h;
	const char *own = doctor_s(f->reply[DOCTOR_INFO], "version"), *state;
	const char *version;

	for (size_t i = 0; i < json_array_size(hosts); i++) {
		h = json_array_get(hosts, i);
		state = doctor_s(h, "state");
		version = doctor_s(h, "version");
		if (strcmp(state, "up") != 0 && strcmp(state, "self") != 0) {
			doctor_name(&k->away, doctor_s(h, "name"));
			k->away_note = doctor_s(h, "note");
			continue;
		}
		if (json_is_false(json_object_get(h, "agrees"))) {
			doctor_name(&k->differs, doctor_s(h, "name"));
			k->differs_note = doctor_s(h, "note");
		}
		if (*version && strcmp(version, own) != 0)
			doctor_name(&k->versions, doctor_s(h, "name"));
	}
}

void doctor_cluster(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *info = f->reply[DOCTOR_INFO];
	const json_t *hosts = json_object_get(f->reply[DOCTOR_HOSTS], "hosts");
	const size_t before = json_array_size(r->findings);
	struct cluster_faults k = { .away_note = "", .differs_note = "" };

	if (!*doctor_s(info, "cluster")) {
		doctor_say(r, DOCTOR_OK, "", "this host is in no cluster");
		return;
	}
	look_at_hosts(f, &k);
	if (json_is_false(json_object_get(info, "quorate")))
		doctor_say(r, DOCTOR_FAULT,
			   "see resex host-list, and MEMBERSHIP in cluster.json(5)",
			   "this host has no quorum, and decides nothing: %s",
			   doctor_s(info, "cluster_note"));
	if (k.away.n)
		doctor_say(r, DOCTOR_WARNING,
			   "see resexd there (systemctl status resexd), and the network between",
			   "%s is not up: %s", doctor_names_text(&k.away), k.away_note);
	if (k.differs.n)
		doctor_say(r, DOCTOR_WARNING,
			   "put the same cluster.json on all hosts, then: resex cluster-reload",
			   "%s has another cluster.json: %s", doctor_names_text(&k.differs),
			   k.differs_note);
	if (k.versions.n)
		doctor_say(r, DOCTOR_WARNING, "install the same version on all hosts",
			   "%s has another version of resexd than this host, which has %s",
			   doctor_names_text(&k.versions), doctor_s(info, "version"));
	if (json_array_size(r->findings) == before)
		doctor_say(r, DOCTOR_OK, "", "all %lu hosts of cluster %s are up, and agree",
			   (unsigned long)json_array_size(hosts), doctor_s(info, "cluster"));
}

/* --- clocks ------------------------------------------------------------------------------ */

/* By how many seconds the wall clock of another host is behind this one's; 0: not known. */
static double skew_of(const struct doctor_facts *f, const json_t *host)
{
	const json_t *age = json_object_get(host, "figures_age_ms");

	if (strcmp(doctor_s(host, "state"), "up") != 0 || !json_is_number(age) ||
	    !json_object_get(host, "time_ns"))
		return 0;
	return (double)(f->wall_ns - doctor_u(host, "time_ns")) / 1e9 -
	       json_number_value(age) / 1e3;
}

static void say_skews(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *hosts = json_object_get(f->reply[DOCTOR_HOSTS], "hosts"), *h;
	double skew;

	for (size_t i = 0; i < json_array_size(hosts); i++) {
		h = json_array_get(hosts, i);
		skew = skew_of(f, h);
		if (skew <= SKEW_MOST_S && skew >= -SKEW_MOST_S)
			continue;
		doctor_say(r, DOCTOR_WARNING,
			   "synchronize the clocks of all hosts, as by chrony: times in their logs "
			   "cannot be compared",
			   "the clock of host %s is %.1f s %s this one's", doctor_s(h, "name"),
			   skew < 0 ? -skew : skew, skew < 0 ? "before" : "behind");
	}
}

void doctor_clocks(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_int_t back = doctor_u(f->reply[DOCTOR_INFO], "clock_back");
	const size_t before = json_array_size(r->findings);

	if (back)
		doctor_say(r, DOCTOR_FAULT,
			   "see the clock source of dom0: "
			   "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			   "the clock that never goes back has gone back %lld times",
			   (long long)back);
	say_skews(f, r);
	if (f->clock == DOCTOR_CLOCK_FREE)
		doctor_say(r, DOCTOR_WARNING,
			   "synchronize it: apt install chrony, or systemctl start chrony",
			   "the kernel's clock is synchronized by nothing");
	if (f->clock == DOCTOR_CLOCK_UNKNOWN)
		doctor_say(r, DOCTOR_UNKNOWN, "see chronyc tracking, or timedatectl",
			   "the kernel does not tell whether its clock is synchronized");
	if (json_array_size(r->findings) == before)
		doctor_say(r, DOCTOR_OK, "", "this host's clock is synchronized");
}
