"""Small projects, one for each runner and case: their files by path. `record` runs them to the letter, live tests take some too.

pass    tests that pass, with one that is skipped
fail    failing assertions, errors, tests within tests, and output that looks like results but isn't
broken  code that can't be imported or compiled
none    a project without tests
"""

import subprocess
import sys
from pathlib import Path

Project = dict[str, str]

SHOP = """
def price(count, each):
    if count < 0:
        raise ValueError("count is below zero: %d" % count)
    return count * each
"""

PYTEST_PASS = """
import pytest
from shop import price

@pytest.mark.parametrize("count", [1, 2])
def test_price(count):
    assert price(count, 3) == count * 3

@pytest.mark.skip(reason="later")
def test_later():
    raise AssertionError
"""

PYTEST_FAIL = """
import pytest
from shop import price

@pytest.fixture
def store():
    raise RuntimeError("the store is closed")

def test_works():
    print("FAILED tests/test_fake.py::test_fake - not a result")
    assert price(1, 2) == 2

@pytest.mark.parametrize("count", [1, 2])
def test_price(count):
    assert price(count, 3) == 3

def test_below_zero():
    price(-1, 1)

def test_store(store):
    pass

@pytest.mark.xfail(reason="known")
def test_known():
    raise AssertionError

class TestText:
    def test_lines(self):
        assert "a\\nb\\n" == "a\\nc\\n"
"""

PYTEST: dict[str, Project] = {
    "pass": {"shop.py": SHOP, "tests/test_shop.py": PYTEST_PASS},
    "fail": {"shop.py": SHOP, "tests/test_shop.py": PYTEST_FAIL},
    "broken": {"tests/test_shop.py": "from no_such_shop import price\n\ndef test_price():\n    assert price\n"},
    "none": {"shop.py": SHOP, "tests/test_shop.py": "import shop\n"},
}

UNITTEST_PASS = """
import unittest
from shop import price

class PriceTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price(2, 3), 6)

    @unittest.skip("later")
    def test_later(self):
        self.fail()
"""

UNITTEST_FAIL = """
import unittest
from shop import price

class PriceTest(unittest.TestCase):
    def test_works(self):
        print("FAIL: test_fake (test_fake.Fake.test_fake)")
        self.assertEqual(price(1, 2), 2)

    def test_price(self):
        \"\"\"Three of something cost three times as much.\"\"\"
        self.assertEqual(price(2, 3), 7, "wrong price")

    def test_below_zero(self):
        price(-1, 1)

    def test_many(self):
        for count in (1, 2, 3):
            with self.subTest(count=count):
                self.assertEqual(price(count, 1), 1)

    @unittest.expectedFailure
    def test_known(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

class StoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("the store is closed")

    def test_store(self):
        pass
"""

UNITTEST: dict[str, Project] = {
    "pass": {"shop.py": SHOP, "tests/test_shop.py": UNITTEST_PASS},
    "fail": {"shop.py": SHOP, "tests/test_shop.py": UNITTEST_FAIL},
    "broken": {"tests/test_shop.py": "import no_such_shop\n"},
    "none": {"shop.py": SHOP, "tests/test_shop.py": "import shop\n"},
}

GO_MOD = "module example.com/shop\n\ngo 1.19\n"
GO_SHOP = """package shop

import "fmt"

func Price(count, each int) int {
	if count < 0 {
		panic(fmt.Sprintf("count is below zero: %d", count))
	}
	return count * each
}
"""
GO_PASS = """package shop

import "testing"

func TestPrice(t *testing.T) {
	if Price(2, 3) != 6 {
		t.Fatal("wrong price")
	}
}

func TestLater(t *testing.T) { t.Skip("later") }
"""
GO_FAIL = """package shop

import (
	"fmt"
	"testing"
)

func TestWorks(t *testing.T) {
	fmt.Println("--- FAIL: TestFake (0.00s)")
}

func TestPrice(t *testing.T) {
	for _, count := range []int{1, 2} {
		t.Run(fmt.Sprintf("count=%d", count), func(t *testing.T) {
			t.Log("a note")
			if got := Price(count, 3); got != 3 {
				t.Errorf("price of %d is %d,\\nnot 3", count, got)
			}
		})
	}
}
"""
GO_PANIC = """package tools

import (
	"testing"

	"example.com/shop"
)

func TestFine(t *testing.T) {}

func TestBelowZero(t *testing.T) { shop.Price(-1, 1) }
"""
GO_BROKEN = """package shop

import "testing"

func TestPrice(t *testing.T) {
	if Cost(2, 3) != 6 {
		t.Fatal("wrong price")
	}
}
"""

