# tests/unit: one program a module. Append a block; keep to your own.

if CMOCKA
# main(), which runs the tests that list themselves.
check_LIBRARIES += libunit.a
libunit_a_SOURCES = tests/unit/unit.c tests/unit/unit.h
UNIT_LIBS = libunit.a $(CMOCKA_LIBS)

UNIT_CORE = tests/unit/test_budget tests/unit/test_load tests/unit/test_load_claim tests/unit/test_load_kmod tests/unit/test_caps tests/unit/test_crosscheck tests/unit/test_hostset tests/unit/test_period \
	tests/unit/test_resos tests/unit/test_resos_prop tests/unit/test_window
UNIT_UTIL = tests/unit/test_clock tests/unit/test_cmdline tests/unit/test_file tests/unit/test_log tests/unit/test_netlink \
	tests/unit/test_table tests/unit/test_doctor tests/unit/test_doctor_host tests/unit/test_top_layout tests/unit/test_top_model
check_PROGRAMS += $(UNIT_CORE) $(UNIT_UTIL)
TESTS += $(UNIT_CORE) $(UNIT_UTIL)

tests_unit_test_caps_SOURCES = tests/unit/test_caps.c tests/unit/prop.h
tests_unit_test_caps_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_crosscheck_SOURCES = tests/unit/test_crosscheck.c tests/unit/prop.h
tests_unit_test_crosscheck_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_hostset_SOURCES = tests/unit/test_hostset.c tests/unit/prop.h
tests_unit_test_hostset_LDADD = $(UNIT_LIBS)
tests_unit_test_budget_SOURCES = tests/unit/test_budget.c
tests_unit_test_budget_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_load_SOURCES = tests/unit/test_load.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_load_LDADD = libload.a $(UNIT_LIBS)
tests_unit_test_load_claim_SOURCES = tests/unit/test_load_claim.c tests/unit/prop.h
tests_unit_test_load_claim_LDADD = libload.a libshared.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_load_kmod_SOURCES = tests/unit/test_load_kmod.c tests/unit/tmpdir.h
tests_unit_test_load_kmod_LDADD = libload.a libutil.a libcore.a $(UNIT_LIBS)
tests_unit_test_period_SOURCES = tests/unit/test_period.c
tests_unit_test_period_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_resos_SOURCES = tests/unit/test_resos.c
tests_unit_test_resos_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_resos_prop_SOURCES = tests/unit/test_resos_prop.c
tests_unit_test_resos_prop_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_window_SOURCES = tests/unit/test_window.c
tests_unit_test_window_LDADD = libcore.a $(UNIT_LIBS)
tests_unit_test_clock_SOURCES = tests/unit/test_clock.c
tests_unit_test_clock_LDADD = libutil.a $(UNIT_LIBS)
tests_unit_test_cmdline_SOURCES = tests/unit/test_cmdline.c
tests_unit_test_cmdline_LDADD = libutil.a $(UNIT_LIBS)
tests_unit_test_file_SOURCES = tests/unit/test_file.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_file_LDADD = libutil.a $(UNIT_LIBS)
tests_unit_test_log_SOURCES = tests/unit/test_log.c
tests_unit_test_log_LDADD = libutil.a $(UNIT_LIBS)
tests_unit_test_netlink_SOURCES = tests/unit/test_netlink.c tests/unit/prop.h
tests_unit_test_netlink_LDADD = libutil.a $(UNIT_LIBS)
tests_unit_test_doctor_SOURCES = tests/unit/test_doctor.c tests/unit/prop.h src/cli/doctor.c src/cli/doctor.h \
	src/cli/doctor_priv.h src/cli/doctor_cap.c src/cli/doctor_guests.c src/cli/doctor_hosts.c \
	src/cli/doctor_say.c
tests_unit_test_doctor_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_doctor_host_SOURCES = tests/unit/test_doctor_host.c tests/unit/tmpdir.h tests/unit/prop.h \
	src/cli/doctor_host.c src/cli/doctor_host.h src/cli/doctor.h
tests_unit_test_doctor_host_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_table_SOURCES = tests/unit/test_table.c tests/unit/prop.h src/cli/quantity.c src/cli/quantity.h src/cli/table.c src/cli/table.h
tests_unit_test_table_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS) -lm
tests_unit_test_top_layout_SOURCES = tests/unit/test_top_layout.c tests/unit/top_rig.h tests/unit/prop.h $(TOP_PURE)
tests_unit_test_top_layout_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS) -lm
tests_unit_test_top_model_SOURCES = tests/unit/test_top_model.c tests/unit/top_rig.h tests/unit/prop.h $(TOP_PURE)
tests_unit_test_top_model_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS) -lm
endif

if CMOCKA
UNIT_POLICIES = tests/unit/test_null tests/unit/test_freemarket tests/unit/test_ratio \
	tests/unit/test_ioshares tests/unit/test_ioshares_blame tests/unit/test_ioshares_rate \
	tests/unit/test_ioshares_loop tests/unit/test_policy_files tests/unit/test_slo
check_PROGRAMS += $(UNIT_POLICIES)
TESTS += $(UNIT_POLICIES)

tests_unit_test_null_SOURCES = tests/unit/test_null.c tests/unit/policy_rig.h
tests_unit_test_null_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_freemarket_SOURCES = tests/unit/test_freemarket.c
tests_unit_test_freemarket_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
IOSHARES_RIG = tests/unit/ioshares_rig.h tests/unit/policy_rig.h tests/unit/ioshares_steps.h \
	tests/unit/steps.h
tests_unit_test_ratio_SOURCES = tests/unit/test_ratio.c tests/unit/policy_rig.h
tests_unit_test_ratio_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_ioshares_SOURCES = tests/unit/test_ioshares.c $(IOSHARES_RIG)
tests_unit_test_ioshares_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_ioshares_blame_SOURCES = tests/unit/test_ioshares_blame.c $(IOSHARES_RIG)
tests_unit_test_ioshares_blame_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_ioshares_rate_SOURCES = tests/unit/test_ioshares_rate.c $(IOSHARES_RIG)
tests_unit_test_ioshares_rate_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_ioshares_loop_SOURCES = tests/unit/test_ioshares_loop.c $(IOSHARES_RIG)
tests_unit_test_ioshares_loop_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_slo_SOURCES = tests/unit/test_slo.c tests/unit/policy_rig.h
tests_unit_test_slo_LDADD = libpolicies.a libcore.a $(UNIT_LIBS)
tests_unit_test_policy_files_SOURCES = tests/unit/test_policy_files.c
tests_unit_test_policy_files_LDADD = libpolicies.a libutil.a libcore.a $(UNIT_LIBS) $(JANSSON_LIBS)
endif

if CMOCKA
UNIT_SIM = tests/unit/test_sim tests/unit/test_sim_conf tests/unit/test_sim_life \
	tests/unit/test_sim_link tests/unit/test_sim_sender tests/unit/test_sim_server tests/unit/test_sim_queue \
	tests/unit/test_sim_ibmon tests/unit/test_sim_sched tests/unit/test_sim_run \
	tests/unit/test_hv_sim tests/unit/test_store tests/unit/test_web tests/unit/test_words tests/unit/test_load_lab \
	tests/unit/test_reconf_lab tests/unit/test_reconf_run tests/unit/test_reconf_scene tests/unit/test_reconf_forecast tests/unit/test_load_log tests/unit/test_load_read tests/unit/test_transport_sim
