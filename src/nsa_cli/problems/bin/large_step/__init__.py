"""Large steps of bin packing: unpack a few bins, and fill them again by minimum bin slack."""

from nsa_cli.problems.bin.large_step.chains import BinLargeStep

large_step = BinLargeStep()
