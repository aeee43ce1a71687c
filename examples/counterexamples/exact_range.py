"""DataSynthesizer 0.1.13: the description holds the exact minimum and maximum. Exits 1 if so."""

import os
import sys
import tempfile

from DataSynthesizer.DataDescriber import DataDescriber

found = {}
for oldest in (31, 90):
    handle, path = tempfile.mkstemp(suffix=".csv")
    with os.fdopen(handle, "w") as file:
        file.write("age,kind\n" + "".join(f"{20 + i},{'ab'[i % 2]}\n" for i in range(12)))
        file.write(f"{oldest},a\n")
    described = DataDescriber(category_threshold=5, histogram_bins=2)
    described.describe_dataset_in_independent_attribute_mode(
        dataset_file=path, epsilon=0.1, attribute_to_is_categorical={"kind": True}
    )
    os.unlink(path)
    found[oldest] = described.data_description["attribute_description"]["age"]["max"]
print(f"claimed epsilon 0.1; released maximum {found[31]} and {found[90]}: epsilon is infinite")
sys.exit(int(float(found[31]) == 31 and float(found[90]) == 90))
