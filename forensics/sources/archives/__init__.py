"""Archives of logs: members are read where they lie, and never unpacked to disk."""
