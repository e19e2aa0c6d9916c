// Languages: how their files end, and what is tinted in them. One pass over a text finds comments, strings and keywords; nothing
// is parsed, so a tint may be wrong where a language is odd. It changes colours only.

const LINE = "\\/\\/[^\\n]*", SPAN = "\\/\\*[^]*?(?:\\*\\/|$)", HASH = "#[^\\n]*";
const SLASHES = [LINE, SPAN];
const DOUBLE = `"(?:\\\\.|[^"\\\\\\n])*"?`, SINGLE = `'(?:\\\\.|[^'\\\\\\n])*'?`, LETTER = `'(?:\\\\[^'\\n]+|[^'\\\\\\n])'`;
const BACKTICKS = "`(?:\\\\[^]|[^`\\\\])*(?:`|$)", THREE = `"""[^]*?(?:"""|$)`, THREE_SINGLE = `'''[^]*?(?:'''|$)`;
const DOCSTRING = `(?=["']{3})(?<=(?:^|\\n)[ \\t]*)(?:${THREE}|${THREE_SINGLE})`;
const SCRIPT = `
  async await break case catch class const continue debugger default delete do else export extends false finally for from
  function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined
  var void while with yield`;
const TYPED = `
  ${SCRIPT} abstract any as boolean declare enum implements interface keyof namespace never number private protected
  public readonly satisfies string type unknown`;
const C = `
  auto bool break case char const continue default do double else enum extern false float for goto if inline int long
  register return short signed sizeof static struct switch true typedef union unsigned void volatile while NULL`;

/** @typedef {[string, string]} Piece a kind, and text of it */

/**
 * A row for each language: its title, how its files end, its comments, its strings, its keywords.
 * @type {Record<string, [string, string, string[], string[], string]>}
 */
const LANGUAGES = {
  python: ["Python", "py pyi pyw pyx", [HASH, DOCSTRING], [THREE, THREE_SINGLE, DOUBLE, SINGLE], `
    and as assert async await break case class continue def del elif else except False finally for from global if import in
    is lambda match None nonlocal not or pass raise return True try while with yield`],
  javascript: ["JavaScript", "js jsx mjs cjs", SLASHES, [DOUBLE, SINGLE, BACKTICKS], SCRIPT],
  typescript: ["TypeScript", "ts mts cts", SLASHES, [DOUBLE, SINGLE, BACKTICKS], TYPED],
  tsx: ["TSX", "tsx", SLASHES, [DOUBLE, SINGLE, BACKTICKS], TYPED],
  go: ["Go", "go", SLASHES, [DOUBLE, LETTER, "`[^`]*(?:`|$)"], `
    break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package
    range return select struct switch true type var`],
  java: ["Java", "java", SLASHES, [THREE, DOUBLE, LETTER], `
    abstract assert boolean break byte case catch char class const continue default do double else enum extends false final
    finally float for if implements import instanceof int interface long native new null package private protected public
    record return sealed short static super switch synchronized this throw throws transient true try var void volatile while`],
  rust: ["Rust", "rs", SLASHES, [`r#"[^]*?(?:"#|$)`, `"(?:\\\\[^]|[^"\\\\])*(?:"|$)`, LETTER], `
    as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub
    ref return self Self static struct super trait true type unsafe use where while`],
  c: ["C", "c h", SLASHES, [DOUBLE, LETTER], C],
  cpp: ["C++", "cpp cc cxx hpp hh hxx cu ino", SLASHES, [DOUBLE, LETTER], `
    ${C} catch class constexpr decltype delete explicit final friend mutable namespace new noexcept nullptr operator
    override private protected public template this throw try typename using virtual`],
  csharp: ["C#", "cs csx", SLASHES, [THREE, DOUBLE, LETTER], `
    abstract as async await base bool break case catch char class const continue decimal default delegate do double else
    enum event explicit false finally fixed float for foreach get if implicit in init int interface internal is lock long
    namespace new null object operator out override params private protected public readonly record ref return sealed set
    short static string struct switch this throw true try typeof uint using var virtual void when where while yield`],
  ruby: ["Ruby", "rb rake gemspec ru", [HASH], [DOUBLE, SINGLE], `
    alias and begin break case class def do else elsif end ensure false for if in module next nil not or private protected
    public raise redo require require_relative rescue retry return self super then true undef unless until when while yield`],
  php: ["PHP", "php phtml inc", [...SLASHES, HASH], [DOUBLE, SINGLE], `
    abstract as break case catch class const continue declare default do echo else elseif enum extends false final finally
    fn for foreach function global if implements instanceof interface match namespace new null private protected public
    readonly return static switch this throw trait true try use var while yield`],
  kotlin: ["Kotlin", "kt kts", SLASHES, [THREE, DOUBLE, LETTER], `
    abstract as break by class companion const constructor continue data do else enum false final finally for fun if import
    in init inline interface internal is lateinit null object open override package private protected public return sealed
    super suspend this throw true try typealias val var when while`],
  swift: ["Swift", "swift", SLASHES, [THREE, DOUBLE], `
    actor as associatedtype async await break case catch class continue default defer do else enum extension false
    fileprivate final for func guard if import in init inout internal is let mutating nil open override private protocol
    public return self Self static struct super switch throw throws true try typealias var where while`],
};
const KINDS = ["comment", "string", "keyword"];
const TOO_LONG = 2_000_000;  // characters; more than that stays plain

/** Every language as [name, title]. */
export function languages() {
  return Object.entries(LANGUAGES).map(([name, [title]]) => [name, title]);
}

/** What people call a language. @param {string} language */
export function titleOf(language) {
  return LANGUAGES[language]?.[0] ?? language ?? "";
}

/** What a file is written in, told by the end of its name; "" where it tells nothing. @param {string} filename */
export function languageOf(filename) {
  const ending = filename.toLowerCase().match(/\.([^./\\]+)$/)?.[1];
  return Object.keys(LANGUAGES).find((name) => LANGUAGES[name][1].split(" ").includes(ending ?? "")) ?? "";
}

/**
 * The lines of a text, each a list of pieces: [kind, text], the kind "" for what is plain.
 * @param {string} text @param {string} language
 */
export function tinted(text, language) {
  /** @type {Piece[][]} */
  const lines = [[]];
  let end = 0;
  for (const match of language in LANGUAGES && text.length < TOO_LONG ? text.matchAll(patternOf(language)) : []) {
    append(lines, "", text.slice(end, match.index));
    append(lines, KINDS[match.slice(1).findIndex(Boolean)], match[0]);
    end = match.index + match[0].length;
  }
  append(lines, "", text.slice(end));
  return lines;
}

/** @param {Piece[][]} lines @param {string} kind @param {string} text */
function append(lines, kind, text) {
  for (const [number, part] of text.split("\n").entries()) {
    if (number) lines.push([]);
    if (part) lines[lines.length - 1].push([kind, part]);
  }
}

/** @param {string} language */
function patternOf(language) {
  const [, , comments, strings, keywords] = LANGUAGES[language];
  return new RegExp(`(${comments.join("|")})|(${strings.join("|")})|\\b(${keywords.trim().split(/\s+/).join("|")})\\b`, "g");
}
