#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh: search the models of the shared state's protocols, all their states.
#
#	tests/model/run.sh [NAME]...	all rows of the table below but the largest, or those named;
#					the name of a model is that of all its rows but the largest
#	tests/model/run.sh --deep [NAME]...	all rows, or those named
#	tests/model/run.sh --list	the names of all rows
#	tests/model/run.sh --trail NAME	search this row, and show how it goes wrong
#
# A row is a model with its bounds. Where the column WHAT is "-" the search must
# be whole and find nothing ("- LIVELOCK": no endless run without a move, either);
# else the model breaks one rule, and spin must find that this, and nothing else,
# goes wrong. README.md maps rules to the code. Built in build-model/ (MODEL_OUT).
# Rows marked "deep" run with --deep or by name.
# Most searches are shorter than a compiler needs to optimize pan: tcc compiles it where it is
# installed, else the compiler without optimization.
# JOBS (2) searches at a time, each of at most 2800 MB (deep: 6000), the longest first.
#
# A search is of all states, so what it finds depends on its input alone. A row that passed is
# not searched again until its model's text, its bounds, this script, spin or the compiler
# changes; comments do not count. Lines of such rows end with "known". --deep, or a name,
# searches all the same. Kept in MODEL_CACHE (~/.cache/resex/model) for 30 days after the last use.
#
# Exit: 0, 1 when a row fails, 77 when spin or the compiler is not installed (1
# when CI=true).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${MODEL_OUT:-$here/../../build-model}
keep=${MODEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/resex/model}

