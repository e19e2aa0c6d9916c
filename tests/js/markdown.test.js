// Markdown as data: blocks, what stands within a line, and formulas. How they are drawn is tests/server/test_static_markdown.py.

import assert from "node:assert/strict";
import test from "node:test";
import { formulaAt, segmentsOf } from "/static/formulas.js";
import { inline } from "/static/inline.js";
import { blocksIn } from "/static/markdown-blocks.js";

globalThis.location = { href: "https://here.example/page" };

/** Pieces as markup, to be read in a test. */
const written = (pieces) => pieces.map((piece) => {
  if (typeof piece === "string") return piece;
  if (piece.formula) return `{${piece.formula.tex}}`;
  return `<${piece.tag}${piece.attributes ? ` ${piece.attributes.href}` : ""}>${written(piece.pieces)}</>`;
}).join("");

/** Blocks as markup. */
const shape = (blocks) => blocks.map((block) => {
  switch (block.kind) {
    case "code": return `code[${block.language}](${block.text})`;
    case "math": return `math(${block.formula.tex})`;
    case "heading": return `h${block.level}(${block.text})`;
    case "rule": return "rule";
    case "quote": return `quote(${shape(block.blocks)})`;
    case "list": return `${Number.isNaN(block.start) ? "ul" : `ol${block.start}`}${block.isLoose ? "~" : ""}(${
      block.items.map((item) => shape(item.blocks)).join("; ")})`;
    case "table": return `table(${[block.head, block.aligned.map(String)].join("|")}|${block.rows.map(String).join("/")})`;
    default: return `p(${block.text})`;
  }
}).join(" ");

const BLOCKS = [
  ["one\ntwo\n\nthree", "p(one\ntwo) p(three)"],
  ["# One #\n###### Six\n#none", "h1(One) h6(Six) p(#none)"],
  ["#", "h1()"],
  ["a\n***\n- - -\nb", "p(a) rule rule p(b)"],
  ["> a\n> > b\n\nc", "quote(p(a) quote(p(b))) p(c)"],
  ["- a\n- b\n\n* c", "ul(p(a); p(b)) ul(p(c))"],
  ["1. a\n2. b\n", "ol1(p(a); p(b))"],
  ["3) a\n4) b", "ol3(p(a); p(b))"],
  ["- a\n\n- b", "ul~(p(a); p(b))"],
  ["1. a\n  - b\n    - c\n2. d", "ol1(p(a) ul(p(b) ul(p(c))); p(d))"],
  ["- a\n  more\nlazy\n- b", "ul(p(a\nmore\nlazy); p(b))"],
  ["- a\n  ```sh\n  ls\n  ```\nb", "ul(p(a) code[sh](ls)) p(b)"],
  ["-\n- a", "ul(; p(a))"],
  ["Tools:\n- a\n- b", "p(Tools:) ul(p(a); p(b))"],
  ["```python title\na <b>\n\n  c\n```\nd", "code[python](a <b>\n\n  c) p(d)"],
  ["~~~~\n```\n~~~\n~~~~", "code[](```\n~~~)"],
  ["```yaml\na: 1\n", "code[yaml](a: 1\n)"],
  ["a\r\nb\rc", "p(a\nb\nc)"],
  ["| a | b |\n|---|:-:|\n| 1 \\| 2 | x |\n| 3 |", "table(a,b|null,center|1 | 2,x/3)"],
  ["a | b\n---", "p(a | b) rule"],
  ["where\n$$\nx = 1\n- y\n$$\n- item", "p(where) math(x = 1\n- y) ul(p(item))"],
  ["", ""],
  ["  \n\n ", ""],
];
for (const [text, expected] of BLOCKS) {
  test(`the blocks of ${JSON.stringify(text)}`, () => assert.equal(shape(blocksIn(text)), expected));
}

const LINES = [
  ["*a* _b_ **c** __d__ ~~e~~", "<em>a</> <em>b</> <strong>c</> <strong>d</> <del>e</>"],
  ["***a*** **b *c***", "<em><strong>a</></> <strong>b <em>c</></>"],
  ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
  ["**open *and **", "**open *and **"],
  ["*a _b* c_", "<em>a _b</> c_"],
  ["a ~ b ~~ c ~d~", "a ~ b ~~ c ~d~"],
  ["Bäume**fett**ä *x*.", "Bäume<strong>fett</>ä <em>x</>."],
  ["\\*a\\* \\\\ \\a", "*a* \\ \\a"],
  ["`*a*` `` b`c `` ` d ` `e", "<code>*a*</> <code>b`c</> <code>d</> `e"],
  ["`a\nb`", "<code>a b</>"],
  ["one  \ntwo\\\nthree\nfour", "one<br></>two<br></>three\nfour"],
  ["[a *b*](https://docs.example/x_(1) 'T')", "<a https://docs.example/x_(1)>a <em>b</></>"],
  ["[a](<http://docs.example/a b>)", "<a http://docs.example/a%20b>a</>"],
  ["[me](mailto:a@b.example)", "<a mailto:a@b.example>me</>"],
  ["[here](/reading/?a=1)", "<a https://here.example/reading/?a=1>here</>"],
  ["![pic](https://docs.example/p.png)", "<a https://docs.example/p.png>pic</>"],
  ["See https://docs.example/a_b. Then", "See <a https://docs.example/a_b>https://docs.example/a_b</>. Then"],
  ["[a](javascript:alert%281%29)", "[a](javascript:alert%281%29)"],
  ["[a](data:text/html,x)", "[a](data:text/html,x)"],
  ["[a](file:///etc/passwd)", "[a](file:///etc/passwd)"],
  ["[a](http://[)", "[a](http://[)"],
  ["<img src=x>", "<img src=x>"],
  ["Energy: $E = mc^2$, for $m$ in kg.", "Energy: {E = mc^2}, for {m} in kg."],
];
for (const [text, expected] of LINES) {
  test(`within a line: ${JSON.stringify(text)}`, () => assert.equal(written(inline(text)), expected));
}

test("a link carries what keeps the page it leads to from this one", () => {
  const [{ attributes }] = inline("<https://docs.example/>");
  assert.deepEqual(attributes, { href: "https://docs.example/", rel: "noopener noreferrer", target: "_blank" });
});

test("amounts, variables and code are no formulas", () => {
  for (const text of [
    "It costs $5, or $6 with $1 for the bag.", "Between $5 and 10$ a kilo, US$3 and A$4.", "Export $HOME/bin:$PATH and $PWD.",
    "kill $$ and echo $$ again", "\\$x\\$ and \\[1\\] and \\(see below\\)", "$ x $, a$x$b, $$, $x",
  ]) assert.ok(!written(inline(text)).includes("{"), text);
});

test("a formula says where it ends and whether it has a line of its own", () => {
  assert.deepEqual(formulaAt("so \\[x_1 = 2\\] too", 3), { tex: "x_1 = 2", source: "\\[x_1 = 2\\]", isDisplay: true, end: 14 });
  assert.equal(formulaAt("$x", 0), null);
});

test("a text in segments is the whole text, formulas among it", () => {
  const text = "It costs $5 for $n$ of them: $5n$.", segments = segmentsOf(text);
  assert.equal(segments.map(({ start, end }) => text.slice(start, end)).join(""), text);
  assert.deepEqual(segments.flatMap(({ tex }) => tex ?? []), ["n", "5n"]);
});

test("quotes that lie too deep are a paragraph, and none is lost", () => {
  const text = `${"> ".repeat(40)}end`;
  assert.ok(shape(blocksIn(text)).includes("end"));
});
