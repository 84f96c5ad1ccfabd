"""The papers, as far as their texts say who wrote them and where they appeared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One paper; `doi` and `venue` are empty where its text does not say."""

    key: str
    authors: str
    title: str
    venue: str
    doi: str

    @property
    def citation(self) -> str:
        """Return the whole citation as one sentence."""
        parts = [self.authors, f"“{self.title}”", self.venue]
        link = f" https://doi.org/{self.doi}" if self.doi else ""
        return ", ".join(part for part in parts if part) + "." + link


INTERCONNECT = Paper(
    "2021",
    "Y. H. Temuçin, A. Sojoodi, P. Alizadeh, B. W. Kitor, A. Afsahi",
    "Accelerating Deep Learning using Interconnect-Aware UCX Communication for MPI Collectives",
    "IEEE Micro, 2021",
    "10.1109/MM.2022.3148670",
)
FRAMEWORK = Paper(
    "2024",
    "A. Sojoodi, Y. H. Temuçin, A. Afsahi",
    "Enhancing Intra-Node GPU-to-GPU Performance in MPI+UCX through Multi-Path Communication",
    "ExHET '24, Edinburgh, 2024",
    "10.1145/3642961.3643800",
)
MODEL = Paper(
    "2025",
    "A. Sojoodi, M. Akbari, H. Sharifian, A. Farazdaghi, R. E. Grant, A. Afsahi",
    "Accelerating Intra-Node GPU Communication: A Performance Model for Multi-Path Transfers",
    "SC Workshops '25, St Louis, 2025",
    "10.1145/3731599.3767392",
)
GRAPHS = Paper(
    "2026",
    "Sojoodi et al.",
    "CUDA Graphs in UCX for intra-node multi-path point-to-point GPU communication",
    "2026 (title and venue are not in the text that we have)",
    "",
)
PAPERS = (INTERCONNECT, FRAMEWORK, MODEL, GRAPHS)
