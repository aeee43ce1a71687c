"""diffprivlib 0.6.6: LogisticRegression releases the set of labels as it is. Exits 1 if so."""

import sys
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

rows, labels = [[1.0], [-1.0]] * 3, [1, 0] * 3
found = []
for more_rows, more_labels in (([[0.5]], [2]), ([], [])):
    model = LogisticRegression(epsilon=1.0, data_norm=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence; none is about labels
        model.fit(np.array(rows + more_rows), np.array(labels + more_labels))
    found.append((model.classes_.tolist(), model.coef_.shape))
print(f"claimed epsilon 1; with the record that has label 2: classes {found[0][0]}")
print(f"without it: classes {found[1][0]}: epsilon is infinite")
sys.exit(int(found[0][0] == [0, 1, 2] and found[1][0] == [0, 1]))
