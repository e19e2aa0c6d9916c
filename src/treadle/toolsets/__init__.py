"""Toolsets, and the wrappers that add behaviour to them."""