check_PROGRAMS += $(UNIT_SIM)
TESTS += $(UNIT_SIM)
SIM_RIG = tests/unit/sim_rig.h tests/unit/prop.h
SIM_LIBS = libsim.a libcore.a $(UNIT_LIBS)
tests_unit_test_sim_SOURCES = tests/unit/test_sim.c $(SIM_RIG)
tests_unit_test_sim_LDADD = $(SIM_LIBS)
tests_unit_test_sim_conf_SOURCES = tests/unit/test_sim_conf.c $(SIM_RIG)
tests_unit_test_sim_conf_LDADD = $(SIM_LIBS)
tests_unit_test_sim_life_SOURCES = tests/unit/test_sim_life.c $(SIM_RIG)
tests_unit_test_sim_life_LDADD = libhv.a $(SIM_LIBS)
tests_unit_test_sim_sender_SOURCES = tests/unit/test_sim_sender.c $(SIM_RIG)
tests_unit_test_sim_sender_LDADD = $(SIM_LIBS)
tests_unit_test_sim_run_SOURCES = tests/unit/test_sim_run.c $(SIM_RIG)
tests_unit_test_sim_run_LDADD = $(SIM_LIBS)
tests_unit_test_sim_sched_SOURCES = tests/unit/test_sim_sched.c $(SIM_RIG)
tests_unit_test_sim_sched_LDADD = $(SIM_LIBS)
tests_unit_test_sim_server_SOURCES = tests/unit/test_sim_server.c $(SIM_RIG)
tests_unit_test_sim_server_LDADD = libhv.a $(SIM_LIBS)
tests_unit_test_sim_queue_SOURCES = tests/unit/test_sim_queue.c $(SIM_RIG)
tests_unit_test_sim_queue_LDADD = $(SIM_LIBS) -lm
tests_unit_test_sim_ibmon_SOURCES = tests/unit/test_sim_ibmon.c $(SIM_RIG)
tests_unit_test_sim_ibmon_LDADD = libibmon.a libhv.a $(SIM_LIBS)
tests_unit_test_web_SOURCES = tests/unit/test_web.c
tests_unit_test_web_LDADD = $(SIM_LIBS) -lm
tests_unit_test_words_SOURCES = tests/unit/test_words.c
tests_unit_test_words_LDADD = $(SIM_LIBS) -lm
tests_unit_test_reconf_run_SOURCES = tests/unit/test_reconf_run.c
tests_unit_test_reconf_run_LDADD = $(LOAD_LAB_LIBS)
tests_unit_test_reconf_scene_SOURCES = tests/unit/test_reconf_scene.c tests/unit/deep.h
tests_unit_test_reconf_scene_LDADD = $(LOAD_LAB_LIBS)
tests_unit_test_reconf_forecast_SOURCES = tests/unit/test_reconf_forecast.c tests/unit/deep.h
tests_unit_test_reconf_forecast_LDADD = $(LOAD_LAB_LIBS)
tests_unit_test_reconf_lab_SOURCES = tests/unit/test_reconf_lab.c tests/unit/deep.h
tests_unit_test_reconf_lab_LDADD = $(LOAD_LAB_LIBS)
tests_unit_test_load_lab_SOURCES = tests/unit/test_load_lab.c
tests_unit_test_load_lab_LDADD = $(LOAD_LAB_LIBS)
LOAD_LAB_LIBS = liblab.a libreconf.a libload.a libshared.a libtransport.a libutil.a $(SIM_LIBS) $(ISAL_LIBS) $(NETTLE_LIBS) -lm
tests_unit_test_load_log_SOURCES = tests/unit/test_load_log.c
tests_unit_test_load_log_LDADD = liblab.a libutil.a $(UNIT_LIBS)
tests_unit_test_load_read_SOURCES = tests/unit/test_load_read.c
tests_unit_test_load_read_LDADD = $(LOAD_LAB_LIBS)
tests_unit_test_transport_sim_SOURCES = tests/unit/test_transport_sim.c
tests_unit_test_transport_sim_LDADD = libtransport.a libcore.a $(UNIT_LIBS) $(NETTLE_LIBS)
tests_unit_test_sim_link_SOURCES = tests/unit/test_sim_link.c tests/unit/prop.h
tests_unit_test_sim_link_LDADD = $(SIM_LIBS)
tests_unit_test_hv_sim_SOURCES = tests/unit/test_hv_sim.c tests/unit/prop.h
tests_unit_test_hv_sim_LDADD = libhv.a libsim.a libcore.a $(UNIT_LIBS)
tests_unit_test_store_SOURCES = tests/unit/test_store.c
tests_unit_test_store_LDADD = libhv.a libsim.a libcore.a $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_conf tests/unit/test_conf_schema tests/unit/test_utf8
TESTS += tests/unit/test_conf tests/unit/test_conf_schema tests/unit/test_utf8
tests_unit_test_utf8_SOURCES = tests/unit/test_utf8.c tests/unit/prop.h
tests_unit_test_utf8_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_conf_SOURCES = tests/unit/test_conf.c
tests_unit_test_conf_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_conf_schema_SOURCES = tests/unit/test_conf_schema.c
tests_unit_test_conf_schema_LDADD = libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
endif

if CMOCKA
UNIT_DAEMON = tests/unit/test_handover tests/unit/test_unread tests/unit/test_sampler tests/unit/test_sampler_caps \
	tests/unit/test_sampler_loads tests/unit/test_sampler_prop tests/unit/test_sampler_run tests/unit/test_sampler_second tests/unit/test_still tests/unit/test_restore \
	tests/unit/test_settings tests/unit/test_cached_conf tests/unit/test_cached_options \
	tests/unit/test_cluster_conf tests/unit/test_cluster_cached tests/unit/test_cluster_change tests/unit/test_policy_load \
	tests/unit/test_guests \
	tests/unit/test_agree tests/unit/test_cluster_reload \
	tests/unit/test_cluster tests/unit/test_cluster_claims tests/unit/test_cluster_loads tests/unit/test_cluster_locks tests/unit/test_cluster_thread \
	tests/unit/test_cluster_moves tests/unit/test_cluster_adopt tests/unit/test_cluster_history tests/unit/test_cluster_words tests/unit/test_order \
	tests/unit/test_balancer tests/unit/test_cluster_balance tests/unit/test_cluster_balances tests/unit/test_cluster_roles tests/unit/test_cluster_agent \
	tests/unit/test_cluster_reconf \
	tests/unit/test_guests_rings tests/unit/test_guests_store tests/unit/test_guests_sim tests/unit/test_guests_log \
	tests/unit/test_guests_caps tests/unit/test_own tests/unit/test_control_proto tests/unit/test_control_cmds \
	tests/unit/test_control_set tests/unit/test_control_cluster tests/unit/test_control_reconf tests/unit/test_guests_conf tests/unit/test_guests_cross \
	tests/unit/test_apart tests/unit/test_guard tests/unit/test_plugin tests/unit/test_stopped \
	tests/unit/test_control tests/unit/test_engine tests/unit/test_replay tests/unit/test_tape tests/unit/test_trace_file
check_PROGRAMS += $(UNIT_DAEMON)
TESTS += $(UNIT_DAEMON)
tests_unit_test_handover_SOURCES = tests/unit/test_handover.c tests/unit/prop.h
tests_unit_test_handover_LDADD = $(DAEMON_LIBS) $(UNIT_LIBS)
SAMPLER_RIG = tests/unit/sampler_rig.h tests/unit/prop.h tests/fakes/fake_host.c tests/fakes/fake_host.h
SAMPLER_LIBS = $(DAEMON_LIBS) libibmon.a libpolicies.a libutil.a libcore.a $(UNIT_LIBS)
tests_unit_test_replay_SOURCES = tests/unit/test_replay.c $(SAMPLER_RIG)
tests_unit_test_replay_LDADD = $(SAMPLER_LIBS) $(ISAL_LIBS) $(JANSSON_LIBS)
tests_unit_test_tape_SOURCES = tests/unit/test_tape.c tests/unit/prop.h
tests_unit_test_tape_LDADD = $(SAMPLER_LIBS) $(ISAL_LIBS)
tests_unit_test_trace_file_SOURCES = tests/unit/test_trace_file.c
tests_unit_test_trace_file_LDADD = libtick.a libutil.a libcore.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_sampler_SOURCES = tests/unit/test_sampler.c $(SAMPLER_RIG)
tests_unit_test_sampler_LDADD = $(SAMPLER_LIBS)
tests_unit_test_unread_SOURCES = tests/unit/test_unread.c tests/unit/prop.h
tests_unit_test_unread_LDADD = $(SAMPLER_LIBS)
tests_unit_test_sampler_caps_SOURCES = tests/unit/test_sampler_caps.c tests/unit/steps.h $(SAMPLER_RIG)
tests_unit_test_sampler_caps_LDADD = $(SAMPLER_LIBS)
tests_unit_test_restore_SOURCES = tests/unit/test_restore.c tests/unit/tmpdir.h tests/unit/prop.h \
	tests/fakes/fake_host.c tests/fakes/fake_host.h
tests_unit_test_restore_LDADD = $(DAEMON_LIBS) libutil.a libcore.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_cluster_conf_SOURCES = tests/unit/test_cluster_conf.c tests/unit/cluster_conf_rig.h tests/unit/examples.h \
	tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_cluster_conf_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(UNIT_LIBS) \
	$(JANSSON_LIBS)
tests_unit_test_cluster_cached_SOURCES = tests/unit/test_cluster_cached.c tests/unit/cluster_conf_rig.h \
	tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_cluster_cached_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(UNIT_LIBS) \
	$(JANSSON_LIBS)
tests_unit_test_cached_conf_SOURCES = tests/unit/test_cached_conf.c tests/unit/examples.h tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_cached_conf_LDADD = libcached.a $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(UNIT_LIBS) \
	$(JANSSON_LIBS)
tests_unit_test_cached_options_SOURCES = tests/unit/test_cached_options.c
tests_unit_test_cached_options_LDADD = libcached.a libutil.a $(UNIT_LIBS)
tests_unit_test_cluster_change_SOURCES = tests/unit/test_cluster_change.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_cluster_change_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(UNIT_LIBS) \
	$(JANSSON_LIBS)
tests_unit_test_settings_SOURCES = tests/unit/test_settings.c tests/unit/examples.h \
	tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_settings_LDADD = $(DAEMON_LIBS) libcounters.a libpolicies.a libutil.a libcore.a $(UNIT_LIBS) $(JANSSON_LIBS)
