"""The screen. It knows no SQL and no rules of the state.

`app.app.TaskApp` composes it and passes on what changed; `state.database_link` tells of that and writes;
`state.app_state` is what all panes show beside their rows; `widgets.pane.Pane` is what a pane is;
`rows.row_list.VirtualList` draws rows that a `Source`
fetches by key; `keys.actions` is the one table of what can be done, and `Actor` what does it.
"""

import os

# Textual paints on a beat; at its usual 60 a second a key waits half of that for nothing. While nothing changes it does
# not beat.
os.environ.setdefault("TEXTUAL_FPS", "250")
