"""Symbols for a dataset that carry the dataset itself."""

from __future__ import annotations

import numpy as np

from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidParameter, InvalidRecords
from dpcheck.core.records import Records
from dpcheck.tracing.standins import stand_in
from dpcheck.tracing.tables import Table
from dpcheck.tracing.tracer import Tracer
from dpcheck.tracing.values import Rows


def carrying(tracer: Tracer, data: Data, records: Records | None) -> Data:
    """Symbols that carry the real data."""
    if records is not None:
        described = Records(records.fields, len(data), records.person, records.rows_per_person)
        symbol = stand_in(tracer, described, "columns" if isinstance(data, dict) else "array")
        if not isinstance(data, dict) and np.shape(data)[1:] != symbol.dims[1:]:
            raise InvalidRecords("the data do not have the columns that records= describes.")
    else:
        symbol = stand_in(tracer, data, None)
    if isinstance(symbol, Table):
        tracer.refuse("unknown-operation", "a DataFrame at run time", "pass its columns as arrays")
    if records is not None and records.rows_per_person > 1:
        raise InvalidParameter("enforced runs count one record a person.", name="rows_per_person")
    return _bind(symbol, data)


def _bind(symbol: Data, data: Data) -> Data:
    """Real arrays behind the symbols of a dataset."""
    if isinstance(symbol, tuple):
        return tuple(_bind(each, own) for each, own in zip(symbol, data, strict=True))
    if isinstance(symbol, dict):
        return {name: _bind(each, data[name]) for name, each in symbol.items()}
    if isinstance(symbol, Rows):
        symbol.value = np.array(data)
    return symbol
