# tests/system: real Xen and real verbs in QEMU (run.sh); not part of make check.
EXTRA_DIST += \
	tests/system/bed.py \
	tests/system/cache_bed.py \
	tests/system/cpio.py \
	tests/system/daemon.py \
	tests/system/deps.sh \
	tests/system/experiment.py \
	tests/system/fetch-root.sh \
	tests/system/guest/dom0-loop.sh \
	tests/system/guest/guest-loop.sh \
	tests/system/guest/init.sh \
	tests/system/guest/rxe.sh \
	tests/system/guest/shares.sh \
	tests/system/guest/tiny.sh \
	tests/system/images.py \
	tests/system/net.py \
	tests/system/overlay.py \
	tests/system/pair.py \
	tests/system/permute.py \
	tests/system/real.py \
	tests/system/reconf_bed.py \
	tests/system/run.py \
	tests/system/run.sh \
	tests/system/sc_agent.py tests/system/sc_benchex.py \
	tests/system/sc_benchex_count.py \
	tests/system/sc_brief.py \
	tests/system/sc_cache.py \
	tests/system/sc_cap.py \
	tests/system/sc_churn.py \
	tests/system/sc_controls.py \
	tests/system/sc_count.py \
	tests/system/sc_errors.py \
	tests/system/sc_forged.py \
	tests/system/sc_frames.py \
	tests/system/sc_golden.py \
	tests/system/sc_hello.py \
	tests/system/sc_hook.py \
	tests/system/sc_hosts.py \
	tests/system/sc_hv.py \
	tests/system/sc_ioshares.py \
	tests/system/sc_kmod.py \
	tests/system/sc_liar.py \
	tests/system/sc_link.py \
	tests/system/sc_load.py \
	tests/system/sc_load_hostile.py \
	tests/system/sc_matrix.py \
	tests/system/sc_operator.py \
	tests/system/sc_store.py \
	tests/system/sc_reconf.py \
	tests/system/sc_reconf_faults.py \
	tests/system/sc_restored.py tests/system/sc_rings.py \
	tests/system/sc_survive.py \
	tests/system/sc_survive_ioshares.py \
	tests/system/sc_traffic.py \
	tests/system/sc_transport.py \
	tests/system/sc_transport_bench.py \
	tests/system/sc_web.py \
	tests/system/scenarios.py \
	tests/system/snapshot.py \
	tests/system/wire.py

# permute.py is what the experiment is judged by.
TESTS += tests/system/test_permute.py
EXTRA_DIST += tests/system/test_permute.py

# wire.py decides at which step of a move a fault comes.
TESTS += tests/system/test_wire.py
EXTRA_DIST += tests/system/test_wire.py

# rdmaload: RDMA traffic over loopback that tells its truth at the end (see --help).
EXTRA_DIST += tests/golden/mlx tests/golden/replay.py tests/golden/rxe

if VERBS
noinst_PROGRAMS += rdmaload
rdmaload_SOURCES = \
	tests/system/src/load.h \
	tests/system/src/load_opt.c \
	tests/system/src/load_post.c \
	tests/system/src/load_truth.c \
	tests/system/src/load_verbs.c \
	tests/system/src/rdmaload.c
rdmaload_LDADD = $(VERBS_LIBS)

# rdmaodd: RDMA traffic of unusual kinds, and its truth (sc_traffic.py).
noinst_PROGRAMS += rdmaodd
rdmaodd_SOURCES = \
	tests/system/src/load.h \
	tests/system/src/load_post.c \
	tests/system/src/load_truth.c \
	tests/system/src/load_verbs.c \
	tests/system/src/rdmaodd.c \
	tests/system/src/rdmaodd.h \
	tests/system/src/rdmaodd_bad.c \
	tests/system/src/rdmaodd_cases.c \
	tests/system/src/rdmaodd_qp.c
rdmaodd_LDADD = $(VERBS_LIBS)

# ringrec: records the golden rings (sc_golden.py).
noinst_PROGRAMS += ringrec
ringrec_SOURCES = \
	tests/system/src/load.h \
	tests/system/src/load_opt.c \
	tests/system/src/load_post.c \
	tests/system/src/load_truth.c \
	tests/system/src/load_verbs.c \
	tests/system/src/ringrec.c
ringrec_LDADD = $(VERBS_LIBS)
endif

# rdmabrief: queue pairs that live briefly (sc_brief.py).
if VERBS
noinst_PROGRAMS += rdmabrief
rdmabrief_SOURCES = \
	tests/system/src/load.h \
	tests/system/src/load_truth.c \
	tests/system/src/rdmabrief.c
rdmabrief_LDADD = $(VERBS_LIBS)
endif

# agentbeat: many processes, and how late an agent's heartbeats are (sc_agent.py).
noinst_PROGRAMS += agentbeat
agentbeat_SOURCES = include/resex/guest_abi.h tests/system/src/agentbeat.c

# frames: a queue of mlx5 in memory that nothing pins (sc_frames.py).
noinst_PROGRAMS += frames
frames_SOURCES = \
	ibmon/rings/notify.c \
	ibmon/rings/notify.h \
	ibmon/rings/queue_list.c \
	ibmon/rings/queue_list.h \
	tests/system/src/frames.c
frames_LDADD = -lpthread

# rdmashapes: queues of random shapes; what resex-agent says of them against the truth.
if VERBS
noinst_PROGRAMS += rdmashapes
rdmashapes_SOURCES = tests/system/src/rdmashapes.c
rdmashapes_LDADD = $(VERBS_LIBS)
endif