# A policy that misbehaves: a sanitizer would end the program before the guard sees it.
check_LIBRARIES += librogue.a
librogue_a_SOURCES = tests/fakes/fake_rogue.c tests/fakes/fake_rogue.h
librogue_a_CFLAGS = -std=gnu11
tests_unit_test_apart_SOURCES = tests/unit/test_apart.c tests/unit/timers.h $(SAMPLER_RIG)
tests_unit_test_apart_LDADD = $(SAMPLER_LIBS) librogue.a $(JANSSON_LIBS)
tests_unit_test_stopped_SOURCES = tests/unit/test_stopped.c $(GUESTS_RIG)
tests_unit_test_stopped_LDADD = $(GUESTS_LIBS) librogue.a
tests_unit_test_guard_SOURCES = tests/unit/test_guard.c tests/unit/prop.h tests/unit/timers.h
tests_unit_test_guard_LDADD = libutil.a libcore.a $(UNIT_LIBS)
tests_unit_test_plugin_SOURCES = tests/unit/test_plugin.c tests/unit/examples.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_plugin_LDADD = libconf.a libpolicies.a libutil.a libcore.a librogue.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_policy_load_SOURCES = tests/unit/test_policy_load.c tests/unit/examples.h \
	tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_policy_load_LDADD = $(DAEMON_LIBS) libpolicies.a libutil.a libcore.a $(UNIT_LIBS) $(JANSSON_LIBS)
GUESTS_RIG = tests/unit/guests_rig.h tests/unit/tmpdir.h tests/unit/prop.h \
	tests/fakes/fake_host.c tests/fakes/fake_host.h tests/fakes/fake_guest.c tests/fakes/fake_guest.h
GUESTS_LIBS = $(DAEMON_LIBS) libibmon.a libcounters.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a \
	$(UNIT_LIBS) $(JANSSON_LIBS) $(EVENT_LIBS)
tests_unit_test_guests_SOURCES = tests/unit/test_guests.c $(GUESTS_RIG)
tests_unit_test_guests_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_log_SOURCES = tests/unit/test_guests_log.c $(GUESTS_RIG)
tests_unit_test_guests_log_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_store_SOURCES = tests/unit/test_guests_store.c $(GUESTS_RIG)
tests_unit_test_guests_store_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_rings_SOURCES = tests/unit/test_guests_rings.c tests/unit/steps.h $(GUESTS_RIG)
tests_unit_test_guests_rings_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_sim_SOURCES = tests/unit/test_guests_sim.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_guests_sim_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS)
tests_unit_test_own_SOURCES = tests/unit/test_own.c $(GUESTS_RIG)
tests_unit_test_own_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_caps_SOURCES = tests/unit/test_guests_caps.c $(GUESTS_RIG)
tests_unit_test_guests_caps_LDADD = $(GUESTS_LIBS)
tests_unit_test_control_proto_SOURCES = tests/unit/test_control_proto.c tests/unit/examples.h tests/unit/prop.h
tests_unit_test_control_proto_LDADD = $(DAEMON_LIBS) libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_control_cmds_SOURCES = tests/unit/test_control_cmds.c tests/unit/control_rig.h $(GUESTS_RIG)
CONTROL_CLUSTER_RIG = tests/unit/control_cluster_rig.h tests/unit/control_rig.h \
	tests/fakes/fake_cluster.c tests/fakes/fake_cluster.h $(GUESTS_RIG)
tests_unit_test_control_cluster_SOURCES = tests/unit/test_control_cluster.c $(CONTROL_CLUSTER_RIG)
tests_unit_test_control_reconf_SOURCES = tests/unit/test_control_reconf.c $(CONTROL_CLUSTER_RIG)
tests_unit_test_control_reconf_LDADD = $(GUESTS_LIBS)
tests_unit_test_control_cluster_LDADD = $(GUESTS_LIBS)
tests_unit_test_agree_SOURCES = tests/unit/test_agree.c
tests_unit_test_agree_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_reload_SOURCES = tests/unit/test_cluster_reload.c $(CLUSTER_RIG)
tests_unit_test_cluster_reload_LDADD = $(GUESTS_LIBS)
CLUSTER_RIG = tests/unit/cluster_rig.h $(GUESTS_RIG)
tests_unit_test_cluster_SOURCES = tests/unit/test_cluster.c $(CLUSTER_RIG)
tests_unit_test_cluster_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_claims_SOURCES = tests/unit/test_cluster_claims.c $(CLUSTER_RIG)
tests_unit_test_cluster_claims_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_loads_SOURCES = tests/unit/test_cluster_loads.c $(CLUSTER_RIG)
tests_unit_test_cluster_loads_LDADD = $(GUESTS_LIBS)
tests_unit_test_balancer_SOURCES = tests/unit/test_balancer.c
tests_unit_test_balancer_LDADD = libcluster.a $(UNIT_LIBS)
tests_unit_test_cluster_balance_SOURCES = tests/unit/test_cluster_balance.c \
	tests/unit/cluster_conf_rig.h
tests_unit_test_cluster_balance_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(UNIT_LIBS) \
	$(JANSSON_LIBS)
tests_unit_test_cluster_reconf_SOURCES = tests/unit/test_cluster_reconf.c \
	tests/unit/cluster_conf_rig.h
tests_unit_test_cluster_reconf_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(UNIT_LIBS) \
	$(JANSSON_LIBS)
BALANCES_RIG = tests/unit/balances_rig.h tests/fakes/fake_haproxy.c tests/fakes/fake_haproxy.h $(CLUSTER_RIG)
tests_unit_test_cluster_agent_SOURCES = tests/unit/test_cluster_agent.c $(BALANCES_RIG)
tests_unit_test_cluster_agent_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_roles_SOURCES = tests/unit/test_cluster_roles.c $(BALANCES_RIG)
tests_unit_test_cluster_roles_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_balances_SOURCES = tests/unit/test_cluster_balances.c $(BALANCES_RIG)
tests_unit_test_cluster_balances_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_moves_SOURCES = tests/unit/test_cluster_moves.c $(CLUSTER_RIG)
tests_unit_test_cluster_moves_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_adopt_SOURCES = tests/unit/test_cluster_adopt.c $(CLUSTER_RIG)
tests_unit_test_cluster_adopt_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_words_SOURCES = tests/unit/test_cluster_words.c $(CLUSTER_RIG)
tests_unit_test_cluster_words_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_history_SOURCES = tests/unit/test_cluster_history.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_cluster_history_LDADD = libcluster.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_order_SOURCES = tests/unit/test_order.c
tests_unit_test_order_LDADD = libcluster.a $(GUESTS_LIBS)
tests_unit_test_cluster_locks_SOURCES = tests/unit/test_cluster_locks.c $(CLUSTER_RIG)
tests_unit_test_cluster_locks_LDADD = $(GUESTS_LIBS)
tests_unit_test_cluster_thread_SOURCES = tests/unit/test_cluster_thread.c $(CLUSTER_RIG)
tests_unit_test_cluster_thread_LDADD = $(GUESTS_LIBS)
tests_unit_test_control_set_SOURCES = tests/unit/test_control_set.c tests/unit/control_rig.h $(GUESTS_RIG)
tests_unit_test_control_set_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_cross_SOURCES = tests/unit/test_guests_cross.c tests/unit/control_rig.h $(GUESTS_RIG)
tests_unit_test_guests_cross_LDADD = $(GUESTS_LIBS)
tests_unit_test_guests_conf_SOURCES = tests/unit/test_guests_conf.c $(GUESTS_RIG)
tests_unit_test_guests_conf_LDADD = $(GUESTS_LIBS)
tests_unit_test_control_cmds_LDADD = $(GUESTS_LIBS)
tests_unit_test_control_SOURCES = tests/unit/test_control.c tests/unit/server_rig.h tests/fakes/fake_cluster.c \
	tests/fakes/fake_cluster.h $(GUESTS_RIG)
tests_unit_test_control_LDADD = $(GUESTS_LIBS)
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_engine_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS)
tests_unit_test_sampler_second_SOURCES = tests/unit/test_sampler_second.c $(SAMPLER_RIG)
tests_unit_test_sampler_second_LDADD = $(SAMPLER_LIBS)
tests_unit_test_sampler_loads_SOURCES = tests/unit/test_sampler_loads.c $(SAMPLER_RIG)
tests_unit_test_sampler_loads_LDADD = $(SAMPLER_LIBS)
tests_unit_test_sampler_prop_SOURCES = tests/unit/test_sampler_prop.c $(SAMPLER_RIG)
tests_unit_test_sampler_prop_LDADD = $(SAMPLER_LIBS)
tests_unit_test_still_SOURCES = tests/unit/test_still.c $(SAMPLER_RIG)
tests_unit_test_still_LDADD = $(SAMPLER_LIBS)
tests_unit_test_sampler_run_SOURCES = tests/unit/test_sampler_run.c $(SAMPLER_RIG)
tests_unit_test_sampler_run_LDADD = $(SAMPLER_LIBS)
endif

if CMOCKA
check_PROGRAMS += tests/unit/test_ring_hostile
TESTS += tests/unit/test_ring_hostile
tests_unit_test_ring_hostile_SOURCES = tests/unit/test_ring_hostile.c tests/fakes/fake_ring.c \
	tests/fakes/fake_ring.h
