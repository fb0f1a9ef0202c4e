// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: raises, calm and back-off, futility, and who is forgotten, with
 * figures computed by hand. Windows and verdicts are in test_ioshares.c.
 */
#include "tests/unit/ioshares_steps.h"

/* --- 7: raises ----------------------------------------------------------------------- */

/*
 * Where the tolerance is 1000, it is all of the base, 200 us. A raise aims at nine tenths of the
 * tolerance, and is at most by 2.
 */
static const struct ios_row raise_rows[] = {
	{ "raise__gross_harm__doubles_until_the_lowest_cap",
	  "over 60 us, run 2 -> rate 131072; run 2 -> rate 262144;"
	  "run 2 -> rate 524288; run 2 -> rate 1048576; run 2 -> rate 2097152;"
	  "run 2 -> rate 4194304; run 2 -> rate 6553600, cap 1000;"
	  "over 4000 us, run 2 -> rate 6553600, cap 1000" },
	/* All VCPUs over the lowest cap: 4 x 100 over 5, and over 8; then more than 32 bits. */
	{ "raise__min_cap__of_policy_or_guest_bounds_the_rate",
	  "over 40000 us, vcpus 4, param min_cap 5000, run 20 -> rate 5242880, cap 5000;"
	  "least 8000, run 1 -> rate 3276800, cap 8000; vcpus 4294967295, least 1000,"
	  "param min_cap 1000, run 40 -> rate 4294967295; vcpus 1, least 200000, run 20"
	  "-> rate 65536, cap 0" },
	{ "raise__operators_cap_is_lower__is_what_holds",
	  "ceiling 40, over 60 us, run 2 -> rate 131072, cap 40000" },
	/* 12 us are 5.9 %, 1.199 tolerances; 11 us are 5.4 % and 1.099. */
	{ "raise__two_complaints_in_a_tick__the_larger_counts",
	  "rep 9, over 12 us, over 11 us of 9, judge -> rate 87359,"
	  "figures 75019 59 3 0 7, says hurt 3, says hurt 9" },
	{ "raise__the_larger_complaint_is_the_second__counts",
	  "rep 9, over 11 us, over 12 us of 9, judge -> rate 87359,"
	  "figures 75019 59 9 0 7, says hurt 3, says hurt 9" },
	{ "raise__equal_complaints__the_first_counts",
	  "rep 9, over 11 us, over 11 us of 9, judge -> rate 80084,"
	  "figures 81834 54 3 0 7, says hurt 3, says hurt 9" },
	{ "raise__of_twenty_times_the_tolerance__by_eight",
	  "waits 200 us, tolerance 75, over 300 us, run 2 -> rate 524288" },
	{ "raise__of_less__doubles",
	  "waits 200 us, tolerance 75, over 299 us, run 2 -> rate 131072" },
	/* 250 us are 1.25 tolerances: by 1.388. 240 us are less than 970 permille of it. */
	{ "raise__after_one_that_changed_nothing__doubles",
	  "tolerance 1000, waits 200 us, over 250 us, judge -> rate 90963; judge -> rate 181926;"
	  "over 240 us, judge -> rate 242507; over 242 us, judge -> rate 485014" },
	{ "raise__after_a_window_that_was_fine__is_a_first_one",
	  "tolerance 1000, waits 200 us, over 250 us, judge -> rate 90963; over 190 us, judge,"
	  "over 250 us, judge -> rate 126256" },
	{ "raise__near_the_target__is_never_doubled",
	  "tolerance 1000, waits 200 us, over 216 us, judge -> rate 78577; judge -> rate 94213" },
	{ "raise__of_guests_at_their_lowest_cap__leaves_windows_of_others_open",
	  "rep 9, over 11 us of 9, tax 100, over 60 us, run 40"
	  "-> verdict over, rate 6553600, verdict over of 9" },
	{ "raise__two_links__both_at_once",
	  "rep 9, link 1 of 9, off 11, link 1 of 11, param bite 10000000, over 60 us,"
	  "over 60 us of 9, run 2 -> rate 131072, rate 131072 of 11,"
	  "figures 50000 299 9 0 11" },
	/* Another reporter's window, half through, is not judged at the old rate's figures. */
	{ "raise__closes_all_windows_of_its_link",
	  "param window 50000000, over 60 us, run 25, rep 9, rep 10, link 1 of 10, run 25"
	  "-> open 1 of 9, open 1 of 10; run 1 -> rate 131072, open 0 of 9, open 1 of 10" },
	/* 65 / 65536 are less than a permille, 66 are more. */
	{ "raise__tolerance_of_0__counts_as_a_permille",
	  "param tolerance 0, over 201 ns, judge -> says unheard 3, says free, rate 65536,"
	  "first 0, accused 0; over 202 ns, judge -> says hurt 3, rate 73269, first 66,"
	  "accused 1" },
	{ "raise__just_over__by_the_excess_over_nine_tenths",
	  "tolerance 1000, waits 200 us, over 200004 ns, judge -> excess 65537, rate 72810" },
	{ "raise__below_twice__is_proportional",
	  "tolerance 1000, waits 200 us, over 360000 ns, judge -> excess 117964,"
	  "rate 131006" },
	{ "raise__from_nine_fifths_on__twice",
	  "tolerance 1000, waits 200 us, over 360001 ns, judge -> excess 117965,"
	  "rate 131072" },
	{ "raise__more__twice", "tolerance 1000, waits 200 us, over 380 us, judge -> rate 131072" },
	/* Cap 5, and 11 % more would be 4.5. */
	{ "raise__low_cap__by_at_least_one_percent_of_cap",
	  "tolerance 1000, waits 200 us, tax 20, over 200004 ns, judge -> rate 1638400,"
	  "cap 4000" },
	{ "raise__cap_of_2__to_1",
	  "tolerance 1000, waits 200 us, tax 50, over 200004 ns, judge -> rate 6553600,"
	  "cap 1000" },
	{ "raise__cap_of_1__by_the_excess",
	  "tolerance 1000, waits 200 us, tax 80, over 200004 ns, judge -> rate 5824839" },
	{ "raise__after_a_step_back__takes_it_back",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, judge -> rate 222822;"
	  "over 200004 ns, judge -> rate 262144; judge -> rate 291241" },
	{ "raise__after_two_steps_back__takes_one_back",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, judge, judge -> rate 189398;"
	  "over 399999 ns, judge -> rate 222822" },
	{ "raise__after_a_step_back__gross_harm_counts_in_full",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, judge, over 400 us, run 2"
	  "-> rate 445644" },
	{ "raise__after_a_release__is_a_first_one",
	  "param calm 1, param back_off 1000, tolerance 1000, waits 200 us, tax 2, judge"
	  "-> rate 65536, says free; over 200004 ns, judge -> rate 72810" },
	/* Three guests, 50 / 3 ms apart; then the last cap must bite. */
	{ "spread__each_guest__has_a_place_in_five_refills",
	  "off 9, off 11, param bite 10000000, over 60 us, run 2 -> set 3, rate 131072,"
	  "rate 65536 of 9, rate 65536 of 11, says soon 9; run 12 -> rate 65536 of 11;"
	  "run 1 -> rate 131072 of 11, says taxed 11; run 11 -> rate 65536 of 9;"
	  "run 1 -> rate 131072 of 9; run 9 -> open 0; run 1 -> open 1;"
	  "run 14 -> rate 131072; run 1 -> rate 262144, rate 131072 of 11;"
	  "run 12 -> rate 131072 of 11; run 1 -> rate 262144 of 11, rate 131072 of 9;"
	  "run 11 -> rate 131072 of 9; run 1 -> rate 262144 of 9" },
	/* Cycles were never begun: they are counted from 0. It is the 12th millisecond of one. */
	{ "spread__another_is_taxed__the_next_place",
	  "off 9, tax 4 of 9, param bite 10000000, over 60 us, run 12 -> rate 65536,"
	  "rate 262144 of 9; run 12 -> rate 65536; run 1 -> rate 131072, rate 262144 of 9;"
	  "run 24 -> rate 262144 of 9; run 1 -> rate 524288 of 9" },
	{ "spread__alone_again__at_once_and_in_the_first_place",
	  "off 9, param bite 10000000, over 60 us, run 27 -> rate 131072, rate 131072 of 9;"
	  "flags 3, run 10, run 2 -> rate 65536, rate 262144 of 9, place 0 of 9" },
	{ "spread__a_place_is_free__is_given_again",
	  "off 9, off 11, tax 2 of 9, tax 2 of 11, place 2 of 11, over 60 us, run 2"
	  "-> place 1, place 0 of 9, place 2 of 11" },
	{ "spread__of_another_link__do_not_count",
	  "off 9, link 1 of 9, tax 2 of 9, param bite 10000000, over 60 us, run 12"
	  "-> rate 131072, place 0" },
	/* No cap changes: they are the operator's. */
	{ "spread__windows_wait_for_the_last",
	  "off 9, ceiling 40, ceiling 40 of 9, param bite 10000000, over 60 us, run 2"
	  "-> rate 131072, rate 65536 of 9; run 24 -> open 0, rate 65536 of 9;"
	  "run 1 -> rate 131072 of 9, open 1" },
	{ "spread__takes_effect_once",
	  "off 9, param bite 10000000, param calm 1, over 60 us, run 2, over 0 us, run 38"
	  "-> rate 131072, rate 131072 of 9; run 1 -> rate 111411, rate 111411 of 9;"
	  "run 1 -> rate 111411, rate 111411 of 9" },
	{ "spread__exempt_meanwhile__is_none",
	  "off 9, param bite 10000000, over 60 us, run 2, over 0 us, flags 1 of 9, run 1,"
	  "flags 2 of 9, run 40 -> rate 65536 of 9" },
	{ "spread__not_cappable_meanwhile__is_its_rate",
	  "off 9, param bite 10000000, over 60 us, run 2, over 0 us, flags 0 of 9, run 30"
	  "-> rate 131072 of 9, cap 0 of 9; flags 2 of 9, run 1 -> cap 50000 of 9" },
};
TEST_ROWS(raise_rows, run_ios_row)

