"""What the outlines of the samples say, node by node."""

# One line a node, so lines are as long as what is said of it.
# ruff: noqa: E501

PYTHON = r"""
doc: Keeps stock / in rows.
8-8 import __future__ | from __future__ import annotations {brings: named __future__: annotations}
10-10 import os | import os, re as regex {brings: namespace os: os}
10-10 import re | import os, re as regex {brings: namespace re: regex}
11-14 import .place | from .place import (Row as R, Bay) {brings: named .place: R Bay}
15-15 import words | from words import * {brings: named words: *}
18-18 import fast | import fast {brings: namespace fast: fast}
20-20 variable fast | fast = None (null)
22-22 import kinds | from kinds import Kind {brings: named kinds: Kind}
24-24 constant MOST | MOST: int = 3 (number) {beside: a row holds no more}
25-25 constant NAME | NAME = "a # b" (string)
26-26 variable first | first = last = [] (array)
26-26 variable last | first = last = [] (array)
27-27 variable a | a, b
27-27 variable b | a, b
28-28 type Item | type Item = str | int
32-57 class Shelf | class Shelf(Base, metaclass=Meta) {above: Where stock lies.} {doc: A shelf.} {with: @final @named("shelf")} {uses: MOST Kind os regex NAME}
 37-37 field size | size: int = 0 (number)
 38-38 field __slots__ | __slots__ = () (array)
 40-42 method full | def full(self) -> bool {beside: or nearly} {with: @property} {uses: rows MOST}
 44-53 method put | async def put(self, item: str, *more: Kind) -> None {doc: Put it there.} {uses: Kind os}
 55-55 method rows | def rows(self) {uses: regex NAME}
 57-57 class Row | class Row
60-60 function double | double = lambda x
61-66 statement  | shelf.items = 3 {uses: Shelf}
"""

JAVASCRIPT = r"""
doc: Keeps stock.
7-7 import ./place.js | import base, { Row, Bay as B } from "./place.js" {brings: mixed ./place.js: base Row B}
8-8 import words | import * as words from 'words' {brings: namespace words: words}
9-9 import ./side.js | import "./side.js" {brings: side_effect ./side.js: }
10-10 import fs | const fs = require("fs") {brings: namespace fs: fs}
11-11 import path | const { join, sep: divider } = require('path') {brings: named path: join divider}
12-12 import ./all.js | export * from "./all.js" {brings: named ./all.js: *}
15-15 constant MOST | export const MOST = 3 (number) {above: Most of a row. More words.} {beside: rows} {doc: Most of a row.}
15-15 constant LEAST | export const LEAST = 1 (number) {above: Most of a row. More words.} {beside: rows} {doc: Most of a row.}
16-16 variable items | let items = [] (array)
17-17 variable first | var { first, ...others } {uses: items}
17-17 variable others | var { first, ...others } {uses: items}
20-29 class Shelf | export default class Shelf extends base.Thing {above: Where stock lies.} {uses: base MOST words}
 21-21 field #count | static #count = 0 (number)
 22-22 field rows | rows = [] (array)
 23-23 method constructor | constructor(size)
 24-24 method full | get full() {uses: count MOST}
 25-25 method all | async *all() {uses: rows}
 26-26 method of | static of(...rows) {uses: Shelf}
 27-27 method count | count() {uses: words rows}
 28-28 method handle | handle = (event) {uses: count}
31-31 function put | export function put(item, place = 1) {uses: join}
32-32 function each | function* each()
33-33 function take | const take = async (item) {uses: put}
34-36 function memoized | const memoized = memo(function (item)
37-43 constant api | const api {uses: put}
 38-38 field put | put
 39-39 function take | take(item)
 40-40 function drop | drop: (item)
 41-41 field limits | limits
 42-42 field name | name = "api" (string)
44-44 variable module.exports | module.exports {uses: Shelf}
 44-44 field Shelf | Shelf
 44-44 function close | close: function ()
45-45 function open | exports.open = function (name)
46-46 constant VERSION | exports.VERSION = "1.0" (string)
47-47 method sort | Shelf.prototype.sort = function (by) {uses: Shelf}
48-49 statement  | app.listen(3000)
51-70 statement a shelf | describe("a shelf", () {uses: items}
 52-54 statement holds | it("holds", ()
 55-58 statement is full | it("is full", ()
 59-61 function helper | function helper()
"""

