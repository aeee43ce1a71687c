"""NVIDIA FLARE: privacy filters of federated learning."""

from __future__ import annotations

from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "nvflare",
    module="nvflare",
    requires=("nvflare",),
    tried="2.9.0",
    says="total privacy budget used for the threshold/query selection phase. … total privacy budget "
    "used for the release-noise phase.",
    place="docstring of nvflare.app_common.filters.svt_privacy.SVTPrivacy, epsilon and epsilon_release",
    reading="The sum of both as the claim, for one client's weights that change within gamma, is ours.",
)
__getattr__ = LIBRARY.find
_GAMMA = 1.0


def _filtered(weights: Any, privacy: Any) -> Any:
    import numpy as np
    from nvflare.apis.dxo import DXO, DataKind, MetaKey
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.shareable import Shareable

    exchange = DXO(DataKind.WEIGHT_DIFF, data={"w": np.array(weights, dtype=float)})
    exchange.set_meta_prop(MetaKey.NUM_STEPS_CURRENT_ROUND, 1)
    found = privacy.process_dxo(exchange, Shareable(), FLContext())
    return np.asarray(found.data["w"]).tolist()


def _svt(name: str, fraction: float, epsilon: float, release: float) -> None:
    def run(weights: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from np.random
        from nvflare.app_common.filters.svt_privacy import SVTPrivacy

        made = SVTPrivacy(
            fraction=fraction,
            epsilon=epsilon,
            gamma=_GAMMA,
            tau=0.5,
            epsilon_release=release,
            replace=False,
        )
        return _filtered(weights, made)

    LIBRARY.target(
        name,
        claim=epsilon + release,
        adjacency="replace-one",
        neighbours=[((1.0, 0.0), (-1.0, 0.0))],
        note="selection and release budgets added; one of two weights moves by 2 gamma",
    )(run)


_svt("SVTPrivacy", 0.5, 0.5, 0.5)
_svt("SVTPrivacy_all_weights", 1.0, 0.5, 0.5)


def _percentile(weights: Any, rng: Any) -> Any:  # noqa: ARG001 - it is not random
    from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy

    return _filtered(weights, PercentilePrivacy(percentile=10, gamma=_GAMMA))


LIBRARY.target(
    "PercentilePrivacy",
    claim=1.0,
    adjacency="replace-one",
    neighbours=[((1.0, 0.5), (-1.0, 0.5))],
    says='Implementation of "largest percentile to share" privacy preserving policy.',
    place="docstring of nvflare.app_common.filters.percentile_privacy.PercentilePrivacy",
    reading="It states no epsilon and claims no differential privacy; 1 is what we asked for.",
    note="no claim of the library: it states no epsilon, 1 is what we asked for",
)(_percentile)
