# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What an attack tried and what became of it, printed and written as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Report:
    """The record of one run, or of one part of it.

    Attributes:
        seed: Seed of the run; with it, the same attacks come in the same order.
        outcomes: Number of attacks by kind and outcome (tried, refused, accepted, survived …).
        worst: Greatest value of each measured quantity by fault, with its unit in the name.
        memory: Memory of each node at equal intervals [MB].
        failures: Goals that failed, each with the kind, number and seed that reproduce it.
    """

    seed: int
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    worst: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def count(self, kind: str, *outcomes: str, times: int = 1) -> None:
        """Count an attack and its outcomes."""
        found = self.outcomes.setdefault(kind, {})
        for outcome in outcomes:
            found[outcome] = found.get(outcome, 0) + times

    def measure(self, fault: str, quantity: str, value: float) -> None:
        """Keep the greatest value of a quantity after a fault."""
        found = self.worst.setdefault(fault, {})
        found[quantity] = max(value, found.get(quantity, value))

    def fail(self, kind: str, number: int, reason: str) -> None:
        """Record a goal that failed."""
        self.failures.append(f"{kind} {number} (--seed {self.seed}): {reason}")

    def tried(self, kind: str) -> int:
        """Return how many attacks of a kind there were."""
        return self.outcomes.get(kind, {}).get("tried", 0)

    @classmethod
    def read(cls, path: Path) -> Report:
        """Return a report that was written."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def merged(cls, parts: Sequence[Report]) -> Report:
        """Return the report of a run from those of its parts, which have the same seed and kinds of their own."""
        whole = cls(parts[0].seed)
        for part in parts:
            for kind, outcomes in part.outcomes.items():
                for outcome, times in outcomes.items():
                    whole.count(kind, outcome, times=times)
            for fault, quantities in part.worst.items():
                for quantity, value in quantities.items():
                    whole.measure(fault, quantity, value)
            whole.memory |= part.memory
            whole.failures += part.failures
        return whole

    def text(self) -> str:
        """Return the report as lines for a person."""
        lines = [f"seed {self.seed}", "", "attack                      outcome"]
        lines += [f"{kind:<28}" + ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(found.items()))
                  for kind, found in self.outcomes.items()]
        quantities = sorted({name for found in self.worst.values() for name in found})
        lines += ["", f"{'worst during or after':<28}" + "  ".join(quantities)]
        lines += [f"{fault:<28}" + "  ".join(_cell(found.get(name), len(name)) for name in quantities)
                  for fault, found in self.worst.items()]
        if self.memory:
            lines += ["", "memory at equal intervals [MB]"]
            lines += [f"{name:<28}" + " ".join(f"{value:.1f}" for value in values)
                      for name, values in self.memory.items()]
        lines += ["", f"goals that failed: {len(self.failures)}" if self.failures else "all goals held", *self.failures]
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        """Write the report as JSON; whoever reads the file meanwhile finds a whole one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        aside.replace(path)


def _cell(value: float | None, width: int) -> str:
    return f"{'-' if value is None else f'{value:.4g}':>{width}}"
