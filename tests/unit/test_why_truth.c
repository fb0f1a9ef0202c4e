// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * why_truth: what `why` says is so. Each sentence, of every policy and of the daemon, has a row: a
 * scenario in which a guest gets it, its words, and what must then hold of the truth: of what the
 * simulated host did, not of what the daemon measured. Beside the words, the cap is held against
 * the simulated scheduler's in each millisecond of every row.
 *
 * every_sentence__has_a_row fails for a new sentence that has none.
 */
#include "policies/policies.h"
#include "tests/unit/truth_slo.h"

struct row {
	const char *name;
	const struct policy_ops *policy; /* NULL: a sentence of the daemon */
	uint32_t kind;
	const char *guest; /* that is asked about */
	const char *scenario;
	const char *acts;
	const char *says; /* "#": a number, "@": names; its end is the text's only with "$" */
	void (*holds)(struct truth *t, const struct said *s);
	void (*then)(struct truth *t, int guest, int first, int last); /* at the end; may be NULL */
	int from, to; /* ms in which the sentence counts */
	int how;      /* SOME, ALWAYS, OBSERVE */
};

/* What a run remembers of its row. */
struct watch {
	const struct row *row;
	struct said s;
	char text[TRUTH_TEXT];
	int seen, first, last;
};

static void read_rise(struct watch *w, const char *text, int ms)
{
	const char *at = strstr(text, "mean +");
	struct rise r = { -1, -1 };

	if (at)
		sscanf(at, "mean +%lf, deviation +%lf", &r.mean, &r.dev);
	else if ((at = strstr(text, "cost it +")))
		sscanf(at, "cost it +%lf", &r.mean);
	if (r.mean != w->s.rise.mean || r.dev != w->s.rise.dev)
		w->s.since = ms;
	w->s.rise = r;
}

/* --- rows ----------------------------------------------------------------------------- */

#define BASE	       "'base':'209us','base_io':'62036ns','base_deviation':'0ns'"
#define SLA	       "'sla':{'tolerance':50," BASE "}"
#define SERVER(more)   "{'name':'server'," SLA ",'apps':[{'kind':'server'" more "}]}"
#define STRANGER(more) "{'name':'server','apps':[{'kind':'server'" more "}]}"
#define BULK(guest, more)                                                                          \
	"{'name':'bulk'" guest ",'apps':[{'kind':'sender','size':'2MiB'" more "}]}"
#define RUN(policy, ms, guests) "{'policy':" policy ",'duration':'" #ms "ms','guests':[" guests "]}"
#define PAIR			SERVER("") "," BULK("", "")
#define IOS			"'ioshares'"
#define SLO			"'slo'"
#define AT_MOST			"a mean of at most +# percent over its base"
#define SLO_FUTILE		"{'policy':'slo','params':{'futile':'300ms','rest':'1s'}}"
#define RISE			"mean +#, deviation +# percent of its base latency"

