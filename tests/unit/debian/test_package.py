"""What of the Debian package needs no wheels from elsewhere: merging, archive, contents, manual."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest
from edgefaced_deb.archive import Entry, write_deb
from edgefaced_deb.contents import MINORS, control_entries, package_entries, version_of
from edgefaced_deb.manual import escaped, exit_codes, page
from edgefaced_deb.wheels import TARGETS, BuildError, merged

import edgefaced
from edgefaced.errors import ConfigError, EdgefacedError

CHECKOUT = Path(__file__).resolve().parents[3]
DEBIAN = CHECKOUT / "deploy" / "debian"
EPOCH = 1_700_000_000


def wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    with ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def test_wheels_of_two_pythons_lie_in_one_folder(tmp_path: Path) -> None:
    sets = [
        [
            wheel(
                tmp_path / minor,
                f"thing-1-cp3{minor}-cp3{minor}-linux.whl",
                {
                    "thing/__init__.py": "the same",
                    f"thing/_fast.cpython-3{minor}-x86_64-linux-gnu.so": minor,
                    "thing-1.dist-info/METADATA": "the same",
                    "thing-1.dist-info/RECORD": minor,
                    "thing-1.data/purelib/thing/more.py": "more",
                    "thing-1.data/scripts/thing": "#!python",
                },
            )
        ]
        for minor in ("11", "13")
    ]
    assert {str(path): data for path, data in merged(sets).items()} == {
        "thing/__init__.py": b"the same",
        "thing/_fast.cpython-311-x86_64-linux-gnu.so": b"11",
        "thing/_fast.cpython-313-x86_64-linux-gnu.so": b"13",
        "thing-1.dist-info/METADATA": b"the same",
        "thing/more.py": b"more",
    }


def test_wheels_that_disagree_are_not_merged(tmp_path: Path) -> None:
    sets = [
        [wheel(tmp_path, f"thing-1-cp3{minor}.whl", {"thing/__init__.py": minor})]
        for minor in ("11", "13")
    ]
    with pytest.raises(BuildError, match=r"thing-1-cp313\.whl: thing/__init__\.py differs"):
        merged(sets)


@pytest.mark.parametrize(
    "name", ["numpy/tests/test_x.py", "onnx/backend/test/data/x.onnx", "edgefaced/py.typed"]
)
def test_only_what_others_left_for_themselves_is_left_out(tmp_path: Path, name: str) -> None:
    files = merged([[wheel(tmp_path, "thing-1-py3.whl", {name: "x"})]])
    assert (PurePosixPath(name) in files) == name.startswith("edgefaced/")


def test_a_package_is_what_dpkg_reads_and_the_same_every_time(tmp_path: Path) -> None:
    for tool in ("dpkg-deb", "zstd"):
        if shutil.which(tool) is None:
            pytest.skip(f"not here: {tool}")
    site = {PurePosixPath("edgefaced/__init__.py"): b'__version__ = "1"\n'}
    manual = {"page": ".TH X 1\n", "completion": "complete\n"}
    packages = []
    for number in ("1", "2"):
        entries = package_entries(DEBIAN, CHECKOUT, site, manual, ["thing-1-py3.whl"], "1.2", EPOCH)
        control = control_entries(DEBIAN, entries, "1.2", TARGETS["arm64"])
        package = tmp_path / number
        write_deb(package, control, reversed(entries), EPOCH, level=1)
        packages.append(package)
    assert packages[0].read_bytes() == packages[1].read_bytes()

    def dpkg(*words: str | Path) -> str:
        return subprocess.run(
            ["dpkg-deb", *words], check=True, capture_output=True, text=True
        ).stdout

    fields = dpkg("--field", packages[0])
    assert "Version: 1.2\nArchitecture: arm64\n" in fields
    assert "@" not in fields.replace("maintainers@edgefaced.example", "")
    dpkg("--raw-extract", packages[0], tmp_path / "root")
    root = tmp_path / "root"
    for minor in MINORS:
        found = root / f"usr/lib/edgefaced/lib/python3.{minor}/site-packages/edgefaced/__init__.py"
        assert found.read_bytes() == site[PurePosixPath("edgefaced/__init__.py")]
    assert (root / "usr/bin/edgefaced").stat().st_mode & 0o777 == 0o755
    unit = (root / "usr/lib/systemd/system/edgefaced.service").read_text()
    assert unit == (CHECKOUT / "systemd/edgefaced.service").read_text()
    assert "\nExecStart=/usr/bin/edgefaced run --wait\n" in unit
    sums = (root / "DEBIAN/md5sums").read_text()
    subprocess.run(["md5sum", "--check", "--quiet"], input=sums, text=True, cwd=root, check=True)
    for script in ("postinst", "prerm", "postrm"):
        subprocess.run(["sh", "-n", root / "DEBIAN" / script], check=True)


def test_a_link_leads_where_it_should() -> None:
    (python,) = (
        entry
        for entry in package_entries(
            DEBIAN, CHECKOUT, {}, {"page": "", "completion": ""}, [], "1", EPOCH
        )
        if entry.path.name == "python3"
    )
    assert isinstance(python, Entry)
    assert python.link is not None
    parts: list[str] = []
    for part in (*python.path.parent.parts, *PurePosixPath(python.link).parts):
        parts = parts[:-1] if part == ".." else [*parts, part]
    assert parts == ["usr", "bin", "python3"]


def test_the_version_is_the_program_s() -> None:
    assert version_of(CHECKOUT) == edgefaced.__version__


def test_the_manual_has_every_command_and_code() -> None:
    text = page("1", EPOCH)
    for wanted in ("edgefaced doors hold\\-open", "edgefaced enroll", "\\fB\\-\\-camera\\fR"):
        assert wanted in text
    codes = dict(exit_codes(EdgefacedError))
    assert codes[ConfigError.exit_code] == (ConfigError.__doc__ or "").splitlines()[0]
    assert set(codes) > {0, 1, 2, 70, 130}
    if shutil.which("man"):
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-"],
            input=text,
            text=True,
            capture_output=True,
            check=True,
            env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
        )
        assert done.stderr == ""


def test_text_is_not_taken_for_a_command_of_roff() -> None:
    assert escaped(".x --y 'z' \\") == r"\&.x \-\-y \(aqz\(aq \e"
