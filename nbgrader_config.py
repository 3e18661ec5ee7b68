"""Points nbgrader to jupyter_config.py, which newer Jupyter no longer reads from this folder."""

load_subconfig("jupyter_config.py")  # noqa: F821 (traitlets provides it)
