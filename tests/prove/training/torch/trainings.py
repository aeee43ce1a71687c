"""Trainings with Opacus: what `make_private` returns, right and wrong."""

from __future__ import annotations

import warnings

import torch
from opacus import PrivacyEngine
from opacus.utils.batch_memory_manager import wrap_data_loader
from torch import nn
from torch.nn import functional
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

ROWS, BATCH, NOISE = 40, 4, 1.1
generator = torch.Generator().manual_seed(5)
X = torch.randn(ROWS, 6, generator=generator)
IMAGES = torch.randn(ROWS, 1, 8, 8, generator=generator)
TOKENS = torch.randint(0, 10, (ROWS, 5), generator=generator)
Y = torch.arange(ROWS) % 3
RIGHT, WRONG = {}, {}


def private(model, x=X, y=Y, loss=None, make=None, engine="prv", **given):
    """A training as the engine makes it."""
    optimizer = make(model.parameters()) if make else torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(x, y), batch_size=BATCH)
    given = {"noise_multiplier": NOISE, "max_grad_norm": 1.0, **given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, loader = PrivacyEngine(accountant=engine).make_private(
            module=model, optimizer=optimizer, data_loader=loader, **given
        )
    loss = loss or nn.CrossEntropyLoss()
    return {"model": model, "optimizer": optimizer, "loader": loader, "loss": loss}


def mlp():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    )  # fmt: skip


