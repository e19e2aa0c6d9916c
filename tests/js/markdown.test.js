// Markdown as HTML, and formulas. How it is checked and drawn is tests/server/test_static_markdown.py.

import assert from "node:assert/strict";
import test from "node:test";
import { formulaAt, segmentsOf } from "/static/formulas.js";
import { blocksOf, continuedBlocks, htmlOf, inlineHtmlOf } from "/static/markdown-html.js";

globalThis.location = { href: "https://here.example/page" };

/** A text as HTML without line ends between elements, formulas as {TeX}. */
const written = ({ html, formulas }) => html.replace(/<span data-formula="(\d+)"><\/span>/g, (_, number) => `{${formulas[number].tex}}`)
  .replace(/(^|>)\n+/g, "$1").replace(/\n+(<(?!br))/g, "$1").replaceAll(' rel="noopener noreferrer" target="_blank"', "").trim();
const made = (text) => blocksOf(text).map((block) => written(htmlOf([block])).replace(/^<div>([^]*)<\/div>$/, "$1")).join("");
const line = (text) => written(inlineHtmlOf(text));

const BLOCKS = [
  ["one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"],
  ["# One #\n###### Six\n#none", "<h3>One</h3><h6>Six</h6><p>#none</p>"],
  ["> a\n> > b\n\nc", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>"],
  ["3) a\n4) b", '<ol start="3"><li>a</li><li>b</li></ol>'],
  ["- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"],
  ["- [ ] a\n- [x] b\n- [y] c", "<ul><li>☐ a</li><li>☑ b</li><li>[y] c</li></ul>"],
  ["```python title\na <b>\n\n  c\n```\nd", '<pre data-language="python"><code>a &lt;b&gt;\n\n  c</code></pre><p>d</p>'],
  ["```a\"b\nx", '<pre data-language="a&quot;b"><code>x</code></pre>'],
  ["    indented", "<pre><code>indented</code></pre>"],
  ["a\r\nb\rc", "<p>a\nb\nc</p>"],
  ["|a|b|\n|-|:-:|\n|1|2|", '<div class="table" tabindex="0"><table><thead><tr><th>a</th><th data-align="center">b</th></tr></thead>'
    + '<tbody><tr><td>1</td><td data-align="center">2</td></tr></tbody></table></div>'],
  ["where\n$$\nx = 1\n- y\n$$\n- item", "<p>where</p><p>{x = 1\n- y}</p><ul><li>item</li></ul>"],
  ["1. first\n   \\[\n   a = b\n   \\]\n2. second", "<ol><li>first<p>{a = b}</p></li><li>second</li></ol>"],
  ["[a][1]\n\n[1]: https://docs.example/", '<p><a href="https://docs.example/">a</a></p>'],
  ["<div onclick=x>\n\n<script>", "<p>&lt;div onclick=x&gt;</p><p>&lt;script&gt;</p>"],
  ["", ""],
];
for (const [text, expected] of BLOCKS) {
  test(`the blocks of ${JSON.stringify(text)}`, () => assert.equal(made(text), expected));
}

test("a block of code knows whether its end is still to come", () => {
  const isOpen = (text) => blocksOf(text).map(({ code }) => code?.isOpen ?? false);
  assert.deepEqual(isOpen("```mermaid\npie"), [true]);
  assert.deepEqual(isOpen("```"), [true]);
  assert.deepEqual(isOpen("```mermaid\npie\n```"), [false]);
  assert.deepEqual(isOpen("````\n```\n"), [true]);
  assert.deepEqual(isOpen("~~~\na\n~~~~\nwords"), [false, false]);
});

const LINES = [
  ["***a*** ~~e~~", "<em><strong>a</strong></em> <s>e</s>"],
  ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
  ["[me](mailto:a@b.example)", '<a href="mailto:a@b.example">me</a>'],
  ["[here](/reading/?a=1)", '<a href="/reading/?a=1">here</a>'],
  ["[](https://docs.example/)", '<a href="https://docs.example/">https://docs.example/</a>'],
  ["![pic](https://docs.example/p.png)", '<a href="https://docs.example/p.png">pic</a>'],
  ["![](https://docs.example/p.png)", '<a href="https://docs.example/p.png">https://docs.example/p.png</a>'],
  ["[![pic](https://docs.example/p.png)](https://docs.example/)", '<a href="https://docs.example/">pic</a>'],
  ["See https://docs.example/a_b. Then", 'See <a href="https://docs.example/a_b">https://docs.example/a_b</a>. Then'],
  ["docs.example //docs.example a@docs.example ftp://docs.example", "docs.example //docs.example a@docs.example ftp://docs.example"],
  ["[a](javascript:alert%281%29)", "[a](javascript:alert%281%29)"],
  ["[a](data:text/html,x)", "[a](data:text/html,x)"],
  ["[a](file:///etc/passwd)", "[a](file:///etc/passwd)"],
  ["[a](http://[)", "[a](http://[)"],
  ["Energy: $E = mc^2$, for $m$ in kg.", "Energy: {E = mc^2}, for {m} in kg."],
  ["So \\(a_1 * b_1 * c\\) and \\*b\\*", "So {a_1 * b_1 * c} and *b*"],
];
for (const [text, expected] of LINES) {
  test(`within a line: ${JSON.stringify(text)}`, () => assert.equal(line(text), expected));
}

test("a link carries what keeps the page it leads to from this one", () => {
  assert.equal(inlineHtmlOf("<https://docs.example/>").html,
    '<a href="https://docs.example/" rel="noopener noreferrer" target="_blank">https://docs.example/</a>');
});

test("a block has a key that changes with it, and with the references in it", () => {
  const keys = (text) => blocksOf(text).map(({ key }) => key);
  const [one, two] = keys("a\n\nb");
  assert.deepEqual(keys("a\n\nb c"), [one, `${two} c`]);
  assert.notEqual(keys("[a]\n\n[a]: /x")[0], keys("[a]\n\n[a]: /y")[0]);
});

test("amounts, variables and code are no formulas", () => {
  for (const text of [
    "It costs $5, or $6 with $1 for the bag.", "Between $5 and 10$ a kilo, US$3 and A$4.", "Export $HOME/bin:$PATH and $PWD.",
    "kill $$ and echo $$ again", "\\$x\\$ and \\[1\\] and \\(see below\\)", "$ x $, a$x$b, $$, $x",
  ]) assert.ok(!line(text).includes("{"), text);
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

test("a text that grows has the blocks that it has as a whole", () => {
  const text = "# One\n\n- a\n\n- b\n  ```sh\n  ls\n  ```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nwords\nand more\n===\n\n"
    + "> q\nlazy\n\n$$\nx = 1\n$$\n\nend";
  let before = "", blocks = [];
  for (let end = 0; end <= text.length; end++) {
    const now = text.slice(0, end), grown = continuedBlocks(now, before, blocks);
    assert.deepEqual(grown, blocksOf(now), now);
    [before, blocks] = [now, grown];
  }
  assert.deepEqual(continuedBlocks("other", before, blocks), blocksOf("other"));
});

test("quotes that lie too deep end somewhere", () => {
  assert.ok(made(`${"> ".repeat(90)}end`).startsWith("<blockquote>"));
});
