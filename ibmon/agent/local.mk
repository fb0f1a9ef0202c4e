# libagent: resex-agent, which runs in each guest and publishes the rings and latencies of its
# processes, and its load. Link libload.a, libshared.a, libreconf.a and $(ISAL_LIBS) behind it.
noinst_LIBRARIES += libagent.a
libagent_a_SOURCES = \
	include/resex/exit.h include/resex/agent_socket.h include/resex/guest_abi.h \
	ibmon/agent/agent.c ibmon/agent/agent.h \
	ibmon/agent/book.c ibmon/agent/book.h \
	ibmon/agent/classify.c ibmon/agent/classify.h \
	ibmon/agent/classify_order.c ibmon/agent/classify_order.h \
	ibmon/agent/devices.c ibmon/agent/devices.h \
	ibmon/agent/latency_socket.c ibmon/agent/latency_socket.h \
	ibmon/agent/load_page.c ibmon/agent/load_page.h \
	ibmon/agent/maps.c ibmon/agent/maps.h \
	ibmon/agent/nldev.c ibmon/agent/nldev.h \
	ibmon/agent/node.c ibmon/agent/node.h \
	ibmon/agent/once.c \
	ibmon/agent/options.c ibmon/agent/options.h \
	ibmon/agent/pages.h ibmon/agent/pages_file.c ibmon/agent/pages_frame.c \
	ibmon/agent/print.c ibmon/agent/print.h \
	ibmon/agent/pagemap.c ibmon/agent/pagemap.h \
	ibmon/agent/proc.c ibmon/agent/proc.h \
	ibmon/agent/procs.c ibmon/agent/procs.h \
	include/resex/queue_table.h ibmon/agent/queue_entry.c ibmon/agent/queue_entry.h \
	ibmon/agent/queue_tables.c ibmon/agent/queue_tables.h \
	ibmon/agent/qpns.c ibmon/agent/qpns.h \
	ibmon/agent/setup.c ibmon/agent/setup.h \
	ibmon/agent/track.c ibmon/agent/track.h ibmon/agent/track_kinds.c ibmon/agent/track_priv.h \
	ibmon/agent/track_qpns.c ibmon/agent/track_users.c \
	ibmon/agent/wanted.c ibmon/agent/wanted.h \
	ibmon/agent/watch.c ibmon/agent/watch.h
libagent_a_CPPFLAGS = $(AM_CPPFLAGS) $(XENGUEST_CFLAGS)

if XEN
libagent_a_SOURCES += ibmon/agent/node_xen.c ibmon/agent/pages_grant.c
sbin_PROGRAMS += resex-agent
resex_agent_SOURCES = ibmon/agent/main.c
resex_agent_LDADD = libagent.a libload.a libshared.a libreconf.a libutil.a $(EVENT_LIBS) $(ISAL_LIBS) $(XENGUEST_LIBS)
endif
