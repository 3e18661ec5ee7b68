"""The rule of docstrings: they begin with an imperative."""

import re

# A first word that is no imperative: articles, questions, prepositions, "Returns".
NOT_IMPERATIVE = re.compile(
    r"(A|An|The|This|What|Whether|How|Where|Who|Which|Is|Are|Does|Has|As|Of|In|Inside|With|Without|"
    r"From|For|If|When|Not|No|Same|All|Each|Every|One|Nothing|Why|Elementwise|\w+s)\b|[^A-Z]"
)
ENDS_WITH_S = ("Pass", "Process", "Express")


def is_imperative(docstring: str) -> bool:
    """Return True if a docstring's first word may be an imperative."""
    return docstring.split()[0] in ENDS_WITH_S or not NOT_IMPERATIVE.match(docstring)