# domtool: dying domains seen, and made; scribble: a hostile guest; loadliar: one that lies about its
# load (sc_load_hostile.py).
if XEN
noinst_PROGRAMS += domtool scribble loadliar
domtool_SOURCES = tests/system/src/domtool.c
domtool_LDADD = libhv.a libsim.a libcore.a $(XEN_LIBS)
scribble_SOURCES = include/resex/guest_abi.h tests/system/src/scribble.c
scribble_CPPFLAGS = $(AM_CPPFLAGS) $(XENGUEST_CFLAGS)
scribble_LDADD = $(XENGUEST_LIBS)
loadliar_SOURCES = include/resex/guest_abi.h tests/system/src/loadliar.c
loadliar_CPPFLAGS = $(AM_CPPFLAGS) $(XENGUEST_CFLAGS)
loadliar_LDADD = libload.a libshared.a libutil.a libcore.a $(ISAL_LIBS) $(XENGUEST_LIBS)
endif

# hvprobe, hvguest: src/hv on a real Xen host, run by hvprobe.sh in its dom0.
# hvguest needs none of Xen's shared libraries in the guest.
if XEN
noinst_PROGRAMS += hvprobe hvguest
hvprobe_SOURCES = \
	tests/system/src/hvguest.h \
	tests/system/src/hvprobe.c \
	tests/system/src/hvprobe.h \
	tests/system/src/hvprobe_hostile.c \
	tests/system/src/hvprobe_mem.c \
	tests/system/src/hvprobe_sched.c
hvprobe_CPPFLAGS = $(AM_CPPFLAGS) $(XEN_CFLAGS)
hvprobe_LDADD = libhv.a libsim.a libcore.a $(XEN_LIBS)
hvguest_SOURCES = \
	include/resex/guest_abi.h \
	tests/system/src/hvguest.c \
	tests/system/src/hvguest.h
hvguest_CPPFLAGS = $(AM_CPPFLAGS) $(XENGUEST_CFLAGS)
hvguest_LDADD = -l:libxenstore.a -l:libxengnttab.a -l:libxentoolcore.a -l:libxentoollog.a
EXTRA_DIST += tests/system/hvprobe.sh
endif

# guesthook: hook_guest on a real Xen host (sc_hook.py).
if XEN
noinst_PROGRAMS += guesthook
guesthook_SOURCES = tests/system/src/guesthook.c
guesthook_LDADD = libreconf.a libhv.a libsim.a libutil.a libcore.a $(XEN_LIBS)
endif

# agentlife: what resex-agent shows while queues come and go, and how soon.
if VERBS
noinst_PROGRAMS += agentlife
agentlife_SOURCES = tests/system/src/agentlife.c
agentlife_LDADD = $(VERBS_LIBS)
endif

# latload: latencies that are made up, for resex-agent.
noinst_PROGRAMS += latload
latload_SOURCES = tests/system/src/latload.c
latload_LDADD = libresex-report.a

# How old load records are when they are READ, how near to the truth, and what they cost (sc_kmod.py).
noinst_PROGRAMS += loadage loadtruth loadcost
LOAD_READER = tests/system/src/load_reader.c tests/system/src/load_reader.h
LOAD_READER_LIBS = libconf.a libpolicies.a $(CLUSTER_LIBS) libload.a libutil.a libcore.a $(JANSSON_LIBS)
loadage_SOURCES = tests/system/src/loadage.c $(LOAD_READER)
loadage_LDADD = $(LOAD_READER_LIBS)
loadtruth_SOURCES = tests/system/src/loadtruth.c $(LOAD_READER)
loadtruth_LDADD = $(LOAD_READER_LIBS)
loadcost_SOURCES = tests/system/src/loadcost.c
loadcost_LDADD = libload.a libutil.a libcore.a

# reseed: new randomness for a VM that is restored from a snapshot.
noinst_PROGRAMS += reseed
reseed_SOURCES = tests/system/src/reseed.c

# bxliar: a client of benchex that does not keep to its protocol.
if VERBS
noinst_PROGRAMS += bxliar
bxliar_SOURCES = tests/system/src/bxliar.c src/benchex/net.c src/benchex/net.h
bxliar_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
bxliar_LDADD = libbenchex.a libutil.a libcore.a $(RDMACM_LIBS) $(VERBS_LIBS)
endif

# Of sc_transport.py: two_hosts: each of two machines works on the other's memory; liar_verbs: an
# RDMA peer that does what it may not. Its third program is tests/transport/contract.
noinst_PROGRAMS += two_hosts lock_hosts move_hosts
# Of sc_hosts.py: hosts that take one lock by turns.
HOST_PROCESS = tests/shared/host_process.c tests/shared/host_process.h
lock_hosts_SOURCES = tests/shared/lock_hosts.c $(HOST_PROCESS)
lock_hosts_LDADD = $(CLUSTER_LIBS) libutil.a libcore.a
# Of sc_hosts.py and move_hosts.py: hosts that move nodes between two services.
move_hosts_SOURCES = tests/shared/move_hosts.c $(HOST_PROCESS)
move_hosts_LDADD = $(CLUSTER_LIBS) libutil.a libcore.a
two_hosts_SOURCES = tests/transport/two_hosts.c
two_hosts_LDADD = libtransport.a libutil.a libcore.a $(NETTLE_LIBS) $(RDMACM_LIBS) $(VERBS_LIBS)

if VERBS
if CMOCKA
noinst_PROGRAMS += liar_verbs
liar_verbs_SOURCES = tests/transport/liar_rig.h tests/transport/liar_verbs.c
liar_verbs_LDADD = libtransport.a libutil.a libcore.a $(CMOCKA_LIBS) $(NETTLE_LIBS) \
	$(RDMACM_LIBS) $(VERBS_LIBS)
endif
endif
