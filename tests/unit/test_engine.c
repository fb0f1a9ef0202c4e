// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * engine: the whole daemon in this process, on the simulated host and real
 * time, with the real resex as its client; and starts that fail at each step.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/core/caps.h"
#include "src/engine/engine_priv.h"
#include "src/guests/restore.h"
#include "src/hv/backends.h"
#include "src/sim/sim.h"
#include "src/util/clock.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { SERVER, BULK, OUTPUT_MAX = 1 << 16, PATIENCE_S = 30 };

struct fixture {
	struct tmpdir dir;
	struct daemon_conf conf;
	struct log log;
	struct clock clock;
	struct sim_host *sim;
	struct engine_conf ec;
	char dir_name[64]; /* as dir.path, for the client's thread */
	/* what the client found; read after it was joined */
	char wrong[256];
	uint32_t lowest; /* cap of bulk seen */
};

static struct mono sim_now(void *arg)
{
	struct fixture *f = arg;

	return f->clock.now(&f->clock);
}

static void settings(struct fixture *f, const char *more)
{
	struct conf_error e = { 0 };
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"links\": [{\"name\": \"sim0\", \"rate\": \"1GiB/s\", \"profile\":"
		 " \"paper-2011\"}], \"lock_memory\": false, \"epoch\": \"500ms\","
		 " \"socket\": \"%s/sock\", \"state_dir\": \"%s\"%s}",
		 f->dir.path, f->dir.path, more);
	if (settings_parse(&f->conf, "f", text, strlen(text), &e))
		fail_msg("%s", e.text);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sim_conf sc;

	assert_non_null(f);
	tmp_open(&f->dir);
	strcpy(f->dir_name, f->dir.path);
	settings(f, "");
	log_init(&f->log, "test", LOG_LVL_INFO);
	f->log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	clock_real(&f->clock);
	sim_conf_demo(&sc);
	assert_int_equal(sim_open(&f->sim, &sc, f->clock.now(&f->clock)), 0);
	sim_set_clock(f->sim, sim_now, f);
	f->ec = (struct engine_conf){
		.conf = &f->conf, .hv = &hv_sim, .hv_arg = f->sim, .log = &f->log
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sim_close(f->sim);
	close(f->log.fd);
	tmp_close(&f->dir);
	free(f);
	return 0;
}

static uint32_t percent_of(struct fixture *f, uint32_t guest)
{
	struct hv_sched_params p;
	struct hv_sched *s;

	assert_int_equal(hv_sim.sched->open(&s, f->sim), 0);
	assert_int_equal(hv_sim.sched->get(s, sim_domid(f->sim, guest), &p), 0);
	hv_sim.sched->close(s);
	return cap_to_percent(p.cap);
}

static void set_percent(struct fixture *f, uint32_t guest, uint32_t percent)
{
	struct hv_sched *s;

	assert_int_equal(hv_sim.sched->open(&s, f->sim), 0);
	assert_int_equal(
		hv_put_cap(hv_sim.sched, s, sim_domid(f->sim, guest), cap_from_percent(percent)),
		0);
	hv_sim.sched->close(s);
}

/* --- a client, in a thread of its own ------------------------------------------------ */

/* Output of resex with these words; "" when it failed. */
static const char *resex(struct fixture *f, const char *words, char *out)
{
	char command[256];
	size_t n;
	FILE *p;

	snprintf(command, sizeof(command), "./resex -s %s/sock %s 2>&1", f->dir_name, words);
	p = popen(command, "r");
	n = p ? fread(out, 1, OUTPUT_MAX - 1, p) : 0;
	out[n] = 0;
	if (p && pclose(p))
		out[0] = 0;
	return out;
}

