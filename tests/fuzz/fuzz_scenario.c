// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_scenario: any text through scenario_parse. A refusal names a place in the
 * text; an accepted scenario can be simulated unchanged.
 */
#include <errno.h>

#include "src/lab/scenario.h"
#include "tests/fuzz/fuzz.h"

/* Names a place that is in the text, and says something, in one line. */
static void check_error(const struct conf_error *e, size_t len)
{
	char place[64];

	FUZZ_REQUIRE(memchr(e->text, '\0', sizeof(e->text)));
	FUZZ_REQUIRE(!strchr(e->text, '\n'));
	FUZZ_REQUIRE(e->line >= 1 && (size_t)e->line <= len + 1);
	FUZZ_REQUIRE(e->column >= 1 && (size_t)e->column <= len + 1);
	snprintf(place, sizeof(place), "f:%d:%d: ", e->line, e->column);
	FUZZ_REQUIRE(!strncmp(e->text, place, strlen(place)));
	FUZZ_REQUIRE(strlen(e->text) > strlen(place));
}

static void check_app(const struct sim_app *a)
{
	FUZZ_REQUIRE(a->kind <= SIM_APP_BURNER && a->name[0]);
	FUZZ_REQUIRE(a->msg_bytes >= 1 && a->msg_bytes <= 16 << 20);
	FUZZ_REQUIRE(a->depth >= 1 && a->depth <= 1024);
	FUZZ_REQUIRE(!a->stop_ns || a->stop_ns > a->start_ns);
}

static void check_guests(const struct scenario *sc)
{
	FUZZ_REQUIRE(sc->sim.guests >= 1 && sc->sim.guests <= SIM_GUESTS_MAX);
	FUZZ_REQUIRE(sc->conf.guests == sc->sim.guests);
	for (uint32_t i = 0; i < sc->sim.guests; i++) {
		const struct sim_guest_conf *g = &sc->sim.guest[i];

		FUZZ_REQUIRE(!strcmp(g->name, sc->conf.guest[i].name));
		FUZZ_REQUIRE(scenario_find(sc, g->name) == (int)i);
		FUZZ_REQUIRE(g->link < sc->sim.links && g->link == sc->conf.guest[i].link);
		FUZZ_REQUIRE(g->apps <= SIM_APPS_MAX);
		for (uint32_t k = 0; k < g->apps; k++)
			check_app(&g->app[k]);
	}
}

static void check_events(const struct scenario *sc)
{
	FUZZ_REQUIRE(sc->events <= SCENARIO_EVENTS_MAX);
	for (uint32_t i = 0; i < sc->events; i++) {
		const struct scenario_event *ev = &sc->event[i];

		FUZZ_REQUIRE(ev->at_ns >= (i ? ev[-1].at_ns : 0) && ev->at_ns <= sc->duration_ns);
		FUZZ_REQUIRE((ev->what == SCENARIO_POLICY) == (ev->policy != NULL));
		FUZZ_REQUIRE(ev->guest < sc->sim.guests);
		FUZZ_REQUIRE(ev->index < sc->events);
		FUZZ_REQUIRE(!ev->all || ev->what == SCENARIO_POLICY ||
			     ev->what == SCENARIO_PAUSE || ev->what == SCENARIO_RESUME);
		if (ev->what == SCENARIO_GUEST_SET)
			FUZZ_REQUIRE(ev->conf.link == sc->sim.guest[ev->guest].link &&
				     ev->conf.weight >= 1 && ev->conf.weight <= 65535);
		FUZZ_REQUIRE(ev->cap <= 100 * sc->sim.guest[ev->guest].vcpus);
	}
}

static void check_taken(const struct scenario *sc)
{
	struct sim_conf_error e;

	FUZZ_REQUIRE(sc->policy);
	FUZZ_REQUIRE(sc->duration_ns >= 10 * NS_PER_MS && sc->duration_ns <= 3600 * NS_PER_S);
	FUZZ_REQUIRE(sc->series_ns >= 0 && sc->series_ns <= sc->duration_ns);
	FUZZ_REQUIRE(sc->conf.interval_ns >= 100 * NS_PER_US);
	FUZZ_REQUIRE(sc->conf.epoch_ns % sc->conf.interval_ns == 0);
	FUZZ_REQUIRE(sc->sim.links == sc->conf.links && sc->sim.links >= 1);
	check_guests(sc);
	check_events(sc);
	FUZZ_REQUIRE(!sim_conf_check(&sc->sim, &e));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario *sc = malloc(sizeof(*sc));
	struct conf_error e = { 0 };
	char *text = malloc(size); /* exactly as long, so that reading on is seen */
	int rc;

	if (!sc || (size && !text))
		abort();
	if (size)
		memcpy(text, data, size);
	rc = scenario_parse(sc, "f", text, size, &e);
	free(text);
	if (rc) {
		FUZZ_REQUIRE(rc == -EINVAL);
		check_error(&e, size);
	} else {
		check_taken(sc);
		scenario_free(sc);
		for (enum scenario_table t = SCENARIO_TOP; t <= SCENARIO_EVENT; t++)
			FUZZ_REQUIRE(scenario_table(t).keys); /* of a schema */
	}
	free(sc);
	return 0;
}
