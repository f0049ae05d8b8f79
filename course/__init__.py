"""The course: lessons as marimo notebooks, and what they share."""
