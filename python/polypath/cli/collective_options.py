"""What commands take that are about collectives."""

# No postponed annotations here: the annotations are evaluated at run time, on Python 3.9 too.
from typing import Annotated, Any, Dict, Optional  # noqa: UP035

from polypath.cli.arguments import choice, names, whole_numbers
from polypath.cli.declared import Option
from polypath.cli.errors import UserError

AlgorithmsOption = Annotated[
    Optional[str],
    Option("--algorithms", metavar="LIST", help="Of a collective: flat,ring,auto."),
]
TypeOption = Annotated[
    Optional[str],
    Option("--type", metavar="NAME", help="Of its elements: float32, bfloat16, int64 and so on."),
]
ReductionOption = Annotated[
    Optional[str],
    Option("--reduction", metavar="NAME", help="sum, product, min, max or average."),
]
RootOption = Annotated[
    Optional[int], Option("--root", metavar="RANK", min=0, help="Of reduce and broadcast.")
]
InPlaceOption = Annotated[
    Optional[bool],
    Option("--in-place", help="Of a collective: its input and output are one memory."),
]
AnyOrderOption = Annotated[
    Optional[bool],
    Option(
        "--any-order",
        help="Of a collective: algorithms whose rounding depends on the size may be chosen.",
    ),
]
NodesOption = Annotated[
    Optional[int],
    Option(
        "--nodes", metavar="COUNT", help="Of a collective: so many of the machine, on its network."
    ),
]
CountsOption = Annotated[
    Optional[str],
    Option(
        "--counts",
        metavar="LIST",
        help="Of alltoallv: what each rank sends to each, in proportion: 0,3,1,0 of two.",
    ),
]

# What --paths means for a collective, whose messages have many pairs of ends.
PATHS = {"auto": "auto", "direct": "one", "several": "several"}


def collective_options(
    algorithms: Optional[str],
    element: Optional[str],
    reduction: Optional[str],
    root: Optional[int],
    in_place: Optional[bool],
    any_order: Optional[bool],
    nodes: Optional[int],
    counts: Optional[str] = None,
) -> Dict[str, Any]:  # noqa: UP006
    """Return the options of collectives by their names."""
    return {
        "--algorithms": algorithms,
        "--type": element,
        "--reduction": reduction,
        "--root": root,
        "--in-place": in_place,
        "--any-order": any_order,
        "--nodes": nodes,
        "--counts": counts,
    }


# The operations that an option is for; the others are for all.
OWN_OPTIONS = {
    "--reduction": ("allreduce", "reduce", "reducescatter"),
    "--root": ("reduce", "broadcast"),
    "--counts": ("alltoallv",),
}


def collective_choices(
    operation: str,
    executor: str,
    paths: Optional[str],
    gpus: Optional[int],
    options: Dict[str, Any],  # noqa: UP006
) -> Dict[str, Any]:  # noqa: UP006
    """Return the part of a request for a collective that fixes what is otherwise chosen."""
    for option, operations in OWN_OPTIONS.items():
        if operation not in operations:
            refuse({option: options.get(option)}, f"it is for {', '.join(operations)}")
    given = {name: value for name, value in options.items() if value is not None}
    names_of = {"--type": "element_type", "--in-place": "in_place", "--any-order": "any_order"}
    request = {names_of.get(name, name[2:]): value for name, value in given.items()}
    request["executor"] = choice("executor", executor, ("auto", "stream", "graph"))
    if "algorithms" in request:
        request["algorithms"] = names("algorithms", request["algorithms"])
    if "counts" in request:
        request["counts"] = whole_numbers("counts", request["counts"])
    if paths is not None:
        request["paths"] = PATHS[choice("path choice", paths, tuple(PATHS))]
    if gpus is not None:
        request["ranks"] = gpus
    return request


def refuse(options: Dict[str, Any], why: str) -> None:  # noqa: UP006
    """Refuse options that were given where they mean nothing."""
    for option, value in options.items():
        if value is not None:
            raise UserError(f"option {option} cannot be used here", why, "Leave it out.")
