"""What a person can get wrong about a model: on every wire one sentence that says what to do, and an exit code."""

import json
import re
from typing import Any

import pytest

from cli.running import InProcess
from providers.servers.http import Response, serve

PNG = b"\x89PNG\r\n\x1a\n"
PAGE = b"<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>"


def told(status: int, body: Any, **headers: str) -> Response:
    return Response(status, json.dumps(body).encode(), headers=headers)


def openai(status: int, code: str, message: str) -> Response:
    return told(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}})


def anthropic(status: int, kind: str, message: str) -> Response:
    return told(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})


def google(status: int, kind: str, message: str) -> Response:
    return told(status, {"error": {"code": status, "message": message, "status": kind}})


def bedrock(status: int, kind: str, message: str) -> Response:
    return told(status, {"message": message}, **{"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/"})


OPENAI = {
    "key": openai(401, "invalid_api_key", "Incorrect API key provided: wrong-key. You can find your API key at https://…"),
    "model": openai(404, "model_not_found", "The model `gpt-x` does not exist or you do not have access to it."),
    "expired": openai(401, "token_expired", "Your authentication token has expired. Please try signing in again."),
}
# What each wire's servers say, as their documentation and users quote them.
SAID = {
    "openai:gpt-4o": OPENAI,
    "openai:gpt-6": OPENAI,
    "anthropic:claude-opus-5-5": {
        "key": anthropic(401, "authentication_error", "invalid x-api-key"),
        "model": anthropic(404, "not_found_error", "model: claude-x"),
        "expired": anthropic(401, "authentication_error", "OAuth token has expired. Please obtain a new token."),
    },
    "google:gemini-3-pro-preview": {
        "key": google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        "model": google(404, "NOT_FOUND", "models/gemini-x is not found for API version v1beta."),
        "expired": google(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."),
    },
    "bedrock:us.anthropic.claude-opus-4-8": {
        "key": bedrock(403, "UnrecognizedClientException", "The security token included in the request is invalid."),
        "model": bedrock(400, "ValidationException", "The provided model identifier is invalid."),
        "expired": bedrock(403, "ExpiredTokenException", "The security token included in the request is expired"),
    },
    "ollama:qwen3": {
        "key": told(401, {"error": "unauthorized"}),
        "model": told(404, {"error": "model 'qwen3' not found"}),
        "expired": told(401, {"error": "token has expired"}),
    },
}
VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
    "bedrock": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "ollama": "OLLAMA_API_KEY",
}
PROBLEMS = {
    "key": "does not accept the key for {model} .*: check {variable}\\.",
    "model": "There is no model {name} at .*(Check the model's (name|id)|Get it with `ollama pull {name}`)",
    "expired": "has expired .*: renew it, and set {variable}\\.",
    "page": "sent a web page instead of an answer of {model} \\(200\\): check base_url, and whether a proxy or a sign-in page",
    "blocked": "sent a web page instead of an answer of {model} \\(403\\): check base_url, and whether a proxy or a sign-in page",
    "overloaded": "{model} at .* can't answer now \\(502\\); try again later\\.",
    "down": "{model} at 127.0.0.1:9 does not answer; is (it running|the network up).*\\(Connection refused\\)",
}
PAGES = {"page": Response(200, PAGE, "text/html"), "blocked": Response(403, PAGE), "overloaded": Response(502, PAGE, "text/html")}


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Commands of a person whose keys are wrong."""
    typed = InProcess(tmp_path, monkeypatch, capsys)
    typed.set(OPENAI_API_KEY="wrong-key", ANTHROPIC_API_KEY="wrong-key", GEMINI_API_KEY="wrong-key", OLLAMA_API_KEY="wrong-key")
    typed.set(AWS_ACCESS_KEY_ID="AKIAWRONG", AWS_SECRET_ACCESS_KEY="wrong-key", AWS_REGION="us-east-1")
    return typed


def one_sentence(ran, code):
    """What is said on stderr: one line, for people, without what is secret."""
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran.err
    assert ran.err.startswith("treadle: ")
    assert not re.search(r"Traceback|Exception|Error:|wrong-key|<html", ran.err), ran.err
    return ran.err


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("model", SAID)
def test_what_is_wrong_is_one_sentence_that_says_what_to_do(typed, model, problem):
    kind, _, name = model.partition(":")
    answer = {**SAID[model], **PAGES}.get(problem)
    with serve(lambda request: answer) as url:
        at = "http://127.0.0.1:9" if answer is None else url
        said = one_sentence(typed("ask", "Hello?", "-q", "-m", model, "--base-url", at, "--tries", "1"), 1)
    words = PROBLEMS[problem].format(model=re.escape(model), name=re.escape(name), variable=VARIABLES[kind])
    assert re.search(words, said), said


@pytest.mark.parametrize("model", SAID)
def test_a_model_that_cannot_be_asked_at_all_is_said_before_anything_is_sent(typed, model):
    said = one_sentence(typed("ask", "Hello?", "-q", "-m", model.replace(":", ";")), 2)
    assert "A model's name says where it lives: KIND:NAME" in said
    said = one_sentence(typed("ask", "Hello?", "-q", "-m", f"x{model}"), 2)
    assert f"Did you mean {model}?" in said
    said = one_sentence(typed("ask", "Hello?", "-q", "-m", model, "--base-url", "ftp://localhost"), 2)
    assert "is no address of a server; write it as http://host:port/path." in said


FILES = {
    "large.png": (PNG, 50_000_000, "large.png has 50,000,000 bytes; images may have at most 20,971,520. Make it smaller."),
    "words.png": (
        b"No image.",
        0,
        "words.png isn't a PNG, JPEG, GIF or WebP image, whatever its name says; convert it to one, or re",
    ),
    "noise.jpg": (b"\0\1\2\3", 0, "noise.jpg isn't a PNG, JPEG, GIF or WebP image, whatever its name says; convert it to one."),
    "program": (b"\x7fELF\0\0", 0, "program isn't a PDF or a text; convert it to one first."),
    "empty.png": (b"", 0, "empty.png is empty; give one with something in it."),
    "gone.png": (None, 0, "There is no file gone.png."),
}


DAMAGED = {
    "openai:gpt-4o": openai(400, "image_parse_error", "You uploaded an unsupported image. Please make sure your image is valid."),
    "openai:gpt-6": openai(400, "invalid_image", "The image data you provided does not represent a valid image."),
    "anthropic:claude-opus-5-5": anthropic(400, "invalid_request_error", "Could not process image"),
    "google:gemini-3-pro-preview": google(400, "INVALID_ARGUMENT", "Unable to process input image. Please retry or report."),
    "bedrock:us.anthropic.claude-opus-4-8": bedrock(400, "ValidationException", "The model returned: Could not process image"),
    "ollama:llava": told(400, {"error": "Failed to load image or audio file"}),
}


@pytest.mark.parametrize("model", DAMAGED)
def test_a_damaged_image_is_refused_by_its_server_with_what_to_do(typed, tmp_path, model):
    (tmp_path / "damaged.png").write_bytes(PNG + b"\0\0\0\rIHDR")
    with serve(lambda request: DAMAGED[model]) as url:
        said = one_sentence(typed("ask", "What is it?", "-q", "-m", model, "--base-url", url, "--attach", "damaged.png"), 1)
    assert f"{model} can't read an image that it was shown (400): save it again as PNG or JPEG, or leave it out." in said


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("model", SAID)
def test_a_file_that_cannot_be_attached_is_one_sentence(typed, tmp_path, model, name):
    data, size, words = FILES[name]
    if data is not None:
        with (tmp_path / name).open("wb") as file:
            file.write(data)
            file.truncate(max(size, len(data)))
    sent = []
    with serve(lambda request: sent.append(request) or told(500, {})) as url:
        said = one_sentence(typed("ask", "What is it?", "-q", "-m", model, "--base-url", url, "--attach", name), 2)
    assert words in said
    assert sent == []
