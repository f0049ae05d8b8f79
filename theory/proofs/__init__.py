"""The proof engine: it decides whether a printed statement is true."""
