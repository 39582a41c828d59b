"""What the runner's parts raise to each other."""


class TemplateError(Exception):
    """A template could not be begun. Its node says so already; the caller's node takes the message over."""
