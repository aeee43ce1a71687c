"""A site's results in NVFlare, withheld once its privacy budget is used up.

pip install '.[nvflare]' && python examples/guards/nvflare_filter.py

In a job the filter stands among `task_result_filters` of config_fed_client; here it is called as
NVFlare's executor calls it.
"""

import logging

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext

import dpcheck
from dpcheck.integrations.guards.budget import BudgetGuard
from dpcheck.integrations.guards.nvflare import HEADER, BudgetFilter

CLIP, NOISE = 1.0, 2.0
BUDGET = dpcheck.Budget(3.0, 1e-5)


def main():
    """Send results until one is withheld; returns what the filter and the accountant say was spent."""
    logging.disable(logging.ERROR)
    rng = np.random.default_rng(0)
    guard = BudgetGuard(dpcheck.Gaussian(NOISE), BUDGET, adjacency="add-remove")
    budget_filter = BudgetFilter(guard)
    sent = 0
    while True:
        update = {"w": rng.normal(scale=NOISE * CLIP, size=3)}
        result = DXO(DataKind.WEIGHT_DIFF, data=update).to_shareable()
        result = budget_filter.process(result, FLContext())
        if result.get_return_code() != ReturnCode.OK:
            break
        assert "w" in from_shareable(result).data
        sent, logged = sent + 1, result.get_header(HEADER)
    event = dpcheck.Gaussian(NOISE) * sent
    accounted = dpcheck.epsilon(event, delta=BUDGET.delta, adjacency="add-remove").upper
    print(f"{sent} results sent, epsilon {logged:.4f} of {BUDGET.epsilon:g}; then withheld")
    logging.disable(logging.NOTSET)
    return guard, logged, accounted


if __name__ == "__main__":
    main()
