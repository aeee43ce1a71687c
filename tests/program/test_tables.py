"""What is read of tables computes what pandas does, on private columns with awkward values among them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.described import described
from dpcheck.program.graph import Graph
from dpcheck.program.lowering import library
from dpcheck.program.proof import Program
from dpcheck.program.reading.calls import call
from dpcheck.program.reading.reader import Reader
from dpcheck.program.reading.values import Generator
from dpcheck.program.running import run

pd = pytest.importorskip("pandas")
library.load()
RECORDS = dpcheck.records(
    age=dpcheck.number(0, 100),
    n=dpcheck.number(-3, 3, integer=True),
    city=dpcheck.one_of("A", "B", "C"),
    sex=dpcheck.one_of("F", "M"),
    rows=40,
)
CUT = "pd.cut(df['age'], [0, 25, 50, 100]"
EXPRESSIONS = [
    f"{CUT}).value_counts(sort=False)",
    f"{CUT}, right=False).value_counts(sort=False)",
    f"{CUT}, include_lowest=True, labels=['x', 'y', 'z']).value_counts().sort_index()",
    f"{CUT}, labels=['x', 'y', 'z']).value_counts().reindex(['z', 'x'])",
    f"({CUT}, labels=['x', 'y', 'z']) == 'y').sum()",
    f"df.assign(g={CUT})).groupby('g', observed=False).size()",
    f"df.assign(g={CUT})).groupby('g', observed=False)['age'].sum()",
    "pd.Series(pd.Categorical(df['city'], categories=['B', 'A', 'Z', 'C'])).value_counts().sort_index()",
    "pd.crosstab(df['city'], df['sex']).reindex(index=['B', 'Z', 'A'], columns=['M'], fill_value=0)",
    "pd.crosstab(df.city, df.n > 0).reindex(index=['A', 'B'], columns=[True, False], fill_value=0)",
    "df.groupby(['city', 'sex']).size().unstack(fill_value=0)"
    ".reindex(index=['A', 'B', 'C'], columns=['F', 'M'], fill_value=0)",
    "df.groupby(['city', 'sex'])['age'].sum()"
    ".reindex(pd.MultiIndex.from_product([['C', 'A'], ['M', 'F']]), fill_value=0)",
    "df.pivot_table(index='sex', columns='city', values='age', aggfunc='sum', fill_value=0)"
    ".reindex(index=['F', 'M'], columns=['A', 'B', 'C'], fill_value=0)",
    "df.query('age > 30 & city == \"A\" | n <= 0')['age'].sum()",
    "df.query('10 < age <= 50 and sex != \"F\"').shape[0]",
    "(df['n'] // 2).sum()",
    "(df['n'] % 2 == 1).sum()",
    "(df['age'] % 7.5).sum()",
    "(df['n'] ** 2).sum()",
    "df['age'].apply(lambda v: v if v > 20 else 0.0).sum()",
    "df['n'].apply(lambda v: v * v + 1).sum()",
    "df.apply(lambda r: r['age'] * r['n'] if r['city'] == 'A' else 0.0, axis=1).sum()",
    "df[['age', 'n']].apply(lambda r: r['age'] + r['n'], axis=1).sum()",
    "sum(r['n'] for r in df.to_dict('records') if r['sex'] == 'F')",
    "sum(r.age for r in df.itertuples() if r.city != 'B')",
    "sum(row['age'] for _, row in df.iterrows())",
    "sum(1 for c in df['city'].tolist() if c in ('A', 'C'))",
    "sum(1 for v in df['n'].tolist() if v in (1, 2))",
    "sum(list(df['age']))",
    "df[['age', 'n']].clip(lower=[5, 0], upper=[50, 2], axis=1).sum()",
    "pd.Series(df['age'].to_numpy()).clip(0, 50).mean()",
    "[(df['age'] > t).sum() for t in range(3)]",
]


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory):
    path: Path = tmp_path_factory.mktemp("tables") / "tables.py"
    bodies = [f"def case_{i}(df, rng):\n    return {each}\n" for i, each in enumerate(EXPRESSIONS)]
    path.write_text("import numpy as np\nimport pandas as pd\n\n\n" + "\n\n".join(bodies))
    spec = importlib.util.spec_from_file_location("cases_of_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_up(seed: int):
    rng = np.random.default_rng(seed)
    ages = np.where(
        rng.random(40) < 0.5, rng.choice([0.0, 25.0, 50.0, 100.0], 40), rng.uniform(0, 100, 40)
    )
    whole = rng.integers(-3, 4, 40)
    return pd.DataFrame(
        {
            "age": ages,
            "n": whole,
            "city": rng.choice(list("ABC"), 40),
            "sex": rng.choice(list("FM"), 40),
        }
    )


@pytest.mark.parametrize("place", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_the_program_computes_what_pandas_does(place: int, functions):
    function = getattr(functions, f"case_{place}")
    graph = Graph(Adjacency.REPLACE_ONE)
    reader = Reader(graph, frozenset())
    output = call(reader, function, (described(reader, RECORDS, "pandas"), Generator("rng")), {})
    for seed in range(3):
        found = run(Program(graph, output, reader), made_up(seed), np.random.default_rng(0)).output
        wanted = function(made_up(seed), np.random.default_rng(0))
        if isinstance(wanted, pd.Series | pd.DataFrame):
            assert list(map(str, found.index)) == list(map(str, wanted.index))
            wanted, found = wanted.to_numpy(), found.to_numpy()
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=1e-12)
