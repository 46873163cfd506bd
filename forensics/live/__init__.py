"""Checks of engines that are running: before they take traffic, and after a fix."""
