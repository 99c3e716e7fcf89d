"""What every pane is drawn with: frame, lines, styles, scrolling."""