/* Ask until the answer holds the text; false after PATIENCE_S. */
static bool awaits(struct fixture *f, const char *words, const char *text)
{
	char *out = malloc(OUTPUT_MAX);
	bool came = false;

	for (int i = 0; out && !came && i < PATIENCE_S * 20; i++) {
		came = strstr(resex(f, words, out), text) != NULL;
		if (!came)
			usleep(50000);
	}
	if (!came)
		snprintf(f->wrong, sizeof(f->wrong), "no \"%s\" in resex %s: %.100s", text, words,
			 out ? out : "");
	free(out);
	return came;
}

static void *watch_freemarket(void *arg)
{
	struct fixture *f = arg;

	/* Only the main thread may assert. */
	if (awaits(f, "list", "bulk") && awaits(f, "ring-list bulk", " SQ ") &&
	    awaits(f, "events bulk", "capped at 90 % (was not capped)") &&
	    awaits(f, "why bulk", "Resos are spent") && awaits(f, "-j cap-list", "\"cap\": 1,") &&
	    awaits(f, "policy-set null", "(active)") &&
	    awaits(f, "why bulk", "this policy never caps") && awaits(f, "info", "null") &&
	    awaits(f, "policy-set freemarket low=200", "200") &&
	    awaits(f, "why bulk", "Resos are spent"))
		awaits(f, "guest-show server", "cap changes        0");
	kill(getpid(), SIGTERM);
	return NULL;
}

static void run_with(struct fixture *f, void *(*client)(void *))
{
	struct conf_error e = { 0 };
	struct engine *en;
	pthread_t thread;

	if (engine_open(&en, &f->ec, &e))
		fail_msg("%s", e.text);
	assert_int_equal(pthread_create(&thread, NULL, client, f), 0);
	assert_int_equal(engine_run(en), 0);
	pthread_join(thread, NULL);
	assert_int_equal(engine_close(en), 0);
	if (f->wrong[0])
		fail_msg("%s", f->wrong);
	assert_false(tmp_exists(&f->dir, "sock"));
}

RIG_TEST(run__freemarket__caps_bulk_answers_resex_and_restores_at_sigterm)
{
	struct fixture *f = *state;
	char text[2048];

	set_percent(f, SERVER, 70); /* the operator's own */
	run_with(f, watch_freemarket);
	assert_int_equal(percent_of(f, BULK), 0);
	assert_int_equal(percent_of(f, SERVER), 70);
	assert_non_null(
		strstr(tmp_read(&f->dir, "caps.json", text, sizeof(text)), "\"guests\": []"));
}

static void *watch_observing(void *arg)
{
	struct fixture *f = arg;

	if (awaits(f, "info", "observing only              yes") &&
	    awaits(f, "why bulk", "Resos are spent") && awaits(f, "cap-list", "managed"))
		f->lowest = percent_of(f, BULK);
	kill(getpid(), SIGINT);
	return NULL;
}

RIG_TEST(run__observing__decides_and_touches_nothing)
{
	struct fixture *f = *state;

	f->ec.observe = true;
	f->lowest = 99;
	run_with(f, watch_observing);
	assert_int_equal(f->lowest, 0);
	assert_false(tmp_exists(&f->dir, "caps.json"));
}

static void *destroy_bulk(void *arg)
{
	struct fixture *f = arg;

	if (awaits(f, "ring-list bulk", " SQ ")) {
		sim_destroy(f->sim, BULK);
		awaits(f, "events", "guest-gone");
		sim_reboot(f->sim, BULK);
		awaits(f, "ring-list bulk", " SQ ");
	}
	kill(getpid(), SIGTERM);
	return NULL;
}

RIG_TEST(run__guest_destroyed_and_made_anew__is_followed)
{
	run_with(*state, destroy_bulk);
}

static void *only_stop(void *arg)
{
	awaits(arg, "list", "bulk");
	kill(getpid(), SIGTERM);
	return NULL;
}

