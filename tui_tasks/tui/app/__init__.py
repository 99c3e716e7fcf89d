"""The App: its composition, and what concerns the whole screen: actions, navigation, the terminal's focus, alerts."""