# NAME | MODEL | -D... | WHAT MUST BE FOUND | deep: a large search of what another row covers less widely;
#	long: it takes seconds, so that pan is optimized
table() {
	cat <<'END'
move_unknown             | move | UNKNOWNS=1 | - | deep
move_home                | move | HOME_CRASHES=1 | - | deep
move_node_home           | move | NODE_CRASHES=1 | - | deep
move_crash               | move | CRASHES=1 AGAIN=0 | - | long
move_crash_again         | move | RESTS=1 CRASHES=1 | -
move_crash_unknown       | move | RESTS=1 CRASHES=1 UNKNOWNS=1 PAUSES=1 | - | long
move_crash_home          | move | RESTS=1 CRASHES=1 HOME_CRASHES=1 PAUSES=1 | - | long
move_node_unknown        | move | RESTS=1 NODE_CRASHES=1 UNKNOWNS=1 | -
move_crash_node          | move | RESTS=1 CRASHES=1 NODE_CRASHES=1 PAUSES=1 | - | long
move_kept                | move | KEPT RESTS=1 NODE_CRASHES=2 | -
move_kept_unknown        | move | KEPT RESTS=1 NODE_CRASHES=1 UNKNOWNS=1 | -
move_adopt               | move | ADOPT RESTS=1 LOSSES=1 | - | deep
move_adopt_roles         | move | ADOPT ROLES LOSSES=1 | - | deep
move_adopt_unknown       | move | ADOPT ROLES RESTS=1 LOSSES=1 UNKNOWNS=1 PAUSES=1 | -
move_adopt_crash         | move | ADOPT ROLES RESTS=1 LOSSES=1 CRASHES=1 PAUSES=1 | - | long
move_adopt_home          | move | ADOPT ROLES RESTS=1 LOSSES=1 HOME_CRASHES=1 PAUSES=1 | -
move_adopt_again         | move | ADOPT ROLES FROM_2 RESTS=0 LOSSES=1 NODE_CRASHES=1 | -
move_adopt_twice         | move | ADOPT ROLES RESTS=1 LOSSES=2 PAUSES=1 | -
move_adopt_overlap       | move | ADOPT ROLES OVERLAPS RESTS=0 LOSSES=1 | -
move_three               | move | TRIES=1 | -
move_three_timely        | move | TIMELY | -
move_one_move            | move | TIMELY MINIMUM=0 | -
move_one_move_crash      | move | TIMELY MINIMUM=0 CRASHES=1 AGAIN=0 | -
move_overlap             | move | CHAIN MINIMUM=0 | -
move_three_crash_unknown | move | CRASHES=1 AGAIN=0 UNKNOWNS=1 PAUSES=1 | - | deep
move_three_crash_home    | move | CRASHES=1 AGAIN=0 HOME_CRASHES=1 PAUSES=1 | - | deep
move_three_node_unknown  | move | NODE_CRASHES=1 UNKNOWNS=1 PAUSES=1 | - | deep
move_three_crash_node    | move | CRASHES=1 AGAIN=0 NODE_CRASHES=1 PAUSES=1 | - | deep
move_kept_crash          | move | KEPT RESTS=1 NODE_CRASHES=1 CRASHES=1 PAUSES=1 | - | deep
move_kept_home           | move | KEPT RESTS=1 NODE_CRASHES=1 HOME_CRASHES=1 | - | deep
move_kept_back           | move | KEPT BACK RESTS=1 TRIES=2 NODE_CRASHES=1 | - | deep
move_live                | move | ENDLESS CROSS MINIMUM=0 | - LIVELOCK
move_live_crash          | move | ENDLESS CROSS MINIMUM=0 CRASHES=1 NO_RESTART | - LIVELOCK
lock_rounds              | lock | ROUNDS=2 CRASHES=0 HOME_CRASHES=0 | -
lock_crash               | lock | ROUNDS=1 CRASHES=1 HOME_CRASHES=0 | -
lock_home                | lock | ROUNDS=1 CRASHES=0 HOME_CRASHES=1 | -
lock_home_epoch          | lock | SAME_EPOCH ROUNDS=1 CRASHES=0 | -
lock_home_epoch_rounds   | lock | SAME_EPOCH UNKNOWNS=0 CRASHES=0 | -
lock_operator            | lock | ROUNDS=1 CRASHES=0 HOME_CRASHES=0 OPERATOR=1 | -
lock_prompt              | lock | PROMPT HOLD=3 DEADLINE=3 ROUNDS=1 CRASHES=1 HOME_CRASHES=0 | -
lock_prompt_hold         | lock | PROMPT HOLD=6 DEADLINE=3 ROUNDS=1 CRASHES=1 HOME_CRASHES=0 | -
lock_three               | lock | HOSTS=3 HOLD=3 DEADLINE=0 ROUNDS=1 CRASHES=0 HOME_CRASHES=0 | -
lock_three_nodes         | lock | HOSTS=3 NODES=2 HOLD=3 DEADLINE=0 ROUNDS=1 UNKNOWNS=0 CRASHES=0 HOME_CRASHES=0 | -
lock_three_unknown       | lock | HOSTS=3 NODES=2 HOLD=3 DEADLINE=0 ROUNDS=1 CRASHES=0 HOME_CRASHES=0 | - | deep
lock_three_crash         | lock | HOSTS=3 NODES=2 HOLD=3 DEADLINE=0 ROUNDS=1 UNKNOWNS=0 AGAIN=0 CRASHES=1 HOME_CRASHES=0 | - | deep
lock_three_home          | lock | HOSTS=3 NODES=2 HOLD=3 DEADLINE=0 ROUNDS=1 UNKNOWNS=0 CRASHES=0 HOME_CRASHES=1 | - | deep
lock_operator_crash      | lock | ROUNDS=1 UNKNOWNS=0 CRASHES=1 HOME_CRASHES=0 OPERATOR=1 | - | deep
lock_operator_home       | lock | ROUNDS=1 CRASHES=0 HOME_CRASHES=1 OPERATOR=1 | - | deep
members_change           | members | VIEWS=2 | - | deep
members_joins            | members | VIEWS=2 JOINS | - | long
view_change              | view | HOSTS=2 | -
view_kept                | view | KEPT TRIES=1 | -
view_kept_again          | view | KEPT | - | deep
role_moves               | role | HOST_CRASHES=0 CRASHES=0 | - | long
role_host                | role | MOVES=2 CRASHES=0 | -
role_lost                | role | LOST MOVES=2 CRASHES=0 | -
role_crash               | role | MOVES=2 HOST_CRASHES=0 | -
role_all                 | role | | - | deep
agree_views              | agree | VIEWS CRASHES=0 | - | long
agree_views_crash        | agree | VIEWS | - | deep
agree_services           | agree | RELOADS=2 | -
agree_back               | agree | RELOADS=4 CRASHES=0 | -
agree_hosts              | agree | SET RELOADS=3 | -
agree_progress           | agree | PROGRESS_ROW | -
agree_progress_hosts     | agree | PROGRESS_ROW SET RELOADS=3 | -
cache_updates            | cache | ROUNDS=2 | -
cache_fills              | cache | FILLS=2 | -
cache_early              | cache | EARLY ROUNDS=2 | -
cache_tags               | cache | TAGS ROUNDS=2 | -
cache_evicts             | cache | EVICTS=2 ROUNDS=2 | -
cache_crash              | cache | CRASHES=1 | -
cache_crash_early        | cache | CRASHES=1 EARLY | - | long
cache_removal            | cache | REMOVALS=1 | -
cache_removal_early      | cache | REMOVALS=1 EARLY | -
cache_crashes            | cache | CRASHES=2 FIRST_ROUNDS=0 | -
cache_crash_removal      | cache | CRASHES=1 REMOVALS=1 FIRST_ROUNDS=0 | -
cache_crash_removal_own  | cache | CRASHES=1 REMOVALS=1 ROUNDS=0 FIRST_ROUNDS=1 | -
cache_lost               | cache | LOSSES=2 | -
cache_lost_early         | cache | LOSSES=1 EARLY | -
cache_version_late       | cache | VERSION_LATE CRASHES=1 | - | long
cache_version_unchecked  | cache | VERSION_UNCHECKED CRASHES=1 | - | long
cache_progress           | cache | PROGRESS_ROW CRASHES=1 REMOVALS=1 | - | long
cache_progress_lost      | cache | PROGRESS_ROW CRASHES=1 LOSSES=1 | -
cache_fills_updates      | cache | FILLS=2 ROUNDS=2 | - | deep
cache_fills_lost         | cache | FILLS=2 LOSSES=1 | - | deep
cache_fills_removal      | cache | FILLS=2 REMOVALS=1 | - | deep
cache_updates_removal    | cache | ROUNDS=2 REMOVALS=1 | - | deep
cache_removals           | cache | REMOVALS=2 | - | deep
cache_crash_evicts       | cache | CRASHES=1 EARLY EVICTS=1 | - | deep
cache_crash_tags         | cache | CRASHES=1 TAGS | - | deep
cache_removal_tags       | cache | REMOVALS=1 TAGS | - | deep
cache_removal_lost       | cache | REMOVALS=1 LOSSES=1 | - | deep
cache_crash_lost         | cache | CRASHES=1 LOSSES=1 | - | deep
fresh_clocks             | fresh | LIMIT=9 | - | long
fresh_long               | fresh | LIMIT=11 | - | deep
fresh_asks               | fresh | LIMIT=7 ASKS=2 | - | deep
fresh_vary               | fresh | VARY LIMIT=5 | - | deep
lock_hold_from_result    | lock | BROKEN_HOLD_FROM_RESULT | EFFECT
lock_lease_unchecked     | lock | BROKEN_LEASE_UNCHECKED | EFFECT
lock_no_break_drift      | lock | BROKEN_NO_BREAK_DRIFT | EFFECT
lock_no_break_drift_both | lock | BROKEN_NO_BREAK_DRIFT ROUNDS=1 CRASHES=0 | ALONE
lock_no_break_deadline   | lock | BROKEN_NO_BREAK_DEADLINE PROMPT HOLD=3 DEADLINE=3 ROUNDS=1 CRASHES=0 HOME_CRASHES=0 | QUIET
lock_release_blind       | lock | BROKEN_RELEASE_BLIND | EFFECT
lock_release_clean       | lock | BROKEN_RELEASE_CLEAN | EFFECT
lock_resolve_on_old_link | lock | BROKEN_RESOLVE_ON_OLD_LINK | EFFECT
lock_link_kept           | lock | BROKEN_LINK_KEPT | EFFECT
lock_seq_kept            | lock | BROKEN_SEQ_KEPT | EFFECT
lock_seq_kept_fence      | lock | BROKEN_SEQ_KEPT | FENCE
lock_seq_from_zero       | lock | BROKEN_SEQ_FROM_ZERO ROUNDS=1 CRASHES=0 | FENCE
lock_any_link            | lock | BROKEN_ANY_LINK SAME_EPOCH UNKNOWNS=0 CRASHES=0 | ALONE
lock_word_kept           | lock | BROKEN_WORD_KEPT SAME_EPOCH UNKNOWNS=0 CRASHES=0 | ALONE
lock_fresh_at_once       | lock | BROKEN_FRESH_AT_ONCE ROUNDS=1 CRASHES=0 | EFFECT
lock_fresh_at_once_both  | lock | BROKEN_FRESH_AT_ONCE ROUNDS=1 CRASHES=0 | ALONE
lock_forced_at_once      | lock | BROKEN_FORCED_AT_ONCE ROUNDS=1 CRASHES=0 HOME_CRASHES=0 OPERATOR=1 | EFFECT
lock_forced_at_once_both | lock | BROKEN_FORCED_AT_ONCE ROUNDS=1 CRASHES=0 HOME_CRASHES=0 OPERATOR=1 | ALONE
lock_no_sweep            | lock | BROKEN_NO_SWEEP | EFFECT
lock_no_fence_seq        | lock | BROKEN_NO_FENCE_SEQ | EFFECT
view_kept_by_service     | view | BROKEN_KEPT_BY_SERVICE KEPT TRIES=1 | MINIMUM
view_epoch_ignored       | view | BROKEN_EPOCH_IGNORED | MINIMUM
view_minority_decides    | view | BROKEN_MINORITY_DECIDES | MINIMUM
members_view_behind      | members | BROKEN_VIEW_BEHIND | MINIMUM | long
members_joins_behind     | members | BROKEN_VIEW_BEHIND JOINS | MINIMUM | long
members_view_kept        | members | BROKEN_VIEW_KEPT LEAVES | IN_VIEW
view_fresh_at_once       | view | BROKEN_FRESH_AT_ONCE | MINIMUM
role_unkept              | role | BROKEN_UNKEPT MOVES=2 CRASHES=0 | ROLE
role_no_acks             | role | BROKEN_NO_ACKS MOVES=1 HOST_CRASHES=0 CRASHES=0 | ROLE
role_ack_by_service      | role | BROKEN_ACK_BY_SERVICE HOST_CRASHES=0 CRASHES=0 | ROLE
role_saved_after         | role | BROKEN_SAVED_AFTER MOVES=2 CRASHES=0 | ROLE
role_unchecked           | role | BROKEN_UNCHECKED LOST MOVES=1 CRASHES=0 | ROLE
role_ack_early           | role | BROKEN_ACK_EARLY MOVES=1 HOST_CRASHES=0 CRASHES=0 | ROLE
role_ready_by_service    | role | BROKEN_READY_BY_SERVICE MOVES=2 HOST_CRASHES=0 CRASHES=0 | ROLE
agree_unpublished        | agree | BROKEN_UNPUBLISHED | TURN
agree_look_first         | agree | BROKEN_LOOK_FIRST RELOADS=4 CRASHES=0 | ONE_FILE
agree_old_read           | agree | BROKEN_OLD_READ RELOADS=4 CRASHES=0 | ONE_FILE
agree_old_link           | agree | BROKEN_OLD_LINK SET RELOADS=3 | ONE_FILE
agree_reload_at_once     | agree | BROKEN_RELOAD_AT_ONCE | ONE_FILE
agree_home_alone         | agree | BROKEN_HOME_ALONE | ONE_FILE
agree_unread_ignored     | agree | BROKEN_UNREAD_IGNORED | ONE_FILE
agree_donor_ignored      | agree | BROKEN_DONOR_IGNORED | ONE_FILE
agree_view_ignored       | agree | BROKEN_VIEW_IGNORED VIEWS CRASHES=0 | TURN
agree_view_apart         | agree | BROKEN_VIEW_APART VIEWS CRASHES=0 | TURN
agree_published_uncut    | agree | BROKEN_PUBLISH_BEFORE_CUT SET RELOADS=3 | ONE_FILE
agree_read_once          | agree | BROKEN_READ_ONCE PROGRESS_ROW | PROGRESS
cache_kept_if_listed     | cache | BROKEN_KEPT_IF_LISTED | COHERENT
cache_unmoved            | cache | BROKEN_UNMOVED | COHERENT
cache_ended_forgotten    | cache | BROKEN_ENDED_FORGOTTEN | COHERENT
cache_number_from_zero   | cache | BROKEN_NUMBER_FROM_ZERO CRASHES=1 | COHERENT
cache_number_late        | cache | BROKEN_NUMBER_LATE | COHERENT
cache_pending_ignored    | cache | BROKEN_PENDING_IGNORED | COHERENT
cache_pending_at_read    | cache | BROKEN_PENDING_AT_READ | COHERENT
cache_ended_ignored      | cache | BROKEN_ENDED_IGNORED | COHERENT
cache_unseen_ignored     | cache | BROKEN_UNSEEN_IGNORED EARLY | COHERENT
cache_log_short          | cache | BROKEN_LOG_SHORT TAGS ROUNDS=2 | COHERENT
cache_join_unseen        | cache | BROKEN_JOIN_UNSEEN EARLY CRASHES=1 | COHERENT
cache_dropped_unseen     | cache | BROKEN_DROPPED_UNSEEN EARLY CRASHES=1 | COHERENT
cache_two_steps          | cache | BROKEN_REGISTERS_IN_TWO_STEPS | COHERENT
cache_unregistered       | cache | BROKEN_STORED_UNREGISTERED | COHERENT
cache_evicted_silently   | cache | BROKEN_EVICTED_SILENTLY EVICTS=1 | COHERENT
cache_versions_from_zero | cache | BROKEN_VERSIONS_FROM_ZERO CRASHES=1 | COHERENT
cache_ack_by_faa         | cache | BROKEN_ACK_BY_FAA | COHERENT
cache_ack_before_mark    | cache | BROKEN_ACK_BEFORE_MARK | COHERENT
cache_not_awaited        | cache | BROKEN_NOT_AWAITED | COHERENT
cache_epoch_unchecked    | cache | BROKEN_EPOCH_UNCHECKED CRASHES=1 | COHERENT
cache_row_unchecked      | cache | BROKEN_ROW_UNCHECKED REMOVALS=1 | COHERENT
cache_epoch_key_share    | cache | BROKEN_EPOCH_KEY_SHARE CRASHES=1 | COHERENT
cache_row_key_share      | cache | BROKEN_ROW_KEY_SHARE REMOVALS=1 | COHERENT
cache_join_unraised      | cache | BROKEN_JOIN_UNRAISED CRASHES=1 | COHERENT
cache_dropped_unraised   | cache | BROKEN_DROPPED_UNRAISED CRASHES=1 | COHERENT
cache_dropped_by_member  | cache | BROKEN_DROPPED_BY_MEMBER REMOVALS=1 | COHERENT
cache_done_in_doubt      | cache | BROKEN_DONE_IN_DOUBT LOSSES=1 | COHERENT
cache_no_wait            | cache | BROKEN_NO_WAIT REMOVALS=1 | COHERENT
cache_out_at_once        | cache | BROKEN_OUT_AT_ONCE REMOVALS=1 | COHERENT
cache_out_of_earlier     | cache | BROKEN_OUT_OF_EARLIER REMOVALS=2 | COHERENT | long
cache_rejoin_as_was      | cache | BROKEN_REJOIN_AS_WAS REMOVALS=1 | COHERENT
cache_open_before_join   | cache | BROKEN_OPEN_BEFORE_JOIN CRASHES=1 | COHERENT
cache_end_untold         | cache | BROKEN_END_UNTOLD PROGRESS_ROW | PENDING
cache_dead_kept          | cache | BROKEN_DEAD_KEPT PROGRESS_ROW CRASHES=1 | PENDING
cache_waits_on           | cache | BROKEN_WAITS_ON PROGRESS_ROW CRASHES=1 | WRITES
cache_tx_kept            | cache | BROKEN_TX_KEPT PROGRESS_ROW CRASHES=1 | WRITES
cache_doubt_kept         | cache | BROKEN_DOUBT_KEPT PROGRESS_ROW LOSSES=1 | WRITES
cache_never_removed      | cache | BROKEN_NEVER_REMOVED PROGRESS_ROW CRASHES=1 | WRITES
cache_out_unnoticed      | cache | BROKEN_OUT_UNNOTICED PROGRESS_ROW REMOVALS=1 | WRITES
cache_hit                | cache | FILLS=1 | HIT
cache_hit_back           | cache | CRASHES=1 | HIT_BACK
fresh_beat_alone         | fresh | BROKEN_BEAT_ALONE LIMIT=9 | FRESH
fresh_stamped_at_store   | fresh | BROKEN_STAMPED_AT_STORE LIMIT=9 | FRESH
fresh_difference_seen    | fresh | BROKEN_DIFFERENCE_SEEN LIMIT=9 | FRESH
fresh_another_beat       | fresh | BROKEN_ANOTHER_BEAT LIMIT=9 | FRESH
fresh_at_answer          | fresh | BROKEN_DIFFERENCE_AT_ANSWER LIMIT=9 | FRESH
fresh_difference_no_drift | fresh | BROKEN_DIFFERENCE_NO_DRIFT LIMIT=9 | FRESH
fresh_wait_no_drift      | fresh | BROKEN_WAIT_NO_DRIFT LIMIT=9 | FRESH
fresh_wait_one_drift     | fresh | BROKEN_WAIT_ONE_DRIFT LIMIT=9 | FRESH
fresh_checked_at_post    | fresh | BROKEN_CHECKED_AT_POST LIMIT=9 | FRESH
fresh_used               | fresh | LIMIT=9 | USED
move_one_lock            | move | BROKEN_ONE_LOCK | MINIMUM
move_minimum_ignored     | move | BROKEN_MINIMUM_IGNORED | MINIMUM
move_no_sweep            | move | BROKEN_NO_SWEEP RESTS=1 | MINIMUM
move_no_fence_seq        | move | BROKEN_NO_FENCE_SEQ RESTS=1 | MINIMUM
move_no_recount          | move | BROKEN_NO_RECOUNT RESTS=1 | MINIMUM
move_sweep_own_pair      | move | BROKEN_SWEEP_OWN_PAIR CHAIN MINIMUM=0 RESTS=1 | OVERLAP
move_sweep_missed        | move | BROKEN_SWEEP_MISSED UNKNOWNS=1 | MINIMUM
move_counts_missed       | move | BROKEN_COUNTS_MISSED RESTS=1 UNKNOWNS=1 | MINIMUM
move_fenced_unchanged    | move | BROKEN_FENCED_UNCHANGED RESTS=1 UNKNOWNS=1 | MINIMUM
move_release_clean       | move | BROKEN_RELEASE_CLEAN RESTS=1 UNKNOWNS=1 | MINIMUM
move_resolve_on_old_link | move | BROKEN_RESOLVE_ON_OLD_LINK RESTS=1 UNKNOWNS=1 | MINIMUM
move_any_link            | move | BROKEN_ANY_LINK RESTS=1 NODE_CRASHES=1 | MINIMUM
move_newer_link          | move | BROKEN_NEWER_LINK RESTS=1 NODE_CRASHES=1 HOME_CRASHES=1 | MINIMUM
move_restart_reverts     | move | BROKEN_RESTART_REVERTS KEPT RESTS=1 NODE_CRASHES=1 | MINIMUM
move_persist_after       | move | BROKEN_PERSIST_AFTER KEPT RESTS=1 NODE_CRASHES=1 | MINIMUM
move_kept_before_saved   | move | BROKEN_KEPT_BEFORE_SAVED KEPT RESTS=1 NODE_CRASHES=1 | MINIMUM
move_adopt_at_once       | move | BROKEN_ADOPT_AT_ONCE ADOPT ROLES RESTS=1 LOSSES=1 | MINIMUM
move_adopt_unswept       | move | BROKEN_ADOPT_UNSWEPT ADOPT ROLES RESTS=1 LOSSES=1 UNKNOWNS=1 | MINIMUM
move_adopt_needed        | move | BROKEN_ADOPT_NEEDED ADOPT ROLES RESTS=1 LOSSES=1 | MINIMUM
move_adopt_blind         | move | BROKEN_ADOPT_BLIND ADOPT ROLES LOSSES=1 | MINIMUM | long
move_adopt_counted       | move | BROKEN_ADOPT_COUNTED ADOPT ROLES FROM_2 RESTS=0 LOSSES=1 NODE_CRASHES=1 | MINIMUM
move_adopt_unlocked      | move | BROKEN_ADOPT_UNLOCKED ADOPT OVERLAPS ROLES RESTS=0 LOSSES=1 | OVERLAP
move_counter_unchecked   | move | BROKEN_COUNTER_UNCHECKED TIMELY MINIMUM=0 | ONE_MOVE
move_counter_lost        | move | BROKEN_COUNTER_LOST TIMELY MINIMUM=0 UNKNOWNS=1 RESTS=2 | ONE_MOVE
move_history_kept        | move | BROKEN_HISTORY_KEPT TIMELY MINIMUM=0 | ONE_MOVE
move_unannounced_moves   | move | BROKEN_UNANNOUNCED_MOVES TIMELY MINIMUM=0 | ONE_MOVE
move_not_awaited         | move | BROKEN_NOT_AWAITED TIMELY MINIMUM=0 RESTS=2 | ONE_MOVE
move_announce_after      | move | BROKEN_ANNOUNCE_AFTER TIMELY MINIMUM=0 CRASHES=1 RESTS=2 | ONE_MOVE
move_descending_order    | move | BROKEN_DESCENDING_ORDER ENDLESS CROSS MINIMUM=0 | LIVELOCK
move_never_break         | move | BROKEN_NEVER_BREAK ENDLESS CROSS MINIMUM=0 CRASHES=1 NO_RESTART | DEADLOCK
END
}

