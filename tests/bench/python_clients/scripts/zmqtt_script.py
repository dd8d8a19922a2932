"""zmqtt by hand: as many coroutines as messages in flight, each awaiting its own publish()."""

import asyncio

from window import IN_FLIGHT, PAYLOAD, PORT, Window
from zmqtt import QoS, ReconnectConfig, create_client


async def main() -> None:
    client = create_client(
        "127.0.0.1", PORT, client_id="script", reconnect=ReconnectConfig(enabled=False)
    )
    await client.connect()
    window = Window()

    async def publish() -> None:
        while True:
            await client.publish("t/0", PAYLOAD, qos=QoS.AT_LEAST_ONCE)
            if not window.count(True):
                return

    await asyncio.gather(*(publish() for _ in range(IN_FLIGHT)))
    window.report()
    await client.disconnect()


asyncio.run(main())
