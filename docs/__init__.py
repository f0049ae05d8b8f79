"""The documentation: `make docs` builds `pages/` into `built/`."""
