"""Performs what the loop decides: asks models, carries calls out, writes down what happened."""
