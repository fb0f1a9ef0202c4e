/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster: cluster.json (man cluster.json(5)): which hosts share state, and how.
 *
 * Read when resexd or a client starts, and by resex cluster-reload (cluster_change.h). The same
 * file can be used on every host. Errors name file, line, column, the value and the remedy
 * (src/util/conf.h).
 */
#ifndef RESEX_CONF_CLUSTER_H
#define RESEX_CONF_CLUSTER_H

#include "resex/region_abi.h"
#include "src/core/hostset.h"
#include "src/conf/settings.h"
#include "src/transport/transport.h"

static_assert((int)HOSTSET_WORDS == (int)REGION_SET_WORDS, "a region holds a whole set");
static_assert((int)TRANSPORT_HOSTS_MAX == (int)REGION_HOSTS_MAX, "one range of numbers");

/* A host has at most REGION_NODES_MAX nodes. */
enum { CLUSTER_SERVICES_MAX = 64, CLUSTER_NODES_MAX = 1024 };
enum { CLUSTER_PRIORITY_MAX = 7, CLUSTER_MOVED_MAX = 512 /* nodes, with "reconf" */ };
/* A load index and a capacity are in 1/1000. */
enum { CLUSTER_HIGH_DEFAULT = 1500, CLUSTER_LOW_DEFAULT = 900, CLUSTER_INDEX_MAX = 1000000 };
enum { CLUSTER_CAPACITY_DEFAULT = 1000, CLUSTER_CAPACITY_MAX = 100000 };
enum { CLUSTER_HOOK_MAX = 256 };			      /* with the NUL */
enum { CLUSTER_SERVERS_MAX = 256, CLUSTER_SOCKET_MAX = 108 }; /* of a service; with the NUL */

enum cluster_membership { CLUSTER_STATIC, CLUSTER_COROSYNC };

struct cluster_host {
	char name[REGION_NAME];
	uint64_t number; /* 1 .. REGION_HOSTS_MAX */
	char address[TRANSPORT_ADDRESS_MAX];
	uint64_t port;
	uint64_t corosync_node; /* its nodeid; default: number */
};

/*
 * A program that reads the members' memory and serves nothing: no member, and in no agreement, so
 * that it can be added to one host's file after the other.
 */
struct cluster_client {
	char name[REGION_NAME];
	uint64_t number;		     /* of the same range as the hosts' */
	char address[TRANSPORT_ADDRESS_MAX]; /* from which it calls; "": any */
	uint32_t rights;		     /* enum transport_right */
};

enum cluster_cached_role { CLUSTER_APP, CLUSTER_PROXY };

/*
 * A host that runs resex-cached (resex-cache(7)). resexd neither calls nor accepts it, and it is in
 * no agreement of resexd's hosts.
 */
struct cluster_cached {
	char name[REGION_NAME];
	uint64_t number; /* of the same range as the hosts' */
	char address[TRANSPORT_ADDRESS_MAX];
	uint64_t port;
	uint32_t role; /* enum cluster_cached_role */
};

/* What all cached hosts must hold alike. */
struct cluster_cache {
	int64_t fresh_ns;  /* how long a home's evidence is used */
	int64_t detect_ns; /* a member that does not acknowledge for so long is removed */
	uint64_t words;	   /* version words of each home */
	uint64_t slots;	   /* updates at a time, of each application server */
};

struct cluster_service {
	char name[REGION_NAME];
	uint64_t number;	  /* 1 .. REGION_SERVICES_MAX - 1 */
	uint64_t minimum;	  /* nodes that it must not lose */
	struct hostset balancers; /* the hosts that balance it */
	/*
	 * For moves of nodes (src/reconf/decide.h). In nodes; minimum <= guarantee <= share <=
	 * maximum.
	 */
	uint64_t guarantee, share, maximum;
	uint64_t priority;  /* 0 .. CLUSTER_PRIORITY_MAX, higher is more */
	uint64_t high, low; /* load index of its nodes; low < high */
	/* Digest of these, as the file gives them; 0: they are the defaults. */
	uint64_t more;
};

