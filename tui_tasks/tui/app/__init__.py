"""The App: its composition, and what concerns the whole screen: keys, actions, themes, alerts, navigation."""
