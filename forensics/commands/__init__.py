"""One command a file: parse, call, print. stdout carries data only."""
