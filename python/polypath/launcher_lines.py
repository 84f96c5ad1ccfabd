"""What the command line of a launcher of MPI programs hands to its processes, with more added.

A variable that the user hands on as well is merged with ours where it is a list, such as
LD_PRELOAD: of two values launchers take one, and drop the other without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polypath import preloading

LISTS = (preloading.VARIABLE, "UCX_PLUGIN_PATH")
OPEN_MPI_LIST = "mca_base_env_list"
SLURM_LIST = "SLURM_EXPORT_ENV"  # as --export, which comes before it

# A name and value of `srun --export`; commas within quotes are the value's.
_SLURM_PART = re.compile(r"""(?:[^,'"]|'[^']*'|"[^"]*")+""")


@dataclass(frozen=True)
class Grammar:
    """How many words follow an option; one, unless it is here."""

    none: frozenset[str]
    two: frozenset[str]
    two_may_be_one: bool = False  # NAME=VALUE instead of NAME VALUE
    letters: bool = False  # -n2 is -n 2

    def words_of(self, option: str, following: str) -> int:
        """Return how many words belong to an option beside its own."""
        name, equals, _ = option.lstrip("-").partition("=")
        attached = self.letters and not option.startswith("--") and len(name) > 1
        if equals or attached or name in self.none:
            return 0
        if name in self.two:
            return 1 if self.two_may_be_one and "=" in following else 2
        return 1


OPEN_MPI = Grammar(
    none=frozenset(
        """
        allow-run-as-root bind-to-core bind-to-none bind-to-socket by-board by-core by-node by-slot
        by-socket bycore bynode byslot bysocket continuous d debug debug-daemons debug-daemons-file
        debug-devel disable-recovery display-allocation display-devel-allocation display-devel-map
        display-diffable-map display-map display-topo do-not-launch do-not-resolve
        enable-instant-on-support enable-recovery get-stack-traces h help index-argv-by-rank
        leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe novm overload-allowed
        oversubscribe pernode preload-binary q quiet report-bindings report-child-jobs-separately
        report-state-on-timeout s show-progress tag-output timestamp-output tv use-hwthread-cpus
        use-regexp V v verbose version xml
        """.split()  # noqa: SIM905
    ),
    two=frozenset("mca gmca omca gomca prtemca gprtemca pmixmca gpmixmca".split()),  # noqa: SIM905
)
HYDRA = Grammar(
    none=frozenset(
        """
        disable-auto-cleanup disable-hostname-propagation disable-x enable-x envall envnone genvall
        genvnone h help info l order-nodes prepend-rank print-all-exitcodes
        skip-launch-node-check static-proxy usize v verbose version
        """.split()  # noqa: SIM905
    ),
    two=frozenset(("genv", "env")),
    two_may_be_one=True,
)
SLURM = Grammar(
    none=frozenset(
        """
        contiguous disable-status E exact exclusive external H help hold I immediate interactive K
        k kill-on-bad-exit l label multi-prog no-allocate no-kill O overcommit overlap oversubscribe
        preserve-env propagate pty Q quiet reboot resv-ports s spread-job stepmgr test-only u
        unbuffered usage use-min-nodes V v verbose version X x11 Z
        """.split()  # noqa: SIM905
    ),
    two=frozenset(),
    letters=True,
)


@dataclass(frozen=True)
class Passed:
    """What processes are to be given, and what the launcher has around it."""

    added: Mapping[str, str]  # lists, ours in front of what is around
    settings: Mapping[str, str]  # as they are around
    around: Mapping[str, str]

    def merged(self, name: str, theirs: str) -> str:
        """Return the value of a variable that the command line sets to theirs."""
        if name not in self.added or name not in LISTS:
            return theirs
        own = self.added[name].split(":")[0]
        return preloading.put_before(own, theirs)

    def without(self, named: set[str]) -> dict[str, str]:
        """Return all of it but what the command line names itself."""
        everything = {**self.added, **self.settings}
        return {name: value for name, value in everything.items() if name not in named}


Line = tuple[list[str], dict[str, str], tuple[str, ...]]  # command, environment, what to say


def open_mpi(command: list[str], passed: Passed) -> Line:
    """Return the command line of Open MPI's launcher, by -x and mca_base_env_list."""
    own, lists = {}, list(_lists_of_open_mpi(command))
    by_list = bool(lists) or f"OMPI_MCA_{OPEN_MPI_LIST}" in passed.around
    words, programs = list(command), list(_programs(command))
    exported = {begin: _exported(words, begin, passed) for begin in programs}
    if by_list and not any(exported.values()):  # older ones refuse -x beside it
        for at in lists:
            words[at] = _merged_list(words[at], passed)
        if not lists:
            name = f"OMPI_MCA_{OPEN_MPI_LIST}"
            own = {name: _merged_list(passed.around[name], passed)}
        return words, own, ()
    listed = [words[at] for at in lists] or [passed.around.get(f"OMPI_MCA_{OPEN_MPI_LIST}", "")]
    for begin in reversed(programs):
        more = passed.without(exported[begin])
        values = {name: _with_listed(name, value, listed, passed) for name, value in more.items()}
        words[begin:begin] = [part for pair in values.items() for part in ("-x", "=".join(pair))]
    return words, own, ()


def _programs(command: list[str]) -> Iterator[int]:
    """Return where the options of each of a command's programs begin."""
    yield 1
    yield from (at + 1 for at, word in enumerate(command) if word == ":" and at)


def _options(words: list[str], begin: int, grammar: Grammar) -> Iterator[tuple[int, str]]:
    """Return where each option before a program is, and its name."""
    at = begin
    while at < len(words) and words[at].startswith("-"):
        yield at, words[at].lstrip("-").partition("=")[0]
        at += 1 + grammar.words_of(words[at], "".join(words[at + 1 : at + 2]))


def words_for_open_mpi(command: list[str]) -> list[str]:
    """Return the words of a line that are options of Open MPI's launcher, and their values."""
    found: list[str] = []
    for begin in _programs(command):
        for at, _ in _options(command, begin, OPEN_MPI):
            following = "".join(command[at + 1 : at + 2])
            found += command[at : at + 1 + OPEN_MPI.words_of(command[at], following)]
    return found


def _exported(words: list[str], begin: int, passed: Passed) -> set[str]:
    """Merge what -x hands on with ours; return the names of it."""
    named = set()
    for option, name in _options(words, begin, OPEN_MPI):
        at = option if "=" in words[option] else option + 1
        if name != "x" or at >= len(words):
            continue
        head = words[at][: words[at].index("=") + 1] if at == option else ""
        variable, equals, value = words[at][len(head) :].partition("=")
        named.add(variable)
        if variable in passed.added:
            theirs = value if equals else passed.around.get(variable, "")
            words[at] = f"{head}{variable}={passed.merged(variable, theirs)}"
    return named


def _lists_of_open_mpi(words: list[str]) -> Iterator[int]:
    for begin in _programs(words):
        for at, name in _options(words, begin, OPEN_MPI):
            if name in OPEN_MPI.two and words[at + 1 : at + 2] == [OPEN_MPI_LIST]:
                yield at + 2


def _merged_list(text: str, passed: Passed) -> str:
    """Return a list of variables with semicolons, ours among them."""
    parts, named = [], set()
    for part in filter(None, text.split(";")):
        name, equals, value = part.partition("=")
        named.add(name)
        theirs = value if equals else passed.around.get(name, "")
        parts.append(f"{name}={passed.merged(name, theirs)}" if name in passed.added else part)
    more = passed.without(named)
    return ";".join([*parts, *(f"{name}={value}" for name, value in more.items())])


def _with_listed(name: str, value: str, lists: list[str], passed: Passed) -> str:
    """Return a value for -x, which hides what lists have of that name."""
    for part in (part for text in lists for part in text.split(";")):
        if part.startswith(f"{name}="):
            return passed.merged(name, part.partition("=")[2])
    return value


def hydra(command: list[str], passed: Passed) -> Line:
    """Return the command line of Hydra's launcher, by -genv; -env is for one program of several."""
    words, named, own = list(command), set(), {}
    for begin in _programs(words):
        for at, option in _options(words, begin, HYDRA):
            if option in ("genvlist", "envlist"):
                names = set("".join(words[at + 1 : at + 2]).split(","))
                own.update({name: passed.added[name] for name in names & {*passed.added}})
            if option in HYDRA.two:
                name = _merge_pair(words, at + 1, passed)
                named |= {name} if option == "genv" else set()
    more = passed.without(named)
    options = [part for name, value in more.items() for part in ("-genv", name, value)]
    return [words[0], *options, *words[1:]], own, ()


def _merge_pair(words: list[str], at: int, passed: Passed) -> str:
    """Merge a variable that is one word or two; return its name."""
    name, equals, value = "".join(words[at : at + 1]).partition("=")
    if name in passed.added and equals:
        words[at] = f"{name}={passed.merged(name, value)}"
    elif name in passed.added and at + 1 < len(words):
        words[at + 1] = passed.merged(name, words[at + 1])
    return name


def slurm(command: list[str], passed: Passed) -> Line:
    """Return the command line of srun, by --export or the variable that stands for it."""
    words, own = list(command), dict(passed.added)
    for begin in _programs(words):
        at = _last_export(words, begin)
        if at is not None and at < len(words):
            head = "--export=" if words[at].startswith("--export=") else ""
            words[at] = head + _slurm_list(words[at][len(head) :], passed, own)
    if SLURM_LIST in passed.around:
        own[SLURM_LIST] = _slurm_list(passed.around[SLURM_LIST], passed, own)
    given = any(name == "export-file" for _, name in _options(words, 1, SLURM))
    notes = ("srun takes variables from a file: see that it names LD_PRELOAD.",) if given else ()
    return words, own, notes


def _last_export(words: list[str], begin: int) -> int | None:
    """Return where the value of --export is, alone or behind its name."""
    found = [at if "=" in words[at] else at + 1
             for at, name in _options(words, begin, SLURM) if name == "export"]  # fmt: skip
    return found[-1] if found else None


def _slurm_list(text: str, passed: Passed, own: dict[str, str]) -> str:
    """Return a list of variables with commas, ours among them; ``own`` is srun's environment."""
    parts = _SLURM_PART.findall(text)
    words = {part.upper() for part in parts}
    named = {part.partition("=")[0] for part in parts}
    for at, part in enumerate(parts):
        name, equals, value = part.partition("=")
        if equals and name in passed.added:
            own[name] = passed.merged(name, value.strip("'\""))
            parts[at] = f"{name}={own[name]}"
    if "ALL" in words:
        return ",".join(parts)
    if words & {"NONE", "NIL"}:
        parts = []
    more = passed.without(named)
    given = (f"{name}={value}" if name in passed.added else name for name, value in more.items())
    return ",".join([*parts, *given])
