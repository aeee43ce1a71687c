"""From a violation to a program that anybody can run: a small pair, a readable event, counts."""
