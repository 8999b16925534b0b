"""The mutants of a file, each a line of JSON: what it changes, at which line, and the whole text.

    python make.py FILE MOST SEED

Of more than MOST it takes so many, drawn by the seed. A text that is no Python is none: any test
would be its death. Runs where cosmic-ray is, and nothing of this project.
"""

import json
import random
import re
import sys
from itertools import count

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ONLY_IN_ANNOTATIONS = re.compile("core/ReplaceBinaryOperator_BitOr_.*")
"""`int | None` is text that nothing evaluates."""
ONLY_FOR_TYPES = "if not TYPE_CHECKING:"


def main(file: str, most: int, seed: str) -> None:
    with open(file, encoding="utf-8") as read:  # noqa: PTH123 - pathlib is no shorter here
        source = read.read()
    nodes = [*ast_nodes(get_ast(source))]
    found = []
    for name in sorted(operator_names()):
        if ONLY_IN_ANNOTATIONS.match(name) or get_operator(name).arguments():
            continue
        at = count()
        operator = get_operator(name)()
        for node in nodes:
            for (line, _), _ in operator.mutation_positions(node):
                number = next(at)
                text = mutate_code(source, operator, number)
                if _compiles(text) and ONLY_FOR_TYPES not in text:
                    found.append({"name": f"{name} {number}", "line": line, "text": text})
    print(json.dumps({"source": source, "all": len(found)}))  # noqa: T201 - the answer
    for at in sorted(random.Random(seed).sample(range(len(found)), min(most, len(found)))):
        print(json.dumps(found[at]))  # noqa: T201 - the answer


def _compiles(text: str) -> bool:
    try:
        compile(text, "a mutant", "exec")
    except SyntaxError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