RIG_TEST(run__after_a_run_that_was_killed__caps_are_those_from_before_it)
{
	struct fixture *f = *state;
	char text[512];
	struct hv_dom dom[8];
	struct hv_sched *s;
	struct restore *r = calloc(1, sizeof(*r));
	struct conf_error e = { 0 };
	struct saved_cap c = { .params = { CAP_PERCENT(60), 256 } };

	assert_non_null(r);
	assert_int_equal(hv_sim.sched->open(&s, f->sim), 0);
	assert_int_equal(hv_sim.sched->list(s, dom, 8), 3);
	hv_sim.sched->close(s);
	c.domid = dom[1 + BULK].domid;
	memcpy(c.uuid, dom[1 + BULK].uuid, sizeof(c.uuid));
	assert_int_equal(restore_load(r, f->dir.path, "sim", &e), 0);
	assert_int_equal(restore_add(r, &c), 0);
	assert_int_equal(restore_save(r), 0);
	free(r);
	set_percent(f, BULK, 1); /* as FreeMarket left it */
	run_with(f, only_stop);
	assert_int_equal(percent_of(f, BULK), 60);
	assert_string_equal(tmp_read(&f->dir, "caps.json", text, sizeof(text)), "");
}

RIG_TEST(two_engines__in_one_process__do_not_know_of_each_other)
{
	struct fixture *f = *state;
	struct conf_error e = { 0 };
	struct engine *a, *b;
	void *other = NULL;
	struct fixture *g;

	assert_int_equal(setup(&other), 0);
	g = other;
	assert_int_equal(engine_open(&a, &f->ec, &e), 0);
	assert_int_equal(engine_open(&b, &g->ec, &e), 0);
	assert_int_equal(engine_close(a), 0);
	assert_int_equal(engine_close(b), 0);
	teardown(&other);
}

/* --- messages to systemd ------------------------------------------------------------------- */

static int open_notify(struct fixture *f)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(a.sun_path, tmp_at(&f->dir, "notify"));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* All datagrams that came, one a line. */
static void read_notify(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t r;

	while (n + 64 < size && (r = recv(fd, out + n, size - n - 2, 0)) > 0) {
		n += (size_t)r;
		out[n++] = '\n';
	}
	out[n] = 0;
	close(fd);
}

/* --- the configuration, read again -------------------------------------------------------- */

/* A configuration file like the one in force, with more. */
static void config_file(struct fixture *f, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"links\": [{\"name\": \"sim0\", \"rate\": \"1GiB/s\", \"profile\":"
		 " \"paper-2011\"}], \"lock_memory\": false, \"epoch\": \"500ms\","
		 " \"socket\": \"%s/sock\", \"state_dir\": \"%s\"%s}",
		 f->dir_name, f->dir_name, more);
	tmp_write(&f->dir, "c.json", text);
}

static void *reload_once(void *arg)
{
	struct fixture *f = arg;

	if (awaits(f, "events bulk", "capped at 90 % (was not capped)")) {
		config_file(f, ", \"policy\": \"null\", \"guests\": {\"bulk\": {\"weight\": 7}}");
		kill(getpid(), SIGHUP);
		if (awaits(f, "events", "configuration read again, policy null") &&
		    awaits(f, "why bulk", "this policy never caps"))
			awaits(f, "guest-show bulk", "weight             7");
	}
	kill(getpid(), SIGTERM);
	return NULL;
}

RIG_TEST(run__hangup__reads_the_configuration_again)
{
	struct fixture *f = *state;
	char file[sizeof(f->dir.at)];

	snprintf(file, sizeof(file), "%s", tmp_at(&f->dir, "c.json"));
	f->ec.file = file;
	config_file(f, "");
	run_with(f, reload_once);
}

/* Wait for the error in the log: nothing else shows it. */
static void *reload_wrong(void *arg)
{
	struct fixture *f = arg;
	char log[8192] = "";

	if (awaits(f, "list", "bulk")) {
		config_file(f, ",\n\"interval\": \"2ms\", \"policy\": \"null\"");
		kill(getpid(), SIGHUP);
		for (int i = 0; i < PATIENCE_S * 20 && !strstr(log, "stays in force"); i++) {
			ssize_t n = pread(f->log.fd, log, sizeof(log) - 1, 0);

			log[n > 0 ? n : 0] = 0;
			usleep(50000);
		}
		if (!strstr(log, "c.json:2:13: interval cannot change while resexd runs"))
			snprintf(f->wrong, sizeof(f->wrong), "the log says %.200s", log);
		else
			awaits(f, "info", "policy                      freemarket");
	}
	kill(getpid(), SIGTERM);
	return NULL;
}

