"""Shared types: instances, problems, neighbourhoods, policies, results."""
