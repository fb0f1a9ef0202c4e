#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check-layers.sh: who may include what, and what the pure folders may not call.
#
#	tests/check-layers.sh [TOP]		check the tree at TOP (default: this one)
#	tests/check-layers.sh --archives DIR	check libcore.a and libpolicies.a built in DIR
#	tests/check-layers.sh --tick DIR	check what the 1 ms path's objects in DIR call
#	tests/check-layers.sh --circles DIR	check that no files in DIR need each other
#	tests/check-layers.sh --self-test [TOP]	plant one violation of each kind in a copy of
#						TOP and prove that each is caught
#
# Exit: 0 clean, 1 violations (one line each, FILE:LINE: what), 2 used wrongly.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)

# Who may include what. First matching row wins; a file without a row is an error.
# "quoted" includes name a file from the top of the tree (include/ left off);
# <angled> ones are of the system. @x is a group below, !x takes away.
table() {
	cat <<'END'
src/core/spsc*         @pure stdatomic.h
src/core/*             src/core/ resex/units.h resex/flow.h @pure
include/resex/policy.h resex/units.h resex/flow.h @pure
include/resex/flow.h   resex/units.h @pure
include/resex/load_abi.h resex/region_abi.h @pure
include/resex/guest_abi.h resex/load_abi.h @pure
include/resex/loadmon_abi.h resex/load_abi.h linux/ sys/ioctl.h @pure
include/resex/region_abi.h linux/ @pure
include/resex/cache_ring.h resex/region_abi.h @pure
include/resex/*        @pure
policies/*             policies/ resex/policy.h src/core/ @pure
src/util/conf*         src/util/ src/core/ resex/exit.h config.h @libc jansson.h
src/util/plugin_elf*   src/util/plugin_file.h @libc elf.h
src/util/plugin_seal*  src/util/plugin_file.h @libc link.h
src/util/plugin_file*  src/util/plugin_file.h @libc
src/util/guard*        src/util/guard.h src/util/guard_priv.h src/util/clock.h @libc setjmp.h
src/util/*             src/util/ src/core/ config.h @libc
src/hv/xen/xenstore*   src/hv/xen/xen.h src/hv/store.h resex/guest_abi.h @libc @xen
src/hv/xen/*           src/hv/xen/ src/hv/hv.h src/hv/store.h src/hv/backends.h src/core/ src/util/ config.h @libc @xen !xenstore.h !xenstore_lib.h
src/hv/sim*            src/hv/hv.h src/hv/backends.h src/core/ src/util/ src/sim/hyp.h resex/guest_abi.h config.h @libc
src/hv/store*          src/hv/store.h src/hv/hv.h src/core/ @libc
src/hv/*               src/hv/hv.h src/hv/dom.h src/hv/backends.h src/core/ src/util/ config.h @libc
src/sim/web*           src/sim/web.h src/sim/web_priv.h src/sim/model.h src/core/ resex/load_abi.h @libc
src/sim/words*         src/sim/words.h src/sim/web.h src/reconf/step.h resex/region_abi.h @libc
src/sim/*              src/sim/ !src/sim/web.h !src/sim/web_priv.h !src/sim/words.h src/core/ resex/guest_abi.h config.h @libc
src/transport/verbs/*    src/transport/verbs/ src/transport/backend.h src/core/hostset.h src/core/units.h src/util/ config.h @libc infiniband/ rdma/
src/transport/tcp/*      src/transport/tcp/ src/transport/backend.h src/core/hostset.h src/core/units.h src/util/ config.h @libc
src/transport/shm/life*  src/transport/shm/life.h resex/life_abi.h config.h @libc
src/transport/shm/*      src/transport/shm/ src/transport/backend.h src/transport/transport.h resex/life_abi.h src/core/hostset.h src/core/units.h src/util/ config.h @libc
src/transport/front/*    src/transport/front/ src/transport/backend.h src/transport/transport.h src/core/hostset.h src/core/units.h src/util/ config.h @libc nettle/
src/transport/sim/*    src/transport/sim/ src/transport/backend.h src/transport/transport.h @libc
src/transport/backend.h src/transport/transport.h src/transport/front/hello.h src/core/hostset.h src/core/units.h @libc
src/transport/*        src/transport/ !src/transport/front/ !src/transport/verbs/ !src/transport/tcp/ !src/transport/shm/ !src/transport/sim/ src/core/hostset.h src/core/units.h src/util/ config.h @libc
src/shared/member_corosync* src/shared/ src/core/ src/util/ config.h @libc corosync/
src/shared/record*     src/shared/ src/core/units.h resex/region_abi.h @pure isa-l.h
src/shared/*           src/shared/ src/transport/transport.h src/core/ src/util/ resex/region_abi.h resex/load_abi.h config.h @libc
src/reconf/balance*    src/reconf/balance.h @pure
src/reconf/decide*     src/reconf/decide.h src/reconf/decide_priv.h src/core/units.h @pure
src/reconf/haproxy_text* src/reconf/haproxy_text.h src/reconf/act.h @pure
src/reconf/act.h        src/core/units.h @libc
src/reconf/act_*       src/reconf/act.h src/reconf/act_agent.h src/reconf/act_haproxy.h src/reconf/haproxy_text.h src/core/units.h @libc
src/reconf/hook.h      src/core/units.h @pure
src/reconf/hook_guest* src/reconf/hook.h src/reconf/hook_guest.h src/hv/hv.h resex/guest_abi.h src/util/utf8.h @libc
src/reconf/hook_exec*  src/reconf/hook.h src/reconf/hook_exec.h src/util/utf8.h @libc spawn.h
src/reconf/*           src/reconf/ !src/reconf/act.h !src/reconf/act_agent.h !src/reconf/act_haproxy.h !src/reconf/haproxy_text.h src/core/hostset.h src/core/units.h src/core/random.h src/transport/transport.h src/shared/ resex/region_abi.h @libc
src/cache/fill*         src/cache/fill.h src/cache/broken.h src/cache/home.h src/cache/cache.h src/reconf/step.h src/reconf/put.h @pure
src/cache/fresh*       src/cache/fresh.h src/cache/broken.h src/core/units.h src/reconf/step.h src/reconf/put.h src/shared/lease.h @pure
src/cache/hit*         src/cache/hit.h src/cache/broken.h src/cache/fresh.h src/core/random.h src/reconf/step.h src/reconf/put.h resex/cache_ring.h @pure
src/cache/offer*       src/cache/offer.h resex/region_abi.h @pure
src/cache/place*       src/cache/place.h src/core/hostset.h src/core/random.h @pure
src/cache/home*        src/cache/home.h src/cache/home_priv.h src/cache/broken.h src/cache/update.h src/cache/cache.h src/core/hostset.h src/reconf/step.h src/reconf/put.h @pure
src/cache/recover*     src/cache/recover.h src/cache/home.h src/cache/update.h src/cache/broken.h src/core/hostset.h src/core/units.h @pure
src/cache/update*      src/cache/update.h src/cache/broken.h src/cache/cache.h src/core/hostset.h src/reconf/step.h src/reconf/put.h @pure
src/cache/*            resex/region_abi.h @pure
src/cached/conf*       src/cached/conf.h src/conf/cluster.h src/sql/sql.h resex/cache_ring.h @libc
src/cached/schema*     src/cached/conf.h src/util/conf_schema.h @libc
src/cached/floors*     src/cached/conf.h src/util/file.h @libc
src/cached/tag*        src/cached/tag.h src/cache/cache.h src/util/bytes.h src/util/utf8.h @pure nettle/
src/cached/snapshot*   src/cached/snapshot.h src/cache/home.h @pure
src/cached/outbox*     src/cached/outbox.h src/reconf/step.h src/reconf/put.h @pure
src/cached/watch*      src/cached/watch.h src/reconf/step.h src/reconf/put.h @pure
src/cached/jobs*       src/cached/jobs.h src/sql/sql.h src/util/clock.h @libc event2/
src/cached/node*       src/cached/node.h src/cached/conf.h src/cached/events.h src/cached/outbox.h src/reconf/step.h src/reconf/runner.h src/shared/region.h src/util/clock.h src/util/log.h @libc event2/
src/cached/check*      src/cached/check.h src/cached/conf.h src/util/log.h resex/exit.h @libc
src/cached/api_body*    src/cached/api_body.h src/cached/api.h src/cached/tag.h src/sql/sql.h src/util/conf.h @libc
src/cached/api*        src/cached/api.h src/cached/api_body.h src/cached/api_priv.h src/cached/app.h src/cached/events.h src/cached/listen.h src/cached/proxy.h src/util/ @libc event2/
src/cached/app*        src/cached/ !src/cached/proxy.h !src/cached/check.h !src/cached/options.h !src/cached/outbox.h !src/cached/ring.h !src/cached/listen.h !src/cached/api.h !src/cached/api_body.h !src/cached/api_priv.h src/cache/ src/shared/region.h @libc jansson.h
src/cached/main*       src/cached/api.h src/cached/check.h src/cached/options.h src/util/file.h src/util/notify.h resex/exit.h config.h @libc
src/cached/events*     src/cached/events.h src/core/units.h src/util/clock.h src/util/utf8.h @libc
src/cached/listen*     src/cached/listen.h src/util/conf.h @libc
src/cached/proxy*      src/cached/proxy.h src/cached/node.h src/cached/ring.h src/cache/fresh.h src/cache/hit.h src/cache/place.h @libc jansson.h
src/cached/ring_view*  src/cached/ring_view.h src/core/hostset.h src/core/units.h resex/cache_ring.h config.h @libc
src/cached/ring*       src/cached/ring.h src/cached/ring_view.h src/cached/listen.h src/core/hostset.h src/core/units.h resex/cache_ring.h src/util/ @libc event2/
src/cached/options*    src/cached/options.h src/util/cmdline.h src/util/log.h resex/exit.h config.h @libc
src/sql/pgsql*         src/sql/ src/util/ config.h @libc libpq-fe.h
src/sql/sqlite*        src/sql/ src/util/ config.h @libc sqlite3.h
src/sql/*              src/sql/ !src/sql/pgsql.h !src/sql/pgsql_conn.h src/cache/update.h src/util/ config.h @libc
src/ring/version_text* src/ring/version_text.h src/ring/ring_client.h resex/region_abi.h config.h @pure
src/ring/direct*       src/ring/direct.h src/cache/fresh.h src/cache/place.h src/core/hostset.h src/util/clock.h resex/cache_ring.h resex/life_abi.h config.h @libc
src/ring/*             src/ring/ src/util/clock.h resex/cache_ring.h resex/region_abi.h config.h @libc
src/vmod/*             src/vmod/ src/cache/offer.h src/ring/ring_client.h src/ring/ring_pool.h src/ring/version_text.h src/util/clock.h cache/cache.h vcl.h vsb.h VSC_resex.h vcc_resex_if.h config.h @libc
src/load/index*        src/load/ src/core/ resex/load_abi.h @pure
src/load/btf*          src/load/ @pure
src/load/claim*        src/load/ src/core/ src/shared/record.h resex/guest_abi.h @pure
src/load/agree*        src/load/ src/core/ @pure
src/load/choose*       src/load/ src/core/ @pure
src/load/wait*         src/load/ @pure
src/load/*             src/load/ src/core/ src/util/ resex/load_abi.h resex/loadmon_abi.h config.h @libc
src/kmod/*             resex/loadmon_abi.h linux/ trace/
src/counters/sim* src/counters/ src/core/ src/sim/hyp.h config.h @libc
src/counters/*         src/counters/ src/core/ src/util/ config.h @libc
ibmon/agent/load_page* ibmon/agent/ src/load/load.h src/load/kmod.h src/core/units.h src/util/ config.h @libc
ibmon/agent/book*      ibmon/agent/ src/shared/record.h config.h @libc
ibmon/agent/wanted*    ibmon/agent/ src/reconf/hook_exec.h src/core/units.h src/util/ config.h @libc
ibmon/agent/options.c  ibmon/agent/ src/reconf/hook.h src/core/units.h src/util/ resex/guest_abi.h resex/agent_socket.h config.h @libc
ibmon/agent/queue_entry* ibmon/agent/queue_entry.h resex/guest_abi.h resex/agent_socket.h resex/queue_table.h @pure
ibmon/agent/*          ibmon/agent/ src/core/units.h src/util/ resex/guest_abi.h resex/agent_socket.h resex/queue_table.h resex/exit.h config.h @libc @xen event2/ rdma/
ibmon/rings/*          ibmon/rings/ resex/agent_socket.h resex/guest_abi.h resex/queue_table.h @libc infiniband/
ibmon/report/*         resex/report.h resex/agent_socket.h @libc
ibmon/guest*           ibmon/ !ibmon/agent/ src/hv/hv.h src/core/ src/util/ config.h @libc
ibmon/ring/plug*       ibmon/ring/ src/core/ resex/guest_abi.h resex/ibmon.h @pure
ibmon/ring/*           ibmon/ring/ src/core/ src/util/ resex/guest_abi.h config.h @libc
ibmon/layout*          ibmon/layout.h ibmon/ring/ops.h resex/ibmon.h src/util/plugin_file.h @libc
ibmon/public*          ibmon/layout.h ibmon/ring/ring_priv.h resex/guest_abi.h @libc
ibmon/scan_load*       ibmon/scan.h src/util/seqread.h @pure
ibmon/scan*            ibmon/ !ibmon/agent/ !ibmon/ring/ ibmon/ring/ring.h ibmon/ring/ring_priv.h ibmon/ring/mtu.h src/core/ @libc
ibmon/*                ibmon/ !ibmon/agent/ !ibmon/ring/ ibmon/ring/ring.h src/core/ src/util/ resex/guest_abi.h config.h @libc
src/appcache/*         src/appcache/ resex/cache.h @libc curl/ jansson.h
src/auction/db_pgsql*  src/auction/db_backends.h @libc libpq-fe.h
src/auction/db_sqlite* src/auction/db_backends.h @libc sqlite3.h
src/auction/db*        src/auction/db.h src/auction/db_backends.h config.h @libc
src/auction/*          src/auction/ !src/auction/db_backends.h src/core/ src/util/ resex/cache.h resex/exit.h config.h @libc event2/
src/cacheload/history* src/cacheload/history.h src/cacheload/history_priv.h @pure inttypes.h stdio.h stdlib.h
src/cacheload/http*    src/cacheload/http.h @pure stdlib.h strings.h
src/cacheload/*        src/cacheload/ !src/cacheload/history_priv.h src/core/ src/util/ resex/exit.h config.h @libc jansson.h
src/benchex/*          src/benchex/ src/util/ src/core/ resex/report.h resex/agent_socket.h resex/exit.h config.h @libc jansson.h infiniband/ rdma/
src/cli/top_screen*    src/cli/top_grid.h src/cli/top_model.h src/cli/top_screen.h src/util/utf8.h resex/exit.h config.h @libc curses.h
src/cli/top_link*      src/cli/client.h src/cli/top_link.h resex/exit.h config.h @libc jansson.h
src/cli/top_*          src/cli/top_grid.h src/cli/top_layout.h src/cli/top_list.h src/cli/top_model.h src/core/units.h src/util/utf8.h config.h @pure jansson.h math.h stdio.h stdlib.h strings.h
src/cli/*              src/cli/ src/core/ src/util/ config.h @libc jansson.h resex/exit.h
src/peek/*             src/peek/ src/cache/cache.h src/load/index.h src/core/ src/util/ src/conf/cluster.h src/shared/region.h src/transport/transport.h src/cli/table.h resex/exit.h config.h @libc jansson.h
src/tick/domains*      src/tick/ src/core/ src/hv/hv.h @pure
src/tick/actor*        src/tick/ src/core/ src/hv/hv.h src/util/clock.h @pure unistd.h
src/trace/frame*       src/trace/ @pure isa-l.h
src/trace/ring*        src/trace/ @pure stdatomic.h
src/trace/file*        src/trace/ src/util/clock.h @libc
src/trace/*            src/trace/ @pure
src/tick/tape*         src/tick/ src/core/ src/trace/ring.h @pure
src/tick/*             src/tick/ src/core/ src/hv/dom.h ibmon/scan.h ibmon/ring/mtu.h policies/policies.h src/util/clock.h src/util/guard.h @pure stdatomic.h sys/eventfd.h unistd.h
src/conf/cluster_agree* src/conf/cluster.h src/util/bytes.h nettle/ @libc
src/conf/cluster_balance* src/conf/ src/core/ src/util/ src/reconf/act.h @libc
src/conf/*             src/conf/ src/core/ src/util/ policies/policies.h src/transport/transport.h src/counters/counters.h src/shared/lease.h ibmon/registry.h resex/region_abi.h @libc
src/guests/trace*      src/guests/ src/tick/tape.h src/trace/file.h config.h @libc
src/guests/*           src/guests/ src/core/ src/util/ src/conf/policy.h src/conf/settings.h src/tick/handover.h src/tick/written.h src/hv/hv.h ibmon/guest.h @libc uuid/uuid.h
src/cluster/balancer*  src/cluster/balancer.h src/reconf/balance.h src/load/index.h src/core/units.h resex/load_abi.h @pure
src/cluster/history*   src/cluster/history.h src/cluster/cluster.h jansson.h @libc
src/cluster/reconf.c   src/cluster/ src/reconf/decide.h src/reconf/move.h src/reconf/role.h @libc
src/cluster/roles*     src/cluster/ src/reconf/role.h src/reconf/hook_exec.h src/reconf/hook_guest.h src/shared/nodes_file.h src/util/clock.h @libc
src/cluster/balance_turn* src/cluster/ src/reconf/act.h src/reconf/act_agent.h src/reconf/act_haproxy.h src/reconf/role.h @libc
src/cluster/*          src/cluster/ src/load/ resex/load_abi.h src/core/ src/util/ src/conf/cluster_change.h src/guests/guests.h src/shared/ src/reconf/keep.h src/reconf/move.h src/reconf/role.h src/reconf/runner.h config.h @libc
src/control/*          src/control/ policies/policies.h src/core/ src/util/ src/conf/ src/guests/guests.h src/cluster/cluster.h src/load/index.h src/shared/lease.h resex/exit.h config.h @libc malloc.h jansson.h event2/ uuid/uuid.h
src/engine/*           src/engine/ src/core/ src/util/ src/conf/ src/tick/ src/guests/guests.h src/cluster/cluster.h src/control/server.h src/hv/hv.h config.h @libc event2/
src/lab/figures_cmd*   src/lab/load_cmd.h src/lab/reconf_cmd.h src/lab/figures_cmd.h src/lab/figures_file.h src/lab/lab_cmd.h src/cli/table.h resex/exit.h @libc
src/lab/figures*       src/lab/figures.h src/lab/figures_file.h src/lab/lab_cmd.h src/lab/pool.h resex/exit.h @libc jansson.h
src/lab/load_read*     src/lab/load_read.h src/core/ src/sim/web.h src/shared/peers.h src/transport/sim/sim.h @libc
src/lab/load_log*      src/lab/load_log.h src/sim/web.h src/util/file.h @libc
src/lab/load*          src/lab/load.h src/lab/load_cmd.h src/lab/lab_cmd.h src/lab/load_read.h src/lab/load_log.h src/core/ src/load/index.h src/reconf/balance.h src/sim/web.h src/cli/table.h resex/exit.h @libc jansson.h
src/lab/reconf_balancer* src/lab/reconf_balancer.h src/load/index.h src/reconf/decide.h src/reconf/move.h resex/load_abi.h @pure
src/lab/reconf*        src/lab/reconf.h src/lab/reconf_balancer.h src/lab/reconf_cmd.h src/lab/reconf_scene.h src/lab/reconf_forecast.h src/lab/lab_cmd.h src/core/ src/shared/region.h src/sim/web.h src/sim/words.h src/cli/table.h resex/exit.h @libc jansson.h
src/lab/lab_cmd*       src/lab/lab_cmd.h src/util/cmdline.h src/util/utf8.h resex/exit.h config.h @libc jansson.h
src/lab/replay_cmd*    src/lab/replay_cmd.h src/lab/replay_show.h src/lab/lab_cmd.h src/util/utf8.h resex/exit.h config.h @libc
src/lab/replay_show*   src/lab/replay_show.h src/lab/replay.h @libc jansson.h
src/lab/replay*        src/lab/replay.h policies/state.h src/conf/policy.h src/tick/sampler.h src/hv/hv.h @libc
src/lab/pool*          src/lab/pool.h src/lab/run.h resex/exit.h @libc jansson.h
src/lab/sweep_cmd*     src/lab/sweep.h src/lab/sweep_cmd.h src/lab/lab_cmd.h src/lab/pool.h src/lab/scenario.h policies/policies.h src/cli/table.h src/util/conf.h src/util/utf8.h resex/exit.h @libc
src/lab/sweep_file*    src/lab/sweep.h src/lab/figures.h src/lab/lab_cmd.h resex/exit.h @libc
src/lab/sweep*         src/lab/sweep.h @libc jansson.h
src/lab/main*          src/lab/figures_cmd.h src/lab/load_cmd.h src/lab/reconf_cmd.h src/lab/replay_cmd.h src/lab/sweep_cmd.h src/util/file.h resex/exit.h config.h @libc
src/lab/*              src/lab/ src/core/ src/util/ src/conf/ src/engine/engine.h src/guests/guests.h src/hv/hv.h src/sim/sim.h @libc
src/daemon/*           src/daemon/ ibmon/layout.h src/core/ src/util/ src/conf/ src/engine/engine.h src/lab/run.h src/guests/restore.h src/guests/journal.h src/control/server.h src/sim/sim.h src/hv/hv.h resex/exit.h config.h @libc
etc/examples/policy/*  resex/policy.h @pure
etc/examples/ibmon/*   resex/ibmon.h @libc err.h
etc/examples/*         resex/report.h resex/cache.h @libc
tests/*                *
END
}

groups() {
	cat <<'END'
@pure stdint.h stddef.h stdbool.h string.h errno.h limits.h assert.h
@libc @pure arpa/ net/ netinet/ sys/ linux/ ctype.h dirent.h dlfcn.h endian.h fcntl.h fnmatch.h getopt.h grp.h inttypes.h locale.h math.h netdb.h poll.h pthread.h pwd.h sched.h search.h semaphore.h signal.h stdalign.h stdarg.h stdatomic.h stdio.h stdlib.h strings.h syslog.h termios.h time.h unistd.h wchar.h
@xen xen/ xencall.h xenctrl.h xendevicemodel.h xenevtchn.h xenforeignmemory.h xengnttab.h xenstat.h xenstore.h xenstore_lib.h xentoolcore.h xentoollog.h
END
}

# What may not be called or named. Words are names as the C compiler sees them:
# comments and strings do not count. Rows add up; a file may match several.
words() {
	cat <<'END'
src/core/* calls malloc calloc realloc reallocarray free aligned_alloc posix_memalign strdup strndup alloca mmap brk sbrk
policies/* calls malloc calloc realloc reallocarray free aligned_alloc posix_memalign strdup strndup alloca mmap brk sbrk
src/core/* calls printf fprintf dprintf sprintf snprintf asprintf vprintf vfprintf vdprintf vsprintf vsnprintf vasprintf puts fputs putchar fopen open openat read write fread fwrite fflush getenv ioctl socket send recv syscall syslog abort exit _exit signal rand srand random qsort
policies/* calls printf fprintf dprintf sprintf snprintf asprintf vprintf vfprintf vdprintf vsprintf vsnprintf vasprintf puts fputs putchar fopen open openat read write fread fwrite fflush getenv ioctl socket send recv syscall syslog abort exit _exit signal rand srand random qsort
src/core/* names float double __float128 _Decimal64 asm __asm__ extern_weak
policies/* names float double __float128 _Decimal64 asm __asm__
src/*      calls clock_gettime gettimeofday clock_nanosleep nanosleep usleep sleep time
policies/* calls clock_gettime gettimeofday clock_nanosleep nanosleep usleep sleep time
ibmon/*    calls clock_gettime gettimeofday clock_nanosleep nanosleep usleep sleep time
src/*      names CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME CLOCK_TAI
ibmon/*    names CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME CLOCK_TAI
src/cli/top_[gm]* calls printf fprintf dprintf vprintf vfprintf puts fputs putchar fopen fread fwrite fflush fgets getchar getenv system exit abort
src/cli/top_la*  calls printf fprintf dprintf vprintf vfprintf puts fputs putchar fopen fread fwrite fflush fgets getchar getenv system exit abort
src/cli/top_lis* calls printf fprintf dprintf vprintf vfprintf puts fputs putchar fopen fread fwrite fflush fgets getchar getenv system exit abort
ibmon/*    names set_cap hv_sched hv_sched_ops
END
}

# Files to which the rows above do not apply: FILE-PATTERN WORD...
# util/clock is the one place that asks for the time by which things are
# decided. The report library and that of caches are part of any program, and only they know
# when a buffer is due, or a daemon was slow.
words_except() {
	cat <<'END'
src/util/clock.c clock_gettime clock_nanosleep nanosleep CLOCK_BOOTTIME CLOCK_MONOTONIC
src/util/guard_open.c CLOCK_MONOTONIC
src/kmod/*       CLOCK_MONOTONIC
ibmon/report/*   clock_gettime CLOCK_MONOTONIC_COARSE
src/appcache/*   clock_gettime CLOCK_MONOTONIC_COARSE
END
}

# Where the 1 ms path begins: a symbol (a regular expression) and what it is. Calls by
# pointer are not seen in objects: what they can reach is a root, too. The ops of the
# hypervisor are none: tick/domains.c alone can call them, see tick_hypercalls.
tick_roots() {
	cat <<'END'
^tick$ one interval
^sampler_run$ the loop around it
^clock_real$ the loop's clock: now() and sleep_until()
^policy_(null|freemarket|ioshares|ratio|slo)$ policies: decide()
^ring_[a-z0-9]+_(sq|cq)$ layouts of rings: what ring.c calls
END
}

# What files of that path may call in libc, beside its plain string functions.
tick_may() {
	cat <<'END'
src/tick/handover.c write __errno_location # wakes another thread: an eventfd
src/util/clock.c clock_gettime clock_nanosleep # the absolute sleep between two ticks
src/util/guard.c timer_settime __sigsetjmp siglongjmp sigaction raise # a plug-in that does not return
END
}

# Tables of operations that a front and its backends share: a front names the tables, and
# backends call the front's helpers. Needs of these symbols are not counted.
ops_tables() {
	cat <<'END'
^hv_xen_(mem|sched|watch)$ xen.c puts the three tables of its files into hv_xen
^counter_(vif|vf|port|sim)$ counters.c lists its sources
END
}

files() {
	if [ "$1" != copy ] && git -C "$top" rev-parse --is-inside-work-tree >/dev/null 2>&1 &&
	   [ -n "$(git -C "$top" ls-files | head -n 1)" ]; then
		git -C "$top" ls-files -- '*.c' '*.h'
	else
		(cd "$top" && find ./* \( -name 'build*' -o -name _build \) -prune -o -name '*.[ch]' ! -name config.h \
			-type f -print | sed 's|^\./||')
	fi | sort
}

# Checks the files named on standard input, from $top. whole: they are all there are, and
# what the tables have beyond their needs is reported, too.
check_tree() {
	table >"$tmp/table"
	groups >"$tmp/groups"
	words >"$tmp/words"
	words_except >"$tmp/except"
	(cd "$top" && awk -v tmp="$tmp" -v whole="${1-}" -f "$here/check-layers.awk")
}

# What any object may need of libc and of the compiler.
plain_libc='(bcmp|mem(cpy|move|set|cmp|chr)|str(cmp|ncmp|len|nlen|chr))(_chk)?|_GLOBAL_OFFSET_TABLE_|__(memcpy|memmove|memset)_chk|__stack_chk_fail|__assert_fail|__(asan|ubsan|tsan|sanitizer|sancov|llvm|gcov|profc?)_.*|__(u?div|u?mod)ti3|__udivmodti4|__muloti4|__start___sancov.*|__stop___sancov.*|__stop___asan.*|__start___asan.*'

# Symbols of the product's objects under $1, as "SOURCE TYPE SYMBOL". Objects whose
# source is gone, and those of tests, are left out.
object_symbols() {
	(cd "$1" && find src ibmon policies -name '*.o' -type f) | sort >"$tmp/objects"
	while read -r obj; do
		name=${obj##*/} dir=${obj%/*}
		src=$dir/${name%.o}.c
		[ -f "$top/$src" ] || src=$dir/${name#*-} src=${src%.o}.c
		[ -f "$top/$src" ] && echo "$src $obj"
	done <"$tmp/objects" >"$tmp/sources"
	[ -s "$tmp/sources" ] || { echo "$1: no objects; run make first" >&2; return 2; }
	cut -d' ' -f2 "$tmp/sources" | (cd "$1" && xargs nm -A) |
		awk -v list="$tmp/sources" '
			BEGIN { while ((getline < list) > 0) src[$2] = $1 }
			{
				obj = $1
				sub(/:.*/, "", obj)
				print src[obj], $(NF - 1), $NF
			}' | sort -u
}

