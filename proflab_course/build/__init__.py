"""Part of the course's tools."""
