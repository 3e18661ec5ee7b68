"""Makes notebooks: from lessons' text to what instructors and students open, audited on the way.

build, through and release make them; stamp adds badges and Colab's cell; audit, leaks and trial
judge them; assemble, collect and standalone turn solved ones into a profiler. Nothing in here
grades, and nothing that is profiled or that a lesson imports may import this room.
"""
