"""One small file in every language, each with the things that language is read for."""

PYTHON = '''\
#!/usr/bin/env python3
"""Keeps stock
in rows.

Not for sale.
"""

from __future__ import annotations

import os, re as regex
from .place import (
    Row as R,  # renamed
    Bay,
)
from words import *

try:
    import fast
except ImportError:
    fast = None
if TYPE_CHECKING:
    from kinds import Kind

MOST: int = 3  # a row holds no more
NAME = "a # b"
first = last = []
a, b = 1, 2
type Item = str | int


# Where stock lies.
@final
@named("shelf")
class Shelf(Base, metaclass=Meta):
    """A shelf. It has rows."""

    size: int = 0
    __slots__ = ()

    @property
    def full(self) -> bool:  # or nearly
        return len(self.rows()) >= MOST

    async def put(
        self,
        item: str,  # what
        *more: Kind,
    ) -> None:
        """Put it there.

        Or not.
        """
        os.stat(item)

    def rows(self): return regex.findall(".", NAME)

    class Row: pass


double = lambda x: x * 2
shelf.items = 3
print("x")

if __name__ == "__main__":
    main = Shelf()
    main.put("x")
'''

JAVASCRIPT = """\
#!/usr/bin/env node
'use strict';
/**
 * @fileoverview Keeps stock.
 */

import base, { Row, Bay as B } from "./place.js";
import * as words from 'words';
import "./side.js";
const fs = require("fs");
const { join, sep: divider } = require('path');
export * from "./all.js";

/** Most of a row. More words. */
export const MOST = 3, LEAST = 1; // rows
let items = [];
var { first, ...others } = items;

// Where stock lies.
export default class Shelf extends base.Thing {
  static #count = 0;
  rows = [];
  constructor(size) { super(); this.size = size; }
  get full() { return this.count() >= MOST; }
  async *all() { yield* this.rows; }
  static of(...rows) { return new Shelf(rows); }
  count() { return words.count(this.rows); }
  handle = (event) => { this.count(); };
}

export function put(item, place = 1) { return join(item, place); }
function* each() {}
const take = async (item) => put(item);
const memoized = memo(function (item) {
  return item;
});
const api = {
  put,
  take(item) { return item; },
  drop: (item) => item,
  limits: { most: 3 },
  name: "api",
};
module.exports = { Shelf, close: function () {} };
exports.open = function (name) {};
exports.VERSION = "1.0";
Shelf.prototype.sort = function (by) {};
app.listen(3000);
run();

describe("a shelf", () => {
  it("holds", () => {
    expect(1).toBe(1);
  });
  it("is full", () => {
    expect(2).toBe(2);
    expect(3).toBe(3);
  });
  function helper() {
    return 1;
  }
  beforeEach(() => {
    items = [];
  });
  const local = 1;
  expect(local).toBe(1);
  expect(local).toBe(1);
  expect(local).toBe(1);
  expect(local).toBe(1);
});
"""

TYPESCRIPT = """\
import type { Row } from "./place";
import words = require("words");

@Component({ name: "shelf" })
export class Shelf<T extends Row> extends Base<T> implements Holder, Named {
  static readonly MOST: number = 3;
  private rows: T[] = [];
  @Input() name?: string;
  constructor(private size: number, readonly place = "here") { super(); }
  get full(): boolean { return true; }
  abstract close(): void;
  handle = async (e: Event): Promise<void> => { };
  [key: string]: unknown;
  static { register(); }
}

export interface Holder extends Named {
  rows: Row[];
  put?(item: string): void;
  (item: string): boolean;
  new (size: number): Holder;
}

export type Place = "left" | "right";
export enum Color { Red = 1, Green, Blue = "b" }
export declare const VERSION: string;
declare module "words" { export function count(text: string): number; }
namespace Deep.Down { export const level = 2; }
declare global { interface Window { shelf: Shelf<Row> } }
export function put(item: string): void;
export function put(item: string, place?: Place): void { }
export const take = <T,>(item: T): T => item;
abstract class Plan { }
"""

