"""The whole conversation, in the order of somebody who stands on a ladder."""

from __future__ import annotations

from edgefaced.errors import UsageError
from edgefaced.setup.answers import Answers, CameraAnswer, Part, camera_answer
from edgefaced.setup.asking import Asker, Choice, Question
from edgefaced.setup.here import Here
from edgefaced.setup.questions_attendance import ask_attendance
from edgefaced.setup.questions_door import ask_door
from edgefaced.setup.questions_pack import ask_pack
from edgefaced.setup.questions_sinks import ask_sinks
from edgefaced.setup.wishes import Standing, Wishes, choice

CAMERA = Question(
    "Which camera?", "its name stays the same when other cameras come and go", "--camera"
)
PURPOSE = Question(
    "What is this device for?", "a door needs a relay, attendance needs nothing", "--door"
)
SERVICE = Question(
    "Shall it start by itself, now and at every boot?", "as a service of the system", "--service"
)

PURPOSES: dict[str, tuple[Part, ...]] = {
    "door": ("door",),
    "attendance": ("attendance",),
    "both": ("door", "attendance"),
    "events": (),
}
_WORDS = {
    "door": "opens a door for people who may pass",
    "attendance": "records who comes and who goes",
    "both": "door and attendance",
    "events": "neither: it only tells whom it sees",
}


def ask(asker: Asker, wishes: Wishes, standing: Standing, here: Here) -> Answers:
    """Answers to everything that the command line does not say. Raises UsageError."""
    _say_what_is_here(asker, here)
    camera = _camera(asker, wishes, standing, here)
    pack, source = ask_pack(asker, wishes, standing, here)
    wanted = _purposes(asker, wishes, standing, here)
    door = ask_door(asker, wishes, standing, here) if "door" in wanted else None
    attendance = ask_attendance(asker, wishes, standing, here) if "attendance" in wanted else None
    sinks = ask_sinks(asker, wishes, standing)
    stays = asker.present and not _purpose_is_said(wishes)
    unwanted = {part for part in _standing(standing) if stays and part not in wanted}
    no_thermometer = not here.thermometer and not standing.says("thermal", "zones")
    if no_thermometer:
        asker.say("This machine shows no temperature: none will be read.")
    return Answers(
        pack=pack,
        source=source,
        camera=camera,
        door=door,
        attendance=attendance,
        mqtt=sinks.mqtt,
        webhook=sinks.webhook,
        lines=sinks.lines,
        without=frozenset({*wishes.without, *unwanted, *sinks.without}),
        no_thermometer=no_thermometer,
        service=_service(asker, wishes, here),
    )


def _say_what_is_here(asker: Asker, here: Here) -> None:
    if here.npu is not None:
        asker.say(
            f"This board has the NPU of an {here.npu}: networks compiled for it are imported with "
            "--from, or later with `edgefaced models import`."
        )
    if not here.cameras:
        asker.say("No camera is connected at the moment.")
    if here.blind:
        asker.say(here.blind)


def _camera(asker: Asker, wishes: Wishes, standing: Standing, here: Here) -> CameraAnswer | None:
    known = bool(standing.table.get("camera"))
    if wishes.camera is None and known and not asker.present:
        return None
    found = [
        Choice(str(CameraAnswer(camera.kind, camera.device)), camera.label)
        for camera in here.cameras
    ]
    choices = [*found, Choice(str(CameraAnswer("v4l2")), "whichever is there first")]
    section = standing.settings.camera
    replay = next(iter(section.replay_paths), None) if section.kind == "replay" else None
    stands = str(CameraAnswer(section.kind, section.device, replay))
    default = stands if known else choices[0].name
    answer = camera_answer(choice(asker, CAMERA, wishes.camera, choices, default))
    # Several recordings, a pace of their own: what stands is more than an answer can say.
    return None if known and str(answer) == stands else answer


def _purposes(asker: Asker, wishes: Wishes, standing: Standing, here: Here) -> tuple[Part, ...]:
    if asker.present and not _purpose_is_said(wishes):
        fresh = "door" if here.chips else "attendance"
        stands = tuple(part for part in ("door", "attendance") if part in _standing(standing))
        default = next(name for name, parts in PURPOSES.items() if parts == stands)
        choices = [Choice(name, _WORDS[name]) for name in PURPOSES]
        return PURPOSES[asker.choose(PURPOSE, choices, default if stands else fresh, closed=True)]
    wanted: list[Part] = []
    for part, said, details in (
        ("door", wishes.door, (wishes.chip, wishes.relay, wishes.pulse, wishes.members)),
        ("attendance", wishes.attendance, (wishes.in_until, wishes.button_chip)),
    ):
        if said is not None:
            wanted.append("door" if part == "door" else "attendance")
        elif any(detail is not None for detail in details):
            raise UsageError(f"an option of --{part} without it", f"say --{part} as well")
    return tuple(wanted)


def _purpose_is_said(wishes: Wishes) -> bool:
    said = wishes.door is not None or wishes.attendance is not None
    return said or not {"door", "attendance"}.isdisjoint(wishes.without)


def _standing(standing: Standing) -> set[Part]:
    settings = standing.settings
    found: set[Part] = {"door"} if settings.doors else set()
    return found | {"attendance"} if settings.attendance.enabled else found


def _service(asker: Asker, wishes: Wishes, here: Here) -> bool:
    if here.obstacle:
        if wishes.service:
            raise UsageError(f"--service: {here.obstacle}")
        if wishes.service is None:
            asker.say(f"No service is set up: {here.obstacle}")
        return False
    if wishes.service is not None:
        return wishes.service
    return asker.agree(SERVICE, default=True)
