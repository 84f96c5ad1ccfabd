"""Two outputs of plan_times side by side: how much longer plans take after a change, by kind.

compare_plans.py before.txt after.txt
"""

import sys
from pathlib import Path
from typing import NamedTuple


class Plan(NamedTuple):
    """Times in microseconds."""

    predicted: float
    calls: float
    natively: float


Plans = dict[tuple[str, str], Plan]


def read(path: str) -> Plans:
    """The plans by kind and question."""
    lines = [line.split("\t") for line in Path(path).read_text().splitlines()]
    return {(line[0], line[1]): Plan(*map(float, line[2:])) for line in lines}


def compare(kind: str, before: Plans, after: Plans) -> None:
    """Prints one line for a kind of questions."""
    questions = [question for question in before if question[0] == kind and question in after]
    ratios = {each: after[each].predicted / before[each].predicted for each in questions}
    mean = sum(ratios.values()) / len(ratios)
    changed = sum(abs(ratio - 1) > 1e-6 for ratio in ratios.values())
    calls = [sum(plans[each].calls for each in questions) for plans in (before, after)]
    worst = max(questions, key=lambda each: ratios[each])
    print(
        f"{kind:10} {len(ratios):5} plans, {changed:4} changed; longer by {100 * (mean - 1):6.3f} %"
        f" in the mean, {100 * (ratios[worst] - 1):6.2f} % at worst,"
        f" {100 * (min(ratios.values()) - 1):6.2f} % at best; calls x {calls[1] / calls[0]:.3f}"
        f"  ({worst[1] if ratios[worst] > 1 else 'none'})"
    )


def main() -> None:
    before, after = read(sys.argv[1]), read(sys.argv[2])
    for kind in dict.fromkeys(question[0] for question in before):
        compare(kind, before, after)


if __name__ == "__main__":
    main()
