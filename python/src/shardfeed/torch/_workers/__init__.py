"""Processes and threads that run the functions of a loader."""
