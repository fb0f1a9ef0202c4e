// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resexd: the daemon of a Xen host's dom0. Options, and the life of the
 * process; engine.c runs it, tick.c shows what it does each millisecond.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/conf/cluster.h"
#include "src/conf/policy.h"
#include "src/control/server.h"
#include "src/conf/settings.h"
#include "src/engine/engine.h"
#include "src/guests/restore.h"
#include "src/lab/run.h"
#include "src/sim/sim.h"
#include "src/util/clock.h"

#define HOST_LOCK RESEX_RUNDIR "/xen.lock" /* whatever the configuration says */

enum { CLUSTER_TEXT = 256 };

enum mode { MODE_RUN, MODE_CHECK, MODE_RESTORE };

struct options {
	const char *config; /* NULL: the default */
	const char *hv;
	const char *scenario, *summary, *socket, *policy; /* NULL: none */
	enum mode mode;
	bool observe;
	enum log_level level;
};

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' }, { "hv", required_argument, NULL, 'H' },
	{ "check", no_argument, NULL, 'C' },	    { "observe", no_argument, NULL, 'O' },
	{ "restore-caps", no_argument, NULL, 'R' }, { "foreground", no_argument, NULL, 'f' },
	{ "verbose", no_argument, NULL, 'v' },	    { "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },	    { "scenario", required_argument, NULL, 'S' },
	{ "policy", required_argument, NULL, 'p' }, { "summary", required_argument, NULL, 'o' },
	{ "socket", required_argument, NULL, 's' }, { 0 },
};

static void usage(FILE *f)
{
	fputs("Usage: resexd [OPTION]...\n"
	      "Charge the guests of this Xen host for the RDMA and CPU they use, and cap those\n"
	      "that overspend.\n"
	      "\n"
	      "  -c, --config FILE   configuration (default " RESEX_CONFDIR "/resexd.json)\n"
	      "  -C, --check         check configuration, policy and cluster, and exit\n"
	      "  -O, --observe       count, account and decide, but set no cap\n"
	      "  -R, --restore-caps  give guests the caps an earlier run saved, and exit\n"
	      "  -H, --hv NAME       hypervisor: xen (default), or sim, a simulated host\n"
	      "  -S, --scenario FILE run a scenario on the simulated host (with --hv sim), and\n"
	      "                      print a summary in JSON\n"
	      "  -p, --policy NAME   instead of the scenario's first\n"
	      "  -o, --summary FILE  where to write the summary (default: standard output)\n"
	      "  -s, --socket FILE   control socket of a scenario on the real clock\n"
	      "  -f, --foreground    stay in the foreground (always so; for scripts)\n"
	      "  -v, --verbose       say more\n"
	      "  -h, --help          show this\n"
	      "  -V, --version       show the version\n"
	      "\n"
	      "See resexd(8), resexd.json(5), resex-scenario(5) and resex(1).\n",
	      f);
}

#define SHORT_OPTIONS ":c:CORH:S:p:o:s:fvhV"

/* In one line; getopt's own messages begin with a path. word: the last one looked at. */
static void bad_option(int ch, const char *word)
{
	const char one[] = { '-', (char)optopt, 0 };

	/* in a cluster such as -xC it is not the word that is wrong */
	if (optopt && !strchr(SHORT_OPTIONS, optopt))
		word = one;
	if (ch == ':')
		fprintf(stderr, "resexd: %s takes a value: see resexd --help\n", word);
	else
		fprintf(stderr, "resexd: there is no option \"%s\": see resexd --help\n", word);
}

/* -1: go on; else the exit code. */
static int parse_options(struct options *o, int argc, char **argv)
{
	int ch;

	while ((ch = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL)) != -1) {
		switch (ch) {
		case 'c':
			o->config = optarg;
			break;
		case 'H':
			o->hv = optarg;
			break;
		case 'C':
			o->mode = MODE_CHECK;
			break;
		case 'R':
			o->mode = MODE_RESTORE;
			break;
		case 'O':
			o->observe = true;
			break;
		case 'S':
			o->scenario = optarg;
			break;
		case 'p':
			o->policy = optarg;
			break;
		case 'o':
			o->summary = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case 'f':
			break;
		case 'v':
			o->level = LOG_LVL_DEBUG;
			break;
		case 'h':
			usage(stdout);
			return RESEX_OK;
		case 'V':
			puts("resexd " PACKAGE_VERSION);
			return RESEX_OK;
		default:
			bad_option(ch, argv[optind - 1]);
			return RESEX_USAGE;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "resexd: \"%s\" is too much: resexd takes options only\n", argv[optind]);
	return RESEX_USAGE;
}

/* Log an error. Its exit code. */
static int report(const struct log *log, const struct conf_error *e)
{
	log_msg(log, LOG_LVL_ERROR, "%s", e->text[0] ? e->text : "out of memory");
	return e->exit ? (int)e->exit : RESEX_FAILURE;
}

