"""The files that were handed in: in folders, in zips, and in zips in zips. Nothing is unpacked onto the disk.

A file can be made so that reading it takes gigabytes, so the functions here run in a process with limits. They read
at most `MAX_FILE` bytes of a file, whatever a zip says about its size.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

MAX_FILE = 200 * 2**20  # bytes
MAX_MEMBERS = 20_000  # files in a zip
MAX_PART = 255  # characters of a folder's or a file's name in a zip; no file system allows more
MAX_DEPTH = 3  # zips in zips


class UnreadableError(Exception):
    """The file cannot be read as a notebook; the message says why."""


@dataclass(frozen=True)
class File:
    """A file that was handed in.

    Attributes:
        path: the file on the disk
        members: if that is a zip, the member in it, and the member in that member if it is a zip, too
        is_folder: True for a folder that could not be listed, so that files in it may be missing here
    """

    path: Path
    members: tuple[str, ...] = ()
    is_folder: bool = False

    @property
    def name(self) -> str:
        return PurePosixPath(self.members[-1]).name if self.members else self.path.name

    @property
    def shown(self) -> Path:
        """The path with the members behind it, for messages: `ada/work.zip/03_scaling.ipynb`."""
        return self.path.joinpath(*(part for member in self.members for part in _parts(member)))

    def parts_below(self, root: Path) -> tuple[str, ...]:
        """Return the names of the folders, zips and members that lead from `root` to this file."""
        inside = self.path.absolute().relative_to(root).parts
        return (*inside, *(part for member in self.members for part in _parts(member)))


def is_zip(name: str) -> bool:
    return name.casefold().endswith(".zip")


def _parts(member: str) -> list[str]:
    """Return the parts of a member's name. A name that leads out of its zip, as `../x` would, stays in it."""
    return [part[:MAX_PART] for part in member.replace("\\", "/").split("/") if part not in ("", ".", "..")]


def members_of(file: File) -> list[File]:
    """Return the files in a zip, and in the zips in it.

    Raises:
        UnreadableError: it is no zip, or it has too many files.
    """
    found: list[File] = []
    for name in _names(file):
        member = File(file.path, (*file.members, name))
        if is_zip(name) and len(member.members) < MAX_DEPTH:
            try:
                found += members_of(member)
                continue
            except UnreadableError:
                pass  # it stays in the list, so that it is reported
        found.append(member)
        if len(found) > MAX_MEMBERS:
            raise UnreadableError(f"it has more than {MAX_MEMBERS} files.")
    return found


def _names(file: File) -> list[str]:
    """Return the names of the files in a zip.

    Raises:
        UnreadableError: it cannot be read as a zip.
    """
    try:
        return [info.filename for info in _archive(file).infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableError(f"it cannot be read as a zip: {error}.") from None


def _archive(file: File) -> zipfile.ZipFile:
    """Open a zip, or return it if it is open: a class's zip is asked for each of its files."""
    _raise_unless_regular(file.path)
    return _open_archive(file, file.path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _open_archive(file: File, changed: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(read_bytes(file)) if file.members else file.path)


def read_bytes(file: File) -> bytes:
    """Return the content of a file.

    Raises:
        UnreadableError: it is not a regular file, is too large, or cannot be read.
    """
    try:
        if file.members:
            return _read_member(_archive(File(file.path, file.members[:-1])), file.members[-1])
        _raise_unless_regular(file.path)
        if file.path.stat().st_size > MAX_FILE:
            raise UnreadableError(f"it has {file.path.stat().st_size / 2**20:.0f} MB; {_LIMIT}")
        return file.path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}.") from None


_LIMIT = f"at most {MAX_FILE // 2**20} MB are allowed."


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of one file in a zip.

    Raises:
        UnreadableError: it cannot be read, or is too large.
    """
    try:
        with archive.open(name) as stream:
            data = stream.read(MAX_FILE + 1)
    except (zipfile.BadZipFile, RuntimeError, ValueError, NotImplementedError, EOFError, KeyError) as error:
        raise UnreadableError(f"it cannot be read from its zip: {error}.") from None
    except Exception as error:  # the decompressors have errors of their own
        raise UnreadableError(f"it cannot be read from its zip: {type(error).__name__}.") from None
    if len(data) > MAX_FILE:
        raise UnreadableError(f"it has more than {MAX_FILE // 2**20} MB; {_LIMIT}")
    return data


def _raise_unless_regular(path: Path) -> None:
    """Raise an UnreadableError if a path is a link, a folder, a pipe or a device."""
    if path.is_symlink():
        raise UnreadableError("it is a symbolic link; a submission has to be a file of its own.")
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        os.scandir(path).close()  # raises the error that says why the folder could not be listed
        raise UnreadableError("it is a folder that could not be listed.")
    if not stat.S_ISREG(about.st_mode):
        raise UnreadableError("it is a pipe or a device; a submission has to be a file.")


def files_below(folder: Path) -> Iterator[File]:
    """Yield the files below a folder, at any depth.

    A folder that cannot be listed is yielded too, so that a submission which may be in it is reported.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    to_list = [str(folder)]
    while to_list:
        here = to_list.pop()
        try:
            with os.scandir(here) as listed:
                entries = list(listed)
        except OSError:
            if here == str(folder):
                raise
            yield File(Path(here), is_folder=True)
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                to_list.append(entry.path)
            elif not os.path.isdir(entry.path):
                yield File(Path(entry.path))
