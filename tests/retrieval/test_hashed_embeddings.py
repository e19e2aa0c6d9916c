"""Vectors from words alone."""

import asyncio
from array import array

import pytest

from treadle.retrieval.local_embeddings import HashedEmbedder, to_unit_vector


def vectors(*texts):
    return [array("f", one) for one in asyncio.run(HashedEmbedder().embed(texts))]


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_texts_that_share_words_are_near():
    cat, cats, other = vectors("The cat sat on the mat", "the cat sat there", "Quarterly revenue grew")
    assert cosine(cat, cats) > 0.5 > cosine(cat, other)


def test_every_vector_has_length_one_except_that_of_nothing():
    some, nothing = vectors("words \ud800", "")
    assert cosine(some, some) == pytest.approx(1.0, abs=1e-5)
    assert set(nothing) == {0.0}


def test_numbers_without_a_direction_stay_zeros():
    assert to_unit_vector([0.0, 0.0]) == bytes(8)
    assert to_unit_vector([float("nan"), 1.0]) == bytes(8)
    assert to_unit_vector([float("inf"), 1.0]) == bytes(8)
