// SPDX-License-Identifier: GPL-2.0-or-later
/* hook_guest: see hook_guest.h. */
#include "src/reconf/hook_guest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/guest_abi.h"
#include "src/util/utf8.h"

enum {
	SAID_MAX = 200, /* bytes of the agent's sentence in a note */
};

static const int64_t look_ns = 50 * NS_PER_MS; /* between two looks at the answer */
static const int64_t late_ns = 5 * NS_PER_S;   /* the agent kills the program, and says so */

enum phase {
	PHASE_NONE,
	PHASE_WRITE, /* what is wanted is being written */
	PHASE_WAIT,  /* for the answer */
	PHASE_BACK,  /* it failed, and what was wanted is being taken back */
};

struct hook {
	int64_t deadline_ns;
	struct hook_guest_conf guest;
	enum hook_state state;
	enum phase phase;
	uint32_t domid;
	uint64_t number; /* of the newest want */
	struct mono until;
	const char *wrong; /* about the newest answer, as a sentence's part; NULL: there is none */
	char want[GUEST_ABI_WANT_MAX];
	char note[HOOK_NOTE_MAX];
};

__attribute__((format(printf, 2, 3))) static void fail(struct hook *h, const char *fmt, ...)
{
	va_list ap;

	h->state = HOOK_FAILED;
	h->phase = PHASE_NONE;
	va_start(ap, fmt);
	vsnprintf(h->note, sizeof(h->note), fmt, ap);
	va_end(ap);
	utf8_mend(h->note); /* what the guest says is any bytes */
	utf8_tame(h->note);
}

/* Each is a line. False: one is too long, or of more lines. */
static bool compose(struct hook *h, const struct hook_want *w)
{
	const char *part[] = { w->action, w->node, w->from, w->to };
	int n;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (strchr(part[i], '\n'))
			return false;
	n = snprintf(h->want, sizeof(h->want), "1\n%" PRIu64 "\n%" PRId64 "\n%s\n%s\n%s\n%s\n",
		     h->number, h->deadline_ns / (int64_t)NS_PER_MS, w->action, w->node, w->from,
		     w->to);
	return n > 0 && (size_t)n < sizeof(h->want);
}

static int guest_want(struct hook *h, const struct hook_want *w, struct mono now)
{
	if (h->phase == PHASE_WRITE || h->phase == PHASE_WAIT)
		return -EBUSY;
	/* Also above the numbers of an earlier resexd: the clock begins with the host. */
	h->number = (uint64_t)now.ns > h->number ? (uint64_t)now.ns : h->number + 1;
	h->note[0] = '\0';
	h->wrong = NULL;
	if (!compose(h, w)) {
		fail(h,
		     "the names \"%s\" and \"%s\" cannot be told to guest %s: give shorter ones, "
		     "of one line",
		     w->node, w->to, h->guest.name);
		return 0;
	}
	if (h->guest.find(h->guest.arg, h->guest.name, &h->domid)) {
		fail(h, "guest %s does not run on this host: start it", h->guest.name);
		return 0;
	}
	h->state = HOOK_RUNS;
	h->phase = PHASE_WRITE;
	h->until = mono_add(now, h->deadline_ns + late_ns);
	return 0;
}

static bool is_another(struct hook *h)
{
	uint32_t domid;

	return h->guest.find(h->guest.arg, h->guest.name, &domid) || domid != h->domid;
}

static void write_want(struct hook *h)
{
	int rc = h->guest.ops->want(h->guest.watch, h->domid, h->want);

	if (rc == -EAGAIN)
		return;
	if (rc)
		fail(h, "cannot write what guest %s is to do: %s: see whether xenstored runs",
		     h->guest.name, strerror(-rc));
	else
		h->phase = PHASE_WAIT;
}

/*
 * Read a line of decimal digits. Returns the text behind it; NULL: the line has other characters.
 * If the number is too large, *n is the greatest one; no want has that.
 */
