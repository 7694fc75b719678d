# SPDX-License-Identifier: Apache-2.0
"""Models that the tests share: small ones of ONNX's own test data, and one of the zoo."""
import pathlib

import pytest

import tenon

NODES = pathlib.Path("/usr/share/libonnx-testdata/data/node")


def node_model(name):
    """A model of one node, by the name of its test."""
    return NODES / name / "model.onnx"


@pytest.fixture(scope="session")
def dqn(tmp_path_factory):
    file = tmp_path_factory.mktemp("models") / "dqn.onnx"
    tenon.command("zoo", "write", "dqn", "-o", str(file))
    return file


@pytest.fixture(scope="session")
def module(dqn, tmp_path_factory):
    """dqn: f32 1x4x84x84 in, 1x18 out."""
    return tenon.compile(dqn, out=tmp_path_factory.mktemp("dqn") / "out", threads=1)


@pytest.fixture(scope="session")
def add():
    """x + y of f32 3x4x5."""
    return tenon.compile(node_model("test_add"), threads=1)
