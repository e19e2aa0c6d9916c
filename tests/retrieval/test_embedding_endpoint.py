"""Embeddings from a server: batches, order, tries again, and sentences for what goes wrong. The server is real, on loopback."""

import asyncio
import json
import threading
from array import array
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from treadle.core.errors import MissingKey, ModelRefused, ModelUnavailable, ReplyBroken
from treadle.models.http import close_model_connections
from treadle.retrieval.embedding_endpoint import EndpointEmbedder


def vectors_of(texts):
    return [{"index": number, "embedding": [float(len(text)), 1.0]} for number, text in enumerate(texts)]


class Server:
    """Answers each request with the next of `answers`: (status, headers, body), or with vectors once they are used up."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append((self.path, dict(self.headers), asked))
                usual = (200, {}, {"data": list(reversed(vectors_of(asked["input"])))})
                status, headers, said = outer.answers.pop(0) if outer.answers else usual
                body = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def embed(server, *texts, **settings):
    async def work():
        try:
            embedder = EndpointEmbedder("small", **{"base_url": server.url, "backoff": 0.001, "api_key": "sk-secret", **settings})
            return await embedder.embed(texts)
        finally:
            await close_model_connections()

    return [list(array("f", one)) for one in asyncio.run(work())]


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one():
    with Server() as server:
        one, two = embed(server, "abc", "")
    assert one == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert two == pytest.approx([1 / 2**0.5, 1 / 2**0.5])  # nothing is sent as a space
    path, headers, asked = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["authorization"] == "Bearer sk-secret"
    assert asked == {"model": "small", "encoding_format": "float", "input": ["abc", " "]}


def test_many_texts_go_in_batches_and_long_ones_are_cut():
    with Server() as server:
        assert len(embed(server, *["x" * 10_000] * 150, dimensions=2)) == 150
    assert [len(asked["input"]) for _, _, asked in server.requests] == [64, 64, 22]
    assert {len(text) for _, _, asked in server.requests for text in asked["input"]} == {8_000}
    assert server.requests[0][2]["dimensions"] == 2


def test_no_texts_ask_nothing():
    with Server() as server:
        assert embed(server) == []
    assert server.requests == []


def test_what_a_server_cannot_answer_now_is_asked_again():
    with Server((429, {"retry-after": "0"}, {}), (503, {}, {}), (200, {}, b"{")) as server:
        assert len(embed(server, "a")) == 1
    assert len(server.requests) == 4


def test_after_some_tries_it_is_given_up():
    with (
        Server(*[(500, {}, {"error": {"message": "out of memory"}})] * 9) as server,
        pytest.raises(ModelUnavailable, match="out of memory"),
    ):
        embed(server, "a")
    assert len(server.requests) == 4


def test_a_server_that_wants_to_be_left_alone_for_long_is_told_at_once():
    with Server((429, {"retry-after": "900"}, {})) as server, pytest.raises(ModelUnavailable):
        embed(server, "a")
    assert len(server.requests) == 1


def test_a_wrong_key_is_a_sentence_without_the_key():
    refusal = (401, {}, {"error": {"message": "bad key sk-secret"}})
    with Server(refusal) as server, pytest.raises(ModelRefused, match="check OPENAI_API_KEY") as caught:
        embed(server, "a")
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "data",
    [[], [{"embedding": [1.0]}, {"embedding": [1.0]}], [{"embedding": []}], [{"embedding": "no"}], [[1.0]]],
)
def test_an_answer_that_fits_no_texts_is_not_taken(data):
    with Server(*[(200, {}, {"data": data})] * 4) as server, pytest.raises(ReplyBroken):
        embed(server, "a")


def test_vectors_of_different_lengths_are_not_taken():
    data = [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]
    with Server(*[(200, {}, {"data": data})] * 4) as server, pytest.raises(ReplyBroken, match="different lengths"):
        embed(server, "a", "b")


def test_a_server_that_is_not_there_is_a_sentence():
    with Server() as server:
        pass
    with pytest.raises(ModelUnavailable, match="is it running"):
        embed(server, "a")


def test_the_public_server_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        EndpointEmbedder("small")
    assert EndpointEmbedder("small", api_key="sk-x", dimensions=256).name == "openai:small/256"


def test_a_server_of_your_own_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert len(embed(server, "a", base_url=None, api_key=None)) == 1
    assert "authorization" not in server.requests[0][1]
