"""The files that were handed in: in folders, in zips, and in zips in zips. Nothing is unpacked onto the disk.

A file can be made so that reading it takes gigabytes, so the functions here run in a process with limits. They look
at the size that a zip states before they read a file, and never read more than that. `Budget` bounds the sum of a
learner's files.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from qkv.words import t

MAX_FILE = 200 * 2**20  # bytes
MAX_MEMBERS = 20_000  # files in a zip, and in the zips in it
MAX_PART = 255  # characters of a folder's or a file's name in a zip; no file system allows more
MAX_DEPTH = 3  # zips in zips
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others make a gigabyte of a few bytes in one step


class UnreadableError(Exception):
    """The file cannot be read as a notebook; the message says why."""


@dataclass(frozen=True)
class File:
    """A file that was handed in.

    Attributes:
        path: the file on the disk
        members: if that is a zip, the member in it, and the member in that member if it is a zip, too
        is_folder: True for a folder that could not be listed, so that files in it may be missing here
        unpacked: of a file in a zip, its size in bytes, as the zip states it
    """

    path: Path
    members: tuple[str, ...] = ()
    is_folder: bool = False
    unpacked: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        return PurePosixPath(self.members[-1]).name if self.members else self.path.name

    @property
    def shown(self) -> Path:
        """The path with the members behind it, for messages: `ada/work.zip/03_scaling.ipynb`."""
        return self.path.joinpath(*(part for member in self.members for part in _parts(member)))

    def parts_below(self, root: Path) -> tuple[str, ...]:
        """Return the names of the folders, zips and members that lead from `root` to this file; its own is the last.

        Raises:
            ValueError: the file is not below `root`, which is an absolute path.
        """
        inside = self.path.absolute().relative_to(root).parts
        return (*inside, *(part for member in self.members for part in _parts(member)))


def is_zip(name: str) -> bool:
    return name.casefold().endswith(".zip")


def _parts(member: str) -> list[str]:
    """Return the parts of a member's name. A name that leads out of its zip, as `../x` would, stays in it."""
    return [part[:MAX_PART] for part in member.replace("\\", "/").split("/") if part not in ("", ".", "..")]


@dataclass
class Budget:
    """How much of an upload is still looked at. Without it, a few kilobytes of zip could stop a whole class."""

    files: int
    size: int  # bytes

    def take(self, files: int = 1, size: int = 0) -> bool:
        """Subtract files, and bytes, and return whether all so far are within the budget."""
        self.files -= files
        self.size -= size
        return self.files >= 0 and self.size >= 0


def size_of(file: File) -> int:
    """Return the bytes that reading a file takes: as its zip states, or as on the disk; 0 if it is not there."""
    with contextlib.suppress(OSError):
        return file.unpacked if file.members else file.path.lstat().st_size
    return 0


def members_of(file: File) -> list[File]:
    """Return the files in a zip, but not those of zips in it; of two with one name, the last.

    Raises:
        UnreadableError: it cannot be read, is no zip or no regular file, has too many files, or its files overlap.
        MemoryError: there is not enough memory for a zip in another one.
    """
    _close_others(file)
    try:
        archive = _archive(file)
        infos = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UnreadableError(t("it cannot be read as a zip: {why}.", why=error)) from None
    if len(infos) > MAX_MEMBERS:
        raise UnreadableError(t("it has more than {n} files.", n=MAX_MEMBERS))
    if sum(info.compress_size for info in infos) > archive.start_dir:  # or the same bytes would count many times
        raise UnreadableError(t("it cannot be read as a zip: its files overlap."))
    by_name = {info.filename: info for info in infos}  # of two with one name, the last is read
    return [File(file.path, (*file.members, name), unpacked=info.file_size) for name, info in by_name.items()]


_open: dict[tuple[File, int], zipfile.ZipFile] = {}  # the zips that lead to the last file, and no others


