"""What is said about a spec: what the server would refuse, what it would drop, what is probably not meant, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.platform.score import PROVIDED, BadSpec, CheckedSpec, SpecEnvironment, SpecFinding, check_spec, parse_spec

GOOD = """\
apiVersion: score.dev/v1b1
metadata:
  name: web-shop
containers:
  web:
    image: registry.example/shop/web:1.4.0
    variables:
      DATABASE_URL: "postgres://${resources.db.host}:5432/shop"
      PORT: "8080"
resources:
  db:
    type: postgres
    params:
      version: "16"
      size: 10
environment:
  type: ephemeral
  ttl: 24h
"""

WRONG = [
    ("", 1, "", "nothing in it"),
    ("# only a comment\n", 1, "", "nothing in it"),
    ("null", 1, "", "nothing in it"),
    ("just words", 1, "", "has to be a mapping"),
    ("- a\n- b\n", 1, "", "is a list"),
    (GOOD + "---\n" + GOOD, 19, "", "second document"),
    (GOOD.replace("  name: web-shop", "\tname: web-shop"), 3, "", "There is a tab"),
    (GOOD.replace('"16"', '"16'), 19, "", "This is no YAML"),
    (GOOD.replace("web-shop", "[1, 2"), 4, "", "This is no YAML"),
    (GOOD.replace("web-shop", "web\x00shop"), 3, "", "no character '\\x00'"),
    (GOOD.replace("web-shop", '"\\UFFFFFFFF"'), 3, "", "can't be read"),
    (GOOD.replace("web-shop", "*anchor"), 3, "", "Aliases (`*anchor`)"),
    (GOOD.replace("web-shop", "!!python/object:os.system x"), 3, "", "Tags"),
    (GOOD.replace("web-shop", "!!str x"), 3, "", "Tags"),
    (GOOD.replace("size: 10", f"size: {'[' * 60}{']' * 60}"), 15, "", "nested more than"),
    (GOOD.replace("size: 10", "? [a, b]\n      : 1"), 15, "", "A key has to be a name"),
    ("a" * 70_000, 1, "", "70,000 characters"),
    (GOOD.replace("apiVersion: score.dev/v1b1\n", ""), 1, "apiVersion", "is missing"),
    (GOOD.replace("v1b1", "v1"), 1, "apiVersion", "has to be `score.dev/v1b1`"),
    (GOOD.replace("metadata:\n  name: web-shop\n", ""), 1, "metadata.name", "needs a name"),
    (GOOD.replace("  name: web-shop\n", ""), 2, "metadata.name", "needs a name"),
    (GOOD.replace("name: web-shop", "name:"), 3, "metadata.name", "needs a name"),
    (GOOD.replace("name: web-shop", 'name: ""'), 3, "metadata.name", "needs a name"),
    (GOOD.replace("name: web-shop", "title: web"), 3, "metadata.name", "needs a name"),
    (GOOD.replace("name: web-shop", "name: [a]"), 3, "metadata.name", "is a list"),
    (GOOD.replace("web-shop", "Web_Shop"), 3, "metadata.name", "no name for an application"),
    (GOOD.replace("web-shop", "shop-"), 3, "metadata.name", "no hyphen at either end"),
    (GOOD.replace("web-shop", "a" * 64), 3, "metadata.name", "64 characters"),
    (GOOD.replace("metadata:\n  name: web-shop", "metadata: shop"), 2, "metadata", "has to be a mapping"),
    ("apiVersion: score.dev/v1b1\nmetadata: {name: a}\n", 1, "containers", "At least one container"),
    ("apiVersion: score.dev/v1b1\nmetadata: {name: a}\ncontainers: {}\n", 3, "containers", "At least one container"),
    ("apiVersion: score.dev/v1b1\nmetadata: {name: a}\ncontainers: [web]\n", 3, "containers", "is a list"),
    (GOOD.replace("    image: registry.example/shop/web:1.4.0\n", ""), 6, "containers.web.image", "needs an image"),
    (GOOD.replace("image: registry.example/shop/web:1.4.0", "image:"), 6, "containers.web.image", "needs an image"),
    (GOOD.replace("image: registry.example/shop/web:1.4.0", "image: {name: x}"), 6, "containers.web.image", "is a mapping"),
    ("apiVersion: score.dev/v1b1\nmetadata: {name: a}\ncontainers:\n  web:\n", 4, "containers.web.image", "needs an image"),
    ("apiVersion: score.dev/v1b1\nmetadata: {name: a}\ncontainers:\n  web: nginx\n", 4, "containers.web", "is `nginx`"),
    (GOOD.replace('PORT: "8080"', "PORT: [8080]"), 9, "containers.web.variables.PORT", "is a list"),
    (GOOD.replace("    type: postgres\n", ""), 12, "resources.db.type", "needs a type"),
    (GOOD.replace("type: postgres", "type: 7"), 12, "resources.db.type", "no provider for `7`"),
    (GOOD.replace("type: postgres", "type: postgress"), 12, "resources.db.type", "did you mean `postgres`"),
    (GOOD.replace("type: postgres", "type: redis"), 12, "resources.db.type", "there are application, argocd-app"),
    (GOOD.replace("resources:\n  db:", "resources:\n  cache:\n  db:"), 11, "resources.cache.type", "needs a type"),
    (GOOD.replace("resources:\n  db:", "resources:\n  cache: redis\n  db:"), 11, "resources.cache", "is `redis`"),
    (GOOD.replace("      size: 10\n", "    params: [1]\n"), 15, "resources.db.params", "already on line 13"),
    (GOOD.replace('params:\n      version: "16"\n      size: 10', "params: 10"), 13, "resources.db.params", "is `10`"),
    (GOOD.replace("environment:\n  type: ephemeral\n  ttl: 24h", "environment: dev"), 16, "environment", "is `dev`"),
    (GOOD + "workflows:\n  seed:\n    steps: all\n", 21, "workflows.seed.steps", "Steps are a list"),
    (GOOD + "containers: {}\n", 19, "containers", "already on line 4"),
    (GOOD.replace("size: 10", "disks: [{a: 1}, {b: 2, b: 3}]"), 15, "resources.db.params.disks.1.b", "`b` is already on line 15"),
]

DOUBTFUL = [
    (GOOD.replace("    variables:", "    env:"), 7, "containers.web.env", "write it as `variables`"),
    (GOOD.replace("    variables:", "    ports: [80]\n    variables:"), 7, "containers.web.ports", "drops `ports`"),
    (GOOD.replace("    variables:", "    resources: {}\n    variables:"), 7, "containers.web.resources", "limits of a container"),
    (GOOD.replace("    variables:", "    varaibles:"), 7, "containers.web.varaibles", "did you mean `variables`?"),
    (GOOD.replace("    variables:", "    Variables:"), 7, "containers.web.Variables", "did you mean `variables`?"),
    (GOOD.replace("    variables:", "    zzz: 1\n    variables:"), 7, "containers.web.zzz", "it knows image, variables here"),
    (GOOD + "service: {}\n", 19, "service", "drops `service`"),
    (GOOD + "enviroment: {}\n", 19, "enviroment", "it knows apiVersion"),
    (GOOD.replace("resources:\n", "resource:\n"), 10, "resource", "did you mean `resources`?"),
    (GOOD.replace("  name: web-shop", "  name: web-shop\n  labels: {}"), 4, "metadata.labels", "only `name` is kept"),
    (GOOD.replace("    params:", "    class: big\n    params:"), 13, "resources.db.class", "write it into `params`"),
    (GOOD.replace('    params:\n      version: "16"\n      size: 10\n', ""), 11, "resources.db", "without `params`"),
    (GOOD.replace("resources.db", "resources.bd"), 8, "containers.web.variables.DATABASE_URL", "no resource `bd`"),
    (GOOD.replace("resources.db", "resources.dbs"), 8, "containers.web.variables.DATABASE_URL", "did you mean `db`?"),
    (GOOD.replace('version: "16"', "of: '${resources.x.y}'"), 14, "resources.db.params.of", "no resource `x`"),
    (GOOD.replace("size: 10", "all: ['${resources.x}']"), 15, "resources.db.params.all.0", "no resource `x`"),
    (GOOD.replace("web:1.4.0", "web"), 6, "containers.web.image", "has no tag"),
    (GOOD.replace("registry.example/shop/web:1.4.0", "localhost:5000/web"), 6, "containers.web.image", "has no tag"),
    (GOOD.replace("web:1.4.0", "web:latest"), 6, "containers.web.image", "another image tomorrow"),
    (GOOD.replace("registry.example/shop/web:1.4.0", "'.'"), 6, "containers.web.image", "fills in nothing"),
    (GOOD.replace("web:1.4.0", "web :1.4.0"), 6, "containers.web.image", "space in the image"),
    (GOOD.replace("  web:\n", "  Web: {image: 'a:1'}\n  web:\n"), 6, "containers.web", "differ in case only"),
    (GOOD.replace('"8080"', "8080"), 9, "containers.web.variables.PORT", 'write it as "8080"'),
    (GOOD.replace('"8080"', "true"), 9, "containers.web.variables.PORT", 'write it as "true"'),
    (GOOD.replace('"8080"', "1.5e3"), 9, "containers.web.variables.PORT", 'write it as "1.5e3"'),
    (GOOD.replace('"8080"', "0x1F"), 9, "containers.web.variables.PORT", 'write it as "0x1F"'),
    (GOOD.replace('"8080"', ""), 9, "containers.web.variables.PORT", "It is empty"),
    (GOOD.replace("name: web-shop", "name: 42"), 3, "metadata.name", 'write it as "42"'),
    (GOOD.replace("24h", "soon"), 18, "environment.ttl", "no length of time"),
    (GOOD.replace("24h", "24"), 18, "environment.ttl", "no length of time"),
    (GOOD.replace("type: ephemeral", "type: kubernetes"), 17, "environment.type", "gitea-repo, kubernetes, argocd-app"),
    (GOOD.replace("type: ephemeral", "type: ephemeral\n  name: dev"), 18, "environment.name", "take their name"),
    (GOOD + "workflows:\n  seed:\n    step: []\n", 21, "workflows.seed.step", "did you mean `steps`?"),
]


def found(checked: CheckedSpec, line: int, level: str, path: str, words: str) -> bool:
    return any((each.line, each.level, each.path) == (line, level, path) and words in each.message for each in checked.findings)


def test_a_good_spec_has_nothing_to_be_said_about_it():
    checked = check_spec(GOOD, PROVIDED)
    assert checked.findings == ()
    assert checked.ok
    assert checked.spec == parse_spec(GOOD)
    assert checked.spec.containers["web"].variables["PORT"] == "8080"
    assert checked.spec.resources["db"].params == {"version": "16", "size": 10}
    assert checked.spec.environment == SpecEnvironment("ephemeral", "24h")


@pytest.mark.parametrize(("text", "line", "path", "words"), WRONG)
def test_what_would_be_refused_is_an_error_at_its_line(text, line, path, words):
    checked = check_spec(text, PROVIDED)
    assert found(checked, line, "error", path, words), checked.findings
    assert not checked.ok


@pytest.mark.parametrize(("text", "line", "path", "words"), DOUBTFUL)
def test_what_is_probably_not_meant_is_a_warning_at_its_line(text, line, path, words):
    checked = check_spec(text, PROVIDED)
    assert found(checked, line, "warning", path, words), checked.findings
    assert checked.ok
    assert checked.warnings == checked.findings


def test_each_mistake_is_said_once():
    for text, *_ in WRONG + DOUBTFUL:
        findings = check_spec(text, PROVIDED).findings
        assert len(findings) == len(set(findings))
    assert len(check_spec("metadata: {}", PROVIDED).findings) == 3  # no version, no name, no container


def test_types_are_taken_as_they_are_where_the_providers_are_not_known():
    assert check_spec(GOOD.replace("type: postgres", "type: redis")).ok


def test_a_platform_that_provides_nothing_is_said_so():
    assert "there is none at all" in check_spec(GOOD.replace("postgres\n", "redis\n"), ()).errors[0].message


def test_json_is_a_spec_as_well():
    text = '{"apiVersion": "score.dev/v1b1", "metadata": {"name": "a"}, "containers": {"web": {"image": "nginx:1"}}}'
    assert check_spec(text).findings == ()


def test_parts_that_are_there_but_empty_are_as_good_as_not_there():
    text = GOOD[: GOOD.index("resources:")] + "resources:\nenvironment:\nworkflows:\n  seed:\n"
    checked = check_spec(text.replace("${resources.db.host}", "host"))
    assert checked.findings == ()
    assert (checked.spec.resources, checked.spec.environment, checked.spec.workflows) == ({}, None, {"seed": {}})


def test_workflows_keep_their_steps():
    spec = parse_spec(GOOD + "workflows:\n  seed:\n    steps:\n      - {name: fill, type: dummy}\n")
    assert spec.workflows == {"seed": {"steps": [{"name": "fill", "type": "dummy"}]}}


def test_yes_is_text_and_an_escaped_reference_is_none():
    checked = check_spec(GOOD.replace('"8080"', "yes").replace("${resources.db", "$${resources.nothing"))
    assert checked.findings == ()
    assert checked.spec.containers["web"].variables["PORT"] == "yes"


def test_reading_a_bad_spec_says_where_it_is_bad():
    with pytest.raises(BadSpec, match=r"line 3, column 9: error: metadata\.name: `Web Shop` is no name") as raised:
        parse_spec(GOOD.replace("name: web-shop", "name: Web Shop"))
    assert raised.value.findings[0].path == "metadata.name"


def test_a_finding_about_the_whole_text_names_no_path():
    assert str(SpecFinding(1, 1, "error", "", "There is nothing in it.")) == "line 1, column 1: error: There is nothing in it."


def test_findings_are_bounded_in_number_and_length():
    many = GOOD + "".join(f"unknown{number}-{'x' * 300}: 1\n" for number in range(150))
    findings = check_spec(many).findings
    assert len(findings) == 100
    assert all(len(str(each)) < 500 for each in findings)


def test_an_error_is_never_left_off_for_warnings_above_it():
    many = "".join(f"unknown{number}: 1\n" for number in range(400))
    assert {each.path for each in check_spec(many).errors} == {"apiVersion", "metadata.name", "containers"}
    variables = "".join(f"      V{number}: '${{resources.r{number}.host}}'\n" for number in range(400))
    assert len(check_spec(GOOD.replace("      PORT:", f"{variables}      PORT:")).findings) == 100


def test_a_text_made_to_take_long_does_not():

    resources = "".join(f"  r{n}: {{type: s4}}\n" for n in range(1500))
    references = "".join(f"      V{n}: '${{resources.q{n}.x}}'\n" for n in range(400))
    texts = [
        GOOD.replace("resources:\n", "resources:\n" + resources).replace("      PORT:", references + "      PORT:"),
        "{" * 60_000,
        "? " * 30_000,
        "- " * 30_000,
        "[a," * 20_000,
        "a: &a b\n" * 7_000,
        "\n".join(" " * n + "a:" for n in range(300)),
    ]
    for text in texts:
        check_spec(text, PROVIDED)


def test_a_bomb_is_not_unfolded():
    bomb = "a: &a [x, x]\n" + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20))
    assert "Aliases" in check_spec(bomb).errors[0].message


KEYS = st.sampled_from(
    ["apiVersion", "metadata", "name", "containers", "web", "image", "variables", "resources", "type", "params", "ttl"]
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(["${resources.x.y}", "kubernetes"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, st.text(max_size=5)), inner, max_size=5)),
    max_leaves=25,
)


@given(st.one_of(st.text(), st.text("-:?*&![]{}#|>'\"%@`,~ \n\tab01\\", max_size=60)))
def test_any_text_is_checked_without_an_exception(text):
    checked = check_spec(text, PROVIDED)
    assert checked.ok or checked.errors


@given(st.dictionaries(KEYS, VALUES))
def test_any_mapping_is_checked_without_an_exception_and_findings_are_at_lines_that_exist(value):
    import json

    text = json.dumps(value, indent=1)
    checked = check_spec(text, PROVIDED)
    assert checked.ok or checked.errors
    assert all(1 <= each.line <= text.count("\n") + 1 and each.column >= 1 for each in checked.findings)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_checked_without_an_exception(blob):
    check_spec(GOOD + blob.decode("latin-1"))
    check_spec(GOOD.replace("web-shop", blob.decode("utf-8", "replace")))
