"""The course: ten lessons as marimo notebooks, and what they share."""