static const struct row rows[] = {
	/* null */
	{ "null__never_caps__and_tells_what_is_left", &policy_null, NULL_FREE, "bulk",
	  RUN("'null'", 2500, PAIR), NULL, "no cap: this policy never caps; # of # Resos are left",
	  holds_null, NULL, 1001, 2500, ALWAYS },
	/* freemarket */
	{ "freemarket__resos_left__no_cap", &policy_freemarket, FM_FREE, "server",
	  RUN("'freemarket'", 2000, PAIR), NULL, "no cap: # of # Resos are left", holds_fm_free,
	  NULL, 1001, 1999, ALWAYS },
	{ "freemarket__few_resos_left__cap_is_cut", &policy_freemarket, FM_CUT, "bulk",
	  RUN("'freemarket'", 2000, PAIR), NULL,
	  "cap cut to # percent: # of # Resos are left, and caps are cut below #", holds_fm_cut,
	  NULL, 1001, 1999, SOME },
	{ "freemarket__no_resos_left__lowest_cap_until_the_next_epoch", &policy_freemarket,
	  FM_EXHAUSTED, "bulk", RUN("'freemarket'", 2100, SERVER("") "," BULK("", ",'depth':64")),
	  NULL, "lowest cap, # percent, until the next epoch: all of # Resos are spent",
	  holds_fm_exhausted, then_lifted, 1001, 1999, SOME },
	{ "freemarket__exempt__is_said_by_the_daemon", &policy_freemarket, FM_EXEMPT, "bulk",
	  RUN("'freemarket'", 1000, SERVER("") "," BULK(",'exempt':true,'cap':70", "")), NULL,
	  "exempt by its settings", holds_own, NULL, 10, 1000, ALWAYS },
	{ "freemarket__cap_not_saved__is_said_by_the_daemon", &policy_freemarket, FM_UNCAPPABLE,
	  "bulk", RUN("'freemarket'", 1000, SERVER("") "," BULK(",'later':true,'cap':70", "")),
	  "5 block; 10 create bulk", "not cappable: its cap could not be saved in @:",
	  holds_uncappable, NULL, 10, 1000, SOME },
	/* ratio */
	{ "ratio__small_messages__no_cap", &policy_ratio, RATIO_FREE, "bulk",
	  RUN("'ratio'", 500, "{'name':'bulk','apps':[{'kind':'sender','size':'16KiB'}]}"), NULL,
	  "no cap: its messages have up to # bytes, and # count as small", holds_ratio, NULL, 20,
	  500, ALWAYS },
	{ "ratio__large_messages__cap_by_their_size", &policy_ratio, RATIO_CAPPED, "bulk",
	  RUN("'ratio'", 500, "{'name':'bulk','apps':[{'kind':'sender','size':'96KiB'}]}"), NULL,
	  "cap # percent: # bytes against the # of its largest message", holds_ratio_capped, NULL,
	  20, 500, ALWAYS },
	{ "ratio__queues_that_are_not_read__no_message_was_seen", &policy_ratio, RATIO_UNSEEN,
	  "bulk", RUN("'ratio'", 500, SERVER("") "," BULK(",'blind':true", "")), NULL,
	  "no cap: no message of it was seen lately", holds_unseen, NULL, 20, 500, ALWAYS },
	{ "ratio__exempt__is_said_by_the_daemon", &policy_ratio, RATIO_EXEMPT, "bulk",
	  RUN("'ratio'", 200, SERVER("") "," BULK(",'exempt':true", "")), NULL,
	  "exempt by its settings", holds_own, NULL, 10, 200, ALWAYS },
	{ "ratio__cap_not_saved__is_said_by_the_daemon", &policy_ratio, RATIO_UNCAPPABLE, "bulk",
	  RUN("'ratio'", 200, SERVER("") "," BULK(",'later':true", "")), "5 block; 10 create bulk",
	  "not cappable: its cap could not be saved in @:", holds_uncappable, NULL, 10, 200, SOME },
	/* slo */
	{ "slo__promise_is_held_without_caps__is_said", &policy_slo, SLO_HOLDS, "bulk",
	  RUN(SLO, 2000, SERVER("") "," BULK("", ",'rate':10")), NULL,
	  "no cap: guest @ is promised " AT_MOST ", and others cost it +#$", holds_slo_held, NULL,
	  300, 2000, ALWAYS },
	{ "slo__guest_that_breaks_a_promise__is_capped", &policy_slo, SLO_CAPPED, "bulk",
	  RUN(SLO, 3000, PAIR), NULL,
	  "cap # percent, for the mean of guest @, which is promised to be at most +# percent over "
	  "its base: others cost it +#$",
	  holds_slo_capped, NULL, 10, 3000, SOME },
	{ "slo__reporter_that_exaggerates__is_said_to", &policy_slo, SLO_CLAIM, "bulk",
	  RUN(SLO, 3000, SERVER(",'report':3000") "," BULK("", "")), NULL,
	  "cap # percent: guest @ says that others cost it +# percent of its base latency; their "
	  "traffic can cost it +# at most, and that is what counts",
	  holds_slo_claim, NULL, 10, 3000, SOME },
	{ "slo__lowest_cap_does_not_hold_it__is_said", &policy_slo, SLO_FLOOR, "bulk",
	  RUN("{'policy':'slo','params':{'futile':'100s'}}", 3000,
	      SERVER("") "," BULK("", ",'depth':16")),
	  NULL,
	  "lowest cap, # percent: guest @ is promised " AT_MOST ", and others still cost it +#: "
	  "no cap holds that",
	  holds_slo_floor, NULL, 10, 3000, SOME },
	{ "slo__exempt__is_said_by_the_daemon", &policy_slo, SLO_EXEMPT, "bulk",
	  RUN(SLO, 200, SERVER("") "," BULK(",'exempt':true", "")), NULL, "exempt by its settings",
	  holds_own, NULL, 10, 200, ALWAYS },
	{ "slo__cap_not_saved__is_said_by_the_daemon", &policy_slo, SLO_UNCAPPABLE, "bulk",
	  RUN(SLO, 200, SERVER("") "," BULK(",'later':true", "")), "5 block; 10 create bulk",
	  "not cappable: its cap could not be saved in @:", holds_uncappable, NULL, 10, 200, SOME },
	{ "slo__promised_guest__is_never_capped", &policy_slo, SLO_PROMISED, "server",
	  RUN(SLO, 3000, PAIR), NULL,
	  "no cap: its own mean is promised, at most +# percent over its base, and others cost it "
	  "+#$",
	  holds_slo_promised, NULL, 10, 3000, ALWAYS },
	{ "slo__no_cap_holds_the_promise__is_said_to_the_promised", &policy_slo, SLO_REFUSED,
	  "server", RUN(SLO_FUTILE, 1600, SERVER("") "," BULK("", ",'depth':64")), NULL,
	  "no cap: it is promised " AT_MOST ", which no cap holds: at the lowest ones others cost "
	  "it +#; tried again in # ms",
	  holds_slo_refused, NULL, 10, 1600, SOME },
	{ "slo__no_cap_holds_the_promise__caps_are_lifted", &policy_slo, SLO_OTHER_REFUSED, "bulk",
	  RUN(SLO_FUTILE, 1600, SERVER("") "," BULK("", ",'depth':64")), NULL,
	  "no cap: guest @ is promised " AT_MOST ", which no cap holds: at the lowest ones others "
	  "cost it +#",
	  holds_slo_other_refused, then_rests, 10, 1600, SOME },
	{ "slo__guest_that_sends_little__is_spared", &policy_slo, SLO_SMALL, "small",
	  RUN(SLO, 1500,
	      PAIR ",{'name':'small','apps':[{'kind':'sender','size':'4KiB','rate':100}]}"),
	  NULL,
	  "no cap: guest @ is promised " AT_MOST ", and others cost it +#, but this guest sends "
	  "too little to matter, or nothing",
	  holds_slo_small, NULL, 10, 1500, SOME },
	{ "slo__no_promise__is_said", &policy_slo, SLO_UNHEARD, "bulk",
	  RUN(SLO, 1000, STRANGER("") "," BULK("", "")), NULL,
	  "no cap: no guest on its link that is promised a mean (base, in sla) reports its latency",
	  holds_slo_unheard, NULL, 10, 1000, ALWAYS },
	{ "slo__before_the_first_window__is_said", &policy_slo, SLO_UNKNOWN, "bulk",
	  RUN(SLO, 400, SERVER("") "," BULK("", ",'rate':10")), NULL,
	  "no cap: guest @ is promised " AT_MOST ", and has not reported for long enough to tell "
	  "what others cost it",
	  holds_slo_unknown, NULL, 10, 400, SOME },
	/* ioshares: who is capped */
	{ "ioshares__guest_that_slows_another__is_capped", &policy_ioshares, IOS_TAXED, "bulk",
	  RUN(IOS, 3000, PAIR), NULL,
	  "cap # percent, charged # times the plain rate: guest @ waits longer for I/O because of "
	  "@: " RISE,
	  holds_taxed, NULL, 10, 3000, SOME },
	{ "ioshares__other_within_its_tolerance_by_the_cap__is_not_said_to_wait", &policy_ioshares,
	  IOS_HELD, "bulk", RUN(IOS, 3000, PAIR), NULL,
	  "cap # percent, charged # times the plain rate since guest @ waited longer for I/O "
	  "because of @; now: " RISE,
	  holds_held, NULL, 10, 3000, SOME },
	{ "ioshares__second_of_a_set__is_capped_in_its_turn", &policy_ioshares, IOS_SOON, "b1",
	  RUN(IOS, 600,
	      SERVER("") ",{'name':'b0','apps':[{'kind':'sender','size':'2MiB'}]},"
			 "{'name':'b1','apps':[{'kind':'sender','size':'2MiB'}]}"),
	  NULL,
	  "no cap yet: guest @ waits longer for I/O because of it: " RISE
	  "; it is charged more in its "
	  "turn, if this lasts",
	  holds_soon, then_capped, 10, 600, SOME },
	{ "ioshares__lowest_cap_helps_and_not_enough__is_said", &policy_ioshares, IOS_FLOOR, "bulk",
	  RUN("{'policy':'ioshares','params':{'futile':300000000}}", 4000,
	      SERVER("") "," BULK("", ",'depth':16")),
	  NULL,
	  "lowest cap, # percent, and guest @ still waits longer for I/O because of @: " RISE
	  ". A cap does not stop messages that are already posted",
	  holds_floor, NULL, 10, 4000, SOME },
	{ "ioshares__all_resos_spent__lowest_cap_until_the_next_epoch", &policy_ioshares, IOS_EMPTY,
	  "bulk",
	  RUN("{'policy':'ioshares','params':{'on_empty':1}}", 2100,
	      SERVER(",'report_stop':'1ms'") "," BULK("", "")),
	  NULL, "lowest cap, # percent: all of its Resos are spent; until the next epoch",
	  holds_empty, then_lifted, 1001, 1999, SOME },
	{ "ioshares__guest_that_was_slowed_reports_no_more__cap_goes_back", &policy_ioshares,
	  IOS_FADING, "bulk", RUN(IOS, 8000, SERVER(",'report_stop':'1s'") "," BULK("", "")), NULL,
	  "cap # percent, charged # times the plain rate, on the way back to no cap: the guest "
	  "that was slowed down no longer reports",
	  holds_fading, then_free, 10, 8000, SOME },
	/* ioshares: who is not */
	{ "ioshares__lowest_cap_is_all__is_said", &policy_ioshares, IOS_LEAST, "bulk",
	  RUN(IOS, 1000, SERVER("") "," BULK(",'min_cap':100", "")), NULL,
	  "no cap: guest @ waits longer for I/O because of it: " RISE ", but its lowest cap is all "
	  "of its CPU time",
	  holds_least, NULL, 250, 1000, ALWAYS },
	{ "ioshares__others_within_their_tolerance__no_cap", &policy_ioshares, IOS_FREE, "bulk",
	  RUN(IOS, 1500, SERVER("") "," BULK("", ",'rate':20")), NULL,
	  "no cap: of the other guests on its link that report and can be judged, none waits "
	  "longer "
	  "for I/O than it tolerates",
	  holds_free, NULL, 10, 1500, SOME },
	{ "ioshares__one_is_heard_and_another_is_not__none_that_can_be_judged_waits",
	  &policy_ioshares, IOS_FREE, "bulk",
	  RUN(IOS, 1500,
	      "{'name':'patient','sla':{'tolerance':2000," BASE "},'apps':[{'kind':'server'}]},"
	      "{'name':'silent','apps':[{'kind':'server','report':0}]}," BULK("", "")),
	  NULL,
	  "no cap: of the other guests on its link that report and can be judged, none waits "
	  "longer "
	  "for I/O than it tolerates",
	  holds_own, NULL, 250, 1500, ALWAYS },
	{ "ioshares__guest_that_sends_little__is_not_to_blame", &policy_ioshares, IOS_SPARED,
	  "small",
	  RUN(IOS, 1500,
	      PAIR ",{'name':'small','apps':[{'kind':'sender','size':'4KiB','rate':100}]}"),
	  NULL,
	  "no cap: guest @ waits longer for I/O (" RISE "), but this one is not seen to send so "
	  "much that it is to blame",
	  holds_spared, NULL, 10, 1500, SOME },
	{ "ioshares__guest_that_waits_longer__tells_who_is_charged_for_it", &policy_ioshares,
	  IOS_HURT, "server", RUN(IOS, 3000, PAIR), NULL,
	  "no cap; it waits longer for I/O (" RISE "); charged more for it: @; guest @ sends most",
	  holds_hurt, NULL, 10, 3000, SOME },
	{ "ioshares__guest_that_waits_for_two__tells_of_each_when_it_is_charged", &policy_ioshares,
	  IOS_HURT, "server",
	  RUN(IOS, 600,
	      SERVER("") ",{'name':'b0','apps':[{'kind':'sender','size':'2MiB'}]},"
			 "{'name':'b1','apps':[{'kind':'sender','size':'2MiB','rate':100}]}"),
	  NULL,
	  "no cap; it waits longer for I/O (" RISE "); charged more for it: @; guest @ sends most",
	  holds_hurt, NULL, 10, 600, SOME },
	{ "ioshares__only_the_deviation_rose__both_figures_are_told", &policy_ioshares, IOS_HURT,
	  "server",
	  RUN("{'policy':'ioshares','params':{'dev_tolerance':1000}}", 3000,
	      SERVER("") "," BULK("", ",'rate':40")),
	  NULL,
	  "no cap; it waits longer for I/O (" RISE
	  "); charged more for it: @; guest bulk sends most",
	  holds_deviation, NULL, 10, 3000, SOME },
	{ "ioshares__charged_for_another__is_not_said_to_be_for_this_one", &policy_ioshares,
	  IOS_HURT, "second",
	  RUN(IOS, 600,
	      SERVER("") ",{'name':'second'," SLA ",'apps':[{'kind':'server'}]}," BULK("", "")),
	  NULL,
	  "no cap; it waits longer for I/O (" RISE "); charged more for it: none so far; "
	  "guest @ sends most",
	  holds_second, NULL, 10, 600, SOME },
	{ "ioshares__only_an_exempt_guest_sends_much__nobody_is_to_blame", &policy_ioshares,
	  IOS_NOBODY, "server", RUN(IOS, 1000, SERVER("") "," BULK(",'exempt':true", "")), NULL,
	  "no cap; it waits longer for I/O (" RISE "), but the guests that may be capped are "
	  "not seen to send so much that they are to blame",
	  holds_nobody, NULL, 250, 1000, ALWAYS },
	{ "ioshares__no_base_yet__the_guest_blames_nobody", &policy_ioshares, IOS_NO_BASE, "server",
	  RUN(IOS, 1500, STRANGER("") "," BULK("", "")), NULL,
	  "no cap; its own latency when alone is neither configured nor learned yet, so it can "
	  "blame no guest",
	  holds_no_base, NULL, 250, 1500, ALWAYS },
	{ "ioshares__no_base_yet__nobody_knows_whether_the_other_slows_it", &policy_ioshares,
	  IOS_UNKNOWN, "bulk", RUN(IOS, 1500, STRANGER("") "," BULK("", "")), NULL,
	  "no cap; whether it slows others down is not known: of the other guests on its link that "
	  "report, none has a base latency and a window without a cap of its own",
	  holds_unknown, NULL, 250, 1500, ALWAYS },
	{ "ioshares__no_reporter_on_the_link__is_said", &policy_ioshares, IOS_UNHEARD, "bulk",
	  RUN(IOS, 3000, SERVER(",'report_stop':'1ms'") "," BULK("", "")), NULL,
	  "no cap; no other guest on its link reports its latency (resex_report(3)), so whether it "
	  "slows others down is not known",
	  holds_unheard, NULL, 1100, 3000, ALWAYS },
	{ "ioshares__cap_did_not_help__no_cap_for_a_while", &policy_ioshares, IOS_FUTILE, "bulk",
	  RUN("{'policy':'ioshares','params':{'futile':300000000,'futile_rest':1000000000}}", 3000,
	      SERVER("") "," BULK("", ",'depth':64")),
	  NULL, "no cap for another # ms: with a cap on it guest @ was hardly faster", holds_futile,
	  then_rests, 10, 2500, SOME },
	{ "ioshares__guest_that_was_capped_itself__is_no_evidence", &policy_ioshares, IOS_SELF,
	  "large",
	  RUN("{'policy':'ioshares','params':{'calm':1,'back_off':1000,'min_samples':16}}", 4000,
	      SERVER(",'stop':'1s'") ",{'name':'large','sla':{'tolerance':50,'base':'2100us',"
				     "'base_io':'1953us','base_deviation':'0ns'},"
				     "'apps':[{'kind':'server','size':'2MiB'}]}"),
	  NULL,
	  "no cap; it waits longer for I/O (" RISE "), but was capped itself or had no CPU: no "
	  "evidence against others",
	  holds_self, NULL, 10, 4000, SOME },
	{ "ioshares__exempt__is_said_by_the_daemon", &policy_ioshares, IOS_EXEMPT, "bulk",
	  RUN(IOS, 500, SERVER("") "," BULK(",'exempt':true", "")), NULL, "exempt by its settings",
	  holds_own, NULL, 10, 500, ALWAYS },
	{ "ioshares__cap_not_saved__is_said_by_the_daemon", &policy_ioshares, IOS_UNCAPPABLE,
	  "bulk", RUN(IOS, 500, SERVER("") "," BULK(",'later':true", "")),
	  "5 block; 10 create bulk",
	  "not cappable: its cap could not be saved in @:", holds_uncappable, NULL, 10, 500, SOME },
	/* the daemon */
	{ "cap_not_saved__its_own_cap_holds", NULL, WHY_UNCAPPABLE, "bulk",
	  RUN(IOS, 500, SERVER("") "," BULK(",'later':true,'cap':70", "")),
	  "5 block; 10 create bulk",
	  "not cappable: its cap could not be saved in @:", holds_uncappable, NULL, 10, 500, SOME },
	{ "starved_host__accuses_nobody", &policy_null, NULL_FREE, "bulk",
	  "{'policy':'null','duration':'14000ms','links':[{'name':'ib0','rate':'100Gbit/"
	  "s','mtu':1024}],"
	  "'guests':[{'name':'bulk','apps':[{'kind':'sender','size':'1MiB','depth':4}]}]}",
	  "1500 late 2000; 3600 late 2000; 5700 late 2000; 7800 late 2000; 9900 late 2000; 12000 "
	  "late 300",
	  "no cap: this policy never caps; # of # Resos are left$", holds_own, NULL, 10, 14000,
	  ALWAYS },
	{ "starved_host__caps_nobody", &policy_ioshares, IOS_FREE, "bulk",
	  RUN(IOS, 7000, SERVER("") "," BULK("", ",'rate':20")),
	  "1500 late 300; 2300 late 900; 3900 late 120; 4200 late 250; 5050 late 700",
	  "no cap: of the other guests on its link that report and can be judged, none waits "
	  "longer "
	  "for I/O than it tolerates",
	  holds_free, NULL, 300, 7000, ALWAYS },
	{ "starved_host__guest_that_hides_queues__is_found_all_the_same", NULL, WHY_DIVERGES,
	  "bulk", RUN("'null'", 9000, SERVER("") "," BULK(",'blind':true", ",'rate':200")),
	  "1500 late 300; 2400 late 200",
	  "@; sim counts # bytes/s that its queue pairs do not explain", holds_diverges, NULL, 10,
	  9000, SOME },
	{ "guest_that_has_just_come__is_not_sampled_yet", NULL, WHY_NOT_SAMPLED, "bulk",
	  RUN(IOS, 200, SERVER("") "," BULK(",'later':true", "")), "20 create bulk",
	  "not sampled yet", holds_not_sampled, NULL, 20, 200, SOME },
	{ "guest_set__exempt__its_own_cap_holds_at_once", NULL, WHY_CONFIGURED, "bulk",
	  RUN("'ratio'", 700, SERVER("") "," BULK(",'cap':80", "")),
	  "500 guest-set bulk exempt true", "exempt by its settings", holds_own, NULL, 500, 700,
	  ALWAYS | SLOW },
	{ "cap_release__its_own_cap_holds_at_once", NULL, WHY_RELEASED, "bulk",
	  RUN(IOS, 700, SERVER("") "," BULK(",'cap':80", "")), "500 cap-release bulk",
	  "released by cap-release", holds_own, NULL, 500, 700, ALWAYS | SLOW },
	{ "pause__its_own_cap_holds_at_once", NULL, WHY_PAUSED, "bulk",
	  RUN("'ratio'", 700, SERVER("") "," BULK(",'cap':80", "")), "500 pause",
	  "paused: its own cap holds until resex resume", holds_own, NULL, 500, 700,
	  ALWAYS | SLOW },
	{ "resume__why_at_once__is_the_policys", &policy_ratio, RATIO_CAPPED, "bulk",
	  RUN("'ratio'", 900, SERVER("") "," BULK(",'cap':80", "")), "500 pause; 600 resume",
	  "cap # percent: # bytes against the # of its largest message", holds_ratio_capped, NULL,
	  600, 900, ALWAYS | SLOW },
	{ "cap_release_undone__why_at_once__is_the_policys", &policy_ratio, RATIO_CAPPED, "bulk",
	  RUN("'ratio'", 900, SERVER("") "," BULK(",'cap':80", "")),
	  "500 cap-release bulk; 600 cap-release bulk undo true",
	  "cap # percent: # bytes against the # of its largest message", holds_ratio_capped, NULL,
	  600, 900, ALWAYS | SLOW },
	{ "guest_set__no_longer_exempt__why_at_once__is_the_policys", &policy_ratio, RATIO_CAPPED,
	  "bulk", RUN("'ratio'", 900, SERVER("") "," BULK(",'cap':80,'exempt':true", "")),
	  "600 guest-set bulk exempt false",
	  "cap # percent: # bytes against the # of its largest message", holds_ratio_capped, NULL,
	  600, 900, ALWAYS | SLOW },
	{ "policy_set__why_at_once__is_the_new_policys", &policy_null, NULL_FREE, "bulk",
	  RUN("'ratio'", 2500, SERVER("") "," BULK("", "")), "1500 policy-set null",
	  "no cap: this policy never caps; # of # Resos are left", holds_own, NULL, 1500, 2500,
	  ALWAYS | SLOW },
	{ "resume__another_client_meanwhile__no_policy_has_decided", NULL, WHY_UNDECIDED, "bulk",
	  RUN("'ratio'", 700, SERVER("") "," BULK(",'cap':80", "")), "500 pause; 600 resume",
	  "its settings have just changed, and no policy has decided on it since", holds_own, NULL,
	  600, 610, SOME },
	{ "max_cap__is_said_before_the_policys_reason", NULL, WHY_MAX_CAP, "bulk",
	  RUN("'null'", 1500, SERVER("") "," BULK(",'max_cap':50", "")), NULL,
	  "cap # percent, by its settings; the policy wants no cap: this policy never caps; # of # "
	  "Resos are left",
	  holds_limit, NULL, 50, 1500, ALWAYS },
	{ "max_cap__below_what_the_policy_wants__is_said", NULL, WHY_NO_MORE, "bulk",
	  RUN("'ratio'", 500, BULK(",'max_cap':2", "")), NULL,
	  "cap # percent: # bytes against the # of its largest message; its settings allow no more",
	  holds_limit, NULL, 50, 500, ALWAYS },
	{ "own_cap__is_said_before_the_policys_reason", NULL, WHY_OWN_CAP, "bulk",
	  RUN("'null'", 1500, SERVER("") "," BULK(",'cap':60", "")), NULL,
	  "cap # percent, its own; the policy wants no cap: this policy never caps; # of # Resos "
	  "are left",
	  holds_limit, NULL, 50, 1500, ALWAYS },
	{ "observing__no_cap_is_set", NULL, WHY_OBSERVED, "bulk", RUN("'ratio'", 500, PAIR), NULL,
	  "cap # percent: # bytes against the # of its largest message; resexd only observes: this "
	  "cap is not set",
	  holds_observed, NULL, 20, 500, ALWAYS | OBSERVE },
	{ "forged_queues__are_said", NULL, WHY_FORGED, "bulk", RUN("'null'", 6000, PAIR),
	  "1000 forge bulk",
	  "no cap: this policy never caps; # of # Resos are left; publishes queues that cannot be "
	  "read: their memory is forged, or its agent does not follow",
	  holds_forged, NULL, 0, 6000, SOME },
	{ "hidden_queues__their_bytes_are_said", NULL, WHY_DIVERGES, "bulk",
	  RUN(IOS, 5000, SERVER("") "," BULK(",'blind':true", ",'rate':200")), NULL,
	  "@; sim counts # bytes/s that its queue pairs do not explain", holds_diverges, NULL, 10,
	  5000, SOME },
};

