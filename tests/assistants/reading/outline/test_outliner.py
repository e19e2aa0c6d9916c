import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from assistants.reading.outline import samples
from treadle.assistants.reading.outline import outliner_process
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.errors import NotText, OutlineError, OutlineFailed, SourceTooLarge, UnknownLanguage
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree, measure_outline

SLOW = "class A {\n" * 60_000  # in Python, minutes


def is_there(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_says_what_this_process_would_say():
    async def told() -> None:
        async with Outliner() as outliner:
            for language, text in samples.BY_LANGUAGE.items():
                assert await outliner.outline(text, language) == build_outline(text, language)
            assert await outliner.seed_json(samples.GO, "go", 3) == build_shallow_tree(samples.GO, "go", 3)
            assert await outliner.metrics(samples.GO, "go") == measure_outline(samples.GO, "go")

    asyncio.run(told())


def test_the_child_starts_with_the_first_file_and_ends_with_the_outliner():
    with Outliner() as outliner:
        assert outliner.pid is None
        outliner.outline_sync("x = 1", "python")
        pid = outliner.pid
        assert is_there(pid)
        outliner.outline_sync("y = 1", "python")
        assert outliner.pid == pid
    assert outliner.pid is None
    assert not is_there(pid)


def test_an_outliner_that_was_closed_starts_again():
    outliner = Outliner()
    outliner.close()
    assert outliner.seed_json_sync("x = 1", "python")["type"] == "module"
    outliner.close()
    assert outliner.metrics_sync("x = 1", "python").integrity_score == 100
    outliner.close()


def test_a_child_that_was_killed_is_replaced_without_a_word():
    with Outliner() as outliner:
        outliner.outline_sync("x = 1", "python")
        killed = outliner.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        assert outliner.outline_sync("y = 1", "python").nodes[0].name == "y"
        assert outliner.pid != killed
        assert not is_there(killed)


def test_a_child_killed_over_one_file_twice_is_said_in_a_sentence():
    with Outliner(seconds=100) as outliner, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(outliner.outline_sync, SLOW, "python")
        killed: list[int] = []
        while not waiting.done():
            pid = outliner.pid
            if pid is not None and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        with pytest.raises(OutlineFailed, match="crashed on it, twice"):
            waiting.result()
        assert len(killed) == 2
        assert outliner.outline_sync("y = 1", "python").nodes[0].name == "y"


def test_a_crash_is_said_in_a_sentence_and_the_next_file_is_read():
    with Outliner(memory=220 << 20, seconds=100) as outliner:
        with pytest.raises(OutlineFailed, match=r"crashed on it, twice|not enough memory"):
            outliner.outline_sync("x = [" + "1, " * 3_000_000 + "]", "python")
        assert outliner.outline_sync("y = 1", "python").nodes[0].name == "y"


def test_a_file_that_takes_too_long_is_given_up_once():
    with Outliner(seconds=1.5) as outliner:
        with pytest.raises(OutlineFailed, match=r"took more than 1\.5 seconds"):
            outliner.outline_sync(SLOW, "python")
        assert outliner.pid is None


def test_a_file_that_is_too_large_is_refused_before_anything_starts():
    with Outliner(most_bytes=1000) as outliner:
        with pytest.raises(SourceTooLarge, match=r"has 0\.0 MB; files up to 0\.001 MB"):
            outliner.outline_sync("ä" * 600, "python")
        assert outliner.pid is None


def test_what_the_child_refuses_is_refused_here():
    with Outliner() as outliner:
        with pytest.raises(UnknownLanguage, match="cobol"):
            outliner.outline_sync("", "cobol")
        assert outliner.outline_sync("", "python").nodes == ()


def test_a_child_serves_only_so_many_files():
    with Outliner(most_files=2) as outliner:
        pids = [outliner.outline_sync("x = 1", "python") and outliner.pid for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_tasks_and_threads_may_share_an_outliner():
    texts = [f"name_{number} = {number}\n" * 50 for number in range(12)]

    async def together() -> list[str]:
        async with Outliner() as outliner:
            made = await asyncio.gather(*[outliner.outline(text, "python") for text in texts])
            return [found.nodes[0].name for found in made]

    assert asyncio.run(together()) == [f"name_{number}" for number in range(12)]
    with Outliner() as outliner, ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda text: outliner.outline_sync(text, "python"), texts))
    assert [found.nodes[0].name for found in made] == [f"name_{number}" for number in range(12)]


def test_stray_surrogates_are_no_reason_to_fail():
    with Outliner() as outliner:
        assert outliner.outline_sync("x = '\ud800'", "python").nodes[0].value == "'?'"


def test_modules_in_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "msgspec.py").write_text("raise SystemExit('a stranger was here')")
    monkeypatch.chdir(tmp_path)
    with Outliner() as outliner:
        assert outliner.outline_sync("x = 1", "python").nodes[0].name == "x"


def test_the_child_ends_when_nobody_asks_any_more():
    command = [sys.executable, "-m", "treadle.assistants.reading.outline.outliner_process", str(2 << 30)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    outliner_process.send_frame(process.stdin, outliner_process.OutlineJob("outline", "x = 1", "python"))
    assert isinstance(
        outliner_process.decode_answer(outliner_process.receive_frame(process.stdout) or b""), outliner_process.OutlineResult
    )
    process.stdin.close()
    assert process.wait(120) == 0
    process.stdout.close()


def test_jobs_are_answered_one_after_another(tmp_path):
    jobs = [
        outliner_process.OutlineJob("outline", "x = 1", "python"),
        outliner_process.OutlineJob("seed_json", "x = 1", "python", 1),
        outliner_process.OutlineJob("metrics", "x = 1", "python"),
        outliner_process.OutlineJob("outline", "x = 1", "cobol"),
    ]
    asked, answered = tmp_path / "jobs", tmp_path / "answers"
    with asked.open("wb") as pipe:
        for job in jobs:
            outliner_process.send_frame(pipe, job)
        pipe.write(b"\x00\x00\x00\x09cut")  # the parent died in the middle
    with asked.open("rb") as pipe, answered.open("wb") as out:
        outliner_process.serve_jobs(pipe, out)
    with answered.open("rb") as pipe:
        said = [outliner_process.decode_answer(outliner_process.receive_frame(pipe) or b"") for _ in jobs]
        assert outliner_process.receive_frame(pipe) is None
    assert [type(answer).__name__ for answer in said] == ["OutlineResult", "OutlineResult", "OutlineResult", "OutlineRefusal"]


def test_errors_are_a_tree():
    assert all(issubclass(kind, OutlineError) for kind in (SourceTooLarge, OutlineFailed, UnknownLanguage, NotText))