TYPESCRIPT = r"""
doc: none
1-1 import ./place | import type { Row } from "./place" {brings: named ./place: Row}
2-2 import words | import words = require("words") {brings: namespace words: words}
4-15 class Shelf | export class Shelf<T extends Row> extends Base<T> implements Holder, Named {with: @Component({ name: "shelf" })} {uses: Row Holder}
 6-6 constant MOST | static readonly MOST: number = 3 (number)
 7-7 field rows | private rows: T[] = [] (array)
 8-8 field name | name?: string {with: @Input()}
 9-9 method constructor | constructor(private size: number, readonly place = "here")
 10-10 method full | get full(): boolean
 11-11 method close | abstract close(): void
 12-12 method handle | handle = async (e: Event): Promise<void>
 13-13 field [] | [key: string]: unknown
 14-14 statement  | static { register(); }
17-22 interface Holder | export interface Holder extends Named {uses: Row}
 18-18 field rows | rows: Row[] {uses: Row}
 19-19 method put | put?(item: string): void
 20-20 method () | (item: string): boolean
 21-21 method new | new (size: number): Holder {uses: Holder}
24-24 type Place | export type Place = "left" | "right"
25-25 enum Color | export enum Color
 25-25 constant Red | Red = 1 (number)
 25-25 constant Green | Green
 25-25 constant Blue | Blue = "b" (string)
26-26 constant VERSION | export declare const VERSION: string
27-27 module words | declare module "words"
 27-27 function count | export function count(text: string): number
28-28 module Deep.Down | namespace Deep.Down
 28-28 constant level | export const level = 2 (number)
29-29 interface Window | interface Window {uses: Shelf Row}
 29-29 field shelf | shelf: Shelf<Row> {uses: Shelf Row}
30-30 function put | export function put(item: string): void
31-31 function put | export function put(item: string, place?: Place): void {uses: Place}
32-32 function take | export const take = <T,>(item: T): T
33-33 class Plan | abstract class Plan
"""

TSX = r"""
doc: none
1-1 import react | import React, { useState } from "react" {brings: mixed react: React useState}
3-3 type Props | type Props = { rows: string[] }
5-8 function Shelf | export const Shelf: React.FC<Props> = ({ rows }) {uses: React Props useState Row}
10-12 function Row | export const Row = React.memo(({ name }: { name: string }) {uses: React}
14-14 function App | export default function App(): JSX.Element {uses: Shelf}
"""

