// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hello: both ends of a new link prove that they hold the cluster's key.
 *
 * Runs on a backend's new connection, before its first operation. All numbers are little
 * endian; every message has one fixed length:
 *
 *	CALL	head, ends, nonce 32, cluster 64
 *	ANSWER	head, ends, nonce 32, verdict 4, zero 4, mac 32
 *	PROOF	head, mac 32
 *	KEYS	head, n 4, zero 4, n bytes, mac 32
 *	head	magic 4, version 2, message 2
 *	ends	from 2, to 2, role 2, rights 2, generation 8, start 8, agreement 8
 *
 * A mac is HMAC-SHA256(key, name of the message in 16 bytes, all earlier messages, this
 * message up to the mac). The names distinguish the caller from the responder; the nonces
 * distinguish this hello from all others. The CALL binds the cluster's name, both hosts'
 * numbers and what the caller sends about itself; the ANSWER binds what the responder sends
 * about itself.
 */
#include "src/transport/front/hello.h"

#include <errno.h>
#include <string.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "src/util/bytes.h"

#define HELLO_MAGIC   0x68785352u /* "RSxh" */
#define HELLO_VERSION 4u

enum message { CALL = 1, ANSWER, PROOF, KEYS };

enum {
	MAC = SHA256_DIGEST_SIZE,
	HEAD_LEN = 8,
	NONCE_AT = HEAD_LEN + 32,
	ENDS_LEN = NONCE_AT + HELLO_NONCE, /* what CALL and ANSWER have in common */
	CALL_LEN = ENDS_LEN + TRANSPORT_NAME_MAX,
	SAID_LEN = ENDS_LEN + 8, /* ANSWER up to its mac */
	ANSWER_LEN = SAID_LEN + MAC,
	PROOF_LEN = HEAD_LEN + MAC,
	KEYS_START = HEAD_LEN + 8, /* KEYS up to the description */
	KEYS_LEN_MAX = KEYS_START + HELLO_KEYS_MAX + MAC,
	NAME_LEN = 16,
};

_Static_assert((int)KEYS_LEN_MAX <= (int)HELLO_MAX && (int)CALL_LEN <= (int)HELLO_MAX,
	       "any message fits");
_Static_assert(CALL_LEN + ANSWER_LEN + PROOF_LEN + KEYS_LEN_MAX <= 2 * HELLO_MAX,
	       "all messages fit the script");

/* The next step. Only hello_begin starts again. */
enum stage {
	TO_CALL,      /* caller: hello_write_call */
	WANT_ANSWER,  /* caller */
	WANT_KEYS,    /* caller */
	WANT_CALL,    /* responder */
	WANT_PROOF,   /* responder */
	TO_SEND_KEYS, /* responder: hello_write_keys */
	OVER,	      /* it succeeded or failed: no more messages */
};

static void put_head(uint8_t *out, enum message m)
{
	bytes_put_le(out, HELLO_MAGIC, 4);
	bytes_put_le(out + 4, HELLO_VERSION, 2);
	bytes_put_le(out + 6, m, 2);
}

/* Another version may be longer or shorter, but its head is the same. */
static int check_head(const uint8_t *in, size_t len, enum message m, size_t want)
{
	if (len < HEAD_LEN || bytes_get_le(in, 4) != HELLO_MAGIC)
		return -EPROTO;
	if (bytes_get_le(in + 4, 2) != HELLO_VERSION)
		return -EPROTONOSUPPORT;
	return bytes_get_le(in + 6, 2) == m && len == want ? 0 : -EPROTO;
}

/*
 * Both ends append the same bytes in the same order. The next MAC covers all of them: if an
 * attacker changed any earlier message, that MAC is wrong.
 */
static void remember(struct hello *h, const uint8_t *message, size_t len)
{
	memcpy(h->script + h->script_len, message, len);
	h->script_len += len;
}

/* The mac of a message of len bytes without its mac. The earlier ones are in the script. */
static void make_mac(const struct hello *h, enum message m, const uint8_t *message, size_t len,
		     uint8_t mac[static MAC])
{
	/*
	 * Of one length, and with the version: a MAC of one message, or of one version, is never
	 * valid as that of another.
	 */
	static const char names[][NAME_LEN + 1] = {
		[ANSWER] = "resex: answer 4 ",
		[PROOF] = "resex: proof 4  ",
		[KEYS] = "resex: keys 4   ",
	};
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, h->conf->key_len, h->conf->key);
	hmac_sha256_update(&ctx, NAME_LEN, (const uint8_t *)names[m]);
	hmac_sha256_update(&ctx, h->script_len, h->script);
	hmac_sha256_update(&ctx, len, message);
	hmac_sha256_digest(&ctx, MAC, mac);
	/* The context holds the key in another form. */
	explicit_bzero(&ctx, sizeof(ctx));
}