/* --- 8: calm ---------------------------------------------------------------------------- */

/* 0.8 tolerances are 160 us, 0.4 are 80. */
static const struct ios_row calm_rows[] = {
	{ "calm__four_windows__then_15_percent_a_window_until_lift",
	  "over 60 us, run 2, over 0 us, run 19 -> rate 131072;"
	  "run 1 -> rate 111411, says held; run 4 -> rate 111411;"
	  "run 1 -> rate 94699, says held; run 4 -> rate 94699;"
	  "run 1 -> rate 80494, says held; run 4 -> rate 80494;"
	  "run 1 -> rate 65536, says free, cap 0, accused 0, first 0" },
	/* The rate of cap 94, and the one of cap 95. */
	{ "calm__at_95_percent__no_cap",
	  "param calm 1, param back_off 468, tax 2, judge -> rate 69730, cap 93985;"
	  "param back_off 1, judge -> rate 65536, cap 0" },
	{ "calm__below_95_percent__a_cap",
	  "param calm 1, param back_off 473, tax 2, judge -> rate 69074, cap 94877" },
	{ "calm__trouble_again__counts_from_the_start",
	  "over 60 us, run 2, over 0 us, run 15, over 60 us, run 2 -> rate 262144;"
	  "over 0 us, run 19 -> rate 262144; run 1 -> rate 222822" },
	/* Slow by itself, nobody to blame: that keeps no cap in force. */
	{ "calm__over_with_nobody_to_blame__is_calm",
	  "queues 1, over 60 us, run 2, sends 10, run 19 -> rate 131072;"
	  "run 1 -> says nobody 3, rate 111411" },
	/* It reports no more, and its last window counts for a second. */
	{ "calm__one_of_two_reporters_is_still_over__is_none",
	  "rep 9, over 60 us, over 60 us of 9, run 2, over 0 us, silent 9, run 1019"
	  "-> rate 131072; run 1 -> rate 111411" },
	{ "calm__the_reporter_is_silent__rates_go_back_by_the_clock",
	  "over 60 us, run 2, silent 3, run 1000 -> says hurt 3, says taxed;"
	  "run 1 -> says unheard 3, says fading, figures 50000 0 0 0 7;"
	  "run 2 -> rate 131072; run 1 -> rate 111411; run 1 -> rate 94699;"
	  "run 100 -> rate 65536, cap 0" },
	/* Calm is counted once a window's time, not once a verdict. */
	{ "calm__two_reporters__is_counted_once_a_window",
	  "param window 50000000, over 60 us, run 51, over 0 us, run 25, rep 9, run 175"
	  "-> calm 0; run 1 -> calm 1, verdict none 9; run 25 -> verdict fine 9, calm 1" },
	{ "calm__trouble_on_another_link__is_its_own",
	  "rep 9, link 1 of 9, over 60 us, run 42 -> rate 6553600;"
	  "over 0 us, off 11, link 1 of 11, over 60 us of 9, run 20 -> says hurt 9,"
	  "rate 3276800, rate 131072.. of 11" },
	{ "hold__above_eight_tenths__rates_stay",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, over 160001 ns, run 50"
	  "-> verdict fine, holds 1, calm 0, rate 262144; over 160000 ns, judge -> holds 0,"
	  "calm 1, rate 222822" },
	{ "hold__nobody_to_blame__is_none",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, sends 0, over 180 us, judge"
	  "-> verdict fine, holds 0, rate 222822" },
	{ "hold__capped_itself__is_none",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, over 180 us, run 2,"
	  "flags 0 of 3, capped 50 of 3, stuck 1, capped 0 of 3, run 2 -> verdict fine,"
	  "holds 0, rate 222822" },
	{ "hold__without_cpu__is_none",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, cpu 0, over 180 us, judge"
	  "-> verdict fine, holds 0, rate 222822" },
	{ "hold__of_a_set_that_is_not_taxed__too",
	  "tolerance 20, over 3600 ns, judge -> verdict fine, excess 58950, holds 1" },
	{ "hold__the_base_is_taken_away__is_none",
	  "param calm 1, tolerance 1000, waits 200 us, tax 4, over 180 us, judge -> holds 1;"
	  "base 0 us, judge -> verdict nobase, holds 0, excess 0, rate 222822" },
	{ "hold__on_another_link__is_its_own",
	  "rep 9, link 1 of 9, off 11, link 1 of 11, tax 4, tax 4 of 11,"
	  "tolerance 1000 of 9, waits 200 us of 9, param calm 1, over 180 us of 9, judge"
	  "-> holds 1 of 9, rate 222822, rate 262144 of 11" },
	{ "back_off__four_tenths__all",
	  "param calm 1, tolerance 1000, waits 200 us, off 9, tax 4, tax 2 of 9,"
	  "over 80000 ns, judge -> rate 222822, rate 111411 of 9" },
	{ "back_off__above_four_tenths__only_the_highest_rate",
	  "param calm 1, tolerance 1000, waits 200 us, off 9, tax 2, tax 4 of 9,"
	  "over 80002 ns, judge -> rate 131072, rate 222822 of 9;"
	  "judge -> rate 131072, rate 189398 of 9" },
	{ "back_off__two_highest_rates__the_lowest_slot",
	  "param calm 1, tolerance 1000, waits 200 us, off 9, tax 4, tax 4 of 9,"
	  "over 100 us, judge -> rate 222822, rate 262144 of 9;"
	  "judge -> rate 222822, rate 222822 of 9" },
	{ "back_off__two_reporters__the_nearest_counts",
	  "param calm 1, off 9, rep 11, tolerance 1000 of 11, waits 200 us of 11, tax 4,"
	  "tax 2 of 9, over 100 us of 11, judge -> rate 222822, rate 131072 of 9" },
	{ "back_off__two_reporters__the_nearest_is_the_first",
	  "param calm 1, tolerance 1000, waits 200 us, off 9, rep 11, tax 4, tax 2 of 9,"
	  "over 100 us, judge -> rate 222822, rate 131072 of 9" },
	{ "back_off__reporter_without_verdict_fine__does_not_count",
	  "param calm 1, off 9, off 11, flags 0 of 11, tax 4, tax 2 of 9, sends 0,"
	  "sends 0 of 9, over 60 us, run 2 -> verdict nobody, rate 222822, rate 111411 of 9" },
	{ "back_off__reporter_on_another_link__does_not_count",
	  "param calm 1, off 9, rep 11, link 1 of 11, off 13, link 1 of 13, tax 4, tax 2 of 9,"
	  "tolerance 1000 of 11, waits 200 us of 11, over 100 us of 11, judge"
	  "-> excess 32768 of 11, rate 222822, rate 111411 of 9" },
	{ "back_off__highest_rate_on_another_link__stays",
	  "param calm 1, tolerance 1000, waits 200 us, off 9, link 1 of 9, rep 11,"
	  "link 1 of 11, tolerance 1000 of 11, waits 200 us of 11, tax 2, tax 4 of 9,"
	  "over 100 us, over 180 us of 11, judge -> rate 111411, rate 262144 of 9" },
	/* Cap 2, and 15 % less would be 2.35. */
	{ "back_off__low_cap__by_at_least_one_percent_of_cap",
	  "param calm 1, tax 50, judge -> rate 2184533, cap 3000" },
	{ "back_off__to_a_rate_below_1__is_no_cap",
	  "param calm 1, param back_off 1000, tax 4, judge -> rate 65536, cap 0" },
};
TEST_ROWS(calm_rows, run_ios_row)

