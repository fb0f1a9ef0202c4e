# etc: examples, the unit, the demo.
EXTRA_DIST += etc/resexd.json etc/resexd.service etc/demo/cache.py etc/demo/cacheworld.py etc/demo/demo.py etc/demo/draw.py etc/demo/hosts.py etc/demo/node.py etc/demo/reconf.py \
	etc/pictures/architecture.txt etc/pictures/pictures.py doc/architecture.svg doc/demo.svg
exampledir = $(docdir)/examples
dist_example_DATA = etc/resexd.json etc/cluster.json etc/cluster-web.json etc/cache/cached-app.json etc/cache/cached-proxy.json \
	etc/cache/cluster-cache.json etc/cache/resex.vcl etc/examples/report.c etc/benchex/ice-like.trace
# A policy that is built outside of this tree.
policyexampledir = $(docdir)/examples/policy
dist_policyexample_DATA = etc/examples/policy/Makefile etc/examples/policy/limit.c
# A program, and a layout of rings, that are built outside of this tree.
ibmonexampledir = $(docdir)/examples/ibmon
dist_ibmonexample_DATA = etc/examples/ibmon/Makefile etc/examples/ibmon/count.c etc/examples/ibmon/simple.c
# Two hosts on one machine, by one command.
twohostsdir = $(docdir)/examples/two-hosts
dist_twohosts_DATA = etc/examples/two-hosts/cluster.json etc/examples/two-hosts/resexd.json
dist_twohosts_SCRIPTS = etc/examples/two-hosts/run
scenariodir = $(docdir)/examples/scenarios
dist_scenario_DATA = etc/scenarios/alone.json etc/scenarios/blind.json etc/scenarios/churn.json \
	etc/scenarios/credit.json etc/scenarios/crowd.json etc/scenarios/deep.json etc/scenarios/equal.json \
	etc/scenarios/figure9-128k.json etc/scenarios/figure9-1m.json etc/scenarios/figure9-256k.json \
	etc/scenarios/figure9-2m.json etc/scenarios/figure9-512k.json etc/scenarios/learn.json \
	etc/scenarios/liar.json etc/scenarios/paper.json etc/scenarios/senders.json \
	etc/scenarios/neighbours.json etc/scenarios/slow.json etc/scenarios/swap.json
cachedir = $(pkgdatadir)/cache
dist_cache_DATA = etc/cache/schema.sql etc/cache/schema-sqlite.sql
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = etc/bash-completion/resex etc/bash-completion/resex-lab etc/bash-completion/resex-cached etc/bash-completion/resex-peek etc/bash-completion/resexd
if XEN
dist_completion_DATA += etc/bash-completion/resex-agent
else
EXTRA_DIST += etc/bash-completion/resex-agent
endif
if VERBS
dist_completion_DATA += etc/bash-completion/benchex
else
EXTRA_DIST += etc/bash-completion/benchex
endif
systemdunitdir = $(systemdsystemunitdir)
systemdunit_DATA = resexd.service
CLEANFILES += resexd.service
resexd.service: $(srcdir)/etc/resexd.service Makefile
	$(AM_V_GEN)sed 's|[@]sbindir[@]|$(sbindir)|g' $(srcdir)/etc/resexd.service >$@

# resex-cached: its unit, and its user.
EXTRA_DIST += etc/resex-cached.service etc/resex-cached.sysusers
systemdunit_DATA += resex-cached.service
CLEANFILES += resex-cached.service resex-cached.conf
resex-cached.service: $(srcdir)/etc/resex-cached.service Makefile
	$(AM_V_GEN)sed 's|[@]sbindir[@]|$(sbindir)|g' $(srcdir)/etc/resex-cached.service >$@
sysusersdir = $(prefix)/lib/sysusers.d
sysusers_DATA = resex-cached.conf
# A group whose members may ask resexd (socket_group of resexd.json).
EXTRA_DIST += etc/resexd.sysusers
sysusers_DATA += resexd.conf
CLEANFILES += resexd.conf
resexd.conf: $(srcdir)/etc/resexd.sysusers Makefile
	$(AM_V_GEN)cp $(srcdir)/etc/resexd.sysusers $@
resex-cached.conf: $(srcdir)/etc/resex-cached.sysusers Makefile
	$(AM_V_GEN)cp $(srcdir)/etc/resex-cached.sysusers $@

udevdir = $(prefix)/lib/udev/rules.d
dist_udev_DATA = etc/60-resex.rules

EXTRA_DIST += etc/resex-agent.service
CLEANFILES += resex-agent.service
if XEN
systemdunit_DATA += resex-agent.service
endif
resex-agent.service: $(srcdir)/etc/resex-agent.service Makefile
	$(AM_V_GEN)sed 's|[@]sbindir[@]|$(sbindir)|g' $(srcdir)/etc/resex-agent.service >$@

# The tables of resex-auction, and an application of libresex-cache.
dist_example_DATA += etc/cache/auction.sql etc/cache/auction-guard.sql etc/cache/auction-guard-sqlite.sql \
	etc/cache/auction-sqlite.sql etc/examples/cache.c
if CURL
dist_completion_DATA += etc/bash-completion/resex-auction
else
EXTRA_DIST += etc/bash-completion/resex-auction
endif
dist_completion_DATA += etc/bash-completion/resex-cacheload

# The folders that only this package has, from the innermost on. One that holds something else stays.
uninstall-hook:
	@for dir in $(policydir) $(cachedir) $(pkgdatadir) $(policyexampledir) $(ibmonexampledir) $(twohostsdir) $(scenariodir) $(exampledir) \
		$(docdir) $(dkmsheadersdir) $(dkmsdir)/include $(dkmsdir) $(resexincludedir); do \
		rmdir "$(DESTDIR)$$dir" 2>/dev/null || :; \
	done
