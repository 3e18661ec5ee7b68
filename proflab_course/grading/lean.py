"""Import this before nbformat: it stops jsonschema from compiling a URL grammar (about a second).

If `rfc3987_syntax` is installed, jsonschema imports it to check international addresses, and it
compiles its grammar at import. No notebook's schema contains addresses.
"""

import sys

if "jsonschema" not in sys.modules and "rfc3987_syntax" not in sys.modules:
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # importing it fails
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        pass
    finally:
        del sys.modules["rfc3987_syntax"]