/* --- 9: futility --------------------------------------------------------------------------- */

/*
 * A reporter that waits for I/O only, and three times as long, is believed. Seven raises end at the
 * floor, in interval 14.
 */
static const struct ios_row floor_rows[] = {
	{ "futile__two_seconds_at_the_lowest_cap__released_and_let_alone",
	  "waits 200 us, over 600 us, run 6 -> rate 6553600, cap 1000;"
	  "run 1999 -> rate 6553600; run 1 -> rate 65536, cap 0, says futile,"
	  "figures 0 0 3 30000 7; run 2 -> says nobody 3, says futile,"
	  "figures 0 0 3 29998 7; later 29995, run 2 -> says nobody 3, says futile,"
	  "figures 0 0 3 1 7; run 2 -> says hurt 3, rate 524288" },
	{ "futile__interference_fell_by_a_tenth__the_cap_stays",
	  "waits 200 us, over 600 us, run 6, over 540 us, run 2100 -> rate 6553600" },
	{ "futile__interference_fell_by_less__released",
	  "waits 200 us, over 600 us, run 6, over 540003 ns, run 2100 -> rate 65536,"
	  "says futile" },
	/* Windows end at each even interval after the release. */
	{ "futile__the_rest_was_over_before__is_blamed",
	  "waits 200 us, over 600 us, run 6, param futile_rest 9000000, run 2000"
	  "-> rate 65536; run 9 -> rate 65536; run 1 -> rate 524288" },
	{ "futile__the_rest_is_over__is_blamed_in_that_tick",
	  "waits 200 us, over 600 us, run 6, param futile_rest 10000000, run 2000"
	  "-> rate 65536; run 9 -> rate 65536; run 1 -> rate 524288" },
	/* No evidence is no proof that the cap was in vain. */
	{ "futile__the_accuser_has_no_cpu__stays",
	  "waits 200 us, over 600 us, run 6, param calm 1000, param futile 500000000,"
	  "cpu 0, run 600 -> says self 3, rate 6553600" },
	{ "futile__0__never",
	  "waits 200 us, over 600 us, run 6, param futile 0, run 5000 -> rate 6553600, says taxed;"
	  "param futile 1000000000, run 999 -> rate 6553600; run 2 -> rate 65536" },
	/* Away from the floor for a moment: the time begins anew. */
	{ "futile__back_off_between__begins_anew",
	  "waits 200 us, over 600 us, run 1514, over 0 us, run 20 -> rate ..6553599;"
	  "over 600 us, run 4 -> rate 6553600; run 1990 -> rate 6553600;"
	  "run 20 -> rate 65536" },
	/* What one reporter gained is not measured by what another had lost. */
	{ "futile__another_reporter_complains__is_held_against_its_own_first",
	  "rep 9, over 60 us, run 2, over 0 us, waits 200 us of 9, over 600 us of 9, run 12"
	  "-> rate 6553600; over 300 us of 9, run 3000 -> rate 6553600, first 19660,"
	  "first 196608 of 9" },
	/* The pair is let alone, not the guest: another reporter may still have it capped. */
	{ "futile__another_reporter__may_still_complain",
	  "waits 200 us, over 600 us, run 2006 -> rate 65536; rep 9, over 60 us of 9, run 2"
	  "-> says hurt 9, figures 50000 299 9 0 7" },
	{ "floor__cap_helps_but_not_enough__is_said",
	  "waits 200 us, over 600 us, run 6 -> rate 6553600, cap 1000, first 196608;"
	  "over 540 us, run 1999 -> says taxed; run 1 -> says floor,"
	  "figures 1000 2699 3 0 7, rate 6553600" },
	{ "floor__within_tolerance__is_not_said",
	  "waits 200 us, over 600 us, run 6, tolerance 1000, over 180 us, run 2100"
	  "-> holds 1, rate 6553600, says held" },
	{ "floor__the_accuser_blames_another__stays_and_is_not_said",
	  "waits 200 us, over 600 us, run 6, sends 0, off 9, run 2001 -> verdict over,"
	  "most 9, spares 7, rate 6553600, says held" },
	{ "floor__of_a_guest_whose_lowest_cap_is_all__is_none",
	  "least 100000, over 60 us, run 2100 -> verdict over, rate 65536, cap 0, says least" },
	/* Believed are 0.997 tolerances; 19947 ns are twice as much, 19946 ns are less. */
	{ "pinned__claims_twice_what_is_believed__is_lifted_after_two_seconds",
	  "queues 1, over 60 us, run 2, param calm 1000, param futile_gain 1000, sends 50 of 3,"
	  "sends 166, over 19947 ns, run 2004 -> rate 131072, says held; run 1 -> rate 65536, "
	  "says futile" },
	{ "pinned__claims_less__stays",
	  "queues 1, over 60 us, run 2, param calm 1000, param futile_gain 1000, sends 50 of 3,"
	  "sends 166, over 19946 ns, run 2100 -> verdict nobody, rate 131072, says held" },
	{ "pinned__is_believed_to_be_over__goes_on",
	  "queues 4, param futile 3000000, over 4000 us, run 6 -> verdict over, rate 6553600;"
	  "run 2 -> rate 6553600; run 3 -> rate 65536, says futile" },
	{ "pinned__the_accuser_is_not_believed_at_all__is_lifted",
	  "queues 1, over 60 us, run 2, param calm 1000, sends 20, run 2004 -> verdict nobody,"
	  "rate 131072, says held; run 1 -> rate 65536, says futile" },
	{ "pinned__below_the_lowest_cap__is_not_said",
	  "queues 1, param futile 50000000, param futile_gain 0, sends 50 of 3, sends 167,"
	  "over 60 us, run 70"
	  "-> verdict over, rate 131073..6553599, says taxed" },
	{ "pinned__gain_of_0__the_same_harm_is_gain_enough",
	  "queues 1, over 60 us, run 2, param calm 1000, param futile_gain 0, sends 20, run 3000"
	  "-> verdict nobody, rate 131072, says held" },
	{ "pinned__believed_again__begins_anew",
	  "queues 1, over 60 us, run 2, param calm 1000, sends 20, run 2000 -> rate 131072;"
	  "tolerance 1000, queues 4, sends 811, over 180 us, judge, tolerance 50, queues 1,"
	  "sends 20, over 60 us, run 500 -> verdict nobody, rate 131072" },
	{ "futile__two_of_a_set__both_are_released",
	  "off 9, waits 200 us, over 600 us, run 2005 -> rate 6553600, rate 6553600 of 9;"
	  "run 1 -> rate 65536, rate 65536 of 9, says futile, says futile 9;"
	  "run 2 -> verdict nobody" },
	{ "futile__one_of_a_set_rests__the_other_is_blamed",
	  "waits 200 us, over 600 us, run 2006 -> says futile;"
	  "off 9, run 2 -> set 1, blames 9, spares 7" },
};
TEST_ROWS(floor_rows, run_ios_row)

