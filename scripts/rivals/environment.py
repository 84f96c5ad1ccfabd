"""The environment of every rank: libraries read most of it once per process."""

from __future__ import annotations

from typing import Any

# No multicast for anybody, and no network between processes.
ALWAYS = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_SOCKET_IFNAME": "lo",
}
# NCCL where GPUs do not reach each other: as it is, and by copy engines to and from shared memory.
NCCL_WITHOUT_PEERS = {
    "plain": {"NCCL_P2P_DISABLE": "1"},
    "memcpy": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_USE_CUDA_MEMCPY": "1"},
}
POLYPATH_WITHOUT_PEERS = {"POLYPATH_PEER_ACCESS": "0"}


def environment(without_peers: str) -> dict[str, str]:
    """Return what is set; `without_peers`: one of NCCL_WITHOUT_PEERS, "" with peer access."""
    if not without_peers:
        return ALWAYS
    return {**ALWAYS, **NCCL_WITHOUT_PEERS[without_peers], **POLYPATH_WITHOUT_PEERS}


def facts(without_peers: str) -> dict[str, Any]:
    """Return what each result says of it: nothing with peer access."""
    if not without_peers:
        return {}
    return {"peer_access": False, "nccl_settings": NCCL_WITHOUT_PEERS[without_peers]}
