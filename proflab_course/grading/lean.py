"""Spares a command a second: imported first, it keeps jsonschema from building a grammar at import.

jsonschema checks international addresses with `rfc3987_syntax`, where that is installed, and makes
its parser when it is imported. nbformat needs jsonschema, and no notebook's schema has addresses.
"""

import sys

if "jsonschema" not in sys.modules and "rfc3987_syntax" not in sys.modules:
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # "there is none"
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        pass
    finally:
        del sys.modules["rfc3987_syntax"]
