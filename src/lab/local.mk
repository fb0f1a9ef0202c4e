# liblab: scenarios on the simulated host, and experiments on simulated clusters.
noinst_LIBRARIES += liblab.a
liblab_a_SOURCES = \
	src/lab/figures.h \
	src/lab/figures_beside.c \
	src/lab/figures_cell.c \
	src/lab/figures_plot.c \
	src/lab/figures_run.c \
	src/lab/figures_svg.c \
	src/lab/figures_table.c \
	src/lab/load.c src/lab/load.h \
	src/lab/load_accuracy.c \
	src/lab/load_all.c \
	src/lab/load_log.c src/lab/load_log.h \
	src/lab/load_mix.c \
	src/lab/load_read.c src/lab/load_read.h \
	src/lab/pool.c src/lab/pool.h \
	src/lab/reconf.c src/lab/reconf.h \
	src/lab/reconf_all.c \
	src/lab/reconf_balancer.c src/lab/reconf_balancer.h \
	src/lab/reconf_forecast.c src/lab/reconf_forecast.h \
	src/lab/reconf_scene.c src/lab/reconf_scene.h \
	src/lab/record.c src/lab/record.h \
	src/lab/replay.c src/lab/replay.h \
	src/lab/replay_diff.c \
	src/lab/replay_load.c \
	src/lab/replay_read.c \
	src/lab/run.c src/lab/run.h \
	src/lab/scenario.c src/lab/scenario.h \
	src/lab/scenario_event.c \
	src/lab/scenario_find.c \
	src/lab/scenario_guest.c \
	src/lab/scenario_schema.c \
	src/lab/stat.c \
	src/lab/summary.c src/lab/summary.h \
	src/lab/sweep.h \
	src/lab/sweep_row.c \
	src/lab/sweep_scene.c

# resex-lab: experiments on simulated hosts and clusters. It runs the whole daemon on a simulated host.
bin_PROGRAMS += resex-lab
resex_lab_SOURCES = \
	include/resex/exit.h \
	src/cli/quantity.c src/cli/quantity.h src/cli/table.c src/cli/table.h \
	src/lab/figures_cmd.c src/lab/figures_cmd.h \
	src/lab/figures_file.c src/lab/figures_file.h \
	src/lab/figures_other.c \
	src/lab/lab_cmd.c src/lab/lab_cmd.h \
	src/lab/load_cmd.c src/lab/load_cmd.h \
	src/lab/load_figures.c \
	src/lab/load_options.c \
	src/lab/load_run.c \
	src/lab/load_show.c \
	src/lab/main.c \
	src/lab/reconf_cmd.c src/lab/reconf_cmd.h \
	src/lab/reconf_figures.c \
	src/lab/reconf_lists.c \
	src/lab/reconf_options.c \
	src/lab/reconf_show.c \
	src/lab/replay_cmd.c src/lab/replay_cmd.h \
	src/lab/replay_show.c src/lab/replay_show.h \
	src/lab/sweep_cmd.c src/lab/sweep_cmd.h \
	src/lab/sweep_file.c
resex_lab_LDADD = $(RESEXD_LIBS) -lm