static const char *take_number(const char *text, uint64_t *n)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || text[digits] != '\n')
		return NULL;
	*n = strtoull(text, NULL, 10);
	return text + digits + 1;
}

/* The agent's answer to the newest want, if it is one. */
static void take_answer(struct hook *h, char *text)
{
	uint64_t version, number, failed;
	const char *said = take_number(text, &version);

	if (said)
		said = take_number(said, &number);
	if (said)
		said = take_number(said, &failed);
	h->wrong = "it says what is no answer";
	if (!said || version != 1 || failed > 1)
		return;
	h->wrong = NULL;
	if (number != h->number)
		return;
	if (!failed) {
		h->state = HOOK_DONE;
		h->phase = PHASE_NONE;
		return;
	}
	text[strcspn(said, "\n") + (size_t)(said - text)] = '\0';
	fail(h, "guest %s: %.*s", h->guest.name, SAID_MAX,
	     *said ? said : "its program failed: see the journal of resex-agent there");
}

static void read_answer(struct hook *h)
{
	char text[GUEST_ABI_ANSWER_MAX];
	int rc = h->guest.ops->answer(h->guest.watch, h->domid, text, sizeof(text));

	if (rc >= 0)
		take_answer(h, text);
	else if (rc == -EMSGSIZE || rc == -EBADMSG)
		h->wrong = "it says what is no answer";
	else if (rc == -EPERM)
		h->wrong = "other domains can write its answer";
	else if (rc == -ENOENT)
		h->wrong = NULL;
}

/* It does not answer. An agent that comes to it later must not begin it. */
static void give_up(struct hook *h)
{
	if (h->phase == PHASE_WRITE)
		fail(h,
		     "xenstored did not take what guest %s is to do within %" PRId64
		     " ms: see whether it runs",
		     h->guest.name, (h->deadline_ns + late_ns) / (int64_t)NS_PER_MS);
	else
		fail(h,
		     "guest %s did not answer within %" PRId64
		     " ms%s%s: see whether resex-agent runs there",
		     h->guest.name, (h->deadline_ns + late_ns) / (int64_t)NS_PER_MS,
		     h->wrong ? ": " : "", h->wrong ? h->wrong : "");
	h->phase = PHASE_BACK;
}

static int64_t guest_poll(struct hook *h, struct mono now)
{
	if (h->phase == PHASE_NONE)
		return INT64_MAX;
	if (is_another(h)) {
		if (h->phase != PHASE_BACK)
			fail(h, "guest %s ended or rebooted meanwhile: see why", h->guest.name);
		h->phase = PHASE_NONE;
		return INT64_MAX;
	}
	if (h->phase == PHASE_WRITE)
		write_want(h);
	if (h->phase == PHASE_WAIT)
		read_answer(h);
	if (h->phase == PHASE_BACK && h->guest.ops->want(h->guest.watch, h->domid, "") != -EAGAIN)
		h->phase = PHASE_NONE;
	if ((h->phase == PHASE_WRITE || h->phase == PHASE_WAIT) && mono_sub(h->until, now) <= 0)
		give_up(h);
	return h->phase == PHASE_NONE ? INT64_MAX : look_ns;
}

static int guest_open(struct hook **out, const struct hook_conf *c)
{
	struct hook *h;

	if (c->deadline_ns <= 0 || !c->guest)
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->deadline_ns = c->deadline_ns;
	h->guest = *c->guest;
	*out = h;
	return 0;
}

static void guest_close(struct hook *h)
{
	free(h);
}

static void guest_see(const struct hook *h, struct hook_seen *s)
{
	s->state = h->state;
	memcpy(s->note, h->note, sizeof(s->note));
}

const struct hook_ops hook_guest = {
	.open = guest_open,
	.close = guest_close,
	.want = guest_want,
	.poll = guest_poll,
	.see = guest_see,
};
