"""A response that arrives complete in one piece is read at once; everything else is left to the parser."""

import asyncio

import pytest

from treadle.models.complete_response import read_complete_response

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BODY = b'{"a":1}'


def response(fields=b"content-length: 7\r\n", body=BODY, head=HEAD):
    return head + fields + b"\r\n" + body


@pytest.mark.parametrize(
    "fields",
    [
        b"content-length: 7\r\n",
        b"CONTENT-LENGTH:7\r\n",
        b"Connection: Keep-Alive\r\ncontent-length:\t7 \r\n",
        b"content-length: 7\r\nX-Id: \xc3\xa9\r\nuser: a\r\nTrailer: b\r\nCF-Ray: c\r\nconnection:keep-alive \r\n",
    ],
)
def test_a_response_of_a_known_length_is_read(fields):
    found = read_complete_response(response(fields))
    assert found is not None
    head = body = found
    assert (head.code, head.headers["content-type"], head.headers["content-length"]) == (200, "application/json", "7")
    assert not body.at_eof()
    assert asyncio.run(body.readany()) == BODY
    assert body.at_eof()
    assert asyncio.run(body.readany()) == b""


def test_an_empty_body_is_complete():
    found = read_complete_response(response(b"content-length: 0\r\n", b""))
    assert found is not None
    assert found.at_eof()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEAD,
        response(body=BODY[:-1]),
        response(body=BODY + b"HTTP/1.1 200 OK"),
        response(b""),
        response(b"content-length: x\r\n"),
        response(b"content-length: +7\r\n"),
        response("content-length: \N{ARABIC-INDIC DIGIT SEVEN}\r\n".encode()),
        response(b"content-length : 7\r\n"),
        response(b"content-length: 7\r\ncontent-length: 7\r\n"),
        response(b"content-length: 7\r\ncontent-length: 8\r\n"),
        response(b"content-length: 7\r\n folded: x\r\n"),
        response(b"content-length: 7\r\nx: a\0b\r\n"),
        response(b"content-length: 7\r\nconnection: close\r\n"),
        response(b"content-length: 7\r\ncontent-encoding: gzip\r\n"),
        response(b"content-length: 7\r\ntransfer-encoding: chunked\r\n"),
        response(b"content-length: 7\r\nupgrade: h2c\r\n"),
        response(b"content-length: 7\r\nconnection: keep-alive, close\r\n"),
        response(b"content-length: 7\r\nx y: z\r\n"),
        response(b"content-length: 7\r\ncontent y: z\r\n"),
        response(b"content-length: 7\r\nno field\r\n"),
        response(b"content-length: 7\r\n", head=b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\n"),
        response(head=b"HTTP/1.1 429 Too Many Requests\r\n"),
        response(head=b"HTTP/1.1 100 Continue\r\n"),
        response(head=b"HTTP/1.0 200 OK\r\n"),
        response(head=b"HTTP/1.1 200 OK\nx: y\r\n"),
        response(head=b"SSH-2.0\r\n"),
    ],
)
def test_everything_else_is_left_to_the_parser(data):
    assert read_complete_response(data) is None
