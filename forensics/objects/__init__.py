"""Logs and evidence sets in object storage, under ``s3://bucket/key``.

An object is read as a file is: opened, read forward, hashed in the same pass. Who may read it
is told by the environment alone (``AWS_…``, a profile, the role of the machine).
"""

from forensics.objects.path import ObjectPath, place, place_from, walk

__all__ = ["ObjectPath", "place", "place_from", "walk"]
