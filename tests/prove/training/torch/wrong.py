"""Wrong steps and the largest multiplier that would be honest, 0 where nothing is private."""

from __future__ import annotations

import math

from .base import (
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
    torch,
    update,
    vmap,
)

WRONG = {}
KEPT = []


def wrong(multiplier=0.0, **given):
    def register(function):
        WRONG[function.__name__] = (function, multiplier, given)
        return function

    return register


@wrong()
def no_noise(p, data):
    g = gradients(p, data)
    return update(p, clipped_sum(g, factors(norms(g))))


@wrong()
def no_clip(p, data):
    g = gradients(p, data)
    return update(p, noisy({k: v.sum(0) for k, v in g.items()}))


@wrong()
def clipped_after_the_mean(p, data):
    def whole(q):
        return vmap(loss, in_dims=(None, 0, 0))(q, data["x"], data["y"]).mean()

    g = grad(whole)(p)
    n = torch.sqrt(sum(v.pow(2).sum() for v in g.values()))
    s = torch.clamp(C / n, max=1.0)
    return update(p, noisy({k: v * s for k, v in g.items()}, SIGMA * C / 6), 1)


@wrong()
def noise_of_the_sum_on_the_mean(p, data):
    g = gradients(p, data)
    total = {k: v / len(data["x"]) for k, v in clipped_sum(g, factors(norms(g))).items()}
    return update(p, noisy(total), 1)


@wrong(SIGMA / 4)
def noise_not_times_the_bound(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g), 4.0)), SIGMA))


@wrong()
def norm_misses_a_leaf(p, data):
    g = gradients(p, data)
    n = norms({k: v for k, v in g.items() if k != "b1"})
    return update(p, noisy(clipped_sum(g, factors(n))))


@wrong(SIGMA / math.sqrt(3))
def each_layer_as_if_one(p, data):
    g = gradients(p, data)
    out = {}
    for k, v in g.items():
        out[k] = torch.einsum("n,n...->...", factors(v.reshape(len(v), -1).norm(dim=1)), v)
    return update(p, noisy(out))


@wrong(SIGMA / math.sqrt(40))
def largest_entry_for_norm(p, data):
    g = gradients(p, data)
    n = torch.stack([v.reshape(len(v), -1).abs().amax(1) for v in g.values()]).amax(0)
    return update(p, noisy(clipped_sum(g, factors(n))))


@wrong()
def squared_norm_not_rooted(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(0.0001 * norms(g) ** 2 + 0 * C))))


@wrong()
def bound_from_the_data(p, data):
    g = gradients(p, data)
    n = norms(g)
    bound = n.median()
    total = clipped_sum(g, torch.clamp(bound / n, max=1.0))
    return {k: p[k] - RATE * (v + SIGMA * bound * torch.randn_like(v)) for k, v in total.items()}


@wrong()
def batch_statistics(p, data):
    x = (data["x"] - data["x"].mean(0)) / (data["x"].std(0) + 0.1)
    g = gradients(p, {"x": x, "y": data["y"]})
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def contrastive(p, data):
    z = data["x"]
    near = torch.softmax(z @ z.T, dim=1) @ z
    g = gradients(p, {"x": near, "y": data["y"]})
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def weights_of_the_classes(p, data):
    counts = functional.one_hot(data["y"], 3).sum(0)

    def weighted(q, x, y):
        return loss(q, x, y) / counts[y]

    g = gradients(p, data, weighted)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def nan_gradients(p, data):
    def rooted(q, x, y):
        return loss(q, x, y) + torch.sqrt(((x @ q["w1"]) ** 2).sum())

    g = gradients(p, data, rooted)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def division_by_a_norm(p, data):
    def unit(q, x, y):
        return loss(q, x / x.norm(), y)

    g = gradients(p, data, unit)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def raw_loss_returned(p, data):
    g = gradients(p, data)
    losses = vmap(loss, in_dims=(None, 0, 0))(p, data["x"], data["y"])
    return update(p, noisy(clipped_sum(g, factors(norms(g))))), losses.mean()


@wrong()
def norms_returned(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g))))), {"norm": norms(g).mean()}


@wrong()
def clipped_share_returned(p, data):
    g = gradients(p, data)
    n = norms(g)
    return update(p, noisy(clipped_sum(g, factors(n)))), (n > C).float().mean()


@wrong()
def loss_read(p, data):
    value = vmap(loss, in_dims=(None, 0, 0))(p, data["x"], data["y"]).mean().item()
    g = gradients(p, data)
    rate = 1.0 if value > 1 else 0.5
    return {k: p[k] - rate * v for k, v in noisy(clipped_sum(g, factors(norms(g)))).items()}


