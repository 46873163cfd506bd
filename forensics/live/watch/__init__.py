"""Following logs: each request is judged once it has come to rest, and told once."""
