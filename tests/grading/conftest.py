"""A browser, and who watches where it wants to go, for the tests that look at pages; runners."""

import pytest
from sandboxes import needs_sandbox


@pytest.fixture(scope="module")
def sandbox(request):
    """Yield a sandbox with the LIMITS of the test's module."""
    from proflab_course.grading.run.sandbox_runner import SandboxRunner

    with SandboxRunner(request.module.LIMITS) as runner:
        yield runner


@pytest.fixture(params=["plain", pytest.param("sandbox", marks=needs_sandbox)])
def runner(request):
    """Return each kind of runner, with the LIMITS of the test's module."""
    from proflab_course.grading.run.subprocess_runner import SubprocessRunner

    if request.param == "plain":
        return SubprocessRunner(request.module.LIMITS)
    return request.getfixturevalue("sandbox")


@pytest.fixture(scope="module")
def witness():
    """A proxy that notes every request and answers none from outside."""
    from hostile import Witness

    with Witness() as witness:
        yield witness
        witness.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory, witness):
    """Headless Chromium behind the witness."""
    from browsing import start_browser

    driver = start_browser(tmp_path_factory.mktemp("browser"), witness)
    yield driver
    driver.quit()