enum cluster_node_kind {
	CLUSTER_NODE_BOTH,   /* it serves each of its services at any time */
	CLUSTER_NODE_SWITCH, /* it must be prepared for another service */
};

/* What serves requests. A node is a host, or a guest of one. */
struct cluster_node {
	char name[REGION_NAME];
	uint64_t number;	  /* of its word and its load record at that host: 0 .. 255 */
	uint16_t host;		  /* its number */
	char guest[REGION_NAME];  /* the guest's name there; "": the node is the host itself */
	uint16_t service;	  /* the number of the service that it serves; 0: none */
	char server[REGION_NAME]; /* its name in HAProxy */
	uint32_t kind;		  /* enum cluster_node_kind */
	uint64_t capacity;	  /* 1/1000 of a usual node: 1 .. CLUSTER_CAPACITY_MAX */
	uint64_t may;		  /* bit i: it may serve service[i] of this struct cluster_conf */
};

enum cluster_load_source { CLUSTER_LOAD_AUTO, CLUSTER_LOAD_ULM, CLUSTER_LOAD_KLM };

/* How the load of this host's nodes is sampled, and loads of all nodes are read. */
struct cluster_load {
	uint32_t source; /* enum cluster_load_source; of the node that is the host itself */
	int64_t period_ns, scan_ns;
	int64_t stale_ns;  /* a load that is unchanged for so long counts no more */
	int64_t window_ns; /* of the index: load/index.h */
};

enum cluster_balance_by { CLUSTER_BY_WEIGHTS, CLUSTER_BY_AGENT };
enum cluster_balance_mode { CLUSTER_OBSERVE, CLUSTER_ACT, CLUSTER_EQUAL };

/* A service whose requests this host's HAProxy sends to nodes. */
struct cluster_balance {
	uint32_t service;		 /* its number */
	uint32_t by;			 /* enum cluster_balance_by */
	uint32_t mode;			 /* enum cluster_balance_mode: at the start */
	char backend[REGION_NAME];	 /* of HAProxy */
	char socket[CLUSTER_SOCKET_MAX]; /* by weights: HAProxy's */
	uint64_t port;			 /* by agent: of 127.0.0.1, where HAProxy asks */
	uint64_t k;			 /* nodes that get requests; 0: by the age of loads */
	int64_t service_ns;		 /* mean CPU time of a request; 0: measured */
};

/* PAUSE: by an operator alone. */
enum cluster_reconf_mode { RECONF_OBSERVE, RECONF_ACT, RECONF_PAUSE };

/* Whether nodes move between services, and how soon. Without "reconf" all are the defaults. */
struct cluster_reconf {
	bool given;
	uint32_t mode;	  /* enum cluster_reconf_mode */
	int64_t check_ns; /* S: between two checks of a service's load */
	int64_t high_ns;  /* T: a load must be high for so long */
	int64_t rest_ns;  /* a node that was moved stays for so long */
	int64_t freeze_ns;
	/* Of nodes of kind "switch" (src/reconf/role.h); not agreed on. "": there are none. */
	char hook[CLUSTER_HOOK_MAX]; /* absolute path of the program */
	int64_t hook_timeout_ns;
	int64_t give_up_ns; /* a node that is not ready for so long is moved back; 0: never */
	uint64_t margin;    /* 1/1000 */
	uint64_t budget;    /* moves to a service in budget_ns, > 0 */
	int64_t budget_ns;
};

