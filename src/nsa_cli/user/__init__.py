"""Problems written by users: one class, adapted to the contract that built-in problems keep."""
