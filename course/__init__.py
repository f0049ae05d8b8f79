"""The course: twelve lessons as marimo notebooks, and what they share."""
