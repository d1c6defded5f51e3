"""Checks of arguments, and the form in which the engine takes them."""
