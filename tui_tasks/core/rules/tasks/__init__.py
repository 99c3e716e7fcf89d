"""The rules of tasks and lists: making, changing, claiming, holding, importing."""