@wrong()
def to_numpy(p, data):
    g = gradients(p, data)
    KEPT.append(norms(g).numpy())
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def kept_outside(p, data):
    g = gradients(p, data)
    KEPT.append(norms(g))
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def seeded_noise(p, data):
    g = gradients(p, data)
    torch.manual_seed(0)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def own_seeded_generator(p, data):
    g = gradients(p, data)
    generator = torch.Generator().manual_seed(7)
    total = clipped_sum(g, factors(norms(g)))
    return update(
        p, {k: v + SIGMA * torch.randn(v.shape, generator=generator) for k, v in total.items()}
    )


@wrong()
def noise_returned(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    noise = {k: SIGMA * torch.randn_like(v) for k, v in total.items()}
    return update(p, {k: total[k] + noise[k] for k in total}), noise


@wrong()
def one_draw_for_two(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    noise = SIGMA * torch.randn(4, 5)
    x = data["x"]
    other = torch.einsum("n,nk->k", factors(x.norm(dim=1)), x)
    step = noisy(total)
    step["w1"] = total["w1"] + noise
    return update(p, step), other.unsqueeze(1).expand(4, 5) + noise


@wrong()
def one_number_for_all_entries(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    return update(p, {k: v + SIGMA * torch.randn(()) for k, v in total.items()})


@wrong()
def noise_for_one_leaf_only(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    total["w1"] = total["w1"] + SIGMA * torch.randn_like(total["w1"])
    return update(p, total)


@wrong()
def noise_on_each_microbatch(p, data):
    out = []
    for xs, ys in zip(data["x"].split(2), data["y"].split(2), strict=False):
        g = gradients(p, {"x": xs, "y": ys})
        out.append(noisy(clipped_sum(g, factors(norms(g))), SIGMA / 3))
    return out


@wrong()
def microbatch_means_clipped(p, data):
    total = {k: torch.zeros_like(v) for k, v in p.items()}
    for xs, ys in zip(data["x"].split(2), data["y"].split(2), strict=False):
        g = {k: v.mean(0) for k, v in gradients(p, {"x": xs, "y": ys}).items()}
        s = torch.clamp(C / torch.sqrt(sum(v.pow(2).sum() for v in g.values())), max=1.0)
        total = {k: total[k] + g[k] * s for k in g}
    return update(p, noisy(total, SIGMA / 2))


@wrong()
def realised_batch(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))), len(data["x"]))


@wrong(SIGMA / 2)
def every_record_twice(p, data):
    g = gradients(p, {k: torch.cat([v, v]) for k, v in data.items()})
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong(SIGMA / 2)
def replaced_not_added(p, data):
    g = gradients(p, data)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def loss_depends_on_the_size(p, data):
    n = len(data["x"])

    def mean(q, x, y):
        return loss(q, x, y) / n

    g = gradients(p, data, mean)
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def first_record_counts_more(p, data):
    g = gradients(p, data)
    s = factors(norms(g))
    weights = torch.ones(len(s))
    weights[0] = 3.0
    return update(p, noisy(clipped_sum(g, s * weights)))


@wrong(SIGMA / math.sqrt(2))
def released_twice(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    return noisy(total), noisy(total)


@wrong()
def half_precision_norm(p, data):
    g = {k: v.half() for k, v in gradients(p, data).items()}
    return update(p, noisy({k: v.float() for k, v in clipped_sum(g, factors(norms(g))).items()}))


@wrong()
def clip_from_another_example(p, data):
    g = gradients(p, data)
    s = factors(norms(g)).flip(0)
    return update(p, noisy(clipped_sum(g, s)))


@wrong()
def loop_keeps_gradients(p, data):
    q = {k: v.detach().requires_grad_() for k, v in p.items()}
    total = {k: torch.zeros_like(v) for k, v in q.items()}
    for x, y in zip(data["x"], data["y"], strict=False):
        loss(q, x, y).backward()  # adds to the gradients of the records before
        torch.nn.utils.clip_grad_norm_(list(q.values()), C)
        for k, v in q.items():
            total[k] += v.grad
    return update(p, noisy(total))


@wrong()
def loop_clips_each_entry(p, data):
    total = {k: torch.zeros_like(v) for k, v in p.items()}
    for x, y in zip(data["x"], data["y"], strict=False):
        g = grad(loss)(p, x, y)
        for k, v in g.items():
            total[k] += v / torch.clamp(v.abs().max() / C, max=1.0)
    return update(p, noisy(total))


@wrong()
def statistics_in_params(p, data):
    g = gradients(p, data)
    with torch.no_grad():
        p["b1"].copy_(0.9 * p["b1"] + 0.1 * torch.tanh(data["x"] @ p["w1"]).mean(0))
    return update(p, noisy(clipped_sum(g, factors(norms(g)))))


@wrong()
def number_of_a_class(p, data):
    return (data["y"] == 1).sum()


@wrong()
def uniform_noise(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    return update(p, {k: v + SIGMA * (torch.rand_like(v) - 0.5) for k, v in total.items()})


@wrong()
def noise_scaled_by_the_data(p, data):
    g = gradients(p, data)
    n = norms(g)
    total = clipped_sum(g, factors(n))
    return update(p, {k: v + n.max() * torch.randn_like(v) for k, v in total.items()})


@wrong()
def sign_of_the_sum(p, data):
    g = gradients(p, data)
    total = clipped_sum(g, factors(norms(g)))
    return update(p, noisy({k: v.sign() for k, v in total.items()}, 0.1))


WRONG["replaced_not_added"] = (replaced_not_added, SIGMA, {"adjacency": "replace-one"})


def joined(p, data, scale, more):
    """All gradients in one row each: some of them `scale` times, some of them again."""
    flat = {k: v.reshape(len(v), -1) for k, v in gradients(p, data).items()}
    first = torch.cat([flat["w1"], flat["b1"]], 1)
    norm = torch.linalg.vector_norm(torch.cat([first, flat["w2"]], 1), dim=1)
    rows = torch.cat([scale * first, *(flat[name] for name in more)], 1)
    return (rows * factors(norm)[:, None]).sum(0) + SIGMA * C * torch.randn(rows.shape[1])


@wrong(SIGMA / 10)
def scaled_after_the_norm(p, data):
    return joined(p, data, 10.0, ["w2"])


@wrong(SIGMA / math.sqrt(2))
def released_twice_in_one_row(p, data):
    return joined(p, data, 1.0, ["w1"])


@wrong()
def laplace_noise(p, data):
    """A vector of L2 norm C has no bounded cost under Laplace noise that does not grow with its length."""
    g = gradients(p, data)
    law = torch.distributions.Laplace(0.0, SIGMA * C)
    return update(
        p, {k: v + law.sample(v.shape) for k, v in clipped_sum(g, factors(norms(g))).items()}
    )


def noisy_sum(rows):
    total = rows.sum(0)
    return total + SIGMA * C * torch.randn_like(total)


@wrong()
def norm_of_another_layout(p, data):
    """What is added runs along the other axis than where the norm was taken."""
    rows, other = gradients(p, data)["w1"][:, :, :4], p["b1"][:4]
    norm = torch.linalg.vector_norm((rows + other[:, None]).reshape(len(rows), -1), dim=1)
    return noisy_sum((rows + other[None, :]) * factors(norm)[:, None, None])


@wrong()
def norm_of_another_expansion(p, data):
    rows, other = gradients(p, data)["w1"][:, :, :4], p["b1"][:4]
    norm = torch.linalg.vector_norm(
        (rows * other[:, None].expand(4, 4)).reshape(len(rows), -1), dim=1
    )
    return noisy_sum(rows * other[None, :].expand(4, 4) * factors(norm)[:, None, None])


@wrong()
def differences_that_are_not_zero(p, data):
    """All pairs of a record's numbers: the same numbers, in other places."""
    row = data["x"]
    return noisy_sum(row[:, :, None] - row[:, None, :])


@wrong(SIGMA / 2)
def repeated_after_the_norm(p, data):
    row = data["x"]
    factor = factors(torch.linalg.vector_norm(row, dim=1))
    return noisy_sum(row[:, None, :] * factor[:, None, None].expand(len(row), 4, 1))


@wrong(SIGMA / 2)
def every_entry_repeated_after_the_norm(p, data):
    row = data["x"]
    factor = factors(torch.linalg.vector_norm(row, dim=1))
    return noisy_sum(row[:, :, None] * factor[:, None, None].expand(len(row), 1, 4))


def clipped_by_another(rows, normed, released):
    norm = torch.linalg.vector_norm(normed.reshape(len(rows), -1), dim=1)
    return noisy_sum(released * factors(norm)[:, None, None])


@wrong()
def copied_along_another_axis(p, data):
    rows, other = gradients(p, data)["w1"][:, :, :4], p["b1"][:4]
    across, down = (torch.empty(4, 4).copy_(v) for v in (other[:, None], other[None, :]))
    return clipped_by_another(rows, rows + across, rows + down)


@wrong()
def listed_along_another_axis(p, data):
    rows, other = gradients(p, data)["w1"][:, :, :4], p["b1"][:4]
    across = torch._foreach_add([rows], [other[:, None]])[0]
    return clipped_by_another(rows, across, torch._foreach_add([rows], [other[None, :]])[0])