quick="${CC:-gcc} -O0"
! command -v tcc >/dev/null || quick=tcc

row() { # NAME COLUMN
	table | awk -F ' *[|] *' -v name="$1" -v n="$2" '$1 == name { print $n }'
}

skip() {
	echo "model: $1" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

# How pan reports a violated property: by the expression that it asserted, or as its own check.
report_of() {
	case $1 in
	ALONE) echo 'assertion violated .*took' ;;
	MINIMUM) echo 'assertion violated .*node\[0\].*node\[1\].*>=1' ;;
	ONE_MOVE) echo 'assertion violated load' ;;
	EFFECT) echo 'assertion violated .*life>=decided' ;;
	FENCE) echo 'assertion violated .*newest_fence' ;;
	ONE_FILE) echo 'assertion violated .*decides\[' ;;
	TURN) echo 'assertion violated .*went\[' ;;
	PROGRESS) echo 'assertion violated .*decided\[' ;;
	QUIET) echo 'assertion violated .*life==acquired' ;;
	OVERLAP) echo 'assertion violated .*by_fence' ;;
	IN_VIEW) echo 'assertion violated .*has.*view' ;;
	COHERENT) echo 'assertion violated .*copy_snapshot<changed' ;;
	WRITES) echo 'assertion violated .*does\[0\].*does\[1\]' ;;
	PENDING) echo 'assertion violated .*is\[0\].*pending\[.*is\[1\].*pending\[' ;;
	HIT) echo 'assertion violated .*changed>0))&& !.*pending' ;;
	HIT_BACK) echo 'assertion violated .*generation>0' ;;
	FRESH) echo 'assertion violated .*left==0' ;;
	USED) echo 'assertion violated .*asked_tick' ;;
	ROLE) echo 'assertion violated .*request\[0\]' ;;
	DEADLOCK) echo 'assertion violated .*state' ;;
	LIVELOCK) echo 'non-progress cycle' ;;
	*) echo "model: nobody knows the property $1" >&2; return 1 ;;
	esac
}

