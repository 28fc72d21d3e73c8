"""`edgefaced verify A B`: whether two pictures, or a person and a picture, are of one person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.engine import Engine, engine_options, open_engine
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.errors import Refused, UsageError

if TYPE_CHECKING:
    from edgefaced.types import F32, Decision, Quality


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two: unit vectors (n, d) of it, its faults in words, and the face's figures."""

    shown: str
    vectors: F32
    faults: tuple[str, ...] = ()
    quality: Quality | None = None


@click.command()
@click.argument("first", metavar="PICTURE|NAME")
@click.argument("second", metavar="PICTURE")
@engine_options
@json_option
@pass_context
def verify(
    context: CliContext,
    first: str,
    second: str,
    *,
    pack: str | None,
    detector_size: int | None,
    as_json: bool,
) -> int:
    """Compare two pictures, or a person who is enrolled and a picture: one person, or not.

    The threshold is that of a single comparison. Of several faces the largest counts. What exists
    as a file is a picture, else it is a name. Exit 0 for yes, 1 for no.
    """
    from edgefaced.recognition.threshold import explain
    from edgefaced.types import Outcome

    with open_engine(context, pack=pack, detector_size=detector_size) as engine:
        is_picture = Path(first).exists()
        a = _picture(engine, Path(first)) if is_picture else _person(context, engine, first)
        b = _picture(engine, Path(second))
        choice = engine.threshold(1)
    decision = _decide(a, b, choice.threshold)
    yes = decision.outcome is Outcome.KNOWN
    if as_json:
        sides: list[dict[str, Any]] = [
            {
                "shown": side.shown,
                "faults": list(side.faults),
                "quality": None if side.quality is None else asdict(side.quality),
            }
            for side in (a, b)
        ]
        print_json(
            {
                "same_person": yes,
                "score": decision.score,
                "threshold": decision.threshold,
                "reason": decision.reason,
                "sides": sides,
            }
        )
    else:
        answer = "the same person" if yes else "not the same person"
        if decision.outcome is Outcome.TOO_POOR:
            answer = f"cannot be told, {decision.reason}"
        stdout.print(
            plain(f"{answer}: score {decision.score:.2f}, threshold {choice.threshold:.2f}")
        )
        note(explain(choice))
    return 0 if yes else Refused.exit_code


def _picture(engine: Engine, path: Path) -> Side:
    """The largest face of a picture. Raises PictureError, Refused where there is no face."""
    from edgefaced.core.gates import quality_faults
    from edgefaced.core.quality_words import explain_fault
    from edgefaced.pictures.decode import frame_of, read_picture

    limits = engine.settings.quality.limits()
    found = engine.finder.find(frame_of(read_picture(path)))
    if not found.faces:
        turn = f"one appears when turned by {found.turn_degrees} degrees clockwise"
        raise Refused(f"{path}: no face", turn if found.turn_degrees else "")
    if len(found.faces) > 1:
        note(f"{path}: {len(found.faces)} faces, the largest is compared")
    face = max(found.faces, key=lambda face: face.detection.box.area)
    faults = tuple(
        f"{path.name}: {fault} ({explain_fault(fault, face.quality, limits)})"
        for fault in quality_faults(face.quality, limits)
    )
    vector = engine.recogniser.embed(face.aligned).vector
    return Side(str(path), vector[None], faults, face.quality)


def _person(context: CliContext, engine: Engine, name: str) -> Side:
    """The templates of a person. Raises Refused where nobody has the name."""
    from edgefaced.cli.people import not_enrolled, open_for_somebody

    with open_for_somebody(context, name) as gallery:
        person = gallery.find(name)
        if person is None:
            if "/" in name or Path(name).suffix:
                raise UsageError(f"{name}: no such picture, and nobody has that name")
            raise not_enrolled(gallery, name)
        table = gallery.templates_of(person.id, engine.recogniser.model_id)
    if not len(table.vectors):
        raise Refused(f"{person.name} has no templates", "enrol the person again")
    return Side(person.name, table.vectors)


def _decide(a: Side, b: Side, threshold: float) -> Decision:
    """The decision on the best pair of templates; a fault of either side is no match."""
    from edgefaced.core.decision import decide
    from edgefaced.types import Candidate, Liveness, Match

    score = float((a.vectors @ b.vectors.T).max())
    return decide(
        Match(Candidate(a.shown, score), None),
        threshold=threshold,
        minimum_margin=0.0,
        quality_faults=(*a.faults, *b.faults),
        liveness=Liveness.NOT_CHECKED,
    )