/* --- the test ------------------------------------------------------------------------- */

/* Is this ms one in which the row's sentence is said? */
static bool is_said(const struct row *r, const struct snap_guest *s, const char *text)
{
	if (r->policy)
		return s && s->plan.reason == r->kind;
	return strstr(text, why_says[r->kind]) != NULL;
}

/* The words about the cap are the scheduler's, whatever the sentence. */
static void look_at_cap(struct truth *t, const struct row *r, const char *text)
{
	int guest = guest_of(t, r->guest);
	struct said s;

	if (r->how & (OBSERVE | SLOW))
		return;
	if (read_words(text, "cap # percent", &s) || read_words(text, "cap cut to # percent", &s) ||
	    read_words(text, "lowest cap, # percent", &s))
		has_cap(t, guest, s.f[0]);
	else if (!strncmp(text, "no cap", 6) &&
		 moment_of(t, guest, t->ms - 1)->cap) /* the actor's answer takes a tick */
		has_cap(t, guest, 0);
}

static void look(struct truth *t, struct guests *gs)
{
	struct watch *w = t->arg;
	const struct row *r = w->row;
	json_t *params = params_for(r->guest, NULL, NULL), *reply, *row;
	struct call c = { 0 };
	const struct guest_entry *g = guests_find(gs, r->guest);
	const char *text = "";
	bool under_way = t->call.guests != NULL, news;

	if (!method(t, &c, gs, "why", params, &reply)) {
		row = json_array_get(json_object_get(reply, "guests"), 0);
		text = json_string_value(json_object_get(row, "text"));
	}
	json_decref(params);
	read_rise(w, text, t->ms);
	news = strcmp(text, w->text) != 0;
	snprintf(w->text, sizeof(w->text), "%s", text);
	json_decref(reply);
	w->s.guest = guest_of(t, r->guest);
	look_at_cap(t, r, w->text);
	if (t->ms < r->from || t->ms > r->to || t->failed[0])
		return;
	if (!is_said(r, g ? guests_snap(g, t->slow ? &t->sn : guests_snapshot(gs)) : NULL,
		     w->text)) {
		if ((r->how & ALWAYS) && !under_way)
			untrue(t, "another sentence");
		return;
	}
	if (under_way && (r->how & ALWAYS))
		return;
	if (!read_words(w->text, r->says, &w->s))
		untrue(t, "other words");
	if (!t->failed[0] && (news || t->act_done || t->ms % 16 == 0))
		r->holds(t, &w->s);
	w->first = w->seen++ ? w->first : t->ms;
	w->last = t->ms;
}

