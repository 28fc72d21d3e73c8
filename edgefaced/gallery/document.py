"""A person as a JSON document."""

from __future__ import annotations

from typing import Any

from edgefaced.gallery.records import Person


def person_body(person: Person) -> dict[str, Any]:
    """Plain JSON values; times are UTC."""
    consent = person.consent
    return {
        "id": person.id,
        "name": person.name,
        "templates": person.templates,
        "model_ids": list(person.model_ids),
        "enrolled_at": person.enrolled_at.isoformat(),
        "consent": None
        if consent is None
        else {"note": consent.note, "at": consent.at.isoformat()},
        "external_id": person.details.external_id,
        "groups": list(person.details.groups),
    }
