"""What the documentation says comes with the question; where it says nothing, nothing does."""

import asyncio

import pytest

from treadle.assistants.platform.documents import PlatformDocuments
from treadle.assistants.platform.settings import PlatformSettings

QUOTAS = """\
# Quotas

Every team may have ten buckets and five databases. Ask the platform team in #platform to raise a quota.

## Sleeping

Development environments are stopped at night, from 20:00 to 6:00, and started again in the morning.
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "docs"
    place.mkdir()
    (place / "quotas.md").write_text(QUOTAS)
    (place / "deploy.yaml").write_text("# Golden path for web services\nname: deploy-web\nsteps:\n  - build\n  - rollout\n")
    (place / "picture.md").write_bytes(b"\x00\xff\xfe")
    return place


def with_documents(folder, work, **settings):
    async def tale():
        documents = PlatformDocuments(PlatformSettings(documents=(str(folder),), **settings), folder.parent / "home")
        try:
            return await work(documents)
        finally:
            await documents.close()

    return asyncio.run(tale())


def test_the_passages_that_fit_come_with_where_they_are_from(folder):
    async def work(documents):
        told = await documents.refresh()
        return told, await documents.about("How many buckets may my team have?"), await documents.state()

    told, found, state = with_documents(folder, work)
    assert told[0] == "2 documents were indexed."
    assert "docs/picture.md was left out" in told[1]
    assert found[0].passage.source == "docs/quotas.md"
    assert "ten buckets" in found[0].passage.text
    assert state.documents == 2


def test_only_what_has_changed_is_indexed_again_and_what_is_gone_is_forgotten(folder):
    async def work(documents):
        await documents.refresh()
        again = await documents.refresh()
        (folder / "quotas.md").write_text(QUOTAS.replace("ten", "twenty"))
        (folder / "deploy.yaml").unlink()
        return again, await documents.refresh(), (await documents.about("buckets"))[0], await documents.about("rollout golden path")

    again, changed, found, gone = with_documents(folder, work)
    assert [line for line in again if "indexed" in line] == []
    assert changed[0] == "1 document was indexed."
    assert "twenty buckets" in found.passage.text
    assert not any("rollout" in each.passage.text for each in gone)


def test_what_has_nothing_to_do_with_the_question_stays_away(folder):
    async def work(documents):
        await documents.refresh()
        return await documents.about("Who won the football match in Lisbon?"), await documents.about("  ")

    assert with_documents(folder, work) == ([], [])


def test_a_folder_that_isnt_there_is_told_and_nothing_fails(tmp_path):
    async def work(documents):
        return await documents.refresh(), await documents.about("buckets")

    told, found = with_documents(tmp_path / "nowhere", work)
    assert told == [f"The documents' folder {tmp_path / 'nowhere'} isn't there."]
    assert found == []


def test_without_folders_nothing_is_opened(tmp_path):
    async def tale():
        documents = PlatformDocuments(PlatformSettings(), tmp_path)
        return await documents.refresh(), await documents.about("x"), await documents.state(), await documents.close()

    told, found, state, _ = asyncio.run(tale())
    assert (told, found, state.documents) == ([], [], 0)
    assert list(tmp_path.iterdir()) == []


def test_words_alone_do_where_no_embeddings_are_wanted(folder):
    async def work(documents):
        await documents.refresh()
        return await documents.about("buckets quota"), await documents.state()

    found, state = with_documents(folder, work, embeddings="none")
    assert "ten buckets" in found[0].passage.text
    assert state.embedder == ""