RIG_TEST(run__hangup_with_a_wrong_configuration__the_former_stays_whole)
{
	struct fixture *f = *state;
	int fd = open_notify(f);
	char file[sizeof(f->dir.at)], said[1024];

	snprintf(file, sizeof(file), "%s", tmp_at(&f->dir, "c.json"));
	f->ec.file = file;
	config_file(f, "");
	close(f->log.fd);
	f->log.fd = open(tmp_at(&f->dir, "log"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	setenv("NOTIFY_SOCKET", tmp_at(&f->dir, "notify"), 1);
	run_with(f, reload_wrong);
	unsetenv("NOTIFY_SOCKET");
	read_notify(fd, said, sizeof(said));
	assert_non_null(strstr(said, "READY=1\nRELOADING=1\nMONOTONIC_USEC="));
	assert_non_null(strstr(said, "READY=1\nSTATUS=The configuration was refused"));
}

/* --- latencies -------------------------------------------------------------------------------- */

static void *watch_latencies(void *arg)
{
	struct fixture *f = arg;
	char *out = malloc(OUTPUT_MAX);
	unsigned long long work = 0, reported = 0;

	if (out && awaits(f, "-j guest-show server", "\"latency_us\": 2")) { /* 200 to 299 us */
		resex(f, "-j guest-show server", out);
		sscanf(strstr(out, "\"wrs\": "), "\"wrs\": %llu", &work);
		sscanf(strstr(out, "\"latencies\": "), "\"latencies\": %llu", &reported);
		/* One latency a request, but for those before the daemon looked. */
		if (reported + 1000 < work || reported > work + 1000 || reported < 100)
			snprintf(f->wrong, sizeof(f->wrong), "%llu latencies of %llu requests",
				 reported, work);
		awaits(f, "-j guest-show bulk", "\"latency_us\": null");
	}
	free(out);
	kill(getpid(), SIGTERM);
	return NULL;
}

RIG_TEST(run__server_reports_latencies__they_are_shown)
{
	run_with(*state, watch_latencies);
}

/* --- systemd ------------------------------------------------------------------------------ */

static void *stop_after_watchdogs(void *arg)
{
	awaits(arg, "list", "bulk");
	usleep(2300000); /* it is fed once a second */
	kill(getpid(), SIGTERM);
	return NULL;
}

/* One host, whose thread has to live for the watchdog to be fed. */
static void in_cluster(struct fixture *f)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"cluster\": \"test\", \"host\": \"xen1\", \"transport\": \"shm\","
		 " \"key_file\": \"%s/key\", \"hosts\": [{\"name\": \"xen1\", \"number\": 1,"
		 " \"address\": \"%s\"}]}",
		 f->dir.path, f->dir.path);
	tmp_write(&f->dir, "cluster.json", text);
	tmp_write(&f->dir, "key", "0123456789abcdef0123456789abcdef\n");
	assert_int_equal(chmod(tmp_at(&f->dir, "key"), 0600), 0);
	snprintf(text, sizeof(text), ", \"cluster_file\": \"%s/cluster.json\"", f->dir.path);
	settings(f, text);
}

