"""`python -m course`: the lessons for students and teachers."""

from course.build import main

main()