tests_unit_test_ring_hostile_LDADD = libibmon.a libcore.a $(UNIT_LIBS)
UNIT_IBMON = tests/unit/test_mtu tests/unit/test_ring_rxe tests/unit/test_ring_fault \
	tests/unit/test_scan tests/unit/test_guest tests/unit/test_guest_back tests/unit/test_guest_doorbell tests/unit/test_guest_kept tests/unit/test_guest_load tests/unit/test_guest_missed tests/unit/test_guest_moved tests/unit/test_registry tests/unit/test_latency \
	tests/unit/test_ring_mlx4 tests/unit/test_ring_mlx4_cq tests/unit/test_ring_mlx5 tests/unit/test_ring_rxe_prop tests/unit/test_ring_run tests/unit/test_golden_mlx tests/unit/test_golden_rxe
check_PROGRAMS += $(UNIT_IBMON)
TESTS += $(UNIT_IBMON)
FAKE_RING = tests/fakes/fake_ring.c tests/fakes/fake_ring.h tests/unit/prop.h
FAKE_GUEST = tests/fakes/fake_guest.c tests/fakes/fake_guest.h tests/fakes/fake_latency.h
IBMON_LIBS = libibmon.a libcore.a $(UNIT_LIBS)
tests_unit_test_latency_SOURCES = tests/unit/test_latency.c tests/fakes/fake_latency.h tests/unit/prop.h
tests_unit_test_latency_LDADD = $(IBMON_LIBS)
tests_unit_test_mtu_SOURCES = tests/unit/test_mtu.c tests/unit/prop.h
tests_unit_test_mtu_LDADD = $(IBMON_LIBS)
tests_unit_test_ring_rxe_SOURCES = tests/unit/test_ring_rxe.c tests/unit/ring_rig.h tests/unit/steps.h $(FAKE_RING)
tests_unit_test_ring_rxe_LDADD = $(IBMON_LIBS)
tests_unit_test_ring_fault_SOURCES = tests/unit/test_ring_fault.c tests/unit/ring_rig.h $(FAKE_RING)
tests_unit_test_ring_fault_LDADD = $(IBMON_LIBS)
tests_unit_test_scan_SOURCES = tests/unit/test_scan.c $(FAKE_RING) $(FAKE_GUEST)
tests_unit_test_scan_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_SOURCES = tests/unit/test_guest.c $(FAKE_GUEST) $(FAKE_RING) \
	tests/unit/guest_rig.h
tests_unit_test_ring_mlx4_SOURCES = tests/unit/test_ring_mlx4.c tests/unit/ring_mlx_both.h tests/unit/ring_mlx_rig.h tests/unit/ring_mlx4_rig.h
tests_unit_test_ring_mlx4_LDADD = $(IBMON_LIBS)
tests_unit_test_ring_mlx4_cq_SOURCES = tests/unit/test_ring_mlx4_cq.c tests/unit/ring_mlx_rig.h tests/unit/ring_mlx4_rig.h
tests_unit_test_ring_mlx4_cq_LDADD = $(IBMON_LIBS)
tests_unit_test_ring_mlx5_SOURCES = tests/unit/test_ring_mlx5.c tests/unit/ring_mlx_both.h tests/unit/ring_mlx_rig.h tests/unit/ring_mlx5_rig.h
tests_unit_test_ring_mlx5_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_doorbell_SOURCES = tests/unit/test_guest_doorbell.c $(FAKE_GUEST) $(FAKE_RING) \
	tests/unit/guest_rig.h
tests_unit_test_guest_doorbell_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_back_SOURCES = tests/unit/test_guest_back.c $(FAKE_GUEST) \
	tests/unit/guest_rig.h
tests_unit_test_guest_back_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_kept_SOURCES = tests/unit/test_guest_kept.c $(FAKE_GUEST) $(FAKE_RING) \
	tests/unit/guest_rig.h
tests_unit_test_guest_kept_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_moved_SOURCES = tests/unit/test_guest_moved.c $(FAKE_GUEST) tests/unit/guest_rig.h
tests_unit_test_guest_moved_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_load_SOURCES = tests/unit/test_guest_load.c $(FAKE_GUEST) tests/unit/guest_rig.h
tests_unit_test_guest_load_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_LDADD = $(IBMON_LIBS)
tests_unit_test_guest_missed_SOURCES = tests/unit/test_guest_missed.c $(FAKE_GUEST) tests/unit/prop.h tests/unit/guest_rig.h
tests_unit_test_guest_missed_LDADD = $(IBMON_LIBS)
tests_unit_test_registry_SOURCES = tests/unit/test_registry.c $(FAKE_GUEST) tests/unit/prop.h
tests_unit_test_registry_LDADD = $(IBMON_LIBS)
tests_unit_test_ring_rxe_prop_SOURCES = tests/unit/test_ring_rxe_prop.c $(FAKE_RING)
tests_unit_test_ring_rxe_prop_LDADD = $(IBMON_LIBS)
tests_unit_test_ring_run_SOURCES = tests/unit/test_ring_run.c $(FAKE_RING)
tests_unit_test_ring_run_LDADD = $(IBMON_LIBS)
tests_unit_test_golden_mlx_SOURCES = tests/unit/test_golden_mlx.c tests/unit/mlx_replay.h tests/unit/mlx_flip.h \
	tests/fakes/golden.c tests/fakes/golden.h
tests_unit_test_golden_mlx_CPPFLAGS = $(AM_CPPFLAGS) -DGOLDEN_DIR='"$(abs_top_srcdir)/tests/golden"'
tests_unit_test_golden_mlx_LDADD = $(IBMON_LIBS)
tests_unit_test_golden_rxe_SOURCES = tests/unit/test_golden_rxe.c tests/fakes/golden.c \
	tests/fakes/golden.h tests/unit/prop.h
tests_unit_test_golden_rxe_CPPFLAGS = $(AM_CPPFLAGS) \
	-DGOLDEN_DIR='"$(abs_top_srcdir)/tests/golden"'
tests_unit_test_golden_rxe_LDADD = $(IBMON_LIBS)
check_PROGRAMS += tests/unit/test_guest_layout tests/unit/test_layout tests/unit/test_public
TESTS += tests/unit/test_guest_layout tests/unit/test_layout tests/unit/test_public
tests_unit_test_guest_layout_SOURCES = tests/unit/test_guest_layout.c tests/fakes/fake_layout.c tests/fakes/fake_layout.h \
	$(FAKE_GUEST) $(FAKE_RING) tests/unit/guest_rig.h
tests_unit_test_guest_layout_LDADD = $(IBMON_LIBS)
PUBLIC_RIG = tests/unit/public_rig.h tests/fakes/golden.c tests/fakes/golden.h
tests_unit_test_layout_SOURCES = tests/unit/test_layout.c tests/fakes/fake_layout.c tests/fakes/fake_layout.h \
	tests/unit/examples.h tests/unit/tmpdir.h tests/unit/prop.h $(PUBLIC_RIG)
tests_unit_test_layout_CPPFLAGS = $(tests_unit_test_golden_mlx_CPPFLAGS)
tests_unit_test_layout_LDADD = libibmon.a libutil.a libcore.a $(UNIT_LIBS)
tests_unit_test_public_SOURCES = tests/unit/test_public.c $(PUBLIC_RIG)
tests_unit_test_public_CPPFLAGS = $(tests_unit_test_golden_mlx_CPPFLAGS)
tests_unit_test_public_LDADD = libibmon.a libutil.a libcore.a $(UNIT_LIBS)
if VERBS
check_PROGRAMS += tests/unit/test_rxe_layout
TESTS += tests/unit/test_rxe_layout
tests_unit_test_rxe_layout_SOURCES = tests/unit/test_rxe_layout.c tests/fakes/fake_ring.h
tests_unit_test_rxe_layout_LDADD = $(UNIT_LIBS)
# Its open() and others come before those of libc, for libibverbs and providers, too.
FAKEVERBS = tests/fakeverbs/fakeverbs.c tests/fakeverbs/fakeverbs.h tests/fakeverbs/fakeverbs_priv.h tests/fakeverbs/mlx4.c tests/fakeverbs/mlx5.c
GOLDEN_MLX = tests/unit/test_golden_mlx4 tests/unit/test_golden_mlx4_laps tests/unit/test_golden_mlx5 tests/unit/test_golden_mlx5_laps
check_PROGRAMS += $(GOLDEN_MLX)
TESTS += $(GOLDEN_MLX)
MLX_RIG = tests/fakes/golden.c tests/fakes/golden.h tests/unit/mlx_flip.h tests/unit/mlx_record.h tests/unit/mlx_replay.h tests/unit/mlx_golden.h tests/unit/mlx_laps.h tests/unit/mlx_rig.h tests/unit/mlx4_rig.h tests/unit/mlx5_rig.h tests/unit/provider_rig.h $(FAKEVERBS)
tests_unit_test_golden_mlx4_SOURCES = tests/unit/test_golden_mlx4.c $(MLX_RIG)
tests_unit_test_golden_mlx4_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_test_golden_mlx4_LDADD = $(IBMON_LIBS) $(VERBS_LIBS)
tests_unit_test_golden_mlx4_laps_SOURCES = tests/unit/test_golden_mlx4_laps.c $(MLX_RIG)
tests_unit_test_golden_mlx4_laps_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_test_golden_mlx4_laps_LDADD = $(IBMON_LIBS) $(VERBS_LIBS)
tests_unit_test_golden_mlx5_SOURCES = tests/unit/test_golden_mlx5.c $(MLX_RIG)
tests_unit_test_golden_mlx5_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_test_golden_mlx5_LDADD = $(IBMON_LIBS) $(VERBS_LIBS)
tests_unit_test_golden_mlx5_laps_SOURCES = tests/unit/test_golden_mlx5_laps.c $(MLX_RIG)
tests_unit_test_golden_mlx5_laps_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_test_golden_mlx5_laps_LDADD = $(IBMON_LIBS) $(VERBS_LIBS)
check_PROGRAMS += tests/unit/test_rings tests/unit/test_rings_mlx4
TESTS += tests/unit/test_rings tests/unit/test_rings_mlx4
RINGS_RIG = tests/unit/rings_app.h tests/unit/rings_both.h tests/unit/rings_rig.h tests/unit/tmpdir.h
tests_unit_test_rings_SOURCES = tests/unit/test_rings.c $(RINGS_RIG) $(MLX_RIG)
tests_unit_test_rings_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_test_rings_LDADD = libagent.a libload.a libshared.a libreconf.a $(IBMON_LIBS) libutil.a $(EVENT_LIBS) $(ISAL_LIBS) $(XENGUEST_LIBS) $(VERBS_LIBS)
EXTRA_tests_unit_test_rings_DEPENDENCIES = libresex-rings.so tests/unit/rings_loader tests/unit/rings_plugin.so
tests_unit_test_rings_mlx4_SOURCES = tests/unit/test_rings_mlx4.c $(RINGS_RIG) $(MLX_RIG)
tests_unit_test_rings_mlx4_LDFLAGS = $(tests_unit_test_rings_LDFLAGS)
tests_unit_test_rings_mlx4_LDADD = $(tests_unit_test_rings_LDADD)
EXTRA_tests_unit_test_rings_mlx4_DEPENDENCIES = libresex-rings.so
# A program that test_rings runs, and what that loads.
check_PROGRAMS += tests/unit/rings_loader tests/unit/rings_plugin.so
tests_unit_rings_loader_SOURCES = tests/unit/rings_loader.c tests/unit/rings_app.h $(FAKEVERBS)
tests_unit_rings_loader_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
tests_unit_rings_plugin_so_SOURCES = tests/unit/rings_plugin.c tests/unit/rings_app.h
tests_unit_rings_plugin_so_CFLAGS = -std=gnu11 $(WARN) -fPIC
tests_unit_rings_plugin_so_LDFLAGS = -shared
tests_unit_rings_plugin_so_LDADD = $(VERBS_LIBS)
endif
endif

