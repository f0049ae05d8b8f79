"""The course: eleven lessons as marimo notebooks, and what they share."""
