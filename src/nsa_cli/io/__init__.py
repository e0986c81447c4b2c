"""Formats, not problems: reading bytes, JSON, tables, sniffing what a file holds, writing atomically."""
