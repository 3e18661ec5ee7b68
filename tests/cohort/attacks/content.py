"""Attacks on whoever looks at the result: active content, and outputs that are no outputs."""

from cohort.attacks.attack import REACH, attack

ZERO = "def square_sum(values):\n    return 0"

attack(
    "scripts in outputs",
    """
from IPython.display import HTML, Javascript, Markdown, SVG, display
script = "<script>fetch('/formgrader')</script><img src=x onerror=alert(1)>"
display(HTML(script), Javascript("alert(1)"), Markdown(script))
display({"text/html": script, "image/svg+xml": f"<svg>{script}</svg>"}, raw=True)
print(script)
print("tried")
""",
    ZERO,
)
attack(
    "outputs that nbformat does not know",
    """
publish = get_ipython().display_pub.publish
deep = inner = {}
for _ in range(300):
    inner["x"] = inner = {}
publish({"application/json": deep, "text/plain": ["a", "b"], "x" * 10_000: "y"})
publish({"text/plain": 5, "text/html": None, "image/png": {"a": 1}})
publish({"text/plain": "\\ud800 lone \\x00 \\x1b[31m"}, metadata={"proflab": {"passed": True}})
print("\\udfff", end="")
print("tried")
""",
    ZERO,
)
attack(
    "outputs forged on the recorder",
    REACH
    + """
print("tried")
reach("Worker").recorder.outputs += [
    {"output_type": "bogus"}, {"output_type": "stream", "name": "x"},
    {"output_type": "execute_result", "data": {}, "execution_count": "1"},
    {"output_type": "error", "traceback": [1, None]}, {}, {"parts": ["x"]},
]
""",
    ZERO,
    raises=("",),  # the forged one
)
attack(
    "outputs on the recorder that are no outputs",
    "import sys\nsys.stdout.recorder.outputs += [7, None]",
    ZERO,
    statuses=("process died",),
    ends=("exit status 1",),
)
