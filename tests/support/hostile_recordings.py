"""Malicious recordings: flipped bits, truncation, zip bombs, wrong shapes. They are always the same.

As a program, this opens the files in a folder and prints the results as JSON. A process that did not create the files
shows how much memory reading them needs.
"""

import io
import json
import struct
import sys
import time
import traceback
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mgem_core import UsageError
from mgem_core.lens import recordings

HEADER = {
    "format": "mgem-lens",
    "version": 1,
    "layers": [{"name": f"fc{i}", "shapes": {"weight": [4, 3], "bias": [4]}} for i in range(3)],
    "split_by": "random",
    "lr": 0.1,
    "seed": 0,
    "used": {"modules": 2, "splits": 1, "strength": 0.5, "trigger": "always", "ridge": 1e-7},
    "snapshots": [{"task": 1, "step": step, "sizes": [[5, 4]]} for step in range(4)],
}
FACTORS = np.random.default_rng(0).normal(size=4 * 6 * 15).astype(np.float32)  # 4 snapshots, 6 tensors, 5 rows
NESTED = json.loads("[" * 400 + "]" * 400)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 7, 1.5, 1e-300, float("nan"), float("inf"), 2**31, 2**63, 10**400),
    *("", "x", "\ud800", "\0", "\x1b[31m", "a\nb", "1" * 5000, "long " * 100_000),
    *([], {}, [[]], [{}], [1, 2], {"x": 1}, [[0]], [[1], [1, 2]], NESTED),
)


def packed(header: Any = None, factors: np.ndarray = FACTORS, **changes: Any) -> bytes:
    """Return a file with this header, or with some fields changed; the JSON may have NaN and lone surrogates."""
    text = header if isinstance(header, bytes) else json.dumps({**HEADER, **changes}).encode()
    file = io.BytesIO()
    np.savez_compressed(file, header=np.frombuffer(text, np.uint8), factors=factors)
    return file.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, level: int = 1) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=level) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def array_file(array: np.ndarray, shape: str | None = None, descr: str | None = None) -> bytes:
    """Return the content of a .npy file, whose header may have a wrong shape and type."""
    file = io.BytesIO()
    np.save(file, array)
    content = file.getvalue()
    if shape is None and descr is None:
        return content
    header = f"{{'descr': {descr or repr(array.dtype.str)}, 'fortran_order': False, 'shape': {shape or array.shape}, }}\n"
    return content[:8] + struct.pack("<H", len(header)) + header.encode() + array.tobytes()


def members(**changes: bytes) -> dict[str, bytes]:
    text = np.frombuffer(json.dumps(HEADER).encode(), np.uint8)
    return {"header.npy": array_file(text), "factors.npy": array_file(FACTORS), **changes}


