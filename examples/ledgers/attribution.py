"""Attribution with budgets by the million: impressions, sites and epochs as buckets of one population.

A browser keeps, for every (site, epoch), how much was learned of its impressions. A conversion report of a
site looks at a few epochs: each of their buckets pays, and the report leaves out those that cannot. Who is
charged is public (a site asks for its own epochs), so the refusals may be seen.

python examples/ledgers/attribution.py
"""

import numpy as np

import dpcheck

SITES, EPOCHS = 200, 52
BUDGET = dpcheck.Budget(1.0)
REPORT = dpcheck.Laplace(noise_multiplier=8.0)  # a count over a few epochs, epsilon 1/8


def bucket(site, epochs):
    """The accounts of a site's epochs."""
    return site * EPOCHS + np.asarray(epochs)


def main(reports=2000, seed=0):
    """Ask for reports until the budgets refuse; how many were whole, partial and refused."""
    rng = np.random.default_rng(seed)
    impressions = rng.poisson(3.0, size=SITES * EPOCHS)  # by bucket: the private data
    ledger = dpcheck.Ledger(budget=BUDGET, adjacency="add-remove")
    buckets = ledger.population("impressions", size=SITES * EPOCHS)
    whole = partial = refused = 0
    for _ in range(reports):
        site = int(rng.geometric(0.1)) % SITES  # some sites ask more often
        last = int(rng.integers(4, EPOCHS))
        wanted = bucket(site, range(last - 4, last))
        may = ledger.affordable(buckets, REPORT, who=wanted)
        if not may.any():
            refused += 1
            continue
        ledger.spend(buckets, REPORT, who=may)  # before the noise
        rng.laplace(float(impressions[may].sum()), 8.0)
        if may.sum() == len(wanted):
            whole += 1
        else:
            partial += 1
    used = ledger.used(buckets)
    print(f"{whole} whole, {partial} partial, {refused} refused reports")
    print(
        f"{(used > 0).sum():,} of {len(used):,} buckets asked about, {(used >= 1).sum():,} used up"
    )
    return whole, partial, refused, used


if __name__ == "__main__":
    main()