/* Append the mac to a message, and the message to the script. Its whole length. */
static size_t seal(struct hello *h, enum message m, uint8_t *message, size_t len)
{
	make_mac(h, m, message, len, message + len);
	remember(h, message, len + MAC);
	return len + MAC;
}

/* The mac is the message's last bytes. */
static int unseal(struct hello *h, enum message m, const uint8_t *message, size_t len)
{
	uint8_t mac[MAC];
	bool right;

	make_mac(h, m, message, len - MAC, mac);
	/*
	 * In constant time: how long a comparison takes must not say how many bytes were right. The
	 * right MAC of a forged message must not stay in memory either.
	 */
	right = memeql_sec(mac, message + len - MAC, MAC);
	explicit_bzero(mac, sizeof(mac));
	if (!right)
		return -EACCES;
	remember(h, message, len);
	return 0;
}

static void put_ends(const struct hello *h, enum message m, uint8_t *out)
{
	put_head(out, m);
	bytes_put_le(out + 8, h->self, 2);
	bytes_put_le(out + 10, h->peer, 2);
	bytes_put_le(out + 12, h->of_self.role, 2);
	bytes_put_le(out + 14, h->of_self.rights, 2);
	bytes_put_le(out + 16, h->of_self.generation, 8);
	bytes_put_le(out + 24, h->of_self.start, 8);
	bytes_put_le(out + 32, h->of_self.agreement, 8);
	memcpy(out + NONCE_AT, h->nonce, HELLO_NONCE);
}

/*
 * Is the sender's description in a CALL or an ANSWER well formed? Generation 0 and start 0 are
 * refused: the front uses 0 for "no start known".
 */
static int check_ends(const uint8_t *in)
{
	uint64_t from = bytes_get_le(in + 8, 2), role = bytes_get_le(in + 12, 2);
	uint64_t known = role == TRANSPORT_CLIENT ? TRANSPORT_RIGHTS : 0;

	if (from < 1 || from > TRANSPORT_HOSTS_MAX || !bytes_get_le(in + 16, 8) ||
	    !bytes_get_le(in + 24, 8))
		return -EPROTO;
	return role < TRANSPORT_ROLES && !(bytes_get_le(in + 14, 2) & ~known) ? 0 : -EPROTO;
}

static struct hello_self get_self(const uint8_t *in)
{
	return (struct hello_self){ .generation = bytes_get_le(in + 16, 8),
				    .start = bytes_get_le(in + 24, 8),
				    .agreement = bytes_get_le(in + 32, 8),
				    .role = (uint16_t)bytes_get_le(in + 12, 2),
				    .rights = (uint16_t)bytes_get_le(in + 14, 2) };
}

static bool agreed(const struct hello *h)
{
	return h->of_peer.agreement == h->of_self.agreement;
}

int hello_listed(const struct hello_list *l, uint16_t host, const struct hello_self *self)
{
	if (!host || host > TRANSPORT_HOSTS_MAX || !l->of[host - 1].listed)
		return -EPERM;
	if (self->role != l->of[host - 1].role)
		return -EPROTOTYPE;
	return self->rights & ~(unsigned int)l->of[host - 1].rights ? -EOPNOTSUPP : 0;
}

/* The verdicts, by their number in an ANSWER. */
static const int verdicts[] = { 0, -EPERM, -EPROTOTYPE, -EOPNOTSUPP };

enum { VERDICTS = sizeof(verdicts) / sizeof(verdicts[0]) };

static void put_verdict(const struct hello *h, uint8_t out[static 8])
{
	int rc = h->list ? hello_listed(h->list, h->peer, &h->of_peer) : 0;
	uint32_t n = 0;

	while (verdicts[n] != rc)
		n++;
	bytes_put_le(out, n, 4);
	bytes_put_le(out + 4, 0, 4);
}

static int get_verdict(struct hello *h, const uint8_t in[static 8])
{
	uint64_t n = bytes_get_le(in, 4);

	if (n >= VERDICTS || bytes_get_le(in + 4, 4))
		return -EPROTO;
	h->verdict = verdicts[n];
	return 0;
}