# Calls of the function that makes the hypercall, in the files of the closure.
tick_hypercalls() {
	while read -r src; do
		awk -v s="$src" '$1 == s { print $2; exit }' "$tmp/sources"
	done <"$tmp/closure" | (cd "$1" && xargs objdump -r) |
		awk '/^RELOCATION RECORDS FOR/ { code = /\[\.text/ }
			code && $3 ~ /^sampler_list_domains([-+]|$)/ { n++ }
			END { print n + 0 }'
}

check_tick() {
	rc=0
	object_symbols "$1" >"$tmp/symbols" || return 2
	tick_roots >"$tmp/tick_roots"
	tick_may >"$tmp/tick_may"
	echo "^($plain_libc)\$" >"$tmp/plain"
	: >"$tmp/closure"
	awk -v tmp="$tmp" -v mode=tick -f "$here/check-objects.awk" "$tmp/symbols" || rc=1
	n=$(tick_hypercalls "$1")
	[ "$n" -eq 1 ] || { echo "the 1 ms path lists domains (a hypercall) in $n places, not in one"; rc=1; }
	return $rc
}

check_circles() {
	object_symbols "$1" >"$tmp/symbols" || return 2
	ops_tables >"$tmp/ops"
	awk -v tmp="$tmp" -v mode=circles -f "$here/check-objects.awk" "$tmp/symbols"
}

