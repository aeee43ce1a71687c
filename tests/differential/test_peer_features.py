"""What the accountants beside us answer with: the facts behind the README's feature table."""

from importlib.metadata import distribution

import dp_accounting
from dp_accounting.pld import PLDAccountant
from prv_accountant.dpsgd import DPSGDAccountant

import dpcheck


def test_our_answer_carries_its_adjacency():
    spent = dpcheck.epsilon(dpcheck.Gaussian(2.0), delta=1e-5, adjacency="replace-one")
    assert str(spent.adjacency) == "replace-one"
    assert spent.lower <= spent.upper


def test_peers_answer_with_bare_numbers():
    accountant = PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(2.0))
    assert isinstance(accountant.get_epsilon(1e-5), float)
    prv = DPSGDAccountant(
        noise_multiplier=2.0,
        sampling_probability=0.1,
        eps_error=0.1,
        delta_error=1e-8,
        max_steps=10,
    )
    answer = prv.compute_epsilon(delta=1e-5, num_steps=10)
    assert len(answer) == 3
    assert all(isinstance(float(value), float) for value in answer)
    assert not hasattr(answer[0], "adjacency")


def test_a_peer_s_accountant_never_refuses():
    accountant = PLDAccountant()
    for _ in range(20):
        accountant.compose(dp_accounting.LaplaceDpEvent(0.1))  # epsilon 10 each
    assert accountant.get_epsilon(1e-9) > 100
    assert not [name for name in dir(accountant) if "budget" in name.lower()]


def test_peers_have_no_command():
    for package in ("dp-accounting", "prv-accountant"):
        scripts = [e for e in distribution(package).entry_points if e.group == "console_scripts"]
        assert not [s for s in scripts if "audit" in s.name or "check" in s.name]
