# libresex-report: the library with which applications report their latencies. Installed, static
# only. Position independent, so that shared objects can contain it.
lib_LIBRARIES += libresex-report.a
libresex_report_a_SOURCES = ibmon/report/report.c
libresex_report_a_CFLAGS = $(AM_CFLAGS) -fPIC
resexinclude_HEADERS += include/resex/agent_socket.h include/resex/report.h \
	include/resex/flow.h include/resex/policy.h include/resex/units.h
pkgconfig_DATA += resex-report.pc
EXTRA_DIST += ibmon/report/resex-report.pc.in
CLEANFILES += resex-report.pc
resex-report.pc: $(srcdir)/ibmon/report/resex-report.pc.in Makefile
	$(AM_V_GEN)sed -e 's|[@]prefix[@]|$(prefix)|g' -e 's|[@]exec_prefix[@]|$(exec_prefix)|g' \
		-e 's|[@]libdir[@]|$(libdir)|g' -e 's|[@]includedir[@]|$(includedir)|g' \
		-e 's|[@]VERSION[@]|$(VERSION)|g' $(srcdir)/ibmon/report/resex-report.pc.in >$@