# search NAME: into build-model/NAME: pan and what it says, pan.out.
search() {
	dir=$out/$1 property=$(row "$1" 4) deep=$(row "$1" 5)
	pan_args=-n memory=2800
	case $deep in
	deep) memory=6000 compiler="${CC:-gcc} -O2 -DCOLLAPSE" ;; # it takes less memory, and twice as long
	long) compiler="${CC:-gcc} -O1" ;; # -O2 takes longer to compile than it saves
	*) compiler=$quick ;;
	esac
	define=-DSAFETY
	# shellcheck disable=SC2046
	set -- "$here/$(row "$1" 2).pml" $(row "$1" 3 | sed 's/[^ ][^ ]*/-D&/g')
	case $property in
	-) ;;
	"- LIVELOCK") define="-DNP -DNOREDUCE"; pan_args="-n -l" ;;
	LIVELOCK) set -- "$@" -DONLY; define="-DNP -DNOREDUCE"; pan_args="-n -l -E" ;;
	*) set -- "$@" -DONLY "-DCHECK_$property"; pan_args="-n -E" ;;
	esac
	rm -rf "$dir"
	mkdir -p "$dir"
	model=$1
	shift
	cd "$dir"
	spin -a "$@" "$model" >spin.out 2>&1 || { cat spin.out; return 1; }
	# shellcheck disable=SC2086
	$compiler -w -DMEMLIM=$memory $define -o pan pan.c || return 1
	# shellcheck disable=SC2086
	./pan -m200000 $pan_args >pan.out 2>&1 || return 1
}

