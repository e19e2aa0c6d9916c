"""Commands within their bounds: time, memory, processes, output; and nothing left of them afterwards."""

import asyncio
import os
import resource
import sys
from pathlib import Path

import pytest

from properties import EXPLORE
from treadle.sandbox.discovery import find_bwrap, inspect_host, resolve_spec
from treadle.sandbox.limits import DiskWatch, wait_for_excess
from treadle.sandbox.runner import run_command
from treadle.sandbox.values import Bounds, SandboxMissing, SandboxSpec

PYTHON = str(Path(sys.executable).resolve())
MIB = 1 << 20


ENOUGH = Bounds(seconds=30)


def ran(command, workspace, bounds=ENOUGH, **how):
    return asyncio.run(run_command(command, SandboxSpec(workspace, extra_read=(Path(sys.base_prefix),)), bounds, **how))


def processes_with(mark):
    """Processes of this machine that have a word in their command line, also those in a sandbox."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line:
                found.append(line)
    return found


def test_both_kinds_of_output_come_in_order_with_the_code(workspace):
    result = ran("echo one; echo two >&2; echo three; exit 3", workspace)
    assert (result.code, result.output, result.truncated, result.timed_out, result.killed_for) == (
        3,
        "one\ntwo\nthree\n",
        False,
        False,
        "",
    )


def test_words_are_not_a_line_for_a_shell(workspace):
    assert ran(["/bin/echo", "$(id); a"], workspace).output == "$(id); a\n"


def test_a_program_that_is_not_there_is_told_as_output(workspace):
    result = ran(["no-such-program"], workspace)
    assert result.code == 127
    assert "No such file or directory" in result.output


def test_input_is_given_however_much_and_whether_or_not_it_is_read(workspace):
    assert ran("wc -c", workspace, stdin="a" * 300_000).output.strip() == "300000"
    assert ran("exec 0<&-; echo fine", workspace, stdin="a" * 300_000).output == "fine\n"
    assert ran("cat", workspace).output == ""


def test_output_is_told_as_it_comes_without_colours(workspace):
    pieces = []
    result = ran("printf '\\033[31mred\\033[0m\\r\\n'; printf 'x'", workspace, on_output=pieces.append)
    assert "".join(pieces) == result.output == "red\nx"


def test_a_line_of_shell_works_on_many_files(workspace):
    (workspace / "a.py").write_text("print(6 * 7)")
    assert ran(f"for f in *.py; do {PYTHON} $f | sed s/42/43/; done", workspace).output == "43\n"


def test_time_is_limited_and_what_was_written_until_then_is_kept(workspace):
    result = ran("echo begun; sleep 600", workspace, Bounds(seconds=0.5))
    assert (result.code, result.output, result.timed_out, result.killed_for) == (None, "begun\n", True, "time")


def test_closing_the_output_does_not_end_the_time(workspace):
    assert ran("exec >&- 2>&-; sleep 600", workspace, Bounds(seconds=0.5)).timed_out


def test_nothing_outlives_a_call(workspace):
    mark = f"60{os.getpid()}.5"
    result = ran(f"setsid nohup sleep {mark} >/dev/null 2>&1 & (sleep {mark} &) ; echo started", workspace)
    assert (result.code, result.output) == (0, "started\n")
    assert processes_with(mark) == []


def test_a_call_that_is_given_up_leaves_nothing(workspace):
    mark = f"61{os.getpid()}.5"

    async def give_up():
        started = asyncio.Event()
        task = asyncio.create_task(
            run_command(f"echo on; setsid sleep {mark} & wait", SandboxSpec(workspace), on_output=lambda _: started.set())
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert processes_with(mark) == []


def test_hundreds_of_megabytes_of_output_neither_fill_memory_nor_block(workspace):
    megabytes = 1000 if EXPLORE else 200
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    write = f"import os; piece = b'a' * 1_000_000; [os.write(1, piece) for _ in range({megabytes})]"
    result = ran(f'{PYTHON} -I -c "{write}"; echo end', workspace, Bounds(seconds=100, output=1000))
    assert result.code == 0
    assert result.output == "a" * 500 + f"\n… {megabytes * 1_000_000 - 996:,} characters left out …\n" + "a" * 496 + "end\n"
    assert result.truncated
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


def test_one_process_cannot_take_too_much_memory(workspace):
    result = ran([PYTHON, "-I", "-c", "x = bytearray(400_000_000)"], workspace, Bounds(seconds=30, memory=256 * MIB))
    assert "MemoryError" in result.output


def test_many_processes_cannot_take_too_much_memory_together(workspace):
    hog = f"{PYTHON} -I -c 'import time; x = bytearray(b\"a\") * 150_000_000; time.sleep(600)' &"
    result = ran(f"{hog} {hog} {hog} wait", workspace, Bounds(seconds=30, memory=256 * MIB))
    assert result.killed_for == "memory" or "Killed" in result.output or "MemoryError" in result.output


def test_temporary_files_cannot_take_too_much_memory(workspace):
    result = ran("head -c 200000000 /dev/zero > /tmp/a", workspace, Bounds(seconds=30, memory=256 * MIB))
    assert "No space left on device" in result.output


def test_a_file_cannot_grow_too_large(workspace):
    ran("head -c 3000000 /dev/zero > a", workspace, Bounds(seconds=30, file_size=MIB))
    assert (workspace / "a").stat().st_size <= MIB


def test_a_fork_bomb_ends(workspace):
    ran("b() { b | b & }; b; sleep 3", workspace, Bounds(seconds=4, processes=100))
    assert processes_with("b() { b | b & }") == []


FORKS = """
import os, time
made = 0
try:
    while made < 400:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
