"""Limits for all processes of a worker together, where this system lets them be set: Linux control groups.

They are a second wall. The worker's keeper watches memory too, and every process has limits of its own; but what is
held in files in memory, or in many small processes, only the kernel counts well.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MB = 2**20
OWN_MB = 1536  # what the worker and a session's copy of it need, beside what an ended session has not yet given back
OWN_PROCESSES = 16

_numbers = itertools.count()


@dataclass
class Group:
    """Folders of the control groups that a worker is to enter; none where there can be none."""

    folders: list[Path] = field(default_factory=list)
    meter: Path | None = None  # counts the processor time of all that was ever in the group

    def used(self) -> float:
        """Seconds of processor time that the group's processes have used, those that have ended included."""
        assert self.meter is not None
        text = self.meter.read_text()
        if self.meter.name == "cpu.stat":
            return int(dict(line.split() for line in text.splitlines())["usage_usec"]) / 1e6
        return int(text) / 1e9

    def entering(self, command: list[str]) -> list[str]:
        """The command that enters the groups and then becomes this one."""
        if not self.folders:
            return command
        script = "".join(f"echo $$ > {folder}/cgroup.procs; " for folder in self.folders)
        return ["sh", "-c", f'{script}exec "$@"', "sh", *command]

    def remove(self) -> None:
        """Remove the groups, once their processes have ended."""
        for folder in self.folders:
            for _ in range(50):
                with contextlib.suppress(FileNotFoundError):
                    try:
                        folder.rmdir()
                    except OSError:  # the last of its processes is not quite gone
                        time.sleep(0.02)
                        continue
                break


def make(memory: int, processes: int) -> Group:
    """Make groups that hold a worker to this many MB and processes beyond its own.

    Each group has the same share of the processors, however many processes are in it.
    """
    remove_abandoned()
    name = f"qkv-{os.getpid()}-{next(_numbers)}"
    total, count = str((memory + OWN_MB) * MB), str(processes + OWN_PROCESSES)
    group = Group()
    if (ROOT / "cgroup.controllers").exists():
        _add(group, ROOT / name, {"memory.max": total, "pids.max": count, "cpu.weight": "100"}, "cpu.stat")
    else:
        _add(group, ROOT / "memory" / name, {"memory.limit_in_bytes": total})
        _add(group, ROOT / "pids" / name, {"pids.max": count})
        _add(group, ROOT / "cpu" / name, {"cpu.shares": "1024"})
        _add(group, ROOT / "cpuacct" / name, {}, "cpuacct.usage")
    return group


def _add(group: Group, folder: Path, limits: dict[str, str], meter: str = "") -> None:
    """Make a folder, unless another controller has made it already, and set its limits; none where that fails."""
    made = folder.resolve() not in group.folders
    try:
        if made:
            folder.mkdir()
        for file, limit in limits.items():
            (folder / file).write_text(limit)
    except OSError:  # no right to, or no such controller here
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        return
    if made:
        group.folders.append(folder.resolve())
    if meter and (folder / meter).exists():
        group.meter = folder / meter


@cache
def remove_abandoned() -> None:
    """Remove the groups of graders that were killed before they could."""
    for folder in [*ROOT.glob("qkv-*-*"), *ROOT.glob("*/qkv-*-*")]:
        maker = folder.name.split("-")[1]
        if maker.isdecimal() and not Path(f"/proc/{maker}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
