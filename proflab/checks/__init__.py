"""The three checks of a test cell, and what they rest on: comparison and plain data."""
