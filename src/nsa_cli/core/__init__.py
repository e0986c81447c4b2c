"""The types that every other room speaks; nothing here knows a problem, a file format or a command."""
