"""Notifications: their forms, their channels, and that none is lost."""
