"""The screen. It knows no SQL and no rules of the state.

`app.task_app.TaskApp` composes it and passes changes on; `state.database_link` announces changes and writes;
`state.app_state` is what all panes show beside their rows; `widgets.screen_bases.Pane` is the base of the panes;
`rows.row_list.VirtualList` shows rows that a `Source` fetches by key and a `RowDrawing` draws;
`keys.action_table` lists all that can be done, and an `Actor` does it.
"""

import os

# Textual paints at this rate; at its usual 60 a second a key would wait half of an interval for nothing. Nothing is
# painted while nothing changes.
os.environ.setdefault("TEXTUAL_FPS", "250")
