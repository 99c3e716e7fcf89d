"""A list of any length in a widget. `RowCache` holds the rows around the screen, `RowCursor` moves in them,
`RowPainter` draws them, and `VirtualList` is the widget composed of the three. Rows come from a `Source`.
"""
