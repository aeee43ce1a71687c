"""OpenDP 0.16: amplified measurements composed on one sample. Needs opendp; exits 1 if under-reported.

Two measurements, each amplified for a sample of 1 of 50, are composed. The sample is drawn once, so the
composition is the amplified composition, not the composition of amplified ones.
"""

import math
import sys

import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
POPULATION, QUERIES = 50, 6
space = (
    dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False), size=1),
    dp.symmetric_distance(),
)
mean = space >> dp.t.then_mean() >> dp.m.then_laplace(0.5)
amplified = dp.c.make_population_amplification(mean, population_size=POPULATION)
composed = dp.c.make_composition([amplified] * QUERIES)
epsilon, claimed, rate = mean.map(d_in=2), composed.map(d_in=2), 1 / POPULATION
# Laplace losses reach +epsilon on each answer, together, when all answers are large:
# P'(all large) / P(all large) = rate e^(k epsilon) + 1 - rate.
true = math.log(rate * math.exp(QUERIES * epsilon) + 1 - rate)
print(f"one query: epsilon {epsilon:.4f}, amplified {amplified.map(d_in=2):.4f}")
print(
    f"{QUERIES} on one sample: map says {claimed:.4f}; exactly ln(1 + q(e^(k eps) - 1)) = {true:.4f}"
)
sys.exit(int(true > claimed))
