"""What is told to whom."""
