//! The driver my-driver: it adapts one MQTT client library to mqcore. The contract is mqcore/driver.h, which
//! the crate mqcore_driver makes a trait.
//!
//! It works as it stands, with tiny_mqtt. Replace what is marked YOUR LIBRARY, one mark after the other, and keep
//! ./test.sh green. Nothing here counts, paces or reads a clock: mqcore does.

mod tiny_mqtt; // YOUR LIBRARY: in Cargo.toml instead

use mqcore_driver::*;
use std::thread::JoinHandle;

struct MyDriver {
    host: Host,
    topics: Vec<String>,
    client: Option<tiny_mqtt::Client>, // YOUR LIBRARY: from connect() to disconnect()
    reader: Option<tiny_mqtt::Reader>, // YOUR LIBRARY: from connect() to drive()
    reading: Option<JoinHandle<()>>,   // from drive() to disconnect()
}

fn not_connected() -> Failure {
    Failure::new(Status::Library, "drive() without connect()")
}

/// YOUR LIBRARY: its error of a connection that is refused or lost.
fn network(error: std::io::Error) -> Failure {
    Failure::new(Status::Network, error.to_string())
}

/// A lower QoS than asked for is no success.
fn check_granted(filter: &str, wanted: u8, granted: u8) -> Result<(), Failure> {
    match granted {
        0x80.. => Err(Failure::new(
            Status::Network,
            format!("the broker refused to subscribe '{filter}'"),
        )),
        qos if qos < wanted => Err(Failure::new(
            Status::Unsupported,
            format!("the broker granted QoS {qos} for '{filter}', QoS {wanted} was asked for"),
        )),
        _ => Ok(()),
    }
}

// A function that cannot do what it was asked returns a Failure: its text becomes the run's reason. A panic
// becomes Status::Library.
impl Driver for MyDriver {
    /// YOUR LIBRARY: what it can do, the same as in driver.toml. What is not claimed is refused, never tried.
    const CLAIMS: Claims = Claims {
        shape: Shape::Sync,
        protocols: V311,
        publish_qos: QOS0 | QOS1,
        subscribe_qos: QOS0 | QOS1,
        max_window: 65535,
        qos0_completion: Some(Qos0Completion::Written),
        ..Claims::new(c"my-driver", c"tiny_mqtt")
    };

    /// Makes what is needed without a network.
    fn create(host: Host) -> Result<Self, Failure> {
        host.note("library.version", "0"); // YOUR LIBRARY: its version
        Ok(MyDriver {
            host,
            topics: Vec::new(),
            client: None,
            reader: None,
            reading: None,
        })
    }

    /// Returns when the broker has confirmed the connection and every subscription.
    fn connect(&mut self, run: Run) -> Result<(), Failure> {
        run.refuse_options()?;
        self.topics = run.topics().into_iter().map(str::to_owned).collect();

        // YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is lost
        // must end the run. Here, too, belongs whatever caps or delays: set its limit of messages in flight
        // to run.window() or more, switch Nagle's algorithm off, store nothing on disk. Connect, wait for
        // CONNACK, at most 10 s.
        let (client, mut reader) =
            tiny_mqtt::connect(run.host(), run.port(), &run.client_id(0), run.keepalive_s())
                .map_err(network)?;
        // YOUR LIBRARY: subscribe, wait for SUBACK.
        for filter in run.filters() {
            let granted = client
                .subscribe(&mut reader, filter, run.filter_qos())
                .map_err(network)?;
            check_granted(filter, run.filter_qos(), granted)?;
        }
        self.client = Some(client);
        self.reader = Some(reader);
        Ok(())
    }

    /// The loop. Returns `Ok` only after `Next::Stop`.
    fn drive(&mut self, mut source: Source, sink: Sink) -> Result<(), Failure> {
        let (completions, mut arrivals) = sink.split();
        let client = self.client.as_ref().ok_or_else(not_connected)?;
        let reader = self.reader.take().ok_or_else(not_connected)?;
        let host = self.host;

        // YOUR LIBRARY: its callbacks. Completions and arrivals may be reported from any of its threads. How
        // do you find the slot when an acknowledgement comes? tiny_mqtt takes the packet identifier from its
        // caller. Most libraries choose it themselves: keep the slot beside the token or future of a message,
        // else in an array by packet identifier. The acknowledgement may come before publish() has returned. A
        // library on tokio whose publish() is a future: a runtime with one worker thread, and for each message
        // a task that awaits it and completes the slot; Completions may be copied into it.
        self.reading = Some(std::thread::spawn(move || {
            let end = reader.run(|event| match event {
                tiny_mqtt::Event::Acknowledged(id) => completions.done(id.wrapping_sub(1)),
                tiny_mqtt::Event::Message(payload) => arrivals.received(payload, None, 0),
            });
            if let Err(error) = end {
                host.fail(&network(error)); // lost: it ends the run
            }
        }));

        loop {
            match source.next() {
                Next::Send(message) => {
                    let topic = &self.topics[message.topic()];
                    // YOUR LIBRARY: publish. The payload goes out as it is.
                    client
                        .publish(
                            topic,
                            message.payload(),
                            message.qos(),
                            message.retain(),
                            message.slot() + 1,
                        )
                        .map_err(network)?;
                    if message.qos() == 0 {
                        completions.done(message.slot()); // written: see qos0_completion
                    }
                }
                // YOUR LIBRARY: without a thread of its own, let it work until source.wake_ns() instead.
                Next::Wait | Next::Drain => source.wait(),
                Next::Stop => return Ok(()),
            }
        }
    }

    /// Leaves the broker in the proper way. Once it has returned nothing may be reported any more.
    fn disconnect(&mut self) -> Result<(), Failure> {
        if let Some(client) = self.client.take() {
            client.disconnect(); // YOUR LIBRARY
        }
        match self.reading.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Failure::new(Status::Library, "the reading thread panicked")),
            _ => Ok(()),
        }
    }
}

export!(MyDriver);
