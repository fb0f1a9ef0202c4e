// SPDX-License-Identifier: GPL-2.0-or-later
/* replay_read: a trace file, block by block. See replay.h, and src/trace/format.h. */
#include "src/lab/replay.h"

#include <errno.h>

int replay_head(struct replay_file *f, FILE *from, char why[REPLAY_TEXT])
{
	uint8_t head[TRACE_HEAD];
	uint32_t version = 0;
	int rc = -ENOMSG;

	memset(f, 0, sizeof(*f));
	f->f = from;
	if (fread(head, 1, sizeof(head), from) == sizeof(head))
		rc = trace_head_check(head, &version);
	if (rc == -ENOMSG)
		snprintf(why, REPLAY_TEXT, "it is no trace: give a file of resex trace-start");
	else if (rc == -EPROTONOSUPPORT)
		snprintf(why, REPLAY_TEXT,
			 "it is a trace of version %u, and this resex-lab reads version %d: replay "
			 "it with the resex-lab of the resexd that made it",
			 version, TRACE_VERSION);
	else if (rc)
		snprintf(why, REPLAY_TEXT, "its first bytes were changed: get the file again");
	return rc;
}

/* 1: a block was read; 0: what was written ends here, maybe within a block; -EBADMSG. */
static int read_block(struct replay_file *f, char why[REPLAY_TEXT])
{
	uint32_t n;

	if (fread(f->block, 1, TRACE_BLOCK_HEAD, f->f) != TRACE_BLOCK_HEAD)
		return 0;
	if (trace_block_is_blank(f->block))
		return 0;
	n = trace_block_bytes(f->block);
	if (n && fread(f->block + TRACE_BLOCK_HEAD, 1, n, f->f) != n)
		return 0;
	if (!n || !trace_block_good(f->block, f->number)) {
		snprintf(why, REPLAY_TEXT, "its block %u was changed: get the file again",
			 f->number);
		return -EBADMSG;
	}
	f->number++;
	f->left = (struct trace_in){ .at = f->block + TRACE_BLOCK_HEAD,
				     .end = f->block + TRACE_BLOCK_HEAD + n };
	return 1;
}

int replay_next(struct replay_file *f, enum trace_kind *kind, struct trace_in *payload,
		char why[REPLAY_TEXT])
{
	int rc;

	if (f->left.at == f->left.end) {
		rc = read_block(f, why);
		if (rc <= 0)
			return rc;
	}
	rc = trace_next(&f->left, kind, payload);
	if (rc < 0)
		snprintf(why, REPLAY_TEXT,
			 "its block %u has a record of no known kind or length: get the file again",
			 f->number - 1);
	return rc;
}