struct cluster_conf {
	char cluster[TRANSPORT_NAME_MAX];
	char host_name[REGION_NAME]; /* this host's */
	char key_file[CONFIG_PATH_MAX + 1];
	uint32_t transport;  /* index of transport_backends[] */
	uint32_t membership; /* enum cluster_membership */
	int64_t heartbeat_ns, scan_ns, timeout_ns;
	int64_t hold_ns;
	uint64_t drift; /* greatest error of a host's clock, parts in a million */
	uint64_t callers, callers_second;
	struct cluster_host host[REGION_HOSTS_MAX];
	uint32_t hosts;
	uint32_t self; /* index of this host; of cluster_client_load: of this client */
	struct cluster_client client[REGION_HOSTS_MAX];
	uint32_t clients;
	struct cluster_cached cached[REGION_HOSTS_MAX];
	uint32_t caches;
	struct cluster_cache cache;
	struct cluster_service service[CLUSTER_SERVICES_MAX];
	uint32_t services;
	struct cluster_node node[CLUSTER_NODES_MAX];
	uint32_t nodes;
	struct cluster_load load;
	struct cluster_reconf reconf;
	/* Of this host alone: it is one of the balancers of each service. */
	struct cluster_balance balance[CLUSTER_SERVICES_MAX];
	uint32_t balances;
};

/*
 * 0, or -errno of conf_load with e filled. hostname, up to its first dot, is the name of
 * this host when the file has no "host".
 */
int cluster_conf_load(struct cluster_conf *c, const char *file, const char *hostname,
		      struct conf_error *e);
int cluster_conf_parse(struct cluster_conf *c, const char *name, const char *text, size_t len,
		       const char *hostname, struct conf_error *e);

/* The same for a program that is the client of this name. */
int cluster_client_load(struct cluster_conf *c, const char *file, const char *name,
			struct conf_error *e);

struct cluster_key {
	uint8_t bytes[TRANSPORT_KEY_MAX];
	size_t len;
};

/*
 * The pre-shared key: the bytes of a regular file that its owner alone may
 * read, without newlines at its end. -EINVAL, or -errno of the file, with e
 * filled; e never holds any of the key. Wipe k after use (explicit_bzero).
 */
int cluster_key_load(struct cluster_key *k, const char *file, struct conf_error *e);

/*
 * Read the file and the key that it names, as cluster_open does, and start nothing. 0 and c
 * is filled, or -errno with e filled.
 */
int cluster_conf_check(struct cluster_conf *c, const char *file, const char *hostname,
		       struct conf_error *e);

/* The number of this start, by state_dir/generation; it is not counted yet. 0, or -errno and e. */
int cluster_generation_next(const char *state_dir, uint64_t *generation, struct conf_error *e);
/*
 * Count this start in state_dir/generation: when its address is ours, and before any peer can see
 * the number. 0, or -errno and e.
 */
int cluster_generation_count(const char *state_dir, uint64_t generation, struct conf_error *e);

/* Callers and callers_second of a file that does not give them: they grow with its lists. */
uint64_t cluster_callers_default(const struct cluster_conf *c);
uint64_t cluster_callers_second_default(const struct cluster_conf *c);

/* The maximum of a service whose file gives none. */
uint64_t cluster_maximum_default(const struct cluster_service *s);

/*
 * Change all[i] by the members of d: those of a service from guarantee on, with the same ranges and
 * errors as in a file. all: c->services of them, the values in force. 0, or -EINVAL with e filled,
 * and nothing is changed.
 */
int cluster_service_change(const struct conf_doc *d, const struct cluster_conf *c,
			   struct cluster_service *all, uint32_t i, struct conf_error *e);

/* How long a lock word must be unchanged before other hosts may break the lock (lease.h). */
int64_t cluster_break_ns(const struct cluster_conf *c);

/* Digest of what never changes while hosts run: transport_conf.agreement. */
uint64_t cluster_agreement(const struct cluster_conf *c);
/*
 * Of the parts that may change while hosts run: which hosts there are; a service; n services, each
 * with another number.
 */
uint64_t cluster_hosts_digest(const struct cluster_conf *c);
uint64_t cluster_service_digest(const struct cluster_service *s);
/* cluster_service.more, of the others. Here a share that the file does not give is UINT64_MAX. */
uint64_t cluster_service_more(const struct cluster_service *s);
uint64_t cluster_services_digest(const struct cluster_service *s, uint32_t n);
/* Of all nodes of all hosts, with their services and servers; 0: there are none. */
uint64_t cluster_nodes_digest(const struct cluster_conf *c);