# cpu_between FILE FILE: seconds, by what times(1) said
cpu_between() {
	awk -F '[ms ]+' '{ for (i = 1; i < NF; i += 2) s[FILENAME] += 60 * $i + $(i + 1) }
		END { printf "%.1f", s[ARGV[2]] - s[ARGV[1]] }' "$1" "$2"
}

# one NAME: search it, and judge what came of it in one line.
one() {
	name=$1 wanted=$(row "$1" 4)
	times >"$out/$name.began"
	if ! (search "$name") >"$out/$name.log" 2>&1; then
		echo "FAIL $name: it could not be searched: $(tail -n 2 "$out/$name.log" "$out/$name/pan.out" 2>/dev/null | tr '\n' ' ')"
		return 0
	fi
	pan=$out/$name/pan.out
	states=$(awk '/ states, stored/ { printf "%d", $1; exit }' "$pan")
	times >"$out/$name.ended"
	how="$states states, CPU $(cpu_between "$out/$name.began" "$out/$name.ended") s, $(awk '/total actual memory usage/ { printf "%d", $1 }' "$pan") MB"
	first=$(grep -m 1 '^pan:[0-9]*: ' "$pan" | sed 's/^pan:[0-9]*: //' || true)
	if grep -qE 'search depth too small|memory exhausted|reached -DMEMLIM|Search not completed' "$pan" &&
	   [ -z "$first" ]; then
		echo "FAIL $name: the search is not whole ($how)"
	elif [ "${wanted#-}" != "$wanted" ] && [ -n "$first" ]; then
		echo "FAIL $name: $first ($how); tests/model/run.sh --trail $name shows it"
	elif [ "${wanted#-}" != "$wanted" ]; then
		grep -q 'errors: 0' "$pan" && echo "pass $name: all states, no error ($how)" ||
			echo "FAIL $name: it ended in no known way; see $pan"
	elif [ -z "$first" ]; then
		echo "FAIL $name: the broken rule was NOT found ($how)"
	elif echo "$first" | grep -q "$(report_of "$wanted")"; then
		echo "pass $name: found that $wanted does not hold ($how)"
	else
		echo "FAIL $name: found another thing than $wanted: $first ($how)"
	fi
}

