"""The entries of a ledger: each says how it changes the state, and how it is written."""

from dpcheck.ledger.storage.entries.declared import (
    DatasetDeclared as DatasetDeclared,
)
from dpcheck.ledger.storage.entries.declared import (
    DeltaDivided as DeltaDivided,
)
from dpcheck.ledger.storage.entries.declared import (
    OverlapDeclared as OverlapDeclared,
)
from dpcheck.ledger.storage.entries.declared import (
    PlanDeclared as PlanDeclared,
)
from dpcheck.ledger.storage.entries.declared import (
    PopulationDeclared as PopulationDeclared,
)
from dpcheck.ledger.storage.entries.declared import (
    SplitDeclared as SplitDeclared,
)
from dpcheck.ledger.storage.entries.entry import SENSELESS as SENSELESS
from dpcheck.ledger.storage.entries.entry import Entry as Entry
from dpcheck.ledger.storage.entries.entry import event_fields as event_fields
from dpcheck.ledger.storage.entries.entry import from_fields as from_fields
from dpcheck.ledger.storage.entries.entry import senseless as senseless
from dpcheck.ledger.storage.entries.entry import to_fields as to_fields
from dpcheck.ledger.storage.entries.released import COUNTED as COUNTED
from dpcheck.ledger.storage.entries.released import Charged as Charged
from dpcheck.ledger.storage.entries.released import PlanStepped as PlanStepped
from dpcheck.ledger.storage.entries.released import Released as Released
from dpcheck.ledger.storage.entries.released import ReleaseShown as ReleaseShown