if CMOCKA
UNIT_AGENT = tests/unit/test_agent_maps tests/unit/test_agent_classify tests/unit/test_agent_nldev \
	tests/unit/test_agent_book tests/unit/test_agent_latency tests/unit/test_agent_options \
	tests/unit/test_agent_devices tests/unit/test_agent_procs \
	tests/unit/test_agent_qpns tests/unit/test_agent_track \
	tests/unit/test_agent_pagemap tests/unit/test_agent_load tests/unit/test_agent_wanted \
	tests/unit/test_agent_queues tests/unit/test_rings_list
check_PROGRAMS += $(UNIT_AGENT)
TESTS += $(UNIT_AGENT)
tests_unit_test_agent_maps_SOURCES = tests/unit/test_agent_maps.c tests/unit/prop.h
tests_unit_test_agent_maps_LDADD = libagent.a $(UNIT_LIBS)
tests_unit_test_agent_pagemap_SOURCES = tests/unit/test_agent_pagemap.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_agent_pagemap_LDADD = libagent.a $(UNIT_LIBS)
tests_unit_test_agent_classify_SOURCES = tests/unit/test_agent_classify.c tests/unit/prop.h
tests_unit_test_agent_classify_LDADD = libagent.a $(UNIT_LIBS)
tests_unit_test_agent_nldev_SOURCES = tests/unit/test_agent_nldev.c tests/unit/prop.h
tests_unit_test_agent_nldev_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_procs_SOURCES = tests/unit/test_agent_procs.c tests/unit/prop.h
tests_unit_test_agent_procs_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_rings_list_SOURCES = tests/unit/test_rings_list.c ibmon/rings/queue_list.c ibmon/rings/queue_list.h tests/unit/prop.h
tests_unit_test_rings_list_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_queues_SOURCES = tests/unit/test_agent_queues.c tests/unit/prop.h
tests_unit_test_agent_queues_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_qpns_SOURCES = tests/unit/test_agent_qpns.c tests/unit/prop.h
tests_unit_test_agent_qpns_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_book_SOURCES = tests/unit/test_agent_book.c tests/unit/prop.h
tests_unit_test_agent_book_LDADD = libagent.a libibmon.a libshared.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_agent_load_SOURCES = tests/unit/test_agent_load.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_agent_load_LDADD = libagent.a libload.a libshared.a libutil.a $(ISAL_LIBS) $(IBMON_LIBS)
tests_unit_test_agent_latency_SOURCES = tests/unit/test_agent_latency.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_agent_latency_LDADD = libagent.a libshared.a libutil.a $(ISAL_LIBS) $(IBMON_LIBS)
tests_unit_test_agent_devices_SOURCES = tests/unit/test_agent_devices.c tests/unit/tmpdir.h
tests_unit_test_agent_devices_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_track_SOURCES = tests/unit/test_agent_track.c
tests_unit_test_agent_track_LDADD = libagent.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_wanted_SOURCES = tests/unit/test_agent_wanted.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_agent_wanted_LDADD = libagent.a libreconf.a libutil.a $(UNIT_LIBS)
tests_unit_test_agent_options_SOURCES = tests/unit/test_agent_options.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_agent_options_LDADD = libagent.a libibmon.a libutil.a $(UNIT_LIBS)
endif

if CMOCKA
UNIT_OPTIONS = tests/unit/test_daemon_options
check_PROGRAMS += $(UNIT_OPTIONS)
TESTS += $(UNIT_OPTIONS)
tests_unit_test_daemon_options_SOURCES = tests/unit/test_daemon_options.c src/daemon/options.c
tests_unit_test_daemon_options_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS)
endif

if CMOCKA
UNIT_SCENARIO = tests/unit/test_figures tests/unit/test_figures_other tests/unit/test_scenario tests/unit/test_scenario_run tests/unit/test_sweep tests/unit/test_why_truth
check_PROGRAMS += $(UNIT_SCENARIO)
TESTS += $(UNIT_SCENARIO)
tests_unit_test_figures_SOURCES = tests/unit/test_figures.c
tests_unit_test_figures_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS) -lm
tests_unit_test_figures_other_SOURCES = tests/unit/test_figures_other.c src/lab/figures_file.c src/lab/figures_other.c src/lab/lab_cmd.c
tests_unit_test_figures_other_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS) -lm
tests_unit_test_sweep_SOURCES = tests/unit/test_sweep.c
tests_unit_test_sweep_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS) -lm
tests_unit_test_scenario_SOURCES = tests/unit/test_scenario.c tests/unit/examples.h \
	tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_scenario_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS)
tests_unit_test_scenario_run_SOURCES = tests/unit/test_scenario_run.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_scenario_run_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS)
tests_unit_test_why_truth_SOURCES = tests/unit/test_why_truth.c tests/unit/truth_holds.h tests/unit/truth_slo.h \
	tests/unit/truth_rig.h tests/unit/tmpdir.h
tests_unit_test_why_truth_LDADD = $(RESEXD_LIBS) $(UNIT_LIBS) -lm
endif

if CMOCKA
check_PROGRAMS += tests/unit/test_report
TESTS += tests/unit/test_report
tests_unit_test_report_SOURCES = tests/unit/test_report.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_report_LDADD = libagent.a libresex-report.a libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
endif

if CMOCKA
check_PROGRAMS += tests/unit/test_counters
TESTS += tests/unit/test_counters
tests_unit_test_counters_SOURCES = tests/unit/test_counters.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_counters_LDADD = libcounters.a libsim.a libutil.a libcore.a $(UNIT_LIBS)
endif

if CMOCKA
UNIT_BENCHEX = tests/unit/test_hist tests/unit/test_benchex_price tests/unit/test_benchex_trace \
	tests/unit/test_benchex_options tests/unit/test_benchex_result
check_PROGRAMS += $(UNIT_BENCHEX)
TESTS += $(UNIT_BENCHEX)
tests_unit_test_hist_SOURCES = tests/unit/test_hist.c tests/unit/prop.h
tests_unit_test_hist_LDADD = libutil.a libcore.a $(UNIT_LIBS)
BENCHEX_LIBS = libbenchex.a libutil.a libcore.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_benchex_price_SOURCES = tests/unit/test_benchex_price.c tests/unit/prop.h
tests_unit_test_benchex_price_LDADD = $(BENCHEX_LIBS)
tests_unit_test_benchex_trace_SOURCES = tests/unit/test_benchex_trace.c tests/unit/tmpdir.h \
	tests/unit/prop.h
tests_unit_test_benchex_trace_LDADD = $(BENCHEX_LIBS)
BENCHEX_RIG = tests/unit/benchex_rig.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_benchex_options_SOURCES = tests/unit/test_benchex_options.c $(BENCHEX_RIG)
tests_unit_test_benchex_options_LDADD = $(BENCHEX_LIBS)
tests_unit_test_benchex_result_SOURCES = tests/unit/test_benchex_result.c $(BENCHEX_RIG)
tests_unit_test_benchex_result_LDADD = $(BENCHEX_LIBS)
endif