GO = r"""
doc: Package shelf keeps stock. / It has rows.
5-5 module shelf | package shelf {above: Package shelf keeps stock. / It has rows.} {doc: Package shelf keeps stock.}
7-7 import fmt | "fmt" {brings: namespace fmt: fmt}
9-9 import os | "os" {brings: namespace os: os}
10-10 import strings | str "strings" {beside: words} {brings: namespace strings: str}
11-11 import math | . "math" {brings: named math: *}
12-12 import embed | _ "embed" {brings: side_effect embed: }
13-13 import gopkg.in/yaml.v3 | "gopkg.in/yaml.v3" {brings: namespace gopkg.in/yaml.v3: yaml}
17-17 constant Most | const Most = 3 (number) {above: Most is how many a row holds. No more.} {doc: Most is how many a row holds.}
19-19 constant Left | Left
20-20 constant Right | Right
21-21 constant Up | Up, Down int = 1 (number)
21-21 constant Down | Up, Down int = 2 (number)
24-24 variable place | var place, row string
24-24 variable row | var place, row string
26-26 variable name | name = "shelf" (string)
30-35 struct Shelf | type Shelf struct {above: Shelf holds rows.} {doc: Shelf holds rows.}
 31-31 field Base | Base
 32-32 field Reader | *io.Reader
 33-33 field Rows | Rows []string {beside: in order}
 34-34 field a | a, b int
 34-34 field b | a, b int
38-38 type ID | ID int
39-39 type Func | Func func(item string) error
40-40 type Alias | Alias = string
43-46 interface Holder | type Holder interface {uses: fmt}
 44-44 method Put | Put(item string) error
 45-45 field fmt.Stringer | fmt.Stringer {uses: fmt}
48-48 struct Pair | type Pair[T any] struct
 48-48 field left | left T
50-50 function New | func New(size int) *Shelf {uses: Shelf}
53-56 method Put | func (s *Shelf) Put(item string, more ...int) (n int, err error) {above: Put lays an item down.} {doc: Put lays an item down.} {uses: Shelf fmt str Most count}
58-58 method count | func (s *Shelf) count() int {uses: Shelf}
59-59 method Left | func (Pair[T]) Left() T {uses: Pair}
60-60 function Map | func Map[T, U any](rows []T) []U
"""

JAVA = r"""
doc: none
1-1 module com.shop.stock | package com.shop.stock
3-3 import java.util | import java.util.List {brings: named java.util: List}
4-4 import java.lang.Math | import static java.lang.Math.* {brings: named java.lang.Math: *}
11-32 class Shelf | public abstract class Shelf<T extends Row> extends Base implements Holder, Named {above: Where stock lies. See {@link Row}. /  / @author Somebody} {doc: Where stock lies.} {with: @Entity @Table(name = "shelf")} {uses: List}
 14-14 constant MOST | private static final int MOST = 3 (number) {beside: rows}
 14-14 constant LEAST | private static final int LEAST = 1 (number) {beside: rows}
 15-16 field name | String name = "a" (string) {with: @Inject}
 17-17 field rows | List<T> rows {uses: List}
 19-19 method Shelf | public Shelf(int size)
 22-23 method put | public <U> void put(T item, int... more) throws Full {above: Lays it down.} {doc: Lays it down.} {with: @Override} {uses: check}
 25-25 method check | private void check(T item) {uses: rows MOST}
 27-27 method size | abstract int size()
 28-28 statement  | static { register(); }
 30-30 enum Side | enum Side
  30-30 constant LEFT | LEFT
  30-30 constant RIGHT | RIGHT(1)
  30-30 field degrees | int degrees
  30-30 method Side | Side()
 31-31 interface Sorted | interface Sorted
  31-31 constant FIRST | int FIRST = 1 (number)
  31-31 method sort | void sort()
  31-31 method reverse | default void reverse()
34-34 class Place | record Place(int row, int bay) implements Named
 34-34 method Place | Place
 34-34 method sum | int sum()
35-35 interface Checked | @interface Checked
 35-35 method value | String value() default "x"
"""