# What an archive's objects need from outside, and what they keep.
check_archives() {
	bad=0
	for lib in libcore.a libpolicies.a; do
		[ -f "$1/$lib" ] || { echo "$1/$lib: not built; run make first"; return 2; }
	done
	nm --defined-only --extern-only "$1/libcore.a" "$1/libpolicies.a" |
		awk 'NF == 3 { print $3 }' | sort -u >"$tmp/defined"
	for lib in libcore.a libpolicies.a; do
		nm --undefined-only "$1/$lib" | awk 'NF == 2 { print $2 }' | sort -u |
			grep -vxFf "$tmp/defined" |
			grep -vxE "$plain_libc" \
			>"$tmp/undef" || true
		while read -r sym; do
			echo "$lib: needs $sym, which is not in libcore and not a plain libc string function"
			bad=1
		done <"$tmp/undef"
		nm "$1/$lib" | grep -q '__[a-z]*san_' && continue # sanitizers keep data of their own
		size -A "$1/$lib" | awk -v lib="$lib" '
			/^[^ ]+ .*:$/ { obj = $1 }
			($1 == ".data" || $1 == ".bss") && $2 > 0 {
				print lib ": " obj ": " $2 " bytes of " $1 ": mutable global state"
			}' >"$tmp/state"
		[ -s "$tmp/state" ] && { cat "$tmp/state"; bad=1; }
	done
	return $bad
}

