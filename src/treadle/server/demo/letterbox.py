"""A small sample project for the reading and coding assistants.

Letters are received and delivered, in Python and Go, with a failing test.
"""

from pathlib import Path

FILES = {
    "README.md": """\
# Letter box

Letters come in over HTTP (`server.go`), wait in a folder, and are delivered by `main.py`. A sample of Treadle's: one of its tests
fails, so that there is something to fix. `python -m unittest` runs them.
""",
    "main.py": '''\
"""Delivers the letters that wait in a folder: once, or again and again."""

import argparse
import time
from pathlib import Path

from delivery import deliver
from letters import read_letter


def waiting(folder):
    """The letters that wait, oldest first."""
    return sorted(folder.glob("*.letter"), key=lambda path: path.stat().st_mtime)


def deliver_all(folder, send):
    """Deliver what waits. Whatever is delivered leaves the folder; the rest is tried again the next time."""
    delivered = 0
    for path in waiting(folder):
        if deliver(read_letter(path), send):
            path.unlink()
            delivered += 1
    return delivered


def show(letter):
    """A stand-in for a real post: prints the letter."""
    print(f"To {letter.to}: {letter.text}")


def main():
    """Read the command line, and work."""
    parser = argparse.ArgumentParser(description="Deliver the letters that wait in a folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=float, metavar="SECONDS", help="go on for ever, and look this often")
    args = parser.parse_args()
    deliver_all(args.folder, show)
    while args.every:
        time.sleep(args.every)
        deliver_all(args.folder, show)


if __name__ == "__main__":
    main()
''',
    "letters.py": '''\
"""What a letter is, and how one is read from its file."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Letter:
    """A letter: from, to and text."""

    to: str
    text: str


def read_letter(path):
    """The letter in a file: the first line says to whom it is."""
    to, _, text = path.read_text("utf-8").partition("\\n")
    return Letter(to.removeprefix("To:").strip(), text.strip())
''',
    "delivery.py": '''\
"""Delivers a letter, and tries again where that fails: after a pause that doubles each time."""

import time

TRIES = 3
PAUSE = 0.5  # seconds before the second try


def pauses(tries=TRIES, first=PAUSE):
    """The pauses between so many tries."""
    return [first * 2**number for number in range(tries)]


def deliver(letter, send, sleep=time.sleep):
    """Whether the letter was delivered. A connection that breaks is tried again, anything else is the caller's."""
    for pause in [0, *pauses()]:
        sleep(pause)
        try:
            send(letter)
        except ConnectionError:
            continue
        return True
    return False
''',
    "test_delivery.py": """\
import unittest

from delivery import deliver, pauses
from letters import Letter

LETTER = Letter("Ada", "The engine weaves.")


class DeliveryTest(unittest.TestCase):
    def test_between_three_tries_there_are_two_pauses(self):
        self.assertEqual(pauses(tries=3, first=1), [1, 2])

    def test_a_broken_connection_is_tried_again(self):
        answers = [ConnectionError(), None]
        sent = []

        def send(letter):
            answer = answers.pop(0)
            if answer:
                raise answer
            sent.append(letter)

        self.assertTrue(deliver(LETTER, send, sleep=lambda seconds: None))
        self.assertEqual(sent, [LETTER])


if __name__ == "__main__":
    unittest.main()
""",
    "server.go": """\
// The letter box: takes letters over HTTP and keeps each in a file, for whoever delivers them.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const longest = 10_000 // bytes of a letter

var errEmpty = errors.New("a letter needs somebody it is to, and words")

// Box is the folder in which letters wait.
type Box struct {
	folder string
}

// Drop keeps a letter: first under another name, so that nobody reads half of it.
func (b Box) Drop(to, text string) (string, error) {
	if strings.TrimSpace(to) == "" || strings.TrimSpace(text) == "" {
		return "", errEmpty
	}
	name := fmt.Sprintf("%d.letter", time.Now().UnixNano())
	whole := filepath.Join(b.folder, name)
	part := whole + ".part"
	if err := os.WriteFile(part, []byte("To: "+to+"\\n"+text), 0o600); err != nil {
		return "", err
	}
	return name, os.Rename(part, whole)
}

// Waiting counts the letters that nobody has delivered yet.
func (b Box) Waiting() (int, error) {
	found, err := filepath.Glob(filepath.Join(b.folder, "*.letter"))
	return len(found), err
}

func take(box Box) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longest))
		if err != nil {
			http.Error(w, "a letter may have 10,000 bytes at most", http.StatusRequestEntityTooLarge)
			return
		}
		name, err := box.Drop(r.URL.Query().Get("to"), string(text))
		if errors.Is(err, errEmpty) {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err != nil {
			http.Error(w, "the letter can't be kept", http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, name)
	}
}

func count(box Box) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		waiting, err := box.Waiting()
		if err != nil {
			http.Error(w, "the letters can't be counted", http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, waiting)
	}
}

func main() {
	box := Box{folder: os.Args[1]}
	http.HandleFunc("POST /letters", take(box))
	http.HandleFunc("GET /letters", count(box))
	log.Fatal(http.ListenAndServe("127.0.0.1:8025", nil))
}
""",
}


def write_letterbox(folder: Path) -> None:
    """Write the files that don't exist yet; a file gets its name once it is complete."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in FILES.items():
        path, part = folder / name, folder / f".{name}.part"
        if not path.exists():
            part.write_text(text, "utf-8")
            part.replace(path)
