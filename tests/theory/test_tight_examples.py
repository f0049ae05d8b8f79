"""The best constants of PEPit's examples: verified brackets around the closed forms in the literature."""

from __future__ import annotations

import pytest

from fedtheory.theory.proofs.tight import tight
from tests.theory.brackets import holds
from tests.theory.pepit_examples import EXAMPLES, Example, Numbers

CASES = [
    pytest.param(example, numbers, id=f"{example.path}, " + ", ".join(f"{k}={v}" for k, v in numbers.items()))
    for example in EXAMPLES
    for numbers in example.cases
]


@pytest.mark.dear
@pytest.mark.parametrize(("example", "numbers"), CASES)
def test_the_closed_form_is_in_the_bracket(example: Example, numbers: Numbers) -> None:
    programme, value = example.made(**numbers), float(example.value(**numbers))
    found = tight(programme)
    holds(programme, found, value, within=1e-3)
    for other in (0.998, 1.002):
        with pytest.raises(AssertionError):
            holds(programme, found, other * value, within=1e-3)