# One line a plant: FILE|LINE OF CODE|what the report must say after FILE:LINE:
plants() {
	cat <<'END'
src/core/plant.c|#include "src/util/log.h"|may not include src/util/log.h
src/core/plant.c|#include <stdio.h>|may not include <stdio.h>
src/core/plant.c|#include <time.h>|may not include <time.h>
src/core/plant.c|# include "ibmon/ring/ring.h"|may not include ibmon/ring/ring.h
src/core/plant.c|#include "resex/policy.h"|may not include resex/policy.h
src/core/plant.h|#include HEADER|include of a macro
src/core/plant.c|#include "units.h"|may not include units.h
src/core/plant.c|void *p = malloc(4);|may not call malloc
src/core/plant.c|x = 1; /* " */ free(p); // '|may not call free
src/core/plant.c|clock_gettime(CLOCK_MONOTONIC, &ts);|may not call clock_gettime
src/core/plant.c|printf ("%d", 1);|may not call printf
src/core/plant.h|double d;|may not name double
policies/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
policies/plant.c|#include "src/engine/engine.h"|may not include src/engine/engine.h
policies/plant.c|#include <stdlib.h>|may not include <stdlib.h>
policies/plant.c|return calloc(1, 2);|may not call calloc
policies/plant.c|t = time(NULL);|may not call time
policies/plant.c|float f;|may not name float
include/resex/policy.h|#include "src/core/flow.h"|may not include src/core/flow.h
include/resex/flow.h|#include "src/core/units.h"|may not include src/core/units.h
include/resex/plant.h|#include "src/core/flow.h"|may not include src/core/flow.h
src/util/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
src/util/plant.c|#include <jansson.h>|may not include <jansson.h>
src/util/plant.c|nanosleep(&ts, NULL);|may not call nanosleep
src/hv/plant.c|#include <xenctrl.h>|may not include <xenctrl.h>
src/hv/plant.c|#include "ibmon/guest.h"|may not include ibmon/guest.h
src/hv/xen/plant.c|#include <xenstore.h>|may not include <xenstore.h>
src/hv/xen/plant.c|#include "src/tick/actor.h"|may not include src/tick/actor.h
src/hv/sim_plant.c|#include <xenstore.h>|may not include <xenstore.h>
src/sim/plant.c|#include "ibmon/ring/rxe.h"|may not include ibmon/ring/rxe.h
src/sim/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
ibmon/plant.c|#include <infiniband/verbs.h>|may not include <infiniband/verbs.h>
ibmon/plant.c|#include <rdma/rdma_user_rxe.h>|may not include <rdma/rdma_user_rxe.h>
ibmon/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
ibmon/plant.c|#include "resex/policy.h"|may not include resex/policy.h
ibmon/plant.c|#include "ibmon/agent/agent.h"|may not include ibmon/agent/agent.h
ibmon/guest_plant.c|#include "src/hv/xen/xen.h"|may not include src/hv/xen/xen.h
ibmon/plant.c|ops->set_cap(s, 1, cap);|may not name set_cap
ibmon/plant.c|clock_gettime(CLOCK_MONOTONIC, &ts);|may not call clock_gettime
ibmon/agent/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
ibmon/agent/plant.c|#include <infiniband/verbs.h>|may not include <infiniband/verbs.h>
ibmon/scan_load_plant.c|#include "ibmon/registry.h"|may not include ibmon/registry.h
ibmon/agent/plant.c|#include "src/load/load.h"|may not include src/load/load.h
ibmon/agent/load_page_plant.c|#include "src/load/index.h"|may not include src/load/index.h
ibmon/agent/book_plant.c|#include "src/shared/region.h"|may not include src/shared/region.h
src/load/claim_plant.c|#include "ibmon/scan.h"|may not include ibmon/scan.h
src/load/agree_plant.c|#include "resex/guest_abi.h"|may not include resex/guest_abi.h
ibmon/report/plant.c|#include "src/util/log.h"|may not include src/util/log.h
ibmon/report/plant.c|clock_gettime(CLOCK_MONOTONIC, &ts);|may not name CLOCK_MONOTONIC
src/cli/plant.c|#include "src/engine/engine.h"|may not include src/engine/engine.h
src/cli/plant.c|#include "ibmon/ring/ring.h"|may not include ibmon/ring/ring.h
src/cli/plant.c|#include <curses.h>|may not include <curses.h>
src/cli/top_layout_plant.c|#include <curses.h>|may not include <curses.h>
src/cli/top_model_plant.c|#include <unistd.h>|may not include <unistd.h>
src/cli/top_model_plant.c|#include "src/cli/client.h"|may not include src/cli/client.h
src/cli/top_layout_plant.c|puts(text);|may not call puts
src/cli/top_list_plant.c|printf("%d", 1);|may not call printf
src/cli/top_grid_plant.c|fwrite(text, 1, 1, f);|may not call fwrite
src/cli/top_link_plant.c|#include "src/cli/top_model.h"|may not include src/cli/top_model.h
src/cli/top_screen_plant.c|#include "src/cli/top_link.h"|may not include src/cli/top_link.h
src/cached/conf_plant.c|#include "src/cached/node.h"|may not include src/cached/node.h
src/cached/conf_plant.c|#include "src/transport/tcp/tcp.h"|may not include src/transport/tcp/tcp.h
src/cached/schema_plant.c|#include "src/cached/node.h"|may not include src/cached/node.h
src/cached/floors_plant.c|#include "src/cached/app.h"|may not include src/cached/app.h
src/cached/options_plant.c|#include "src/cached/conf.h"|may not include src/cached/conf.h
src/cached/tag_plant.c|#include "src/cached/app.h"|may not include src/cached/app.h
src/cached/snapshot_plant.c|#include <stdio.h>|may not include <stdio.h>
src/cached/outbox_plant.c|#include "src/reconf/runner.h"|may not include src/reconf/runner.h
src/cached/watch_plant.c|#include "src/util/clock.h"|may not include src/util/clock.h
src/cached/jobs_plant.c|#include "src/cached/app_priv.h"|may not include src/cached/app_priv.h
src/cached/node_plant.c|#include "src/sql/sql.h"|may not include src/sql/sql.h
src/cached/node_plant.c|#include "src/cache/home.h"|may not include src/cache/home.h
src/cached/check_plant.c|#include "src/cached/app.h"|may not include src/cached/app.h
src/cached/api_body_plant.c|#include <event2/http.h>|may not include <event2/http.h>
src/cached/api_body_plant.c|#include "src/cached/app.h"|may not include src/cached/app.h
src/cached/api_plant.c|#include "src/cached/node.h"|may not include src/cached/node.h
src/cached/api_plant.c|#include "src/cached/app_priv.h"|may not include src/cached/app_priv.h
src/cached/app_plant.c|#include "src/transport/tcp/tcp.h"|may not include src/transport/tcp/tcp.h
src/cached/app_plant.c|#include "src/cached/proxy.h"|may not include src/cached/proxy.h
src/cached/app_plant.c|clock_gettime(CLOCK_MONOTONIC, &ts);|may not name CLOCK_MONOTONIC
src/cached/main_plant.c|#include "src/cached/app_priv.h"|may not include src/cached/app_priv.h
src/cached/events_plant.c|#include "src/cached/app.h"|may not include src/cached/app.h
src/cached/listen_plant.c|#include <event2/listener.h>|may not include <event2/listener.h>
src/cached/proxy_plant.c|#include "src/cached/app.h"|may not include src/cached/app.h
src/cached/proxy_plant.c|#include "src/sql/sql.h"|may not include src/sql/sql.h
src/cached/ring_plant.c|#include "src/cached/proxy.h"|may not include src/cached/proxy.h
src/cached/ring_plant.c|#include "src/cache/hit.h"|may not include src/cache/hit.h
src/cached/ring_view_plant.c|#include "src/cached/ring.h"|may not include src/cached/ring.h
src/transport/shm/life_plant.c|#include "src/transport/shm/shm.h"|may not include src/transport/shm/shm.h
src/conf/cluster_cached_plant.c|#include "src/cached/conf.h"|may not include src/cached/conf.h
src/peek/plant.c|#include "src/cluster/cluster.h"|may not include src/cluster/cluster.h
src/peek/plant.c|#include "src/transport/tcp/tcp.h"|may not include src/transport/tcp/tcp.h
src/peek/plant.c|clock_gettime(CLOCK_REALTIME, &ts);|may not call clock_gettime
src/counters/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
src/counters/plant.c|#include "src/sim/sim.h"|may not include src/sim/sim.h
src/counters/sim_plant.c|#include "src/sim/model.h"|may not include src/sim/model.h
src/conf/cluster_balance_plant.c|#include "src/reconf/balance.h"|may not include src/reconf/balance.h
src/daemon/plant.c|#include "src/guests/guests.h"|may not include src/guests/guests.h
src/daemon/plant.c|#include <xenctrl.h>|may not include <xenctrl.h>
src/daemon/plant.c|#include "src/cli/out.h"|may not include src/cli/out.h
src/daemon/plant.c|#include "src/hv/xen/xen.h"|may not include src/hv/xen/xen.h
src/daemon/plant.c|gettimeofday(&tv, NULL);|may not call gettimeofday
src/daemon/plant.c|clock_gettime(CLOCK_MONOTONIC, &ts);|may not name CLOCK_MONOTONIC
src/hv/plant.c|clock_gettime(CLOCK_REALTIME, &ts);|may not call clock_gettime
src/tick/plant.c|#include <stdlib.h>|may not include <stdlib.h>
src/daemon/plant.c|nanosleep(&ts, NULL);|may not call nanosleep
src/tick/plant.c|#include <pthread.h>|may not include <pthread.h>
src/tick/plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
src/tick/domains_plant.c|#include <unistd.h>|may not include <unistd.h>
src/tick/actor_plant.c|#include "ibmon/scan.h"|may not include ibmon/scan.h
src/tick/plant.c|#include "src/guests/guests.h"|may not include src/guests/guests.h
src/conf/plant.c|#include "src/guests/guests.h"|may not include src/guests/guests.h
src/conf/plant.c|#include "src/reconf/act.h"|may not include src/reconf/act.h
src/conf/plant.c|#include "src/tick/handover.h"|may not include src/tick/handover.h
src/conf/cluster_agree_plant.c|#include <jansson.h>|may not include <jansson.h>
src/guests/plant.c|#include "src/control/server.h"|may not include src/control/server.h
src/guests/plant.c|#include "src/tick/sampler.h"|may not include src/tick/sampler.h
src/cluster/plant.c|#include "src/control/methods.h"|may not include src/control/methods.h
src/cluster/plant.c|#include "src/transport/tcp/tcp.h"|may not include src/transport/tcp/tcp.h
src/cluster/plant.c|#include "src/reconf/act_haproxy.h"|may not include src/reconf/act_haproxy.h
src/cluster/balancer_plant.c|#include "src/cluster/cluster.h"|may not include src/cluster/cluster.h
src/cluster/balance_turn_plant.c|#include "src/reconf/lock.h"|may not include src/reconf/lock.h
src/control/plant.c|#include "src/engine/engine.h"|may not include src/engine/engine.h
src/control/plant.c|#include "src/tick/sampler.h"|may not include src/tick/sampler.h
src/engine/plant.c|#include "src/lab/scenario.h"|may not include src/lab/scenario.h
src/engine/plant.c|#include "src/guests/guests_priv.h"|may not include src/guests/guests_priv.h
src/lab/plant.c|#include "src/cli/out.h"|may not include src/cli/out.h
src/lab/plant.c|#include "src/sim/model.h"|may not include src/sim/model.h
src/lab/load_plant.c|#include "src/sim/web_priv.h"|may not include src/sim/web_priv.h
src/lab/load_plant.c|#include "src/shared/peers.h"|may not include src/shared/peers.h
src/lab/load_read_plant.c|#include "src/reconf/balance.h"|may not include src/reconf/balance.h
src/lab/load_log_plant.c|#include "src/lab/load.h"|may not include src/lab/load.h
src/lab/lab_cmd_plant.c|#include "src/lab/load.h"|may not include src/lab/load.h
src/lab/main_plant.c|#include "src/sim/web.h"|may not include src/sim/web.h
src/lab/replay_plant.c|#include "src/engine/engine.h"|may not include src/engine/engine.h
src/lab/replay_cmd_plant.c|#include "src/tick/sampler.h"|may not include src/tick/sampler.h
src/guests/trace_plant.c|#include "src/hv/hv.h"|may not include src/hv/hv.h
src/trace/plant.c|#include <stdio.h>|may not include <stdio.h>
src/trace/ring_plant.h|#include "src/core/spsc.h"|may not include src/core/spsc.h
src/trace/frame_plant.c|#include <stdatomic.h>|may not include <stdatomic.h>
src/trace/file_plant.c|#include "src/tick/tape.h"|may not include src/tick/tape.h
src/tick/tape_plant.c|#include "src/util/clock.h"|may not include src/util/clock.h
src/sim/web_plant.c|#include "src/reconf/balance.h"|may not include src/reconf/balance.h
src/cache/hit_plant.c|#include "src/transport/transport.h"|may not include src/transport/transport.h
src/cache/place_plant.c|#include "src/cache/fresh.h"|may not include src/cache/fresh.h
src/cache/offer_plant.c|#include "src/cache/place.h"|may not include src/cache/place.h
src/cache/recover_plant.c|#include "src/cache/fill.h"|may not include src/cache/fill.h
src/cache/home_plant.c|#include "src/cache/fresh.h"|may not include src/cache/fresh.h
src/cache/plant.c|#include "src/sql/sql.h"|may not include src/sql/sql.h
src/reconf/balance_plant.c|#include "src/load/index.h"|may not include src/load/index.h
src/reconf/decide_plant.c|#include "src/reconf/move.h"|may not include src/reconf/move.h
src/reconf/haproxy_text_plant.c|#include <sys/socket.h>|may not include <sys/socket.h>
src/reconf/act_plant.c|#include "src/reconf/lock.h"|may not include src/reconf/lock.h
src/reconf/plant.c|#include "src/guests/guests.h"|may not include src/guests/guests.h
src/reconf/plant.c|#include <infiniband/verbs.h>|may not include <infiniband/verbs.h>
src/transport/verbs/plant.c|#include "src/transport/tcp/tcp.h"|may not include src/transport/tcp/tcp.h
src/transport/tcp/plant.c|#include <infiniband/verbs.h>|may not include <infiniband/verbs.h>
src/transport/shm/plant.c|#include "src/transport/front/front.h"|may not include src/transport/front/front.h
src/transport/sim/plant.c|#include "src/transport/front/front.h"|may not include src/transport/front/front.h
src/transport/front/plant.c|#include "src/transport/verbs/verbs.h"|may not include src/transport/verbs/verbs.h
src/transport/plant.c|#include "src/transport/sim/sim.h"|may not include src/transport/sim/sim.h
src/transport/plant.c|#include "src/shared/region.h"|may not include src/shared/region.h
src/shared/plant.c|#include "src/reconf/lock.h"|may not include src/reconf/lock.h
ibmon/ring/plant.c|#include "ibmon/registry.h"|may not include ibmon/registry.h
ibmon/plant.c|#include "ibmon/ring/rxe.h"|may not include ibmon/ring/rxe.h
src/sql/plant.c|#include <libpq-fe.h>|may not include <libpq-fe.h>
src/sql/plant.c|#include "src/sql/pgsql_conn.h"|may not include src/sql/pgsql_conn.h
src/sql/plant.c|#include "src/reconf/step.h"|may not include src/reconf/step.h
src/sql/pgsql_plant.c|#include <sqlite3.h>|may not include <sqlite3.h>
src/sql/sqlite_plant.c|#include <libpq-fe.h>|may not include <libpq-fe.h>
src/sql/sqlite_plant.c|nanosleep(&t, NULL);|may not call nanosleep
src/cache/plant.c|#include "src/sql/sql.h"|may not include src/sql/sql.h
src/ring/plant.c|#include "src/transport/transport.h"|may not include src/transport/transport.h
src/ring/plant.c|#include "src/cached/proxy.h"|may not include src/cached/proxy.h
src/ring/plant.c|#include "src/cache/fresh.h"|may not include src/cache/fresh.h
src/ring/direct_plant.c|#include "src/cache/home.h"|may not include src/cache/home.h
src/ring/version_text_plant.c|#include <sys/socket.h>|may not include <sys/socket.h>
src/vmod/plant.c|#include "src/ring/connect.h"|may not include src/ring/connect.h
src/vmod/plant.c|#include "src/cached/proxy.h"|may not include src/cached/proxy.h
src/vmod/plant.c|#include "cache/cache_varnishd.h"|may not include cache/cache_varnishd.h
src/appcache/plant.c|#include "src/util/utf8.h"|may not include src/util/utf8.h
src/appcache/plant.c|#include <event2/http.h>|may not include <event2/http.h>
src/appcache/plant.c|clock_gettime(CLOCK_MONOTONIC, &ts);|may not name CLOCK_MONOTONIC
src/auction/plant.c|#include <libpq-fe.h>|may not include <libpq-fe.h>
src/auction/plant.c|#include <curl/curl.h>|may not include <curl/curl.h>
src/auction/plant.c|#include "src/sql/sql.h"|may not include src/sql/sql.h
src/auction/plant.c|#include "src/auction/db_backends.h"|may not include src/auction/db_backends.h
src/auction/db_pgsql_plant.c|#include <sqlite3.h>|may not include <sqlite3.h>
src/auction/db_sqlite_plant.c|#include <libpq-fe.h>|may not include <libpq-fe.h>
src/auction/db_plant.c|#include "src/auction/page.h"|may not include src/auction/page.h
src/cacheload/plant.c|#include "src/auction/page.h"|may not include src/auction/page.h
src/cacheload/plant.c|#include "src/cacheload/history_priv.h"|may not include src/cacheload/history_priv.h
src/cacheload/plant.c|nanosleep(&ts, NULL);|may not call nanosleep
src/cacheload/history_plant.c|#include "src/util/clock.h"|may not include src/util/clock.h
src/cacheload/http_plant.c|#include <sys/socket.h>|may not include <sys/socket.h>
src/elsewhere/plant.c|int x;|no row
END
}

