"""Where guards write epsilon to: TensorBoard and MLflow, if they are installed."""

from __future__ import annotations

from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import Log

NAME = "privacy/epsilon"


def tensorboard(writer: Foreign) -> Log:
    """Log to a `SummaryWriter` of torch or tensorboardX."""

    def log(step: int, epsilon: float) -> None:
        writer.add_scalar(NAME, epsilon, step)

    return log


def mlflow(run: Foreign = None) -> Log:
    """Log to the active MLflow run, or to the one given."""
    try:
        import mlflow as library
    except ImportError:
        raise MissingExtra("mlflow is not installed; run: pip install mlflow") from None

    def log(step: int, epsilon: float) -> None:
        run_id = None if run is None else run.info.run_id
        library.log_metric(NAME, epsilon, step=step, run_id=run_id)

    return log
