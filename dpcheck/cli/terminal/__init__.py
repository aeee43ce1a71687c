"""What a command leaves behind at a terminal: colours and exit codes."""
