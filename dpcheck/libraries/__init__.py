"""Mechanisms of released libraries as audit targets, with the claims their documentation makes.

The files of this room are also loaded by other interpreters, old ones too, where nothing of dpcheck is
installed: they use the standard library, and import a library only inside the functions that call it.
"""
