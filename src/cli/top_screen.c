// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top_screen: ncurses, and nothing else of it elsewhere. See top_screen.h.
 *
 * The handlers that ncurses installs are taken away again: resex top receives signals in its loop,
 * and so ends in one way, whatever ends it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/cli/top_screen.h"

#include <stdio.h>

#include "resex/exit.h"

#ifdef HAVE_NCURSES

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/util/utf8.h"

/* So soon a lone ESC counts as a key, and not as the begin of an arrow's. */
enum { ESC_MS = 25 };

struct top_screen {
	SCREEN *screen;
	bool utf8;
};

static void default_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
}

/* Asked of the locale itself: an a with two dots is one character of two bytes. */
static bool shows_utf8(void)
{
	wchar_t c;

	return setlocale(LC_CTYPE, "") && mbtowc(&c, "\xc3\xa4", 2) == 2 && c == 0xe4;
}

int top_screen_open(struct top_screen **out, char *error, size_t size)
{
	const char *term = getenv("TERM");
	struct top_screen *s;
	char shown[64];

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		snprintf(error, size, "top needs a terminal: without one, use --batch or --json");
		return RESEX_USAGE;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		snprintf(error, size, "out of memory");
		return RESEX_FAILURE;
	}
	s->utf8 = shows_utf8();
	s->screen = newterm(NULL, stdout, stdin);
	default_signals();
	if (!s->screen) {
		utf8_escape(term ? term : "", shown, sizeof(shown));
		snprintf(error, size,
			 "the terminal \"%s\" of TERM is not known, or can do too little: use "
			 "--batch",
			 shown);
		free(s);
		return RESEX_USAGE;
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESC_MS);
	curs_set(0);
	*out = s;
	return RESEX_OK;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->screen);
	free(s);
}

bool top_screen_is_utf8(const struct top_screen *s)
{
	return s->utf8;
}

/* Asked of the terminal: ncurses would take LINES and COLUMNS for it. */
void top_screen_size(struct top_screen *s, int *rows, int *cols)
{
	struct winsize w;

	(void)s;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col)
		if (w.ws_row != LINES || w.ws_col != COLS) {
			resizeterm(w.ws_row, w.ws_col);
			/* Terminals differ in which rows they keep. */
			clearok(curscr, TRUE);
		}
	*rows = LINES;
	*cols = COLS;
}

static int attr_of(const struct top_cell *c)
{
	return (int)((c->attr & TOP_BOLD ? A_BOLD : A_NORMAL) |
		     (c->attr & TOP_REVERSE ? A_REVERSE : A_NORMAL));
}

/* A cell in the corner is written, though the cursor cannot go on behind it. */
void top_screen_draw(struct top_screen *s, const struct top_grid *g)
{
	(void)s;
	erase();
	for (int y = 0; y < g->rows; y++)
		for (int x = 0; x < g->cols; x++) {
			const struct top_cell *c = &g->cells[y * g->cols + x];

			if (!c->width)
				continue;
			attrset(attr_of(c));
			mvaddstr(y, x, c->text);
		}
	attrset(A_NORMAL);
	refresh();
}

static enum top_key key_of(int c)
{
	switch (c) {
	case 'q':
	case 'Q':
		return TOP_KEY_QUIT;
	case KEY_UP:
	case 'k':
		return TOP_KEY_UP;
	case KEY_DOWN:
	case 'j':
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case KEY_LEFT:
	case '<':
		return TOP_KEY_LEFT;
	case KEY_RIGHT:
	case '>':
		return TOP_KEY_RIGHT;
	case 'r':
		return TOP_KEY_REVERSE;
	case '\t':
		return TOP_KEY_PAGE;
	case '1':
		return TOP_KEY_GUESTS;
	case '2':
		return TOP_KEY_HOSTS;
	case 'h':
	case '?':
		return TOP_KEY_HELP;
	case ' ':
		return TOP_KEY_REFRESH;
	default:
		return TOP_KEY_NONE;
	}
}

bool top_screen_key(struct top_screen *s, enum top_key *key)
{
	int c = getch();

	(void)s;
	*key = key_of(c);
	return c != ERR;
}

void top_screen_suspend(struct top_screen *s)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	def_prog_mode();
	endwin();
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	raise(SIGTSTP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	top_screen_resume(s);
}

void top_screen_resume(struct top_screen *s)
{
	(void)s;
	reset_prog_mode();
	curs_set(0);
	clearok(curscr, TRUE);
	refresh();
}

#else /* without ncurses */

int top_screen_open(struct top_screen **out, char *error, size_t size)
{
	*out = NULL;
	snprintf(error, size, "this resex was built without ncurses: use --batch or --json");
	return RESEX_USAGE;
}

void top_screen_close(struct top_screen *s)
{
	(void)s;
}

bool top_screen_is_utf8(const struct top_screen *s)
{
	(void)s;
	return false;
}

void top_screen_size(struct top_screen *s, int *rows, int *cols)
{
	(void)s;
	*rows = *cols = 0;
}

void top_screen_draw(struct top_screen *s, const struct top_grid *g)
{
	(void)s;
	(void)g;
}

bool top_screen_key(struct top_screen *s, enum top_key *key)
{
	(void)s;
	*key = TOP_KEY_NONE;
	return false;
}

void top_screen_suspend(struct top_screen *s)
{
	(void)s;
}

void top_screen_resume(struct top_screen *s)
{
	(void)s;
}

#endif
