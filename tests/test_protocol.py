"""The channel and the value trees: what a hostile worker can send is data or an error."""

from __future__ import annotations

import json
import os
import socket
import struct

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evaluator.buffers import allocate, open_shared
from evaluator.protocol import (
    MAX_MESSAGE_BYTES,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    MalformedMessage,
)
from evaluator.values import Layout, TensorSpec, UnsupportedValue, pack, unpack

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
)


def raw_pair() -> tuple[Channel, socket.socket]:
    return Channel.pair()


def test_a_message_arrives_whole_with_its_descriptors() -> None:
    channel, theirs = raw_pair()
    other = Channel(theirs)
    read, write = os.pipe()
    channel.send({"op": "x", "big": "y" * 100_000}, (write,))
    message, fds = other.receive(5.0, max_fds=4)
    assert message["op"] == "x" and len(fds) == 1
    os.write(fds[0], b"ok")
    assert os.read(read, 2) == b"ok"
    for fd in (read, write, *fds):
        os.close(fd)


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack("!I", MAX_MESSAGE_BYTES + 1),
        struct.pack("!I", 5) + b"{bad}",
        struct.pack("!I", 3) + b"[1]",
        struct.pack("!I", 40_000) + b"[" * 40_000,
    ],
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    channel, theirs = raw_pair()
    theirs.sendall(raw)
    with pytest.raises(MalformedMessage):
        channel.receive(5.0)


def test_silence_and_death_are_told_apart() -> None:
    channel, theirs = raw_pair()
    with pytest.raises(ChannelTimeout):
        channel.receive(0.05)
    theirs.sendall(struct.pack("!I", 10) + b"half")
    with pytest.raises(ChannelTimeout):
        channel.receive(0.05)
    theirs.close()
    with pytest.raises(ChannelClosed):
        channel.receive(5.0)


@given(VALUES)
def test_values_survive_the_tree(value: object) -> None:
    tree = json.loads(json.dumps(pack(value, [])))
    assert unpack(tree, []) == value


def test_what_cannot_be_passed_is_named() -> None:
    with pytest.raises(UnsupportedValue, match="object"):
        pack(object(), [])


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 5), max_size=3),
            st.sampled_from(["float32", "bfloat16", "int64", "bool"]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 3),
)
def test_tensors_of_all_slots_lie_apart(shapes: list[tuple[list[int], str]], slots: int) -> None:
    tensors = [torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in shapes]
    layout = Layout(tuple(TensorSpec.of(tensor) for tensor in tensors), slots)
    buffer = torch.zeros(layout.nbytes, dtype=torch.uint8)
    for slot in range(slots):
        for number, tensor in enumerate(layout.views(buffer, slot)):
            assert not tensor.any()
            tensor.fill_(1 + slot + number)
    for slot in range(slots):
        for number, tensor in enumerate(layout.views(buffer, slot)):
            assert (tensor == torch.tensor(1 + slot + number).to(tensor.dtype)).all()
            stacked = layout.stacked(buffer, number)
            assert torch.equal(stacked[slot], tensor)


def test_a_layout_of_the_inputs_own_is_kept() -> None:
    transposed = torch.arange(12.0).view(3, 4).t()
    spec = TensorSpec.of(transposed)
    assert spec.stride == (1, 4)
    assert TensorSpec.of(torch.zeros(1).expand(3, 4)).stride == (4, 1)
    assert TensorSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


@pytest.mark.parametrize(
    "bad", [None, {}, {"shape": [-1], "dtype": "float32", "stride": [1]}, {"shape": "x"}]
)
def test_a_spec_from_a_worker_is_checked(bad: object) -> None:
    with pytest.raises(UnsupportedValue):
        TensorSpec.from_json(bad)


def test_a_shared_buffer_is_one_memory_and_cannot_be_resized() -> None:
    buffer = allocate(1000, torch.device("cpu"))
    assert buffer.fd is not None
    other = open_shared(buffer.handle, buffer.fd, torch.device("cpu"))
    buffer.tensor[999] = 7
    assert other[999] == 7
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(buffer.fd, 0)
    buffer.close()
