"""How the tests look at the log."""

from tui_tasks.tui.log.log_text import text_of

HOSTILE = "\x1b]52;c;QQ==\x07[@click=app.quit]x[/nope]\u202e\r\nend"


def log_of(app):
    return app.query_one("#log")


def texts(app) -> list[str]:
    """What the entries on screen say, from the top."""
    return [text_of(row) for row in log_of(app).row_list.rows_on_screen]
