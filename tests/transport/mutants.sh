#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mutants.sh: break the transport on purpose, one small way at a time, and demand that the
# contract suite notices. Run on demand (minutes); not in check.
#
#	tests/transport/mutants.sh [-v] [PATTERN]	mutants whose line matches PATTERN
#
# Exit: 0 when every mutant was caught, 1 when one lived (the suite misses it) or could not
# be made (the code changed: adapt the list) or tried (the suite is red without it).
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
verbose=
[ "${1-}" != -v ] || { verbose=1; shift; }
pattern=${1-.}
CC=${CC:-gcc}
export RESEX_PATIENCE=3 RESEX_SEED=1

# FILE of src/transport @ BACKEND @ TESTS @ SED-EXPRESSION: the change, and the tests that must fail.
mutants() {
	cat <<'LIST'
front/link.c @ tcp @ stopped* @ s/return TRANSPORT_UNKNOWN;/return TRANSPORT_LOST;/
front/link.c @ tcp @ stopped* @ s/s->op.kind == TRANSPORT_READ)$/0)/
front/link.c @ shm @ *generation* @ s/peer->generation < newest->generation/0/
front/link.c @ tcp @ *generation* @ s/peer->generation < newest->generation/0/
front/link.c @ shm @ *another_start* @ s/peer->start != newest->start)$/0)/
front/link.c @ tcp @ *another_start* @ s/peer->start != newest->start)$/0)/
front/link.c @ tcp @ *another_start* @ s/^\t\*newest = \*peer;/newest->generation = peer->generation;/
front/link.c @ shm @ *another_start* @ s/why == -ESTALE || why == -ENOTUNIQ || why == -EBADE || why == -EPERM/why == -ESTALE || why == -EBADE || why == -EPERM/
front/link.c @ tcp @ agreement* @ s/why == -ENOTUNIQ || why == -EBADE || why == -EPERM/why == -ENOTUNIQ || why == -EPERM/
front/transport.c @ shm @ start__not_given* @ s/rc = front_random(&c->start, sizeof(c->start));/c->start = 1;/
front/hello.c @ shm @ *another_start* @ s/bytes_put_le(out + 24, h->of_self.start, 8);/bytes_put_le(out + 24, 1, 8);/
front/hello.c @ tcp @ *another_start* @ s/start = bytes_get_le(in + 24, 8)/start = 1/
front/hello.c @ shm @ agreement* @ s/return h->of_peer.agreement == h->of_self.agreement;/return true;/
front/hello.c @ tcp @ agreement* @ s/return h->of_peer.agreement == h->of_self.agreement;/return true;/
front/hello.c @ tcp @ agreement* @ s/bytes_put_le(out + 32, h->of_self.agreement, 8);/bytes_put_le(out + 32, h->of_self.agreement, 7);memset(out + 39, 0, 1);/
shm/call.c @ shm @ agreement* @ s/= hello_ended(&o->hello, -ECONNRESET);/= -ECONNRESET;/
tcp/call.c @ tcp @ agreement* @ s/^\trc = hello_ended(&c->hello, rc);//
front/hello.c @ tcp @ host__not_added* @ s/!l->of\[host - 1\].listed)$/0)/
front/hello.c @ shm @ client__as* @ s/if (self->role != l->of\[host - 1\].role)/if (0)/
front/hello.c @ tcp @ member__as* @ s/if (self->role != l->of\[host - 1\].role)/if (0)/
front/hello.c @ tcp @ client__asks* @ s/? -EOPNOTSUPP : 0;/? 0 : 0;/
front/link.c @ tcp @ client__not* @ s/why == -EBADE || why == -EPERM ||/why == -EBADE ||/
front/link.c @ shm @ two_clients* @ s/peer->generation <= newest->generation \&\& //
front/link.c @ tcp @ two_clients* @ s/t->ops->serves(t, host))/0)/
front/link.c @ shm @ client__began* @ s/ \&\&$/ ||/
front/link.c @ shm @ add__of* @ s/return !own \&\& t->conf.role == TRANSPORT_MEMBER \&\&/return/
front/transport.c @ tcp @ client__that_may* @ s/if (!front_may(t->conf.role, t->conf.rights, op->kind))/if (0)/
front/transport.c @ shm @ client__that_serves* @ s/? client_check(c, text) : serve_check(c, text);/? 0 : serve_check(c, text);/
shm/call.c @ shm @ client__with* @ s/front_may(s->t.conf.role, s->t.conf.rights, TRANSPORT_CAS64)/false/
front/link.c @ shm @ remove__one* @ s/t->ops->evict(t, host);//
front/link.c @ tcp @ remove__one* @ s/t->ops->evict(t, host);//
front/link.c @ tcp @ deadline* @ s/op->deadline.ns <= now.ns/op->deadline.ns < now.ns/
front/link.c @ tcp @ deadline* @ s/op->kind != TRANSPORT_READ \&\& op->deadline.ns <= now.ns/0/
front/link.c @ shm @ down* @ s/^\to->link++;/if (!o->link) o->link++;/
front/link.c @ shm @ down* @ s/events_link(t, o, TRANSPORT_DOWN, why, text);//
front/link.c @ shm @ flood__more* @ s/t->hellos_new >= caller_limit(t->conf.hellos_second, known)/0/
front/link.c @ tcp @ flood__of_silent* @ s/t->hellos >= caller_limit(t->conf.hellos_max, known) ||//
front/link.c @ tcp @ flood__of_silent* @ s/all < 2 ? all : all \/ 2;/0;/
front/link.c @ tcp @ backoff* @ s/for (; failures && base < max;/for (; 0 \&\& base < max;/
front/link.c @ tcp @ call__the* @ s/o->state == LINK_CALLS \&\& o->due.ns <= now.ns/0/
front/link.c @ shm @ add__twice* @ s/return -EEXIST;/return 0;/
front/link.c @ shm @ sleep__* @ s/^\tfront_due(t, now);//
front/transport.c @ shm @ post__beyond* @ s/> o->bytes\[op->part\]/> t->conf.bytes[op->part]/
front/transport.c @ shm @ post__beyond* @ s/(uint64_t)op->offset + op_len(op)/op->offset + op_len(op)/
front/transport.c @ shm @ read__an_optional* @ s/(unsigned int)op->part < TRANSPORT_PARTS/op->part <= TRANSPORT_WORDS/
front/link.c @ shm @ read__an_optional* @ s/!front_part_fits((enum transport_part)i, bytes\[i\])/!bytes[i]/
shm/region.c @ shm @ read__an_optional* @ s/^\t\tif (len)/\t\tif (i <= TRANSPORT_WORDS)/
tcp/serve.c @ tcp @ read__an_optional* @ s/r->part\[op->part\] + op->offset/r->part[0] + op->offset/
front/part.c @ tcp @ given* @ s/(seals \& SEALS) != SEALS/0/
front/part.c @ tcp @ given* @ s/(uint64_t)st->st_size >= len/1/
front/part.c @ tcp @ given* @ s/PROT_READ | PROT_WRITE, MAP_SHARED/PROT_READ | PROT_WRITE, MAP_PRIVATE/
front/part.c @ tcp @ given* @ s/!S_ISREG(st.st_mode) \&\& !S_ISCHR(st.st_mode)/!S_ISREG(st.st_mode)/
front/transport.c @ tcp @ given* @ s/if (c->fd\[part\] < 0)/if (0)/
front/transport.c @ tcp @ given* @ s/if (c->fd\[part\] \&\& !front_part_given(part))/if (0)/
shm/exec.c @ shm @ killed__read* @ s/__ATOMIC_SEQ_CST)) ? 0 : -ECONNRESET;/__ATOMIC_SEQ_CST)) ? 0 : 0;/
front/transport.c @ tcp @ given* @ s/if (c->fd\[part\] \&\& !c->bytes\[part\])/if (0)/
shm/region.c @ shm @ given* @ s/device = S_ISCHR(st.st_mode)/device = 0/
shm/region.c @ shm @ given* @ s/^\t\tif (c->fd\[i\])$/\t\tif (0)/
front/transport.c @ shm @ post__kind* @ s/^\tif (op->offset % 8)/\tif (0)/
front/transport.c @ shm @ depth* @ s/>= TRANSPORT_DEPTH)/> TRANSPORT_DEPTH)/
front/transport.c @ tcp @ depth* @ s/o->late | o->over) >=/o->late | o->over | o->returned) >=/
front/transport.c @ shm @ post__deadline* @ s/op->deadline.ns <= now.ns/op->deadline.ns < now.ns/
front/transport.c @ tcp @ rounds* @ s/s->round = t->round + 1;/s->round = t->order + 1;/
front/transport.c @ shm @ rounds* @ s/s->round = t->round + 1;/s->round = 1;/
front/transport.c @ shm @ send__receiver* @ s/s->op.data = s->message;//;s/memcpy(s->message, op->data, op->len);//
front/transport.c @ tcp @ arm* @ s/events_any(t) || t->ops->arm/t->ops->arm/
front/transport.c @ tcp @ sleep* @ s/\*due = t->due;/due->ns = INT64_MAX;/
front/transport.c @ shm @ post__one* @ s/^\t\t\tbreak;/\t\t\tcontinue;/
front/transport.c @ shm @ atomics* @ s/^\t       op->part == TRANSPORT_WORDS \&\& (op/\t       (op/
front/events.c @ shm @ data* @ s/e->ev.data ? SLOT_RETURNED : SLOT_FREE/SLOT_FREE/
front/events.c @ tcp @ rounds* @ s/if (e->slot->round > t->round)/if (0)/
front/hello.c @ tcp @ key* @ s/if (!right)/if (0)/
front/hello.c @ shm @ key* @ s/if (!right)/if (0)/
front/hello.c @ tcp @ cluster* @ s/ ? 0 : -EXDEV;/ ? 0 : 0;/
shm/exec.c @ shm @ faa64* @ s/return __atomic_fetch_add(word, op->value, __ATOMIC_SEQ_CST);/{ old = *word; *(volatile uint64_t *)word = old + op->value; return old; }/
shm/exec.c @ shm @ generation__an_old* @ s/return __atomic_load_n(&m->epochs.*/return (void)s, (void)m, false;/
shm/region.c @ shm @ open__region* @ s/^\tif (c->words)/\tif (0)/
shm/serve.c @ shm @ *generation__an_old* @ s/^\tdestroy_link(s, host);//
tcp/serve.c @ tcp @ counts* @ s/served += op.kind/served += 2u * (op.kind/;s/!= TRANSPORT_SEND;/!= TRANSPORT_SEND);/
tcp/tcp.c @ tcp @ generation__an_old* @ s/caller_end(c, c->of\[host - 1\]);/(void)0;/
tcp/tcp.c @ tcp @ open__region* @ s/conf->words ? conf->words\[i\] : 0/0/
LIST
}

# build: the contract program from the copy's sources, objects of what did not change kept.
build() {
	make -s -C "$tmp/build" tests/transport/contract >"$tmp/cc.out" 2>&1
}

suite() { # BACKEND TESTS
	(cd "$tmp/build" && RESEX_TEST=$2 timeout 100 ./tests/transport/contract "$1") >"$tmp/out" 2>&1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd "$top" && git ls-files -z | xargs -0 tar cf - configure Makefile.in aclocal.m4 config.h.in build-aux) |
	(cd "$tmp" && tar xf - --exclude=build-aux/autoreconf.out)
mkdir "$tmp/build"
(cd "$tmp/build" && ../configure CC="$CC" CFLAGS="-g -O1 -w" >/dev/null 2>&1) || {
	echo "mutants: configure failed; run ./dev build first" >&2
	exit 1
}
build || { cat "$tmp/cc.out"; exit 1; }

n=0 lived=0
mutants | grep -e "$pattern" >"$tmp/list" || { echo "mutants: none matches $pattern" >&2; exit 1; }
cut -d @ -f 2,3 "$tmp/list" | sort -u >"$tmp/sound"
while IFS='@ ' read -r backend tests; do
	suite "$backend" "$tests" || { echo "mutants: $backend $tests is red without any"; cat "$tmp/out"; exit 1; }
done <"$tmp/sound"
while IFS= read -r line; do
	file=$tmp/src/transport/$(echo "$line" | sed 's/ @ .*//')
	backend=$(echo "$line" | sed 's/^[^@]* @ //;s/ @ .*//')
	tests=$(echo "$line" | sed 's/^[^@]* @ [^@]* @ //;s/ @ .*//')
	change=${line#*"$tests @ "}
	n=$((n + 1))
	cp "$file" "$tmp/kept"
	sed -i -e "$change" "$file"
	if cmp -s "$file" "$tmp/kept"; then
		echo "mutants: changes nothing: $line"
		lived=$((lived + 1))
	elif ! build; then
		echo "mutants: does not compile: $line"
		[ -z "$verbose" ] || head -20 "$tmp/cc.out"
		lived=$((lived + 1))
	elif suite "$backend" "$tests"; then
		echo "mutants: lived: $line"
		lived=$((lived + 1))
	elif [ -n "$verbose" ]; then
		echo "caught: $line"
		grep -e FAILED "$tmp/out" | sort -u | head -3
	fi
	cp "$tmp/kept" "$file"
done <"$tmp/list"
echo "mutants: $n tried, $((n - lived)) caught"
[ "$lived" -eq 0 ]