static size_t cluster_len(const struct hello *h)
{
	return strnlen(h->conf->cluster, TRANSPORT_NAME_MAX - 1);
}

/* The name has at least one byte, then only zeros, at least one: its encoding is unique. */
static int check_cluster(const struct hello *h, const uint8_t name[static TRANSPORT_NAME_MAX])
{
	size_t len = strnlen((const char *)name, TRANSPORT_NAME_MAX);

	if (len == 0 || len == TRANSPORT_NAME_MAX)
		return -EPROTO;
	for (size_t i = len; i < TRANSPORT_NAME_MAX; i++)
		if (name[i])
			return -EPROTO;
	return len == cluster_len(h) && !memcmp(name, h->conf->cluster, len) ? 0 : -EXDEV;
}

void hello_begin(struct hello *h, enum hello_role role, const struct transport_conf *conf,
		 uint16_t peer, const uint8_t nonce[static HELLO_NONCE])
{
	memset(h, 0, sizeof(*h));
	h->role = role;
	h->stage = role == HELLO_CALLER ? TO_CALL : WANT_CALL;
	h->conf = conf;
	h->self = conf->host;
	h->of_self = (struct hello_self){ .generation = conf->generation,
					  .start = conf->start,
					  .agreement = conf->agreement,
					  .role = (uint16_t)conf->role,
					  .rights = (uint16_t)conf->rights };
	h->peer = role == HELLO_CALLER ? peer : 0;
	memcpy(h->nonce, nonce, HELLO_NONCE);
}

size_t hello_write_call(struct hello *h, uint8_t out[static HELLO_MAX])
{
	if (h->stage != TO_CALL)
		return 0;
	memset(out, 0, CALL_LEN);
	put_ends(h, CALL, out);
	memcpy(out + ENDS_LEN, h->conf->cluster, cluster_len(h));
	remember(h, out, CALL_LEN);
	h->stage = WANT_ANSWER;
	return CALL_LEN;
}

/*
 * The CALL is not authenticated yet. So it changes nothing outside of h, and its answer holds no
 * secret: a nonce, numbers that any host of the cluster may know, and a MAC.
 */
static int receive_call(struct hello *h, const uint8_t *in, size_t len, uint8_t *out,
			size_t *out_len)
{
	int rc = check_head(in, len, CALL, CALL_LEN);

	if (!rc)
		rc = check_ends(in);
	if (!rc)
		rc = check_cluster(h, in + ENDS_LEN);
	if (rc)
		return rc;
	if (bytes_get_le(in + 10, 2) != h->self)
		return -EHOSTUNREACH;
	h->peer = (uint16_t)bytes_get_le(in + 8, 2);
	h->of_peer = get_self(in);
	remember(h, in, len);
	/*
	 * Answer also when the agreements differ, or the caller is not within the list: the caller
	 * then learns it from an ANSWER that it can trust, instead of a connection that just ends.
	 */
	put_ends(h, ANSWER, out);
	put_verdict(h, out + ENDS_LEN);
	*out_len = seal(h, ANSWER, out, SAID_LEN);
	h->stage = WANT_PROOF;
	return HELLO_MORE;
}

static int receive_answer(struct hello *h, const uint8_t *in, size_t len, uint8_t *out,
			  size_t *out_len)
{
	int rc = check_head(in, len, ANSWER, ANSWER_LEN);

	if (!rc)
		rc = check_ends(in);
	if (!rc)
		rc = unseal(h, ANSWER, in, len);
	if (rc)
		return rc;
	/* After the MAC: the numbers in an answer without proof mean nothing. */
	if (bytes_get_le(in + 8, 2) != h->peer || bytes_get_le(in + 10, 2) != h->self)
		return -EHOSTUNREACH;
	h->of_peer = get_self(in);
	/* A client serves nothing: what answers in its name is no client. */
	if (h->of_peer.role != TRANSPORT_MEMBER)
		return -EPROTO;
	rc = get_verdict(h, in + ENDS_LEN);
	if (rc)
		return rc;
	/*
	 * Also when the agreements differ (hello.h): the responder then knows that the caller holds
	 * the key, and can name it in its alarm.
	 */
	put_head(out, PROOF);
	*out_len = seal(h, PROOF, out, HEAD_LEN);
	h->stage = WANT_KEYS;
	return HELLO_MORE;
}