class Transformer(nn.Module):
    """One causal layer."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(10, 8), nn.Linear(8, 8)
        self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, tokens):
        h = self.places(self.table(tokens))
        scores = self.query(h) @ self.key(h).transpose(1, 2) / 8**0.5
        future = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return self.out(self.norm(h + weights @ self.value(h)).mean(1))


class Adapted(nn.Module):
    """A frozen layer with an adapter of low rank."""

    def __init__(self):
        super().__init__()
        self.frozen, self.down, self.up = (
            nn.Linear(6, 5),
            nn.Linear(6, 2, bias=False),
            nn.Linear(2, 5, bias=False),
        )
        self.head = nn.Linear(5, 3)
        for p in self.frozen.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.head(torch.relu(self.frozen(x) + self.up(self.down(x))))


def right(multiplier=NOISE, event="SampledGaussian", **given):
    def register(function):
        RIGHT[function.__name__] = (function, multiplier, event, given)
        return function

    return register


def wrong(multiplier=0.0, **given):
    def register(function):
        WRONG[function.__name__] = (function, multiplier, given)
        return function

    return register


@right()
def perceptron():
    return private(mlp())


@right()
def convolutions():
    return private(cnn(), IMAGES)


@right()
def attention():
    return private(Transformer(), TOKENS)


@right()
def adapters():
    return private(Adapted())


@right()
def fused_attention():
    class Fused(Transformer):
        def forward(self, tokens):
            h = self.table(tokens)
            keys = (self.query(h), self.key(h), self.value(h))
            return self.out(h.mean(1) + functional.scaled_dot_product_attention(*keys).mean(1))

    model = Fused()
    del model.places, model.norm
    return private(model, TOKENS)


@right()
def one_matrix_for_queries_keys_and_values():
    class Chunked(Transformer):
        def forward(self, tokens):
            h = self.table(tokens)
            query, key, value = self.all(h).chunk(3, -1)
            return self.out(
                (h + functional.scaled_dot_product_attention(query, key, value)).mean(1)
            )

    model = Chunked()
    del model.places, model.norm, model.query, model.key, model.value
    model.all = nn.Linear(8, 24)
    return private(model, TOKENS)


@right()
def adam():
    return private(mlp(), make=lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.1))


@right()
def momentum():
    return private(mlp(), make=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True))


@right()
def dropped():
    return private(nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Dropout(0.3), nn.Linear(5, 3)))


@right()
def sums_on_both_sides():
    return private(mlp(), loss=nn.CrossEntropyLoss(reduction="sum"), loss_reduction="sum")


@right()
def per_layer():
    return private(mlp(), clipping="per_layer", max_grad_norm=[0.5, 0.5, 0.5, 0.5])


@right()
def squares():
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1), nn.Flatten(0))
    return private(model, X, X[:, 0], nn.MSELoss())


@right()
def logits():
    model = nn.Sequential(nn.Linear(6, 5), nn.SiLU(), nn.Linear(5, 1), nn.Flatten(0))
    return private(model, X, (Y == 1).float(), nn.BCEWithLogitsLoss())


@right()
def functorch_hooks():
    return private(mlp(), grad_sample_mode="functorch")


@right()
def virtual_batches():
    made = private(mlp())
    loader = wrap_data_loader(
        data_loader=made["loader"], max_batch_size=2, optimizer=made["optimizer"]
    )
    return {**made, "loader": loader}


@right(event="Gaussian", adjacency="replace-one")
def shuffled_passes():
    made = private(mlp(), poisson_sampling=False)
    loader = DataLoader(TensorDataset(X, Y), batch_size=BATCH, shuffle=True)
    return {**made, "loader": loader}


@right(event="FixedBatchGaussian", adjacency="replace-one")
def one_random_batch():
    made = private(mlp(), poisson_sampling=False)
    data = TensorDataset(X, Y)
    sampler = BatchSampler(RandomSampler(data, num_samples=BATCH), BATCH, drop_last=True)
    return {**made, "loader": DataLoader(data, batch_sampler=sampler)}


@wrong()
def summed_loss_under_mean_hooks():
    return private(mlp(), loss=nn.CrossEntropyLoss(reduction="sum"))


@wrong()
def mean_loss_under_sum_hooks():
    return private(mlp(), loss_reduction="sum")


@wrong()
def shuffled_said_to_be_poisson():
    return private(mlp(), poisson_sampling=False)


@wrong(NOISE / 2)
def noise_turned_down():
    made = private(mlp())
    made["optimizer"].noise_multiplier = NOISE / 2
    return made


@wrong(NOISE / 3)
def clip_raised_behind_the_noise():
    made = private(mlp())
    optimizer = made["optimizer"]
    add = type(optimizer).add_noise

    def less():
        optimizer.max_grad_norm = 1.0
        add(optimizer)
        optimizer.max_grad_norm = 3.0

    optimizer.max_grad_norm = 3.0
    optimizer.add_noise = less
    return made


@wrong()
def plain_optimizer():
    made = private(mlp())
    return {**made, "optimizer": made["optimizer"].original_optimizer}


@wrong()
def no_noise():
    return private(mlp(), noise_multiplier=0.0)


@wrong()
def weights_of_classes():
    return private(mlp(), loss=nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0])))


@wrong()
def labels_ignored():
    return private(mlp(), loss=nn.CrossEntropyLoss(ignore_index=1))


@wrong()
def loss_across_the_batch():
    def contrast(out, y):
        return functional.cross_entropy(out @ out.T, torch.arange(len(out))) + 0 * y.sum()

    return private(mlp(), loss=contrast)


@wrong()
def centred_outputs():
    def centred(out, y):
        return functional.cross_entropy(out - out.mean(0), y)

    return private(mlp(), loss=centred)


@wrong()
def buffer_that_learns():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 3)
            self.seen = torch.zeros(6)

        def forward(self, x):
            self.seen = 0.9 * self.seen + 0.1 * x.detach().mean(0)
            return self.layer(x)

    return private(Mean())


@wrong()
def losses_kept():
    kept = []

    def loss(out, y):
        value = functional.cross_entropy(out, y)
        kept.append(value.detach())
        return value

    return private(mlp(), loss=loss)


@wrong()
def losses_read():
    kept = []

    def loss(out, y):
        value = functional.cross_entropy(out, y)
        kept.append(value.item())
        return value

    return private(mlp(), loss=loss)


@wrong()
def rooted_outputs():
    def rooted(out, y):
        return functional.cross_entropy(out.relu().sqrt(), y)

    return private(mlp(), loss=rooted)


@wrong()
def batch_normalisation():
    made = private(mlp())
    model = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))
    return {**made, "model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}


@wrong()
def ghost_clipping():
    model, loss = mlp(), nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(X, Y), batch_size=BATCH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, loss, loader = PrivacyEngine().make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader,
            noise_multiplier=NOISE, max_grad_norm=1.0, grad_sample_mode="ghost", criterion=loss,
        )  # fmt: skip
    return {"model": model, "optimizer": optimizer, "loader": loader, "loss": loss}


@wrong()
def noise_seeded_each_step():
    made = private(mlp())
    optimizer = made["optimizer"]
    add = type(optimizer).add_noise

    def seeded():
        torch.manual_seed(0)
        add(optimizer)

    optimizer.add_noise = seeded
    return made


@wrong()
def unclipped_leaf():
    made = private(mlp())
    optimizer = made["optimizer"]
    clip = type(optimizer).clip_and_accumulate

    def forgetful():
        clip(optimizer)
        last = optimizer.params[-1]
        last.summed_grad = last.grad_sample.sum(0)

    optimizer.clip_and_accumulate = forgetful
    return made


@wrong()
def realised_divisor():
    made = private(mlp())
    optimizer = made["optimizer"]

    def scale():
        for p in optimizer.params:
            p.grad /= len(p.grad_sample)

    optimizer.scale_grad = scale
    return made
