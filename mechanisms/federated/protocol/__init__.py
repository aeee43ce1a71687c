"""Messages, parties and mathematics of the protocol."""