static int receive_proof(struct hello *h, const uint8_t *in, size_t len)
{
	int rc = check_head(in, len, PROOF, PROOF_LEN);

	if (!rc)
		rc = unseal(h, PROOF, in, len);
	if (!rc && !agreed(h))
		rc = -EBADE;
	if (rc)
		return rc;
	h->stage = TO_SEND_KEYS;
	return HELLO_PROVEN;
}

size_t hello_write_keys(struct hello *h, const void *keys, size_t len,
			uint8_t out[static HELLO_MAX])
{
	if (h->stage != TO_SEND_KEYS || len > HELLO_KEYS_MAX)
		return 0;
	if (len)
		memcpy(h->keys, keys, len);
	h->keys_len = len;
	put_head(out, KEYS);
	bytes_put_le(out + 8, len, 4);
	bytes_put_le(out + 12, 0, 4);
	memcpy(out + KEYS_START, h->keys, len);
	h->stage = OVER;
	return seal(h, KEYS, out, KEYS_START + len);
}

/*
 * n comes from the length of the message, not from its field, which is only compared: no length
 * that the peer chose is used unchecked.
 */
static int receive_keys(struct hello *h, const uint8_t *in, size_t len)
{
	size_t n = len >= KEYS_START + MAC && len <= KEYS_LEN_MAX ? len - KEYS_START - MAC : 0;
	int rc = check_head(in, len, KEYS, KEYS_START + n + MAC);

	if (rc)
		return rc;
	if (bytes_get_le(in + 8, 4) != n || bytes_get_le(in + 12, 4))
		return -EPROTO;
	rc = unseal(h, KEYS, in, len);
	if (!rc)
		rc = agreed(h) ? h->verdict : -EBADE;
	if (rc)
		return rc;
	memcpy(h->keys, in + KEYS_START, n);
	h->keys_len = n;
	h->stage = OVER;
	return HELLO_READY;
}

int hello_receive(struct hello *h, const void *in, size_t len, uint8_t out[static HELLO_MAX],
		  size_t *out_len)
{
	uint8_t copy[HELLO_MAX];
	size_t n = 0;
	int rc = -EPROTO;

	if (len && len <= HELLO_MAX) {
		memcpy(copy, in, len); /* the peer may still write to in */
		if (h->stage == WANT_CALL)
			rc = receive_call(h, copy, len, out, &n);
		else if (h->stage == WANT_ANSWER)
			rc = receive_answer(h, copy, len, out, &n);
		else if (h->stage == WANT_PROOF)
			rc = receive_proof(h, copy, len);
		else if (h->stage == WANT_KEYS)
			rc = receive_keys(h, copy, len);
	}
	/* A hello that failed never goes on: one nonce gives one try at a MAC. */
	if (rc < 0)
		h->stage = OVER;
	else
		*out_len = n;
	return rc;
}

int hello_ended(const struct hello *h, int rc)
{
	if (h->stage != WANT_KEYS)
		return rc;
	if (!agreed(h))
		return -EBADE;
	return h->verdict ? h->verdict : rc;
}

const char *hello_why(int rc)
{
	switch (rc) {
	case -EPROTO:
		return "it did not send a hello; is the port another program's?";
	case -EPROTONOSUPPORT:
		return "it speaks another version; run the same version of resex on all hosts";
	case -EXDEV:
		return "it is of another cluster; give all hosts the same cluster name";
	case -EHOSTUNREACH:
		return "it is, or calls, another host; compare the hosts' numbers and addresses";
	case -ECONNRESET:
		return "it hung up when it saw our proof; is its key the same as ours?";
	case -EBADE:
		return "settings that must be equal differ: compare cluster.json on both, see "
		       "cluster.json(5)";
	case -EPERM:
		return "it does not list our number: add it to cluster.json there, and run resex "
		       "cluster-reload";
	case -EPROTOTYPE:
		return "the caller comes in another role: compare its \"role\" in cluster.json on "
		       "both";
	case -EOPNOTSUPP:
		return "the caller asks for more rights: compare its \"rights\" in cluster.json on "
		       "both";
	case -EACCES:
		return "its proof is wrong; give all hosts the same key, and find out which host "
		       "it is";
	default:
		return "the hello failed";
	}
}

void hello_wipe(struct hello *h)
{
	explicit_bzero(h, sizeof(*h));
}
