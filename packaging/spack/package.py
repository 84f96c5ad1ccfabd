# Copyright The Polypath contributors. SPDX-License-Identifier: Apache-2.0
"""The recipe of Polypath for Spack. docs/cluster.md says how to use it."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Polypath(PythonPackage):
    """GPU copies and collectives over every path that helps, under programs as they are."""

    license("Apache-2.0")

    # Of the sources on this computer: `spack develop --path CLONE polypath@=0.1.0`.
    version("0.1.0")

    variant(
        "cuda",
        default=True,
        description="Compile kernels for GPUs (the driver is opened at run time)",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("cuda@13:", type="build", when="+cuda")
    depends_on("fmt@9.1:", type="build")
    depends_on("spdlog@1.10:", type="build")
    depends_on("nlohmann-json@3.11.2:", type="build")

    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-nanobind@2.2:", type="build")
    depends_on("py-matplotlib@3.7:", type=("build", "run"))
    depends_on("py-numpy@1.22:", type=("build", "run"))
    depends_on("py-rich@12:", type=("build", "run"))
    depends_on("py-typer@0.9:", type=("build", "run"))

    def config_settings(self, spec, prefix):
        """Return whether kernels are compiled."""
        return {"cmake.define.POLYPATH_WITH_KERNELS": "ON" if spec.satisfies("+cuda") else "OFF"}
