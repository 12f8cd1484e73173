"""Time: the first layer that knows Trio.

`Channel` carries messages, `Peer` multiplexes one, `Link` is what the layers above use to
reach the other side, `Serving` is what they offer it, `Exchange` one request on its way.
"""