/* With ' for " in the scenario. */
static void run_with(struct truth *t, const char *scenario, const char *acts,
		     void (*look_at)(struct truth *, struct guests *), void *arg, int how)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s", scenario);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	truth_open(t, text);
	t->acts = acts;
	t->look = look_at;
	t->arg = arg;
	t->slow = how & SLOW;
	truth_run(t, how & OBSERVE);
}

static void run_row(void **state)
{
	const struct row *r = *state;
	struct watch w = { .row = r, .s.rise = { -1, -1 } };
	struct truth *t = calloc(1, sizeof(*t));
	bool ok;

	assert_non_null(t);
	run_with(t, r->scenario, r->acts, look, &w, r->how);
	if (!t->failed[0] && !w.seen)
		untrue(t, "it was never said; the last");
	if (!t->failed[0] && r->then)
		r->then(t, w.s.guest, w.first, w.last);
	ok = !t->failed[0];
	if (!ok)
		print_error("%s\n  of: %s\n", t->failed, w.text);
	else
		print_message("said in %d ms, first at %d, last at %d\n", w.seen, w.first, w.last);
	truth_close(t);
	free(t);
	assert_true(ok);
}

TEST_ROWS(rows, run_row)

/* --- a policy that needs reports ------------------------------------------------------- */