TSX = """\
import React, { useState } from "react";

type Props = { rows: string[] };

export const Shelf: React.FC<Props> = ({ rows }) => {
  const [open, setOpen] = useState(false);
  return <ul onClick={() => setOpen(!open)}>{rows.map((row) => <Row key={row} name={row} />)}</ul>;
};

export const Row = React.memo(({ name }: { name: string }) => {
  return <li>{name}</li>;
});

export default function App(): JSX.Element { return <Shelf rows={[]} />; }
"""

GO = """\
// Copyright 2024 Somebody. All rights reserved.

// Package shelf keeps stock.
// It has rows.
package shelf

import "fmt"
import (
\t"os"
\tstr "strings" // words
\t. "math"
\t_ "embed"
\t"gopkg.in/yaml.v3"
)

// Most is how many a row holds. No more.
const Most = 3
const (
\tLeft = iota
\tRight
\tUp, Down int = 1, 2
)

var place, row string
var (
\tname = "shelf"
)

// Shelf holds rows.
type Shelf struct {
\tBase
\t*io.Reader
\tRows []string `json:"rows"` // in order
\ta, b int
}

type (
\tID    int
\tFunc  func(item string) error
\tAlias = string
)

type Holder interface {
\tPut(item string) error
\tfmt.Stringer
}

type Pair[T any] struct{ left T }

func New(size int) *Shelf { return &Shelf{} }

// Put lays an item down.
func (s *Shelf) Put(item string, more ...int) (n int, err error) {
\tfmt.Println(str.ToUpper(item), Most)
\treturn s.count(), nil
}

func (s *Shelf) count() int { return len(s.Rows) }
func (Pair[T]) Left() T { }
func Map[T, U any](rows []T) []U { return nil }
"""

JAVA = """\
package com.shop.stock;

import java.util.List;
import static java.lang.Math.*;

/**
 * Where stock lies. See {@link Row}.
 *
 * @author Somebody
 */
@Entity
@Table(name = "shelf")
public abstract class Shelf<T extends Row> extends Base implements Holder, Named {
  private static final int MOST = 3, LEAST = 1; // rows
  @Inject
  String name = "a";
  List<T> rows;

  public Shelf(int size) { super(size); }

  /** Lays it down. */
  @Override
  public <U> void put(T item, int... more) throws Full { check(item); }

  private void check(T item) { assert rows.size() < MOST; }

  abstract int size();
  static { register(); }

  enum Side { LEFT, RIGHT(1) { void turn() {} }; int degrees; Side() {} }
  interface Sorted { int FIRST = 1; void sort(); default void reverse() {} }
}

record Place(int row, int bay) implements Named { Place { } int sum() { return row + bay; } }
@interface Checked { String value() default "x"; }
"""

RUST = """\
//! Keeps stock.
//!
//! Not for sale.
#![allow(dead_code)]

use std::io;
use std::{fmt, collections::{self, HashMap as Map, HashSet}};
pub use crate::place::*;
extern crate serde;
mod other;

/// Most of a row. No more.
pub const MOST: usize = 3; // rows
static mut NAME: &str = "shelf";

/// Where stock lies.
#[derive(Debug)]
#[serde(rename = "s")]
pub struct Shelf<'a, T: Clone> where T: Row {
    /// in order
    pub rows: Vec<T>,
    name: &'a str,
}
struct Pair(pub i32, String);
struct Unit;
enum Side { Left, Right(i32), Up { by: i32 } }
type Rows<T> = Vec<T>;

pub trait Holder: Named {
    const SIZE: usize;
    type Item;
    fn put(&self, item: &str) -> Result<(), io::Error>;
    fn full(&self) -> bool { self.put("x").is_err() }
}

impl<T> Shelf<'_, T> {
    pub async fn new(size: usize) -> Self { Self::check(size); unsafe { NAME } }
    fn check(size: usize) -> bool { size < MOST }
}

impl<T: Row> Holder for Shelf<'_, T> where T: Clone {
    type Item = T;
    fn put(&self, item: &str) -> Result<(), io::Error> { Ok(()) }
}

macro_rules! shelf { ($x:expr) => { $x }; }
pub(crate) mod inner { pub fn deep() {} }
extern "C" { fn c_put(item: i32) -> i32; }

#[test]
fn holds() { let m: Map<i32, i32> = Map::new(); }
"""