GO: dict[str, Project] = {
    "pass": {"go.mod": GO_MOD, "shop.go": GO_SHOP, "shop_test.go": GO_PASS},
    "fail": {"go.mod": GO_MOD, "shop.go": GO_SHOP, "shop_test.go": GO_FAIL, "tools/tools_test.go": GO_PANIC},
    "broken": {"go.mod": GO_MOD, "shop.go": GO_SHOP, "shop_test.go": GO_BROKEN},
    "none": {"go.mod": GO_MOD, "shop.go": GO_SHOP},
}

CARGO_TOML = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
RUST_SHOP = """
/// The price of some.
pub fn price(count: i32, each: i32) -> i32 {
    if count < 0 {
        panic!("count is below zero: {count}");
    }
    count * each
}
"""
RUST_PASS = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices() {
        assert_eq!(price(2, 3), 6);
    }

    #[test]
    #[ignore = "later"]
    fn later() {
        panic!();
    }
}
"""
RUST_FAIL = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works() {
        println!("test tests::fake ... FAILED");
    }

    #[test]
    fn prices() {
        println!("on the way");
        assert_eq!(price(2, 3), 7, "wrong price");
    }

    #[test]
    fn below_zero() {
        price(-1, 1);
    }

    #[test]
    fn parses() -> Result<(), std::num::ParseIntError> {
        "x".parse::<i32>().map(|_| ())
    }

    #[test]
    #[should_panic]
    fn panics() {}
}
"""
RUST_OUTER = """
#[test]
fn from_outside() {
    assert!(shop::price(1, 1) == 2);
}

#[test]
fn fine() {
    assert_eq!(shop::price(1, 1), 1);
}
"""
RUST_BROKEN = """
#[cfg(test)]
mod tests {
    #[test]
    fn prices() {
        let cost: i32 = "three";
        assert_eq!(super::cost(2, 3), cost);
    }
}
"""

CARGO: dict[str, Project] = {
    "pass": {"Cargo.toml": CARGO_TOML, "src/lib.rs": RUST_SHOP + RUST_PASS},
    "fail": {"Cargo.toml": CARGO_TOML, "src/lib.rs": RUST_SHOP + RUST_FAIL, "tests/outer.rs": RUST_OUTER},
    "broken": {"Cargo.toml": CARGO_TOML, "src/lib.rs": RUST_SHOP + RUST_BROKEN},
    "none": {"Cargo.toml": CARGO_TOML, "src/lib.rs": RUST_SHOP},
}

JS_SHOP = """
function price(count, each) {
  if (count < 0) throw new Error("count is below zero: " + count);
  return count * each;
}
module.exports = { price };
"""


def _package(script: str) -> str:
    return f'{{"name": "shop", "version": "1.0.0", "scripts": {{"test": "{script}"}}}}\n'


JEST_PASS = """
const { price } = require("../shop");
test("a price", () => { expect(price(2, 3)).toBe(6); });
test.skip("later", () => { throw new Error(); });
"""
JEST_FAIL = """
const { price } = require("../shop");

describe("prices", () => {
  test("works", () => { console.log("  ● fake \u203a not a result"); });

  describe("of many", () => {
    test("three times as much", () => {
      expect(price(2, 3)).toBe(7);
    });
  });

  test("below zero", () => {
    price(-1, 1);
  });

  test.todo("more of them");
  test("later", async () => {
    await Promise.reject(new TypeError("rejected\\nin two lines"));
  });
});

test("lists", () => {
  expect([price(1, 1), { a: 1 }]).toEqual([1, { a: 2 }]);
});
"""
JEST_BROKEN = 'const { price } = require("../no-such-shop");\ntest("a price", () => { expect(price(2, 3)).toBe(6); });\n'

JEST: dict[str, Project] = {
    "pass": {"package.json": _package("jest"), "shop.js": JS_SHOP, "test/shop.test.js": JEST_PASS},
    "fail": {
        "package.json": _package("jest"),
        "shop.js": JS_SHOP,
        "test/shop.test.js": JEST_FAIL,
        "test/fine.test.js": JEST_PASS,
        "test/broken.test.js": JEST_BROKEN,
    },
    "broken": {"package.json": _package("jest"), "test/shop.test.js": JEST_BROKEN},
    "none": {"package.json": _package("jest"), "shop.js": JS_SHOP},
}

