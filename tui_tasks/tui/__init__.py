"""The screen. It knows no SQL and no rules of the state.

`app.TaskApp` composes it and passes on what changed; `bridge` tells of that and writes; `situation` is what all panes
show beside their rows; `pane.Pane` is what a pane is; `window.RowWindow` draws rows that a `Source` fetches by key;
`actions` is the one table of what can be done, and `Actor` what does it; `ink` and `format` say how things look.
"""

import os

# Textual paints on a beat; at its usual 60 a second a key waits half of that for nothing. While nothing changes it does
# not beat.
os.environ.setdefault("TEXTUAL_FPS", "250")