C = """\
/* Keeps stock.
 * Not for sale. */
#ifndef SHELF_H
#define SHELF_H
#include <stdio.h>
#include "row.h"
#define MOST 3
#define SQUARE(x) ((x) * (x))

#ifdef __cplusplus
extern "C" {
#endif

struct shelf {
    int size; /* in rows */
    char *names[3];
    int (*compare)(int a, int b);
    unsigned full : 1;
};
typedef struct { int row; } place_t, *place_p;
typedef int (*handler)(int a, char b);
enum side { LEFT, RIGHT = 2 };
union any { int i; float f; };

static const char *names[] = { "a", "b" };
int count = 3, *last, table[4];
extern int put(struct shelf *where, const char *item);
int (*hook)(int) = 0;

/** Where it lies. */
static inline char **find(struct shelf *s, const char *item) { return put(s, item) ? s->names : 0; }
int (*chooser(int a))(int) { return hook; }
#if defined(FAST)
int fast(void);
#elif SLOW
int slow(void);
#else
int medium(void);
#endif
SHELF_API int exported(int most) { return SQUARE(most); }
struct later;

#ifdef __cplusplus
}
#endif
#endif
"""

CPP = """\
#pragma once
#include <vector>
using namespace std;
using std::string;
using Rows = std::vector<int>;

namespace shop::stock {
namespace { int hidden; }

/// Where stock lies.
template <typename T, int N = 3>
class SHELF_API Shelf : public Base<T>, private Named {
public:
  Shelf();
  explicit Shelf(int size) : size_(size) {}
  ~Shelf() override = default;
  virtual void put(const T& item) const = 0;
  static constexpr int MOST = 3;
  bool operator==(const Shelf& other) const;
  operator bool() const { return full(); }
  bool full() const { return size_ == MOST; }
  template <class U> U as();
  friend class Row;
  enum class Side : int { Left, Right };
  using Item = T;
  struct Place { int row; };
private:
  int size_, *next_ = nullptr;
  std::function<void(int)> hook_;
};
}

template <typename T> void shop::stock::Shelf<T>::put(const T& item) const { }
shop::stock::Shelf::~Shelf() {}
std::ostream& operator<<(std::ostream& out, const Rows& rows) { return out; }
template <> struct Hash<int> { };
template <class T> concept Big = sizeof(T) > 4;
extern "C" int one(void);
auto count(Rows rows) -> int { return rows.size(); }
TEST(Shelf, Holds) { count({}); }
"""

CSHARP = """\
using System;
using static System.Math;
using Col = System.Collections.Generic;

namespace Shop.Stock
{
    /// <summary>
    /// Where stock lies. It has rows.
    /// </summary>
    [Serializable, Obsolete("x")]
    public abstract partial class Shelf<T> : Base, IHolder where T : class
    {
        public const int Most = 3, Least = 1; // rows
        private readonly Col.List<int> rows = new();
        public string Name { get; set; } = "x";
        public int Count => rows.Count;
        public T this[int i] { get { return default; } }
        public Shelf(int size) : base(size) { }
        ~Shelf() { }
        public event EventHandler Changed;
        public static Shelf<T> operator +(Shelf<T> a, Shelf<T> b) => a;
        public static implicit operator int(Shelf<T> a) => 1;
        public async Task<U> Put<U>(T item, params int[] more) where U : new() { Check(item); }
        void IHolder.Close() { }
        private void Check(T item) { if (Count > Most) throw new Full(); }
        enum Side { Left, Right = 2 }
        delegate void Handler(int row);
    }

    interface IHolder : INamed { void Close(); int Size { get; } }
    record Place(int Row, int Bay);
    struct Full { }
#if DEBUG
    class Debugging { }
#endif
}
"""

RUBY = """\
# frozen_string_literal: true

# Keeps stock.
# Not for sale.

require 'json'
require_relative "place"
autoload :Row, "row"

MOST = 3 # rows
LEFT, RIGHT = 1, 2

module Stock
  # Where stock lies. It has rows.
  class Shelf < Base::Thing
    include Comparable
    attr_accessor :rows, :name

    SIDES = %w[left right].freeze
    @@count = 0

    def initialize(size = 1, *rest, key:, **more, &block)
      @size = size
      check
    end

    def self.build(size) = new(size)
    def <=>(other); end

    def full?
      rows.size >= MOST
    end

    private

    def check; end
    private def hidden; end

    class << self
      def made; end
    end

    define_method(:drawn) { |x| x }
    Place = Struct.new(:row, :bay) do
      def sum; end
    end
  end
end

def top(item) = puts(item)
puts "x"
if fast
  def turn; end
end
double = ->(x) { x * 2 }
__END__
class No; end
"""

