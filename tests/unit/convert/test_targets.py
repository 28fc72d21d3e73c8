"""Several targets: one proof where they compute alike, a proof of its own and a plan of its own
where one does not, and every archive as soon as it is there."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conversions import DATA, GOLDEN, model
from edgefaced_convert.conversion import Converted
from edgefaced_convert.golden import answers_of, golden_file
from edgefaced_convert.judging import Verdict
from edgefaced_convert.layer_errors import LayerError
from edgefaced_convert.packing import pack_each
from edgefaced_convert.road import FP16, Built, Plan, Precision, Road
from edgefaced_convert.search import search
from edgefaced_convert.targets import Course, Reached, alike, reach
from edgefaced_convert.toolchain import ConvertError

from edgefaced.protocols import InferenceBackend, Tensor, TensorSpec

PICTURE = np.zeros((1, 4, 4, 3), np.uint8)
ANSWER = np.array([3, 4, 0], np.float32)


def turned(by: float) -> Tensor:
    """A vector of the same length at the angle whose sine is `by`."""
    away = np.array([0, 0, 5], np.float32)
    return np.asarray(ANSWER * np.sqrt(1 - by * by) + away * by, np.float32)


class Fixed:
    """A back end that always answers the same."""

    inputs = (TensorSpec("image", PICTURE.shape, np.dtype(np.uint8)),)
    outputs = (TensorSpec("y", (3,), np.dtype(np.float32)),)

    def __init__(self, answer: Tensor) -> None:
        self.answer, self.closed = answer, False

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        assert not self.closed
        return [self.answer]

    def close(self) -> None:
        self.closed = True


class Toolchain:
    """Builds what each target was told to answer, by plan; the judge knows which plans are bad."""

    def __init__(self, answers: Mapping[str, Tensor], bad: Mapping[str, Sequence[str]]) -> None:
        self.answers, self.bad = answers, bad
        self.built: list[tuple[str, str]] = []
        self.judged: list[tuple[str, str]] = []
        self.said: list[str] = []

    @contextmanager
    def road_to(self, target: str) -> Iterator[Road]:
        if target not in self.answers:
            raise ConvertError("the compiler does not know it", "name another")
        yield OneRoad(self, target)

    def judge(self, built: Built) -> tuple[str, str]:
        target, algorithm = self.built[-1]
        self.judged.append((target, algorithm))
        return target, "too bad" if algorithm in self.bad.get(target, ()) else ""

    def reach(
        self, *targets: str, precision: Precision = "int8"
    ) -> list[Reached[str] | ConvertError]:
        course = Course(self.road_to, precision, self.judge, PICTURE, self.said.append)
        return [*reach(course, targets)]


class OneRoad:
    algorithms = ("usual", "other")
    base = "other"
    ends = ((), ())
    heads = ()

    def __init__(self, toolchain: Toolchain, target: str) -> None:
        self.toolchain, self.target = toolchain, target

    @contextmanager
    def built(self, plan: Plan) -> Iterator[Built]:
        self.toolchain.built.append((self.target, plan.algorithm))
        backend: InferenceBackend = Fixed(self.toolchain.answers[self.target])
        errors = [LayerError("conv", "Conv", 0.999, 0.999)]
        yield Built(self.target.encode(), (), backend, lambda: errors)
        backend.close()


def test_targets_that_compute_alike_are_proved_once() -> None:
    made = Toolchain({"a": ANSWER, "b": turned(0.005)}, {})
    a, b = made.reach("a", "b")
    assert isinstance(a, Reached)
    assert isinstance(b, Reached)
    assert made.judged == [("a", "usual")]
    assert (b.target, b.found.built.data, b.found.figures) == ("b", b"b", "a")
    assert np.array_equal(b.answers["y"], turned(0.005))
    assert b.errors[0].name == "conv"
    assert made.said == []


def test_a_target_that_computes_otherwise_is_proved_by_itself() -> None:
    made = Toolchain({"a": ANSWER, "b": turned(0.05)}, {})
    _, b = made.reach("a", "b")
    assert isinstance(b, Reached)
    assert b.found.figures == "b"
    assert made.judged == [("a", "usual"), ("b", "usual")]
    assert made.said == ["b computes otherwise than a: proved by itself"]


def test_a_third_target_may_compute_as_the_second() -> None:
    made = Toolchain({"a": ANSWER, "b": turned(0.05), "c": turned(0.055), "d": turned(0.1)}, {})
    *_, c, d = made.reach("a", "b", "c", "d")
    assert isinstance(c, Reached)
    assert isinstance(d, Reached)
    assert (c.found.figures, d.found.figures) == ("b", "d")
    assert c.found.built.data == b"c"
    assert [target for target, _ in made.judged] == ["a", "b", "d"]
    assert made.said[-1] == "d computes otherwise than a, b, c: proved by itself"


def test_where_the_first_targets_plan_does_not_hold_another_is_looked_for() -> None:
    made = Toolchain({"a": ANSWER, "b": turned(0.05)}, {"b": ["usual"]})
    _, b = made.reach("a", "b")
    assert isinstance(b, Reached)
    assert (b.found.plan.algorithm, b.found.figures) == ("other", "b")
    assert [attempt.fault for attempt in b.found.attempts] == ["too bad", ""]
    assert "too bad" in made.said[1]


def test_a_refused_target_keeps_no_other_from_its_result() -> None:
    made = Toolchain(
        {"a": ANSWER, "b": turned(0.05), "c": ANSWER}, {"b": ["usual", "other"], "c": []}
    )
    a, b, unknown, c = made.reach("a", "b", "unknown", "c")
    assert isinstance(b, ConvertError)
    assert "after 2 attempts: too bad" in b.message
    assert isinstance(unknown, ConvertError)
    assert isinstance(a, Reached)
    assert isinstance(c, Reached)
    assert c.found.figures == "a"


def test_where_the_first_target_is_refused_the_next_is_the_first() -> None:
    made = Toolchain({"a": ANSWER, "b": ANSWER, "c": ANSWER}, {"a": ["usual", "other"]})
    a, b, c = made.reach("a", "b", "c")
    assert isinstance(a, ConvertError)
    assert isinstance(b, Reached)
    assert isinstance(c, Reached)
    assert (b.found.figures, c.found.figures) == ("b", "b")


def test_fp16_is_one_plan_and_proved_like_any_other() -> None:
    made = Toolchain({"a": ANSWER}, {})
    (a,) = made.reach("a", precision="fp16")
    assert isinstance(a, Reached)
    assert a.found.plan is FP16
    assert a.found.plan.precision == "fp16"
    with (
        made.road_to("a") as road,
        pytest.raises(ConvertError, match="after 1 attempts: no") as caught,
        search(road, "fp16", lambda built: (0, "no"), made.said.append),
    ):
        raise AssertionError("nothing was found")
    assert "does not fit" in caught.value.hint
    assert made.said == ["all of it in fp16: no"]


@pytest.mark.parametrize(
    ("after", "same"),
    [
        (ANSWER, True),
        (turned(0.01), True),
        (turned(0.02), False),
        (-ANSWER, False),
        (ANSWER * 2, False),
        (ANSWER * 0, False),
        (ANSWER * np.nan, False),
    ],
)
def test_answers_are_alike_up_to_rounding(after: Tensor, same: bool) -> None:
    assert alike({"y": ANSWER}, {"y": np.asarray(after, np.float32)}) is same


def test_every_output_counts_and_their_order_does_not() -> None:
    quiet = np.zeros(2, np.float32)
    assert alike({"y": ANSWER, "z": quiet}, {"z": quiet, "y": ANSWER})
    assert not alike({"y": ANSWER, "z": quiet}, {"y": ANSWER, "z": quiet + 1})


def test_the_golden_file_holds_the_picture_and_the_answers_by_name() -> None:
    backend = Fixed(ANSWER.copy())
    answers = answers_of(backend, PICTURE)
    backend.answer[:] = 0  # valid until the next run: what was taken is a copy
    with np.load(io.BytesIO(golden_file(PICTURE, answers))) as found:
        assert sorted(found) == ["image", "y"]
        assert np.array_equal(found["y"], ANSWER)


def converted(target: str) -> Converted:
    return Converted(
        model=model(DATA, GOLDEN, target=target),
        members=(DATA, GOLDEN),
        verdict=Verdict(),
        plan=Plan("MMSE"),
        attempts=(),
        bad=None,
        layers=(),
        said=(),
        seconds=1.0,
    )


def test_archives_are_written_one_by_one_and_a_refusal_names_them(tmp_path: Path) -> None:
    said: list[str] = []
    shown: list[str] = []
    refusal = ConvertError("refused after 2 attempts: LFW", "QAT")

    def line() -> Iterator[Converted | ConvertError]:
        yield converted("rk3588")
        assert (tmp_path / "rk3588.tar").exists()  # before the next target is even begun
        yield refusal
        yield converted("rk3566")

    packed = pack_each(
        "p",
        ("rk3588", "rk3576", "rk3566"),
        {"scrfd-500m": line()},
        lambda target: tmp_path / f"{target}.tar",
        lambda one: shown.append(one.model.target),
        said.append,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rk3566.tar", "rk3588.tar"]
    assert [*packed.archives] == shown == ["rk3588", "rk3566"]
    assert packed.fault is not None
    assert packed.fault.message == "scrfd-500m for rk3576: refused after 2 attempts: LFW"
    assert packed.fault.hint == "packed all the same: rk3588, rk3566; QAT"
    assert packed.fault.exit_code == ConvertError("").exit_code
    assert any("rk3576" in line and "next" in line for line in said)


def test_what_is_interrupted_leaves_what_was_done(tmp_path: Path) -> None:
    def line() -> Iterator[Converted | ConvertError]:
        yield converted("rk3588")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pack_each(
            "p",
            ("rk3588", "rk3576"),
            {"scrfd-500m": line()},
            lambda target: tmp_path / f"{target}.tar",
            lambda one: None,
            lambda line: None,
        )
    assert [path.name for path in tmp_path.iterdir()] == ["rk3588.tar"]


def test_an_archive_has_all_networks_or_there_is_none(tmp_path: Path) -> None:
    packed = pack_each(
        "p",
        ("rk3588",),
        {"scrfd-500m": iter([converted("rk3588")]), "face": iter([ConvertError("no", "QAT")])},
        lambda target: tmp_path / f"{target}.tar",
        lambda one: None,
        lambda line: None,
    )
    assert not packed.archives
    assert packed.fault is not None
    assert (packed.fault.message, packed.fault.hint) == ("face for rk3588: no", "QAT")
    assert len(packed.networks) == 1
    assert not [*tmp_path.iterdir()]


def test_all_networks_of_a_target_are_in_its_archive(tmp_path: Path) -> None:
    path = tmp_path / "p.tar"
    packed = pack_each(
        "p",
        ("rk3588",),
        {"scrfd-500m": iter([converted("rk3588")])},
        lambda target: path,
        lambda one: None,
        lambda line: None,
    )
    assert packed.fault is None
    with tarfile.open(path) as archive:
        assert DATA.name in archive.getnames()
