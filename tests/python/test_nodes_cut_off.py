"""polypath.Collectives where a node is cut off whole: its ranks killed, stopped, or not reached."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polypath
import pytest

STANDIN = Path(polypath.__file__).parent / "standin"
PROGRAM = Path(__file__).parent / "cut_off_rank.py"
SIZE = 4
HERE, GONE = (0, 1), (2, 3)  # the ranks of each node
SECONDS = 3  # until a rank that is silent is an error
LONGEST = 60

Ranks = list["subprocess.Popen[str]"]


@contextmanager
def gathering(folder: Path, hosts: tuple[str, str], *networks: list[str]) -> Iterator[Ranks]:
    """Start all ranks, each node's by a command of its network; wait until they have gathered."""
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(STANDIN), "STANDIN_MACHINE": "h200x4",
        "STANDIN_STRICT": "1", "STANDIN_CHAOS": "7", "POLYPATH_COMMUNICATOR_TIMEOUT": str(SECONDS),
    }  # fmt: skip
    ranks = []
    for rank in range(SIZE):
        node = rank * 2 // SIZE
        ranks.append(
            subprocess.Popen(
                [*(networks[node] if networks else []), sys.executable, str(PROGRAM), str(rank),
                 str(SIZE), str(folder / "job"), hosts[node]],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
    try:
        for rank in ranks:
            assert rank.stdout and rank.stdout.readline() == "going\n", rank.communicate()[1]
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def said_by(rank: subprocess.Popen[str]) -> str:
    """Wait for the rank's end; return what it has said."""
    output, errors = rank.communicate(timeout=LONGEST)
    return output + errors


def assert_names(said: str, ranks: tuple[int, ...], node: str) -> None:
    """Expect an error that names a rank of the node that is gone, and the node."""
    assert re.search(f"[Rr]ank ({'|'.join(map(str, ranks))}) on {node}\\b", said), said


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_node_whose_processes_are_gone_is_named(tmp_path: Path, how: signal.Signals) -> None:
    with gathering(tmp_path, ("", "")) as ranks:
        for rank in GONE:
            ranks[rank].send_signal(how)

        said = [said_by(ranks[rank]) for rank in HERE]

    for each in said:
        assert_names(each, GONE, "node1")


@dataclass(frozen=True)
class Cable:
    """Two namespaces of networks with one connection, by their names and addresses."""

    names: tuple[str, str]
    hosts: tuple[str, str] = ("10.213.7.1", "10.213.7.2")

    def at(self, node: int) -> list[str]:
        """Return the command that runs another one in a node's network."""
        return ["ip", "netns", "exec", self.names[node]]

    def cut(self) -> None:
        """Let nothing through."""
        subprocess.run([*self.at(0), "ip", "link", "set", "polypath0", "down"], check=True)


def connect(names: tuple[str, str]) -> Iterator[list[str]]:
    """Return the commands that make the namespaces."""
    for name in names:
        yield ["ip", "netns", "add", name]
    yield (
        f"ip link add polypath0 netns {names[0]} type veth peer name polypath1 netns {names[1]}"
    ).split()
    for node, (name, host) in enumerate(zip(names, Cable.hosts)):
        yield ["ip", "-n", name, "addr", "add", f"{host}/24", "dev", f"polypath{node}"]
        yield ["ip", "-n", name, "link", "set", f"polypath{node}", "up"]
        yield ["ip", "-n", name, "link", "set", "lo", "up"]


@pytest.fixture
def cable() -> Iterator[Cable]:
    names = (f"polypath-{os.getpid()}-0", f"polypath-{os.getpid()}-1")
    try:
        for command in connect(names):
            try:
                subprocess.run(command, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                pytest.skip("this user cannot make networks")
        yield Cable(names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_nodes_without_a_connection_name_each_other(tmp_path: Path, cable: Cable) -> None:
    with gathering(tmp_path, cable.hosts, cable.at(0), cable.at(1)) as ranks:
        cable.cut()

        said = [said_by(rank) for rank in ranks]

    for rank in range(SIZE):
        others, node = (GONE, "node1") if rank in HERE else (HERE, "node0")
        assert_names(said[rank], others, node)