# tools: what the results of all searches depend on.
tools() {
	spin -V
	"${CC:-gcc}" --version
	$quick -v 2>&1
	sed '/^table() {/,/^}/d; /^report_of() {/,/^}/d; /^#/d' "$here/run.sh"
}

# input NAME: all that the result of its search depends on.
input() {
	echo "$MODEL_TOOLS"
	row "$1" 3
	row "$1" 4
	report_of "$(row "$1" 4)"
	# shellcheck disable=SC2046
	"${CC:-gcc}" -E -P -x c $(row "$1" 3 | sed 's/[^ ][^ ]*/-D&/g') "$here/$(row "$1" 2).pml"
}

# known_or_one NAME: as one; of a row that passed before, what was said then.
known_or_one() {
	if ! input "$1" >"$out/$1.input" 2>"$out/$1.log"; then
		echo "FAIL $1: its model cannot be preprocessed: $(tail -n 1 "$out/$1.log")"
		return 0
	fi
	known=$keep/$(sha256sum <"$out/$1.input" | cut -d ' ' -f 1)
	if [ -s "$known" ]; then
		touch "$known"
		sed "s/^pass [^:]*\(.*\)\$/pass $1\1 known/" "$known"
		return 0
	fi
	one "$1" >"$out/$1.line"
	cat "$out/$1.line"
	if grep -q '^pass ' "$out/$1.line"; then
		mkdir -p "$keep"
		mv "$out/$1.line" "$known"
	fi
}