RUST = r"""
doc: Keeps stock.
6-6 import std | use std::io {brings: named std: io}
7-7 import std | use std::{fmt, collections::{self, HashMap as Map, HashSet}} {brings: named std: fmt collections Map HashSet}
8-8 import crate::place | pub use crate::place::* {brings: named crate::place: *}
9-9 import serde | extern crate serde {brings: namespace serde: serde}
10-10 module other | mod other
13-13 constant MOST | pub const MOST: usize = 3 (number) {above: Most of a row. No more.} {beside: rows} {doc: Most of a row.}
14-14 variable NAME | static mut NAME: &str = "shelf" (string)
17-23 struct Shelf | pub struct Shelf<'a, T: Clone> where T: Row {above: Where stock lies.} {doc: Where stock lies.} {with: #[derive(Debug)] #[serde(rename = "s")]} {uses: serde}
 21-21 field rows | pub rows: Vec<T> {above: in order} {doc: in order}
 22-22 field name | name: &'a str
24-24 struct Pair | struct Pair(pub i32, String)
25-25 struct Unit | struct Unit
26-26 enum Side | enum Side
 26-26 constant Left | Left
 26-26 constant Right | Right(i32)
 26-26 constant Up | Up { by: i32 }
27-27 type Rows | type Rows<T> = Vec<T>
29-34 trait Holder | pub trait Holder: Named {uses: io}
 30-30 constant SIZE | const SIZE: usize
 31-31 type Item | type Item
 32-32 method put | fn put(&self, item: &str) -> Result<(), io::Error>
 33-33 method full | fn full(&self) -> bool {uses: put}
36-39 impl Shelf<'_, T> | impl<T> Shelf<'_, T> {uses: Shelf NAME MOST}
 37-37 method new | pub async fn new(size: usize) -> Self {uses: check NAME}
 38-38 method check | fn check(size: usize) -> bool {uses: MOST}
41-44 impl Holder for Shelf<'_, T> | impl<T: Row> Holder for Shelf<'_, T> where T: Clone {uses: Holder Shelf io}
 42-42 type Item | type Item = T
 43-43 method put | fn put(&self, item: &str) -> Result<(), io::Error>
46-46 macro shelf | macro_rules! shelf
47-47 module inner | pub(crate) mod inner
 47-47 function deep | pub fn deep()
48-48 function c_put | fn c_put(item: i32) -> i32
50-51 function holds | fn holds() {with: #[test]} {uses: Map}
"""

C = r"""
doc: Keeps stock. / Not for sale.
5-5 import stdio.h | #include <stdio.h> {brings: side_effect stdio.h: }
6-6 import row.h | #include "row.h" {brings: side_effect row.h: }
7-7 macro MOST | #define MOST = 3 (number)
8-8 macro SQUARE | #define SQUARE(x)
14-19 struct shelf | struct shelf
 15-15 field size | int size {beside: in rows}
 16-16 field names | char *names[3]
 17-17 field compare | int (*compare)(int a, int b)
 18-18 field full | unsigned full : 1
20-20 struct place_t | typedef struct place_t
 20-20 field row | int row
20-20 type place_p | *place_p
21-21 type handler | typedef int (*handler)(int a, char b)
22-22 enum side | enum side
 22-22 constant LEFT | LEFT
 22-22 constant RIGHT | RIGHT = 2 (number)
23-23 struct any | union any
 23-23 field i | int i
 23-23 field f | float f
25-25 constant names | static const char *names[]
26-26 variable count | int count = 3 (number)
26-26 variable last | int *last
26-26 variable table | int table[4]
27-27 function put | extern int put(struct shelf *where, const char *item) {uses: shelf}
28-28 variable hook | int (*hook)(int) = 0 (number)
31-31 function find | static inline char **find(struct shelf *s, const char *item) {above: Where it lies.} {doc: Where it lies.} {uses: shelf put}
32-32 function chooser | int (*chooser(int a))(int) {uses: hook}
34-34 function fast | int fast(void)
36-36 function slow | int slow(void)
38-38 function medium | int medium(void)
40-40 function exported | int exported(int most) {uses: SQUARE}
41-41 struct later | struct later
"""

