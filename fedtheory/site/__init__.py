"""The report as a static site: one folder that opens from the file system, without a network."""

from fedtheory.site.build import build

__all__ = ["build"]
