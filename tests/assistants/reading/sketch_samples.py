"""One file in each language, as people write them: a licence, imports, a type with its methods, something private, functions."""

SAMPLES = {
    "python": '''# Copyright 2024 Somebody. All rights reserved.
import typing as t
from functools import lru_cache

T = t.TypeVar("T")
_AnyCallable = t.Callable[..., t.Any]
Rows: t.TypeAlias = "list[int]"
LIMIT = 10


@t.overload
def find(key: str) -> int: ...
@t.overload
def find(key: int) -> str: ...
def find(key):
    """Find an entry by its key, or a key by its entry."""
    return _scan(key)


def _scan(key):
    for number in range(LIMIT):
        if number == key:
            return number


class Ledger:
    """Keeps entries in the order in which
    they were made. Not safe for threads.
    """

    def add(self, entry):
        self.entries.append(entry)

    def _sort(self):
        self.entries.sort()

    def total(self):
        return sum(self.entries)


def export(ledger):
    """Write a ledger to a file."""
    return str(ledger.total())
''',
    "javascript": """/*!
 * ledger
 * Copyright(c) 2024 Somebody
 * MIT Licensed
 */

'use strict'

/**
 * Module dependencies.
 * @private
 */

var fs = require('node:fs')
var path = require('node:path')

/**
 * Keeps entries in the order in which they were made.
 *
 * @param {String} file
 * @api public
 */

class Ledger {
  constructor(file) {
    this.file = file
  }

  add(entry) {
    this.entries.push(entry)
  }

  total() {
    return this.entries.length
  }
}

/**
 * Find an entry by its key.
 */

function find(ledger, key) {
  return ledger.entries[_scan(key)]
}

function _scan(key) {
  return path.join(key)
}

function exportAll(ledger) {
  return fs.writeFileSync(ledger.file, ledger.total())
}

module.exports = Ledger
""",
    "typescript": """// eslint-disable-next-line
import { open } from "node:fs";

export type Key = string | number;

/** Keeps entries in the order in which they were made. */
export class Ledger {
  private entries: Key[] = [];

  add(entry: Key): void {
    this.entries.push(entry);
  }

  total(): number {
    return this.entries.length;
  }
}

export function find(key: string): number;
export function find(key: number): string;
/** Find an entry by its key. */
export function find(key: Key): Key {
  return _scan(key);
}

function _scan(key: Key): Key {
  return key;
}

export function exportAll(ledger: Ledger): void {
  open(String(ledger.total()), () => {});
}
""",
    "go": """// Copyright 2024 Somebody. Use of this source code is governed by a license.

package books

import "fmt"

const limit = 10

// Ledger keeps entries in the order in which they were made. It isn't safe for threads.
type Ledger struct {
	entries []int
}

type reader interface {
	read() int
}

// Add appends an entry.
func (l *Ledger) Add(entry int) {
	l.entries = append(l.entries, entry)
}

// Find finds an entry by its key.
func Find(l *Ledger, key int) int {
	return scan(l, key)
}

func scan(l *Ledger, key int) int {
	for i := range l.entries {
		if i == key && i < limit {
			return i
		}
	}
	return -1
}

// Export writes a ledger to a file.
func Export(l *Ledger) string {
	return fmt.Sprint(l.Total())
}

// Total returns the number of entries.
func (l *Ledger) Total() int {
	return len(l.entries)
}
""",
    "csharp": """// Licensed to Somebody under the MIT license.
using System;

namespace Books
{
    /// <summary>
    /// Keeps entries in the order in which they were made.
    /// </summary>
    public class Ledger
    {
        private int count;

        public void Add(int entry)
        {
            count += entry;
        }

        private void Sort()
        {
            count = 0;
        }

        public int Total()
        {
            return count;
        }
    }

    public interface IExport
    {
        string Export(Ledger ledger);
    }

    public enum Side { Debit, Credit }
}
""",
    "cpp": """// Copyright 2024 Somebody
#include <vector>

static const int limit = 10;

/** Keeps entries in the order in which they were made. */
class Ledger {
 public:
  void add(int entry);
  int total() const;

 private:
  std::vector<int> entries_;
};

void Ledger::add(int entry) {
  entries_.push_back(entry);
}

static int scan(const Ledger& ledger, int key) {
  return ledger.total() + key;
}

/** Find an entry by its key. */
int find(const Ledger& ledger, int key) {
  return scan(ledger, key);
}

/** Write a ledger to a file. */
void export_all(const Ledger& ledger) {
  find(ledger, limit);
}

int Ledger::total() const {
  return entries_.size();
}
""",
    "ruby": """# frozen_string_literal: true

require 'set'

# Keeps entries in the order in which they were made. Not safe for threads.
class Ledger
  def add(entry)
    @entries << entry
  end

  def total
    @entries.sum
  end
end

# Find an entry by its key.
def find(ledger, key)
  _scan(ledger, key)
end

def _scan(ledger, key)
  ledger.total + key
end

def export(ledger)
  ledger.total.to_s
end
""",
    "java": """/*
 * Copyright 2024 Somebody. Licensed under the Apache License.
 */
package books;

import java.util.List;

/**
 * Keeps entries in the order in which they were made.
 *
 * @author somebody
 */
public class Ledger {
    private List<Integer> entries;

    public void add(int entry) {
        entries.add(entry);
    }

    private void sort() {
        entries.sort(null);
    }

    public int total() {
        return entries.size();
    }
}

interface Export {
    String export(Ledger ledger);
}

enum Side { DEBIT, CREDIT }
""",
    "rust": """// SPDX-License-Identifier: MIT
use std::fmt;

/// Keeps entries in the order in which they were made.
pub struct Ledger {
    entries: Vec<u32>,
}

impl Ledger {
    pub fn add(&mut self, entry: u32) {
        self.entries.push(entry);
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.entries.len())
    }
}

fn scan(ledger: &Ledger, key: u32) -> u32 {
    ledger.entries[key as usize]
}

/// Find an entry by its key.
pub fn find(ledger: &Ledger, key: u32) -> u32 {
    scan(ledger, key)
}

pub fn export(ledger: &Ledger) -> String {
    ledger.to_string()
}
""",
    "php": """<?php
/* Copyright 2024 Somebody, license MIT */

namespace Books;

use DateTime;

/**
 * Keeps entries in the order in which they were made.
 */
class Ledger
{
    private $entries = [];

    public function add($entry)
    {
        $this->entries[] = $entry;
    }

    public function total()
    {
        return count($this->entries);
    }
}

/** Find an entry by its key. */
function find($ledger, $key)
{
    return _scan($ledger, $key);
}

function _scan($ledger, $key)
{
    return $ledger->total() + $key;
}

function export_all($ledger)
{
    return (string) $ledger->total();
}
""",
    "kotlin": """// Copyright 2024 Somebody
package books

import java.io.File

/** Keeps entries in the order in which they were made. */
class Ledger {
    private val entries = mutableListOf<Int>()

    fun add(entry: Int) {
        entries.add(entry)
    }

    fun total(): Int {
        return entries.size
    }
}

/** Find an entry by its key. */
fun find(ledger: Ledger, key: Int): Int {
    return scan(ledger, key)
}

private fun scan(ledger: Ledger, key: Int): Int {
    return ledger.total() + key
}

fun export(ledger: Ledger) {
    File("x").writeText(ledger.total().toString())
}
""",
    "swift": """// Copyright 2024 Somebody
import Foundation

/// Keeps entries in the order in which they were made.
public class Ledger {
    private var entries: [Int] = []

    public func add(_ entry: Int) {
        entries.append(entry)
    }

    public func total() -> Int {
        return entries.count
    }
}

/// Find an entry by its key.
public func find(_ ledger: Ledger, _ key: Int) -> Int {
    return scan(ledger, key)
}

private func scan(_ ledger: Ledger, _ key: Int) -> Int {
    return ledger.total() + key
}

public func export(_ ledger: Ledger) -> String {
    return String(ledger.total())
}
""",
}
