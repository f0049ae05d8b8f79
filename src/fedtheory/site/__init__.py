"""The report as a static site: one folder that opens from the file system, without a network."""

from fedtheory.site.build import build, ready

__all__ = ["build", "ready"]