RIG_TEST(run__under_systemd__tells_ready_watchdog_and_stopping)
{
	struct fixture *f = *state;
	int fd = open_notify(f);
	char said[1024], *ready, *dog, *stopping;

	in_cluster(f);
	setenv("NOTIFY_SOCKET", tmp_at(&f->dir, "notify"), 1);
	setenv("WATCHDOG_USEC", "10000000", 1);
	unsetenv("WATCHDOG_PID");
	run_with(f, stop_after_watchdogs);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	read_notify(fd, said, sizeof(said));
	ready = strstr(said, "READY=1\n");
	dog = strstr(said, "WATCHDOG=1\n");
	stopping = strstr(said, "STOPPING=1\n");
	assert_ptr_equal(ready, said);
	assert_true(dog && dog > ready);
	assert_true(stopping && stopping > dog);
	assert_null(strstr(stopping, "WATCHDOG"));
}

/* A thread that has not worked for a second hangs, or is near it. */
TEST(threads__any_one_stands_still__the_watchdog_is_not_fed)
{
	static const struct {
		struct threads_alive now;
		bool has_cluster, lived;
	} rows[] = {
		{ { 1, 1 }, true, true },  { { 2, 2 }, true, true },
		{ { 3, 2 }, true, false }, { { 4, 3 }, true, true },
		{ { 4, 4 }, true, false }, { { 4, 4 }, true, false },
		{ { 5, 4 }, false, true }, { { 5, 4 }, false, false },
		{ { 0, 5 }, true, true }, /* counters wrap */
	};
	struct threads_alive seen = { 0, 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(threads_lived(&seen, rows[i].now, rows[i].has_cluster),
				 rows[i].lived);
}

RIG_TEST(run__watchdog_of_another_process_or_none__is_not_fed)
{
	struct fixture *f = *state;
	int fd = open_notify(f);
	char said[1024];

	setenv("NOTIFY_SOCKET", tmp_at(&f->dir, "notify"), 1);
	setenv("WATCHDOG_USEC", "10000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	run_with(f, stop_after_watchdogs);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	read_notify(fd, said, sizeof(said));
	assert_string_equal(said, "READY=1\nSTOPPING=1\n");
}

/* --- starts that fail ------------------------------------------------------------------------ */

/* hv_sim, but the n-th open fails; opens and closes are counted. */
static struct {
	int fails_at, rc, opens, closes;
} failing;

static int may_open(void)
{
	if (++failing.opens == failing.fails_at) {
		failing.opens--;
		return failing.rc;
	}
	return 0;
}

static int mem_open(struct hv_mem **m, void *arg)
{
	int rc = may_open();

	return rc ? rc : hv_sim.mem->open(m, arg);
}

static void mem_close(struct hv_mem *m)
{
	failing.closes++;
	hv_sim.mem->close(m);
}

static int sched_open(struct hv_sched **s, void *arg)
{
	int rc = may_open();

	return rc ? rc : hv_sim.sched->open(s, arg);
}

static void sched_close(struct hv_sched *s)
{
	failing.closes++;
	hv_sim.sched->close(s);
}

static int watch_open(struct hv_watch **w, void *arg)
{
	int rc = may_open();

	return rc ? rc : hv_sim.watch->open(w, arg);
}

static void watch_close(struct hv_watch *w)
{
	failing.closes++;
	hv_sim.watch->close(w);
}

RIG_TEST(open__hypervisor_refuses_the_nth_handle__those_before_are_closed)
{
	static const struct {
		int rc;
		enum resex_exit exit;
		const char *says;
	} rows[] = {
		{ -ENOSYS, RESEX_NO_XEN, "there is no Xen here" },
		{ -ENXIO, RESEX_NOT_DOM0, "this is a guest" },
		{ -ENODEV, RESEX_FAILURE, "xen-privcmd" },
		{ -ETIMEDOUT, RESEX_FAILURE, "xenstored does not answer" },
		{ -EACCES, RESEX_PERMISSION, "run as root" },
		{ -EPERM, RESEX_PERMISSION, "run as root" },
		{ -EPROTONOSUPPORT, RESEX_XEN_VERSION, "another version of Xen" },
		{ -EIO, RESEX_FAILURE, "Input/output error" },
	};
	struct fixture *f = *state;
	struct hv_mem_ops mem = *hv_sim.mem;
	struct hv_sched_ops sched = *hv_sim.sched;
	struct hv_watch_ops watch = *hv_sim.watch;
	const struct hv_backend hv = {
		.name = "failing", .mem = &mem, .sched = &sched, .watch = &watch
	};

	mem.open = mem_open;
	mem.close = mem_close;
	sched.open = sched_open;
	sched.close = sched_close;
	watch.open = watch_open;
	watch.close = watch_close;
	f->ec.hv = &hv;
	for (int n = 1; n <= 5; n++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct conf_error e = { 0 };
			struct engine *en = NULL;

			failing.fails_at = n;
			failing.rc = rows[i].rc;
			failing.opens = failing.closes = 0;
			assert_int_equal(engine_open(&en, &f->ec, &e), rows[i].rc);
			assert_null(en);
			assert_non_null(strstr(e.text, "hypervisor \"failing\": "));
			assert_non_null(strstr(e.text, rows[i].says));
			assert_int_equal(e.exit, rows[i].exit);
			assert_int_equal(failing.opens, n - 1);
			assert_int_equal(failing.closes, failing.opens);
		}
	f->ec.hv = &hv_sim;
}

static void assert_open_fails(struct fixture *f, int rc, enum resex_exit code, const char *says)
{
	struct conf_error e = { 0 };
	struct engine *en = NULL;

	assert_int_equal(engine_open(&en, &f->ec, &e), rc);
	assert_null(en);
	if (!strstr(e.text, says))
		fail_msg("%s", e.text);
	assert_int_equal(e.exit, code);
	assert_false(tmp_exists(&f->dir, "sock"));
}

RIG_TEST(open__something_wrong__is_said_and_all_is_closed)
{
	struct fixture *f = *state;

	settings(f, "");
	strcpy(f->conf.policy, "dear");
	assert_open_fails(f, -ENOENT, RESEX_NO_POLICY, "\"dear\"");
	settings(f, ", \"policy_file\": \"/nowhere/p.json\"");
	assert_open_fails(f, -ENOENT, RESEX_BAD_CONFIG, "/nowhere/p.json: ");
	settings(f, ", \"socket_group\": \"no-such-group\"");
	assert_open_fails(f, -EINVAL, RESEX_BAD_CONFIG, "no-such-group");
	settings(f, "");
	strcpy(f->conf.socket, "/nowhere/sock");
	assert_open_fails(f, -ENOENT, RESEX_BAD_CONFIG, "/nowhere/sock: ");
}

RIG_TEST(open__saved_caps_damaged__starts_and_keeps_the_file)
{
	static const char damaged[] = "{\"hv\": \"sim\", \"guests\": [{\"domid\": 1, \"uuid\": "
				      "\"01010101-0101-0101-0101-010101010101\","
				      " \"cap\": 5, \"weight\": 256}, 7]}";
	struct fixture *f = *state;
	char text[512];

	tmp_write(&f->dir, "caps.json", damaged);
	run_with(f, only_stop);
	assert_string_equal(tmp_read(&f->dir, "caps.json.bad", text, sizeof(text)), damaged);
}

RIG_TEST(open__saved_caps_of_another_hypervisor__is_said_and_they_are_left)
{
	static const char foreign[] = "{\"hv\": \"xen\", \"guests\": []}";
	struct fixture *f = *state;
	char text[512];

	tmp_write(&f->dir, "caps.json", foreign);
	assert_open_fails(f, -EINVAL, RESEX_BAD_CONFIG, "caps.json:1:");
	assert_string_equal(tmp_read(&f->dir, "caps.json", text, sizeof(text)), foreign);
}

/* main() calls it before the first test. */
void unit_begin(void)
{
	signal(SIGPIPE, SIG_IGN); /* as resexd's main does */
	signal(SIGHUP, SIG_DFL);  /* under nohup, the engine would ignore it */
	setsid();		  /* a terminal that is closed sends SIGHUP to its session */
}
