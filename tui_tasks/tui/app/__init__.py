"""The App: what it is composed of, and what is the whole screen's: keys, actions, themes, alerts, going to places."""
