"""The application: command line, verification, paper check, report."""
