"""The rules of the state: what each operation becomes, and what forbids it."""

from tui_tasks.core.rules.registry import RULES

__all__ = ["RULES"]
