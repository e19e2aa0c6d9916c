"""Tests of terminal input and output."""
