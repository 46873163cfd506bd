"""Evidence that holds: a folder can be checked, made again, compared and explained."""
