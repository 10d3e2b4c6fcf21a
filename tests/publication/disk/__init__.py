"""Tests of staging, installation and locks."""
