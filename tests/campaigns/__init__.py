"""Campaigns: random lives, kills at any moment, power failures, and what really happened."""