_VITEST = 'import { describe, expect, test } from "vitest";\nimport { price } from "../shop.mjs";\n'
_ESM_SHOP = JS_SHOP.replace("module.exports = { price };", "export { price };")
VITEST_PASS = _VITEST + JEST_PASS.split("\n", 2)[2]
VITEST_FAIL = _VITEST + JEST_FAIL.split("\n", 2)[2]
VITEST_BROKEN = VITEST_PASS.replace("shop.mjs", "no-such-shop.mjs")

VITEST: dict[str, Project] = {
    "pass": {"package.json": _package("vitest"), "shop.mjs": _ESM_SHOP, "test/shop.test.mjs": VITEST_PASS},
    "fail": {
        "package.json": _package("vitest"),
        "shop.mjs": _ESM_SHOP,
        "test/shop.test.mjs": VITEST_FAIL,
        "test/fine.test.mjs": VITEST_PASS,
        "test/broken.test.mjs": VITEST_BROKEN,
    },
    "broken": {"package.json": _package("vitest"), "test/shop.test.mjs": VITEST_BROKEN},
    "none": {"package.json": _package("vitest"), "shop.mjs": _ESM_SHOP},
}

_MOCHA = 'const assert = require("node:assert");\nconst { price } = require("../shop");\n'
MOCHA_PASS = (
    _MOCHA
    + """
describe("prices", () => {
  it("a price", () => { assert.equal(price(2, 3), 6); });
  it("later");
});
"""
)
MOCHA_FAIL = (
    _MOCHA
    + """
it("fails at once", () => { assert.ok(price(1, 0)); });

describe("prices", () => {
  it("works", () => { console.log("  7 failing"); });

  describe("of many", () => {
    it("three times as much", () => {
      assert.equal(price(2, 3), 7);
    });
  });

  it("below zero", () => {
    price(-1, 1);
  });

  it("later");
  it("lists", () => {
    assert.deepEqual([price(1, 1), { a: 1 }], [1, { a: 2 }]);
  });
});

describe("a store", () => {
  before(() => { throw new TypeError("the store is closed"); });
  it("is open", () => {});
});
"""
)
MOCHA_BROKEN = MOCHA_PASS.replace("../shop", "../no-such-shop")

MOCHA: dict[str, Project] = {
    "pass": {"package.json": _package("mocha"), "shop.js": JS_SHOP, "test/shop.js": MOCHA_PASS},
    "fail": {"package.json": _package("mocha"), "shop.js": JS_SHOP, "test/shop.js": MOCHA_FAIL},
    "broken": {"package.json": _package("mocha"), "test/shop.js": MOCHA_BROKEN},
    "none": {"package.json": _package("mocha"), "shop.js": JS_SHOP},
}

_NODE = 'const { describe, it, test, before } = require("node:test");\n'
NODE_PASS = (
    _NODE
    + _MOCHA
    + """
test("a price", () => { assert.equal(price(2, 3), 6); });
test("later", { skip: true }, () => {});
"""
)
NODE_FAIL = (
    _NODE
    + MOCHA_FAIL
    + """
test("waits", async () => {
  await Promise.reject(new TypeError("rejected\\nin two lines"));
});
test("much to do", { todo: true }, () => {});
"""
)
NODE_BROKEN = _NODE + MOCHA_BROKEN


def _node(script: str) -> dict[str, Project]:
    return {
        "pass": {"package.json": _package(script), "shop.js": JS_SHOP, "test/shop.test.js": NODE_PASS},
        "fail": {
            "package.json": _package(script),
            "shop.js": JS_SHOP,
            "test/shop.test.js": NODE_FAIL,
            "test/fine.test.js": NODE_PASS,
        },
        "broken": {"package.json": _package(script), "test/shop.test.js": NODE_BROKEN},
        "none": {"package.json": _package(script), "shop.js": JS_SHOP},
    }


SPEC = _node("node --test --test-reporter=spec")
TAP = _node("node --test --test-reporter=tap")

PROJECTS: dict[str, dict[str, Project]] = {
    "pytest": PYTEST,
    "unittest": UNITTEST,
    "go": GO,
    "cargo": CARGO,
    "jest": JEST,
    "vitest": VITEST,
    "mocha": MOCHA,
    "spec": SPEC,
    "tap": TAP,
}


def put(folder: Path, project: Project) -> Path:
    """Write a project's files."""
    for name, text in project.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def bare_python(folder: Path, base: str = "") -> None:
    """Give a project a Python of its own, which has no pytest."""
    made_from = base or Path(sys.base_prefix, "bin", "python3")
    subprocess.run([made_from, "-m", "venv", "--without-pip", folder / ".venv"], check=True, capture_output=True)
