# SPDX-License-Identifier: GPL-2.0-or-later
"""http_seeds: seeds of fuzz_http.c, for seeds.py: answers to resex-cacheload."""


def answer(*lines, body="", piece=6, bound=6):
    return chr(piece) + chr(bound) + "\r\n".join(lines) + "\r\n\r\n" + body


OK = "HTTP/1.1 200 OK"
CHUNKED = (OK, "Transfer-Encoding: chunked")
HTTP = {
    "length": answer(OK, "Content-Length: 5", "X-Cache: hit", body="hello"),
    "close": answer("HTTP/1.0 503 Not now", "Connection: close", "Content-Length:\t0 "),
    "none": answer("HTTP/1.1 304"),
    "miss": answer(OK, "x-cache: miss; not stored", "Content-Length: 1", body="x"),
    "chunks": answer(*CHUNKED, body="5\r\nhello\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n"),
    "trailer": answer(*CHUNKED, body="1\r\nx\r\n0\r\nX-Trailer: y\r\n\r\n"),
    "behind": answer(OK, "Content-Length: 1", body="xy"),
    "behind_chunks": answer(*CHUNKED, body="0\r\n\r\nx"),
    "two_lengths": answer(OK, "Content-Length: 1", "Content-Length: 1", body="x"),
    "length_and_chunks": answer(*CHUNKED, "Content-Length: 1", body="x"),
    "coded": answer(OK, "Transfer-Encoding: gzip", body="x"),
    "no_end": answer(OK, body="x"),
    "too_long": answer(OK, "Content-Length: 999999999999999999"),
    "no_number": answer(OK, "Content-Length: 1e2"),
    "chunk_too_long": answer(*CHUNKED, body="fffffffffffffff\r\nx"),
    "chunk_no_number": answer(*CHUNKED, body="xyz\r\n"),
    "chunk_no_end": answer(*CHUNKED, body="1\r\nxyz\r\n"),
    "long_line": answer(*CHUNKED, body="0" * 300),
    "continue": answer("HTTP/1.1 100 Continue"),
    "no_http": answer("SSH-2.0-x"),
    "no_colon": answer(OK, "rubbish"),
    "folded": answer(OK, "X: y", " z", "Content-Length: 0"),
    "large": answer(OK, "Content-Length: 9000", body="x" * 9000, piece=63, bound=11),
}