PHP = """\
<?php
/**
 * Keeps stock.
 */

declare(strict_types=1);

namespace Shop\\Stock;

use Place\\Row;
use Place\\{Bay, Side as S};
use function Words\\count_words;
require_once __DIR__ . '/place.php';

const MOST = 3, LEAST = 1; // rows
define('NAME', 'shelf');

/**
 * Where stock lies. It has rows.
 */
#[Entity(1)]
abstract class Shelf extends Base implements Holder, Named
{
    use Counts;
    public const FIRST = 1;
    private ?int $size = 0, $most;
    public function __construct(private int $rows, protected string $name = "a") { }
    #[Pure]
    public static function put(string $item, int ...$more): ?bool { return self::check($item); }
    private static function check(string $item) { return new Row(MOST); }
    abstract protected function close();
}

interface Holder extends Named { const A = 1; function close(); }
trait Counts { public $count; function count() {} }
enum Side: string { case Left = 'l'; case Right = 'r'; function turn() {} }
function top(int $item = 1, &$place): int { return count_words($item); }
$double = function ($x) { };
$rows = [];
echo "x";
if (!function_exists('turn')) { function turn() {} }
?>
<html><body>class No {}</body></html>
"""

KOTLIN = """\
@file:JvmName("Stock")
package com.shop.stock

import place.Row
import place.*
import place.Bay as B

const val MOST = 3 // rows
val name: String = "shelf"
var size by lazy { 1 }

/** Where stock lies. It has rows. */
@Serializable
data class Shelf<T>(val rows: List<T>, private var label: String = "a") : Base(rows), Holder where T : Any {
    val items = mutableListOf<T>()
    var count: Int
        get() = 1
        set(value) { }
    init { println("x") }
    constructor(label: String) : this(listOf())
    override suspend fun put(item: T, vararg more: Int): Boolean { return check(item) }
    private fun check(item: T) = items.size < MOST
    companion object { const val FIRST = 1; fun make() = Row() }
    inner class Place
    enum class Side(val degrees: Int) { LEFT(1), RIGHT(2); fun turn() {} }
}

interface Holder { fun close(); val full: Boolean }
object Single : Holder { fun only() {} }
fun <T> String.shelve(item: T): Int where T : Any = 1
val String.rows: Int get() = 1
typealias Rows = Map<String, Int>
fun interface Handler { fun handle() }
val (left, right) = 1 to 2
"""

SWIFT = """\
import Foundation
@testable import Stock

let most = 3 // rows
var size: Int = 1, name = "shelf"

/// Where stock lies. It has rows.
@objc
public final class Shelf<T>: Base, Holder where T: Row {
    static let shared = Shelf()
    @Published var rows: [T] = []
    var full: Bool { return count() >= most }
    var seen: Int = 0 { didSet { } }
    init(size: Int) { }
    convenience init?(name: String) throws { }
    deinit { }
    func put(_ item: T, at row: Int = 0, more: Int...) async throws -> Bool { check(item) }
    private func check(_ item: T) -> Bool { self.full }
    func count() -> Int { 1 }
    subscript(i: Int) -> T { get { } }
    static func + (left: Shelf, right: Shelf) -> Shelf { }
    enum Side: Int { case left = 1, right; case up(Int); func turn() {} }
    typealias Item = T
}

struct Place { let row, bay: Int }
protocol Holder: AnyObject { associatedtype Item; func close() -> Int; var size: Int { get set }; init(size: Int) }
extension Shelf: Named where T: Big { func named() {} }
func top<T>(_ item: T) -> Int where T: Row { 1 }
actor Keeper { func keep() {} }
#if DEBUG
func debugging() {}
#else
func released() {}
#endif
print("x")
"""

BY_LANGUAGE = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TSX,
    "go": GO,
    "java": JAVA,
    "rust": RUST,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "ruby": RUBY,
    "php": PHP,
    "kotlin": KOTLIN,
    "swift": SWIFT,
}
