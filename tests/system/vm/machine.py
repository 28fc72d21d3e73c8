"""A whole device in QEMU, driven from here: boot it, type into it, cut its power.

Writing a scene
---------------
A scene is one file, ``scenes/sNN_name.py``. Its docstring's first line is its title; its function
``scene(stage)`` plays it; it fails by `Stage.expect` or any `SceneError`. `Stage` says where it is
and hands out the machine::

    def scene(stage: Stage) -> None:
        door = stage.boot(settle=False)                    # Debian with the package and a pack
        door.run("modprobe vivid")                         # a shell command; anything but 0 raises
        door.configure(CONFIG)                             # returns when the daemon said READY
        door.wait_for("edgefaced status | grep -q 'camera.*up'")
        later = door.start("edgefaced enroll Ann --camera")    # goes on while we do other things
        stage.expect(door.answer(later).code == 0, "Ann is enrolled")
        door.cut_power()                                   # SIGKILL; what was synced is on the disk
        door = stage.boot(clock="1970-01-01T00:00:00")     # the same disk again

Every scene has a disk of its own, an overlay on the installed one, kept from boot to boot within
the scene. Large files go into ``stage.cargo``, a folder that the machine sees read-only as
``/cargo``. Pictures and weights come from ``stage.pictures``, which raises `Skipped` where there
are none; with them the pack "mobilefacenet" is installed. In the machine are the modules vivid,
vimc, fakegpio (loaded; chip "fakegpio", line "relay") and fakethermal (loaded; zone "soc-thermal"),
see ``modules/``, and the programs in image.sh; there is no network. The processor is emulated, ten
times slower than here, and others may run machines beside yours: a deadline only says that
something hangs, 600 s at least. Without ``settle=False`` the boot waits for the daemon as well,
which `configure` then starts once more. ``QUICK = True`` lets the gate play the scene too, ``BARE =
True`` begins with Debian alone. `Stage.say` and `Stage.expect` write the transcript. To look around
in a machine let the scene fail: journal, events, relay history and more are kept.
"""

from __future__ import annotations

import base64
import json
import shlex
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

KERNEL_LINE = (
    "root=/dev/vda rw console=ttyS0 panic=-1 quiet mitigations=off no_timer_check"
    " systemd.default_timeout_start_sec=900"
    # A clock that is found wanting makes the kernel patch itself, which an emulated one may not
    # survive: the other processor can still run the old instruction.
    " tsc=reliable"
    # Modules that nothing here needs, and that take seconds.
    " systemd.mask=modprobe@drm.service systemd.mask=modprobe@fuse.service"
    " systemd.mask=modprobe@efi_pstore.service systemd.mask=modprobe@configfs.service"
)
BOOT_SECONDS = 1200.0
PATIENCE_SECONDS = 600.0
CONFIGURATION = "/etc/edgefaced/edgefaced.toml"
GRACE_SECONDS = 120.0
"""A command's own deadline is kept inside; from out here it is a little later."""


class SceneError(Exception):
    """A scene did not go as it must; the message is one line for a person."""


class Skipped(Exception):
    """A scene cannot be played here; the message says why."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command in the machine wrote and ended with."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a machine is made of. `durable`: a power cut takes what was not flushed."""

    kernel: Path
    initrd: Path
    disk: Path
    cargo: Path
    console: Path
    clock: str | None = None
    durable: bool = False

    def command(self, channel: int) -> list[str]:
        """The command line of QEMU; `channel` is a connected socket."""
        cache = "writeback" if self.durable else "unsafe"
        return [
            *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"),
            # Without fast string moves, which are emulated byte by byte.
            *("-accel", "tcg,thread=multi", "-cpu", "max,-erms", "-smp", "2", "-m", "2048"),
            *("-nodefaults", "-no-reboot", "-display", "none", "-nic", "none"),
            *("-kernel", str(self.kernel), "-initrd", str(self.initrd)),
            *("-append", KERNEL_LINE),
            *("-drive", f"file={self.disk},if=virtio,format=qcow2,cache={cache}"),
            *(
                "-virtfs",
                f"local,path={self.cargo},mount_tag=cargo,security_model=none,readonly=on",
            ),
            *("-serial", f"file:{self.console}"),
            *("-device", "virtio-rng-pci", "-device", "virtio-serial-pci"),
            *("-chardev", f"socket,id=agent,fd={channel}"),
            *("-device", "virtserialport,chardev=agent,name=agent"),
            *(() if self.clock is None else ("-rtc", f"base={self.clock}")),
        ]


