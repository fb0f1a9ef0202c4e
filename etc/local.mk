# etc: examples, the unit, the demo.
EXTRA_DIST += etc/resexd.json etc/resexd.service etc/demo/demo.py etc/demo/resexd.json
exampledir = $(docdir)/examples
dist_example_DATA = etc/resexd.json
scenariodir = $(docdir)/examples/scenarios
dist_scenario_DATA = etc/scenarios/paper.json
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = etc/bash-completion/resex
systemdunitdir = $(systemdsystemunitdir)
systemdunit_DATA = resexd.service
CLEANFILES += resexd.service
resexd.service: $(srcdir)/etc/resexd.service Makefile
	$(AM_V_GEN)sed 's|[@]sbindir[@]|$(sbindir)|g' $(srcdir)/etc/resexd.service >$@

EXTRA_DIST += etc/resex-agent.service
CLEANFILES += resex-agent.service
if XEN
systemdunit_DATA += resex-agent.service
endif
resex-agent.service: $(srcdir)/etc/resex-agent.service Makefile
	$(AM_V_GEN)sed 's|[@]sbindir[@]|$(sbindir)|g' $(srcdir)/etc/resex-agent.service >$@
