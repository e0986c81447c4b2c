"""Results as text: JSON, a table for people, CSV, and the problems' own solution formats."""