# One line a plant: a pattern of files that are not there|what the report must say.
stale_plants() {
	cat <<'END'
^src/hv/xen/|no file is in the row of src/hv/xen/*
^policies/|no file is in the row of words for policies/*
^src/util/clock[.]|no file is in the exceptions for src/util/clock.c
^src/conf/cluster_agree[.]|no file of src/conf/cluster_agree* includes nettle/
END
}

self_test_stale() {
	# A row with one file left, which includes nothing.
	echo 'int x;' >"$copy/src/conf/cluster_agree_plant.c"
	stale_plants >"$tmp/stale-plants"
	while IFS='|' read -r gone want; do
		n=$((n + 1))
		out=$(files copy | grep -v "$gone" | check_tree whole) || true
		case $out in
		*"$want"*) ;;
		*)	echo "self-test: '$want' was not reported without $gone"
			missed=$((missed + 1)) ;;
		esac
	done <"$tmp/stale-plants"
	rm "$copy/src/conf/cluster_agree_plant.c"
}

# Things that look like violations and are none.
innocents() {
	cat <<'END'
src/core/plant.c|/* #include <stdio.h>; malloc(1); double; */
src/core/plant.c|// free(p) is not for us
src/core/plant.c|static const char s[] = "malloc(1) \" double";
src/core/plant.c|int my_malloc(int freed); /* a name that only holds the word */
policies/plant.c|#include "resex/policy.h"
ibmon/plant.c|int cpu_clock_gettimes(void);
tests/plant.c|#include <infiniband/verbs.h>
END
}

