"""Lesson 09."""

MUTANTS: dict = {}
ALTERNATES: dict = {}