CPP = r"""
doc: none
2-2 import vector | #include <vector> {brings: side_effect vector: }
3-3 import std | using namespace std {brings: named std: *}
4-4 import std | using std::string {brings: named std: string}
5-5 type Rows | using Rows = std::vector<int>
7-31 module shop::stock | namespace shop::stock
 8-8 module  | namespace
  8-8 variable hidden | int hidden
 11-30 class Shelf | template <typename T, int N = 3> class SHELF_API Shelf : public Base<T>, private Named {above: Where stock lies.} {doc: Where stock lies.}
  14-14 method Shelf | Shelf()
  15-15 method Shelf | explicit Shelf(int size)
  16-16 method ~Shelf | ~Shelf() override = default {uses: Shelf}
  17-17 method put | virtual void put(const T& item) const = 0
  18-18 constant MOST | static constexpr int MOST = 3 (number)
  19-19 method operator== | bool operator==(const Shelf& other) const {uses: Shelf}
  20-20 method operator bool | operator bool() const {uses: full}
  21-21 method full | bool full() const {uses: size_ MOST}
  22-22 method as | template <class U> U as()
  24-24 enum Side | enum class Side : int
   24-24 constant Left | Left
   24-24 constant Right | Right
  25-25 type Item | using Item = T
  26-26 struct Place | struct Place
   26-26 field row | int row
  28-28 field size_ | int size_
  28-28 field next_ | int *next_ = nullptr (null)
  29-29 field hook_ | std::function<void(int)> hook_
33-33 method shop::stock::Shelf<T>::put | template <typename T> void shop::stock::Shelf<T>::put(const T& item) const
34-34 method shop::stock::Shelf::~Shelf | shop::stock::Shelf::~Shelf() {uses: Shelf}
35-35 function operator<< | std::ostream& operator<<(std::ostream& out, const Rows& rows) {uses: Rows}
36-36 struct Hash<int> | template <> struct Hash<int>
37-37 type Big | template <class T> concept Big = sizeof(T) > 4
38-38 function one | extern "C" int one(void)
39-39 function count | auto count(Rows rows) -> int {uses: Rows}
40-40 function TEST(Shelf, Holds) | TEST(Shelf, Holds) {uses: Shelf count}
"""

CSHARP = r"""
doc: none
1-1 import System | using System {brings: named System: *}
2-2 import System.Math | using static System.Math {brings: named System.Math: *}
3-3 import System.Collections.Generic | using Col = System.Collections.Generic {brings: namespace System.Collections.Generic: Col}
5-36 module Shop.Stock | namespace Shop.Stock {uses: Col}
 10-28 class Shelf | public abstract partial class Shelf<T> : Base, IHolder where T : class {above: <summary> / Where stock lies. It has rows. / </summary>} {doc: Where stock lies.} {with: [Serializable, Obsolete("x")]} {uses: IHolder Col Full}
  13-13 constant Most | public const int Most = 3 (number) {beside: rows}
  13-13 constant Least | public const int Least = 1 (number) {beside: rows}
  14-14 field rows | private readonly Col.List<int> rows {uses: Col}
  15-15 field Name | public string Name = "x" (string)
  16-16 field Count | public int Count {uses: rows}
  17-17 method this[] | public T this[int i]
  18-18 method Shelf | public Shelf(int size) : base(size)
  19-19 method ~Shelf | ~Shelf() {uses: Shelf}
  20-20 field Changed | public event EventHandler Changed
  21-21 method operator + | public static Shelf<T> operator +(Shelf<T> a, Shelf<T> b) {uses: Shelf}
  22-22 method operator int | public static implicit operator int(Shelf<T> a) {uses: Shelf}
  23-23 method Put | public async Task<U> Put<U>(T item, params int[] more) where U : new() {uses: Check}
  24-24 method IHolder.Close | void IHolder.Close() {uses: IHolder}
  25-25 method Check | private void Check(T item) {uses: Count Most Full}
  26-26 enum Side | enum Side
   26-26 constant Left | Left
   26-26 constant Right | Right = 2 (number)
  27-27 type Handler | delegate void Handler(int row)
 30-30 interface IHolder | interface IHolder : INamed
  30-30 method Close | void Close()
  30-30 field Size | int Size
 31-31 class Place | record Place(int Row, int Bay)
 32-32 struct Full | struct Full
 34-34 class Debugging | class Debugging
"""