self_test() {
	copy=$tmp/copy
	mkdir -p "$copy"
	files tree | (cd "$top" && tar cf - -T -) | (cd "$copy" && tar xf -)
	top=$copy
	n=0 missed=0
	plants >"$tmp/plants"
	while IFS='|' read -r file line want; do
		n=$((n + 1))
		mkdir -p "$copy/$(dirname "$file")"
		printf '\n%s\n' "$line" >"$copy/$file"
		out=$(echo "$file" | check_tree) && out="(clean) $out"
		case $out in
		"$file:"*"$want"*) ;;
		*)	echo "self-test: '$line' in $file was not caught; reported: $out"
			missed=$((missed + 1)) ;;
		esac
		# And by the way files are found, not only by name.
		files copy | grep -qx "$file" ||
			{ echo "self-test: $file is not looked at"; missed=$((missed + 1)); }
		rm "$copy/$file"
	done <"$tmp/plants"
	self_test_stale
	innocents >"$tmp/innocents"
	while IFS='|' read -r file line; do
		n=$((n + 1))
		mkdir -p "$copy/$(dirname "$file")"
		printf '%s\n' "$line" >"$copy/$file"
		out=$(echo "$file" | check_tree) ||
			{ echo "self-test: '$line' in $file was reported: $out"; missed=$((missed + 1)); }
		rm "$copy/$file"
	done <"$tmp/innocents"
	self_test_archives
	self_test_objects
	echo "check-layers: self-test: $n plants, $missed missed"
	[ "$missed" -eq 0 ]
}

