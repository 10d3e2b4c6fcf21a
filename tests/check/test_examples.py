"""The specifications' own examples: no error, save where an example itself breaks a rule."""

from pathlib import Path

import pytest

from tests.check.documents import checked, names
from tests.protocol.support import SPEC, spec

#: Every exception, by hand. The walkthrough's lists (1 to 8) have no link up, nor do two packages say what they are;
#: hashes of 27 are not in hexadecimal digits, and its changes have no time, nor have two more; the intervals of the
#: archive overlap, where a year was mistyped.
BROKEN = {
    **{f"core-1.{edition}/resourcesync_ex_{n}.xml": ["X13 MUST"] for edition in (0, 1) for n in (1, 2, 3, 5, 8)},
    **{f"core-1.{edition}/resourcesync_ex_4.xml": ["X13 MUST", "RD01 SHOULD"] for edition in (0, 1)},
    "core-1.0/resourcesync_ex_27.xml": ["X08 MUST"],
    "core-1.1/resourcesync_ex_27.xml": ["X08 MUST", "V1104 SHOULD"],
    "core-1.1/resourcesync_ex_19.xml": ["V1104 SHOULD"],
    "core-1.1/resourcesync_ex_30.xml": ["V1104 SHOULD"],
    "archives/archives_ex_6_1.xml": ["AR06 SHOULD"],
}
EXAMPLES = sorted(str(path.relative_to(SPEC / "examples")) for path in (SPEC / "examples").rglob("*.xml"))


@pytest.mark.parametrize("own", [True, False], ids=["own edition", "any edition"])
@pytest.mark.parametrize("example", EXAMPLES or ["core-1.1/resourcesync_ex_1.xml"])
def test_official_example(example: str, own: bool) -> None:
    """Exactly the exceptions are found, and in all other examples nothing."""
    data = Path(spec("examples", example)).read_bytes()
    edition = {"core-1.0": 2014, "core-1.1": 2017}.get(example.partition("/")[0]) if own else None
    assert names(checked(data, edition=edition)[0]) == BROKEN.get(example, [])
