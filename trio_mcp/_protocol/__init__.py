"""The rules of the protocol, without I/O, without waiting and without a clock.

Which requests are open in each direction, what a request means in each era, what to try next
when connecting. Everything here is a value or a small state machine that a test can drive by
hand; what needs time lives in ``_rpc``.
"""