class Machine:
    """A running machine. Commands run side by side; the one thread here waits for one at a time."""

    def __init__(self, hardware: Hardware) -> None:
        self._console = hardware.console
        self._channel, theirs = socket.socketpair()
        with theirs, hardware.console.with_suffix(".qemu").open("wb") as complaints:
            self._qemu = subprocess.Popen(
                hardware.command(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=complaints,
            )
        self._received = b""
        self._answers: dict[int, Done] = {}
        self._requests = 0

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.cut_power()

    @property
    def alive(self) -> bool:
        return self._qemu.poll() is None

    def wait_for_agent(self) -> None:
        """Until commands can be given. Raises SceneError."""
        self.answer(0, BOOT_SECONDS)

    def wait_for_boot(self) -> None:
        """Until systemd has started all that it starts at boot. Raises SceneError."""
        self.run("systemctl is-system-running --wait", check=False, timeout_s=BOOT_SECONDS)

    def start(self, command: str, *, stdin: bytes = b"", timeout_s: float = 600.0) -> int:
        """Begins a shell command; its number is what `answer` takes."""
        self._requests += 1
        request = {
            "id": self._requests,
            "command": command,
            "input": base64.b64encode(stdin).decode(),
            "timeout_s": timeout_s,
        }
        try:
            self._channel.settimeout(GRACE_SECONDS)
            self._channel.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise SceneError(
                f"the machine takes no command: {error}{self._last_words()}"
            ) from error
        return self._requests

    def answer(self, number: int, timeout_s: float = 600.0) -> Done:
        """What became of a command. Raises SceneError when it or the machine does not answer."""
        until = time.monotonic() + timeout_s + GRACE_SECONDS
        while number not in self._answers:
            self._channel.settimeout(max(until - time.monotonic(), 0.01))
            try:
                piece = self._channel.recv(1 << 20)
            except TimeoutError:
                raise SceneError(
                    f"no answer from the machine in {timeout_s:.0f} s{self._last_words()}"
                ) from None
            except OSError:
                piece = b""
            if not piece:
                raise SceneError(f"the machine went down{self._last_words()}")
            *lines, self._received = (self._received + piece).split(b"\n")
            for line in lines:
                told = json.loads(line)
                out, err = (
                    base64.b64decode(told[key]).decode("utf-8", "replace") for key in ("out", "err")
                )
                self._answers[told["id"]] = Done(told["code"], out, err)
        return self._answers.pop(number)

    def run(
        self,
        command: str,
        *,
        stdin: bytes = b"",
        timeout_s: float = PATIENCE_SECONDS,
        check: bool = True,
    ) -> Done:
        """Runs a shell command to its end. Raises SceneError when `check` and its code is not 0."""
        done = self.answer(self.start(command, stdin=stdin, timeout_s=timeout_s), timeout_s)
        if check and done.code != 0:
            said = (done.err.strip() or done.out.strip()).splitlines()
            words = " | ".join(said[-6:]) or "without a word"
            raise SceneError(f"`{shorten(command)}` ended with {done.code}: {words}")
        return done

    def wait_for(self, command: str, timeout_s: float = PATIENCE_SECONDS) -> Done:
        """Until a shell command succeeds, tried a few times a second. Raises SceneError."""
        loop = f"until said=$(bash -c {shlex.quote(command)} 2>&1); do sleep 0.2; done"
        done = self.run(f'{loop}; echo "$said"', timeout_s=timeout_s, check=False)
        if done.code != 0:
            seen = self.run(command, check=False)
            words = (seen.out + seen.err).strip()[-400:]
            raise SceneError(f"`{shorten(command)}` was not so in {timeout_s:.0f} s: {words}")
        return done

    def push(self, path: str, content: str | bytes, mode: str = "644") -> None:
        """Writes a file in the machine, with its folder."""
        raw = content.encode() if isinstance(content, str) else content
        self.run(f"install -D -m {mode} /dev/stdin {shlex.quote(path)}", stdin=raw)

    def configure(self, text: str) -> None:
        """Starts the daemon anew with a configuration, until it is ready. Raises SceneError."""
        self.push(CONFIGURATION, text, mode="640")
        self.run(f"chown root:edgefaced {CONFIGURATION} && systemctl restart edgefaced")

    def status_text(self) -> str:
        """What the daemon says in `systemctl status`; empty where it says nothing."""
        return self.run("systemctl show edgefaced --property=StatusText --value").out.strip()

    def pull(self, path: str) -> bytes:
        """The content of a file in the machine."""
        return base64.b64decode(self.run(f"base64 {shlex.quote(path)}").out)

    def power_off(self) -> None:
        """Shuts down as an administrator does. Raises SceneError when it does not end."""
        self.start("systemctl poweroff")
        try:
            self._qemu.wait(PATIENCE_SECONDS + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            raise SceneError(f"the machine does not shut down{self._last_words()}") from None
        self._channel.close()

    def cut_power(self) -> None:
        """Kills the machine between two instructions."""
        if self.alive:
            self._qemu.send_signal(signal.SIGKILL)
        self._qemu.wait()
        self._channel.close()

    def _last_words(self) -> str:
        shown = self._console.read_text(errors="replace") if self._console.exists() else ""
        lines = [line.strip() for line in shown.splitlines() if line.strip()]
        return f" (console: {shorten(lines[-1])})" if lines else ""


def shorten(text: str, most: int = 120) -> str:
    """One line of a text."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
