"""Every attack in every mode: where a layer is missing, and where others execute it."""

import os

import pytest
from attack_modes import MODES, got_further
from cohort.attacks import ATTACKS
from sandboxes import needs_sandbox

pytestmark = [pytest.mark.soak, needs_sandbox]


@pytest.mark.parametrize("name", MODES)
def test_no_attack_gets_further_than_the_mode_allows(name):
    if name == "as an ordinary user" and os.geteuid() != 0:
        pytest.skip("they are all run as one")
    mode = MODES[name]
    names = [attack.name for attack in ATTACKS]
    found = mode.run(names)
    assert len(found) >= len(names) - 1  # one of them only root can prepare
    assert sorted(got_further(found)) == sorted(mode.further), got_further(found)