RUBY = r"""
doc: Keeps stock. / Not for sale.
6-6 import json | require 'json' {brings: side_effect json: }
7-7 import place | require_relative "place" {brings: side_effect place: }
8-8 import row | autoload :Row, "row" {brings: named row: Row}
10-10 constant MOST | MOST = 3 (number) {beside: rows}
11-11 constant LEFT | LEFT, RIGHT
11-11 constant RIGHT | LEFT, RIGHT
13-48 module Stock | module Stock {uses: MOST}
 15-47 class Shelf | class Shelf < Base::Thing {above: Where stock lies. It has rows.} {doc: Where stock lies.} {uses: MOST}
  16-16 statement  | include Comparable
  17-17 field rows | attr_accessor :rows, :name
  17-17 field name | attr_accessor :rows, :name
  19-19 constant SIDES | SIDES
  20-20 field @@count | @@count = 0 (number)
  22-25 method initialize | def initialize(size = 1, *rest, key:, **more, &block) {uses: check}
  27-27 method self.build | def self.build(size)
  28-28 method <=> | def <=>(other)
  30-32 method full? | def full? {uses: rows MOST}
  36-36 method check | def check
  37-37 method hidden | private def hidden
  40-40 method made | def made
  43-43 method drawn | define_method(:drawn)
  44-46 class Place | Place = Struct.new(:row, :bay)
   45-45 method sum | def sum
50-50 function top | def top(item)
51-51 statement  | puts "x"
53-53 function turn | def turn
55-55 function double | double = ->(x)
"""

PHP = r"""
doc: Keeps stock.
8-8 module Shop\Stock | namespace Shop\Stock
10-10 import Place | use Place\Row {brings: named Place: Row}
11-11 import Place | use Place\{Bay, Side as S} {brings: named Place: Bay S}
12-12 import Words | use function Words\count_words {brings: named Words: count_words}
13-13 import __DIR__ . '/place.php' | require_once __DIR__ . '/place.php' {brings: side_effect __DIR__ . '/place.php': }
15-15 constant MOST | const MOST = 3 (number) {beside: rows}
15-15 constant LEAST | const LEAST = 1 (number) {beside: rows}
16-16 constant NAME | NAME = 'shelf' (string)
21-32 class Shelf | abstract class Shelf extends Base implements Holder, Named {above: Where stock lies. It has rows.} {doc: Where stock lies.} {with: #[Entity(1)]} {uses: Holder Counts Row MOST}
 24-24 statement  | use Counts {uses: Counts}
 25-25 constant FIRST | public const FIRST = 1 (number)
 26-26 field $size | private ?int $size = 0 (number)
 26-26 field $most | private ?int $most
 27-27 method __construct | public function __construct(private int $rows, protected string $name = "a")
 28-29 method put | public static function put(string $item, int ...$more): ?bool {with: #[Pure]} {uses: check}
 30-30 method check | private static function check(string $item) {uses: Row MOST}
 31-31 method close | abstract protected function close()
34-34 interface Holder | interface Holder extends Named
 34-34 constant A | const A = 1 (number)
 34-34 method close | function close()
35-35 trait Counts | trait Counts
 35-35 field $count | public $count
 35-35 method count | function count()
36-36 enum Side | enum Side: string
 36-36 constant Left | case Left = 'l' (string)
 36-36 constant Right | case Right = 'r' (string)
 36-36 method turn | function turn()
37-37 function top | function top(int $item = 1, &$place): int {uses: count_words}
38-38 function $double | $double = function ($x)
39-39 variable $rows | $rows = [] (array)
40-40 statement  | echo "x"
41-41 function turn | function turn()
"""

