"""The tool families ("dialects"), one in each file, over one state."""

from tui_tasks.core.engine.driver import without_modules

# msgspec takes from it what `typing` has too, and importing it takes longer than importing msgspec.
with without_modules("typing_extensions"):
    import msgspec  # noqa: F401 - imported here first
