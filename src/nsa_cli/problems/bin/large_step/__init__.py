"""Large steps of bin packing: unpack a few bins, and fill them again by minimum bin slack."""
