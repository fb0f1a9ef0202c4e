# resex: the command line; knows the control protocol and nothing of the daemon.
bin_PROGRAMS += resex
resex_SOURCES = \
	include/resex/exit.h \
	src/cli/client.c src/cli/client.h \
	src/cli/cmd_balance.c src/cli/cmd_cache.c src/cli/cmd_cap.c src/cli/cmd_cluster.c src/cli/cmd_doctor.c src/cli/cmd_events.c src/cli/cmd_guest.c \
	src/cli/cmd_load.c src/cli/cmd_policy.c src/cli/cmd_reconf.c src/cli/cmds.h \
	src/cli/cmdtable.c src/cli/cmdtable.h \
	src/cli/captest.c src/cli/captest.h \
	src/cli/doctor.c src/cli/doctor.h src/cli/doctor_priv.h \
	src/cli/doctor_cap.c src/cli/doctor_guests.c src/cli/doctor_hosts.c src/cli/doctor_say.c \
	src/cli/doctor_host.c src/cli/doctor_host.h \
	src/cli/http.c src/cli/http.h \
	src/cli/main.c \
	src/cli/options.c src/cli/options.h \
	src/cli/quantity.c src/cli/quantity.h \
	src/cli/request.c src/cli/request.h \
	src/cli/table.c src/cli/table.h \
	src/cli/cmd_trace.c \
	src/cli/cmd_top.c src/cli/top_link.c src/cli/top_link.h src/cli/top_screen.c src/cli/top_screen.h \
	$(TOP_PURE)
# What is drawn, without a terminal.
TOP_PURE = src/cli/top_grid.c src/cli/top_grid.h src/cli/top_layout.c src/cli/top_layout.h \
	src/cli/top_list.c src/cli/top_list.h src/cli/top_model.c src/cli/top_model.h
src/cli/top_screen.$(OBJEXT): AM_CPPFLAGS += $(NCURSES_CFLAGS)
resex_LDADD = libutil.a $(JANSSON_LIBS) $(NCURSES_LIBS)
