"""diffprivlib 0.6.6, LinearRegression: the sensitivity of the sum of squares."""

from diffprivlib.models import LinearRegression

import dpcheck

ROWS = [[0.0]] * 4


@dpcheck.audited(
    claim=1.0,
    adjacency="replace-one",
    neighbours=[([*ROWS, [1.0]], [*ROWS, [0.1]])],
)
def target(rows, rng):
    model = LinearRegression(
        epsilon=1.0,
        bounds_X=(0, 1),
        bounds_y=(0, 1),
        fit_intercept=False,
        random_state=int(rng.integers(1 << 31)),
    )
    return model.fit(rows, [0.0] * 5).coef_
