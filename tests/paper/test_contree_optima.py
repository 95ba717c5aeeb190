"""Fewest errors on the sixteen data sets of Brita, van der Linden and Demirović (AAAI 2025), depths two and three.

The figures are those of pycontree 1.0.8, which rounds values to float32 and merges those closer than 1e-7.
"""

from __future__ import annotations

import pytest

from proofwood.engines.trees import solve
from proofwood.problem.tree import TreeProblem
from proofwood.result import Status
from tests.conftest import LoadData

SHA256 = {
    "avila": "7c63d0196dea58e3de81db38858adc103140d06d2e859942c6a48a874ef60b81",
    "bank": "98a91dfe70ac82b16981ca011d8a46c9912e70956f0c25ca511771767caed21b",
    "bean": "5bccf4e4d39a48bfa1dfc08e851809b605bccfde21f7b47e1391152779ab2539",
    "bidding": "fd0bbcf1d81ae5c510cffe617c96b591e130de4d19ce10bc08585598d27f5d15",
    "eeg": "704216acb11d24e5431bcfffaca0e7fd47e98ff0e8de3c79f8c0a0ec96e5f4b0",
    "fault": "edc6aa25f22e06b05f3b027caa906a64b2b655665def6c5d7f0638a3bb16eee5",
    "htru": "ea9d5fbd68be88d904ed4d5b35fc9ccb53691335385180cafca283082cb58bd5",
    "magic": "40a5ea0138841db4bc8623032094111f0c0a39d905246bde120ae917f0a1c8bd",
    "occupancy": "92712c4e70b85b58e8e82827671da3e79e8fb8cbeacfd7ae47b8f63c40a35070",
    "page": "8949cebb5adc8fa893b2bd3c0ef89d3ce0cf8000a26e1aae4e14582e0d8f663c",
    "raisin": "d7fce3548ae3d675dc61799bd999eb77eb6d1fcd5ede6a4c13531775d1d63b27",
    "rice": "684e815305fbeb2879b37a68af134af7392d247ee942accaf58e3e815d709eff",
    "room": "9db1cf539f51d1b9e46caefc0c455daf09fd02784faef68d3d7817f17c54828b",
    "segment": "45348ffde2fd449b5538404aa0a225c5729abc3535d510e30ef76d594b259fff",
    "skin": "c40cdeb0cd9af35f4a5e6544b863fb54feb7c2e8ea33b27d43c2ec89efbe0904",
    "wilt": "6adab15a78489a1f64ee8a95552641eabf39472eda5b67149943bda03e89e7be",
}

DEPTH_TWO = {
    "bank": 82,
    "raisin": 91,
    "rice": 203,
    "bidding": 95,
    "occupancy": 86,
    "htru": 300,
    "magic": 2971,
    "eeg": 4012,
    "avila": 4781,
    "bean": 3667,
    "fault": 647,
    "page": 200,
    "room": 441,
    "segment": 786,
    "wilt": 37,
    "skin": 14249,
}

DEPTH_THREE = {
    "bank": 19,
    "raisin": 76,
    "wilt": 18,
    "segment": 208,
    "rice": 189,
    "room": 62,
    "bidding": 37,
    "fault": 494,
    "page": 125,
    "occupancy": 47,
    "htru": 275,
    "magic": 2567,
    "bean": 1406,
    "eeg": 3495,
    "avila": 4329,
    "skin": 6161,
}

CASES = [(2, *case) for case in DEPTH_TWO.items()] + [(3, *case) for case in DEPTH_THREE.items()]


@pytest.mark.parametrize(("max_depth", "name", "errors"), CASES)
def test_published_optimum_is_found_and_proved(load_data: LoadData, max_depth: int, name: str, errors: int) -> None:
    X, codes = load_data(f"quantbnb/{name}", SHA256[name])
    problem = TreeProblem.from_arrays(X, codes, max_depth=max_depth)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == result.lower_bound == errors
    assert result.model is not None
    assert result.model.depth <= max_depth
    assert problem.integer_cost(result.model) == errors
