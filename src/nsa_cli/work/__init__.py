"""Long work in parts: journals of what is done, and sharing out among processes and ranks."""
