"""Flat exports of gateways and clouds: one declarative profile each, read by one mechanism."""
