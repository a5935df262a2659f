"""Arrays in a zip archive, as np.savez_compressed writes them, read from bytes that nobody has vouched for.

np.load unpacks whatever it is given: a file of 3 MB may declare an array of 3 GB. Here, what a file declares about its
arrays is checked first, and an array is unpacked when somebody who knows its size asks for it.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

END_OF_ARCHIVE, ZIP64_LOCATOR = 22, 20  # bytes of the records at the end, of which the second is in huge archives only
DIRECTORY_BYTES = 4096  # of the list of members, at most; that of two arrays has about 200
IS_ENCRYPTED = 0x1  # flag of a member
CHUNK = 1 << 20  # bytes that are unpacked at once
# What np.save writes before the numbers of an array with one dimension. It is Python, which is not evaluated here.
ARRAY_HEADER = re.compile(rb"\{'descr': '([<>|]\w\d)', 'fortran_order': False, 'shape': \((\d{1,15}),\), \} *\n")
ARRAY_MAGIC, LENGTH_BYTES = b"\x93NUMPY\x01\x00", 2


class DamagedArchiveError(ValueError):
    """The archive is not one that np.savez_compressed has written, or it is damaged."""


@dataclass(frozen=True)
class StoredArray:
    """An array of one dimension in an archive, of which only the length is known yet."""

    file: IO[bytes]
    dtype: "np.dtype[Any]"
    count: int

    def read(self) -> NDArray[Any]:
        array = np.empty(self.count, self.dtype)
        free = array.data.cast("B") if self.count else memoryview(b"")
        with _damage_explained():
            while free:
                chunk = self.file.read(min(CHUNK, len(free)))  # compares everything with a checksum at the end
                if not chunk:
                    raise DamagedArchiveError("an array is shorter than it says")
                free[: len(chunk)] = chunk
                free = free[len(chunk) :]
        return array


def open_arrays(content: bytes, dtypes: Mapping[str, str]) -> dict[str, StoredArray]:
    """The arrays of exactly these names and types; nothing is unpacked but their headers."""
    with _damage_explained():
        _check_directory(content)
        archive = zipfile.ZipFile(io.BytesIO(content))
        if sorted(info.filename for info in archive.infolist()) != sorted(f"{name}.npy" for name in dtypes):
            raise DamagedArchiveError("it has other arrays")
        return {name: _open_array(archive, f"{name}.npy", np.dtype(dtype)) for name, dtype in dtypes.items()}


def _check_directory(content: bytes) -> None:
    """Check that the list of members is short, because zipfile reads all of it."""
    end = content[-END_OF_ARCHIVE:]
    before = content[:-END_OF_ARCHIVE][-ZIP64_LOCATOR:]
    if len(end) < END_OF_ARCHIVE or not end.startswith(b"PK\5\6") or before.startswith(b"PK\6\7"):
        raise DamagedArchiveError("it does not end as an archive does")
    (size,) = struct.unpack_from("<L", end, 12)
    if size > DIRECTORY_BYTES:
        raise DamagedArchiveError("it has too many members")


def _open_array(archive: zipfile.ZipFile, name: str, dtype: "np.dtype[Any]") -> StoredArray:
    info = archive.getinfo(name)
    if info.flag_bits & IS_ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DamagedArchiveError("it is packed in another way")
    file = archive.open(info)
    start = file.read(len(ARRAY_MAGIC) + LENGTH_BYTES)
    header = file.read(int.from_bytes(start[len(ARRAY_MAGIC) :], "little"))
    match = ARRAY_HEADER.fullmatch(header)
    if not start.startswith(ARRAY_MAGIC) or match is None or match[1].decode() != dtype.str:
        raise DamagedArchiveError("an array is of another kind")
    count = int(match[2])
    if len(start) + len(header) + count * dtype.itemsize != info.file_size:
        raise DamagedArchiveError("the length of an array does not fit its size in the archive")
    return StoredArray(file, dtype, count)


@contextmanager
def _damage_explained() -> Iterator[None]:
    """Turn what zipfile and zlib raise for damaged archives into one kind of error."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        ValueError,
        ArithmeticError,
        LookupError,
    ) as error:
        raise DamagedArchiveError(str(error)) from error
    except RuntimeError as error:  # also NotImplementedError: kinds of archives that zipfile does not know
        raise DamagedArchiveError(str(error)) from error
