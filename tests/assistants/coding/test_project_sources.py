"""Imports lead to the file that Python would load, and to none where that isn't the project's own."""

import pytest

from assistants.coding.packages import LISTS, SLUG, TOML
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources

TOMLISH, SLUGGISH, LISTISH = ProjectSources(TOML), ProjectSources(SLUG), ProjectSources(LISTS)
MONOREPO = ProjectSources(
    {
        "packages/a/src/a/__init__.py": "from .b import f\n",
        "packages/a/src/a/b.py": "def f():\n    return 1\n",
        "packages/a/tests/test_a.py": "import a\n",
        "packages/c/c.py": "",
        "helpers.py": "",
        "tests/helpers.py": "",
        "tests/test_x.py": "import helpers\n",
        "scripts/datetime.py": "",
    }
)


@pytest.mark.parametrize(
    ("project", "importer", "module", "level", "path"),
    [
        (TOMLISH, "tests/test_datetime.py", "minitoml", 0, "src/minitoml/__init__.py"),
        (TOMLISH, "tests/test_datetime.py", "minitoml._re", 0, "src/minitoml/_re.py"),
        (TOMLISH, "tests/test_datetime.py", "datetime", 0, ""),
        (TOMLISH, "tests/test_datetime.py", "pytest", 0, ""),
        (TOMLISH, "src/minitoml/_re.py", "datetime", 0, ""),
        (TOMLISH, "src/minitoml/__init__.py", "_parser", 1, "src/minitoml/_parser.py"),
        (TOMLISH, "src/minitoml/_parser.py", "", 1, "src/minitoml/__init__.py"),
        (TOMLISH, "src/minitoml/_parser.py", "_re", 0, ""),
        (TOMLISH, "src/minitoml/_parser.py", "minitoml._re", 0, "src/minitoml/_re.py"),
        (SLUGGISH, "tests/test_slugify.py", "minislug.slugify", 0, "minislug/slugify.py"),
        (SLUGGISH, "minislug/slugify.py", "unicodedata", 0, ""),
        (LISTISH, "minibolts/listutils.py", "mathutils", 1, "minibolts/mathutils.py"),
        (LISTISH, "minibolts/listutils.py", "nothing", 3, ""),
        (MONOREPO, "packages/a/tests/test_a.py", "a", 0, "packages/a/src/a/__init__.py"),
        (MONOREPO, "packages/a/tests/test_a.py", "c", 0, ""),
        (MONOREPO, "tests/test_x.py", "helpers", 0, "tests/helpers.py"),
        (MONOREPO, "tests/test_x.py", "datetime", 0, ""),
    ],
)
def test_an_import_leads_to_the_file_that_python_loads(project, importer, module, level, path) -> None:
    assert project.resolve_import(importer, module, level) == path


def test_a_name_is_followed_through_what_re_exports_it() -> None:
    assert TOMLISH.find_member("src/minitoml/__init__.py", "loads") == [TOMLISH.module("src/minitoml/_parser.py").places["loads"]]
    assert SLUGGISH.find_member("minislug/__init__.py", "smart_truncate")[0].path == "minislug/slugify.py"
    assert SLUGGISH.find_member("minislug/__init__.py", "nothing") == []
    circle = ProjectSources({"a.py": "from b import f\n", "b.py": "from a import f\n"})
    assert circle.find_member("a.py", "f") == []


def referred(project: ProjectSources, path: str, name: str) -> set[str]:
    return {place.name for place in project.find_references(project.module(path).places[name])}


def test_references_lead_to_functions_methods_and_variables_of_the_project() -> None:
    assert referred(TOMLISH, "tests/test_datetime.py", "test_date") == {"loads"}
    assert {"parse_array", "RE_DATETIME", "match_to_datetime", "TOMLDecodeError.__init__"} <= referred(
        TOMLISH, "src/minitoml/_parser.py", "parse_value"
    )
    assert {"Output.__init__", "Output.set_value", "strip_comment"} <= referred(TOMLISH, "src/minitoml/_parser.py", "loads")
    assert {"BarrelList._translate_index", "BarrelList._balance_list"} <= referred(
        LISTISH, "minibolts/listutils.py", "BarrelList.pop"
    )
    assert referred(LISTISH, "minibolts/listutils.py", "BarrelList._cur_size_limit") == {"log_base"}


def test_modules_are_named_as_they_are_imported() -> None:
    assert TOMLISH.module_name("src/minitoml/_re.py") == "minitoml._re"
    assert TOMLISH.module_name("src/minitoml/__init__.py") == "minitoml"
    assert MONOREPO.module_name("helpers.py") == "helpers"


def test_attributes_of_imported_modules_and_classes_are_followed() -> None:
    project = ProjectSources(
        {
            "pkg/__init__.py": "",
            "pkg/deep/__init__.py": "",
            "pkg/deep/mod.py": "class C:\n    def m(self):\n        pass\n\n\ndef f():\n    pass\n",
            "use.py": (
                "import pkg.deep.mod\nfrom pkg.deep import mod\nfrom pkg.deep.mod import C\nimport pkg.deep.mod as short\n\n\n"
                "def a():\n    pkg.deep.mod.f()\n\n\ndef b():\n    mod.f()\n\n\ndef c():\n    C.m\n\n\n"
                "def d():\n    short.f()\n\n\ndef e():\n    C()\n"
            ),
        }
    )
    assert [referred(project, "use.py", name) for name in "abcde"] == [{"f"}, {"f"}, {"C", "C.m"}, {"f"}, {"C"}]


def test_files_that_are_no_python_have_no_definitions() -> None:
    project = ProjectSources({"a.py": "def f(:\n"})
    assert project.module("a.py").places == project.module("b.py").places == {}
    assert CodePlace("a.py", "f", 1, 1) not in project.find_references(CodePlace("a.py", "f", 1, 1))