def _archive(file: File) -> zipfile.ZipFile:
    """Open a zip, or return it if it is open: a class's zip is asked for each of its files.

    It stays open until `_close_others` is called with a file that is not in it.

    Raises:
        UnreadableError: it is not a regular file, or the zip that it is in cannot be read.
        zipfile.BadZipFile: it is no zip.
        OSError: there is no such file, or it cannot be opened.
    """
    _raise_unless_regular(file.path)
    key = (file, file.path.stat().st_mtime_ns)
    if key not in _open:
        _open[key] = zipfile.ZipFile(io.BytesIO(_read_member(file)) if file.members else file.path)
    return _open[key]


def _close_others(file: File) -> None:
    """Close the zips that do not lead to a file: what one learner's zips hold in memory is no other learner's loss."""
    for key in list(_open):
        zipped, _ = key
        if zipped.path != file.path or zipped.members != file.members[: len(zipped.members)]:
            _open.pop(key).close()


def read_bytes(file: File) -> bytes:
    """Return the content of a file.

    Raises:
        UnreadableError: it is not a regular file, is too large, or cannot be read.
        MemoryError: there is not enough memory for it.
    """
    _close_others(file)
    try:
        if file.members:
            return _read_member(file)
        _raise_unless_regular(file.path)
        if file.path.stat().st_size > MAX_FILE:
            raise UnreadableError(_too_large(file.path.stat().st_size))
        return file.path.read_bytes()
    except OSError as error:
        raise UnreadableError(t("it cannot be read: {why}.", why=error.strerror)) from None


def _too_large(size: int) -> str:
    """Say of a file of this many bytes that it is too large."""
    return t("it has {n} MB; at most {most} MB are allowed.", n=f"{size / 2**20:.0f}", most=MAX_FILE // 2**20)


def _read_member(file: File) -> bytes:
    """Return the bytes of one file in a zip.

    Raises:
        UnreadableError: it cannot be read, is too large, or is larger than its zip states.
        MemoryError: there is not enough memory for it.
    """
    try:
        archive = _archive(File(file.path, file.members[:-1]))
        info = archive.getinfo(file.members[-1])
        _raise_if_dangerous(info)
        with archive.open(info) as stream:
            data = stream.read(info.file_size + 1)
    except UnreadableError:
        raise
    except (zipfile.BadZipFile, RuntimeError, ValueError, NotImplementedError, EOFError, KeyError) as error:
        raise UnreadableError(t("it cannot be read from its zip: {why}.", why=error)) from None
    except MemoryError:  # what others left in memory may be the reason: `Reader.run` tries it again
        raise
    except Exception as error:  # the decompressor has errors of its own
        raise UnreadableError(t("it cannot be read from its zip: {why}.", why=type(error).__name__)) from None
    if len(data) > info.file_size:
        raise UnreadableError(t("it cannot be read from its zip: it has more bytes than its zip states."))
    return data


def _raise_if_dangerous(info: zipfile.ZipInfo) -> None:
    """Raise an UnreadableError if a file in a zip is too large, or is compressed in an unusual way."""
    if info.file_size > MAX_FILE:
        raise UnreadableError(_too_large(info.file_size))
    if info.compress_type not in METHODS:
        raise UnreadableError(t("it is compressed in a way that few programs can read: ask for an ordinary zip."))


def _raise_unless_regular(path: Path) -> None:
    """Raise an UnreadableError if a path is a link, a folder, a pipe or a device.

    Raise an OSError if it cannot be looked at, or is a folder that cannot be listed.
    """
    if path.is_symlink():
        raise UnreadableError(t("it is a symbolic link; a submission has to be a file of its own."))
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        os.scandir(path).close()  # raises the error that says why the folder could not be listed
        raise UnreadableError(t("it is a folder that could not be listed."))
    if not stat.S_ISREG(about.st_mode):
        raise UnreadableError(t("it is a pipe or a device; a submission has to be a file."))


def files_below(folder: Path) -> Iterator[File]:
    """Yield the files below a folder, at any depth, in no order; links to folders are left out.

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
