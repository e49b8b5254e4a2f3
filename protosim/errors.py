"""The one error that is the user's to mend."""


class UserError(Exception):
    """One sentence for a person: what was wrong, where, and what to do. Commands exit with 3."""
