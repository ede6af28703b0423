"""Texts of others, made fit for the log and for the screen."""

from __future__ import annotations

from typing import Any

__all__ = ["last_line", "safe_text"]

HEAD, TAIL = 2000, 8000  # characters that are kept of a text that is longer


def safe_text(value: Any) -> str:
    r"""Return a text that the log can take, whatever it is made from: no lone surrogates, not too long.

    Parameters
    ----------
    value : object
        A string, or what should have been one.

    Examples
    --------
    >>> safe_text("all well"), safe_text(None), safe_text("\ud800")
    ('all well', 'None', '\\ud800')
    >>> len(safe_text("x" * 20_000_000)) < 11_000
    True
    """
    try:
        text = value if isinstance(value, str) else str(value)
        text = str.encode(text, "utf-8", "backslashreplace").decode()  # of a subclass of str, what it holds
    except BaseException as error:  # str() is the other's code
        return f"a {type(value).__name__} whose text cannot be had: {type(error).__name__}"
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n... {len(text) - HEAD - TAIL:,} characters left out ...\n{text[-TAIL:]}"


def last_line(text: str) -> str:
    r"""Return the last line of a text, for a list of one line each.

    Examples
    --------
    >>> last_line("Traceback ...\nValueError: no luck here\n"), last_line("")
    ('ValueError: no luck here', '')
    """
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    return lines[-1] if len(lines[-1]) <= 300 else f"{lines[-1][:300]} ..."
