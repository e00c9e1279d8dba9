"""The binaries on disk: found by what they were compiled from, and by nothing else.

A file `objects/<k>/<key>-<digest>.o` is one entry. `key` is a hash of all that the binary depends
on (text, commands, compiler, chip, version), `digest` that of its bytes, so that a file tells by
itself whether it is whole. A file is written elsewhere and moved into place, which is atomic, so
processes need no locks: those that compile the same text at once write the same entry. `work` has
the folders that compilers run in, `failed` what they left when they failed. May import `tracer`,
`knobs`.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..tracer.diagnostics import KernelWarning, finding
from . import knobs

#: Entries used as recently as this stay, whatever their size: another process may be loading them.
_FRESH_SECONDS = 600
#: Folders in `work` as old as this were left by a process that was killed.
_STALE_SECONDS = 6 * 3600
#: Failures that are kept.
_FAILURES = 32
_SUFFIX = ".o"


@dataclass(frozen=True, slots=True)
class Entry:
    """A binary that is whole: where it is, its bytes and their SHA-256."""

    path: Path
    digest: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the cache holds: binaries, their bytes, kept failures."""

    folder: Path
    entries: int
    bytes: int
    failures: int
    limit: int


def key_of(*parts: str) -> str:
    """A key for texts: another sequence of texts has another key."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]


class Cache:
    """Binaries in a folder of at most `limit` bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit

    # -- entries --------------------------------------------------------------------------------

    def find(self, key: str) -> Entry | None:
        """The entry of a key; what does not have the bytes that its name says is removed."""
        for path in sorted(self._shard(key).glob(f"{key}-*{_SUFFIX}")):
            digest = path.stem.partition("-")[2]
            try:
                data = path.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(data).hexdigest() == digest:
                # The time of last use, for `evict`.
                with suppress(OSError):
                    os.utime(path)
                return Entry(path, digest, data)
            with suppress(OSError):
                path.unlink()
        return None

    def publish(self, key: str, data: bytes) -> Entry:
        """Make an entry, for all processes at once; `OSError` when the disk does not take it."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._shard(key) / f"{key}-{digest}{_SUFFIX}"
        write(path, data, self._folder("work"))
        self.evict(spare=path)
        return Entry(path, digest, data)

    def keep(self, entry: Entry) -> Path:
        """The file of an entry, written again if it went meanwhile; `OSError` if that fails."""
        with suppress(OSError):
            if entry.path.read_bytes() == entry.data:
                return entry.path
        write(entry.path, entry.data, self._folder("work"))
        return entry.path

    def _shard(self, key: str) -> Path:
        return self.folder / "objects" / key[:2]

    def _folder(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    # -- folders of compilers -------------------------------------------------------------------

    @contextmanager
    def work(self) -> Iterator[Path]:
        """A folder to compile in, gone afterwards."""
        path = Path(tempfile.mkdtemp(prefix="run-", dir=self._folder("work")))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def keep_failure(self, work: Path, name: str, key: str) -> Path:
        """Keep a folder of a compiler that failed; returns where. The oldest ones go."""
        failed = self._folder("failed")
        path = failed / f"{name[:64]}-{key[:12]}"
        aside = Path(tempfile.mkdtemp(prefix="old-", dir=self._folder("work")))
        with suppress(OSError):
            os.rename(path, aside / "failed")
        try:
            os.rename(work, path)
        except OSError:  # another process was faster; its folder has the same
            if not path.is_dir():
                raise
        shutil.rmtree(aside, ignore_errors=True)
        for old in sorted(failed.iterdir(), key=_used, reverse=True)[_FAILURES:]:
            shutil.rmtree(old, ignore_errors=True)
        return path

    # -- size -----------------------------------------------------------------------------------

    def evict(self, spare: Path | None = None) -> None:
        """Remove what was not used for longest until the rest fits, and what killed ones left."""
        now = time.time()
        files = sorted((_used(path), path) for path in self._objects())
        sizes = {path: _size(path) for _, path in files}
        total = sum(sizes.values())
        for used, path in files:
            if total <= self.limit:
                break
            if path != spare and now - used > _FRESH_SECONDS:
                total -= sizes[path]
                with suppress(OSError):
                    path.unlink()
        for path in _children(self.folder / "work"):
            if now - _used(path) > _STALE_SECONDS:
                _remove(path)

    def usage(self) -> Usage:
        """What is there now."""
        sizes = [_size(path) for path in self._objects()]
        failures = len(_children(self.folder / "failed"))
        return Usage(self.folder, len(sizes), sum(sizes), failures, self.limit)

    def clear(self) -> Usage:
        """Remove everything; returns what was there. Running compilers lose their folders."""
        before = self.usage()
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return before

    def _objects(self) -> list[Path]:
        shards = _children(self.folder / "objects")
        return [path for shard in shards for path in _children(shard) if path.suffix == _SUFFIX]


def write(path: Path, data: bytes, work: Path) -> None:
    """Write a file, at once for all who look; `work` is on the same disk."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix="new-", dir=work)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()


# -- the cache of this process ------------------------------------------------------------------


def default_folder() -> Path:
    """The folder that the settings choose."""
    given = knobs.CACHE_DIR.get()
    if given:
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "asctrace"


def current() -> Cache:
    """The cache that the settings choose.

    When its folder cannot be used, a warning (AT0401) says so, and the binaries of this process
    live in a folder that goes with it.
    """
    limit = knobs.CACHE_LIMIT.get() << 20
    if not limit:
        return _private()
    folder = default_folder()
    try:
        _prepare(folder)
    except OSError as problem:
        return fall_back(folder, problem)
    return Cache(folder, limit)


def fall_back(folder: Path, problem: OSError) -> Cache:
    """Warn that the folder cannot be used; the cache for this process alone."""
    warnings.warn(
        KernelWarning(
            finding(
                "AT0401",
                f"the cache {folder} cannot be used: {problem.strerror or problem}",
                severity="warning",
                hint="kernels are compiled anew in each process; ASCTRACE_CACHE_DIR chooses "
                "another folder",
            )
        ),
        stacklevel=2,
    )
    return _private()


#: The folders of a cache.
FOLDERS = ("objects", "work", "failed")


def _prepare(folder: Path) -> None:
    """Make the folders, for the user alone: who can write there can make this process run code."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = folder.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise OSError(None, "everybody may write there")
    for name in FOLDERS:
        path = folder / name
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise OSError(None, f"{name} is not a folder of this user")
        if stat.S_IMODE(status.st_mode) & 0o077:
            path.chmod(0o700)
        if not os.access(path, os.W_OK | os.X_OK):
            raise OSError(None, "it is read-only")


def usable(folder: Path) -> str:
    """Why a folder cannot be used, or ""; makes nothing."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if existing != folder:
        if not existing.is_dir():
            return f"{existing} is no folder"
        return "" if os.access(existing, os.W_OK | os.X_OK) else f"{existing} is read-only"
    try:
        _prepare(folder)
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""


_private_cache: tuple[int, Cache] | None = None


def _private() -> Cache:
    """A cache in a new folder, once a process; also after a fork."""
    global _private_cache
    if _private_cache is None or _private_cache[0] != os.getpid():
        folder = Path(tempfile.mkdtemp(prefix="asctrace-"))
        atexit.register(_remove_own, folder, os.getpid())
        _private_cache = os.getpid(), Cache(folder, 1 << 62)
    return _private_cache[1]


def _remove_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
