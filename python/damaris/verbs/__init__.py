"""The verbs of `damaris` that are written in Python, a module each with `main(parser)`: `python -m damaris.verbs VERB`."""
