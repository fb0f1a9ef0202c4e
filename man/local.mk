# man: a page for every program, file and protocol.
dist_man_MANS = man/resex.1 man/resexd.8 man/resexd.json.5 man/cluster.json.5 \
	man/resex-control.7 man/resex-guest-abi.7 man/resex-policies.7 man/resex-policy.7
dist_man_MANS += man/resex-agent.8 man/libresex-rings.7 man/resex_report.3 man/libibmon.3
dist_man_MANS += man/resex-scenario.5
dist_man_MANS += man/benchex.1 man/resex-lab.1 man/resex-peek.1
dist_man_MANS += man/loadmon.4 man/resex-load.7 man/resex-reconf.7 man/resex-region.7
dist_man_MANS += man/resex-cached.8 man/resex-cache.7
dist_man_MANS += man/vmod_resex.3
dist_man_MANS += man/resex-auction.1 man/resex-cacheload.1 man/resex_cache.3
dist_man_MANS += man/resex.7

# make html: the pages in HTML, in the folder html of the build. It needs mandoc.
EXTRA_DIST += man/html.sh
html-local:
	$(AM_V_GEN)$(srcdir)/man/html.sh html $(dist_man_MANS:%=$(srcdir)/%)
CLEANFILES += html/*.html html/style.css
