"""An archive behind a URL, through fsspec: object stores, HDFS and whatever else it knows.

Responsible for turning fsspec's answers into the contract's. Refuses to know any scheme. Invariant: fsspec is imported
only here, and here only when such a URL is named: it comes with the extra `archive`.
"""

from __future__ import annotations

from typing import Any

from coordinator.archive.api import Archive, ArchiveAway, WrongArchive


class Remote(Archive):
    """A place that fsspec reads and writes."""

    def __init__(self, url: str) -> None:
        self.where = _without_secrets(url)
        self._files, self._root = _open(url, self.where)

    def names(self, folder: str) -> list[str]:
        return [f"{folder}/{name}" for name in self._listed(f"{self._root}/{folder}", "file")]

    def folders(self) -> list[str]:
        return self._listed(self._root, "directory")

    def _listed(self, path: str, kind: str) -> list[str]:
        try:
            self._files.invalidate_cache()
            found = self._files.ls(path, detail=True)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise ArchiveAway(self.where, error) from error
        return sorted(str(one["name"]).rstrip("/").rpartition("/")[2] for one in found if one["type"] == kind)

    def read(self, name: str) -> bytes:
        try:
            return bytes(self._files.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            raise
        except Exception as error:
            raise ArchiveAway(self.where, error) from error

    def write(self, name: str, content: bytes) -> None:
        path = f"{self._root}/{name}"
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, content)
        except Exception as error:
            raise ArchiveAway(self.where, error) from error

    def remove(self, name: str) -> None:
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return
        except Exception as error:
            raise ArchiveAway(self.where, error) from error


def _open(url: str, shown: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise WrongArchive(
            f"the archive is {shown}, and fsspec cannot be imported ({error})",
            "a folder, or fsspec for anything else",
            "pip install '.[archive]' in a clone, with the package that fsspec wants for this scheme.",
        ) from error
    try:
        files, root = url_to_fs(url)
    except Exception as error:
        raise WrongArchive(
            f"the archive {shown} cannot be opened ({error})",
            "a URL that fsspec knows, such as s3://bucket/folder",
            "Correct `archive`, or install the package that fsspec wants for this scheme.",
        ) from error
    return files, str(root).rstrip("/")


def _without_secrets(url: str) -> str:
    scheme, slashes, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}"
