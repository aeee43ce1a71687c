"""Right steps: each is proved at its noise multiplier, no more and no less."""

from __future__ import annotations

import math

from .base import (
    EXPECTED,
    RATE,
    SIGMA,
    C,
    clipped_sum,
    factors,
    functional,
    grad,
    gradients,
    loss,
    noisy,
    norms,
    params,
    torch,
    update,
    vmap,
)

RIGHT = {}


def right(multiplier=SIGMA, **given):
    def register(function):
        RIGHT[function.__name__] = (function, multiplier, given)
        return function

    return register


@right()
def textbook(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@right()
def min_of_one(p, data):
    g = gradients(p, data)
    s = torch.minimum(torch.ones(()), C / norms(g).clamp(min=1e-12))
    return update(
        p, noisy({k: (v * s.view(-1, *[1] * (v.dim() - 1))).sum(0) for k, v in g.items()})
    )


@right()
def divided_by_the_larger(p, data):
    g = gradients(p, data)
    s = C / torch.clamp(norms(g), min=C)
    return update(p, noisy(clipped_sum(g, s)))


@right()
def one_over_max_one(p, data):
    g = gradients(p, data)
    s = 1 / torch.clamp(norms(g) / C, min=1.0)
    return update(p, noisy(clipped_sum(g, s)))


@right()
def where_above(p, data):
    g = gradients(p, data)
    n = norms(g)
    s = torch.where(n > C, C / n, torch.ones_like(n))
    return update(p, noisy(clipped_sum(g, s)))


@right()
def flat_vector(p, data):
    g = gradients(p, data)
    rows = torch.cat([v.reshape(len(v), -1) for v in g.values()], dim=1)
    s = factors(rows.norm(dim=1))
    total = (rows * s[:, None]).sum(0)
    total = total + SIGMA * C * torch.randn(total.shape)
    parts = total.split([v[0].numel() for v in g.values()])
    return update(p, {k: part.view_as(p[k]) for k, part in zip(g, parts, strict=False)})


@right()
def normalised(p, data):
    g = gradients(p, data)
    s = 1 / (norms(g) + 0.01)
    return update(p, noisy(clipped_sum(g, s)))


@right()
def l1_norm(p, data):
    g = gradients(p, data)
    n = sum(v.reshape(len(v), -1).abs().sum(1) for v in g.values())
    return update(p, noisy(clipped_sum(g, factors(n))))


@right(SIGMA / math.sqrt(3))
def each_layer_alone(p, data):
    g = gradients(p, data)
    out = {}
    for k, v in g.items():
        s = factors(v.reshape(len(v), -1).norm(dim=1))
        out[k] = torch.einsum("n,n...->...", s, v)
    return update(p, noisy(out))


@right(SIGMA)
def each_layer_at_a_share(p, data):
    g = gradients(p, data)
    share = C / math.sqrt(len(g))
    out = {}
    for k, v in g.items():
        s = factors(v.reshape(len(v), -1).norm(dim=1), share)
        out[k] = torch.einsum("n,n...->...", s, v)
    return update(p, noisy(out))


@right()
def guarded(p, data):
    def rooted(q, x, y):
        return loss(q, x, y) + (x @ q["w1"]).norm()

    g = gradients(p, data, rooted)
    n = norms(g)
    s = factors(n)
    total = {}
    for k, v in g.items():
        row = v * s.view(-1, *[1] * (v.dim() - 1))
        total[k] = torch.where(torch.isfinite(row), row, torch.zeros_like(row)).sum(0)
    return update(p, noisy(total))


@right()
def loop_of_examples(p, data):
    q = {k: v.detach().requires_grad_() for k, v in p.items()}
    total = {k: torch.zeros_like(v) for k, v in q.items()}
    for x, y in zip(data["x"], data["y"], strict=False):
        g = torch.autograd.grad(loss(q, x, y), list(q.values()))
        s = torch.clamp(C / torch.sqrt(sum(v.pow(2).sum() for v in g)).clamp(min=1e-12), max=1.0)
        for k, v in zip(q, g, strict=False):
            total[k] += v * s
    return update(p, noisy(total))


@right()
def loop_with_clip_grad_norm(p, data):
    q = {k: v.detach().requires_grad_() for k, v in p.items()}
    total = {k: torch.zeros_like(v) for k, v in q.items()}
    for i in range(len(data["x"])):
        for v in q.values():
            v.grad = None
        loss(q, data["x"][i], data["y"][i]).backward()
        torch.nn.utils.clip_grad_norm_(list(q.values()), C)
        for k, v in q.items():
            total[k] += v.grad
    return update(p, noisy(total))


@right()
def stacked_loop(p, data):
    rows = {k: [] for k in p}
    for x, y in zip(data["x"], data["y"], strict=False):
        for k, v in grad(loss)(p, x, y).items():
            rows[k].append(v)
    g = {k: torch.stack(v) for k, v in rows.items()}
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@right()
def microbatches_of_sums(p, data):
    total = {k: torch.zeros_like(v) for k, v in p.items()}
    for xs, ys in zip(data["x"].split(2), data["y"].split(2), strict=False):
        g = gradients(p, {"x": xs, "y": ys})
        for k, v in clipped_sum(g, factors(norms(g))).items():
            total[k] = total[k] + v
    return update(p, noisy(total))


@right(adjacency="replace-one")
def realised_divisor(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))), len(data["x"]))


