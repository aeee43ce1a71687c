"""The fields of a record in the public registry of DP deployments: places, allowed values, tiers.

Facts about opendp/deployments-registry-data (MIT): its field names and values, and nothing else of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.core.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record, by its place below `deployment` (or at the top for `top`)."""

    place: str
    meaning: str
    tier: int = 1
    required: bool = False
    many: bool = False
    allowed: tuple[str, ...] = ()

    def read(self, value: object) -> object:
        """A value somebody gave for it, checked."""
        if self.many:
            values = [value] if isinstance(value, str) else value
            if not isinstance(values, list) or not values:
                raise InvalidParameter(f"{self.place} must be a list of texts.", name=self.place)
            return [self._text(each) for each in values]
        return self._text(value)

    def _text(self, value: object) -> str:
        text = str(value).strip() if value is not None else ""
        if not text:
            raise InvalidParameter(f"{self.place} must not be empty.", name=self.place)
        if self.allowed and text not in self.allowed:
            raise InvalidParameter(
                f"{self.place} must be one of {', '.join(self.allowed)}; got {text!r}.",
                name=self.place,
            )
        return text


STATUSES = (
    "Converted",
    "Draft",
    "Pending",
    "Changes Required",
    "Approved",
    "Approved (Update Requested)",
    "Approved (Pending)",
)
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
TIERS = (1, 2, 3)

# What only the person who publishes knows.
ASKED = (
    Field("basic.name", "the name of the data product", required=True),
    Field("basic.data_curators", "who publishes it", required=True, many=True),
    Field("basic.intended_use", "what it is for", required=True),
    Field(
        "basic.data_product_type",
        "what kind of product it is",
        required=True,
        allowed=(
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ),
    ),
    Field("basic.data_product_region", "which region the data describe", required=True),
    Field("basic.description", "what it is, in a sentence or two", required=True),
    Field("basic.publication_date", "when it was published, YYYY-MM-DD", required=True),
    Field(
        "basic.data_product_sector",
        "which sector it belongs to",
        allowed=("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
    ),
    Field("dp_variant.data_domain", "which datasets could have been there", 3),
    Field("dp_variant.unprotected_quantities", "what is published without noise", 3),
    Field(
        "deployment_model.model_name",
        "who is trusted with the data",
        2,
        allowed=("Local", "Central", "Shuffle", "Federated", "Varies"),
    ),
    Field("deployment_model.model_name_details", "more about the model", 3),
    Field("deployment_model.actors", "who sees what, and is trusted with what", 3),
    Field(
        "deployment_model.release_type",
        "published once or again and again",
        2,
        allowed=("One release", "Many releases"),
    ),
    Field("deployment_model.release_type_details", "when the budget starts anew", 3),
    Field(
        "deployment_model.data_source_type",
        "whether new data come in",
        2,
        allowed=("Static", "Dynamic"),
    ),
    Field("deployment_model.data_source_type_details", "more about the source", 3),
    Field(
        "deployment_model.access_type",
        "whether people may query",
        2,
        allowed=("Interactive", "Non-interactive"),
    ),
    Field("deployment_model.access_type_details", "how the budget is shared by analysts", 3),
    Field("accounting.post_processing", "what is done to noisy results", 3),
    Field(
        "implementation.preprocessing_and_hyperparameter_tuning",
        "what was looked at before noise was added, and whether it was accounted",
        3,
    ),
    Field("implementation.justification", "why these choices were made", 3),
    Field("administrative.sources", "links to descriptions of the product"),
    Field("administrative.registry_authors", "who filled in this record", required=True, many=True),
)
# What the ledger knows.
FILLED = (
    "dp_variant.variant_name",
    "privacy_loss.privacy_unit",
    "privacy_loss.privacy_unit_details",
    "privacy_loss.privacy_parameters",
    "privacy_loss.privacy_parameters_details",
    "accounting.composition",
    "implementation.mechanisms",
    "administrative.notes",
)