# Archives of a few lines: a clean pair, one that allocates, one that keeps state.
self_test_archives() {
	cc=${CC:-cc}
	command -v "${cc%% *}" >/dev/null || { echo "check-layers: no $cc: archives not self-tested"; return 0; }
	for what in clean needs state; do
		d=$tmp/ar-$what
		mkdir "$d"
		echo 'int core_f(int); int core_f(int x) { return x + 1; }' >"$d/a.c"
		echo 'int core_f(int); int pol_f(int); int pol_f(int x) { return core_f(x); }' >"$d/b.c"
		case $what in
		needs) echo 'int rand(void); int pol_g(void); int pol_g(void) { return rand(); }' >>"$d/b.c" ;;
		state) echo 'int pol_g(void); int pol_g(void) { static int n; return ++n; }' >>"$d/b.c" ;;
		esac
		(cd "$d" && $cc -O0 -c a.c b.c && ar rc libcore.a a.o && ar rc libpolicies.a b.o)
		n=$((n + 1))
		out=$(check_archives "$d") && rc=0 || rc=$?
		case $what:$rc:$out in
		clean:0: | needs:1:*"needs rand"* | state:1:*"mutable global state"*) ;;
		*)	echo "self-test: archive '$what' gave $rc: $out"
			missed=$((missed + 1)) ;;
		esac
	done
}

