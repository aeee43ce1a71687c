"""Federated averaging with Flower, noise added to the average, stopped at the privacy budget.

pip install '.[flower]' && python examples/guards/flower_rounds.py

Three clients in this process stand in for a network: `InMemoryGrid` calls them.
"""

import logging

import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from flwr.supercore.task_identity import TaskIdentity

import dpcheck
from dpcheck.integrations.guards.budget import BudgetGuard
from dpcheck.integrations.guards.flower import BudgetStrategy

CLIP, NOISE, CLIENTS = 1.0, 3.0, 3
BUDGET = dpcheck.Budget(3.0, 1e-5)


class NoisyAverage(FedAvg):
    """The average of clipped updates plus noise: a release about each client's presence."""

    def __init__(self, rng, **options):
        super().__init__(**options)
        self.rng = rng

    def aggregate_train(self, server_round, replies):
        arrays, metrics = super().aggregate_train(server_round, replies)
        weights = arrays["w"].numpy()
        noise = self.rng.normal(scale=NOISE * CLIP / CLIENTS, size=weights.shape)
        return ArrayRecord({"w": Array(weights + noise)}), metrics


def client(message):
    """One step towards the client's own optimum, clipped to norm CLIP."""
    weights = message.content["arrays"]["w"].numpy()
    step = message.metadata.dst_node_id - weights
    step *= min(1.0, CLIP / np.linalg.norm(step))
    metrics = MetricRecord({"num-examples": 1.0})
    content = RecordDict({"arrays": ArrayRecord({"w": Array(weights + step)}), "metrics": metrics})
    return Message(content, reply_to=message)


class InMemoryGrid(Grid):
    """Delivers messages by calling the clients."""

    def set_run(self, run):
        pass

    @property
    def run(self):
        return None

    def create_message(self, *args, **options):
        raise NotImplementedError

    def get_node_ids(self):
        return list(range(1, CLIENTS + 1))

    def push_messages(self, messages):
        raise NotImplementedError

    def pull_messages(self, message_ids):
        raise NotImplementedError

    def send_and_receive(self, messages, *, timeout=None):
        return [client(message) for message in messages]


def main():
    """Ask for a hundred rounds; returns what the guard and the accountant say was spent."""
    logging.getLogger("flwr").setLevel(logging.ERROR)
    # What a ServerApp started by `flwr run` finds set.
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    guard = BudgetGuard(dpcheck.Gaussian(NOISE), BUDGET, adjacency="add-remove")
    plain = NoisyAverage(np.random.default_rng(0), fraction_evaluate=0.0)
    strategy = BudgetStrategy(plain, guard)
    start = ArrayRecord({"w": Array(np.zeros(4))})
    found = strategy.start(InMemoryGrid(), start, num_rounds=100)
    logged = [metrics["epsilon"] for metrics in found.train_metrics_clientapp.values()]
    event = dpcheck.Gaussian(NOISE) * len(logged)
    accounted = dpcheck.epsilon(event, delta=BUDGET.delta, adjacency="add-remove").upper
    print(f"{guard.steps} rounds, epsilon {logged[-1]:.4f} of {BUDGET.epsilon:g}")
    return guard, logged[-1], accounted


if __name__ == "__main__":
    main()
