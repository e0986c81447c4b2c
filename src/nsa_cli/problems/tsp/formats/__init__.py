"""File formats of tours: TSPLIB 95, and labelled tours of the learning community."""
