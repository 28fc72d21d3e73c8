"""The installer's path: questions, answers as values, a commented configuration, steps."""
