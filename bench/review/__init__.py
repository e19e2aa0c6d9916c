"""Planted defects and clean changes: which defects `treadle review` finds at the right line, and its false alarms."""
