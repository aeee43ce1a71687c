"""The papers' protocol for RUIJIN, private and never published, on public hospital records.

A stand-in, not the papers' data. All patients have diabetes already, so what is predicted is whether they
come back. No hospital is named, so the specialty that admitted a patient stands for a centre.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from dpcheck.core.errors import UsageError
from dpcheck.execution.progress import counted
from dpcheck.mechanisms import PSTH
from dpcheck.reproduce.parameters import Parameter
from dpcheck.reproduce.stacking.figures import begin
from dpcheck.reproduce.stacking.table import EPSILONS, SEED, Echo, pptl_methods
from dpcheck.reproduce.stacking.trials import (
    Floats,
    Maker,
    Space,
    TrainedMethod,
    Trial,
    auc,
    keywords_of,
    tune,
)

FILE = "diabetes130/diabetic_data.csv.gz"
CENTRES = 18  # as the papers': two of them are the source, sixteen are targets
REPETITIONS = 5
REHEARSED = (4000, 1000)  # source and target rows of the rehearsal that settings are chosen on
UNKNOWN = "?"  # rows that name no specialty: nobody's centre, taken for public
NUMBERS = {
    "time_in_hospital": 14,
    "num_lab_procedures": 100,
    "num_procedures": 6,
    "num_medications": 60,
    "number_outpatient": 5,
    "number_emergency": 5,
    "number_inpatient": 5,
    "number_diagnoses": 16,
}
DRUGS = ("metformin", "glipizide", "glyburide", "pioglitazone", "rosiglitazone", "insulin")
# First diagnosis by chapter of ICD-9: the last code of each.
CHAPTERS = (139, 239, 279, 289, 319, 389, 459, 519, 579, 629, 679, 709, 739, 759, 779, 799, 999)


@dataclass(frozen=True, slots=True, eq=False)
class Hospitals:
    """Features in [0, 1], whether the patient came back, and the specialty that admitted them."""

    X: Floats
    y: Floats
    centre: NDArray[np.str_]

    def of(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """Rows and labels of some centres."""
        rows = np.isin(self.centre, names)
        return self.X[rows], self.y[rows]

    def largest(self) -> list[str]:
        """The centres with the most patients, UNKNOWN apart."""
        found = Counter(self.centre.tolist())
        del found[UNKNOWN]
        return [name for name, _ in found.most_common(CENTRES)]


def load(data_dir: Path | None) -> Hospitals:
    """The first stay of every patient."""
    if data_dir is None or not (data_dir / FILE).is_file():
        raise UsageError(f"this table needs --data-dir, a folder that holds {FILE}.")
    seen: set[str] = set()
    rows, labels, centres = [], [], []
    with gzip.open(data_dir / FILE, "rt", encoding="utf-8") as file:
        for record in csv.DictReader(file):
            if record["patient_nbr"] in seen:
                continue
            seen.add(record["patient_nbr"])
            rows.append(features(record))
            labels.append(float(record["readmitted"] != "NO"))
            centres.append(record["medical_specialty"])
    return Hospitals(np.array(rows), np.array(labels), np.array(centres))


def features(record: Mapping[str, str]) -> list[float]:
    """Scaled by what the numbers can be, not by the data."""
    found = [min(1.0, float(record[name]) / most) for name, most in NUMBERS.items()]
    found.append(int(record["age"][1:].split("-")[0]) / 90)
    found.append(float(record["gender"] == "Female"))
    found += [
        float(record["race"] == each) for each in ("Caucasian", "AfricanAmerican", "Hispanic")
    ]
    for name in ("change", "diabetesMed"):
        found.append(float(record[name] in ("Ch", "Yes")))
    found += [float(record[name] != "No") for name in DRUGS]
    found += [float(record["insulin"] == each) for each in ("Up", "Down")]
    found += [float(record["A1Cresult"] == each) for each in (">7", ">8", "Norm")]
    found += [float(record["max_glu_serum"] in (">200", ">300"))]
    found += [float(record["admission_type_id"] == each) for each in ("1", "2", "3")]
    found += [float(record["discharge_disposition_id"] == each) for each in ("1", "3", "6")]
    chapter = _chapter(record["diag_1"])
    return found + [float(chapter == each) for each in range(len(CHAPTERS) + 1)]


def _chapter(code: str) -> int:
    if not code[:1].isdigit():
        return len(CHAPTERS)
    return int(np.searchsorted(CHAPTERS, int(float(code))))


def pptl_fs_hospitals(
    data_dir: Path | None, echo: Echo, repetitions: int = REPETITIONS, centres: int = CENTRES
) -> None:
    """[Guo2018] Tables 2 and 4 and [Yao2019] Table 2, on a stand-in."""
    data = load(data_dir)
    names = data.largest()[:centres]
    sizes = [int((data.centre == name).sum()) for name in names]
    done = begin(
        "[Guo2018] Tables 2 and 4 on a stand-in for RUIJIN: testing AUC by centre, epsilon 1", echo
    )
    echo(
        f"{data.X.shape[1]} features. Source: {names[0]} and {names[1]}, {sum(sizes[:2]):,} patients. "
        f"Targets: {len(names) - 2} specialties.\n"
    )
    space, rehearsal = public(data)
    methods = compared()
    rng = np.random.default_rng([SEED, 11])
    chosen = [tune(method, 1.0, "tight", rehearsal, rng) for method in methods]
    echo("| target | patients | " + " | ".join(method.name for method in methods) + " |")
    echo("|" + "---|" * (2 + len(methods)))
    means = []
    for name, size in counted("centres", zip(names[2:], sizes[2:], strict=True), len(names) - 2):
        trials = [trial(data, names[:2], name, space, rep) for rep in range(repetitions)]
        found = [
            scores(method, 1.0, with_, trials, rng)
            for method, with_ in zip(methods, chosen, strict=True)
        ]
        means.append([float(np.mean(each)) for each in found])
        cells = " | ".join(f"{np.mean(each):.3f} ± {np.std(each, ddof=1):.3f}" for each in found)
        echo(f"| {name} | {size:,} | {cells} |")
    ranks = np.mean([rankdata([-value for value in row]) for row in means], axis=0)
    echo("| mean rank | | " + " | ".join(f"{rank:.2f}" for rank in ranks) + " |")
    _by_epsilon(data, names, space, rehearsal, repetitions, echo)
    done()


def compared() -> list[TrainedMethod]:
    """[Guo2018]'s five, and [Yao2019]'s PST-H; its PLR(target) is Direct."""
    methods = pptl_methods()
    grid = methods[0].grid
    return [
        TrainedMethod("PST-H(W)", _psth("weighted"), grid),
        TrainedMethod("PST-H(U)", _psth("random"), grid),
        *methods,
    ]


def _psth(which: str) -> Maker:
    def make(
        epsilon: float, space: Space, source: float, target: float, high: float, **choice: Parameter
    ) -> PSTH:
        keywords = getattr(space, which)()
        return PSTH(
            epsilon, epsilon, source, target, high_regularization=high, **keywords, **choice
        )

    return make


def _by_epsilon(
    data: Hospitals,
    names: Sequence[str],
    space: Space,
    rehearsal: Sequence[Trial],
    repetitions: int,
    echo: Echo,
) -> None:
    """The first target at every epsilon, as Table 2 has centre 3."""
    trials = [trial(data, names[:2], names[2], space, rep) for rep in range(repetitions)]
    echo(f"\nTarget {names[2]}, by epsilon\n")
    echo("| method | " + " | ".join(f"eps {epsilon:g}" for epsilon in EPSILONS) + " |")
    echo("|" + "---|" * (1 + len(EPSILONS)))
    for index, method in enumerate(compared()):
        cells = []
        for epsilon in EPSILONS:
            rng = np.random.default_rng([SEED, 12, index, int(1000 * epsilon)])
            with_ = tune(method, epsilon, "tight", rehearsal, rng)
            found = scores(method, epsilon, with_, trials, rng)
            cells.append(f"{np.mean(found):.3f} ± {np.std(found, ddof=1):.3f}")
        echo(f"| {method.name} | " + " | ".join(cells) + " |")


def scores(
    method: TrainedMethod,
    epsilon: float,
    chosen: Mapping[str, float],
    trials: Sequence[Trial],
    rng: np.random.Generator,
) -> list[float]:
    """The AUC on every split, with fresh noise."""
    return [
        auc(method.make(epsilon, one.space, **chosen, **keywords_of("tight")), one, rng)
        for one in trials
    ]


def public(data: Hospitals) -> tuple[Space, list[Trial]]:
    """Bounds and importances from rows that name no specialty, and a rehearsal on them."""
    X, y = data.of([UNKNOWN])
    rng = np.random.default_rng(SEED)
    # What a doctor would say of a feature: how far it goes with coming back, among these rows.
    matters = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / len(X)
    space = Space.of(X, matters, rng)
    order = rng.permutation(len(X))
    source, target = REHEARSED
    first, second = order[:source], order[source : source + target]
    cut = int(0.8 * target)
    train = (X[first], y[first], X[second[:cut]], y[second[:cut]])
    return space, [Trial(train, (X[second[cut:]], y[second[cut:]]), space, folds=3)]


def trial(data: Hospitals, source: Sequence[str], target: str, space: Space, rep: int) -> Trial:
    """80% of source and target to train on, the target's rest to test."""
    rng = np.random.default_rng([SEED, 13, rep])
    train: list[Floats] = []
    for names in (source, [target]):
        X, y = data.of(names)
        order = rng.permutation(len(X))
        cut = int(0.8 * len(X))
        train += [X[order[:cut]], y[order[:cut]]]
    return Trial(tuple(train), (X[order[cut:]], y[order[cut:]]), space, folds=3)
