"""A recorded camera for scenes in which recognising is not what is shown: Ann comes and goes."""

from __future__ import annotations

import shutil

from tests.system.vm.layers import PACK
from tests.system.vm.stage import Stage

WHO = "Wen_Jiabao"
ENROLLED, SEEN = (10, 5), (11, 3)
"""Numbers of photographs."""
SIDE_PX = 250
THERE_SECONDS, AWAY_SECONDS = 24, 4
"""An emulated processor that has more to do takes seconds for a few looks."""

ENROL_ANN = f"edgefaced enroll Ann {' '.join(f'/cargo/ann-{number}.jpg' for number in ENROLLED)}"

CAMERA = f"""
[camera]
kind = "replay"
replay_paths = ["/cargo/film"]
replay_loop = true
replay_picture_seconds = {AWAY_SECONDS}
frames_per_second = 10.0
[models]
pack = "{PACK}"
[detection]
input_size_px = 160
[policy]
cool_down_seconds = 0
"""


def bring(stage: Stage) -> None:
    """The film, and the photographs that `ENROL_ANN` takes. Raises Skipped where there are none."""
    folder = stage.pictures / "lfw" / "images" / WHO
    for number in ENROLLED:
        shutil.copyfile(folder / f"{WHO}_{number:04}.jpg", stage.cargo / f"ann-{number}.jpg")
    film = stage.cargo / "film"
    film.mkdir()
    row = b"".join(bytes([90 + 70 * x // SIDE_PX]) * 3 for x in range(SIDE_PX))
    wall = f"P6 {SIDE_PX} {SIDE_PX} 255\n".encode() + row * SIDE_PX
    times = THERE_SECONDS // AWAY_SECONDS
    for number in SEEN:
        for time in range(times):
            photograph = film / f"{number}-{time}-ann.jpg"
            shutil.copyfile(folder / f"{WHO}_{number:04}.jpg", photograph)
        (film / f"{number}-{times}-wall.ppm").write_bytes(wall)
