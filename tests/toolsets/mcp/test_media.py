"""Images, recordings and documents that an MCP server sends reach the model."""

import asyncio
from base64 import b64encode

import pytest
from mcp.types import AudioContent, CallToolResult, ImageContent, TextContent

from attachments import png
from treadle import Agent, Audio, Call, Document, Image, RunContext, ToolResult, allow
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.mcp import mcp_tools
from treadle.toolsets.mcp.content import result_to_text, to_tool_result


def test_what_a_server_shows_arrives_in_its_order(odd, within):
    toolset = mcp_tools(odd.program())
    came = within(toolset, lambda: toolset.call(Call("c", "odd_picture", {}), RunContext()))
    words, image, sound, paper, notes, strange, data = came.content
    assert (words, data, came.data) == ("See:", '{"n":1}', {"n": 1})
    assert (type(image), image.media_type, image.name) == (Image, "image/png", "")
    assert (type(sound), sound.media_type) == (Audio, "audio/ogg")
    assert (type(paper), paper.media_type, paper.name) == (Document, "application/pdf", "p.pdf")
    assert (type(notes), notes.data, notes.media_type) == (Document, b"# Notes", "text/markdown")
    assert strange == "[image (image/tiff), about 3 bytes, not shown]"


def test_an_image_of_a_server_is_shown_to_the_model_as_data(odd):
    model = Scripted(calls(("odd_picture", {})), "I see.")
    agent = Agent(model, tools=[mcp_tools(odd.program())], policy=[allow()])
    result = asyncio.run(agent.run("Look."))
    assert result.text == "I see."
    (came,) = model.requests[1].history[-1].parts
    assert (came.untrusted, came.problem) == (True, None)
    assert [media.media_type for media in came.media] == ["image/png", "audio/ogg", "application/pdf"]
    assert model.requests[1].blobs(came.media[0].sha256).startswith(b"\x89PNG")
    assert came.content.startswith("<untrusted-")
    for words in (
        "See:\n[image image/png]\n[audio audio/ogg]\n[document p.pdf]\n[document notes.md]",
        "[document notes.md]\n# Notes",
    ):
        assert words in came.content
    assert b64encode(png())[:20].decode() not in came.content


def test_words_alone_are_text_as_ever():
    assert to_tool_result(CallToolResult(content=[TextContent(text="a"), TextContent(text="b")])) == ToolResult("a\n\nb")


@pytest.mark.parametrize(
    ("text", "structured", "data"),
    [
        ("2 towns", {"towns": ["Ur", "Uruk"]}, {"towns": ["Ur", "Uruk"]}),
        ('{"result": 5}', {"result": 5}, {"result": 5}),
        ("5", {"result": 5}, 5),
        ("5", None, None),
    ],
)
def test_structured_content_is_data_and_a_value_that_was_wrapped_is_itself(text, structured, data):
    came = to_tool_result(CallToolResult(content=[TextContent(text=text)], structured_content=structured))
    assert came.data == data
    assert str(came).startswith(text)


def test_what_is_no_image_is_named():
    result = CallToolResult(
        content=[ImageContent(data="A" * 400, mime_type="image/png"), AudioContent(data="?", mime_type="audio/wav")]
    )
    named = "[image (image/png), about 300 bytes, not shown]\n\n[audio (audio/wav), about 0 bytes, not shown]"
    assert str(to_tool_result(result)) == result_to_text(result) == named


def test_in_words_alone_an_image_has_its_label():
    image = ImageContent(data=b64encode(png()).decode(), mime_type="image/png")
    assert result_to_text(CallToolResult(content=[TextContent(text="See:"), image])) == "See:\n\n[image image/png]"