/* The service of this name, or of this number; or NULL. */
const struct cluster_service *cluster_service_find(const struct cluster_conf *c, const char *name);
const struct cluster_service *cluster_service_at(const struct cluster_conf *c, uint32_t number);
/* The host of this name, or NULL. */
const struct cluster_host *cluster_host_find(const struct cluster_conf *c, const char *name);
/* Fill p with the address of host[i], for the transport. */
void cluster_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p);
/* The same of client[i], as members add it. */
void cluster_client_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p);
/* The host with this number, or NULL. */
const struct cluster_host *cluster_host_at(const struct cluster_conf *c, uint16_t number);
/* By name; NULL: there is none. */
const struct cluster_node *cluster_node_find(const struct cluster_conf *c, const char *name);
/*
 * The services that a node of c may serve, a bit for each, by number. Without "only" all bits are
 * set, also those of services that may come.
 */
void cluster_node_may(const struct cluster_conf *c, const struct cluster_node *n,
		      uint64_t may[static REGION_SERVICES_MAX / 64]);
/* The next node of a service, after this one; NULL: the first. NULL: there is none. */
const struct cluster_node *cluster_node_next(const struct cluster_conf *c, uint32_t service,
					     const struct cluster_node *after);
/*
 * The next node that may be a server of the service's backend, as cluster_node_next: with "reconf"
 * each that may come to serve it, and has a server.
 */
const struct cluster_node *cluster_server_next(const struct cluster_conf *c, uint32_t service,
					       const struct cluster_node *after);
/* "observe", "act" or "pause". */
const char *cluster_reconf_mode_name(enum cluster_reconf_mode mode);
/* "both" or "switch". */
const char *cluster_kind_name(enum cluster_node_kind kind);
/* The first node of kind switch; NULL: there is none. */
const struct cluster_node *cluster_switch_find(const struct cluster_conf *c);
/* So many checks in a row are T. */
uint32_t cluster_reconf_checks(const struct cluster_reconf *r);
/* Is the host of this number a balancer of the service? A service without a list has all hosts. */
bool cluster_balances(const struct cluster_service *s, uint32_t host);
/* Is this host one? */
bool cluster_is_balancer(const struct cluster_conf *c, const struct cluster_service *s);
/* How this host balances the service of this number; NULL: it does not. */
const struct cluster_balance *cluster_balance_of(const struct cluster_conf *c, uint32_t service);
/* Between two scans of the other hosts. */
int64_t cluster_scan_ns(const struct cluster_conf *c);
/* The node that this host itself is, or NULL. */
const struct cluster_node *cluster_own_node(const struct cluster_conf *c);
/* The nodes of this host, its guests too: the one after n; NULL: the first, at the end NULL. */
const struct cluster_node *cluster_next_own(const struct cluster_conf *c,
					    const struct cluster_node *n);
/* The lowest number of a host. With static membership it has the locks. */
uint16_t cluster_lowest_host(const struct cluster_conf *c);
/*
 * Read a file for the cached host of this name; NULL: the file's "host", or hostname up to its
 * first dot. *self: its index in cached[]. 0, or -errno with e filled. The file need not have
 * members. callers and callers_second have their defaults by the cached hosts and clients.
 */
int cluster_cached_load(struct cluster_conf *c, const char *file, const char *name,
			const char *hostname, uint32_t *self, struct conf_error *e);
/* Of the cached host with this number, or NULL. */
const struct cluster_cached *cluster_cached_at(const struct cluster_conf *c, uint16_t number);
/* Fill p for the transport; the role there is TRANSPORT_MEMBER. */
void cluster_cached_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p);
/*
 * transport_conf.agreement between cached hosts: of drift, of "cache", and of the numbers and roles
 * of all cached hosts. None of it changes while they run.
 */
uint64_t cluster_cache_agreement(const struct cluster_conf *c);
/* The client with this number, or NULL. */
const struct cluster_client *cluster_client_at(const struct cluster_conf *c, uint16_t number);

#endif