def all_files() -> Iterator[tuple[str, bytes]]:
    """Yield the name of each kind of damage, with a file."""
    good = packed()
    yield "good", good
    generator = np.random.default_rng(1)
    for position in generator.integers(0, 8 * len(good), 150):
        content = bytearray(good)
        content[position // 8] ^= 1 << position % 8
        yield f"bit {position}", bytes(content)
    for length in np.linspace(0, len(good) - 1, 50).astype(int):
        yield f"first {length} bytes", good[:length]
        yield f"without the first {length} bytes", good[length:]
    for name in HEADER:
        yield f"no {name}", packed(json.dumps({key: value for key, value in HEADER.items() if key != name}).encode())
        for number, value in enumerate(VALUES):
            yield f"{name}: value {number}", packed(**{name: value})
    for number, value in enumerate(VALUES):
        yield f"layer: {number}", packed(layers=[value, *HEADER["layers"][1:]])
        for name in ("name", "shapes"):
            yield (
                f"{name} of a layer: {number}",
                packed(layers=[{**HEADER["layers"][0], name: value}, *HEADER["layers"][1:]]),
            )
        yield f"shape: {number}", packed(layers=[{"name": "a", "shapes": {"w": value}}, *HEADER["layers"][:2]])
        for name in ("task", "step", "sizes"):
            yield f"{name}: {number}", packed(snapshots=[{**HEADER["snapshots"][0], name: value}, *HEADER["snapshots"][1:]])
        for name in (*HEADER["used"], "strength_kind", "unknown"):
            yield f"{name} that was used: {number}", packed(used={**HEADER["used"], name: value})
    yield from _odd_recordings()
    yield from _odd_archives()
    yield from _bombs()


def _odd_recordings() -> Iterator[tuple[str, bytes]]:
    for value in (np.nan, np.inf, -np.inf, 3e38, 1e-45, 0.0):
        for where in (0, 200, slice(None)):
            factors = FACTORS.copy()
            factors[where] = value
            yield f"{value} at {where}", packed(factors=factors)
    for count in (0, 1, len(FACTORS) - 1, len(FACTORS) + 1):
        yield f"{count} factors", packed(factors=np.zeros(count, np.float32))
    same = {"name": "a", "shapes": {"w": [2], "b": [2]}}
    yield "two layers of one name", packed(layers=[same, same, same])
    tensors = [{"name": "a", "shapes": {"b.w": [1], "c": [1]}}, {"name": "a.b", "shapes": {"w": [1], "d": [1]}}]
    yield "two tensors of one name", packed(layers=[*tensors, same | {"name": "z"}])
    yield "no tensors", packed(layers=[{"name": str(i), "shapes": {}} for i in range(3)], factors=FACTORS[:0])
    yield "name with many dots", packed(layers=[{"name": "a." * 50_000, "shapes": {"w": [1]}}], factors=FACTORS[: 4 * 15])
    other = {"task": 1, "step": 9, "sizes": [[5]]}
    yield "other splits", packed(snapshots=[HEADER["snapshots"][0], other], factors=FACTORS[: 6 * (15 + 10)])
    many = [{"task": t, "step": 0, "sizes": [[1]] * t} for t in range(1, 120)]
    yield (
        "many tasks",
        packed(snapshots=many, factors=np.ones(6 * sum((2 + 2 * t) * (3 + 2 * t) // 2 for t in range(1, 120)), np.float32)),
    )
    yield "broken JSON", packed(b'{"format": "mgem-lens", "version": 1, "layers": [')
    yield "not UTF-8", packed(b'{"format": "\xff\xfe"}')
    yield "deep JSON", packed(b"[" * 200_000)
    yield "deep object", packed(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    yield (
        "deep setting",
        packed(json.dumps(HEADER).encode().replace(b'"modules": 2', b'"modules": ' + b"[" * 50_000 + b"]" * 50_000)),
    )


def _odd_archives() -> Iterator[tuple[str, bytes]]:
    text = members()["header.npy"]
    yield "nothing in it", zipped({})
    for name in members():
        yield f"{name} alone", zipped({name: members()[name]})
        yield f"empty {name}", zipped(members(**{name: b""}))
        for length in (3, 8, 10, 60, 128):
            yield f"{name} of {length} bytes", zipped(members(**{name: members()[name][:length]}))
    yield "a member more", zipped(members(**{"x.npy": text}))
    yield "recording in an archive", zipped({"good.lens": packed()})
    yield "stored", zipped(members(), zipfile.ZIP_STORED)
    yield "bzip2", zipped(members(), zipfile.ZIP_BZIP2, 9)
    yield "lzma", zipped(members(), zipfile.ZIP_LZMA)
    for flags in (1, 0x20, 0x40, 0x2000, 0xFFFF):
        yield (
            f"flags {flags:#x}",
            _with_bytes(
                _with_bytes(packed(), b"PK\1\2", 8, struct.pack("<H", flags)), b"PK\3\4", 6, struct.pack("<H", flags)
            ),
        )
    for method in (1, 9, 14, 99):
        yield f"method {method}", _with_bytes(packed(), b"PK\1\2", 10, struct.pack("<H", method))
    yield "comment", packed()[:-2] + struct.pack("<H", 9) + b"a comment"
    for shape in (
        "(10**12,)",
        "(1000000000000,)",
        "(-1,)",
        "(360, 1)",
        "()",
        "(360",
        "[360]",
        "(1.5,)",
        "-" * 5000,
        "(" * 5000,
    ):
        yield f"shape {shape[:20]}", zipped(members(**{"factors.npy": array_file(FACTORS, shape)}))
        yield f"shape of header {shape[:20]}", zipped(members(**{"header.npy": array_file(np.zeros(9, np.uint8), shape)}))
    for descr in ("'|O'", "'<f8'", "'>f4'", "'<i4'", "'<c8'", "'|V4'", "'<U1'", "[('a', '<f4')]", "__import__('os')"):
        yield f"type {descr}", zipped(members(**{"factors.npy": array_file(FACTORS, None, descr)}))
    objects = io.BytesIO()
    np.save(objects, np.array([{}], object), allow_pickle=True)
    yield "pickle", zipped(members(**{"factors.npy": objects.getvalue()}))


def _bombs() -> Iterator[tuple[str, bytes]]:
    zeros = bytes(300_000_000)
    yield "bomb of 300 MB", zipped(members(**{"factors.npy": array_file(np.zeros(0, np.float32), "(75000000,)") + zeros}))
    yield "header of 300 MB", zipped(members(**{"header.npy": array_file(np.zeros(0, np.uint8), "(300000000,)") + zeros}))
    for size in (0, 1, 10**6, 2**32 - 1):
        yield f"declared as {size} bytes", _with_bytes(packed(), b"PK\1\2", 24, struct.pack("<L", size))
    yield "20,000 splits", packed(snapshots=[{"task": 1, "step": 0, "sizes": [[1] * 20_000]}])
    yield "20,000 past tasks", packed(snapshots=[{"task": 20_000, "step": 0, "sizes": [[1]] * 20_000}])
    for count in (500, 1000, 1001, 20_000):
        layers = [{"name": f"l{i}", "shapes": {"w": [i % 37 + 1, i % 11 + 1]}} for i in range(count)]
        one = HEADER["snapshots"][:1]
        yield f"{count} layers", packed(layers=layers, snapshots=one, factors=np.ones(15 * count, np.float32))
        huge = [{**layer, "shapes": {"w": [10**8, 10**7]}} for layer in layers]
        yield (
            f"{count} huge layers",
            packed(layers=huge, snapshots=one, used={"modules": count // 3}, factors=np.ones(15 * count, np.float32)),
        )
    tensors = [{"name": "a", "shapes": {f"w{i}": [1] for i in range(50_000)}}]
    yield "50,000 tensors", packed(layers=tensors, snapshots=HEADER["snapshots"][:1])
    small = [{"name": "a", "shapes": {"w": [1]}}]
    many = [{"task": 1, "step": i, "sizes": [[1]]} for i in range(100_001)]
    yield "100,000 snapshots", packed(layers=small, snapshots=many[:-1], factors=np.ones(1_000_000, np.float32))
    yield "100,001 snapshots", packed(layers=small, snapshots=many, factors=np.ones(1_000_010, np.float32))
    wide = [{"task": 1, "step": i, "sizes": [[1] * 997]} for i in range(127)]  # 1,000 rows
    largest = json.dumps({**HEADER, "layers": small, "snapshots": wide}).encode()
    factors = array_file(np.zeros(127 * 1000 * 1001 // 2, np.float32))
    yield (
        "as large as allowed",
        zipped({"header.npy": array_file(np.frombuffer(largest, np.uint8)), "factors.npy": factors}),
    )
    layers = [{"name": f"l{i}", "shapes": {"w": [1]}} for i in range(127)]
    largest = json.dumps({**HEADER, "layers": layers, "snapshots": wide[:1]}).encode()
    yield "one large step", zipped({"header.npy": array_file(np.frombuffer(largest, np.uint8)), "factors.npy": factors})
    yield "many members", _many_members(200_000)


def _with_bytes(content: bytes, record: bytes, offset: int, value: bytes) -> bytes:
    """Return the file with other bytes at an offset of the archive records that have this signature."""
    changed, start = bytearray(content), content.find(record)
    while start >= 0:
        changed[start + offset : start + offset + len(value)] = value
        start = content.find(record, start + 1)
    return bytes(changed)


def _many_members(count: int) -> bytes:
    """Return an archive of many empty members, which all share the same few bytes."""
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0, zlib.crc32(b""), 0, 0, 1, 0) + b"a"
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 0, zlib.crc32(b""), 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * count
    return local + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(directory), len(local), 0)


def open_all(folder: Path) -> dict[str, Any]:
    """Open each file in a folder; return the results, the CPU time of the slowest, and the peak memory."""
    from explore.recording_files import recording_messages

    outcomes: dict[str, str] = {}
    longest, slowest = 0.0, ""
    for path in sorted(folder.iterdir(), key=lambda path: int(path.stem)):
        start = time.process_time()
        try:
            json.dumps(recording_messages([recordings.read(path)], path.name, "files"), allow_nan=False)
            outcomes[path.stem] = "shown"
        except UsageError as error:
            outcomes[path.stem] = f"UsageError: {error}"
        except Exception as error:
            outcomes[path.stem] = f"{type(error).__name__}: {traceback.format_exc()}"
        if (seconds := time.process_time() - start) > longest:
            longest, slowest = seconds, path.stem
    return {"outcomes": outcomes, "longest": longest, "slowest": slowest, "peak_mb": _peak_mb()}


def _peak_mb() -> float | None:
    """Return the peak memory of this process, or None if unknown; getrusage would include that of its parent."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "app"))
    print(json.dumps(open_all(Path(sys.argv[1]))))