static const char *text_in(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static bool needs_reports(const struct guests *gs)
{
	return guests_view(gs).policy->ops->needs_reports;
}

/* What info notes of the policy is so: no guest reports, or nothing. t->arg counts. */
static void look_at_note(struct truth *t, struct guests *gs)
{
	json_t *params = json_object(), *reply;
	bool heard = false, noted;
	struct call c = { 0 };

	for (int i = 0; i < (int)conf_of(t)->guests; i++)
		heard |= is_reporter(t, i);
	method(t, &c, gs, "info", params, &reply);
	noted = text_in(reply, "policy_note")[0];
	if (noted && heard)
		untrue(t, "a guest reports, but: %s", text_in(reply, "policy_note"));
	if (!noted && !heard && t->ms > 2 * STALE + 10 && needs_reports(gs))
		untrue(t, "no guest reports, and info does not say so");
	json_decref(reply);
	/* What policy-set answers is of the same moment. */
	if (t->act_done && t->reply &&
	    (text_in(t->reply, "policy_note")[0] != 0) != (!heard && needs_reports(gs)))
		untrue(t, "policy-set: \"%s\"", text_in(t->reply, "policy_note"));
	*(int *)t->arg += noted;
	json_decref(params);
}

/* In how many ms a note was there; all that was noted is so. */
static int notes(const char *scenario, const char *acts)
{
	struct truth *t = calloc(1, sizeof(*t));
	int noted = 0;
	bool ok;

	assert_non_null(t);
	run_with(t, scenario, acts, look_at_note, &noted, SOME);
	ok = !t->failed[0];
	if (!ok)
		print_error("%s\n", t->failed);
	truth_close(t);
	free(t);
	assert_true(ok);
	return noted;
}

TEST(no_reporter__policy_needs_reports__is_noted)
{
	assert_in_range(notes(RUN(IOS, 5000, SERVER(",'report_stop':'500ms'") "," BULK("", "")),
			      "3000 policy-set null; 3500 policy-set ioshares"),
			2000, 3000);
}

TEST(reporter__policy_needs_reports__nothing_is_noted)
{
	assert_int_equal(
		notes(RUN(IOS, 3000, PAIR), "1500 policy-set null; 2000 policy-set ioshares"), 0);
}

/* --- the gate ------------------------------------------------------------------------- */

static bool has_row(const struct policy_ops *policy, uint32_t kind)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].policy == policy && rows[i].kind == kind)
			return true;
	return false;
}

TEST(every_sentence__has_a_row)
{
	bool all = true;

	for (size_t p = 0; policies_builtin[p]; p++)
		for (uint32_t kind = 0; policies_builtin[p]->reasons[kind]; kind++)
			if (!has_row(policies_builtin[p], kind)) {
				print_error("no row of %s: %s\n", policies_builtin[p]->name,
					    policies_builtin[p]->reasons[kind]);
				all = false;
			}
	for (uint32_t kind = 0; kind < WHY_KINDS; kind++)
		if (!has_row(NULL, kind)) {
			print_error("no row of the daemon: %s\n", why_says[kind]);
			all = false;
		}
	assert_true(all);
}