if CMOCKA
UNIT_BENCHEX_WIRE = tests/unit/test_benchex_hello tests/unit/test_benchex_plan
check_PROGRAMS += $(UNIT_BENCHEX_WIRE)
TESTS += $(UNIT_BENCHEX_WIRE)
tests_unit_test_benchex_hello_SOURCES = tests/unit/test_benchex_hello.c tests/unit/prop.h
tests_unit_test_benchex_hello_LDADD = libbenchex.a libcore.a $(UNIT_LIBS)
tests_unit_test_benchex_plan_SOURCES = tests/unit/test_benchex_plan.c tests/unit/prop.h
tests_unit_test_benchex_plan_LDADD = libbenchex.a libcore.a $(UNIT_LIBS)
endif

if CMOCKA
UNIT_REGION = tests/unit/test_nodes_file tests/unit/test_record tests/unit/test_region tests/unit/test_region_cache tests/unit/test_peers \
	tests/unit/test_peers_nodes tests/unit/test_peers_shm tests/unit/test_region_page tests/unit/test_region_golden \
	tests/unit/test_runner tests/unit/test_recovery
check_PROGRAMS += $(UNIT_REGION)
TESTS += $(UNIT_REGION)

tests_unit_test_nodes_file_SOURCES = tests/unit/test_nodes_file.c tests/unit/prop.h tests/unit/tmpdir.h
tests_unit_test_nodes_file_LDADD = libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_record_SOURCES = tests/unit/test_record.c tests/unit/prop.h
tests_unit_test_record_LDADD = libreconf.a libshared.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_region_SOURCES = tests/unit/test_region.c tests/unit/prop.h
tests_unit_test_region_LDADD = libreconf.a libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_region_cache_SOURCES = tests/unit/test_region_cache.c tests/unit/prop.h
tests_unit_test_region_cache_LDADD = libreconf.a libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_region_page_SOURCES = tests/unit/test_region_page.c tests/unit/examples.h tests/unit/prop.h
tests_unit_test_region_page_LDADD = libreconf.a libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_region_golden_SOURCES = tests/unit/test_region_golden.c tests/unit/examples.h tests/unit/prop.h
tests_unit_test_region_golden_LDADD = libreconf.a libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
EXTRA_DIST += tests/golden/region
tests_unit_test_peers_SOURCES = tests/unit/test_peers.c tests/unit/prop.h tests/unit/steps.h \
	tests/fakes/fake_transport.c tests/fakes/fake_transport.h
tests_unit_test_peers_LDADD = libreconf.a libshared.a libutil.a $(ISAL_LIBS) $(UNIT_LIBS)
tests_unit_test_peers_nodes_SOURCES = tests/unit/test_peers_nodes.c \
	tests/fakes/fake_transport.c tests/fakes/fake_transport.h
tests_unit_test_peers_nodes_LDADD = $(tests_unit_test_peers_LDADD)
tests_unit_test_runner_SOURCES = tests/unit/test_runner.c tests/unit/prop.h tests/unit/tmpdir.h
tests_unit_test_runner_LDADD = $(CLUSTER_LIBS) libutil.a $(UNIT_LIBS)
tests_unit_test_recovery_SOURCES = tests/unit/test_recovery.c tests/bench/recovery_sim.c \
	tests/bench/recovery_sim.h tests/bench/lock_host.c tests/bench/lock_host.h \
	tests/unit/prop.h tests/unit/tmpdir.h
tests_unit_test_recovery_LDADD = $(CLUSTER_LIBS) libutil.a $(UNIT_LIBS)
tests/shared/planted/recovery-%: tests/shared/planted/%.o $(tests_unit_test_recovery_OBJECTS) $(tests_unit_test_recovery_DEPENDENCIES)
	$(AM_V_CCLD)$(LINK) $(tests_unit_test_recovery_OBJECTS) $< $(tests_unit_test_recovery_LDADD) $(LIBS)
tests_unit_test_peers_shm_SOURCES = tests/unit/test_peers_shm.c tests/unit/prop.h tests/unit/tmpdir.h
tests_unit_test_peers_shm_LDADD = libreconf.a libshared.a libtransport.a libutil.a $(RDMACM_LIBS) \
	$(VERBS_LIBS) $(NETTLE_LIBS) $(ISAL_LIBS) $(UNIT_LIBS)

if COROSYNC
check_PROGRAMS += tests/unit/test_member
TESTS += tests/unit/test_member
tests_unit_test_member_SOURCES = tests/unit/test_member.c tests/unit/prop.h tests/unit/steps.h \
	tests/fakes/fake_quorum.c tests/fakes/fake_quorum.h
tests_unit_test_member_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
check_PROGRAMS += tests/unit/test_cluster_member
TESTS += tests/unit/test_cluster_member
tests_unit_test_cluster_member_SOURCES = tests/unit/test_cluster_member.c tests/fakes/fake_quorum.c \
	tests/fakes/fake_quorum.h $(CLUSTER_RIG)
tests_unit_test_cluster_member_LDADD = $(GUESTS_LIBS)
endif
endif

if CMOCKA
UNIT_TRANSPORT_HELLO = tests/unit/test_hello tests/unit/test_hello_self
check_PROGRAMS += $(UNIT_TRANSPORT_HELLO)
TESTS += $(UNIT_TRANSPORT_HELLO)
tests_unit_test_hello_SOURCES = tests/unit/test_hello.c tests/unit/hello_rig.h tests/unit/prop.h
tests_unit_test_hello_LDADD = libtransport.a $(UNIT_LIBS) $(NETTLE_LIBS)
tests_unit_test_hello_self_SOURCES = tests/unit/test_hello_self.c tests/unit/hello_rig.h \
	tests/unit/prop.h
tests_unit_test_hello_self_LDADD = libtransport.a $(UNIT_LIBS) $(NETTLE_LIBS)
endif

if CMOCKA
if VERBS
check_PROGRAMS += tests/unit/test_transport_verbs tests/unit/test_reaper
TESTS += tests/unit/test_transport_verbs tests/unit/test_reaper
tests_unit_test_reaper_SOURCES = tests/unit/test_reaper.c
tests_unit_test_reaper_LDADD = libtransport.a $(UNIT_LIBS)
tests_unit_test_transport_verbs_SOURCES = tests/unit/test_transport_verbs.c
tests_unit_test_transport_verbs_LDADD = libtransport.a $(UNIT_LIBS) $(NETTLE_LIBS) \
	$(RDMACM_LIBS) $(VERBS_LIBS)
endif
endif

if CMOCKA
UNIT_TRANSPORT = tests/unit/test_shm_life tests/unit/test_transport_front tests/unit/test_transport_links \
	tests/unit/test_shm_owner tests/unit/test_transport_shm tests/unit/test_transport_shm_faults
check_PROGRAMS += $(UNIT_TRANSPORT)
TESTS += $(UNIT_TRANSPORT)
TRANSPORT_LIBS = libtransport.a $(RDMACM_LIBS) $(VERBS_LIBS) $(NETTLE_LIBS) $(UNIT_LIBS)
FRONT_RIG = tests/unit/front_rig.h tests/unit/prop.h
tests_unit_test_shm_life_SOURCES = tests/unit/test_shm_life.c
tests_unit_test_shm_life_LDADD = libtransport.a $(UNIT_LIBS)
tests_unit_test_transport_front_SOURCES = tests/unit/test_transport_front.c $(FRONT_RIG)
tests_unit_test_transport_front_LDADD = $(TRANSPORT_LIBS)
tests_unit_test_transport_links_SOURCES = tests/unit/test_transport_links.c $(FRONT_RIG)
tests_unit_test_transport_links_LDADD = $(TRANSPORT_LIBS)
SHM_RIG = tests/unit/shm_rig.h tests/unit/prop.h tests/unit/tmpdir.h
tests_unit_test_shm_owner_SOURCES = tests/unit/test_shm_owner.c $(SHM_RIG)
tests_unit_test_shm_owner_LDADD = $(TRANSPORT_LIBS)
tests_unit_test_transport_shm_SOURCES = tests/unit/test_transport_shm.c $(SHM_RIG)
tests_unit_test_transport_shm_LDADD = $(TRANSPORT_LIBS)
tests_unit_test_transport_shm_faults_SOURCES = tests/unit/test_transport_shm_faults.c $(SHM_RIG)
tests_unit_test_transport_shm_faults_LDADD = $(TRANSPORT_LIBS)
endif

if CMOCKA
UNIT_TCP = tests/unit/test_tcp_hostile tests/unit/test_tcp_liar tests/unit/test_transport_tcp
check_PROGRAMS += $(UNIT_TCP)
TESTS += $(UNIT_TCP)
TCP_RIG = tests/unit/tcp_rig.h tests/unit/prop.h
TCP_LIBS = libtransport.a $(UNIT_LIBS) $(NETTLE_LIBS)
tests_unit_test_tcp_hostile_SOURCES = tests/unit/test_tcp_hostile.c $(TCP_RIG)
tests_unit_test_tcp_hostile_LDADD = $(TCP_LIBS)
tests_unit_test_tcp_liar_SOURCES = tests/unit/test_tcp_liar.c $(TCP_RIG)
tests_unit_test_tcp_liar_LDADD = $(TCP_LIBS)
tests_unit_test_transport_tcp_SOURCES = tests/unit/test_transport_tcp.c $(TCP_RIG)
tests_unit_test_transport_tcp_LDADD = $(TCP_LIBS)
endif

