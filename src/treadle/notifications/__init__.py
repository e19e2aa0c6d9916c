"""Notifications: approvals that wait and results, by webhook, Slack, e-mail and on the desktop."""
