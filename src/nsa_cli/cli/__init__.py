"""The command line: a thin shell over `nsa_cli.api`."""
