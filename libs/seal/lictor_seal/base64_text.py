"""Standard Base64 (RFC 4648 section 4) that has exactly one text for each byte string.

Python's decoder ignores the unused bits before the padding, so several texts decode to the same
bytes. In a signed file that would leave characters that can be changed unnoticed.
"""

import base64
import binascii


def encode(data: bytes) -> str:
    """The Base64 text of the bytes."""
    return base64.b64encode(data).decode("ascii")


def decode(text: str) -> bytes:
    """The bytes of a Base64 text; raises ValueError unless the text is the one `encode` gives."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"not standard Base64 ({error})") from error
    if encode(data) != text:
        raise ValueError("not canonical Base64 (unused bits before the padding must be zero)")
    return data