/* A directory, and those above it. */
static int make_dir(const struct log *log, const char *path)
{
	char part[CONFIG_PATH_MAX + 1];
	struct stat st;
	bool denied = false;

	snprintf(part, sizeof(part), "%s", path);
	for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		denied |= mkdir(part, 0755) && errno == EACCES; /* then the last fails, too */
		*p = '/';
	}
	if (!mkdir(path, 0755) || (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode)))
		return RESEX_OK;
	denied |= errno == EACCES;
	log_msg(log, LOG_LVL_ERROR, "directory %s cannot be made: %s: %s", path,
		strerror(denied ? EACCES : errno),
		denied ? "run as root, or name others in the configuration"
		       : "correct the configuration");
	return denied ? RESEX_PERMISSION : RESEX_FAILURE;
}

/* The directory of a file, made when it is missing. */
static int make_parent(const struct log *log, const char *file)
{
	char dir[CONFIG_PATH_MAX + 1];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return RESEX_OK;
	*slash = 0;
	return make_dir(log, dir);
}

enum { LOCKS_MAX = 3 };

/* Held as long as the process lives. */
static int take_lock(const struct log *log, const char *file, int *fd)
{
	char pid[32] = "";
	ssize_t n;

	*fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (*fd < 0) {
		log_msg(log, LOG_LVL_ERROR, "lock file %s: %s", file, strerror(errno));
		return errno == EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	if (flock(*fd, LOCK_EX | LOCK_NB)) {
		n = pread(*fd, pid, sizeof(pid) - 1, 0);
		if (n > 0)
			pid[strcspn(pid, "\n")] = 0;
		log_msg(log, LOG_LVL_ERROR,
			"another resexd runs (process %s holds %s): stop it first", pid, file);
		return RESEX_RUNNING;
	}
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(*fd, 0) || pwrite(*fd, pid, strlen(pid), 0) < 0)
		log_msg(log, LOG_LVL_WARNING, "lock file %s: %s", file, strerror(errno));
	return RESEX_OK;
}

/* Also what belongs to it. text: what it is, for people. */
static int check_cluster(const struct log *log, const struct daemon_conf *conf,
			 char text[static CLUSTER_TEXT])
{
	struct cluster_conf *c = calloc(1, sizeof(*c));
	struct conf_error e = { 0 };
	char hostname[256] = "";
	int rc;

	text[0] = 0;
	if (!c)
		return RESEX_FAILURE;
	gethostname(hostname, sizeof(hostname) - 1);
	rc = cluster_conf_check(c, conf->cluster_file, hostname, &e);
	if (rc)
		rc = report(log, &e);
	else
		snprintf(text, CLUSTER_TEXT, ", host %s of %u in cluster %s", c->host[c->self].name,
			 c->hosts, c->cluster);
	free(c);
	return rc;
}

static int check(const struct log *log, const struct daemon_conf *conf, const char *file)
{
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };
	char cluster[CLUSTER_TEXT] = "";
	gid_t gid;
	int rc = policy_load(&pi, conf->policy, conf->policy_file, &e);

	if (rc)
		return report(log, &e);
	if (conf->socket_group[0] && control_group(conf, &gid, &e)) {
		policy_free(pi);
		return report(log, &e);
	}
	if (conf->cluster_file[0])
		rc = check_cluster(log, conf, cluster);
	if (!rc)
		printf("%s: good: policy %s, %u link%s, %u guest%s named%s\n", file, pi->ops->name,
		       conf->links, conf->links == 1 ? "" : "s", conf->guests,
		       conf->guests == 1 ? "" : "s", cluster);
	policy_free(pi);
	return rc;
}

static int restore_caps(const struct log *log, const struct daemon_conf *conf,
			const struct hv_backend *hv, void *arg)
{
	struct restore *r = calloc(1, sizeof(*r));
	struct conf_error e = { 0 };
	struct hv_sched *s;
	uint32_t n = 0;
	int rc, code = RESEX_OK;

	rc = r ? restore_load(r, conf->state_dir, hv->name, &e) : -ENOMEM;
	if (rc) {
		code = report(log, &e);
		goto out;
	}
	if (!r->entries) {
		puts("no caps to restore");
		goto out;
	}
	rc = hv->sched->open(&s, arg);
	if (rc) {
		hv_open_text(hv->name, rc, &e);
		code = report(log, &e);
		goto out;
	}
	rc = restore_all(r, hv->sched, s, &n);
	hv->sched->close(s);
	printf("%u cap%s restored\n", n, n == 1 ? "" : "s");
	if (rc) {
		log_msg(log, LOG_LVL_ERROR,
			"%s: some caps could not be restored: see xl sched-credit2", r->file);
		code = RESEX_FAILURE;
	}
out:
	free(r);
	return code;
}