TEST(futile__another_rests_longer__is_not_said_of_this_one)
{
	static struct rig g;

	ios_open(&g);
	run(&g, 1);
	state_of(&g, REP)->rest_until[OFF] = mono_add(g.in.now, 5 * MS);
	state_of(&g, REP)->rest_last = mono_add(g.in.now, 9 * MS);
	run(&g, 4);
	assert_why(&g, OFF, FUTILE, 0, 0, REP, 1);
	run(&g, 1);
	assert_int_equal(reason(&g, OFF), UNKNOWN); /* REP has no window yet */
	rig_close(&g);
}

/* --- 1: new guests; 2, 10: flags and empty balances ------------------------------------------- */

static const struct ios_row begin_rows[] = {
	{ "new_guest__in_a_slot_that_rests__is_blamed_like_any",
	  "waits 200 us, over 600 us, run 2006 -> says futile;"
	  "new 7, run 1 -> says spared; run 2 -> says hurt 3, first 196608" },
	{ "new_guest__in_the_slot_of_a_blamed_one__was_never_blamed",
	  "over 60 us, run 2 -> first 19660; new 7, run 1 -> first 0, spares 7, rate 65536" },
	{ "new_guest__in_the_accusers_slot__accused_nobody",
	  "over 60 us, run 2, new 3, run 1 -> says fading, figures 50000 0 0 0 7,"
	  "rate 131072" },
	{ "restart__of_a_taxed_guest__keeps_its_rate",
	  "over 60 us, run 2, restart 7, run 1 -> rate 131072, cap 50000, says held,"
	  "open 0; run 1 -> rate 131072, open 1" },
	{ "restart__not_cappable_yet__has_its_rate_and_no_cap",
	  "over 60 us, run 2, flags 0, restart 7, run 1 -> rate 131072, cap 0,"
	  "says uncappable, figures 0 0 0 0 7; run 4 -> verdict nobody, rate 131072;"
	  "over 0 us, flags 2, run 1 -> rate 131072, cap 50000, says held" },
	{ "restart__of_a_reporter__begins_its_window_anew",
	  "run 3, restart 3, run 4 -> calm 0; run 1 -> calm 1" },
	{ "restart__of_the_accuser__it_accused_nobody",
	  "over 60 us, run 2, restart 3, run 1 -> says fading, rate 131072" },
	{ "restart__of_the_accuser__its_cap_is_lifted_when_it_complains_again",
	  "waits 200 us, over 600 us, run 2005, restart 3, run 1 -> rate 6553600;"
	  "run 1 -> rate 65536, says futile" },
	{ "restart__of_a_guest_that_rests__is_blamed_like_any",
	  "waits 200 us, over 600 us, run 2006 -> says futile;"
	  "restart 7, run 1 -> says spared, first 0; run 1 -> verdict over, rate 524288" },
	/* It sends 1 % of the link; all that it sent before would be 96 %. */
	{ "restart__within_a_window__counts_from_then_on",
	  "param window 50000000, sends 10, over 60 us, run 5020 -> says nobody 3;"
	  "restart 7, run 100 -> says nobody 3, rate 65536" },
	{ "absent__another_is_new_in_the_accusers_slot__it_accused_nobody",
	  "over 60 us, run 2, away 7, new 3, run 1, back, restart 7, run 1 -> says fading,"
	  "rate 131072, accused 0" },
	{ "absent__another_is_new_in_a_blamed_slot__was_never_blamed",
	  "over 60 us, run 2 -> first 19660, blames 7; away 3, new 7, run 1, back,"
	  "restart 3, run 1 -> first 0, spares 7, set 0" },
	{ "absent__a_blamed_guest_is_released__was_never_blamed",
	  "over 60 us, run 2 -> first 19660; flags 1, away 3, run 1, back, run 1 -> first 0" },
	{ "restart__leaves_the_set",
	  "over 60 us, run 2 -> blames 7; restart 7, run 1 -> spares 7, set 0" },
	{ "restart__its_cap_is_awaited_anew",
	  "over 60 us, run 2, restart 7, stuck 500, restart 7, stuck 1000 -> open 0;"
	  "stuck 1 -> open 0; stuck 1 -> open 1, rate 131072" },
	{ "flags__exempt_meanwhile__is_free_and_forgotten",
	  "over 60 us, run 2, flags 3, run 1 -> says exempt, figures 0 0 0 0 7,"
	  "rate 65536, cap 0, first 0; flags 0, run 1 -> says uncappable,"
	  "figures 0 0 0 0 7" },
	{ "empty__on_empty__lowest_cap_while_nothing_is_left",
	  "allocated 1000, run 1 -> cap 0; param on_empty 1, run 1 -> says empty,"
	  "figures 1000 0 0 0 7, cap 1000, rate 65536; least 7000, run 1 -> cap 7000,"
	  "cap 0 of 3; flags 1, run 1 -> says exempt, cap 0; flags 2, balance 1, run 1"
	  "-> says unknown, cap 0" },
};
TEST_ROWS(begin_rows, run_ios_row)

