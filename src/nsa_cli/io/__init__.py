"""File formats independent of problems: bytes, JSON, tables, tokens, arrays, atomic writing."""
