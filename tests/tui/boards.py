"""How the tests look at the board."""

from tui_tasks.core.read.tasks import task_queries


def board_of(app):
    return app.query_one("#board")


def columns(app) -> dict[str, list[str]]:
    """The names of the cards on screen, by column."""
    return {
        column.spec.name: [row.name for row in column.cards.rows_on_screen]
        for column in board_of(app).columns
        if column.display
    }


def status(app, uid: str) -> str:
    return task_queries.task(app.link.db, uid).status