/* Its counters begin at 0, below the snapshot of who was there before. */
TEST(new_guest__within_a_window__counts_from_its_begin)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 200); /* high counters: nothing is compared with them */
	say_over(guest(&g, REP), 0);
	run(&g, 60);
	g.in.now.ns += 5 * NS_PER_S;
	run(&g, 1);
	g.in.guests = 1; /* gone */
	say_over(guest(&g, REP), 60 * US);
	run(&g, 20);
	assert_true(state_of(&g, REP)->w.open);
	g.in.guests = 2;
	renew(&g, OFF);
	run(&g, 1);
	assert_int_equal(state_of(&g, REP)->w.snap_raw[OFF], 0);
	assert_int_equal(state_of(&g, REP)->w.snap_w[OFF], 0);
	assert_int_equal(state_of(&g, OFF)->cum_raw, 811);
	rig_close(&g);
}

/* What a guest sent before its restart does not count; guests that are absent forget it. */
TEST(restart__within_a_window__counts_from_then)
{
	static struct rig g;

	ios_open(&g);
	run(&g, 1);
	assert_true(state_of(&g, REP)->w.open);
	state_of(&g, 200)->accuser = OFF;
	state_of(&g, 200)->has_accuser = 1;
	state_of(&g, 200)->first_intf[OFF] = 9;
	state_of(&g, OFF)->cum_w += 5;
	run(&g, 7);
	restart(&g, OFF);
	run(&g, 1);
	assert_true(state_of(&g, REP)->w.open);
	assert_int_equal(state_of(&g, OFF)->cum_raw, 9 * 811);
	assert_int_equal(state_of(&g, REP)->w.snap_raw[OFF], 8 * 811);
	assert_int_equal(state_of(&g, REP)->w.snap_w[OFF], 8 * 811 + 5);
	assert_int_equal(state_of(&g, 200)->has_accuser, 0);
	assert_int_equal(state_of(&g, 200)->first_intf[OFF], 0);
	rig_close(&g);
}

