"""Linux control groups (cgroups): limits for all processes of a worker together, where the system allows them.

They are a second line of defence: the worker also measures memory, and each process has its own limits. But only the
kernel counts memory reliably if it is spread over files in tmpfs or over many small processes.
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
OWN_MB = 1536  # for the worker, for its fork (the session), and for memory that an ended session has not yet freed
OWN_PROCESSES = 16  # for the worker itself and the sandbox

_numbers = itertools.count()


@dataclass
class Group:
    """The control groups of one worker, as folders; no folders where the system does not allow control groups."""

    folders: list[Path] = field(default_factory=list)
    meter: Path | None = None  # the file with the processor time of all processes that were ever in the group

    def processor_seconds(self) -> float:
        """Return the processor time of the group's processes, in seconds; processes that have ended count too.

        The group needs a `meter`.
        """
        assert self.meter is not None
        text = self.meter.read_text()
        if self.meter.name == "cpu.stat":
            return int(dict(line.split() for line in text.splitlines())["usage_usec"]) / 1e6
        return int(text) / 1e9

    def command_in_groups(self, command: list[str]) -> list[str]:
        """Return a command that first enters the groups and then runs `command` in the same process.

        Without groups, it is `command` itself.
        """
        if not self.folders:
            return command
        script = "".join(f"echo $$ > {folder}/cgroup.procs; " for folder in self.folders)
        return ["sh", "-c", f'{script}exec "$@"', "sh", *command]

    def remove(self) -> None:
        """Remove the groups, whose processes must have ended; give up on one after a second."""
        for folder in self.folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:  # the kernel has not yet removed the last process
                    time.sleep(0.02)
                    continue
                break


def make(memory: int, processes: int) -> Group:
    """Make the groups of a worker, which limit its memory (MB) and its number of processes.

    Both limits come on top of what the worker itself needs. Each group gets the same share of the processors, however
    many processes are in it. Where the system does not allow groups, the result has none. Groups that killed graders
    left behind are removed first.
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
    """Make the folder of a control group, set its limits, and add it to `group`; add nothing where that fails.

    Two controllers can share one folder, as cpu and cpuacct do: then only the limits are set. `meter` is the name of
    the file that counts processor time, if this controller has one.
    """
    made = folder.resolve() not in group.folders
    try:
        if made:
            folder.mkdir()
        for file, limit in limits.items():
            (folder / file).write_text(limit)
    except OSError:  # no permission, or no such controller on this system
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
    """Remove the groups of graders that were killed before they could remove them. Only the first call does it."""
    for folder in [*ROOT.glob("qkv-*-*"), *ROOT.glob("*/qkv-*-*")]:
        maker = folder.name.split("-")[1]
        if maker.isdecimal() and not Path(f"/proc/{maker}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