if CMOCKA
UNIT_PROTO = tests/unit/test_act_agent tests/unit/test_act_haproxy tests/unit/test_balance tests/unit/test_cache_words tests/unit/test_choose tests/unit/test_counter tests/unit/test_decide tests/unit/test_decide_chain \
	tests/unit/test_decide_past tests/unit/test_decide_prop tests/unit/test_fill tests/unit/test_fill_home tests/unit/test_fresh tests/unit/test_haproxy_text tests/unit/test_home tests/unit/test_home_growth tests/unit/test_hook_deadline tests/unit/test_hook_exec tests/unit/test_hook_guest tests/unit/test_keep tests/unit/test_recover tests/unit/test_role tests/unit/test_lock \
	tests/unit/test_move tests/unit/test_move_adopt tests/unit/test_move_locks tests/unit/test_move_sweep tests/unit/test_move_wish tests/unit/test_update
check_PROGRAMS += $(UNIT_PROTO)
TESTS += $(UNIT_PROTO)
tests_unit_test_act_agent_SOURCES = tests/unit/test_act_agent.c tests/unit/prop.h
tests_unit_test_act_agent_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_act_haproxy_SOURCES = tests/unit/test_act_haproxy.c tests/unit/steps.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_act_haproxy_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_haproxy_text_SOURCES = tests/unit/test_haproxy_text.c tests/unit/prop.h
tests_unit_test_haproxy_text_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_hook_deadline_SOURCES = tests/unit/test_hook_deadline.c tests/unit/hook_rig.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_hook_deadline_LDADD = libreconf.a libutil.a $(UNIT_LIBS)
tests_unit_test_hook_exec_SOURCES = tests/unit/test_hook_exec.c tests/unit/hook_rig.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_hook_exec_LDADD = libreconf.a libutil.a $(UNIT_LIBS)
tests_unit_test_hook_guest_SOURCES = tests/unit/test_hook_guest.c tests/unit/prop.h
tests_unit_test_hook_guest_LDADD = libreconf.a libhv.a libsim.a libutil.a libcore.a $(UNIT_LIBS)
tests_unit_test_balance_SOURCES = tests/unit/test_balance.c tests/unit/prop.h
tests_unit_test_balance_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_cache_words_SOURCES = tests/unit/test_cache_words.c
tests_unit_test_cache_words_LDADD = $(UNIT_LIBS)
tests_unit_test_fill_SOURCES = tests/unit/test_fill.c tests/unit/home_refusals.h tests/unit/fill_rig.h tests/unit/prop.h tests/unit/shared_rig.h \
	tests/unit/steps.h
tests_unit_test_fill_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_fill_home_SOURCES = tests/unit/test_fill_home.c tests/unit/fill_rig.h tests/unit/prop.h \
	tests/unit/shared_rig.h
tests_unit_test_fill_home_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_fresh_SOURCES = tests/unit/test_fresh.c tests/unit/prop.h tests/unit/shared_rig.h
tests_unit_test_fresh_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_home_SOURCES = tests/unit/test_home.c tests/unit/home_refusals.h tests/unit/prop.h tests/unit/shared_rig.h tests/unit/steps.h
tests_unit_test_home_growth_SOURCES = tests/unit/test_home_growth.c
tests_unit_test_home_growth_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_home_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_recover_SOURCES = tests/unit/test_recover.c tests/unit/prop.h tests/unit/steps.h
tests_unit_test_recover_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_update_SOURCES = tests/unit/test_update.c tests/unit/prop.h tests/unit/shared_rig.h
tests_unit_test_update_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_choose_SOURCES = tests/unit/test_choose.c tests/unit/prop.h \
	tests/unit/move_rig.h tests/unit/shared_rig.h
tests_unit_test_choose_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_counter_SOURCES = tests/unit/test_counter.c tests/unit/prop.h tests/unit/shared_rig.h
tests_unit_test_counter_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_decide_SOURCES = tests/unit/test_decide.c tests/unit/decide_rig.h tests/unit/prop.h
tests_unit_test_decide_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_decide_chain_SOURCES = tests/unit/test_decide_chain.c tests/unit/decide_rig.h tests/unit/prop.h
tests_unit_test_decide_chain_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_decide_past_SOURCES = tests/unit/test_decide_past.c tests/unit/decide_rig.h tests/unit/prop.h
tests_unit_test_decide_past_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_decide_prop_SOURCES = tests/unit/test_decide_prop.c tests/unit/decide_rig.h tests/unit/prop.h
tests_unit_test_decide_prop_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_role_SOURCES = tests/unit/test_role.c
tests_unit_test_role_LDADD = libreconf.a $(UNIT_LIBS)
tests_unit_test_keep_SOURCES = tests/unit/test_keep.c tests/unit/prop.h tests/unit/shared_rig.h
tests_unit_test_keep_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_lock_SOURCES = tests/unit/test_lock.c tests/unit/steps.h tests/unit/lock_rig.h tests/unit/prop.h \
	tests/unit/shared_rig.h
tests_unit_test_lock_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_move_SOURCES = tests/unit/test_move.c tests/unit/prop.h \
	tests/unit/move_rig.h tests/unit/shared_rig.h
tests_unit_test_move_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_move_adopt_SOURCES = tests/unit/test_move_adopt.c tests/unit/prop.h \
	tests/unit/move_rig.h tests/unit/shared_rig.h
tests_unit_test_move_adopt_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_move_locks_SOURCES = tests/unit/test_move_locks.c tests/unit/prop.h \
	tests/unit/move_rig.h tests/unit/shared_rig.h
tests_unit_test_move_locks_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_move_sweep_SOURCES = tests/unit/test_move_sweep.c tests/unit/prop.h \
	tests/unit/move_rig.h tests/unit/shared_rig.h
tests_unit_test_move_sweep_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
tests_unit_test_move_wish_SOURCES = tests/unit/test_move_wish.c tests/unit/prop.h \
	tests/unit/move_rig.h tests/unit/shared_rig.h
tests_unit_test_move_wish_LDADD = libreconf.a libshared.a $(UNIT_LIBS)
endif

if CMOCKA
UNIT_CACHED = tests/unit/test_cached_fills tests/unit/test_cached_jobs tests/unit/test_cached_member tests/unit/test_cached_node tests/unit/test_cached_parts \
	tests/unit/test_cached_sqlite tests/unit/test_cached_updates tests/unit/test_cached_world
check_PROGRAMS += $(UNIT_CACHED)
TESTS += $(UNIT_CACHED)
FAKE_SQL = tests/fakes/fake_sql.c tests/fakes/fake_sql.h
APP_RIG = tests/unit/app_rig.h tests/unit/cached_rig.h tests/unit/tmpdir.h $(FAKE_SQL)
tests_unit_test_cached_fills_SOURCES = tests/unit/test_cached_fills.c $(APP_RIG)
tests_unit_test_cached_fills_LDADD = $(tests_unit_test_cached_node_LDADD)
tests_unit_test_cached_member_SOURCES = tests/unit/test_cached_member.c $(APP_RIG)
tests_unit_test_cached_member_LDADD = $(tests_unit_test_cached_node_LDADD)
tests_unit_test_cached_updates_SOURCES = tests/unit/test_cached_updates.c $(APP_RIG)
tests_unit_test_cached_updates_LDADD = $(tests_unit_test_cached_node_LDADD)
tests_unit_test_cached_sqlite_SOURCES = tests/unit/test_cached_sqlite.c tests/unit/app_rig.h tests/unit/cached_rig.h tests/unit/tmpdir.h \
	tests/unit/examples.h tests/unit/prop.h $(FAKE_SQL)
tests_unit_test_cached_sqlite_LDADD = libsql.a $(tests_unit_test_cached_node_LDADD) $(POSTGRESQL_LIBS) $(SQLITE_LIBS)
tests_unit_test_cached_world_SOURCES = tests/unit/test_cached_world.c tests/unit/app_rig.h tests/unit/cached_rig.h tests/unit/tmpdir.h \
	tests/unit/prop.h $(FAKE_SQL)
tests_unit_test_cached_world_LDADD = $(tests_unit_test_cached_node_LDADD)
tests_unit_test_cached_jobs_SOURCES = tests/unit/test_cached_jobs.c $(FAKE_SQL)
tests_unit_test_cached_jobs_LDADD = libcached.a libutil.a $(EVENT_LIBS) $(UNIT_LIBS)
tests_unit_test_cached_node_SOURCES = tests/unit/test_cached_node.c tests/unit/cached_rig.h tests/unit/tmpdir.h
tests_unit_test_cached_node_LDADD = libcached.a libcache.a libconf.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a $(JANSSON_LIBS) \
	$(EVENT_LIBS) $(UNIT_LIBS)
