"""The engine: schedules, acceptance, stop rules, and chains advanced in chunks."""
