"""What is known of the values of a program."""
