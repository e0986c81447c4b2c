"""``python -m nsa_cli`` is ``nsa``."""

from nsa_cli.cli.main import run

run()