@right()
def momentum(p, data):
    weights = {k: v for k, v in p.items() if not k.startswith("m_")}
    g = gradients(weights, data)
    step = noisy(clipped_sum(g, factors(norms(g))))
    moved = {"m_" + k: 0.9 * p["m_" + k] + step[k] / EXPECTED for k in weights}
    return {**{k: weights[k] - RATE * moved["m_" + k] for k in weights}, **moved}


@right()
def adam(p, data):
    weights = {k: v for k, v in p.items() if k[:2] not in {"m_", "v_"}}
    g = gradients(weights, data)
    step = noisy(clipped_sum(g, factors(norms(g))))
    out = {}
    for k, v in step.items():
        mean = v / EXPECTED
        out["m_" + k] = 0.9 * p["m_" + k] + 0.1 * mean
        out["v_" + k] = 0.99 * p["v_" + k] + 0.01 * mean * mean
        out[k] = weights[k] - RATE * out["m_" + k] / (out["v_" + k].sqrt() + 1e-8)
    return out


@right()
def in_place(p, data):
    g = gradients(p, data)
    step = noisy(clipped_sum(g, factors(norms(g))))
    with torch.no_grad():
        for k, v in p.items():
            v.sub_(step[k], alpha=RATE / EXPECTED)


@right()
def frozen_layer(p, data):
    def part(trained, x, y):
        return loss({**p, **trained}, x, y)

    g = gradients({"w2": p["w2"]}, data, part)
    step = noisy(clipped_sum(g, factors(norms(g))))
    return {**p, "w2": p["w2"] - RATE * step["w2"] / EXPECTED}


@right()
def dropout(p, data):
    def thinned(q, x, y):
        hidden = functional.dropout(torch.tanh(x @ q["w1"] + q["b1"]), 0.3)
        return functional.cross_entropy((hidden @ q["w2"]).unsqueeze(0), y.unsqueeze(0))

    g = vmap(grad(thinned), in_dims=(None, 0, 0), randomness="different")(p, data["x"], data["y"])
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@right()
def normalised_inputs(p, data):
    def layered(q, x, y):
        return loss(q, functional.layer_norm(x, (4,)), y)

    g = gradients(p, data, layered)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@right(SIGMA)
def mean_of_clipped_inputs(p, data):
    x = data["x"]
    rows = x * factors(x.norm(dim=1))[:, None]
    return rows.sum(0) + torch.normal(0.0, SIGMA * C, (4,))


@right(SIGMA / 2)
def clamped_entries(p, data):
    return data["x"].clamp(-1, 1).sum(0) + SIGMA * torch.randn(4)


@right(1 / math.sqrt(1 / SIGMA**2 + 1 / 4))
def two_releases(p, data):
    g = gradients(p, data)
    step = noisy(clipped_sum(g, factors(norms(g))))
    x = data["x"]
    inputs = (x * factors(x.norm(dim=1))[:, None]).sum(0) + 2.0 * torch.randn(4)
    return update(p, step), inputs


@right(SIGMA * 2)
def half_the_bound_same_noise(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g), C / 2))))


def arguments(name):
    """Parameters as the step wants them."""
    p = params()
    if name in {"momentum", "adam"}:
        p |= {"m_" + k: torch.zeros_like(v) for k, v in params().items()}
    if name == "adam":
        p |= {"v_" + k: torch.ones_like(v) for k, v in params().items()}
    return p