tests_unit_test_cached_parts_SOURCES = tests/unit/test_cached_parts.c tests/unit/prop.h tests/unit/shared_rig.h
tests_unit_test_cached_parts_LDADD = libcached.a libutil.a $(NETTLE_LIBS) $(UNIT_LIBS)
endif

if CMOCKA
UNIT_SQL = tests/unit/test_sql tests/unit/test_sql_check tests/unit/test_sql_hostile tests/unit/test_sql_pgsql tests/unit/test_sql_sqlite \
	tests/unit/test_sql_update
check_PROGRAMS += $(UNIT_SQL)
TESTS += $(UNIT_SQL)
EXTRA_DIST += tests/cache/pg.sh
SQL_RIG = tests/unit/sql_rig.h tests/unit/examples.h tests/unit/prop.h
SQL_LIBS = libsql.a libutil.a libcore.a $(UNIT_LIBS) $(POSTGRESQL_LIBS) $(SQLITE_LIBS)
tests_unit_test_sql_SOURCES = tests/unit/test_sql.c $(SQL_RIG)
tests_unit_test_sql_LDADD = $(SQL_LIBS)
tests_unit_test_sql_check_SOURCES = tests/unit/test_sql_check.c tests/unit/sql_pgsql_rig.h tests/unit/tmpdir.h $(SQL_RIG)
tests_unit_test_sql_check_LDADD = $(SQL_LIBS)
tests_unit_test_sql_hostile_SOURCES = tests/unit/test_sql_hostile.c $(SQL_RIG)
tests_unit_test_sql_hostile_LDADD = $(SQL_LIBS)
tests_unit_test_sql_pgsql_SOURCES = tests/unit/test_sql_pgsql.c tests/unit/sql_pgsql_rig.h $(SQL_RIG)
tests_unit_test_sql_pgsql_LDADD = $(SQL_LIBS)
tests_unit_test_sql_sqlite_SOURCES = tests/unit/test_sql_sqlite.c $(SQL_RIG)
tests_unit_test_sql_sqlite_LDADD = $(SQL_LIBS)
tests_unit_test_sql_update_SOURCES = tests/unit/test_sql_update.c $(SQL_RIG)
tests_unit_test_sql_update_LDADD = $(SQL_LIBS)
endif

if CMOCKA
check_PROGRAMS += tests/unit/test_direct tests/unit/test_ring_client tests/unit/test_ring_direct tests/unit/test_ring_pool tests/unit/test_version_text
TESTS += tests/unit/test_direct tests/unit/test_ring_client tests/unit/test_ring_direct tests/unit/test_ring_pool tests/unit/test_version_text
tests_unit_test_direct_SOURCES = tests/unit/test_direct.c tests/unit/prop.h
tests_unit_test_direct_LDADD = libresex-ring.a libutil.a $(UNIT_LIBS)
tests_unit_test_ring_pool_SOURCES = tests/unit/test_ring_pool.c tests/unit/tmpdir.h tests/fakes/fake_ringd.c tests/fakes/fake_ringd.h
tests_unit_test_ring_pool_LDADD = libresex-ring.a libutil.a $(UNIT_LIBS)
RING_CLIENT_RIG = tests/unit/ring_client_rig.h tests/unit/prop.h tests/unit/tmpdir.h \
	tests/fakes/fake_ringd.c tests/fakes/fake_ringd.h
tests_unit_test_ring_client_SOURCES = tests/unit/test_ring_client.c $(RING_CLIENT_RIG)
tests_unit_test_ring_direct_SOURCES = tests/unit/test_ring_direct.c $(RING_CLIENT_RIG)
tests_unit_test_ring_direct_LDADD = libresex-ring.a libutil.a $(UNIT_LIBS)
tests_unit_test_ring_client_LDADD = libresex-ring.a libutil.a $(UNIT_LIBS)
tests_unit_test_version_text_SOURCES = tests/unit/test_version_text.c tests/unit/prop.h
tests_unit_test_version_text_LDADD = libresex-ring.a $(UNIT_LIBS)
endif

if CMOCKA
# libresex-cache, the auction, and its clients with their checker.
UNIT_CACHELOAD = tests/unit/test_cacheload_history tests/unit/test_cacheload_http tests/unit/test_cacheload_trace
check_PROGRAMS += $(UNIT_CACHELOAD)
TESTS += $(UNIT_CACHELOAD)
CACHELOAD_LIBS = libcacheload.a libutil.a libcore.a $(UNIT_LIBS) $(JANSSON_LIBS) -lm
tests_unit_test_cacheload_history_SOURCES = tests/unit/test_cacheload_history.c tests/unit/prop.h
tests_unit_test_cacheload_history_LDADD = $(CACHELOAD_LIBS)
tests_unit_test_cacheload_http_SOURCES = tests/unit/test_cacheload_http.c tests/unit/prop.h
tests_unit_test_cacheload_http_LDADD = $(CACHELOAD_LIBS)
tests_unit_test_cacheload_trace_SOURCES = tests/unit/test_cacheload_trace.c
tests_unit_test_cacheload_trace_LDADD = $(CACHELOAD_LIBS)
if CURL
check_PROGRAMS += tests/unit/test_appcache tests/unit/test_appcache_key
TESTS += tests/unit/test_appcache tests/unit/test_appcache_key
tests_unit_test_appcache_key_SOURCES = tests/unit/test_appcache_key.c
tests_unit_test_appcache_key_LDADD = $(APPCACHE_LIBS) $(UNIT_LIBS)
tests_unit_test_appcache_SOURCES = tests/unit/test_appcache.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_appcache_LDADD = $(APPCACHE_LIBS) $(UNIT_LIBS)
if SQLITE
check_PROGRAMS += tests/unit/test_auction
TESTS += tests/unit/test_auction
tests_unit_test_auction_SOURCES = tests/unit/test_auction.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_auction_LDADD = $(AUCTION_LIBS) $(UNIT_LIBS)
endif
endif
endif

if CMOCKA
UNIT_PROXY = tests/unit/test_cached_api tests/unit/test_cached_bodies tests/unit/test_cached_events tests/unit/test_cached_http tests/unit/test_cached_listen tests/unit/test_cached_proxy tests/unit/test_cached_ring tests/unit/test_cached_ring_view \
	tests/unit/test_hit tests/unit/test_offer tests/unit/test_place
check_PROGRAMS += $(UNIT_PROXY)
TESTS += $(UNIT_PROXY)
API_RIG = tests/unit/api_rig.h tests/unit/tmpdir.h tests/unit/prop.h tests/fakes/fake_app.c tests/fakes/fake_app.h
API_LIBS = libcached.a libutil.a $(UNIT_LIBS) $(EVHTTP_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS)
tests_unit_test_cached_api_SOURCES = tests/unit/test_cached_api.c $(API_RIG)
tests_unit_test_cached_api_LDADD = $(API_LIBS)
tests_unit_test_cached_bodies_SOURCES = tests/unit/test_cached_bodies.c $(API_RIG)
tests_unit_test_cached_bodies_LDADD = $(API_LIBS)
tests_unit_test_cached_http_SOURCES = tests/unit/test_cached_http.c $(API_RIG)
tests_unit_test_cached_http_LDADD = $(API_LIBS)
tests_unit_test_cached_events_SOURCES = tests/unit/test_cached_events.c tests/unit/prop.h
tests_unit_test_cached_events_LDADD = libcached.a libutil.a $(UNIT_LIBS)
tests_unit_test_cached_listen_SOURCES = tests/unit/test_cached_listen.c tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_cached_listen_LDADD = libcached.a libutil.a $(UNIT_LIBS) $(JANSSON_LIBS)
tests_unit_test_cached_proxy_SOURCES = tests/unit/test_cached_proxy.c tests/unit/cached_ring_rig.h tests/unit/tmpdir.h tests/unit/prop.h \
	tests/fakes/fake_node.c tests/fakes/fake_node.h
tests_unit_test_cached_proxy_LDADD = libcached.a libcache.a libshared.a libutil.a $(UNIT_LIBS) $(EVENT_LIBS) $(JANSSON_LIBS)
tests_unit_test_cached_ring_SOURCES = tests/unit/test_cached_ring.c tests/unit/cached_ring_rig.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_cached_ring_LDADD = libcached.a libutil.a $(UNIT_LIBS) $(EVENT_LIBS) $(JANSSON_LIBS)
tests_unit_test_cached_ring_view_SOURCES = tests/unit/test_cached_ring_view.c tests/unit/cached_ring_rig.h tests/unit/tmpdir.h tests/unit/prop.h
tests_unit_test_cached_ring_view_LDADD = $(tests_unit_test_cached_ring_LDADD)
tests_unit_test_hit_SOURCES = tests/unit/test_hit.c tests/unit/prop.h tests/unit/shared_rig.h tests/unit/steps.h
tests_unit_test_hit_LDADD = libcache.a libshared.a $(UNIT_LIBS)
tests_unit_test_offer_SOURCES = tests/unit/test_offer.c tests/unit/prop.h
tests_unit_test_offer_LDADD = libcache.a $(UNIT_LIBS)
tests_unit_test_place_SOURCES = tests/unit/test_place.c tests/unit/prop.h
tests_unit_test_place_LDADD = libcache.a $(UNIT_LIBS)
endif
