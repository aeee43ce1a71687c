"""Flower: differential privacy of federated learning, on the client or on the server."""

from __future__ import annotations

from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "flwr",
    module="flwr",
    requires=("flwr", "scipy"),
    tried="1.41.0",
    says="The privacy budget. "
    "Smaller value of epsilon indicates a higher level of privacy protection.",
    place="docstring of flwr.clientapp.mod.LocalDpMod, on epsilon",
    reading="That any two updates of a client are neighbours is ours. The library's functions for "
    "clipping and for noise of LocalDpMod's formula are called, not the mod in a running federation.",
)
__getattr__ = LIBRARY.find
_OPPOSITE = [((2.0, 0.0), (-2.0, 0.0))]  # one client's update; a tuple is one record


def _local(name: str, sensitivity: float, epsilon: float, delta: float, note: str = "") -> None:
    """What LocalDpMod does to one client's parameters, with its own functions."""

    def client(update: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from np.random
        import numpy as np
        from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
        from flwr.supercore import differential_privacy as dp

        server = [np.zeros(len(update))]
        parameters = [server[0] + np.array(update)]
        dp.compute_clip_model_update(parameters, server, 1.0)
        packed = ndarrays_to_parameters(parameters)
        noisy = dp.add_localdp_gaussian_noise_to_params(packed, sensitivity, epsilon, delta)
        return parameters_to_ndarrays(noisy)[0].tolist()

    LIBRARY.target(
        name, claim=(epsilon, delta), adjacency="replace-one", neighbours=_OPPOSITE, note=note
    )(client)


_local("LocalDpMod", 1.0, 1.0, 0.01, "clipping_norm 1 and sensitivity 1; two clients differ by 2")
_local("LocalDpMod_epsilon_3", 1.0, 3.0, 0.01, "clipping_norm 1 and sensitivity 1, as above")
_local("LocalDpMod_twice_the_norm", 2.0, 1.0, 0.01)
_local("LocalDpMod_epsilon_10", 2.0, 10.0, 0.01, "the noise formula is proved for epsilon below 1")


def _server(name: str, noise_multiplier: float, people: int) -> None:
    """Clipped updates, averaged by the server, with its noise; one client more."""

    def aggregate(updates: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from np.random
        import numpy as np
        from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
        from flwr.supercore import differential_privacy as dp

        server, clipped = [np.zeros(2)], []
        for update in updates:
            parameters = [np.array(update, dtype=float)]
            dp.compute_clip_model_update(parameters, server, 1.0)
            clipped.append(parameters[0])
        mean = ndarrays_to_parameters([np.sum(clipped, axis=0) / people])
        noisy = dp.add_gaussian_noise_to_params(mean, noise_multiplier, 1.0, people)
        return parameters_to_ndarrays(noisy)[0].tolist()

    LIBRARY.target(
        name,
        claim={"Gaussian": noise_multiplier},
        adjacency="add-remove",
        neighbours=[([[3.0, 0.0], [1.0, 1.0]], [[1.0, 1.0]])],
        says="The noise multiplier for the Gaussian mechanism for model updates.",
        place="docstring of flwr.server.strategy.DifferentialPrivacyServerSideFixedClipping",
        reading="The privacy curve of the Gaussian mechanism with that multiplier, one client more or "
        "less, is ours; clipping, mean and noise are put together from the library's functions.",
    )(aggregate)


_server("ServerSideFixedClipping", 1.0, 2)
_server("ServerSideFixedClipping_more_noise", 2.0, 2)