/* Whoever is impatient must not end us between the loop and the last cap restored. */
static void hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int run(const struct log *log, const struct daemon_conf *conf, const struct hv_backend *hv,
	       void *arg, const struct options *o)
{
	const struct engine_conf ec = { .conf = conf,
					.file = o->config,
					.hv = hv,
					.hv_arg = arg,
					.log = log,
					.observe = o->observe };
	struct conf_error e = { 0 };
	struct engine *en;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	if (engine_open(&en, &ec, &e))
		return report(log, &e);
	rc = engine_run(en);
	hold_signals();
	return engine_close(en) || rc ? RESEX_FAILURE : RESEX_OK;
}

static int lock_dir(const struct log *log, const char *dir, int *fd)
{
	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0) {
		log_msg(log, LOG_LVL_ERROR, "state_dir %s: %s: run resexd as root", dir,
			strerror(errno));
		return errno == EACCES ? RESEX_PERMISSION : RESEX_FAILURE;
	}
	if (!flock(*fd, LOCK_EX | LOCK_NB))
		return RESEX_OK;
	log_msg(log, LOG_LVL_ERROR,
		"another resexd keeps its caps in %s: stop it first, or name another state_dir",
		dir);
	return RESEX_RUNNING;
}

/*
 * One daemon only: of a configuration, of a directory of saved caps, and, whatever
 * their configurations say, of a Xen host: each would take the other's caps for
 * the guests' own.
 */
static int take_locks(const struct log *log, const struct daemon_conf *conf,
		      const struct hv_backend *hv, int fd[LOCKS_MAX])
{
	int rc;

	rc = make_parent(log, conf->lock_file);
	if (!rc)
		rc = make_parent(log, conf->socket);
	if (!rc)
		rc = make_dir(log, conf->state_dir);
	if (!rc)
		rc = take_lock(log, conf->lock_file, &fd[0]);
	if (!rc)
		rc = lock_dir(log, conf->state_dir, &fd[1]);
	if (rc || hv->simulated)
		return rc;
	rc = make_parent(log, HOST_LOCK);
	return rc ? rc : take_lock(log, HOST_LOCK, &fd[2]);
}

