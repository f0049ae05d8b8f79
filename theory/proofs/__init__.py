"""The proof engine: what decides whether a printed statement is true."""