trail() {
	(search "$1") || exit 1
	cd "$out/$1"
	# shellcheck disable=SC2046
	spin -t -k ./*.trail -p -g $(row "$1" 3 | sed 's/[^ ][^ ]*/-D&/g') "$here/$(row "$1" 2).pml"
}

if [ "${1-}" = --list ]; then
	table | awk '{ print $1 }'
	exit 0
fi
command -v spin >/dev/null || skip "spin was not found; on Debian: apt-get install spin"
command -v "${CC:-gcc}" >/dev/null || skip "${CC:-gcc} was not found; on Debian: apt-get install gcc libc6-dev"
mkdir -p "$out"
out=$(cd "$out" && pwd)
case ${1-} in
--one | --known-or-one)
	"$(echo "${1#--}" | tr - _)" "$2"
	exit 0 ;;
--trail)
	trail "$2"
	exit 0 ;;
esac

# rows_of MODEL: as many of its rows as run without a name.
rows_of() {
	table | awk -F ' *[|] *' -v deep="$deep" -v model="$1" '$2 == model && (deep || $5 != "deep") { print $1 }'
}

deep=0 how=--known-or-one
[ "${1-}" != --deep ] || { deep=1; shift; }
[ $deep = 0 ] && [ $# = 0 ] || how=--one
[ ! -d "$keep" ] || find "$keep" -type f -mtime +30 -delete
names=${*:-$(table | awk -F ' *[|] *' -v deep=$deep '{ name = $1; sub(/ +$/, "", name) } deep || $5 != "deep" { print name }')}
chosen=
for name in $names; do
	rows=$name
	[ -n "$(row "$name" 2)" ] || rows=$(rows_of "$name")
	[ -n "$rows" ] || { echo "model: there is no row $name: see ./dev model --list" >&2; exit 1; }
	chosen="$chosen $rows"
done
names=$chosen
rm -f "$out/results"
# shellcheck disable=SC2086
printf '%s\n' $names | MODEL_OUT=$out MODEL_TOOLS=$(tools | sha256sum) xargs -P "${JOBS:-2}" -n 1 "$0" $how | tee "$out/results"
passed=$(grep -c '^pass ' "$out/results" || true)
failed=$(($(echo "$names" | wc -w) - passed))
echo "model: $passed passed, $failed failed"
[ "$failed" = 0 ]
