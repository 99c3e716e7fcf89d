"""The configuration file, the platform's folders, and the permissions of both."""
