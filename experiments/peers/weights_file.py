"""Reads and writes files of named tensors as `cosched tenant --save-weights` does; the format is described in
workloads/weights_file.h."""
import struct
import zlib

import numpy

MAGIC = b"COSCHEDW"
VERSION = 1
TYPES = [numpy.dtype("<f4"), numpy.dtype("<i4")]


def write(path, tensors):
    """tensors: {name: numpy array of float32 or int32}."""
    with open(path, "wb") as file:
        checksum = 0

        def put(data):
            nonlocal checksum
            checksum = zlib.crc32(data, checksum)
            file.write(data)

        put(MAGIC + struct.pack("<II", VERSION, len(tensors)))
        for name, tensor in sorted(tensors.items()):
            values = numpy.ascontiguousarray(tensor).reshape(numpy.shape(tensor))  # The first makes scalars vectors.
            kind = TYPES.index(values.dtype.newbyteorder("<"))
            header = struct.pack("<I", len(name)) + name.encode("ascii") + struct.pack("<II", kind, values.ndim)
            put(header + struct.pack(f"<{values.ndim}qQ", *values.shape, values.nbytes))
            put(values.astype(TYPES[kind], copy=False).tobytes())
        file.write(struct.pack("<I", checksum))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != MAGIC or zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ValueError(f"{path} is no file of tensors or is damaged")
    version, count = struct.unpack_from("<II", data, 8)
    if version != VERSION:
        raise ValueError(f"{path} has version {version}")
    tensors, at = {}, 16
    for _ in range(count):
        (length,) = struct.unpack_from("<I", data, at)
        name = data[at + 4:at + 4 + length].decode("ascii")
        at += 4 + length
        kind, rank = struct.unpack_from("<II", data, at)
        *shape, size = struct.unpack_from(f"<{rank}qQ", data, at + 8)
        at += 16 + 8 * rank
        tensors[name] = numpy.frombuffer(data, TYPES[kind], size // 4, at).reshape(shape)
        at += size
    return tensors
