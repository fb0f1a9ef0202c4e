# tests/fuzz: libFuzzer targets, built with --enable-fuzzers CC=clang.
# run.sh builds its own (also with coverage, and with planted bugs) and runs them.
EXTRA_DIST += tests/fuzz/run.sh tests/fuzz/cache_seeds.py tests/fuzz/cluster_seeds.py tests/fuzz/http_seeds.py tests/fuzz/methods_seeds.py tests/fuzz/mlx4_seeds.py tests/fuzz/mlx5_seeds.py tests/fuzz/queue_seeds.py tests/fuzz/replay_seeds.py tests/fuzz/seeds.py tests/fuzz/api.dict tests/fuzz/cached.dict tests/fuzz/caps.dict tests/fuzz/cluster.dict tests/fuzz/conf.dict tests/fuzz/control.dict \
	tests/fuzz/haproxy.dict tests/fuzz/http.dict tests/fuzz/httplog.dict tests/fuzz/methods.dict tests/fuzz/proc.dict tests/fuzz/scenario.dict tests/fuzz/trace.dict

if FUZZERS
FUZZ = tests/fuzz/fuzz_api tests/fuzz/fuzz_btf tests/fuzz/fuzz_cache tests/fuzz/fuzz_cached tests/fuzz/fuzz_caps tests/fuzz/fuzz_claim tests/fuzz/fuzz_cluster tests/fuzz/fuzz_conf tests/fuzz/fuzz_control tests/fuzz/fuzz_haproxy tests/fuzz/fuzz_hello tests/fuzz/fuzz_history tests/fuzz/fuzz_http tests/fuzz/fuzz_httplog tests/fuzz/fuzz_methods \
	 tests/fuzz/fuzz_mlx4 tests/fuzz/fuzz_mlx5 tests/fuzz/fuzz_nodes tests/fuzz/fuzz_proc tests/fuzz/fuzz_queues tests/fuzz/fuzz_record tests/fuzz/fuzz_replay tests/fuzz/fuzz_registry tests/fuzz/fuzz_ring tests/fuzz/fuzz_scenario \
	 tests/fuzz/fuzz_tcp tests/fuzz/fuzz_trace
noinst_PROGRAMS += $(FUZZ)
LDFLAGS_FUZZ = -fsanitize=fuzzer $(AM_LDFLAGS)

tests_fuzz_fuzz_api_SOURCES = tests/fuzz/fuzz_api.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_api_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_api_LDADD = libcached.a libutil.a $(JANSSON_LIBS) $(NETTLE_LIBS)
tests_fuzz_fuzz_btf_SOURCES = tests/fuzz/fuzz_btf.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_btf_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_btf_LDADD = libload.a
tests_fuzz_fuzz_cached_SOURCES = tests/fuzz/fuzz_cached.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_cached_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_cached_LDADD = libcached.a $(DAEMON_LIBS) libshared.a libutil.a $(JANSSON_LIBS)
tests_fuzz_fuzz_cache_SOURCES = tests/fuzz/fuzz_cache.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_cache_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_cache_LDADD = libcache.a libshared.a
tests_fuzz_fuzz_caps_SOURCES = tests/fuzz/fuzz_caps.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_caps_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_caps_LDADD = $(DAEMON_LIBS) libutil.a libcore.a $(JANSSON_LIBS)
tests_fuzz_fuzz_claim_SOURCES = tests/fuzz/fuzz_claim.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_claim_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_claim_LDADD = libload.a libshared.a $(ISAL_LIBS)
tests_fuzz_fuzz_cluster_SOURCES = tests/fuzz/fuzz_cluster.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_cluster_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_cluster_LDADD = $(DAEMON_LIBS) libutil.a $(JANSSON_LIBS)
tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_conf_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_conf_LDADD = libutil.a $(JANSSON_LIBS)
tests_fuzz_fuzz_control_SOURCES = tests/fuzz/fuzz_control.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_control_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_control_LDADD = $(DAEMON_LIBS) libutil.a $(JANSSON_LIBS)
tests_fuzz_fuzz_haproxy_SOURCES = tests/fuzz/fuzz_haproxy.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_haproxy_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_haproxy_LDADD = libreconf.a
tests_fuzz_fuzz_hello_SOURCES = tests/fuzz/fuzz_hello.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_hello_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_hello_LDADD = libtransport.a $(NETTLE_LIBS)
tests_fuzz_fuzz_history_SOURCES = tests/fuzz/fuzz_history.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_history_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_history_LDADD = libcluster.a $(JANSSON_LIBS)
tests_fuzz_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_http_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_http_LDADD = libcacheload.a
tests_fuzz_fuzz_httplog_SOURCES = tests/fuzz/fuzz_httplog.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_httplog_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_httplog_LDADD = liblab.a libutil.a
tests_fuzz_fuzz_methods_SOURCES = tests/fuzz/fuzz_methods.c tests/fuzz/fuzz.h \
	tests/fakes/fake_cluster.c tests/fakes/fake_cluster.h \
	tests/fakes/fake_guest.c tests/fakes/fake_guest.h tests/fakes/fake_host.c tests/fakes/fake_host.h
