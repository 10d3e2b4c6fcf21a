"""Delivery of what is published: an upload, announcements, a server. Each module is imported by itself."""
