"""What `polypath bench jacobi` takes, and what it asks for."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
from typing import Annotated, Any, Dict, List, Optional  # noqa: UP035

from polypath.cli.arguments import check_range, choice, names
from polypath.cli.declared import Option
from polypath.cli.errors import UserError
from polypath.cli.sizes import parse_sizes

WAYS = ("native", "stream", "graph", "program")
PATHS = ("auto", "direct", "two", "three")
MOST_ROWS, MOST_GPUS = 1 << 20, 64
WORD = 16  # bytes, of which a row is a multiple
SIZES = "1M:256M"  # of a halo, unless others are named

RowsOption = Annotated[
    Optional[int],
    Option("--rows", metavar="COUNT", min=1, help="Of jacobi: rows of each GPU."),
]
IterationsOption = Annotated[
    Optional[int],
    Option("--iterations", metavar="COUNT", min=2, help="Of jacobi: an even number that is timed."),
]
KernelEfficiencyOption = Annotated[
    Optional[float],
    Option(
        "--kernel-efficiency",
        metavar="SHARE",
        min=0.001,
        max=1,
        help="Of jacobi: what simulated kernels get of the memory's bandwidth.",
    ),
]


def jacobi_options(
    rows: Optional[int], iterations: Optional[int], efficiency: Optional[float]
) -> Dict[str, Any]:  # noqa: UP006
    """Return the options of jacobi by their names."""
    return {"--rows": rows, "--iterations": iterations, "--kernel-efficiency": efficiency}


def jacobi_choices(
    executor: str,
    paths: Optional[str],
    gpus: Optional[int],
    options: Dict[str, Any],  # noqa: UP006
) -> Dict[str, Any]:  # noqa: UP006
    """Return the part of a request for jacobi that fixes what is otherwise as it is."""
    request = {
        name[2:].replace("-", "_"): value for name, value in options.items() if value is not None
    }
    if choice("executor", executor, ("auto", *WAYS)) != "auto":
        request["executors"] = [executor]
    if paths is not None:
        request["paths"] = _choices(paths)
    check_range("--rows", options["--rows"], 1, MOST_ROWS)
    check_range("--gpus", gpus, 2, MOST_GPUS)
    if gpus is not None:
        request["gpus"] = gpus
    return request


def parse_halos(text: str) -> List[int]:  # noqa: UP006
    """Return the sizes of halos, in bytes, of a list as --sizes takes it."""
    halos = parse_sizes(text)
    wrong = next((size for size in halos if size % WORD), None)
    if wrong is not None:
        raise UserError(
            f"a halo of {wrong} bytes cannot be had",
            f"rows are whole words of {WORD} bytes",
            f"Round it to a multiple of {WORD}.",
        )
    return halos


def _choices(paths: str) -> List[str]:  # noqa: UP006
    return [choice("path choice", name, PATHS) for name in names("paths", paths)]