# One line a plant: FILE|FUNCTION that it calls|what the report must say.
object_plants() {
	cat <<'END'
src/tick/stages.c|malloc|calls malloc
src/core/sum.c|calloc|calls calloc
src/core/sum.c|realloc|calls realloc
src/tick/run.c|free|calls free
src/core/sum.c|pthread_mutex_lock|calls pthread_mutex_lock
src/tick/stages.c|pthread_mutex_unlock|calls pthread_mutex_unlock
src/core/sum.c|pthread_cond_wait|calls pthread_cond_wait
src/core/sum.c|pthread_cond_signal|calls pthread_cond_signal
src/core/sum.c|sem_wait|calls sem_wait
src/core/sum.c|sem_post|calls sem_post
src/tick/run.c|sleep|calls sleep
src/tick/run.c|usleep|calls usleep
src/util/clock.c|nanosleep|calls nanosleep
src/tick/run.c|clock_nanosleep|calls clock_nanosleep
src/core/sum.c|open|calls open
src/tick/handover.c|read|calls read
src/core/sum.c|write|calls write
src/core/sum.c|ioctl|calls ioctl
src/core/sum.c|fopen|calls fopen
src/core/sum.c|printf|calls printf
src/core/sum.c|snprintf|calls snprintf
policies/null.c|malloc|(policy_null)
ibmon/ring/fake.c|free|(ring_fake_sq)
src/tick/run.c|sampler_list_domains|in 2 places
src/hv/other.c|core_sum|
END
}

# A product of a few lines, in the folder $1. sum.c is two calls away from tick().
object_tree() {
	mkdir -p "$1/src/tick" "$1/src/core" "$1/src/util" "$1/src/hv" "$1/policies" "$1/ibmon/ring"
	echo 'void stages(void); void tick(void); void tick(void) { stages(); }' >"$1/src/tick/tick.c"
	echo 'void core_sum(void); void handover_wake(void); void sampler_list_domains(void);
		void stages(void);
		void stages(void) { core_sum(); handover_wake(); sampler_list_domains(); }' >"$1/src/tick/stages.c"
	echo 'void sampler_list_domains(void); void sampler_list_domains(void) { }' >"$1/src/tick/domains.c"
	echo 'void tick(void); void sampler_run(void); void sampler_run(void) { tick(); }' >"$1/src/tick/run.c"
	echo 'void write(void); void handover_wake(void); void handover_wake(void) { write(); }' >"$1/src/tick/handover.c"
	echo 'void clock_nanosleep(void); void clock_real(void); void clock_real(void) { clock_nanosleep(); }' >"$1/src/util/clock.c"
	echo 'void memset(void); void core_sum(void); void core_sum(void) { memset(); }' >"$1/src/core/sum.c"
	echo 'void malloc(void); void other(void); void other(void) { malloc(); }' >"$1/src/hv/other.c"
	echo 'static void decide(void) { } void (*const policy_null)(void) = decide;' >"$1/policies/null.c"
	echo 'static void sample(void) { } void (*const ring_fake_sq)(void) = sample;' >"$1/ibmon/ring/fake.c"
	object_compile "$1" 'src/*/*.c policies/*.c ibmon/*/*.c'
}

object_compile() { # TREE SOURCES (patterns)
	(cd "$1" && for src in $2; do $cc -O0 -fno-builtin -w -c "$src" -o "${src%.c}.o"; done)
}

# Is what check_$1 says of the tree as wanted? "" is: nothing.
object_expect() { # tick|circles TREE WANTED WHAT
	n=$((n + 1))
	out=$("check_$1" "$2") && rc=0 || rc=$?
	case $rc:$out in
	0:) [ -z "$3" ] && return ;;
	1:*"$3"*) [ -n "$3" ] && return ;;
	esac
	echo "self-test: $4 was not judged as it should: $rc: $out"
	missed=$((missed + 1))
}

self_test_objects() {
	command -v "${cc%% *}" >/dev/null || return 0
	top=$tmp/objects-tree
	object_tree "$top"
	object_expect tick "$top" '' 'a clean 1 ms path'
	object_expect circles "$top" '' 'a tree without circles'
	object_plants >"$tmp/object-plants"
	while IFS='|' read -r file call want; do
		cp "$top/$file" "$tmp/kept.c"
		echo "void $call(void); void plant(void); void plant(void) { $call(); }" >>"$top/$file"
		object_compile "$top" "$file"
		object_expect tick "$top" "$want" "$call in $file"
		cp "$tmp/kept.c" "$top/$file"
		object_compile "$top" "$file"
	done <"$tmp/object-plants"
	rm "$top/src/util/clock.o"
	object_expect tick "$top" 'no object defines a root of the 1 ms path: ^clock_real$' 'a root that is gone'
	echo 'void stages(void); void back(void); void back(void) { stages(); }' >>"$top/src/core/sum.c"
	object_compile "$top" src/core/sum.c
	object_expect circles "$top" 'src/core/sum.c -> src/tick/stages.c: stages' 'a circle of two files'
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
case ${1-} in
--self-test)
	top=$(cd "${2-$here/..}" && pwd)
	self_test ;;
--archives)
	[ $# -eq 2 ] || { echo "usage: $0 --archives DIR" >&2; exit 2; }
	check_archives "$2" && echo "check-layers: libcore.a and libpolicies.a need nothing but libc strings" ;;
--tick)
	[ $# -eq 2 ] || { echo "usage: $0 --tick DIR" >&2; exit 2; }
	top=$(cd "$here/.." && pwd)
	check_tick "$2" && echo "check-layers: the 1 ms path ($(wc -l <"$tmp/closure") files) allocates, locks, sleeps and opens nothing; one hypercall" ;;
--circles)
	[ $# -eq 2 ] || { echo "usage: $0 --circles DIR" >&2; exit 2; }
	top=$(cd "$here/.." && pwd)
	check_circles "$2" && echo "check-layers: no circle between $(cut -d' ' -f1 "$tmp/symbols" | sort -u | wc -l) files" ;;
-*)
	echo "usage: $0 [--self-test | --archives DIR | --tick DIR | --circles DIR] [TOP]" >&2
	exit 2 ;;
*)
	top=$(cd "${1-$here/..}" && pwd)
	files tree >"$tmp/files"
	[ -s "$tmp/files" ] || { echo "check-layers: no .c or .h file under $top" >&2; exit 2; }
	check_tree whole <"$tmp/files" && echo "check-layers: $(wc -l <"$tmp/files") files, all within their layers" ;;
esac
