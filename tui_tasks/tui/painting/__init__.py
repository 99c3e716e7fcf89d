"""How widgets paint: strips and styles, the bases that draw their own lines, scrolling, themes."""
