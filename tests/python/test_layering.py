"""The layers only look down, and the checker that says so can say no."""

from __future__ import annotations

from pathlib import Path

import layering
import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = """
polypath_layer(core)
polypath_layer(machine USES core)
polypath_layer(model USES machine)
polypath_layer(plan USES model)
polypath_layer(driver USES model)
polypath_layer(engine USES plan driver)
polypath_layer(bench USES engine)
polypath_uses(api/c USES engine)
polypath_uses(api/python USES bench)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path, "CMakeLists.txt", LAYERS)
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_sources_keep_to_the_layers() -> None:
    assert layering.source_files(ROOT)

    assert layering.layering_problems(ROOT) == []


def test_names_are_in_the_namespace_of_their_layer() -> None:
    assert layering.namespace_problems(ROOT) == []


def test_a_layer_finds_the_names_of_those_that_it_may_use() -> None:
    assert layering.namespace_map_problems(ROOT) == []


def test_a_name_in_the_namespace_of_another_layer_is_found(tree: Path) -> None:
    write(tree, "src/plan/a.h", "namespace polypath::plan {\n}\n")
    write(tree, "src/plan/b.h", "namespace polypath::engine {\n}\n")
    write(tree, "src/plan/c.h", "namespace polypath {\n}\n")

    assert layering.namespace_problems(tree) == [
        "src/plan/b.h: 'engine' is no namespace of plan",
        "src/plan/c.h: '' is no namespace of plan",
    ]


MAP = """
namespace polypath {
namespace machine {}
namespace model {
using namespace machine;
}
namespace plan {
using namespace machine;
}
namespace driver {
using namespace model;
}
namespace engine {
using namespace driver;
}
namespace bench {
using namespace engine;
}
namespace c {
using namespace engine;
}
namespace python {
using namespace bench;
}
}
"""


def test_a_layer_that_finds_other_names_is_found(tree: Path) -> None:
    write(tree, "src/core/layers.h", MAP)

    problems = layering.namespace_map_problems(tree)

    assert problems[:2] == [
        "plan finds ['machine'], not ['machine', 'model']",
        "engine finds ['driver', 'machine', 'model'], not ['driver', 'machine', 'model', 'plan']",
    ]


def test_public_header_stands_alone() -> None:
    assert layering.public_header_problems(ROOT) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("src/engine/a.cc", '#include "plan/plan.h"'),
        ("src/engine/a.cc", '#include "engine/a.h"'),
        ("src/engine/a.cc", "#include <vector>"),
        ("src/machine/read.json.cc", "#include <nlohmann/json.hpp>"),
        ("src/api/c/a.cc", '#include "polypath.h"'),
        ("src/driver/sim/a.cc", '#include "driver/sim/clock.h"'),
        ("src/engine/a.cc", '#include "engine/call/a.h"'),
        ("src/engine/learn/a.cc", '#include "engine/execute/a.h"'),
        ("src/plan/joint/a.h", '#include "plan/plan.h"'),
        ("src/core/a.cc", '// #include "engine/a.h"'),
        ("programs/mpi_bench/a.c", '#include "pattern.h"'),
    ],
)
def test_good_include_passes(tree: Path, file: str, line: str) -> None:
    write(tree, file, line + "\n")

    assert layering.layering_problems(tree) == []


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("src/core/a.h", '#include "machine/machine.h"', "core may not use machine"),
        ("src/model/a.cc", '#include "driver/driver.h"', "model may not use driver"),
        ("src/model/deep/a.cc", '  #  include "plan/plan.h"', "model may not use plan"),
        ("src/engine/a.cc", '#include "api/c/handle.h"', "engine may not use api/c"),
        ("src/api/c/a.cc", '#include "api/python/module.h"', "api/c may not use api/python"),
        ("src/plan/a.cc", '#include "../engine/engine.h"', "not a relative one"),
        ("src/engine/a.cc", '#include "polypath.h"', "only an interface"),
        ("src/machine/a.cc", "#include <nlohmann/json.hpp>", "only *.json.cc"),
        ("src/machine/a.h", "#include <nlohmann/json_fwd.hpp>", "only *.json.cc"),
        ("src/driver/sim/a.cc", '#include "driver/cuda/api.h"', "may not use driver/cuda"),
        ("src/helpers/a.cc", "#include <vector>", "no known layer"),
        ("programs/mpi_bench/a.c", '#include "core/units.h"', "mpi_bench may not use core"),
        ("programs/mpi_bench/a.c", '#include "polypath.h"', "only an interface"),
        ("src/bench/a.cc", '#include "programs/mpi_bench/a.h"', "may not use programs/mpi_bench"),
        ("src/driver/a.cc", '#include "plan/plan.h"', "driver may not use plan"),
        ("src/engine/call/a.h", '#include "engine/a.h"', "engine/call may not use engine/."),
        ("src/engine/load/a.h", '#include "engine/learn/a.h"', "may not use engine/learn"),
        ("src/engine/other/a.h", '#include "core/a.h"', "no known folder of engine"),
        ("src/plan/a.cc", '#include "plan/joint/a.h"', "plan/. may not use plan/joint"),
        ("src/api/c/a.cc", '#include "bench/measure.h"', "api/c may not use bench"),
    ],
)
def test_bad_include_is_named(tree: Path, file: str, line: str, reason: str) -> None:
    write(tree, file, f"#include <string>\n{line}\n")

    problems = layering.layering_problems(tree)

    assert len(problems) == 1
    assert problems[0].startswith(file)
    assert reason in problems[0]


@pytest.mark.parametrize("line", ['#include "core/units.h"', "#include <fmt/format.h>"])
def test_public_header_with_a_foreign_include_is_named(tmp_path: Path, line: str) -> None:
    write(tmp_path, "include/polypath.h", f"#include <stdint.h>\n{line}\n")

    problems = layering.public_header_problems(tmp_path)

    assert len(problems) == 1
    assert "stands alone" in problems[0]