KOTLIN = r"""
doc: none
2-2 module com.shop.stock | package com.shop.stock
4-4 import place | import place.Row {brings: named place: Row}
5-5 import place | import place.* {brings: named place: *}
6-6 import place | import place.Bay as B {brings: named place: B}
8-8 constant MOST | const val MOST = 3 (number) {beside: rows}
9-9 variable name | val name: String = "shelf" (string)
10-10 variable size | var size
13-26 class Shelf | data class Shelf<T>(val rows: List<T>, private var label: String = "a") : Base(rows), Holder where T : Any {above: Where stock lies. It has rows.} {doc: Where stock lies.} {with: @Serializable} {uses: Holder MOST Row}
 15-15 field items | val items
 16-18 field count | var count: Int
 19-19 statement  | init { println("x") }
 20-20 method constructor | constructor(label: String) : this(listOf())
 21-21 method put | override suspend fun put(item: T, vararg more: Int): Boolean {uses: check}
 22-22 method check | private fun check(item: T) {uses: items MOST}
 23-23 class Companion | companion object Companion {uses: Row}
  23-23 constant FIRST | const val FIRST = 1 (number)
  23-23 method make | fun make() {uses: Row}
 24-24 class Place | inner class Place
 25-25 enum Side | enum class Side(val degrees: Int)
  25-25 constant LEFT | LEFT(1)
  25-25 constant RIGHT | RIGHT(2)
  25-25 method turn | fun turn()
28-28 interface Holder | interface Holder
 28-28 method close | fun close()
 28-28 field full | val full: Boolean
29-29 class Single | object Single : Holder {uses: Holder}
 29-29 method only | fun only()
30-30 function shelve | fun <T> String.shelve(item: T): Int where T : Any
31-31 variable rows | val String.rows: Int
32-32 type Rows | typealias Rows = Map<String, Int>
33-33 interface Handler | fun interface Handler
 33-33 method handle | fun handle()
34-34 variable left | val (left, right)
34-34 variable right | val (left, right)
"""

SWIFT = r"""
doc: none
1-1 import Foundation | import Foundation {brings: namespace Foundation: Foundation}
2-2 import Stock | @testable import Stock {brings: namespace Stock: Stock}
4-4 constant most | let most = 3 (number) {beside: rows}
5-5 variable size | var size: Int = 1 (number)
5-5 variable name | var name = "shelf" (string)
8-24 class Shelf | public final class Shelf<T>: Base, Holder where T: Row {above: Where stock lies. It has rows.} {doc: Where stock lies.} {with: @objc} {uses: Holder most}
 10-10 constant shared | static let shared {uses: Shelf}
 11-11 field rows | var rows: [T] = [] (array) {with: @Published}
 12-12 field full | var full: Bool {uses: count most}
 13-13 field seen | var seen: Int = 0 (number)
 14-14 method init | init(size: Int)
 15-15 method init | convenience init?(name: String) throws
 16-16 method deinit | deinit
 17-17 method put | func put(_ item: T, at row: Int = 0, more: Int...) async throws -> Bool {uses: check}
 18-18 method check | private func check(_ item: T) -> Bool {uses: full}
 19-19 method count | func count() -> Int
 20-20 method subscript | subscript(i: Int) -> T
 21-21 method + | static func + (left: Shelf, right: Shelf) -> Shelf {uses: Shelf}
 22-22 enum Side | enum Side: Int
  22-22 constant left | case left = 1 (number)
  22-22 constant right | case right
  22-22 constant up | case up(Int)
  22-22 method turn | func turn()
 23-23 type Item | typealias Item = T
26-26 struct Place | struct Place
 26-26 field row | let row, bay: Int
 26-26 field bay | let row, bay: Int
27-27 interface Holder | protocol Holder: AnyObject
 27-27 type Item | associatedtype Item
 27-27 method close | func close() -> Int
 27-27 field size | var size: Int
 27-27 method init | init(size: Int)
28-28 impl Shelf | extension Shelf: Named where T: Big
 28-28 method named | func named()
29-29 function top | func top<T>(_ item: T) -> Int where T: Row
30-30 class Keeper | actor Keeper
 30-30 method keep | func keep()
32-32 function debugging | func debugging()
34-34 function released | func released()
36-36 statement  | print("x")
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
