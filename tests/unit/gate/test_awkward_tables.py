"""Files that people have: the right description or a clear question, and nobody's values in the answer."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from dataclasses import replace
from datetime import date, timedelta

import pytest

from dpcheck.core.errors import DpcheckError
from dpcheck.core.records import Number, OneOf, Text, as_code
from dpcheck.gate.describing import Reading, described_by


@pytest.fixture
def guess(tmp_path, monkeypatch):
    """The description of a file with this content, in which nothing of a text cell may be."""
    monkeypatch.chdir(tmp_path)

    def describe(content, name="people.csv", secret=(), **told):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        found = described_by(name, Reading(**told))
        code = as_code(found.records, found.notes)
        assert not [word for word in secret if word in code + found.source]
        # All of it is a guess; the tests compare it with what somebody would state.
        assert found.records.guessed == found.records.names
        stated = [(name, replace(each, confirmed=None)) for name, each in found.records.fields]
        return replace(found, records=replace(found.records, fields=tuple(stated)))

    return describe


@pytest.fixture
def question(tmp_path, monkeypatch):
    """The message with which a file is refused; it has no cell of the file in it."""
    monkeypatch.chdir(tmp_path)

    def ask(content, name="people.csv", secret=(), **told):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DpcheckError) as refused:
            described_by(name, Reading(**told))
        assert not [word for word in secret if word in str(refused.value)]
        return str(refused.value)

    return ask


def rows(*columns):
    return "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def test_a_sorted_file_is_read_to_its_end(guess):
    incomes = range(0, 1_000_000, 5)
    found = guess("income\n" + "".join(f"{n}\n" for n in incomes))
    assert found.records.column("income") == Number(0, 1_000_000, integer=True)


def test_ends_are_round_in_the_scale_of_the_column(guess):
    found = guess("income,change\n8,-90317\n61300,-3\n").records
    assert found.column("income") == Number(0, 70_000, integer=True)  # 8 is somebody's
    assert found.column("change") == Number(-100_000, 0, integer=True)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_usual_delimiter_is_seen(guess, delimiter):
    text = "age,income\n30,1000\n41,2000\n".replace(",", delimiter)
    found = guess(text).records
    assert found.column("age") == Number(30, 50, integer=True)
    assert found.column("income") == Number(1000, 2000, integer=True)


def test_a_delimiter_that_fits_two_ways_is_asked_for(question, guess):
    text = "a;b,c;d\n1;2,3;4\n5;6,7;8\n"
    assert "--delimiter" in question(text)
    assert guess(text, delimiter=";").records.names == ("a", "b,c", "d")


def test_a_delimiter_of_another_kind_is_said(guess):
    assert guess("a~b\n1~2\n", delimiter="~").records.names == ("a", "b")
    assert guess("a\tb\n1\t2\n", delimiter="tab").records.names == ("a", "b")


def test_decimal_commas(guess):
    found = guess("age;height\n30;1,82\n40;1,7\n").records
    assert found.column("height") == Number(1, 2)


def test_commas_that_may_be_thousands_are_a_question(guess):
    found = guess("age;income\n30;1,500\n40;2,000\n")
    assert found.records.column("income") == Text()
    assert "decimals or thousands" in found.notes["income"]
    quoted = guess('age,income\n30,"1,500"\n40,"21,000,000"\n')
    assert "decimals or thousands" in quoted.notes["income"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_are_read(guess, encoding):
    found = guess("größe,age\n1,2\n3,4\n".encode(encoding)).records
    assert found.names == ("größe", "age")


def test_an_unmarked_encoding_is_asked_for(question, guess):
    content = "größe,age\n1,2\n".encode("cp1252")
    assert "--encoding cp1252" in question(content)
    assert guess(content, encoding="cp1252").records.names == ("größe", "age")
    assert "no encoding 'klingon'" in question(content, encoding="klingon")


@pytest.mark.parametrize("pair", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_truth_values_are_no_text(guess, pair):
    found = guess("age,smokes\n" + rows([30, 40], pair)).records
    assert found.column("smokes") == OneOf((False, True))


def test_truth_values_some_of_which_are_missing(guess):
    assert guess("age,smokes\n1,True\n2,\n").records.column("smokes") == OneOf((False, True, None))


def test_birth_dates_are_not_copied(guess):
    days = [(date(1950, 1, 1) + timedelta(days=977 * n)).isoformat() for n in range(5)]
    found = guess("age,born\n" + rows(range(5), days), secret=days)
    assert found.records.column("born") == Text()
    assert "dates" in found.notes["born"]


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_of_other_countries(guess, form):
    days = [(date(1950, 1, 1) + timedelta(days=977 * n)).strftime(form) for n in range(5)]
    assert "dates" in guess("age,born\n" + rows(range(5), days), secret=days).notes["born"]


def test_diagnoses_are_not_copied_unless_they_are_a_public_list(guess):
    seen = ["influenza", "HIV", "influenza", "diabetes"]
    text = "age,diagnosis\n" + rows([1, 2, 3, 4], seen)
    hidden = guess(text, secret=seen)
    assert hidden.records.column("diagnosis") == Text()
    assert "3 different texts" in hidden.notes["diagnosis"]
    listed = guess(text, categories=("diagnosis",)).records
    assert listed.column("diagnosis") == OneOf(("HIV", "diabetes", "influenza"))


def test_numbers_can_be_a_public_list(guess):
    found = guess("region,age\n3,30\n1,40\n3,50\n", categories=("region",)).records
    assert found.column("region") == OneOf((1, 3))


def test_a_category_that_is_no_column_is_refused(question):
    assert "there is no column 'citty'" in question("city,age\nUlm,3\n", categories=("citty",))


def test_free_text_is_not_copied(guess):
    notes = ["fell from a ladder, twice", 'said "no"', "two\nlines"]
    text = "age,remark\n" + "".join(
        f'{n},"{note.replace(chr(34), chr(34) * 2)}"\n' for n, note in enumerate(notes)
    )
    assert guess(text, secret=["ladder", "said", "lines"]).records.column("remark") == Text()


def test_a_cell_of_several_lines_may_stand_where_the_sample_of_lines_ends(guess):
    text = "age,remark,city\n" + "".join(
        f'{n},"fell;\nagain;\n\nsaid {n}",Ulm\n' for n in range(60)
    )
    assert guess(text).records.names == ("age", "remark", "city")


def test_long_texts_get_room(guess):
    assert guess(f"a,b\n1,{'x' * 1234}\n").records.column("b") == Text(2000)


def test_identifiers_are_pointed_out(guess):
    found = guess("patient_id,age\n" + rows(range(1000, 1040), range(40)))
    assert "person='patient_id'" in found.notes["patient_id"]
    assert "person" not in found.notes["age"]


def test_missing_numbers(guess):
    found = guess("age,income\n30,1000\nNA,\n41,2000\n").records
    assert found.column("age") == Number(30, 50, missing=True)
    assert found.column("income") == Number(1000, 2000, missing=True)


@pytest.mark.parametrize("nan", ["NaN", "NAN", "-nan", "+Nan", " nan "])
def test_a_nan_is_a_missing_number_however_it_is_spelled(guess, nan):
    found = guess(f"age,spare,income\n{nan},{nan},1\n30,{nan},2\n41,{nan},3\n").records
    assert found.column("age") == Number(30, 50, missing=True)
    assert found.column("spare") == Text()


def test_an_empty_column(guess):
    found = guess("age,spare\n30,\n40,\n")
    assert found.records.column("spare") == Text()
    assert "every cell is empty" in found.notes["spare"]


def test_a_column_with_one_number_is_no_point(guess):
    found = guess("age,year,zero\n30,2020,0\n40,2020,0\n")
    assert found.records.column("year") == Number(0, 3000, integer=True)
    assert found.records.column("zero") == Number(0, 1, integer=True)
    assert "same number" in found.notes["year"]


def test_extreme_numbers(guess):
    found = guess("a,b,c\n-1e300,inf,0.001\n2.5e-3,1,0.0042\n").records
    assert found.column("a") == Number(-1e300, 0.003)
    assert found.column("b") == Number(0, float("inf"))
    assert found.column("c") == Number(0.001, 0.005)


def test_numbers_that_become_text_late(guess):
    text = "age,code\n" + rows(range(30_000), [*range(29_999), "A17-secret"])
    assert guess(text, secret=["A17"]).records.column("code") == Text()


def test_numbers_that_become_dates_or_truth_values_late_are_text(guess):
    for last in ("2020-01-01", "True"):
        found = guess("age,code\n" + rows(range(30_000), [*range(29_999), last]))
        assert found.records.column("code") == Text()
        assert not found.notes["code"]


def test_underscores_are_no_thousands(guess):
    assert guess("age,income\n1,1_000\n2,2_000\n").records.column("income") == Text()


def test_names_that_are_no_names_in_python(guess):
    found = guess('zip code,class,"say ""a""\nb",age\n1,2,3,4\n').records
    assert found.names == ("zip code", "class", 'say "a"\nb', "age")
    import dpcheck

    assert eval(as_code(found, {"zip code": "x"}), {"dpcheck": dpcheck}).names[0] == "age"


@pytest.mark.parametrize("first", ["34,Alice", "Alice,1987-05-06", "true,Alice", "Alice,12.5%"])
def test_a_first_line_of_data_is_not_taken_for_names(question, first):
    assert "looks like data" in question(f"{first}\n35,Bob\n", secret=["Alice", "34", "1987"])


def test_a_table_of_texts_could_begin_with_somebody(question, guess):
    text = "Alice,influenza\nBob,diabetes\n"
    assert "--header" in question(text, secret=["Alice", "influenza"])
    assert guess("name,diagnosis\n" + text, header=True).records.names == ("name", "diagnosis")
    assert guess("2019,2020\n1,2\n", header=True).records.names == ("2019", "2020")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n \n", "is empty"),
        (b"age,income\n", "no rows below its header"),
        (b"age,age\n1,2\n", "two columns of the same name"),
        (b"age,,income\n1,2,3\n", "column 2 of people.csv has no name"),
        (b"rows,age\n1,2\n", "called 'rows'"),
        (b"PK\x03\x04\0\0binary", "not a text file"),
        (
            b"a,b\n" + b"1,2\n" * 100 + b'1,"never closed' + b"x" * 200_000,
            "cannot read people.csv as a table",
        ),
        (b"a" * 2_000_000, "more than 1,000,000 characters"),
    ],
)
def test_what_is_no_table_is_said_to_be_none(question, content, words):
    assert words in question(content)


def test_a_row_with_another_number_of_cells_is_named(question):
    text = "a,b\n" + "1,2\n" * 500 + "1,Meier,3\n"
    message = question(text, secret=["Meier"])
    assert "line 502" in message
    assert "3 cells and the header 2" in message


@pytest.mark.parametrize("name", ["people.parquet", "people.xlsx", "people"])
def test_other_files_are_pointed_to_python(question, name):
    assert "file.py:table" in question(b"x", name)


def test_files_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    for name in ("nowhere.csv", "folder.csv"):
        with pytest.raises(DpcheckError, match="cannot read"):
            described_by(name)


def test_compressed_files(guess, question):
    content = b"age,income\n30,1000\n41,2000\n"
    assert guess(gzip.compress(content), "people.csv.gz").records.names == ("age", "income")
    assert "cannot read" in question(gzip.compress(content)[:-9], "people.csv.gz")


def test_other_line_ends_and_blank_lines(guess):
    for end in ("\r\n", "\r", "\n\n"):
        found = guess(end.join(["age,income", "30,1000", "41,2000", ""])).records
        assert found.column("income") == Number(1000, 2000, integer=True)


def test_one_column(guess):
    assert guess("age\n30\n41\n").records.column("age") == Number(30, 50, integer=True)


def test_a_wide_table(guess):
    names = [f"x{n}" for n in range(3000)]
    found = guess(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n").records
    assert len(found.names) == 3000


def test_memory_stays_bounded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)

    def peak(count):
        with open("people.csv", "w") as stream:
            stream.write("id,income,city,remark\n")
            for n in range(count):
                stream.write(f"{n},{draw.random()},c{n % 7},{draw.random()} words {n}\n")
        tracemalloc.start()
        described_by("people.csv")
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(60_000) < 1.5 * peak(15_000)


def test_a_sparse_file_of_five_gigabytes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("people.csv", "wb") as stream:
        stream.write(b"age,income\n" + b"30,1000\n" * 1000)
        stream.truncate(5 * 2**30)
    tracemalloc.start()
    with pytest.raises(DpcheckError, match="no table of rows"):
        described_by("people.csv")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * 2**20


def test_a_table_in_python_code_gives_nothing_away_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables.py").write_text(
        "import pandas as pd\n"
        "people = pd.DataFrame({'age': [30, 41], 'ok': [True, False], 'zip': ['01234', '02345'],"
        " 'born': pd.to_datetime(['1990-01-02', None]), 'income': [1.5, None]})\n"
    )
    found = described_by("tables.py:people")
    assert found.records.column("age") == Number(30, 50, integer=True, confirmed=False)
    assert found.records.column("ok") == OneOf((False, True), confirmed=False)
    assert found.records.column("zip") == Text(confirmed=False)
    assert found.records.column("income") == Number(0, 2, missing=True, confirmed=False)
    assert "dates" in found.notes["born"]
    assert "1234" not in as_code(found.records, found.notes)
