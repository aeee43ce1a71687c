"""The words of reports and messages, each explained once: for `dpcheck explain`, reports and docs."""

from __future__ import annotations

# Term -> what it means, in whole sentences for somebody who knows what epsilon is.
GLOSSARY: dict[str, str] = {
    "holds": (
        "The strongest verdict. An upper bound on what the described mechanism spends was proved and "
        "is within the claim; the code was tied to that description, by a proof or by a test of its "
        "noise with stated power; and no attack contradicted it. It rests on the assumptions listed "
        "with the bound."
    ),
    "consistent": (
        "No attack that was tried contradicts the claim, and nothing proves it. It is a statement about "
        "the pairs of datasets, the events and the number of runs named in the report, not about all "
        "of them: a leak elsewhere would not have been seen."
    ),
    "violated": (
        "The code spends more than was claimed, and a counterexample shows it: two neighbouring "
        "datasets and a set of outputs that is too much likelier on one than on the other. The stated "
        "confidence is the probability that such a verdict is not a false alarm."
    ),
    "undecided": (
        "Neither: the claim was not refuted, and the runs, the time or the outputs that could be read "
        "were too few to have seen a violation of the size you asked about. More runs, a longer time "
        "limit or an output that can be read settle it."
    ),
    "epsilon": (
        "How much likelier any set of outputs may become when one person's data change: at most e to "
        "the power epsilon times. At epsilon 1, an attacker who starts at even odds is right at "
        "most 73% of the time after seeing the output."
    ),
    "delta": (
        "The probability mass that epsilon may leave out. It should be far below one over the number "
        "of people: with probability delta anything may happen to somebody."
    ),
    "claim": (
        "What is said about the code: an epsilon, an epsilon with a delta, or a whole mechanism such as "
        "Gaussian noise of a certain size, under one neighbouring relation."
    ),
    "adjacency": (
        "Which datasets count as neighbours: what may change about one person. A claim means nothing "
        "without it. dpcheck knows replace-one, add-remove and zero-out."
    ),
    "replace-one": (
        "Neighbours have the same number of rows, which is public, and differ in the content of one. A "
        "sum of contributions of norm at most C moves by at most 2C."
    ),
    "add-remove": (
        "One dataset is the other with one row more. The number of rows is private. A sum of "
        "contributions of norm at most C moves by at most C."
    ),
    "zero-out": (
        "One row is replaced by an empty one that contributes nothing; the number of rows stays. A sum "
        "of contributions of norm at most C moves by at most C."
    ),
    "proved": (
        "An upper bound from an accountant: no attack whatsoever on the described mechanism does "
        "better, given the assumptions printed with it."
    ),
    "observed": (
        "A lower bound from an attack on the real code: what somebody who sees the outputs achieves at "
        "least, at the stated confidence."
    ),
    "confidence": (
        "How sure a verdict of violated is. At 0.999 at most one in a thousand audits of private code "
        "ends with a false alarm, however often the evidence is weighed on the way."
    ),
    "witness": (
        "The counterexample of a violated claim: the pair of datasets, the event, and how often it "
        "happened on each, or an exact loss. It can be saved and checked again."
    ),
    "event": (
        "A frozen description of what a mechanism publishes, such as "
        "SampledGaussian(noise_multiplier=1.1, sampling_rate=0.01). Accountants turn events into bounds."
    ),
    "output set": (
        "A set of outputs that an attack tests: is it likelier on one dataset than on its neighbour "
        "than the claim allows?"
    ),
    "release": (
        "One act of publishing something computed from the data. An event describes it, and a ledger "
        "counts it."
    ),
    "description": (
        "What a record can contain: dpcheck.records(age=dpcheck.number(0, 120)). A proof covers the data "
        "that fit it. The bounds that `dpcheck init` writes are guesses: nothing holds until "
        "you turn their confirmed=False into confirmed=True."
    ),
    "certificate": (
        "A file from which `dpcheck verify` checks a bound or a proof again, without trusting the code "
        "that produced it."
    ),
    "privacy loss": (
        "For one output, the logarithm of how much likelier it is on one dataset than on its "
        "neighbour. Pure epsilon is its largest value; a privacy-loss distribution says how often "
        "which value occurs."
    ),
    "sensitivity": (
        "How far a number computed from the data can move between neighbours. Noise must be scaled to "
        "it."
    ),
    "ledger": (
        "A record of what was released from which dataset, that refuses the release which would "
        "exceed the budget."
    ),
    "gate": (
        "`dpcheck check`: every audit and budget of a project as one exit code, for continuous "
        "integration."
    ),
    "canary": (
        "A made-up record that is put into a training by a coin. Whoever guesses the coins from the "
        "trained model better than the claim allows has refuted it."
    ),
    "detectable": (
        "The smallest epsilon that the tests would have caught with probability 0.9, had it stood on "
        "the events that were tried."
    ),
}