TEST(release__of_a_guest__absent_guests_forget_it)
{
	static struct rig g;

	ios_open(&g);
	run(&g, 1);
	state_of(&g, 200)->first_intf[OFF] = 9;
	state_of(&g, OFF)->rate = 2 * ONE;
	guest(&g, OFF)->flags |= POLICY_EXEMPT;
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_int_equal(state_of(&g, 200)->first_intf[OFF], 0);
	rig_close(&g);
}

/* The same without POLICY_NEW. 25 x 711 are just 50 x 237 x 1.5. */
TEST(counters__fall__count_from_0)
{
	static struct rig g;

	for (uint64_t mtus = 711; mtus <= 712; mtus++) {
		ios_open(&g);
		run(&g, 210); /* the second window began at 202 */
		say_over(guest(&g, REP), 60 * US);
		guest(&g, OFF)->usage.mtus_sent = mtus;
		run(&g, 17);
		memset(state_of(&g, OFF), 0, sizeof(struct ios_guest));
		run(&g, 25); /* 42 of 50 samples are over by 60 us */
		assert_int_equal(reason(&g, REP), mtus == 712 ? HURT : NOBODY);
		assert_int_equal(rate(&g, OFF), mtus == 712 ? 2 * ONE : ONE);
		rig_close(&g);
	}
}

TEST(gone__the_accuser__is_not_asked)
{
	static struct rig g;

	ios_open_empty(&g);
	quick(&g);
	offender(&g, 2);
	reporter(&g, REP);
	say_over(guest(&g, REP), 100 * (uint64_t)BASE);
	run(&g, 14); /* seven raises end at the floor */
	g.in.guests = 1;
	run(&g, 1);
	assert_why(&g, 2, FADING, 1000, 0, 0, 0);
	rig_param(&g, "calm", 1000);
	rig_param(&g, "futile", 500 * (uint64_t)MS);
	run(&g, 600); /* its last word was that this guest hurts it, and is not taken */
	assert_int_equal(rate(&g, 2), 100 * ONE);
	run(&g, 3000);
	assert_int_equal(rate(&g, 2), ONE);
	assert_int_equal(reason(&g, 2), UNHEARD); /* by back-off, not as futile */
	rig_close(&g);
}
