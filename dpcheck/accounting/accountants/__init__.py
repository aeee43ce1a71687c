"""Accountants: each bounds a composition its own way; the best wins."""
