"""What an attack tried and what became of it, printed and written as JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Report:
    """The record of one run.

    Attributes:
        seed: Seed of the run; with it, the same attacks come in the same order.
        outcomes: Number of attacks by kind and outcome (tried, refused, accepted, survived …).
        worst: Greatest value of each measured quantity by fault, with its unit in the name.
        failures: Goals that failed, each with the kind, number and seed that reproduce it.
    """

    seed: int
    outcomes: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    worst: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    failures: list[str] = field(default_factory=list)

    def count(self, kind: str, *outcomes: str) -> None:
        """Count an attack and its outcomes."""
        for outcome in outcomes:
            self.outcomes[kind][outcome] += 1

    def measure(self, fault: str, quantity: str, value: float) -> None:
        """Keep the greatest value of a quantity after a fault."""
        self.worst[fault][quantity] = max(value, self.worst[fault].get(quantity, value))

    def fail(self, kind: str, number: int, reason: str) -> None:
        """Record a goal that failed."""
        self.failures.append(f"{kind} {number} (--seed {self.seed}): {reason}")

    def text(self) -> str:
        """Return the report as lines for a person."""
        lines = [f"seed {self.seed}", "", "attack                      outcome"]
        lines += [f"{kind:<28}" + ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items()))
                  for kind, found in self.outcomes.items()]
        lines += ["", "during or after             worst"]
        lines += [f"{fault:<28}" + ", ".join(f"{quantity} {value:.4g}" for quantity, value in sorted(found.items()))
                  for fault, found in self.worst.items()]
        lines += ["", f"{len(self.failures)} goals failed" if self.failures else "all goals held", *self.failures]
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        """Write the report as JSON."""
        content = {"seed": self.seed, "outcomes": self.outcomes, "worst": self.worst, "failures": self.failures}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
