"""The configuration file, the folders of the platform, and who may read and write them."""