static int locked(const struct log *log, const struct daemon_conf *conf, const struct options *o,
		  const struct hv_backend *hv, void *arg)
{
	int fd[LOCKS_MAX] = { -1, -1, -1 };
	int rc = take_locks(log, conf, hv, fd);

	if (!rc)
		rc = o->mode == MODE_RESTORE ? restore_caps(log, conf, hv, arg)
					     : run(log, conf, hv, arg, o);
	for (int i = 0; i < LOCKS_MAX; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return rc;
}

static struct mono sim_now(void *arg)
{
	struct clock *c = arg;

	return c->now(c);
}

static int with_sim(const struct log *log, const struct daemon_conf *conf, const struct options *o,
		    const struct hv_backend *hv)
{
	struct sim_conf *sc = calloc(1, sizeof(*sc));
	struct sim_host *host = NULL;
	struct clock clock;
	int rc;

	if (!sc)
		return RESEX_FAILURE;
	clock_real(&clock);
	sim_conf_demo(sc);
	rc = sim_open(&host, sc, clock.now(&clock));
	free(sc);
	if (rc) {
		log_msg(log, LOG_LVL_ERROR, "the simulated host: %s", strerror(-rc));
		return RESEX_FAILURE;
	}
	sim_set_clock(host, sim_now, &clock);
	rc = locked(log, conf, o, hv, host);
	sim_close(host);
	return rc;
}

/* --- scenarios ----------------------------------------------------------- */

/* What does not go together with a scenario. */
static int check_scenario_options(const struct options *o)
{
	const struct hv_backend *hv = hv_backend_find(o->hv);
	const char *wrong = NULL;

	if (!o->scenario && (o->policy || o->summary || o->socket))
		wrong = "--policy, --summary and --socket are for a --scenario";
	else if (o->scenario && !(hv && hv->simulated))
		wrong = "a scenario is for the simulated host alone: add --hv sim";
	else if (o->scenario && o->config)
		wrong = "a scenario takes no --config: what it would say stands in the scenario";
	else if (o->scenario && o->mode == MODE_RESTORE)
		wrong = "a scenario leaves no caps behind: there is nothing to restore";
	else if (o->socket && strlen(o->socket) > CONFIG_PATH_MAX)
		wrong = "the socket's path is too long: use a shorter one";
	if (!wrong)
		return RESEX_OK;
	fprintf(stderr, "resexd: %s\n", wrong);
	return RESEX_USAGE;
}

/* Indented for people; else one line. */
static int dump(FILE *f, const json_t *summary)
{
	size_t flags = JSON_REAL_PRECISION(12) | (isatty(fileno(f)) ? JSON_INDENT(1) : 0);

	errno = 0; /* jansson may fail without one */
	if (json_dumpf(summary, f, flags) || fputc('\n', f) == EOF || fflush(f))
		return errno ? -errno : -EIO;
	return 0;
}

static int write_summary(const struct log *log, const char *file, const json_t *summary)
{
	FILE *f = file ? fopen(file, "w") : stdout;
	int rc = f ? dump(f, summary) : -errno;

	if (f && file && fclose(f) && !rc)
		rc = -errno;
	if (!rc)
		return RESEX_OK;
	log_msg(log, LOG_LVL_ERROR, "the summary cannot be written to %s: %s",
		file ? file : "the standard output", strerror(-rc));
	return RESEX_FAILURE;
}

static int run_scenario(const struct log *log, struct scenario *sc, const struct options *o,
			const struct hv_backend *hv)
{
	struct log quiet = *log;
	const struct scenario_opts so = {
		.hv = hv,
		.log = &quiet,
		.socket = o->socket,
		.observe = o->observe,
		.progress = isatty(STDERR_FILENO),
	};
	struct conf_error e = { 0 };
	json_t *summary = NULL;
	int rc;

	/* Each guest that comes or goes is a line, and all of it is over at once. */
	if (sc->clock == SCENARIO_SIMULATED && o->level < LOG_LVL_DEBUG)
		quiet.level = LOG_LVL_WARNING;
	signal(SIGPIPE, SIG_IGN);
	if (scenario_run(sc, &so, &summary, &e)) {
		log_msg(log, LOG_LVL_ERROR, "%s", e.text);
		return RESEX_FAILURE;
	}
	rc = write_summary(log, o->summary, summary);
	json_decref(summary);
	return rc;
}

/* The same host under another policy, to compare. */
static int take_policy(struct scenario *sc, const char *name, struct conf_error *e)
{
	struct policy_inst *pi;
	int rc = policy_load(&pi, name, "", e);

	if (rc)
		return rc;
	policy_free(sc->policy);
	sc->policy = pi;
	return 0;
}

static int with_scenario(const struct log *log, const struct options *o,
			 const struct hv_backend *hv)
{
	struct scenario *sc = calloc(1, sizeof(*sc));
	struct conf_error e = { 0 };
	int rc = sc ? scenario_load(sc, o->scenario, &e) : -ENOMEM;

	if (rc) {
		rc = report(log, &e);
		goto out;
	}
	if (o->policy)
		rc = take_policy(sc, o->policy, &e);
	if (rc) {
		rc = report(log, &e);
	} else if (o->mode == MODE_CHECK)
		printf("%s: good: policy %s, %u guest%s, %u event%s, %.12g s\n", o->scenario,
		       sc->policy->ops->name, sc->sim.guests, sc->sim.guests == 1 ? "" : "s",
		       sc->events, sc->events == 1 ? "" : "s", (double)sc->duration_ns / 1e9);
	else
		rc = run_scenario(log, sc, o, hv);
	scenario_free(sc);
out:
	free(sc);
	return rc;
}

/* --- start --------------------------------------------------------------- */

static int start(const struct log *log, const struct options *o)
{
	const char *config = o->config ? o->config : RESEX_CONFDIR "/resexd.json";
	struct daemon_conf *conf = calloc(1, sizeof(*conf));
	const struct hv_backend *hv = hv_backend_find(o->hv);
	struct conf_error e = { 0 };
	int rc;

	if (!hv && o->mode != MODE_CHECK) { /* a configuration may be for another host */
		log_msg(log, LOG_LVL_ERROR,
			"no hypervisor \"%s\" here: try xen (if built with it) or sim", o->hv);
		free(conf);
		return RESEX_USAGE;
	}
	if (o->scenario) {
		free(conf);
		return with_scenario(log, o, hv);
	}
	rc = conf ? settings_load(conf, config, &e) : -ENOMEM;
	if (rc)
		rc = report(log, &e);
	else if (o->mode == MODE_CHECK)
		rc = check(log, conf, config);
	else if (hv->simulated)
		rc = with_sim(log, conf, o, hv);
	else
		rc = locked(log, conf, o, hv, NULL);
	free(conf);
	return rc;
}

/* What was to be printed is not done when it could not be. */
static int printed(int rc)
{
	if (rc || (!fflush(stdout) && !ferror(stdout)))
		return rc;
	perror("resexd: output");
	return RESEX_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o = { .hv = "xen", .level = LOG_LVL_INFO };
	struct log log;
	int rc;

	rc = parse_options(&o, argc, argv);
	if (rc >= 0)
		return printed(rc);
	rc = check_scenario_options(&o);
	if (rc)
		return rc;
	log_init(&log, "resexd", o.level);
	return printed(start(&log, &o));
}
