"""awscrt by hand: publish() while a semaphore has room, completions by the Future's callback."""

import threading

from awscrt import io, mqtt
from window import IN_FLIGHT, PAYLOAD, PORT, Window

group = io.EventLoopGroup(1)
bootstrap = io.ClientBootstrap(group, io.DefaultHostResolver(group))
connection = mqtt.Connection(
    mqtt.Client(bootstrap), "127.0.0.1", PORT, "script", keep_alive_secs=60, disable_metrics=True
)
connection.connect().result(10)
room = threading.Semaphore(IN_FLIGHT)
window = Window()
is_running = True


def done(future) -> None:
    global is_running
    if not window.count(future.exception() is None):
        is_running = False
    room.release()


while is_running:
    room.acquire()
    future, _ = connection.publish("t/0", PAYLOAD, mqtt.QoS.AT_LEAST_ONCE)
    future.add_done_callback(done)
for _ in range(IN_FLIGHT):
    room.acquire()
window.report()
connection.disconnect().result(10)