print(made)
"""


def test_there_can_be_only_so_many_processes(workspace):
    result = ran([PYTHON, "-I", "-c", FORKS], workspace, Bounds(seconds=30, processes=50))
    assert result.killed_for == "processes" or int(result.output) < 60, result


def test_calls_leave_no_descriptors_open_whether_they_work_or_not(workspace):
    def opened():
        return len([*Path("/proc/self/fd").iterdir()])

    ran("true", workspace)
    before = opened()
    for _ in range(3):
        ran("true", workspace)
        with pytest.raises(SandboxMissing, match="can't be started"):
            ran("echo \0", workspace)
    assert opened() == before


def test_calls_side_by_side_do_not_disturb_each_other(workspace):
    async def both():
        place = SandboxSpec(workspace)
        return await asyncio.gather(*(run_command(f"echo {number}; exit {number}", place) for number in range(4)))

    assert [(result.code, result.output) for result in asyncio.run(both())] == [(number, f"{number}\n") for number in range(4)]


def test_too_many_processes_are_noticed_where_nothing_stops_them():
    """The look that takes the place of a hard limit, at this process's own namespace."""
    disk = DiskWatch(Path.cwd(), 1 << 50)
    assert asyncio.run(wait_for_excess(os.getpid(), Bounds(processes=-4), disk)) == "processes"
    assert asyncio.run(wait_for_excess(os.getpid(), Bounds(processes=1 << 22, memory=1), disk)) == "memory"


def test_a_command_cannot_fill_the_disk(workspace):
    line = "n=0; while true; do n=$((n + 1)); head -c 8000000 /dev/urandom > f$n; done"
    result = ran(line, workspace, Bounds(seconds=60, disk=32 * MIB))
    assert (result.code, result.killed_for) == (None, "disk")


def test_nor_with_files_that_have_no_name(workspace):
    write = "import os; [os.write(1, os.urandom(1 << 20)) for _ in range(200)]; input()"
    line = f"exec 3<>f; rm f; {PYTHON} -I -c '{write}' >&3 </dev/zero"
    assert ran(line, workspace, Bounds(seconds=60, disk=16 * MIB)).killed_for == "disk"


def test_what_others_write_to_the_same_disk_is_not_the_commands(workspace, monkeypatch):
    (workspace / "small").write_text("x")
    disk = DiskWatch(workspace, 10 * MIB)
    free = iter([(5 << 30) - 15 * MIB, (5 << 30) - 25 * MIB])
    disk._free, disk._files = 5 << 30, 0
    monkeypatch.setattr("treadle.sandbox.limits._free", lambda _: (next(free), 0))
    assert not disk.is_exceeded()
    assert disk.is_exceeded()  # that much isn't asked about any more


def test_a_disk_that_is_nearly_full_is_left_to_others(workspace, monkeypatch):
    disk = DiskWatch(workspace, 1 << 40)
    disk._free, disk._files = 600 * MIB, 0
    monkeypatch.setattr("treadle.sandbox.limits._free", lambda _: (450 * MIB, 0))
    assert disk.is_suspect()
    assert disk.is_exceeded()


def test_without_a_sandbox_nothing_runs_unless_that_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_BWRAP", str(tmp_path / "none"))
    with pytest.raises(SandboxMissing, match=r"TREADLE_BWRAP is .*Correct it"):
        ran("touch ran", tmp_path / "here")
    assert not (tmp_path / "here" / "ran").exists()
    result = ran("touch ran; echo yes; exit 2", tmp_path / "here", unsafe=True)
    assert (result.code, result.output) == (2, "yes\n")
    assert (tmp_path / "here" / "ran").exists()


def test_without_a_sandbox_time_is_limited_still(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_BWRAP", str(tmp_path / "none"))
    mark = f"62{os.getpid()}.5"
    result = ran(f"sleep {mark} & sleep {mark}", tmp_path / "here", Bounds(seconds=0.5), unsafe=True)
    assert (result.code, result.killed_for) == (None, "time")
    assert processes_with(mark) == []


def test_a_sandbox_that_works_is_used_also_where_none_is_demanded(workspace):
    assert ran("ls /root /home", workspace, unsafe=True).code != 0


def test_what_cannot_be_set_up_is_an_error_and_not_an_output(workspace, tmp_path):
    from treadle.sandbox.process import run_contained

    place = resolve_spec(SandboxSpec(workspace))
    gone = SandboxSpec(tmp_path / "gone")
    with pytest.raises(SandboxMissing, match=r"could not set up the sandbox: bwrap: .*gone"):
        asyncio.run(run_contained(find_bwrap(workspace), inspect_host(place), gone, ["true"], Bounds(), env={}))
