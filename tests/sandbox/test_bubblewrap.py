"""The arguments for bubblewrap."""

from pathlib import Path

from treadle.sandbox.bubblewrap import build_arguments, is_within, synthesize_etc
from treadle.sandbox.values import Bwrap, HostSystem, InheritedFds, MaskedPath, SandboxSpec

ALL = frozenset({"--disable-userns", "--clearenv", "--size"})
WORK = Path("/srv/work")


def line(place=SandboxSpec(WORK), host=HostSystem(0, 0), options=ALL, env=None):  # noqa: B008 - frozen
    bwrap = Bwrap(Path("/usr/bin/bwrap"), options)
    return build_arguments(
        bwrap, host, place, ["ls", "--uid"], files=InheritedFds(7, 8, ((9, "/etc/passwd"),)), env=env or {}, scratch=1000
    )


def has(words, *part):
    return any(tuple(words[at : at + len(part)]) == part for at in range(len(words)))


def test_everything_is_its_own_and_no_capability_stays():
    words = line()
    for option in ("user", "pid", "ipc", "uts", "net", "cgroup-try"):
        assert f"--unshare-{option}" in words
    assert has(words, "--cap-drop", "ALL")
    assert {"--die-with-parent", "--new-session", "--disable-userns", "--clearenv"} <= set(words)
    assert words[-3:] == ["--", "ls", "--uid"]


def test_a_network_is_never_shared_but_named_in_the_environment():
    more = line(SandboxSpec(WORK, network=True))
    assert "--unshare-net" in more
    assert has(more, "--setenv", "https_proxy", "http://127.0.0.1:47128")
    assert "https_proxy" not in line()


def test_root_is_somebody_ordinary_and_others_stay_who_they_are():
    assert has(line(), "--uid", "1000", "--gid", "1000")
    assert has(line(host=HostSystem(501, 20)), "--uid", "501", "--gid", "20")
    assert synthesize_etc(HostSystem(501, 20))["/etc/passwd"].startswith("worker:x:501:20::/tmp/home:")


def test_an_old_bubblewrap_gets_only_what_it_knows():
    assert not {"--disable-userns", "--clearenv", "--size"} & set(line(options=frozenset()))


def test_the_workspace_is_bound_last_and_as_it_is_to_be_used():
    words = line(SandboxSpec(WORK, extra_read=(Path("/srv"),)))
    assert words.index("/srv") < words.index(str(WORK))
    assert has(words, "--ro-bind", "/srv", "/srv")
    assert has(words, "--bind", str(WORK), str(WORK))
    assert has(line(SandboxSpec(WORK, writable=False)), "--ro-bind", str(WORK), str(WORK))


def test_hooks_and_settings_of_a_repository_stay_as_they_are():
    git = WORK / ".git"
    host = HostSystem(0, 0, repository=git, fixed=(git / "hooks",))
    assert has(line(host=host), "--bind", str(git), str(git), "--ro-bind", f"{git}/hooks", f"{git}/hooks")
    assert str(git) not in line(SandboxSpec(WORK, writable=False), host=host)


def test_repositories_are_read_only_and_may_be_gone_by_then():
    nested = WORK / "a" / ".git"
    words = line(host=HostSystem(0, 0, repositories=(nested,)))
    assert has(words, "--ro-bind-try", str(nested), str(nested))
    assert words.index(str(WORK)) < words.index(str(nested))


def test_the_filter_of_system_calls_is_handed_over_as_the_program_takes_it():
    files = InheritedFds(7, 8, filter=11)
    for options, option in (({"--seccomp", "--add-seccomp-fd"}, "--add-seccomp-fd"), ({"--seccomp"}, "--seccomp")):
        bwrap = Bwrap(Path("/usr/bin/bwrap"), frozenset(options))
        assert has(
            build_arguments(bwrap, HostSystem(0, 0), SandboxSpec(WORK), ["ls"], files=files, env={}, scratch=1), option, "11"
        )
    assert files.all == (7, 8, 11)


def test_what_is_hidden_is_covered():
    words = line(host=HostSystem(0, 0, masks=(MaskedPath(WORK / "a", folder=True), MaskedPath(WORK / "b", folder=False))))
    assert has(words, "--tmpfs", f"{WORK}/a", "--remount-ro", f"{WORK}/a")
    assert has(words, "--ro-bind", "/dev/null", f"{WORK}/b")


def test_links_of_the_system_are_links_inside_and_its_settings_are_read_only():
    words = line(host=HostSystem(0, 0, (("/bin", "usr/bin"),), ("/etc/alternatives",)))
    assert has(words, "--symlink", "usr/bin", "/bin")
    assert has(words, "--ro-bind-try", "/usr", "/usr")
    assert has(words, "--ro-bind-try", "/etc/alternatives", "/etc/alternatives")
    assert has(words, "--ro-bind-data", "9", "/etc/passwd")


def test_the_environment_can_be_added_to():
    assert has(line(env={"LANG": "de_DE"}), "--setenv", "LANG", "de_DE")


def test_a_path_is_within_itself_and_what_is_above_it():
    assert is_within(WORK, WORK)
    assert is_within(WORK / "a", Path("/other"), WORK)
    assert not is_within(Path("/srv/workshop"), WORK)
