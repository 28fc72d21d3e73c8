"""Videos written and read back: real files, real codecs."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgefaced.errors import PictureError, StorageError
from edgefaced.pictures import video
from edgefaced.pictures.video import VideoWriter, read_video
from edgefaced.types import U8, PixelFormat

COUNT = 12


def shade(number: int) -> U8:
    """A frame whose left half says which it is; its right half is blue."""
    pixels = np.zeros((96, 128, 3), np.uint8)
    pixels[:, :64] = 20 * number
    pixels[:, 64:] = (200, 40, 40)
    return pixels


@pytest.fixture
def film(tmp_path: Path) -> Path:
    with VideoWriter(tmp_path / "film.mp4", width=128, height=96, frames_per_second=10.0) as writer:
        for number in range(COUNT):
            writer.write(shade(number))
    return writer.path


def test_what_was_written_is_read_with_its_times(film: Path) -> None:
    with read_video(film) as frames:
        seen = list(frames)
        assert frames.frames_per_second == 10.0
    assert [frame.sequence for frame in seen] == list(range(COUNT))
    assert [frame.captured_ns for frame in seen] == [n * 100_000_000 for n in range(COUNT)]
    for number, frame in enumerate(seen):
        assert frame.pixel_format is PixelFormat.BGR
        assert abs(float(frame.pixels[:, :50].mean()) - 20 * number) < 6
        assert np.abs(frame.pixels[:, 80:].mean(axis=(0, 1)) - (200, 40, 40)).max() < 12
    # Every frame has its own pixels.
    assert not np.shares_memory(seen[0].pixels, seen[1].pixels)


def test_leaving_early_closes_the_file(film: Path) -> None:
    with read_video(film) as frames:
        assert next(frames).sequence == 0
    assert next(frames, None) is None


def test_a_gif_plays_with_its_own_times(tmp_path: Path) -> None:
    path = tmp_path / "a.gif"
    shots = [Image.fromarray(shade(n)) for n in range(4)]
    shots[0].save(path, save_all=True, append_images=shots[1:], duration=[100, 200, 100, 100])
    with read_video(path) as frames:
        times = [frame.captured_ns for frame in frames]
    assert times == [0, 100_000_000, 300_000_000, 400_000_000]


def test_a_gif_of_one_frame_is_a_picture(film: Path, tmp_path: Path) -> None:
    still, moving, broken = (tmp_path / f"{n}.gif" for n in ("still", "moving", "broken"))
    shots = [Image.fromarray(shade(n)) for n in range(2)]
    shots[0].save(still)
    shots[0].save(moving, save_all=True, append_images=shots[1:])
    broken.write_bytes(b"GIF89a")
    answers = [video.moves(path) for path in (still, moving, broken, film, tmp_path / "absent")]
    assert answers == [False, True, False, True, False]


def test_real_videos_play_in_order(shared_data: Path) -> None:
    for name, count in [("short_hamilton_clip.mp4", 275), ("intel_head-pose-female.gif", 23)]:
        with read_video(shared_data / "video" / name) as frames:
            times = [frame.captured_ns for frame in frames]
        assert len(times) == count
        assert all(a < b for a, b in pairwise(times))


def test_what_is_no_video_is_refused_in_silence(
    film: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(film.read_bytes()[:600])
    text = tmp_path / "text.mp4"
    text.write_text("#EXTM3U\nhttp://127.0.0.1/stolen.ts\n")
    for path, words in [
        (broken, "damaged video"),
        (text, "not a video"),
        (tmp_path / "absent.mp4", "No such file"),
        (tmp_path, "is a folder"),
        (Path("/dev/zero"), "not a regular file"),
    ]:
        with pytest.raises(PictureError, match=words), read_video(path):
            pass
    assert capfd.readouterr() == ("", "")


def test_a_name_that_is_no_text_is_refused(film: Path, tmp_path: Path) -> None:
    odd = Path(str(tmp_path) + "/\udcff.mp4")
    odd.write_bytes(film.read_bytes())
    with pytest.raises(PictureError, match="not UTF-8"), read_video(odd):
        pass


def test_frames_too_large_to_hold_are_refused(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "MAX_PIXELS", 128 * 96 - 1)
    with pytest.raises(PictureError, match="128x96"), read_video(film):
        pass


def test_a_video_without_a_frame_says_so(film: Path, tmp_path: Path) -> None:
    # The index stays whole and the pictures are gone.
    data = film.read_bytes()
    start = data.index(b"mdat") + 4
    index = data.index(b"moov") - 4
    path = tmp_path / "empty.mp4"
    path.write_bytes(data[:start] + bytes(index - start) + data[index:])
    with read_video(path) as frames, pytest.raises(PictureError, match="no frame"):
        next(frames)


def test_a_frame_of_another_size_is_an_error(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "a.mp4", width=128, height=96, frames_per_second=5.0) as writer:
        writer.write(shade(1))
        with pytest.raises(ValueError, match="not \\(96, 127, 3\\)"):
            writer.write(shade(1)[:, :127])


def test_a_place_that_cannot_be_written_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        VideoWriter(tmp_path / "absent" / "a.mp4", width=64, height=64, frames_per_second=5.0)
    assert capfd.readouterr() == ("", "")


def test_a_video_that_vanished_is_noticed(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "a.mp4", width=128, height=96, frames_per_second=5.0)
    writer.write(shade(1))
    (draft,) = tmp_path.iterdir()
    draft.unlink()
    with pytest.raises(StorageError, match="not written"):
        writer.close()
    writer.close()  # once said is enough


def test_a_full_disk_is_noticed(tmp_path: Path) -> None:
    program = """
import resource, sys
from pathlib import Path
import numpy as np
from edgefaced.errors import StorageError
from edgefaced.pictures.video import VideoWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
noise = np.random.default_rng(1).integers(0, 256, (240, 320, 3), np.uint8)
try:
    with VideoWriter(Path(sys.argv[1]), width=320, height=240, frames_per_second=5.0) as writer:
        for _ in range(20):
            writer.write(noise)
except StorageError as error:
    print(error)
"""
    run = [sys.executable, "-c", program, str(tmp_path / "a.mp4")]
    ended = subprocess.run(run, capture_output=True, check=True, text=True)
    assert "not written (is the disk full?)" in ended.stdout
    assert ended.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_video_that_was_not_finished_leaves_the_earlier_one(tmp_path: Path) -> None:
    earlier = tmp_path / "a.mp4"
    earlier.write_bytes(b"earlier")

    def fails() -> None:
        with VideoWriter(earlier, width=128, height=96, frames_per_second=5.0) as writer:
            writer.write(shade(1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert list(tmp_path.iterdir()) == [earlier]
    assert earlier.read_bytes() == b"earlier"
