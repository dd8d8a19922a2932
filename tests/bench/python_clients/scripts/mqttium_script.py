"""mqttium by hand: publish_nowait() from a loop callback, completions by add_done_callback()."""

import asyncio

from mqttium.api import AsyncClient
from window import IN_FLIGHT, PAYLOAD, PORT, Window


async def main() -> None:
    client = AsyncClient("script", max_outbound_inflight=65535)
    await client.connect("127.0.0.1", PORT)
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    window = Window()
    in_flight = 0
    is_scheduled = False

    def publish() -> None:
        nonlocal in_flight, is_scheduled
        is_scheduled = False
        while in_flight < IN_FLIGHT:
            in_flight += 1
            client.publish_nowait("t/0", PAYLOAD, qos=1).add_done_callback(done)

    def done(receipt) -> None:
        nonlocal in_flight, is_scheduled
        in_flight -= 1
        if not window.count(receipt.exception() is None):
            if in_flight == 0:
                over.set_result(None)
        elif not is_scheduled:
            is_scheduled = True
            loop.call_soon(publish)

    publish()
    await over
    window.report()
    await client.disconnect()


asyncio.run(main())
