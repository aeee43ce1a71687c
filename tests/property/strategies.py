"""Hypothesis strategies over events, shared by the property tests."""

from hypothesis import strategies as st

import dpcheck

noise = st.floats(0.4, 20.0)
rate = st.floats(1e-4, 0.5)

LEAVES = st.one_of(
    st.builds(dpcheck.Gaussian, noise),
    st.builds(dpcheck.Laplace, noise),
    st.builds(dpcheck.SampledGaussian, noise, rate),
    st.builds(dpcheck.PureDP, st.floats(0.0, 1.0)),
    st.builds(dpcheck.ApproxDP, st.floats(0.0, 1.0), st.floats(0.0, 1e-4)),
    st.builds(dpcheck.ZCDP, st.floats(0.0, 0.5)),
    st.builds(dpcheck.GDP, st.floats(0.0, 1.0)),
    st.builds(dpcheck.DiscreteLaplace, noise),
    st.builds(dpcheck.ExponentialMechanism, st.floats(0.0, 1.0)),
)


def extend(inner):
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a, n: a * n, inner, st.integers(0, 6)),
    )


TREES = st.recursive(LEAVES, extend, max_leaves=5)