tests_fuzz_fuzz_methods_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_methods_LDADD = $(DAEMON_LIBS) libreconf.a libshared.a libibmon.a libcounters.a libpolicies.a libutil.a libcore.a $(JANSSON_LIBS)
tests_fuzz_fuzz_mlx4_SOURCES = tests/fuzz/fuzz_mlx4.c tests/fuzz/fuzz_mlx.h tests/fuzz/fuzz.h
tests_fuzz_fuzz_mlx4_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_mlx4_LDADD = libibmon.a
tests_fuzz_fuzz_mlx5_SOURCES = tests/fuzz/fuzz_mlx5.c tests/fuzz/fuzz_mlx.h tests/fuzz/fuzz.h
tests_fuzz_fuzz_mlx5_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_mlx5_LDADD = libibmon.a
tests_fuzz_fuzz_nodes_SOURCES = tests/fuzz/fuzz_nodes.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_nodes_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_nodes_LDADD = libshared.a libutil.a $(ISAL_LIBS)
tests_fuzz_fuzz_proc_SOURCES = tests/fuzz/fuzz_proc.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_proc_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_proc_LDADD = libload.a
tests_fuzz_fuzz_queues_SOURCES = tests/fuzz/fuzz_queues.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_queues_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_queues_LDADD = libagent.a libutil.a
tests_fuzz_fuzz_replay_SOURCES = tests/fuzz/fuzz_replay.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_replay_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_replay_LDADD = liblab.a libconf.a libtick.a libpolicies.a libutil.a libcore.a $(ISAL_LIBS) $(JANSSON_LIBS)
tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_record_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_record_LDADD = libreconf.a libshared.a libutil.a $(ISAL_LIBS)
tests_fuzz_fuzz_registry_SOURCES = tests/fuzz/fuzz_registry.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_registry_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_registry_LDADD = libibmon.a libcore.a
tests_fuzz_fuzz_ring_SOURCES = tests/fuzz/fuzz_ring.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_ring_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_ring_LDADD = libibmon.a
tests_fuzz_fuzz_scenario_SOURCES = tests/fuzz/fuzz_scenario.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_scenario_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_scenario_LDADD = $(DAEMON_LIBS) libcounters.a libsim.a libpolicies.a libutil.a libcore.a $(JANSSON_LIBS)
tests_fuzz_fuzz_tcp_SOURCES = tests/fuzz/fuzz_tcp.c tests/fuzz/fuzz.h src/transport/front/hello.c \
	src/transport/tcp/call.c src/transport/tcp/conn.c src/transport/tcp/serve.c \
	src/transport/tcp/wire.c src/transport/front/address.c
tests_fuzz_fuzz_tcp_LDFLAGS = $(LDFLAGS_FUZZ)
tests_fuzz_fuzz_tcp_LDADD = $(NETTLE_LIBS)
endif
